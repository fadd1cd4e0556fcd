//! The subject `none`: what generator and controller cost, which is a part of every other row.

use roundelay::{Backlog, Control, FlowId, Footprint, Instant, Packet, Refused, Scheduler};

/// Stores packets in a ring and takes them out again in order of arrival, as in the paper.
#[derive(Debug)]
pub(crate) struct Nothing {
    /// The length is a power of two.
    ring: Vec<u32>,
    first: usize,
    waiting: usize,
}

impl Nothing {
    /// Room for `most` packets.
    pub(crate) fn new(most: u64) -> Self {
        Self {
            ring: vec![0; (most as usize).next_power_of_two()],
            first: 0,
            waiting: 0,
        }
    }

    #[inline]
    fn slot(&self, at: usize) -> usize {
        (self.first + at) & (self.ring.len() - 1)
    }

    #[inline]
    fn take(&mut self) -> Packet<u32> {
        let packet = self.ring[self.slot(0)];
        self.first += 1;
        self.waiting -= 1;
        Packet::new(FlowId(0), 0, packet)
    }
}

impl Scheduler<u32> for Nothing {
    #[inline]
    fn enqueue(&mut self, _now: Instant, packet: Packet<u32>) -> Result<(), Refused<u32>> {
        let slot = self.slot(self.waiting);
        self.ring[slot] = packet.payload;
        self.waiting += 1;
        Ok(())
    }

    #[inline]
    fn dequeue(&mut self, _now: Instant) -> Option<Packet<u32>> {
        (self.waiting > 0).then(|| self.take())
    }

    #[inline]
    fn enqueue_burst(&mut self, now: Instant, packets: &mut Vec<Packet<u32>>) {
        for packet in packets.drain(..) {
            let taken = self.enqueue(now, packet);
            debug_assert!(taken.is_ok(), "there is room");
        }
    }

    #[inline]
    fn dequeue_burst(&mut self, _now: Instant, most: usize, into: &mut Vec<Packet<u32>>) {
        into.extend((0..most.min(self.waiting)).map(|_| self.take()));
    }

    fn evict(&mut self) -> Option<Packet<u32>> {
        None
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.waiting as u64,
            bytes: 0,
        }
    }
}

impl Control for Nothing {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_leave_as_they_came_round_the_ring() {
        let mut nothing = Nothing::new(3);
        for round in 0..10 {
            let packets = [0, 1, 2].map(|index| Packet::new(FlowId(index), 100, round * 3 + index));
            let mut burst = packets.to_vec();
            nothing.enqueue_burst(Instant::ZERO, &mut burst);
            nothing.dequeue_burst(Instant::ZERO, 2, &mut burst);
            burst.extend(nothing.dequeue(Instant::ZERO));
            assert_eq!(
                burst
                    .iter()
                    .map(|packet| packet.payload)
                    .collect::<Vec<_>>(),
                packets.map(|packet| packet.payload)
            );
            assert_eq!(nothing.dequeue(Instant::ZERO), None);
        }
    }
}
