//! Random calls for the conformance check. The same seed gives the same calls, so every fault can
//! be repeated.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::{Duration, Ecn, FlowConfig};

use crate::audit::Operation;

/// Which calls are frequent, and with what flows and lengths.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mix {
    /// Up to four flows with frames of usual lengths.
    FewFlows,
    /// Two hundred flows, which come and go.
    ManyFlows,
    /// Lengths at the edges: 0, 1, 64 KB and beyond.
    OddLengths,
    /// Weights and maximum lengths change all the time.
    Restless,
    /// Evictions all the time, because the buffer is full.
    Overflowing,
}

impl Mix {
    /// All mixes.
    pub const ALL: [Self; 5] = [
        Self::FewFlows,
        Self::ManyFlows,
        Self::OddLengths,
        Self::Restless,
        Self::Overflowing,
    ];

    const fn flows(self) -> u32 {
        match self {
            Self::ManyFlows => 200,
            Self::Restless => 12,
            _ => 4,
        }
    }

    fn len(self, random: &mut Pcg64Mcg) -> u32 {
        let odd = [0, 1, 2, 64, 511, 1514, 1 << 16, (1 << 16) + 1, u32::MAX];
        match self {
            Self::OddLengths => odd[random.random_range(0..odd.len())],
            _ if random.random_bool(0.01) => odd[random.random_range(0..7)],
            _ => random.random_range(64..=1514),
        }
    }

    /// How many in a hundred calls change a flow (set or remove it), and how many evict.
    const fn rare(self) -> (u32, u32) {
        match self {
            Self::Restless => (30, 5),
            Self::Overflowing => (1, 40),
            _ => (2, 3),
        }
    }
}

/// Makes `count` calls. The backlog grows and shrinks in phases.
pub fn operations(mix: Mix, seed: u64, count: usize) -> Vec<Operation> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut swells = true;
    let mut operations = Vec::new();
    for _ in 0..count {
        if random.random_bool(0.01) {
            swells = !swells;
        }
        operations.push(operation(mix, swells, &mut random));
    }
    operations
}

fn operation(mix: Mix, swells: bool, random: &mut Pcg64Mcg) -> Operation {
    let (settings, evictions) = mix.rare();
    let flow = random.random_range(0..mix.flows());
    match random.random_range(0..100) {
        draw if draw < settings => setting(flow, random),
        draw if draw < settings + evictions => Operation::Evict,
        draw if draw < settings + evictions + 5 => {
            Operation::Wait(Duration::from_nanos(random.random_range(0..20_000_000)))
        }
        _ if random.random_bool(if swells { 0.7 } else { 0.3 }) => {
            let ecn = if random.random_bool(0.3) {
                Ecn::Capable
            } else {
                Ecn::NotCapable
            };
            let urgency = if random.random_bool(0.1) {
                [0, 255][random.random_range(0..2)]
            } else {
                random.random_range(0..8)
            };
            Operation::Enqueue {
                flow,
                len: mix.len(random),
                ecn,
                urgency,
            }
        }
        _ => Operation::Dequeue,
    }
}

fn setting(flow: u32, random: &mut Pcg64Mcg) -> Operation {
    if random.random_bool(0.3) {
        return Operation::RemoveFlow { flow };
    }
    let max_packet_len =
        random.random_range(FlowConfig::MIN_MAX_PACKET_LEN..=FlowConfig::MAX_PACKET_LEN);
    Operation::SetFlow {
        flow,
        config: FlowConfig {
            weight: random.random_range(1..=FlowConfig::MAX_WEIGHT),
            max_packet_len,
        },
    }
}
