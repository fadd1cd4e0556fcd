//! A driver with a fake clock: it wakes up late, receives late, and its devices refuse frames.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use rand::{RngExt as _, SeedableRng as _};
use rand_pcg::Pcg64Mcg;
use roundelay::{Duration, Instant};
use roundelay_live::{Bottleneck, Change, Fate, Journal, Settings, Slots, Way};

/// An entry of the journal.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Entry {
    Arrived {
        way: Way,
        at: Instant,
        frame: Vec<u8>,
        len: u32,
    },
    Fate {
        way: Way,
        number: u64,
        flow: u32,
        fate: Fate,
    },
    Changed {
        way: Way,
        at: Instant,
        change: Change,
    },
}

/// A journal in memory, before another one.
pub(crate) struct Kept<J> {
    pub(crate) entries: Arc<Mutex<Vec<Entry>>>,
    pub(crate) next: Arc<Mutex<J>>,
}

impl<J: Journal> Journal for Kept<J> {
    fn arrived(&mut self, way: Way, at: Instant, frame: &[u8], len: u32) {
        self.next.lock().unwrap().arrived(way, at, frame, len);
        let frame = frame.to_vec();
        let entry = Entry::Arrived {
            way,
            at,
            frame,
            len,
        };
        self.entries.lock().unwrap().push(entry);
    }

    fn fate(&mut self, way: Way, number: u64, flow: u32, fate: Fate) {
        self.next.lock().unwrap().fate(way, number, flow, fate);
        let entry = Entry::Fate {
            way,
            number,
            flow,
            fate,
        };
        self.entries.lock().unwrap().push(entry);
    }

    fn changed(&mut self, way: Way, at: Instant, change: &Change) {
        self.next.lock().unwrap().changed(way, at, change);
        let change = change.clone();
        self.entries
            .lock()
            .unwrap()
            .push(Entry::Changed { way, at, change });
    }
}

/// A frame to come.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    pub(crate) stamp: Instant,
    pub(crate) way: Way,
    pub(crate) bytes: Vec<u8>,
}

