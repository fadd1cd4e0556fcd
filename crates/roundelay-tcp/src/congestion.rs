//! Congestion window: how many bytes may be in the network. `reno.rs` and `cubic.rs` have the laws
//! of growth.

use roundelay::{Duration, Instant};

use crate::config::{Config, Control};
use crate::cubic::Cubic;
use crate::reno;

/// Window, threshold and law of growth.
#[derive(Debug, Clone)]
pub(crate) struct Congestion {
    /// cwnd in bytes.
    pub(crate) window: u64,
    /// ssthresh in bytes.
    pub(crate) threshold: u64,
    segment_len: u64,
    law: Law,
}

#[derive(Debug, Clone)]
enum Law {
    Reno { credit: u64 },
    Cubic(Cubic),
}

impl Congestion {
    pub(crate) fn new(config: &Config) -> Self {
        let segment_len = u64::from(config.segment_len);
        let law = match config.control {
            Control::Reno => Law::Reno { credit: 0 },
            Control::Cubic => Law::Cubic(Cubic::new(segment_len, config.fast_convergence)),
        };
        let window = segment_len * u64::from(config.initial_window);
        Self { window, threshold: config.initial_threshold_bytes(), segment_len, law }
    }

    pub(crate) fn is_slow_start(&self) -> bool {
        self.window < self.threshold
    }

    /// Grows the window by an acknowledgement of `acknowledged` bytes: slow start (RFC 5681,
    /// equation 2) or the law's growth.
    pub(crate) fn grow(&mut self, now: Instant, acknowledged: u64, round_trip: Duration) {
        if self.is_slow_start() {
            self.window += acknowledged.min(self.segment_len);
            return;
        }
        match &mut self.law {
            Law::Reno { credit } => self.window += reno::growth(credit, self.window, acknowledged, self.segment_len),
            Law::Cubic(cubic) => self.window = cubic.grow(now, self.window, acknowledged, round_trip),
        }
    }

    /// Stops CUBIC's clock: the window was not in full use, and the acknowledgement causes no
    /// growth.
    pub(crate) fn pause(&mut self, now: Instant) {
        if let Law::Cubic(cubic) = &mut self.law {
            cubic.pause(now);
        }
    }

    /// Reacts to a loss or a mark with `flight` bytes in the network: sets the threshold. The
    /// caller sets the window to the threshold.
    pub(crate) fn reduce(&mut self, flight: u64) {
        let reduced = match &mut self.law {
            Law::Reno { credit } => {
                *credit = 0;
                reno::reduced(flight)
            }
            Law::Cubic(cubic) => cubic.reduce(self.window, flight),
        };
        self.threshold = reduced.max(2 * self.segment_len);
    }

    /// Reacts to a timeout: a window of one segment. The threshold stays if no new data was
    /// acknowledged since the previous timeout (RFC 5681, section 3.1).
    pub(crate) fn time_out(&mut self, flight: u64, is_first: bool) {
        if is_first {
            self.reduce(flight);
        }
        if let Law::Cubic(cubic) = &mut self.law {
            cubic.forget();
        }
        self.window = self.segment_len;
    }
}
