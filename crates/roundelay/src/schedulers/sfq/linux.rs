//! Linux's turns and push-out in sfq, for the parameter `linux`.
//!
//! | | Linux | without `linux` |
//! |---|---|---|
//! | a turn lasts | while the allotment is above zero: the last packet may overdraw it | while the deficit covers the packet |
//! | an emptied bucket | leaves the ring, also if emptied by push-out | emptied by push-out: keeps its place until its turn |
//! | the last packet of a bucket | is not charged: the bucket starts anew | the same |
//! | longest bucket | most packets; of equals the one that reached its length last | most bytes |
//! | no bucket has two packets | the arriving packet is dropped: Linux has no more flows than `limit` | the bucket with the longest packet |
//! | largest depth | 127; larger ones count as 127 | 65535 |
//!
//! Source: tc-sfq(8), and the order in which packets leave Linux 6.1 (`peers/linux`).

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::drops::Refusal;
use crate::limit::Backlog;
use crate::mechanisms::heap::Heap;
use crate::packet::{FlowId, Packet};
use crate::pool::{Pool, Queue, Storage};

/// Buckets with their packets, in turns.
#[derive(Debug, Clone)]
pub(super) struct Turns<T, P> {
    pool: Pool<T, P>,
    buckets: Vec<Bucket>,
    /// Buckets with packets. The front one has the turn.
    round: VecDeque<u32>,
    /// Backlogged buckets by [`rank`], the longest first.
    by_len: Heap<u128>,
    /// Changes of a bucket's length so far.
    changes: u64,
    /// Turns since the last sent packet, all of them only for allotments.
    fruitless_turns: usize,
}

#[derive(Debug, Clone, Default)]
struct Bucket {
    queue: Queue,
    /// Bytes left of this turn, or overdrawn.
    allotment: i64,
}

/// Orders buckets: more packets first, then the later change.
fn rank(packets: u32, change: u64) -> u128 {
    u128::from(!u64::from(packets)) << 64 | u128::from(!change)
}

impl<T, P: Storage<T>> Turns<T, P> {
    /// Memory of a bucket.
    pub(super) const BYTES_PER_BUCKET: usize =
        size_of::<Bucket>() + size_of::<u32>() + Heap::<u128>::BYTES_PER_POSITION;

    pub(super) fn new(buckets: usize) -> Self {
        let mut by_len = Heap::default();
        by_len.make_room(buckets);
        Self {
            pool: Pool::empty(),
            buckets: alloc::vec![Bucket::default(); buckets],
            round: VecDeque::with_capacity(buckets),
            by_len,
            changes: 0,
            fruitless_turns: 0,
        }
    }

    pub(super) fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    pub(super) fn packets_in(&self, bucket: usize) -> u32 {
        self.buckets[bucket].queue.packets()
    }

    pub(super) fn backlogged(&self) -> usize {
        self.round.len()
    }

    pub(super) fn make_room_for(&mut self, packet: &Packet<T>) -> Result<(), Refusal> {
        self.pool.make_room_for(packet)
    }

    /// Appends a packet to a bucket, with room made before.
    pub(super) fn push(&mut self, number: usize, packet: Packet<T>, quantum: u32) {
        let bucket = &mut self.buckets[number];
        if bucket.queue.is_empty() {
            bucket.allotment = quantum.into();
            self.round.push_back(number as u32);
        }
        self.pool.push(&mut bucket.queue, packet);
        self.changed(number);
    }

    /// Appends a packet to a full bucket and takes the oldest one out. The bucket's length does not
    /// change.
    pub(super) fn exchange(&mut self, number: usize, packet: Packet<T>) -> Option<P::Leaving> {
        let queue = &mut self.buckets[number].queue;
        self.pool.push(queue, packet);
        self.pool.pop(queue)
    }

    pub(super) fn send(&mut self, quantum: u32) -> Option<P::Leaving> {
        loop {
            let number = *self.round.front()? as usize;
            let bucket = &mut self.buckets[number];
            if bucket.allotment <= 0 {
                bucket.allotment += i64::from(quantum);
                self.round.rotate_left(1);
                self.count_fruitless_turn(quantum);
                continue;
            }
            self.fruitless_turns = 0;
            bucket.allotment -= i64::from(bucket.queue.head_len());
            let packet = self.pool.pop(&mut bucket.queue);
            if bucket.queue.is_empty() {
                self.round.pop_front();
            }
            self.changed(number);
            return packet;
        }
    }

