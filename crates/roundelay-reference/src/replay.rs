//! Replay of packet schedules in exact integers, as "Universal Packet Scheduling" models it. This
//! oracle shares no code with the schedulers.
//!
//! A [`Network`] has store-and-forward nodes, and packets with an input time i(p) and a path. A
//! [`Schedule`] says when each packet arrives at each of its nodes, when its transmission starts,
//! o(p, a), and when that ends. [`Schedule::is_viable`] tests if some collection of non-preemptive
//! schedulers, which may be oracles and may idle, produces the schedule. [`Replayer`] runs the same
//! packets under another [`Rule`], which knows only the part of the original that the header
//! carries, and [`Schedule::overdue`] lists the packets that leave later than in the original.
//! [`Reading`] counts congestion points, [`RandomNetwork`] draws networks and schedules, and
//! [`search`] enumerates all small ones. [`transformation`] makes LSTF's schedule of one node out of
//! another one.
//!
//! Times are integers in units that the caller chooses. Ties go to the packet that arrived first
//! or, at the same instant, to the one listed first.
//!
//! Source: R. Mittal, R. Agarwal, S. Ratnasamy, S. Shenker, "Universal Packet Scheduling", NSDI
//! 2016, sections 2.1 and 2.2 and appendix A.

mod claims;
mod congestion;
mod engine;
mod every;
mod network;
mod random;
mod rules;
mod schedule;
pub mod search;
mod table;
pub mod transformation;

pub use claims::{Counts, by_arrivals, other_decisions, slack_equation};
pub use congestion::Reading;
pub use engine::{Action, Waiting, record};
pub use every::{TooMany, each_replay};
pub use network::{Hop, Invalid, LARGEST, MOST, Network, Node, Packet};
pub use random::RandomNetwork;
pub use rules::{Decision, Replayer, Rule, priorities};
pub use schedule::{NotViable, Schedule, Stay};
