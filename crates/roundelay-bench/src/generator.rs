//! Packet generators, which choose the next packet's flow and number.

use std::hint::black_box;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::{Departure, FlowId, Handle, Packet};

use crate::levels::Levels;
use crate::load::{Lengths, Load, Memory};

/// Lengths that are drawn in advance and used in rotation, because a random draw costs more than
/// most schedulers.
const LENGTHS: usize = 1 << 12;
const _: () = assert!(LENGTHS.is_power_of_two());

/// The generator's number for a packet, as a payload, by value or as a handle.
pub(crate) trait Number {
    fn of(number: u32) -> Self;

    fn number(&self) -> u32;
}

impl Number for u32 {
    #[inline(always)]
    fn of(number: u32) -> Self {
        number
    }

    #[inline(always)]
    fn number(&self) -> u32 {
        *self
    }
}

/// A number under the neutral generator. Each loop has a type of its own, so a scheduler is
/// compiled for that loop alone and calls are inlined as in a program with one queue.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Turn(u32);

impl Number for Turn {
    #[inline(always)]
    fn of(number: u32) -> Self {
        Self(number)
    }

    #[inline(always)]
    fn number(&self) -> u32 {
        self.0
    }
}

impl Number for Handle {
    #[inline(always)]
    fn of(number: u32) -> Self {
        Self(number)
    }

    #[inline(always)]
    fn number(&self) -> u32 {
        self.0
    }
}

/// The result of a dequeue, with the generator's number.
pub(crate) trait Numbered {
    fn number(&self) -> u32;
}

impl<N: Number> Numbered for Packet<N> {
    #[inline(always)]
    fn number(&self) -> u32 {
        self.payload.number()
    }
}

impl Numbered for Departure {
    #[inline(always)]
    fn number(&self) -> u32 {
        self.handle.0
    }
}

/// A generator, which creates packets and takes them back.
pub(crate) trait Source {
    fn new(load: &Load) -> Self;

    /// Call this after departures, before you make new packets.
    fn settle(&mut self, nothing_waits: bool);

    /// The next packet.
    fn make<N: Number>(&mut self) -> Packet<N>;

    /// A packet from a random flow.
    fn make_of_any<N: Number>(&mut self) -> Packet<N>;

    /// Makes `packets` packets at once.
    fn make_burst<N: Number>(&mut self, packets: usize, into: &mut Vec<Packet<N>>);

    /// Takes back a sent packet. Call [`settle`](Self::settle) before new packets are made.
    fn discard(&mut self, number: u32);

    /// Takes back a refused or dropped packet.
    fn discard_unsent(&mut self, number: u32);

    /// Takes back sent packets at once.
    fn discard_burst(&mut self, packets: &mut Vec<impl Numbered>);
}

/// Packet lengths, drawn in advance and used in rotation.
#[derive(Debug)]
struct LengthsInTurn {
    lengths: Vec<u32>,
    made: usize,
}

impl LengthsInTurn {
    fn new(lengths: Lengths, random: &mut Pcg64Mcg) -> Self {
        let lengths = match lengths {
            Lengths::Fixed(len) => vec![len],
            lengths => (0..LENGTHS).map(|_| lengths.draw(random)).collect(),
        };
        Self { lengths, made: 0 }
    }

    #[inline(always)]
    fn next(&mut self) -> u32 {
        let len = self.lengths[self.made & (self.lengths.len() - 1)];
        self.made += 1;
        len
    }
}

/// A packet in memory: one cache line, written when the packet is made and read after it departs.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Buffer {
    flow: u32,
    len: u32,
}

/// The QFQ paper's generator. It makes packets for the flow with the shortest backlog, in buffers.
#[derive(Debug)]
pub(crate) struct Generator {
    buffers: Vec<Buffer>,
    /// Free buffers, used last in, first out.
    free: Vec<u32>,
    lengths: LengthsInTurn,
    levels: Levels,
    /// Most packets that a flow may have when flows are drawn at random.
    most: u8,
    random: Pcg64Mcg,
}

impl Generator {
    /// Bytes per packet that may wait. The list of flows to send next is included.
    pub(crate) const BYTES_PER_PACKET: u64 =
        (size_of::<Buffer>() + size_of::<u32>()) as u64 + Levels::BYTES_PER_PACKET;

    #[inline(always)]
    fn make_of<N: Number>(&mut self, flow: u32) -> Packet<N> {
        let len = self.lengths.next();
        let number = self
            .free
            .pop()
            .expect("a buffer for each packet that may wait");
        self.buffers[number as usize] = Buffer { flow, len };
        Packet::new(FlowId(flow), len, N::of(number))
    }

