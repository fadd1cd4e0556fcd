//! Slow and obviously right: a GPS fluid server, an exact WF2Q+, an LSTF that sorts and a model of schedule replay, as oracles for tests and audits.
//!
//! Nothing here is meant to schedule traffic. [`GpsServer`] tells what the ideal fluid server would have done, fast enough to run beside
//! a replay; [`Wf2qPlus`] is the packet algorithm that QFQ approximates, in exact rational numbers;
//! [`Lstf`] sorts by slack at each decision; [`qfq_listings`] is QFQ's pseudo-code as printed, and checks the paper's claims of it; [`replay`] is the
//! model in which the theory of universal packet scheduling is stated, with random and exhaustive searches for counterexamples.

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
