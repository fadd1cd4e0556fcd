//! Sources of a scenario: independent random numbers, start and stop times, weights.

use std::path::Path;

use roundelay::{Duration, Instant, Packet};
use roundelay_sim::scenario::Scenario;
use roundelay_sim::{Direction, FlowNumber, Opening, PacketState, Probe, Tag};

/// Start times of flows, and sending times of each flow.
#[derive(Default)]
struct Sent(Vec<Vec<Instant>>, Vec<Instant>);

impl Probe for Sent {
    fn opened(&mut self, now: Instant, _: FlowNumber, _: Opening) {
        self.1.push(now);
    }

    fn sent(&mut self, now: Instant, _: &Packet<Tag>, state: &PacketState) {
        let FlowNumber(flow) = state.flow;
        if state.direction == Direction::Forward {
            self.0
                .resize(self.0.len().max(flow as usize + 1), Vec::new());
            self.0[flow as usize].push(now);
        }
    }
}

fn run(text: &str, seed: u64) -> Sent {
    let mut scenario =
        Scenario::from_toml("mine", text, Path::new(".")).unwrap_or_else(|error| panic!("{error}"));
    scenario.seed = seed;
    let mut sent = Sent::default();
    scenario
        .run_with(seed, &mut sent, |_| ())
        .unwrap_or_else(|error| panic!("{error}"));
    // A request and its response are two flows, opened together.
    sent.1.dedup();
    sent
}

fn scenario(sources: &str) -> String {
    let network = "[topology]\ntemplate = \"dumbbell\"\npairs = 2\nrate = \"1gbit\"\naccess_rate = \"1gbit\"\n";
    format!("duration = \"20s\"\n{network}[[source]]\nfrom = \"s0\"\nto = \"r0\"\n{sources}")
}

fn seconds(times: &[Instant]) -> Vec<f64> {
    times
        .iter()
        .map(|at| at.since(Instant::ZERO).as_secs_f64())
        .collect()
}

/// Correlation of two samples.
fn correlation(one: &[f64], other: &[f64]) -> f64 {
    let count = one.len().min(other.len());
    let (one, other) = (&one[..count], &other[..count]);
    let mean = |all: &[f64]| all.iter().sum::<f64>() / count as f64;
    let (a, b) = (mean(one), mean(other));
    let sum = |f: &dyn Fn(usize) -> f64| (0..count).map(f).sum::<f64>();
    let deviations = (sum(&|at| (one[at] - a).powi(2)) * sum(&|at| (other[at] - b).powi(2))).sqrt();
    sum(&|at| (one[at] - a) * (other[at] - b)) / deviations
}

/// Twenty identical Poisson sources: no two send alike, and gaps of different sources are
/// uncorrelated, within five standard errors.
#[test]
fn sources_that_are_alike_draw_by_themselves() {
    let Sent(flows, _) = run(
        &scenario("kind = \"poisson\"\nrate = \"400kbit\"\ncount = 20\n"),
        1,
    );
    assert_eq!(flows.len(), 20);
    let gaps: Vec<Vec<f64>> = flows
        .iter()
        .map(|times| {
            seconds(times)
                .windows(2)
                .map(|pair| pair[1] - pair[0])
                .collect()
        })
        .collect();
    for (place, one) in gaps.iter().enumerate() {
        assert!(one.len() > 800, "{}", one.len());
        for other in &gaps[..place] {
            let count = one.len().min(other.len()) as f64;
            let found = correlation(one, other);
            assert!(found.abs() < 5.0 / count.sqrt(), "{found}");
        }
    }
    // Replicas differ as sources do.
    let Sent(again, _) = run(
        &scenario("kind = \"poisson\"\nrate = \"400kbit\"\ncount = 20\n"),
        2,
    );
    let next: Vec<f64> = seconds(&again[0])
        .windows(2)
        .map(|pair| pair[1] - pair[0])
        .collect();
    assert!(
        gaps.iter()
            .all(|one| correlation(one, &next).abs() < 5.0 / 800.0_f64.sqrt())
    );
}

/// Kinds of sources with one flow each, and their required keys.
const KINDS: [&str; 8] = [
    "kind = \"cbr\"\nrate = \"8kbit\"",
    "kind = \"poisson\"\nrate = \"8kbit\"",
    "kind = \"on_off\"\nrate = \"8kbit\"\non = \"1s\"\noff = \"1s\"",
    "kind = \"voip\"",
    "kind = \"burst\"\nsize = 1000",
    "kind = \"tcp\"\nsize = 1000",
    "kind = \"request_response\"\nrequest = 100\nresponse = 1000\nthink = \"10s\"",
    "kind = \"video\"\nsegment = 1000\ninterval = \"10s\"",
];

