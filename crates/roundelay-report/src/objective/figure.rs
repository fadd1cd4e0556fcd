//! Names and units of the figures that measure an objective.

use roundelay_sim::scenario::Figure;

use crate::units::{percent, seconds};

/// The figure in words.
pub(super) const fn name(which: Figure) -> &'static str {
    match which {
        Figure::Completion => "mean flow completion time",
        Figure::CompletionByBytes => "mean flow completion time by bytes",
        Figure::DelayTail => "99th percentile of packet delay",
        Figure::Jain => "Jain index of throughput by weight",
        Figure::InTime => "part of the packets in time",
    }
}

/// A figure's value with its unit.
pub(super) fn with_unit(which: Figure, value: f64) -> String {
    match which {
        Figure::Jain => format!("{value:.3}"),
        Figure::InTime => percent(value),
        Figure::Completion | Figure::CompletionByBytes | Figure::DelayTail => seconds(value),
    }
}
