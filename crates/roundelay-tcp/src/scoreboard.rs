//! RFC 6675's SACK scoreboard: the state of each segment in flight. The pipe is updated step by
//! step and not computed anew.
//!
//! Segments lie in a ring in the order of sequence numbers. A segment leaves the pipe when it is
//! selectively acknowledged or lost, and enters again when retransmitted. Loss is monotone: a
//! segment is lost once `threshold` segments above have arrived. So every segment before a
//! *frontier* has either arrived or is lost, and the frontier only moves forward. Blocks repeat
//! earlier information, but a run of arrived segments is skipped in one step, by links with path
//! compression. Each call is O(1) amortised, plus O(log n) to find a block with a start that is no
//! multiple of the segment length. With RACK the frontier stays behind, and `rack/detection.rs`
//! finds losses by time.

use std::collections::VecDeque;

use crate::config::{Config, Control};
use crate::delivery::DeliveryMeter;
use crate::rack::Rack;

/// A segment in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) sequence: u64,
    pub(crate) len: u32,
    /// If the segment has arrived: at least this many consecutive entries from here on have
    /// arrived.
    run: u32,
    has_arrived: bool,
    is_lost: bool,
    is_retransmitted: bool,
    /// Whether the arrival is evidence for losses before the segment.
    is_evidence: bool,
}

impl Entry {
    fn end(&self) -> u64 {
        self.sequence + u64::from(self.len)
    }

    /// Copies assumed to be in the network.
    fn copies(&self) -> u64 {
        if self.has_arrived {
            0
        } else {
            u64::from(!self.is_lost) + u64::from(self.is_retransmitted)
        }
    }
}

/// Segments between the cumulative acknowledgement and the highest byte sent. Positions count from
/// the connection's first segment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scoreboard {
    entries: VecDeque<Entry>,
    /// The first entry's position.
    base: u64,
    /// Every segment before this position has arrived or is lost.
    frontier: u64,
    /// Entries from the frontier on that have arrived.
    arrived_beyond: u64,
    /// The position of the first segment that may be retransmitted: one more than the highest that
    /// was (HighRxt).
    retransmit: u64,
    /// The position after the highest segment that has arrived and is evidence for losses.
    arrived_end: u64,
    /// Bytes assumed to be in the network.
    pipe: u64,
    segment_len: u64,
    threshold: u64,
    /// Bytes that have arrived since the last `take_newly_delivered`.
    newly_delivered: u64,
    /// Bytes in all transmissions that were taken for lost because of what arrived.
    lost_bytes: u64,
    /// Segments that RACK found lost and that are still missing, sent again or not.
    lost: u32,
    /// For a law that asks how fast data arrives.
    pub(crate) meter: Option<Box<DeliveryMeter>>,
    /// Finds losses by time, instead of by the frontier.
    pub(crate) rack: Option<Box<Rack>>,
}

impl Scoreboard {
    pub(crate) fn new(config: &Config) -> Self {
        let [segment_len, threshold] =
            [config.segment_len, config.duplicate_threshold].map(u64::from);
        Self {
            segment_len,
            threshold,
            meter: config
                .control
                .has_model()
                .then(|| Box::new(DeliveryMeter::new(config.control == Control::Bbr3))),
            rack: config.rack.then(|| Box::new(Rack::new(config))),
            ..Self::default()
        }
    }

    /// Bytes in all transmissions that were taken for lost so far, except by timeouts.
    pub(crate) fn lost_bytes(&self) -> u64 {
        self.lost_bytes
    }

    /// Bytes known to have arrived since the last call (DeliveredData of RFC 9937).
    pub(crate) fn take_newly_delivered(&mut self) -> u64 {
        std::mem::take(&mut self.newly_delivered)
    }

    /// SetPipe().
    pub(crate) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// Adds a new segment.
    pub(crate) fn push(&mut self, sequence: u64, len: u32) {
        let state = Entry {
            sequence,
            len,
            run: 0,
            has_arrived: false,
            is_lost: false,
            is_retransmitted: false,
            is_evidence: false,
        };
        if let Some(meter) = &mut self.meter {
            meter.push(self.entries.is_empty(), self.pipe + u64::from(len));
        }
        if let Some(rack) = &mut self.rack {
            rack.push(self.base + self.entries.len() as u64);
        }
        self.entries.push_back(state);
        self.pipe += u64::from(len);
    }

