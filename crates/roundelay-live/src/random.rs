//! Random numbers of a run, from one seed.

use rand::SeedableRng as _;
use rand_pcg::Pcg64Mcg;
use roundelay::{Purpose, Seed};

use crate::settings::Way;

/// The seed of the queues: the one that `compare` and the first link of a simulation derive from the
/// same number.
pub(crate) const fn seed_of_queue(seed: u64) -> Seed {
    Seed::new(seed).derive(Purpose::Queue, 0)
}

/// Losses and jitter of a direction's wire.
pub(crate) fn of_wire(seed: u64, way: Way) -> Pcg64Mcg {
    let seed = Seed::new(seed).derive(Purpose::Wire, way.index() as u64);
    Pcg64Mcg::from_seed(seed.to_bytes())
}
