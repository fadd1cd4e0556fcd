//! Pseudo-random numbers from a seed: the generator of disciplines with random decisions.
//!
//! This crate has no source of randomness of its own. A discipline gets its generator from its
//! build seed, so the same calls give the same packets. SplitMix64 is a counter and a mixing
//! function: eight bytes of state, all seeds equally good, and a period of 2^64. It is not for
//! secrets. Values that must not be guessed are hashed with a key (`hash.rs`).
//!
//! Source: G. L. Steele, D. Lea, C. H. Flood, "Fast Splittable Pseudorandom Number Generators",
//! OOPSLA 2014, with the constants of variant 13 of D. Stafford's mixing functions.

use crate::seed::{Purpose, Seed};
use crate::units::Billionths;

/// A generator.
#[derive(Debug, Clone)]
pub(crate) struct Random {
    state: u64,
}

/// 2^64 divided by the golden ratio, odd.
const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

impl Random {
    /// The generator of a discipline with this seed.
    pub(crate) const fn new(seed: Seed) -> Self {
        Self {
            state: seed.derive(Purpose::Draws, 0).key()[0],
        }
    }

    /// 64 uniform bits.
    #[inline]
    pub(crate) const fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(GOLDEN_GAMMA);
        let mixed = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `n`, uniform to within n / 2^64. 0 if `n` is 0.
    #[inline]
    pub(crate) const fn below(&mut self, n: u32) -> u32 {
        ((self.next() as u128 * n as u128) >> 64) as u32
    }

    /// True with probability 1 / `n`. Never if `n` is 0.
    #[inline]
    pub(crate) const fn one_in(&mut self, n: u32) -> bool {
        n > 0 && self.below(n) == 0
    }

    /// True with this probability.
    #[inline]
    pub(crate) const fn chance(&mut self, probability: Probability) -> bool {
        self.draw().0 < probability.0
    }

    /// A uniform number from 0 up to, but not including, 1.
    #[inline]
    pub(crate) const fn draw(&mut self) -> Probability {
        Probability(self.next() >> 32)
    }
}

/// A probability from 0 to 1, both included, in units of 2^-32.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) struct Probability(u64);

impl Probability {
    pub(crate) const NEVER: Self = Self(0);
    pub(crate) const ALWAYS: Self = Self(1 << 32);

    /// `part / whole`, rounded down. One if `part` is at least `whole`.
    pub(crate) const fn ratio(part: u128, whole: u128) -> Self {
        if part >= whole {
            return Self::ALWAYS;
        }
        // The bits shifted out of a large ratio are below the precision of the result.
        let excess = 32u32.saturating_sub(whole.leading_zeros());
        Self((((part >> excess) << 32) / (whole >> excess)) as u64)
    }

    /// In units of 2^-32.
    pub(crate) const fn as_units(self) -> u64 {
        self.0
    }

    /// The product of both.
    pub(crate) const fn times(self, other: Self) -> Self {
        Self(((self.0 as u128 * other.0 as u128) >> 32) as u64)
    }

    /// The sum, at most one.
    pub(crate) const fn plus(self, other: Self) -> Self {
        let sum = self.0 + other.0;
        if sum > Self::ALWAYS.0 {
            Self::ALWAYS
        } else {
            Self(sum)
        }
    }

    /// The difference, at least zero.
    pub(crate) const fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl From<Billionths> for Probability {
    /// Rounded down. One for all larger values.
    fn from(value: Billionths) -> Self {
        Self::ratio(value.0.into(), Billionths::ONE.0.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The first outputs for two seeds, as listed by Rosetta Code and the documentation of the Java
    /// library.
    #[test]
    fn it_gives_the_published_sequence() {
        let first = |state| {
            let mut random = Random { state };
            [(); 5].map(|()| random.next())
        };
        let expected = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
            4_593_380_528_125_082_431,
            16_408_922_859_458_223_821,
        ];
        assert_eq!(first(1_234_567), expected);
        assert_eq!(first(0)[0], 0xe220_a839_7b1d_cdaf);
    }

    /// Whether `hits` of `trials` match probability `p` to within five standard deviations.
    fn is_as_chance_has_it(hits: u32, trials: u32, p: f64) -> bool {
        let trials = f64::from(trials);
        (f64::from(hits) - trials * p).abs() <= 5.0 * (trials * p * (1.0 - p)).sqrt()
    }

    #[test]
    fn draws_are_as_likely_as_they_should_be() {
        const TRIALS: u32 = 100_000;
        let mut random = Random::new(Seed::new(7));
        for n in [1u32, 2, 3, 7, 100] {
            let mut hits = alloc::vec![0; n as usize];
            (0..TRIALS).for_each(|_| hits[random.below(n) as usize] += 1);
            assert!(
                hits.iter()
                    .all(|hits| is_as_chance_has_it(*hits, TRIALS, 1.0 / f64::from(n))),
                "{hits:?}"
            );
            let hits = (0..TRIALS).filter(|_| random.one_in(n)).count() as u32;
            assert!(is_as_chance_has_it(hits, TRIALS, 1.0 / f64::from(n)));
        }
        for billionths in [0, 20_000_000, 500_000_000, 999_000_000, 1_000_000_000] {
            let hits = (0..TRIALS)
                .filter(|_| random.chance(Billionths(billionths).into()))
                .count() as u32;
            assert!(
                is_as_chance_has_it(hits, TRIALS, billionths as f64 / 1e9),
                "{hits}"
            );
        }
        assert!(
            !is_as_chance_has_it(TRIALS / 50 + 1000, TRIALS, 0.02),
            "the check finds another probability"
        );
    }

    #[test]
    fn nothing_is_drawn_from_nothing() {
        let mut random = Random::new(Seed::new(1));
        assert_eq!((random.below(0), random.below(1)), (0, 0));
        assert!(!random.one_in(0) && random.one_in(1));
    }

    proptest! {
        #[test]
        fn what_is_drawn_is_below(seed in any::<u64>(), n in 1u32..) {
            prop_assert!(Random::new(Seed::new(seed)).below(n) < n);
        }

        #[test]
        fn ratios_are_exact_to_their_unit(part in any::<u64>(), whole in 1u64.., zeros in 0u32..60) {
            let ratio = Probability::ratio(u128::from(part) << zeros, u128::from(whole) << zeros).0 as f64;
            let exact = (part as f64 / whole as f64).min(1.0) * (1u64 << 32) as f64;
            prop_assert!((ratio - exact).abs() <= 2.0, "{} for {}", ratio, exact);
        }

        #[test]
        fn they_stay_probabilities(a in 0u64..=1 << 32, b in 0u64..=1 << 32) {
            let a = Probability(a);
            let b = Probability(b);
            for result in [a.plus(b), a.minus(b), a.times(b)] {
                prop_assert!(result <= Probability::ALWAYS);
            }
            prop_assert_eq!(a.times(Probability::ALWAYS), a);
            prop_assert_eq!(a.plus(Probability::NEVER).minus(a), Probability::NEVER);
            prop_assert!(a.times(b) <= a.min(b));
        }
    }
}
