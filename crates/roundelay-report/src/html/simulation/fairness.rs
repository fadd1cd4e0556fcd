//! Jain's index over time, if `[meter] rates` is set: for groups with two flows or more, and for
//! all flows together.

use roundelay_sim::scenario::{Rates, Results};
use serde::Serialize;

use super::page::{Page, note_on_first_replica};
use crate::html::escape;
use crate::text::clean;
use crate::units::{count, seconds};

/// Most points of a curve. If there are more intervals, neighbours are averaged.
const POINTS: usize = 1_000;
/// Most curves.
const CURVES: usize = 12;

/// Chart data for the script.
#[derive(Serialize)]
pub(super) struct Fairness {
    /// Seconds from one point to the next.
    step: f64,
    curves: Vec<Curve>,
}

#[derive(Serialize)]
struct Curve {
    name: String,
    jain: Vec<Option<f64>>,
}

impl Fairness {
    /// Takes the first replica's data. None if nothing was measured.
    pub(super) fn of(page: &Page<'_>) -> Option<Self> {
        let (first, rates) = first_replica_rates(page)?;
        let intervals = intervals_per_point(rates);
        let step = rates.interval.as_secs_f64() * intervals as f64;
        let mut curves = Vec::new();
        // All flows together come first, but are last in the results.
        for (group, jain) in first.groups.iter().zip(&rates.jain).rev() {
            if curves.len() < CURVES && jain.iter().any(Option::is_some) {
                curves.push(Curve {
                    name: clean(&group.name),
                    jain: means(jain, intervals),
                });
            }
        }
        Some(Self { step, curves })
    }
}

/// The first replica's results, and its rates if `[meter] rates` is set.
fn first_replica_rates<'a>(page: &Page<'a>) -> Option<(&'a Results, &'a Rates)> {
    let first = page.simulated.replicas.first()?;
    Some((first, first.rates.as_ref()?))
}

/// How many intervals a point covers.
fn intervals_per_point(rates: &Rates) -> usize {
    (rates.intervals as usize).div_ceil(POINTS).max(1)
}

/// Jain's index for each point of the curve. None if no interval of the point has one.
fn means(jain: &[Option<f64>], intervals_per_point: usize) -> Vec<Option<f64>> {
    let mut means = Vec::new();
    for some in jain.chunks(intervals_per_point) {
        let known: Vec<f64> = some.iter().flatten().copied().collect();
        means.push(if known.is_empty() {
            None
        } else {
            Some(known.iter().sum::<f64>() / known.len() as f64)
        });
    }
    means
}

/// The section with the chart, if `[meter] rates` is set.
pub(super) fn section(page: &Page<'_>) -> String {
    let Some((_, rates)) = first_replica_rates(page) else {
        return String::new();
    };
    let intervals = intervals_per_point(rates);
    let points = if intervals > 1 {
        format!(
            " A point is the mean of {} intervals.",
            count(intervals as u64)
        )
    } else {
        String::new()
    };
    let about = format!(
        "Of the bytes that flows received in each {}, by weight. Flows that have not begun or have \
         ended count as 0.{points} {}",
        seconds(rates.interval.as_secs_f64()),
        note_on_first_replica(page.simulated, "The curves are")
    );
    format!(
        "\n<section aria-labelledby=\"fairness-title\">\n  <h2 id=\"fairness-title\">Fairness over \
         time</h2>\n  \
         <div class=\"controls\"><div class=\"legend\" id=\"fairness-legend\" role=\"group\" \
         aria-label=\"Sources shown\"></div></div>\n  \
         <figure>\n    <figcaption><h3>Jain’s index</h3><p>{}</p></figcaption>\n    <div \
         class=\"chart\" id=\"fairness\"></div>\n  </figure>\n</section>\n",
        escape(about.trim_end())
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbours_are_merged_into_means() {
        let jain = [Some(0.5), Some(1.0), None, Some(0.25), None];
        assert_eq!(means(&jain, 1), jain);
        assert_eq!(means(&jain, 2), [Some(0.75), Some(0.25), None]);
        for (intervals, expected) in [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (1_000_000, 1_000)] {
            assert_eq!(
                intervals_per_point(&Rates {
                    intervals,
                    ..Rates::default()
                }),
                expected
            );
        }
    }
}
