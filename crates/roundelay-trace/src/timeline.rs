//! Order of times: packets that were captured or written out of order are put in order, and a few
//! times that all others contradict are not believed.
//!
//! Captures that were appended to each other, or merged without sorting, step back in time. A first
//! reading finds how many packets a late one passes: so many are held while the capture is replayed,
//! and each leaves in the order of times. Rules:
//!
//! 1. Up to [`MANY`] packets in a row, more than [`JUMP`] away from the packet before them and from
//!    the packet behind, are suspected. If their time is before the first or behind the last of all
//!    other packets, it is not believed: they arrive with the packet before them.
//! 2. Up to [`MANY`] packets at the start or the end of a capture, more than [`UNBELIEVABLE`] away from
//!    all others, are not believed either: a clock that was not set yet shows 1970.
//!    Of both rules, more than [`FEW`] in a row are believed where the whole capture has less than
//!    [`RARE`] times as many packets.
//! 3. Where connections go on behind a step back as if nothing had happened (`continuity.rs`), the
//!    clock was set back: everything behind is later by the step, until they go on behind a step
//!    forward that is as long, up to [`ALIKE`]. Where they show that in a silence of all flows no
//!    time has passed, it was set forward: everything behind is earlier by the silence.
//! 4. Times that are whole steps of a millisecond or more, most of them shared with the packet
//!    before, are those of a coarse clock.
//! 5. Packets that have to be held take at most [`MOST_BYTES`]; otherwise the capture is refused.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashSet};

use roundelay::Duration;

use crate::capture::{Capture, Frame, Heading, LinkType, Tap};
use crate::compare::error::CompareError;
use crate::continuity::Continuity;
use crate::error::CaptureError;

/// A longer step between neighbours is a jump, in nanoseconds.
const JUMP: i64 = 1_000_000_000;
/// A longer silence beside a few packets is none: a year, in nanoseconds.
const UNBELIEVABLE: i64 = 365 * 24 * 3600 * JUMP;
/// Most packets in a row that may be strays in any capture.
const FEW: usize = 8;
/// Most packets in a row that may be strays where the capture has [`RARE`] times as many or more.
const MANY: usize = 64;
const RARE: u64 = 50;
/// Two steps of a clock that differ by less are alike, in nanoseconds: the time between the packets
/// on both sides is part of each.
const ALIKE: i64 = JUMP / 10;
/// Most suspected packets remembered.
const MOST_SUSPECTS: usize = 65_536;
/// Packets between two notes of the latest time so far.
const STEP: u64 = 256;
/// Memory of the packets held.
const MOST_BYTES: u64 = 256 << 20;
/// Memory of a packet held, beside its bytes.
const HELD_BYTES: u64 = 160;

/// A silence that may be a step of the clock: nothing tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Silence {
    /// Nanoseconds from the earliest packet to its start.
    pub at: u64,
    /// Its nanoseconds.
    pub by: u64,
}

/// Finds what is out of order, packet by packet in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct TimeSurvey {
    packets: u64,
    bytes: u64,
    /// The time of the last packet that no jump led to.
    last: Option<i64>,
    /// The time of the packet before, as the file has it.
    previous: Option<i64>,
    /// The first packets, as long as they are few.
    leading: Vec<Position>,
    /// Packets after a jump.
    pending: Vec<Position>,
    /// Packets between two jumps, there and back.
    suspects: Vec<Suspect>,
    /// The earliest and the latest time of all others.
    range: Option<(i64, i64)>,
    /// The latest time up to a packet, each `STEP` packets.
    marks: Vec<Position>,
    /// Packets and bytes that a late packet passes, at most.
    window: (u64, u64),
    /// Packets that may be held until their time has come.
    may_be_held: u64,
    /// The furthest step back.
    furthest: i64,
    late: u64,
    /// How connections go on, packet by packet.
    continuity: Continuity,
    /// Steps of a clock that was set, and maybe right again later.
    settings: Vec<Setting>,
    /// By how much the clock is behind, after all steps; less than 0 if it is ahead.
    shift: i64,
    /// Times before and behind the longest silence in which several connections stop at once.
    silence: Option<(i64, i64)>,
    /// The step between all neighbours, if that is one and the same.
    steps: Steps,
    /// The coarsest clock, by its index in [`TICKS`], that may have made all times.
    clock: usize,
    /// Packets with the time of the one before.
    at_once: u64,
}

