//! Earliest deadline first: the packet with the earliest deadline leaves first.
//!
//! A packet's deadline is the instant by which its last bit should have left this port. Among
//! packets that wait together, earliest deadline first meets all deadlines if any order does.
//! Otherwise the worst lateness is the smallest possible. EDF does not know future arrivals, and it
//! does not interrupt a long packet on the link. The driver chooses the deadlines.
//!
//! Source: C. L. Liu, J. W. Layland, "Scheduling Algorithms for Multiprogramming in a
//! Hard-Real-Time Environment", Journal of the ACM 20(1), 1973. For a network R. Mittal et al.,
//! "Universal Packet Scheduling", NSDI 2016, appendix A.5.
//!
//! | paper | here |
//! |---|---|
//! | priority(p) = o(p) - tmin(p, a, dest(p)) + T(p, a) | [`Packet::deadline`] at node a |
//! | o(p), when p should leave the network | the driver's |
//! | tmin(p, a, b), time from a to b in an empty network, transmission at both included | the driver's |
//! | T(p, a), transmission time at a | the driver's |
//!
//! If your driver knows o(p), when a packet should leave the network, it writes this node's
//! deadline: o(p) less the time that the packet takes behind this node if it never waits. This
//! instant does not depend on the packet's earlier waits. So EDF needs no state in the packet but a
//! table of paths in each node, and LSTF the other way round.
//!
//! | guarantee | value | test in `theorems/edf.rs` |
//! |---|---|---|
//! | order | no packet leaves while one with an earlier deadline waits; equals are FIFO | `the_earliest_deadline_leaves_first` |
//! | Jackson's rule | of packets that wait together, the largest lateness is the least of all orders | `no_order_is_less_late` |
//! | UPS, A.5 | the same decisions as `lstf`, packet by packet | `theorems/lstf.rs`: `edf_with_static_deadlines_decides_as_lstf_does` |
//! | push-out | the newest packet with the latest deadline | `a_full_buffer_gives_up_the_latest_deadline` |
//!
//! Cost: O(log n) with n waiting packets. Memory: a key and a slot for each packet, no state per
//! flow.
//!
//! Differences from the paper: packets without a deadline ([`Instant::MAX`]) go last, in order. A
//! past deadline is treated like any other, so late packets are sent, not dropped.

use crate::author::{ByCopy, Discipline, DropReason, Handle, Instant, Linux, Packet, Times};
use crate::mechanisms::by_rank::{ByRank, Rank};

/// EDF has no parameters besides the buffer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "edf";
    const ABOUT: &'static str = "earliest deadline first, by the deadlines in the packets";
    const SOURCE: &'static str = "Liu, Layland, JACM 20(1), 1973; Mittal et al., Universal Packet Scheduling, NSDI 2016, A.5";
    const LINUX: Linux = Linux::Absent;
    const REORDERS: bool = true;
    const TIMES: Times = Times::Deadline;
    const COMPLEXITY: &'static str = "O(log n)";
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::PushedOut];
    type Scheduler<T: Send> = Edf<T>;
    /// By copy, because slots belong to ranks, not to packets in queues.
    type ByHandle = ByCopy<Edf<Handle>>;
}

/// The scheduler.
pub type Edf<T> = ByRank<Config, T>;

impl Rank for Config {
    type Key = Instant;

    fn key<T>(packet: &Packet<T>) -> Instant {
        packet.deadline
    }
}
