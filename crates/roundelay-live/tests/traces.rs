//! Links that follow a trace: the departures of a plain model of mahimahi's link, and records that
//! replay to the frame.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use rand::RngExt as _;
use rand_pcg::Pcg64Mcg;
use roundelay::{Duration, Instant, Rate};
use roundelay_live::{
    Bottleneck, Change, Fate, NoJournal, QueueText, Recorder, Recording, Settings, Slots, Way, log,
    replay,
};
use roundelay_trace::Capture;
use roundelay_verify::{VerifyError, verify};

use crate::fake::{Entry, Run, frames, random, run};
use crate::records::{START, end};
use crate::worlds::{WEIGHTS, became, changes, disciplines, plain_on, settings};

/// A trace with gaps and bursts.
pub(crate) fn trace(random: &mut Pcg64Mcg) -> Vec<u64> {
    let mut times = Vec::new();
    let mut time = 0;
    for _ in 0..150 {
        let gaps = [0, 0, 1, 1, 2, random.random_range(0..40)];
        time += gaps[random.random_range(0..gaps.len())];
        times.push(time);
    }
    times.push(time + 1);
    times
}

fn with_traces(queue: &str, random: &mut Pcg64Mcg) -> (Settings, [Vec<u64>; 2]) {
    let mut settings = settings(QueueText::Discipline(queue.to_owned()), &WEIGHTS);
    let traces = [trace(random), trace(random)];
    for (way, times) in Way::BOTH.into_iter().zip(&traces) {
        let lines: Vec<_> = times.iter().map(u64::to_string).collect();
        settings
            .follow(way, "verse.trace", &lines.join("\n"))
            .expect("a trace");
    }
    (settings, traces)
}

/// Number and end of each packet that a link of mahimahi's kind sends: at each time of the trace it
/// carries 1514 bytes of the packets that wait then, first come, first served.
fn model(run: &Run, only: Way, times: &[u64]) -> Vec<(u64, Instant)> {
    let mut coming = VecDeque::new();
    for entry in &run.entries {
        if let Entry::Arrived { way, at, len, .. } = entry
            && *way == only
        {
            coming.push_back((*at, u64::from(*len)));
        }
    }
    let (mut waiting, mut number, mut sent) = (VecDeque::new(), 0, Vec::new());
    let mut in_transit: Option<(u64, u64)> = None;
    let period = times[times.len() - 1];
    let mut round = 0;
    while sent.len() < run.bottleneck.books(only).sent as usize {
        for time in times {
            let now = Instant::from_nanos((round * period + time) * 1_000_000);
            while let Some((at, len)) = coming.front().filter(|(at, _)| *at <= now) {
                assert!(*at <= now);
                waiting.push_back((number, *len));
                number += 1;
                coming.pop_front();
            }
            let mut bytes = 1514;
            while bytes > 0 {
                let Some((packet, left)) = in_transit.take().or_else(|| waiting.pop_front()) else {
                    break;
                };
                let carried = left.min(bytes);
                bytes -= carried;
                if carried == left {
                    sent.push((packet, now));
                } else {
                    in_transit = Some((packet, left - carried));
                }
            }
        }
        round += 1;
    }
    sent.truncate(run.bottleneck.books(only).sent as usize);
    sent
}

#[test]
fn departures_are_those_of_mahimahis_link() {
    let mut packets = 0;
    for seed in 0..20 {
        let mut random = random(seed);
        let (settings, traces) = with_traces("fifo limit 100000", &mut random);
        let frames = frames(1_000, &mut random);
        let no_journal = Arc::new(Mutex::new(NoJournal));
        let late = Duration::from_millis(4);
        let run = run(&settings, &frames, &[], late, &mut random, no_journal);
        for (way, times) in Way::BOTH.into_iter().zip(&traces) {
            let mut found = Vec::new();
            for entry in &run.entries {
                if let Entry::Fate {
                    way: of,
                    number,
                    fate: Fate::Sent { end, .. },
                    ..
                } = entry
                    && *of == way
                {
                    found.push((*number, *end));
                }
            }
            assert_eq!(found, model(&run, way, times), "{way}, seed {seed}");
            packets += found.len();
        }
    }
    assert_eq!(packets, 20_000);
}

#[test]
fn every_discipline_on_a_trace_gives_the_departures_of_a_plain_model_with_changes_on_the_way() {
    let (mut frames_seen, mut changes_made) = (0, 0);
    for (seed, queue) in disciplines().iter().enumerate() {
        for with_changes in [false, true] {
            let mut random = random(100 + seed as u64);
            let (settings, traces) = with_traces(queue, &mut random);
            let frames = frames(2_000, &mut random);
            let mut planned = Vec::new();
            if with_changes {
                planned = changes(&mut random, 2);
            }
            let no_journal = Arc::new(Mutex::new(NoJournal));
            let late = Duration::from_millis(4);
            let run = run(&settings, &frames, &planned, late, &mut random, no_journal);
            for (way, times) in Way::BOTH.into_iter().zip(&traces) {
                let rate = Rate::from_bits_per_second(settings.way(way).rate).expect("a rate");
                let found = became(&run, way);
                assert_eq!(
                    found,
                    plain_on(&run, queue, times, rate, way),
                    "{queue} {way}"
                );
                frames_seen += found.len();
                changes_made += run.bottleneck.books(way).changes;
            }
        }
    }
    assert!(frames_seen > 100_000, "{frames_seen}");
    assert!(changes_made > 150, "{changes_made}");
}

