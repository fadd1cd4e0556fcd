//! Random numbers for a simulation. Each user has a generator, keyed with a seed of its own.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;
use roundelay::{Purpose, Seed};

/// One user's generator. The seed is derived for this user: see [`roundelay::Purpose`].
pub(crate) fn generator(seed: Seed) -> Pcg64Mcg {
    Pcg64Mcg::from_seed(seed.to_bytes())
}

/// The key for the hash that spreads a run's flows over equally short routes.
pub(crate) const fn route_key(run: u64) -> u64 {
    Seed::new(run).derive(Purpose::Routes, 0).key()[0]
}

/// Spreads a number over all bits, for the hash that chooses among equally short routes. This is
/// SplitMix64's finaliser (G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number
/// Generators", OOPSLA 2014).
pub(crate) const fn mix(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}
