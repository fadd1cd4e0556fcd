//! TCP sender: which segment to send next, and when the next timer expires. `recovery.rs` handles
//! acknowledgements and losses.
//!
//! Call [`Sender::poll`] until it returns None, after each of [`Sender::open`], [`Sender::supply`],
//! [`Sender::on_segment`] and [`Sender::on_timer`].

use roundelay::{Duration, Instant};

use crate::config::{Config, ConfigError, Flavour, Offload};
use crate::congestion::Congestion;
use crate::custom::CustomControl;
use crate::probe::Probe;
use crate::prr::Reduction;
use crate::ranges::Ranges;
use crate::receive_window;
use crate::rto::RetransmissionTimer;
use crate::scoreboard::Scoreboard;
use crate::segment::{Flags, Segment};

/// With [`Config::unpaced_start`] so many segments leave at once. As measured in Linux 6.1, whose
/// servers send the first ten within .1 ms with BBR, after a handshake of 60 ms.
const UNPACED_SEGMENTS: u64 = 10;

/// Which phase a sender is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum State {
    /// Not opened yet.
    Closed,
    /// Waits for the SYN-ACK.
    Connecting,
    /// The window is below the threshold and grows with each acknowledgement.
    SlowStart,
    /// The window grows by about a segment each round trip, or by CUBIC's function.
    CongestionAvoidance,
    /// Fast recovery: retransmits losses that duplicate acknowledgements tell of.
    Recovery,
    /// Retransmits the flight that is assumed lost after a timeout (with Tahoe, also after a fast
    /// retransmit), in slow start or congestion avoidance.
    Loss,
}

/// What a sender counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SenderStatistics {
    /// Segments with data, including retransmissions.
    pub segments: u64,
    /// Bytes of data in these segments.
    pub bytes: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Bytes of data in retransmissions.
    pub retransmitted_bytes: u64,
    /// SYNs, including retransmissions.
    pub syns: u64,
    /// Timeouts, including SYN timeouts.
    pub timeouts: u64,
    /// Losses that duplicate acknowledgements or time told of, which is how many fast recoveries
    /// there were.
    pub fast_retransmits: u64,
    /// Tail loss probes, which are among `segments`.
    pub probes: u64,
    /// Window reductions after a loss that a probe has repaired.
    pub losses_repaired_by_probes: u64,
    /// Window reductions after ECN marks.
    pub reductions_by_marks: u64,
    /// Segments sent beyond the window ([`rc3`](crate::rc3)). `segments` does not count them.
    pub out_of_band: u64,
    /// Acknowledgements that have no effect: for data never sent, or below an earlier
    /// acknowledgement.
    pub ignored: u64,
}

/// Phase of the sender, for the handling of acknowledgements.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Closed,
    Connecting,
    Open,
    Recovery,
    Loss,
}

impl Mode {
    /// Whether lost segments are sent again: in fast recovery, and after a timeout.
    pub(crate) fn is_repair(self) -> bool {
        matches!(self, Mode::Recovery | Mode::Loss)
    }
}

