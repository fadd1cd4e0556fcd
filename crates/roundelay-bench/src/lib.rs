//! The test environment of the QFQ paper (section 6.2). A controller drives a scheduler with
//! programmable loads. It reports what a packet costs, enqueue plus dequeue, and what the packet
//! generator costs alone.
//!
//! A [`Load`] defines flows, packet lengths and how the backlog grows. A [`Subject`] is nothing
//! ([`Subject::Generator`]), a discipline by value or by handle, or a tree. [`time()`] measures CPU time in
//! interleaved rounds. [`count`] counts instructions and cache misses under valgrind, so there is
//! no noise. [`time_hold`] and [`count_hold`] do the same for queues that hold a constant number of
//! packets. [`cost_of_hold`] compares disciplines while several flows keep a given backlog, and
//! takes a second or two.

mod controller;
mod flow_set;
mod footprint;
mod generator;
mod hold;
mod instructions;
mod levels;
mod load;
mod made_tree;
mod memory;
mod nothing;
mod run;
mod sorted;
mod subject;
mod time;

pub use flow_set::{FlowSet, FlowSetError};
pub use footprint::{Footprints, StatedFootprint, footprints};
pub use hold::{Held, HoldSubject, MOST_HELD, cost_of_hold, count_hold, run_hold, time_hold};
pub use instructions::{Counts, InstructionsError, count};
pub use load::{Lengths, Load, LoadError, Memory, Order, Pattern};
pub use made_tree::MadeTree;
pub use memory::needed as needed_memory;
pub use run::{prepare, run_pairs};
pub use subject::{LoadRefused, Passed, Running, Subject, TreeSubject};
pub use time::{Timing, time};

/// Compiler version and target machine, because instruction counts depend on them.
pub const COMPILER: &str = env!("ROUNDELAY_COMPILER");
