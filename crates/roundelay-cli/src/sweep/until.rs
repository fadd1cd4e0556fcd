//! Sequential replication: adds runs to each point until the confidence interval of a figure is
//! narrow enough.

use std::collections::{BTreeMap, HashMap};

use roundelay_report::SWEEP_FIGURES;
use roundelay_sim::scenario::{Interval, student_95};

use super::figure::{check_source, source_and_number};
use super::point::Point;
use super::precision::Precision;
use super::report::{Difference, FigureOfPoint, Figures};
use super::runner::run_jobs;
use super::session::{Job, Session};
use crate::failure::Failure;

/// Runs the plan's replicas, then adds runs to the points whose interval is too wide. How many runs
/// a point gets depends only on its results, so it is the same on each machine.
///
/// # Errors
/// There is no such figure, the dataset cannot be written, or a stop was requested.
pub(super) fn run(session: &mut Session, precision: Precision) -> Result<(), Failure> {
    let jobs = session.pending()?;
    run_jobs(session, &jobs)?;
    let mut targets = vec![session.arguments.replicas; session.points.len()];
    loop {
        let Some((source, figure)) = session.figure()? else {
            return Ok(());
        };
        let mut jobs = Vec::new();
        for (number, target) in targets.iter_mut().enumerate() {
            let point = &session.points[number];
            // A failed run leaves its seed without a value, and such points get no further runs.
            let Some(values) = values(session, point, &source, figure, *target) else {
                continue;
            };
            let Some(more) = more(&values, precision) else {
                continue;
            };
            let next = target
                .saturating_add(more)
                .min(session.arguments.max_replicas);
            for replica in *target..next {
                let seed = session.first_seed + u64::from(replica);
                if !point.has(seed) {
                    jobs.push(Job {
                        point: number,
                        seed,
                    });
                }
            }
            *target = next;
        }
        session.arguments.replicas = targets.iter().copied().max().unwrap_or(0);
        if jobs.is_empty() && targets_are_settled(session, &source, figure, &targets, precision)
            || session.is_over()
        {
            session.targets = Some(targets);
            return Ok(());
        }
        session.expect(&jobs)?;
        run_jobs(session, &jobs)?;
    }
}

/// Whether each point has enough runs, or as many as it may get.
fn targets_are_settled(
    session: &Session,
    source: &str,
    figure: usize,
    targets: &[u32],
    precision: Precision,
) -> bool {
    for (target, point) in targets.iter().zip(&session.points) {
        if *target >= session.arguments.max_replicas {
            continue;
        }
        if let Some(values) = values(session, point, source, figure, *target)
            && more(&values, precision).is_some()
        {
            return false;
        }
    }
    true
}

/// The figure in the first `runs` runs. None if a run is missing.
fn values(
    session: &Session,
    point: &Point,
    source: &str,
    figure: usize,
    runs: u32,
) -> Option<Vec<f64>> {
    let all = point.figures(source, figure);
    let mut values = Vec::new();
    for seed in session.first_seed..session.first_seed + u64::from(runs) {
        // A run may have no value for the figure.
        values.extend(*all.get(&seed)?);
    }
    Some(values)
}

/// The further runs that the variance suggests, but at least a quarter of those at hand and at most
/// as many again. None if the interval is narrow enough.
fn more(values: &[f64], Precision(part): Precision) -> Option<u32> {
    let count = values.len() as f64;
    let Some(Interval {
        mean,
        half_width: Some(half),
    }) = student_95(values)
    else {
        return Some(2);
    };
    if half <= part * mean.abs() {
        return None;
    }
    let needed = count * (half / (part * mean.abs()).max(f64::MIN_POSITIVE)).powi(2);
    Some((needed - count).clamp((count / 4.0).ceil().max(1.0), count) as u32)
}

impl Session {
    /// The source and the number of the figure that `--figure` names.
    ///
    /// # Errors
    /// The results have no such source or figure.
    pub(super) fn figure(&self) -> Result<Option<(String, usize)>, Failure> {
        let Some(text) = &self.arguments.figure else {
            return Ok(None);
        };
        let mut sources = Vec::new();
        for point in &self.points {
            sources = point.sources();
            if !sources.is_empty() {
                break;
            }
        }
        let (source, number) = source_and_number(text)?;
        // If there are several sources, results end with all of them together.
        let Some(last) = sources.last() else {
            return Ok(None);
        };
        let source = source.unwrap_or(last).to_owned();
        check_source(text, &source, &sources)?;
        Ok(Some((source, number)))
    }

    /// Means of the figure, and paired differences, which compare the same seeds under another
    /// value of the first key.
    pub(super) fn summary_of_figure(&self) -> Result<Option<Figures>, Failure> {
        let Some((source, figure)) = self.figure()? else {
            return Ok(None);
        };
        let mut all = Vec::new();
        // The first point that has the same values for all keys but the first.
        let mut references = HashMap::new();
        for (number, point) in self.points.iter().enumerate() {
            all.push(self.used(number, &source, figure));
            if let Some((_, rest)) = point.labels.split_first() {
                references.entry(rest).or_insert(number);
            }
        }
        let mut points = Vec::new();
        for (number, point) in self.points.iter().enumerate() {
            let values: Vec<f64> = all[number].values().copied().collect();
            let mut difference = None;
            if let Some((_, rest)) = point.labels.split_first()
                && let Some(&reference) = references.get(rest)
                && reference != number
            {
                let mut pairs = Vec::new();
                for (seed, value) in &all[number] {
                    if let Some(other) = all[reference].get(seed) {
                        pairs.push(value - other);
                    }
                }
                let (_, from) = &self.points[reference].labels[0];
                difference = student_95(&pairs).map(|interval| Difference {
                    from: from.clone(),
                    pairs: pairs.len(),
                    interval,
                });
            }
            points.push(FigureOfPoint {
                point: point.labels.clone(),
                runs: all[number].clone(),
                interval: student_95(&values),
                difference,
            });
        }
        Ok(Some(Figures {
            source,
            figure: SWEEP_FIGURES[figure],
            points,
        }))
    }

    /// A figure's values in the plan's runs, by seed.
    fn used(&self, number: usize, source: &str, figure: usize) -> BTreeMap<u64, f64> {
        let runs = match &self.targets {
            Some(targets) => targets[number],
            None => self.arguments.replicas,
        };
        let seeds = self.first_seed..self.first_seed + u64::from(runs);
        let mut used = BTreeMap::new();
        for (seed, value) in self.points[number].figures(source, figure) {
            if let Some(value) = value
                && seeds.contains(&seed)
            {
                used.insert(seed, value);
            }
        }
        used
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_added_until_the_interval_is_narrow() {
        assert_eq!(more(&[1.0, 1.0, 1.0], Precision(0.02)), None);
        // Half the width is 1.96, and the mean is 3: far too wide, so the number doubles.
        assert_eq!(more(&[1.0, 2.0, 3.0, 4.0, 5.0], Precision(0.02)), Some(5));
        // Just too wide: a quarter more.
        assert_eq!(more(&[1.0, 2.0, 3.0, 4.0, 5.0], Precision(0.64)), Some(2));
        assert_eq!(more(&[1.0, 2.0, 3.0, 4.0, 5.0], Precision(0.66)), None);
        assert_eq!(
            more(&[1.0], Precision(0.02)),
            Some(2),
            "one value has no interval"
        );
    }
}
