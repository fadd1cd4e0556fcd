//! Models of the path. Some laws go by bandwidth and round trip and not by losses alone. This is
//! what they hear from the sender, and what they tell it. `bbr.rs` and `bbr3.rs` have the laws.

use std::collections::VecDeque;

use roundelay::{Duration, Instant};

use crate::delivery::{Lost, RateSample};

/// A gain, as a fraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Gain(pub(crate) u64, pub(crate) u64);

impl Gain {
    pub(crate) fn of(self, value: u64) -> u64 {
        let Self(numerator, denominator) = self;
        let product = u128::from(value) * u128::from(numerator) / u128::from(denominator);
        u64::try_from(product).unwrap_or(u64::MAX)
    }
}

/// Packets are paced at this part of the bandwidth found, so that a queue shrinks:
/// BBR.PacingMarginPercent in version 3, and Linux in version 1.
pub(crate) const PACED: Gain = Gain(99, 100);

/// What an acknowledgement tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Acknowledged {
    pub(crate) now: Instant,
    pub(crate) sample: Option<RateSample>,
    /// Bytes that arrived, and bytes that are lost, as this acknowledgement tells.
    pub(crate) newly_delivered: u64,
    pub(crate) lost: u64,
    /// Bytes that have arrived and that were lost in all.
    pub(crate) delivered: u64,
    pub(crate) lost_in_all: u64,
    /// Bytes in the network before this acknowledgement, and after it.
    pub(crate) was_in_flight: u64,
    pub(crate) in_flight: u64,
    /// How long pacing holds the next segment back.
    pub(crate) held_for: Duration,
    /// Whether losses are under repair, and whether it is a fast recovery.
    pub(crate) is_repairing: bool,
    pub(crate) is_recovering: bool,
}

/// A law with a model of the path. Rates are in bytes a second, windows in bytes.
pub(crate) trait PathModel {
    /// The connection is open, and its handshake has taken a round trip.
    fn begin(&mut self, _now: Instant, _round_trip: Option<Duration>) {}

    /// A SYN was lost, so the window is one segment (RFC 5681, section 3.1).
    fn begin_with_a_segment(&mut self);

    /// Whether the flow is still in its start, in which the rate doubles.
    fn is_startup(&self) -> bool;

    /// Whether the window is small on purpose, so that rates found now are not the path's.
    fn is_probing_round_trip(&self) -> bool;

    /// The shortest round trip found.
    fn round_trip(&self) -> Option<Duration>;

    /// The rate at which packets are paced.
    fn pacing_rate(&self, smoothed: Option<Duration>) -> u64;

    /// Data follows after nothing was in the network for lack of data. Returns the window, if it
    /// changes.
    fn restart_from_idle(&mut self, now: Instant) -> Option<u64>;

    /// A timeout, so the window is one segment.
    fn time_out(&mut self);

    /// We know now what was lost by the timeout: bytes in all, and how much is still in the network.
    /// Returns the window.
    fn repair_after_timeout(&mut self, lost_in_all: u64, in_flight: u64) -> u64;

    /// A segment is lost. `_delivered` bytes have arrived by now.
    fn on_loss(&mut self, _now: Instant, _delivered: u64, _lost: &Lost) {}

    /// An acknowledgement. Returns the window.
    fn on_ack(&mut self, ack: &Acknowledged) -> u64;
}

/// The pacing rate before the first sample: the first window in a round trip, or in a millisecond,
/// with a gain (BBRInitPacingRate()).
pub(crate) fn first_pacing_rate(window: u64, smoothed: Option<Duration>, gain: Gain) -> u64 {
    let round_trip = smoothed.unwrap_or(Duration::from_millis(1)).as_picos();
    let rate = u128::from(window) * 1_000_000_000_000 / u128::from(round_trip.max(1));
    gain.of(u64::try_from(rate).unwrap_or(u64::MAX)).max(1)
}

/// Bytes that a rate carries in some time.
pub(crate) fn carried(rate: u64, span: Duration) -> u64 {
    let product = u128::from(rate) * u128::from(span.as_picos());
    u64::try_from(product / 1_000_000_000_000).unwrap_or(u64::MAX)
}

/// Adds a round's value to those of the last `rounds` rounds. The largest stands first.
pub(crate) fn push_most(values: &mut VecDeque<(u64, u64)>, round: u64, value: u64, rounds: u64) {
    while values.back().is_some_and(|(_, last)| *last <= value) {
        values.pop_back();
    }
    values.push_back((round, value));
    while let Some((first, _)) = values.front()
        && first + rounds <= round
    {
        values.pop_front();
    }
}
