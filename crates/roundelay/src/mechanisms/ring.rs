//! Deficit round robin over numbered queues: what `drr`, `sfq` and `mqfq` share. They differ in who gets which queue.
//!
//! Queues with packets stand in a ring. The one at the front sends while its deficit covers its head packet, then is credited with its
//! quantum for the next turn and goes to the back. One that empties leaves and carries nothing. Rounds in which nobody can send are
//! counted, not walked, so that a packet costs a few walks of the ring at most, whatever the quantum.
//!
//! A queue's record is half a cache line, and who stands in the ring is an array, so that the records and packets of coming turns can be
//! asked for before they are needed: [`prefetch_pushes`](Ring::prefetch_pushes) and [`prefetch_sends`](Ring::prefetch_sends) do that for a
//! burst; single packets look ahead by themselves. Both keep out of the way while the packets fit a near cache.
//!
//! Source: M. Shreedhar, G. Varghese, "Efficient Fair Queueing Using Deficit Round-Robin", IEEE/ACM ToN 4(3), 1996.
//!
//! A queue that is emptied by push-out keeps its place until its turn, so that leaving needs no search: if packets come before that, it has
//! lost no more than its packet and what it carried. If the turn was its own, that is over, lest it comes back to an open turn with new
//! credit. A quantum that is changed while packets wait counts from the next turn on, and a smaller one in the turn that has begun, too.

use alloc::vec::Vec;

use crate::config::saturated;
use crate::mechanisms::longest::Longest;
use crate::mechanisms::round::Round;
use crate::packet::{FlowId, Packet};
use crate::pool::{Backlog, Pool, Queue};
use crate::prefetch::prefetch;

/// The queues, their turns and their packets.
#[derive(Debug, Clone)]
pub(crate) struct Ring<T> {
    pool: Pool<T>,
    members: Vec<Member>,
    /// Members that wait for their turn; the front one has it.
    order: Round,
    /// Turns, since rounds were last counted, whose credit for the next turn did not cover the head either.
    short_turns: usize,
    longest: Longest,
    /// Of a member of weight 1.
    quantum: u32,
    /// When each member last went to the back, by `moves`: who stands before whom. Empty unless asked for.
    places: Vec<u64>,
    /// Members that have gone to the back.
    moves: u64,
}

/// Half a cache line: all that a packet touches of its queue.
#[derive(Debug, Clone)]
#[repr(align(32))]
struct Member {
    queue: Queue,
    /// Bytes that it may still send in this turn, or has for its next. Never more than `u32::MAX`, which is enough for any packet.
    deficit: u32,
    weight: u16,
    in_ring: bool,
    /// Its weight is to be forgotten with its last packet.
    leaves: bool,
}

/// Which packet a queue gives up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Oldest,
    Newest,
}

impl<T> Ring<T> {
    /// Memory for each queue, the index of the longest included.
    pub(crate) const BYTES_PER_QUEUE: usize = size_of::<Member>() + size_of::<u32>() + Longest::BYTES_PER_QUEUE;
    /// Memory of the index of the longest, once it is awake.
    pub(crate) const FIXED_BYTES: usize = Longest::FIXED_BYTES;

    /// `queues` empty queues, each with `quantum` bytes a turn.
    pub(crate) fn new(quantum: u32, queues: usize) -> Self {
        let mut ring = Self {
            pool: Pool::default(),
            members: Vec::new(),
            order: Round::with_room(queues),
            short_turns: 0,
            longest: Longest::default(),
            quantum,
            places: Vec::new(),
            moves: 0,
        };
        ring.members.reserve_exact(queues);
        ring.members.resize(queues, Member::EMPTY);
        ring
    }

    /// Keeps what [`place`](Self::place) needs, for the queues that there are now.
    pub(crate) fn with_places(mut self) -> Self {
        self.places = alloc::vec![0; self.members.len()];
        self
    }

    /// Adds queues until there is this one.
    #[cold]
    #[inline(never)]
    pub(crate) fn add_up_to(&mut self, number: usize) {
        if number >= self.members.len() {
            self.members.resize(number + 1, Member::EMPTY);
        }
    }

    /// How many queues there are.
    pub(crate) fn queues(&self) -> usize {
        self.members.len()
    }

