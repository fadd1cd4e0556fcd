//! Keyed hash of flow numbers, for disciplines that hash flows into buckets.
//!
//! With an unkeyed hash, a sender who chooses flow numbers (or the addresses behind them) can make
//! flows collide. SipHash-1-3 (`siphash.rs`) prevents this as long as the sender does not know the
//! key. The key is derived from the discipline's seed in public (`seed.rs`), so against attacks the
//! seed has to be secret: the default seeds of the command, 0 and 1, are not.

use crate::mechanisms::siphash::siphash_1_3_of_u32;
use crate::packet::FlowId;
use crate::seed::{Purpose, Seed};

/// A hash with its key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowHash {
    key: [u64; 2],
}

impl FlowHash {
    /// The hash number `generation` of a discipline with this seed.
    pub(crate) const fn new(seed: Seed, generation: u64) -> Self {
        Self {
            key: seed.derive(Purpose::Hash, generation).key(),
        }
    }

    /// The hash of a flow number.
    #[inline]
    pub(crate) const fn of(self, flow: FlowId) -> u64 {
        siphash_1_3_of_u32(self.key, flow.0)
    }

    /// A flow's bucket among any number of `buckets`: the hash's upper half scaled, without a
    /// division.
    #[inline]
    pub(crate) const fn bucket(self, flow: FlowId, buckets: u32) -> u32 {
        (((self.of(flow) >> 32) * buckets as u64) >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn a_bucket_is_one_of_those_there_are(seed in any::<u64>(), flow in any::<u32>(), buckets in 1u32..=1 << 16) {
            prop_assert!(FlowHash::new(Seed::new(seed), 0).bucket(FlowId(flow), buckets) < buckets);
        }
    }

    #[test]
    fn seeds_and_generations_give_different_hashes() {
        let hashes = [(1, 0), (2, 0), (1, 1), (2, 1)]
            .map(|(seed, generation)| FlowHash::new(Seed::new(seed), generation).of(FlowId(7)));
        for (index, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..index].contains(hash));
        }
    }
}
