//! Optional yardsticks: values calculated by hand, no effect on other results, and disciplines that
//! must differ.

use std::collections::BTreeMap;
use std::path::Path;

use roundelay::{Instant, Packet};
use roundelay_sim::scenario::{Estimate, FlowResult, RankResult, Results, Scenario};
use roundelay_sim::{Direction, PacketState, Probe, Tag};

/// A dumbbell of three pairs, with access links of 100 Mbit/s and 10 ms and a middle link of
/// 5 Mbit/s and 10 ms, with these keys and sources.
fn scenario(top: &str, queue: &str, meter: &str, sources: &[&str]) -> Scenario {
    let sources: String = sources
        .iter()
        .map(|source| format!("[[source]]\n{source}\n"))
        .collect();
    let text = format!(
        "{top}\n[topology]\ntemplate = \"dumbbell\"\npairs = 3\nrate = \"5mbit\"\n[queue]\ncore = \"{queue}\"\nedge = \"fifo\"\n[meter]\n{meter}\n{sources}"
    );
    Scenario::from_toml("mine.toml", &text, Path::new("."))
        .unwrap_or_else(|error| panic!("{error}"))
}

fn run(scenario: &Scenario) -> Results {
    scenario
        .run(1, |_| ())
        .unwrap_or_else(|error| panic!("{error}"))
}

fn close(one: Option<f64>, other: f64) -> bool {
    one.is_some_and(|one| (one - other).abs() <= 1e-9 * other.abs().max(1e-3))
}

const FIRST: &str = "from = \"s0\"\nto = \"r0\"\n";
const SECOND: &str = "from = \"s1\"\nto = \"r1\"\n";

fn cbr(ends: &str, keys: &str) -> String {
    format!("kind = \"cbr\"\n{ends}{keys}")
}

/// Ten packets of 1,000 bytes every 8 ms, with a delay of 31.76 ms: the last is sent at 72 ms and
/// received at 103.76 ms.
#[test]
fn a_life_is_arithmetic() {
    let source = cbr(FIRST, "rate = \"1mbit\"\npackets = 10\nstart = \"1s\"");
    let results = run(&scenario(
        "duration = \"5s\"",
        "fifo",
        "flows = true",
        &[&source],
    ));
    let life = results.flows[0].life.expect("it was asked for");
    assert_eq!((life.sent, life.received, life.reordered), (10, 10, 0));
    assert!(
        close(life.first_sent, 1.0) && close(life.last_received, 1.10376),
        "{life:?}"
    );
    assert!(close(life.throughput, 80_000.0 / 0.10376), "{life:?}");
    assert!(close(life.startup_latency, 0.10376 - 0.080), "{life:?}");
    assert!(
        close(life.bennett_zhang, 0.080 / 0.10376),
        "of the 80 ms of a link of its own: {life:?}"
    );
    assert_eq!(life.round_trip, None);
    let lives = results.groups[0].lives.as_ref().expect("it was asked for");
    assert_eq!(
        (lives.flows, lives.throughput, lives.jain),
        (1, life.throughput, None)
    );
}

/// Ended flows have no index of throughputs over the run, but an index over their lives: by weight,
/// and by requested rate.
#[test]
fn flows_that_have_ended_are_compared_over_their_lives() {
    let (slow, fast) = (
        cbr(FIRST, "rate = \"500kbit\"\npackets = 1000"),
        cbr(SECOND, "rate = \"1mbit\"\npackets = 1000\nstart = \"1s\""),
    );
    let results = run(&scenario(
        "duration = \"20s\"",
        "fifo",
        "flows = true",
        &[&slow, &fast],
    ));
    let all = results.groups.last().expect("all");
    assert_eq!(all.jain, None);
    let lives = all.lives.as_ref().expect("it was asked for");
    // 1 and 2: 9 / (2 x 5).
    assert!(
        lives.jain.is_some_and(|jain| (jain - 0.9).abs() < 0.001),
        "{lives:?}"
    );
    assert!(
        lives.jain_of_ratios.is_some_and(|jain| jain > 0.9999),
        "{lives:?}"
    );
    let weighted = cbr(SECOND, "rate = \"1mbit\"\npackets = 1000\nweight = 2");
    let results = run(&scenario(
        "duration = \"20s\"",
        "fifo",
        "flows = true",
        &[&slow, &weighted],
    ));
    let lives = results
        .groups
        .last()
        .and_then(|all| all.lives.clone())
        .expect("it was asked for");
    assert!(
        lives.jain.is_some_and(|jain| jain > 0.9999),
        "by weight: {lives:?}"
    );
    assert!(
        lives.startup_latency_max.is_some()
            && lives.bennett_zhang_min.is_some_and(|least| least > 0.99),
        "{lives:?}"
    );
}