    /// A packet from the longest bucket: its oldest if `is_oldest`, else its newest.
    pub(super) fn evict(&mut self, is_oldest: bool) -> Option<P::Leaving> {
        let (_, number) = self.by_len.first()?;
        let queue = &mut self.buckets[number].queue;
        let packet = if is_oldest {
            self.pool.pop(queue)
        } else {
            self.pool.pop_tail(queue)
        };
        if queue.is_empty() {
            // The arriving packet's bucket, at the back.
            let position = self
                .round
                .iter()
                .rposition(|bucket| *bucket as usize == number);
            position.and_then(|position| self.round.remove(position));
        }
        self.changed(number);
        packet
    }

    /// Empties all buckets into one queue, a packet from each in turn.
    pub(super) fn drain_in_turns(&mut self) -> Queue {
        let mut all = Queue::default();
        while let Some(number) = self.round.pop_front() {
            let queue = &mut self.buckets[number as usize].queue;
            let moves = self.pool.move_head(queue, &mut all);
            if moves && !queue.is_empty() {
                self.round.push_back(number);
            }
            self.changed(number as usize);
        }
        all
    }

    /// The flow of the next packet of a [drained](Self::drain_in_turns) queue.
    pub(super) fn next_drained(&self, all: &Queue) -> Option<FlowId> {
        self.pool.head_flow(all)
    }

    /// Moves the next drained packet to a bucket.
    pub(super) fn put_back(&mut self, all: &mut Queue, number: usize, quantum: u32) {
        let bucket = &mut self.buckets[number];
        if bucket.queue.is_empty() {
            bucket.allotment = quantum.into();
            self.round.push_back(number as u32);
        }
        self.pool.move_head(all, &mut bucket.queue);
        self.changed(number);
    }

    /// The bucket's length has changed.
    fn changed(&mut self, number: usize) {
        self.changes += 1;
        self.by_len.remove(number);
        let packets = self.buckets[number].queue.packets();
        if packets > 0 {
            self.by_len.insert(number, rank(packets, self.changes));
        }
    }

    /// After a round without a packet, gives all buckets at once their allotments for all further
    /// such rounds.
    fn count_fruitless_turn(&mut self, quantum: u32) {
        self.fruitless_turns += 1;
        if self.fruitless_turns < self.round.len() {
            return;
        }
        self.fruitless_turns = 0;
        let buckets = &mut self.buckets;
        let quantum = i64::from(quantum);
        let missing = self
            .round
            .iter()
            .map(|number| -buckets[*number as usize].allotment)
            .min()
            .unwrap_or(0);
        let rounds = if missing < 0 { 0 } else { missing / quantum };
        for number in &self.round {
            buckets[*number as usize].allotment += rounds * quantum;
        }
    }

    /// A backlogged bucket is in the round exactly once and has its rank. Other buckets are in
    /// neither.
    #[cfg(any(test, debug_assertions))]
    pub(super) fn check_invariants(&self, is_at_home: impl Fn(usize, FlowId) -> bool) {
        let mut turns = alloc::vec![0; self.buckets.len()];
        self.round
            .iter()
            .for_each(|number| turns[*number as usize] += 1);
        for (number, (bucket, turns)) in self.buckets.iter().zip(turns).enumerate() {
            let packets = bucket.queue.packets();
            assert_eq!(
                turns,
                usize::from(packets > 0),
                "linux: a backlogged bucket has one turn"
            );
            let ranked = self
                .by_len
                .key(number)
                .map_or(0, |rank| !((rank >> 64) as u64));
            assert_eq!(
                ranked,
                packets.into(),
                "linux: buckets are ordered by their packets"
            );
            let flow = self.pool.head_flow(&bucket.queue);
            assert!(
                flow.is_none_or(|flow| is_at_home(number, flow)),
                "linux: packets are where they belong"
            );
            self.pool.check_queue(&bucket.queue);
        }
    }
}
