//! BBR, version 3: it goes by a model of the path, but also heeds the losses that its own probes
//! cause. It follows draft-ietf-ccwg-bbr, the working copy of 3 August 2026 (behind -06), whose
//! names stand at the steps. Rates are in bytes a second, and volumes in bytes. `NONE` is the
//! draft's Infinity.
//!
//! | draft | here |
//! |---|---|
//! | BBR.max_bw, bw_shortterm, bw | `max_rate()`, `short_rate`, `rate` |
//! | BBR.inflight_longterm, inflight_shortterm | `long_flight`, `short_flight` |
//! | BBR.bw_latest, inflight_latest | `latest_rate`, `latest_flight` |
//! | BBR.full_bw, full_bw_now, full_bw_reached | `full_rate`, `is_full_now`, `is_pipe_full` |
//! | BBR.min_rtt, probe_rtt_min_delay | `round_trip`, `probe_round_trip` |
//! | C.cwnd, BBR.prior_cwnd, max_inflight | `window`, `prior_window`, `most_flight()` |
//!
//! Differences. Nothing here finds out that a repair was needless, so there is no undo
//! (HandleSpuriousLossDetection()). Segments are sent one by one and not in quanta, but the budget
//! for offloads is there. The draft's functions do not bound Drain by inflight_longterm, although
//! its table of states does. We follow the functions. If an acknowledgement has a sample but no
//! rate, because the interval is shorter than the shortest round trip, it is no round without
//! growth. The filter for max_bw moves on only if the present cycle has a sample. Whether the
//! flight filled the window or reached inflight_longterm is seen when an acknowledgement comes:
//! just before it, less room was left than a segment, but just after it the flight never reaches
//! its own bound.

use std::collections::VecDeque;

use roundelay::{Duration, Instant};

use crate::delivery::{Lost, RateSample};
use crate::model::{Acknowledged, Gain, PACED, PathModel, carried, first_pacing_rate, push_most};

/// The draft's Infinity.
const NONE: u64 = u64::MAX;
const ONE: Gain = Gain(1, 1);
/// BBR.StartupPacingGain: 4 ln 2.
const STARTUP_PACING: Gain = Gain(277, 100);
/// BBR.DrainPacingGain.
const DRAIN_PACING: Gain = Gain(1, 2);
/// The pacing gains in ProbeBW_DOWN and ProbeBW_UP.
const DOWN_PACING: Gain = Gain(9, 10);
const UP_PACING: Gain = Gain(5, 4);
/// BBR.DefaultCwndGain, the gain in ProbeBW_UP, and BBR.ProbeRTTCwndGain.
const WINDOW: Gain = Gain(2, 1);
const UP_WINDOW: Gain = Gain(9, 4);
const PROBE_WINDOW: Gain = Gain(1, 2);
/// BBR.LossThresh.
const LOSS: Gain = Gain(2, 100);
/// BBR.Beta.
const BETA: Gain = Gain(7, 10);
/// BBR.Headroom.
const HEADROOM: Gain = Gain(15, 100);
/// BBR.MinPipeCwnd, in segments.
const LEAST_SEGMENTS: u64 = 4;
/// BBRStartupFullLossCnt: this many ranges lost in a round end Startup.
const STARTUP_LOSSES: u64 = 6;
/// A pipe is full after three rounds in which the rate grew by less than a quarter.
const GROWTH: Gain = Gain(5, 4);
const ROUNDS_WITHOUT_GROWTH: u32 = 3;
/// The most rounds that Drain takes.
const DRAIN_ROUNDS: u64 = 3;
/// BBR.ExtraAckedFilterLen, in rounds. Before the pipe is full it is 1.
const EXTRA_ROUNDS: u64 = 10;
/// BBR.MinRTTFilterLen, BBR.ProbeRTTInterval, BBR.ProbeRTTDuration.
const ROUND_TRIP_AGE: Duration = Duration::from_secs(10);
const PROBE_INTERVAL: Duration = Duration::from_secs(5);
const PROBE_TIME: Duration = Duration::from_millis(200);
/// T_bbr: 2 s, and up to a second more.
const LEAST_WAIT: Duration = Duration::from_secs(2);
const MORE_WAIT: Duration = Duration::from_secs(1);
/// T_reno_bound, in rounds. It is 62 or 63, because we start to count at a drawn 0 or 1.
const RENO_ROUNDS: u64 = 63;

/// BBR.state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    Down,
    Cruise,
    Refill,
    Up,
    ProbeRoundTrip,
}

/// BBR.ack_phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feedback {
    Init,
    Refilling,
    Starting,
    Coming,
    Stopping,
}

/// What BBR, version 3, keeps for a connection.
#[derive(Debug, Clone)]
pub(crate) struct Bbr3 {
    segment_len: u64,
    initial_window: u64,
    state: State,
    /// C.delivered.
    delivered: u64,
    /// BBR.max_bw_filter: the highest rates in the previous ProbeBW cycle and in the present one.
    rates: [u64; 2],
    short_rate: u64,
    rate: u64,
    long_flight: u64,
    short_flight: u64,
    /// BBR.bw_latest, BBR.inflight_latest, for the present loss round.
    latest_rate: u64,
    latest_flight: u64,
    /// BBR.round_count, BBR.next_round_delivered, BBR.round_start.
    round: u64,
    next_round_delivered: u64,
    is_round_start: bool,
    /// BBR.loss_round_delivered, BBR.loss_round_start, BBR.is_loss_in_round.
    loss_round_delivered: u64,
    is_loss_round_start: bool,
    is_loss_in_round: bool,
    /// Ranges lost in this loss round that do not touch, and where the last one ended.
    lost_ranges: u64,
    lost_end: u64,
    /// BBR.full_bw, BBR.full_bw_count, BBR.full_bw_now, BBR.full_bw_reached.
    full_rate: u64,
    rounds_without_growth: u32,
    is_full_now: bool,
    is_pipe_full: bool,
    /// BBR.drain_start_round.
    drain_round: u64,
    /// BBR.extra_acked_interval_start, BBR.extra_acked_delivered, and BBR.extra_acked_filter, whose
    /// first value is the largest.
    extra_start: Instant,
    extra_delivered: u64,
    extras: VecDeque<(u64, u64)>,
    /// BBR.ack_phase, BBR.is_bw_probe_sample.
    feedback: Feedback,
    is_probe_sample: bool,
    /// BBR.bw_probe_up_rounds, BBR.bw_probe_up_acked, BBR.probe_up_acked_per_inc.
    up_rounds: u32,
    up_delivered: u64,
    up_per_segment: u64,
    /// BBR.rounds_since_probe_up, BBR.bw_probe_wait, BBR.cycle_stamp.
    rounds_since_up: u64,
    probe_wait: Duration,
    cycle_at: Instant,
    /// BBR.prev_probe_too_high, BBR.prev_probe_precautionary.
    was_too_high: bool,
    was_precautionary: bool,
    /// BBR.min_rtt, BBR.min_rtt_stamp, BBR.probe_rtt_min_delay, BBR.probe_rtt_min_stamp,
    /// BBR.probe_rtt_expired.
    round_trip: Option<Duration>,
    round_trip_at: Instant,
    probe_round_trip: Option<Duration>,
    probe_round_trip_at: Instant,
    is_probe_due: bool,
    /// BBR.probe_rtt_done_stamp, BBR.probe_rtt_round_done.
    probe_ends: Option<Instant>,
    is_probe_round_done: bool,
    /// BBR.idle_restart.
    is_idle_restart: bool,
    /// C.is_cwnd_limited, in this round and in the round before.
    was_window_full: [bool; 2],
    /// InLossRecovery() until now, and the round in which it began.
    was_repairing: bool,
    repair_round: u64,
    /// C.pacing_rate, or 0 before the first sample.
    pacing_rate: u64,
    window: u64,
    prior_window: u64,
    /// The sender's own generator.
    random: u64,
}

