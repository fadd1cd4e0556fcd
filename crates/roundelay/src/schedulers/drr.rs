//! Deficit round robin: each flow in turn sends a quantum of bytes, and what it leaves counts next
//! turn.
//!
//! Backlogged flows stand in a ring. A flow at the front is credited with its quantum, sends while
//! the credit (the deficit counter) covers the head packet, and goes to the back with the rest. A
//! flow that empties leaves and forfeits the rest. This is cheap, and fair in the long run. But the
//! delay grows with the number of flows, because all others have a turn between two turns of a
//! flow.
//!
//! Source: M. Shreedhar, G. Varghese, "Efficient Fair Queueing Using Deficit Round-Robin", IEEE/ACM
//! ToN 4(3), 1996. Parameters as in tc-drr(8).
//!
//! | paper | here |
//! |---|---|
//! | Q_i, quantum | weight x `Config::quantum` |
//! | DC_i, deficit counter | `deficit` in `mechanisms/ring.rs` |
//! | active list | `mechanisms/ring.rs` |
//! | F, frame: sum of all Q_i | `Share::total_weight` x `Config::quantum` |
//!
//! | guarantee | value | test in `theorems/drr.rs` |
//! |---|---|---|
//! | Lemma 2 | in m turns a flow sends m Q_i to within one packet | `turns_send_their_quanta` |
//! | B-WFI, for flows that stay within their longest packet | (1 - phi)(Q_k + L_k) + (N - 1) phi L | `b_wfi_stays_within_the_bound` |
//! | latency after GRC | (F - Q_k + (N - 1) L + L_k) / R | `latency_stays_within_the_bound` |
//! | fairness between flows k and j | (F + L_k / phi_k + L_j / phi_j) / R | `backlogged_flows_are_served_alike` |
//! | as a node of a hierarchy | a flow that is refilled keeps its turn and its deficit | `a_refilled_flow_is_one_that_was_never_empty` |
//! | weights and quanta that change | the new latency for later packets: a turn in progress is cut | `what_comes_after_a_change_has_the_new_latency` |
//!
//! All follow from Lemma 2, for quanta of any size, with phi = Q_k / F. B-WFI: in an interval with
//! m whole turns of flow k, every other flow has at most m + 1. Fairness: while both are
//! backlogged, neither has more than one turn more than the other, and neither carries more than a
//! packet into the interval or out of it. Latency: a packet that ends S bytes after the flow became
//! backlogged goes with the m-th turn from then, m < S / Q_k + 1. Before that turn each other flow
//! j has m turns, of less than m Q_j + L_j bytes, including the packet found on the link. That
//! packet may also be an earlier one of the flow itself, of L_k. The packet leaves within S / (phi
//! R) of the beginning, which GRC allows, and (F - Q_k + (N - 1) L + L_k) / R. With quanta of at
//! least L this is less than the (3 F - 2 Q_k) / R of Stiliadis and Varma ("Latency-Rate Servers",
//! IEEE/ACM ToN 6(5), 1998). No T-WFI: the bound would be O(N L) as well.
//!
//! Cost: O(1) a packet if the quantum is at least the longest packet. With smaller quanta a packet
//! may take several rounds. But rounds in which no flow could send are counted, not walked
//! (`skip_rounds`), so a packet costs a few rounds at most. Memory: one record of 32 bytes a flow,
//! a slot in the ring and one in the index of the longest, see `footprint`. A packet touches the
//! record twice and three packet cache lines: the packet's own on arrival and on departure, and the
//! link in the packet before.
//!
//! Differences from the paper: weights multiply the quantum. A flow whose last packet was pushed
//! out keeps its position in the ring until its turn, without credit, since leaving would need a
//! search. Only the flow at the front, whose turn it is, leaves at once, even if it has not sent
//! yet.

use alloc::vec::Vec;

use crate::author::{
    Backlog, Bound, ConfigError, Configured, Control, Discipline, DropReason, FlowConfig, FlowId,
    Footprint, Guarantees, Handle, Instant, Links, Linux, LinuxFlows, LinuxLimit, Nodes, Packet,
    Parameter, Queues, Reads, Refusal, Refused, Scheduler, Seed, Share, Storage,
};
use crate::mechanisms::ring::{End, Ring};
use crate::prefetch::{dequeue_in_windows, enqueue_in_windows};

