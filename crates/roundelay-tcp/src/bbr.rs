//! BBR, version 1: instead of losses, it goes by a model of the path, which is its bandwidth and
//! its shortest round trip. It follows draft-cardwell-iccrg-bbr-congestion-control-00, whose names
//! stand at the steps. Rates are in bytes a second.
//!
//! Some points are not in that draft. As in Linux, packets are paced 1% below the bandwidth found,
//! so that a queue drains, and the window has room for acknowledgements that come in groups (draft
//! -02 has this as BBRUpdateACKAggregation()). While the flow probes for bandwidth, the window has
//! two segments more, also as in draft -02. The cycle of ProbeBW begins at a phase that is drawn
//! from the time at which it begins, because there is no generator. As in Linux, only the
//! application's next write tells that it had no data, and not what is sent again before. Groups of
//! acknowledgements count as far as the bandwidth brings in 100 ms, bursts are whole segments, and a
//! fast recovery after a timeout conserves packets as any other one does. `policer.rs` has the rate
//! of policers.

use std::collections::VecDeque;

use roundelay::{Duration, Instant};

use crate::model::{Acknowledged, Gain, PACED, PathModel, carried, first_pacing_rate, push_most};
use crate::policer::{Policer, Tally, Tells};

/// BBRHighGain: 2 / ln 2, the smallest gain with which a rate can double each round.
const HIGH: Gain = Gain(2885, 1000);
/// BBRDrainGain.
const DRAIN: Gain = Gain(1000, 2885);
const ONE: Gain = Gain(1, 1);
const TWO: Gain = Gain(2, 1);
/// The pacing gains of ProbeBW (section 4.3.4.1).
const CYCLE: [Gain; 8] = [Gain(5, 4), Gain(3, 4), ONE, ONE, ONE, ONE, ONE, ONE];
/// BtlBwFilterLen, in rounds.
const BANDWIDTH_ROUNDS: u64 = 10;
/// What a group of acknowledgements adds to the window is at most what comes in this time.
const LONGEST_GROUP: Duration = Duration::from_millis(100);
/// RTpropFilterLen.
const ROUND_TRIP_AGE: Duration = Duration::from_secs(10);
/// ProbeRTTDuration.
const PROBE_TIME: Duration = Duration::from_millis(200);
/// BBRMinPipeCwnd, in segments.
const LEAST_SEGMENTS: u64 = 4;
/// A pipe is full if the bandwidth has grown by less than a quarter in three rounds (section
/// 4.3.2.2).
const GROWTH: Gain = Gain(5, 4);
const ROUNDS_WITHOUT_GROWTH: u32 = 3;

/// The states that the flow goes through (section 4.3.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Startup,
    Drain,
    ProbeBandwidth,
    ProbeRoundTrip,
}

/// What BBR keeps for a connection.
#[derive(Debug, Clone)]
pub(crate) struct Bbr {
    segment_len: u64,
    initial_window: u64,
    state: State,
    /// BBR.BtlBw: the highest rate in the last rounds, kept as falling rates with their rounds.
    rates: VecDeque<(u64, u64)>,
    /// Groups of acknowledgements: when the present one began, how many bytes it told of, and
    /// BBR.extra_acked, which is by how much the groups in the last rounds were ahead of the
    /// bandwidth (kept as in `rates`).
    group_start: Instant,
    group: u64,
    extras: VecDeque<(u64, u64)>,
    /// BBR.RTprop, and when it was found.
    round_trip: Option<Duration>,
    round_trip_at: Instant,
    /// BBR.round_count, BBR.next_round_delivered, BBR.round_start.
    round: u64,
    next_round_delivered: u64,
    is_round_start: bool,
    /// BBR.filled_pipe, BBR.full_bw, BBR.full_bw_count.
    is_pipe_full: bool,
    full_rate: u64,
    rounds_without_growth: u32,
    /// BBR.pacing_gain, BBR.cwnd_gain.
    pacing_gain: Gain,
    window_gain: Gain,
    /// BBR.cycle_index, BBR.cycle_stamp.
    phase: usize,
    phase_at: Instant,
    /// BBR.probe_rtt_done_stamp, BBR.probe_rtt_round_done.
    probe_ends: Option<Instant>,
    is_probe_round_done: bool,
    /// BBR.idle_restart.
    is_idle_restart: bool,
    /// BBR.packet_conservation, and whether losses were under repair before, and a fast recovery on.
    conserves: bool,
    was_repairing: bool,
    was_recovering: bool,
    policer: Policer,
    /// What was counted at the last acknowledgement.
    tally: Tally,
    /// BBR.pacing_rate, or 0 before the first sample.
    pacing_rate: u64,
    window: u64,
    /// BBR.prior_cwnd.
    prior_window: u64,
}

