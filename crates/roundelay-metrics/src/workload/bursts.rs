//! Bursts of light flows beside heavy flows on a fully allocated link, in exact integers: V
//! overtakes finish times.
//!
//! Weights are powers of two with a power of two as their sum, so 1 / phi is an integer. Packet
//! lengths are powers of two.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;

/// Identical light flows in bursts, and a few heavy flows with the rest of the link.
#[derive(Debug, Clone)]
pub struct SaturatedBursts {
    random: Pcg64,
    /// 1 / phi, longest packet in bytes.
    shares: Vec<(u64, u64)>,
    weights: Vec<u64>,
    light: usize,
}

impl SaturatedBursts {
    /// Number of calls of [`next`](Self::next) in a run.
    pub const STEPS: u64 = 60;

    /// Up to 31 light flows and some heavy flows.
    pub fn new(seed: u64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let total = 1u64 << random.random_range(2..=6);
        let light = random.random_range(1..=total.min(32) as usize - 1);
        let rest = total - light as u64;
        let parts = 1 << random.random_range(0..=2);
        // Each power of two in the rest is a heavy flow, or `parts` equal ones.
        let mut weights = vec![1; light];
        for bit in 0..u64::BITS {
            let weight = rest & (1 << bit);
            if weight > 0 {
                let flows = parts.min(weight);
                weights.extend(std::iter::repeat_n(weight / flows, flows as usize));
            }
        }
        let light_len = 1 << random.random_range(0..=6);
        let mut shares = Vec::new();
        for (number, weight) in weights.iter().enumerate() {
            let len = if number < light {
                light_len
            } else {
                1 << random.random_range(0..=6)
            };
            shares.push((total / weight, len));
        }
        Self {
            random,
            shares,
            weights,
            light,
        }
    }

    /// 1 / phi and the packet length in bytes of each flow, the same for all its packets.
    pub fn shares(&self) -> &[(u64, u64)] {
        &self.shares
    }

    /// Weights of the flows.
    pub fn weights(&self) -> &[u64] {
        &self.weights
    }

    /// Packets (flow, bytes) that arrive before the next departure. `waiting` gives the number of a
    /// flow's waiting packets.
    pub fn next(&mut self, waiting: impl Fn(usize) -> usize) -> Vec<(usize, u64)> {
        let mut arrivals = Vec::new();
        if self.random.random_bool(0.15) {
            let from = self.random.random_range(0..self.light);
            let to = self.random.random_range(from..=self.light);
            for number in from..to {
                arrivals.push((number, self.shares[number].1));
            }
        }
        for number in self.light..self.shares.len() {
            if waiting(number) < 2 && self.random.random_bool(0.5) {
                arrivals.push((number, self.shares[number].1));
            }
        }
        arrivals
    }
}
