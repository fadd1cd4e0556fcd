//! A tail loss probe in flight, and its timer: all that a sender remembers about probes.
//! `tail_loss.rs` has the rules. RFC 8985, section 7, by the RFC's names.

use roundelay::{Duration, Instant};

use crate::config::Config;

/// PTO before the first round trip is measured (section 7.2).
const FIRST_TIMEOUT: Duration = Duration::from_secs(1);

/// A probe in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sent {
    /// The first byte, and TLP.end_seq.
    pub(crate) start: u64,
    pub(crate) end: u64,
    pub(crate) timestamp: Instant,
    /// TLP.is_retrans.
    pub(crate) is_retransmission: bool,
}

/// State of tail loss probes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Probe {
    /// When the probe timer expires.
    pub(crate) deadline: Option<Instant>,
    /// The next segment is a probe.
    pub(crate) is_due: bool,
    pub(crate) sent: Option<Sent>,
    /// A round trip was measured since the last probe.
    pub(crate) has_sample: bool,
}

impl Probe {
    /// A repair begins, for which other means are there.
    pub(crate) fn cancel(&mut self) {
        self.deadline = None;
        self.is_due = false;
        self.sent = None;
    }
}

/// TLP_calc_PTO(): section 7.2. Receivers hold back the acknowledgement of a single segment, for as
/// long as they may (TLP.max_ack_delay). In Linux, whose timeouts lie `min_timeout` above the round
/// trip, this is `min_timeout`, too, so the probe comes in place of the timeout.
pub(crate) fn timeout(smoothed: Option<Duration>, is_single: bool, config: &Config) -> Duration {
    let Some(smoothed) = smoothed else {
        return FIRST_TIMEOUT;
    };
    let wait = match config.delayed_acknowledgement {
        _ if !is_single => Duration::ZERO,
        _ if config.timeout_above_round_trip => config.min_timeout,
        delay => delay.unwrap_or(Duration::ZERO),
    };
    smoothed + smoothed + wait
}