    /// One of them, to look at.
    pub(crate) fn queue(&self, number: usize) -> &Queue {
        &self.members[number].queue
    }

    /// What waits in all of them.
    #[inline]
    pub(crate) const fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    /// Puts a packet at the end of a queue, or hands it back if there is no such queue.
    #[inline(always)]
    pub(crate) fn push(&mut self, number: usize, packet: Packet<T>) -> Result<(), Packet<T>> {
        let Some(member) = self.members.get_mut(number) else { return Err(packet) };
        if member.queue.is_empty() {
            member.deficit = member.quantum(self.quantum);
            if !member.in_ring {
                member.in_ring = true;
                self.order.push_back(number as u32);
                moved_back(&mut self.places, &mut self.moves, number);
            }
        }
        self.pool.push(&mut member.queue, packet);
        if self.longest.is_awake() {
            self.measure(number);
        }
        Ok(())
    }

    /// The queue that sends next.
    #[inline]
    pub(crate) fn turn(&mut self) -> Option<usize> {
        loop {
            let number = self.order.front();
            let member = self.members.get_mut(number)?;
            if member.queue.head_len() > member.deficit {
                self.end_turn(number);
            } else if member.queue.is_empty() {
                member.in_ring = false;
                self.order.pop_front();
            } else {
                return Some(number);
            }
        }
    }

    /// The packet of the queue that has the [`turn`](Self::turn).
    #[inline(always)]
    pub(crate) fn send(&mut self) -> Option<Packet<T>> {
        self.send_next(self.pool.is_far())
    }

    /// [`send`](Self::send), which looks ahead at what the next turns touch unless [`prefetch_sends`](Self::prefetch_sends) has done so.
    #[inline(always)]
    pub(crate) fn send_next(&mut self, looks_ahead: bool) -> Option<Packet<T>> {
        loop {
            let number = self.order.front();
            let member = self.members.get_mut(number)?;
            let Some(rest) = member.deficit.checked_sub(member.queue.head_len()) else {
                self.end_turn(number);
                continue;
            };
            member.deficit = rest;
            let packets = member.queue.packets();
            if packets <= 1 {
                member.end_backlog();
                member.in_ring = false;
                self.order.pop_front();
                if packets == 0 {
                    continue;
                }
            }
            if looks_ahead || self.longest.is_awake() {
                self.prepare(number, looks_ahead);
                return self.pool.pop(&mut self.members[number].queue);
            }
            // Last, as it moves the packet to where the caller wants it.
            return self.pool.pop(&mut member.queue);
        }
    }

    /// Asks for all that pushes of packets into these queues touch: the queues, the places that are free, then, of each queue, the packet that
    /// came last.
    pub(crate) fn prefetch_pushes(&self, numbers: impl Iterator<Item = usize> + Clone) {
        if !self.pool.is_far() {
            return;
        }
        numbers.clone().for_each(|number| prefetch(&self.members, number));
        self.pool.prefetch_free(numbers.clone().count());
        numbers.filter_map(|number| self.members.get(number)).for_each(|member| self.pool.prefetch_tail(&member.queue));
    }

    /// Asks for all that the next packets, so many, touch: the packets that came first in the queues that have the next turns, then the second
    /// ones that the same turns send; and for the queues that come after those, so that they are there when this is called again.
    pub(crate) fn prefetch_sends(&self, packets: usize) {
        if !self.pool.is_far() {
            return;
        }
        let members = || (0..packets).map_while(|turns| self.members.get(self.order.get(turns)?));
        members().for_each(|member| self.pool.prefetch_head(&member.queue));
        let later = (packets..2 * packets).map_while(|turns| self.order.get(turns));
        later.for_each(|number| prefetch(&self.members, number));
        members().for_each(|member| self.pool.prefetch_behind_head(&member.queue, 1, member.deficit));
    }

    /// Looks at what comes after the packet that this queue is about to send, and tells how long the queue is without it.
    #[inline(never)]
    fn prepare(&mut self, number: usize, looks_ahead: bool) {
        let Member { queue, deficit, .. } = &self.members[number];
        if looks_ahead {
            self.look_ahead();
            let most = if self.order.len() < Self::RECORDS_AHEAD { u32::MAX } else { deficit.saturating_add(queue.head_len()) };
            self.pool.prefetch_behind_head(queue, 1, most);
        }
        self.longest.changed(number, queue.size_behind_head());
    }

