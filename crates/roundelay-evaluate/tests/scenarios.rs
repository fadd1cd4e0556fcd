//! Each file runs as it is and has what its figures name, and congestion is as the RFC intends.

use std::path::Path;

use roundelay_evaluate::{Loss, Of, SCENARIOS};
use roundelay_sim::scenario::{Scenario, SourceSpec};
use roundelay_tcp::Control;

fn read(name: &str, text: &str) -> Scenario {
    let none: &roundelay_sim::scenario::ReadCapture<'_> = &|_, _, _| Ok(Vec::new());
    let scenario = Scenario::from_toml_with(name, text, Path::new(""), none);
    scenario.unwrap_or_else(|fault| panic!("{fault}"))
}

/// The file with a shorter duration, so that the walk costs little.
fn short(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        lines.push(match line.split(" = ").next() {
            Some("duration") => "duration = \"3s\"",
            Some("warmup") => "warmup = \"1s\"",
            // Later sources would start after the end.
            Some("start") => "start = \"1s\"",
            Some("start_step") => "start_step = \"100ms\"",
            Some("start_jitter") => "start_jitter = \"500ms\"",
            _ => line,
        });
    }
    lines.join("\n")
}

#[test]
fn each_scenario_runs_and_its_figures_have_sources() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios");
    assert_eq!(
        folder.read_dir().expect("a folder").count(),
        SCENARIOS.len()
    );
    for entry in SCENARIOS {
        let whole = read(entry.name, entry.text);
        assert!(entry.text.contains(&format!("section {}", entry.section())));
        let scenario = read(entry.name, &short(entry.text));
        let results = scenario.run(1, |_| ()).expect("a run");
        let has = |source: &str| results.groups.iter().any(|group| *group.name == *source);
        for measure in entry.measures {
            assert!(has(measure.source), "{}: {}", entry.name, measure.source);
            if let Of::OverSource(other) = measure.of {
                assert!(has(other), "{}: {other}", entry.name);
            }
        }
        assert!(
            entry
                .measures
                .iter()
                .any(|measure| measure.thresholds.is_some())
        );
        assert!(
            whole.notes().is_empty(),
            "{}: {:?}",
            entry.name,
            whole.notes()
        );
    }
}

/// RFC 7928, section 8.2: the levels of congestion are fifo's losses. Twice as many flows lose more.
#[test]
fn fifo_loses_what_the_rfc_intends() {
    let mut checked = 0;
    for entry in SCENARIOS {
        let Some(loss) = entry.loss else { continue };
        let found = loss_of(entry.text, loss);
        println!(
            "{}: {:.3}%, intended {:.1}%",
            entry.name,
            found * 100.0,
            loss.intended * 100.0
        );
        assert!(loss.is_met(found), "{}: {found}", entry.name);
        checked += 1;
    }
    assert_eq!(checked, 3);
    let mild = SCENARIOS
        .iter()
        .find(|entry| entry.name == "8.2.2")
        .expect("mild");
    let loss = mild.loss.expect("a loss");
    // The RFC's formula for senders without appropriate byte counting gives six flows.
    let six = mild.text.replace("pairs = 3", "pairs = 6");
    assert!(!loss.is_met(loss_of(&six, loss)), "planted: six flows");
}

fn loss_of(text: &str, loss: Loss) -> f64 {
    let results = read("planted", text).run(1, |_| ()).expect("a run");
    let mut groups = results.groups.iter();
    let group = groups
        .find(|group| group.name == loss.source)
        .expect("the source");
    group.loss.expect("packets")
}

/// No bulk flow is held back by its receiver: the window holds the bandwidth-delay product and the
/// buffer of any scenario eight times.
#[test]
fn no_window_holds_a_flow_back() {
    const MOST_IN_FLIGHT: u64 = 2_500_000;
    for entry in SCENARIOS {
        for group in &read(entry.name, entry.text).groups {
            let SourceSpec::Tcp(tcp) = &group.source else {
                continue;
            };
            let config = tcp.tcp.config();
            let window = u64::from(config.receive_window) * u64::from(config.segment_len);
            assert!(window > 8 * MOST_IN_FLIGHT, "{}", entry.name);
            let is_base = config.control == Control::Reno;
            let is_other = matches!(entry.section(), "5.2" | "5.4");
            assert!(is_base || is_other, "{}: NewReno is the base", entry.name);
        }
    }
}
