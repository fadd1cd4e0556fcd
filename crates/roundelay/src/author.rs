//! For authors of disciplines: what a discipline is made of.
//!
//! If your program uses disciplines, it needs only the names at the crate's root. If you write one,
//! take its names from here, inside this crate and outside:
//!
//! - the traits: [`Discipline`] with its facts, [`Configured`] the constructor, [`Scheduler`] the
//!   calls about packets, [`Control`] the rest.
//! - parameters: [`Parameter`], [`Kind`].
//! - queues: a [`Pool`] with a [`Queue`] for each flow, by value ([`Nodes`]) or by handle
//!   ([`Links`]). [`ByCopy`] makes a scheduler by handle from a scheduler by value.
//! - virtual time: [`VirtualTime`], [`VirtualClock`], [`byte_time`].
//! - checks: [`DebugCheck`].

pub use crate::by_copy::ByCopy;
pub use crate::config::{Kind, Numbers, Parameter};
pub use crate::debug_check::DebugCheck;
pub use crate::handle::Leaving;
pub use crate::links::{Links, Note};
pub use crate::pool::{Age, Link, Nodes, Pool, Queue, Storage};
pub use crate::prefetch::prefetch;
pub use crate::virtual_clock::VirtualClock;
pub use crate::virtual_time::{VirtualTime, byte_time};

#[doc(no_inline)]
pub use crate::acknowledgement::Acknowledgement;
#[doc(no_inline)]
pub use crate::config::ConfigError;
#[doc(no_inline)]
pub use crate::control::{Control, Footprint, Reads};
#[doc(no_inline)]
pub use crate::drops::{DropReason, Refusal, Refused};
#[doc(no_inline)]
pub use crate::flow_config::FlowConfig;
#[doc(no_inline)]
pub use crate::guarantees::{Bound, Guarantees, Share};
#[doc(no_inline)]
pub use crate::handle::{Departure, Handle};
#[doc(no_inline)]
pub use crate::limit::{Backlog, Limit};
#[doc(no_inline)]
pub use crate::packet::{Ecn, FlowId, Hosts, Packet, Priority, Times};
#[doc(no_inline)]
pub use crate::scheduler::Scheduler;
#[doc(no_inline)]
pub use crate::schedulers::{Configured, Discipline, Linux, LinuxFlows, LinuxLimit, Onset, Queues};
#[doc(no_inline)]
pub use crate::seed::Seed;
#[doc(no_inline)]
pub use crate::time::{Duration, Instant, Slack};
#[doc(no_inline)]
pub use crate::units::{Billionths, Bytes, Rate};
