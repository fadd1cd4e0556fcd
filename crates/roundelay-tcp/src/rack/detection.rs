//! RACK's detection of losses: which segments are lost, when the reordering timer expires, and how
//! the sender responds. RFC 8985, section 6.2, step 5, and section 6.3.
//!
//! Transmissions lie in the order of time, and the oldest is judged first, so the work is O(1)
//! amortised for each transmission, plus O(log n) to retransmit the lowest lost segment first.

use std::cmp::Reverse;

use roundelay::{Duration, Instant};

use super::Rack;
use crate::scoreboard::Scoreboard;
use crate::segment::{Flags, Segment};
use crate::sender::{Mode, Sender};

impl Scoreboard {
    /// RACK_detect_loss_and_arm_timer(): section 6.2, step 5, with a window for reordering. The
    /// timer expires when the wait of the first waiting segment ends, so that each is found lost in
    /// its own time. Returns whether a retransmission is among them.
    fn find_lost_by_time(&mut self, window: Duration) -> bool {
        let Some(mut rack) = self.rack.take() else {
            return false;
        };
        let mut loses_repair = false;
        if let Some(arrived) = rack.newest_arrived.take() {
            rack.round_trip = rack.now.since(arrived.0);
            rack.newest = rack.newest.max(arrived);
        }
        rack.deadline = None;
        while let Some(&(at, position)) = rack.log.front() {
            if self.waits(&rack, at, position) {
                if rack.newest <= (at, position) {
                    break;
                }
                let due = at + rack.round_trip + window;
                if due > rack.now {
                    rack.deadline = Some(due);
                    break;
                }
                loses_repair |= self.lose(position);
                rack.lost.push(Reverse(position));
            }
            rack.log.pop_front();
        }
        self.rack = Some(rack);
        loses_repair
    }

    /// Whether a transmission is the last of its segment, and neither arrived nor lost.
    fn waits(&self, rack: &Rack, at: Instant, position: u64) -> bool {
        let Some(index) = self.index_at(position) else {
            return false;
        };
        rack.sent[index].at == at && self.copies_at(index) > 0
    }

    /// RACK_mark_losses_on_RTO(): section 6.3. What was sent less than a round trip ago may still
    /// arrive.
    fn lose_expired(&mut self, window: Duration) {
        let Some(mut rack) = self.rack.take() else {
            return;
        };
        for index in 0..rack.sent.len() {
            let is_expired = rack.sent[index].at + rack.round_trip + window <= rack.now;
            if self.copies_at(index) > 0 && (index == 0 || is_expired) {
                let position = self.lose_late(index);
                rack.lost.push(Reverse(position));
            }
        }
        self.rack = Some(rack);
    }

    /// The lowest segment that is lost and was not sent again.
    pub(crate) fn first_lost(&mut self) -> Option<u64> {
        let mut rack = self.rack.take()?;
        let mut found = None;
        while let Some(&Reverse(position)) = rack.lost.peek() {
            let is_lost = |index| self.is_missing(index) && self.copies_at(index) == 0;
            if self.index_at(position).is_some_and(is_lost) {
                found = Some(position);
                break;
            }
            rack.lost.pop();
        }
        self.rack = Some(rack);
        found
    }
}

impl Sender {
    /// An acknowledgement comes in: tells its time and echo, and judges a probe in flight.
    #[inline(never)]
    pub(crate) fn begin_judgement(&mut self, now: Instant, segment: &Segment) {
        if let Some(rack) = &mut self.scoreboard.rack {
            let echo = self.config.timestamps.then_some(segment.echo);
            rack.begin(now, echo, !segment.flags.has(Flags::OUT_OF_BAND));
        }
        self.judge_probe(now, segment);
    }

    /// Section 6.2, step 5: judges the segments in flight, and enters fast recovery if one is lost.
    /// Arrivals beyond a gap stop the probe timer, because the reordering timer is there for them.
    #[inline(never)]
    pub(crate) fn judge_by_time(&mut self, now: Instant) {
        let Some(window) = self.reordering_window() else {
            return;
        };
        let loses_repair = self.scoreboard.find_lost_by_time(window);
        // A recovery repairs what is found lost while it lasts. What is lost and still missing at
        // its end starts the next one, even if it was sent again. A retransmission that is lost
        // after a timeout is a second sign of congestion (RFC 5681, section 4.3).
        let starts_recovery = match self.mode {
            Mode::Open => self.scoreboard.has_lost() && self.may_recover(),
            Mode::Loss => loses_repair,
            _ => false,
        };
        if starts_recovery {
            self.retransmit_fast(now);
        }
        if self.scoreboard.sacked() > 0 {
            self.probe.deadline = None;
        }
    }

    /// The reordering timer expires. Nothing arrives now, so a window that shrinks with what
    /// arrives lets nothing but the first retransmission go.
    pub(crate) fn on_reordering_timer(&mut self, now: Instant) {
        let was_recovery = self.mode == Mode::Recovery;
        self.judge_by_time(now);
        if !was_recovery && self.mode == Mode::Recovery {
            self.reduce_in_proportion(0, false);
        }
    }

    /// A timeout: section 6.3. The first segment goes out whatever the pipe holds.
    pub(crate) fn lose_by_time(&mut self) {
        if let Some(window) = self.reordering_window() {
            self.scoreboard.lose_expired(window);
            self.must_retransmit = true;
        }
    }

