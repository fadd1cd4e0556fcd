//! Delay and loss of each source under an objective's disciplines: sources that pay for the
//! objective.

use roundelay_sim::scenario::{Interval, student_95};
use serde::Serialize;

use super::verdict::MATERIAL;
use crate::units::{percent, seconds};

/// Factor of growth in the 99th percentile of delay above which a source pays for the objective.
const FAR_LONGER: f64 = 2.0;

/// Results of one source under one discipline: other sources may pay for the objective.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SourceResult {
    /// The source's name.
    pub name: String,
    /// 99th percentile of packet delay.
    pub tail: Option<Interval>,
    /// Fraction of packets that did not arrive.
    pub loss: Option<Interval>,
}

/// Results of one source in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRun {
    /// The source's name.
    pub name: String,
    /// 99th percentile of packet delay.
    pub tail: Option<f64>,
    /// Fraction of packets that did not arrive.
    pub loss: Option<f64>,
}

impl SourceResult {
    /// Results over runs with equal order of sources.
    pub(super) fn all(runs: &[&[SourceRun]]) -> Vec<Self> {
        let of = |place: usize, value: fn(&SourceRun) -> Option<f64>| {
            student_95(&runs.iter().filter_map(|run| run.get(place).and_then(value)).collect::<Vec<_>>())
        };
        let names = runs.first().map_or(&[][..], |first| first).iter().map(|source| source.name.clone());
        let result = |(place, name)| Self { name, tail: of(place, |source| source.tail), loss: of(place, |source| source.loss) };
        names.enumerate().map(result).collect()
    }

    /// `12 ms`, `12 ms, 3.2 % lost`.
    pub(super) fn in_words(&self) -> String {
        let tail = self.tail.map_or_else(|| "–".to_owned(), |tail| seconds(tail.mean));
        let lost = self.loss.map(|loss| loss.mean).filter(|loss| *loss > 0.0);
        lost.map_or_else(|| tail.clone(), |loss| format!("{tail}, {} lost", percent(loss)))
    }

    pub(super) fn pays_beside(&self, other: &Self) -> bool {
        let mean = |interval: Option<Interval>| interval.map_or(0.0, |interval| interval.mean);
        mean(self.tail) > FAR_LONGER * mean(other.tail) || mean(self.loss) > mean(other.loss) + MATERIAL
    }
}
