//! RACK, recent acknowledgment: a segment is lost once a segment sent later has arrived and a
//! window for reordering has gone by. RFC 8985, section 6, by the RFC's names.
//!
//! The rule goes by times of sending and not by sequence numbers, so it finds lost retransmissions
//! too. The scoreboard holds the segments. This file holds the time at which each was last sent,
//! and all that acknowledgements tell (steps 1 to 4). Step 5, in `detection.rs`, finds the lost
//! segments.

mod detection;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use roundelay::{Duration, Instant};

use crate::config::Config;

/// How long a shortest round trip counts, as in Linux (section 6.2, step 1, asks for a window).
const LEAST_COUNTS_FOR: Duration = Duration::from_secs(300);

/// A segment's last transmission: Segment.xmit_ts and Segment.retransmitted.
#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Instant,
    is_retransmitted: bool,
}

/// The time at which a segment was sent, and its position in the scoreboard. They are ordered as by
/// RACK_sent_after().
type Transmission = (Instant, u64);

/// RACK's state for a connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Rack {
    now: Instant,
    /// The timestamp that the acknowledgement echoes.
    echo: Option<Instant>,
    /// Whether the acknowledgement tells of segments that the window has sent.
    is_evidence: bool,
    /// The tick of the clock for timestamps.
    tick: Duration,
    /// The last transmission of each segment in flight, in the order of the scoreboard.
    sent: VecDeque<Sent>,
    /// All transmissions in the order of time. We skip those whose segments have arrived, are lost
    /// or were sent again.
    log: VecDeque<Transmission>,
    /// Lost segments, the lowest first. We skip those that have arrived or were sent again.
    lost: BinaryHeap<Reverse<u64>>,
    /// The transmission that was sent last among those that arrived with this acknowledgement.
    newest_arrived: Option<Transmission>,
    /// RACK.xmit_ts and RACK.end_seq: the transmission that was sent last among all that have
    /// arrived.
    newest: Transmission,
    /// RACK.rtt.
    round_trip: Duration,
    /// RACK.min_RTT, and when it was measured.
    least: Option<(Duration, Instant)>,
    /// RACK.fack, as the position after the highest segment that has arrived, now and before this
    /// acknowledgement.
    forward: u64,
    forward_before: u64,
    /// RACK.reordering_seen.
    is_reordered: bool,
    /// RACK.segs_sacked.
    pub(crate) sacked: u32,
    /// DupThresh.
    threshold: u32,
    /// When the reordering timer expires.
    deadline: Option<Instant>,
}

impl Rack {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            tick: config.granularity,
            threshold: config.duplicate_threshold,
            ..Self::default()
        }
    }

    /// The time at which what follows happens.
    pub(crate) fn tell_time(&mut self, now: Instant) {
        self.now = now;
    }

    /// An acknowledgement begins.
    pub(crate) fn begin(&mut self, now: Instant, echo: Option<Instant>, is_evidence: bool) {
        self.now = now;
        self.echo = echo;
        self.is_evidence = is_evidence;
        self.forward_before = self.forward;
    }

    /// A new segment is sent (section 6.1).
    #[inline(never)]
    pub(crate) fn push(&mut self, position: u64) {
        self.sent.push_back(Sent {
            at: self.now,
            is_retransmitted: false,
        });
        self.log.push_back((self.now, position));
    }

    /// A segment is sent again (section 6.1).
    #[inline(never)]
    pub(crate) fn resend(&mut self, index: usize, position: u64) {
        self.sent[index] = Sent {
            at: self.now,
            is_retransmitted: true,
        };
        self.log.push_back((self.now, position));
    }

    /// The first segment leaves the scoreboard.
    pub(crate) fn pop(&mut self) {
        self.sent.pop_front();
    }

    /// The segment at an index has arrived: section 6.2, steps 1 to 3.
    #[inline(never)]
    pub(crate) fn arrive(&mut self, index: usize, position: u64, is_cumulative: bool) {
        if !self.is_evidence {
            return;
        }
        let sent = self.sent[index];
        let round_trip = self.now.since(sent.at);
        // Step 3. Blocks come with the latest first, so a segment is compared with what had arrived
        // before this acknowledgement.
        if position < self.forward_before && !sent.is_retransmitted {
            self.is_reordered = true;
        }
        self.forward = self.forward.max(position + 1);
        // Step 1.
        if !sent.is_retransmitted {
            self.measure(round_trip);
        }
        // Step 2.
        if sent.is_retransmitted && self.may_be_original(sent.at, round_trip, is_cumulative) {
            return;
        }
        self.newest_arrived = self.newest_arrived.max(Some((sent.at, position)));
    }

    /// Whether an earlier transmission than the last may have arrived. The echo tells only where
    /// all data before has arrived too, because receivers do not echo segments beyond a gap (RFC
    /// 7323, section 4.3).
    fn may_be_original(&self, at: Instant, round_trip: Duration, is_cumulative: bool) -> bool {
        let echo = self.echo.filter(|_| is_cumulative);
        let is_echo_older = echo.is_some_and(|echo| at >= echo + self.tick);
        is_echo_older || self.least.is_some_and(|(least, _)| round_trip < least)
    }

    /// Step 1: a round trip of a segment that was sent once, or of the SYN.
    pub(crate) fn measure(&mut self, round_trip: Duration) {
        let is_least = self.least.is_none_or(|(least, since)| {
            round_trip <= least || self.now.since(since) > LEAST_COUNTS_FOR
        });
        if is_least {
            self.least = Some((round_trip, self.now));
        }
    }

    /// RACK_update_reo_wnd(): section 6.2, step 4. Without D-SACK, RACK.reo_wnd_mult stays 1.
    fn window(&self, smoothed: Option<Duration>, repairs: bool) -> Duration {
        if !self.is_reordered && (repairs || self.sacked >= self.threshold) {
            return Duration::ZERO;
        }
        let Some((least, _)) = self.least else {
            return Duration::ZERO;
        };
        let quarter = Duration::from_picos(least.as_picos() / 4);
        smoothed.map_or(quarter, |smoothed| quarter.min(smoothed))
    }

    /// When the reordering timer expires.
    #[inline]
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.deadline
    }
}