impl Bbr3 {
    /// OnInit(), with segments of `segment_len` bytes and a window in bytes.
    pub(crate) fn new(segment_len: u64, initial_window: u64) -> Self {
        Self {
            segment_len,
            initial_window,
            // EnterStartup().
            state: State::Startup,
            delivered: 0,
            rates: [0; 2],
            short_rate: NONE,
            rate: 0,
            long_flight: NONE,
            short_flight: NONE,
            latest_rate: 0,
            latest_flight: 0,
            round: 0,
            next_round_delivered: 0,
            is_round_start: false,
            loss_round_delivered: 0,
            is_loss_round_start: false,
            is_loss_in_round: false,
            lost_ranges: 0,
            lost_end: NONE,
            full_rate: 0,
            rounds_without_growth: 0,
            is_full_now: false,
            is_pipe_full: false,
            drain_round: 0,
            extra_start: Instant::ZERO,
            extra_delivered: 0,
            extras: VecDeque::new(),
            feedback: Feedback::Init,
            is_probe_sample: false,
            up_rounds: 0,
            up_delivered: 0,
            up_per_segment: NONE,
            rounds_since_up: 0,
            probe_wait: Duration::ZERO,
            cycle_at: Instant::ZERO,
            was_too_high: false,
            was_precautionary: false,
            round_trip: None,
            round_trip_at: Instant::ZERO,
            probe_round_trip: None,
            probe_round_trip_at: Instant::ZERO,
            is_probe_due: false,
            probe_ends: None,
            is_probe_round_done: false,
            is_idle_restart: false,
            was_window_full: [false; 2],
            was_repairing: false,
            repair_round: 0,
            pacing_rate: 0,
            window: initial_window,
            prior_window: 0,
            random: 0,
        }
    }

    /// BBR.max_bw.
    fn max_rate(&self) -> u64 {
        self.rates[0].max(self.rates[1])
    }

    fn least(&self) -> u64 {
        LEAST_SEGMENTS * self.segment_len
    }

    /// IsInAProbeBWState().
    fn probes_bandwidth(&self) -> bool {
        use State::{Cruise, Down, Refill, Up};
        matches!(self.state, Down | Cruise | Refill | Up)
    }

    /// IsProbingBW().
    fn accelerates(&self) -> bool {
        matches!(self.state, State::Startup | State::Refill | State::Up)
    }

    /// BBR.pacing_gain.
    fn pacing_gain(&self) -> Gain {
        match self.state {
            State::Startup => STARTUP_PACING,
            State::Drain => DRAIN_PACING,
            State::Down => DOWN_PACING,
            State::Up => UP_PACING,
            State::Cruise | State::Refill | State::ProbeRoundTrip => ONE,
        }
    }

    /// BBR.cwnd_gain.
    fn window_gain(&self) -> Gain {
        match self.state {
            State::Up => UP_WINDOW,
            State::ProbeRoundTrip => PROBE_WINDOW,
            _ => WINDOW,
        }
    }

    /// 31 bits from a generator that goes by the times of its calls, so equal runs draw the same.
    fn draw(&mut self, now: Instant) -> u64 {
        let mixed = self.random ^ now.as_picos();
        self.random = mixed
            .wrapping_mul(0x5851_f42d_4c95_7f2d)
            .wrapping_add(0x1405_7b7e_f767_814f);
        self.random >> 33
    }

    // What an acknowledgement changes, in the draft's order.

    /// UpdateLatestDeliverySignals().
    fn update_latest(&mut self, sample: Option<&RateSample>) {
        self.is_loss_round_start = false;
        let Some(sample) = sample else { return };
        self.latest_rate = self.latest_rate.max(sample.rate.unwrap_or(0));
        self.latest_flight = self.latest_flight.max(sample.delivered);
        if sample.prior_delivered >= self.loss_round_delivered {
            self.loss_round_delivered = self.delivered;
            self.is_loss_round_start = true;
        }
    }

    /// UpdateCongestionSignals().
    fn update_congestion(&mut self, sample: Option<&RateSample>) {
        self.update_max_rate(sample);
        if self.is_loss_round_start {
            self.adapt_lower_bounds();
            self.is_loss_in_round = false;
        }
    }

    /// UpdateRound() and UpdateMaxBw().
    fn update_max_rate(&mut self, sample: Option<&RateSample>) {
        self.is_round_start = false;
        let Some(sample) = sample else { return };
        if sample.prior_delivered >= self.next_round_delivered {
            self.start_round();
            self.round += 1;
            self.rounds_since_up += 1;
            self.is_round_start = true;
        }
        let Some(rate) = sample.rate else { return };
        if rate >= self.max_rate() || !sample.is_app_limited {
            self.rates[1] = self.rates[1].max(rate);
        }
    }

    fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    /// AdaptLowerBoundsFromCongestion(), InitLowerBounds(), LossLowerBounds().
    fn adapt_lower_bounds(&mut self) {
        if self.accelerates() || !self.is_loss_in_round {
            return;
        }
        if self.short_rate == NONE {
            self.short_rate = self.max_rate();
        }
        if self.short_flight == NONE {
            self.short_flight = self.window;
        }
        self.short_rate = self.latest_rate.max(BETA.of(self.short_rate));
        self.short_flight = self.latest_flight.max(BETA.of(self.short_flight));
    }

    /// ResetShortTermModel().
    fn reset_short_term(&mut self) {
        self.short_rate = NONE;
        self.short_flight = NONE;
    }

    /// UpdateACKAggregation().
    fn update_aggregation(&mut self, ack: &Acknowledged) {
        let mut expected = carried(self.rate, ack.now.since(self.extra_start));
        if self.extra_delivered <= expected {
            self.extra_delivered = 0;
            self.extra_start = ack.now;
            expected = 0;
        }
        self.extra_delivered += ack.newly_delivered;
        let extra = self.extra_delivered.saturating_sub(expected);
        let rounds = if self.is_pipe_full { EXTRA_ROUNDS } else { 1 };
        push_most(&mut self.extras, self.round, extra.min(self.window), rounds);
    }

    /// ResetFullBW().
    fn reset_full_rate(&mut self) {
        self.full_rate = 0;
        self.rounds_without_growth = 0;
        self.is_full_now = false;
    }

    /// CheckFullBWReached().
    fn check_full_rate(&mut self, sample: Option<&RateSample>) {
        let Some(sample) = sample else { return };
        let Some(rate) = sample.rate else { return };
        if self.is_full_now || !self.is_round_start || sample.is_app_limited {
            return;
        }
        if rate >= GROWTH.of(self.full_rate) {
            self.reset_full_rate();
            self.full_rate = rate;
            return;
        }
        self.rounds_without_growth += 1;
        self.is_full_now = self.rounds_without_growth >= ROUNDS_WITHOUT_GROWTH;
        self.is_pipe_full |= self.is_full_now;
    }

    /// CheckStartupDone().
    fn check_startup(&mut self, sample: Option<&RateSample>) {
        if self.state != State::Startup {
            return;
        }
        self.check_startup_losses(sample);
        if self.is_pipe_full {
            // EnterDrain().
            self.state = State::Drain;
            self.drain_round = self.round;
        }
    }

    /// CheckStartupHighLoss(): Startup ends after a whole round of repair, if more than 2% were
    /// lost in a round, in six ranges or more.
    fn check_startup_losses(&mut self, sample: Option<&RateSample>) {
        let Some(sample) = sample else { return };
        let is_long = self.was_repairing && self.round > self.repair_round;
        let is_high = is_too_high(sample.lost, sample.in_flight);
        let is_scattered = self.lost_ranges >= STARTUP_LOSSES;
        if self.is_loss_round_start && is_long && is_high && is_scattered {
            self.is_full_now = true;
            self.is_pipe_full = true;
            self.long_flight = self.held(ONE).max(self.latest_flight);
        }
    }

    /// CheckDrainDone(), EnterProbeBW().
    fn check_drain(&mut self, ack: &Acknowledged) {
        if self.state != State::Drain {
            return;
        }
        let is_long = self.round > self.drain_round + DRAIN_ROUNDS;
        if is_long || ack.in_flight <= self.flight_at(self.rate, ONE) {
            self.start_down(ack.now);
        }
    }

    // The cycle of ProbeBW.

    /// StartProbeBW_DOWN().
    fn start_down(&mut self, now: Instant) {
        // ResetCongestionSignals().
        self.is_loss_in_round = false;
        self.latest_rate = 0;
        self.latest_flight = 0;
        self.up_per_segment = NONE;
        self.pick_wait(now);
        self.cycle_at = now;
        self.feedback = Feedback::Stopping;
        self.start_round();
        self.state = State::Down;
    }

    /// PickProbeWait().
    fn pick_wait(&mut self, now: Instant) {
        self.rounds_since_up = self.draw(now) & 1;
        let share = u128::from(MORE_WAIT.as_picos()) * u128::from(self.draw(now));
        self.probe_wait = LEAST_WAIT + Duration::from_picos((share >> 31) as u64);
    }

    /// StartProbeBW_REFILL().
    fn start_refill(&mut self) {
        self.reset_short_term();
        self.up_rounds = 0;
        self.up_delivered = 0;
        self.was_precautionary = false;
        self.feedback = Feedback::Refilling;
        self.start_round();
        self.state = State::Refill;
    }

    /// StartProbeBW_UP().
    fn start_up(&mut self, sample: Option<&RateSample>) {
        self.feedback = Feedback::Starting;
        self.start_round();
        self.look_for_growth(sample);
        self.state = State::Up;
        self.raise_slope();
    }

    /// ResetFullBW(), but growth counts from this sample's rate on.
    fn look_for_growth(&mut self, sample: Option<&RateSample>) {
        self.reset_full_rate();
        self.full_rate = sample.and_then(|sample| sample.rate).unwrap_or(0);
    }

    /// UpdateProbeBWCyclePhase().
    fn update_cycle(&mut self, ack: &Acknowledged) {
        let sample = ack.sample.as_ref();
        if !self.is_pipe_full || self.adapt_long_term(ack) || !self.probes_bandwidth() {
            return;
        }
        if self.state == State::Up {
            if self.is_time_to_go_down(ack) {
                self.was_too_high = false;
                self.start_down(ack.now);
            }
            return;
        }
        match self.state {
            State::Down | State::Cruise if self.is_time_to_probe(ack.now) => self.start_refill(),
            State::Down if self.is_time_to_cruise(ack) => self.state = State::Cruise,
            State::Refill if self.is_round_start => {
                self.is_probe_sample = true;
                self.start_up(sample);
            }
            _ => {}
        }
    }

    /// IsTimeToProbeBW(), IsRenoCoexistenceProbeTime().
    fn is_time_to_probe(&self, now: Instant) -> bool {
        let rounds = (self.target_flight() / self.segment_len).min(RENO_ROUNDS);
        now > self.cycle_at + self.probe_wait || self.rounds_since_up >= rounds
    }