/// From this packet on the clock is behind by this much in all, nanoseconds. It is at this time, when
/// all is mended.
#[derive(Debug, Clone, Copy)]
struct Setting {
    number: u64,
    shift: i64,
    at: i64,
}

/// Ticks of coarse clocks, nanoseconds: whole seconds, tenths, hundredths (a kernel that counts
/// jiffies) and thousandths.
const TICKS: [i64; 4] = [JUMP, JUMP / 10, JUMP / 100, JUMP / 1000];

/// Steps of a clock that was set forward, which are taken out.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SetForward {
    /// How many.
    pub steps: u64,
    /// Nanoseconds from the earliest packet to the first step.
    pub at: u64,
    /// Nanoseconds of the first step.
    pub by: u64,
}

/// Steps between packets in the order of the file.
#[derive(Debug, Clone, Copy, Default)]
enum Steps {
    #[default]
    None,
    /// All alike.
    Even(i64),
    Uneven,
}

/// Steps that are all one of these are none of a clock: a tool that makes captures of texts writes
/// one time, or counts units of the file. In nanoseconds.
const COUNTED: [i64; 3] = [0, 1, 1000];
/// Fewer packets may have come at one time.
const FEWEST_COUNTED: u64 = 10;

/// A packet's position in the file, with the captured bytes before it, and a time.
#[derive(Debug, Clone, Copy)]
struct Position {
    number: u64,
    bytes: u64,
    time: i64,
}

/// A packet whose time may be wrong.
#[derive(Debug, Clone, Copy)]
struct Suspect {
    position: Position,
    /// Packets in a row.
    row: usize,
}

/// What the first reading found on the times of a capture.
#[derive(Debug, Clone, Default)]
pub(crate) struct TimePlan {
    /// Packets whose time is not believed, by their number in the file.
    strays: HashSet<u64>,
    /// Packets to hold.
    window: usize,
    /// Packets with an earlier time than one before.
    pub(crate) late: u64,
    /// The earliest time.
    pub(crate) first: i64,
    settings: Vec<Setting>,
    /// No clock has made the times.
    pub(crate) is_without_clock: bool,
    /// A tick of the clock, if many packets share one, nanoseconds.
    pub(crate) tick: Option<i64>,
    /// The longest silence that may be a step of the clock.
    pub(crate) silence: Option<Silence>,
}

impl TimePlan {
    /// Whether all packets come in the order of the file, with the times that they have.
    pub(crate) fn is_order_of_file(&self) -> bool {
        self.window == 0 && self.strays.is_empty() && self.settings.is_empty()
    }

    /// Nanoseconds by which the clock is behind at a packet.
    fn shift(&self, number: u64) -> i64 {
        let before = self.settings.partition_point(|set| set.number <= number);
        match before.checked_sub(1) {
            Some(index) => self.settings[index].shift,
            None => 0,
        }
    }
}

impl Setting {
    /// Whether the clock is as it was at first.
    const fn is_right(self) -> bool {
        self.shift.saturating_abs() <= ALIKE
    }
}

impl Steps {
    #[inline]
    fn count(&mut self, step: i64) {
        match self {
            Self::None => *self = Self::Even(step),
            Self::Even(known) if *known != step => *self = Self::Uneven,
            Self::Even(_) | Self::Uneven => {}
        }
    }

    fn are_counted(self) -> bool {
        match self {
            Self::Even(step) => COUNTED.contains(&step),
            Self::None | Self::Uneven => false,
        }
    }
}

