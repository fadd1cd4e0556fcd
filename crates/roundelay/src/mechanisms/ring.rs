//! Deficit round robin over numbered queues, shared by `drr`, `sfq` and `mqfq`, which differ in how
//! they assign flows to queues.
//!
//! Backlogged queues stand in a ring. The front queue sends while its deficit covers the head
//! packet. Then the deficit grows by the quantum for the next turn, and the queue goes to the back.
//! An emptied queue leaves the ring and loses its deficit. Rounds in which no queue can send are
//! counted, not walked, so a packet costs at most a few walks of the ring, for any quantum.
//!
//! A queue's record is half a cache line, and the ring order is an array, so the records and
//! packets of coming turns can be prefetched. [`prefetch_pushes`](Ring::prefetch_pushes) and
//! [`prefetch_sends`](Ring::prefetch_sends) prefetch for a burst, while sends of single packets
//! look ahead on their own. Both do nothing while the packets fit a near cache.
//!
//! Source: M. Shreedhar, G. Varghese, "Efficient Fair Queueing Using Deficit Round-Robin", IEEE/ACM
//! ToN 4(3), 1996.
//!
//! A queue emptied by push-out keeps its position until the next turn, so leaving needs no search.
//! If packets arrive earlier, the queue has lost only the packet and the deficit. If the emptied
//! queue held the current turn, the turn ends, because a refilled queue would otherwise get a
//! second quantum in one turn. If the quantum changes while packets wait, it takes effect at the
//! next turn. A smaller quantum also cuts the current turn.

use alloc::vec::Vec;

use crate::config::saturated;
use crate::drops::{Refusal, Refused};
use crate::limit::Backlog;
use crate::mechanisms::longest::Longest;
use crate::mechanisms::round::Round;
use crate::packet::{FlowId, Packet};
use crate::pool::{Nodes, Pool, Queue, Storage};
use crate::prefetch::prefetch;

/// The queues, their turns and their packets.
#[derive(Debug, Clone)]
pub(crate) struct Ring<T, P = Nodes<T>> {
    pool: Pool<T, P>,
    members: Vec<Member>,
    /// Members that wait for a turn. The front member has it.
    order: Round,
    /// Turns whose new credit did not cover the head packet, since rounds were last counted.
    short_turns: usize,
    longest: Longest,
    /// Of a member of weight 1.
    quantum: u32,
    /// For each member the value of `moves` when it last went to the back, which gives the order in
    /// the ring. Empty unless requested.
    positions: Vec<u64>,
    /// Moves of members to the back, in total.
    moves: u64,
}

/// A queue's record, half a cache line: everything that a packet touches of its queue.
#[derive(Debug, Clone)]
#[repr(align(32))]
struct Member {
    queue: Queue,
    /// Bytes left for this turn or credited for the next. At most `u32::MAX`, enough for any
    /// packet.
    deficit: u32,
    weight: u16,
    in_ring: bool,
    /// Reset the weight when the last packet leaves.
    leaves: bool,
}

/// The packet to give up: oldest or newest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    Oldest,
    Newest,
}

impl<T, P: Storage<T>> Ring<T, P> {
    /// Memory for each queue, including the index of the longest queue.
    pub(crate) const BYTES_PER_QUEUE: usize =
        size_of::<Member>() + size_of::<u32>() + Longest::BYTES_PER_QUEUE;
    /// Memory of the longest queue's index, once awake.
    pub(crate) const FIXED_BYTES: usize = Longest::FIXED_BYTES;

    /// `queues` empty queues, each with `quantum` bytes a turn.
    pub(crate) fn empty(quantum: u32, queues: usize) -> Self {
        let mut ring = Self {
            pool: Pool::empty(),
            members: Vec::new(),
            order: Round::with_room(queues),
            short_turns: 0,
            longest: Longest::default(),
            quantum,
            positions: Vec::new(),
            moves: 0,
        };
        ring.members.reserve_exact(queues);
        ring.members.resize(queues, Member::EMPTY);
        ring
    }

    /// Records the order for [`position`](Self::position), for the present queues.
    pub(crate) fn with_positions(mut self) -> Self {
        self.positions = alloc::vec![0; self.members.len()];
        self
    }