    /// TargetInflight().
    fn target_flight(&self) -> u64 {
        self.held(ONE).min(self.window)
    }

    /// IsTimeToCruise().
    fn is_time_to_cruise(&self, ack: &Acknowledged) -> bool {
        let has_headroom = ack.in_flight <= self.flight_with_headroom();
        has_headroom && ack.in_flight <= self.flight_at(self.max_rate(), ONE)
    }

    /// IsTimeToGoDown().
    fn is_time_to_go_down(&mut self, ack: &Acknowledged) -> bool {
        let is_at_limit = ack.was_in_flight + self.segment_len > self.long_flight;
        if self.was_too_high && is_at_limit {
            self.was_precautionary = true;
            return true;
        }
        if self.is_window_full() && self.window >= self.long_flight {
            self.look_for_growth(ack.sample.as_ref());
            return false;
        }
        self.is_full_now
    }

    /// C.is_cwnd_limited.
    fn is_window_full(&self) -> bool {
        self.was_window_full[0] || self.was_window_full[1]
    }

    fn note_full_window(&mut self, ack: &Acknowledged) {
        if self.is_round_start {
            self.was_window_full[1] = self.was_window_full[0];
            self.was_window_full[0] = false;
        }
        self.was_window_full[0] |= ack.was_in_flight + self.segment_len > self.window;
    }

    /// AdaptLongTermModel(). Returns whether the state has changed.
    fn adapt_long_term(&mut self, ack: &Acknowledged) -> bool {
        if self.feedback == Feedback::Starting && self.is_round_start {
            self.feedback = Feedback::Coming;
        }
        if self.feedback == Feedback::Stopping && self.is_round_start {
            self.is_probe_sample = false;
            self.feedback = Feedback::Init;
            let is_app_limited = ack.sample.is_some_and(|sample| sample.is_app_limited);
            if self.probes_bandwidth() && !is_app_limited {
                self.advance_rates();
            }
            // The last probe ended early, only because the one before had lost too much. It lost
            // little, so the next one starts at once.
            if self.probes_bandwidth() && self.was_precautionary && !self.was_too_high {
                self.start_refill();
                return true;
            }
        }
        let Some(sample) = ack.sample else {
            return false;
        };
        if is_too_high(sample.lost, sample.in_flight) || self.long_flight == NONE {
            return false;
        }
        self.long_flight = self.long_flight.max(sample.in_flight);
        if self.state == State::Up {
            self.probe_upward(ack);
        }
        false
    }

    /// AdvanceMaxBwFilter().
    fn advance_rates(&mut self) {
        if self.rates[1] > 0 {
            self.rates = [self.rates[1], 0];
        }
    }

    /// RaiseInflightLongtermSlope().
    fn raise_slope(&mut self) {
        let growth = 1 << self.up_rounds;
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_per_segment = (self.window / growth).max(self.segment_len);
    }

    /// ProbeInflightLongtermUpward().
    fn probe_upward(&mut self, ack: &Acknowledged) {
        if !self.is_window_full() || self.window < self.long_flight {
            return;
        }
        self.up_delivered += ack.newly_delivered;
        let segments = self.up_delivered / self.up_per_segment;
        self.up_delivered -= segments * self.up_per_segment;
        self.long_flight += segments * self.segment_len;
        if self.is_round_start {
            self.raise_slope();
        }
    }

    /// HandleInflightTooHigh(), with RS.tx_in_flight.
    fn handle_too_high(&mut self, now: Instant, in_flight: u64, is_app_limited: bool) {
        self.was_too_high = true;
        self.is_probe_sample = false;
        if !is_app_limited {
            self.long_flight = in_flight.max(BETA.of(self.target_flight()));
        }
        if self.state == State::Up {
            self.start_down(now);
        }
    }

    // Round trips.

    /// UpdateMinRTT().
    fn update_round_trip(&mut self, ack: &Acknowledged) {
        let probe_age = ack.now.since(self.probe_round_trip_at);
        self.is_probe_due = probe_age > PROBE_INTERVAL;
        if let Some(found) = ack.sample.and_then(|sample| sample.round_trip)
            && (self.is_probe_due || self.probe_round_trip.is_none_or(|least| found < least))
        {
            self.probe_round_trip = Some(found);
            self.probe_round_trip_at = ack.now;
        }
        let Some(least) = self.probe_round_trip else {
            return;
        };
        let is_old = ack.now.since(self.round_trip_at) > ROUND_TRIP_AGE;
        if is_old || self.round_trip.is_none_or(|before| least < before) {
            self.round_trip = Some(least);
            self.round_trip_at = self.probe_round_trip_at;
        }
    }

    /// CheckProbeRTT().
    fn check_probe_round_trip(&mut self, ack: &Acknowledged) {
        let is_probing = self.state == State::ProbeRoundTrip;
        if !is_probing && self.is_probe_due && !self.is_idle_restart {
            // EnterProbeRTT().
            self.state = State::ProbeRoundTrip;
            self.save_window();
            self.probe_ends = None;
            self.feedback = Feedback::Stopping;
            self.start_round();
        }
        if self.state == State::ProbeRoundTrip {
            self.go_on_probing(ack);
        }
        if ack.sample.is_some() {
            self.is_idle_restart = false;
        }
    }

    /// HandleProbeRTT().
    fn go_on_probing(&mut self, ack: &Acknowledged) {
        if self.probe_ends.is_none() {
            if ack.in_flight <= self.probe_window() {
                self.probe_ends = Some(ack.now + PROBE_TIME);
                self.is_probe_round_done = false;
                self.start_round();
            }
            return;
        }
        self.is_probe_round_done |= self.is_round_start;
        if self.is_probe_round_done {
            self.check_probe_done(ack.now);
        }
    }

    /// CheckProbeRTTDone(), ExitProbeRTT().
    fn check_probe_done(&mut self, now: Instant) {
        if self.probe_ends.is_none_or(|ends| now <= ends) {
            return;
        }
        self.probe_round_trip_at = now;
        self.restore_window();
        self.reset_short_term();
        if self.is_pipe_full {
            self.start_down(now);
            self.state = State::Cruise;
        } else {
            self.state = State::Startup;
        }
    }

