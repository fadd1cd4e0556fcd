//! Keyed hash of flow numbers, for disciplines that hash flows into buckets.
//!
//! With an unkeyed hash, a sender who chooses flow numbers (or the addresses behind them) can make
//! flows collide. SipHash prevents this without knowledge of the key, and only the scheduler has
//! the key.
//!
//! Source: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012; with
//! one round a word and three at the end (SipHash-1-3). A flow number is a message of four bytes,
//! contained in the last word together with the length.

use crate::packet::FlowId;

/// A hash with its key.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FlowHash {
    key: [u64; 2],
}

/// "somepseudorandomlygeneratedbytes", as in the paper.
const INITIAL: [u64; 4] = [
    0x736f_6d65_7073_6575,
    0x646f_7261_6e64_6f6d,
    0x6c79_6765_6e65_7261,
    0x7465_6462_7974_6573,
];
const MESSAGE_BYTES: u64 = 4;

impl FlowHash {
    /// The hash with key number `generation` of a seed.
    pub(crate) const fn new(seed: u64, generation: u64) -> Self {
        let first = Self {
            key: [seed, generation],
        };
        Self {
            key: [first.of(FlowId(0)), first.of(FlowId(1))],
        }
    }

    /// The hash of a flow number.
    #[inline]
    pub(crate) const fn of(self, flow: FlowId) -> u64 {
        let [k0, k1] = self.key;
        let mut state = [
            INITIAL[0] ^ k0,
            INITIAL[1] ^ k1,
            INITIAL[2] ^ k0,
            INITIAL[3] ^ k1,
        ];
        let word = (MESSAGE_BYTES << 56) | flow.0 as u64;
        state[3] ^= word;
        state = sip_round(state);
        state[0] ^= word;
        state[2] ^= 0xff;
        state = sip_round(sip_round(sip_round(state)));
        state[0] ^ state[1] ^ state[2] ^ state[3]
    }

    /// A flow's bucket among any number of `buckets`: the hash's upper half scaled, without a
    /// division.
    #[inline]
    pub(crate) const fn bucket(self, flow: FlowId, buckets: u32) -> u32 {
        (((self.of(flow) >> 32) * buckets as u64) >> 32) as u32
    }
}

#[inline]
const fn sip_round([mut v0, mut v1, mut v2, mut v3]: [u64; 4]) -> [u64; 4] {
    v0 = v0.wrapping_add(v1);
    v1 = v1.rotate_left(13) ^ v0;
    v0 = v0.rotate_left(32);
    v2 = v2.wrapping_add(v3);
    v3 = v3.rotate_left(16) ^ v2;
    v0 = v0.wrapping_add(v3);
    v3 = v3.rotate_left(21) ^ v0;
    v2 = v2.wrapping_add(v1);
    v1 = v1.rotate_left(17) ^ v2;
    v2 = v2.rotate_left(32);
    [v0, v1, v2, v3]
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::hash::Hasher;
    use proptest::prelude::*;
    use siphasher::sip::SipHasher13;

    proptest! {
        #[test]
        fn it_is_siphash_1_3(key in any::<[u64; 2]>(), flow in any::<u32>()) {
            let mut theirs = SipHasher13::new_with_keys(key[0], key[1]);
            theirs.write(&flow.to_le_bytes());
            prop_assert_eq!(FlowHash { key }.of(FlowId(flow)), theirs.finish());
        }

        #[test]
        fn a_bucket_is_one_of_those_there_are(seed in any::<u64>(), flow in any::<u32>(), buckets in 1u32..=1 << 16) {
            prop_assert!(FlowHash::new(seed, 0).bucket(FlowId(flow), buckets) < buckets);
        }
    }

    #[test]
    fn seeds_and_generations_give_different_hashes() {
        let hashes = [(1, 0), (2, 0), (1, 1), (2, 1)]
            .map(|(seed, generation)| FlowHash::new(seed, generation).of(FlowId(7)));
        for (place, hash) in hashes.iter().enumerate() {
            assert!(!hashes[..place].contains(hash));
        }
    }
}
