//! Foreign captures: each gives packets or a clean error, in time, and goes through every
//! discipline without lost packets or broken bounds. `tests/captures/fetch.sh DIR` downloads some:
//! `ROUNDELAY_CAPTURES=DIR cargo test --release -p roundelay-trace --test all -- foreign::
//! --ignored --nocapture`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use std::{env, fs, thread};

use roundelay::QueueSpec;
use roundelay::schedulers::AnyDiscipline;
use roundelay_trace::{
    Capture, Classifier, CompareError, Comparison, FlowBy, Options, compare, parse,
};

/// Result of one file.
#[derive(Debug, Clone, Default)]
struct Outcome {
    packets: u64,
    flows: usize,
    unparsable: u64,
    truncated: bool,
    backwards: u64,
    error: Option<String>,
}

/// Generous for the file's size: reading does 10 MB/s even without optimization.
fn time_limit(path: &Path) -> Duration {
    let megabytes = fs::metadata(path).map_or(0, |metadata| metadata.len()) / 1_000_000;
    Duration::from_secs(10 + megabytes / 10)
}

fn captures(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in
        fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()))
    {
        let path = entry.unwrap().path();
        if path.is_dir() {
            captures(&path, found);
        } else if path.extension().is_some_and(|extension| {
            ["pcap", "pcapng", "cap"]
                .iter()
                .any(|known| extension == *known)
        }) {
            found.push(path);
        }
    }
}

fn read(path: &Path) -> Outcome {
    let mut classifier = Classifier::new(FlowBy::FiveTuple);
    let mut outcome = Outcome::default();
    match Capture::open(path) {
        Ok(mut capture) => {
            outcome.error = drain(&mut capture, &mut classifier);
            let notes = capture.notes();
            (outcome.packets, outcome.truncated, outcome.backwards) = (
                notes.packets,
                notes.truncated_tail_bytes > 0,
                notes.backwards,
            );
        }
        Err(error) => outcome.error = Some(error.to_string()),
    }
    (outcome.flows, outcome.unparsable) =
        (classifier.flows().len(), classifier.unparsable().total());
    outcome
}

/// Reads to the end; returns the error, if any.
fn drain(capture: &mut Capture, classifier: &mut Classifier) -> Option<String> {
    loop {
        match capture.next() {
            Ok(Some(frame)) => {
                classifier.classify(
                    parse(frame.link, frame.bytes)
                        .as_ref()
                        .map_err(|reason| *reason),
                );
            }
            Ok(None) => return None,
            Err(error) => return Some(error.to_string()),
        }
    }
}

/// Works on a file in another thread: an endless loop fails the test too.
fn in_time<R: Send + 'static>(path: &Path, limit: Duration, work: fn(&Path) -> R) -> R {
    let (sender, receiver) = mpsc::channel();
    let owned = path.to_owned();
    thread::spawn(move || sender.send(work(&owned)));
    receiver.recv_timeout(limit).unwrap_or_else(|error| {
        panic!(
            "{}: no end within {limit:?}, or a panic ({error})",
            path.display()
        )
    })
}

fn foreign_captures() -> Vec<PathBuf> {
    let directory = env::var_os("ROUNDELAY_CAPTURES")
        .expect("ROUNDELAY_CAPTURES names a directory of captures");
    let mut paths = Vec::new();
    captures(Path::new(&directory), &mut paths);
    assert!(
        !paths.is_empty(),
        "no *.pcap, *.pcapng or *.cap in {}",
        Path::new(&directory).display()
    );
    paths.sort();
    paths
}

fn assert_clean(error: &str, path: &Path) {
    assert!(
        error.starts_with(&path.display().to_string()),
        "an error names its file: {error}"
    );
    assert!(
        error.contains("; expected ") || error.contains(": cannot "),
        "an error says what is expected: {error}"
    );
}

