//! The packets: who sends the next one, and where it lies in memory.

use std::hint::black_box;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use roundelay::FlowId;

use crate::load::{Lengths, Load, Memory};

const NONE: u32 = u32::MAX;
/// Drawn lengths, used round and round: drawing costs more than most schedulers.
const LENGTHS: usize = 1 << 12;
const _: () = assert!(LENGTHS.is_power_of_two());

/// A packet in memory: one cache line, written when it is made and read when it has left.
#[derive(Debug, Clone)]
#[repr(align(64))]
struct Buffer {
    flow: u32,
    len: u32,
}

/// Makes packets and takes them back.
#[derive(Debug)]
pub(crate) struct Generator {
    buffers: Vec<Buffer>,
    /// Buffers not in use; the last one is taken next.
    free: Vec<u32>,
    lengths: Vec<u32>,
    made: usize,
    levels: Levels,
}

impl Generator {
    pub(crate) fn new(load: &Load) -> Self {
        let flows = load.flows.flows();
        let (_, most) = load.pattern.backlog_per_flow();
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let packets = u64::from(flows) * most + 1;
        let mut free: Vec<u32> = (0..packets as u32).rev().collect();
        if load.memory == Memory::Scattered {
            free.shuffle(&mut random);
        }
        let lengths = match load.lengths {
            Lengths::Fixed(len) => vec![len],
            lengths => (0..LENGTHS).map(|_| lengths.draw(&mut random)).collect(),
        };
        let buffers = vec![Buffer { flow: 0, len: 0 }; packets as usize];
        Self { buffers, free, lengths, made: 0, levels: Levels::new(flows, most as usize) }
    }

    /// A packet of the flow with the shortest backlog: its flow, its length and its buffer.
    #[inline]
    pub(crate) fn make(&mut self) -> (FlowId, u32, u32) {
        let flow = self.levels.rise();
        let len = self.lengths[self.made & (self.lengths.len() - 1)];
        self.made += 1;
        let place = self.free.pop().expect("a buffer for each packet that may wait");
        self.buffers[place as usize] = Buffer { flow, len };
        (FlowId(flow), len, place)
    }

    /// Takes a packet back.
    #[inline]
    pub(crate) fn discard(&mut self, place: u32) {
        let Buffer { flow, len } = self.buffers[place as usize];
        black_box(len);
        self.levels.sink(flow);
        self.free.push(place);
    }
}

/// Flows by the number of their packets that wait: the next packet goes to the flow that has been on the lowest level for longest.
#[derive(Debug)]
struct Levels {
    flows: Vec<Place>,
    /// First and last flow of each level.
    ends: Vec<(u32, u32)>,
    lowest: usize,
}

#[derive(Debug, Clone, Copy)]
struct Place {
    next: u32,
    previous: u32,
    level: u32,
}

impl Levels {
    fn new(flows: u32, most: usize) -> Self {
        // A flow may hold more than its part while others hold less.
        let unplaced = Place { next: NONE, previous: NONE, level: 0 };
        let mut levels = Self { flows: vec![unplaced; flows as usize], ends: vec![(NONE, NONE); most + 2], lowest: 0 };
        (0..flows).for_each(|flow| levels.append(flow, 0));
        levels
    }

    #[inline]
    fn append(&mut self, flow: u32, level: u32) {
        let (first, last) = self.ends[level as usize];
        self.flows[flow as usize] = Place { next: NONE, previous: last, level };
        if last == NONE {
            self.ends[level as usize] = (flow, flow);
        } else {
            self.flows[last as usize].next = flow;
            self.ends[level as usize] = (first, flow);
        }
    }

    #[inline]
    fn take(&mut self, flow: u32) -> u32 {
        let Place { next, previous, level } = self.flows[flow as usize];
        let ends = &mut self.ends[level as usize];
        if previous == NONE {
            ends.0 = next;
        }
        if next == NONE {
            ends.1 = previous;
        }
        if previous != NONE {
            self.flows[previous as usize].next = next;
        }
        if next != NONE {
            self.flows[next as usize].previous = previous;
        }
        level
    }

    /// The flow on the lowest level goes one up.
    #[inline]
    fn rise(&mut self) -> u32 {
        while self.ends[self.lowest].0 == NONE {
            self.lowest += 1;
        }
        let flow = self.ends[self.lowest].0;
        let level = self.take(flow);
        self.append(flow, level + 1);
        flow
    }

    /// The flow goes one down.
    #[inline]
    fn sink(&mut self, flow: u32) {
        let level = self.take(flow) - 1;
        self.append(flow, level);
        self.lowest = self.lowest.min(level as usize);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Pattern;

    fn load(pattern: Pattern, memory: Memory) -> Load {
        Load { flows: "8".parse().unwrap(), pattern, lengths: Lengths::Fixed(1000), memory }
    }

    #[test]
    fn packets_go_to_the_flow_with_the_shortest_backlog() {
        let mut generator = Generator::new(&load(Pattern::Small, Memory::Packed));
        let made: Vec<_> = (0..20).map(|_| generator.make()).collect();
        assert!(made.iter().enumerate().all(|(number, (flow, ..))| flow.0 as usize == number % 8));
        // Flows 3 has 3 packets; without two of them it is the only one with one.
        let of_three: Vec<_> = made.iter().filter(|(flow, ..)| flow.0 == 3).map(|(_, _, place)| *place).collect();
        of_three.iter().take(2).for_each(|place| generator.discard(*place));
        assert_eq!(generator.make().0, FlowId(3));
        assert_eq!(generator.make().0, FlowId(4), "the first of those with two");
    }

    #[test]
    fn scattered_packets_are_neighbours_of_none() {
        let places = |memory| {
            let mut generator = Generator::new(&load(Pattern::Large, memory));
            (0..200).map(|_| i64::from(generator.make().2)).collect::<Vec<_>>()
        };
        let neighbours = |places: &[i64]| places.windows(2).filter(|pair| (pair[0] - pair[1]).abs() == 1).count();
        assert_eq!(neighbours(&places(Memory::Packed)), 199);
        assert!(neighbours(&places(Memory::Scattered)) < 10);
    }
}
