//! A figure of one queue in one scenario: its values by seed, and what they say together.

use roundelay_metrics::modes;
use roundelay_sim::scenario::{Interval, student_95};
use serde::Serialize;

use crate::scenarios::{Better, Thresholds};

/// Two modes count if the larger is above the smaller by more than this factor, and two queues
/// differ from it on.
const NOTABLE: f64 = 1.25;
/// Values below this do not differ: half a millisecond, or .05%.
const NEGLIGIBLE: f64 = 0.0005;

/// What a value is by its thresholds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mark {
    /// As good as the threshold of good values, or better.
    Good,
    /// Between the thresholds.
    Fair,
    /// Worse than the threshold of bad values.
    Bad,
}

impl Mark {
    fn of(value: f64, better: Better, thresholds: Thresholds) -> Self {
        let badness = better.badness(value);
        if badness <= better.badness(thresholds.good) {
            Self::Good
        } else if badness > better.badness(thresholds.bad) {
            Self::Bad
        } else {
            Self::Fair
        }
    }
}

/// How a queue's value stands to that of fifo, seed by seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ToFifo {
    /// Better by a quarter or more, and by more than chance.
    Better,
    /// No such difference.
    Same,
    /// Worse by a quarter or more, and by more than chance.
    Worse,
}

/// One of two groups into which values fall.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Mode {
    /// The mean of the group.
    pub mean: f64,
    /// How many replicas it has.
    pub count: usize,
}

/// A figure of a queue.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cell {
    /// The value of each replica, in the order of seeds. None: the run has no such figure.
    pub values: Vec<Option<f64>>,
    /// Mean with its 95% confidence interval. None if the figure is bistable, because a mean would
    /// be no value that occurs, or if no run has it.
    pub interval: Option<Interval>,
    /// The two groups of a bistable figure: the largest gap is more than three times as wide as the
    /// spread on either side, each side has a fifth of five replicas or more, and the means differ
    /// by more than a quarter.
    pub modes: Option<[Mode; 2]>,
    /// By the thresholds; of a bistable figure the worse group's. None without thresholds.
    pub mark: Option<Mark>,
    /// None for fifo itself.
    pub to_fifo: Option<ToFifo>,
}

impl Cell {
    /// `fifo` has the values of fifo with the same seeds. None: these are fifo's.
    pub fn new(
        values: Vec<Option<f64>>,
        fifo: Option<&[Option<f64>]>,
        better: Better,
        thresholds: Option<Thresholds>,
    ) -> Self {
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        let modes = two_modes(&known);
        let interval = match modes {
            Some(_) => None,
            None => student_95(&known),
        };
        let told: Vec<f64> = match (&modes, &interval) {
            (Some(modes), _) => modes.iter().map(|mode| mode.mean).collect(),
            (None, Some(interval)) => vec![interval.mean],
            (None, None) => Vec::new(),
        };
        let marks = thresholds.map(|thresholds| {
            let marks = told
                .iter()
                .map(|value| Mark::of(*value, better, thresholds));
            marks.max()
        });
        Self {
            to_fifo: fifo.and_then(|fifo| beside(&values, fifo, better)),
            mark: marks.flatten(),
            values,
            interval,
            modes,
        }
    }

    /// The value that a sentence tells: the mean, or the worse group's.
    pub fn told(&self, better: Better) -> Option<f64> {
        if let Some([one, other]) = &self.modes {
            let is_first = better.badness(one.mean) > better.badness(other.mean);
            return Some(if is_first { one.mean } else { other.mean });
        }
        Some(self.interval?.mean)
    }
}

fn two_modes(values: &[f64]) -> Option<[Mode; 2]> {
    let [low, high] = modes(values)?;
    let is_notable = high.mean - low.mean > NEGLIGIBLE && high.mean > NOTABLE * low.mean;
    is_notable.then(|| {
        [low, high].map(|mode| Mode {
            mean: mode.mean,
            count: mode.count,
        })
    })
}