    /// All bytes before `number` have arrived, so their segments leave.
    pub(crate) fn acknowledge(&mut self, number: u64) {
        while let Some(entry) = self.entries.front().filter(|entry| entry.end() <= number) {
            self.pipe -= entry.copies() * u64::from(entry.len);
            let arrives_now = !entry.has_arrived;
            // The segment lies at the frontier, which passes it.
            if self.frontier <= self.base {
                self.frontier = self.base + 1;
                self.arrived_beyond -= u64::from(entry.is_evidence);
            }
            if arrives_now {
                self.newly_delivered += u64::from(entry.len);
            }
            if let Some(meter) = &mut self.meter {
                if arrives_now {
                    meter.arrive(0, entry.len);
                }
                meter.pop();
            }
            if let Some(rack) = &mut self.rack {
                if arrives_now {
                    rack.arrive(0, self.base, true);
                }
                rack.sacked -= u32::from(entry.is_evidence);
                rack.pop();
                // Only RACK finds what `lost` counts.
                self.lost -= u32::from(entry.is_lost);
            }
            self.entries.pop_front();
            self.base += 1;
        }
        self.retransmit = self.retransmit.max(self.base);
        // A receiver may acknowledge a part of a segment.
        self.trim(number);
    }

    /// Records a block and returns how many bytes are new. Call `find_lost` after the last block.
    /// If `is_evidence` is false, the block is no evidence for losses.
    pub(crate) fn arrive(&mut self, start: u64, end: u64, is_evidence: bool) -> u64 {
        let mut new_bytes = 0;
        let mut index = self.index_of(start);
        loop {
            // The next entry of the block that has not arrived.
            index = self.skip_run(index);
            let Some(entry) = self
                .entries
                .get_mut(index)
                .filter(|entry| entry.end() <= end)
            else {
                return new_bytes;
            };
            let position = self.base + index as u64;
            if let Some(meter) = &mut self.meter {
                meter.arrive(index, entry.len);
            }
            if let Some(rack) = &mut self.rack {
                let is_cumulative = false;
                rack.arrive(index, position, is_cumulative);
                rack.sacked += u32::from(is_evidence);
                // Only RACK finds what `lost` counts.
                self.lost -= u32::from(entry.is_lost);
            }
            self.pipe -= entry.copies() * u64::from(entry.len);
            new_bytes += u64::from(entry.len);
            self.newly_delivered += u64::from(entry.len);
            entry.has_arrived = true;
            entry.is_lost = false;
            entry.is_evidence = is_evidence;
            entry.run = 1;
            if is_evidence {
                self.arrived_beyond += u64::from(position >= self.frontier);
                self.arrived_end = self.arrived_end.max(position + 1);
            }
        }
    }

    /// Moves the frontier forward (IsLost() for the segments that it passes).
    pub(crate) fn find_lost(&mut self) {
        if self.rack.is_some() {
            return;
        }
        while self.arrived_beyond >= self.threshold {
            let Some(entry) = self.entries.get_mut((self.frontier - self.base) as usize) else {
                return;
            };
            if entry.has_arrived {
                if entry.is_evidence && self.arrived_beyond == self.threshold {
                    return;
                }
                self.arrived_beyond -= u64::from(entry.is_evidence);
            } else {
                self.pipe -= u64::from(entry.len);
                self.lost_bytes += u64::from(entry.len);
                entry.is_lost = true;
                if let Some(meter) = &mut self.meter {
                    let index = (self.frontier - self.base) as usize;
                    meter.lose(index, entry.sequence, entry.len);
                }
            }
            self.frontier += 1;
        }
    }

    /// IsLost() for the first segment in flight.
    pub(crate) fn first_is_lost(&self) -> bool {
        self.entries.front().is_some_and(|entry| entry.is_lost)
    }

    /// A recovery starts, so HighRxt goes back to the first segment, which `retransmit_first`
    /// sends.
    pub(crate) fn begin_recovery(&mut self) {
        if self.rack.is_some() {
            return;
        }
        for index in 0..(self.retransmit - self.base) as usize {
            let entry = &mut self.entries[index];
            let before = entry.copies();
            entry.is_retransmitted = false;
            self.pipe -= (before - entry.copies()) * u64::from(entry.len);
        }
        self.retransmit = self.base;
    }

