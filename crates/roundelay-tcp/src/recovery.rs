//! TCP loss recovery: how each flavour reacts to acknowledgements, duplicates, marks and timeouts.

use roundelay::{Duration, Instant};

use crate::config::{Flavour, PartialTimer};
use crate::congestion::{Reason, SenderFeedback};
use crate::hystart::Progress;
use crate::model::Acknowledged;
use crate::prr::Reduction;
use crate::segment::{Flags, Segment};
use crate::sender::{Mode, Sender};

impl Sender {
    /// Handles an acknowledgement.
    pub fn on_segment(&mut self, now: Instant, segment: &Segment) {
        match self.mode {
            Mode::Closed => {}
            Mode::Connecting => self.on_answer(now, segment),
            _ => self.on_acknowledgement(now, segment),
        }
    }

    /// Call at [`Sender::timer`] or later. Earlier calls have no effect.
    pub fn on_timer(&mut self, now: Instant) {
        if let Some(rack) = &mut self.scoreboard.rack {
            rack.tell_time(now);
            if rack.deadline().is_some_and(|deadline| deadline <= now) {
                self.on_reordering_timer(now);
                self.tell_model_of_losses(now);
                if let Some(meter) = &mut self.scoreboard.meter {
                    meter.end_timer();
                }
            }
        }
        if self.probe.deadline.is_some_and(|deadline| deadline <= now) {
            self.on_probe_timer(now);
        }
        if self.timer.deadline().is_none_or(|deadline| now < deadline) {
            return;
        }
        self.statistics.timeouts += 1;
        match self.mode {
            Mode::Connecting => self.must_retransmit = true,
            _ => self.give_up_flight(now),
        }
        self.timer.back_off(now, &self.config);
    }

    /// Handles the SYN-ACK. If a SYN was lost, data starts with one segment (RFC 5681, section 3.1)
    /// and a longer timeout.
    fn on_answer(&mut self, now: Instant, segment: &Segment) {
        if !segment.is_syn() {
            self.statistics.ignored += 1;
            return;
        }
        self.mode = Mode::Open;
        self.must_retransmit = false;
        if self.config.window_growth {
            self.hear_window(segment);
        }
        let round_trip = self.measure(now, segment);
        self.begin_path(now, round_trip);
        self.timer.stop();
        if self.statistics.syns > 1 {
            self.congestion.window = self.segment_len();
            if let Some(model) = self.congestion.model() {
                model.begin_with_a_segment();
            }
            self.timer.reset_after_lost_syn(&self.config);
        }
    }

    /// What goes by the path's round trip begins with that of the handshake.
    pub(crate) fn begin_path(&mut self, now: Instant, round_trip: Option<Duration>) {
        if let Some(model) = self.congestion.model() {
            model.begin(now, round_trip);
        }
        if let (Some(rack), Some(round_trip)) = (&mut self.scoreboard.rack, round_trip) {
            rack.tell_time(now);
            rack.measure(round_trip);
        }
    }

    fn on_acknowledgement(&mut self, now: Instant, segment: &Segment) {
        let number = segment.acknowledgement;
        if segment.is_syn() || !(self.acknowledged..=self.highest.max(self.reach)).contains(&number)
        {
            self.statistics.ignored += 1;
            return;
        }
        if self.config.window_growth {
            self.hear_window(segment);
        }
        let is_duplicate = number == self.acknowledged && self.highest > number && segment.len == 0;
        let was_in_flight = self.scoreboard.pipe();
        let was_lost = self.scoreboard.lost_bytes();
        let advances = number > self.acknowledged;
        if let Some(meter) = &mut self.scoreboard.meter {
            meter.tell_time(now);
        }
        let has_rack = self.scoreboard.rack.is_some();
        if has_rack {
            self.begin_judgement(now, segment);
        }
        let reports_new_data = self.update_scoreboard(segment);
        if self.config.ecn && segment.flags.has(Flags::ECE) {
            self.on_mark(now);
        }
        if number > self.acknowledged {
            self.on_new_data(now, segment);
        } else if is_duplicate && reports_new_data {
            self.on_duplicate(now);
        }
        if has_rack {
            self.judge_by_time(now);
        }
        let newly_delivered = self.scoreboard.take_newly_delivered();
        if self.has_model() {
            self.update_model(now, was_in_flight);
        } else if self.mode == Mode::Recovery {
            let is_safe = advances && self.scoreboard.lost_bytes() == was_lost;
            self.reduce_in_proportion(newly_delivered, is_safe);
        }
    }

