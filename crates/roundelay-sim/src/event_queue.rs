//! Event queue: a few lanes, which hold events in order, and a heap for the events that fit no
//! lane.
//!
//! Most delays in a network are constants: a propagation delay plus the time to transmit a full
//! packet, or the gap between a source's packets. Events with the same delay are made in the order
//! of their times, on all links together, so a lane takes each at the cost of a list. Whatever the
//! network's size, the queue only compares the first events in a few lanes.
//!
//! Events are not changed. When a pick is brought forward or a timer is put off, the old event
//! stays and does nothing when its time comes. Each acknowledgement puts off TCP's retransmission
//! timer, which hardly ever expires. Putting a timer off costs nothing until its old time comes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use roundelay::Instant;

/// Lanes in a queue.
const LANES: usize = 8;

/// An event's sort key: 64 bits of picoseconds, one bit for a pick, 41 bits of sequence number. The
/// low 22 bits are left for the number of the link or agent, so that an [`Entry`] is a single
/// number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key(u128);

/// This bit marks a pick.
const PICK: u128 = 1 << 63;
/// Bits that hold the number of a link or agent.
const OWNER_BITS: u32 = 22;
/// The most links and agents.
pub(crate) const OWNERS: usize = 1 << OWNER_BITS;
/// The most events.
pub(crate) const EVENTS: u64 = 1 << (63 - OWNER_BITS);

impl Key {
    /// Later than any event.
    pub(crate) const NEVER: Self = Self(!(OWNERS as u128 - 1));

    /// An arrival or a timer at `at`, with sequence number `sequence`.
    #[inline]
    pub(crate) const fn new(at: Instant, sequence: u64) -> Self {
        Self((at.as_picos() as u128) << 64 | (sequence << OWNER_BITS) as u128)
    }

    /// When a link picks: after all arrivals and timers at the same instant.
    #[inline]
    pub(crate) const fn pick(at: Instant, sequence: u64) -> Self {
        Self(Self::new(at, sequence).0 | PICK)
    }

    /// Whether the event is a link's pick.
    #[inline]
    pub(crate) const fn is_pick(self) -> bool {
        self.0 & PICK != 0
    }

    /// When the event happens.
    #[inline]
    pub(crate) const fn time(self) -> Instant {
        Instant::from_picos((self.0 >> 64) as u64)
    }
}

/// A key with the number of a link or agent in its low 22 bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    const NEVER: Self = Self::new(Key::NEVER, 0);

    #[inline]
    const fn new(key: Key, number: usize) -> Self {
        Self(key.0 | number as u128)
    }

    #[inline]
    const fn number(self) -> usize {
        self.0 as usize & (OWNERS - 1)
    }

    #[inline]
    const fn key(self) -> Key {
        Key(self.0 & !(OWNERS as u128 - 1))
    }
}

/// Whose event it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Owner {
    Link(usize),
    Agent(u32),
}

/// All events, those of links and those of agents, and which comes first.
#[derive(Debug, Clone, Default)]
pub(crate) struct EventQueue {
    pub(crate) links: Lanes,
    timers: Timers,
}

impl EventQueue {
    /// The first event and its owner.
    #[inline]
    pub(crate) fn first(&self) -> (Key, Owner) {
        let link = self.links.first;
        let timer = self.timers.lanes.first;
        if timer < link {
            (timer.key(), Owner::Agent(timer.number() as u32))
        } else {
            (link.key(), Owner::Link(link.number()))
        }
    }

    /// Removes the first timer, which is `agent`'s. Returns whether to call the agent: false if the
    /// timer has been put off.
    #[inline]
    pub(crate) fn expires(&mut self, agent: u32) -> bool {
        self.timers.pop(agent as usize)
    }

    /// Sets an agent's timer. [`Key::NEVER`] takes it away.
    #[inline]
    pub(crate) fn set_timer(&mut self, agent: u32, key: Key) {
        self.timers.set(agent as usize, key);
    }
}

/// Entries in a few lanes, each in order, and a heap for the rest.
///
/// An entry goes to the lane that ends latest among those that do not end after the entry. This is
/// the greedy rule of patience sorting, which needs as few lanes as possible (D. Aldous, P.
/// Diaconis, "Longest increasing subsequences", Bulletin of the AMS 36, 1999). So the ends fall
/// from lane to lane. To find an entry's lane, count the ends that are later. The last lane in use
/// is the first to become empty.
#[derive(Debug, Clone)]
pub(crate) struct Lanes {
    /// The first entry in the heap, and in each lane in use.
    heads: [Entry; LANES + 1],
    /// The last entry in each lane in use.
    ends: [Entry; LANES],
    /// Lanes in use.
    used: usize,
    /// The earliest head, and its lane.
    first: Entry,
    first_lane: usize,
    /// The entries behind the heads.
    lanes: [VecDeque<Entry>; LANES],
    heap: BinaryHeap<Reverse<Entry>>,
}

