//! Comparison through the library: packets are conserved, figures are correct, odd captures do no
//! harm.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Cursor, Read};
use std::path::Path;
use std::sync::{Arc, Mutex};

use crate::common::*;
use roundelay::schedulers::{AnyDiscipline, custom, lifo};
use roundelay::{ByCopy, FlowId, Instant, Limit, Purpose, QueueSpec, Rate, Scheduler, Seed};
use roundelay_trace::{
    Capture, CompareError, Comparison, DisciplineResult, FlowResult, Options, PacketFate,
    PacketRecord, PacketSink, Progress, ReplayObserver, Stop, WeightRules, compare,
};

const MILLISECOND: u64 = 1_000_000;
const SECOND: u64 = 1000 * MILLISECOND;
/// Captured bytes of each packet: Ethernet, IPv4 and UDP headers.
const HEADERS: u32 = 42;

/// A packet of a capture: nanoseconds, flow (the UDP destination port minus 1000), bytes on the
/// wire.
#[derive(Debug, Clone, Copy)]
struct Sample {
    at: u64,
    flow: u16,
    len: u32,
}

const fn sample(at: u64, flow: u16, len: u32) -> Sample {
    Sample { at, flow, len }
}

/// Packets of one flow at a steady pace, the first at `start`.
fn steady(start: u64, interval: u64, count: u64, flow: u16, len: u32) -> Vec<Sample> {
    (0..count)
        .map(|number| sample(start + number * interval, flow, len))
        .collect()
}

/// Several flows' packets in order of time; simultaneous packets stay in the given order.
fn merged(flows: impl IntoIterator<Item = Vec<Sample>>) -> Vec<Sample> {
    let mut all: Vec<_> = flows.into_iter().flatten().collect();
    all.sort_by_key(|sample| sample.at);
    all
}

fn write_sample(sample: &Sample) -> Vec<u8> {
    let frame = ethernet(0x0800, &ipv4(UDP, A, B, &ports(5000, 1000 + sample.flow)));
    let captured = sample.len.min(HEADERS);
    let (seconds, nanos) = ((sample.at / SECOND) as u32, (sample.at % SECOND) as u32);
    [
        record_header(Little, seconds, nanos, captured, sample.len),
        frame[..captured as usize].to_vec(),
    ]
    .concat()
}

fn nanosecond_pcap() -> Vec<u8> {
    pcap(Little, NANOS, (2, 4), 65_535, ETHERNET)
}

fn write(samples: &[Sample]) -> Vec<u8> {
    samples.iter().fold(nanosecond_pcap(), |bytes, sample| {
        [bytes, write_sample(sample)].concat()
    })
}

fn specs(texts: &[&str]) -> Vec<QueueSpec> {
    texts.iter().map(|text| text.parse().unwrap()).collect()
}

fn all_specs() -> Vec<QueueSpec> {
    AnyDiscipline::all()
        .into_iter()
        .map(|discipline| QueueSpec {
            discipline,
            limit: None,
        })
        .collect()
}

fn options(rate: &str, specs: Vec<QueueSpec>) -> Options {
    Options {
        measure_cost: false,
        ..Options::new(rate.parse().unwrap(), specs)
    }
}

fn weights(rules: &[&str]) -> WeightRules {
    let mut weights = WeightRules::default();
    rules
        .iter()
        .for_each(|rule| weights.push(WeightRules::parse_rule(rule).unwrap()));
    weights
}

fn try_run(bytes: Vec<u8>, options: &Options) -> Result<Comparison, CompareError> {
    compare(
        Capture::from_reader("t.pcap", Cursor::new(bytes))?,
        options,
        &mut (),
    )
}

/// Compares, and checks the invariants of every comparison.
fn run(samples: &[Sample], options: &Options) -> Comparison {
    let comparison = try_run(write(samples), options).unwrap();
    assert_sound(&comparison);
    comparison
}

fn by_spec<'a>(comparison: &'a Comparison, spec: &str) -> &'a DisciplineResult {
    comparison
        .disciplines
        .iter()
        .find(|discipline| discipline.spec == spec)
        .unwrap()
}

fn flow_of<'a>(comparison: &'a Comparison, spec: &str, flow: u16) -> &'a FlowResult {
    let port = format!(":{}", 1000 + flow);
    let index = comparison
        .flows
        .iter()
        .position(|flow| flow.label.ends_with(&port))
        .unwrap();
    &by_spec(comparison, spec).flows[index]
}

