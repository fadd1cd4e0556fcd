//! Packet generator: picks the flow of the next packet and its buffer in memory.

use std::hint::black_box;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::{FlowId, Packet};

use crate::levels::Levels;
use crate::load::{Lengths, Load, Memory};

/// Number of precomputed lengths, used in rotation: a random draw costs more than most schedulers.
const LENGTHS: usize = 1 << 12;
const _: () = assert!(LENGTHS.is_power_of_two());

/// A packet in memory: one cache line, written at creation and read after departure.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Buffer {
    flow: u32,
    len: u32,
}

/// Creates packets and takes them back.
#[derive(Debug)]
pub(crate) struct Generator {
    buffers: Vec<Buffer>,
    /// Free buffers, used last in, first out.
    free: Vec<u32>,
    lengths: Vec<u32>,
    made: usize,
    levels: Levels,
    /// Maximum packets of a flow, when flows are drawn at random.
    most: u8,
    random: Pcg64Mcg,
}

impl Generator {
    /// Bytes per packet that may wait, including the list of flows to send next.
    pub(crate) const BYTES_PER_PACKET: u64 = (size_of::<Buffer>() + size_of::<u32>()) as u64 + Levels::BYTES_PER_PACKET;

    pub(crate) fn new(load: &Load) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let packets = load.most_packets();
        let mut free: Vec<u32> = (0..packets as u32).rev().collect();
        if load.memory == Memory::Scattered {
            free.shuffle(&mut random);
        }
        let lengths = match load.lengths {
            Lengths::Fixed(len) => vec![len],
            lengths => (0..LENGTHS).map(|_| lengths.draw(&mut random)).collect(),
        };
        let buffers = vec![Buffer { flow: 0, len: 0 }; packets as usize];
        // A randomly drawn flow may have twice the mean.
        let most = (2 * load.pattern.backlog_per_flow().1).min(Levels::MOST.into()) as u8;
        Self { buffers, free, lengths, made: 0, levels: Levels::new(load.flows.flows(), most), most, random }
    }

    /// Must be called after departures, before new packets are made.
    pub(crate) fn settle(&mut self, nothing_waits: bool) {
        self.levels.settle(nothing_waits);
    }

    /// A packet of the flow with the shortest backlog, in the next free buffer.
    #[inline(always)]
    pub(crate) fn make(&mut self) -> Packet<u32> {
        let flow = self.levels.rise();
        self.make_of(flow)
    }

    /// A packet of a random flow; of the flow with the shortest backlog, if the random flow has its
    /// maximum already.
    pub(crate) fn make_of_any(&mut self) -> Packet<u32> {
        let drawn = self.random.random_range(0..self.levels.flows());
        let flow = if self.levels.backlog(drawn) < self.most { self.levels.raise(drawn) } else { self.levels.rise() };
        self.make_of(flow)
    }

    #[inline(always)]
    fn make_of(&mut self, flow: u32) -> Packet<u32> {
        let len = self.lengths[self.made & (self.lengths.len() - 1)];
        self.made += 1;
        let place = self.free.pop().expect("a buffer for each packet that may wait");
        self.buffers[place as usize] = Buffer { flow, len };
        Packet::new(FlowId(flow), len, place)
    }

    /// Makes `packets` packets at once.
    #[inline]
    pub(crate) fn make_burst(&mut self, packets: usize, into: &mut Vec<Packet<u32>>) {
        self.touch(self.free.iter().rev().take(packets));
        into.extend((0..packets).map(|_| self.make()));
    }

    /// Takes back a sent packet. Call [`settle`](Self::settle) before new packets are made.
    #[inline(always)]
    pub(crate) fn discard(&mut self, place: u32) {
        let Buffer { flow, len } = self.buffers[place as usize];
        black_box(len);
        self.levels.sink(flow);
        self.free.push(place);
    }

    /// Takes back a refused or dropped packet.
    #[cold]
    #[inline(never)]
    pub(crate) fn discard_unsent(&mut self, place: u32) {
        self.levels.fall_back(self.buffers[place as usize].flow);
        self.free.push(place);
    }

    /// Takes back all `packets` at once.
    #[inline]
    pub(crate) fn discard_burst(&mut self, packets: &mut Vec<Packet<u32>>) {
        self.touch(packets.iter().map(|packet| &packet.payload));
        packets.drain(..).for_each(|packet| self.discard(packet.payload));
    }

    /// Reads the next buffers in advance. The reads are independent, so the processor fetches them
    /// in parallel.
    #[inline]
    fn touch<'a>(&self, places: impl Iterator<Item = &'a u32>) {
        black_box(places.fold(0, |sum: u32, place| sum.wrapping_add(self.buffers[*place as usize].len)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Pattern;

    fn load(pattern: Pattern, memory: Memory) -> Load {
        Load { flows: "8".parse().unwrap(), pattern, lengths: Lengths::Fixed(1000), memory, burst: 0 }
    }

    #[test]
    fn packets_lie_where_they_say() {
        let mut generator = Generator::new(&load(Pattern::Small, Memory::Scattered));
        let mut made = Vec::new();
        generator.make_burst(20, &mut made);
        for packet in &made {
            assert_eq!(generator.buffers[packet.payload as usize].flow, packet.flow.0);
        }
        let last = made.last().unwrap().payload;
        generator.discard_burst(&mut made);
        generator.settle(true);
        assert_eq!((made.len(), generator.free.len()), (0, 41));
        assert_eq!(generator.make().payload, last, "last out, first in");
    }

    #[test]
    fn bursts_and_single_calls_make_the_same_packets() {
        let [mut one_by_one, mut at_once] = [0, 1].map(|_| Generator::new(&load(Pattern::Full, Memory::Scattered)));
        let mut burst = Vec::new();
        at_once.make_burst(100, &mut burst);
        assert_eq!(burst, (0..100).map(|_| one_by_one.make()).collect::<Vec<_>>());
    }

    #[test]
    fn drawn_flows_hold_no_more_than_they_may() {
        let mut generator = Generator::new(&load(Pattern::Large, Memory::Scattered));
        for _ in 0..8 * 30 {
            generator.make_of_any();
        }
        let backlogs: Vec<_> = (0..8).map(|flow| generator.levels.backlog(flow)).collect();
        assert!(backlogs.iter().all(|backlog| *backlog <= 60) && backlogs.iter().any(|backlog| *backlog != 30), "{backlogs:?}");
    }

    #[test]
    fn scattered_packets_are_neighbours_of_none() {
        let places = |memory| {
            let mut generator = Generator::new(&load(Pattern::Large, memory));
            (0..200).map(|_| i64::from(generator.make().payload)).collect::<Vec<_>>()
        };
        let neighbours = |places: &[i64]| places.windows(2).filter(|pair| (pair[0] - pair[1]).abs() == 1).count();
        assert_eq!(neighbours(&places(Memory::Packed)), 199);
        assert!(neighbours(&places(Memory::Scattered)) < 10);
    }
}