impl Default for Lanes {
    fn default() -> Self {
        let heads = [Entry::NEVER; LANES + 1];
        let ends = [Entry::NEVER; LANES];
        Self {
            heads,
            ends,
            used: 0,
            first: Entry::NEVER,
            first_lane: 0,
            lanes: Default::default(),
            heap: BinaryHeap::new(),
        }
    }
}

impl Lanes {
    /// Adds an event.
    #[inline]
    pub(crate) fn push(&mut self, number: usize, key: Key) {
        if !self.append(number, key) {
            self.pile(Entry::new(key, number));
        }
    }

    /// Adds an event to a lane. If all lanes end later, returns false and changes nothing.
    #[inline]
    pub(crate) fn append(&mut self, number: usize, key: Key) -> bool {
        let entry = Entry::new(key, number);
        let lane: usize = self.ends[..self.used]
            .iter()
            .map(|end| usize::from(*end > entry))
            .sum();
        if lane < self.used {
            self.lanes[lane].push_back(entry);
        } else if lane < LANES {
            self.used += 1;
            self.lead(lane + 1, entry);
        } else {
            return false;
        }
        self.ends[lane] = entry;
        true
    }

    /// Adds an entry to the heap.
    #[cold]
    fn pile(&mut self, entry: Entry) {
        let head = self.heads[0];
        if head != Entry::NEVER {
            self.heap.push(Reverse(head.max(entry)));
        }
        self.lead(0, head.min(entry));
    }

    #[inline]
    fn lead(&mut self, lane: usize, entry: Entry) {
        self.heads[lane] = entry;
        if entry < self.first {
            (self.first, self.first_lane) = (entry, lane);
        }
    }

    /// Removes the first entry.
    #[inline]
    pub(crate) fn pop(&mut self) {
        let next = match self.first_lane.checked_sub(1) {
            Some(lane) => self.lanes[lane].pop_front(),
            None => self.heap.pop().map(|Reverse(entry)| entry),
        };
        self.used -= usize::from(next.is_none() && self.first_lane > 0);
        self.heads[self.first_lane] = next.unwrap_or(Entry::NEVER);
        (self.first, self.first_lane) = (self.heads[0], 0);
        for (lane, head) in (1..).zip(&self.heads[1..=self.used]) {
            if *head < self.first {
                (self.first, self.first_lane) = (*head, lane);
            }
        }
    }
}

/// The agents' timers.
///
/// Each timer has at least one entry that is no later. When such an entry comes first but the timer
/// is later, a new entry with the timer's time replaces it.
#[derive(Debug, Clone, Default)]
struct Timers {
    agents: Vec<Timer>,
    lanes: Lanes,
}

#[derive(Debug, Clone, Copy)]
struct Timer {
    key: Key,
    /// The agent's two earliest entries. We keep two because then a timer that is set near and far
    /// in turn leaves one far entry, not one each time.
    queued: [Key; 2],
}

impl Timers {
    #[inline]
    fn set(&mut self, agent: usize, key: Key) {
        if agent >= self.agents.len() {
            self.agents.resize(
                agent + 1,
                Timer {
                    key: Key::NEVER,
                    queued: [Key::NEVER; 2],
                },
            );
        }
        self.agents[agent].key = key;
        self.queue(agent);
    }

    /// Adds an entry for the agent's timer, unless one that is no later exists.
    #[inline]
    fn queue(&mut self, agent: usize) {
        let Timer { key, queued } = &mut self.agents[agent];
        if *key < queued[0] {
            *queued = [*key, queued[0]];
            self.lanes.push(agent, *key);
        }
    }