/// Packets received after a packet sent later, from a probe of all packets.
#[derive(Default)]
struct Overtaken {
    newest: BTreeMap<u64, u64>,
    late: BTreeMap<u64, u64>,
}

impl Probe for Overtaken {
    fn delivered(&mut self, _: Instant, _: &Packet<Tag>, state: &PacketState) {
        if state.direction == Direction::Forward {
            let newest = self.newest.entry(state.flow.0).or_default();
            *self.late.entry(state.flow.0).or_default() += u64::from(state.number < *newest);
            *newest = state.number.max(*newest);
        }
    }
}

#[test]
fn reordering_is_counted_at_the_receiver() {
    let sources = [
        cbr(FIRST, "rate = \"4mbit\"\ncount = 2"),
        format!("kind = \"tcp\"\n{SECOND}"),
    ];
    let sources = [sources[0].as_str(), sources[1].as_str()];
    for (queue, reorders) in [("random limit 20", true), ("drr limit 20", false)] {
        let (mut overtaken, scenario) = (
            Overtaken::default(),
            scenario("duration = \"3s\"", queue, "flows = true", &sources),
        );
        let (results, _) = scenario
            .run_with(1, &mut overtaken, |_| ())
            .unwrap_or_else(|error| panic!("{error}"));
        for flow in &results.flows {
            let life = flow.life.expect("it was asked for");
            assert_eq!(
                life.reordered,
                overtaken.late.get(&flow.number).copied().unwrap_or(0),
                "{queue}: {}",
                flow.group
            );
        }
        let all = results
            .groups
            .last()
            .and_then(|all| all.lives.clone())
            .expect("it was asked for");
        assert_eq!(all.reordered > 100, reorders, "{queue}: {all:?}");
        assert_eq!(
            all.reordering.is_some_and(|part| part > 0.0),
            reorders,
            "{queue}"
        );
    }
}

/// For one transfer the mean round trip equals the sender's report.
#[test]
fn round_trips_are_those_that_are_reported() {
    let source = format!(
        "kind = \"tcp\"\nsize = 100000\n{FIRST}tcp = {{ delayed_acknowledgement = \"0s\" }}"
    );
    let results = run(&scenario(
        "duration = \"9s\"",
        "fifo",
        "flows = true",
        &[&source],
    ));
    let (told, mean) = (
        results.flows[0].life.and_then(|life| life.round_trip),
        results.groups[0].round_trip.mean,
    );
    assert!(
        told.zip(mean)
            .is_some_and(|(told, mean)| mean > 0.06 && (told - mean).abs() < 0.01 * mean),
        "{told:?}, {mean:?}"
    );
    let mix = [
        format!("kind = \"tcp\"\ncount = 3\n{FIRST}"),
        cbr(SECOND, "rate = \"10kbit\""),
    ];
    let results = run(&scenario(
        "duration = \"9s\"",
        "fifo limit 50",
        "flows = true",
        &[&mix[0], &mix[1]],
    ));
    let is_known = |flow: &FlowResult| {
        flow.life
            .is_some_and(|life| life.round_trip.is_some_and(|time| time > 0.06))
    };
    assert_eq!(
        results.flows.iter().filter(|flow| is_known(flow)).count(),
        3,
        "without end, and over TCP alone"
    );
}

/// A hundred packets arrive at once, and one of another flow behind them.
fn burst(top: &str, queue: &str) -> Results {
    let sources = [
        format!("kind = \"burst\"\nsize = 100000\n{FIRST}"),
        cbr(
            SECOND,
            "rate = \"8kbit\"\nstart = \"9ms\"\nstart_step = \"1s\"",
        ),
    ];
    run(&scenario(
        top,
        queue,
        "wfi = true",
        &[&sources[0], &sources[1]],
    ))
}

/// In FIFO the packet waits for some 94 packets; half of these bytes is its fair share, and
/// departure was due within 3.2 ms. WF2Q+ sends the packet at once.
#[test]
fn indices_are_those_of_disciplines() {
    let of = |top, queue| {
        burst(top, queue).flows[1]
            .indices
            .expect("it was asked for")
    };
    let (fifo, fair) = (
        of("duration = \"4s\"", "fifo"),
        of("duration = \"4s\"", "wf2q_plus"),
    );
    assert!((46_000.0..50_000.0).contains(&fifo.b_wfi), "{fifo:?}");
    assert!(
        fifo.t_wfi
            .is_some_and(|late| (0.140..0.155).contains(&late)),
        "{fifo:?}"
    );
    assert!(
        fair.b_wfi <= 1000.0,
        "{fair:?}: at most a longest packet's difference"
    );
    assert!(
        fair.t_wfi.is_some_and(|late| late <= 0.0016 + 1e-9),
        "{fair:?}: the packet on the link"
    );
    let later = of("duration = \"4s\"\nwarmup = \"1s\"", "fifo");
    assert!(
        later.b_wfi == 0.0 && later.t_wfi.is_some_and(|late| late < 1e-12),
        "what was before the warm-up counts for nothing: {later:?}"
    );
}

