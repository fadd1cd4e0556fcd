//! The index that finds the longest backlog, for disciplines that push out its tail packet when the
//! buffer is full.

use alloc::boxed::Box;

use crate::mechanisms::heap::Heap;

/// Flows in a heap, longest backlog first. Among equal backlogs the smallest flow number comes
/// first.
///
/// The index sleeps until the first search, so a port that never overflows pays only one branch for
/// each change. From then on, a change of the longest backlog costs one level of the heap for each
/// factor of eight in the flows' number. Other changes mostly cost one level.
#[derive(Debug, Clone, Default)]
pub(crate) struct Longest {
    /// None while asleep. A flow's key is the complement of its backlog.
    index: Option<Box<Heap<u64>>>,
}

impl Longest {
    /// Memory once awake, for any number of queues.
    pub(crate) const FIXED_BYTES: usize = size_of::<Heap<u64>>();
    /// Memory for each queue once awake, rounded down: a key, and a seventh for higher levels.
    pub(crate) const BYTES_PER_QUEUE: usize = size_of::<u64>() + size_of::<u64>() / 7;

    /// The backlog of `flow` is now `bytes` ([`Queue::size`](crate::author::Queue::size): zero only if no
    /// packet waits).
    #[inline]
    pub(crate) fn changed(&mut self, flow: usize, bytes: u64) {
        if let Some(index) = &mut self.index {
            set_key(index, flow, bytes);
        }
    }

    /// Whether [`changed`](Self::changed) has any effect.
    #[inline]
    pub(crate) const fn is_awake(&self) -> bool {
        self.index.is_some()
    }

    /// The flow with the longest backlog. None if all are empty. `backlogs` are all flows' bytes in
    /// order of their numbers. Only the first call reads them.
    pub(crate) fn find(&mut self, backlogs: impl Iterator<Item = u64>) -> Option<usize> {
        let awake = || {
            let mut index = Box::<Heap<u64>>::default();
            for (flow, bytes) in backlogs.enumerate() {
                index.make_room(flow + 1);
                set_key(&mut index, flow, bytes);
            }
            index
        };
        self.index
            .get_or_insert_with(awake)
            .first()
            .map(|(_, flow)| flow)
    }
}

#[inline(never)]
fn set_key(index: &mut Heap<u64>, flow: usize, bytes: u64) {
    match (index.key(flow), bytes) {
        (_, 0) => index.remove(flow),
        (None, bytes) => index.insert(flow, !bytes),
        (Some(_), bytes) => index.change(flow, !bytes),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    #[test]
    fn a_byte_more_is_longer() {
        let mut longest = Longest::default();
        assert_eq!(longest.find([1008, 60, 1009, 1009, 0].into_iter()), Some(2));
        longest.changed(0, 1010);
        assert_eq!(longest.find(core::iter::empty()), Some(0));
        (0..5).for_each(|flow| longest.changed(flow, 0));
        assert_eq!(longest.find(core::iter::empty()), None);
    }

    proptest! {
        #[test]
        fn it_finds_the_longest_and_the_first_of_equals(
            before in prop::collection::vec(0u64..100_000, 1..20),
            changes in prop::collection::vec((0usize..100, prop_oneof![0u64..4, 0u64..100_000]), 0..200),
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
                let ranks: Vec<_> = model.iter().enumerate().map(|(flow, bytes)| (core::cmp::Reverse(*bytes), flow)).collect();
                let first = ranks.into_iter().min().filter(|(bytes, _)| bytes.0 > 0).map(|(_, flow)| flow);
                prop_assert_eq!(longest.find(core::iter::empty()), first);
            }
        }
    }
}