/// Everything offered was sent or dropped, and totals are the sums of their flows.
fn assert_conserved(comparison: &Comparison) {
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

fn assert_bounds_kept(comparison: &Comparison, place: &str) {
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
fn assert_finite(comparison: &Comparison) {
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

fn assert_sound(comparison: &Comparison) {
    assert_conserved(comparison);
    assert_bounds_kept(comparison, "");
    assert_finite(comparison);
    assert!(
        !comparison.verdict.sentences.is_empty()
            && comparison.verdict.best < comparison.disciplines.len()
    );
}

/// Stores the fate of each packet, by discipline.
#[derive(Default)]
struct Keeper(Vec<Arc<Mutex<Vec<PacketRecord>>>>);

struct Kept(Arc<Mutex<Vec<PacketRecord>>>);

impl PacketSink for Kept {
    fn record(&mut self, packet: &PacketRecord) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.0.lock().unwrap().push(*packet);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
}

impl ReplayObserver for Keeper {
    fn sink(
        &mut self,
        _: &str,
        index: usize,
        _: i64,
    ) -> Result<Option<Box<dyn PacketSink>>, Box<dyn Error + Send + Sync>> {
        assert_eq!(
            index,
            self.0.len(),
            "sinks are asked for in the order of the disciplines"
        );
        self.0.push(Arc::default());
        Ok(Some(Box::new(Kept(self.0[index].clone()))))
    }
}

fn records(samples: &[Sample], options: &Options) -> Vec<Vec<PacketRecord>> {
    let mut keeper = Keeper::default();
    let comparison = compare(
        Capture::from_reader("t.pcap", Cursor::new(write(samples))).unwrap(),
        options,
        &mut keeper,
    )
    .unwrap();
    assert_sound(&comparison);
    keeper
        .0
        .iter()
        .map(|kept| kept.lock().unwrap().clone())
        .collect()
}

/// Small pseudo-random numbers: SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

/// Flows that come and go: bursts, pauses between packets of one burst, silences in which flows
/// leave, superframes here and there.
fn random_samples(random: &mut Random) -> Vec<Sample> {
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

/// Deep queues of many flows with silences close to the flow timeout; flows return while their
/// packets wait.
fn stormy_samples(random: &mut Random) -> Vec<Sample> {
    let mut samples = Vec::new();
    let (flows, span) = (random.pick(&[2, 3, 8]), random.pick(&[1, 5, 15]) * SECOND);
    for flow in 0..flows {
        let lens = random.pick(&[
            [1500, 1500],
            [64, 1500],
            [200, 200],
            [65_535, 1500],
            [1514, 9000],
        ]);
        let mut at = random.below(span);
        for _ in 0..random.pick(&[1, 3, 5]) {
            let (count, gap) = (
                random.pick(&[1, 20, 60]),
                random.pick(&[0, 100_000, 10 * MILLISECOND]),
            );
            samples.extend(
                (0..count).map(|number| sample(at + number * gap, flow, random.pick(&lens))),
            );
            at += count * gap
                + random.pick(&[5000, 9990, 10_000, 10_010, 12_000, 25_000]) * MILLISECOND;
        }
    }
    samples.sort_by_key(|sample| sample.at);
    samples
}

fn random_options(random: &mut Random, specs: Vec<QueueSpec>) -> Options {
    let mut options = options(
        random.pick(&["50kbit", "1mbit", "10mbit", "200mbit"]),
        specs,
    );
    options.buffer = random.pick(&[
        None,
        Some(Limit::of_packets(20)),
        Some(Limit::of_bytes(100_000)),
        Some(Limit::UNBOUNDED),
    ]);
    if random.below(2) == 0 {
        options.weights = weights(&[
            "dst port 1000 = 10",
            "dst port 1001 = 1024",
            "dst portrange 1002-1004 = 3",
            "dst port 1005 = 77",
        ]);
    }
    options.seed = random.next();
    options
}

#[test]
fn fifo_delays_each_packet_as_lindley_says() {
    let mut random = Random(1);
    let mut at = 0;
    let next = |_| {
        at += random.below(2 * MILLISECOND);
        sample(at, random.below(5) as u16, 60 + random.below(1455) as u32)
    };
    let samples: Vec<_> = (0..2000).map(next).collect();
    let rate: Rate = "7mbit".parse().unwrap();
    let kept = records(
        &samples,
        &Options {
            buffer: Some(Limit::UNBOUNDED),
            ..options("7mbit", specs(&["fifo"]))
        },
    );
    assert_eq!(kept[0].len(), samples.len());
    let mut free_at = Instant::ZERO;
    for (sample, record) in samples.iter().zip(&kept[0]) {
        let arrival = Instant::from_nanos(sample.at - samples[0].at);
        let start = arrival.max(free_at);
        free_at = start + rate.time_of(sample.len.into());
        assert_eq!((record.arrival, record.len), (arrival, sample.len));
        assert_eq!(
            record.fate,
            PacketFate::Sent {
                start,
                end: free_at,
                marked: false
            }
        );
    }
}

#[test]
fn packets_kept_one_by_one_add_up_to_the_result() {
    let samples = random_samples(&mut Random(7));
    let options = Options {
        buffer: Some(Limit::of_packets(15)),
        ..options("1mbit", all_specs())
    };
    let comparison = run(&samples, &options);
    for (kept, discipline) in records(&samples, &options)
        .iter()
        .zip(&comparison.disciplines)
    {
        let mut sent: BTreeMap<FlowId, (u64, u64, u64)> = BTreeMap::new();
        for record in kept {
            let (packets, bytes, dropped) = sent.entry(record.flow).or_default();
            match record.fate {
                PacketFate::Sent { start, end, .. } => {
                    assert!(record.arrival <= start && start <= end, "{record:?}");
                    (*packets, *bytes) = (*packets + 1, *bytes + u64::from(record.len));
                }
                PacketFate::Dropped(_) => *dropped += 1,
            }
        }
        for (flow, (packets, bytes, dropped)) in sent {
            let outcome = &discipline.flows[flow.index()].outcome;
            assert_eq!(
                (outcome.packets, outcome.bytes, outcome.drops.total()),
                (packets, bytes, dropped),
                "{}",
                discipline.spec
            );
        }
    }
}

#[test]
fn results_depend_neither_on_threads_nor_on_the_run() {
    let samples = random_samples(&mut Random(2));
    let options = Options {
        buffer: Some(Limit::of_packets(30)),
        ..options("1mbit", all_specs())
    };
    let with_threads = |threads| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .unwrap();
        format!("{:?}", pool.install(|| run(&samples, &options)))
    };
    let first = with_threads(1);
    assert_eq!(first, with_threads(2));
    assert_eq!(first, with_threads(1));
}

#[test]
fn disciplines_do_not_see_each_other() {
    let samples = random_samples(&mut Random(3));
    let forward = options("1mbit", all_specs());
    let mut backward = forward.clone();
    backward.specs.reverse();
    let (forward, backward) = (run(&samples, &forward), run(&samples, &backward));
    for (one, other) in forward
        .disciplines
        .iter()
        .zip(backward.disciplines.iter().rev())
    {
        assert_eq!(format!("{one:?}"), format!("{other:?}"));
    }
    let best =
        |comparison: &Comparison| comparison.disciplines[comparison.verdict.best].spec.clone();
    assert_eq!(best(&forward), best(&backward));
}

#[test]
fn limits_hold_the_disciplines_own_before_the_common_one() {
    let burst = steady(0, 0, 100, 0, 1000);
    let with = |buffer, text| {
        let options = Options {
            buffer,
            ..options("1mbit", specs(&[text]))
        };
        let comparison = run(&burst, &options);
        (
            comparison.disciplines[0].total.packets,
            comparison.disciplines[0].limit.clone(),
        )
    };
    // All packets arrive before the link picks one.
    assert_eq!(
        with(Some(Limit::of_packets(10)), "fifo"),
        (10, "10p".to_owned())
    );
    assert_eq!(
        with(Some(Limit::of_bytes(5_500)), "qfq"),
        (5, "5500b".to_owned())
    );
    assert_eq!(
        with(Some(Limit::of_packets(10)), "drr limit 20"),
        (20, "20p".to_owned())
    );
    assert_eq!(with(None, "sfq limit 30"), (30, "30p".to_owned()));
    assert_eq!(with(None, "fifo"), (100, "1000p".to_owned()));
    assert_eq!(
        with(Some(Limit::of_packets(0)), "wf2q_plus"),
        (0, "0p".to_owned())
    );
}

#[test]
fn weights_share_the_link_and_fifo_does_not_know_them() {
    let greedy = |flow| steady(0, MILLISECOND, 4000, flow, 1000);
    let samples = merged([greedy(0), greedy(1)]);
    let texts = ["fifo", "drr", "qfq", "wf2q_plus"];
    let mut options = options("8mbit", specs(&texts));
    options.buffer = Some(Limit::UNBOUNDED);
    options.weights = weights(&["dst port 1000 = 3"]);
    // While both wait, until the heavy flow's last arrival: 8 Mbit/s send 4000 of these packets in
    // 4 seconds.
    let share = |kept: &[PacketRecord]| {
        let sent = kept.iter().filter(|r| matches!(r.fate, PacketFate::Sent { end, .. } if end <= Instant::from_nanos(4 * SECOND)));
        sent.fold([0_i64; 2], |mut sums, r| {
            sums[r.flow.index()] += i64::from(r.len);
            sums
        })
    };
    for (text, kept) in texts.iter().zip(records(&samples, &options)) {
        let [heavy, light] = share(&kept);
        if *text == "fifo" {
            assert!((heavy - light).abs() <= 1000, "fifo: {heavy} and {light}");
            continue;
        }
        // One turn of drr is 3 quanta; the first packets have no rival.
        let slack = if *text == "drr" { 4 * 1514 } else { 4 * 1000 };
        assert!(
            (heavy - 3 * light).abs() <= slack,
            "{text}: {heavy} and {light}"
        );
    }
}

#[test]
fn fair_disciplines_spare_the_small_flow() {
    let greedy = |flow| steady(0, 2 * MILLISECOND, 2000, flow, 1500);
    let samples = merged([
        greedy(0),
        greedy(1),
        steady(3 * MILLISECOND, 20 * MILLISECOND, 200, 2, 200),
    ]);
    let comparison = run(
        &samples,
        &Options {
            buffer: Some(Limit::of_packets(500)),
            ..options("6mbit", all_specs())
        },
    );
    let p99 = |spec: &str| flow_of(&comparison, spec, 2).outcome.delay.unwrap().p99;
    assert!(p99("fifo") > 0.3, "fifo: {}", p99("fifo"));
    for spec in ["drr", "sfq", "wf2q_plus", "qfq", "fq_codel"] {
        // A few packets of 2 ms each.
        assert!(p99(spec) < 0.012, "{spec}: {}", p99(spec));
        assert_eq!(
            flow_of(&comparison, spec, 2).outcome.drops.total(),
            0,
            "{spec}"
        );
    }
    assert_ne!(comparison.disciplines[comparison.verdict.best].name, "fifo");
    let light: Vec<_> = comparison.flows.iter().filter(|flow| flow.light).collect();
    assert!(
        light.len() == 1 && light[0].label.ends_with(":1002"),
        "{light:?}"
    );
}

#[test]
fn wf2q_plus_lags_no_packet_behind_the_fluid_server() {
    let greedy = |flow, len| steady(0, MILLISECOND, 1000, flow, len);
    let samples = merged([
        greedy(0, 1500),
        greedy(1, 1500),
        greedy(2, 700),
        steady(0, 10 * MILLISECOND, 100, 3, 100),
    ]);
    let comparison = run(
        &samples,
        &Options {
            buffer: Some(Limit::UNBOUNDED),
            ..options("6mbit", specs(&["fifo", "wf2q_plus"]))
        },
    );
    let (fifo, fair) = (
        by_spec(&comparison, "fifo").worst_lag,
        by_spec(&comparison, "wf2q_plus").worst_lag,
    );
    assert!(fair <= 1500.0 + 1e-3, "{fair}");
    assert!(fifo > 10_000.0, "{fifo}");
}

/// The verdict's sentences for samples on a link of 8 Mbit/s, where a packet of 1000 bytes takes a
/// millisecond.
fn verdict_of(samples: &[Sample], texts: &[&str]) -> String {
    run(samples, &options("8mbit", specs(texts)))
        .verdict
        .sentences
        .join(" ")
}

/// Two greedy flows with three times the link's rate, and a small flow.
fn overload() -> Vec<Sample> {
    let greedy = |flow| steady(0, 666_000, 3000, flow, 1000);
    merged([
        greedy(0),
        greedy(1),
        steady(3 * MILLISECOND, 20 * MILLISECOND, 100, 2, 200),
    ])
}

#[test]
fn an_overloaded_link_is_contended_even_if_all_disciplines_are_fair() {
    let text = verdict_of(&overload(), &["drr", "qfq"]);
    assert!(
        !text.contains("Nothing contends") && text.contains("because its buffer is full"),
        "{text}"
    );
}

#[test]
fn a_lone_packet_is_no_contention_however_slow_the_link() {
    let comparison = run(&[sample(0, 0, 1500)], &options("1kbit", all_specs()));
    assert!(
        comparison.verdict.sentences[0].starts_with("Nothing contends"),
        "{:?}",
        comparison.verdict.sentences
    );
}

/// Regression: the verdict was random, because of its small memory.
#[test]
fn where_nothing_matters_a_fifo_will_do() {
    let with = |rate: &str, buffer| {
        let comparison = run(
            &overload(),
            &Options {
                buffer,
                ..options(rate, all_specs())
            },
        );
        assert_eq!(comparison.disciplines[comparison.verdict.best].name, "fifo");
        comparison.verdict.sentences.join(" ")
    };
    assert_eq!(
        with("10tbit", None),
        "Nothing contends for this link: fifo will do."
    );
    let text = with("8mbit", Some(Limit::of_packets(0)));
    assert!(
        text.starts_with("Nothing gets through, whichever discipline it is."),
        "{text}"
    );
    assert_eq!(
        verdict_of(
            &steady(0, 9_000_000, 20, 0, 1000),
            &["random", "wfq", "mqfq"]
        )
        .split(':')
        .nth(1)
        .unwrap()
        .split(' ')
        .nth(1),
        Some("wfq")
    );
}

/// Six times the link's rate: all disciplines lose most of the packets, with different delays for
/// the rest.
#[test]
fn losses_that_must_be_do_not_hide_delay() {
    let greedy = |flow| steady(0, 333_000, 6000, flow, 1000);
    let text = verdict_of(&merged([greedy(0), greedy(1)]), &["fifo", "sfq"]);
    assert!(
        text.starts_with("sfq divides the link best: each flow asks for more than its fair share"),
        "{text}"
    );
}

#[test]
fn what_is_served_alike_is_said_to_be() {
    let text = verdict_of(&steady(0, 666_000, 3000, 0, 1000), &["drr", "qfq"]);
    assert!(text.contains("serve this traffic about equally"), "{text}");
}

#[test]
fn a_light_flow_that_gets_nothing_through_is_not_forgotten() {
    let text = verdict_of(&overload(), &["fifo limit 0"]);
    assert!(text.contains("only bulk flows get any packet"), "{text}");
    let text = verdict_of(&overload(), &["fifo limit 0", "qfq"]);
    assert!(text.starts_with("qfq serves this traffic best"), "{text}");
}

#[test]
fn buffers_that_differ_are_named_where_they_decide() {
    let named = |texts: &[&str]| verdict_of(&overload(), texts).contains("had different buffers");
    assert!(named(&["drr limit 10", "qfq limit 1000"]));
    assert!(!named(&["drr limit 10", "qfq limit 10"]));
}

#[test]
fn weights_without_effect_are_noted() {
    let rules = weights(&[
        "dst port 9 = 10",
        "dst port 1000 = 3",
        "dst portrange 1000-1001 = 2",
    ]);
    let notes = |texts: &[&str]| {
        run(
            &overload(),
            &Options {
                weights: rules.clone(),
                ..options("8mbit", specs(texts))
            },
        )
        .capture
        .notes
    };
    let of_qfq = notes(&["qfq"]);
    assert!(
        of_qfq.contains(&"Weight rule 1 of 3 matches no flow of this capture.".to_owned()),
        "{of_qfq:?}"
    );
    assert!(
        !of_qfq.iter().any(|note| note.contains("rule 2")
            || note.contains("rule 3")
            || note.contains("ignore weights")),
        "{of_qfq:?}"
    );
    assert!(
        notes(&["qfq", "fifo", "sfq"])
            .contains(&"These disciplines ignore weights: fifo, sfq.".to_owned())
    );
}

#[test]
fn an_absurd_load_is_noted() {
    let notes = |rate| {
        run(&overload(), &options(rate, specs(&["fifo"])))
            .capture
            .notes
    };
    let asked = |notes: Vec<String>| {
        notes
            .iter()
            .any(|note| note.ends_with("times the link's rate: is --rate 1kbit meant?"))
    };
    assert!(asked(notes("1kbit")));
    assert!(!notes("8mbit").iter().any(|note| note.contains("--rate")));
}

#[test]
fn a_capture_of_an_unknown_link_is_refused_by_name() {
    let header = |word: u32| word.to_le_bytes();
    let mut bytes = [0xa1b2_c3d4, 0x0004_0002, 0, 0, 65_535, 147]
        .map(header)
        .concat();
    bytes.extend([1, 0, 4, 4].map(header).concat());
    bytes.extend([0; 4]);
    let capture = Capture::from_reader("user.pcap", std::io::Cursor::new(bytes)).unwrap();
    let error = compare(capture, &options("8mbit", specs(&["fifo"])), &mut ())
        .unwrap_err()
        .to_string();
    assert!(
        error.starts_with("user.pcap: headers of link type") && error.contains("147"),
        "{error}"
    );
}

/// Two flows with a burst each: the earlier deadline is served first, whichever flow was seen
/// first.
#[test]
fn deadlines_of_rules_reach_the_disciplines_that_read_them() {
    let samples = merged([steady(0, 1, 20, 0, 1000), steady(0, 1, 20, 1, 1000)]);
    let rule = |port: u32, deadline: &str| {
        format!("[[weight]]\nmatch = \"dst port {port}\"\nweight = 1\ndeadline = \"{deadline}\"\n")
    };
    for (urgent, patient) in [(0, 1), (1, 0)] {
        let file =
            rule(1000 + u32::from(urgent), "10ms") + &rule(1000 + u32::from(patient), "100ms");
        let mut options = options("8mbit", specs(&["afq", "drr"]));
        options.weights = WeightRules::from_toml("w.toml", &file).unwrap();
        let comparison = run(&samples, &options);
        let longest =
            |spec: &str, flow| flow_of(&comparison, spec, flow).outcome.delay.unwrap().max;
        assert!(
            (longest("afq", urgent) - 0.02).abs() < 2e-3,
            "{}",
            longest("afq", urgent)
        );
        assert!(longest("afq", patient) > 0.039);
        assert!(longest("drr", urgent) > 0.037, "drr reads no deadlines");
    }
}

fn compare_at_random(seed: u64, weighted: bool) {
    let mut random = Random(seed);
    let samples = random_samples(&mut random);
    audit(random, &samples, weighted, seed);
}

fn audit(mut random: Random, samples: &[Sample], weighted: bool, seed: u64) {
    let mut options = random_options(
        &mut random,
        specs(&[
            "drr",
            "qfq",
            "wf2q_plus",
            "drr quantum 300b",
            "wfq",
            "wf2q",
            "scfq",
        ]),
    );
    if !weighted {
        options.weights = WeightRules::default();
    }
    let comparison = try_run(write(samples), &options).unwrap();
    assert_conserved(&comparison);
    assert_bounds_kept(&comparison, &format!("seed {seed}"));
}

/// Regression: a flow returned while its packets waited, and its lag was lost despite unchanged
/// settings.
#[test]
fn bounds_are_kept_by_flows_that_fall_silent_and_return() {
    // The loss of a lag shows with seed 782.
    for seed in (0..100).chain([782]) {
        let mut random = Random(seed);
        let samples = stormy_samples(&mut random);
        audit(random, &samples, true, seed);
    }
}

#[test]
fn bounds_are_kept_on_random_captures() {
    (0..200).for_each(|seed| compare_at_random(seed, true));
}

#[test]
#[ignore = "run by make test-full: a minute"]
fn bounds_are_kept_on_forty_thousand_random_captures() {
    (0..40_000).for_each(|seed| compare_at_random(seed, seed % 2 == 0));
}

/// Optional weights, and disciplines that see flows leave while their packets wait.
fn let_backlogged_flows_leave(rules: &[&str], specs: Vec<QueueSpec>) {
    // At 50 kbit/s the burst takes 32 s; in this time both flows fall silent and leave, one
    // returns, and a third arrives.
    let burst = |at, flow, count| steady(at, 0, count, flow, 1000);
    let rival = steady(0, SECOND, 60, 2, 200);
    let samples = merged([
        burst(0, 0, 100),
        burst(0, 1, 100),
        rival,
        burst(25 * SECOND, 0, 20),
        burst(50 * SECOND, 3, 20),
    ]);
    let comparison = run(
        &samples,
        &Options {
            weights: weights(rules),
            buffer: Some(Limit::UNBOUNDED),
            ..options("50kbit", specs)
        },
    );
    // These two have limits beside the buffer's; others drop only to signal congestion.
    let others = comparison
        .disciplines
        .iter()
        .filter(|discipline| discipline.name != "sfq" && discipline.name != "mqfq");
    for discipline in others {
        let drops = &discipline.total.drops;
        assert_eq!(drops.total(), drops.early, "{}", discipline.name);
    }
    let drops_none = |name: &str| {
        comparison
            .disciplines
            .iter()
            .filter(|d| d.name == name)
            .all(|d| d.total.drops.total() == 0)
    };
    assert!(
        ["fifo", "drr", "wf2q_plus", "qfq", "qfq_plus", "scfq", "srr"]
            .into_iter()
            .all(drops_none)
    );
}

const UNEQUAL: [&str; 2] = ["dst port 1000 = 50", "dst port 1002 = 7"];

#[test]
fn a_flow_may_leave_while_its_packets_still_wait() {
    let_backlogged_flows_leave(&[], all_specs());
    let_backlogged_flows_leave(&UNEQUAL, all_specs());
}

/// Regression, for flows that leave and return: DRR forgot weights while packets waited, QFQ
/// counted weights twice.
#[test]
fn weights_that_leave_and_return_break_no_bound() {
    const QFQ: [u64; 5] = [3408, 13_140, 15_736, 24_152, 24_223];
    const DRR: [u64; 10] = [
        3778, 7620, 9469, 15_131, 16_830, 20_439, 20_499, 24_371, 38_941, 39_286,
    ];
    QFQ.into_iter()
        .chain(DRR)
        .for_each(|seed| compare_at_random(seed, true));
}

/// Regression: a bound that grows with the number of flows was computed for the moment with the
/// largest weights, when fewer flows were present.
#[test]
fn lateness_is_held_against_most_flows() {
    compare_at_random(1707, true);
}

#[test]
fn a_flow_leaves_ten_seconds_after_its_last_packet() {
    // Flow 1 arrives just before flow 0 has been silent for ten seconds; flow 0 must not stay
    // longer. Then flow 2 has half the link and falls behind a burst of flow 1 by at most half of
    // the burst; if flow 0 were present, by a third.
    let burst = |at, flow| steady(at, 0, 20, flow, 1000);
    let samples = merged([
        vec![sample(0, 0, 1000), sample(SECOND, 0, 1000)],
        burst(9 * SECOND, 1),
        burst(12 * SECOND, 1),
        burst(12 * SECOND, 2),
    ]);
    let comparison = run(&samples, &options("1mbit", specs(&["fifo"])));
    assert_eq!(flow_of(&comparison, "fifo", 2).b_wfi, 10_000.0);
}

#[test]
fn time_that_runs_backwards_is_noted_and_does_no_harm() {
    let samples = [
        sample(5 * SECOND, 0, 1000),
        sample(SECOND, 1, 1000),
        sample(2 * SECOND, 0, 1000),
        sample(0, 1, 1000),
    ];
    let comparison = run(&samples, &options("1mbit", all_specs()));
    assert_eq!(comparison.capture.seconds, 1.0);
    assert!(
        comparison
            .capture
            .notes
            .iter()
            .any(|note| note.starts_with("2 packets have an earlier time than the packet before"))
    );
}

#[test]
fn years_of_silence_are_cut_and_noted() {
    let samples = [
        sample(0, 0, 1000),
        sample(4_000_000_000 * SECOND, 0, 1000),
        sample(4_000_000_001 * SECOND, 1, 1000),
    ];
    let comparison = run(&samples, &options("1mbit", all_specs()));
    assert_eq!(comparison.capture.seconds, 3601.0);
    assert!(
        comparison
            .capture
            .notes
            .iter()
            .any(|note| note.starts_with("1 silence of more than an hour was")),
        "{:?}",
        comparison.capture.notes
    );
}

#[test]
fn the_end_of_the_clock_is_an_error_and_loses_nothing_silently() {
    // More hours than the clock's range of 213 days.
    let hourly = steady(0, 3600 * SECOND, 6000, 0, 100);
    let error = try_run(write(&hourly), &options("1mbit", all_specs()))
        .unwrap_err()
        .to_string();
    assert!(error.contains("213 days"), "{error}");
    // A queue that drains for longer than the clock's range.
    let error = try_run(
        write(&steady(0, 0, 3000, 0, 1500)),
        &options("1bit", specs(&["fifo limit 3000"])),
    )
    .unwrap_err()
    .to_string();
    assert!(error.contains("213 days"), "{error}");
}

#[test]
fn costs_are_measured_however_sparse_the_capture_is() {
    for samples in [
        vec![sample(0, 0, 100)],
        vec![sample(0, 0, 100), sample(3000 * SECOND, 1, 100)],
    ] {
        let comparison = run(
            &samples,
            &Options {
                measure_cost: true,
                ..options("1mbit", specs(&["fifo"]))
            },
        );
        let cost = comparison.disciplines[0].cost.unwrap();
        assert!(
            cost.packets > 0
                && cost.range.0 <= cost.nanos_per_packet
                && cost.nanos_per_packet <= cost.range.1,
            "{cost:?}"
        );
    }
}

#[test]
fn small_captures_give_sound_results() {
    let one = run(&[sample(SECOND, 0, 100)], &options("1mbit", all_specs()));
    assert_eq!((one.capture.packets, one.capture.seconds), (1, 0.0));
    assert!(
        one.verdict.sentences[0].starts_with("Nothing contends"),
        "{:?}",
        one.verdict
    );
    let instant = run(
        &merged((0..9).map(|flow| steady(SECOND, 0, 50, flow, 500))),
        &options("1mbit", all_specs()),
    );
    assert_eq!(
        (instant.capture.packets, instant.capture.seconds),
        (450, 0.0)
    );
    let error = try_run(nanosecond_pcap(), &options("1mbit", all_specs())).unwrap_err();
    assert!(matches!(&error, CompareError::NoPackets { .. }), "{error}");
    assert_eq!(error.to_string(), "t.pcap: the capture holds no packets");
}

#[test]
fn lengths_from_nothing_to_four_gigabytes() {
    let lengths = [
        0,
        1,
        41,
        42,
        1514,
        1522,
        1523,
        65_535,
        65_536,
        65_537,
        1 << 20,
        u32::MAX,
    ];
    let samples: Vec<_> = (0..5)
        .flat_map(|turn| lengths.map(|len| sample(turn * MILLISECOND, (turn % 3) as u16, len)))
        .collect();
    let comparison = run(&samples, &options("10mbit", all_specs()));
    let note = |text: &str| {
        assert!(
            comparison
                .capture
                .notes
                .iter()
                .any(|note| note.contains(text)),
            "{:?}",
            comparison.capture.notes
        )
    };
    note("15 packets are longer than 64 KB");
    note("30 packets are longer than 1500 bytes");
    // The packets of 0 and 1 bytes; 41 captured bytes still include the ports.
    note("10 packets whose headers could not be read");
    let only_nothing = run(
        &steady(0, MILLISECOND, 10, 0, 0),
        &options("1mbit", all_specs()),
    );
    assert_eq!(only_nothing.capture.bytes, 0);
    assert!(
        only_nothing
            .disciplines
            .iter()
            .all(|discipline| discipline.total.packets == 10)
    );
}

#[test]
fn flows_beyond_the_limit_share_one() {
    let samples: Vec<_> = (0..2000)
        .map(|number| sample(number * MILLISECOND, (number % 50) as u16, 500))
        .collect();
    let comparison = run(
        &samples,
        &Options {
            max_flows: Some(10),
            ..options("1mbit", all_specs())
        },
    );
    assert_eq!(comparison.flows.len(), 11);
    assert_eq!(
        (
            comparison.flows[10].label.as_str(),
            comparison.flows[10].packets
        ),
        ("other flows", 1600)
    );
    let note = "1600 packets belong to flows beyond the first 10 flows. ";
    assert!(
        comparison
            .capture
            .notes
            .iter()
            .any(|line| line.starts_with(note)),
        "{:?}",
        comparison.capture.notes
    );
}

/// Regression: 100,000 flows were 65,537, one of them heavy, and nothing said so.
#[test]
fn the_usual_number_of_flows_falls_with_the_number_of_disciplines() {
    let most = [1, 4, 100].map(Options::usual_flows);
    assert_eq!(most, [952_380, 333_333, 65_536]);
    let two = options("1mbit", all_specs()[..2].to_vec());
    assert_eq!(two.most_flows(), Options::usual_flows(2));
}

#[test]
fn a_sink_that_fails_ends_the_comparison() {
    struct Full;
    impl PacketSink for Full {
        fn record(&mut self, _: &PacketRecord) -> Result<(), Box<dyn Error + Send + Sync>> {
            Err("the disk is full".into())
        }
        fn finish(self: Box<Self>) -> Result<(), Box<dyn Error + Send + Sync>> {
            Ok(())
        }
    }
    impl ReplayObserver for Full {
        fn sink(
            &mut self,
            _: &str,
            _: usize,
            _: i64,
        ) -> Result<Option<Box<dyn PacketSink>>, Box<dyn Error + Send + Sync>> {
            Ok(Some(Box::new(Self)))
        }
    }
    let capture =
        Capture::from_reader("t.pcap", Cursor::new(write(&steady(0, 0, 3, 0, 100)))).unwrap();
    let error = compare(capture, &options("1mbit", all_specs()), &mut Full).unwrap_err();
    assert_eq!(error.to_string(), "the disk is full");
}

/// Requests a stop after the first block, and keeps the finished sinks.
#[derive(Default)]
struct Stopper {
    stop: Stop,
    blocks: u32,
    finished: Arc<Mutex<u32>>,
}

struct Finished(Arc<Mutex<u32>>);

impl PacketSink for Finished {
    fn record(&mut self, _: &PacketRecord) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), Box<dyn Error + Send + Sync>> {
        *self.0.lock().unwrap() += 1;
        Ok(())
    }
}

impl ReplayObserver for Stopper {
    fn progress(&mut self, _: Progress) {
        self.blocks += 1;
        self.stop.request();
    }

    fn stop(&self) -> Stop {
        self.stop.clone()
    }

    fn sink(
        &mut self,
        _: &str,
        _: usize,
        _: i64,
    ) -> Result<Option<Box<dyn PacketSink>>, Box<dyn Error + Send + Sync>> {
        Ok(Some(Box::new(Finished(self.finished.clone()))))
    }
}

#[test]
fn a_requested_stop_ends_a_comparison_after_a_block_and_completes_no_file() {
    for specs in [vec!["fifo".parse().unwrap()], vec!["sjf".parse().unwrap()]] {
        let mut stopper = Stopper::default();
        let error = compare(example(), &options("1mbit", specs), &mut stopper).unwrap_err();
        assert!(matches!(error, CompareError::Stopped), "{error}");
        assert_eq!((stopper.blocks, *stopper.finished.lock().unwrap()), (1, 0));
    }
}

#[test]
fn a_capture_that_turns_bad_midway_is_an_error() {
    let mut bytes = write(&steady(0, MILLISECOND, 10, 0, 100));
    bytes.extend(record_header(Little, 0, 0, u32::MAX, 100));
    let error = try_run(bytes, &options("1mbit", all_specs())).unwrap_err();
    assert!(matches!(&error, CompareError::Capture(_)), "{error}");
}

fn example() -> Capture {
    Capture::open(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/captures/home-downlink.pcap"),
    )
    .unwrap()
}

#[test]
fn the_example_replays_the_queue_that_it_was_captured_in() {
    // The original queue dropped 506, and counted the rest of the packet on the link; a port does
    // not count this packet at all.
    let options = options("5mbit", specs(&["fifo limit 128000b"]));
    let comparison = compare(example(), &options, &mut ()).unwrap();
    assert_sound(&comparison);
    let total = &comparison.disciplines[0].total;
    assert_eq!((total.drops.full, total.drops.total()), (514, 514));
    let longest = total.delay.unwrap().max;
    assert!((0.204..0.208).contains(&longest), "{longest}");
}

#[test]
fn the_example_shows_what_fair_queues_do() {
    let comparison = compare(
        example(),
        &options("5mbit", specs(&["fifo", "qfq", "wf2q_plus"])),
        &mut (),
    )
    .unwrap();
    assert_sound(&comparison);
    assert_ne!(
        comparison.disciplines[comparison.verdict.best].name, "fifo",
        "{:?}",
        comparison.verdict
    );
    let is_voice = |label: &str| label.starts_with("udp 192.0.2.60:") && label.ends_with(":40000");
    let voice = comparison
        .flows
        .iter()
        .position(|flow| is_voice(&flow.label))
        .unwrap();
    assert!(comparison.flows[voice].light);
    let p99 = |spec: &str| {
        by_spec(&comparison, spec).flows[voice]
            .outcome
            .delay
            .unwrap()
            .p99
    };
    assert!(p99("fifo") > 1.0, "{}", p99("fifo"));
    assert!(p99("qfq") < 0.03, "{}", p99("qfq"));
    assert!(p99("wf2q_plus") < 0.01, "{}", p99("wf2q_plus"));
}

/// Rules that give every web server of the example each field used by some discipline.
const WEB_FIRST: &str = "[[weight]]\nmatch = \"src port 443\"\nweight = 10\npriority = 0\nslack = \"20ms\"\ndeadline = \"50ms\"\n";

/// Under `priority`, four of 54 light flows, with most of the light packets, were starved; a mean
/// over flows hardly shows this.
#[test]
fn who_locks_light_flows_out_is_not_best() {
    let mut options = options("5mbit", specs(&["edf", "lstf", "priority"]));
    options.weights = WeightRules::from_toml("w.toml", WEB_FIRST).unwrap();
    let comparison = compare(example(), &options, &mut ()).unwrap();
    assert_sound(&comparison);
    let light = |spec| {
        (
            by_spec(&comparison, spec).light_p99.unwrap(),
            by_spec(&comparison, spec).light.loss,
        )
    };
    assert!(
        light("priority").0 < light("lstf").0
            && light("priority").1 > 0.5
            && light("lstf").1 == 0.0
    );
    assert_eq!(
        comparison.disciplines[comparison.verdict.best].name, "lstf",
        "{:?}",
        comparison.verdict.sentences
    );
    let text = comparison.verdict.sentences.join(" ");
    assert!(
        text.contains("; none of these is lost. ")
            && text
                .contains("priority delays a typical light flow less than lstf (239 ms against "),
        "{text}"
    );
    assert!(
        text.contains(
            "but loses 55.7% of the packets of calls and games, and no call sends a packet again."
        ),
        "{text}"
    );
}

/// sjf knew every flow's length.
#[test]
fn who_needs_what_no_port_knows_is_not_best() {
    let comparison = compare(example(), &options("5mbit", all_specs()), &mut ()).unwrap();
    let text = comparison.verdict.sentences.join(" ");
    assert_eq!(
        comparison.disciplines[comparison.verdict.best].name, "fq_codel",
        "{text}"
    );
    let sjf = "sjf delays a typical light flow less than fq_codel (25.0 ms against 66.8 ms), but needs to know how long each flow will be, which no port does.";
    assert!(
        text.contains(sjf) && text.contains("fifo hurts DNS (2 flows): "),
        "{text}"
    );
    for (spec, reason) in [
        ("srpt", "needs to know"),
        ("lifo", "is there to compare"),
        ("edf", "needs deadlines"),
        ("fifo_plus", "needs slack"),
    ] {
        let text = compare(example(), &options("5mbit", specs(&[spec])), &mut ())
            .unwrap()
            .verdict
            .sentences
            .join(" ");
        assert!(text.contains(&format!("But {spec} {reason}")), "{text}");
    }
}

/// A discipline reads only its declared fields: other fields do not change its results.
#[test]
fn disciplines_go_by_what_they_say() {
    let mut random = Random(5);
    let samples = random_samples(&mut random);
    let rule = |port: u16, line: &str| format!("[[weight]]\nmatch = \"dst port {port}\"\n{line}\n");
    let with = |lines: [&str; 3]| {
        let mut options = Options {
            buffer: Some(Limit::of_packets(30)),
            ..options("1mbit", all_specs())
        };
        let file: String = (0..12)
            .map(|flow| rule(1000 + flow, lines[usize::from(flow % 3)]))
            .collect();
        options.weights = WeightRules::from_toml("w.toml", &file).unwrap();
        run(&samples, &options).disciplines
    };
    let plain = with(["weight = 1"; 3]);
    let differ = |lines| {
        let other = with(lines);
        let changed = plain
            .iter()
            .zip(&other)
            .filter(|(one, other)| format!("{one:?}") != format!("{other:?}"));
        changed.map(|(one, _)| one.name).collect::<Vec<_>>()
    };
    assert_eq!(
        differ(["priority = 7", "priority = 3", "priority = 5"]),
        ["priority", "aifo"]
    );
    assert_eq!(
        differ(["slack = \"0s\"", "slack = \"3s\"", "slack = \"20ms\""]),
        ["fifo_plus", "lstf", "lstf_levels", "sp_pifo"]
    );
    assert_eq!(
        differ([
            "deadline = \"5s\"",
            "deadline = \"9s\"",
            "deadline = \"1ms\""
        ]),
        ["edf", "afq"]
    );
}

#[test]
fn the_best_one_reorders_not_in_silence() {
    let text = verdict_of(&overload(), &["lifo"]);
    let reordered = run(&overload(), &options("8mbit", specs(&["lifo"]))).disciplines[0]
        .total
        .reordered;
    assert!(
        reordered > 1
            && text.contains(&format!(
                " reorders: {reordered} packets leave after a later one of their flow ("
            )),
        "{text}"
    );
    assert!(!verdict_of(&overload(), &["fifo"]).contains("reorders"));
}

/// A discipline of another program that reorders says so, or a note does.
#[test]
fn undeclared_reordering_has_a_note() {
    let lifo = |name, reorders| {
        let config = custom::Config::new(name, |_| ByCopy::new(lifo::Lifo::default()));
        QueueSpec {
            discipline: AnyDiscipline::Custom(custom::Config { reorders, ..config }),
            limit: None,
        }
    };
    let flows = [
        steady(0, 2_000, 500, 1, 1500),
        steady(1_000, 2_000, 500, 2, 1500),
        steady(0, 100_000, 10, 3, 100),
    ];
    let specs = [
        specs(&["fifo", "lifo"]),
        vec![lifo("mine", false), lifo("declared", true)],
    ]
    .concat();
    let comparison = run(&merged(flows), &options("8mbit", specs));
    let notes: Vec<_> = comparison
        .capture
        .notes
        .iter()
        .filter(|note| note.contains("reordered"))
        .collect();
    assert_eq!(
        notes,
        ["mine reordered packets of 2 flows, and does not declare `reorders`."]
    );
    assert!(
        comparison
            .capture
            .notes
            .last()
            .unwrap()
            .contains("open-loop")
    );
}

#[test]
fn only_one_queue_makes_flows_wait_for_what_others_have_sent() {
    let said = |loser: &str| {
        verdict_of(&overload(), &[loser, "qfq"])
            .contains("times as long, because all flows share one queue")
    };
    assert_eq!(["fifo", "lifo", "random"].map(said), [true, false, false]);
}

#[test]
fn what_has_no_commands_is_said_to_have_none() {
    let ends = |spec: &str, end: &str| {
        assert!(
            verdict_of(&overload(), &[spec]).ends_with(end),
            "{}",
            verdict_of(&overload(), &[spec])
        )
    };
    ends(
        "wf2q_plus",
        "No tc commands for wf2q_plus: Linux has no wf2q_plus.",
    );
    ends(
        "red gentle",
        "No tc commands for red gentle: tc has no `gentle`.",
    );
    ends(
        "fq",
        "No tc commands for fq: Linux's fq is another discipline.",
    );
    for spec in [
        "fifo", "codel", "pie", "red", "choke", "sfb", "qfq_plus", "priority",
    ] {
        assert!(
            !verdict_of(&overload(), &[spec]).contains("commands"),
            "{spec}"
        );
    }
}

#[test]
fn what_packets_lack_is_noted() {
    let notes = |texts: &[&str], file: &str| {
        let weights = WeightRules::from_toml("w.toml", file).unwrap();
        let comparison = run(
            &overload(),
            &Options {
                weights,
                ..options("8mbit", specs(texts))
            },
        );
        comparison
            .capture
            .notes
            .into_iter()
            .filter(|note| note.contains("so these disciplines have nothing to order by"))
            .collect::<Vec<_>>()
    };
    let all = [
        "lstf",
        "edf",
        "priority",
        "qfq",
        "edf limit 9",
        "fifo_plus",
        "afq",
    ];
    assert_eq!(
        notes(&all, ""),
        [
            "All packets have the same class, so these disciplines have nothing to order by: priority.",
            "No rule gives packets slack, so these disciplines have nothing to order by: fifo_plus, lstf.",
            "No rule gives packets a deadline, so these disciplines have nothing to order by: afq, edf.",
        ]
    );
    assert_eq!(notes(&["fifo", "qfq"], ""), [""; 0]);
    let rule = |port: u16| {
        format!(
            "[[weight]]\nmatch = \"dst port {port}\"\npriority = 3\nslack = \"1ms\"\ndeadline = \"1ms\"\n"
        )
    };
    assert_eq!(notes(&all, &rule(1000)), [""; 0]);
    assert_eq!(
        notes(&all, &rule(9)).len(),
        3,
        "a rule that matches nothing gives nothing"
    );
}

#[test]
fn a_delay_is_said_to_be_that_of_packets_that_get_through() {
    let text = verdict_of(&overload(), &["fifo limit 10"]);
    assert!(
        text.contains("99% of the packets that get through take no more than")
            && text.contains("; losses: 99.0% of calls and games."),
        "{text}"
    );
}

/// A capture generated while being read: memory holds only one packet.
struct Endless {
    packets: u64,
    written: u64,
    rest: Cursor<Vec<u8>>,
    /// Resident memory after a tenth of the packets.
    after_a_tenth: Arc<Mutex<u64>>,
}

impl Read for Endless {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let given = self.rest.read(buffer)?;
        if given > 0 || buffer.is_empty() || self.written == self.packets {
            return Ok(given);
        }
        if self.written == self.packets / 10 {
            *self.after_a_tenth.lock().unwrap() = resident_bytes();
        }
        let flow = (self.written % 200) as u16;
        self.rest = Cursor::new(write_sample(&sample(
            self.written * 10_000,
            flow,
            200 + u32::from(flow) * 6,
        )));
        self.written += 1;
        self.rest.read(buffer)
    }
}

fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status
        .lines()
        .find(|line| line.starts_with("VmRSS:"))
        .unwrap();
    line.split_whitespace()
        .nth(1)
        .unwrap()
        .parse::<u64>()
        .unwrap()
        * 1024
}

