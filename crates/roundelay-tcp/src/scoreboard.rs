//! What a sender knows of each segment in flight: RFC 6675's scoreboard, with its pipe kept up to date instead of computed.
//!
//! Segments lie in a ring in the order of their numbers. A segment leaves the pipe when it is selectively acknowledged or lost, and enters it
//! anew when it is retransmitted. Since losing is monotone (a segment is lost once `threshold` above it have arrived), everything before a
//! *frontier* that has not arrived is lost, and the frontier only moves on. Blocks repeat what was told before; a run of segments that have
//! arrived is passed in a step, by links that are shortened as they are followed. Each call is O(1) amortised, plus O(log n) to find a block
//! that does not start at a multiple of the segment length.

use std::collections::VecDeque;

/// A segment in flight.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry {
    pub(crate) sequence: u64,
    pub(crate) len: u32,
    /// If it has arrived: so many entries from here on have too, at least.
    run: u32,
    has_arrived: bool,
    is_lost: bool,
    is_retransmitted: bool,
}

impl Entry {
    fn end(&self) -> u64 {
        self.sequence + u64::from(self.len)
    }

    /// Copies of it that are believed to be in the network.
    fn copies(&self) -> u64 {
        if self.has_arrived { 0 } else { u64::from(!self.is_lost) + u64::from(self.is_retransmitted) }
    }
}

/// Segments between the cumulative acknowledgement and the highest byte sent. Places count from the first segment of the connection.
#[derive(Debug, Clone, Default)]
pub(crate) struct Scoreboard {
    entries: VecDeque<Entry>,
    /// Place of the first entry.
    base: u64,
    /// Place before which everything that has not arrived is lost.
    frontier: u64,
    /// Entries from the frontier on that have arrived.
    arrived_beyond: u64,
    /// Place of the first that may be retransmitted: one more than the highest that was (HighRxt).
    retransmit: u64,
    /// Place after the highest that has arrived.
    arrived_end: u64,
    /// Bytes believed to be in the network.
    pipe: u64,
    segment_len: u64,
    threshold: u64,
}

impl Scoreboard {
    pub(crate) fn new(segment_len: u32, threshold: u32) -> Self {
        Self { segment_len: u64::from(segment_len), threshold: u64::from(threshold), ..Self::default() }
    }

    /// SetPipe().
    pub(crate) fn pipe(&self) -> u64 {
        self.pipe
    }

    /// New data goes out.
    pub(crate) fn push(&mut self, sequence: u64, len: u32) {
        self.entries.push_back(Entry { sequence, len, run: 0, has_arrived: false, is_lost: false, is_retransmitted: false });
        self.pipe += u64::from(len);
    }

    /// Everything before `number` has arrived.
    pub(crate) fn acknowledge(&mut self, number: u64) {
        while let Some(entry) = self.entries.front().filter(|entry| entry.end() <= number).copied() {
            self.pipe -= entry.copies() * u64::from(entry.len);
            if self.frontier <= self.base {
                self.frontier = self.base + 1;
                self.arrived_beyond -= u64::from(entry.has_arrived);
            }
            self.entries.pop_front();
            self.base += 1;
        }
        self.retransmit = self.retransmit.max(self.base);
        self.trim(number);
    }

    /// A block was told: how many bytes of it are news. Call `find_lost` after the last block.
    pub(crate) fn arrive(&mut self, start: u64, end: u64) -> u64 {
        let (mut news, mut index) = (0, self.index_of(start));
        loop {
            index = self.skip_run(index);
            let Some(entry) = self.entries.get_mut(index).filter(|entry| entry.end() <= end) else { return news };
            self.pipe -= entry.copies() * u64::from(entry.len);
            news += u64::from(entry.len);
            (entry.has_arrived, entry.run) = (true, 1);
            let place = self.base + index as u64;
            self.arrived_beyond += u64::from(place >= self.frontier);
            self.arrived_end = self.arrived_end.max(place + 1);
        }
    }