    /// Removes the first entry, which is `agent`'s. Returns whether the timer expires.
    #[inline]
    fn pop(&mut self, agent: usize) -> bool {
        let key = self.lanes.first.key();
        self.lanes.pop();
        let timer = &mut self.agents[agent];
        if timer.queued[0] == key {
            timer.queued = [timer.queued[1], Key::NEVER];
        }
        if timer.key == key {
            timer.key = Key::NEVER;
            return true;
        }
        self.queue(agent);
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt as _, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    /// Compares with a binary heap. Delays with a few lengths stay in lanes, but most drawn delays
    /// do not fit.
    #[test]
    fn entries_leave_in_order() {
        for kinds in [1, 3, 4, 20, 10_000] {
            let mut random = Pcg64Mcg::seed_from_u64(kinds);
            let mut lanes = Lanes::default();
            let mut heap = BinaryHeap::new();
            let mut now = 0;
            let mut idle = 0;
            let mut piled = 0;
            for sequence in 0..40_000 {
                // Events become few in some phases and many in others.
                let adds = if sequence / 5000 % 2 == 0 { 5 } else { 2 };
                if random.random_range(0..8) < adds {
                    let at = Instant::from_picos(now + random.random_range(0..kinds) * 100);
                    let key = if random.random_range(0..4) == 0 {
                        Key::pick(at, sequence)
                    } else {
                        Key::new(at, sequence)
                    };
                    let number = random.random_range(0..100);
                    lanes.push(number, key);
                    heap.push(Reverse(Entry::new(key, number)));
                } else if let Some(Reverse(first)) = heap.pop() {
                    now = first.key().time().as_picos();
                    lanes.pop();
                }
                assert_eq!(
                    lanes.first,
                    heap.peek().map_or(Entry::NEVER, |Reverse(entry)| *entry),
                    "{kinds} delays"
                );
                idle += u32::from(heap.is_empty());
                piled = piled.max(lanes.heap.len());
            }
            assert!(
                idle > 20 && (piled > 0) == (kinds > 4),
                "{kinds} delays: {idle} {piled}"
            );
        }
    }

    /// If an entry fits no lane, the lanes stay as they were.
    #[test]
    fn lanes_are_few() {
        let mut lanes = Lanes::default();
        let key = |at| Key::new(Instant::from_picos(at), 0);
        assert!((0..LANES as u64).all(|lane| lanes.append(1, key(100 - lane))));
        assert!(!lanes.append(2, key(50)));
        assert_eq!(lanes.first, Entry::new(key(101 - LANES as u64), 1));
        lanes.push(2, key(50));
        assert_eq!(lanes.first, Entry::new(key(50), 2));
        lanes.push(3, key(40));
        let order = [(40, 3), (50, 2), (101 - LANES as u64, 1)];
        for (at, number) in order {
            assert_eq!(lanes.first, Entry::new(key(at), number));
            lanes.pop();
        }
        assert!(lanes.append(4, key(97)), "a lane is free again");
    }

    /// Compares with a linear search. Timers are put off, brought forward or taken away, and agents
    /// come while the queue is in use.
    #[test]
    fn timers_expire_in_order() {
        let mut random = Pcg64Mcg::seed_from_u64(1);
        let mut queue = EventQueue::default();
        let mut list = Vec::new();
        let mut now = 0;
        let mut expired = 0;
        let mut put_off = 0;
        for sequence in 0..40_000 {
            if sequence % 400 == 0 {
                list.push(Key::NEVER);
            }
            if random.random_range(0..2) == 0 {
                let agent = random.random_range(0..list.len());
                let at = Instant::from_picos(now + random.random_range(0..1000));
                let key = if random.random_range(0..16) == 0 {
                    Key::NEVER
                } else {
                    Key::new(at, sequence)
                };
                queue.set_timer(agent as u32, key);
                list[agent] = key;
                continue;
            }
            let least = *list.iter().min().unwrap();
            let (key, owner) = queue.first();
            assert!(key <= least, "no event comes before");
            let Owner::Agent(agent) = owner else { continue };
            if queue.expires(agent) {
                assert_eq!((key, list[agent as usize]), (least, least));
                (now, list[agent as usize]) = (key.time().as_picos(), Key::NEVER);
                expired += 1;
            } else {
                put_off += 1;
            }
        }
        assert!(
            expired > 5_000 && put_off > 1_000 && list.len() == 100,
            "{expired} {put_off}"
        );
    }

    /// If a timer is set near and far in turn, or put off again and again, few entries stay behind.
    #[test]
    fn timers_leave_few_entries() {
        let mut queue = EventQueue::default();
        let at = |now: u64, sequence| Key::new(Instant::from_picos(now), sequence);
        let mut most = 0;
        let mut expired = 0;
        for now in 0..10_000 {
            queue.set_timer(0, at(now + 1_000, 3 * now));
            queue.set_timer(1, at(now + 1_000, 3 * now + 1));
            queue.set_timer(0, at(now + 1, 3 * now + 2));
            while let (key, Owner::Agent(agent)) = queue.first()
                && key < at(now + 2, 0)
            {
                expired += u32::from(queue.expires(agent));
            }
            let lanes = &queue.timers.lanes;
            most = most.max(
                lanes.used
                    + lanes.heap.len()
                    + lanes.lanes.iter().map(VecDeque::len).sum::<usize>(),
            );
        }
        assert_eq!(expired, 10_000);
        assert!(most <= 4, "{most}");
    }

    #[test]
    fn at_one_instant_what_was_known_first_comes_first_and_picks_come_last() {
        let mut queue = EventQueue::default();
        let at = Instant::from_picos(7);
        queue.links.push(0, Key::new(at, 3));
        queue.links.push(1, Key::pick(at, 1));
        queue.set_timer(2, Key::new(at, 2));
        assert_eq!(queue.first(), (Key::new(at, 2), Owner::Agent(2)));
        assert!(queue.expires(2));
        for (link, key) in [(0, Key::new(at, 3)), (1, Key::pick(at, 1))] {
            assert_eq!(queue.first(), (key, Owner::Link(link)));
            assert_eq!(key.time(), at);
            queue.links.pop();
        }
        assert_eq!(queue.first().0, Key::NEVER);
    }
}
