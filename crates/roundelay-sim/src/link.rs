//! A link: a port and the wire behind it.

use std::collections::VecDeque;

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use roundelay::schedulers::{AnyScheduler, Discipline};
use roundelay::tree::Tree;
use roundelay::{
    Backlog, Billionths, ConfigError, DropReason, Duration, FlowConfig, FlowId, Instant, Observer, Packet, Partial, Port, PreemptivePort,
    QueueSpec, Rate, Scheduler as _, prefetch,
};

use crate::cargo::Carried;
use crate::event_queue::Key;
use crate::network::{LinkConfig, LinkId, TREE};
use crate::probe::Probe;
use crate::random::{Drawer, stream};
use crate::simulation::Books;

/// Counts of a link's packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LinkCounts {
    /// Packets received by the queue.
    pub arrived: u64,
    /// Packets transmitted.
    pub packets: u64,
    /// Bytes transmitted, including the link's overhead.
    pub bytes: u64,
    /// Packets dropped by the queue, by reason, in the order of [`DropReason::ALL`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Transmitted packets lost on the wire.
    pub lost: u64,
    /// Sum of the waiting times of transmitted packets, in picoseconds.
    pub waits: u128,
}

/// The port in front of a wire.
pub(crate) enum Outlet {
    Port(Port<AnyScheduler<Carried>>),
    /// For preemptive disciplines.
    Preemptive(Box<PreemptivePort<AnyScheduler<Partial<Carried>>, Carried>>),
    Tree(Box<Port<Tree<Carried>>>),
}

impl Outlet {
    fn new(config: &LinkConfig, seed: u64) -> Result<Self, ConfigError> {
        let (queue, limit, rate) = (&config.queue, config.queue.limit_or_default(), config.rate);
        let cost = config.decision_cost()?;
        Ok(if let Some(tree) = &config.tree {
            let mut port = Port::new(Discipline::build(tree.config(), seed)?, limit, rate);
            port.set_decision_cost(cost);
            Self::Tree(Box::new(port))
        } else if preempts(queue) {
            Self::Preemptive(Box::new(PreemptivePort::new(queue.discipline.build(seed)?, limit, rate)))
        } else {
            let mut port = Port::new(queue.discipline.build(seed)?, limit, rate);
            port.set_decision_cost(cost);
            Self::Port(port)
        })
    }

    #[inline]
    pub(crate) fn next_event(&self) -> Option<Instant> {
        match self {
            Self::Port(port) => port.next_event(),
            Self::Preemptive(port) => port.next_event(),
            Self::Tree(port) => next_at_tree(port),
        }
    }

    #[inline]
    pub(crate) fn arrive(&mut self, now: Instant, packet: Packet<Carried>, work: &mut impl Observer<Carried>) {
        match self {
            Self::Port(port) => port.arrive(now, packet, work),
            Self::Preemptive(port) => port.arrive(now, packet, work),
            Self::Tree(port) => arrive_at_tree(port, now, packet, work),
        }
    }

    /// Handles the port's next event: the port picks, or a packet ends on a preemptive link.
    #[inline]
    pub(crate) fn work(&mut self, work: &mut impl Observer<Carried>) {
        match self {
            Self::Port(port) => port.pick(work),
            Self::Preemptive(port) if port.ends_next() => port.end(work),
            Self::Preemptive(port) => port.pick(work),
            Self::Tree(port) => pick_from_tree(port, work),
        }
    }

    /// The key of the port's next event, after all events up to number `sequence`. The end of a
    /// packet is no pick: on a link without delay the packet may arrive, at this instant, before
    /// other links pick.
    #[inline]
    pub(crate) fn next_key(&self, sequence: u64) -> Key {
        match (self.next_event(), self) {
            (None, _) => Key::NEVER,
            (Some(at), Self::Preemptive(port)) if port.ends_next() => Key::new(at, sequence),
            (Some(at), _) => Key::pick(at, sequence),
        }
    }

