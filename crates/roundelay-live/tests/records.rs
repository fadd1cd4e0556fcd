//! Live = replay: a record of a run gives the same departures, drops and marks, frame by frame, when
//! it is replayed, and when `compare` replays it.

use std::error::Error;
use std::io::Cursor;
use std::sync::{Arc, Mutex};

use roundelay::{Duration, QueueSpec};
use roundelay_live::{
    Change, End, Fate, LostOutside, NoJournal, QueueText, Recorder, Recording, Replayed, Settings,
    Way, WeightTexts, log, replay,
};
use roundelay_trace::{
    Capture, InterfaceName, Options, PacketFate, PacketRecord, PacketSink, ReplayObserver,
    Selection, TreeFile, compare,
};

use roundelay_verify::inspect;

use crate::fake::{Entry, Run, frames, random, run};
use crate::worlds::{RATE, WEIGHTS, changes, disciplines, rate, settings};

const TREE: &str = "\
[[node]]
name = 'link'
discipline = 'wf2q_plus'

[[node]]
name = 'calls'
parent = 'link'
discipline = 'fifo limit 10'
weight = 4
flows = ['src portrange 1000-1003']

[[node]]
name = 'rest'
parent = 'link'
discipline = 'fq_codel limit 20'
default = true
";

/// A time in 2026.
pub(crate) const START: i64 = 1_790_000_000_000_000_000;

fn tree() -> QueueText {
    QueueText::Tree {
        name: "office.toml".to_owned(),
        text: TREE.to_owned(),
    }
}

pub(crate) fn end(run: &Run) -> End {
    let books = Way::BOTH.map(|way| run.bottleneck.books(way).clone());
    End {
        until: Way::BOTH.map(|way| run.bottleneck.decided(way).as_picos()),
        books,
        lost_outside: [LostOutside::default(); 2],
        verdict: "valid".to_owned(),
    }
}

/// A run with a record.
fn recorded(queue: QueueText, with_changes: bool, seed: u64) -> (Run, Vec<u8>) {
    let mut random = random(seed);
    let frames = frames(1_500, &mut random);
    let mut changes = if with_changes {
        changes(&mut random, 1)
    } else {
        Vec::new()
    };
    if with_changes {
        let rules = vec!["src port 1002 = 3".to_owned()];
        let weights = Change::Weights(WeightTexts { rules, file: None });
        changes.push((frames[700].stamp, Way::Up, weights));
        changes.push((frames[900].stamp, Way::Down, Change::Queue(tree())));
    }
    let settings = settings(queue, &WEIGHTS);
    let recorder = Arc::new(Mutex::new(Recorder::in_memory(START, &settings)));
    let journal = Arc::clone(&recorder);
    let late = Duration::from_millis(5);
    let mut run = run(&settings, &frames, &changes, late, &mut random, journal);
    drop(run.bottleneck.take_journal());
    let recorder = Arc::into_inner(recorder).expect("the run is over");
    let bytes = recorder.into_inner().unwrap().into_bytes(&end(&run));
    (run, bytes)
}

fn replayed(bytes: &[u8]) -> Replayed {
    let capture = Capture::from_reader("run.pcapng", Cursor::new(bytes.to_vec())).expect("pcapng");
    replay(Recording::read(capture).expect("a record")).expect("a whole record")
}

#[test]
fn every_record_replays_to_the_frame() {
    let mut queues: Vec<_> = disciplines()
        .into_iter()
        .map(QueueText::Discipline)
        .collect();
    queues.push(tree());
    for (seed, queue) in queues.into_iter().enumerate() {
        for with_changes in [false, true] {
            let (run, bytes) = recorded(queue.clone(), with_changes, seed as u64);
            let replayed = replayed(&bytes);
            for (way, found) in Way::BOTH.into_iter().zip(&replayed.ways) {
                let books = run.bottleneck.books(way);
                assert!(
                    found.is_equal(),
                    "{queue} {way}: {:?}",
                    found.first_difference
                );
                let counts = [found.arrived, found.sent, found.marked, found.lost];
                let expected = [books.arrived, books.sent, books.marked, books.lost];
                assert_eq!(counts, expected, "{queue} {way}");
                assert_eq!(found.dropped, books.all_dropped());
                assert_eq!(found.changes, books.changes);
                assert!(found.recorded > 500 && (books.changes > 0) == with_changes);
            }
            assert_eq!(replayed.end.as_deref(), Some(&end(&run)));
        }
    }
}

/// Keeps the records of `compare`.
#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<PacketRecord>>>);