    fn reordering_window(&self) -> Option<Duration> {
        let rack = self.scoreboard.rack.as_ref()?;
        Some(rack.window(self.timer.smoothed(), self.mode.is_repair()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    const LEN: u64 = 10;

    #[derive(Debug, Clone, Copy)]
    struct Sending {
        number: u64,
        at: Instant,
        is_retransmitted: bool,
        is_lost: bool,
        is_sacked: bool,
    }

    /// RFC 8985, section 6, literally: each step goes through all segments.
    #[derive(Debug, Default)]
    struct Literal {
        segments: Vec<Sending>,
        newest: (Instant, u64),
        round_trip: Duration,
        least: Option<Duration>,
        forward: u64,
        is_reordered: bool,
    }

    impl Literal {
        /// Steps 1 to 3, for an acknowledgement that reports the segments with these numbers.
        fn arrive(&mut self, now: Instant, mut numbers: Vec<u64>) {
            numbers.sort_unstable();
            let mut news = Vec::new();
            for segment in &mut self.segments {
                if numbers.contains(&segment.number) && !segment.is_sacked {
                    segment.is_sacked = true;
                    news.push(*segment);
                }
            }
            for segment in &news {
                if !segment.is_retransmitted {
                    let round_trip = now.since(segment.at);
                    self.least = Some(self.least.map_or(round_trip, |least| least.min(round_trip)));
                }
                if segment.number >= self.forward {
                    self.forward = segment.number + 1;
                } else if !segment.is_retransmitted {
                    self.is_reordered = true;
                }
            }
            news.sort_by_key(|segment| (segment.at, segment.number));
            for segment in &news {
                let round_trip = now.since(segment.at);
                if segment.is_retransmitted && self.least.is_some_and(|least| round_trip < least) {
                    continue;
                }
                self.round_trip = round_trip;
                self.newest = self.newest.max((segment.at, segment.number));
            }
        }

        /// Steps 4 and 5. Returns the time at which the first waiting segment will be lost.
        fn detect(&mut self, now: Instant, threshold: usize) -> Option<Instant> {
            let sacked = self.segments.iter().filter(|segment| segment.is_sacked);
            let is_told = !self.is_reordered && sacked.count() >= threshold;
            let quarter = |least: Duration| Duration::from_picos(least.as_picos() / 4);
            let window = self.least.filter(|_| !is_told).map(quarter);
            let mut first: Option<Instant> = None;
            for segment in &mut self.segments {
                let is_older = self.newest > (segment.at, segment.number);
                if segment.is_sacked || segment.is_lost || !is_older {
                    continue;
                }
                let due = segment.at + self.round_trip + window.unwrap_or(Duration::ZERO);
                if due <= now {
                    segment.is_lost = true;
                } else {
                    first = Some(first.map_or(due, |first| first.min(due)));
                }
            }
            first
        }

        fn lost(&self) -> Vec<u64> {
            let lost = self.segments.iter().filter(|segment| segment.is_lost);
            let waiting = lost.filter(|segment| !segment.is_sacked);
            waiting.map(|segment| segment.number).collect()
        }
    }

    /// Random calls on a scoreboard and on the literal reading.
    fn compare(seed: u64) {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let config = Config {
            segment_len: LEN as u32,
            rack: true,
            duplicate_threshold: random.random_range(1..6),
            ..Config::rfc()
        };
        let mut board = Scoreboard::new(&config);
        let mut literal = Literal::default();
        let mut now = Instant::ZERO;
        let (mut next, mut acknowledged) = (0, 0);
        for _ in 0..120 {
            now += Duration::from_millis(random.random_range(0..20));
            board.rack.as_mut().unwrap().tell_time(now);
            match random.random_range(0..6) {
                0..2 => {
                    board.push(next * LEN, LEN as u32);
                    literal.segments.push(Sending {
                        number: next,
                        at: now,
                        is_retransmitted: false,
                        is_lost: false,
                        is_sacked: false,
                    });
                    next += 1;
                }
                2 => {
                    let found = board.retransmit_lost(u64::MAX);
                    let expected = literal.lost().first().copied();
                    let found = found.map(|entry| entry.sequence / LEN);
                    assert_eq!(found, expected, "seed {seed}");
                    let of_found = |segment: &&mut Sending| Some(segment.number) == found;
                    if let Some(segment) = literal.segments.iter_mut().find(of_found) {
                        segment.at = now;
                        segment.is_retransmitted = true;
                        segment.is_lost = false;
                    }
                }
                3..5 => {
                    board.rack.as_mut().unwrap().begin(now, None, true);
                    let mut numbers = Vec::new();
                    if random.random_bool(0.4) {
                        let reached = random.random_range(acknowledged..=next);
                        numbers.extend(acknowledged..reached);
                        board.acknowledge(reached * LEN);
                        acknowledged = reached;
                    }
                    for _ in 0..random.random_range(0..3) {
                        // Beyond the gap.
                        if next - acknowledged > 1 {
                            let start = random.random_range(acknowledged + 1..next);
                            let end = random.random_range(start..=next.min(start + 4));
                            numbers.extend(start..end);
                            board.arrive(start * LEN, end * LEN, true);
                        }
                    }
                    literal.arrive(now, numbers);
                    literal
                        .segments
                        .retain(|segment| segment.number >= acknowledged);
                }
                _ => {}
            }
            let threshold = config.duplicate_threshold as usize;
            let expected = literal.detect(now, threshold);
            let window = board.rack.as_ref().unwrap().window(None, false);
            board.find_lost_by_time(window);
            let rack = board.rack.as_ref().unwrap();
            assert_eq!(rack.deadline(), expected, "seed {seed}");
            let is_lost = |index: &usize| board.is_missing(*index) && board.copies_at(*index) == 0;
            let lost = (0..literal.segments.len()).filter(is_lost);
            let lost: Vec<_> = lost.map(|index| acknowledged + index as u64).collect();
            assert_eq!(lost, literal.lost(), "seed {seed}");
        }
    }

    #[test]
    fn it_is_what_the_rfc_computes() {
        (0..3000).for_each(compare);
    }
}