/// TCP sender of one stream of bytes.
#[derive(Debug, Clone)]
pub struct Sender {
    pub(crate) config: Config,
    pub(crate) mode: Mode,
    pub(crate) congestion: Congestion,
    pub(crate) timer: RetransmissionTimer,
    pub(crate) probe: Probe,
    /// Bytes that the application has written.
    pub(crate) supplied: u64,
    /// The first unacknowledged byte (SND.UNA, HighACK).
    pub(crate) acknowledged: u64,
    /// The next byte to send. It is less than `highest` after going back.
    pub(crate) next: u64,
    /// The byte after the highest byte sent (SND.MAX, HighData).
    pub(crate) highest: u64,
    /// The byte after the highest byte sent beyond the window, and which ranges of such data are
    /// known to have arrived.
    pub(crate) reach: u64,
    pub(crate) early: Ranges,
    /// Segments in flight, for selective acknowledgements.
    pub(crate) scoreboard: Scoreboard,
    /// Duplicate acknowledgements in a row.
    pub(crate) duplicates: u32,
    /// What `highest` was when a loss was last detected. Recovery ends when this byte is
    /// acknowledged (RecoveryPoint, `recover`).
    pub(crate) recover: Option<u64>,
    /// Whether to retransmit the first missing segment next, even if the window has no room.
    pub(crate) must_retransmit: bool,
    /// Whether recovery has seen a partial acknowledgement.
    pub(crate) is_partial: bool,
    /// How the window shrinks in this recovery, if it does so in proportion.
    pub(crate) reduction: Reduction,
    /// Whether this recovery has used the rescue retransmission.
    pub(crate) is_rescued: bool,
    /// New data sent on the first duplicates. The flight size does not count it (RFC 5681, section
    /// 3.2, step 2).
    pub(crate) limited: u64,
    /// Whether no new data was acknowledged since the last timeout.
    pub(crate) is_backed_off: bool,
    /// What `highest` was when a mark last reduced the window.
    pub(crate) marked_until: u64,
    /// Whether the next new segment tells that the window was reduced (CWR).
    pub(crate) must_tell_reduction: bool,
    /// Without timestamps, the segment that is timed: its end and when it was sent.
    pub(crate) timed: Option<(u64, Instant)>,
    /// If the receive window grows: its scale in headers, the byte after the last one that the
    /// receiver has offered to take, and the latest timestamp on an acknowledgement.
    window_scale: u32,
    offered: u64,
    heard: Instant,
    /// Whether the window had room for at least one more segment at the last poll. If so, the
    /// window was not what held the sender back.
    pub(crate) is_roomy: bool,
    sent_at: Instant,
    /// When the last tick of the clock for round trips started.
    tick: Instant,
    /// Pacing: no segment before this time.
    pub(crate) paced_until: Instant,
    /// Whether pacing held a segment back at the last poll.
    is_held: bool,
    /// Segments left of the burst that goes out now.
    pub(crate) burst: u32,
    /// Bytes of data in the queue of the sender's host, if it has a small queue.
    pub(crate) queued: u64,
    pub(crate) statistics: SenderStatistics,
}

