//! Shortest remaining processing time (SRPT) first: the flow with the fewest bytes left goes first,
//! and its packets stay in order.
//!
//! Each packet says how many bytes its flow still had to send when the packet was sent, this packet
//! included. The flow with the smallest of these numbers can complete first. Its oldest packet
//! leaves, because the flow completes only with all its packets, and because packets put behind by
//! a retransmission would otherwise wait for ever (pFabric's starvation prevention). On one link,
//! SRPT has the least mean completion time of all orders, if the packets' numbers are true. But a
//! long flow waits for all flows with less left.
//!
//! Source: L. Schrage, "A Proof of the Optimality of the Shortest Remaining Processing Time
//! Discipline", Operations Research 16(3), 1968. M. Alizadeh et al., "pFabric: Minimal Near-Optimal
//! Datacenter Transport", SIGCOMM 2013. As in R. Mittal et al., "Universal Packet Scheduling", NSDI
//! 2016, section 3.1.
//!
//! | paper | here |
//! |---|---|
//! | priority, remaining flow size | [`Packet::priority`], bytes |
//! | packet of highest priority | first of `waiting` |
//! | earliest packet of that flow | `FlowEnds::oldest` |
//!
//! | guarantee | value | test in `theorems/srpt.rs` |
//! |---|---|---|
//! | order | the flow served has the packet with the least remaining of all | `no_flow_has_less_left_than_the_one_served` |
//! | order within a flow | order of arrival, for any remaining | `starvation_prevention_keeps_flows_in_order` |
//! | mean completion time | least of all orders, see below | `flows_that_start_together_complete_as_early_as_can_be` |
//! | starvation | a long flow waits for shorter flows as long as more arrive | `short_flows_starve_a_long_one` |
//! | push-out | the newest packet with the most remaining | `a_full_buffer_gives_up_the_most_remaining` |
//!
//! Cost: O(log n) with n waiting packets. Memory: for each packet a key, a slot and links, for each
//! flow the ends of its list.
//!
//! Flows that start together, with a packet of each in the queue at a time, complete on average as
//! early as in any order. But a flow's key is the least remaining among its waiting packets, which
//! is that of the last one. If the whole flow waits, the last packet's remaining is only that
//! packet's own length. So fully queued flows are served by the lengths of their last packets, not
//! by their sizes (`a_flow_that_waits_whole_is_taken_for_its_last_packet`). If the window is much
//! smaller than the flow, this happens only at the flow's end. `sjf` is not affected.
//!
//! Differences from the paper: bytes, not packets. pFabric also drops by priority, as here.

use alloc::vec::Vec;

use crate::author::{
    Backlog, ByCopy, ConfigError, Configured, Control, Discipline, DropReason, FlowConfig, FlowId,
    Footprint, Handle, Instant, Linux, Packet, Priority, Refusal, Refused, Scheduler, Seed,
};
use crate::mechanisms::ranked::{Ranked, Slot};

/// SRPT has no parameters besides the buffer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "srpt";
    const ABOUT: &'static str = "shortest remaining processing time: the flow with the fewest remaining bytes first, its packets in order";
    const SOURCE: &'static str = "Alizadeh et al., pFabric, SIGCOMM 2013; Mittal et al., Universal Packet Scheduling, NSDI 2016";
    const LINUX: Linux = Linux::Absent;
    const COMPLEXITY: &'static str = "O(log n)";
    const PRIORITY: Priority = Priority::Remaining;
    const DROPS: &'static [DropReason] =
        &[DropReason::Full, DropReason::PushedOut, DropReason::Refused];
    type Scheduler<T: Send> = Srpt<T>;
    /// By copy, because slots belong to ranks, not to packets in queues.
    type ByHandle = ByCopy<Srpt<Handle>>;
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Srpt<T> {
    /// Packets by remaining bytes.
    waiting: Ranked<u32, T>,
    /// Neighbours of each packet in the flow's list, by slot in `waiting`.
    links: Vec<FlowLinks>,
    flows: Vec<FlowEnds>,
}

