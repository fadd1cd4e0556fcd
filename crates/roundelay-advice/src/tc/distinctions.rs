//! What a comparison tells flows apart by, and which of it the commands can say.

use roundelay::schedulers::AnyDiscipline;
use roundelay_trace::{CodePoints, Comparison, FlowBy, Options, WeightRule};

use super::weights::{self, CLASSES};

/// How a comparison classified packets.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Distinctions<'a> {
    pub(super) flow_by: FlowBy,
    /// Number of flows.
    pub(super) flows: usize,
    /// Flows differ in weight.
    pub(super) weighted: bool,
    /// Rules set priorities.
    pub(super) prioritised: bool,
    pub(super) code_points: CodePoints,
    /// Rules of weights, in order of evaluation.
    pub(super) rules: &'a [WeightRule],
}

impl<'a> Distinctions<'a> {
    pub(super) fn of(comparison: &Comparison, options: &'a Options) -> Self {
        let rules = options.weights.rules();
        let mut urgencies = rules.iter().map(WeightRule::urgency);
        Self {
            flow_by: options.flow_by,
            flows: comparison.flows.len(),
            weighted: comparison.flows.iter().any(|flow| flow.weight != 1),
            prioritised: urgencies.any(|urgency| urgency.priority.is_some()),
            code_points: comparison.observed.code_points,
            rules,
        }
    }
}

impl Distinctions<'_> {
    /// The rules that get classes. There are some only if headers tell flows apart and flows differ
    /// in weight.
    pub(super) fn weighted_rules(&self, discipline: &AnyDiscipline) -> &[WeightRule] {
        let have_classes = self.weighted
            && self.flow_by != FlowBy::Dscp
            && self.lost_weights(discipline).is_none();
        if have_classes { self.rules } else { &[] }
    }

    /// Why the commands set no weights, or None if they do. Not for flows by code point, because each
    /// code point has a class of its own.
    pub(super) fn lost_weights(&self, discipline: &AnyDiscipline) -> Option<String> {
        let default = self.code_points.default;
        let mut sum = u64::from(CLASSES) * u64::from(default);
        for rule in self.rules {
            let weight = u64::from(rule.weight().unwrap_or(default));
            sum += weight * u64::from(weights::CLASSES_A_RULE);
        }
        if self.rules.len() > weights::MOST_RULES {
            return Some(format!(
                "the weights are lost: more than {} rules would need more classes than there are",
                weights::MOST_RULES
            ));
        }
        let is_drr = matches!(discipline, AnyDiscipline::Drr(_));
        if is_drr || sum <= weights::MOST_WEIGHT {
            return None;
        }
        Some(format!(
            "the weights are lost: with theirs the sum is {sum}, and Linux's qfq takes {} at most",
            weights::MOST_WEIGHT
        ))
    }
}
