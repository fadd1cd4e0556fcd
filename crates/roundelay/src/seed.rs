//! Seeds: where every random number and every hash key of a run comes from.
//!
//! A run has one seed, a number that its user writes. Whatever draws or hashes gets a seed of its
//! own, derived from the run's by what it is for and by its index: link 3's queue, leaf 7 in its
//! tree, agent 12. Seeds have no arithmetic, because sums meet. If link k drew with `seed + k`,
//! link k in the run with seed 8 would draw what link k + 1 in the run with seed 7 draws, and
//! replicas with consecutive seeds would not be independent.
//!
//! ```
//! use roundelay::{Purpose, Seed};
//!
//! let run = Seed::new(7);
//! let queue = run.derive(Purpose::Queue, 3);
//! assert_ne!(queue, run.derive(Purpose::Wire, 3));
//! assert_ne!(queue, Seed::new(8).derive(Purpose::Queue, 2));
//! ```
//!
//! # Derivation
//!
//! A seed has 128 bits. `Seed::new(n)` has n in the first 64 and zero in the others. The derived
//! seed consists of two values of SipHash-1-3, with the seed as key and messages of three
//! little-endian words: the purpose's number, the index, and 0 or 1. So the seeds for two purposes,
//! two indices or two runs have nothing in common that anybody could use without knowing the run's
//! seed. The derivation is public, so senders who know the run's seed can choose flows that
//! collide. If a seed must keep them from it, draw it at random and keep it secret.

use crate::mechanisms::siphash::siphash_1_3;

/// A seed. You can derive others from it, and it keys a generator or a hash. Nothing can be added
/// to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Seed {
    key: [u64; 2],
}

/// What a derived seed is for. Seeds for different purposes are unrelated.
///
/// None of these names a discipline, so two disciplines at the same link get the same seed, and
/// meet the same traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Purpose {
    /// A queue's random draws and hashes. The index is the link's number.
    Queue,
    /// A class or a leaf in a tree. The index is the node's number.
    Class,
    /// A discipline's hash. The index counts its hashes and their renewals.
    Hash,
    /// A discipline's random draws.
    Draws,
    /// Jitter and loss on a wire. The index is the link's number.
    Wire,
    /// A sender and its receiver. The index is the agent's number.
    Agent,
    /// Which ends a group's flows have. The index is the group's number.
    Ends,
    /// How long a pair of links is. The index is the pair's number.
    Length,
    /// Generation of a random network.
    Graph,
    /// The hash that spreads flows over equally short routes.
    Routes,
    /// The packets offered in one part of an experiment. The index is the part's number.
    Traffic,
    /// When an experiment's flows start.
    Starts,
    /// How a workload's receivers answer its senders.
    Answers,
    /// One of many repetitions within a run. The index is the repetition's number.
    Repetition,
    /// A link trace that a model draws. The index is the link's number.
    LinkTrace,
}

impl Purpose {
    const fn number(self) -> u64 {
        match self {
            Self::Queue => 1,
            Self::Class => 2,
            Self::Hash => 3,
            Self::Draws => 4,
            Self::Wire => 5,
            Self::Agent => 6,
            Self::Ends => 7,
            Self::Length => 8,
            Self::Graph => 9,
            Self::Routes => 10,
            Self::Traffic => 11,
            Self::Starts => 12,
            Self::Answers => 13,
            Self::Repetition => 14,
            Self::LinkTrace => 15,
        }
    }
}

impl Seed {
    /// A run's seed, from the number that its user writes.
    pub const fn new(number: u64) -> Self {
        Self { key: [number, 0] }
    }

    /// A secret seed, from 128 bits that nobody can guess.
    pub const fn secret(bits: [u64; 2]) -> Self {
        Self { key: bits }
    }

    /// The seed for part number `index` with this purpose.
    #[must_use]
    pub const fn derive(self, purpose: Purpose, index: u64) -> Self {
        let purpose = purpose.number();
        Self {
            key: [
                siphash_1_3(self.key, [purpose, index, 0]),
                siphash_1_3(self.key, [purpose, index, 1]),
            ],
        }
    }

    /// 128 bits to key a generator or a hash with.
    ///
    /// A run's own seed is a plain number, so derive a seed before. Otherwise two users of one seed
    /// draw the same numbers.
    pub const fn key(self) -> [u64; 2] {
        self.key
    }

    /// The same bits in bytes, little-endian, as generators take them.
    pub const fn to_bytes(self) -> [u8; 16] {
        ((self.key[0] as u128) | (self.key[1] as u128) << 64).to_le_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::hash::Hasher;
    use siphasher::sip::SipHasher13;
    use std::collections::HashSet;

    const ALL: [Purpose; 15] = [
        Purpose::Queue,
        Purpose::Class,
        Purpose::Hash,
        Purpose::Draws,
        Purpose::Wire,
        Purpose::Agent,
        Purpose::Ends,
        Purpose::Length,
        Purpose::Graph,
        Purpose::Routes,
        Purpose::Traffic,
        Purpose::Starts,
        Purpose::Answers,
        Purpose::Repetition,
        Purpose::LinkTrace,
    ];

    #[test]
    fn no_two_parts_of_neighbouring_runs_share_a_seed() {
        let mut seen = HashSet::new();
        for run in 0..50 {
            for purpose in ALL {
                for index in 0..50 {
                    assert!(seen.insert(Seed::new(run).derive(purpose, index)));
                }
            }
        }
        assert_eq!(seen.len(), 50 * 15 * 50);
    }

    /// The documentation states the derivation, so that records can be checked by other programs.
    #[test]
    fn the_derivation_is_the_documented_one() {
        let mut theirs = SipHasher13::new_with_keys(7, 0);
        for word in [Purpose::Wire.number(), 3, 0] {
            theirs.write(&word.to_le_bytes());
        }
        assert_eq!(
            Seed::new(7).derive(Purpose::Wire, 3).key()[0],
            theirs.finish()
        );
    }

    #[test]
    fn bytes_are_those_of_the_key() {
        let seed = Seed::secret([0x0102, 0x0304]);
        let bytes = seed.to_bytes();
        assert_eq!((bytes[0], bytes[1], bytes[8], bytes[9]), (2, 1, 4, 3));
    }
}
