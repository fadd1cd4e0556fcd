//! Shortest job first: packets of the smallest flow leave first, so short flows pass long ones.
//!
//! The driver writes the whole flow's size into each packet. For flow completion time, serving the
//! smallest flow first costs the large flows little, because only smaller ones pass them, and saves
//! the small ones most of their waiting. A large flow has no protection from an endless stream of
//! small ones.
//!
//! Source: M. Alizadeh et al., "pFabric: Minimal Near-Optimal Datacenter Transport", SIGCOMM 2013.
//! As in R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 3.1, where the size is
//! a static priority.
//!
//! | paper | here |
//! |---|---|
//! | fs(p), size of the packet's flow | [`Packet::priority`], bytes |
//!
//! | guarantee | value | test in `theorems/sjf.rs` |
//! |---|---|---|
//! | order | no packet leaves while one of a smaller flow waits; equals are FIFO | `the_smallest_flow_leaves_first` |
//! | mean completion time | least of all orders, flows waiting together | `flows_that_come_together_complete_as_early_as_can_be` |
//! | starvation | none against it | `small_flows_starve_a_large_one` |
//! | push-out | the newest packet of the largest flow | `a_full_buffer_gives_up_the_largest_flow` |
//!
//! The second is Smith's rule: if a larger flow is served directly before a smaller one, exchanging
//! the two reduces the sum of completion times.
//!
//! Cost: O(log n) with n waiting packets. Memory: a key and a slot for each packet, no state per
//! flow.
//!
//! Differences from the paper: sizes count bytes, not packets. Any other number that orders flows
//! alike works as well.

use crate::author::{ByCopy, Discipline, DropReason, Handle, Linux, Packet, Priority};
use crate::mechanisms::by_rank::{ByRank, Rank};

/// SJF has no parameters besides the buffer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "sjf";
    const ABOUT: &'static str = "shortest job first: packets of the smallest flow first";
    const SOURCE: &'static str = "Alizadeh et al., pFabric, SIGCOMM 2013; Mittal et al., Universal Packet Scheduling, NSDI 2016";
    const LINUX: Linux = Linux::Absent;
    const REORDERS: bool = true;
    const COMPLEXITY: &'static str = "O(log n)";
    const PRIORITY: Priority = Priority::FlowSize;
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::PushedOut];
    type Scheduler<T: Send> = Sjf<T>;
    /// By copy, because slots belong to ranks, not to packets in queues.
    type ByHandle = ByCopy<Sjf<Handle>>;
}

/// The scheduler.
pub type Sjf<T> = ByRank<Config, T>;

impl Rank for Config {
    type Key = u32;

    fn key<T>(packet: &Packet<T>) -> u32 {
        packet.priority
    }
}
