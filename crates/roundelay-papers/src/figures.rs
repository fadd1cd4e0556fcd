//! Figures over seeds: samples, means with Student's 95% intervals, modes.

use std::collections::BTreeMap;

use roundelay_sim::scenario::{Interval, student_95};

use crate::experiments::Row;
use crate::finding::Runs;

/// Reference to a number: `RUN: FIGURE`, and x on a curve.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// `RUN: FIGURE`.
    pub figure: String,
    /// Position on the curve.
    pub x: Option<f64>,
    /// True for the published number.
    pub is_published: bool,
}

impl Reference {
    /// Reads `RUN: FIGURE` or `RUN: CURVE @ X`, optionally with `published` in front.
    ///
    /// # Errors
    /// The expected syntax.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (is_published, rest) = match text.strip_prefix("published ") {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let mut figure = rest;
        let mut x = None;
        if let Some((before, after)) = rest.rsplit_once(" @ ") {
            let number = after.trim().parse();
            figure = before;
            x = Some(number.map_err(|_| format!("'{text}': expected a number behind @"))?);
        }
        if !figure.contains(": ") {
            return Err(format!("'{text}': expected RUN: FIGURE, or RUN: CURVE @ X"));
        }
        Ok(Self {
            figure: figure.to_owned(),
            x,
            is_published,
        })
    }
}

impl std::fmt::Display for Reference {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.is_published {
            write!(formatter, "published ")?;
        }
        write!(formatter, "{}", self.figure)?;
        match self.x {
            Some(x) => write!(formatter, " @ {x}"),
            None => Ok(()),
        }
    }
}

/// A figure's values by seed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Samples(pub BTreeMap<u64, f64>);

impl Samples {
    /// The values, in the order of their seeds.
    pub fn values(&self) -> Vec<f64> {
        self.0.values().copied().collect()
    }

    /// The mean with half the width of its 95% interval. None without values.
    pub fn interval(&self) -> Option<Interval> {
        student_95(&self.values())
    }

    /// Applies `what` to pairs of values, for seeds in both.
    pub fn with(&self, other: &Self, what: impl Fn(f64, f64) -> f64) -> Self {
        let mut pairs = BTreeMap::new();
        for (seed, value) in &self.0 {
            if let Some(other) = other.0.get(seed) {
                pairs.insert(*seed, what(*value, *other));
            }
        }
        Self(pairs)
    }

    /// Applies `what` to each value.
    pub fn map(&self, what: impl Fn(f64) -> f64) -> Self {
        let mut values = self.0.clone();
        for value in values.values_mut() {
            *value = what(*value);
        }
        Self(values)
    }
}

/// An x as a key: x values in plans are finite.
#[derive(Debug, Clone, Copy, PartialEq)]
struct At(f64);

impl Eq for At {}

impl PartialOrd for At {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for At {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

/// One variation's figures.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Figures {
    /// True if nothing was drawn: one run is as good as many.
    pub is_exact: bool,
    scalars: BTreeMap<String, Samples>,
    curves: BTreeMap<String, BTreeMap<At, Samples>>,
    /// Names, in the order in which they first appear.
    names: Vec<String>,
}

impl Figures {
    /// Adds one seed's rows.
    pub fn add(&mut self, seed: u64, rows: &[Row]) {
        for Row {
            run,
            figure,
            x,
            value,
        } in rows
        {
            let name = format!("{run}: {figure}");
            if !self.scalars.contains_key(&name) && !self.curves.contains_key(&name) {
                self.names.push(name.clone());
            }
            let samples = match x {
                None => self.scalars.entry(name).or_default(),
                Some(x) => self
                    .curves
                    .entry(name)
                    .or_default()
                    .entry(At(*x))
                    .or_default(),
            };
            samples.0.insert(seed, *value);
        }
    }

    /// Runs behind one of the samples.
    pub fn runs(&self, samples: &Samples) -> Runs {
        if self.is_exact {
            Runs::Exact
        } else {
            Runs::Drawn(samples.0.len())
        }
    }

    /// The figures' names, in the order in which they first appear.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A scalar figure, or a point on a curve.
    pub fn at(&self, figure: &str, x: Option<f64>) -> Option<&Samples> {
        match x {
            None => self.scalars.get(figure),
            Some(x) => self.curves.get(figure)?.get(&At(x)),
        }
    }