    /// As `lose_at`, but at a timeout, and by index.
    pub(crate) fn lose_late(&mut self, index: usize) -> u64 {
        let position = self.lose_at(index);
        if let Some(meter) = &mut self.meter {
            meter.note_loss(index, self.entries[index].sequence, self.entries[index].len);
        }
        position
    }

    /// A timeout: every segment that has not arrived is lost, and may be sent again.
    pub(crate) fn lose_all(&mut self) {
        if let Some(meter) = &mut self.meter {
            for (index, entry) in self.entries.iter().enumerate() {
                if entry.copies() > 0 {
                    meter.note_loss(index, entry.sequence, entry.len);
                }
            }
        }
        for entry in &mut self.entries {
            (entry.is_lost, entry.is_retransmitted) = (!entry.has_arrived, false);
        }
        self.frontier = self.base + self.entries.len() as u64;
        (self.arrived_beyond, self.pipe, self.retransmit) = (0, 0, self.base);
    }

    /// The first segment in flight, marked as retransmitted. With RACK, the first that is lost.
    pub(crate) fn retransmit_first(&mut self) -> Option<Entry> {
        if self.rack.is_some() {
            return self.retransmit_lost(u64::MAX);
        }
        (!self.entries.is_empty()).then(|| self.mark(self.base))
    }

    /// NextSeg(), rule 1: the next lost segment that starts before `limit`, marked as
    /// retransmitted.
    pub(crate) fn retransmit_lost(&mut self, limit: u64) -> Option<Entry> {
        let position = if self.rack.is_some() {
            self.first_lost()?
        } else {
            self.next_missing(self.frontier)?
        };
        (self.entries[(position - self.base) as usize].sequence < limit)
            .then(|| self.mark(position))
    }

    /// The highest segment in flight, marked as retransmitted.
    pub(crate) fn retransmit_last(&mut self) -> Option<Entry> {
        let last = self.entries.len().checked_sub(1)?;
        Some(self.mark(self.base + last as u64))
    }

    /// Segments beyond a gap that have arrived, if RACK counts them.
    pub(crate) fn sacked(&self) -> u32 {
        self.rack.as_ref().map_or(0, |rack| rack.sacked)
    }

    /// Whether something that RACK found lost is still missing, sent again or not.
    pub(crate) fn has_lost(&self) -> bool {
        self.lost > 0
    }

    /// The index of a position, if the segment is still here.
    pub(crate) fn index_at(&self, position: u64) -> Option<usize> {
        let index = position.checked_sub(self.base)? as usize;
        (index < self.entries.len()).then_some(index)
    }

    /// Copies assumed to be in the network.
    pub(crate) fn copies_at(&self, index: usize) -> u64 {
        self.entries[index].copies()
    }

    pub(crate) fn is_missing(&self, index: usize) -> bool {
        !self.entries[index].has_arrived
    }

    /// All copies of a segment are lost. Returns its position.
    pub(crate) fn lose_at(&mut self, index: usize) -> u64 {
        let entry = &mut self.entries[index];
        self.pipe -= entry.copies() * u64::from(entry.len);
        self.lost += u32::from(!entry.is_lost);
        entry.is_lost = true;
        entry.is_retransmitted = false;
        self.base + index as u64
    }

    /// As `lose_at`, but by position, and a model of the path hears of the loss. Returns whether
    /// the segment had been sent again.
    pub(crate) fn lose(&mut self, position: u64) -> bool {
        let index = (position - self.base) as usize;
        let was_sent_again = self.entries[index].is_retransmitted;
        self.lose_at(index);
        self.lost_bytes += u64::from(self.entries[index].len);
        if let Some(meter) = &mut self.meter {
            meter.lose(index, self.entries[index].sequence, self.entries[index].len);
        }
        was_sent_again
    }

    /// NextSeg(), rule 3: the next missing segment, lost or not, if a later one has arrived.
    pub(crate) fn retransmit_missing(&mut self) -> Option<Entry> {
        self.next_missing(self.arrived_end)
            .map(|position| self.mark(position))
    }

    /// NextSeg(), rule 4: the highest missing segment. This searches linearly, but only once in a
    /// recovery.
    pub(crate) fn rescue(&self) -> Option<Entry> {
        self.entries
            .iter()
            .rev()
            .find(|entry| !entry.has_arrived)
            .copied()
    }

