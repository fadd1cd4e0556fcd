//! Random workloads of seven kinds.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::FlowConfig;

use super::lengths::Lengths;
use super::load::{Refill, Source, Workload};

impl Workload {
    /// A workload of a random kind, with 2 to 60 flows of any weight and longest packet, and about
    /// a hundred packets.
    pub fn random(seed: u64) -> Self {
        let mut random = Pcg64::seed_from_u64(seed);
        let kind = KINDS[random.random_range(0..KINDS.len())];
        kind(seed, &mut random)
    }
}

/// The seven kinds.
const KINDS: [fn(u64, &mut Pcg64) -> Workload; 7] = [
    mix,
    on_off,
    saturated,
    synchronized,
    single_packets,
    returning,
    short_and_long,
];

/// Any weight, small ones more often.
fn weight(random: &mut Pcg64) -> u32 {
    (1 << random.random_range(0..=10)).min(random.random_range(1..=FlowConfig::MAX_WEIGHT))
}

/// Any longest packet, short ones more often, and its configured limit: equal, larger, or the
/// smallest legal limit.
fn longest(random: &mut Pcg64) -> (u32, u32) {
    let octave = random.random_range(0..=10);
    let len = random.random_range(64..=64 << octave);
    let least = len.max(FlowConfig::MIN_MAX_PACKET_LEN);
    let allowed = if random.random_bool(0.7) {
        least
    } else {
        random.random_range(least..=FlowConfig::MAX_PACKET_LEN)
    };
    (len, allowed)
}

fn source(random: &mut Pcg64) -> Source {
    let (len, max_packet_len) = longest(random);
    let lengths = match random.random_range(0..4) {
        0 => Lengths::Alternating(64.min(len), len),
        1 => Lengths::Uniform(1, len),
        _ => Lengths::Fixed(len),
    };
    Source {
        config: FlowConfig {
            weight: weight(random),
            max_packet_len,
        },
        lengths,
        arrivals: Vec::new(),
        refill: None,
    }
}

/// Arrivals with exponential gaps of this mean.
fn exponential(random: &mut Pcg64, packets: usize, mean: f64) -> Vec<u64> {
    let mut at = 0.0;
    let mut arrivals = Vec::new();
    for _ in 0..packets {
        at -= mean * (1.0 - random.random::<f64>()).ln();
        arrivals.push(at as u64);
    }
    arrivals
}

/// Poisson arrivals at half to twice the link's rate.
fn mix(seed: u64, random: &mut Pcg64) -> Workload {
    let flows = random.random_range(2..=12);
    let load = random.random_range(0.5..2.0);
    let mut sources = Vec::new();
    for _ in 0..flows {
        let mut source = source(random);
        let mean = f64::from(source.longest()) * f64::from(flows) / load;
        source.arrivals = exponential(random, 120 / flows as usize, mean);
        sources.push(source);
    }
    Workload {
        name: "mix",
        seed,
        sources,
    }
}

/// Bursts with silence between them.
fn on_off(seed: u64, random: &mut Pcg64) -> Workload {
    let flows = random.random_range(2..=8);
    let mut sources = Vec::new();
    for _ in 0..flows {
        let mut source = source(random);
        let burst = random.random_range(1..=8);
        let gap = u64::from(source.longest()) * random.random_range(1..=40);
        let phase = random.random_range(0..=gap);
        for packet in 0..100 / flows {
            source.arrivals.push(phase + packet / burst * gap);
        }
        sources.push(source);
    }
    Workload {
        name: "on_off",
        seed,
        sources,
    }
}

/// Every flow keeps its backlog between two levels.
fn saturated(seed: u64, random: &mut Pcg64) -> Workload {
    let flows = random.random_range(2..=10);
    let mut sources = Vec::new();
    for _ in 0..flows {
        let mut source = source(random);
        let low = random.random_range(0..=3);
        let burst = random.random_range(1..=5);
        source.arrivals = vec![0; (low + burst) as usize];
        source.refill = Some(Refill {
            low,
            burst,
            after: 0,
            packets: 80 / flows,
        });
        sources.push(source);
    }
    Workload {
        name: "saturated",
        seed,
        sources,
    }
}

/// Simultaneous bursts of equal light flows, beside a few heavy flows with a permanent backlog: V
/// overtakes finish times.
fn synchronized(seed: u64, random: &mut Pcg64) -> Workload {
    let light = random.random_range(2..=24);
    let heavy = random.random_range(1..=3);
    let len = random.random_range(64..=1500);
    let mut bursts: Vec<u64> = Vec::new();
    for _ in 0..random.random_range(1..=3) {
        bursts.push(random.random_range(0..60_000));
    }
    bursts.sort_unstable();
    let mut sources = Vec::new();
    for _ in 0..light {
        sources.push(Source {
            arrivals: bursts.clone(),
            ..Source::burst(1, len, 0)
        });
    }
    for _ in 0..heavy {
        let mut source = Source::burst(
            1 << random.random_range(2..=10),
            random.random_range(64..=1500),
            2,
        );
        source.refill = Some(Refill {
            low: 1,
            burst: 1,
            after: 0,
            packets: 40,
        });
        sources.push(source);
    }
    Workload {
        name: "synchronized",
        seed,
        sources,
    }
}

/// Each packet is its own flow.
fn single_packets(seed: u64, random: &mut Pcg64) -> Workload {
    let mut sources = Vec::new();
    for _ in 0..60 {
        let mut source = source(random);
        source.arrivals = vec![random.random_range(0..100_000)];
        sources.push(source);
    }
    Workload {
        name: "single_packets",
        seed,
        sources,
    }
}

/// Flows of one packet that return immediately or a little later after service.
fn returning(seed: u64, random: &mut Pcg64) -> Workload {
    let flows = random.random_range(2..=10);
    let mut sources = Vec::new();
    for _ in 0..flows {
        let mut source = source(random);
        let after = [
            0,
            1,
            u64::from(source.longest()),
            random.random_range(0..20_000),
        ][random.random_range(0..4)];
        source.arrivals = vec![0];
        source.refill = Some(Refill {
            low: 0,
            burst: 1,
            after,
            packets: 100 / flows,
        });
        sources.push(source);
    }
    Workload {
        name: "returning",
        seed,
        sources,
    }
}

/// Shortest and longest packets alternate.
fn short_and_long(seed: u64, random: &mut Pcg64) -> Workload {
    let flows = random.random_range(2..=6);
    let mut sources = Vec::new();
    for _ in 0..flows {
        let mut source = source(random);
        source.lengths = Lengths::Alternating(1, source.config.max_packet_len);
        source.arrivals = exponential(random, 80 / flows as usize, 3_000.0);
        sources.push(source);
    }
    Workload {
        name: "short_and_long",
        seed,
        sources,
    }
}