#[test]
#[cfg(target_os = "linux")]
#[ignore = "run by make test-full: two million packets through all disciplines, alone in its process"]
fn memory_does_not_grow_with_the_capture() {
    let after_a_tenth = Arc::new(Mutex::new(0));
    let reader = Endless {
        packets: 2_000_000,
        written: 0,
        rest: Cursor::new(nanosecond_pcap()),
        after_a_tenth: after_a_tenth.clone(),
    };
    let comparison = compare(
        Capture::from_reader("endless", reader).unwrap(),
        &options("500mbit", all_specs()),
        &mut (),
    )
    .unwrap();
    let (early, late) = (*after_a_tenth.lock().unwrap(), resident_bytes());
    assert_eq!(comparison.capture.packets, 2_000_000);
    assert_conserved(&comparison);
    println!(
        "resident: {} KB after a tenth, {} KB at the end",
        early >> 10,
        late >> 10
    );
    assert!(
        late.saturating_sub(early) < 64 << 20,
        "{early} bytes resident after a tenth, {late} at the end"
    );
}

#[test]
fn a_rate_of_a_terabit_and_of_a_kilobit() {
    let samples = random_samples(&mut Random(11));
    for rate in ["1kbit", "10tbit"] {
        let comparison = run(&samples, &options(rate, all_specs()));
        assert!(
            comparison
                .disciplines
                .iter()
                .all(|d| d.total.delay.is_none_or(|delay| delay.max > 0.0)),
            "{rate}"
        );
    }
}