/// Two flows that exceed the link's rate, one with three times the rate of the other.
#[test]
fn backlogged_flows_are_compared_at_the_link() {
    let sources = [
        cbr(FIRST, "rate = \"9mbit\"\ngaps = \"random\""),
        cbr(SECOND, "rate = \"3mbit\"\ngaps = \"random\""),
    ];
    let of = |queue| {
        let results = run(&scenario(
            "duration = \"9s\"\nwarmup = \"1s\"",
            queue,
            "wfi = true",
            &[&sources[0], &sources[1]],
        ));
        let measured: Vec<_> = results
            .links
            .iter()
            .filter(|link| link.backlogged.is_some())
            .map(|link| link.name())
            .collect();
        assert_eq!(
            measured,
            ["left > right"],
            "the other link of the core has no flows"
        );
        let [one, other] = [0, 1].map(|group| results.groups[group].throughput);
        let of_throughputs = (one + other).powi(2) / (2.0 * (one * one + other * other));
        (
            results
                .links
                .iter()
                .find_map(|link| link.backlogged)
                .expect("two were backlogged"),
            of_throughputs,
        )
    };
    let ((fair, _), (fifo, of_throughputs)) = (of("drr limit 100"), of("fifo limit 100"));
    assert!(fair.mean > 0.999 && fair.windows > 20, "{fair:?}");
    // At most 16 / (2 x 10), the index of three to one; drop tail gives the slow flow even less.
    assert!(
        fifo.mean < 0.82 && fifo.min < fifo.mean && (fifo.mean - of_throughputs).abs() < 0.02,
        "{fifo:?}, {of_throughputs}"
    );
}

/// In a network without a core, the edge is measured.
#[test]
fn without_a_core_the_edge_is_measured() {
    let node = |name: &str, host: bool| format!("[[node]]\nname = \"{name}\"\nhost = {host}\n");
    let link = |from: &str, to: &str| {
        format!("[[link]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1mbit\"\n")
    };
    let network = ["a", "b", "c"]
        .map(|name| node(name, true) + &link(name, "x"))
        .concat();
    let source =
        "[[source]]\nkind = \"cbr\"\nfrom = [\"a\", \"b\"]\nto = \"c\"\nrate = \"800kbit\"\n";
    let text = format!(
        "duration = \"9s\"\n[meter]\nwfi = true\n{}{network}{source}",
        node("x", false)
    );
    let scenario = Scenario::from_toml("mine.toml", &text, Path::new("."))
        .unwrap_or_else(|error| panic!("{error}"));
    let results = run(&scenario);
    assert!(results.flows.iter().all(|flow| flow.indices.is_some()));
    assert_eq!(
        results
            .links
            .iter()
            .filter(|link| link.backlogged.is_some())
            .count(),
        1
    );
}

/// Extra measurements change no other result, and measurements not requested are not reported.
#[test]
fn measuring_changes_nothing() {
    let mix = [
        format!("kind = \"tcp\"\nsize = 200000\ncount = 3\n{FIRST}"),
        cbr(SECOND, "rate = \"3mbit\"\nstart_jitter = \"1s\""),
        "kind = \"request_response\"\nrequest = 100\nresponse = 20000\nthink = \"100ms\"\nfrom = \"s2\"\nto = \"r2\"".to_owned(),
    ];
    let sources = mix.each_ref().map(String::as_str);
    for queue in ["mqfq limit 50", "lstf preempt limit 50", "fq_codel"] {
        let of = |meter| {
            run(&scenario(
                "duration = \"4s\"\nwarmup = \"1s\"",
                queue,
                meter,
                &sources,
            ))
        };
        let (plain, mut measured) = (
            of(""),
            of("flows = true\nwfi = true\nstarved_below = 0.5\ntransfers = true\nrates = \"1ms\""),
        );
        assert!(
            !serde_json::to_string(&plain)
                .expect("plain data")
                .contains("\"life\""),
            "no lives"
        );
        assert!(measured.flows.iter().all(|flow| flow.life.is_some()));
        measured
            .flows
            .iter_mut()
            .for_each(|flow| (flow.life, flow.indices) = (None, None));
        measured
            .links
            .iter_mut()
            .for_each(|link| link.backlogged = None);
        measured
            .groups
            .iter_mut()
            .for_each(|group| group.lives = None);
        assert!(!measured.transfers.is_empty() && measured.rates.is_some());
        (measured.transfers, measured.rates) = (Vec::new(), None);
        assert_eq!(plain, measured, "{queue}");
    }
}

