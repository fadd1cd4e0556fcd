//! Replay of packet schedules, the model of "Universal Packet Scheduling", in exact integers: an oracle, independent of the schedulers.
//!
//! A [`Network`] has nodes that store and forward, and packets with an input time i(p) and a path. A [`Schedule`] says when each packet came to each of
//! its nodes and was sent there, o(p, a). [`Schedule::is_viable`] tells whether some collection of non-preemptive schedulers, oracles and idling ones
//! included, produces it. [`Replayer`] runs the same packets under another [`Rule`] that knows of the original what the rule's header may hold;
//! [`Schedule::overdue`] names those that leave later than they did. [`Reading`] counts congestion points, [`RandomNetwork`] draws
//! networks and schedules, and [`search`] enumerates all small ones.
//!
//! Times are integers in units of the caller's choice. Ties go to the packet that came first, and at one instant to the one that stands first.
//!
//! Source: R. Mittal, R. Agarwal, S. Ratnasamy, S. Shenker, "Universal Packet Scheduling", NSDI 2016, sections 2.1 and 2.2 and appendix A.

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