/// Regression: the star marked a figure other than the lowest, without explanation.
#[test]
fn a_lower_figure_than_that_of_the_best_is_explained() {
    let of_example = |texts: &[&str]| {
        let comparison = compare(example(), &options("5mbit", specs(texts)), &mut ()).unwrap();
        (
            comparison.disciplines[comparison.verdict.best].name,
            comparison.verdict.sentences.join(" "),
        )
    };
    for (texts, best, reason) in [
        (
            ["s_kps", "fq_codel"],
            "fq_codel",
            "s_kps delays a typical light flow less than fq_codel (63.9 ms against 66.8 ms), but less than a factor of 1.5 between the two counts as none, \
             losses counted in, and no tc commands are known for it.",
        ),
        (
            ["fifo limit 10", "qfq"],
            "qfq",
            "fifo limit 10 delays a typical light flow less than qfq (21.7 ms against 87.2 ms), but loses 37.7% of the packets of web, and a loss costs its \
             sender a second of waiting or more.",
        ),
        // A call waits 20.8 ms under qfq and 2.7 ms under wf2q_plus.
        (["qfq", "wf2q_plus"], "wf2q_plus", ""),
        (["fq_codel", "drr"], "fq_codel", ""),
    ] {
        let (name, text) = of_example(&texts);
        assert!(name == best && text.contains(reason), "{texts:?}: {text}");
        assert_eq!(
            text.contains("delays a typical light flow less"),
            !reason.is_empty(),
            "{text}"
        );
    }
    assert!(
        of_example(&["srpt", "drr"])
            .1
            .contains("srpt would do less harm, but needs to know")
    );
}

