//! Flow table: for each flow a queue, a weight and the discipline's own state.
//!
//! A flow joins with its first packet or settings. A removed flow keeps its record until its last
//! packet has left.

use alloc::vec::Vec;
use core::ops::{Index, IndexMut};

use crate::drops::Refusal;
use crate::limit::Backlog;
use crate::mechanisms::longest::Longest;
use crate::packet::{FlowId, Packet};
use crate::pool::{Nodes, Pool, Queue, Storage};

/// Flows by number, and their packets. `S` is what the discipline keeps for a flow.
#[derive(Debug, Clone)]
pub(crate) struct FlowTable<T, S, P = Nodes<T>> {
    pool: Pool<T, P>,
    flows: Vec<FlowRecord<S>>,
    longest: Longest,
}

/// One flow.
#[derive(Debug, Clone, Default)]
pub(crate) struct FlowRecord<S> {
    pub(crate) queue: Queue,
    /// Zero: unknown flow.
    pub(crate) weight: u32,
    /// Removed: the flow becomes unknown with its last packet.
    leaves: bool,
    pub(crate) state: S,
}

impl<T, S, P: Storage<T>> Default for FlowTable<T, S, P> {
    fn default() -> Self {
        Self {
            pool: Pool::empty(),
            flows: Vec::new(),
            longest: Longest::default(),
        }
    }
}

impl<T, S, P> FlowTable<T, S, P> {
    /// Memory for a flow.
    pub(crate) const BYTES_PER_FLOW: usize = size_of::<FlowRecord<S>>() + Longest::BYTES_PER_QUEUE;

    #[inline]
    pub(crate) fn get(&self, number: usize) -> Option<&FlowRecord<S>> {
        self.flows.get(number)
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, number: usize) -> Option<&mut FlowRecord<S>> {
        self.flows.get_mut(number)
    }

    pub(crate) fn iter(&self) -> core::slice::Iter<'_, FlowRecord<S>> {
        self.flows.iter()
    }
}

impl<T, S, P> Index<usize> for FlowTable<T, S, P> {
    type Output = FlowRecord<S>;

    #[inline]
    fn index(&self, number: usize) -> &FlowRecord<S> {
        &self.flows[number]
    }
}

impl<T, S, P> IndexMut<usize> for FlowTable<T, S, P> {
    #[inline]
    fn index_mut(&mut self, number: usize) -> &mut FlowRecord<S> {
        &mut self.flows[number]
    }
}

/// Flows.
impl<T, S: Default, P: Storage<T>> FlowTable<T, S, P> {
    /// The flow's record, which is made if missing.
    #[inline]
    pub(crate) fn record(&mut self, number: usize) -> &mut FlowRecord<S> {
        if number >= self.flows.len() {
            self.grow(number);
        }
        &mut self.flows[number]
    }

    #[cold]
    fn grow(&mut self, number: usize) {
        self.flows.resize_with(number + 1, || FlowRecord {
            queue: Queue::EMPTY,
            weight: 0,
            leaves: false,
            state: S::default(),
        });
    }

    /// A flow gets settings, so a removal asked for before is void.
    pub(crate) fn stay(&mut self, number: usize) {
        self.record(number).leaves = false;
    }

    /// Removes a flow, now or with its last packet. True: now, and the discipline sets the weight
    /// to zero.
    pub(crate) fn remove(&mut self, flow: FlowId) -> bool {
        let Some(record) = self
            .flows
            .get_mut(flow.index())
            .filter(|record| record.weight > 0)
        else {
            return false;
        };
        record.leaves = !record.queue.is_empty();
        !record.leaves
    }

    /// Whether a flow that has lost its last packet has been removed. The discipline then sets the
    /// weight to zero.
    #[inline]
    pub(crate) fn has_left(&mut self, number: usize) -> bool {
        core::mem::take(&mut self.flows[number].leaves)
    }
}

/// Packets.
impl<T, S: Default, P: Storage<T>> FlowTable<T, S, P> {
    /// Makes room for a packet, before it is pushed.
    ///
    /// # Errors
    /// It has more than `most` bytes, or its flow or handle does not fit.
    #[inline]
    pub(crate) fn make_room_for(&mut self, packet: &Packet<T>, most: u32) -> Result<(), Refusal> {
        Refusal::check_tabled(packet.flow, packet.len, most)?;
        self.pool.make_room_for(packet)
    }

    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    /// Appends a packet to the flow's queue, which was empty if true. The flow must have a record.
    #[inline(always)]
    pub(crate) fn push(&mut self, packet: Packet<T>) -> bool {
        let number = packet.flow.index();
        let queue = &mut self.flows[number].queue;
        self.pool.push(queue, packet);
        self.longest.changed(number, queue.size());
        queue.packets() == 1
    }

