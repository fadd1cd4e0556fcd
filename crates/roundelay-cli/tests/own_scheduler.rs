//! The scheduler of `examples/own-scheduler`, compiled in this workspace. `make own-scheduler`
//! builds the example itself, a crate outside the workspace.

use std::path::Path;

use roundelay::QueueSpec;
use roundelay::schedulers::{AnyDiscipline, custom};
use roundelay_sim::scenario::Scenario;
use roundelay_trace::{Capture, Options, compare};

#[path = "../../../examples/own-scheduler/src/longest_queue.rs"]
#[expect(unreachable_pub, reason = "public in the example, a crate of its own")]
mod longest_queue;

#[test]
fn the_example_keeps_the_contract_and_runs_in_compare_and_simulate() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mine = AnyDiscipline::Custom(custom::Config::new("longest_queue", |_seed| {
        longest_queue::LongestQueue::default()
    }));
    assert!(roundelay_conformance::check(&mine).unwrap().sent > 10_000);

    let specs = vec![QueueSpec::from(mine.clone()), "fifo".parse().unwrap()];
    let capture = Capture::open(&examples.join("captures/home-downlink.pcap")).unwrap();
    let compared = compare(
        capture,
        &Options::new("5mbit".parse().unwrap(), specs),
        &mut (),
    )
    .unwrap();
    let [longest, fifo] = &compared.disciplines[..] else {
        panic!("two disciplines")
    };
    assert!(
        longest.name == "longest_queue"
            && longest.total.packets > 20_000
            && longest.light_p99 != fifo.light_p99
    );

    let folder = examples.join("scenarios");
    let text = std::fs::read_to_string(folder.join("home.toml")).unwrap();
    let mut scenario = Scenario::from_toml("home.toml", &text, &folder).unwrap();
    scenario.set_queues(&QueueSpec::from(mine)).unwrap();
    let delivered: u64 = scenario
        .run(1, |_| ())
        .unwrap()
        .groups
        .iter()
        .map(|group| group.packets.delivered)
        .sum();
    assert!(delivered > 10_000, "{delivered}");
}
