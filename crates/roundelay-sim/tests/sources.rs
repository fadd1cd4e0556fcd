//! Every kind of source, by its two examples: packets are sent, the longest packet and the estimate
//! hold, one seed has one result, and unknown keys are refused with a suggestion.

use std::path::{Path, PathBuf};

use roundelay::{Instant, Packet};
use roundelay_sim::scenario::{Estimate, Results, Scenario, SourceSpec};
use roundelay_sim::{PacketState, Probe, Tag};

/// A folder with the lists of the examples, removed at the end of the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let folder =
            std::env::temp_dir().join(format!("roundelay-sources-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(
            folder.join("packets.txt"),
            "0 1000\n0.01 500 0.001\n0.5 1500 0.002 3\n",
        )
        .unwrap();
        std::fs::write(
            folder.join("flows.txt"),
            "0 5000 s0 r0\n0.4 9000 s1 r0\n1.2 3000 r1 s0\n",
        )
        .unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

/// A dumbbell of two pairs for thirty seconds with one source; the source's first key is in line 7.
fn read(kind: &str, keys: &str, folder: &Path) -> Result<Scenario, String> {
    let network = "duration = '30s'\n[topology]\ntemplate = 'dumbbell'\npairs = 2\nrate = '20mbit'\n[[source]]\n";
    let with = |hosts: &str| {
        let text = format!("{network}{keys}\nkind = '{kind}'\n{hosts}\n");
        Scenario::from_toml("mine.toml", &text, folder).map_err(|error| error.to_string())
    };
    // Some kinds send between all hosts of `from`.
    with("from = 's*'\nto = 'r*'").or_else(|error| with("from = '*'").map_err(|_| error))
}

fn run(scenario: &Scenario, seed: u64) -> Results {
    scenario.run(seed, |_| ()).unwrap()
}

/// Runs `check` with each example of each kind.
fn each(name: &str, mut check: impl FnMut(&str, &Scenario)) {
    let folder = Folder::new(name);
    for (kind, examples) in SourceSpec::KINDS.iter().zip(SourceSpec::EXAMPLES) {
        for keys in examples {
            check(
                kind,
                &read(kind, keys, &folder.0)
                    .unwrap_or_else(|error| panic!("{kind}: {error}\n{keys}")),
            );
        }
    }
}

#[derive(Default)]
struct Longest(u32);

impl Probe for Longest {
    fn sent(&mut self, _: Instant, packet: &Packet<Tag>, _: &PacketState) {
        self.0 = self.0.max(packet.len);
    }
}

/// Queues with weights get a flow configuration for packets longer than they expect.
#[test]
fn no_packet_is_longer_than_announced() {
    each("longest", |kind, scenario| {
        let mut longest = Longest::default();
        scenario.run_with(1, &mut longest, |_| ()).unwrap();
        let announced = scenario.groups[0]
            .flow
            .map_or(roundelay::FlowConfig::default().max_packet_len, |flow| {
                flow.max_packet_len
            });
        assert!(
            longest.0 > 0 && longest.0 <= announced,
            "{kind}: {} of {announced}",
            longest.0
        );
    });
}

#[test]
fn every_kind_sends_and_keeps_its_estimate() {
    each("estimate", |kind, scenario| {
        let estimate = Estimate::of(scenario);
        for seed in 1..=3 {
            let results = run(scenario, seed);
            let group = &results.groups[0];
            assert_eq!(group.kind, kind);
            assert!(
                group.packets.sent > 0 && group.packets.delivered > 0,
                "{kind}: {:?}",
                group.packets
            );
            let shares = [
                estimate.packet_hops / results.packet_hops as f64,
                estimate.events / results.events as f64,
            ];
            assert!(
                shares.iter().all(|share| (1.0..12.0).contains(share)),
                "{kind}: {shares:?}, estimate {estimate:?}"
            );
        }
    });
}

/// A transfer is promised where one can be completed.
#[test]
fn transfers_are_those_announced() {
    each("transfers", |kind, scenario| {
        let completed = run(scenario, 1).groups[0].completion.count > 0;
        let may = scenario
            .may_have(roundelay_sim::scenario::Figure::Completion, None)
            .unwrap();
        assert_eq!(completed, may, "{kind}");
    });
}

#[test]
fn same_seed_same_results() {
    each("seeds", |kind, scenario| {
        assert_eq!(run(scenario, 1), run(scenario, 1), "{kind}")
    });
}

#[test]
fn unknown_keys_are_refused_with_all_keys() {
    let folder = Folder::new("keys");
    for (kind, [keys, _]) in SourceSpec::KINDS.iter().zip(SourceSpec::EXAMPLES) {
        let error = read(kind, &format!("stat = '1s'\n{keys}"), &folder.0).unwrap_err();
        assert!(
            error.starts_with("mine.toml:7: unknown field `stat`"),
            "{kind}: {error}"
        );
        assert!(error.contains("beside `name`, `from`"), "{kind}: {error}");
    }
    let error = read("vidoe", "", &folder.0).unwrap_err();
    assert!(
        error.contains("no kind of source is called 'vidoe' (did you mean 'video'?): cbr, poisson"),
        "{error}"
    );
}

/// The error about a missing key has a line that mends the source.
#[test]
fn a_missing_key_has_a_right_line() {
    let folder = Folder::new("missing");
    let mut missing = 0;
    for (kind, [keys, _]) in SourceSpec::KINDS.iter().zip(SourceSpec::EXAMPLES) {
        for left_out in keys.lines() {
            let rest: String = keys
                .lines()
                .filter(|line| *line != left_out)
                .map(|line| line.to_owned() + "\n")
                .collect();
            let Err(error) = read(kind, &rest, &folder.0) else {
                continue;
            };
            let Some((_, right)) = error.split_once(" in [[source]], as in ") else {
                panic!("{kind} without {left_out}: {error}")
            };
            assert!(error.starts_with("mine.toml:6: missing field `"), "{error}");
            // The name of a file is only an example.
            let is_mended =
                read(kind, &(rest + right), &folder.0).is_ok() || right.starts_with("file = ");
            assert!(is_mended, "{kind}: {right}");
            missing += 1;
        }
    }
    assert!(missing > 15, "{missing} required keys");
}
