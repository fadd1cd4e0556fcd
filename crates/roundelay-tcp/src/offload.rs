//! Segmentation offload: new data goes out in bursts, each as much as about a millisecond carries.
//!
//! Linux hands several segments at once to its interface, which cuts them, so the host works less.
//! It aims at 1024 bursts a second at its pacing rate, with at least two segments and at most an IP
//! packet of 64 KiB (Linux's ip-sysctl: `tcp_tso_rtt_log`, `tcp_min_tso_segs`), whether it paces or
//! not. While acknowledgements are on their way, a burst waits until window and data have room for
//! all of it, or for a third of the window (`tcp_tso_win_divisor`). BBR has the same quantum, and
//! below 1.2 Mbit/s a segment (draft-cardwell-iccrg-bbr-congestion-control-00, section 4.2.2).
//!
//! Longer bursts over round trips of a few milliseconds are not there.

use roundelay::Instant;

use crate::config::Offload;
use crate::segment::Segment;
use crate::sender::{Mode, Sender};

/// Bursts a second.
pub(crate) const BURSTS: u64 = 1024;
/// The fewest segments in a burst.
const LEAST: u32 = 2;
/// A burst waits for no more than this part of the window.
const DIVISOR: u64 = 3;

impl Sender {
    /// The next segment in a burst, or the burst as one packet. `room` is how many bytes the window
    /// has room for, at least a segment. None while the burst waits.
    pub(crate) fn poll_burst(&mut self, now: Instant, room: u64) -> Option<Segment> {
        if self.burst == 0 {
            self.burst = self.begin_burst(room);
        }
        if self.burst == 0 {
            // The window holds it back, and not the application.
            self.is_roomy = false;
            return None;
        }
        if self.config.offload == Offload::Whole && self.early.is_empty() {
            let segments = std::mem::take(&mut self.burst);
            return Some(self.emit_whole(now, segments));
        }
        self.burst -= 1;
        let len = self.new_len(now);
        self.scoreboard.push(self.next, len);
        Some(self.emit_next(now, len))
    }

    /// How many segments go out now. None while it pays to wait for a longer burst.
    fn begin_burst(&self, room: u64) -> u32 {
        let segment_len = self.segment_len();
        let wanted = self.burst_segments();
        let left = self.supplied - self.next;
        let room = room.min(self.receive_limit() - self.next);
        if left <= room.min(u64::from(wanted) * segment_len) {
            return u32::try_from(left.div_ceil(segment_len)).unwrap_or(wanted);
        }
        let ready = u32::try_from(room / segment_len)
            .unwrap_or(wanted)
            .min(wanted);
        let enough = (self.congestion.window / DIVISOR / segment_len).min(wanted.into());
        let is_awaited = self.mode == Mode::Open && self.scoreboard.pipe() > 0;
        if is_awaited && u64::from(ready) < enough {
            return 0;
        }
        ready
    }

    /// Segments in a full burst.
    pub(crate) fn burst_segments(&self) -> u32 {
        let most = self.config.most_in_burst();
        let Some(rate) = self.burst_rate() else {
            return most;
        };
        let least = if self.congestion.may_send_one_by_one(rate) {
            1
        } else {
            LEAST
        };
        let segments = rate / BURSTS / self.segment_len();
        u32::try_from(segments).unwrap_or(most).max(least).min(most)
    }

    /// In bytes a second: the pacing rate, or what it would be. None before a round trip is known.
    pub(crate) fn burst_rate(&self) -> Option<u64> {
        let smoothed = self.timer.smoothed()?;
        if let Some(rate) = self.congestion.pacing_rate(Some(smoothed)) {
            return Some(rate);
        }
        let rate = u128::from(self.congestion.window) * 1_000_000_000_000
            / u128::from(smoothed.as_picos().max(1));
        let rate = u64::try_from(rate).unwrap_or(u64::MAX);
        Some(if self.congestion.is_slow_start() {
            rate.saturating_mul(2)
        } else {
            rate / 5 * 6
        })
    }

    /// Sends a burst as one packet. Its segments are told apart when they are acknowledged or lost.
    fn emit_whole(&mut self, now: Instant, segments: u32) -> Segment {
        let mut all = 0;
        for _ in 0..segments {
            let start = self.next + u64::from(all);
            let len = self.segment_len().min(self.supplied - start) as u32;
            self.scoreboard.push(start, len);
            all += len;
        }
        self.emit_next(now, all)
    }
}