impl TimeSurvey {
    /// Counts a packet.
    pub(crate) fn count(&mut self, frame: &Frame<'_>) {
        let position = Position {
            number: self.packets,
            bytes: self.bytes,
            time: frame.time_nanos.saturating_add(self.shift),
        };
        self.packets += 1;
        self.bytes += frame.bytes.len() as u64 + HELD_BYTES;
        let previous = self.previous.replace(frame.time_nanos);
        let (Some(last), Some(previous)) = (self.last, previous) else {
            self.accept(position);
            return;
        };
        let step = position.time.saturating_sub(last);
        self.steps.count(step);
        if self.clock < TICKS.len() {
            self.count_ticks(frame.time_nanos.saturating_sub(previous));
        }
        let is_plain = self.pending.is_empty() && self.leading.len() > MANY;
        if is_plain
            && (0..=JUMP).contains(&step)
            && let Some((_, latest)) = &mut self.range
            && position.time >= *latest
        {
            // As nearly all packets.
            *latest = position.time;
            self.last = Some(position.time);
            if position.number.is_multiple_of(STEP) {
                self.marks.push(position);
            }
            self.continuity.pass(frame);
            return;
        }
        if step.saturating_abs() <= JUMP {
            // Back from a jump, if one was pending.
            let strays = std::mem::take(&mut self.pending);
            self.suspect(strays);
            self.continuity.come_back();
            self.continuity.pass(frame);
            self.accept(position);
            if self.suspects.len() > MOST_SUSPECTS {
                self.accept_suspects();
            }
            return;
        }
        self.continuity.jump(frame);
        self.pending.push(position);
        if self.pending.len() > MANY {
            self.accept_pending();
        }
    }

    /// A step between packets of what may be a coarse clock.
    fn count_ticks(&mut self, step: i64) {
        while let Some(tick) = TICKS.get(self.clock)
            && step % tick != 0
        {
            self.clock += 1;
        }
        self.at_once += u64::from(step == 0);
    }

    /// The tick of a coarse clock, if most packets share one with the packet before.
    fn tick(&self) -> Option<i64> {
        let are_many = self.packets >= FEWEST_COUNTED && self.at_once * 2 >= self.packets;
        TICKS.get(self.clock).filter(|_| are_many).copied()
    }

    /// Whether the packets after a jump are too far away to be believed beside a few others.
    fn is_unbelievable(&self) -> bool {
        let (Some(last), Some(next)) = (self.last, self.pending.first()) else {
            return false;
        };
        next.time.saturating_sub(last).saturating_abs() > UNBELIEVABLE
    }

    fn accept_pending(&mut self) {
        // Rule 2: the few packets before the jump are not believed.
        if self.leading.len() <= MANY && self.is_unbelievable() {
            let strays = std::mem::take(&mut self.leading);
            self.suspect(strays);
            self.marks.clear();
            self.range = None;
            self.late = 0;
            self.window = (0, 0);
        }
        let pending = std::mem::take(&mut self.pending);
        let by = self.clock_was_set(&pending);
        for position in pending {
            self.accept(Position {
                time: position.time.saturating_add(by),
                ..position
            });
        }
    }

    /// Rule 3: how far the clock was set back before these packets, less than 0 if it was set forward;
    /// 0 if it was not set.
    fn clock_was_set(&mut self, pending: &[Position]) -> i64 {
        let (Some(last), Some(next)) = (self.last, pending.first()) else {
            return 0;
        };
        let by = last.saturating_sub(next.time);
        let judged = self.continuity.judge(by.saturating_neg());
        let is_right_again = self.shift.saturating_add(by).saturating_abs() <= ALIKE;
        let was_set = by > JUMP || is_right_again || judged.stands_still;
        if !judged.goes_on || !was_set {
            let longest = self
                .silence
                .map_or(0, |(start, end)| end.saturating_sub(start));
            if judged.goes_on && judged.stops_at_once && by.saturating_neg() > longest {
                self.silence = Some((last, next.time));
            }
            return 0;
        }
        self.shift = self.shift.saturating_add(by);
        self.settings.push(Setting {
            number: next.number,
            shift: self.shift,
            at: last,
        });
        by
    }

