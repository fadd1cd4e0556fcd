//! Event queue: a tournament tree with one slot for each link, and a heap of the agents' timers.
//!
//! Most delays in a network are constants: packets leave a link in the order in which they entered,
//! and the queue needs only the first packet of each link. Each link has one slot (the first packet
//! arrives, or the port picks one), and each agent has one timer. The size of the queue is the number
//! of links and agents, not the number of packets on their way.
//!
//! A link's event changes several times a packet. A timer is mostly put off: each acknowledgement
//! puts off TCP's retransmission timer, which hardly ever expires. So links are in a tournament, with
//! a few comparisons a change, and a timer that is put off costs nothing until its old time comes.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use roundelay::Instant;

const ARITY: usize = 4;

/// Sort key of an event: 64 bits of picoseconds, one bit for a pick, 41 bits of sequence number.
/// The low 22 bits are left for the number of the link or agent, so an [`Entry`] is a single number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u128);

/// The bit of a pick.
const PICK: u128 = 1 << 63;
/// Bits of the number of a link or agent.
const PLACE: u32 = 22;
/// Most links and agents.
pub(crate) const PLACES: usize = 1 << PLACE;
/// Most events.
pub(crate) const EVENTS: u64 = 1 << (63 - PLACE);

impl Key {
    /// No event.
    pub(crate) const NEVER: Self = Self(!(PLACES as u128 - 1));

    /// An arrival or a timer at `at`, with sequence number `sequence`.
    #[inline]
    pub(crate) const fn new(at: Instant, sequence: u64) -> Self {
        Self((at.as_picos() as u128) << 64 | (sequence << PLACE) as u128)
    }

    /// A link's pick, after all arrivals and timers of the same instant.
    #[inline]
    pub(crate) const fn pick(at: Instant, sequence: u64) -> Self {
        Self(Self::new(at, sequence).0 | PICK)
    }

    /// Whether the event is a link's pick.
    #[inline]
    pub(crate) const fn is_pick(self) -> bool {
        self.0 & PICK != 0
    }

    /// The time of the event.
    #[inline]
    pub(crate) const fn time(self) -> Instant {
        Instant::from_picos((self.0 >> 64) as u64)
    }
}

/// A key with the number of a link or agent in the low 22 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    const NEVER: Self = Self::new(Key::NEVER, 0);

    #[inline]
    const fn new(key: Key, place: usize) -> Self {
        Self(key.0 | place as u128)
    }

    #[inline]
    const fn place(self) -> usize {
        self.0 as usize & (PLACES - 1)
    }

    #[inline]
    const fn key(self) -> Key {
        Key(self.0 & !(PLACES as u128 - 1))
    }
}

/// Four entries in one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(align(64))]
struct Block([Entry; ARITY]);

impl Block {
    const EMPTY: Self = Self([Entry::NEVER; ARITY]);

    /// The earliest of the four entries, without a branch.
    #[inline]
    fn first(&self) -> Entry {
        let [a, b, c, d] = self.0;
        a.min(b).min(c.min(d))
    }
}

/// Whose event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Link(usize),
    Agent(u32),
}

/// The next event of each link and agent, and the first of all.
#[derive(Debug, Clone)]
pub(crate) struct EventQueue {
    links: Tournament,
    timers: Timers,
}

impl EventQueue {
    /// A queue without events for this number of links.
    pub(crate) fn new(links: usize) -> Self {
        Self { links: Tournament::new(links), timers: Timers { agents: Vec::new(), heap: BinaryHeap::new(), first: Entry::NEVER } }
    }

    /// The first event and its owner.
    #[inline]
    pub(crate) fn first(&self) -> (Key, Owner) {
        let (link, timer) = (self.links.first, self.timers.first);
        if timer < link { (timer.key(), Owner::Agent(timer.place() as u32)) } else { (link.key(), Owner::Link(link.place())) }
    }

    /// Sets the next event of a link. [`Key::NEVER`]: none.
    #[inline]
    pub(crate) fn set_link(&mut self, link: usize, key: Key) {
        self.links.set(link, key);
    }

    /// Sets the timer of an agent. [`Key::NEVER`]: none.
    #[inline]
    pub(crate) fn set_timer(&mut self, agent: u32, key: Key) {
        self.timers.set(agent as usize, key);
    }
}

/// A tournament: each slot has an entry on the lowest level, and the earliest entry of each block
/// of four goes one level up. Entries keep their slots. A change costs a few comparisons on each
/// level, and stops at the level where the earliest entry stays the same.
#[derive(Debug, Clone)]
struct Tournament {
    /// Block 0 is the top; entry `c` of block `b` is the earliest of block `4 b + c + 1`.
    blocks: Vec<Block>,
    /// The first block of the lowest level.
    lowest: usize,
    first: Entry,
}

impl Tournament {
    fn new(slots: usize) -> Self {
        let (mut lowest, mut width) = (0, 1);
        while width * ARITY < slots {
            (lowest, width) = (lowest + width, width * ARITY);
        }
        Self { blocks: vec![Block::EMPTY; lowest + slots.div_ceil(ARITY).max(1)], lowest, first: Entry::NEVER }
    }