    /// A curve's points, by x. None for a scalar figure.
    pub fn curve(&self, figure: &str) -> Option<Vec<(f64, &Samples)>> {
        let mut points = Vec::new();
        for (At(x), samples) in self.curves.get(figure)? {
            points.push((*x, samples));
        }
        Some(points)
    }
}

/// Splits a figure into two modes. Its sorted values must have a gap wider than three standard
/// deviations of either side and wider than half the range of either side. Each side must have at
/// least a fifth of the values, and at least two. Returns the mean and share of each side.
pub fn modes(values: &[f64]) -> Option<[(f64, f64); 2]> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let least = (sorted.len().div_ceil(5)).max(2);
    let last = sorted.len().checked_sub(least)?;
    if last < least {
        return None;
    }
    let mut cut = least;
    let mut gap = sorted[least] - sorted[least - 1];
    for next in least + 1..=last {
        let next_gap = sorted[next] - sorted[next - 1];
        if next_gap.total_cmp(&gap).is_ge() {
            cut = next;
            gap = next_gap;
        }
    }
    let (low, high) = sorted.split_at(cut);
    let low_range = low[low.len() - 1] - low[0];
    let high_range = high[high.len() - 1] - high[0];
    let is_wide =
        gap > 3.0 * deviation(low).max(deviation(high)) && gap > 0.5 * low_range.max(high_range);
    if !is_wide {
        return None;
    }
    let count = sorted.len() as f64;
    Some([
        (mean(low), low.len() as f64 / count),
        (mean(high), high.len() as f64 / count),
    ])
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard deviation of all values, not of a sample.
pub(crate) fn deviation_of_all(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / values.len() as f64).sqrt()
}

/// The standard deviation of a sample.
pub(crate) fn deviation(values: &[f64]) -> f64 {
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (squares / (values.len().max(2) - 1) as f64).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_name_a_figure_a_point_or_a_published_number() {
        let reference = |text| Reference::parse(text).unwrap();
        assert_eq!(reference("DRR: f0 delay, ms").figure, "DRR: f0 delay, ms");
        assert_eq!(reference("published DRR: ranks @ 16").x, Some(16.0));
        assert!(reference("published DRR: ranks @ 16").is_published);
        for text in ["DRR: ranks @ 16", "published QFQ: f0 delay, ms"] {
            assert_eq!(reference(text).to_string(), text);
        }
        assert!(
            Reference::parse("delay")
                .unwrap_err()
                .contains("RUN: FIGURE")
        );
        assert!(
            Reference::parse("DRR: ranks @ last")
                .unwrap_err()
                .contains("a number")
        );
    }

    #[test]
    fn figures_gather_rows_by_seed() {
        let mut figures = Figures::default();
        for seed in [1, 2] {
            figures.add(
                seed,
                &[
                    Row::scalar("A", "delay", seed as f64),
                    Row::point("A", "ranks", 1.0, 10.0 * seed as f64),
                ],
            );
        }
        assert_eq!(figures.at("A: delay", None).unwrap().values(), [1.0, 2.0]);
        assert_eq!(
            figures.curve("A: ranks").unwrap()[0]
                .1
                .interval()
                .unwrap()
                .mean,
            15.0
        );
        assert_eq!(figures.names(), ["A: delay", "A: ranks"]);
        let differences = figures
            .at("A: ranks", Some(1.0))
            .unwrap()
            .with(figures.at("A: delay", None).unwrap(), |one, other| {
                one - other
            });
        assert_eq!(differences.values(), [9.0, 18.0]);
    }

    #[test]
    fn two_modes_are_told_from_one() {
        let two = modes(&[310.0, 315.0, 620.0, 312.0, 625.0, 618.0]).unwrap();
        assert_eq!(
            (two[0].0.round(), two[1].0.round(), two[0].1),
            (312.0, 621.0, 0.5)
        );
        assert_eq!(
            modes(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]),
            None,
            "an even spread is one mode"
        );
        assert_eq!(
            modes(&[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 9.0]),
            None,
            "one stray value is no mode"
        );
        assert_eq!(modes(&[1.0]), None);
        assert_eq!(modes(&[]), None);
    }
}
