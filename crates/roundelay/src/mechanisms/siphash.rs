//! SipHash-1-3: a keyed hash that nobody can predict without the key.
//!
//! Source: J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012. With
//! one round for each word and three at the end (SipHash-1-3).

/// "somepseudorandomlygeneratedbytes", as in the paper.
const INITIAL: [u64; 4] = [
    0x736f_6d65_7073_6575,
    0x646f_7261_6e64_6f6d,
    0x6c79_6765_6e65_7261,
    0x7465_6462_7974_6573,
];

/// The hash of whole words, each in little-endian order.
pub(crate) const fn siphash_1_3<const WORDS: usize>(key: [u64; 2], words: [u64; WORDS]) -> u64 {
    let mut state = begin(key);
    let mut at = 0;
    while at < WORDS {
        state = absorb(state, words[at]);
        at += 1;
    }
    finish(absorb(state, (WORDS as u64 * 8) << 56))
}

/// The hash of four bytes, which fit into the last word beside the length.
#[inline]
pub(crate) const fn siphash_1_3_of_u32(key: [u64; 2], number: u32) -> u64 {
    finish(absorb(begin(key), (4 << 56) | number as u64))
}

#[inline]
const fn begin([k0, k1]: [u64; 2]) -> [u64; 4] {
    [
        INITIAL[0] ^ k0,
        INITIAL[1] ^ k1,
        INITIAL[2] ^ k0,
        INITIAL[3] ^ k1,
    ]
}

#[inline]
const fn absorb(mut state: [u64; 4], word: u64) -> [u64; 4] {
    state[3] ^= word;
    state = round(state);
    state[0] ^= word;
    state
}

#[inline]
const fn finish(mut state: [u64; 4]) -> u64 {
    state[2] ^= 0xff;
    state = round(round(round(state)));
    state[0] ^ state[1] ^ state[2] ^ state[3]
}

#[inline]
const fn round([mut v0, mut v1, mut v2, mut v3]: [u64; 4]) -> [u64; 4] {
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
        fn four_bytes_are_hashed_as_by_siphash_1_3(key in any::<[u64; 2]>(), number in any::<u32>()) {
            let mut theirs = SipHasher13::new_with_keys(key[0], key[1]);
            theirs.write(&number.to_le_bytes());
            prop_assert_eq!(siphash_1_3_of_u32(key, number), theirs.finish());
        }

        #[test]
        fn words_are_hashed_as_by_siphash_1_3(key in any::<[u64; 2]>(), words in any::<[u64; 3]>()) {
            let mut theirs = SipHasher13::new_with_keys(key[0], key[1]);
            for word in words {
                theirs.write(&word.to_le_bytes());
            }
            prop_assert_eq!(siphash_1_3(key, words), theirs.finish());
        }
    }
}
