//! FIFO+: a FIFO queue for a whole path: first who would have come first had all waited alike upstream.
//!
//! At a single queue FIFO gives all packets alike the same share of a burst's delay, which makes the worst delay small. Over several queues
//! a packet can be unlucky at each. FIFO+ lets it pass those that have been luckier: it carries what it has waited so far, and is served as
//! if it had arrived so much earlier. The mean delay is that of FIFO, the tail is shorter.
//!
//! Source: D. D. Clark, S. Shenker, L. Zhang, "Supporting Real-Time Applications in an Integrated Services Packet Network: Architecture and
//! Mechanism", SIGCOMM 1992; as in R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 3.2, where it is LSTF
//! with the same slack for all packets at the ingress.
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
//! Cost: O(log n) with n packets that wait. Memory: a packet's key and its place, no state per flow.
//!
//! Differences from the paper of 1992: what a packet carries there is its delay less the average delay of its class at each hop, which the
//! hop measures; here it is the delay itself. Packets that have passed the same hops compare alike; of two that have not, the one with more
//! hops behind it goes first. That is how the paper of 2016 has it. There the full buffer of LSTF drops the largest key; FIFO+ is a FIFO,
//! and drops what comes last. What a packet waits at this queue is taken off its slack by whoever carries it on.

use crate::buffer::Limit;
use crate::config::{ConfigError, Parameter};
use crate::mechanisms::by_rank::{ByRank, Rank};
use crate::packet::Packet;
use crate::schedulers::{Discipline, Times};

/// FIFO+ has no parameters but its buffer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "fifo_plus";
    const ABOUT: &'static str = "FIFO over several hops: first who would have come first without waiting upstream";
    const SOURCE: &'static str = "Clark, Shenker, Zhang, SIGCOMM 1992; Mittal et al., Universal Packet Scheduling, NSDI 2016, section 3.2";
    const PARAMETERS: &'static [Parameter<Self>] = &[];
    const WEIGHTED: bool = false;
    const REORDERS: bool = true;
    const TIMES: Times = Times::Slack;
    const COMPLEXITY: &'static str = "O(log n)";
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    type Scheduler<T: Send> = FifoPlus<T>;

    fn build<T: Send>(&self, _seed: u64) -> Result<FifoPlus<T>, ConfigError> {
        Ok(FifoPlus::default())
    }
}

/// The scheduler.
pub type FifoPlus<T> = ByRank<Config, T>;

impl Rank for Config {
    /// Arrival and slack in picoseconds, whose sum needs more than 64 bits.
    type Key = i128;
    const GIVES_UP_NEWEST: bool = true;

    /// When the packet would have come had it waited upstream as others did, but for the initial slack.
    fn key<T>(packet: &Packet<T>) -> i128 {
        i128::from(packet.arrival.as_picos()) + i128::from(packet.slack.as_picos())
    }
}
