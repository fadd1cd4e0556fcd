//! Checks that a packet scheduler conforms to the contract of [`Scheduler`](roundelay::Scheduler).
//!
//! [`check`] makes random calls on a discipline in the registry, or on a scheduler in another
//! program ([`roundelay::schedulers::custom`]). It records all packets, and compares each result
//! with the record:
//!
//! ```
//! use roundelay::schedulers::{AnyDiscipline, custom, fifo};
//! use roundelay::author::ByCopy;
//!
//! let mine = custom::Config::new("mine", |_seed| ByCopy::new(fifo::Fifo::default()));
//! let checked = roundelay_conformance::check(&AnyDiscipline::Custom(mine))?;
//! assert!(checked.sent > 10_000);
//! # Ok::<(), roundelay_conformance::Broken>(())
//! ```

mod audit;
mod bytes;
mod calls;
mod check;

pub use audit::{Audited, Event, Operation, Serial, Violation, urgent};
pub use bytes::{check_bytes, idling, subjects};
pub use calls::{Mix, operations};
pub use check::{Broken, Checked, Way, check, check_run};

#[cfg(doctest)]
#[doc = include_str!("../../../docs/edge-codel.md")]
struct EdgeCodelExamples;

#[cfg(doctest)]
#[doc = include_str!("../../../docs/guides/fair-queue-in-a-server.md")]
struct ServerExamples;