    /// Removes the head of the flow's queue. A packet from `refill` joins the queue before anything
    /// else learns of the departure. Returns the flow as well.
    #[inline(always)]
    pub(crate) fn pop(
        &mut self,
        number: usize,
        mut refill: impl FnMut(FlowId) -> Option<Packet<T>>,
    ) -> (Option<P::Leaving>, &mut FlowRecord<S>) {
        let flow = &mut self.flows[number];
        let queue = &mut flow.queue;
        let packet = self.pool.pop(queue);
        if let Some(next) = refill(FlowId(number as u32)) {
            debug_assert_eq!(
                next.flow.index(),
                number,
                "a node takes its children's packets"
            );
            self.pool.refill(queue, next);
        }
        self.longest.changed(number, queue.size());
        (packet, flow)
    }

    /// Sets the length of the head of a child's queue, in a tree's class.
    pub(crate) fn set_len(&mut self, number: usize, len: u32) {
        if let Some(flow) = self.flows.get_mut(number) {
            self.pool.set_head_len(&mut flow.queue, len);
            self.longest.changed(number, flow.queue.size());
        }
    }

    /// Removes the tail of the flow's queue.
    pub(crate) fn pop_tail(&mut self, number: usize) -> Option<P::Leaving> {
        let queue = &mut self.flows.get_mut(number)?.queue;
        let packet = self.pool.pop_tail(queue)?;
        self.longest.changed(number, queue.size());
        Some(packet)
    }

    /// The flow with the most queued bytes, if any has packets.
    pub(crate) fn longest(&mut self) -> Option<usize> {
        self.longest
            .find(self.flows.iter().map(|flow| flow.queue.size()))
    }

    /// Panics if a queue is broken, or a flow with packets is unknown.
    pub(crate) fn check(&self) {
        for flow in &self.flows {
            self.pool.check_queue(&flow.queue);
            assert!(
                flow.weight > 0 || (flow.queue.is_empty() && !flow.leaves),
                "flows with packets are known"
            );
            assert!(
                !flow.leaves || !flow.queue.is_empty(),
                "a removed flow leaves with its last packet"
            );
        }
        let bytes: u64 = self.flows.iter().map(|flow| flow.queue.bytes()).sum();
        assert_eq!(bytes, self.pool.backlog().bytes, "the queues' bytes add up");
    }
}

impl<T, S> FlowTable<T, S> {
    /// The head packet of a flow's queue.
    #[inline]
    pub(crate) fn head(&self, number: usize) -> Option<&Packet<T>> {
        self.pool.head(&self.flows.get(number)?.queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(flow: u32, len: u32) -> Packet<()> {
        Packet::new(FlowId(flow), len, ())
    }

    fn table(packets: &[(u32, u32)]) -> FlowTable<(), u64> {
        let mut table = FlowTable::default();
        for &(flow, len) in packets {
            let record = table.record(flow as usize);
            record.weight = 1;
            let was_idle = record.queue.is_empty();
            assert_eq!(table.push(packet(flow, len)), was_idle);
        }
        table.check();
        table
    }

    #[test]
    fn a_removed_flow_leaves_with_its_last_packet() {
        let mut table = table(&[(2, 100), (2, 200)]);
        assert!(
            !table.remove(FlowId(2)) && !table.remove(FlowId(0)) && !table.remove(FlowId(9)),
            "backlogged, unknown, beyond the table"
        );
        assert!(table.pop(2, |_| None).0.is_some());
        assert_eq!(table.pop_tail(2).map(|packet| packet.len), Some(200));
        assert!(table.has_left(2) && !table.has_left(2), "once");
        table.record(2).weight = 7;
        assert!(table.remove(FlowId(2)), "an idle flow leaves at once");
    }

    #[test]
    fn a_flow_with_new_settings_stays() {
        let mut table = table(&[(0, 100)]);
        table.remove(FlowId(0));
        table.stay(0);
        table.pop(0, |_| None);
        assert!(!table.has_left(0));
    }

    #[test]
    fn a_refilled_queue_stays_the_longest() {
        let mut table = table(&[(0, 100), (1, 300)]);
        assert_eq!(table.longest(), Some(1));
        let (sent, _) = table.pop(1, |flow| Some(packet(flow.0, 400)));
        assert_eq!(
            (
                sent.map(|packet| packet.len),
                table.longest(),
                table.backlog()
            ),
            (
                Some(300),
                Some(1),
                Backlog {
                    packets: 2,
                    bytes: 500
                }
            )
        );
        table.pop(1, |_| None);
        assert_eq!(table.longest(), Some(0));
        table.check();
    }

    #[test]
    fn refused_packets_have_reasons() {
        let mut table = table(&[]);
        for (packet, has_room) in [
            (packet(0, 1500), Ok(())),
            (packet(0, 1501), Err(Refusal::TooLong { most: 1500 })),
            (packet(u32::MAX, 1), Err(Refusal::FlowNumber)),
        ] {
            assert_eq!(table.make_room_for(&packet, 1500), has_room);
        }
    }
}
