//! LSTF on the standard library's binary heap, the baseline for a queue sorted by rank.
//!
//! The heap holds each packet's rank (when its last bit is due, then the order of arrival) and
//! index. Packets stay in a table and do not move. They depart in the same order as in `lstf`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use roundelay::{Backlog, Control, Footprint, Instant, Packet, Refused, Scheduler};

/// Packets by rank, the smallest first.
#[derive(Debug, Default)]
pub(crate) struct Sorted {
    /// Rank, arrival number, index into `packets`.
    heap: BinaryHeap<Reverse<(i128, u64, u32)>>,
    packets: Vec<Packet<u32>>,
    free: Vec<u32>,
    arrivals: u64,
    bytes: u64,
}

impl Scheduler<u32> for Sorted {
    fn enqueue(&mut self, now: Instant, packet: Packet<u32>) -> Result<(), Refused<u32>> {
        let packet = Packet {
            arrival: now,
            ..packet
        };
        let due = i128::from(now.as_picos()) + i128::from(packet.slack.as_picos());
        let slot = match self.free.pop() {
            Some(slot) => {
                self.packets[slot as usize] = packet;
                slot
            }
            None => {
                self.packets.push(packet);
                (self.packets.len() - 1) as u32
            }
        };
        self.arrivals += 1;
        self.bytes += u64::from(packet.len);
        self.heap.push(Reverse((due, self.arrivals, slot)));
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<u32>> {
        let Reverse((_, _, slot)) = self.heap.pop()?;
        self.free.push(slot);
        let packet = self.packets[slot as usize];
        self.bytes -= u64::from(packet.len);
        Some(packet)
    }

    /// Not needed, because the hold model keeps the backlog constant.
    fn evict(&mut self) -> Option<Packet<u32>> {
        self.dequeue(Instant::ZERO)
    }

    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.heap.len() as u64,
            bytes: self.bytes,
        }
    }
}

impl Control for Sorted {
    fn footprint(&self) -> Footprint {
        Footprint::fixed(size_of::<Self>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roundelay::Seed;
    use roundelay::schedulers::{Discipline, lstf};
    use roundelay::{FlowId, Slack};

    #[test]
    fn it_decides_as_lstf_does() {
        let mut heap = Sorted::default();
        let mut lstf = lstf::Config::default()
            .build::<u32>(Seed::new(0))
            .expect("the default is legal");
        for number in 0..3_000u32 {
            let now = Instant::from_nanos(u64::from(number));
            let slack = Slack::from_picos(i64::from(number * 7919 % 97) * 1_000);
            let packet = Packet {
                slack,
                ..Packet::new(FlowId(0), 1000, number)
            };
            assert!(heap.enqueue(now, packet).is_ok() && lstf.enqueue(now, packet).is_ok());
            if number % 3 != 0 {
                assert_eq!(heap.dequeue(now), lstf.dequeue(now));
            }
            assert_eq!(heap.backlog(), lstf.backlog());
        }
        while !lstf.backlog().is_empty() {
            assert_eq!(heap.dequeue(Instant::MAX), lstf.dequeue(Instant::MAX));
        }
        assert_eq!(heap.dequeue(Instant::MAX), None);
    }
}
