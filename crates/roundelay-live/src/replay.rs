//! Replays a record: sends the same frames at the same times through the same queues, and checks
//! that the same frames leave at the same times.

#![deny(clippy::indexing_slicing)]

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use roundelay::Instant;
use roundelay_trace::FeedError;

use crate::bottleneck::Bottleneck;
use crate::journal::{Fate, Journal, NoJournal};
use crate::phases::PhaseFigures;
use crate::record::{End, Line};
use crate::recording::{Entry, RecordError, Recording};
use crate::settings::{Change, Way};
use crate::slots::Slots;

/// A replay has as many slots as a run.
const SLOTS: u32 = 65_536;

/// What a replay found.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// The directions, up and down.
    pub ways: [ReplayedWay; 2],
    /// How the run ended. None if the record was cut off.
    pub end: Option<Box<End>>,
}

/// What a replay found in one direction.
#[derive(Debug, Clone, Default)]
pub struct ReplayedWay {
    /// Frames that arrived.
    pub arrived: u64,
    /// Fates in the record.
    pub recorded: u64,
    /// Fates in the replay, up to the end of the record.
    pub replayed: u64,
    /// Fates that are the same in both, in the same order.
    pub equal: u64,
    /// The first fate that differs, as recorded and as replayed.
    pub first_difference: Option<(Option<String>, Option<String>)>,
    /// Changes during the run.
    pub changes: u64,
    /// Frames sent in the replay.
    pub sent: u64,
    /// Frames marked in the replay.
    pub marked: u64,
    /// Frames dropped in the replay.
    pub dropped: u64,
    /// Frames lost on the wire in the replay.
    pub lost: u64,
    /// The parts of the run with the same queue, rate and weights, each with its figures.
    pub phases: Vec<PhaseFigures>,
}

impl ReplayedWay {
    /// Whether all fates are the same.
    pub const fn is_equal(&self) -> bool {
        self.equal == self.recorded && self.equal == self.replayed
    }
}

impl Replayed {
    /// Whether all fates are the same in both directions.
    pub fn is_equal(&self) -> bool {
        self.ways.iter().all(ReplayedWay::is_equal)
    }
}

/// Hears the fates in a replay and passes them to another journal.
struct Listener {
    fates: Arc<Mutex<Vec<Line>>>,
    next: Box<dyn Journal>,
}

impl Journal for Listener {
    fn arrived(&mut self, way: Way, at: Instant, frame: &[u8], len: u32) {
        self.next.arrived(way, at, frame, len);
    }

    fn changed(&mut self, way: Way, at: Instant, change: &Change) {
        self.next.changed(way, at, change);
    }

    fn fate(&mut self, way: Way, number: u64, flow: u32, fate: Fate) {
        self.next.fate(way, number, flow, fate);
        self.fates
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(Line {
                way,
                number,
                flow,
                fate,
            });
    }
}

/// A direction at some point in the replay.
#[derive(Default)]
struct Course {
    result: ReplayedWay,
    recorded: VecDeque<Line>,
    replayed: VecDeque<Line>,
}

impl Course {
    fn count(&mut self, line: Line) {
        let result = &mut self.result;
        match line.fate {
            Fate::Sent { marked, lost, .. } => {
                result.sent += 1;
                result.marked += u64::from(marked);
                result.lost += u64::from(lost);
            }
            Fate::Dropped { .. } => result.dropped += 1,
        }
        result.replayed += 1;
        self.replayed.push_back(line);
    }

    /// Compares the fates that both sides have told.
    fn compare(&mut self) {
        while let (Some(ours), Some(theirs)) = (self.replayed.front(), self.recorded.front()) {
            if ours == theirs {
                self.result.equal += 1;
            } else if self.result.first_difference.is_none() {
                self.result.first_difference =
                    Some((Some(theirs.to_string()), Some(ours.to_string())));
            }
            self.replayed.pop_front();
            self.recorded.pop_front();
        }
    }

    /// A fate that only one side has is a difference too.
    fn close(mut self) -> ReplayedWay {
        self.compare();
        let text = |lines: &VecDeque<Line>| lines.front().map(Line::to_string);
        let rest = (text(&self.recorded), text(&self.replayed));
        if self.result.first_difference.is_none() && rest != (None, None) {
            self.result.first_difference = Some(rest);
        }
        self.result
    }
}

