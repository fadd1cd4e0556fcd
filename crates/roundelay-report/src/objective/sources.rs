//! Each source's delay and loss under an objective's disciplines: which sources pay for the
//! objective?

use roundelay_sim::scenario::{Interval, student_95};
use serde::Serialize;

use crate::units::{percent, seconds};

/// Beyond this fraction of lost packets or cut-off flows a difference is material, because figures
/// over the remaining packets or flows cannot be compared.
pub(super) const MATERIAL: f64 = 0.01;
/// A source pays for the objective if its 99th percentile of delay grows by more than this factor.
const FAR_LONGER: f64 = 2.0;

/// Results of one source under one discipline: other sources may pay for the objective.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SourceResult {
    /// The source's name.
    pub name: String,
    /// 99th percentile of packet delay.
    pub tail: Option<Interval>,
    /// Fraction of packets that were dropped or lost.
    pub loss: Option<Interval>,
    /// Fraction of the packets sent that were still in the network when the run ended.
    pub undelivered: Option<Interval>,
}

/// One source's results in one run.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceRun {
    /// The source's name.
    pub name: String,
    /// 99th percentile of packet delay.
    pub tail: Option<f64>,
    /// Fraction of packets that were dropped or lost.
    pub loss: Option<f64>,
    /// Fraction of the packets sent that were still in the network when the run ended.
    pub undelivered: f64,
}

impl SourceResult {
    /// Results over runs, which must have the same order of sources.
    pub(super) fn all(runs: &[&[SourceRun]]) -> Vec<Self> {
        let Some(first) = runs.first() else {
            return Vec::new();
        };
        let mut results = Vec::new();
        for (index, source) in first.iter().enumerate() {
            let mut tails = Vec::new();
            let mut losses = Vec::new();
            let mut undelivered = Vec::new();
            for run in runs {
                if let Some(source) = run.get(index) {
                    tails.extend(source.tail);
                    losses.extend(source.loss);
                    undelivered.push(source.undelivered);
                }
            }
            results.push(Self {
                name: source.name.clone(),
                tail: student_95(&tails),
                loss: student_95(&losses),
                undelivered: student_95(&undelivered),
            });
        }
        results
    }

    /// `12 ms`, or `12 ms, 3.2% lost, 40% undelivered`.
    pub(super) fn in_words(&self) -> String {
        let mut words = match self.tail {
            Some(tail) => seconds(tail.mean),
            None => "–".to_owned(),
        };
        if mean(self.loss) > 0.0 {
            words += &format!(", {} lost", percent(mean(self.loss)));
        }
        if mean(self.undelivered) > MATERIAL {
            words += &format!(", {} undelivered", percent(mean(self.undelivered)));
        }
        words
    }

    /// Whether the source has far longer delays, more loss or more undelivered packets than under
    /// another discipline. A source without any delivered packet has no delay.
    pub(super) fn pays_beside(&self, other: &Self) -> bool {
        let is_far_longer = match (self.tail, other.tail) {
            (Some(own), Some(other)) => own.mean > FAR_LONGER * other.mean,
            (None, Some(_)) => true,
            (_, None) => false,
        };
        let is_lossier = mean(self.loss) > mean(other.loss) + MATERIAL;
        let is_stuck = mean(self.undelivered) > mean(other.undelivered) + MATERIAL;
        is_far_longer || is_lossier || is_stuck
    }
}

fn mean(interval: Option<Interval>) -> f64 {
    interval.map_or(0.0, |interval| interval.mean)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(tail: Option<f64>, loss: f64, undelivered: f64) -> SourceResult {
        let run = SourceRun {
            name: "one".to_owned(),
            tail,
            loss: Some(loss),
            undelivered,
        };
        SourceResult::all(&[&[run]]).remove(0)
    }

    /// A source that gets nothing through pays; one that gets its first packets through does not.
    #[test]
    fn a_source_without_delivered_packets_pays() {
        let served = of(Some(0.01), 0.0, 0.0);
        let starved = of(None, 0.0, 1.0);
        assert!(starved.pays_beside(&served) && !served.pays_beside(&starved));
        assert!(!starved.pays_beside(&starved) && !served.pays_beside(&served));
        assert!(
            of(Some(0.03), 0.0, 0.0).pays_beside(&served)
                && !of(Some(0.015), 0.0, 0.0).pays_beside(&served)
        );
        assert!(
            of(Some(0.01), 0.02, 0.0).pays_beside(&served)
                && of(Some(0.01), 0.0, 0.5).pays_beside(&served)
        );
        assert_eq!(starved.in_words(), "–, 100% undelivered");
        assert_eq!(
            of(Some(0.01), 0.032, 0.4).in_words(),
            "10.0 ms, 3.2% lost, 40.0% undelivered"
        );
    }
}