impl PacketSink for Sink {
    fn record(&mut self, packet: &PacketRecord) -> Result<(), Box<dyn Error + Send + Sync>> {
        self.0.lock().unwrap().push(*packet);
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<(), Box<dyn Error + Send + Sync>> {
        Ok(())
    }
}

impl ReplayObserver for Sink {
    fn sink(
        &mut self,
        _: &str,
        _: usize,
        _: i64,
    ) -> Result<Option<Box<dyn PacketSink>>, Box<dyn Error + Send + Sync>> {
        Ok(Some(Box::new(self.clone())))
    }
}

/// What `compare` makes of one direction of a record.
fn compared(bytes: &[u8], queue: &QueueText, way: Way, settings: &Settings) -> Vec<PacketRecord> {
    let capture = Capture::from_reader("run.pcapng", Cursor::new(bytes.to_vec())).expect("pcapng");
    let (mut specs, mut trees) = (Vec::new(), Vec::new());
    match queue {
        QueueText::Discipline(text) => specs.push(text.parse::<QueueSpec>().expect("legal")),
        QueueText::Tree { name, text } => {
            trees.push(TreeFile::from_toml(name, text).expect("a tree"));
        }
    }
    let text = if way == Way::Up { RATE } else { "4mbit" };
    let mut options = Options::new(rate(text), specs);
    options.shapes_cake = false;
    options.trees = trees;
    options.weights = settings.weights.rules().expect("legal rules");
    options.seed = settings.seed;
    options.measure_cost = false;
    let name = InterfaceName::from(way.name());
    options.selection = Selection {
        interface: Some(name),
        keep_duplicates: true,
        ..Selection::default()
    };
    let mut sink = Sink::default();
    compare(capture, &options, &mut sink).expect("a comparison");
    std::mem::take(&mut *sink.0.lock().unwrap())
}

#[test]
fn compare_replays_a_record_as_it_was() {
    let mut queues: Vec<_> = disciplines()
        .into_iter()
        .map(QueueText::Discipline)
        .collect();
    queues.push(tree());
    let mut packets = 0;
    for (seed, queue) in queues.into_iter().enumerate() {
        if queue.queue().expect("legal").reads_sizes() {
            continue;
        }
        let (run, bytes) = recorded(queue.clone(), false, seed as u64);
        let settings = settings(queue.clone(), &WEIGHTS);
        for only in Way::BOTH {
            let mut found = compared(&bytes, &queue, only, &settings).into_iter();
            let (mut arrivals, mut zero) = (Vec::new(), None);
            for entry in &run.entries {
                match entry {
                    Entry::Arrived { way, at, .. } if *way == only => {
                        zero = zero.or(Some(*at));
                        arrivals.push(*at);
                    }
                    Entry::Fate {
                        way,
                        number,
                        flow,
                        fate,
                    } if *way == only => {
                        let found = found.next().expect("as many fates");
                        // `compare` counts from the first packet.
                        let zero = zero.expect("an arrival");
                        let shift = zero.since(roundelay::Instant::ZERO);
                        assert_eq!(found.arrival + shift, arrivals[*number as usize], "{queue}");
                        assert_eq!(found.flow.0, *flow, "{queue}");
                        match (found.fate, *fate) {
                            (
                                PacketFate::Sent { start, end, marked },
                                Fate::Sent {
                                    start: own_start,
                                    end: own_end,
                                    marked: own_mark,
                                    ..
                                },
                            ) => assert_eq!(
                                (start + shift, end + shift, marked),
                                (own_start, own_end, own_mark),
                                "{queue}"
                            ),
                            (PacketFate::Dropped(reason), Fate::Dropped { reason: own, .. }) => {
                                assert_eq!(reason, own, "{queue}");
                            }
                            (found, own) => panic!("{queue}: {found:?}, and live {own:?}"),
                        }
                        packets += 1;
                    }
                    _ => (),
                }
            }
            assert!(found.next().is_none(), "{queue}");
        }
    }
    assert!(packets > 30_000, "{packets}");
}

#[test]
fn verify_finds_no_fault_in_the_log_of_a_record() {
    let mut queues: Vec<_> = disciplines()
        .into_iter()
        .map(QueueText::Discipline)
        .collect();
    queues.push(tree());
    for (seed, queue) in queues.into_iter().enumerate() {
        for with_changes in [false, true] {
            let (_, bytes) = recorded(queue.clone(), with_changes, seed as u64);
            let capture = Capture::from_reader("run.pcapng", Cursor::new(bytes)).expect("pcapng");
            let log = log(Recording::read(capture).expect("a record")).expect("a log");
            let inspection = inspect(log.text.as_bytes(), 10).expect("a log");
            assert!(
                inspection.faults.is_empty(),
                "{queue}: {:?}",
                inspection.faults
            );
            assert!(with_changes || inspection.totals.sent > 1_400, "{queue}");
            assert!(log.replayed.is_equal() && (log.changes > 0) == with_changes);
        }
    }
}

#[test]
fn verify_finds_a_packet_that_overtakes() {
    let (_, bytes) = recorded(QueueText::Discipline("fifo limit 25".to_owned()), false, 4);
    let capture = Capture::from_reader("run.pcapng", Cursor::new(bytes)).expect("pcapng");
    let log = log(Recording::read(capture).expect("a record")).expect("a log");
    let mut lines: Vec<_> = log.text.lines().collect();
    let transmits = |line: &&str| line.contains("\"transmit\"") && line.contains("\"link\":0");
    let first = lines.iter().position(transmits).expect("a packet is sent");
    lines.remove(first);
    let found = inspect(lines.join("\n").as_bytes(), 10)
        .expect("a log")
        .faults;
    assert!(!found.is_empty());
}

#[test]
fn a_replay_notices_a_changed_record() {
    let (_, bytes) = recorded(QueueText::Discipline("drr limit 25".to_owned()), false, 1);
    assert!(replayed(&bytes).is_equal());
    let fate = b" dropped ";
    let at = bytes
        .windows(fate.len())
        .position(|window| window == fate)
        .expect("a drop");
    let mut changed = bytes.clone();
    // The first digit of the time of a drop.
    changed[at + fate.len()] ^= 1;
    let replayed = replayed(&changed);
    let different: Vec<_> = replayed.ways.iter().filter(|way| !way.is_equal()).collect();
    assert_eq!(different.len(), 1);
    assert_eq!(different[0].equal + 1, different[0].recorded);
    assert!(different[0].first_difference.is_some());
}

#[test]
fn a_record_that_was_cut_off_is_replayed_as_far_as_it_goes() {
    let (_, bytes) = recorded(QueueText::Discipline("qfq limit 25".to_owned()), true, 2);
    for part in [3, 5, 9] {
        let replayed = replayed(&bytes[..bytes.len() * part / 10]);
        assert!(replayed.end.is_none());
        for way in &replayed.ways {
            assert!(way.is_equal(), "{:?}", way.first_difference);
            assert!(way.arrived > 100 && way.equal > 50);
        }
        let cut = Cursor::new(bytes[..bytes.len() * part / 10].to_vec());
        let capture = Capture::from_reader("run.pcapng", cut).expect("pcapng");
        let log = log(Recording::read(capture).expect("a record")).expect("a log");
        let found = inspect(log.text.as_bytes(), 10).expect("a log").faults;
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn what_is_no_record_is_refused_with_the_reason() {
    let (_, bytes) = recorded(QueueText::Discipline("fifo limit 25".to_owned()), false, 3);
    let read = |bytes: Vec<u8>| {
        let capture = Capture::from_reader("x.pcapng", Cursor::new(bytes)).expect("pcapng");
        match Recording::read(capture).and_then(replay) {
            Ok(_) => String::new(),
            Err(error) => error.to_string(),
        }
    };
    let with = |from: &str, to: &str| {
        let mut bytes = bytes.clone();
        let at = bytes
            .windows(from.len())
            .position(|window| window == from.as_bytes())
            .expect("the text");
        bytes[at..at + to.len()].copy_from_slice(to.as_bytes());
        read(bytes)
    };
    assert!(
        with("\"format\":1", "\"format\":7")
            .contains("format 7, and this version reads format 1: use version")
    );
    assert!(with("fifo limit", "fofi limit").contains("fofi"));
    assert!(with(" dropped ", " dripped ").contains("expected the fate of a frame"));
    let mut settings = settings(QueueText::Discipline("fifo".to_owned()), &[]);
    settings.up.loss = 2_000_000_000;
    let mut none = Recorder::in_memory(START, &settings);
    roundelay_live::Journal::arrived(&mut none, Way::Up, roundelay::Instant::ZERO, &[0; 60], 60);
    let end = End {
        until: [0; 2],
        books: Default::default(),
        lost_outside: Default::default(),
        verdict: String::new(),
    };
    let message = read(none.into_bytes(&end));
    assert!(
        message.contains("loss of 2000000000 billionths"),
        "{message}"
    );
    let _: NoJournal = NoJournal;
}