    /// Reads buffers in advance. The reads are independent, so the processor fetches them in
    /// parallel.
    #[inline]
    fn touch(&self, numbers: impl Iterator<Item = u32>) {
        black_box(numbers.fold(0, |sum: u32, number| {
            sum.wrapping_add(self.buffers[number as usize].len)
        }));
    }
}

impl Source for Generator {
    fn new(load: &Load) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let packets = load.most_packets();
        let mut free: Vec<u32> = (0..packets as u32).rev().collect();
        if load.memory == Memory::Scattered {
            free.shuffle(&mut random);
        }
        let lengths = LengthsInTurn::new(load.lengths, &mut random);
        let buffers = vec![Buffer { flow: 0, len: 0 }; packets as usize];
        // A flow drawn at random may have twice the mean.
        let most = (2 * load.pattern.backlog_per_flow().1).min(Levels::MOST.into()) as u8;
        Self {
            buffers,
            free,
            lengths,
            levels: Levels::new(load.flows.flows(), most),
            most,
            random,
        }
    }

    fn settle(&mut self, nothing_waits: bool) {
        self.levels.settle(nothing_waits);
    }

    /// A packet in the next free buffer, for the flow with the shortest backlog.
    #[inline(always)]
    fn make<N: Number>(&mut self) -> Packet<N> {
        let flow = self.levels.raise_shortest();
        self.make_of(flow)
    }

    /// A packet of a random flow, or of the flow with the shortest backlog if the random flow has
    /// its maximum already.
    fn make_of_any<N: Number>(&mut self) -> Packet<N> {
        let drawn = self.random.random_range(0..self.levels.flows());
        let flow = if self.levels.backlog(drawn) < self.most {
            self.levels.raise(drawn)
        } else {
            self.levels.raise_shortest()
        };
        self.make_of(flow)
    }

    #[inline]
    fn make_burst<N: Number>(&mut self, packets: usize, into: &mut Vec<Packet<N>>) {
        self.touch(self.free.iter().rev().take(packets).copied());
        into.extend((0..packets).map(|_| self.make()));
    }

    #[inline(always)]
    fn discard(&mut self, number: u32) {
        let Buffer { flow, len } = self.buffers[number as usize];
        black_box(len);
        self.levels.sink(flow);
        self.free.push(number);
    }

    #[cold]
    #[inline(never)]
    fn discard_unsent(&mut self, number: u32) {
        self.levels.fall_back(self.buffers[number as usize].flow);
        self.free.push(number);
    }

    #[inline]
    fn discard_burst(&mut self, packets: &mut Vec<impl Numbered>) {
        self.touch(packets.iter().map(Numbered::number));
        packets
            .drain(..)
            .for_each(|packet| self.discard(packet.number()));
    }
}

/// The neutral generator takes flows in turn, and packet numbers from a ring. If scattered, the
/// turn is random and the numbers are shuffled.
#[derive(Debug)]
pub(crate) struct Turns {
    flows: Vec<u32>,
    next: usize,
    /// A ring of free packet numbers. The length is a power of two.
    free: Vec<u32>,
    /// Numbers taken out of the ring and put back so far. Both counts only rise, and their low bits
    /// are the slots of the ring.
    taken_count: usize,
    returned_count: usize,
    lengths: LengthsInTurn,
    random: Pcg64Mcg,
}

impl Turns {
    #[inline(always)]
    fn make_of<N: Number>(&mut self, flow: u32) -> Packet<N> {
        let number = self.free[self.taken_count & (self.free.len() - 1)];
        self.taken_count += 1;
        Packet::new(FlowId(flow), self.lengths.next(), N::of(number))
    }
}

impl Source for Turns {
    fn new(load: &Load) -> Self {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let packets = load.most_packets() as usize;
        let mut flows: Vec<u32> = (0..load.flows.flows()).collect();
        let mut free: Vec<u32> = (0..packets as u32).collect();
        if load.memory == Memory::Scattered {
            flows.shuffle(&mut random);
            free.shuffle(&mut random);
        }
        // A mask finds the slots of a ring whose length is a power of two. Those behind the last
        // number are empty.
        free.resize(packets.next_power_of_two(), 0);
        let lengths = LengthsInTurn::new(load.lengths, &mut random);
        Self {
            flows,
            next: 0,
            free,
            taken_count: 0,
            returned_count: packets,
            lengths,
            random,
        }
    }

    fn settle(&mut self, _nothing_waits: bool) {}

