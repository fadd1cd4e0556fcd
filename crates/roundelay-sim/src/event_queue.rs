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

/// Lanes in a queue. One less than a power of two, so that halving finds an entry's lane.
const LANES: usize = 15;
/// The number that the heap has among the lanes.
const HEAP: usize = LANES;

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
///
/// The heads are sorted. Busy lanes have short gaps, so the head that follows one of theirs passes
/// few others on the way to its position.
#[derive(Debug, Clone)]
pub(crate) struct Lanes {
    /// The earliest head.
    first: Entry,
    /// The first entry in each lane in use and in the heap, the earliest at the end.
    heads: [Head; LANES + 1],
    /// How many heads there are.
    led: usize,
    /// The last entry in each lane in use.
    ends: [Entry; LANES],
    /// Lanes in use.
    used: usize,
    /// The entries behind the heads.
    lanes: [VecDeque<Entry>; LANES],
    heap: BinaryHeap<Reverse<Entry>>,
}

/// The first entry in a lane.
#[derive(Debug, Clone, Copy)]
struct Head {
    entry: Entry,
    /// The lane, or [`HEAP`].
    lane: usize,
}

impl Default for Lanes {
    fn default() -> Self {
        let head = Head {
            entry: Entry::NEVER,
            lane: HEAP,
        };
        Self {
            first: Entry::NEVER,
            heads: [head; LANES + 1],
            led: 0,
            ends: [Entry::NEVER; LANES],
            used: 0,
            lanes: Default::default(),
            heap: BinaryHeap::new(),
        }
    }
}

impl Lanes {
    /// Adds an event.
    #[inline(always)]
    pub(crate) fn push(&mut self, number: usize, key: Key) {
        if !self.append(number, key) {
            self.pile(Entry::new(key, number));
        }
    }

    /// Adds an event to a lane. If all lanes end later, returns false and changes nothing.
    #[inline(always)]
    pub(crate) fn append(&mut self, number: usize, key: Key) -> bool {
        let entry = Entry::new(key, number);
        let lane = self.lane_for(entry);
        if lane < self.used {
            self.lanes[lane].push_back(entry);
        } else if lane < LANES {
            self.used += 1;
            self.lead(Head { entry, lane });
        } else {
            return false;
        }
        self.ends[lane] = entry;
        true
    }

    /// How many lanes end after an entry.
    #[inline(always)]
    fn lane_for(&self, entry: Entry) -> usize {
        let mut lane = 0;
        if self.used < 4 {
            while lane < self.used && self.ends[lane] > entry {
                lane += 1;
            }
            return lane;
        }
        for step in [8, 4, 2, 1] {
            let last = lane + step - 1;
            if last < self.used && self.ends[last] > entry {
                lane += step;
            }
        }
        lane
    }

    /// Adds an entry to the heap.
    #[cold]
    fn pile(&mut self, entry: Entry) {
        let heads = &self.heads[..self.led];
        let Some(at) = heads.iter().position(|head| head.lane == HEAP) else {
            return self.lead(Head { entry, lane: HEAP });
        };
        let head = heads[at].entry;
        self.heap.push(Reverse(head.max(entry)));
        if entry < head {
            self.heads.copy_within(at + 1..self.led, at);
            self.led -= 1;
            self.lead(Head { entry, lane: HEAP });
        }
    }

    /// Adds a head.
    #[inline]
    fn lead(&mut self, head: Head) {
        self.led += 1;
        self.settle(head);
    }

    /// Moves a head from the last position to the one that it has in order.
    #[inline(always)]
    fn settle(&mut self, head: Head) {
        let mut at = self.led - 1;
        while at > 0 && self.heads[at - 1].entry < head.entry {
            self.heads[at] = self.heads[at - 1];
            at -= 1;
        }
        self.heads[at] = head;
        self.first = self.heads[self.led - 1].entry;
    }

    /// Removes the first entry. There must be one.
    #[inline(always)]
    pub(crate) fn pop(&mut self) {
        let lane = self.heads[self.led - 1].lane;
        let next = match self.lanes.get_mut(lane) {
            Some(lane) => lane.pop_front(),
            None => self.heap.pop().map(|Reverse(entry)| entry),
        };
        if let Some(entry) = next {
            return self.settle(Head { entry, lane });
        }
        self.used -= usize::from(lane != HEAP);
        self.led -= 1;
        self.first = match self.led {
            0 => Entry::NEVER,
            led => self.heads[led - 1].entry,
        };
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
