//! Packet schedulers as pure data structures.
//!
//! A scheduler orders packets ([`Scheduler`]). A [`Port`] adds a buffer and a link. Drivers add a
//! clock: a benchmark, a captured trace, a simulator, real packets, or your program. Nothing here
//! reads a clock, does I/O, or draws random numbers without a given seed, so the same calls give
//! the same packets everywhere.
//!
//! ```
//! use roundelay::schedulers::{Discipline, drr};
//! use roundelay::{Duration, FlowId, Instant, Packet, Scheduler, Seed};
//!
//! let mut drr = drr::Config { quantum: 1500 }.build(Seed::new(0))?;
//! for (flow, len, name) in [(0, 1500, "a"), (0, 1500, "b"), (1, 1500, "c")] {
//!     drr.enqueue(Instant::ZERO, Packet::new(FlowId(flow), len, name)).expect("DRR takes every packet");
//! }
//! let order: Vec<_> = std::iter::from_fn(|| drr.dequeue(Instant::ZERO)).map(|packet| packet.payload).collect();
//! assert_eq!(order, ["a", "c", "b"]);
//! # Ok::<(), roundelay::ConfigError>(())
//! ```
//!
//! If your program uses disciplines, the names at the root are for you. If you define one,
//! [`author`] has more. The disciplines are in [`schedulers`], one file each, and [`QueueSpec`]
//! reads them in `tc` notation: `"fq_codel limit 1000 target 5ms"`.
#![cfg_attr(not(test), no_std)]
#![cfg_attr(
    not(debug_assertions),
    allow(
        dead_code,
        reason = "only checks of invariants use it, and release builds have none"
    )
)]

extern crate alloc;

mod acknowledgement;
mod any_port;
mod arena;
pub mod author;
mod boxed;
mod buffer;
mod by_copy;
mod charges;
mod config;
mod control;
mod debug_check;
mod drops;
pub mod edge_codel;
mod fault;
mod flow_config;
mod guarantees;
mod handle;
mod limit;
mod link_layer;
mod links;
mod mechanisms;
mod not_here;
mod notation;
mod packet;
mod pool;
mod port;
mod preemptive;
mod prefetch;
mod scheduler;
pub mod schedulers;
mod seed;
mod service;
mod spec;
pub mod suggestion;
mod time;
pub mod tree;
mod units;
mod virtual_clock;
mod virtual_time;

pub use acknowledgement::Acknowledgement;
pub use any_port::AnyPort;
pub use arena::{Arena, Ticket};
pub use buffer::Buffer;
pub use charges::Charges;
pub use config::ConfigError;
pub use control::{Control, Footprint, Reads};
pub use drops::{DropReason, Refusal, Refused};
pub use edge_codel::EdgeCodel;
pub use fault::Fault;
pub use flow_config::FlowConfig;
pub use guarantees::{Bound, Guarantees, LeastService, Printed, Share};
pub use handle::{Departure, Handle};
pub use limit::{Backlog, Limit};
pub use link_layer::{Framing, LinkLayer, LinkLayerError};
pub use mechanisms::codel::Resume;
pub use packet::{Ecn, FlowId, Hosts, Packet};
pub use port::{Observer, Port};
pub use preemptive::{Partial, PreemptivePort};
pub use scheduler::Scheduler;
pub use seed::{Purpose, Seed};
pub use spec::{QueueSpec, parse_limit};
pub use time::{Duration, Instant, Slack};
pub use units::{Billionths, Bytes, Rate, UnitError};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct ReadmeExamples;