    /// ProbeRTTCwnd().
    fn probe_window(&self) -> u64 {
        self.held(PROBE_WINDOW).max(self.least())
    }

    /// AdvanceLatestDeliverySignals().
    fn advance_latest(&mut self, sample: Option<&RateSample>) {
        if let Some(sample) = sample
            && self.is_loss_round_start
        {
            self.latest_rate = sample.rate.unwrap_or(0);
            self.latest_flight = sample.delivered;
            self.lost_ranges = 0;
        }
    }

    /// BoundBWForModel().
    fn bound_rate(&mut self) {
        self.rate = self.max_rate().min(self.short_rate);
    }

    // Volumes.

    /// BDPMultiple(): what the path holds at BBR.bw, with a gain.
    fn held(&self, gain: Gain) -> u64 {
        self.held_at(self.rate, gain)
    }

    fn held_at(&self, rate: u64, gain: Gain) -> u64 {
        match self.round_trip {
            Some(round_trip) => gain.of(carried(rate, round_trip)),
            None => self.initial_window,
        }
    }

    /// Inflight().
    fn flight_at(&self, rate: u64, gain: Gain) -> u64 {
        self.with_budget(self.held_at(rate, gain))
    }

    /// InflightWithHeadroom().
    fn flight_with_headroom(&self) -> u64 {
        if self.long_flight == NONE {
            return NONE;
        }
        let headroom = HEADROOM.of(self.long_flight).max(self.segment_len);
        self.long_flight.saturating_sub(headroom).max(self.least())
    }

    /// QuantizationBudget().
    fn with_budget(&self, flight: u64) -> u64 {
        // SetSendQuantum(), UpdateOffloadBudget().
        let quantum = (self.pacing_rate(None) / 1000).min(64 * 1024);
        let quantum = quantum.max(2 * self.segment_len);
        let flight = flight.max(3 * quantum).max(self.least());
        match self.state {
            State::Up => flight + 2 * self.segment_len,
            _ => flight,
        }
    }

    /// UpdateMaxInflight().
    fn most_flight(&self) -> u64 {
        let extra = self.extras.front().map_or(0, |(_, extra)| *extra);
        self.with_budget(self.held(self.window_gain()).saturating_add(extra))
    }

    // Rate and window.

    /// SetPacingRateWithGain(). The rate does not fall before the pipe is full.
    fn set_pacing_rate_with(&mut self, gain: Gain) {
        let rate = PACED.of(gain.of(self.rate));
        if rate > 0 && (self.is_pipe_full || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    /// SaveCwnd().
    fn save_window(&mut self) {
        let is_whole = !self.was_repairing && self.state != State::ProbeRoundTrip;
        self.prior_window = if is_whole {
            self.window
        } else {
            self.prior_window.max(self.window)
        };
    }

    /// RestoreCwnd().
    fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }

    /// OnEnterFastRecovery() when a repair begins, RestoreCwnd() when it ends.
    fn follow_repair(&mut self, ack: &Acknowledged) {
        match (self.was_repairing, ack.is_repairing) {
            (false, true) => {
                self.save_window();
                self.repair_round = self.round;
            }
            (true, false) => self.restore_window(),
            (false, false) | (true, true) => {}
        }
        self.was_repairing = ack.is_repairing;
    }

    /// SetCwnd().
    fn set_window(&mut self, ack: &Acknowledged) {
        let most = self.most_flight();
        if self.is_pipe_full {
            self.window = (self.window + ack.newly_delivered).min(most);
        } else if self.window < most || ack.delivered < self.initial_window {
            self.window += ack.newly_delivered;
        }
        self.window = self.window.max(self.least());
        // BoundCwndForProbeRTT().
        if self.state == State::ProbeRoundTrip {
            self.window = self.window.min(self.probe_window());
        }
        // BoundCwndForModel().
        let bound = match self.state {
            State::Down | State::Refill | State::Up => self.long_flight,
            State::Cruise | State::ProbeRoundTrip => self.flight_with_headroom(),
            State::Startup | State::Drain => NONE,
        };
        let bound = bound.min(self.short_flight).max(self.least());
        self.window = self.window.min(bound);
    }
}

/// IsInflightTooHigh(), for a connection with selective acknowledgements.
fn is_too_high(lost: u64, in_flight: u64) -> bool {
    lost > LOSS.of(in_flight)
}

/// InflightAtLoss(): how much was in flight when the losses crossed BBR.LossThresh.
fn flight_at_loss(lost: &Lost) -> u64 {
    let Gain(part, whole) = LOSS;
    let len = u64::from(lost.len);
    let flight_before = lost.in_flight.saturating_sub(len);
    let lost_before = lost.lost.saturating_sub(len);
    let prefix = (part * flight_before).saturating_sub(whole * lost_before) / (whole - part);
    flight_before + prefix
}

impl PathModel for Bbr3 {
    fn begin(&mut self, now: Instant, round_trip: Option<Duration>) {
        self.round_trip = round_trip.filter(|round_trip| *round_trip > Duration::ZERO);
        self.round_trip_at = now;
        self.probe_round_trip_at = now;
        self.extra_start = now;
    }

    fn begin_with_a_segment(&mut self) {
        self.window = self.segment_len;
    }

    fn is_startup(&self) -> bool {
        self.state == State::Startup
    }

    fn is_probing_round_trip(&self) -> bool {
        self.state == State::ProbeRoundTrip
    }

    fn round_trip(&self) -> Option<Duration> {
        self.round_trip
    }

    /// InitPacingRate(), until the first sample.
    fn pacing_rate(&self, smoothed: Option<Duration>) -> u64 {
        if self.pacing_rate > 0 {
            return self.pacing_rate;
        }
        first_pacing_rate(self.initial_window, smoothed, STARTUP_PACING)
    }

    /// HandleRestartFromIdle().
    fn restart_from_idle(&mut self, now: Instant) -> Option<u64> {
        self.is_idle_restart = true;
        self.extra_start = now;
        if self.probes_bandwidth() {
            self.set_pacing_rate_with(ONE);
        } else if self.state == State::ProbeRoundTrip {
            self.check_probe_done(now);
        }
        Some(self.window)
    }