    /// Adds queues up to this number.
    #[cold]
    #[inline(never)]
    pub(crate) fn add_up_to(&mut self, number: usize) {
        if number >= self.members.len() {
            self.members.resize(number + 1, Member::EMPTY);
        }
    }

    /// Number of queues.
    pub(crate) fn queues(&self) -> usize {
        self.members.len()
    }

    /// Read access to one queue.
    pub(crate) fn queue(&self, number: usize) -> &Queue {
        &self.members[number].queue
    }

    /// Backlog of all queues.
    #[inline]
    pub(crate) fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    /// Appends a packet to a queue, or returns the packet if the queue does not exist.
    #[inline(always)]
    pub(crate) fn push(&mut self, number: usize, packet: Packet<T>) -> Result<(), Refused<T>> {
        if number >= self.members.len() {
            return Err(packet.refused(Refusal::FlowNumber));
        }
        if let Err(reason) = self.pool.make_room_for(&packet) {
            return Err(packet.refused(reason));
        }
        self.append(number, |pool, queue| pool.push(queue, packet));
        Ok(())
    }

    /// Appends a packet to a queue. A queue without packets joins the ring.
    #[inline(always)]
    fn append(&mut self, number: usize, put: impl FnOnce(&mut Pool<T, P>, &mut Queue)) {
        let member = &mut self.members[number];
        if member.queue.is_empty() {
            // The paper's enqueuing module: a flow that was idle joins the active list. Q_i counts
            // from now.
            member.deficit = member.quantum(self.quantum);
            if !member.in_ring {
                member.in_ring = true;
                self.order.push_back(number as u32);
                moved_back(&mut self.positions, &mut self.moves, number);
            }
        }
        put(&mut self.pool, &mut member.queue);
        if self.longest.is_awake() {
            self.measure(number);
        }
    }

    /// The next queue to send.
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

    /// Sends a packet of the queue that has the [`turn`](Self::turn).
    #[inline(always)]
    pub(crate) fn send(&mut self) -> Option<P::Leaving> {
        self.send_next(self.pool.is_very_far())
    }

    /// [`send`](Self::send) with prefetching for the next turns, unless
    /// [`prefetch_sends`](Self::prefetch_sends) has been called.
    #[inline(always)]
    pub(crate) fn send_next(&mut self, looks_ahead: bool) -> Option<P::Leaving> {
        loop {
            let number = self.order.front();
            let member = self.members.get_mut(number)?;
            // The paper's dequeuing module: send while the head packet is no longer than DC_i.
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
            // Last, as the call moves the packet directly to the caller's memory.
            return self.pool.pop(&mut member.queue);
        }
    }

    /// Prefetches the memory touched by pushes into these queues: the queues' records, the free
    /// slots, then the tail packet of each queue.
    pub(crate) fn prefetch_pushes(&self, numbers: impl Iterator<Item = usize> + Clone) {
        if !self.pool.is_far() {
            return;
        }
        for number in numbers.clone() {
            prefetch(&self.members, number);
        }
        self.pool.prefetch_free(numbers.clone().count());
        for number in numbers {
            if let Some(member) = self.members.get(number) {
                self.pool.prefetch_tail(&member.queue);
            }
        }
    }

    /// Prefetches the memory touched by the next `packets` sends: the head packets of the queues
    /// with the next turns, then the second packets of the same turns. For the next call, it also
    /// prefetches the records of the queues after those.
    pub(crate) fn prefetch_sends(&self, packets: usize) {
        if !self.pool.is_far() {
            return;
        }
        for turns in 0..packets {
            let Some(number) = self.order.get(turns) else {
                break;
            };
            self.pool.prefetch_head(&self.members[number].queue);
        }
        for turns in packets..2 * packets {
            let Some(number) = self.order.get(turns) else {
                break;
            };
            prefetch(&self.members, number);
        }
        for turns in 0..packets {
            let Some(number) = self.order.get(turns) else {
                break;
            };
            let Member { queue, deficit, .. } = &self.members[number];
            self.pool.prefetch_behind_head(queue, 1, *deficit);
        }
    }

