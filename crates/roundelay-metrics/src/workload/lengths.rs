//! Packet lengths of a flow in a workload.

use rand::RngExt;
use rand_pcg::Pcg64;

/// How long a flow's packets are in bytes.
#[derive(Debug, Clone)]
pub enum Lengths {
    /// All equal.
    Fixed(u32),
    /// Shortest and longest alternate.
    Alternating(u32, u32),
    /// Uniform from shortest to longest.
    Uniform(u32, u32),
    /// These lengths in order, repeated. An empty list means packets of length zero.
    Listed(Vec<u32>),
}

impl Lengths {
    pub(super) fn of(&self, packet: usize, random: &mut Pcg64) -> u32 {
        match self {
            Self::Fixed(len) => *len,
            Self::Alternating(short, long) => [*short, *long][packet % 2],
            Self::Uniform(short, long) => random.random_range(*short..=*long),
            Self::Listed(lens) => lens.get(packet % lens.len().max(1)).copied().unwrap_or(0),
        }
    }

    pub(super) fn longest(&self) -> u32 {
        match self {
            Self::Fixed(len) | Self::Alternating(_, len) | Self::Uniform(_, len) => *len,
            Self::Listed(lens) => lens.iter().copied().max().unwrap_or(0),
        }
    }
}