    /// OnEnterRTO().
    fn time_out(&mut self) {
        self.save_window();
        self.window = self.segment_len;
        if !self.was_repairing {
            self.repair_round = self.round;
        }
        self.was_repairing = true;
    }

    fn repair_after_timeout(&mut self, _lost_in_all: u64, in_flight: u64) -> u64 {
        self.window = in_flight + self.segment_len;
        self.window
    }

    /// HandleLostPacket().
    fn on_loss(&mut self, now: Instant, delivered: u64, lost: &Lost) {
        self.delivered = delivered;
        // NoteLoss().
        if !self.is_loss_in_round {
            self.loss_round_delivered = delivered;
            self.save_window();
        }
        self.is_loss_in_round = true;
        self.lost_ranges += u64::from(lost.sequence != self.lost_end);
        self.lost_end = lost.sequence + u64::from(lost.len);
        if self.is_probe_sample && is_too_high(lost.lost, lost.in_flight) {
            self.handle_too_high(now, flight_at_loss(lost), lost.is_app_limited);
        }
    }

    /// UpdateOnACK().
    fn on_ack(&mut self, ack: &Acknowledged) -> u64 {
        self.delivered = ack.delivered;
        let sample = ack.sample.as_ref();
        if self.pacing_rate == 0
            && let Some(round_trip) = sample.and_then(|sample| sample.round_trip)
        {
            self.pacing_rate = self.pacing_rate(Some(round_trip));
        }
        self.follow_repair(ack);
        // UpdateModelAndState().
        self.update_latest(sample);
        self.update_congestion(sample);
        self.note_full_window(ack);
        self.update_aggregation(ack);
        self.check_full_rate(sample);
        self.check_startup(sample);
        self.check_drain(ack);
        self.update_cycle(ack);
        self.update_round_trip(ack);
        self.check_probe_round_trip(ack);
        self.advance_latest(sample);
        self.bound_rate();
        // UpdateControlParameters().
        self.set_pacing_rate_with(self.pacing_gain());
        self.set_window(ack);
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u64 = 1000;
    const ROUND_TRIP: Duration = Duration::from_millis(100);

    fn at(millis: u64) -> Instant {
        Instant::from_nanos(millis * 1_000_000)
    }

    /// A flow in a state, on a path with a megabyte a second and 100 ms, which holds 100 segments.
    fn flow(state: State) -> Bbr3 {
        let mut flow = Bbr3::new(LEN, 10 * LEN);
        flow.state = state;
        flow.is_pipe_full = state != State::Startup;
        flow.rates = [1_000_000, 1_000_000];
        flow.rate = 1_000_000;
        flow.pacing_rate = 990_000;
        flow.round_trip = Some(ROUND_TRIP);
        flow.window = 200 * LEN;
        flow
    }

    /// Formerly, the hundredth was taken off before the rest was multiplied. So up to 99 bytes a
    /// second were lost, which is half of a slow path's rate.
    #[test]
    fn a_slow_path_is_paced_a_hundredth_below_its_rate() {
        let mut flow = flow(State::Cruise);
        flow.rate = 199;
        flow.set_pacing_rate_with(ONE);
        assert_eq!(flow.pacing_rate, 197);
    }

    fn sample(rate: u64) -> RateSample {
        RateSample {
            rate: Some(rate),
            round_trip: Some(ROUND_TRIP),
            prior_delivered: 0,
            is_app_limited: false,
            delivered: rate / 10,
            lost: 0,
            in_flight: rate / 10,
        }
    }

    /// An acknowledgement that tells of one segment.
    fn ack(now: Instant, delivered: u64, sample: RateSample) -> Acknowledged {
        Acknowledged {
            now,
            sample: Some(sample),
            newly_delivered: LEN,
            lost: 0,
            delivered,
            was_in_flight: sample.in_flight,
            in_flight: sample.in_flight - LEN,
            lost_in_all: 0,
            held_for: Duration::ZERO,
            is_repairing: false,
            is_recovering: false,
        }
    }

    /// The table in the draft's summary of control behaviour: the pacing gain, the window's gain,
    /// and the bound on what is in flight. Here inflight_longterm is 150 segments,
    /// inflight_shortterm is 120 or none, and the path holds 100.
    #[test]
    fn states_have_the_gains_and_bounds_of_the_draft() {
        let table = [
            (State::Startup, 277, 200, NONE),
            (State::Drain, 50, 200, NONE),
            (State::Down, 90, 200, 150_000),
            (State::Cruise, 100, 200, 127_500),
            (State::Refill, 100, 200, 150_000),
            (State::Up, 125, 225, 150_000),
            (State::ProbeRoundTrip, 100, 50, 50_000),
        ];
        for (state, pacing, window, bound) in table {
            let mut flow = flow(state);
            assert_eq!(flow.pacing_gain().of(100), pacing, "{state:?}");
            assert_eq!(flow.window_gain().of(100), window, "{state:?}");
            flow.long_flight = 150 * LEN;
            let ack = ack(at(1000), 1_000_000, sample(1_000_000));
            flow.set_window(&ack);
            let free = flow.window_gain().of(100_000).min(201_000);
            let two_more = if state == State::Up { 2000 } else { 0 };
            assert_eq!(flow.window, bound.min(free + two_more), "{state:?}");
            flow.short_flight = 120 * LEN;
            flow.set_window(&ack);
            assert_eq!(flow.window, bound.min(120_000), "{state:?}");
        }
    }

    /// 2% are lost at the computed volume in flight, and not a byte before.
    #[test]
    fn the_flight_at_a_loss_is_where_losses_reach_two_hundredths() {
        let reaches = |lost: u64, flight: u64| 100 * lost >= 2 * flight;
        for (len, flight_before, lost_before) in [
            (65_000, 100_000, 0),
            (65_000, 100_000, 1_500),
            (1_000, 49_500, 500),
            (1_000, 100_000, 1_500),
            (65_000, 3_000_000, 59_000),
        ] {
            let found = flight_at_loss(&Lost {
                sequence: 0,
                len,
                in_flight: flight_before + u64::from(len),
                lost: lost_before + u64::from(len),
                is_app_limited: false,
            });
            let prefix = (0..).find(|prefix| reaches(lost_before + prefix, flight_before + prefix));
            let expected = flight_before + prefix.expect("there is one");
            assert!(expected - found <= 1, "{found} and {expected}");
        }
    }

    /// T_bbr is drawn from 2 to 3 s. T_reno takes 62 or 63 rounds, or as many as the path holds
    /// segments.
    #[test]
    fn waits_are_those_of_the_draft() {
        let mut flow = flow(State::Down);
        let (mut waits, mut early) = (Vec::new(), 0);
        for number in 0..1000 {
            flow.pick_wait(at(17 * number));
            waits.push(flow.probe_wait.as_secs_f64());
            early += flow.rounds_since_up;
        }
        waits.sort_by(f64::total_cmp);
        assert!(waits[0] >= 2.0 && waits[999] < 3.0);
        assert!((2.05..2.15).contains(&waits[100]) && (2.85..2.95).contains(&waits[900]));
        assert!((400..600).contains(&early), "{early}");
        flow.cycle_at = at(0);
        flow.probe_wait = Duration::from_millis(2500);
        for (window, rounds) in [(200, 63), (40, 40)] {
            flow.window = window * LEN;
            flow.rounds_since_up = rounds - 1;
            assert!(!flow.is_time_to_probe(at(2500)));
            assert!(flow.is_time_to_probe(at(2501)));
            flow.rounds_since_up = rounds;
            assert!(flow.is_time_to_probe(at(0)));
        }
    }

    /// inflight_longterm grows by 1, 2, 4 and 8 segments in the rounds of ProbeBW_UP, but only if
    /// the window is in full use.
    #[test]
    fn the_end_moves_up_by_a_segment_and_twice_as_many_each_round() {
        let mut flow = flow(State::Refill);
        flow.long_flight = 200 * LEN;
        flow.start_up(None);
        let mut grown = Vec::new();
        for _ in 0..4 {
            let before = flow.long_flight;
            let segments = flow.window / LEN;
            for number in 0..segments {
                flow.window = flow.long_flight;
                flow.is_round_start = number + 1 == segments;
                flow.was_window_full = [true, false];
                let ack = ack(at(1000), 0, sample(1_000_000));
                flow.probe_upward(&ack);
            }
            grown.push((flow.long_flight - before) / LEN);
        }
        assert_eq!(grown, [1, 2, 4, 8]);
        flow.window = flow.long_flight;
        let before = flow.long_flight;
        flow.was_window_full = [false, false];
        flow.probe_upward(&ack(at(1000), 0, sample(1_000_000)));
        flow.was_window_full = [true, false];
        flow.window -= LEN;
        flow.probe_upward(&ack(at(1000), 0, sample(1_000_000)));
        assert_eq!((flow.long_flight, flow.up_delivered), (before, 0));
    }

    /// A round with losses lowers the short-term model to what was delivered, but by no more than
    /// three tenths. While the flow probes, it lowers nothing.
    #[test]
    fn losses_lower_the_short_term_model_by_three_tenths_at_most() {
        let mut flow = flow(State::Cruise);
        flow.is_loss_in_round = true;
        (flow.latest_rate, flow.latest_flight) = (900_000, 90_000);
        flow.adapt_lower_bounds();
        assert_eq!((flow.short_rate, flow.short_flight), (900_000, 140_000));
        (flow.latest_rate, flow.latest_flight) = (100_000, 10_000);
        flow.adapt_lower_bounds();
        assert_eq!((flow.short_rate, flow.short_flight), (630_000, 98_000));
        flow.is_loss_in_round = false;
        flow.adapt_lower_bounds();
        assert_eq!(flow.short_rate, 630_000);
        flow.bound_rate();
        assert_eq!(flow.rate, 630_000);
        for state in [State::Startup, State::Refill, State::Up] {
            let mut flow = self::flow(state);
            flow.is_loss_in_round = true;
            flow.adapt_lower_bounds();
            assert_eq!((flow.short_rate, flow.short_flight), (NONE, NONE));
        }
    }

    fn lost(sequence: u64, lost: u64) -> Lost {
        Lost {
            sequence,
            len: LEN as u32,
            in_flight: 130 * LEN,
            lost: lost * LEN,
            is_app_limited: false,
        }
    }

    /// When the third segment of 130 is lost, that is more than 2%. So the probe ends at the flight
    /// that was too much, once for each probe, and the next one is short.
    #[test]
    fn a_probe_ends_at_two_hundredths_of_loss() {
        let mut flow = flow(State::Up);
        flow.is_probe_sample = true;
        for number in 1..3 {
            flow.on_loss(at(1000), 1_000_000, &lost(number * 10_000, number));
            assert_eq!((flow.state, flow.long_flight), (State::Up, NONE));
        }
        flow.on_loss(at(1000), 1_000_000, &lost(30_000, 3));
        assert_eq!((flow.state, flow.was_too_high), (State::Down, true));
        let end = flow.long_flight;
        assert!((129_000..130_000).contains(&end), "{end}");
        flow.on_loss(at(1000), 1_000_000, &lost(40_000, 100));
        assert_eq!(flow.long_flight, end, "once for each probe");
        // The next time, reaching that end is enough.
        let mut flow = self::flow(State::Up);
        flow.long_flight = end;
        let mut ack = ack(at(1000), 0, sample(1_000_000));
        ack.was_in_flight = 128_000;
        flow.was_too_high = true;
        assert!(!flow.is_time_to_go_down(&ack));
        ack.was_in_flight = 129_000;
        assert!(flow.is_time_to_go_down(&ack) && flow.was_precautionary);
        flow.was_too_high = false;
        assert!(!flow.is_time_to_go_down(&ack), "without a loss it goes on");
    }

    /// However small the flight was that lost too much, the flow gives up no more than three
    /// tenths.
    #[test]
    fn a_probe_that_loses_takes_three_tenths_at_most() {
        let mut flow = flow(State::Up);
        flow.is_probe_sample = true;
        let early = Lost {
            in_flight: 50 * LEN,
            ..lost(0, 2)
        };
        flow.on_loss(at(1000), 1_000_000, &early);
        assert_eq!((flow.state, flow.long_flight), (State::Down, 70_000));
    }

    /// If a short probe lost nothing, another one follows at once, a round after its end.
    #[test]
    fn a_short_probe_without_losses_is_followed_by_a_long_one() {
        for (is_short, was_too_high, state) in [
            (true, false, State::Refill),
            (true, true, State::Down),
            (false, false, State::Down),
        ] {
            let mut flow = flow(State::Up);
            flow.start_down(at(1000));
            flow.was_precautionary = is_short;
            flow.was_too_high = was_too_high;
            flow.adapt_long_term(&ack(at(1050), 0, sample(1_000_000)));
            assert_eq!(flow.state, State::Down, "not before a round is over");
            flow.is_round_start = true;
            flow.adapt_long_term(&ack(at(1100), 0, sample(1_000_000)));
            assert_eq!(flow.state, state, "{is_short}, {was_too_high}");
        }
    }

    /// When a repair or a probe of the round trip ends, the window before it comes back. After such
    /// a probe the flow cruises, or begins its start again if that was not over.
    #[test]
    fn the_window_comes_back() {
        let mut flow = flow(State::Cruise);
        let mut ack = ack(at(1000), 0, sample(1_000_000));
        ack.is_repairing = true;
        flow.follow_repair(&ack);
        flow.window = 20 * LEN;
        flow.follow_repair(&ack);
        assert_eq!(flow.window, 20 * LEN);
        ack.is_repairing = false;
        flow.follow_repair(&ack);
        assert_eq!(flow.window, 200 * LEN);
        flow.time_out();
        assert_eq!(flow.repair_after_timeout(0, 3 * LEN), 4 * LEN);
        flow.follow_repair(&ack);
        assert_eq!(flow.window, 200 * LEN);
        for (is_pipe_full, state) in [(true, State::Cruise), (false, State::Startup)] {
            flow.is_pipe_full = is_pipe_full;
            flow.state = State::ProbeRoundTrip;
            flow.probe_ends = Some(at(2000));
            flow.window = 50 * LEN;
            flow.check_probe_done(at(2000));
            assert_eq!((flow.state, flow.window), (State::ProbeRoundTrip, 50 * LEN));
            flow.check_probe_done(at(2001));
            assert_eq!((flow.state, flow.window), (state, 200 * LEN));
        }
    }

    /// A window counts as full if it was full in this round or in the one before.
    #[test]
    fn a_full_window_counts_for_two_rounds() {
        let mut flow = flow(State::Up);
        let mut ack = ack(at(1000), 0, sample(1_000_000));
        ack.was_in_flight = flow.window - LEN;
        flow.note_full_window(&ack);
        assert!(!flow.is_window_full(), "a segment had room");
        ack.was_in_flight += 1;
        flow.note_full_window(&ack);
        ack.was_in_flight = 0;
        flow.is_round_start = true;
        flow.note_full_window(&ack);
        assert!(flow.is_window_full());
        flow.note_full_window(&ack);
        assert!(!flow.is_window_full());
    }

    /// Where the flight stays above what the path holds, Drain ends in its fourth round.
    #[test]
    fn drain_lasts_three_rounds_at_most() {
        let mut flow = flow(State::Drain);
        flow.drain_round = 5;
        let mut ack = ack(at(1000), 0, sample(1_000_000));
        ack.in_flight = 101_000;
        flow.round = 8;
        flow.check_drain(&ack);
        assert_eq!(flow.state, State::Drain);
        flow.round = 9;
        flow.check_drain(&ack);
        assert_eq!(flow.state, State::Down);
        let mut flow = self::flow(State::Drain);
        ack.in_flight = 100_000;
        flow.check_drain(&ack);
        assert_eq!(flow.state, State::Down, "the path holds as much");
    }

    /// If the rate grows by less than a quarter in three rounds, it is the path's.
    #[test]
    fn three_rounds_without_growth_end_the_start() {
        let mut flow = Bbr3::new(LEN, 10 * LEN);
        for (number, rate) in [100, 200, 249, 248, 312, 320, 330, 339]
            .into_iter()
            .enumerate()
        {
            let delivered = 100_000 * (number as u64 + 1);
            let sample = RateSample {
                prior_delivered: delivered - 100_000,
                ..sample(1000 * rate)
            };
            assert_eq!(flow.state, State::Startup, "{rate}");
            let mut ack = ack(at(100 * number as u64), delivered, sample);
            ack.in_flight = 200_000;
            flow.on_ack(&ack);
        }
        assert_eq!((flow.state, flow.max_rate()), (State::Drain, 339_000));
        assert_eq!(flow.long_flight, NONE);
    }

    /// Losses end the start only after a whole round of repair, and only if six ranges and more
    /// than 2% were lost in the round.
    #[test]
    fn six_ranges_lost_in_a_round_of_repair_end_the_start() {
        let ends = |ranges: u64, lost_bytes: u64, is_long: bool| {
            let mut flow = flow(State::Startup);
            flow.was_repairing = true;
            flow.round = 7;
            flow.repair_round = if is_long { 6 } else { 7 };
            for number in 0..ranges {
                // Two segments each, which touch.
                flow.on_loss(at(1000), 500_000, &lost(10_000 * number, 1));
                flow.on_loss(at(1000), 500_000, &lost(10_000 * number + LEN, 1));
            }
            let sample = RateSample {
                prior_delivered: 500_000,
                lost: lost_bytes,
                ..sample(1_000_000)
            };
            flow.delivered = 600_000;
            flow.update_latest(Some(&sample));
            flow.check_startup(Some(&sample));
            flow.state == State::Drain && flow.long_flight == 100_000
        };
        assert!(ends(6, 2001, true));
        assert!(!ends(5, 2001, true));
        assert!(!ends(6, 2000, true));
        assert!(!ends(6, 2001, false));
    }

    /// The previous cycle counts for max_bw, too, but no cycle before that.
    #[test]
    fn the_rate_is_that_of_two_cycles() {
        let mut flow = flow(State::Cruise);
        flow.rates = [900, 1000];
        flow.advance_rates();
        assert_eq!(flow.max_rate(), 1000);
        flow.advance_rates();
        assert_eq!(
            flow.max_rate(),
            1000,
            "a cycle without a sample does not count"
        );
        flow.update_max_rate(Some(&sample(400)));
        flow.advance_rates();
        assert_eq!(flow.max_rate(), 400);
        let limited = RateSample {
            is_app_limited: true,
            ..sample(300)
        };
        flow.update_max_rate(Some(&limited));
        assert_eq!(flow.rates, [400, 0]);
    }
}