    /// The first position at which a segment is missing, from HighRxt on and before `end`.
    fn next_missing(&mut self, end: u64) -> Option<u64> {
        while self.retransmit < end {
            if !self.entries[(self.retransmit - self.base) as usize].has_arrived {
                return Some(self.retransmit);
            }
            self.retransmit += 1;
        }
        None
    }

    fn mark(&mut self, position: u64) -> Entry {
        self.retransmit = self.retransmit.max(position + 1);
        if let Some(rack) = &mut self.rack {
            rack.resend((position - self.base) as usize, position);
        }
        let entry = &mut self.entries[(position - self.base) as usize];
        if !entry.is_retransmitted {
            entry.is_retransmitted = true;
            self.pipe += u64::from(entry.len);
        }
        if let Some(meter) = &mut self.meter {
            meter.resend((position - self.base) as usize, self.pipe);
        }
        *entry
    }

    /// The first missing entry at or after `index`.
    fn skip_run(&mut self, index: usize) -> usize {
        let mut end = index;
        while let Some(entry) = self.entries.get(end).filter(|entry| entry.has_arrived) {
            end += entry.run as usize;
        }
        let mut at = index;
        while at < end {
            let run = std::mem::replace(&mut self.entries[at].run, (end - at) as u32);
            at += run as usize;
        }
        end
    }

    /// The first entry that starts at or after `number`.
    fn index_of(&self, number: u64) -> usize {
        let Some(first) = self.entries.front() else {
            return 0;
        };
        let guess = (number.saturating_sub(first.sequence) / self.segment_len) as usize;
        if self
            .entries
            .get(guess)
            .is_some_and(|entry| entry.sequence == number)
        {
            return guess;
        }
        self.entries
            .partition_point(|entry| entry.sequence < number)
    }