    /// Assigns a flow to a leaf, if the port has a tree.
    pub(crate) fn assign(&mut self, flow: FlowId, leaf: &str) -> Result<(), ConfigError> {
        match self {
            Self::Tree(port) => port.scheduler_mut().assign(flow, leaf).map_err(|error| ConfigError::BadValue {
                discipline: TREE,
                parameter: error.node,
                expected: error.problem.to_string(),
            }),
            _ => Ok(()),
        }
    }

    pub(crate) fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        match self {
            Self::Port(port) => port.scheduler_mut().set_flow(flow, config),
            Self::Preemptive(port) => port.scheduler_mut().set_flow(flow, config),
            Self::Tree(port) => port.scheduler_mut().set_flow(flow, config),
        }
    }

    pub(crate) fn remove_flow(&mut self, flow: FlowId) {
        match self {
            Self::Port(port) => port.scheduler_mut().remove_flow(flow),
            Self::Preemptive(port) => port.scheduler_mut().remove_flow(flow),
            Self::Tree(port) => port.scheduler_mut().remove_flow(flow),
        }
    }

    pub(crate) fn backlog(&self) -> Backlog {
        match self {
            Self::Port(port) => port.scheduler().backlog(),
            Self::Preemptive(port) => port.backlog(),
            Self::Tree(port) => port.scheduler().backlog(),
        }
    }
}

// Tree code stays out of line: inlining would lengthen the path of the other disciplines.
#[cold]
#[inline(never)]
fn next_at_tree(port: &Port<Tree<Carried>>) -> Option<Instant> {
    port.next_event()
}

#[cold]
#[inline(never)]
fn arrive_at_tree(port: &mut Port<Tree<Carried>>, now: Instant, packet: Packet<Carried>, work: &mut impl Observer<Carried>) {
    port.arrive(now, packet, work);
}

#[cold]
#[inline(never)]
fn pick_from_tree(port: &mut Port<Tree<Carried>>, work: &mut impl Observer<Carried>) {
    port.pick(work);
}

/// Whether a queue's discipline is preemptive. A preemptive link reports a packet at the end of the
/// transmission, not at the start.
pub(crate) fn preempts(queue: &QueueSpec) -> bool {
    queue.discipline.info().parameters.iter().any(|parameter| parameter.name == "preempt" && parameter.value == "on")
}

/// Waiting time of a packet transmitted in the given span; `preempted_at` is the rate of a
/// preemptive link. There, time between the parts of an interrupted packet counts too: all the time
/// in which the packet was not being sent.
#[inline]
pub(crate) fn waited(preempted_at: Option<Rate>, packet: &Packet<Carried>, [start, end]: [Instant; 2]) -> Duration {
    let since = |instant: Instant| instant.since(packet.arrival);
    preempted_at.map_or_else(|| since(start), |rate| since(end) - rate.time_of(packet.len.into()))
}

pub(crate) struct Link {
    pub(crate) port: Outlet,
    pub(crate) wire: Wire,
    /// The port's next event.
    pub(crate) works: Key,
    pub(crate) overhead: u32,
}

impl Link {
    /// `seed` is for the wire; the queue gets `hash_seed` plus the link's number.
    pub(crate) fn new(id: LinkId, config: &LinkConfig, [seed, hash_seed]: [u64; 2]) -> Result<Self, ConfigError> {
        let random = stream(seed, Drawer::Link(id.0));
        let port = Outlet::new(config, hash_seed.wrapping_add(id.0.into()))?;
        let wire = Wire {
            id,
            preempted_at: preempts(&config.queue).then_some(config.rate),
            delay: config.delay,
            jitter: config.jitter,
            loss: config.loss,
            random,
            in_flight: InFlight::default(),
            last: Instant::ZERO,
            free_at: Instant::ZERO,
            counts: LinkCounts::default(),
        };
        Ok(Self { port, wire, works: Key::NEVER, overhead: config.overhead })
    }

    /// The link's next event: a packet arrives at the far end, or the port works.
    #[inline]
    pub(crate) fn next(&self) -> Key {
        self.wire.in_flight.first().min(self.works)
    }
}