/// Regression: a bound beyond the clock's range counted as a bound, and as broken.
#[test]
fn a_bound_of_more_than_the_clock_promises_nothing() {
    let two = merged([
        steady(0, 1_000_000, 3000, 0, 40),
        steady(0, 1_000_000, 3000, 1, 40),
    ]);
    let comparison = run(
        &two,
        &Options {
            weights: WeightRules::default(),
            ..options("1bit", specs(&["drr", "wf2q_plus", "wfq", "scfq", "srr"]))
        },
    );
    assert_eq!(comparison.broken_bounds(), None);
}

/// For any pair of disciplines, a figure lower than the best one's is explained.
#[test]
fn no_lower_figure_goes_without_a_word() {
    let mut explained = 0;
    let texts = [
        "fifo limit 20",
        "drr",
        "qfq limit 100",
        "wf2q_plus",
        "sfq",
        "fq_codel",
        "lifo",
        "sjf",
        "red",
        "drr quantum 300b",
    ];
    for (place, one) in texts.iter().enumerate() {
        for other in &texts[place + 1..] {
            let comparison = run(&overload(), &options("16mbit", specs(&[one, other])));
            let figure = |index: usize| comparison.disciplines[index].light_p99.unwrap();
            let best = comparison.verdict.best;
            let text = comparison.verdict.sentences.join(" ");
            let has_reason = [
                "delays a typical light flow less than",
                "would do less harm, but",
                &format!("But {} ", comparison.disciplines[best].spec),
            ];
            if figure(1 - best) * 1.01 < figure(best) {
                assert!(
                    has_reason.iter().any(|reason| text.contains(reason)),
                    "{one}, {other}: {text}"
                );
                explained += 1;
            }
        }
    }
    assert!(explained > 5, "{explained}");
}

