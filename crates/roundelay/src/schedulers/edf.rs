//! Earliest deadline first: the packet that is needed soonest leaves first.
//!
//! Each packet comes with the instant by which its last bit should have left this port. Of packets that wait together, serving the earliest
//! deadline first meets all of them if any order does, and if none does it keeps the worst lateness as small as can be. It cannot know what
//! is still to come: a long packet that has the link is not interrupted. How deadlines are chosen is the driver's affair.
//!
//! Source: C. L. Liu, J. W. Layland, "Scheduling Algorithms for Multiprogramming in a Hard-Real-Time Environment", Journal of the ACM
//! 20(1), 1973; for a network R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, appendix A.5.
//!
//! | paper | here |
//! |---|---|
//! | priority(p) = o(p) - tmin(p, a, dest(p)) + T(p, a) | [`Packet::deadline`] at node a |
//! | o(p), when p should leave the network | the driver's |
//! | tmin(p, a, b), time from a to b in an empty network, transmission at both included | the driver's |
//! | T(p, a), transmission time at a | the driver's |
//!
//! So a driver that knows when a packet should leave the network, o(p), writes at each node what is left for this node: o(p) less the time
//! that the packet takes behind this node if it waits nowhere. That is the same instant for a packet however long it has waited, which is
//! why EDF needs no state in the packet but a table of paths in each node, and LSTF the other way round.
//!
//! | guarantee | value | test in `theorems/edf.rs` |
//! |---|---|---|
//! | order | no packet leaves while one with an earlier deadline waits; equals are FIFO | `the_earliest_deadline_leaves_first` |
//! | Jackson's rule | of packets that wait together, the largest lateness is the least of all orders | `no_order_is_less_late` |
//! | UPS, A.5 | the same decisions as `lstf`, packet by packet | `theorems/lstf.rs`: `edf_with_static_deadlines_decides_as_lstf_does` |
//! | push-out | the newest packet with the latest deadline | `a_full_buffer_gives_up_the_latest_deadline` |
//!
//! Cost: O(log n) with n packets that wait. Memory: a packet's key and its place, no state per flow.
//!
//! Differences from the paper: packets without a deadline ([`Instant::MAX`]) go last, in order. A deadline that has passed is one as any
//! other: late packets are sent, not dropped.

use crate::buffer::Limit;
use crate::config::{ConfigError, Parameter};
use crate::mechanisms::by_rank::{ByRank, Rank};
use crate::packet::Packet;
use crate::schedulers::{Discipline, Times};
use crate::time::Instant;

/// EDF has no parameters but its buffer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "edf";
    const ABOUT: &'static str = "earliest deadline first, deadlines as the packets carry them";
    const SOURCE: &'static str = "Liu, Layland, JACM 20(1), 1973; Mittal et al., Universal Packet Scheduling, NSDI 2016, A.5";
    const PARAMETERS: &'static [Parameter<Self>] = &[];
    const WEIGHTED: bool = false;
    const REORDERS: bool = true;
    const TIMES: Times = Times::Deadline;
    const COMPLEXITY: &'static str = "O(log n)";
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    type Scheduler<T: Send> = Edf<T>;

    fn build<T: Send>(&self, _seed: u64) -> Result<Edf<T>, ConfigError> {
        Ok(Edf::default())
    }
}

/// The scheduler.
pub type Edf<T> = ByRank<Config, T>;

impl Rank for Config {
    type Key = Instant;

    fn key<T>(packet: &Packet<T>) -> Instant {
        packet.deadline
    }
}
