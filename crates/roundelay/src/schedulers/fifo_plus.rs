//! FIFO+: FIFO for a whole path, in the order in which packets would have arrived after equal waits
//! upstream.
//!
//! At a single queue, FIFO gives all packets the same share of a burst's delay, so the worst delay
//! is small. Over several queues a packet can be unlucky at each. FIFO+ lets an unlucky packet pass
//! luckier ones: each packet carries its waiting time so far, and counts as arrived earlier by this
//! time. The mean delay is FIFO's, the tail is shorter.
//!
//! Source: D. D. Clark, S. Shenker, L. Zhang, "Supporting Real-Time Applications in an Integrated
//! Services Packet Network: Architecture and Mechanism", SIGCOMM 1992. Here as in R. Mittal et al.,
//! "Universal Packet Scheduling", NSDI 2016, section 3.2: LSTF with the same slack for all packets
//! at the ingress.
//!
//! | paper | here |
//! |---|---|
//! | offset, jitter so far (1992): time waited upstream, more or less than others | initial slack - [`Packet::slack`] |
//! | expected arrival time | arrival + slack, the key: the same for all but for the initial slack |
//!
//! | guarantee | value | test in `theorems/fifo_plus.rs` |
//! |---|---|---|
//! | one hop, slack untouched | FIFO | `without_a_past_it_is_fifo` |
//! | order | least (arrival - time waited upstream) first; equals are FIFO | `whoever_waited_upstream_passes` |
//! | UPS, 3.2 | the decisions of `lstf` with equal initial slack, packets of one length | `it_is_lstf_with_equal_initial_slack` |
//! | tail over several hops | the worst delay of a packet is less than with FIFO | `the_tail_over_several_hops_is_shorter_than_with_fifo` |
//! | push-out | the arriving packet: drop tail | `a_full_buffer_drops_the_tail` |
//!
//! Cost: O(log n) with n waiting packets. Memory: a key and a slot for each packet, no state per
//! flow.
//!
//! Differences from the paper of 1992: there a packet carries its delay less its class's average
//! delay at each hop, which the hop measures. Here it carries the delay itself. Packets with the
//! same hops behind them compare alike. Otherwise the packet with more hops goes first, as in the
//! paper of 2016. There LSTF's full buffer drops the largest key, whereas FIFO+ is a FIFO and drops
//! the newest packet. The caller subtracts the wait at this queue from the packet's slack.

use crate::author::{ByCopy, Discipline, DropReason, Handle, Linux, Packet, Times};
use crate::mechanisms::by_rank::{ByRank, Rank};

/// FIFO+ has no parameters besides the buffer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "fifo_plus";
    const ABOUT: &'static str =
        "FIFO+: packets in order of arrival less the waiting time at earlier hops";
    const SOURCE: &'static str = "Clark, Shenker, Zhang, SIGCOMM 1992; Mittal et al., Universal Packet Scheduling, NSDI 2016, section 3.2";
    const LINUX: Linux = Linux::Absent;
    const REORDERS: bool = true;
    const TIMES: Times = Times::Slack;
    const COMPLEXITY: &'static str = "O(log n)";
    const DROPS: &'static [DropReason] = &[DropReason::Full];
    type Scheduler<T: Send> = FifoPlus<T>;
    /// By copy, because slots belong to ranks, not to packets in queues.
    type ByHandle = ByCopy<FifoPlus<Handle>>;
}

/// The scheduler.
pub type FifoPlus<T> = ByRank<Config, T>;

impl Rank for Config {
    /// Arrival plus slack in picoseconds: more than 64 bits.
    type Key = i128;
    const GIVES_UP_NEWEST: bool = true;

    /// Arrival less the time waited upstream, plus the initial slack.
    fn key<T>(packet: &Packet<T>) -> i128 {
        i128::from(packet.arrival.as_picos()) + i128::from(packet.slack.as_picos())
    }
}
