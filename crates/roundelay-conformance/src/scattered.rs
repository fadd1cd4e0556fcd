//! Scattered handles: a scheduler of handles behind the interface by value, with slots drawn at
//! random, so that neighbours in a queue have no neighbouring handles.

use roundelay::schedulers::custom::Order;
use roundelay::schedulers::{AnyDiscipline, Discipline, Visitor};
use roundelay::{
    Backlog, ConfigError, Departure, DropReason, Ecn, FlowConfig, FlowId, Footprint, Handle, Instant, Limit, Packet, Rate, Scheduler,
};

/// Waiting packets, and a scheduler of their handles.
pub struct Scattered<T> {
    order: Order,
    packets: Vec<Option<Packet<T>>>,
    /// Free slots; the next slot is drawn at random.
    free: Vec<u32>,
    random: u64,
}

/// A scheduler of a discipline, by handle.
///
/// # Panics
/// A parameter of the discipline is out of its range.
pub fn by_handle(discipline: &AnyDiscipline, seed: u64) -> Order {
    discipline.visit(ByHandle(seed))
}

/// A packet's description: the payload is replaced by the handle.
fn described<T>(packet: &Packet<T>, handle: Handle) -> Packet<Handle> {
    let Packet { flow, len, arrival, ecn, priority, slack, deadline, .. } = *packet;
    Packet { flow, len, arrival, ecn, priority, slack, deadline, payload: handle }
}

/// A discipline's scheduler by handle.
struct ByHandle(u64);

impl Visitor for ByHandle {
    type Output = Order;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        Box::new(discipline.build_by_handle(self.0).expect("legal parameters"))
    }
}

impl<T> Scattered<T> {
    /// An empty scheduler of the discipline.
    ///
    /// # Panics
    /// A parameter of the discipline is out of its range.
    pub fn new(discipline: &AnyDiscipline, seed: u64) -> Self {
        Self { order: by_handle(discipline, seed), packets: Vec::new(), free: Vec::new(), random: 1 }
    }

    /// Stores a packet in a slot and returns its description.
    fn admit(&mut self, packet: Packet<T>) -> Packet<Handle> {
        admit(&mut self.packets, &mut self.free, &mut self.random, packet)
    }

    /// Removes a packet from its slot.
    fn release(&mut self, handle: Handle) -> Packet<T> {
        let packet = self.packets[handle.index()].take().expect("it gave out a handle that it held");
        self.free.push(handle.0);
        packet
    }

    fn departed(&mut self, departure: Departure) -> Packet<T> {
        let packet = self.release(departure.handle);
        let marked = departure.mark && packet.ecn != Ecn::NotCapable;
        assert!(!departure.mark || marked, "only what may be marked is marked");
        if marked { Packet { ecn: Ecn::Marked, ..packet } } else { packet }
    }

    fn refused(&mut self, refused: Packet<Handle>) -> Packet<T> {
        let packet = self.release(refused.payload);
        assert_eq!(described(&packet, refused.payload), refused, "what is refused comes back as it was");
        packet
    }
}

fn admit<T>(packets: &mut Vec<Option<Packet<T>>>, free: &mut Vec<u32>, random: &mut u64, packet: Packet<T>) -> Packet<Handle> {
    if free.is_empty() {
        free.extend(packets.len() as u32..packets.len() as u32 + 8);
        packets.resize_with(packets.len() + 8, || None);
    }
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let handle = Handle(free.swap_remove((*random >> 33) as usize % free.len()));
    let description = described(&packet, handle);
    packets[handle.index()] = Some(packet);
    description
}

impl<T> Scheduler<T> for Scattered<T> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        let description = self.admit(packet);
        self.order.enqueue(now, description).map_err(|refused| self.refused(refused))
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        self.order.dequeue(now).map(|departure| self.departed(departure))
    }

    fn enqueue_burst(&mut self, now: Instant, packets: &mut Vec<Packet<T>>) {
        let mut burst = packets.drain(..).map(|packet| self.admit(packet)).collect();
        self.order.enqueue_burst(now, &mut burst);
        packets.extend(burst.into_iter().map(|refused| self.refused(refused)));
    }

    fn dequeue_burst(&mut self, now: Instant, most: usize, into: &mut Vec<Packet<T>>) {
        let mut burst = Vec::new();
        self.order.dequeue_burst(now, most, &mut burst);
        into.extend(burst.into_iter().map(|departure| self.departed(departure)));
    }

    fn dequeue_refilled(&mut self, now: Instant, refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>) -> Option<Packet<T>> {
        let (packets, free, random) = (&mut self.packets, &mut self.free, &mut self.random);
        let departure = self.order.dequeue_refilled(now, &mut |flow| refill(flow).map(|packet| admit(packets, free, random, packet)))?;
        Some(self.departed(departure))
    }

    fn evict(&mut self) -> Option<Packet<T>> {
        self.order.evict().map(|departure| self.departed(departure))
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<Packet<T>> {
        self.order.evict_flow(flow).map(|departure| self.departed(departure))
    }

    fn backlog(&self) -> Backlog {
        self.order.backlog()
    }

    fn ready_at(&self) -> Option<Instant> {
        self.order.ready_at()
    }

    fn has_decided(&self) -> bool {
        self.order.has_decided()
    }

    fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
        self.order.take_dropped().map(|(departure, reason)| (self.departed(departure), reason))
    }

    fn preempts(&self, now: Instant, sending: &Packet<T>) -> bool {
        self.order.preempts(now, &described(sending, Handle::default()))
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.order.set_link_rate(rate);
    }

    fn set_buffer_limit(&mut self, limit: Limit) {
        self.order.set_buffer_limit(limit);
    }

    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        self.order.set_flow(flow, config)
    }

    fn remove_flow(&mut self, flow: FlowId) {
        self.order.remove_flow(flow);
    }

    fn total_weight(&self) -> Option<u64> {
        self.order.total_weight()
    }

    fn queues_of(&self, flow: FlowId) -> Vec<usize> {
        self.order.queues_of(flow)
    }

    fn footprint(&self) -> Footprint {
        self.order.footprint()
    }

    fn check_invariants(&self) {
        self.order.check_invariants();
    }
}