#[test]
fn every_record_of_a_traced_link_replays_also_when_the_link_gets_a_rate() {
    for (seed, queue) in disciplines().into_iter().enumerate() {
        let mut random = random(seed as u64);
        let (settings, _) = with_traces(&queue, &mut random);
        let frames = frames(600, &mut random);
        let middle = frames[400].stamp;
        let changes = [
            (middle, Way::Up, Change::Rate(3_000_000)),
            (
                middle,
                Way::Down,
                Change::Queue(QueueText::Discipline("drr limit 40".to_owned())),
            ),
        ];
        let recorder = Arc::new(Mutex::new(Recorder::in_memory(START, &settings)));
        let journal = Arc::clone(&recorder);
        let late = Duration::from_millis(4);
        let mut run = run(&settings, &frames, &changes, late, &mut random, journal);
        assert_eq!(run.bottleneck.trace(Way::Up), None, "a rate ends a trace");
        assert_eq!(run.bottleneck.trace(Way::Down), Some("verse.trace"));
        drop(run.bottleneck.take_journal());
        let recorder = Arc::into_inner(recorder).expect("the run is over");
        let bytes = recorder.into_inner().unwrap().into_bytes(&end(&run));
        let recording = || {
            let bytes = std::io::Cursor::new(bytes.clone());
            let capture = Capture::from_reader("run.pcapng", bytes).expect("pcapng");
            Recording::read(capture).expect("a record")
        };
        let replayed = replay(recording()).expect("a whole record");
        let log = log(recording()).expect("a whole record").text;
        let verified = verify(log.as_bytes()).unwrap_or_else(|error| panic!("{queue}: {error}"));
        assert!(verified.sent > 300, "{queue}: {verified:?}");
        // A trace with fewer bytes at a time cannot have carried the same.
        let other = log.replacen("\"bytes\":1514", "\"bytes\":1400", 1);
        assert_ne!(other, log);
        let error = verify(other.as_bytes()).expect_err("another trace");
        assert!(
            matches!(&error, VerifyError::Impossible { .. }),
            "{queue}: {error}"
        );
        for way in &replayed.ways {
            assert!(way.is_equal(), "{queue}: {:?}", way.first_difference);
            assert!(
                way.sent > 80,
                "{queue}: {} of {} sent",
                way.sent,
                way.arrived
            );
        }
    }
}

/// A packet of a capture has 256 KiB at most; a record with longer settings was none.
#[test]
fn settings_longer_than_a_packet_are_recorded_whole() {
    let mut random = random(1);
    let (mut settings, _) = with_traces("fifo", &mut random);
    // One line of a comment, and a trace of many lines.
    settings.way_mut(Way::Up).queue = QueueText::Tree {
        name: "big.toml".to_owned(),
        text: format!(
            "# {}\n{}",
            "long ".repeat(80_000),
            "[[node]]\nname = \"link\"\ndiscipline = \"drr\"\n\
             [[node]]\nname = \"all\"\nparent = \"link\"\ndiscipline = \"fifo\"\ndefault = true\n"
        ),
    };
    let mut long = String::new();
    for time in 1..100_000 {
        long += &format!("{time}\n");
    }
    let follows = settings.follow(Way::Down, "long.trace", &long);
    follows.expect("a trace");
    let frames = frames(200, &mut random);
    let recorder = Arc::new(Mutex::new(Recorder::in_memory(START, &settings)));
    let journal = Arc::clone(&recorder);
    let late = Duration::from_millis(4);
    let mut run = run(&settings, &frames, &[], late, &mut random, journal);
    drop(run.bottleneck.take_journal());
    let recorder = Arc::into_inner(recorder).expect("the run is over");
    let bytes = recorder.into_inner().unwrap().into_bytes(&end(&run));
    let read = |bytes: &[u8]| {
        let bytes = std::io::Cursor::new(bytes.to_vec());
        let capture = Capture::from_reader("run.pcapng", bytes).expect("pcapng");
        Recording::read(capture)
    };
    let recording = read(&bytes).expect("a record");
    assert_eq!(recording.start().settings, settings);
    for way in &replay(recording).expect("a whole record").ways {
        assert!(way.is_equal(), "{:?}", way.first_difference);
    }
    let Err(error) = read(&bytes[..300_000]) else {
        panic!("it is cut off");
    };
    assert!(
        error.to_string().contains(" is missing behind it"),
        "{error}"
    );
}

#[test]
fn a_wrong_trace_is_refused() {
    let mut settings = settings(QueueText::Discipline("fifo".to_owned()), &[]);
    let error = settings.follow(Way::Up, "up.trace", "1\nx\n");
    let message = error.expect_err("no time").to_string();
    assert!(
        message.starts_with("up.trace:2: 'x': expected"),
        "{message}"
    );
    // A record that somebody has changed.
    settings.up.trace = Some(("up.trace".to_owned(), "3\n2\n".to_owned()));
    let error = Bottleneck::new(&settings, Slots::new(1, 64)).err();
    let message = error.expect("times fall").to_string();
    assert!(
        message.starts_with("up.trace:2: '2': expected"),
        "{message}"
    );
}
