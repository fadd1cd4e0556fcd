//! Evaluation of a queue by RFC 7928: scenarios, figures, thresholds, marks. Data alone, without
//! runs and words.
//!
//! | step | where |
//! |---|---|
//! | a scenario is a file of `scenarios/`, named by its section of the RFC | [`SCENARIOS`] |
//! | a sweep runs all scenarios under fifo and each queue, with the same seeds and buffers | the command |
//! | a figure is one of a source in the sweep's dataset, less the propagation delay, or over the capacity or another source | [`Measure`] |
//! | its values by seed become a cell: interval or two modes, mark, and how it stands to fifo | [`Cell`] |
//! | cells of all scenarios and queues | [`Evaluation`] |
//!
//! RFC 7928 prescribes no rate, length, buffer, number of replicas or threshold. The files fix the
//! first three, [`SCENARIOS`] the last.

mod cell;
mod evaluation;
mod scenarios;

pub use cell::{Cell, Mark, Mode, ToFifo};
pub use evaluation::{Evaluation, FigureOf, Row, ScenarioResult};
pub use scenarios::{Better, Loss, Measure, Of, SCENARIOS, Scenario, Thresholds, Unit, chosen};
