//! Tables for results in columns: rows for flows, links, transfers and rates, for files and
//! programs.

pub(crate) mod column;
mod flows;
mod over_time;
mod rates;
mod rows;
mod simulation;
mod sweep;
mod transfers;

pub use column::{Cells, Column};
#[cfg(feature = "parquet")]
pub(crate) use column::{GROUP_ROWS, Values, picos, shared};
pub use flows::FLOWS;
pub use over_time::{LINKS_OVER_TIME, SOURCES_OVER_TIME};
pub use rates::RATES;
pub use rows::{Setting, Table, TableOf};
pub use simulation::{LINKS, SIMULATED_FLOWS};
#[cfg(feature = "parquet")]
pub(crate) use sweep::{KEYS, sweep_columns};
pub use sweep::{
    PointRuns, SWEEP_FIGURES, SweepFile, SweepRow, SweepRuns, sweep_rows, sweep_table,
};
pub use transfers::TRANSFERS;

use roundelay_trace::Comparison;

use crate::Simulated;

/// A comparison's tables.
pub const COMPARED: [&TableOf<Comparison>; 1] = [&FLOWS];
/// A simulation's tables.
pub const SIMULATED: [&TableOf<Simulated>; 6] = [
    &SIMULATED_FLOWS,
    &LINKS,
    &TRANSFERS,
    &RATES,
    &LINKS_OVER_TIME,
    &SOURCES_OVER_TIME,
];