/// Extra measurements take memory, included in the estimate, and no events.
#[test]
fn estimates_know_what_is_measured() {
    let source = cbr(FIRST, "rate = \"9mbit\"\ncount = 100");
    let of = |meter| Estimate::of(&scenario("duration = \"9s\"", "fifo", meter, &[&source]));
    let [plain, lives, indices] = ["", "flows = true", "wfi = true"].map(of);
    assert!(
        lives.memory - plain.memory >= 100.0 * 160.0
            && indices.memory - plain.memory >= 200.0 * 300.0,
        "{plain:?}, {lives:?}, {indices:?}"
    );
    assert_eq!(
        (plain.events, plain.packets),
        (indices.events, lives.packets)
    );
}

/// Nineteen flows share a link fairly, and one has next to nothing.
#[test]
fn starved_flows_are_counted() {
    let network =
        "duration = \"9s\"\n[topology]\ntemplate = \"dumbbell\"\npairs = 20\nrate = \"5mbit\"\n";
    let source = |keys: &str| format!("[[source]]\nkind = \"cbr\"\n{keys}\n");
    let of = |below: &str| {
        let sources = source("from = \"s0..18\"\nto = \"r0..18\"\nrate = \"240kbit\"")
            + &source("from = \"s19\"\nto = \"r19\"\nrate = \"20kbit\"");
        let text = format!("{network}[meter]\nflows = true\n{below}\n{sources}");
        let scenario = Scenario::from_toml("mine.toml", &text, Path::new("."))
            .unwrap_or_else(|error| panic!("{error}"));
        run(&scenario)
            .groups
            .last()
            .and_then(|all| all.lives.clone())
            .map(|lives| lives.starved)
    };
    assert_eq!(
        [
            of(""),
            of("starved_below = 0.05"),
            of("starved_below = 0.99")
        ],
        [Some(1), Some(0), Some(1)]
    );
    for (meter, message) in [
        (
            "flows = true\nstarved_below = 1.0",
            "mine.toml:8: starved_below 1: legal range above 0, below 1",
        ),
        (
            "flows = true\nstarved_below = nan",
            "mine.toml:8: starved_below NaN: legal range above 0, below 1",
        ),
        (
            "wfi = true\nstarved_below = 0.5",
            "mine.toml:8: starved_below: flows are looked at one by one with flows = true",
        ),
    ] {
        let text = format!(
            "{network}[meter]\n{meter}\n{}",
            source("from = \"s0\"\nto = \"r0\"\nrate = \"1mbit\"")
        );
        assert_eq!(
            Scenario::from_toml("mine.toml", &text, Path::new("."))
                .map(drop)
                .unwrap_err()
                .to_string(),
            message
        );
    }
}

/// Ranks are means over replicas for the k-th flow of each replica.
#[test]
fn ranks_are_over_replicas() {
    let source = "kind = \"cbr\"\nfrom = \"s*\"\nto = \"r*\"\nrate = \"2mbit\"\ngaps = \"random\"\ncount = 2";
    let scenario = scenario(
        "duration = \"5s\"",
        "mqfq hashes 1 queues 4 limit 40",
        "flows = true",
        &[source],
    );
    let replicas: Vec<_> = (1..=6)
        .map(|seed| {
            scenario
                .run(seed, |_| ())
                .unwrap_or_else(|error| panic!("{error}"))
        })
        .collect();
    let ranks = RankResult::of(&replicas, Some("cbr0"));
    assert_eq!(
        (
            ranks.len(),
            RankResult::of(&replicas, None).len(),
            RankResult::of(&replicas, Some("none")).len()
        ),
        (6, 6, 0)
    );
    assert!(ranks.windows(2).all(|pair| pair[0].mean <= pair[1].mean));
    let least = |results: &Results| {
        results
            .flows
            .iter()
            .map(|flow| flow.throughput)
            .fold(f64::INFINITY, f64::min)
    };
    let mean = replicas.iter().map(least).sum::<f64>() / 6.0;
    assert!((ranks[0].mean - mean).abs() < 1e-6);
    assert!(
        ranks
            .iter()
            .all(|rank| rank.deviation.is_some_and(|deviation| deviation > 0.0)),
        "{ranks:?}"
    );
}
