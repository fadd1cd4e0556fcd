//! Slow start that ends before its queue is full, because round trips grow.
//!
//! HyStart++ is RFC 9406's, with the names in its section 4.2 and the constants in section 4.3.
//! HyStart is by S. Ha, I. Rhee, "Taming the elephants: New TCP slow start", Computer Networks
//! 55(9), 2011, with Linux's constants. It ends slow start at once, and also when a round's train
//! of acknowledgements is half a round trip long.

use roundelay::{Duration, Instant};

use crate::config::SlowStart;

/// N_RTT_SAMPLE.
const SAMPLES: u32 = 8;
/// MIN_RTT_THRESH, MAX_RTT_THRESH, MIN_RTT_DIVISOR.
const LEAST_GROWTH: Duration = Duration::from_millis(4);
const MOST_GROWTH: Duration = Duration::from_millis(16);
const GROWTH_PART: u64 = 8;
/// CSS_GROWTH_DIVISOR, CSS_ROUNDS.
const SLOWER: u64 = 4;
const ROUNDS: u32 = 5;
/// L: by how many segments an acknowledgement opens the window at most. There is no bound for
/// senders that pace.
const MOST_SEGMENTS: u64 = 8;
/// HyStart: acknowledgements that are this close to each other are one train, and no window is too
/// small.
const CLOSE: Duration = Duration::from_millis(2);
const LEAST_SEGMENTS: u64 = 16;

/// What an acknowledgement in slow start tells.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Progress {
    pub(crate) now: Instant,
    /// SND.UNA and SND.NXT after it.
    pub(crate) acknowledged_to: u64,
    pub(crate) sent_to: u64,
    /// Bytes that it acknowledges.
    pub(crate) acknowledged: u64,
    pub(crate) round_trip: Option<Duration>,
}

/// What a slow start keeps.
#[derive(Debug, Clone)]
pub(crate) struct HyStart {
    is_plus_plus: bool,
    is_paced: bool,
    /// windowEnd: a round ends beyond this byte.
    window_end: u64,
    /// lastRoundMinRTT, currentRoundMinRTT, rttSampleCount.
    last_shortest: Option<Duration>,
    shortest: Option<Duration>,
    samples: u32,
    /// cssBaselineMinRtt, while in conservative slow start, and its rounds.
    baseline: Option<Duration>,
    rounds: u32,
    /// HyStart: the shortest round trip of all, when the round started, and when its train's last
    /// acknowledgement came.
    shortest_of_all: Option<Duration>,
    round_start: Instant,
    last_of_train: Instant,
}

impl HyStart {
    /// None if slow start ends with a loss.
    pub(crate) fn new(kind: SlowStart, is_paced: bool) -> Option<Self> {
        if matches!(kind, SlowStart::UntilLoss | SlowStart::ByBytes) {
            return None;
        }
        Some(Self {
            is_plus_plus: kind == SlowStart::HyStartPlusPlus,
            is_paced,
            window_end: 0,
            last_shortest: None,
            shortest: None,
            samples: 0,
            baseline: None,
            rounds: 0,
            shortest_of_all: None,
            round_start: Instant::ZERO,
            last_of_train: Instant::ZERO,
        })
    }

    /// The window after an acknowledgement, and whether slow start is over. If so, the window is
    /// also the threshold.
    pub(crate) fn on_ack(
        &mut self,
        progress: Progress,
        window: u64,
        segment_len: u64,
    ) -> (u64, bool) {
        self.count(&progress);
        if !self.is_plus_plus {
            let is_large = window >= LEAST_SEGMENTS * segment_len;
            let is_over = is_large && (self.has_long_train(progress.now) || self.is_delayed());
            return (window + progress.acknowledged, is_over);
        }
        let opened = if self.is_paced {
            progress.acknowledged
        } else {
            progress.acknowledged.min(MOST_SEGMENTS * segment_len)
        };
        let Some(baseline) = self.baseline else {
            if self.has_grown() {
                self.baseline = self.shortest;
                self.rounds = 0;
            }
            return (window + opened, false);
        };
        // A queue was not why round trips grew, so we go back to slow start.
        if self.samples >= SAMPLES && self.shortest.is_some_and(|shortest| shortest < baseline) {
            self.baseline = None;
        }
        (window + opened / SLOWER, self.rounds >= ROUNDS)
    }

    fn count(&mut self, progress: &Progress) {
        if progress.acknowledged_to > self.window_end {
            self.window_end = progress.sent_to;
            self.last_shortest = self.shortest.take();
            self.samples = 0;
            self.rounds += 1;
            self.round_start = progress.now;
            self.last_of_train = progress.now;
        }
        if let Some(found) = progress.round_trip {
            let shortest = self.shortest.map_or(found, |shortest| shortest.min(found));
            self.shortest = Some(shortest);
            self.samples += 1;
            let shortest = self.shortest_of_all.map_or(found, |all| all.min(found));
            self.shortest_of_all = Some(shortest);
        }
    }

    /// HyStart: whether this round's acknowledgements have come close to each other for half of a
    /// round trip.
    fn has_long_train(&mut self, now: Instant) -> bool {
        let Some(shortest) = self.shortest_of_all else {
            return false;
        };
        if now.since(self.last_of_train) > CLOSE {
            return false;
        }
        self.last_of_train = now;
        now.since(self.round_start).as_picos() > shortest.as_picos() / 2
    }

    /// HyStart: whether this round's round trips are longer than the shortest of all by the
    /// threshold.
    fn is_delayed(&self) -> bool {
        let (Some(all), Some(shortest)) = (self.shortest_of_all, self.shortest) else {
            return false;
        };
        self.samples >= SAMPLES && shortest > all + threshold(all)
    }

