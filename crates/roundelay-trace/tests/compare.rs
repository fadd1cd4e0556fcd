//! Comparison through the library: packets are conserved, figures are correct, odd captures do no
//! harm.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::{self, Cursor, Read};
use std::sync::{Arc, Mutex};

use crate::common::samples::*;
use crate::common::*;
use roundelay::{Control, FlowId, Instant, Limit, Purpose, QueueSpec, Rate, Seed};
use roundelay_trace::{
    Capture, CompareError, Options, PacketFate, PacketRecord, PacketSink, Progress, ReplayObserver,
    Stop, WeightRules, compare,
};

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

/// Delay over time, in each bin, is that of the packets whose transmission ended in it: of all
/// flows, and of the kinds of flows together.
#[test]
fn delays_over_time_are_those_of_the_packets_that_left() {
    let samples = random_samples(&mut Random(7));
    let options = options("1mbit", specs(&["fifo", "drr"]));
    let comparison = run(&samples, &options);
    for (kept, discipline) in records(&samples, &options)
        .iter()
        .zip(&comparison.disciplines)
    {
        let curves = &discipline.curves;
        let mut bins = vec![Vec::new(); curves.throughput.len()];
        for record in kept {
            if let PacketFate::Sent { end, .. } = record.fate {
                let delay = end.since(record.arrival).as_secs_f64();
                bins[(end.as_secs_f64() / curves.bin) as usize].push(delay);
            }
        }
        assert!(bins.len() > 20 && curves.delay_max.len() == bins.len());
        let mut several = 0;
        for (bin, delays) in bins.iter().enumerate() {
            let longest = delays.iter().copied().reduce(f64::max);
            assert_eq!(curves.delay_max[bin], longest, "{} {bin}", discipline.spec);
            let mean = delays.iter().sum::<f64>() / delays.len().max(1) as f64;
            let told = curves.delay_mean[bin].unwrap_or(0.0);
            assert!((told - mean).abs() < 1e-9, "{bin}: {told}, {mean}");
            several += u32::from(longest.is_some_and(|longest| longest > 1.1 * mean));
        }
        assert!(several > 3, "mean and longest differ in {several} bins");
        // The longest of all flows is the longest of any kind of flows.
        for (bin, longest) in curves.delay_max.iter().enumerate() {
            let mut of_kinds: f64 = 0.0;
            for kind in &discipline.kind_curves {
                of_kinds = of_kinds.max(kind.curves.delay_max[bin].unwrap_or(0.0));
            }
            assert_eq!(of_kinds, longest.unwrap_or(0.0), "{bin}");
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
        ["priority", "ets", "aifo"]
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
    for (name, count, least) in [
        ("sfq", 8, 0.5),
        ("fq_codel", 8, 0.02),
        ("fq_pie", 16, 0.3),
        ("packet_fq", 16, 0.5),
        // A set has eight queues, and all of these flows have the victim's in it.
        ("cake", 24, 0.5),
    ] {
        let [spec] = <[_; 1]>::try_from(specs(&[name])).unwrap();
        let flows = colliding(&spec, 1, count);
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

/// One mechanism: what another seed gives is what a comparison with this seed gives.
#[test]
fn other_seeds_have_the_figures_of_their_own_comparisons() {
    let samples = merged([
        steady(0, 2 * MILLISECOND, 1000, 0, 1500),
        steady(0, 3 * MILLISECOND, 700, 1, 1200),
        steady(MILLISECOND, 20 * MILLISECOND, 100, 2, 200),
        steady(0, 20 * MILLISECOND, 100, 3, 200),
    ]);
    let options = Options {
        seed: 5,
        seeds: 4,
        ..options("6mbit", specs(&["drr", "sfq divisor 4", "pie", "fifo"]))
    };
    let comparison = run(&samples, &options);
    assert_eq!(comparison.other_seeds.len(), 3);
    let words = |results: &[roundelay_trace::DisciplineResult]| {
        let mut words = Vec::new();
        for result in results {
            let flows = result.flows.iter().map(|flow| &flow.outcome);
            let flows = Vec::from_iter(flows);
            words.push(format!("{:?} {:?} {flows:?}", result.total, result.kinds));
        }
        words
    };
    let first = words(&comparison.disciplines);
    let mut changed = [false; 4];
    for (number, other) in comparison.other_seeds.iter().enumerate() {
        assert_eq!(other.seed, 6 + number as u64);
        assert_eq!(other.reads_seed, [false, true, true, false]);
        let alone = Options {
            seed: other.seed,
            seeds: 1,
            ..options.clone()
        };
        let alone = run(&samples, &alone);
        assert!(alone.other_seeds.is_empty());
        let others = words(&other.disciplines);
        assert_eq!(others, words(&alone.disciplines));
        for index in 0..4 {
            changed[index] |= others[index] != first[index];
        }
    }
    assert_eq!(changed, [false, true, true, false]);
}
