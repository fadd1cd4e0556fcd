//! Replay: sends a recorded schedule's packets again at the same times, under another discipline
//! that knows only what packet headers tell it.
//!
//! Source: R. Mittal, R. Agarwal, S. Ratnasamy, S. Shenker, "Universal Packet Scheduling", NSDI
//! 2016, section 2. A schedule is {(path(p), i(p), o(p))}. A discipline replays it if every packet
//! gets out by o(p) again.
//!
//! [`Schedule::record`] runs a scenario and records the schedule. [`Schedule::replay`] sends the
//! packets again under a [`Candidate`]. [`Replay::count`] counts overdue packets. Sources stop when
//! the scenario's duration ends, but both runs continue until the network is empty, so all the
//! window's packets have left in both.
//!
//! Packet k in a [`Schedule`] is packet k in each replay, because one sender sends all packets in
//! the recorded order.

mod candidate;
mod count;
mod listed;
mod record;
mod resend;
mod schedule;

pub use candidate::{Candidate, Headers, SlackRule};
pub use count::{Count, Counted, Counting, DelayRatios};
pub use listed::Line;
pub use resend::Replay;
pub use schedule::{Packet, Schedule, ScheduledFlow};

use crate::scenario::RunError;
use roundelay::Fault;

/// Why a schedule could not be recorded or replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The simulation failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// A link follows a trace, a wire loses packets or varies in delay, or decisions cost time. So
    /// we do not know how long a packet takes without waiting.
    #[error(
        "link {link}: {what}; a replay needs links of constant rate, wires without loss and \
         jitter, and ports without decision time"
    )]
    Uncertain {
        /// The link's name.
        link: String,
        /// The reason.
        what: &'static str,
    },
    /// A packet in a list is invalid.
    #[error("row {row}: {what}")]
    Line {
        /// The row, from 0.
        row: usize,
        /// What is wrong, and the legal values.
        what: Fault,
    },
    /// No link leaves a router, so no queue has a discipline to replace.
    #[error("no link leaves a router: there is no queue to replay in")]
    NoRouters,
    /// Packets are still on their way at the end of simulated time.
    #[error(
        "the network is not empty after 213 days, the longest time that can be simulated: shorten \
         the run, or slow down the sources"
    )]
    TooLong,
    /// Routes depend on flow numbers, but a list does not contain these.
    #[error(
        "[routing] spread: a schedule from a file does not tell which of several routes its flows \
         took; legal is spread = false"
    )]
    Spread,
    /// No packet got out.
    #[error("no packet got out by the end of the recording: there is nothing to replay")]
    Empty,
    /// There are more flows or packets than 32-bit numbers can count.
    #[error("legal range up to {} flows and as many packets", u32::MAX)]
    TooMany,
}

impl From<ReplayError> for Fault {
    /// A list's row keeps its data. All others have only a message.
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Line { row, what } => what.behind(format_args!("row {row}: ")),
            other => Self::new(other.to_string()),
        }
    }
}