/// A direction's part of two.
const fn of<T>(way: Way, [up, down]: &mut [T; 2]) -> &mut T {
    match way {
        Way::Up => up,
        Way::Down => down,
    }
}

/// Replays a record.
///
/// # Errors
/// The record is damaged, or its settings are impossible.
pub fn replay(recording: Recording) -> Result<Replayed, RecordError> {
    replay_with(recording, None)
}

/// A replay that another journal hears too.
pub(crate) fn replay_with(
    mut recording: Recording,
    journal: Option<Box<dyn Journal>>,
) -> Result<Replayed, RecordError> {
    let name = recording.name().to_owned();
    let wrong = |error: FeedError| RecordError::Settings {
        name: name.clone(),
        error: error.to_string().replace(char::is_control, "\u{fffd}"),
    };
    let settings = recording.start().settings.clone();
    let slots = Slots::new(SLOTS, settings.snap as usize);
    let mut bottleneck = Bottleneck::new(&settings, slots).map_err(|error| wrong(error.into()))?;
    let heard: Arc<Mutex<Vec<Line>>> = Arc::default();
    bottleneck.set_journal(Box::new(Listener {
        fates: Arc::clone(&heard),
        next: journal.unwrap_or(Box::new(NoJournal)),
    }));
    let mut courses = [Course::default(), Course::default()];
    let mut end = None;
    while let Some(entry) = recording.next()? {
        match entry {
            Entry::Arrival {
                way,
                at,
                frame,
                len,
            } => {
                let course = of(way, &mut courses);
                course.result.arrived += 1;
                arrive(&mut bottleneck, way, at, &frame, len).map_err(&wrong)?;
            }
            Entry::Change { way, at, change } => {
                of(way, &mut courses).result.changes += 1;
                bottleneck.plan(at, way, change);
                bottleneck
                    .settle(way, at)
                    .map_err(|error| wrong(error.into()))?;
            }
            Entry::Fate(line) => {
                let course = of(line.way, &mut courses);
                course.result.recorded += 1;
                course.recorded.push_back(line);
            }
            Entry::End(last) => {
                for (way, until) in Way::BOTH.into_iter().zip(last.until) {
                    let until = Instant::from_picos(until);
                    bottleneck
                        .settle(way, until)
                        .map_err(|error| wrong(error.into()))?;
                }
                end = Some(last);
            }
        }
        let fates = std::mem::take(&mut *heard.lock().unwrap_or_else(PoisonError::into_inner));
        for line in fates {
            of(line.way, &mut courses).count(line);
        }
        for course in &mut courses {
            course.compare();
        }
    }
    for way in Way::BOTH {
        let until = bottleneck.decided(way);
        of(way, &mut courses).result.phases = bottleneck.phases(way, until);
    }
    let cut = end.is_none();
    let ways = courses.map(|mut course| {
        if cut {
            // The run had not written these fates yet, or they depend on frames that are not in the
            // file.
            course.result.replayed -= course.replayed.len() as u64;
            course.result.recorded -= course.recorded.len() as u64;
            course.replayed.clear();
            course.recorded.clear();
        }
        course.close()
    });
    Ok(Replayed { ways, end })
}

/// Lets a frame from the record arrive. Frames that are through make room for it.
fn arrive(
    bottleneck: &mut Bottleneck,
    way: Way,
    at: Instant,
    frame: &[u8],
    len: u32,
) -> Result<(), FeedError> {
    let slot = match bottleneck.slots_mut().take() {
        Some(slot) => slot,
        None => {
            let passed = format!("more than {SLOTS} frames are on their way at once");
            return Err(passed.into());
        }
    };
    let room = bottleneck.slots_mut().room(slot);
    let stored = frame.len().min(room.len());
    for (place, byte) in room.iter_mut().zip(frame) {
        *place = *byte;
    }
    bottleneck
        .slots_mut()
        .set_cut(slot, stored, len.max(stored as u32));
    bottleneck.arrive(way, at, slot)?;
    let_through(bottleneck, at);
    Ok(())
}

/// Takes frames off the wires that are due.
fn let_through(bottleneck: &mut Bottleneck, now: Instant) {
    let mut due = Vec::new();
    for way in Way::BOTH {
        bottleneck.due(way, now, usize::MAX, &mut due);
        for _ in due.drain(..) {
            bottleneck.hand_over(way);
        }
    }
}