impl Bbr {
    /// BBRInit(), with segments of `segment_len` bytes and a window in bytes.
    pub(crate) fn new(segment_len: u64, initial_window: u64) -> Self {
        Self {
            segment_len,
            initial_window,
            state: State::Startup,
            rates: VecDeque::new(),
            group_start: Instant::ZERO,
            group: 0,
            extras: VecDeque::new(),
            round_trip: None,
            round_trip_at: Instant::ZERO,
            round: 0,
            next_round_delivered: 0,
            is_round_start: false,
            is_pipe_full: false,
            full_rate: 0,
            rounds_without_growth: 0,
            pacing_gain: HIGH,
            window_gain: HIGH,
            phase: 0,
            phase_at: Instant::ZERO,
            probe_ends: None,
            is_probe_round_done: false,
            is_idle_restart: false,
            conserves: false,
            was_repairing: false,
            was_recovering: false,
            policer: Policer::default(),
            tally: Tally::default(),
            pacing_rate: 0,
            window: initial_window,
            prior_window: 0,
        }
    }

    /// The highest rate of the last rounds.
    fn highest_rate(&self) -> u64 {
        self.rates.front().map_or(0, |(_, rate)| *rate)
    }

    /// The bandwidth to send at: the policer's rate if there is one.
    fn bandwidth(&self) -> u64 {
        self.policer.rate().unwrap_or_else(|| self.highest_rate())
    }

    /// BBRUpdateRound() and BBRUpdateBtlBw() (sections 4.1.1.3 and 4.1.2.1).
    fn update_bandwidth(&mut self, ack: &Acknowledged) {
        self.is_round_start = false;
        let Some(sample) = ack.sample else { return };
        if sample.prior_delivered >= self.next_round_delivered {
            self.next_round_delivered = ack.delivered;
            self.round += 1;
            self.is_round_start = true;
        }
        self.follow_policer(Tells {
            tally: self.tally,
            loses: ack.lost > 0,
            is_round_start: self.is_round_start,
            is_app_limited: sample.is_app_limited,
        });
        let Some(rate) = sample.rate else { return };
        if rate < self.highest_rate() && sample.is_app_limited {
            return;
        }
        push_most(&mut self.rates, self.round, rate, BANDWIDTH_ROUNDS);
    }

    /// Goes by the rate of a policer without probing for more, or looks whether there is one.
    fn follow_policer(&mut self, tells: Tells) {
        let is_probing = self.state == State::ProbeBandwidth;
        if self.policer.rate().is_none() {
            if self.policer.sample(tells) && is_probing {
                self.pacing_gain = ONE;
            }
            return;
        }
        if is_probing && tells.is_round_start && self.policer.is_over(tells.tally) {
            self.enter_probe_bandwidth(tells.tally.at);
        }
    }

    /// BBRUpdateACKAggregation() (draft -02, section 4.5.5).
    fn update_aggregation(&mut self, ack: &Acknowledged) {
        let span = ack.now.since(self.group_start);
        let mut expected = carried(self.bandwidth(), span);
        if self.group <= expected {
            self.group = 0;
            self.group_start = ack.now;
            expected = 0;
        }
        self.group += ack.newly_delivered;
        let extra = self.group.saturating_sub(expected).min(self.window);
        push_most(&mut self.extras, self.round, extra, BANDWIDTH_ROUNDS);
    }

    /// BBRInflight(): what the path holds at a bandwidth and a gain, plus three bursts from the
    /// sender, and two segments if the flow probes. Rounded up to an even number of segments, for
    /// receivers that acknowledge every second one.
    fn target(&self, bandwidth: u64, gain: Gain, extra: u64) -> u64 {
        let Some(round_trip) = self.round_trip else {
            return self.initial_window;
        };
        if bandwidth == 0 {
            return self.initial_window;
        }
        let pair = 2 * self.segment_len;
        let more = match self.state {
            State::ProbeBandwidth if self.phase == 0 => pair,
            _ => 0,
        };
        let held = gain.of(carried(bandwidth, round_trip));
        let all = held.saturating_add(extra + 3 * self.quantum());
        all.div_ceil(pair).saturating_mul(pair).saturating_add(more)
    }

