//! Meters for packet scheduling, shared by replayed captures, simulations, benchmarks and real
//! packets.
//!
//! Each meter receives packet events in time order and costs a few nanoseconds per event. No meter
//! reads a clock. The common events are `arrive` for an accepted packet, `serve` when the packet
//! leaves for the link, and `withdraw` for an accepted packet dropped later. Flows are numbered by
//! [`FlowId`](roundelay::FlowId). Number your flows densely, because tables grow to the largest
//! number seen.
//!
//! | question | meter |
//! |---|---|
//! | how far did a flow fall behind its share? | [`BitWfi`] in bytes, [`TimeWfi`] in seconds |
//! | how late was a flow compared with a dedicated link? | [`Lateness`] |
//! | how evenly were the busy flows treated? | [`JainWhileBacklogged`], [`jain_index`]; by pairs: [`PairFairness`] |
//! | how long did packets wait? | [`Delays`] |
//! | did packets of a flow overtake each other? | [`Reordering`] |
//! | how do figures vary over replicas? | [`ranks`], [`modes`], [`starved`], [`correlation`] |
//! | how did a value change over time? | [`DepartureSeries`], [`LevelSeries`] |
//!
//! [`workload`] generates random and adversarial loads and measures a discipline's B-WFI and T-WFI
//! under them. [`units`] formats numbers with units for readers, and [`cpu_seconds`] is the clock of
//! all measured costs.

mod cpu_time;
mod delay;
mod fairness;
mod lateness;
mod mean;
mod pairs;
mod reordering;
mod replicas;
mod series;
mod table;
mod totals;
pub mod units;
mod wfi;
pub mod workload;

pub use cpu_time::cpu_seconds;
pub use delay::Delays;
pub use fairness::{JainWhileBacklogged, jain_index};
pub use lateness::Lateness;
pub use mean::geometric_mean;
pub use pairs::PairFairness;
pub use reordering::Reordering;
pub use replicas::{Mode, Rank, correlation, modes, ranks, starved};
pub use series::{DepartureSeries, Departures, Level, LevelSeries};
pub use wfi::{BitWfi, Stamp, TimeWfi};