    /// Moves the frontier (IsLost() of what it passes).
    pub(crate) fn find_lost(&mut self) {
        while self.arrived_beyond >= self.threshold {
            let Some(entry) = self.entries.get_mut((self.frontier - self.base) as usize) else { return };
            if entry.has_arrived {
                if self.arrived_beyond == self.threshold {
                    return;
                }
                self.arrived_beyond -= 1;
            } else {
                self.pipe -= u64::from(entry.len);
                entry.is_lost = true;
            }
            self.frontier += 1;
        }
    }

    /// IsLost() of the first segment in flight.
    pub(crate) fn first_is_lost(&self) -> bool {
        self.entries.front().is_some_and(|entry| entry.is_lost)
    }

    /// A recovery begins: HighRxt goes back to the first segment, which is what `retransmit_first` sends.
    pub(crate) fn begin_recovery(&mut self) {
        for index in 0..(self.retransmit - self.base) as usize {
            let entry = &mut self.entries[index];
            let before = entry.copies();
            entry.is_retransmitted = false;
            self.pipe -= (before - entry.copies()) * u64::from(entry.len);
        }
        self.retransmit = self.base;
    }

    /// A timeout: all that has not arrived is lost, and may be sent again.
    pub(crate) fn lose_all(&mut self) {
        for entry in &mut self.entries {
            (entry.is_lost, entry.is_retransmitted) = (!entry.has_arrived, false);
        }
        self.frontier = self.base + self.entries.len() as u64;
        (self.arrived_beyond, self.pipe, self.retransmit) = (0, 0, self.base);
    }

    /// The first segment in flight, marked as retransmitted.
    pub(crate) fn retransmit_first(&mut self) -> Option<Entry> {
        (!self.entries.is_empty()).then(|| self.mark(self.base))
    }

    /// NextSeg(), rule 1: the next lost segment, marked as retransmitted; only one that starts before `limit`.
    pub(crate) fn retransmit_lost(&mut self, limit: u64) -> Option<Entry> {
        let place = self.next_missing(self.frontier)?;
        (self.entries[(place - self.base) as usize].sequence < limit).then(|| self.mark(place))
    }

    /// NextSeg(), rule 3: the next segment that has not arrived while a later one has, lost or not.
    pub(crate) fn retransmit_missing(&mut self) -> Option<Entry> {
        self.next_missing(self.arrived_end).map(|place| self.mark(place))
    }

    /// NextSeg(), rule 4: the highest segment that has not arrived. Searched for once a recovery.
    pub(crate) fn rescue(&self) -> Option<Entry> {
        self.entries.iter().rev().find(|entry| !entry.has_arrived).copied()
    }

    /// The first place from HighRxt on and before `end` that has not arrived.
    fn next_missing(&mut self, end: u64) -> Option<u64> {
        while self.retransmit < end {
            if !self.entries[(self.retransmit - self.base) as usize].has_arrived {
                return Some(self.retransmit);
            }
            self.retransmit += 1;
        }
        None
    }

    fn mark(&mut self, place: u64) -> Entry {
        self.retransmit = self.retransmit.max(place + 1);
        let entry = &mut self.entries[(place - self.base) as usize];
        if !entry.is_retransmitted {
            entry.is_retransmitted = true;
            self.pipe += u64::from(entry.len);
        }
        *entry
    }

    /// The first entry at or after `index` that has not arrived.
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
        let Some(first) = self.entries.front() else { return 0 };
        let guess = (number.saturating_sub(first.sequence) / self.segment_len) as usize;
        if self.entries.get(guess).is_some_and(|entry| entry.sequence == number) {
            return guess;
        }
        self.entries.partition_point(|entry| entry.sequence < number)
    }

    /// Cuts off what has been acknowledged of the first segment: no receiver here does so, but another may.
    fn trim(&mut self, number: u64) {
        if let Some(entry) = self.entries.front_mut().filter(|entry| entry.sequence < number) {
            let cut = (number - entry.sequence) as u32;
            self.pipe -= entry.copies() * u64::from(cut);
            entry.sequence = number;
            entry.len -= cut;
        }
    }
}
