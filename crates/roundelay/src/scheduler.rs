//! The contract of a scheduler.

use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::ConfigError;
use crate::packet::{FlowId, Packet};
use crate::pool::Backlog;
use crate::time::Instant;
use crate::units::Rate;

/// Orders packets for one link. Knows no clock, no limit, no I/O.
///
/// Time comes in as an argument and must not run backwards. Packets of one flow leave in the order in which they came, unless a
/// discipline says otherwise. Where a call returns a packet, the scheduler has forgotten it.
pub trait Scheduler<T> {
    /// Takes a packet, or hands it back unchanged with the state as it was (longer than its flow's maximum, say).
    ///
    /// # Errors
    /// The packet itself.
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Packet<T>>;

    /// The next packet for the link. None if nothing waits, or nothing may leave before [`ready_at`](Self::ready_at).
    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>>;

    /// [`enqueue`](Self::enqueue) of each packet in turn. Those that are refused stay in `packets`, in their order.
    ///
    /// A discipline that sees several packets at once can fetch the records of their flows from memory together, where one after the
    /// other would wait for each. What it does with them is the same. [`take_dropped`](Self::take_dropped) is for the whole burst.
    fn enqueue_burst(&mut self, now: Instant, packets: &mut Vec<Packet<T>>) {
        let mut refused = Vec::new();
        for packet in packets.drain(..) {
            refused.extend(self.enqueue(now, packet).err());
        }
        packets.append(&mut refused);
    }

    /// [`dequeue`](Self::dequeue) up to `most` times, or until it gives nothing. Appends the packets to `into`.
    fn dequeue_burst(&mut self, now: Instant, most: usize, into: &mut Vec<Packet<T>>) {
        into.extend(core::iter::from_fn(|| self.dequeue(now)).take(most));
    }

    /// [`dequeue`](Self::dequeue) in a node of a hierarchy, where each child's next packet stands for the child: `refill` is asked for
    /// another packet of the flow just chosen while the flow still counts as backlogged, so that it loses neither its place nor its times.
    ///
    /// Disciplines with [`INTERIOR`](crate::schedulers::Discipline::INTERIOR) keep to this; what stands here serves the others.
    fn dequeue_refilled(&mut self, now: Instant, refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>) -> Option<Packet<T>> {
        let packet = self.dequeue(now)?;
        if let Some(next) = refill(packet.flow) {
            let refused = self.enqueue(now, next).is_err();
            debug_assert!(!refused, "a node takes its children's packets");
        }
        Some(packet)
    }

    /// What this discipline gives up first when the buffer is full. None only if nothing waits.
    fn evict(&mut self) -> Option<Packet<T>>;

    /// The newest packet of a flow, for a hierarchy whose child lost what stood for it. None if the flow has none, or if the discipline
    /// cannot be an [`INTERIOR`](crate::schedulers::Discipline::INTERIOR) node.
    fn evict_flow(&mut self, flow: FlowId) -> Option<Packet<T>> {
        let _ = flow;
        None
    }

    /// What waits, dropped packets that wait to be taken excluded.
    fn backlog(&self) -> Backlog;

    /// When a discipline that idles although packets wait may serve the next one. None: it never idles (work-conserving).
    fn ready_at(&self) -> Option<Instant> {
        None
    }

    /// Whether the next packet follows from a decision already taken: of a turn, or of a service of several packets. A [`Port`](crate::Port) whose
    /// decisions cost time asks before each [`dequeue`](Self::dequeue). False: each packet is a decision of its own.
    fn has_decided(&self) -> bool {
        false
    }

    /// A packet that the discipline dropped of its own accord in the last [`enqueue`](Self::enqueue) (the packet itself among them if
    /// it was dropped early), [`dequeue`](Self::dequeue) or [`evict`](Self::evict), and why; oldest first. To be called until it returns
    /// none.
    fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
        None
    }

    /// Whether what waits should take the link from `sending`, shown as it would join the queue now: its whole length, and the slack that is
    /// left of it. Asked by a [`PreemptivePort`](crate::PreemptivePort) only.
    fn preempts(&self, now: Instant, sending: &Packet<T>) -> bool {
        let _ = (now, sending);
        false
    }

    /// Tells the rate of the link, before the first packet comes: for disciplines that reckon with what a fluid server would have done up to
    /// an instant at which a packet is on the link. A [`Port`](crate::Port) calls it; who drives a scheduler without one can. A discipline that
    /// is not told goes on without, and says how.
    fn set_link_rate(&mut self, rate: Rate) {
        let _ = rate;
    }

    /// Tells what the buffer around the scheduler holds, before the first packet comes and whenever that changes: for disciplines that go by
    /// the free part of it. A [`Buffer`](crate::Buffer) calls it and keeps the limit itself.
    fn set_buffer_limit(&mut self, limit: Limit) {
        let _ = limit;
    }

    /// Adds a flow, or changes one, backlogged or not. Disciplines that treat all flows alike have nothing to set.
    ///
    /// # Errors
    /// A value out of its legal range, with the state as it was.
    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        let _ = (flow, config);
        Ok(())
    }

    /// Forgets a flow. If packets of it wait, it keeps what was set until the last of them has left.
    fn remove_flow(&mut self, flow: FlowId) {
        let _ = flow;
    }

    /// The sum of the weights that a flow's weight is held against, if the discipline keeps one: its share is its weight over this. Weights of
    /// flows that have left may count for a while.
    fn total_weight(&self) -> Option<u64> {
        None
    }

    /// Queues (or bins) that a discipline with hashed flows gives to a flow, by number: one for each hash, in the order of the hashes, so that two
    /// hashes that agree name a queue twice. Flows collide where these lists meet. Empty for disciplines that hash no flows, and for trees.
    ///
    /// Bins of several levels are numbered one level after the other. Where hashes change in time (`sfq perturb`, `sfb rehash`), these are those in
    /// force.
    fn queues_of(&self, flow: FlowId) -> Vec<usize> {
        let _ = flow;
        Vec::new()
    }

    /// Memory that the discipline takes beside its packets.
    fn footprint(&self) -> Footprint;

    /// The same part by part: what each is for, and its bytes. They add up to [`footprint`](Self::footprint). Empty where a discipline does
    /// not tell its parts.
    fn footprint_parts(&self) -> Vec<(&'static str, Footprint)> {
        Vec::new()
    }

    /// Panics if the state breaks an invariant. Debug builds call it after each public call while flows and packets are few, and now and then
    /// when they are many; release builds never.
    fn check_invariants(&self) {}
}