/// A UDP packet in IPv4 over Ethernet, from a port that stands for the flow.
pub(crate) fn udp(port: u16, tos: u8, len: usize) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([8, 0, 0x45, tos]);
    frame.extend(((len - 14) as u16).to_be_bytes());
    frame.extend([0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    frame.extend(port.to_be_bytes());
    frame.extend(9_u16.to_be_bytes());
    frame.extend(((len - 34) as u16).to_be_bytes());
    frame.extend([0, 0]);
    frame.resize(len, 0);
    frame
}

/// The first port: flow 0.
pub(crate) const FIRST_PORT: u16 = 1000;
pub(crate) const FLOWS: u16 = 12;

/// Frames of many flows in both directions, in bursts and alone, the first one at zero.
pub(crate) fn frames(count: usize, random: &mut Pcg64Mcg) -> Vec<Frame> {
    let mut stamp = 0;
    let mut frames = Vec::new();
    for number in 0..count {
        if number > 0 {
            let gaps = [0, 0, 100_000, 800_000, random.random_range(0..3_000_000)];
            stamp += gaps[random.random_range(0..gaps.len())];
        }
        let port = FIRST_PORT + random.random_range(0..FLOWS);
        let tos = [0, 0, 1, 2, 3, 0xb8, 0x28][random.random_range(0..7)];
        let len = [60, 1000, 1514, random.random_range(60..=1514)][random.random_range(0..4)];
        let way = Way::BOTH[random.random_range(0..2)];
        frames.push(Frame {
            stamp: Instant::from_nanos(stamp),
            way,
            bytes: udp(port, tos, len),
        });
    }
    frames
}

/// A run at a fake clock's hours.
pub(crate) struct Run {
    pub(crate) entries: Vec<Entry>,
    pub(crate) bottleneck: Bottleneck,
    /// Frames that came out, in order, with the time and the time due.
    pub(crate) out: [Vec<(Vec<u8>, Instant, Instant)>; 2],
}

/// Runs frames through a bottleneck until all are through. The driver is late by up to `late`.
pub(crate) fn run<J: Journal + 'static>(
    settings: &Settings,
    frames: &[Frame],
    changes: &[(Instant, Way, Change)],
    late: Duration,
    random: &mut Pcg64Mcg,
    journal: Arc<Mutex<J>>,
) -> Run {
    let slots = Slots::new(4096, 2048);
    let mut bottleneck = Bottleneck::new(settings, slots).expect("legal settings");
    let entries = Arc::default();
    bottleneck.set_journal(Box::new(Kept {
        entries: Arc::clone(&entries),
        next: journal,
    }));
    for (at, way, change) in changes {
        bottleneck.plan(*at, *way, change.clone());
    }
    let mut coming = [VecDeque::new(), VecDeque::new()];
    for frame in frames {
        coming[frame.way.index()].push_back(frame);
    }
    let mut out = [Vec::new(), Vec::new()];
    let mut now = Instant::ZERO;
    let mut calls = 0;
    loop {
        calls += 1;
        assert!(
            calls < 200 * frames.len() + 10_000,
            "the run comes to an end"
        );
        for way in Way::BOTH {
            receive(&mut bottleneck, &mut coming[way.index()], way, now, random);
        }
        bottleneck.advance(now).expect("legal changes");
        for way in Way::BOTH {
            send(&mut bottleneck, way, now, &mut out[way.index()], random);
            assert!(
                bottleneck.books(way).balance(),
                "{:?}",
                bottleneck.books(way)
            );
        }
        let arrival = coming
            .iter()
            .filter_map(|frames| frames.front())
            .map(|frame| frame.stamp);
        let Some(next) = arrival.chain(bottleneck.next_event()).min() else {
            break;
        };
        let nanos = random.random_range(0..=late.as_nanos());
        let lateness = [0, 0, nanos][random.random_range(0..3)];
        now = (next.max(now) + Duration::from_nanos(lateness)).max(now);
        now = Instant::from_nanos(now.as_picos().div_ceil(1000));
    }
    let entries = std::mem::take(&mut *entries.lock().unwrap());
    Run {
        entries,
        bottleneck,
        out,
    }
}

/// Receives some of the frames that have come by `now`.
fn receive(
    bottleneck: &mut Bottleneck,
    coming: &mut VecDeque<&Frame>,
    way: Way,
    now: Instant,
    random: &mut Pcg64Mcg,
) {
    let mut most = [0, 1, 32][random.random_range(0..3)];
    while most > 0 && coming.front().is_some_and(|frame| frame.stamp <= now) {
        let Some(frame) = coming.pop_front() else {
            return;
        };
        let slot = bottleneck.slots_mut().take().expect("a free slot");
        bottleneck.slots_mut().room(slot)[..frame.bytes.len()].copy_from_slice(&frame.bytes);
        bottleneck.slots_mut().set_len(slot, frame.bytes.len());
        bottleneck
            .arrive(way, frame.stamp, slot)
            .expect("a legal flow");
        most -= 1;
    }
}

/// Sends frames that are due; the device takes some of them.
fn send(
    bottleneck: &mut Bottleneck,
    way: Way,
    now: Instant,
    out: &mut Vec<(Vec<u8>, Instant, Instant)>,
    random: &mut Pcg64Mcg,
) {
    let mut due = Vec::new();
    bottleneck.due(way, now, 32, &mut due);
    let taken = match random.random_range(0..4) {
        0 => random.random_range(0..=due.len()),
        _ => due.len(),
    };
    for (slot, at) in due.into_iter().take(taken) {
        assert!(at <= now, "no frame leaves before it is due");
        out.push((bottleneck.slots().frame(slot).to_vec(), now, at));
        bottleneck.hand_over(way);
    }
}

pub(crate) fn random(seed: u64) -> Pcg64Mcg {
    Pcg64Mcg::seed_from_u64(seed)
}
