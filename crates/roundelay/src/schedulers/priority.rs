//! Strict priority: of all packets that wait, one of the most urgent class leaves; a class waits for as long as a more urgent one has any.
//!
//! Each packet carries its class as a number, smaller first, and packets of one class leave as they came. Nothing is shared: the first
//! class has the link whenever it wants it, and the others get what it leaves, possibly nothing. That is what it is for, and why everything
//! that must not starve needs a limit on those before it.
//!
//! Source: tc-prio(8) for the discipline; R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, sections 2.2 and 3.1, for classes
//! that the ingress writes into each packet ("simple priority scheduling").
//!
//! | paper | here |
//! |---|---|
//! | static priority value | [`Packet::priority`], smaller first |
//!
//! | guarantee | value | test in `theorems/priority.rs` |
//! |---|---|---|
//! | order | no packet leaves while one of a smaller class waits; a class is FIFO | `the_most_urgent_leaves_first_and_a_class_is_fifo` |
//! | isolation | a class waits for no later one but for the packet on the link | `a_class_does_not_feel_those_behind_it` |
//! | starvation | none against it: a greedy class stops all behind it | `known_bug_fperf_a_busy_class_starves_those_behind_it` |
//! | push-out | the newest packet of the last class | `a_full_buffer_gives_up_the_newest_of_the_last_class` |
//!
//! In a hierarchy a child's packet carries the child's class, and the newest child of a class waits behind the others of it, so that
//! children of one class take turns packet by packet. There is no state of a flow, so a refill is an arrival:
//! `Scheduler::dequeue_refilled` is as the trait has it.
//!
//! Cost: O(log n) with n packets that wait, for any number of classes; `Scheduler::evict_flow` looks for its packet: O(n), which in a
//! node is the number of children that wait. Memory: a packet's key and its place, no state per flow or class.
//!
//! Differences from tc-prio(8): classes are numbers of 32 bits in the packet, not bands with filters; what each class holds is not
//! configured, and the last class gives way in a full buffer.

use crate::buffer::Limit;
use crate::config::{ConfigError, Parameter};
use crate::mechanisms::by_rank::{ByRank, Rank};
use crate::packet::Packet;
use crate::schedulers::{self, Discipline};

/// Strict priority has no parameters but its buffer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "priority";
    const ABOUT: &'static str = "strict priority: the most urgent class first, a class in order";
    const SOURCE: &'static str = "tc-prio(8); Mittal, Agarwal, Ratnasamy, Shenker, Universal Packet Scheduling, NSDI 2016";
    const PARAMETERS: &'static [Parameter<Self>] = &[];
    const WEIGHTED: bool = false;
    const REORDERS: bool = true;
    const COMPLEXITY: &'static str = "O(log n)";
    const PRIORITY: schedulers::Priority = schedulers::Priority::Class;
    const INTERIOR: bool = true;
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    type Scheduler<T: Send> = Priority<T>;

    fn build<T: Send>(&self, _seed: u64) -> Result<Priority<T>, ConfigError> {
        Ok(Priority::default())
    }
}

/// The scheduler.
pub type Priority<T> = ByRank<Config, T>;

impl Rank for Config {
    type Key = u32;

    fn key<T>(packet: &Packet<T>) -> u32 {
        packet.priority
    }
}