/// What is set for one flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowConfig {
    /// Share of the link, relative to the other flows' weights: 1 to 1024, as in `tc qfq`.
    pub weight: u32,
    /// Longest packet of the flow in bytes: 512 to 65536, as in `tc qfq`.
    pub max_packet_len: u32,
}

impl FlowConfig {
    /// Longest packet that can be allowed, in bytes.
    pub const MAX_PACKET_LEN: u32 = 1 << 16;
    /// Smallest value that `max_packet_len` can be set to, in bytes.
    pub const MIN_MAX_PACKET_LEN: u32 = 512;
    /// Largest weight.
    pub const MAX_WEIGHT: u32 = 1 << 10;

    /// Weight 1 and packets of up to 2048 bytes.
    pub const DEFAULT: Self = Self { weight: 1, max_packet_len: 2048 };

    /// Whether a discipline with a table of flows can take this for `flow`.
    ///
    /// # Errors
    /// A value out of its range, or a flow number beyond [`FlowId::LARGEST_TABLED`].
    pub fn check(&self, discipline: &'static str, flow: FlowId) -> Result<(), ConfigError> {
        ConfigError::in_range(discipline, "flow", flow.0.into(), 0, FlowId::LARGEST_TABLED.0.into())?;
        ConfigError::in_range(discipline, "weight", self.weight.into(), 1, Self::MAX_WEIGHT.into())?;
        let (min, max) = (Self::MIN_MAX_PACKET_LEN, Self::MAX_PACKET_LEN);
        ConfigError::in_range(discipline, "maxpkt", self.max_packet_len.into(), min.into(), max.into())
    }
}

impl Default for FlowConfig {
    fn default() -> Self {
        Self::DEFAULT
    }
}

/// Memory of a discipline, packets excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Footprint {
    /// Bytes that it takes however many flows there are.
    pub fixed_bytes: usize,
    /// Bytes for each flow that it has seen.
    pub bytes_per_flow: usize,
}

impl Footprint {
    /// Memory that each flow takes.
    pub const fn of_a_flow(bytes: usize) -> Self {
        Self { fixed_bytes: 0, bytes_per_flow: bytes }
    }

    /// Memory that is taken once.
    pub const fn fixed(bytes: usize) -> Self {
        Self { fixed_bytes: bytes, bytes_per_flow: 0 }
    }
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    /// The buffer was full and the arriving packet was given up: drop tail.
    Full,
    /// The buffer was full and the discipline gave up a packet that had waited.
    PushedOut,
    /// The discipline dropped it to signal congestion: active queue management.
    Early,
    /// The discipline would not take it.
    Refused,
}

impl DropReason {
    /// All reasons, in the order in which reports list them.
    pub const ALL: [Self; 4] = [Self::Full, Self::PushedOut, Self::Early, Self::Refused];

    /// As reports write it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::PushedOut => "pushed_out",
            Self::Early => "early",
            Self::Refused => "refused",
        }
    }
}

/// Whether a discipline should check its invariants now: in debug builds after each call while it has few flows, and after some calls
/// when a check would cost more than the test it is part of.
pub(crate) const fn is_time_to_check(flows: usize, backlog: Backlog) -> bool {
    cfg!(debug_assertions) && ((flows <= 64 && backlog.packets <= 256) || backlog.packets % 61 == 60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn reports_tell_the_reasons_apart() {
        let names: BTreeSet<_> = DropReason::ALL.map(DropReason::name).into_iter().filter(|name| !name.is_empty()).collect();
        assert_eq!(names.len(), DropReason::ALL.len());
    }
}
