//! Congestion window: how many bytes may be in the network. `reno.rs` and `cubic.rs` have the laws
//! by which it grows, and `custom.rs` those from other crates.

use roundelay::{Duration, Instant};

use crate::bbr::{Bbr, sends_one_by_one};
use crate::bbr3::Bbr3;
use crate::config::{Config, Control, IdleRestart, SlowStart};
use crate::cubic::Cubic;
use crate::custom::{CongestionControl, CustomControl, Feedback, Instance};
use crate::hystart::{HyStart, Progress};
use crate::ledbat::Ledbat;
use crate::model::{Acknowledged, PathModel};
use crate::reno::Reno;

/// Window, threshold and the law by which the window grows.
#[derive(Debug, Clone)]
pub(crate) struct Congestion {
    /// cwnd in bytes.
    pub(crate) window: u64,
    /// ssthresh in bytes.
    pub(crate) threshold: u64,
    segment_len: u64,
    /// When slow start ends, and whether segments are paced.
    slow_start: SlowStart,
    paces: bool,
    /// Whether slow start opens the window by what is acknowledged.
    counts_bytes: bool,
    /// Whether reductions of `reno` and `cubic` count in whole segments.
    whole_segments: bool,
    /// None unless slow start watches round trips.
    hystart: Option<Box<HyStart>>,
    law: Law,
}

/// Built-in laws are called without a pointer.
#[derive(Debug, Clone)]
enum Law {
    Reno(Reno),
    Cubic(Cubic),
    Bbr(Box<Bbr>),
    Bbr3(Box<Bbr3>),
    Ledbat(Box<Ledbat>),
    Custom(Box<Instance>),
}

/// What the sender says of an acknowledgement, a loss, a mark or a timeout: [`Feedback`] without
/// window and threshold.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SenderFeedback {
    pub(crate) now: Instant,
    pub(crate) acknowledged: u64,
    pub(crate) in_flight: u64,
    pub(crate) round_trip: Option<Duration>,
    pub(crate) smoothed_round_trip: Option<Duration>,
}

/// Why the window is reduced.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Reason {
    Loss,
    Mark,
    Timeout,
}

impl Congestion {
    pub(crate) fn new(config: &Config, custom: Option<CustomControl>) -> Self {
        let segment_len = u64::from(config.segment_len);
        let window = segment_len * u64::from(config.initial_window);
        let is_plain = custom.is_none() && matches!(config.control, Control::Reno | Control::Cubic);
        let law = match (custom, config.control) {
            (Some(custom), _) => Law::Custom(Box::new(Instance::new(custom, *config))),
            (None, Control::Reno) => Law::Reno(Reno::default()),
            (None, Control::Cubic) => Law::Cubic(Cubic::new(config)),
            (None, Control::Bbr) => Law::Bbr(Box::new(Bbr::new(segment_len, window))),
            (None, Control::Bbr3) => Law::Bbr3(Box::new(Bbr3::new(segment_len, window))),
            (None, Control::Ledbat) => Law::Ledbat(Box::new(Ledbat::new(
                config.ledbat_target,
                config.ledbat_gain,
            ))),
        };
        Self {
            window,
            threshold: config.initial_threshold_bytes(),
            segment_len,
            slow_start: config.slow_start,
            paces: config.pacing,
            counts_bytes: matches!(config.slow_start, SlowStart::ByBytes | SlowStart::HyStart),
            whole_segments: config.whole_segments && is_plain,
            hystart: HyStart::new(config.slow_start, config.pacing).map(Box::new),
            law,
        }
    }

    /// Whether the law reads the flight: a custom one, and LEDBAT.
    #[inline]
    pub(crate) fn reads_flight(&self) -> bool {
        matches!(self.law, Law::Custom(_) | Law::Ledbat(_))
    }

    /// An acknowledgement tells of data's one-way delay.
    #[inline]
    pub(crate) fn note_delay(&mut self, now: Instant, delay: Duration) {
        if let Law::Ledbat(ledbat) = &mut self.law {
            ledbat.note_delay(now, delay);
        }
    }

    pub(crate) fn is_slow_start(&self) -> bool {
        match &self.law {
            Law::Bbr(bbr) => bbr.is_startup(),
            Law::Bbr3(bbr) => bbr.is_startup(),
            Law::Ledbat(_) => false,
            _ => self.window < self.threshold,
        }
    }

