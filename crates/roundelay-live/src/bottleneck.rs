//! Bottleneck: both directions of a link, each with a queue, but without socket and clock.
//!
//! A driver hands in frames with their arrival times, moves time on, and takes frames that are due.
//! Decisions depend on the arrivals alone, not on when the driver calls. If a frame arrives at a
//! time for which the queue has already decided, it is moved to the end of that time, and the
//! journal hears the moved time, because that is the one that counts. So a replay of the journal
//! gives the same departures.

use std::collections::VecDeque;

use roundelay::{Backlog, Duration, Instant, Rate};
use roundelay_metrics::Delays;
use roundelay_trace::{FeedError, Flow};

use crate::books::Books;
use crate::flows::FlowBooks;
use crate::journal::{Journal, NoJournal};
use crate::kinds::KindFigures;
use crate::line::Line;
use crate::meter::{Punctuality, WaySample};
use crate::phases::{PhaseFigures, PhaseMetrics};
use crate::settings::{Change, Settings, SettingsError, Way};
use crate::slots::{Slot, Slots};

/// A frame that is due at the other end, and when.
pub type Due = (Slot, Instant);

/// Both directions.
pub struct Bottleneck {
    lines: [Line; 2],
    slots: Slots,
    guard: Duration,
    /// The planned changes, ordered by time.
    planned: VecDeque<(Instant, Way, Change)>,
    journal: Box<dyn Journal>,
}

impl Bottleneck {
    /// An idle bottleneck at time zero.
    ///
    /// # Errors
    /// A setting is out of range.
    pub fn new(settings: &Settings, slots: Slots) -> Result<Self, SettingsError> {
        Ok(Self {
            lines: [
                Line::new(settings, Way::Up)?,
                Line::new(settings, Way::Down)?,
            ],
            slots,
            guard: Duration::from_picos(settings.guard),
            planned: VecDeque::new(),
            journal: Box::new(NoJournal),
        })
    }

    /// Tells the journal everything from now on.
    pub fn set_journal(&mut self, journal: Box<dyn Journal>) {
        self.journal = journal;
    }

    /// Gives the journal back.
    pub fn take_journal(&mut self) -> Box<dyn Journal> {
        std::mem::replace(&mut self.journal, Box::new(NoJournal))
    }

    /// Lets the journal write what it holds back.
    ///
    /// # Errors
    /// The journal ended before the run. The error says why.
    pub fn flush_journal(&mut self) -> Result<(), String> {
        self.journal.flush()
    }

    /// Plans a change. Changes planned for the same instant happen in the order of these calls,
    /// before frames that arrive then.
    pub fn plan(&mut self, at: Instant, way: Way, change: Change) {
        let index = self.planned.partition_point(|(other, ..)| *other <= at);
        self.planned.insert(index, (at, way, change));
    }

    /// The slots, into which devices write the frames that they receive.
    pub const fn slots_mut(&mut self) -> &mut Slots {
        &mut self.slots
    }

    /// The slots.
    pub const fn slots(&self) -> &Slots {
        &self.slots
    }

    /// The books of a direction.
    pub const fn books(&self, way: Way) -> &Books {
        &self.lines[way.index()].books
    }

    /// How many packets and bytes a direction's queue holds.
    pub fn backlog(&self, way: Way) -> Backlog {
        self.lines[way.index()].backlog()
    }

    /// What became of each flow's frames. The index is the flow's number.
    pub fn flow_books(&self, way: Way) -> &[FlowBooks] {
        &self.lines[way.index()].meter.flows
    }

    /// What became of each kind of packet.
    pub fn kinds(&self, way: Way) -> Vec<KindFigures> {
        self.lines[way.index()].meter.phases.all_kinds().figures()
    }

    /// How long packets took from arrival to the end of transmission.
    pub fn delays(&self, way: Way) -> Delays {
        self.lines[way.index()].meter.phases.all_kinds().delays()
    }

    /// Figures of each phase of a direction, up to `until`: its parts with the same queue, rate and
    /// weights.
    pub fn phases(&self, way: Way, until: Instant) -> Vec<PhaseFigures> {
        self.lines[way.index()].phases(until)
    }

    /// Each phase as the metrics show it.
    pub(crate) fn phase_metrics(&self, way: Way) -> Vec<PhaseMetrics> {
        self.lines[way.index()].phase_metrics()
    }

    /// A direction as it is now, with delays since the last call.
    pub(crate) fn sample(&mut self, way: Way) -> WaySample {
        let line = &mut self.lines[way.index()];
        let (delay, kinds) = line.meter.recent.take();
        WaySample {
            delivered_bytes: line.books.delivered_bytes,
            dropped: line.books.all_dropped(),
            marked: line.books.marked,
            waiting: line.books.waiting,
            delay,
            kinds,
        }
    }

    /// The present rate of a direction.
    pub const fn rate(&self, way: Way) -> Rate {
        self.lines[way.index()].rate()
    }

    /// Time of a full packet at the smallest rate that shapes all packets of a direction.
    pub(crate) const fn full_packet(&self, way: Way) -> Duration {
        self.lines[way.index()].full_packet()
    }

    /// The file that holds a direction's link trace, while the link follows one.
    pub fn trace(&self, way: Way) -> Option<&str> {
        self.lines[way.index()].trace_name()
    }

    /// A direction's present queue, as the user wrote it.
    pub fn queue(&self, way: Way) -> &str {
        &self.lines[way.index()].queue
    }

    /// A direction's flows. The index is the flow's number.
    pub fn flows(&self, way: Way) -> &[Flow] {
        self.lines[way.index()].flows()
    }

