//! Shortest job first: packets of the smallest flow leave first, so that short flows do not wait for long ones.
//!
//! Whoever makes a packet writes the size of its whole flow into it. If flow completion time is what counts, serving the smallest flow
//! first costs the large ones little (each is passed only by what is smaller) and spares the small ones everything. Nothing protects a
//! large flow from an endless stream of small ones.
//!
//! Source: M. Alizadeh et al., "pFabric: Minimal Near-Optimal Datacenter Transport", SIGCOMM 2013; as in R. Mittal et al., "Universal
//! Packet Scheduling", NSDI 2016, section 3.1, where the size is a static priority.
//!
//! | paper | here |
//! |---|---|
//! | fs(p), size of the flow to which p belongs | [`Packet::priority`], bytes |
//!
//! | guarantee | value | test in `theorems/sjf.rs` |
//! |---|---|---|
//! | order | no packet leaves while one of a smaller flow waits; equals are FIFO | `the_smallest_flow_leaves_first` |
//! | mean completion time | least of all orders, flows waiting together | `flows_that_come_together_complete_as_early_as_can_be` |
//! | starvation | none against it | `small_flows_starve_a_large_one` |
//! | push-out | the newest packet of the largest flow | `a_full_buffer_gives_up_the_largest_flow` |
//!
//! The second is Smith's rule: exchanging two flows that are served one after the other, the larger one first, makes the sum of completion
//! times smaller.
//!
//! Cost: O(log n) with n packets that wait. Memory: a packet's key and its place, no state per flow.
//!
//! Differences from the paper: sizes count bytes, not packets. Any other number that puts flows in the same order does as well.

use crate::buffer::Limit;
use crate::config::{ConfigError, Parameter};
use crate::mechanisms::by_rank::{ByRank, Rank};
use crate::packet::Packet;
use crate::schedulers::{Discipline, Priority};

/// SJF has no parameters but its buffer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "sjf";
    const ABOUT: &'static str = "shortest job first: packets of the smallest flow first";
    const SOURCE: &'static str = "Alizadeh et al., pFabric, SIGCOMM 2013; Mittal et al., Universal Packet Scheduling, NSDI 2016";
    const PARAMETERS: &'static [Parameter<Self>] = &[];
    const WEIGHTED: bool = false;
    const REORDERS: bool = true;
    const COMPLEXITY: &'static str = "O(log n)";
    const PRIORITY: Priority = Priority::FlowSize;
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    type Scheduler<T: Send> = Sjf<T>;

    fn build<T: Send>(&self, _seed: u64) -> Result<Sjf<T>, ConfigError> {
        Ok(Sjf::default())
    }
}

/// The scheduler.
pub type Sjf<T> = ByRank<Config, T>;

impl Rank for Config {
    type Key = u32;

    fn key<T>(packet: &Packet<T>) -> u32 {
        packet.priority
    }
}
