//! Finds the queue that gives up a packet when the buffer is full: the longest, or the one that
//! Linux takes for it.
//!
//! Linux keeps all queues in a heap. A queue that has become shorter is exchanged with the longer
//! of its two children, and then compared no more, because further down the children are compared
//! with the child that went up. So a queue may stay above a longer one. Which one depends on the
//! buckets of flows, which are their hashes.
//!
//! Source: what Linux 6.1 drops when the buckets are known (`peers/linux`, `cake_overflow`).

use alloc::boxed::Box;
use alloc::vec::Vec;

use super::hosts::BUCKETS;
use crate::mechanisms::longest::Longest;

/// Tins for which the kernel's heap has room, in use or not.
const TINS: usize = 8;

/// Queues in the kernel's heap.
const QUEUES: usize = TINS * BUCKETS;

/// Packets that leave before the kernel follows changes no longer.
const ATTENTION: u32 = 65_535;

/// The index of queues by length. It sleeps until the buffer is full for the first time.
#[derive(Debug, Clone, Default)]
pub(super) struct Overflow {
    index: Option<Box<Index>>,
}

#[derive(Debug, Clone)]
enum Index {
    Longest(Longest),
    Linux(KernelHeap),
}

impl Overflow {
    /// Memory once the buffer was full.
    pub(super) const fn bytes(is_linux: bool, tins: usize) -> usize {
        let index = if is_linux {
            QUEUES * KernelHeap::BYTES_PER_QUEUE
        } else {
            // The index grows by doubling.
            let queues = (tins * BUCKETS).next_power_of_two();
            Longest::FIXED_BYTES + queues * Longest::BYTES_PER_QUEUE
        };
        size_of::<Index>() + index
    }

    /// The queue at this bucket of this tin has become longer.
    #[inline]
    pub(super) fn grew(&mut self, tin: usize, bucket: usize, size: u64) {
        if let Some(index) = &mut self.index {
            index.grew(tin, bucket, size);
        }
    }

    /// The queue at this bucket of this tin has become shorter.
    #[inline]
    pub(super) fn shrank(&mut self, tin: usize, bucket: usize, size: u64) {
        if let Some(index) = &mut self.index {
            index.shrank(tin, bucket, size);
        }
    }

    /// A packet leaves the discipline.
    #[inline]
    pub(super) fn sent(&mut self) {
        if let Some(index) = &mut self.index {
            index.sent();
        }
    }

    /// Tin and bucket of the queue that gives up its first packet. `sizes` are the queues', tin
    /// after tin.
    pub(super) fn find(
        &mut self,
        is_linux: bool,
        sizes: impl Iterator<Item = u64> + Clone,
    ) -> Option<(usize, usize)> {
        let index = self
            .index
            .get_or_insert_with(|| Box::new(Index::new(is_linux)));
        match &mut **index {
            Index::Longest(longest) => {
                let number = longest.find(sizes)?;
                Some((number / BUCKETS, number % BUCKETS))
            }
            Index::Linux(heap) => {
                let number = heap.find(sizes)?;
                Some((number % TINS, number / TINS))
            }
        }
    }
}

impl Index {
    fn new(is_linux: bool) -> Self {
        if is_linux {
            Self::Linux(KernelHeap::default())
        } else {
            Self::Longest(Longest::default())
        }
    }

    #[inline(never)]
    fn grew(&mut self, tin: usize, bucket: usize, size: u64) {
        match self {
            Self::Longest(longest) => longest.changed(tin * BUCKETS + bucket, size),
            Self::Linux(heap) => heap.grew(bucket * TINS + tin, size),
        }
    }

    #[inline(never)]
    fn shrank(&mut self, tin: usize, bucket: usize, size: u64) {
        match self {
            Self::Longest(longest) => longest.changed(tin * BUCKETS + bucket, size),
            Self::Linux(heap) => heap.shrank(bucket * TINS + tin, size),
        }
    }

    #[inline(never)]
    fn sent(&mut self) {
        if let Self::Linux(heap) = self {
            heap.attention = heap.attention.saturating_sub(1);
        }
    }
}

/// The kernel's heap. Queues are numbered bucket after bucket, and in a bucket tin after tin.
#[derive(Debug, Clone, Default)]
struct KernelHeap {
    /// Queues, those before at the top. Filled by the first search.
    order: Vec<u16>,
    /// Where each queue is in this order.
    positions: Vec<u16>,
    sizes: Vec<u64>,
    /// Packets that may leave before changes are followed no longer.
    attention: u32,
}

impl KernelHeap {
    const BYTES_PER_QUEUE: usize = 2 * size_of::<u16>() + size_of::<u64>();

