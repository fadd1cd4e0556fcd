//! A scheduler of your own: checked against the contract, then beside `fifo` and `fq_codel` over a
//! capture, in a simulation and in the benchmark.

mod longest_queue;

use std::error::Error;
use std::path::Path;

use longest_queue::LongestQueue;
use roundelay::QueueSpec;
use roundelay::schedulers::{AnyDiscipline, custom};
use roundelay_bench::{FlowSet, Lengths, Load, Memory, Order, Pattern, Subject, time};
use roundelay_sim::scenario::Scenario;
use roundelay_trace::{Capture, Options, compare};

/// Packets in a round of the benchmark. Debug builds check every scheduler after each call, and
/// their times mean nothing.
const PACKETS: u64 = if cfg!(debug_assertions) { 300 } else { 300_000 };

fn main() -> Result<(), Box<dyn Error>> {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mine = AnyDiscipline::Custom(custom::Config::new("longest_queue", |_seed| {
        LongestQueue::default()
    }));
    let specs = vec![
        QueueSpec {
            discipline: mine.clone(),
            limit: None,
        },
        "fifo".parse()?,
        "fq_codel".parse()?,
    ];

    let checked = roundelay_conformance::check(&mine)?;
    println!(
        "the contract holds: {} calls, {} packets sent, {} dropped",
        checked.calls, checked.sent, checked.dropped
    );

    let file = examples.join("captures/home-downlink.pcap");
    let capture = Capture::open(&file)?;
    for result in compare(
        capture,
        &Options::new("5mbit".parse()?, specs.clone()),
        &mut (),
    )?
    .disciplines
    {
        let p99 = result.total.delay.map_or(0.0, |delay| delay.p99 * 1e3);
        println!(
            "capture, {}: {} packets sent, 99% of the delays up to {p99:.1} ms",
            result.name, result.total.packets
        );
    }

    let file = examples.join("scenarios/home.toml");
    let mut scenario = Scenario::from_toml(
        "home.toml",
        &std::fs::read_to_string(file)?,
        &examples.join("scenarios"),
    )?;
    for spec in &specs {
        scenario.set_queues(spec)?;
        let results = scenario.run(1, |_| ())?;
        let sums = results.groups.iter().map(|group| group.packets.delivered);
        println!(
            "simulation, {}: {} packets delivered",
            spec.discipline,
            sums.sum::<u64>()
        );
    }

    let load = Load {
        flows: "64".parse()?,
        pattern: Pattern::Small,
        order: Order::Shortest,
        lengths: Lengths::Imix,
        memory: Memory::Packed,
        burst: 0,
    };
    let subjects: Vec<_> = specs
        .into_iter()
        .map(|spec| Subject::Discipline(spec.discipline))
        .collect();
    for (subject, timing) in subjects
        .iter()
        .zip(&time(&subjects, &[load], PACKETS, 3)?[0])
    {
        let [_, nanoseconds, _] = timing.spread();
        println!(
            "benchmark, {}: {nanoseconds:.0} ns a packet{}",
            subject.name(),
            if cfg!(debug_assertions) {
                " in a debug build"
            } else {
                ""
            }
        );
    }
    Ok(())
}