    /// Takes a frame that was received with the time `stamp`. Returns the arrival time that counts:
    /// a whole number of nanoseconds, no earlier than the last arrival, and no earlier than
    /// anything already decided.
    ///
    /// # Errors
    /// The discipline cannot take the frame's flow, or a change planned before is wrong.
    pub fn arrive(&mut self, way: Way, stamp: Instant, slot: Slot) -> Result<Instant, FeedError> {
        let line = &self.lines[way.index()];
        let at = whole_nanos(stamp.max(line.now()));
        self.make_changes(at, Some(way))?;
        let line = &mut self.lines[way.index()];
        line.note_moved(at.since(stamp));
        let moved = at.since(stamp).as_nanos();
        line.books.moved += u64::from(moved > 0);
        line.books.moved_most = line.books.moved_most.max(moved);
        line.arrive(at, slot, &mut self.slots, &mut *self.journal)?;
        Ok(at)
    }

    /// Moves time on. Everything is decided up to the guard before `now`.
    ///
    /// # Errors
    /// A planned change is wrong.
    pub fn advance(&mut self, now: Instant) -> Result<(), SettingsError> {
        let until = Instant::ZERO + now.since(Instant::ZERO + self.guard);
        self.make_changes(until, None)?;
        for line in &mut self.lines {
            line.advance(until, &mut self.slots, &mut *self.journal);
        }
        Ok(())
    }

    /// Decides everything in one direction up to `until`. No guard is needed, because a replay
    /// knows all arrivals.
    ///
    /// # Errors
    /// A planned change is wrong.
    pub fn settle(&mut self, way: Way, until: Instant) -> Result<(), SettingsError> {
        self.make_changes(until, Some(way))?;
        self.lines[way.index()].advance(until, &mut self.slots, &mut *self.journal);
        Ok(())
    }

    /// The time before which everything in a direction is decided.
    pub const fn decided(&self, way: Way) -> Instant {
        self.lines[way.index()].now()
    }

    /// Makes a change as soon as possible, which is after everything already decided and after the
    /// last arrival. Returns the time at which the change takes effect.
    ///
    /// # Errors
    /// The change is impossible. Then nothing has changed.
    pub fn change(&mut self, way: Way, change: &Change) -> Result<Instant, SettingsError> {
        let line = &mut self.lines[way.index()];
        let at = whole_nanos(line.now());
        line.change(at, change, &mut self.slots, &mut *self.journal)?;
        Ok(at)
    }

    /// Makes the changes planned up to `until`, in both directions or in one.
    fn make_changes(&mut self, until: Instant, only: Option<Way>) -> Result<(), SettingsError> {
        let mut index = 0;
        while let Some((at, way, _)) = self.planned.get(index).filter(|(at, ..)| *at <= until) {
            if only.is_some_and(|only| only != *way) {
                index += 1;
                continue;
            }
            let at = whole_nanos((*at).max(self.lines[way.index()].now()));
            if let Some((_, way, change)) = self.planned.remove(index) {
                let line = &mut self.lines[way.index()];
                line.change(at, &change, &mut self.slots, &mut *self.journal)?;
            }
        }
        Ok(())
    }

    /// Adds to `due` the frames due by `now` at the end of a direction: `most` at most, in order.
    /// They stay here until they are [handed over](Self::hand_over).
    pub fn due(&mut self, way: Way, now: Instant, most: usize, due: &mut Vec<Due>) {
        self.lines[way.index()].due(now, most, due, &mut self.slots);
    }

    /// Notes that the device took the first due frame.
    pub fn hand_over(&mut self, way: Way) {
        self.lines[way.index()].hand_over(true, &mut self.slots);
    }

    /// Notes that the device took the first due frame at `at`, and counts how late that was.
    pub(crate) fn hand_over_at(&mut self, way: Way, at: Instant) {
        self.lines[way.index()].note_departure(at);
        self.hand_over(way);
    }

    /// Notes a frame that came without a stamp. Its device was read `gap` before.
    pub(crate) fn note_unstamped(&mut self, way: Way, gap: Duration) {
        self.lines[way.index()].note_unstamped(gap);
    }

    /// How long after their due time frames left.
    pub(crate) const fn lateness(&self, way: Way) -> &Delays {
        &self.lines[way.index()].meter.punctuality.lateness
    }

    /// Whether frames came in and left on time. Frames due by `now` that have not left count too.
    pub(crate) fn punctuality(&self, way: Way, now: Instant) -> Punctuality {
        self.lines[way.index()].punctuality(now)
    }

    /// Notes that the device refused the first due frame for good.
    pub fn give_up(&mut self, way: Way) {
        self.lines[way.index()].hand_over(false, &mut self.slots);
    }

    /// The time at which a driver must call again if no frame comes before: because a frame is due,
    /// a decision is due, or a change is planned.
    pub fn next_event(&self) -> Option<Instant> {
        let mut next = self
            .planned
            .front()
            .map(|(at, ..)| *at + self.guard + JUST_AFTER);
        for line in &self.lines {
            let decision = line.next_decision().map(|at| at + self.guard + JUST_AFTER);
            for event in [line.next_due(), decision].into_iter().flatten() {
                next = Some(next.map_or(event, |next| next.min(event)));
            }
        }
        next
    }
}

/// Time moves to just before the instant asked for, so a decision at that instant takes a
/// nanosecond more.
const JUST_AFTER: Duration = Duration::from_nanos(1);

/// The next whole nanosecond, because a record counts in nanoseconds.
const fn whole_nanos(at: Instant) -> Instant {
    Instant::from_nanos(at.as_picos().div_ceil(1000))
}
