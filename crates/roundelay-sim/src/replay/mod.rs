//! Replay: the packets of a recorded schedule sent again at the same times, ordered by another discipline that only headers inform.
//!
//! Source: R. Mittal, R. Agarwal, S. Ratnasamy, S. Shenker, "Universal Packet Scheduling", NSDI 2016, section 2. A schedule is
//! {(path(p), i(p), o(p))}; a discipline replays it if every packet gets out by o(p) again.
//!
//! [`Schedule::record`] runs a scenario and writes down its schedule; [`Schedule::replay`] sends the packets again under a [`Candidate`];
//! [`Replay::count`] says how many came out too late. Sources fall silent when the scenario's duration is over, and both runs go on until the network is empty:
//! all packets of the window have left in both.
//!
//! Packet k of a [`Schedule`] is packet k of each of its replays: one sender sends all packets in the recorded order.

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
pub use schedule::{Flow, Packet, Schedule};

use crate::scenario::RunError;

/// Why a schedule could not be recorded or replayed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The run failed.
    #[error(transparent)]
    Run(#[from] RunError),
    /// Some wire loses packets, or takes them different times: the time without waiting is not known.
    #[error(
        "link {link}: {what}; a replay needs wires that lose nothing and take all packets the same time, and ports whose decisions cost no time"
    )]
    Uncertain {
        /// The link's ends.
        link: String,
        /// Which it is.
        what: &'static str,
    },
    /// A packet of a list is not as it should be.
    #[error("row {row}: {what}")]
    Line {
        /// Which, from 0 on.
        row: usize,
        /// What is wrong, and what is legal.
        what: String,
    },
    /// No router's queue takes another discipline.
    #[error("no link leaves a router: there is no queue to replay in")]
    NoRouters,
    /// Packets are still on their way when simulated time ends.
    #[error("the network is not empty after 213 days, the longest time that can be simulated: shorten the run, or slow down its sources")]
    TooLong,
    /// Routes go by the numbers of flows, which a list does not keep.
    #[error("[routing] spread: a schedule from a file does not tell which of several routes its flows took; legal is spread = false")]
    Spread,
    /// Nothing was sent.
    #[error("no packet got out by the end of the recording: there is nothing to replay")]
    Empty,
    /// More flows or packets than are counted.
    #[error("legal range up to {} flows and as many packets", u32::MAX)]
    TooMany,
}
