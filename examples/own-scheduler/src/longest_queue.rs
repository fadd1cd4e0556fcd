//! Longest queue first: the flow with the most waiting bytes sends next.

use std::collections::VecDeque;

use roundelay::{
    Backlog, Control, Departure, Footprint, Handle, Instant, Packet, Refusal, Refused, Scheduler,
};

#[derive(Default)]
pub struct LongestQueue {
    /// By flow number: handles and lengths of the waiting packets, and the sum of the lengths.
    queues: Vec<(VecDeque<(Handle, u32)>, u64)>,
    backlog: Backlog,
}

impl Scheduler<Handle, Departure> for LongestQueue {
    fn enqueue(&mut self, _now: Instant, packet: Packet<Handle>) -> Result<(), Refused<Handle>> {
        if packet.flow.0 >= 1 << 20 {
            return Err(packet.refused(Refusal::FlowNumber));
        }
        self.queues.resize_with(
            self.queues.len().max(packet.flow.index() + 1),
            Default::default,
        );
        let (queue, bytes) = &mut self.queues[packet.flow.index()];
        queue.push_back((packet.payload, packet.len));
        *bytes += u64::from(packet.len);
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Departure> {
        let waiting = self
            .queues
            .iter_mut()
            .filter(|(queue, _)| !queue.is_empty());
        let (queue, bytes) = waiting.max_by_key(|(_, bytes)| *bytes)?;
        let (handle, len) = queue.pop_front()?;
        *bytes -= u64::from(len);
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(len);
        Some(Departure {
            handle,
            mark: false,
        })
    }

    /// A full buffer gives up the packet that would be sent next.
    fn evict(&mut self) -> Option<Departure> {
        self.dequeue(Instant::ZERO)
    }

    fn backlog(&self) -> Backlog {
        self.backlog
    }
}

impl Control for LongestQueue {
    fn footprint(&self) -> Footprint {
        Footprint::of_a_flow(size_of::<(VecDeque<(Handle, u32)>, u64)>())
    }
}