/// With start jitter, sources of each kind start uniformly within the jitter: the mean and the
/// extremes of 400 sources, and Kolmogorov's test (level 1 in 100,000: below 2.47 / sqrt(n)).
#[test]
fn starts_are_even_over_their_jitter_for_each_kind() {
    for kind in KINDS {
        let Sent(_, starts) = run(
            &scenario(&format!(
                "{kind}\ncount = 400\nstart = \"2s\"\nstart_jitter = \"4s\"\n"
            )),
            3,
        );
        assert_eq!(starts.len(), 400, "{kind}");
        let mut starts: Vec<f64> = seconds(&starts)
            .iter()
            .map(|start| (start - 2.0) / 4.0)
            .collect();
        starts.sort_by(f64::total_cmp);
        assert!(
            starts.iter().all(|start| (0.0..=1.0).contains(start)),
            "{kind}: {starts:?}"
        );
        let distance = (1..)
            .zip(&starts)
            .map(|(rank, start)| (f64::from(rank) / 400.0 - start).abs())
            .fold(0.0, f64::max);
        assert!(distance < 2.47 / 20.0 + 1.0 / 400.0, "{kind}: {distance}");
        let Sent(_, starts) = run(
            &scenario(&format!(
                "{kind}\ncount = 3\nstart = \"2s\"\nstart_step = \"1s\"\n"
            )),
            3,
        );
        assert_eq!(
            starts,
            [2, 3, 4].map(|second| Instant::ZERO + Duration::from_secs(second)),
            "{kind}: without jitter"
        );
    }
}

/// No source sends at or after its stop, and each has sent before.
#[test]
fn stops_end_each_kind() {
    for kind in KINDS {
        let Sent(flows, _) = run(
            &scenario(&format!(
                "{kind}\ncount = 20\nstart = \"2s\"\nstop = \"9s\"\n"
            )),
            3,
        );
        let stop = Instant::ZERO + Duration::from_secs(9);
        assert!(flows.iter().flatten().all(|at| *at < stop), "{kind}");
        assert!(flows.iter().any(|times| !times.is_empty()), "{kind}");
    }
    // Endless sources send until the stop.
    let Sent(flows, _) = run(
        &scenario("kind = \"cbr\"\nrate = \"800kbit\"\nstop = \"9s\"\n"),
        3,
    );
    assert_eq!(flows[0].len(), 900);
}

#[test]
fn weights_are_those_of_the_scenario() {
    let source = |pair: u32, weight: u32| {
        format!(
            "[[source]]\nkind = \"cbr\"\nrate = \"10mbit\"\nfrom = \"s{pair}\"\nto = \"r{pair}\"\nweight = {weight}\n"
        )
    };
    let network = "[topology]\ntemplate = \"dumbbell\"\npairs = 2\nrate = \"8mbit\"\n[queue]\ncore = \"wf2q_plus limit 100\"\n";
    let text = format!(
        "duration = \"10s\"\n{network}{}{}",
        source(0, 1),
        source(1, 3)
    );
    let scenario = Scenario::from_toml("mine", &text, Path::new("."))
        .unwrap_or_else(|error| panic!("{error}"));
    let results = scenario
        .run(1, |_| ())
        .unwrap_or_else(|error| panic!("{error}"));
    let groups: Vec<_> = results
        .groups
        .iter()
        .filter(|group| group.kind == "cbr")
        .map(|group| group.packets.delivered as f64)
        .collect();
    assert_eq!(groups.len(), 2);
    assert!((2.9..3.1).contains(&(groups[1] / groups[0])), "{groups:?}");
}

/// Progress is reported at even steps of simulated time, with the events so far.
#[test]
fn progress_goes_on_with_simulated_time() {
    let text = scenario("kind = \"cbr\"\nrate = \"800kbit\"\n");
    let scenario = Scenario::from_toml("mine", &text, Path::new("."))
        .unwrap_or_else(|error| panic!("{error}"));
    let mut told = Vec::new();
    let results = scenario
        .run(1, |progress| told.push(progress))
        .unwrap_or_else(|error| panic!("{error}"));
    let steps = told.len() as u64;
    assert!(steps >= 100);
    for (place, progress) in (1..).zip(&told) {
        assert_eq!(
            (progress.now.as_picos(), progress.end),
            (20_000_000_000_000 / steps * place, Duration::from_secs(20))
        );
    }
    assert!(told.windows(2).all(|pair| pair[0].events < pair[1].events));
    assert_eq!(
        told.last().map(|progress| progress.events),
        Some(results.events)
    );
}

/// A server's sender knows the round trip of its client's handshake, 60 ms, so it paces its first
/// answer of ten segments over most of one.
#[test]
fn a_server_knows_the_round_trip_of_the_handshake() {
    let tcp = "tcp = { preset = 'rfc', pacing = true }\n";
    let sources = [
        "kind = \"connections\"\nconnections = [{ messages = [\"> 300b\", \"< 14kb\"] }]\n",
        "kind = \"request_response\"\nrequest = 300\nresponse = 14000\nthink = \"9s\"\n",
    ];
    for source in sources {
        let Sent(flows, _) = run(&scenario(&format!("{source}{tcp}")), 1);
        let times = seconds(&flows[1]);
        let took = times[9] - times[0];
        assert!((0.02..0.1).contains(&took), "{took} s: {source}");
    }
}