/// Compares values with those of fifo, seed by seed.
fn beside(values: &[Option<f64>], fifo: &[Option<f64>], better: Better) -> Option<ToFifo> {
    let mut differences = Vec::new();
    let mut sums = [0.0, 0.0];
    for (value, fifo) in values.iter().zip(fifo) {
        let [Some(value), Some(fifo)] = [value, fifo] else {
            continue;
        };
        differences.push(better.badness(*value) - better.badness(*fifo));
        sums[0] += value;
        sums[1] += fifo;
    }
    let Interval { mean, half_width } = student_95(&differences)?;
    let means = sums.map(|sum| better.badness(sum / differences.len() as f64).abs());
    let [less, more] = [means[0].min(means[1]), means[0].max(means[1])];
    let is_notable = mean.abs() > NEGLIGIBLE && more > NOTABLE * less;
    let is_chance = half_width.is_some_and(|half| half >= mean.abs());
    Some(match is_notable && !is_chance {
        true if mean < 0.0 => ToFifo::Better,
        true => ToFifo::Worse,
        false => ToFifo::Same,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Thresholds = Thresholds {
        good: 0.02,
        bad: 0.05,
    };

    fn cell(values: &[f64], fifo: &[f64]) -> Cell {
        let some = |values: &[f64]| values.iter().copied().map(Some).collect::<Vec<_>>();
        Cell::new(some(values), Some(&some(fifo)), Better::Less, Some(DELAY))
    }

    #[test]
    fn thresholds_make_marks() {
        for (value, mark) in [
            (0.01, Mark::Good),
            (0.02, Mark::Good),
            (0.03, Mark::Fair),
            (0.049, Mark::Fair),
            (0.06, Mark::Bad),
        ] {
            assert_eq!(cell(&[value; 3], &[0.1; 3]).mark, Some(mark), "{value}");
        }
        let ratio = Thresholds {
            good: 2.0,
            bad: 5.0,
        };
        for (value, mark) in [(0.5, Mark::Good), (0.3, Mark::Fair), (0.1, Mark::Bad)] {
            assert_eq!(Mark::of(value, Better::Even, ratio), mark, "{value}");
        }
    }

    /// Five runs, of which two starve a flow: the mean of .6 occurs in none of them.
    #[test]
    fn a_bistable_figure_has_no_mean() {
        let bistable = cell(&[0.01, 0.012, 0.011, 0.09, 0.095], &[0.1; 5]);
        assert_eq!(bistable.interval, None);
        let modes = bistable.modes.expect("two modes");
        assert_eq!(modes.map(|mode| mode.count), [3, 2]);
        assert_eq!(bistable.mark, Some(Mark::Bad), "that of the worse group");
        assert!(bistable.told(Better::Less) > Some(0.09));
        // The same gaps in little, and an even spread.
        assert_eq!(
            cell(&[0.0901, 0.0901, 0.0901, 0.091, 0.091], &[0.1; 5]).modes,
            None
        );
        assert_eq!(cell(&[0.01, 0.02, 0.03, 0.04, 0.05], &[0.1; 5]).modes, None);
        assert_eq!(cell(&[0.01, 0.09], &[0.1; 2]).modes, None, "too few");
    }

    #[test]
    fn a_queue_is_no_better_than_fifo_by_chance_or_by_little() {
        let to_fifo = |values: &[f64], fifo: &[f64]| cell(values, fifo).to_fifo;
        assert_eq!(to_fifo(&[0.01; 3], &[0.1; 3]), Some(ToFifo::Better));
        assert_eq!(to_fifo(&[0.1; 3], &[0.01; 3]), Some(ToFifo::Worse));
        assert_eq!(
            to_fifo(&[0.09; 3], &[0.1; 3]),
            Some(ToFifo::Same),
            "a tenth"
        );
        let scattered = to_fifo(&[0.01, 0.2, 0.01], &[0.1, 0.1, 0.15]);
        assert_eq!(scattered, Some(ToFifo::Same), "by chance");
        assert_eq!(to_fifo(&[0.0001; 3], &[0.0003; 3]), Some(ToFifo::Same));
    }

    #[test]
    fn runs_without_the_figure_count_for_nothing() {
        let values = vec![None, Some(0.03), None];
        let cell = Cell::new(values, None, Better::Less, Some(DELAY));
        assert_eq!((cell.mark, cell.to_fifo), (Some(Mark::Fair), None));
        let none = Cell::new(vec![None], None, Better::Less, Some(DELAY));
        assert_eq!(
            (none.mark, none.interval, none.told(Better::Less)),
            (None, None, None)
        );
    }
}