    #[inline(always)]
    fn make<N: Number>(&mut self) -> Packet<N> {
        let flow = self.flows[self.next];
        self.next += 1;
        if self.next == self.flows.len() {
            self.next = 0;
        }
        self.make_of(flow)
    }

    fn make_of_any<N: Number>(&mut self) -> Packet<N> {
        let flow = self.random.random_range(0..self.flows.len() as u32);
        self.make_of(flow)
    }

    #[inline]
    fn make_burst<N: Number>(&mut self, packets: usize, into: &mut Vec<Packet<N>>) {
        into.extend((0..packets).map(|_| self.make()));
    }

    #[inline(always)]
    fn discard(&mut self, number: u32) {
        let mask = self.free.len() - 1;
        self.free[self.returned_count & mask] = number;
        self.returned_count += 1;
    }

    #[cold]
    #[inline(never)]
    fn discard_unsent(&mut self, number: u32) {
        self.discard(number);
    }

    #[inline]
    fn discard_burst(&mut self, packets: &mut Vec<impl Numbered>) {
        packets
            .drain(..)
            .for_each(|packet| self.discard(packet.number()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Order, Pattern};

    fn load(pattern: Pattern, memory: Memory) -> Load {
        Load {
            flows: "8".parse().unwrap(),
            pattern,
            order: Order::Shortest,
            lengths: Lengths::Fixed(1000),
            memory,
            burst: 0,
        }
    }

    #[test]
    fn packets_lie_where_they_say() {
        let mut generator = Generator::new(&load(Pattern::Small, Memory::Scattered));
        let mut made = Vec::<Packet<u32>>::new();
        generator.make_burst(20, &mut made);
        for packet in &made {
            assert_eq!(
                generator.buffers[packet.payload as usize].flow,
                packet.flow.0
            );
        }
        let last = made.last().unwrap().payload;
        generator.discard_burst(&mut made);
        generator.settle(true);
        assert_eq!((made.len(), generator.free.len()), (0, 41));
        assert_eq!(generator.make::<u32>().payload, last, "last out, first in");
    }

    #[test]
    fn bursts_and_single_calls_make_the_same_packets() {
        let [mut one_by_one, mut at_once] =
            [0, 1].map(|_| Generator::new(&load(Pattern::Full, Memory::Scattered)));
        let mut burst = Vec::<Packet<u32>>::new();
        at_once.make_burst(100, &mut burst);
        assert_eq!(
            burst,
            (0..100).map(|_| one_by_one.make()).collect::<Vec<_>>()
        );
    }

    #[test]
    fn drawn_flows_hold_no_more_than_they_may() {
        let mut generator = Generator::new(&load(Pattern::Large, Memory::Scattered));
        for _ in 0..8 * 30 {
            generator.make_of_any::<u32>();
        }
        let backlogs: Vec<_> = (0..8).map(|flow| generator.levels.backlog(flow)).collect();
        assert!(
            backlogs.iter().all(|backlog| *backlog <= 60)
                && backlogs.iter().any(|backlog| *backlog != 30),
            "{backlogs:?}"
        );
    }

    #[test]
    fn scattered_packets_are_neighbours_of_none() {
        let numbers = |memory| {
            let mut generator = Generator::new(&load(Pattern::Large, memory));
            (0..200)
                .map(|_| i64::from(generator.make::<u32>().payload))
                .collect::<Vec<_>>()
        };
        let neighbours = |numbers: &[i64]| {
            numbers
                .windows(2)
                .filter(|pair| (pair[0] - pair[1]).abs() == 1)
                .count()
        };
        assert_eq!(neighbours(&numbers(Memory::Packed)), 199);
        assert!(neighbours(&numbers(Memory::Scattered)) < 10);
    }

    #[test]
    fn turns_take_flows_and_numbers_round_and_round() {
        for memory in Memory::ALL {
            let mut turns = Turns::new(&Load {
                order: Order::Turns,
                ..load(Pattern::Small, memory)
            });
            let mut flows = Vec::new();
            let mut numbers = Vec::new();
            for _ in 0..2 * 41 {
                let packet = turns.make::<Handle>();
                flows.push(packet.flow.0);
                numbers.push(packet.payload.0);
                turns.discard(packet.number());
            }
            assert_eq!(
                (&flows[..8], &numbers[..41]),
                (&flows[8..16], &numbers[41..])
            );
            assert_eq!(
                flows[..8].is_sorted() && numbers[..41].is_sorted(),
                memory == Memory::Packed
            );
            flows.truncate(8);
            flows.sort_unstable();
            numbers.truncate(41);
            numbers.sort_unstable();
            assert_eq!((flows, numbers), ((0..8).collect(), (0..41).collect()));
        }
    }
}
