//! Counts each flow's packets and bytes in a sample of fixed size. The hash table has a fixed size
//! too, for any number of flows.
//!
//! Open addressing with linear probing, at most half full. A flow leaves the table with its last
//! packet in the sample. The entries behind move up, so no entry has to be marked as deleted (D. E.
//! Knuth, The Art of Computer Programming, volume 3, section 6.4, algorithm R).

use alloc::vec::Vec;

use crate::mechanisms::hash::FlowHash;
use crate::packet::FlowId;

#[derive(Debug, Clone, Copy, Default)]
struct Entry {
    flow: FlowId,
    /// Zero for a free entry.
    packets: u32,
    bytes: u64,
}

/// The table.
#[derive(Debug, Clone)]
pub(crate) struct FlowCounts {
    entries: Vec<Entry>,
    hash: FlowHash,
}

impl FlowCounts {
    /// For samples of up to `packets` packets.
    pub(crate) fn new(packets: u32, hash: FlowHash) -> Self {
        Self {
            entries: alloc::vec![Entry::default(); (2 * packets as usize).next_power_of_two()],
            hash,
        }
    }

    /// Memory of a table for `packets` packets, in bytes.
    pub(crate) const fn bytes_for(packets: u32) -> usize {
        (2 * packets as usize).next_power_of_two() * size_of::<Entry>()
    }

    /// Bytes of the flow in the sample.
    pub(crate) fn bytes(&self, flow: FlowId) -> u64 {
        self.entries[self.find(flow)].bytes
    }

    pub(crate) fn add(&mut self, flow: FlowId, len: u32) {
        let slot = self.find(flow);
        let entry = &mut self.entries[slot];
        *entry = Entry {
            flow,
            packets: entry.packets + 1,
            bytes: entry.bytes + u64::from(len),
        };
    }

    /// Removes a packet added before.
    pub(crate) fn subtract(&mut self, flow: FlowId, len: u32) {
        let slot = self.find(flow);
        let entry = &mut self.entries[slot];
        entry.packets -= 1;
        entry.bytes -= u64::from(len);
        if entry.packets == 0 {
            self.close_gap(slot);
        }
    }

    /// The flow's position, or the free position for a new entry.
    fn find(&self, flow: FlowId) -> usize {
        let mut slot = self.home(flow);
        while self.entries[slot].packets > 0 && self.entries[slot].flow != flow {
            slot = self.after(slot);
        }
        slot
    }

    fn home(&self, flow: FlowId) -> usize {
        self.hash.bucket(flow, self.entries.len() as u32) as usize
    }

    const fn after(&self, slot: usize) -> usize {
        (slot + 1) & (self.entries.len() - 1)
    }

    /// Moves up the entries displaced by the entry formerly at `gap`.
    fn close_gap(&mut self, mut gap: usize) {
        let mut slot = self.after(gap);
        while self.entries[slot].packets > 0 {
            let away = |from: usize| slot.wrapping_sub(from) & (self.entries.len() - 1);
            if away(self.home(self.entries[slot].flow)) >= away(gap) {
                self.entries[gap] = self.entries[slot];
                gap = slot;
            }
            slot = self.after(slot);
        }
        self.entries[gap] = Entry::default();
    }

    pub(crate) fn check(&self, sample: &[(FlowId, u32)]) {
        let sum = |pick: fn(&Entry) -> u64| self.entries.iter().map(pick).sum::<u64>();
        assert_eq!(
            sum(|entry| entry.packets.into()),
            sample.len() as u64,
            "packets are those of the sample"
        );
        assert_eq!(
            sum(|entry| entry.bytes),
            sample.iter().map(|(_, len)| u64::from(*len)).sum(),
            "bytes are those of the sample"
        );
        for (slot, entry) in self
            .entries
            .iter()
            .enumerate()
            .filter(|(_, entry)| entry.packets > 0)
        {
            assert_eq!(self.find(entry.flow), slot, "each flow is found");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    proptest! {
        /// A table for eight packets has long chains that wrap round.
        #[test]
        fn it_counts_as_a_list_does(seed in any::<u64>(), calls in prop::collection::vec((0u32..12, 0u32..2000, any::<prop::sample::Index>()), 1..200)) {
            let mut counts = FlowCounts::new(8, FlowHash::new(Seed::new(seed), 0));
            let mut sample = Vec::new();
            for (flow, len, victim) in calls {
                if sample.len() == 8 {
                    let (flow, len) = sample.swap_remove(victim.index(8));
                    counts.subtract(flow, len);
                }
                sample.push((FlowId(flow), len));
                counts.add(FlowId(flow), len);
                counts.check(&sample);
                for flow in (0..12).map(FlowId) {
                    let bytes: u64 = sample.iter().filter(|(other, _)| *other == flow).map(|(_, len)| u64::from(*len)).sum();
                    prop_assert_eq!(counts.bytes(flow), bytes);
                }
            }
        }
    }
}
