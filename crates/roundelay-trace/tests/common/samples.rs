//! Captures written from samples, and the invariants of every comparison.

use std::io::Cursor;
use std::path::Path;

use super::*;
use roundelay::QueueSpec;
use roundelay::schedulers::AnyDiscipline;
use roundelay_trace::{
    Capture, CompareError, Comparison, DisciplineResult, FlowResult, Options, WeightRules, compare,
};

pub(crate) const MILLISECOND: u64 = 1_000_000;

pub(crate) const SECOND: u64 = 1000 * MILLISECOND;

/// Captured bytes of each packet: Ethernet, IPv4 and UDP headers.
pub(crate) const HEADERS: u32 = 42;

/// A packet of a capture: nanoseconds, flow (the UDP destination port minus 1000), bytes on the
/// wire.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sample {
    pub(crate) at: u64,
    pub(crate) flow: u16,
    pub(crate) len: u32,
}

pub(crate) const fn sample(at: u64, flow: u16, len: u32) -> Sample {
    Sample { at, flow, len }
}

/// Packets of one flow at a steady pace, the first at `start`.
pub(crate) fn steady(start: u64, interval: u64, count: u64, flow: u16, len: u32) -> Vec<Sample> {
    (0..count)
        .map(|number| sample(start + number * interval, flow, len))
        .collect()
}

/// Several flows' packets in order of time; simultaneous packets stay in the given order.
pub(crate) fn merged(flows: impl IntoIterator<Item = Vec<Sample>>) -> Vec<Sample> {
    let mut all: Vec<_> = flows.into_iter().flatten().collect();
    all.sort_by_key(|sample| sample.at);
    all
}

pub(crate) fn write_sample(sample: &Sample) -> Vec<u8> {
    let frame = ethernet(0x0800, &ipv4(UDP, A, B, &ports(5000, 1000 + sample.flow)));
    let captured = sample.len.min(HEADERS);
    let (seconds, nanos) = ((sample.at / SECOND) as u32, (sample.at % SECOND) as u32);
    [
        record_header(Little, seconds, nanos, captured, sample.len),
        frame[..captured as usize].to_vec(),
    ]
    .concat()
}

pub(crate) fn nanosecond_pcap() -> Vec<u8> {
    pcap(Little, NANOS, (2, 4), 65_535, ETHERNET)
}

pub(crate) fn write(samples: &[Sample]) -> Vec<u8> {
    samples.iter().fold(nanosecond_pcap(), |bytes, sample| {
        [bytes, write_sample(sample)].concat()
    })
}

pub(crate) fn specs(texts: &[&str]) -> Vec<QueueSpec> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

pub(crate) fn all_specs() -> Vec<QueueSpec> {
    AnyDiscipline::all()
        .into_iter()
        .map(|discipline| QueueSpec {
            discipline,
            limit: None,
        })
        .collect()
}

pub(crate) fn options(rate: &str, specs: Vec<QueueSpec>) -> Options {
    Options {
        measure_cost: false,
        seeds: 1,
        ..Options::new(rate.parse().unwrap(), specs)
    }
}

pub(crate) fn weights(rules: &[&str]) -> WeightRules {
    let mut weights = WeightRules::default();
    rules
        .iter()
        .for_each(|rule| weights.push(WeightRules::parse_rule(rule).unwrap()));
    weights
}

pub(crate) fn try_run(bytes: Vec<u8>, options: &Options) -> Result<Comparison, CompareError> {
    compare(
        Capture::from_reader("t.pcap", Cursor::new(bytes))?,
        options,
        &mut (),
    )
}

/// Compares, and checks the invariants of every comparison.
pub(crate) fn run(samples: &[Sample], options: &Options) -> Comparison {
    let comparison = try_run(write(samples), options).unwrap();
    assert_sound(&comparison);
    comparison
}

pub(crate) fn by_spec<'a>(comparison: &'a Comparison, spec: &str) -> &'a DisciplineResult {
    comparison
        .disciplines
        .iter()
        .find(|discipline| discipline.spec == spec)
        .unwrap()
}

pub(crate) fn flow_of<'a>(comparison: &'a Comparison, spec: &str, flow: u16) -> &'a FlowResult {
    let port = format!(":{}", 1000 + flow);
    let index = comparison
        .flows
        .iter()
        .position(|flow| flow.label.ends_with(&port))
        .unwrap();
    &by_spec(comparison, spec).flows[index]
}

