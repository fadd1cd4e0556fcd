//! Tail loss probes: when acknowledgements stay away for two round trips, one more segment asks for
//! one. RFC 8985, section 7, by the RFC's names.
//!
//! Losses at the end of a flight leave nothing behind them that could arrive and tell. The answer
//! to a probe does. By RACK's rule, each segment that was sent before the probe and has not arrived
//! is lost, and this is known long before the retransmission timeout.

use roundelay::Instant;

use crate::congestion::Reason;
use crate::probe::{self, Probe, Sent};
use crate::segment::Segment;
use crate::sender::{Mode, Sender};

impl Sender {
    /// Starts the probe timer after new data or its acknowledgement, or stops it where the
    /// reordering timer or a repair is on (section 7.2).
    #[inline(never)]
    pub(crate) fn schedule_probe(&mut self, now: Instant) {
        if !self.may_probe() {
            self.probe.deadline = None;
            return;
        }
        let is_single = self.highest - self.acknowledged <= self.segment_len();
        let deadline = now + probe::timeout(self.timer.smoothed(), is_single, &self.config);
        // Never after the retransmission timer.
        let latest = self.timer.deadline().unwrap_or(deadline);
        self.probe.deadline = Some(deadline.min(latest));
    }

    /// Data is in flight, none of it has arrived selectively, and nothing is repaired.
    fn may_probe(&self) -> bool {
        let is_sacked = self.scoreboard.sacked() > 0;
        self.mode == Mode::Open && self.highest > self.acknowledged && !is_sacked
    }

    /// The probe timer expires: section 7.3. The retransmission timer starts again only with a
    /// probe.
    pub(crate) fn on_probe_timer(&mut self, now: Instant) {
        self.probe.deadline = None;
        if self.may_probe() && self.probe.sent.is_none() && self.probe.has_sample {
            self.probe.is_due = true;
            self.timer.restart(now);
        }
    }

    /// TLP_send_probe(): section 7.3. Sends new data if there is some and the receive window has
    /// room, whatever the congestion window says. Otherwise sends the highest segment again.
    #[inline(never)]
    pub(crate) fn poll_probe(&mut self, now: Instant) -> Option<Segment> {
        self.probe.is_due = false;
        let len = self.new_len(now);
        let is_new = len > 0 && self.next + u64::from(len) <= self.receive_limit();
        let segment = if is_new {
            self.scoreboard.push(self.next, len);
            self.emit_next(now, len)
        } else {
            let last = self.scoreboard.retransmit_last()?;
            self.emit(now, last.sequence, last.len)
        };
        self.statistics.probes += 1;
        self.probe = Probe {
            sent: Some(Sent {
                start: segment.sequence,
                end: self.highest,
                timestamp: segment.timestamp,
                is_retransmission: !is_new,
            }),
            ..Probe::default()
        };
        Some(segment)
    }

    /// TLP_process_ack(): section 7.4. Call before the acknowledgement takes effect.
    pub(crate) fn judge_probe(&mut self, now: Instant, segment: &Segment) {
        let number = segment.acknowledgement;
        // Also where all data is acknowledged.
        let is_duplicate = number == self.acknowledged && segment.selective().next().is_none();
        let Some(sent) = self.probe.sent.filter(|sent| number >= sent.end) else {
            return;
        };
        if !sent.is_retransmission || self.is_of_original(segment, &sent) {
            self.probe.sent = None;
        } else if number > sent.end {
            // The probe has repaired a loss.
            self.probe.sent = None;
            self.reduce_after_probe(now);
        } else if is_duplicate {
            // The probe has arrived a second time.
            self.probe.sent = None;
        }
    }

    /// Whether the original of a probe has arrived, and not the probe. This stands in for a D-SACK,
    /// because receivers do not send one here. With all data before the probe acknowledged, a probe
    /// that arrives first is echoed by each acknowledgement from then on.
    fn is_of_original(&self, segment: &Segment, sent: &Sent) -> bool {
        self.config.timestamps && self.acknowledged >= sent.start && segment.echo < sent.timestamp
    }

    /// The window shrinks for a loss even if the probe has repaired it (section 7.4.2). A model of
    /// the path counts losses by itself.
    fn reduce_after_probe(&mut self, now: Instant) {
        if self.scoreboard.meter.is_some() {
            return;
        }
        let flight = self.flight_to_reduce(self.outstanding());
        self.congestion
            .reduce(Reason::Loss, self.feedback(now, flight));
        self.congestion.window = self.congestion.threshold;
        self.statistics.losses_repaired_by_probes += 1;
    }
}