    fn suspect(&mut self, strays: Vec<Position>) {
        let row = strays.len();
        for position in strays {
            self.suspects.push(Suspect { position, row });
        }
    }

    /// Believes suspects after all, if there are many in a row or this capture has few others.
    fn believe_rows(&mut self) {
        let packets = self.packets;
        for Suspect { position, row } in std::mem::take(&mut self.suspects) {
            let is_believed = row > FEW && row as u64 * RARE > packets && self.can_hold(position);
            if !is_believed {
                self.suspects.push(Suspect { position, row });
                continue;
            }
            if let Some((_, latest)) = self.range
                && position.time < latest
            {
                self.late += 1;
            }
            self.believe(position);
        }
    }

    fn accept_suspects(&mut self) {
        for suspect in std::mem::take(&mut self.suspects) {
            self.believe(suspect.position);
        }
    }

    /// Believes a suspect: it passes packets back to its position, or is held until its time has
    /// come, beside those that others pass.
    fn believe(&mut self, position: Position) {
        self.pass(position);
        self.may_be_held += 1;
        self.widen(position);
    }

    /// Widens the window to the packets that a packet passes.
    fn pass(&mut self, position: Position) {
        let (packets, bytes) = self.passed(position);
        self.window.0 = self.window.0.max(packets);
        self.window.1 = self.window.1.max(bytes);
    }

    /// Whether the packets that a suspect passes may wait for it. If not, its time is not believed.
    fn can_hold(&self, position: Position) -> bool {
        self.passed(position).1 <= MOST_BYTES
    }

    /// How many packets and bytes a packet passes at most when packets are put in the order of time.
    /// A mark's time is the latest up to there. So a packet passes none before the last mark whose
    /// time is not later than its own, and at most all between this mark and itself.
    fn passed(&self, position: Position) -> (u64, u64) {
        let marks_before = self
            .marks
            .partition_point(|mark| mark.time <= position.time);
        let (number, bytes) = match marks_before.checked_sub(1) {
            Some(index) => (self.marks[index].number, self.marks[index].bytes),
            None => (0, 0),
        };
        (
            position.number.saturating_sub(number),
            position.bytes.saturating_sub(bytes),
        )
    }

    /// Believes a packet's time, and finds how many packets it passes.
    fn accept(&mut self, position: Position) {
        self.last = Some(position.time);
        if self.leading.len() <= MANY {
            self.leading.push(position);
        }
        let latest = self.range.map_or(position.time, |(_, latest)| latest);
        if position.time < latest {
            self.late += 1;
            self.furthest = self.furthest.max(latest.saturating_sub(position.time));
            self.pass(position);
        }
        self.widen(position);
        if position.number.is_multiple_of(STEP)
            && let Some((_, latest)) = self.range
        {
            self.marks.push(Position {
                time: latest,
                ..position
            });
        }
    }

    fn widen(&mut self, position: Position) {
        let (first, last) = self.range.unwrap_or((position.time, position.time));
        self.range = Some((first.min(position.time), last.max(position.time)));
    }

    /// The plan of a replay in the order of the file, with all times as they are.
    pub(crate) fn in_file_order(mut self) -> TimePlan {
        self.accept_pending();
        let (first, _) = self.range.unwrap_or_default();
        TimePlan {
            first,
            ..TimePlan::default()
        }
    }

