//! Reference models, slow and simple: a GPS fluid server, an exact WF2Q+, an LSTF that sorts, and a
//! model of schedule replay, as oracles for tests and audits.
//!
//! None of them is meant to schedule traffic. [`GpsServer`] is the ideal fluid server, fast enough
//! to run beside a replay; [`Wf2qPlus`] is the packet algorithm approximated by QFQ, in exact
//! rational numbers; [`Lstf`] sorts by slack at each decision; [`qfq_listings`] is QFQ's
//! pseudo-code as printed, with checks of the paper's claims; [`replay`] is the model of the theory
//! of universal packet scheduling, with random and exhaustive searches for counterexamples.

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