    /// The law's model of the path, if it has one.
    #[inline]
    pub(crate) fn model(&mut self) -> Option<&mut dyn PathModel> {
        match &mut self.law {
            Law::Bbr(bbr) => Some(&mut **bbr),
            Law::Bbr3(bbr) => Some(&mut **bbr),
            _ => None,
        }
    }

    /// Bytes a second at which the law paces, if it paces by itself.
    #[inline]
    pub(crate) fn pacing_rate(&self, smoothed: Option<Duration>) -> Option<u64> {
        match &self.law {
            Law::Bbr(bbr) => Some(bbr.pacing_rate(smoothed)),
            Law::Bbr3(bbr) => Some(bbr.pacing_rate(smoothed)),
            _ => None,
        }
    }

    /// Whether the law sends no bursts at this many bytes a second: BBR, version 1.
    pub(crate) fn may_send_one_by_one(&self, rate: u64) -> bool {
        matches!(self.law, Law::Bbr(_)) && sends_one_by_one(rate)
    }

    /// Sets the window as the model of the path says.
    pub(crate) fn follow_model(&mut self, ack: &Acknowledged) {
        if let Some(model) = self.model() {
            self.window = model.on_ack(ack);
        }
    }

    /// Whether slow start watches round trips now.
    #[inline]
    pub(crate) fn watches_round_trips(&self) -> bool {
        self.hystart.is_some() && self.window < self.threshold && self.has_slow_start()
    }

    /// Whether the law leaves slow start to its configuration.
    fn has_slow_start(&self) -> bool {
        matches!(self.law, Law::Reno(_) | Law::Cubic(_))
    }

    /// Grows the window by HyStart, in a slow start that watches round trips. Of HyStart++ only the
    /// first slow start does, because later ones end at a threshold (RFC 9406, section 4.3).
    pub(crate) fn grow_by_hystart(&mut self, progress: Progress) {
        let Some(hystart) = &mut self.hystart else {
            return;
        };
        let (window, is_over) = hystart.on_ack(progress, self.window, self.segment_len);
        // An acknowledgement of many segments does not lead beyond the threshold.
        self.window = window.min(self.threshold);
        if is_over {
            self.threshold = self.window;
            self.hystart = None;
        }
    }

    /// Grows the window because an acknowledgement tells of new data.
    #[inline]
    pub(crate) fn grow(&mut self, feedback: SenderFeedback) {
        if self.counts_bytes && self.window < self.threshold && self.has_slow_start() {
            self.window = (self.window + feedback.acknowledged).min(self.threshold);
            return;
        }
        let feedback = self.complete(feedback);
        self.window = match &mut self.law {
            Law::Reno(reno) => reno.on_ack(&feedback),
            Law::Cubic(cubic) => cubic.on_ack(&feedback),
            // Its window follows each acknowledgement, not only those that tell of new data.
            Law::Bbr(_) | Law::Bbr3(_) => self.window,
            Law::Ledbat(ledbat) => ledbat.on_ack(&feedback),
            Law::Custom(instance) => {
                let window = instance.get().on_ack(&feedback);
                instance.legal(window)
            }
        };
    }

    /// An acknowledgement causes no growth, because the window was not in full use or because there
    /// is a mark.
    #[inline]
    pub(crate) fn pause(&mut self, feedback: SenderFeedback) {
        let feedback = self.complete(feedback);
        match &mut self.law {
            Law::Reno(_) | Law::Bbr(_) | Law::Bbr3(_) => {}
            // The window may still shrink.
            Law::Ledbat(ledbat) => self.window = self.window.min(ledbat.on_ack(&feedback)),
            Law::Cubic(cubic) => cubic.on_limited(&feedback),
            Law::Custom(instance) => instance.get().on_limited(&feedback),
        }
    }