    /// What was found.
    ///
    /// # Errors
    /// More packets would have to be held than fit into the memory for them.
    pub(crate) fn finish(mut self, name: &str) -> Result<TimePlan, CompareError> {
        let before = self.packets as usize - self.suspects.len() - self.pending.len();
        if before > 2 * self.pending.len() && self.is_unbelievable() {
            // Rule 2, at the end.
            let strays = std::mem::take(&mut self.pending);
            self.suspect(strays);
        }
        self.accept_pending();
        self.believe_rows();
        let (first, last) = self.range.unwrap_or_default();
        let inside = first.saturating_sub(JUMP)..=last.saturating_add(JUMP);
        let mut strays = HashSet::new();
        let mut longest = 0;
        for Suspect { position, row } in std::mem::take(&mut self.suspects) {
            if inside.contains(&position.time) && self.can_hold(position) {
                self.believe(position);
                self.late += 1;
            } else {
                strays.insert(position.number);
                longest = longest.max(row as u64);
            }
        }
        // Strays arrive with the packet before them, which may be one that is held.
        if self.window.0 + self.may_be_held > 0 {
            self.may_be_held += longest;
        }
        let (first, _) = self.range.unwrap_or_default();
        let window = self.window.0 + self.may_be_held;
        let bytes = self.window.1 + self.may_be_held * (self.bytes / self.packets.max(1));
        if bytes > MOST_BYTES {
            return Err(CompareError::OutOfOrder {
                name: name.to_owned(),
                packets: window,
                seconds: self.furthest / JUMP,
            });
        }
        let silence = self.silence.map(|(start, end)| Silence {
            at: start.abs_diff(first),
            by: end.abs_diff(start),
        });
        Ok(TimePlan {
            silence,
            strays,
            window: window as usize,
            late: self.late,
            first,
            tick: self.tick(),
            settings: self.settings,
            is_without_clock: self.packets >= FEWEST_COUNTED && self.steps.are_counted(),
        })
    }
}

/// A capture whose packets come in the order of their times.
pub(crate) struct Ordered {
    capture: Capture,
    plan: TimePlan,
    /// Packets read.
    read: u64,
    /// The time of the last packet whose time is believed.
    believed: i64,
    held: BinaryHeap<Reverse<Held>>,
    /// The packet handed out.
    current: Option<Held>,
    /// Times and lengths are mended.
    adapts: bool,
    /// Frames whose length was raised to the packet's.
    uncut: u64,
}

/// A packet that waits for earlier ones.
struct Held {
    time: i64,
    number: u64,
    original_len: u32,
    link: LinkType,
    interface: Option<u32>,
    name: Option<String>,
    heading: Option<Heading>,
    bytes: Vec<u8>,
}

impl Ordered {
    /// `adapts`: lengths are mended, too.
    pub(crate) fn new(capture: Capture, plan: TimePlan, adapts: bool) -> Self {
        let believed = plan.first;
        Self {
            capture,
            plan,
            read: 0,
            believed,
            held: BinaryHeap::new(),
            current: None,
            adapts,
            uncut: 0,
        }
    }

    pub(crate) const fn capture(&self) -> &Capture {
        &self.capture
    }

    /// The earliest time.
    pub(crate) const fn start(&self) -> i64 {
        self.plan.first
    }

    /// The capture at its end, after it was read in the order that a plan has found.
    pub(crate) fn read_with(self, plan: TimePlan) -> Self {
        Self { plan, ..self }
    }

    /// The capture from its first packet on.
    pub(crate) fn again(&self) -> Result<Capture, CaptureError> {
        self.capture.again()
    }

    /// Frames that a tool cut together with their length.
    pub(crate) const fn uncut(&self) -> u64 {
        self.uncut
    }

    /// Packets whose time was not believed.
    pub(crate) fn strays(&self) -> u64 {
        self.plan.strays.len() as u64
    }

    /// How often the clock was set back, other than to the right time.
    pub(crate) fn set_back(&self) -> u64 {
        let mut steps = 0;
        let mut before = 0;
        for set in &self.plan.settings {
            steps += u64::from(set.shift > before && !set.is_right());
            before = set.shift;
        }
        steps
    }