#[derive(Debug, Clone, Copy, Default)]
struct FlowLinks {
    older: Option<Slot>,
    newer: Option<Slot>,
}

/// The ends of a flow's list.
#[derive(Debug, Clone, Copy, Default)]
struct FlowEnds {
    oldest: Option<Slot>,
    newest: Option<Slot>,
}

impl<T> Configured<Config> for Srpt<T> {
    fn configured(_: Config, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            waiting: Ranked::default(),
            links: Vec::new(),
            flows: Vec::new(),
        })
    }
}

impl<T> Srpt<T> {
    fn enqueue_packet(&mut self, packet: Packet<T>) {
        let number = packet.flow.index();
        if number >= self.flows.len() {
            self.flows.resize(number + 1, FlowEnds::default());
        }
        let slot = self.waiting.push(packet.priority, packet);
        if slot.index() >= self.links.len() {
            self.links.resize(slot.index() + 1, FlowLinks::default());
        }
        let flow = &mut self.flows[number];
        self.links[slot.index()] = FlowLinks {
            older: flow.newest,
            newer: None,
        };
        match flow.newest {
            Some(before) => self.links[before.index()].newer = Some(slot),
            None => flow.oldest = Some(slot),
        }
        flow.newest = Some(slot);
    }

    /// Takes the oldest packet of the flow with the least remaining.
    fn dequeue_packet(&mut self) -> Option<Packet<T>> {
        // The packet of highest priority tells the flow.
        let (_, shortest) = self.waiting.first()?;
        // pFabric's starvation prevention: the earliest packet of this flow is sent.
        let oldest = self.flows[shortest.flow.index()].oldest?;
        self.take(oldest)
    }

    fn take(&mut self, slot: Slot) -> Option<Packet<T>> {
        let packet = self.waiting.take(slot)?;
        let flow = &mut self.flows[packet.flow.index()];
        let FlowLinks { older, newer } = self.links[slot.index()];
        match older {
            Some(neighbour) => self.links[neighbour.index()].newer = newer,
            None => flow.oldest = newer,
        }
        match newer {
            Some(neighbour) => self.links[neighbour.index()].older = older,
            None => flow.newest = older,
        }
        Some(packet)
    }
}

impl<T> Scheduler<T> for Srpt<T> {
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        if let Err(reason) = Refusal::check_tabled(packet.flow, packet.len, u32::MAX) {
            return Err(packet.refused(reason));
        }
        self.enqueue_packet(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<T>> {
        self.dequeue_packet()
    }

    /// The newest packet with the most remaining.
    fn evict(&mut self) -> Option<Packet<T>> {
        // pFabric's priority dropping: the packet of lowest priority.
        let slot = self.waiting.last()?;
        self.take(slot)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }
}

impl<T> Control for Srpt<T> {
    /// All flows are alike. Flow numbers beyond the table are refused.
    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(Config::NAME, flow)
    }

    fn footprint(&self) -> Footprint {
        Footprint {
            fixed_bytes: size_of::<Self>(),
            bytes_per_flow: size_of::<FlowEnds>(),
        }
    }

    /// 1. Each packet is in the list of the flow, once, in order of arrival.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.waiting.check();
        let mut packets = 0;
        for (number, flow) in self.flows.iter().enumerate() {
            let mut next = flow.oldest;
            let mut before = None;
            while let Some(slot) = next {
                let packet = self
                    .waiting
                    .packet(slot)
                    .expect("invariant 1: a listed packet waits");
                assert_eq!(
                    packet.flow.index(),
                    number,
                    "invariant 1: in the list of its flow"
                );
                assert_eq!(
                    self.links[slot.index()].older,
                    before,
                    "invariant 1: links agree in both directions"
                );
                packets += 1;
                before = Some(slot);
                next = self.links[slot.index()].newer;
            }
            assert_eq!(
                flow.newest, before,
                "invariant 1: a list ends at its newest packet"
            );
        }
        assert_eq!(packets, self.backlog().packets, "invariant 1: once");
    }
}