    /// Whether this round's shortest round trip is longer than the last round's by RttThresh.
    fn has_grown(&self) -> bool {
        let (Some(last), Some(shortest)) = (self.last_shortest, self.shortest) else {
            return false;
        };
        self.samples >= SAMPLES && shortest >= last + threshold(last)
    }
}

/// RttThresh: how much a round trip must grow to tell of a queue.
fn threshold(round_trip: Duration) -> Duration {
    let part = Duration::from_picos(round_trip.as_picos() / GROWTH_PART);
    part.max(LEAST_GROWTH).min(MOST_GROWTH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds in which ten segments are acknowledged, with a round trip each. Returns the window
    /// after each round, and the round at whose end slow start is over.
    fn rounds(round_trips: &[u64]) -> (Vec<u64>, Option<usize>) {
        let mut hystart = HyStart::new(SlowStart::HyStartPlusPlus, false).unwrap();
        let (mut window, mut windows, mut acknowledged) = (10_000, Vec::new(), 0);
        for (round, millis) in round_trips.iter().enumerate() {
            let sent_to = acknowledged + 20_000;
            for _ in 0..10 {
                acknowledged += 1000;
                let progress = Progress {
                    now: Instant::ZERO,
                    acknowledged_to: acknowledged,
                    sent_to: sent_to - 10_000,
                    acknowledged: 1000,
                    round_trip: Some(Duration::from_millis(*millis)),
                };
                let is_over;
                (window, is_over) = hystart.on_ack(progress, window, 1000);
                if is_over {
                    return (windows, Some(round));
                }
            }
            windows.push(window / 1000);
        }
        (windows, None)
    }

    #[test]
    fn a_round_trip_that_grows_by_an_eighth_slows_down_and_ends_it_after_five_rounds() {
        // 40 ms and an eighth is 45 ms. The eighth sample tells this, and from then on a quarter
        // counts.
        let (windows, end) = rounds(&[40, 40, 45, 45, 45, 45, 45, 45]);
        assert_eq!(windows[..4], [20, 30, 38, 41]);
        assert_eq!(end, Some(7));
        assert_eq!(rounds(&[40, 40, 44, 44, 44, 44, 44, 44]).1, None);
    }

    #[test]
    fn the_least_growth_is_four_and_the_most_sixteen_milliseconds() {
        assert_eq!(rounds(&[10, 10, 13, 13, 13, 13, 13, 13]).1, None);
        assert!(rounds(&[10, 10, 14, 14, 14, 14, 14, 14, 14]).1.is_some());
        assert!(
            rounds(&[400, 400, 416, 416, 416, 416, 416, 416, 416])
                .1
                .is_some()
        );
    }

    #[test]
    fn a_round_trip_that_shrinks_again_was_no_queue() {
        let (windows, end) = rounds(&[40, 40, 50, 40, 40, 40, 40, 40, 40, 40]);
        assert_eq!(end, None);
        let last = windows.len() - 1;
        assert_eq!(windows[last] - windows[last - 1], 10);
    }

    #[test]
    fn an_acknowledgement_opens_the_window_by_eight_segments_at_most() {
        let progress = Progress {
            now: Instant::ZERO,
            acknowledged_to: 50_000,
            sent_to: 60_000,
            acknowledged: 50_000,
            round_trip: None,
        };
        let mut plus_plus = HyStart::new(SlowStart::HyStartPlusPlus, false).unwrap();
        assert_eq!(plus_plus.on_ack(progress, 10_000, 1000), (18_000, false));
        let mut hystart = HyStart::new(SlowStart::HyStart, false).unwrap();
        assert_eq!(hystart.on_ack(progress, 10_000, 1000), (60_000, false));
        assert!(HyStart::new(SlowStart::UntilLoss, false).is_none());
    }

    /// Acknowledgements come every `gap` microseconds, after the round trip of 40 ms. Returns how
    /// many come within a round until slow start is over.
    fn train(gap: u64) -> Option<u64> {
        let mut hystart = HyStart::new(SlowStart::HyStart, false).unwrap();
        for number in 0..200 {
            let progress = Progress {
                now: Instant::from_nanos(40_000_000 + number * gap * 1000),
                acknowledged_to: 1000 + number * 1000,
                sent_to: 1_000_000,
                acknowledged: 1000,
                round_trip: Some(Duration::from_millis(40)),
            };
            if hystart.on_ack(progress, 20_000, 1000).1 {
                return Some(number);
            }
        }
        None
    }

    #[test]
    fn hystart_ends_when_a_train_is_half_a_round_trip_long() {
        // 20 ms and a little.
        assert_eq!(train(1000), Some(21));
        assert_eq!(train(100), None, "a round of 20 ms");
        assert_eq!(train(2500), None, "no train");
    }

    #[test]
    fn hystart_ends_at_once_when_round_trips_have_grown() {
        let mut hystart = HyStart::new(SlowStart::HyStart, false).unwrap();
        let mut over = Vec::new();
        for (round, millis) in [(0_u64, 40), (1, 44), (2, 46)] {
            for number in 0..10 {
                let at = round * 50_000_000 + number * 3_000_000;
                let acknowledged_to = 1000 * (10 * round + number + 1);
                let progress = Progress {
                    now: Instant::from_nanos(at),
                    acknowledged_to,
                    sent_to: 10_000 * (round + 1),
                    acknowledged: 1000,
                    round_trip: Some(Duration::from_millis(millis)),
                };
                if hystart.on_ack(progress, 20_000, 1000).1 {
                    over.push((round, number));
                }
            }
        }
        assert_eq!(over.first(), Some(&(2, 7)), "the eighth of a round");
    }
}
