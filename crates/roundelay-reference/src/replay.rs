//! Replay of packet schedules, the model of "Universal Packet Scheduling", in exact integers: an
//! oracle, independent of the schedulers.
//!
//! A [`Network`] has store-and-forward nodes, and packets with an input time i(p) and a path. A
//! [`Schedule`] has the arrival of each packet at each of its nodes and the start of its
//! transmission, o(p, a). [`Schedule::is_viable`] tests if some collection of non-preemptive
//! schedulers, including oracles and idling ones, produces the schedule. [`Replayer`] runs the same
//! packets under another [`Rule`], which knows only the header's part of the original;
//! [`Schedule::overdue`] lists the packets that leave later than in the original. [`Reading`]
//! counts congestion points, [`RandomNetwork`] draws networks and schedules, and [`search`]
//! enumerates all small ones.
//!
//! Times are integers in units of the caller's choice. Ties go to the packet that arrived first; at
//! the same instant, to the packet listed first.
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

pub use claims::{Counts, by_arrivals, other_decisions, slack_equation};
pub use congestion::Reading;
pub use engine::{Action, Waiting, record};
pub use every::{TooMany, each_replay};
pub use network::{Hop, Invalid, LARGEST, MOST, Network, Node, Packet};
pub use random::RandomNetwork;
pub use rules::{Decision, Replayer, Rule, priorities};
pub use schedule::{NotViable, Schedule, Stay};
