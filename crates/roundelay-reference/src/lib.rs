//! Reference models, slow and simple, that tests and audits use as oracles: a GPS fluid server, an
//! exact WF2Q+, an LSTF without a heap, and a model of schedule replay.
//!
//! None of them is meant to schedule traffic. [`GpsServer`] is the ideal fluid server, fast enough
//! to run beside a replay. [`Wf2qPlus`] is the packet algorithm that QFQ approximates, in exact
//! rational numbers. [`Lstf`] compares every packet's slack at each decision. [`qfq_listings`] runs
//! QFQ's pseudo-code as printed and checks the paper's claims about it. [`replay`] is the model
//! behind universal packet scheduling, and it searches for counterexamples, at random and
//! exhaustively.

mod gps;
mod lstf;
mod number;
pub mod qfq_listings;
pub mod replay;
mod wf2q_plus;

pub use gps::GpsServer;
pub use lstf::Lstf;
pub use number::{Number, Rational};
pub use wf2q_plus::{Candidate, Wf2qPlus};