    /// Turns ahead of its own at which a queue's record is asked for, then its first packet, then the second and the third if it may send them.
    const RECORDS_AHEAD: usize = 32;
    const HEADS_AHEAD: usize = 20;
    const SECONDS_AHEAD: usize = 12;
    const THIRDS_AHEAD: usize = 6;

    #[inline]
    fn look_ahead(&self) {
        if let Some(number) = self.order.get(Self::RECORDS_AHEAD) {
            prefetch(&self.members, number);
        }
        for (turns, links) in [(Self::HEADS_AHEAD, 0), (Self::SECONDS_AHEAD, 1), (Self::THIRDS_AHEAD, 2)] {
            let Some(member) = self.order.get(turns).and_then(|number| self.members.get(number)) else { continue };
            self.pool.prefetch_behind_head(&member.queue, links, if links == 0 { u32::MAX } else { member.deficit });
        }
    }

    /// The queue that has the turn is credited for its next one and goes to the back.
    #[inline]
    fn end_turn(&mut self, number: usize) {
        let member = &mut self.members[number];
        member.deficit = member.deficit.saturating_add(member.quantum(self.quantum));
        let is_short = member.deficit < member.queue.head_len();
        self.order.rotate();
        moved_back(&mut self.places, &mut self.moves, number);
        if is_short {
            self.count_short_turn();
        }
    }

    /// So many turns of those whose quantum is less than a packet are walked, then rounds are counted.
    #[cold]
    #[inline(never)]
    fn count_short_turn(&mut self) {
        self.short_turns += 1;
        if self.short_turns > self.order.len() {
            self.short_turns = 0;
            self.skip_rounds();
        }
    }

    /// Tells how long a queue is now.
    #[cold]
    #[inline(never)]
    fn measure(&mut self, number: usize) {
        self.longest.changed(number, self.members[number].queue.size());
    }

    /// As [`send`](Self::send), but if `refill` gives another packet the queue has not been empty.
    pub(crate) fn send_refilled(&mut self, mut refill: impl FnMut(FlowId) -> Option<Packet<T>>) -> Option<Packet<T>> {
        let number = self.turn()?;
        let member = &mut self.members[number];
        let packet = self.pool.pop(&mut member.queue)?;
        member.deficit -= packet.len;
        if let Some(next) = refill(packet.flow) {
            self.pool.push(&mut member.queue, next);
        }
        self.longest.changed(number, member.queue.size());
        if member.queue.is_empty() {
            self.end_backlog(number);
        }
        Some(packet)
    }

    /// Takes a packet out of a queue without a turn.
    pub(crate) fn give_up(&mut self, number: usize, end: End) -> Option<Packet<T>> {
        let queue = &mut self.members.get_mut(number)?.queue;
        let packet = match end {
            End::Oldest => self.pool.pop(queue),
            End::Newest => self.pool.pop_tail(queue),
        };
        if packet.is_some() && queue.is_empty() {
            self.end_backlog(number);
        }
        self.longest.changed(number, self.members[number].queue.size());
        packet
    }

    /// Takes all packets out of a queue for which `goes` says so: the one call here that walks a queue.
    pub(crate) fn give_up_all(&mut self, number: usize, mut goes: impl FnMut(&Packet<T>) -> bool) {
        let queue = &mut self.members[number].queue;
        let before = queue.packets();
        for _ in 0..before {
            if let Some(packet) = self.pool.pop(queue).filter(|packet| !goes(packet)) {
                self.pool.push(queue, packet);
            }
        }
        if before > 0 && queue.is_empty() {
            self.end_backlog(number);
        }
        self.longest.changed(number, self.members[number].queue.size());
    }

    /// The queue with the most bytes, or none if all are empty.
    pub(crate) fn longest(&mut self) -> Option<usize> {
        self.longest.find(self.members.iter().map(|member| member.queue.size()))
    }

    /// Gives all queues this quantum, times their weights.
    pub(crate) fn set_quantum(&mut self, quantum: u32) {
        let before = core::mem::replace(&mut self.quantum, quantum);
        for number in 0..self.members.len() {
            self.change_quantum(number, self.members[number].quantum(before));
        }
    }