    /// Prefetches for later turns, and reports this queue's length without the packet about to
    /// leave.
    #[inline(never)]
    fn prepare(&mut self, number: usize, looks_ahead: bool) {
        let Member { queue, deficit, .. } = &self.members[number];
        if looks_ahead {
            self.look_ahead();
            let most = if self.order.len() < Self::RECORDS_AHEAD {
                u32::MAX
            } else {
                deficit.saturating_add(queue.head_len())
            };
            self.pool.prefetch_behind_head(queue, 1, most);
        }
        self.longest.changed(number, queue.size_behind_head());
    }

    /// Distances in turns at which a queue's record is prefetched, then its first packet, then the
    /// second and the third if its deficit allows.
    const RECORDS_AHEAD: usize = 32;
    const HEADS_AHEAD: usize = 20;
    const SECONDS_AHEAD: usize = 12;
    const THIRDS_AHEAD: usize = 6;

    #[inline]
    fn look_ahead(&self) {
        if let Some(number) = self.order.get(Self::RECORDS_AHEAD) {
            prefetch(&self.members, number);
        }
        for (turns, links) in [
            (Self::HEADS_AHEAD, 0),
            (Self::SECONDS_AHEAD, 1),
            (Self::THIRDS_AHEAD, 2),
        ] {
            let Some(number) = self.order.get(turns) else {
                continue;
            };
            let Member { queue, deficit, .. } = &self.members[number];
            let most = if links == 0 { u32::MAX } else { *deficit };
            self.pool.prefetch_behind_head(queue, links, most);
        }
    }

    /// Ends a turn: credits the queue for its next turn and moves the queue to the back.
    #[inline]
    fn end_turn(&mut self, number: usize) {
        let member = &mut self.members[number];
        // DC_i = DC_i + Q_i, at the end of the turn before.
        member.deficit = member.deficit.saturating_add(member.quantum(self.quantum));
        let is_short = member.deficit < member.queue.head_len();
        self.order.rotate();
        moved_back(&mut self.positions, &mut self.moves, number);
        if is_short {
            self.count_short_turn();
        }
    }

    /// Ends the current turn if its credit does not cover the next packet. If that waited for the
    /// next send, a queue that becomes backlogged in between would stand before the queue just
    /// served.
    pub(crate) fn end_spent_turn(&mut self) {
        let number = self.order.front();
        if self
            .members
            .get(number)
            .is_some_and(|member| member.queue.head_len() > member.deficit)
        {
            self.end_turn(number);
        }
    }

    /// Once there were more short turns (credit below the head packet) than queues in the ring,
    /// counts rounds instead of walking them.
    #[cold]
    #[inline(never)]
    fn count_short_turn(&mut self) {
        self.short_turns += 1;
        if self.short_turns > self.order.len() {
            self.short_turns = 0;
            self.skip_rounds();
        }
    }

    /// Reports a queue's present length to the longest queue's index.
    #[cold]
    #[inline(never)]
    fn measure(&mut self, number: usize) {
        self.longest
            .changed(number, self.members[number].queue.size());
    }

    /// Sets the length of the head of a child's queue, in a tree's class.
    pub(crate) fn set_len(&mut self, number: usize, len: u32) {
        if let Some(member) = self.members.get_mut(number) {
            self.pool.set_head_len(&mut member.queue, len);
            self.measure(number);
        }
    }