    /// How often the clock was set forward, other than to the right time, and the first of these
    /// steps.
    pub(crate) fn set_forward(&self) -> SetForward {
        let mut forward = SetForward::default();
        let mut before = 0;
        for set in &self.plan.settings {
            if set.shift < before && !set.is_right() {
                if forward.steps == 0 {
                    forward.at = set.at.abs_diff(self.plan.first);
                    forward.by = set.shift.abs_diff(before);
                }
                forward.steps += 1;
            }
            before = set.shift;
        }
        forward
    }

    /// The longest silence that may be a step of the clock.
    pub(crate) const fn silence(&self) -> Option<Silence> {
        self.plan.silence
    }

    /// The time between two readings of the clock, if that is a millisecond or more and many packets
    /// share one.
    pub(crate) fn tick(&self) -> Option<Duration> {
        let nanos = self.plan.tick?.cast_unsigned();
        Some(Duration::from_nanos(nanos))
    }

    /// Whether no clock has made the times.
    pub(crate) const fn is_without_clock(&self) -> bool {
        self.plan.is_without_clock
    }

    /// Packets put in order.
    pub(crate) const fn late(&self) -> u64 {
        self.plan.late
    }

    /// The next packet in the order of times; `None` at the end.
    #[inline]
    pub(crate) fn next(&mut self) -> Result<Option<Frame<'_>>, CaptureError> {
        let frame = if self.plan.is_order_of_file() {
            self.capture.next()?
        } else {
            self.hold()?;
            self.current.as_ref().map(Held::frame)
        };
        let Some(mut frame) = frame else {
            return Ok(None);
        };
        if self.adapts
            && let Some(len) = frame.uncut_len()
        {
            frame.original_len = len;
            self.uncut += 1;
        }
        Ok(Some(frame))
    }

    /// Reads as many packets as may have to wait, and takes the earliest.
    fn hold(&mut self) -> Result<(), CaptureError> {
        while self.held.len() <= self.plan.window {
            let Some(frame) = self.capture.next()? else {
                break;
            };
            let mut held = Held::of(&frame, self.read);
            held.time = held.time.saturating_add(self.plan.shift(self.read));
            if self.plan.strays.contains(&self.read) {
                held.time = self.believed;
            }
            self.believed = held.time;
            self.read += 1;
            self.held.push(Reverse(held));
        }
        self.current = self.held.pop().map(|Reverse(held)| held);
        Ok(())
    }
}

impl Held {
    fn of(frame: &Frame<'_>, number: u64) -> Self {
        Self {
            time: frame.time_nanos,
            number,
            original_len: frame.original_len,
            link: frame.link,
            interface: frame.tap.interface,
            name: frame.tap.name.map(str::to_owned),
            heading: frame.tap.heading,
            bytes: frame.bytes.to_vec(),
        }
    }

    fn frame(&self) -> Frame<'_> {
        Frame {
            time_nanos: self.time,
            original_len: self.original_len,
            link: self.link,
            bytes: &self.bytes,
            tap: Tap {
                interface: self.interface,
                name: self.name.as_deref(),
                heading: self.heading,
            },
        }
    }

    const fn key(&self) -> (i64, u64) {
        (self.time, self.number)
    }
}

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for Held {}

impl PartialOrd for Held {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Held {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

#[cfg(test)]
mod tests {
    use rand::{Rng as _, SeedableRng as _};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    const SECOND: i64 = 1_000_000_000;

    fn plan(times: impl IntoIterator<Item = i64>) -> TimePlan {
        let mut survey = TimeSurvey::default();
        for time in times {
            survey.count(&Frame {
                time_nanos: time,
                original_len: 1,
                link: LinkType::RAW,
                bytes: &[0],
                tap: Tap::default(),
            });
        }
        survey.finish("t").unwrap()
    }

    #[test]
    fn packets_in_order_are_not_held_and_silences_are_believed() {
        let found = plan((0..3000).map(|number| number * number * 1_000_000));
        assert_eq!((found.window, found.late, found.strays.len()), (0, 0, 0));
        let sparse = plan([0, 5, 60, 3600, 90_000].map(|seconds| seconds * SECOND));
        assert_eq!((sparse.window, sparse.late, sparse.strays.len()), (0, 0, 0));
    }