    /// BBRSetSendQuantum() (section 4.2.2): as in Linux whole segments, and those of 1/1024 s.
    fn quantum(&self) -> u64 {
        let rate = self.pacing_rate(None);
        let least = if sends_one_by_one(rate) { 1 } else { 2 };
        let segments = (rate / 1024).min(64 * 1024) / self.segment_len;
        segments.max(least) * self.segment_len
    }

    /// BBRCheckCyclePhase() (section 4.3.4.4).
    fn check_cycle_phase(&mut self, ack: &Acknowledged) {
        if self.state == State::ProbeBandwidth && self.is_next_phase(ack) {
            self.phase = (self.phase + 1) % CYCLE.len();
            self.phase_at = ack.now;
            self.pacing_gain = self.gain_of_phase();
        }
    }

    /// What the phase paces at: a policer is not probed.
    fn gain_of_phase(&self) -> Gain {
        match self.policer.rate() {
            Some(_) => ONE,
            None => CYCLE[self.phase],
        }
    }

    /// BBRIsNextCyclePhase(): whether this phase of ProbeBW is over.
    fn is_next_phase(&self, ack: &Acknowledged) -> bool {
        let length = self.round_trip.unwrap_or(Duration::ZERO);
        let is_full_length = ack.now.since(self.phase_at) > length;
        let rate = self.highest_rate();
        let in_network = self.in_network(ack.was_in_flight, ack.held_for);
        match self.pacing_gain {
            ONE => is_full_length,
            // 5/4: more is in the network, or losses say that no more fits.
            gain if self.phase == 0 => {
                let target = self.target(rate, gain, 0);
                is_full_length && (ack.lost > 0 || in_network >= target)
            }
            // 3/4: the queue that probing has built is drained.
            _ => is_full_length || in_network <= self.target(rate, ONE, 0),
        }
    }

    /// What will be in the network when pacing lets the next burst go, which counts if the flow sends
    /// more than the bandwidth: so Linux reckons what is in flight.
    fn in_network(&self, in_flight: u64, held_for: Duration) -> u64 {
        let Gain(numerator, denominator) = self.pacing_gain;
        let burst = if numerator > denominator {
            self.quantum()
        } else {
            0
        };
        let arrives = carried(self.bandwidth(), held_for);
        (in_flight + burst).saturating_sub(arrives)
    }

    /// BBRCheckFullPipe() (section 4.3.2.2).
    fn check_full_pipe(&mut self, ack: &Acknowledged) {
        let is_app_limited = ack.sample.is_none_or(|sample| sample.is_app_limited);
        if self.is_pipe_full || !self.is_round_start || is_app_limited {
            return;
        }
        if self.highest_rate() >= GROWTH.of(self.full_rate) {
            self.full_rate = self.highest_rate();
            self.rounds_without_growth = 0;
            return;
        }
        self.rounds_without_growth += 1;
        self.is_pipe_full = self.rounds_without_growth >= ROUNDS_WITHOUT_GROWTH;
    }

    /// BBRCheckDrain() (section 4.3.3).
    fn check_drain(&mut self, ack: &Acknowledged) {
        if self.state == State::Startup && self.is_pipe_full {
            self.state = State::Drain;
            self.pacing_gain = DRAIN;
            self.window_gain = HIGH;
        }
        let drained = self.target(self.highest_rate(), ONE, 0);
        let in_network = self.in_network(ack.in_flight, ack.held_for);
        if self.state == State::Drain && in_network <= drained {
            self.enter_probe_bandwidth(ack.now);
        }
    }

