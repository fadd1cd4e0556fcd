//! Results of a discipline for an objective, over the seeds and by seed, and how much worse it is
//! than another one.

use roundelay_sim::scenario::{Figure, Interval, student_95};
use serde::Serialize;

use super::sources::{SourceResult, SourceRun};

/// Results of one discipline.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DisciplineResult {
    /// The discipline with its parameters and limit, as written by the user.
    pub queue: String,
    /// Mean and 95% confidence interval of the figure.
    pub value: Option<Interval>,
    /// Fraction of the specialist's figure by which the discipline is worse, paired by seed;
    /// negative: better.
    pub worse: Option<Interval>,
    /// Fraction of packets that did not arrive.
    pub loss: Option<Interval>,
    /// Fraction of the packets sent that were still in the network at the end of the run: of the
    /// counted source with the largest fraction.
    pub undelivered: Option<Interval>,
    /// Flows incomplete at the end of the run.
    pub incomplete: Option<Interval>,
    /// Results by source, in the order of the file.
    pub sources: Vec<SourceResult>,
    /// Results by seed.
    pub replicas: Vec<ObjectiveRun>,
}

/// Results of one seed under one discipline.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ObjectiveRun {
    /// The seed.
    pub seed: u64,
    /// The figure.
    pub value: f64,
    /// Fraction of packets that were dropped or lost, of all with a known fate.
    pub loss: Option<f64>,
    /// Fraction of the packets sent that were still in the network at the end of the run: of the
    /// counted source with the largest fraction.
    pub undelivered: f64,
    /// Complete flows.
    pub complete: u64,
    /// Incomplete flows.
    pub incomplete: u64,
}

impl ObjectiveRun {
    /// Fraction of flows that were cut off.
    fn cut_off(&self) -> f64 {
        self.incomplete as f64 / (self.complete + self.incomplete).max(1) as f64
    }
}

impl DisciplineResult {
    /// All lists are in the order of the seeds.
    pub fn new(
        queue: String,
        which: Figure,
        replicas: Vec<ObjectiveRun>,
        specialist: &[ObjectiveRun],
        sources: &[&[SourceRun]],
    ) -> Self {
        let mut values = Vec::new();
        let mut losses = Vec::new();
        let mut undelivered = Vec::new();
        let mut incomplete = Vec::new();
        for run in &replicas {
            values.push(run.value);
            losses.extend(run.loss);
            undelivered.push(run.undelivered);
            incomplete.push(run.incomplete as f64);
        }
        Self {
            queue,
            value: student_95(&values),
            worse: worse(which, &replicas, specialist),
            loss: student_95(&losses),
            undelivered: student_95(&undelivered),
            incomplete: student_95(&incomplete),
            sources: SourceResult::all(sources),
            replicas,
        }
    }

    /// Mean over the seeds of the fraction of cut-off flows.
    pub(super) fn mean_cut_off(&self) -> f64 {
        let sum: f64 = self.replicas.iter().map(ObjectiveRun::cut_off).sum();
        sum / self.replicas.len().max(1) as f64
    }

    /// Maximum over the seeds of the fraction of cut-off flows.
    pub(super) fn cut_off(&self) -> f64 {
        let mut most = 0.0_f64;
        for run in &self.replicas {
            most = most.max(run.cut_off());
        }
        most
    }
}

/// Fraction by which the figure is worse than another discipline's, paired by seed.
pub(super) fn worse(
    which: Figure,
    own: &[ObjectiveRun],
    other: &[ObjectiveRun],
) -> Option<Interval> {
    let mut worse = Vec::new();
    for (own, other) in own.iter().zip(other) {
        worse.push(which.worse(own.value, other.value)?);
    }
    student_95(&worse)
}