    #[test]
    fn a_time_beyond_all_others_is_not_believed_and_one_among_them_is() {
        let mut times = Vec::from_iter((0..100).map(|number| number * SECOND / 10));
        times[50] += 60 * SECOND;
        let found = plan(times.clone());
        assert_eq!(found.strays, HashSet::from([50]));
        assert_eq!(found.window, 0);
        times[50] = times[20] + 1;
        let found = plan(times);
        assert!(found.strays.is_empty() && found.window > 0, "{found:?}");
    }

    #[test]
    fn a_clock_that_was_not_set_yet_is_not_believed() {
        let now = 1_700_000_000 * SECOND;
        let later = (0..100).map(|number| now + number * SECOND / 10);
        let found = plan([0, 1, 2].into_iter().chain(later.clone()));
        assert_eq!(found.strays, HashSet::from([0, 1, 2]));
        assert_eq!((found.first, found.window, found.late), (now, 0, 0));
        let found = plan(later.clone().chain([4 * now]));
        assert_eq!(found.strays, HashSet::from([100]));
        // Many packets before and behind: two captures of their own time.
        let found = plan((0..100).map(|number| number * SECOND / 10).chain(later));
        assert!(found.strays.is_empty(), "{found:?}");
    }

    #[test]
    fn a_second_capture_behind_the_first_is_held_as_long_as_it_takes() {
        let once = (0..5000).map(|number| number * SECOND / 500);
        let found = plan(once.clone().chain(once));
        assert!(found.strays.is_empty());
        assert_eq!(found.late, 4999);
        assert!(
            (5000..5000 + 300).contains(&found.window),
            "{}",
            found.window
        );
    }

    #[test]
    fn more_than_eight_in_a_row_are_strays_only_beside_fifty_times_as_many() {
        for (row, packets, strays) in [(8, 20, 8), (9, 449, 0), (9, 450, 9), (64, 3200, 64)] {
            let mut times = Vec::from_iter((0..packets).map(|number| number * SECOND / 100));
            for time in &mut times[10..10 + row] {
                *time += 1_000_000 * SECOND;
            }
            let found = plan(times).strays.len();
            assert_eq!(found, strays, "{row} of {packets}");
        }
    }

    /// Rows of any length that come early or late, in captures dense and sparse: what is held
    /// leaves in the order of times.
    #[test]
    fn held_packets_leave_in_the_order_of_times() {
        let mut random = Pcg64Mcg::seed_from_u64(5);
        for round in 0..3000 {
            let packets = 20 + random.next_u64() as usize % 3000;
            let gap = SECOND / (1 + random.next_u64() % 300) as i64;
            let mut times = Vec::from_iter((0..packets as i64).map(|number| number * gap));
            for _ in 0..=random.next_u64() % 4 {
                let first = random.next_u64() as usize % packets;
                let row = 1 + random.next_u64() as usize % 80;
                let by = (random.next_u64() % 6000) as i64 - 3000;
                for time in times.iter_mut().skip(first).take(row) {
                    *time += by * SECOND / 1000;
                }
            }
            let found = plan(times.clone());
            let mut held = BinaryHeap::new();
            let mut left = Vec::new();
            let mut believed = found.first;
            for (number, time) in times.iter().enumerate() {
                if !found.strays.contains(&(number as u64)) {
                    believed = *time;
                }
                held.push(Reverse((believed, number)));
                if held.len() > found.window {
                    left.extend(held.pop());
                }
            }
            while let Some(packet) = held.pop() {
                left.push(packet);
            }
            assert_eq!(left.len(), packets);
            let is_in_order = left.is_sorted_by_key(|Reverse((time, _))| *time);
            assert!(is_in_order, "round {round}");
        }
    }
}