    /// Gives a queue `weight` times the quantum.
    pub(crate) fn set_weight(&mut self, number: usize, weight: u32) {
        self.add_up_to(number);
        let member = &mut self.members[number];
        let before = member.quantum(self.quantum);
        (member.leaves, member.weight) = (false, weight as u16);
        self.change_quantum(number, before);
    }

    /// A queue that waits for its turn will have the new quantum in it. A turn that has begun is cut as if it had begun with a smaller one, but
    /// grows with none: what has been sent beyond a quantum is not known any more, so lowering and raising it would add to the turn each time.
    fn change_quantum(&mut self, number: usize, before: u32) {
        let has_turn = self.order.front() == number;
        let member = &mut self.members[number];
        let quantum = member.quantum(self.quantum);
        if member.queue.is_empty() || has_turn && quantum > before {
            return;
        }
        let deficit = (u64::from(member.deficit) + u64::from(quantum)).saturating_sub(before.into());
        member.deficit = saturated(deficit);
    }

    /// Gives a queue weight 1 again, once it is empty.
    pub(crate) fn forget_weight(&mut self, number: usize) {
        let Some(member) = self.members.get_mut(number) else { return };
        member.leaves = true;
        if member.queue.is_empty() {
            member.end_backlog();
        }
    }

    /// Rounds that go by before a packet of `len` bytes is sent that is put into this queue now: 0 if it goes with the queue's next turn,
    /// or with the one that it has.
    pub(crate) fn rounds_before_service(&self, number: usize, len: u32) -> u64 {
        let member = &self.members[number];
        let quantum = u64::from(member.quantum(self.quantum));
        let credit = if member.queue.is_empty() { quantum } else { member.deficit.into() };
        (member.queue.bytes() + u64::from(len)).saturating_sub(credit).div_ceil(quantum)
    }

    /// Of two queues the one with the smaller place has its turn sooner; one that is not in the ring would come last.
    pub(crate) fn place(&self, number: usize) -> u64 {
        if self.members[number].in_ring { self.places[number] } else { u64::MAX }
    }

    /// Empties all queues into one, a packet of each in turn.
    pub(crate) fn drain_in_turns(&mut self) -> Queue {
        let mut all = Queue::default();
        while let Some(member) = self.members.get_mut(self.order.front()) {
            if let Some(packet) = self.pool.pop(&mut member.queue) {
                self.pool.push(&mut all, packet);
                self.order.rotate();
            } else {
                (member.deficit, member.in_ring) = (0, false);
                self.longest.changed(self.order.front(), 0);
                self.order.pop_front();
            }
        }
        all
    }

    /// The next packet of a queue that was [drained](Self::drain_in_turns).
    pub(crate) fn next_drained(&mut self, all: &mut Queue) -> Option<Packet<T>> {
        self.pool.pop(all)
    }

    /// The queue has lost its last packet: it forfeits its credit, and its turn if it has it.
    fn end_backlog(&mut self, number: usize) {
        let member = &mut self.members[number];
        member.end_backlog();
        if self.order.front() == number {
            member.in_ring = false;
            self.order.pop_front();
        }
    }

    /// Credits all with the rounds that would go by in which nobody can send, at once.
    fn skip_rounds(&mut self) {
        let rounds_short = |number| {
            let member = &self.members[number as usize];
            let short = member.queue.head_len().saturating_sub(member.deficit);
            (!member.queue.is_empty()).then(|| short.div_ceil(member.quantum(self.quantum)))
        };
        let rounds = self.order.iter().filter_map(rounds_short).min().unwrap_or(0).saturating_sub(1);
        for number in self.order.iter() {
            let member = &mut self.members[number as usize];
            let credit = if member.queue.is_empty() { 0 } else { u64::from(rounds) * u64::from(member.quantum(self.quantum)) };
            member.deficit = saturated(u64::from(member.deficit) + credit);
        }
    }