    /// Reacts to a loss, a mark or a timeout by setting the threshold. The caller sets the window
    /// to the threshold.
    pub(crate) fn reduce(&mut self, reason: Reason, feedback: SenderFeedback) {
        let mut feedback = self.complete(feedback);
        if self.whole_segments {
            feedback.window = self.in_whole_segments(feedback.window);
            feedback.in_flight = self.in_whole_segments(feedback.in_flight);
        }
        // In Linux a slow start after a timeout watches round trips as the first one does, and so
        // does one after a silence if a loss ended the first one.
        match (self.slow_start, reason) {
            (SlowStart::HyStart, Reason::Timeout) => {
                self.hystart = HyStart::new(self.slow_start, self.paces).map(Box::new);
            }
            (SlowStart::HyStart, _) => {}
            _ => self.hystart = None,
        }
        self.threshold = match &mut self.law {
            Law::Reno(reno) => reduced(reno, reason, &feedback),
            Law::Cubic(cubic) => reduced(cubic, reason, &feedback),
            Law::Ledbat(ledbat) => reduced(&mut **ledbat, reason, &feedback),
            // Losses change the window through the model.
            Law::Bbr(_) | Law::Bbr3(_) => self.window.max(2 * self.segment_len),
            Law::Custom(instance) => {
                let threshold = reduced(instance.get(), reason, &feedback);
                instance.legal(threshold)
            }
        };
        if self.whole_segments {
            self.threshold = self.in_whole_segments(self.threshold);
        }
    }

    /// So many bytes, rounded down to segments, but one at least.
    fn in_whole_segments(&self, bytes: u64) -> u64 {
        (bytes / self.segment_len).max(1) * self.segment_len
    }

    /// Reacts to a timeout: the window is one segment. Only the `is_first` one of a flight sets the
    /// threshold.
    pub(crate) fn time_out(&mut self, feedback: SenderFeedback, is_first: bool) {
        if let Some(model) = self.model() {
            model.time_out();
        } else if is_first {
            self.reduce(Reason::Timeout, feedback);
        }
        self.window = self.segment_len;
    }

    /// The sender was silent for `silence`, which is longer than a `timeout`. Slow start begins anew,
    /// and leads back to three quarters of the window before.
    pub(crate) fn restart_after_silence(
        &mut self,
        rule: IdleRestart,
        least: u64,
        [silence, timeout]: [Duration; 2],
    ) {
        if rule == IdleRestart::Kept {
            return;
        }
        self.threshold = self.threshold.max(self.window / 4 * 3);
        let least = least.min(self.window);
        if rule == IdleRestart::AtOnce {
            self.window = least;
            return;
        }
        let mut left = silence;
        while left > timeout && self.window > least {
            left = left - timeout;
            self.window = self.window / 2 / self.segment_len * self.segment_len;
        }
        self.window = self.window.max(least);
    }

    /// The feedback with window and threshold, as the law reads it.
    #[inline]
    fn complete(&self, feedback: SenderFeedback) -> Feedback {
        let SenderFeedback {
            now,
            acknowledged,
            in_flight,
            round_trip,
            smoothed_round_trip,
        } = feedback;
        let Self {
            window,
            threshold,
            segment_len,
            ..
        } = *self;
        Feedback {
            now,
            window,
            threshold,
            segment_len,
            acknowledged,
            in_flight,
            round_trip,
            smoothed_round_trip,
        }
    }
}

fn reduced<C: CongestionControl + ?Sized>(law: &mut C, reason: Reason, feedback: &Feedback) -> u64 {
    match reason {
        Reason::Loss => law.on_loss(feedback),
        Reason::Mark => law.on_mark(feedback),
        Reason::Timeout => law.on_timeout(feedback),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of 6.9 segments with CUBIC and with Reno. Linux counts 6, of which seven tenths are 4.2
    /// and a half is 3.
    #[test]
    fn a_loss_leaves_whole_segments() {
        for (control, whole_segments, left) in [
            (Control::Cubic, true, 4000),
            (Control::Cubic, false, 4830),
            (Control::Reno, true, 3000),
            (Control::Reno, false, 3450),
        ] {
            let config = Config {
                control,
                whole_segments,
                segment_len: 1000,
                ..Config::linux()
            };
            let mut congestion = Congestion::new(&config, None);
            congestion.window = 6900;
            let feedback = SenderFeedback {
                now: Instant::ZERO,
                acknowledged: 0,
                in_flight: 6900,
                round_trip: None,
                smoothed_round_trip: None,
            };
            congestion.reduce(Reason::Loss, feedback);
            assert_eq!(congestion.threshold, left, "{control:?}");
        }
    }
}
