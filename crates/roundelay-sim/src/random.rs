//! Random numbers: a separate stream for each user, all from one seed.

use rand::SeedableRng;
use rand_pcg::Pcg64Mcg;

/// The user of a stream.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Drawer {
    Agent(u32),
    Link(u32),
    /// Choice of flow ends in a scenario.
    Scenario,
    /// Length of a pair of links, by the number of the pair.
    Length(u32),
    /// Generation of a random network.
    Graph,
}

/// The stream of a user: depends only on the seed and the user.
pub(crate) fn stream(seed: u64, drawer: Drawer) -> Pcg64Mcg {
    let (kind, number) = match drawer {
        Drawer::Agent(number) => (1, number),
        Drawer::Link(number) => (2, number),
        Drawer::Scenario => (3, 0),
        Drawer::Length(number) => (4, number),
        Drawer::Graph => (5, 0),
    };
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&mix(seed).to_le_bytes());
    bytes[8..].copy_from_slice(&mix(seed ^ mix(kind << 32 | u64::from(number))).to_le_bytes());
    Pcg64Mcg::from_seed(bytes)
}

/// Spreads a number over all bits: the finaliser of SplitMix64 (G. Steele, D. Lea, C. Flood, "Fast
/// Splittable Pseudorandom Number Generators", OOPSLA 2014).
pub(crate) const fn mix(number: u64) -> u64 {
    let mut bits = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits = (bits ^ bits >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ bits >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ bits >> 31
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::Rng as _;

    #[test]
    fn streams_differ_and_repeat() {
        let first = |seed, drawer| stream(seed, drawer).next_u64();
        let all = [
            first(1, Drawer::Agent(0)),
            first(1, Drawer::Agent(1)),
            first(1, Drawer::Link(0)),
            first(2, Drawer::Agent(0)),
        ];
        for (place, one) in all.iter().enumerate() {
            assert!(all[place + 1..].iter().all(|other| other != one));
        }
        assert_eq!(all[0], first(1, Drawer::Agent(0)));
    }
}