    /// BBREnterProbeBW(): begins at any phase but the one that drains.
    fn enter_probe_bandwidth(&mut self, now: Instant) {
        self.state = State::ProbeBandwidth;
        self.window_gain = TWO;
        // The last bits of a product with an odd number are as good as drawn.
        let drawn = (now.as_picos().wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize % 7;
        self.phase = (CYCLE.len() - drawn) % CYCLE.len();
        self.phase_at = now;
        self.pacing_gain = self.gain_of_phase();
    }

    /// BBRUpdateRTprop() (section 4.1.2.3). Returns whether the round trip was too old.
    fn update_round_trip(&mut self, ack: &Acknowledged) -> bool {
        let age = ack.now.since(self.round_trip_at);
        let is_expired = self.round_trip.is_some() && age > ROUND_TRIP_AGE;
        let found = ack.sample.and_then(|sample| sample.round_trip);
        if let Some(found) = found
            && (is_expired || self.round_trip.is_none_or(|shortest| found <= shortest))
        {
            self.round_trip = Some(found);
            self.round_trip_at = ack.now;
        }
        is_expired
    }

    /// BBRCheckProbeRTT() (section 4.3.5).
    fn check_probe_round_trip(&mut self, ack: &Acknowledged, is_expired: bool) {
        if self.state != State::ProbeRoundTrip && is_expired && !self.is_idle_restart {
            self.save_window();
            self.state = State::ProbeRoundTrip;
            self.pacing_gain = ONE;
            self.window_gain = ONE;
            self.probe_ends = None;
        }
        if self.state == State::ProbeRoundTrip {
            self.go_on_probing(ack);
        }
        if ack.sample.is_some() {
            self.is_idle_restart = false;
        }
    }

    /// BBRHandleProbeRTT(): keeps the window small for a round, and for at least the shortest time.
    fn go_on_probing(&mut self, ack: &Acknowledged) {
        let Some(ends) = self.probe_ends else {
            if ack.in_flight <= self.least() {
                self.probe_ends = Some(ack.now + PROBE_TIME);
                self.is_probe_round_done = false;
                self.next_round_delivered = ack.delivered;
            }
            return;
        };
        self.is_probe_round_done |= self.is_round_start;
        if self.is_probe_round_done && ack.now > ends {
            self.end_probe(ack.now);
        }
    }

    /// BBRExitProbeRTT().
    fn end_probe(&mut self, now: Instant) {
        self.round_trip_at = now;
        self.restore_window();
        if self.is_pipe_full {
            self.enter_probe_bandwidth(now);
        } else {
            self.state = State::Startup;
            self.pacing_gain = HIGH;
            self.window_gain = HIGH;
        }
    }

    /// BBRSetPacingRateWithGain() (section 4.2.1). The rate does not fall before the pipe is full.
    fn set_pacing_rate_with(&mut self, gain: Gain) {
        let rate = PACED.of(gain.of(self.bandwidth()));
        if rate > 0 && (self.is_pipe_full || rate > self.pacing_rate) {
            self.pacing_rate = rate;
        }
    }

    fn least(&self) -> u64 {
        LEAST_SEGMENTS * self.segment_len
    }

    /// BBRSaveCwnd().
    fn save_window(&mut self) {
        let is_whole = !self.was_repairing && self.state != State::ProbeRoundTrip;
        self.prior_window = if is_whole {
            self.window
        } else {
            self.prior_window.max(self.window)
        };
    }

    /// BBRRestoreCwnd().
    fn restore_window(&mut self) {
        self.window = self.window.max(self.prior_window);
    }

    /// BBRSetCwnd() (section 4.2.3.6).
    fn set_window(&mut self, ack: &Acknowledged) {
        self.follow_recovery(ack);
        // BBRModulateCwndForRecovery().
        if ack.lost > 0 {
            self.window = self.window.saturating_sub(ack.lost).max(self.segment_len);
        }
        if self.conserves {
            self.window = self.window.max(ack.in_flight + ack.newly_delivered);
        } else {
            let most = carried(self.bandwidth(), LONGEST_GROUP);
            let extra = match self.extras.front() {
                Some((_, extra)) if self.is_pipe_full => (*extra).min(most),
                _ => 0,
            };
            let target = self.target(self.bandwidth(), self.window_gain, extra);
            if self.is_pipe_full {
                self.window = (self.window + ack.newly_delivered).min(target);
            } else if self.window < target || ack.delivered < self.initial_window {
                self.window += ack.newly_delivered;
            }
            self.window = self.window.max(self.least());
        }
        // BBRModulateCwndForProbeRTT().
        if self.state == State::ProbeRoundTrip {
            self.window = self.window.min(self.least());
        }
    }

    /// Begins and ends packet conservation, which lasts for the first round of a fast recovery
    /// (section 4.2.3.4), also of one after a timeout.
    fn follow_recovery(&mut self, ack: &Acknowledged) {
        if ack.is_recovering && !self.was_recovering {
            self.save_window();
            self.window = ack.in_flight + ack.newly_delivered.max(self.segment_len);
            self.conserves = true;
            // The repair's round begins now.
            self.next_round_delivered = ack.delivered;
        } else if self.is_round_start || !ack.is_repairing {
            self.conserves = false;
        }
        if self.was_repairing && !ack.is_repairing {
            self.restore_window();
        }
        self.was_repairing = ack.is_repairing;
        self.was_recovering = ack.is_recovering;
    }
}

/// Whether a burst at this many bytes a second may be a single segment: below 1.2 Mbit/s (section
/// 4.2.2).
pub(crate) const fn sends_one_by_one(rate: u64) -> bool {
    rate < 150_000
}

impl PathModel for Bbr {
    /// BBRInit(): RTprop is the round trip of the handshake.
    fn begin(&mut self, now: Instant, round_trip: Option<Duration>) {
        self.round_trip = round_trip.filter(|round_trip| *round_trip > Duration::ZERO);
        self.round_trip_at = now;
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

    fn pacing_rate(&self, smoothed: Option<Duration>) -> u64 {
        if self.pacing_rate > 0 {
            return self.pacing_rate;
        }
        first_pacing_rate(self.initial_window, smoothed, HIGH)
    }

    /// BBRHandleRestartFromIdle().
    fn restart_from_idle(&mut self, now: Instant) -> Option<u64> {
        self.is_idle_restart = true;
        // As in Linux, a group of acknowledgements does not span the silence.
        (self.group_start, self.group) = (now, 0);
        if self.state == State::ProbeBandwidth {
            self.set_pacing_rate_with(ONE);
        } else if self.state == State::ProbeRoundTrip
            && self.probe_ends.is_some_and(|ends| now > ends)
        {
            // As in Linux, a silence is as good as the round that a probe waits for.
            self.end_probe(now);
            return Some(self.window);
        }
        None
    }

    /// The window grows back from one segment (section 4.2.3.4).
    fn time_out(&mut self) {
        self.save_window();
        self.window = self.segment_len;
        self.was_repairing = true;
        self.was_recovering = false;
        self.conserves = false;
        // As in Linux, a timeout ends a round.
        self.full_rate = 0;
    }

    fn repair_after_timeout(&mut self, lost_in_all: u64, in_flight: u64) -> u64 {
        self.tally.lost = lost_in_all;
        self.follow_policer(Tells {
            tally: self.tally,
            loses: true,
            is_round_start: true,
            is_app_limited: false,
        });
        self.window = in_flight + self.segment_len;
        self.window
    }

    /// BBRUpdateOnACK().
    fn on_ack(&mut self, ack: &Acknowledged) -> u64 {
        if self.pacing_rate == 0
            && let Some(round_trip) = ack.sample.and_then(|sample| sample.round_trip)
        {
            // BBRInitPacingRate(). Until the pipe is full, the rate never falls below this one.
            self.pacing_rate = self.pacing_rate(Some(round_trip));
        }
        self.tally = Tally {
            at: if ack.newly_delivered > 0 {
                ack.now
            } else {
                self.tally.at
            },
            delivered: ack.delivered,
            lost: ack.lost_in_all,
        };
        self.update_bandwidth(ack);
        self.update_aggregation(ack);
        self.check_cycle_phase(ack);
        self.check_full_pipe(ack);
        self.check_drain(ack);
        let is_expired = self.update_round_trip(ack);
        self.check_probe_round_trip(ack, is_expired);
        self.set_pacing_rate_with(self.pacing_gain);
        self.set_window(ack);
        self.window
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEN: u64 = 1448;

    fn ack(is_recovering: bool, newly_delivered: u64) -> Acknowledged {
        Acknowledged {
            now: Instant::from_nanos(1_000_000_000),
            sample: None,
            newly_delivered,
            lost: 0,
            delivered: 100 * LEN,
            lost_in_all: 0,
            was_in_flight: 20 * LEN,
            in_flight: 20 * LEN,
            held_for: Duration::ZERO,
            is_repairing: true,
            is_recovering,
        }
    }

    /// A retransmission lost after a timeout begins a fast recovery, whose first round sends as much
    /// as arrives.
    #[test]
    fn a_recovery_after_a_timeout_conserves_packets() {
        let mut bbr = Bbr::new(LEN, 10 * LEN);
        bbr.window = 80 * LEN;
        bbr.time_out();
        assert_eq!(bbr.repair_after_timeout(0, 5 * LEN), 6 * LEN);
        bbr.on_ack(&ack(false, LEN));
        assert!(!bbr.conserves);
        let window = bbr.on_ack(&ack(true, 2 * LEN));
        assert_eq!(window, 22 * LEN, "20 in flight and two that arrived");
    }

    /// Bursts of 1/1024 s are whole segments, two at least.
    #[test]
    fn a_burst_is_whole_segments() {
        let mut bbr = Bbr::new(LEN, 10 * LEN);
        for (mbit, segments) in [(1, 1), (2, 2), (24, 2), (30, 2), (36, 3), (100, 8)] {
            bbr.pacing_rate = mbit * 125_000;
            assert_eq!(bbr.quantum(), segments * LEN, "{mbit} Mbit/s");
        }
    }
}