    #[inline]
    fn set(&mut self, slot: usize, key: Key) {
        let (mut block, mut place, mut entry) = (self.lowest + slot / ARITY, slot % ARITY, Entry::new(key, slot));
        loop {
            let entries = &mut self.blocks[block];
            let before = core::mem::replace(&mut entries.0[place], entry);
            if before == entry {
                return;
            }
            entry = entries.first();
            let Some(above) = block.checked_sub(1) else { break };
            (block, place) = (above / ARITY, above % ARITY);
        }
        self.first = entry;
    }
}

/// The agents' timers.
///
/// The heap holds at least one entry no later than each timer. An entry that comes to the top earlier
/// than its timer goes back with the timer's time.
#[derive(Debug, Clone)]
struct Timers {
    agents: Vec<Timer>,
    heap: BinaryHeap<Reverse<Entry>>,
    first: Entry,
}

#[derive(Debug, Clone, Copy)]
struct Timer {
    key: Key,
    /// The earliest entries of the agent in the heap. Two, so that a timer that is set alternately
    /// near and far leaves one far entry in the heap and not one each time.
    queued: [Key; 2],
}

impl Timers {
    #[inline]
    fn set(&mut self, agent: usize, key: Key) {
        if agent >= self.agents.len() {
            self.agents.resize(agent + 1, Timer { key: Key::NEVER, queued: [Key::NEVER; 2] });
        }
        self.agents[agent].key = key;
        self.queue(agent);
        if self.first.place() == agent || self.first == Entry::NEVER || Entry::new(key, agent) < self.first {
            self.settle();
        }
    }

    /// Puts the agent's timer into the heap, unless an entry there is no later.
    #[inline]
    fn queue(&mut self, agent: usize) {
        let Timer { key, queued } = &mut self.agents[agent];
        if *key < queued[0] {
            *queued = [*key, queued[0]];
            self.heap.push(Reverse(Entry::new(*key, agent)));
        }
    }

    /// Removes entries from the top that are earlier than their timers.
    fn settle(&mut self) {
        while let Some(&Reverse(entry)) = self.heap.peek() {
            let agent = entry.place();
            let Timer { key, queued } = &mut self.agents[agent];
            if *key == entry.key() {
                self.first = entry;
                return;
            }
            self.heap.pop();
            if queued[0] == entry.key() {
                *queued = [queued[1], Key::NEVER];
                self.queue(agent);
            }
        }
        self.first = Entry::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt as _, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    /// Compares with a linear search: links, timers that are put off or brought forward, and agents
    /// that come while the queue is in use.
    #[test]
    fn the_first_of_all_is_found() {
        for links in [0, 1, 4, 5, 16, 17, 70] {
            let mut random = Pcg64Mcg::seed_from_u64(1);
            let (mut queue, mut list) = (EventQueue::new(links), vec![Key::NEVER; links]);
            let mut idle = 0;
            for sequence in 0..40_000 {
                if sequence % 400 == 0 {
                    list.push(Key::NEVER);
                }
                let place = random.random_range(0..list.len());
                let at = Instant::from_picos(random.random_range(0..100));
                // In some phases most have no event.
                let never = if sequence / 5000 % 2 == 0 { 1 } else { 15 };
                let key = if random.random_range(0..16) < never { Key::NEVER } else { Key::new(at, sequence) };
                if place < links {
                    queue.set_link(place, key)
                } else {
                    queue.set_timer((place - links) as u32, key)
                }
                list[place] = key;
                let (first, owner) = queue.first();
                assert_eq!(first, *list.iter().min().unwrap());
                let place = match owner {
                    Owner::Link(link) => link,
                    Owner::Agent(agent) => links + agent as usize,
                };
                assert!(first == Key::NEVER || list[place] == first);
                idle += u32::from(first == Key::NEVER);
            }
            assert!(idle > 20 && list.len() == links + 100, "{idle}");
        }
    }

    /// A timer set near and far in turn, or put off again and again, leaves few entries in the heap.
    #[test]
    fn timers_leave_few_entries() {
        let mut queue = EventQueue::new(1);
        let at = |now: u64, sequence| Key::new(Instant::from_picos(now), sequence);
        let mut most = 0;
        for now in 0..10_000 {
            queue.set_timer(0, at(now + 1_000, 3 * now));
            queue.set_timer(1, at(now + 1_000, 3 * now + 1));
            queue.set_timer(0, at(now + 1, 3 * now + 2));
            assert_eq!(queue.first(), (at(now + 1, 3 * now + 2), Owner::Agent(0)));
            most = most.max(queue.timers.heap.len());
        }
        assert!(most <= 4, "{most}");
    }

    #[test]
    fn at_one_instant_what_was_known_first_comes_first_and_picks_come_last() {
        let mut queue = EventQueue::new(2);
        let at = Instant::from_picos(7);
        queue.set_link(0, Key::new(at, 3));
        queue.set_link(1, Key::pick(at, 1));
        queue.set_timer(2, Key::new(at, 2));
        assert_eq!(queue.first(), (Key::new(at, 2), Owner::Agent(2)));
        queue.set_timer(2, Key::NEVER);
        for (link, key) in [(0, Key::new(at, 3)), (1, Key::pick(at, 1))] {
            assert_eq!(queue.first(), (key, Owner::Link(link)));
            assert_eq!(key.time(), at);
            queue.set_link(link, Key::NEVER);
        }
        assert_eq!(queue.first().0, Key::NEVER);
    }
}