impl Sender {
    /// Sends `bytes` bytes, or an endless stream. [`Sender::supply`] adds more.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn new(config: Config, bytes: Option<u64>) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self::closed(config, bytes, None))
    }

    /// As [`Sender::new`], but with a congestion control from another crate. A copy of the sender
    /// starts with an instance of its own.
    ///
    /// # Errors
    /// A parameter is out of its range.
    pub fn with_control(
        config: Config,
        bytes: Option<u64>,
        control: CustomControl,
    ) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self::closed(config, bytes, Some(control)))
    }

    fn closed(config: Config, bytes: Option<u64>, control: Option<CustomControl>) -> Self {
        let mut scoreboard = Scoreboard::new(&config);
        // A law from another crate replaces the configured one.
        if control.is_some() {
            scoreboard.meter = None;
        }
        Self {
            mode: Mode::Closed,
            congestion: Congestion::new(&config, control),
            timer: RetransmissionTimer::new(&config),
            probe: Probe::default(),
            supplied: bytes.unwrap_or(u64::MAX),
            acknowledged: 0,
            next: 0,
            highest: 0,
            reach: 0,
            early: Ranges::default(),
            scoreboard,
            duplicates: 0,
            recover: None,
            must_retransmit: false,
            is_partial: false,
            reduction: Reduction::default(),
            is_rescued: false,
            limited: 0,
            is_backed_off: false,
            marked_until: 0,
            must_tell_reduction: false,
            timed: None,
            window_scale: receive_window::scale(config.receive_window_bytes()),
            offered: receive_window::first(&config),
            heard: Instant::ZERO,
            is_roomy: false,
            sent_at: Instant::ZERO,
            tick: Instant::ZERO,
            paced_until: Instant::ZERO,
            is_held: false,
            burst: 0,
            queued: 0,
            statistics: SenderStatistics::default(),
            config,
        }
    }

    /// Opens the connection: [`Sender::poll`] returns a SYN, or the first window.
    pub fn open(&mut self, now: Instant) {
        if self.mode == Mode::Closed {
            self.must_retransmit = self.config.syn_exchange;
            self.mode = if self.config.syn_exchange {
                Mode::Connecting
            } else {
                Mode::Open
            };
            self.sent_at = now;
            if let Some(model) = self.congestion.model() {
                model.begin(now, None);
            }
        }
    }

    /// The handshake took this long, which the end that answers a SYN measures as well as the end
    /// that sends one. For a sender without SYNs of its own, before it sends.
    pub fn learn_round_trip(&mut self, now: Instant, round_trip: Duration) {
        self.timer.sample(round_trip, &self.config);
        self.probe.has_sample = true;
        self.begin_path(now, Some(round_trip));
    }

    /// Adds `bytes` bytes to the stream.
    pub fn supply(&mut self, bytes: u64) {
        self.tell_model_of_silence();
        self.supplied = self.supplied.saturating_add(bytes);
    }

    /// The next segment that may go now. Call until None.
    pub fn poll(&mut self, now: Instant) -> Option<Segment> {
        if let Some(meter) = &mut self.scoreboard.meter {
            meter.tell_time(now);
        }
        if let Some(rack) = &mut self.scoreboard.rack {
            rack.tell_time(now);
        }
        match self.mode {
            Mode::Closed => None,
            Mode::Connecting => self.poll_syn(now),
            _ if self.must_retransmit => self.poll_first(now),
            _ if self.probe.is_due => self.poll_probe(now),
            _ => self.poll_data(now),
        }
    }

    /// When to call [`Sender::on_timer`]: the retransmission timer, RACK's reordering timer, the
    /// timer for tail loss probes, or the pacing timer while pacing holds a segment back. While
    /// data is in flight there is always a timer.
    #[inline]
    pub fn timer(&self) -> Option<Instant> {
        let deadline = self.timer.deadline();
        if self.is_held || self.scoreboard.rack.is_some() {
            return self.earliest(deadline);
        }
        deadline
    }

    /// The first of all timers.
    fn earliest(&self, deadline: Option<Instant>) -> Option<Instant> {
        let mut earliest = deadline;
        if let Some(rack) = &self.scoreboard.rack {
            earliest = earlier(earliest, rack.deadline());
            earliest = earlier(earliest, self.probe.deadline);
        }
        if self.is_held {
            earliest = earlier(earliest, Some(self.paced_until));
        }
        earliest
    }

    /// Whether all supplied bytes are acknowledged.
    #[inline]
    pub fn is_done(&self) -> bool {
        self.acknowledged == self.supplied
    }

    /// Bytes that the application has written.
    #[inline]
    pub fn supplied(&self) -> u64 {
        self.supplied
    }

    /// Bytes acknowledged, from the first.
    #[inline]
    pub fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// The byte after the highest byte sent.
    #[inline]
    pub fn highest(&self) -> u64 {
        self.highest
    }

    /// The congestion window in bytes (cwnd), including how far Reno and NewReno inflate it in fast
    /// recovery.
    #[inline]
    pub fn window(&self) -> u64 {
        self.congestion.window
    }

    /// The slow start threshold in bytes (ssthresh).
    #[inline]
    pub fn threshold(&self) -> u64 {
        self.congestion.threshold
    }

    /// Bytes assumed to be in the network: the pipe with selective acknowledgements, otherwise what
    /// lies between the acknowledgement and the next byte to send.
    #[inline]
    pub fn in_flight(&self) -> u64 {
        if self.config.flavour == Flavour::Sack {
            self.scoreboard.pipe()
        } else {
            self.next - self.acknowledged
        }
    }

    /// The smoothed round-trip time (SRTT). None before the first measurement.
    #[inline]
    pub fn round_trip(&self) -> Option<Duration> {
        self.timer.smoothed()
    }

    /// The retransmission timeout (RTO), with backoff.
    #[inline]
    pub fn timeout(&self) -> Duration {
        self.timer.timeout()
    }

    /// The current phase.
    pub fn state(&self) -> State {
        match self.mode {
            Mode::Closed => State::Closed,
            Mode::Connecting => State::Connecting,
            Mode::Recovery => State::Recovery,
            Mode::Loss => State::Loss,
            Mode::Open if self.congestion.is_slow_start() => State::SlowStart,
            Mode::Open => State::CongestionAvoidance,
        }
    }

    /// What was counted.
    pub fn statistics(&self) -> &SenderStatistics {
        &self.statistics
    }

    /// The configuration.
    pub fn config(&self) -> &Config {
        &self.config
    }

    pub(crate) fn segment_len(&self) -> u64 {
        u64::from(self.config.segment_len)
    }

    /// The byte after the last one that the receiver takes.
    #[inline]
    pub(crate) fn receive_limit(&self) -> u64 {
        if self.config.window_growth {
            self.offered
        } else {
            self.acknowledged + self.config.receive_window_bytes()
        }
    }

    /// Notes what an acknowledgement offers. Windows do not shrink, so the end of what is offered
    /// only moves forward, in whatever order acknowledgements come.
    pub(crate) fn hear_window(&mut self, segment: &Segment) {
        let scale = if segment.is_syn() {
            0
        } else {
            self.window_scale
        };
        let end = segment
            .acknowledgement
            .saturating_add(u64::from(segment.window) << scale);
        self.offered = self.offered.max(end);
        self.heard = self.heard.max(segment.timestamp);
    }

    fn poll_data(&mut self, now: Instant) -> Option<Segment> {
        self.is_held = now < self.paced_until && self.burst == 0;
        if self.is_held {
            self.is_roomy = false;
            return None;
        }
        if self.config.flavour == Flavour::Sack {
            self.poll_by_pipe(now)
        } else {
            self.poll_by_window(now)
        }
    }

    fn poll_syn(&mut self, now: Instant) -> Option<Segment> {
        if !self.must_retransmit {
            return None;
        }
        let is_first = self.statistics.syns == 0;
        let timestamp = self.tick(now);
        self.must_retransmit = false;
        self.statistics.syns += 1;
        self.timed = is_first.then_some((0, timestamp));
        self.timer.start_if_off(now);
        let flags = Flags::SYN.with_if(!is_first, Flags::RETRANSMISSION);
        Some(Segment {
            timestamp,
            flags,
            ..Segment::default()
        })
    }

    /// The first missing segment, whatever window and pacing say.
    fn poll_first(&mut self, now: Instant) -> Option<Segment> {
        self.must_retransmit = false;
        if self.config.flavour != Flavour::Sack {
            let len = self.segment_len().min(self.highest - self.acknowledged) as u32;
            return Some(self.emit(now, self.acknowledged, len));
        }
        let Some(entry) = self.scoreboard.retransmit_first() else {
            // What was lost has arrived after all.
            return self.poll(now);
        };
        Some(self.emit(now, entry.sequence, entry.len))
    }

    /// Without selective acknowledgements: data from `next` on, if the window has room.
    fn poll_by_window(&mut self, now: Instant) -> Option<Segment> {
        let len = self.new_len(now);
        let window = self.congestion.window + self.allowance();
        let limit = (self.acknowledged + window).min(self.receive_limit());
        self.is_roomy = self.next + self.segment_len() <= self.acknowledged + window;
        let waits = self.waits_for_departures(false);
        if len == 0 || waits || self.next + u64::from(len) > limit {
            return None;
        }
        Some(self.emit_next(now, len))
    }

    /// With selective acknowledgements: RFC 6675's NextSeg(), while the pipe has room.
    fn poll_by_pipe(&mut self, now: Instant) -> Option<Segment> {
        let len = self.new_len(now);
        let is_recovery = self.mode == Mode::Recovery;
        let counts_all = self.mode == Mode::Open && !self.config.limited_transmit;
        let used = if counts_all {
            self.highest - self.acknowledged
        } else {
            self.scoreboard.pipe()
        };
        let room = self.congestion.window.saturating_sub(used);
        self.is_roomy = room >= self.segment_len();
        let waits = self.burst == 0 && self.waits_for_departures(false);
        if is_recovery && !self.is_roomy || waits && self.waits_for_departures(true) {
            return None;
        }
        if let Some((sequence, len)) = self.retransmit_lost() {
            // As with each fast retransmit. Without RACK the first segment is not sent again here.
            if self.scoreboard.rack.is_some() && sequence == self.acknowledged {
                self.timer.restart(now);
            }
            return Some(self.emit(now, sequence, len));
        }
        if waits {
            return None;
        }
        self.tell_model_of_restart(now, len);
        let fits = u64::from(len) <= room && self.next + u64::from(len) <= self.receive_limit();
        if len > 0 && fits && self.config.offload == Offload::None {
            self.scoreboard.push(self.next, len);
            return Some(self.emit_next(now, len));
        }
        if len > 0 && fits {
            return self.poll_burst(now, room);
        }
        self.burst = 0;
        let (sequence, len) = if is_recovery {
            self.missing_segment()?
        } else {
            return None;
        };
        Some(self.emit(now, sequence, len))
    }

    /// Tells the model of the path that the application had no data although the window had room.
    /// As in Linux, the application's next write tells this. What is repaired after its data has
    /// ended says as much about the path as other data does.
    fn tell_model_of_silence(&mut self) {
        let is_out = self.supplied.saturating_sub(self.next) < self.segment_len();
        let in_flight = self.scoreboard.pipe();
        let has_lost = self.scoreboard.has_lost();
        if let Some(meter) = &mut self.scoreboard.meter
            && is_out
            && in_flight < self.congestion.window
            && !has_lost
        {
            meter.limit_by_application(in_flight);
        }
    }

    /// Tells the model of the path when data follows after nothing was in the network for lack of
    /// it.
    fn tell_model_of_restart(&mut self, now: Instant, len: u32) {
        let is_limited = self
            .scoreboard
            .meter
            .as_ref()
            .is_some_and(|meter| meter.is_app_limited());
        if len > 0
            && is_limited
            && self.scoreboard.pipe() == 0
            && let Some(model) = self.congestion.model()
        {
            let window = model.restart_from_idle(now);
            self.congestion.window = window.unwrap_or(self.congestion.window);
        }
    }

    /// The length of the segment at `next`. After going back it may contain new data too. Also
    /// reduces the window if the sender was idle.
    pub(crate) fn new_len(&mut self, now: Instant) -> u32 {
        let mut end = self.supplied;
        if !self.early.is_empty() {
            self.skip_early();
            end = self.early.start().unwrap_or(end);
        }
        let len = self.segment_len().min(end - self.next) as u32;
        let silence = now.since(self.sent_at);
        let timeout = self.timer.timeout();
        let is_silent = self.highest == self.acknowledged && silence > timeout;
        // A law that paces by itself comes back from silence without a burst.
        if len > 0 && is_silent && self.scoreboard.meter.is_none() {
            let least = u64::from(self.config.initial_window) * self.segment_len();
            let rule = self.config.idle_restart;
            self.congestion
                .restart_after_silence(rule, least, [silence, timeout]);
            // Once for each silence.
            self.sent_at = now;
        }
        len
    }

    /// Bytes beyond the window that the first duplicates allow: RFC 3042.
    fn allowance(&self) -> u64 {
        if self.mode != Mode::Open || !self.config.limited_transmit {
            return 0;
        }
        u64::from(self.duplicates.min(self.config.duplicate_threshold - 1)) * self.segment_len()
    }

    pub(crate) fn emit_next(&mut self, now: Instant, len: u32) -> Segment {
        if self.duplicates > 0 && self.mode == Mode::Open {
            self.limited += u64::from(len);
        }
        let segment = self.emit(now, self.next, len);
        self.next = segment.end();
        self.highest = self.highest.max(self.next);
        if self.config.tail_loss_probe {
            self.schedule_probe(now);
        }
        segment
    }

    #[inline(always)]
    pub(crate) fn emit(&mut self, now: Instant, sequence: u64, len: u32) -> Segment {
        let is_old = sequence < self.highest;
        self.count(len, is_old);
        let timestamp = self.tick(now);
        self.time(timestamp, sequence + u64::from(len), is_old);
        self.timer.start_if_off(now);
        self.pace(now, len);
        self.reduction.send(len);
        self.sent_at = now;
        if self.config.small_queue {
            self.queued += u64::from(len);
        }
        let tells = self.must_tell_reduction && !is_old;
        self.must_tell_reduction &= !tells;
        let flags = Flags::NONE
            .with_if(is_old, Flags::RETRANSMISSION)
            .with_if(tells, Flags::CWR);
        let flags = flags.with_if(self.config.ecn && !is_old, Flags::ECT);
        Segment {
            sequence,
            len,
            timestamp,
            echo: self.heard,
            flags,
            ..Segment::default()
        }
    }

    fn count(&mut self, len: u32, is_old: bool) {
        self.statistics.segments += u64::from(self.config.segments(len));
        self.statistics.bytes += u64::from(len);
        if is_old {
            self.statistics.retransmissions += 1;
            self.statistics.retransmitted_bytes += u64::from(len);
        }
    }

    /// Karn's algorithm: a retransmitted segment is not timed.
    fn time(&mut self, now: Instant, end: u64, is_old: bool) {
        if is_old {
            self.timed = None;
        } else {
            self.timed.get_or_insert((end, now));
        }
    }

    /// The current time, rounded down to the clock for round trips. Most calls fall into the same
    /// tick as the call before, so they need no division.
    pub(crate) fn tick(&mut self, now: Instant) -> Instant {
        let tick = self.config.granularity;
        if now < self.tick || now.since(self.tick) >= tick {
            self.tick = Instant::from_picos(now.as_picos() / tick.as_picos() * tick.as_picos());
        }
        self.tick
    }

    /// Sets the earliest time for the next segment, which is this segment's share of a round trip
    /// later: half of the share in slow start, because the window doubles, and five sixths of it
    /// after that. So pacing alone never keeps the window from being filled.
    fn pace(&mut self, now: Instant, len: u32) {
        if self.config.unpaced_start && self.statistics.segments < UNPACED_SEGMENTS {
            return;
        }
        if let Some(rate) = self.congestion.pacing_rate(self.timer.smoothed()) {
            let gap = u128::from(len) * 1_000_000_000_000 / u128::from(rate);
            let gap = Duration::from_picos(u64::try_from(gap).unwrap_or(u64::MAX));
            self.paced_until = self.paced_until.max(now) + gap;
            return;
        }
        let Some(round_trip) = self.timer.smoothed().filter(|_| self.config.pacing) else {
            return;
        };
        let share = round_trip.as_picos().saturating_mul(u64::from(len)) / self.congestion.window;
        let gap = if self.congestion.is_slow_start() {
            share / 2
        } else {
            share / 6 * 5
        };
        self.paced_until = self.paced_until.max(now) + Duration::from_picos(gap);
    }
}

fn earlier(first: Option<Instant>, second: Option<Instant>) -> Option<Instant> {
    let (Some(one), Some(other)) = (first, second) else {
        return first.or(second);
    };
    Some(one.min(other))
}