    /// Removes the acknowledged part of the first segment. This crate's receiver never acknowledges
    /// a part of a segment, but another may.
    fn trim(&mut self, number: u64) {
        if let Some(entry) = self
            .entries
            .front_mut()
            .filter(|entry| entry.sequence < number)
        {
            let cut = (number - entry.sequence) as u32;
            self.pipe -= entry.copies() * u64::from(cut);
            if !entry.has_arrived {
                self.newly_delivered += u64::from(cut);
                if let Some(meter) = &mut self.meter {
                    meter.arrive_in_part(cut);
                }
            }
            entry.sequence = number;
            entry.len -= cut;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    struct Sent {
        sequence: u64,
        len: u32,
        has_arrived: bool,
        /// Whether the arrival is evidence for losses.
        is_evidence: bool,
        is_retransmitted: bool,
        is_given_up: bool,
    }

    impl Sent {
        fn new(sequence: u64, len: u32) -> Self {
            Self {
                sequence,
                len,
                has_arrived: false,
                is_evidence: false,
                is_retransmitted: false,
                is_given_up: false,
            }
        }

        fn end(&self) -> u64 {
            self.sequence + u64::from(self.len)
        }
    }

    /// RFC 6675 literally: everything is computed again from which segments have arrived and which
    /// were retransmitted.
    #[derive(Default)]
    struct Literal {
        sent: Vec<Sent>,
        highest_retransmitted: u64,
    }

    impl Literal {
        /// IsLost(): `threshold` segments above have arrived. If segments are full, this is the
        /// RFC's rule.
        fn is_lost(&self, index: usize, threshold: usize) -> bool {
            let above = self.sent[index..]
                .iter()
                .filter(|sent| sent.is_evidence)
                .count();
            !self.sent[index].has_arrived && (self.sent[index].is_given_up || above >= threshold)
        }

        /// SetPipe().
        fn pipe(&self, threshold: usize) -> u64 {
            let copies = |index: usize| {
                let sent = &self.sent[index];
                let copies =
                    u64::from(!self.is_lost(index, threshold)) + u64::from(sent.is_retransmitted);
                if sent.has_arrived {
                    0
                } else {
                    copies * u64::from(sent.len)
                }
            };
            (0..self.sent.len()).map(copies).sum()
        }

        /// NextSeg(), rule 1, or 3 if `any`.
        fn next(&mut self, threshold: usize, any: bool) -> Option<u64> {
            let last = self
                .sent
                .iter()
                .rposition(|sent| sent.is_evidence)
                .unwrap_or(0);
            let fits = |index: &usize| {
                let sent = &self.sent[*index];
                !sent.has_arrived
                    && sent.sequence >= self.highest_retransmitted
                    && (any || self.is_lost(*index, threshold))
            };
            let index = (0..if any { last } else { self.sent.len() }).find(fits)?;
            self.sent[index].is_retransmitted = true;
            self.highest_retransmitted = self.sent[index].sequence + 1;
            Some(self.sent[index].sequence)
        }

        fn arrive(&mut self, start: u64, end: u64, is_evidence: bool) -> u64 {
            let whole =
                |sent: &&mut Sent| sent.sequence >= start && sent.end() <= end && !sent.has_arrived;
            let mut new_bytes = 0;
            for sent in self.sent.iter_mut().filter(|sent| whole(sent)) {
                (sent.has_arrived, sent.is_evidence) = (true, is_evidence);
                new_bytes += u64::from(sent.len);
            }
            new_bytes
        }

        fn forget_retransmissions(&mut self, is_timeout: bool) {
            self.highest_retransmitted = 0;
            for sent in &mut self.sent {
                sent.is_retransmitted = false;
                sent.is_given_up |= is_timeout && !sent.has_arrived;
            }
        }
    }

    fn board(duplicate_threshold: u32) -> Scoreboard {
        Scoreboard::new(&Config {
            segment_len: 10,
            duplicate_threshold,
            ..Config::rfc()
        })
    }

    fn compare(seed: u64) {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let threshold = random.random_range(1..5);
        let mut board = board(threshold as u32);
        let mut literal = Literal::default();
        let mut next = 0_u64;
        let mut acknowledged = 0_u64;
        for _ in 0..120 {
            match random.random_range(0..11) {
                0..4 => {
                    let len = if random.random_bool(0.8) {
                        10
                    } else {
                        random.random_range(1..10)
                    };
                    board.push(next, len);
                    literal.sent.push(Sent::new(next, len));
                    next += u64::from(len);
                }
                4 => {
                    let count = random.random_range(0..=literal.sent.len().min(4));
                    acknowledged = literal.sent[..count].last().map_or(acknowledged, Sent::end);
                    board.acknowledge(acknowledged);
                    literal.sent.drain(..count);
                }
                5..8 if next > acknowledged => {
                    let start = random.random_range(acknowledged..next);
                    let end = random.random_range(start..=next.min(start + 60));
                    let is_evidence = random.random_bool(0.9);
                    assert_eq!(
                        board.arrive(start, end, is_evidence),
                        literal.arrive(start, end, is_evidence),
                        "seed {seed}"
                    );
                    board.find_lost();
                }
                8 => {
                    let any = random.random_bool(0.3);
                    let found = if any {
                        board.retransmit_missing()
                    } else {
                        board.retransmit_lost(u64::MAX)
                    };
                    assert_eq!(
                        found.map(|entry| entry.sequence),
                        literal.next(threshold, any),
                        "seed {seed}"
                    );
                }
                9 if random.random_bool(0.3) => {
                    let is_timeout = random.random_bool(0.5);
                    literal.forget_retransmissions(is_timeout);
                    if is_timeout {
                        board.lose_all()
                    } else {
                        board.begin_recovery()
                    }
                }
                // Skips data that was sent out of band.
                10 if random.random_bool(0.3) => next += 35,
                _ => {}
            }
            assert_eq!(board.pipe(), literal.pipe(threshold), "seed {seed}");
            let first_is_lost = !literal.sent.is_empty() && literal.is_lost(0, threshold);
            assert_eq!(board.first_is_lost(), first_is_lost, "seed {seed}");
            let highest = literal
                .sent
                .iter()
                .rev()
                .find(|sent| !sent.has_arrived)
                .map(|sent| sent.sequence);
            assert_eq!(
                board.rescue().map(|entry| entry.sequence),
                highest,
                "seed {seed}"
            );
        }
    }

    #[test]
    fn it_is_what_the_rfc_computes() {
        (0..3000).for_each(compare);
    }

    /// An acknowledgement may end within a segment.
    #[test]
    fn a_segment_is_cut() {
        let mut board = board(3);
        board.push(0, 10);
        board.acknowledge(4);
        assert_eq!(
            (
                board.pipe(),
                board
                    .retransmit_first()
                    .map(|entry| (entry.sequence, entry.len))
            ),
            (6, Some((4, 6)))
        );
    }
}
