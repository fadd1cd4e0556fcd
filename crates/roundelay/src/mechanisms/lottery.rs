//! FIFO queue with random draws. Each packet is equally likely to be drawn, and all calls take
//! constant time.
//!
//! The packets lie in one table without holes, so every number below the packet count is a packet.
//! Links between packets give their order of arrival. The last packet of the table fills the slot
//! of a removed one, and its neighbours' links are updated.

use alloc::vec::Vec;

use crate::limit::Backlog;
use crate::mechanisms::random::Random;
use crate::mechanisms::signalling::Waiting;
use crate::packet::Packet;

const NONE: u32 = u32::MAX;

#[derive(Debug, Clone)]
struct Slot<T> {
    packet: Packet<T>,
    /// The next arrival.
    next: u32,
    /// The previous arrival.
    previous: u32,
}

/// The queue.
#[derive(Debug, Clone)]
pub struct Lottery<T> {
    slots: Vec<Slot<T>>,
    oldest: u32,
    newest: u32,
    bytes: u64,
}

impl<T> Default for Lottery<T> {
    fn default() -> Self {
        Self {
            slots: Vec::new(),
            oldest: NONE,
            newest: NONE,
            bytes: 0,
        }
    }
}

impl<T> Waiting<T> for Lottery<T> {
    fn backlog(&self) -> Backlog {
        Backlog {
            packets: self.slots.len() as u64,
            bytes: self.bytes,
        }
    }

    fn push(&mut self, packet: Packet<T>) {
        let slot = self.slots.len() as u32;
        assert!(slot != NONE, "a line holds fewer than 2^32 - 1 packets");
        self.bytes += u64::from(packet.len);
        self.slots.push(Slot {
            packet,
            next: NONE,
            previous: self.newest,
        });
        self.link(self.newest, slot);
        self.newest = slot;
    }

    fn pop(&mut self) -> Option<Packet<T>> {
        self.remove(self.oldest)
    }

    fn pop_tail(&mut self) -> Option<Packet<T>> {
        self.remove(self.newest)
    }

    fn check(&self) {
        let mut at = self.oldest;
        let mut before = NONE;
        let mut bytes = 0;
        let mut packets = 0;
        while at != NONE {
            let slot = &self.slots[at as usize];
            assert_eq!(slot.previous, before, "links agree in both directions");
            bytes += u64::from(slot.packet.len);
            packets += 1;
            (before, at) = (at, slot.next);
            assert!(packets <= self.slots.len(), "the line has an end");
        }
        assert_eq!(
            (before, packets, bytes),
            (self.newest, self.slots.len(), self.bytes),
            "every packet is in the line, once"
        );
    }
}

impl<T> Lottery<T> {
    /// A random packet, each equally likely, with its number. The number is valid until the next
    /// removal. None if the queue is empty.
    pub(crate) fn draw(&self, random: &mut Random) -> Option<(u32, &Packet<T>)> {
        let drawn = random.below(self.slots.len() as u32);
        self.slots
            .get(drawn as usize)
            .map(|slot| (drawn, &slot.packet))
    }

    /// Removes the packet with this number.
    pub(crate) fn remove(&mut self, number: u32) -> Option<Packet<T>> {
        let &Slot { next, previous, .. } = self.slots.get(number as usize)?;
        self.link(previous, next);
        if next == NONE {
            self.newest = previous;
        } else {
            self.slots[next as usize].previous = previous;
        }
        let Slot { packet, .. } = self.slots.swap_remove(number as usize);
        self.bytes -= u64::from(packet.len);
        self.moved(self.slots.len() as u32, number);
        Some(packet)
    }

    /// Links `next` behind `previous`, or makes `next` the oldest if there is no previous.
    fn link(&mut self, previous: u32, next: u32) {
        if previous == NONE {
            self.oldest = next;
        } else {
            self.slots[previous as usize].next = next;
        }
    }

    /// Updates the links after the last packet has moved to slot `to`. No effect if slot `to` was
    /// the last.
    fn moved(&mut self, from: u32, to: u32) {
        let Some(&Slot { next, previous, .. }) = self.slots.get(to as usize) else {
            return;
        };
        debug_assert!(from != to, "the last place is not filled");
        self.link(previous, to);
        if next == NONE {
            self.newest = to;
        } else {
            self.slots[next as usize].previous = to;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;
    use crate::seed::Seed;
    use alloc::collections::VecDeque;
    use proptest::prelude::*;

    proptest! {
        /// Compared with a plain list.
        #[test]
        fn it_is_a_line_from_which_any_can_go(calls in prop::collection::vec((0u8..8, any::<u64>()), 1..300)) {
            let mut line = Lottery::default();
            let mut plain = VecDeque::new();
            for (number, (call, seed)) in (0u32..).zip(calls) {
                match call {
                    0..=3 => {
                        line.push(Packet::new(FlowId(0), number, number));
                        plain.push_back(number);
                    }
                    4 => prop_assert_eq!(line.pop().map(|packet| packet.payload), plain.pop_front()),
                    5 => prop_assert_eq!(line.pop_tail().map(|packet| packet.payload), plain.pop_back()),
                    _ => {
                        let drawn = line.draw(&mut Random::new(Seed::new(seed))).map(|(number, packet)| (number, packet.payload));
                        prop_assert_eq!(drawn.is_none(), plain.is_empty());
                        let Some((number, payload)) = drawn else { continue };
                        prop_assert_eq!(line.remove(number).map(|packet| packet.payload), Some(payload));
                        plain.retain(|other| *other != payload);
                    }
                }
                line.check();
                prop_assert_eq!(line.backlog().bytes, plain.iter().map(|len| u64::from(*len)).sum::<u64>());
            }
        }
    }

    #[test]
    fn each_is_as_likely_to_be_drawn() {
        let mut line = Lottery::default();
        let mut random = Random::new(Seed::new(1));
        let mut hits = [0u32; 10];
        (0..10).for_each(|number| line.push(Packet::new(FlowId(0), 1, number)));
        for _ in 0..10_000 {
            let (number, _) = line.draw(&mut random).expect("ten wait");
            let packet = line.remove(number).expect("it waits");
            hits[packet.payload as usize] += 1;
            line.push(packet);
        }
        // 1000 each, with a standard deviation of 30.
        assert!(
            hits.iter().all(|hits| hits.abs_diff(1000) < 150),
            "{hits:?}"
        );
    }
}
