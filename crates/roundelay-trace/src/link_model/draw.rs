//! Draws for link models. The code is our own, so that a trace is the same on any machine and with
//! any release of any crate.

use rand::Rng as _;
use rand_pcg::Pcg64Mcg;

/// Uniform in [0, 1), from 53 random bits.
pub(super) fn unit(random: &mut Pcg64Mcg) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Uniform from 0 to `most`, both included.
pub(super) fn up_to(random: &mut Pcg64Mcg, most: u32) -> u32 {
    let count = u128::from(most) + 1;
    ((u128::from(random.next_u64()) * count) >> 64) as u32
}

/// Normally distributed with mean 0 and deviation 1. It is half of a pair by G. Box and M. Muller,
/// "A Note on the Generation of Random Normal Deviates", 1958.
pub(super) fn normal(random: &mut Pcg64Mcg) -> f64 {
    let radius = libm::sqrt(-2.0 * libm::log(1.0 - unit(random)));
    radius * libm::cos(core::f64::consts::TAU * unit(random))
}