    /// In a recovery, sets the window by what has arrived, if the configuration says so. `is_safe`
    /// means that new data is acknowledged, and that nothing more is lost.
    pub(crate) fn reduce_in_proportion(&mut self, newly_delivered: u64, is_safe: bool) {
        let is_on = self.config.proportional_reduction && self.config.flavour == Flavour::Sack;
        // If nothing has arrived, the window stays, except that a recovery begins with a segment.
        let tells_nothing = newly_delivered == 0 && !self.reduction.has_sent_nothing();
        if self.has_model() || !is_on || tells_nothing {
            return;
        }
        self.congestion.window = self.reduction.window(
            (newly_delivered, is_safe),
            self.scoreboard.pipe(),
            self.congestion.threshold,
            self.segment_len(),
        );
    }

    /// Tells the model of the path about each segment that was found lost.
    fn tell_model_of_losses(&mut self, now: Instant) {
        let Some(meter) = &mut self.scoreboard.meter else {
            return;
        };
        let delivered = meter.delivered();
        let losses = meter.take_losses();
        if let Some(model) = self.congestion.model() {
            for lost in &losses {
                model.on_loss(now, delivered, lost);
            }
        }
    }

    /// Tells the model of the path what has arrived and what is lost. Its window counts from now
    /// on.
    fn update_model(&mut self, now: Instant, was_in_flight: u64) {
        self.tell_model_of_losses(now);
        let in_flight = self.scoreboard.pipe();
        let shortest = self.congestion.model().and_then(|model| model.round_trip());
        let Some(meter) = &mut self.scoreboard.meter else {
            return;
        };
        let (sample, newly_delivered, lost) = meter.finish(shortest);
        let ack = Acknowledged {
            now,
            sample,
            newly_delivered,
            lost,
            delivered: meter.delivered(),
            lost_in_all: meter.lost_in_all(),
            was_in_flight,
            in_flight,
            held_for: self.paced_until.since(now),
            is_repairing: self.mode.is_repair(),
            is_recovering: self.mode == Mode::Recovery,
        };
        self.congestion.follow_model(&ack);
        // BBRHandleProbeRTT(): if the window is small on purpose, its rates do not count.
        let is_probing = self
            .congestion
            .model()
            .is_some_and(|model| model.is_probing_round_trip());
        if is_probing && let Some(meter) = &mut self.scoreboard.meter {
            meter.limit_by_application(in_flight);
        }
    }

    /// Updates the scoreboard. Returns whether the segment reports new data out of order, because
    /// with selective acknowledgements only new data makes a duplicate (RFC 6675, section 2).
    fn update_scoreboard(&mut self, segment: &Segment) -> bool {
        if self.config.flavour != Flavour::Sack {
            return true;
        }
        self.scoreboard.acknowledge(segment.acknowledgement);
        // What RC3's tail has sent may arrive much later than the window's segments, so it is no
        // evidence.
        let is_evidence = !segment.flags.has(Flags::OUT_OF_BAND);
        let mut new_bytes = 0;
        for (start, end) in segment.selective() {
            new_bytes += self.scoreboard.arrive(start, end, is_evidence);
            self.note_early_data(start, end);
        }
        self.scoreboard.find_lost();
        is_evidence && new_bytes > 0
    }

    fn on_new_data(&mut self, now: Instant, segment: &Segment) {
        let bytes = segment.acknowledgement - self.acknowledged;
        self.acknowledged = segment.acknowledgement;
        self.next = self.next.max(self.acknowledged);
        self.highest = self.highest.max(self.acknowledged);
        let round_trip = self.measure(now, segment);
        (self.duplicates, self.limited, self.is_backed_off) = (0, 0, false);
        let mut restarts = true;
        match self.mode {
            Mode::Recovery => restarts = self.on_new_data_in_recovery(bytes),
            _ => self.grow(now, bytes, round_trip, segment.flags.has(Flags::ECE)),
        }
        if self.mode == Mode::Loss && self.is_recovered() {
            self.mode = Mode::Open;
        }
        if self.highest == self.acknowledged {
            self.must_retransmit = false;
            self.timer.stop();
        } else if restarts {
            self.timer.restart(now);
        }
        if self.config.tail_loss_probe {
            self.schedule_probe(now);
        }
    }

