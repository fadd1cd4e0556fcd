//! Congestion window: how many bytes may be in the network. `reno.rs` and `cubic.rs` have the laws
//! by which it grows, and `custom.rs` those from other crates.

use roundelay::{Duration, Instant};

use crate::bbr::Bbr;
use crate::bbr3::Bbr3;
use crate::config::{Config, Control, SlowStart};
use crate::cubic::Cubic;
use crate::custom::{CongestionControl, CustomControl, Feedback, Instance};
use crate::hystart::{HyStart, Progress};
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
    /// Whether slow start opens the window by what is acknowledged.
    counts_bytes: bool,
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
        let law = match (custom, config.control) {
            (Some(custom), _) => Law::Custom(Box::new(Instance::new(custom, *config))),
            (None, Control::Reno) => Law::Reno(Reno::default()),
            (None, Control::Cubic) => Law::Cubic(Cubic::new(config)),
            (None, Control::Bbr) => Law::Bbr(Box::new(Bbr::new(segment_len, window))),
            (None, Control::Bbr3) => Law::Bbr3(Box::new(Bbr3::new(segment_len, window))),
        };
        Self {
            window,
            threshold: config.initial_threshold_bytes(),
            segment_len,
            counts_bytes: matches!(config.slow_start, SlowStart::ByBytes | SlowStart::HyStart),
            hystart: HyStart::new(config.slow_start, config.pacing).map(Box::new),
            law,
        }
    }

    #[inline]
    pub(crate) fn is_custom(&self) -> bool {
        matches!(self.law, Law::Custom(_))
    }

    pub(crate) fn is_slow_start(&self) -> bool {
        match &self.law {
            Law::Bbr(bbr) => bbr.is_startup(),
            Law::Bbr3(bbr) => bbr.is_startup(),
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

    /// Whether the law sends no bursts at this many bytes a second: BBR, version 1, below 1.2
    /// Mbit/s (its draft, section 4.2.2).
    pub(crate) fn may_send_one_by_one(&self, rate: u64) -> bool {
        matches!(self.law, Law::Bbr(_)) && rate < 150_000
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

    /// Grows the window by HyStart, in a slow start that watches round trips. Only the first slow
    /// start does, because later ones end at a threshold.
    pub(crate) fn grow_by_hystart(&mut self, progress: Progress) {
        let Some(hystart) = &mut self.hystart else {
            return;
        };
        let (window, is_over) = hystart.on_ack(progress, self.window, self.segment_len);
        self.window = window;
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
            Law::Cubic(cubic) => cubic.on_limited(&feedback),
            Law::Custom(instance) => instance.get().on_limited(&feedback),
        }
    }

    /// Reacts to a loss, a mark or a timeout by setting the threshold. The caller sets the window
    /// to the threshold.
    pub(crate) fn reduce(&mut self, reason: Reason, feedback: SenderFeedback) {
        let feedback = self.complete(feedback);
        self.hystart = None;
        self.threshold = match &mut self.law {
            Law::Reno(reno) => reduced(reno, reason, &feedback),
            Law::Cubic(cubic) => reduced(cubic, reason, &feedback),
            // Losses change the window through the model.
            Law::Bbr(_) | Law::Bbr3(_) => self.window.max(2 * self.segment_len),
            Law::Custom(instance) => {
                let threshold = reduced(instance.get(), reason, &feedback);
                instance.legal(threshold)
            }
        };
    }

    /// Reacts to a timeout: the window is one segment. If no new data was acknowledged since the
    /// previous timeout, the threshold stays (RFC 5681, section 3.1).
    pub(crate) fn time_out(&mut self, feedback: SenderFeedback, is_first: bool) {
        if let Some(model) = self.model() {
            model.time_out();
        } else if is_first {
            self.reduce(Reason::Timeout, feedback);
        }
        self.window = self.segment_len;
    }

    /// The sender was silent for a timeout. Slow start begins anew, and leads back to three quarters
    /// of the window before (RFC 2861, section 3.2; RFC 7661, section 4.4.3).
    pub(crate) fn restart_after_silence(&mut self, restart: u64) {
        self.threshold = self.threshold.max(self.window / 4 * 3);
        self.window = self.window.min(restart);
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
