//! Yardsticks of packet scheduling, the same for replayed captures, simulations, benchmarks and real packets.
//!
//! Each yardstick is told what happens to packets, in the order of time, and costs a few nanoseconds an event; none reads a clock. What
//! they are told is alike in all of them: `arrive` when a packet has been accepted, `serve` when it leaves for the link, `withdraw` when it
//! is dropped after it had been accepted. Flows are told apart by [`FlowId`](roundelay::FlowId), which should be dense: tables grow to the
//! largest number seen.
//!
//! | question | yardstick |
//! |---|---|
//! | how far did a flow fall behind its share? | [`BitWfi`] in bytes, [`TimeWfi`] in seconds |
//! | how late was a flow, held against a link of its own? | [`Lateness`] |
//! | how evenly were the busy flows treated? | [`JainWhileBacklogged`], [`jain_index`]; by pairs: [`PairFairness`] |
//! | how long did packets wait? | [`Delays`], [`FlowDelays`] |
//! | did packets of a flow overtake each other? | [`Reordering`] |
//! | what happened when? | [`SumSeries`], [`LevelSeries`] |
//!
//! [`workload`] generates random and adversarial loads and measures a discipline's B-WFI and T-WFI in them.

mod delay;
mod fairness;
mod lateness;
mod mean;
mod pairs;
mod reordering;
mod series;
mod table;
mod totals;
mod wfi;
pub mod workload;

pub use delay::{Delays, FlowDelays};
pub use fairness::{JainWhileBacklogged, jain_index};
pub use lateness::Lateness;
pub use mean::geometric_mean;
pub use pairs::PairFairness;
pub use reordering::Reordering;
pub use series::{Level, LevelSeries, SumSeries};
pub use wfi::{BitWfi, Stamp, TimeWfi};