/// Packets in flight: out of the queue, not yet arrived.
#[derive(Debug)]
pub(crate) struct Wire {
    id: LinkId,
    /// The rate of a preemptive port; otherwise None.
    preempted_at: Option<Rate>,
    delay: Duration,
    jitter: Duration,
    loss: Billionths,
    random: Pcg64Mcg,
    pub(crate) in_flight: InFlight,
    /// Arrival time of the last packet in flight.
    last: Instant,
    /// End of the last transmission.
    pub(crate) free_at: Instant,
    pub(crate) counts: LinkCounts,
}

/// The packets between the two ends of a wire, in the order of their arrivals.
///
/// Half a million packets may be in flight in a large network, more than the caches hold, and each
/// waits for milliseconds. So the memory of a packet is prefetched while the packet before is first.
#[derive(Debug, Default)]
pub(crate) struct InFlight(VecDeque<Flight>);

/// A packet in flight in one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Flight {
    key: Key,
    packet: Packet<Carried>,
}

const _: () = assert!(size_of::<Flight>() == 64);

impl InFlight {
    /// The event of the first packet's arrival.
    #[inline]
    pub(crate) fn first(&self) -> Key {
        self.0.front().map_or(Key::NEVER, |flight| flight.key)
    }

    #[inline]
    fn push(&mut self, key: Key, packet: Packet<Carried>) {
        self.0.push_back(Flight { key, packet });
        let (front, back) = self.0.as_slices();
        let last = if back.is_empty() { front } else { back };
        prefetch(last, last.len());
    }

    /// Takes the first packet; `ahead` is called with the next one, to prefetch more of it.
    #[inline]
    pub(crate) fn pop(&mut self, ahead: impl FnOnce(Carried)) -> Option<Packet<Carried>> {
        let Flight { packet, .. } = self.0.pop_front()?;
        let (front, _) = self.0.as_slices();
        prefetch(front, 1);
        if let Some(next) = front.first() {
            ahead(next.packet.payload);
        }
        Some(packet)
    }
}

impl Wire {
    #[inline]
    fn is_lost(&mut self) -> bool {
        self.loss.0 > 0 && self.random.random_range(0..Billionths::ONE.0) < self.loss.0
    }

    /// Arrival time of a packet leaving at `end`.
    #[inline]
    fn arrival(&mut self, end: Instant) -> Instant {
        let mut arrival = end + self.delay;
        if self.jitter != Duration::ZERO {
            arrival += Duration::from_picos(self.random.random_range(0..=self.jitter.as_picos()));
            arrival = arrival.max(self.last);
        }
        self.last = arrival;
        arrival
    }
}

/// Observer of a port: puts transmitted packets onto the wire and updates all counts.
pub(crate) struct Work<'a, P> {
    pub(crate) wire: &'a mut Wire,
    pub(crate) books: &'a mut Books<P>,
}

impl<P: Probe> Observer<Carried> for Work<'_, P> {
    #[inline(always)]
    fn sent(&mut self, mut packet: Packet<Carried>, start: Instant, end: Instant) {
        let Self { wire, books } = self;
        let wait = waited(wire.preempted_at, &packet, [start, end]);
        wire.free_at = end;
        wire.counts.packets += 1;
        wire.counts.bytes += u64::from(packet.len);
        wire.counts.waits += u128::from(wait.as_picos());
        packet.slack = packet.slack.after(wait);
        books.probe.transmitted(wire.id, &packet, books.arena.at(packet.payload.cargo), [start, end]);
        if wire.is_lost() {
            wire.counts.lost += 1;
            return books.lose(wire.id, &packet, if wire.preempted_at.is_some() { end } else { start });
        }
        let key = books.next_key(wire.arrival(end));
        wire.in_flight.push(key, packet);
    }

    #[inline]
    fn dropped(&mut self, packet: Packet<Carried>, now: Instant, reason: DropReason) {
        self.wire.counts.dropped[reason as usize] += 1;
        self.books.drop(self.wire.id, &packet, now, reason);
    }
}