    /// 1. A queue is in the ring exactly once if it is marked so, and it is if it has packets.
    /// 2. Lemma 1 of the paper: an empty queue carries nothing.
    /// 3. The head of a queue is where `is_at_home` says that it belongs.
    /// 4. Who stands further back has the larger place.
    /// 5. Who waits for its turn has at least its quantum for it. (And less than a packet more: what it carries did not cover one.)
    pub(crate) fn check_invariants(&self, is_at_home: impl Fn(usize, &Packet<T>) -> bool) {
        let mut stands = alloc::vec![0; self.members.len()];
        self.order.iter().for_each(|number| stands[number as usize] += 1);
        for (number, (member, stands)) in self.members.iter().zip(stands).enumerate() {
            assert_eq!(stands, usize::from(member.in_ring), "ring, invariant 1: in it once");
            assert!(member.in_ring || member.queue.is_empty(), "ring, invariant 1: a backlogged queue is in it");
            assert!(!member.queue.is_empty() || member.deficit == 0, "ring, invariant 2: an empty queue carries nothing");
            let waits = !member.queue.is_empty() && self.order.front() != number;
            assert!(!waits || member.deficit >= member.quantum(self.quantum), "ring, invariant 5: a quantum for the next turn");
            let head = self.pool.head(&member.queue);
            assert!(head.is_none_or(|head| is_at_home(number, head)), "ring, invariant 3: packets are where they belong");
            self.pool.check_queue(&member.queue);
        }
        let places = self.order.iter().filter_map(|number| self.places.get(number as usize));
        assert!(places.is_sorted(), "ring, invariant 4: places rise from front to back");
        let bytes: u64 = self.members.iter().map(|member| member.queue.bytes()).sum();
        assert_eq!(bytes, self.pool.backlog().bytes, "ring: the queues' backlogs add up");
    }
}

impl Member {
    const EMPTY: Self = Self { queue: Queue::EMPTY, deficit: 0, weight: 1, in_ring: false, leaves: false };

    /// What it is credited with for a turn.
    #[inline]
    const fn quantum(&self, of_weight_1: u32) -> u32 {
        self.weight as u32 * of_weight_1
    }

    /// Without packets it forfeits its credit, and its weight if that was to be forgotten.
    #[inline]
    const fn end_backlog(&mut self) {
        self.deficit = 0;
        if self.leaves {
            (self.leaves, self.weight) = (false, 1);
        }
    }
}

/// A queue has gone to the back, if anyone wants to know.
#[inline]
fn moved_back(places: &mut [u64], moves: &mut u64, number: usize) {
    if let Some(place) = places.get_mut(number) {
        *moves += 1;
        *place = *moves;
    }
}

