//! Captures that others wrote: each gives packets or a clean error, in time.

mod common;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::time::Duration;
use std::{env, fs, thread};

use roundelay_trace::{Capture, Classifier, FlowBy, parse};

/// What came of one file.
#[derive(Debug, Clone, Default)]
struct Outcome {
    packets: u64,
    flows: usize,
    unparsable: u64,
    truncated: bool,
    backwards: u64,
    error: Option<String>,
}

/// Ample for a file of this size: reading does 10 MB/s even without optimization.
fn time_limit(path: &Path) -> Duration {
    let megabytes = fs::metadata(path).map_or(0, |metadata| metadata.len()) / 1_000_000;
    Duration::from_secs(10 + megabytes / 10)
}

fn captures(directory: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display())) {
        let path = entry.unwrap().path();
        if path.is_dir() {
            captures(&path, found);
        } else if path.extension().is_some_and(|extension| ["pcap", "pcapng", "cap"].iter().any(|known| extension == *known)) {
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
            (outcome.packets, outcome.truncated, outcome.backwards) = (notes.packets, notes.truncated_tail_bytes > 0, notes.backwards);
        }
        Err(error) => outcome.error = Some(error.to_string()),
    }
    (outcome.flows, outcome.unparsable) = (classifier.flows().len(), classifier.unparsable().total());
    outcome
}

/// Reads to the end; the error there, if any.
fn drain(capture: &mut Capture, classifier: &mut Classifier) -> Option<String> {
    loop {
        match capture.next() {
            Ok(Some(frame)) => {
                classifier.classify(parse(frame.link, frame.bytes).as_ref().map_err(|reason| *reason));
            }
            Ok(None) => return None,
            Err(error) => return Some(error.to_string()),
        }
    }
}

/// Reads in another thread, so that an endless loop fails the test too.
fn read_in_time(path: &Path) -> Outcome {
    let (sender, receiver) = mpsc::channel();
    let owned = path.to_owned();
    thread::spawn(move || sender.send(read(&owned)));
    let limit = time_limit(path);
    receiver.recv_timeout(limit).unwrap_or_else(|error| panic!("{}: no end within {limit:?}, or a panic ({error})", path.display()))
}

#[test]
#[ignore = "needs captures, run by make test-full"]
fn foreign_captures_give_packets_or_a_clean_error() {
    let directory = env::var_os("ROUNDELAY_CAPTURES").expect("ROUNDELAY_CAPTURES names a directory of captures");
    let mut paths = Vec::new();
    captures(Path::new(&directory), &mut paths);
    assert!(!paths.is_empty(), "no *.pcap, *.pcapng or *.cap in {}", Path::new(&directory).display());
    paths.sort();
    let outcomes: BTreeMap<_, _> = paths.iter().map(|path| (path, read_in_time(path))).collect();
    for (path, outcome) in &outcomes {
        if let Some(error) = &outcome.error {
            println!("{error}");
            assert!(error.starts_with(&path.display().to_string()), "an error names its file: {error}");
            assert!(error.contains("; expected ") || error.contains(": cannot "), "an error says what is expected: {error}");
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
}