/// Flows, in order of their first packets, that share the first one's queue under this seed:
/// computed in public, as an attacker would, with the discipline itself.
fn colliding(spec: &QueueSpec, run: u64, count: usize) -> Vec<u16> {
    let seed = Seed::new(run).derive(Purpose::Queue, 0);
    let scheduler = spec.discipline.build::<()>(seed).unwrap();
    let victims = scheduler.queues_of(FlowId(0));
    let meets = |flow: &u16| scheduler.queues_of(FlowId((*flow).into())) == victims;
    let found: Vec<_> = (1..60_000).filter(meets).take(count).collect();
    assert_eq!(found.len(), count, "{spec:?}");
    found
}

/// The promise that outsiders cannot choose colliding flows needs a secret seed: with a known one,
/// such as the default, eight flows that collide by choice take the share of the first.
#[test]
fn a_known_seed_lets_senders_collide_and_a_secret_one_does_not() {
    // Measured: 97% under sfq, 5% under fq_codel.
    for (spec, least) in specs(&["sfq", "fq_codel"]).into_iter().zip([0.5, 0.02]) {
        let flows = colliding(&spec, 1, 8);
        // Each flow up to the last gets its number by a small packet; then the chosen ones send.
        let last = u64::from(*flows.last().unwrap());
        let mut samples: Vec<_> = (0..=last)
            .map(|flow| sample(flow * MILLISECOND / 20, flow as u16, 60))
            .collect();
        let begin = (last + 2_000) * MILLISECOND / 20;
        let attack = (0..10_000).map(|number: u64| {
            let flow = flows[number as usize % flows.len()];
            sample(begin + number * MILLISECOND / 10, flow, 1_000)
        });
        let victim = (0..100).map(|number| sample(begin + number * 10 * MILLISECOND, 0, 100));
        let mut later: Vec<_> = attack.chain(victim).collect();
        later.sort_by_key(|sample| sample.at);
        samples.append(&mut later);
        let mut bytes = nanosecond_pcap();
        for sample in &samples {
            bytes.extend(write_sample(sample));
        }
        let victims_loss = |seed: u64| {
            let options = Options {
                seed,
                ..options("20mbit", vec![spec.clone()])
            };
            let capture = Capture::from_reader("attack.pcap", Cursor::new(bytes.clone())).unwrap();
            let comparison = compare(capture, &options, &mut ()).unwrap();
            comparison.disciplines[0].flows[0].outcome.loss
        };
        let [known, secret] = [1, 0x5eed_0f00_c0de_1234].map(victims_loss);
        println!("{spec:?}: {known} of the victim's packets lost, {secret} with a secret seed");
        assert!(
            known > least,
            "{spec:?}: {known} of the victim's packets lost"
        );
        assert!(
            secret < 0.01,
            "{spec:?}: {secret} of the victim's packets lost"
        );
    }
}