const _: () = assert!(size_of::<Member>() == 32, "a cache line holds two members, whole");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ring(quantum: u32) -> Ring<()> {
        Ring::new(quantum, 3).with_places()
    }

    fn push(ring: &mut Ring<()>, number: usize, len: u32) {
        ring.push(number, Packet::new(FlowId(number as u32), len, ())).expect("there is such a queue");
    }

    fn send(ring: &mut Ring<()>) -> Option<(usize, u32)> {
        let number = ring.turn()?;
        let packet = ring.send()?;
        ring.check_invariants(|number, packet| packet.flow.index() == number);
        Some((number, packet.len))
    }

    #[test]
    fn a_refilled_queue_keeps_its_turn_and_its_deficit() {
        let mut ring = ring(1000);
        (0..2).for_each(|number| push(&mut ring, number, 400));
        assert_eq!(ring.turn(), Some(0));
        ring.send_refilled(|flow| Some(Packet::new(flow, 500, ())));
        assert_eq!((ring.members[0].deficit, ring.turn()), (600, Some(0)));
        ring.send_refilled(|flow| Some(Packet::new(flow, 500, ())));
        assert_eq!((ring.turn(), ring.members[0].deficit), (Some(1), 1100), "100 left of this turn, and those of the next");
    }

    /// With more packets than a near cache holds, rings look ahead. It changes nothing but when memory is asked for.
    #[test]
    fn what_is_far_is_served_in_the_same_order() {
        let rings = [false, true].map(|in_bursts| {
            let mut ring = Ring::new(1514, 100);
            let len = |serial: u32| 40 + serial * 7919 % 1461;
            for serial in 0..12_000u32 {
                let number = (serial * serial / 7 % 100) as usize;
                if in_bursts && serial % 32 == 0 {
                    ring.prefetch_pushes((serial..serial + 32).map(|serial: u32| (serial * serial / 7 % 101) as usize));
                }
                ring.push(number, Packet::new(FlowId(number as u32), len(serial), serial)).expect("there is such a queue");
            }
            assert!(ring.pool.is_far());
            let mut order = Vec::new();
            while ring.backlog().packets > 0 {
                if in_bursts && order.len() % 32 == 0 {
                    ring.prefetch_sends(32);
                }
                order.extend(if in_bursts { ring.send_next(false) } else { ring.send() }.map(|packet| packet.payload));
                if order.len() % 1000 == 0 {
                    ring.check_invariants(|number, packet| packet.flow.index() == number);
                }
            }
            order
        });
        assert_eq!(rings[0].len(), 12_000);
        assert_eq!(rings[0], rings[1]);
    }

    proptest! {
        /// Two packets, put into two queues at once, leave in the order that rounds and places tell.
        #[test]
        fn rounds_and_places_tell_who_is_served_sooner(
            (quantum, weights) in (1u32..3000, [1u32..4, 1..4, 1..4]),
            steps in prop::collection::vec((0usize..3, prop::option::weighted(0.6, 0u32..1600)), 0..60),
            (one, two) in (0u32..1600, 0u32..1600),
        ) {
            let mut ring = ring(quantum);
            weights.iter().enumerate().for_each(|(number, weight)| ring.set_weight(number, *weight));
            for (number, len) in steps {
                match len {
                    Some(len) => push(&mut ring, number, len),
                    None => drop(send(&mut ring)),
                }
            }
            let key = |number, len| (ring.rounds_before_service(number, len), ring.place(number));
            let first = if key(0, one) <= key(1, two) { 0 } else { 1 };
            let waiting = [0, 1].map(|number| ring.queue(number).packets());
            push(&mut ring, 0, one);
            push(&mut ring, 1, two);
            let mut left = [0; 3];
            while left[0] <= waiting[0] && left[1] <= waiting[1] {
                let (number, _) = send(&mut ring).expect("backlogged");
                left[number] += 1;
            }
            prop_assert!(left[first] > waiting[first], "{first} should have left first");
        }
    }

    proptest! {
        /// Whatever happens, quanta that change included: nobody has more for a turn than its quantum and less than a packet.
        #[test]
        fn a_turn_is_a_quantum_and_less_than_a_packet(
            steps in prop::collection::vec((0u8..12, 0usize..3, 0u32..1600), 0..200),
        ) {
            let mut ring = ring(1000);
            for (call, number, value) in steps {
                match call {
                    0..=5 => push(&mut ring, number, value),
                    6..=8 => drop(send(&mut ring)),
                    9 => ring.set_weight(number, 1 + value % 5 * (value % 200)),
                    10 => ring.set_quantum(1 + value),
                    _ => drop(ring.give_up(number, if value % 2 == 0 { End::Oldest } else { End::Newest })),
                }
                ring.check_invariants(|number, packet| packet.flow.index() == number);
                for member in &ring.members {
                    prop_assert!(member.deficit < member.quantum(ring.quantum) + 1600, "{member:?}");
                }
            }
        }
    }

    #[test]
    fn a_quantum_that_is_lowered_and_raised_in_a_turn_adds_nothing_to_it() {
        let mut ring = ring(1000);
        for number in [0, 1] {
            (0..30).for_each(|_| push(&mut ring, number, 100));
        }
        (0..6).for_each(|_| _ = send(&mut ring));
        for weight in [1, 3, 1, 3] {
            (0..2).for_each(|number| ring.set_weight(number, weight));
        }
        assert_eq!((ring.members[0].deficit, ring.members[1].deficit), (0, 3000), "0 has its turn, 1 waits for it");
        let order: Vec<_> = core::iter::from_fn(|| send(&mut ring)).map(|(number, _)| number).collect();
        assert_eq!([order.iter().take_while(|number| **number == 1).count(), order.len()], [30, 54]);
    }

    #[test]
    fn places_tell_who_is_served_sooner() {
        let mut ring = ring(1000);
        for number in [2, 0] {
            (0..3).for_each(|_| push(&mut ring, number, 600));
        }
        assert!(ring.place(2) < ring.place(0) && ring.place(0) < ring.place(1), "1 is not in the ring");
        assert_eq!([send(&mut ring), send(&mut ring)], [Some((2, 600)), Some((0, 600))]);
        assert!(ring.place(0) < ring.place(2), "2 has gone to the back; 0 still has the turn");
    }
}
