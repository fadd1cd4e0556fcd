//! Index of the flow with the longest backlog, for disciplines that push out its tail packet when
//! the buffer is full.

use alloc::boxed::Box;
use alloc::vec::Vec;

const NONE: u32 = u32::MAX;
/// Backlogs that differ by less than one part in 2^5 count as equally long.
const MANTISSA_BITS: u32 = 5;
const BUCKETS: usize = ((64 - MANTISSA_BITS as usize) + 1) << MANTISSA_BITS;
const WORDS: usize = BUCKETS.div_ceil(64);

/// Flows in buckets by backlog, a find-first-set over the buckets.
///
/// The index sleeps, for the cost of one branch a change, until the first search: a port that never
/// overflows does not pay. From then on each change moves a flow between buckets in constant time.
/// Buckets are logarithmic with 32 steps an octave: the flow found is within 1/32 of the longest,
/// and exact below 64 bytes.
#[derive(Debug, Clone, Default)]
pub(crate) struct Longest {
    /// None while asleep.
    index: Option<Box<Index>>,
}

#[derive(Debug, Clone)]
struct Index {
    heads: [u32; BUCKETS],
    links: Vec<Link>,
    words: [u64; WORDS],
    /// Bit w: word w is not zero.
    summary: u64,
}

#[derive(Debug, Clone, Copy)]
struct Link {
    previous: u32,
    next: u32,
    bucket: u32,
}

const UNLINKED: Link = Link { previous: NONE, next: NONE, bucket: NONE };

const fn bucket_of(bytes: u64) -> usize {
    if bytes < 1 << (MANTISSA_BITS + 1) {
        return bytes as usize;
    }
    let shift = 63 - bytes.leading_zeros() - MANTISSA_BITS;
    ((shift as usize) << MANTISSA_BITS) + (bytes >> shift) as usize
}

impl Longest {
    /// Memory once awake, for any number of queues.
    pub(crate) const FIXED_BYTES: usize = size_of::<Index>();
    /// Memory for each queue once awake.
    pub(crate) const BYTES_PER_QUEUE: usize = size_of::<Link>();

    /// The backlog of `flow` is now `bytes` ([`Queue::size`](crate::Queue::size): zero only if no packet waits).
    #[inline]
    pub(crate) fn changed(&mut self, flow: usize, bytes: u64) {
        if let Some(index) = &mut self.index {
            index.place(flow, bytes);
        }
    }

    /// Whether [`changed`](Self::changed) has any effect.
    #[inline]
    pub(crate) const fn is_awake(&self) -> bool {
        self.index.is_some()
    }

    /// A flow with the longest backlog. None if all are empty. `backlogs` are all flows' bytes in
    /// order of their numbers; only the first call reads them.
    pub(crate) fn find(&mut self, backlogs: impl Iterator<Item = u64>) -> Option<usize> {
        self.index.get_or_insert_with(|| Index::of(backlogs)).longest()
    }
}

impl Index {
    fn of(backlogs: impl Iterator<Item = u64>) -> Box<Self> {
        let mut index = Box::new(Self { heads: [NONE; BUCKETS], links: Vec::new(), words: [0; WORDS], summary: 0 });
        backlogs.enumerate().for_each(|(flow, bytes)| index.place(flow, bytes));
        index
    }

    fn longest(&self) -> Option<usize> {
        let word = self.summary.checked_ilog2()? as usize;
        let bucket = word * 64 + self.words[word].checked_ilog2()? as usize;
        Some(self.heads[bucket] as usize)
    }

    fn place(&mut self, flow: usize, bytes: u64) {
        if flow >= self.links.len() {
            self.links.resize(flow + 1, UNLINKED);
        }
        let bucket = if bytes == 0 { NONE } else { bucket_of(bytes) as u32 };
        if self.links[flow].bucket == bucket {
            return;
        }
        self.unlink(flow);
        if bucket != NONE {
            self.link(flow, bucket);
        }
    }

    fn link(&mut self, flow: usize, bucket: u32) {
        let next = self.heads[bucket as usize];
        self.heads[bucket as usize] = flow as u32;
        self.links[flow] = Link { previous: NONE, next, bucket };
        if let Some(neighbour) = self.links.get_mut(next as usize) {
            neighbour.previous = flow as u32;
        }
        let word = bucket as usize / 64;
        self.words[word] |= 1 << (bucket % 64);
        self.summary |= 1 << word;
    }

    fn unlink(&mut self, flow: usize) {
        let Link { previous, next, bucket } = self.links[flow];
        if bucket == NONE {
            return;
        }
        self.links[flow] = UNLINKED;
        if let Some(neighbour) = self.links.get_mut(next as usize) {
            neighbour.previous = previous;
        }
        if let Some(neighbour) = self.links.get_mut(previous as usize) {
            neighbour.next = next;
            return;
        }
        self.heads[bucket as usize] = next;
        if next == NONE {
            let word = bucket as usize / 64;
            self.words[word] &= !(1 << (bucket % 64));
            if self.words[word] == 0 {
                self.summary &= !(1 << word);
            }
        }
    }
}

const _: () = assert!(WORDS <= 64 && bucket_of(u64::MAX) < BUCKETS);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn buckets_grow_with_the_backlog() {
        let mut last = 0;
        for bytes in (0..4096).chain((12..64).map(|e| 1 << e)) {
            assert!(bucket_of(bytes) >= last);
            last = bucket_of(bytes);
        }
    }

    proptest! {
        #[test]
        fn it_finds_the_longest_within_a_thirty_second(
            before in prop::collection::vec(0u64..100_000, 1..20),
            changes in prop::collection::vec((0usize..20, 0u64..100_000), 0..200),
        ) {
            let mut model = before.clone();
            let mut longest = Longest::default();
            longest.find(before.iter().copied());
            for (flow, bytes) in changes {
                if flow >= model.len() {
                    model.resize(flow + 1, 0);
                }
                model[flow] = bytes;
                longest.changed(flow, bytes);
                let most = model.iter().copied().max().unwrap();
                match longest.find(core::iter::empty()) {
                    None => prop_assert_eq!(most, 0),
                    Some(found) => prop_assert!(model[found] * 33 >= most * 32, "{} of {}", model[found], most),
                }
            }
        }
    }
}