/// Parameters of DRR.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Bytes that a flow of weight 1 may send in a turn: 1 to 2^20.
    pub quantum: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self { quantum: 1514 }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "drr";
    const ABOUT: &'static str = "deficit round robin: a quantum of bytes for each flow in turn";
    const SOURCE: &'static str = "Shreedhar, Varghese, Efficient Fair Queueing Using Deficit Round-Robin, IEEE/ACM ToN 4(3), 1996";
    const LINUX: Linux = Linux::Qdisc {
        name: "drr",
        flows: LinuxFlows::Classes,
        limit: LinuxLimit::OfClasses,
    };
    const PARAMETERS: &'static [Parameter<Self>] = &[Parameter::size(
        "quantum",
        1..=1 << 20,
        "bytes that a flow of weight 1 may send in a turn; the longest packet or more for constant cost",
        |config| &mut config.quantum,
    )];
    const LIVE: &'static [&'static str] = &["quantum"];
    const WEIGHTED: bool = true;
    /// With a quantum of 1 byte, weights are quanta in bytes in any ratio, as of tc's drr classes.
    const MAX_WEIGHT: u32 = FlowConfig::LARGEST_WEIGHT;
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Refused];
    const QUEUES: Queues = Queues::PerFlow;
    const COMPLEXITY: &'static str = "O(1)";
    const INTERIOR: bool = true;
    type Scheduler<T: Send> = Drr<T>;
    type ByHandle = Drr<Handle, Links>;

    fn configuration<T: Send>(scheduler: &mut Drr<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    fn adopt<T: Send>(scheduler: &mut Drr<T>, _before: &Self) {
        scheduler.ring.set_quantum(scheduler.config.quantum);
    }

    fn guarantees(&self, share: &Share) -> Guarantees {
        let quantum = u64::from(self.quantum) * u64::from(share.weight);
        let frame = u64::from(self.quantum).saturating_mul(share.total_weight);
        let own = u64::from(share.max_packet_len);
        let longest = u64::from(share.link_max_packet_len);
        let others = longest.saturating_mul(share.flows.saturating_sub(1));
        let turn = quantum + own;
        let b_wfi = turn - share.of(turn).saturating_sub(1).min(turn) + share.of(others);
        let latency = frame
            .saturating_sub(quantum)
            .saturating_add(others)
            .saturating_add(own);
        let lightest = Share {
            weight: share.least_weight,
            ..*share
        };
        let fairness = frame
            .saturating_add(share.per_share(own))
            .saturating_add(lightest.per_share(longest));
        Guarantees {
            b_wfi: Some(Bound {
                value: b_wfi,
                source: "from Shreedhar and Varghese 1996, Lemma 2: (1 - phi)(Q_k + L_k) + (N - 1) phi L",
            }),
            latency: Some(Bound {
                value: share.rate.time_of(latency),
                source: "from Shreedhar and Varghese 1996, Lemma 2: (F - Q_k + (N - 1) L + L_k) / R",
            }),
            fairness: Some(Bound {
                value: share.rate.time_of(fairness),
                source: "from Shreedhar and Varghese 1996, Lemma 2: (F + L_k / phi_k + L / phi_min) / R",
            }),
            ..Guarantees::default()
        }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Drr<T, P = Nodes<T>> {
    /// A queue for each flow.
    ring: Ring<T, P>,
    config: Config,
}

impl<T, P: Storage<T>> Configured<Config> for Drr<T, P> {
    fn configured(config: Config, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            ring: Ring::empty(config.quantum, 0),
            config,
        })
    }
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for Drr<T, P> {
    #[inline(always)]
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        let flow = packet.flow;
        if flow.index() >= self.ring.queues() && !self.add_queue_of(flow) {
            return Err(packet.refused(Refusal::FlowNumber));
        }
        // The paper's enqueuing module.
        self.ring.push(flow.index(), packet)
    }

    #[inline(always)]
    fn dequeue(&mut self, _now: Instant) -> Option<P::Leaving> {
        // The paper's dequeuing module.
        self.ring.send()
    }

    fn enqueue_burst(&mut self, now: Instant, packets: &mut Vec<Packet<T>>) {
        let ask = |drr: &Self, packets: &[Packet<T>]| {
            drr.ring
                .prefetch_pushes(packets.iter().map(|packet| packet.flow.index()))
        };
        enqueue_in_windows(self, packets, ask, |drr, packet| drr.enqueue(now, packet));
    }

    fn dequeue_burst(&mut self, _now: Instant, most: usize, into: &mut Vec<P::Leaving>) {
        let ask = |scheduler: &Self, packets| scheduler.ring.prefetch_sends(packets);
        dequeue_in_windows(self, most, into, ask, |scheduler| {
            scheduler.ring.send_next(false)
        });
    }

    fn dequeue_refilled(
        &mut self,
        _now: Instant,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<P::Leaving> {
        self.ring.send_refilled(refill)
    }

    /// The tail of the longest backlog.
    fn evict(&mut self) -> Option<P::Leaving> {
        let flow = self.ring.longest()?;
        self.evict_flow(FlowId(flow as u32))
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<P::Leaving> {
        self.ring.give_up(flow.index(), End::Newest)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.ring.backlog()
    }

    fn turn(&mut self, _now: Instant) -> Option<FlowId> {
        let number = self.ring.turn()?;
        Some(FlowId(number as u32))
    }

    fn set_len(&mut self, flow: FlowId, len: u32) {
        self.ring.set_len(flow.index(), len);
    }
}

impl<T, P: Storage<T>> Control for Drr<T, P> {
    fn names_turns(&self) -> bool {
        true
    }

    /// A turn may not cover the next packet.
    fn reads(&self, _flow: FlowId) -> Reads {
        Reads::InTurn
    }

    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check_up_to(Config::MAX_WEIGHT, Config::NAME, flow)?;
        self.ring.set_weight(flow.index(), config.weight);
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        self.ring.forget_weight(flow.index());
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            fixed_bytes: size_of::<Self>() + Ring::<T, P>::FIXED_BYTES,
            bytes_per_flow: Ring::<T, P>::BYTES_PER_QUEUE,
        }
    }

    /// The ring's invariants, with flows at home in the queue of their number.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.ring
            .check_invariants(|number, flow| flow.index() == number);
    }
}

impl<T, P: Storage<T>> Drr<T, P> {
    /// Adds the queue of a new flow. False if the flow's number is beyond the table.
    #[cold]
    #[inline(never)]
    fn add_queue_of(&mut self, flow: FlowId) -> bool {
        let fits = flow.fits_a_table();
        if fits {
            self.ring.add_up_to(flow.index());
        }
        fits
    }
}
