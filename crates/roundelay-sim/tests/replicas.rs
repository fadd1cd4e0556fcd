//! Replicas are independent: neither links of one run nor runs with neighbouring seeds share random
//! numbers or hashes.

use std::collections::HashSet;
use std::path::Path;

use roundelay_sim::scenario::{Results, Scenario, student_95};

/// Disciplines that draw or hash, with few queues, so that flows meet in some.
const RANDOM: [&str; 11] = [
    "random",
    "red limit 30kb min 5kb max 25kb burst 20 avpkt 500b probability 1",
    "choke limit 60 min 5 max 30",
    "pie limit 60 target 5ms",
    "afd limit 60 sample 2 interval 5ms target 5kb",
    "sfb limit 60 bins 4 levels 2",
    "sfq limit 60 divisor 4",
    "fq_codel limit 60 flows 4",
    "packet_fq limit 60 flows 4",
    "mqfq limit 60 queues 4 hashes 2",
    "mqfq limit 60 queues 4 hashes 1 ns2",
];

/// Equal bottlenecks of 1 Mbit/s side by side, each with flows of 300 kbit/s of its own. Nothing
/// but the queues is random, and all bottlenecks have the same traffic.
fn bottlenecks(count: u32, flows: u32, duration: &str, queue: &str) -> Scenario {
    let mut text = format!(
        "seed = 1\nduration = \"{duration}\"\nwarmup = \"100ms\"\n[queue]\ncore = \"{queue}\"\nedge = \"fifo\"\n"
    );
    for number in 0..count {
        for (node, is_host) in [("a", true), ("m", false), ("n", false), ("b", true)] {
            text += &format!("[[node]]\nname = \"{node}{number}\"\nhost = {is_host}\n");
        }
    }
    // The bottlenecks are links 0, 1, 2 and so on.
    for number in 0..count {
        text += &link(&format!("m{number}"), &format!("n{number}"), "1mbit");
    }
    for number in 0..count {
        text += &link(&format!("a{number}"), &format!("m{number}"), "100mbit");
        text += &link(&format!("n{number}"), &format!("b{number}"), "100mbit");
    }
    for number in 0..count {
        text += &format!(
            "[[source]]\nname = \"g{number}\"\nkind = \"cbr\"\nfrom = \"a{number}\"\nto = \"b{number}\"\n\
             count = {flows}\nrate = \"300kbit\"\npacket_len = 500\n"
        );
    }
    Scenario::from_toml("bottlenecks", &text, Path::new(".")).expect("a legal scenario")
}

fn link(from: &str, to: &str, rate: &str) -> String {
    format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"{rate}\"\none_way = true\n")
}

fn run(scenario: &Scenario, seed: u64) -> Results {
    scenario.run(seed, |_| ()).expect("a run")
}

/// What a queue has done to the flows of a bottleneck. Flows of one bottleneck have other numbers
/// than those of the next, so a hash sends them elsewhere even with the same key: the sorted delays
/// tell a hash with another key only if it groups the flows otherwise.
fn fates(results: &Results, bottleneck: u32) -> Vec<(u64, u64)> {
    let group = format!("g{bottleneck}");
    let flows = results.flows.iter().filter(|flow| *flow.group == *group);
    let bits = |delay: Option<f64>| delay.unwrap_or(-1.0).to_bits();
    let mut fates: Vec<_> = flows
        .map(|flow| (bits(flow.delay), bits(flow.longest_delay)))
        .collect();
    fates.sort_unstable();
    fates
}

/// With `hash_seed + k` as the seed of link k, link k + 1 of a run drew what link k of the next run
/// drew: half of a run's samples were those of its neighbour.
#[test]
fn a_link_does_not_repeat_its_neighbour_of_the_run_before() {
    const LINKS: u32 = 6;
    for queue in RANDOM {
        let scenario = bottlenecks(LINKS, 12, "2s", queue);
        let runs: Vec<_> = (1..=8).map(|seed| run(&scenario, seed)).collect();
        let mut repeated = 0;
        for pair in runs.windows(2) {
            for link in 0..LINKS - 1 {
                repeated += u32::from(fates(&pair[0], link + 1) == fates(&pair[1], link));
            }
        }
        assert!(
            repeated <= 2,
            "{queue}: {repeated} of 35 samples are those of the neighbouring link and run"
        );
        let all = runs
            .iter()
            .flat_map(|results| (0..LINKS).map(move |link| fates(results, link)));
        let different = all.collect::<HashSet<_>>().len();
        assert!(different > 20, "{queue}: {different} samples of 48 differ");
    }
}

/// The longest delays of all flows, averaged, of many runs of eight bottlenecks.
fn longest_delays(replicas: u64) -> Vec<f64> {
    let scenario = bottlenecks(8, 4, "600ms", "random limit 60");
    let mut means = Vec::new();
    for seed in 1..=replicas {
        let results = run(&scenario, seed);
        let mut sum = 0.0;
        for flow in &results.flows {
            sum += flow.longest_delay.expect("packets were delivered");
        }
        means.push(sum / results.flows.len() as f64);
    }
    means
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn autocorrelation(values: &[f64], lag: usize) -> f64 {
    let mean = mean(values);
    let product: f64 = values
        .iter()
        .zip(&values[lag..])
        .map(|(one, other)| (one - mean) * (other - mean))
        .sum();
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    product / squares
}

/// 200 replicas had an autocorrelation of .84 at lag 1. For independent values its standard deviation
/// is .071 with 200 of them, and .022 with 2,000.
///
/// In 200 groups of ten consecutive replicas, the intervals held the mean of all in fewer than half.
#[test]
fn consecutive_replicas_are_uncorrelated_and_their_intervals_true() {
    let delays = longest_delays(2_000);
    let correlation = autocorrelation(&delays[..200], 1);
    assert!(correlation.abs() < 0.2, "{correlation}");
    for lag in 1..=8 {
        let correlation = autocorrelation(&delays, lag);
        assert!(correlation.abs() < 0.1, "lag {lag}: {correlation}");
    }
    let truth = mean(&delays);
    let mut held = 0;
    for group in delays.chunks(10) {
        let interval = student_95(group).expect("ten values");
        let half = interval.half_width.expect("more than one value");
        held += u32::from((interval.mean - truth).abs() <= half);
    }
    assert!((180..=198).contains(&held), "{held} of 200");
}

/// Two disciplines meet the same traffic with the same seed: differences are paired.
#[test]
fn no_seed_depends_on_the_discipline() {
    let text = |queue: &str| {
        format!(
            "duration = \"3s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 4\nrate = \"2mbit\"\n\
             [queue]\ncore = \"{queue}\"\n[[source]]\nkind = \"poisson\"\nfrom = \"s*\"\nto = \"r*\"\nrate = \"400kbit\"\n"
        )
    };
    let sent = |queue: &str, seed| {
        let scenario = Scenario::from_toml("mine", &text(queue), Path::new(".")).expect("legal");
        let results = run(&scenario, seed);
        let sent = results.flows.iter().map(|flow| flow.packets.sent);
        sent.collect::<Vec<_>>()
    };
    let fifo = sent("fifo", 3);
    for queue in ["sfq", "random", "qfq", "fq_codel"] {
        assert_eq!(sent(queue, 3), fifo, "{queue}");
    }
    assert_ne!(sent("fifo", 4), fifo);
}
