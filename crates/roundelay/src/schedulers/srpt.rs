//! Shortest remaining processing time first: the flow with the least left to send goes first, its packets in order.
//!
//! Each packet says how many bytes of its flow were still to be sent when it was, its own among them. The smallest of these numbers tells
//! the flow that completes soonest; not that packet leaves but the one of its flow that came first, for the flow is complete only with it,
//! and packets that a retransmission put behind would otherwise wait for ever (pFabric's starvation prevention). Least mean completion time
//! of all orders on one link where what a packet says is true of its flow; a long flow waits for all that have less left.
//!
//! Source: L. Schrage, "A Proof of the Optimality of the Shortest Remaining Processing Time Discipline", Operations Research 16(3), 1968;
//! M. Alizadeh et al., "pFabric: Minimal Near-Optimal Datacenter Transport", SIGCOMM 2013; as in R. Mittal et al., "Universal
//! Packet Scheduling", NSDI 2016, section 3.1.
//!
//! | paper | here |
//! |---|---|
//! | priority, remaining flow size | [`Packet::priority`], bytes |
//! | packet of highest priority | first of `waiting` |
//! | earliest packet of that flow | `Flow::oldest` |
//!
//! | guarantee | value | test in `theorems/srpt.rs` |
//! |---|---|---|
//! | order | the flow served has the packet with the least remaining of all | `no_flow_has_less_left_than_the_one_served` |
//! | order within a flow | as they came, whatever they say | `starvation_prevention_keeps_flows_in_order` |
//! | mean completion time | least of all orders, see below | `flows_that_start_together_complete_as_early_as_can_be` |
//! | starvation | a long flow waits for shorter ones as long as they come | `short_flows_starve_a_long_one` |
//! | push-out | the newest packet with the most remaining | `a_full_buffer_gives_up_the_most_remaining` |
//!
//! Cost: O(log n) with n packets that wait. Memory: a packet's key, its place and its links, and the ends of each flow's list.
//!
//! Flows that start together, a packet of each in the queue at a time, complete on average as early as in any order. But a flow is known by
//! its packet with the least remaining, which is the last one that waits. If all of a flow waits, that is its last packet, whose remaining is
//! its own length: whole flows that wait are served in the order of their last packets, not of their sizes
//! (`a_flow_that_waits_whole_is_taken_for_its_last_packet`). With a window much smaller than the flow that happens at its end only; `sjf`
//! does not mind it.
//!
//! Differences from the paper: bytes, not packets. pFabric also drops by priority, as here.

use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::{ConfigError, Parameter};
use crate::mechanisms::ranked::{Place, Ranked};
use crate::packet::{FlowId, Packet};
use crate::pool::Backlog;
use crate::scheduler::{FlowConfig, Footprint, Scheduler, is_time_to_check};
use crate::schedulers::{Discipline, Priority};
use crate::time::Instant;

/// SRPT has no parameters but its buffer's limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Config;

impl Discipline for Config {
    const NAME: &'static str = "srpt";
    const ABOUT: &'static str = "shortest remaining processing time: the flow with the least left first, in order";
    const SOURCE: &'static str = "Alizadeh et al., pFabric, SIGCOMM 2013; Mittal et al., Universal Packet Scheduling, NSDI 2016";
    const PARAMETERS: &'static [Parameter<Self>] = &[];
    const WEIGHTED: bool = false;
    const COMPLEXITY: &'static str = "O(log n)";
    const PRIORITY: Priority = Priority::Remaining;
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    type Scheduler<T: Send> = Srpt<T>;

    fn build<T: Send>(&self, _seed: u64) -> Result<Srpt<T>, ConfigError> {
        Ok(Srpt::default())
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Srpt<T> {
    /// By what remains.
    waiting: Ranked<u32, T>,
    /// Neighbours of each packet in the list of its flow, by its place in `waiting`.
    links: Vec<Links>,
    flows: Vec<Flow>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Links {
    older: Option<Place>,
    newer: Option<Place>,
}

/// The ends of a flow's list.
#[derive(Debug, Clone, Copy, Default)]
struct Flow {
    oldest: Option<Place>,
    newest: Option<Place>,
}

impl<T> Default for Srpt<T> {
    fn default() -> Self {
        Self { waiting: Ranked::default(), links: Vec::new(), flows: Vec::new() }
    }
}

impl<T> Srpt<T> {
    fn enqueue_packet(&mut self, packet: Packet<T>) {
        let number = packet.flow.index();
        if number >= self.flows.len() {
            self.flows.resize(number + 1, Flow::default());
        }
        let place = self.waiting.push(packet.priority, packet);
        if place.index() >= self.links.len() {
            self.links.resize(place.index() + 1, Links::default());
        }
        let flow = &mut self.flows[number];
        self.links[place.index()] = Links { older: flow.newest, newer: None };
        match flow.newest {
            Some(before) => self.links[before.index()].newer = Some(place),
            None => flow.oldest = Some(place),
        }
        flow.newest = Some(place);
    }

    /// The oldest packet of the flow that has the packet with the least remaining.
    fn dequeue_packet(&mut self) -> Option<Packet<T>> {
        let (_, shortest) = self.waiting.first()?;
        let oldest = self.flows[shortest.flow.index()].oldest?;
        self.take(oldest)
    }

    fn take(&mut self, place: Place) -> Option<Packet<T>> {
        let packet = self.waiting.take(place)?;
        let flow = &mut self.flows[packet.flow.index()];
        let Links { older, newer } = self.links[place.index()];
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
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        if !packet.flow.fits_a_table() {
            return Err(packet);
        }
        self.enqueue_packet(packet);
        self.debug_check();
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<T>> {
        let packet = self.dequeue_packet();
        self.debug_check();
        packet
    }

    /// The newest packet with the most remaining.
    fn evict(&mut self) -> Option<Packet<T>> {
        let place = self.waiting.last()?;
        let packet = self.take(place);
        self.debug_check();
        packet
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }

    /// All flows are alike; but what has no place in the table cannot be set either.
    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(Config::NAME, flow)
    }

    fn footprint(&self) -> Footprint {
        Footprint { fixed_bytes: size_of::<Self>(), bytes_per_flow: size_of::<Flow>() }
    }

    /// 1. Each packet is in the list of its flow, once, in the order of arrival.
    fn check_invariants(&self) {
        self.waiting.check();
        let mut packets = 0;
        for (number, flow) in self.flows.iter().enumerate() {
            let (mut next, mut before) = (flow.oldest, None);
            while let Some(place) = next {
                let packet = self.waiting.packet(place).expect("invariant 1: a listed packet waits");
                assert_eq!(packet.flow.index(), number, "invariant 1: in the list of its flow");
                assert_eq!(self.links[place.index()].older, before, "invariant 1: links agree in both directions");
                packets += 1;
                before = Some(place);
                next = self.links[place.index()].newer;
            }
            assert_eq!(flow.newest, before, "invariant 1: a list ends at its newest packet");
        }
        assert_eq!(packets, self.backlog().packets, "invariant 1: once");
    }
}

impl<T> Srpt<T> {
    #[inline]
    fn debug_check(&self) {
        if is_time_to_check(self.flows.len(), self.backlog()) {
            self.check_invariants();
        }
    }
}