/// Everything offered was sent or dropped, and totals are the sums of their flows.
pub(crate) fn assert_conserved(comparison: &Comparison) {
    for discipline in &comparison.disciplines {
        assert_eq!(discipline.flows.len(), comparison.flows.len());
        for (offered, flow) in comparison.flows.iter().zip(&discipline.flows) {
            let outcome = &flow.outcome;
            assert_eq!(
                outcome.packets + outcome.drops.total(),
                offered.packets,
                "{} {}",
                discipline.spec,
                offered.label
            );
            assert!(
                outcome.drops.total() > 0 || outcome.bytes == offered.bytes,
                "{} {}",
                discipline.spec,
                offered.label
            );
            assert!(
                outcome.bytes <= offered.bytes,
                "{} {}",
                discipline.spec,
                offered.label
            );
        }
        let sum = |field: fn(&FlowResult) -> u64| discipline.flows.iter().map(field).sum::<u64>();
        assert_eq!(
            sum(|flow| flow.outcome.packets),
            discipline.total.packets,
            "{}",
            discipline.spec
        );
        assert_eq!(
            sum(|flow| flow.outcome.bytes),
            discipline.total.bytes,
            "{}",
            discipline.spec
        );
        assert_eq!(
            sum(|flow| flow.outcome.drops.total()),
            discipline.total.drops.total(),
            "{}",
            discipline.spec
        );
    }
    let offered: u64 = comparison.flows.iter().map(|flow| flow.packets).sum();
    assert_eq!(offered, comparison.capture.packets);
    assert_eq!(
        comparison.flows.iter().map(|flow| flow.bytes).sum::<u64>(),
        comparison.capture.bytes
    );
}

pub(crate) fn assert_bounds_kept(comparison: &Comparison, place: &str) {
    for discipline in &comparison.disciplines {
        let proven = ["drr", "qfq", "wf2q_plus", "wfq", "wf2q", "scfq"].contains(&discipline.name);
        assert!(
            discipline.kept_bounds.is_some() >= proven,
            "{}",
            discipline.spec
        );
        for (offered, flow) in comparison
            .flows
            .iter()
            .zip(&discipline.flows)
            .filter(|_| discipline.kept_bounds == Some(false))
        {
            let place = format!("{place}: {} {}", discipline.spec, offered.label);
            assert!(
                flow.b_wfi_bound.is_none_or(|bound| flow.b_wfi <= bound),
                "{place}: B-WFI {} > {:?}",
                flow.b_wfi,
                flow.b_wfi_bound
            );
            assert!(
                flow.t_wfi_bound.is_none_or(|bound| flow.t_wfi <= bound),
                "{place}: T-WFI {} > {:?}",
                flow.t_wfi,
                flow.t_wfi_bound
            );
            let [.., latency, fairness] = flow.audited();
            assert!(
                latency.1.is_none_or(|bound| latency.0 <= bound),
                "{place}: latency {latency:?}"
            );
            assert!(
                fairness.1.is_none_or(|bound| fairness.0 <= bound),
                "{place}: fairness {fairness:?}"
            );
        }
    }
}

/// Every figure is finite: JSON has no infinity or NaN.
pub(crate) fn assert_finite(comparison: &Comparison) {
    for flow in &comparison.flows {
        assert!(
            flow.offered_rate.is_finite() && flow.fair_rate.is_finite(),
            "{}: {} {}",
            flow.label,
            flow.offered_rate,
            flow.fair_rate
        );
    }
    for discipline in &comparison.disciplines {
        assert!(discipline.worst_lag.is_finite(), "{}", discipline.spec);
        assert!(
            discipline.total.throughput.is_finite() && discipline.total.loss.is_finite(),
            "{}",
            discipline.spec
        );
        assert!(
            discipline
                .flows
                .iter()
                .all(|flow| flow.b_wfi.is_finite() && flow.t_wfi.is_finite()),
            "{}",
            discipline.spec
        );
    }
}

pub(crate) fn assert_sound(comparison: &Comparison) {
    assert_conserved(comparison);
    assert_bounds_kept(comparison, "");
    assert_finite(comparison);
}

/// Small pseudo-random numbers: SplitMix64.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    pub(crate) fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// Flows that come and go: bursts, pauses between packets of one burst, silences in which flows
/// leave, superframes here and there.
pub(crate) fn random_samples(random: &mut Random) -> Vec<Sample> {
    let (flows, longest) = (
        1 + random.below(12),
        random.pick(&[200, 1514, 1514, 9000, 65_536]),
    );
    let (pace, mut at) = (random.pick(&[10_000, 200_000, 5 * MILLISECOND]), 0);
    let mut samples = Vec::new();
    for _ in 0..20 + random.below(60) {
        let flow = random.below(flows) as u16;
        let usual = 1 + random.below(1514.min(longest)) as u32;
        for _ in 0..1 + random.below(12) {
            let len = if random.below(20) == 0 {
                1 + random.below(longest) as u32
            } else {
                usual
            };
            samples.push(sample(at, flow, len));
            at += random.below(3).min(1) * random.below(pace);
        }
        at += if random.below(12) == 0 {
            random.below(25 * SECOND)
        } else {
            random.below(40 * pace)
        };
    }
    samples
}

pub(crate) fn example() -> Capture {
    Capture::open(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/captures/home-downlink.pcap"),
    )
    .unwrap()
}