    fn is_recovered(&self) -> bool {
        self.recover
            .is_none_or(|recover| self.acknowledged >= recover)
    }

    /// The window does not grow if it is not in full use, or on an ECN echo (RFC 3168, section
    /// 6.1.2).
    #[inline]
    fn grow(&mut self, now: Instant, bytes: u64, round_trip: Option<Duration>, is_marked: bool) {
        let is_limited =
            self.config.window_validation && self.is_roomy || is_marked && self.config.ecn;
        if !is_limited && self.congestion.watches_round_trips() {
            return self.congestion.grow_by_hystart(Progress {
                now,
                acknowledged_to: self.acknowledged,
                sent_to: self.next,
                acknowledged: bytes,
                round_trip,
            });
        }
        if self.congestion.reads_flight() {
            return self.grow_by_flight(now, bytes, round_trip, is_limited);
        }
        // The other laws read neither the flight nor this round trip.
        let feedback = SenderFeedback {
            acknowledged: bytes,
            ..self.feedback(now, 0)
        };
        if is_limited {
            self.congestion.pause(feedback)
        } else {
            self.congestion.grow(feedback)
        }
    }

    #[cold]
    fn grow_by_flight(
        &mut self,
        now: Instant,
        bytes: u64,
        round_trip: Option<Duration>,
        is_limited: bool,
    ) {
        let feedback = SenderFeedback {
            acknowledged: bytes,
            round_trip,
            ..self.feedback(now, self.in_flight())
        };
        if is_limited {
            self.congestion.pause(feedback)
        } else {
            self.congestion.grow(feedback)
        }
    }

    #[inline]
    pub(crate) fn feedback(&self, now: Instant, in_flight: u64) -> SenderFeedback {
        SenderFeedback {
            now,
            acknowledged: 0,
            in_flight,
            round_trip: None,
            smoothed_round_trip: self.timer.smoothed(),
        }
    }

    /// Returns whether the retransmission timer restarts.
    fn on_new_data_in_recovery(&mut self, bytes: u64) -> bool {
        let is_full = self.is_recovered();
        match self.config.flavour {
            Flavour::NewReno if !is_full => return self.on_partial(bytes),
            Flavour::NewReno if self.config.burst_avoidance => {
                let flight = (self.highest - self.acknowledged).max(self.segment_len());
                self.leave_recovery(self.congestion.threshold.min(flight + self.segment_len()));
            }
            Flavour::Sack if !is_full => {}
            _ => self.leave_recovery(self.congestion.threshold),
        }
        true
    }

    fn leave_recovery(&mut self, window: u64) {
        self.congestion.window = window;
        self.mode = Mode::Open;
    }

    /// A partial acknowledgement, which tells that the next hole is lost, too: has it retransmitted
    /// and deflates the window (RFC 6582, section 3.2, step 3). Returns whether the retransmission
    /// timer restarts.
    fn on_partial(&mut self, bytes: u64) -> bool {
        self.must_retransmit = true;
        if self.config.partial_deflation {
            let segment_len = self.segment_len();
            // Deflate by what is acknowledged, and add back a segment if that is as much as one.
            let deflated = self.congestion.window.saturating_sub(bytes);
            let added_back = if bytes >= segment_len { segment_len } else { 0 };
            self.congestion.window = deflated.max(segment_len) + added_back;
        }
        let is_first = !std::mem::replace(&mut self.is_partial, true);
        is_first || self.config.partial_timer == PartialTimer::Each
    }

    fn on_duplicate(&mut self, now: Instant) {
        self.duplicates = self.duplicates.saturating_add(1);
        match self.mode {
            Mode::Recovery if self.config.flavour != Flavour::Sack => {
                self.congestion.window += self.segment_len()
            }
            Mode::Open if self.is_loss_told() && self.may_recover() => self.retransmit_fast(now),
            // Tahoe's repair may go on while retransmissions cause duplicates. RFC 6582 and 6675
            // wait for `recover` after a timeout.
            _ => {}
        }
    }