#[test]
#[ignore = "needs captures, run by make test-full"]
fn foreign_captures_give_packets_or_a_clean_error() {
    let paths = foreign_captures();
    let outcomes: BTreeMap<_, _> = paths
        .iter()
        .map(|path| (path, in_time(path, time_limit(path), read)))
        .collect();
    for (path, outcome) in &outcomes {
        if let Some(error) = &outcome.error {
            println!("{error}");
            assert_clean(error, path);
        }
    }
    let sum = |field: fn(&Outcome) -> u64| outcomes.values().map(field).sum::<u64>();
    println!(
        "{} files: {} clean, {} with an error, {} cut at the end, {} stepping back in time; {} packets, {} flows, {} packets unparsable",
        outcomes.len(),
        sum(|outcome| u64::from(outcome.error.is_none())),
        sum(|outcome| u64::from(outcome.error.is_some())),
        sum(|outcome| u64::from(outcome.truncated)),
        sum(|outcome| u64::from(outcome.backwards > 0)),
        sum(|outcome| outcome.packets),
        sum(|outcome| outcome.flows as u64),
        sum(|outcome| outcome.unparsable),
    );
    let largest = outcomes
        .iter()
        .max_by_key(|(_, outcome)| outcome.packets)
        .expect("at least one file");
    println!(
        "largest: {} with {} packets in {} flows",
        largest.0.display(),
        largest.1.packets,
        largest.1.flows
    );
}

/// All disciplines on a link overloaded at times by many of these captures.
fn replay(path: &Path) -> Result<Comparison, CompareError> {
    let specs = AnyDiscipline::all()
        .into_iter()
        .map(|discipline| QueueSpec {
            discipline,
            limit: None,
        })
        .collect();
    let options = Options {
        measure_cost: false,
        seeds: 1,
        ..Options::new("10mbit".parse().expect("a rate"), specs)
    };
    compare(Capture::open(path)?, &options, &mut ())
}

fn assert_nothing_lost(comparison: &Comparison, path: &Path) {
    for discipline in &comparison.disciplines {
        let place = format!("{}: {}", path.display(), discipline.spec);
        for (offered, flow) in comparison.flows.iter().zip(&discipline.flows) {
            let served = flow.outcome.packets + flow.outcome.drops.total();
            assert_eq!(served, offered.packets, "{place}: {}", offered.label);
            assert!(
                flow.outcome.bytes <= offered.bytes,
                "{place}: {}",
                offered.label
            );
        }
        assert_eq!(
            discipline.total.packets + discipline.total.drops.total(),
            comparison.capture.packets,
            "{place}"
        );
    }
}

/// Flows with a figure beyond its proven bound.
fn broken_bounds(comparison: &Comparison) -> Vec<String> {
    let broken = comparison
        .disciplines
        .iter()
        .filter(|discipline| discipline.kept_bounds == Some(false));
    let beyond = |measured: f64, bound: Option<f64>| bound.is_some_and(|bound| measured > bound);
    let describe = |spec: &str, label: &str, flow: &roundelay_trace::FlowResult| {
        format!(
            "{spec}: {label}: B-WFI, T-WFI, latency, fairness, each with its bound: {:?}",
            flow.audited()
        )
    };
    broken
        .flat_map(|discipline| {
            comparison
                .flows
                .iter()
                .zip(&discipline.flows)
                .map(move |pair| (discipline, pair))
        })
        .filter(|(_, (_, flow))| {
            flow.audited()
                .into_iter()
                .any(|(measured, bound)| beyond(measured, bound))
        })
        .map(|(discipline, (offered, flow))| describe(&discipline.spec, &offered.label, flow))
        .collect()
}

#[test]
#[ignore = "needs captures, run by make test-full"]
fn foreign_captures_go_through_every_discipline() {
    let start = Instant::now();
    let (mut replayed, mut packets, mut flows, mut empty, mut malformed) = (0, 0, 0, 0, 0);
    let mut broken = Vec::new();
    for path in foreign_captures() {
        match in_time(&path, 30 * time_limit(&path), replay) {
            Ok(comparison) => {
                assert_nothing_lost(&comparison, &path);
                broken.extend(
                    broken_bounds(&comparison)
                        .into_iter()
                        .map(|flow| format!("{}: {flow}", path.display())),
                );
                (replayed, packets, flows) = (
                    replayed + 1,
                    packets + comparison.capture.packets,
                    flows + comparison.flows.len(),
                );
            }
            Err(CompareError::NoPackets { name, .. }) => {
                assert_eq!(name, path.display().to_string());
                empty += 1;
            }
            Err(CompareError::Capture(error)) => {
                assert_clean(&error.to_string(), &path);
                malformed += 1;
            }
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
    println!(
        "{replayed} captures replayed: {packets} packets in {flows} flows; {empty} empty, {malformed} malformed; {:?}",
        start.elapsed()
    );
    assert!(
        broken.is_empty(),
        "{} flows beyond a proven bound:\n{}",
        broken.len(),
        broken.join("\n")
    );
    assert!(replayed > 0, "none of the captures could be replayed");
}