    /// [`send`](Self::send), with a packet of the same flow from `refill` appended before the queue
    /// can count as empty. The queue number is the flow number.
    pub(crate) fn send_refilled(
        &mut self,
        mut refill: impl FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<P::Leaving> {
        let number = self.turn()?;
        let member = &mut self.members[number];
        member.deficit -= member.queue.head_len();
        let packet = self.pool.pop(&mut member.queue)?;
        if let Some(next) = refill(FlowId(number as u32)) {
            self.pool.refill(&mut member.queue, next);
        }
        self.longest.changed(number, member.queue.size());
        if member.queue.is_empty() {
            self.end_backlog(number);
        }
        Some(packet)
    }

    /// Removes a packet without a turn (push-out).
    pub(crate) fn give_up(&mut self, number: usize, end: End) -> Option<P::Leaving> {
        let queue = &mut self.members.get_mut(number)?.queue;
        let packet = match end {
            End::Oldest => self.pool.pop(queue),
            End::Newest => self.pool.pop_tail(queue),
        };
        if packet.is_some() && queue.is_empty() {
            self.end_backlog(number);
        }
        self.longest
            .changed(number, self.members[number].queue.size());
        packet
    }

    /// The queue with the most bytes. None if all are empty.
    pub(crate) fn longest(&mut self) -> Option<usize> {
        self.longest
            .find(self.members.iter().map(|member| member.queue.size()))
    }

    /// Sets the quantum of all queues, to be multiplied by their weights. Weights are lowered to at
    /// most `u32::MAX` bytes a turn, which concerns weights above 4095 with quanta above 64 KB.
    pub(crate) fn set_quantum(&mut self, quantum: u32) {
        let before = core::mem::replace(&mut self.quantum, quantum);
        for number in 0..self.members.len() {
            let quantum_before = self.members[number].quantum(before);
            self.members[number].weight = self.at_most_a_turn(self.members[number].weight.into());
            self.change_quantum(number, quantum_before);
        }
    }

    /// The weight, lowered to at most `u32::MAX` bytes a turn.
    fn at_most_a_turn(&self, weight: u32) -> u16 {
        weight.min(u32::MAX / self.quantum) as u16
    }

    /// Sets a queue's weight: `weight` times the quantum a turn, at most `u32::MAX` bytes.
    pub(crate) fn set_weight(&mut self, number: usize, weight: u32) {
        self.add_up_to(number);
        let weight = self.at_most_a_turn(weight);
        let member = &mut self.members[number];
        let before = member.quantum(self.quantum);
        (member.leaves, member.weight) = (false, weight);
        self.change_quantum(number, before);
    }

    /// A queue waiting for its turn gets the new quantum in that turn. A turn already begun is cut
    /// by a smaller quantum but does not grow with a larger one, because nobody knows how many
    /// bytes of it are sent, so each lowering and raising would add to the turn.
    fn change_quantum(&mut self, number: usize, before: u32) {
        let has_turn = self.order.front() == number;
        let member = &mut self.members[number];
        let quantum = member.quantum(self.quantum);
        if member.queue.is_empty() || has_turn && quantum > before {
            return;
        }
        let deficit =
            (u64::from(member.deficit) + u64::from(quantum)).saturating_sub(before.into());
        member.deficit = saturated(deficit);
    }

    /// Resets a queue's weight to 1 once the queue is empty.
    pub(crate) fn forget_weight(&mut self, number: usize) {
        let Some(member) = self.members.get_mut(number) else {
            return;
        };
        member.leaves = true;
        if member.queue.is_empty() {
            member.end_backlog();
        }
    }

    /// Rounds before a packet of `len` bytes, pushed now, would be sent: 0 if sent in the queue's
    /// next turn or in the current one.
    pub(crate) fn rounds_before_service(&self, number: usize, len: u32) -> u64 {
        let member = &self.members[number];
        let quantum = u64::from(member.quantum(self.quantum));
        let credit = if member.queue.is_empty() {
            quantum
        } else {
            member.deficit.into()
        };
        // MQFQ's Eq. 1: max(ceil((q + p - d - w) / w), 0). `credit` is d + w, because the credit
        // for a turn is given when the turn before ends.
        (member.queue.bytes() + u64::from(len))
            .saturating_sub(credit)
            .div_ceil(quantum)
    }

    /// Orders two queues in the ring: the smaller value has the earlier turn. A queue outside the
    /// ring would come last.
    pub(crate) fn position(&self, number: usize) -> u64 {
        if self.members[number].in_ring {
            self.positions[number]
        } else {
            u64::MAX
        }
    }

    /// Merges all queues into one, taking a packet from each in turn.
    pub(crate) fn drain_in_turns(&mut self) -> Queue {
        let mut all = Queue::default();
        while let Some(member) = self.members.get_mut(self.order.front()) {
            if self.pool.move_head(&mut member.queue, &mut all) {
                self.order.rotate();
            } else {
                (member.deficit, member.in_ring) = (0, false);
                self.longest.changed(self.order.front(), 0);
                self.order.pop_front();
            }
        }
        all
    }

    /// The flow of the next packet of a [drained](Self::drain_in_turns) queue.
    pub(crate) fn next_drained(&self, all: &Queue) -> Option<FlowId> {
        self.pool.head_flow(all)
    }

    /// Moves the next drained packet to the end of an existing queue.
    pub(crate) fn put_back(&mut self, all: &mut Queue, number: usize) {
        self.append(number, |pool, queue| _ = pool.move_head(all, queue));
    }

    /// The queue has lost its last packet, so it forfeits its deficit and, if it has the turn, the
    /// turn.
    fn end_backlog(&mut self, number: usize) {
        let member = &mut self.members[number];
        member.end_backlog();
        if self.order.front() == number {
            member.in_ring = false;
            self.order.pop_front();
        }
    }

    /// Credits all queues at once for the rounds in which no queue can send.
    fn skip_rounds(&mut self) {
        let mut least: Option<u32> = None;
        for number in self.order.iter() {
            let member = &self.members[number as usize];
            if !member.queue.is_empty() {
                let short = member.queue.head_len().saturating_sub(member.deficit);
                let rounds = short.div_ceil(member.quantum(self.quantum));
                least = Some(least.map_or(rounds, |least| least.min(rounds)));
            }
        }
        let rounds = least.unwrap_or(0).saturating_sub(1);
        for number in self.order.iter() {
            let member = &mut self.members[number as usize];
            let credit = if member.queue.is_empty() {
                0
            } else {
                u64::from(rounds) * u64::from(member.quantum(self.quantum))
            };
            member.deficit = saturated(u64::from(member.deficit) + credit);
        }
    }

    /// 1. A queue is in the ring exactly once if `in_ring` is set. A backlogged queue has `in_ring`
    ///    set.
    /// 2. Lemma 1 of the paper: an empty queue has no deficit.
    /// 3. The head packet of a queue is in the right queue by `is_at_home`, if its flow is known.
    /// 4. Positions (`positions`) rise from front to back.
    /// 5. A backlogged queue waiting for its turn has at least its quantum. (And less than a packet
    ///    more, because the carried deficit did not cover one packet.)
    #[cfg(any(test, debug_assertions))]
    pub(crate) fn check_invariants(&self, is_at_home: impl Fn(usize, FlowId) -> bool) {
        let mut stands = alloc::vec![0; self.members.len()];
        for number in self.order.iter() {
            stands[number as usize] += 1;
        }
        let mut bytes = 0;
        for (number, member) in self.members.iter().enumerate() {
            bytes += member.queue.bytes();
            assert_eq!(
                stands[number],
                usize::from(member.in_ring),
                "ring, invariant 1: in it once"
            );
            assert!(
                member.in_ring || member.queue.is_empty(),
                "ring, invariant 1: a backlogged queue is in it"
            );
            assert!(
                !member.queue.is_empty() || member.deficit == 0,
                "ring, invariant 2: an empty queue carries nothing"
            );
            let waits = !member.queue.is_empty() && self.order.front() != number;
            assert!(
                !waits || member.deficit >= member.quantum(self.quantum),
                "ring, invariant 5: a quantum for the next turn"
            );
            let flow = self.pool.head_flow(&member.queue);
            assert!(
                flow.is_none_or(|flow| is_at_home(number, flow)),
                "ring, invariant 3: packets are where they belong"
            );
            self.pool.check_queue(&member.queue);
        }
        let positions = self
            .order
            .iter()
            .filter_map(|number| self.positions.get(number as usize));
        assert!(
            positions.is_sorted(),
            "ring, invariant 4: places rise from front to back"
        );
        assert_eq!(
            bytes,
            self.pool.backlog().bytes,
            "ring: the queues' backlogs add up"
        );
    }
}

/// By value.
impl<T> Ring<T> {
    /// [`empty`](Self::empty).
    pub(crate) fn new(quantum: u32, queues: usize) -> Self {
        Self::empty(quantum, queues)
    }

