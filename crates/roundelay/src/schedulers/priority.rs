//! Strict priority: the most urgent class with packets goes first, so a class waits as long as a
//! more urgent one has any.
//!
//! Each packet carries a class number, and smaller numbers go first. Packets of one class leave in
//! order of arrival. Classes do not share: the first has the link at any time, and the others get
//! the rest, possibly nothing. This is what strict priority is for, and why urgent classes need
//! limits wherever a later class must not starve.
//!
//! Source: tc-prio(8) for the discipline. R. Mittal et al., "Universal Packet Scheduling", NSDI
//! 2016, sections 2.2 and 3.1, for classes written into each packet by the ingress ("simple
//! priority scheduling").
//!
//! | paper | here |
//! |---|---|
//! | static priority value | [`Packet::priority`], smaller first |
//!
//! | guarantee | value | test in `theorems/priority.rs` |
//! |---|---|---|
//! | order | no packet leaves while one of a smaller class waits; a class is FIFO | `the_most_urgent_leaves_first_and_a_class_is_fifo` |
//! | isolation | a class waits for no later class except for the packet on the link | `a_class_does_not_feel_those_behind_it` |
//! | starvation | no protection: a greedy class stops all later classes | `known_bug_fperf_a_busy_class_starves_those_behind_it` |
//! | push-out | the newest packet of the last class | `a_full_buffer_gives_up_the_newest_of_the_last_class` |
//!
//! In a hierarchy a child's packet carries the child's class. The newest child in a class waits
//! behind the class's other children, so children in one class take turns packet by packet. Without
//! flow state a refill is an arrival, so `Scheduler::dequeue_refilled` is the trait's default.
//!
//! Cost: O(log n) with n waiting packets, for any number of classes. `Scheduler::evict_flow`
//! searches for the packet: O(n), where n is the number of waiting children if the scheduler is a
//! node. Memory: a key and a slot for each packet, no state per flow or class.
//!
//! Differences from tc-prio(8): classes are 32-bit numbers in the packet, not bands with filters.
//! They have no limits of their own, and a full buffer drops from the last class.

use crate::author::{
    ByCopy, Discipline, DropReason, Handle, Linux, LinuxFlows, LinuxLimit, Packet,
};
use crate::mechanisms::by_rank::{ByRank, Rank};
use crate::schedulers;

/// Strict priority has no parameters besides the buffer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "priority";
    const ABOUT: &'static str = "strict priority between classes, FIFO within a class";
    const SOURCE: &'static str =
        "tc-prio(8); Mittal, Agarwal, Ratnasamy, Shenker, Universal Packet Scheduling, NSDI 2016";
    const LINUX: Linux = Linux::Qdisc {
        name: "prio",
        flows: LinuxFlows::Unread,
        limit: LinuxLimit::Either,
    };
    const REORDERS: bool = true;
    const COMPLEXITY: &'static str = "O(log n)";
    const PRIORITY: schedulers::Priority = schedulers::Priority::Class;
    const INTERIOR: bool = true;
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::PushedOut];
    type Scheduler<T: Send> = Priority<T>;
    /// By copy, because slots belong to ranks, not to packets in queues.
    type ByHandle = ByCopy<Priority<Handle>>;
}

/// The scheduler.
pub type Priority<T> = ByRank<Config, T>;

impl Rank for Config {
    type Key = u32;
    const OF_CHILD: bool = true;

    fn key<T>(packet: &Packet<T>) -> u32 {
        packet.priority
    }
}
