//! Measured costs.

use roundelay_bench::{Load, Passed, Subject};

/// The costs of all subjects under one load.
#[derive(Debug, Clone)]
pub(crate) struct Measured {
    pub(super) load: Load,
    pub(super) rows: Vec<Row>,
}

/// A packet's cost under one subject.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(super) subject: String,
    /// Figures by name. The first is the one to compare and includes the generator's cost, while
    /// `net` is the same figure without it.
    pub(super) figures: Vec<(&'static str, f64)>,
    pub(super) net: f64,
    pub(super) passed: Passed,
    /// The cost in the `--against` or `--check` file.
    pub(super) saved: Option<f64>,
}

impl Row {
    /// The first figure.
    pub(super) fn gross(&self) -> f64 {
        self.figures[0].1
    }

    /// Whether any packet got through. Without one there is no cost per packet.
    pub(super) fn sends(&self) -> bool {
        self.passed.sent > 0
    }

    /// The figure to compare with the saved one: gross for the generator, net for others.
    pub(super) fn compared(&self) -> f64 {
        if self.subject == Subject::Generator.name() {
            self.gross()
        } else {
            self.net
        }
    }
}