    /// With RACK, duplicates tell nothing by themselves.
    fn is_loss_told(&self) -> bool {
        if self.scoreboard.rack.is_some() {
            return false;
        }
        let is_lost = self.config.flavour == Flavour::Sack && self.scoreboard.first_is_lost();
        is_lost || self.duplicates >= self.config.duplicate_threshold
    }

    /// One recovery for each window. Without selective acknowledgements, duplicates at `recover`
    /// itself may be echoes of a repair (RFC 6582, section 3.2, step 2). Plain Reno checks this
    /// only after timeouts, because no other event sets `recover`.
    pub(crate) fn may_recover(&self) -> bool {
        let Some(recover) = self.recover else {
            return true;
        };
        if self.config.flavour == Flavour::Sack {
            self.acknowledged >= recover
        } else {
            self.acknowledged > recover
        }
    }

    pub(crate) fn retransmit_fast(&mut self, now: Instant) {
        self.probe.cancel();
        self.statistics.fast_retransmits += 1;
        let flight = self.flight_to_reduce(self.outstanding() - self.limited);
        self.congestion
            .reduce(Reason::Loss, self.feedback(now, flight));
        (self.is_partial, self.is_rescued) = (false, false);
        if self.config.flavour == Flavour::Tahoe {
            self.go_back();
        } else {
            self.repair(flight);
        }
        self.timer.restart(now);
    }

    /// Which flight a loss or a mark reduces. FlightSize counts unacknowledged data, but much of it
    /// may have arrived behind a gap that outlasts a recovery, because its retransmission was lost
    /// too. RACK goes on then. So with RACK it is the window, as in Linux, and also where the
    /// application's data ends and little is in flight: a window that is not in full use does not
    /// grow, so it may stand for the flight (RFC 9438, section 4.6).
    pub(crate) fn flight_to_reduce(&self, flight: u64) -> u64 {
        if self.scoreboard.rack.is_some() {
            self.congestion.window
        } else {
            flight
        }
    }

    /// Enters fast recovery. The window is the threshold. Without selective acknowledgements, one
    /// segment for each duplicate comes on top, because each duplicate means that a segment has
    /// left the network.
    fn repair(&mut self, flight: u64) {
        self.mode = Mode::Recovery;
        self.must_retransmit = true;
        self.reduction = Reduction::begin(if self.scoreboard.rack.is_some() {
            flight
        } else {
            self.highest - self.acknowledged
        });
        self.congestion.window = self.congestion.threshold;
        match self.config.flavour {
            Flavour::Sack => self.scoreboard.begin_recovery(),
            _ => {
                self.congestion.window +=
                    u64::from(self.config.duplicate_threshold) * self.segment_len()
            }
        }
        if self.config.flavour != Flavour::Reno {
            self.recover = Some(self.highest);
        }
    }

    /// Handles an ECN mark: as a loss, but without retransmission, and once for each window (RFC
    /// 3168, section 6.1.2).
    fn on_mark(&mut self, now: Instant) {
        // A model of the path reads no marks, and a repair has reduced the window already.
        if self.has_model() || self.mode != Mode::Open {
            return;
        }
        let has_reacted_in_this_window = self.acknowledged < self.marked_until;
        if has_reacted_in_this_window {
            return;
        }
        let flight = self.flight_to_reduce(self.outstanding());
        self.congestion
            .reduce(Reason::Mark, self.feedback(now, flight));
        self.congestion.window = self.congestion.threshold;
        self.marked_until = self.highest;
        self.must_tell_reduction = true;
        self.statistics.reductions_by_marks += 1;
    }

    /// Whether the law has a model of the path. Only such a law needs the meter.
    #[inline]
    fn has_model(&self) -> bool {
        self.scoreboard.meter.is_some()
    }

    /// FlightSize of RFC 5681: how many bytes are sent but not acknowledged. With a tail (`rc3`)
    /// much of this data has arrived, so the window is the upper bound.
    pub(crate) fn outstanding(&self) -> u64 {
        let all = self.highest - self.acknowledged;
        if self.reach > self.acknowledged {
            all.min(self.congestion.window + self.limited)
        } else {
            all
        }
    }