    /// Removes all packets selected by `goes` from a queue. This is the only call that walks a
    /// queue.
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
        self.longest
            .changed(number, self.members[number].queue.size());
    }
}

impl Member {
    const EMPTY: Self = Self {
        queue: Queue::EMPTY,
        deficit: 0,
        weight: 1,
        in_ring: false,
        leaves: false,
    };

    /// The credit for a turn.
    #[inline]
    const fn quantum(&self, of_weight_1: u32) -> u32 {
        self.weight as u32 * of_weight_1
    }

    /// Without packets the queue forfeits its deficit, and also its weight if it is marked
    /// `leaves`.
    #[inline]
    const fn end_backlog(&mut self) {
        self.deficit = 0;
        if self.leaves {
            (self.leaves, self.weight) = (false, 1);
        }
    }
}

/// Records a move to the back, if positions are tracked.
#[inline]
fn moved_back(positions: &mut [u64], moves: &mut u64, number: usize) {
    if let Some(position) = positions.get_mut(number) {
        *moves += 1;
        *position = *moves;
    }
}

const _: () = assert!(
    size_of::<Member>() == 32,
    "a cache line holds two members, whole"
);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn ring(quantum: u32) -> Ring<()> {
        Ring::new(quantum, 3).with_positions()
    }

    fn push(ring: &mut Ring<()>, number: usize, len: u32) {
        ring.push(number, Packet::new(FlowId(number as u32), len, ()))
            .expect("there is such a queue");
    }

    fn send(ring: &mut Ring<()>) -> Option<(usize, u32)> {
        let number = ring.turn()?;
        let packet = ring.send()?;
        ring.check_invariants(|number, flow| flow.index() == number);
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
        assert_eq!(
            (ring.turn(), ring.members[0].deficit),
            (Some(1), 1100),
            "100 left of this turn, and those of the next"
        );
    }

    /// Rings with more packets than a near cache holds prefetch. Prefetching must not change the
    /// order of service.
    #[test]
    fn what_is_far_is_served_in_the_same_order() {
        let rings = [false, true].map(|in_bursts| {
            let mut ring = Ring::new(1514, 100);
            let len = |serial: u32| 40 + serial * 7919 % 1461;
            for serial in 0..12_000u32 {
                let number = (serial * serial / 7 % 100) as usize;
                if in_bursts && serial % 32 == 0 {
                    ring.prefetch_pushes(
                        (serial..serial + 32)
                            .map(|serial: u32| (serial * serial / 7 % 101) as usize),
                    );
                }
                ring.push(
                    number,
                    Packet::new(FlowId(number as u32), len(serial), serial),
                )
                .expect("there is such a queue");
            }
            assert!(ring.pool.is_far());
            let mut order = Vec::new();
            while ring.backlog().packets > 0 {
                if in_bursts && order.len() % 32 == 0 {
                    ring.prefetch_sends(32);
                }
                order.extend(
                    if in_bursts {
                        ring.send_next(false)
                    } else {
                        ring.send()
                    }
                    .map(|packet| packet.payload),
                );
                if order.len() % 1000 == 0 {
                    ring.check_invariants(|number, flow| flow.index() == number);
                }
            }
            order
        });
        assert_eq!(rings[0].len(), 12_000);
        assert_eq!(rings[0], rings[1]);
    }

    proptest! {
        /// Two packets pushed into two queues at once leave in the order given by rounds and
        /// positions.
        #[test]
        fn rounds_and_positions_tell_who_is_served_sooner(
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
            let key = |number, len| (ring.rounds_before_service(number, len), ring.position(number));
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
        /// Under any sequence of calls, including changes of the quantum, a turn is at most the
        /// quantum plus less than a packet.
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
                ring.check_invariants(|number, flow| flow.index() == number);
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
        assert_eq!(
            (ring.members[0].deficit, ring.members[1].deficit),
            (0, 3000),
            "0 has its turn, 1 waits for it"
        );
        let order: Vec<_> = core::iter::from_fn(|| send(&mut ring))
            .map(|(number, _)| number)
            .collect();
        assert_eq!(
            [
                order.iter().take_while(|number| **number == 1).count(),
                order.len()
            ],
            [30, 54]
        );
    }

    #[test]
    fn positions_tell_who_is_served_sooner() {
        let mut ring = ring(1000);
        for number in [2, 0] {
            (0..3).for_each(|_| push(&mut ring, number, 600));
        }
        assert!(
            ring.position(2) < ring.position(0) && ring.position(0) < ring.position(1),
            "1 is not in the ring"
        );
        assert_eq!(
            [send(&mut ring), send(&mut ring)],
            [Some((2, 600)), Some((0, 600))]
        );
        assert!(
            ring.position(0) < ring.position(2),
            "2 has gone to the back; 0 still has the turn"
        );
    }
}