    fn grew(&mut self, queue: usize, size: u64) {
        if self.attention == 0 {
            return;
        }
        self.sizes[queue] = size;
        let mut at = usize::from(self.positions[queue]);
        while at > 0 {
            let parent = (at - 1) / 2;
            if self.size(at) <= self.size(parent) {
                break;
            }
            self.exchange(at, parent);
            at = parent;
        }
    }

    fn shrank(&mut self, queue: usize, size: u64) {
        if self.attention > 0 {
            self.sizes[queue] = size;
            self.sift(self.positions[queue].into());
        }
    }

    fn find(&mut self, sizes: impl Iterator<Item = u64> + Clone) -> Option<usize> {
        loop {
            let is_fresh = self.attention == 0;
            if is_fresh {
                self.build(sizes.clone());
            }
            self.attention = ATTENTION;
            let first = usize::from(self.order[0]);
            if self.sizes[first] > 0 {
                return Some(first);
            }
            // The first queue is empty, so the heap has gone wrong, and is built again.
            self.attention = 0;
            if is_fresh {
                return None;
            }
        }
    }

    /// Orders all queues, from the order that they have.
    fn build(&mut self, sizes: impl Iterator<Item = u64>) {
        if self.order.is_empty() {
            self.order = (0..QUEUES as u16).collect();
            self.positions = self.order.clone();
            self.sizes = alloc::vec![0; QUEUES];
        }
        for (number, size) in sizes.enumerate() {
            self.sizes[number % BUCKETS * TINS + number / BUCKETS] = size;
        }
        for at in (0..QUEUES / 2).rev() {
            self.sift(at);
        }
    }

    /// Lets the queue here sink. What it is compared with after a step is the queue that has gone up.
    fn sift(&mut self, mut at: usize) {
        let mut most = self.size(at);
        loop {
            let mut larger = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if child < QUEUES && self.size(child) > most {
                    larger = child;
                    most = self.size(child);
                }
            }
            if larger == at {
                return;
            }
            self.exchange(at, larger);
            at = larger;
        }
    }

    fn size(&self, at: usize) -> u64 {
        self.sizes[usize::from(self.order[at])]
    }

    fn exchange(&mut self, one: usize, other: usize) {
        self.order.swap(one, other);
        for at in [one, other] {
            self.positions[usize::from(self.order[at])] = at as u16;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of queues by their number in the kernel's heap.
    fn sizes(queues: &[(usize, u64)]) -> impl Iterator<Item = u64> + Clone {
        (0..QUEUES).map(move |number| {
            let queue = number % BUCKETS * TINS + number / BUCKETS;
            let found = queues.iter().find(|(of, _)| *of == queue);
            found.map_or(0, |(_, size)| *size)
        })
    }

    #[test]
    fn a_fresh_heap_finds_the_longest_queue() {
        let mut heap = KernelHeap::default();
        assert_eq!(heap.find(sizes(&[])), None);
        let queues = [(9, 5), (8000, 9), (77, 7)];
        assert_eq!(heap.find(sizes(&queues)), Some(8000));
        heap.shrank(8000, 6);
        assert_eq!(heap.find(sizes(&[])), Some(77), "sizes are followed");
    }

    /// The longest queue hides below one that has sunk by one level.
    #[test]
    fn a_queue_that_has_sunk_hides_a_longer_one() {
        let queues = [(0, 30), (1, 25), (3, 20)];
        let mut heap = KernelHeap::default();
        assert_eq!(heap.find(sizes(&queues)), Some(0));
        heap.shrank(0, 15);
        assert_eq!(heap.find(sizes(&[])), Some(1));
        heap.shrank(1, 12);
        assert_eq!(heap.find(sizes(&[])), Some(0), "and 3 has 20");
        let exact = sizes(&[(0, 15), (1, 12), (3, 20)]);
        assert_eq!(Overflow::default().find(false, exact), Some((3, 0)));
    }

    #[test]
    fn an_empty_queue_at_the_top_is_noticed() {
        let mut heap = KernelHeap::default();
        heap.find(sizes(&[(0, 30), (3, 20)]));
        heap.shrank(0, 0);
        // 1 and 2 are empty, and 3 is below 1.
        assert_eq!(heap.order[0], 3, "built with 3 above 1");
        let index = Some(Box::new(Index::Linux(heap)));
        let mut overflow = Overflow { index };
        for _ in 0..ATTENTION {
            overflow.sent();
        }
        overflow.grew(7, 0, 50);
        let now = sizes(&[(3, 20), (7, 50)]);
        assert_eq!(overflow.find(true, now), Some((7, 0)), "built anew");
    }
}
