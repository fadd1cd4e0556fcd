//! Start-time rules side by side: the page's load on which the printed rule and that of Linux break
//! the order of the sets, and the shipped scheduler beside the listings.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay_reference::qfq_listings::{Checked, Claim, Reading, StartTime};
use roundelay_wasm::{History, Load, Rule};

/// The page's load of this name.
fn load(name: &str) -> Load {
    let loads = include_str!("../page/loads.mjs");
    let text = loads
        .split(&format!("name: \"{name}\""))
        .nth(1)
        .unwrap()
        .split('`')
        .nth(1)
        .unwrap();
    text.parse().unwrap()
}

fn broken(history: &History) -> Vec<(usize, &'static str)> {
    let of_step = |(step, claims): (usize, &Vec<&'static str>)| {
        claims
            .iter()
            .map(move |claim| (step, *claim))
            .collect::<Vec<_>>()
    };
    history
        .steps
        .iter()
        .map(|step| &step.broken)
        .enumerate()
        .flat_map(of_step)
        .collect()
}

#[test]
fn only_the_shipped_rule_keeps_the_order_on_the_pages_load() {
    let load = load("crossing");
    for rule in [Rule::AsPrinted, Rule::Linux] {
        let broken = broken(&History::of(&load, rule).unwrap());
        let theorem = broken
            .iter()
            .find(|(_, claim)| claim.starts_with("Theorem 6"));
        assert_eq!(
            theorem.map(|(step, _)| *step),
            Some(27),
            "{rule:?}: {broken:?}"
        );
        assert!(
            broken
                .iter()
                .any(|(step, claim)| *step == 27 && claim.contains("finishes first")),
            "{rule:?}: {broken:?}"
        );
    }
    for rule in [Rule::Shipped, Rule::EveryFlow] {
        assert_eq!(broken(&History::of(&load, rule).unwrap()), [], "{rule:?}");
    }
}

/// The checked listings of the oracle, call by call, agree.
#[test]
fn the_oracle_breaks_theorem_6_on_the_pages_load() {
    let load = load("crossing");
    let history = History::of(&load, Rule::Shipped).unwrap();
    let total: u32 = load.flows.iter().map(|flow| flow.weight).sum();
    let shares: Vec<_> = load
        .flows
        .iter()
        .map(|flow| (u64::from(total / flow.weight), u64::from(flow.longest)))
        .collect();
    for (rule, breaks) in [
        (StartTime::AsPrinted, true),
        (StartTime::Linux, true),
        (StartTime::EveryFlow, false),
    ] {
        let mut checked = Checked::new(Reading::starting(rule), &shares).unwrap();
        for step in &history.steps {
            let packet = history.packets[step.packet];
            match step.until {
                None => checked.enqueue(packet.flow, packet.len.into()),
                Some(_) => assert!(checked.dequeue().is_some()),
            }
        }
        assert_eq!(
            checked.broken().contains(&Claim::Theorem6),
            breaks,
            "{rule:?}: {:?}",
            checked.broken()
        );
        assert_eq!(
            checked.broken().contains(&Claim::FirstServed),
            breaks,
            "{rule:?}: {:?}",
            checked.broken()
        );
    }
}

/// Powers of two: the arithmetic of both is exact, so every state is the same.
#[test]
fn the_shipped_scheduler_has_the_states_of_the_repaired_listings() {
    let mut steps = 0;
    for seed in 0..200 {
        let mut random = Pcg64::seed_from_u64(seed);
        let mut text = String::from(
            "flow A weight 1 longest 2048\nflow B weight 1 longest 8192\nflow C weight 2 longest 4096\nflow D weight 4 longest 2048\n",
        );
        for _ in 0..random.random_range(20..=100) {
            let flow = random.random_range(0..4);
            let len = [2048, 8192, 4096, 2048][flow];
            text += &format!(
                "{} {} at {}us\n",
                ["A", "B", "C", "D"][flow],
                random.random_range(1..=len),
                random.random_range(0..=300_000)
            );
        }
        let load: Load = text.parse().unwrap();
        let (shipped, listings) = (
            History::of(&load, Rule::Shipped).unwrap(),
            History::of(&load, Rule::EveryFlow).unwrap(),
        );
        for (number, (ours, theirs)) in shipped.steps.iter().zip(&listings.steps).enumerate() {
            let times = |step: &roundelay_wasm::Step| {
                step.state
                    .flows
                    .iter()
                    .map(|times| times.map(|times| (times.start, times.finish)))
                    .collect::<Vec<_>>()
            };
            assert_eq!(
                (ours.state.v, &ours.state.groups),
                (theirs.state.v, &theirs.state.groups),
                "seed {seed}, step {number}: {text}"
            );
            assert_eq!(times(ours), times(theirs), "seed {seed}, step {number}");
            assert_eq!(
                (ours.packet, ours.at, &ours.moves),
                (theirs.packet, theirs.at, &theirs.moves),
                "seed {seed}, step {number}"
            );
            steps += 1;
        }
        assert_eq!(shipped.departures, listings.departures, "seed {seed}");
    }
    assert!(steps > 10_000, "{steps} steps");
}

#[test]
fn shares_that_the_listings_cannot_have_are_an_error() {
    let load: Load = "flow A weight 3; flow B; A 1500".parse().unwrap();
    let error = History::of(&load, Rule::Linux).unwrap_err();
    assert_eq!(error, "flow A: share 3 / 4; the listings need 1 / 2^n");
    let late: Load = "join late; flow A; A 1500".parse().unwrap();
    assert!(
        History::of(&late, Rule::AsPrinted)
            .unwrap_err()
            .contains("join late")
    );
}

/// The lag stays below its bound, and the loads of the page all run.
#[test]
fn the_pages_loads_keep_the_bound() {
    for name in ["sets", "crossing", "heavy", "idle"] {
        let history = History::of(&load(name), Rule::Shipped).unwrap();
        let last = history.steps.last().unwrap();
        for (flow, worst) in last.worst_lags.iter().enumerate() {
            assert!(
                *worst <= history.bounds[flow] as f64,
                "{name}: flow {flow} lags by {worst} of {}",
                history.bounds[flow]
            );
        }
        assert!(
            last.worst_lags.iter().any(|worst| *worst > 0.0),
            "{name}: somebody lags"
        );
        assert_eq!(
            last.queues.iter().map(|queue| queue.len()).sum::<usize>(),
            0,
            "{name}"
        );
    }
}
