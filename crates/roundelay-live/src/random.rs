//! A run's random numbers, all from one seed.

use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use roundelay::{Purpose, Seed};

use crate::settings::Way;

/// The seed for queues. From the same number, `compare` and the first link in a simulation derive
/// the same one.
pub(crate) const fn seed_of_queue(seed: u64) -> Seed {
    Seed::new(seed).derive(Purpose::Queue, 0)
}

/// Draws losses and jitter for a direction's wire.
pub(crate) fn of_wire(seed: u64, way: Way) -> Pcg64Mcg {
    let seed = Seed::new(seed).derive(Purpose::Wire, way.index() as u64);
    Pcg64Mcg::from_seed(seed.to_bytes())
}