    /// Handles a timeout: RFC 5681, section 3.1; RFC 6582, section 3.2, step 4; RFC 6675, section
    /// 5.1.
    ///
    /// With RACK, what was sent less than a round trip ago is still in flight, and the window has room
    /// for one segment beside it, as in Linux.
    ///
    /// The flight is the unacknowledged data (FlightSize). But during a repair much of this data
    /// arrived long ago, so the flight is bounded by what the repair allowed. Otherwise a long
    /// recovery would raise the threshold instead of lowering it.
    fn give_up_flight(&mut self, now: Instant) {
        let flight = match self.mode {
            Mode::Loss => self.in_flight(),
            Mode::Recovery => self.outstanding().min(self.congestion.threshold),
            _ => self.outstanding(),
        };
        let flight = self.flight_to_reduce(flight);
        // In Linux the recovery's threshold stays, because its window was reduced already.
        let is_reduced = self.scoreboard.rack.is_some() && self.mode == Mode::Recovery;
        let kept = is_reduced.then_some(self.congestion.threshold);
        self.congestion
            .time_out(self.feedback(now, flight), !self.is_backed_off);
        self.congestion.threshold = kept.unwrap_or(self.congestion.threshold);
        self.is_backed_off = true;
        self.probe.cancel();
        self.go_back();
        self.tell_model_of_losses(now);
        let in_flight = self.scoreboard.pipe();
        let meter = self.scoreboard.meter.as_ref();
        let lost = meter.map_or(0, |meter| meter.lost_in_all());
        if let Some(model) = self.congestion.model() {
            self.congestion.window = model.repair_after_timeout(lost, in_flight);
        } else if self.scoreboard.rack.is_some() {
            self.congestion.window = in_flight + self.segment_len();
        }
    }

    /// All data in flight counts as lost, so slow start begins at the first missing byte.
    fn go_back(&mut self) {
        self.mode = Mode::Loss;
        self.congestion.window = self.segment_len();
        self.recover = Some(self.highest);
        (
            self.duplicates,
            self.limited,
            self.timed,
            self.must_retransmit,
        ) = (0, 0, None, false);
        if self.scoreboard.rack.is_some() {
            self.lose_by_time();
        } else if self.config.flavour == Flavour::Sack {
            self.scoreboard.lose_all();
        } else {
            self.next = self.acknowledged;
        }
    }

    /// The next lost segment, marked as retransmitted. After a timeout, only if the pipe has room.
    /// Without RACK also only from the flight at that time, because later losses wait for another
    /// recovery.
    pub(crate) fn retransmit_lost(&mut self) -> Option<(u64, u32)> {
        let limit = match self.mode {
            // The caller has checked the room.
            Mode::Recovery => u64::MAX,
            Mode::Loss if self.is_roomy && self.scoreboard.rack.is_some() => u64::MAX,
            Mode::Loss if self.is_roomy => self.recover.unwrap_or(0),
            _ => return None,
        };
        self.scoreboard
            .retransmit_lost(limit)
            .map(|entry| (entry.sequence, entry.len))
    }

    /// For a sender that knows of no loss and has no new data: rules 3 and 4 of NextSeg(). With
    /// RACK nothing is sent again unless it is lost.
    pub(crate) fn missing_segment(&mut self) -> Option<(u64, u32)> {
        if self.scoreboard.rack.is_some() {
            return None;
        }
        let entry = match self.scoreboard.retransmit_missing() {
            Some(entry) => entry,
            None if self.is_rescued => return None,
            None => {
                self.is_rescued = true;
                self.scoreboard.rescue()?
            }
        };
        Some((entry.sequence, entry.len))
    }

    /// Measures a round trip, by the timestamp or by the one segment that is timed.
    #[inline(always)]
    fn measure(&mut self, now: Instant, segment: &Segment) -> Option<Duration> {
        let sent_at = if segment.flags.has(Flags::OUT_OF_BAND) {
            None
        } else if self.config.timestamps {
            Some(segment.echo)
        } else {
            let timed = self
                .timed
                .filter(|(end, _)| *end <= segment.acknowledgement);
            timed.map(|(_, sent_at)| {
                self.timed = None;
                sent_at
            })
        };
        let round_trip = self.tick(now).since(sent_at?);
        if self.config.timestamps {
            let delay = segment.timestamp.since(segment.echo);
            self.congestion.note_delay(now, delay);
        }
        self.timer.sample(round_trip, &self.config);
        self.probe.has_sample = true;
        Some(round_trip)
    }
}
