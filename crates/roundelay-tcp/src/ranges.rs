//! Byte ranges that were received out of order: sorted runs with gaps between them.

use std::collections::VecDeque;

/// Disjoint runs in ascending order. No two runs touch.
#[derive(Debug, Clone, Default)]
pub(crate) struct Ranges {
    runs: VecDeque<(u64, u64)>,
}

impl Ranges {
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Where the first run starts.
    pub(crate) fn start(&self) -> Option<u64> {
        self.runs.front().map(|run| run.0)
    }

    /// The run that contains byte `number`.
    pub(crate) fn containing(&self, number: u64) -> Option<(u64, u64)> {
        let run = self.runs.get(self.first_that_ends_after(number))?;
        (run.0 <= number).then_some(*run)
    }

    /// Adds a run and returns how many bytes are new. This takes constant time at either end, and
    /// otherwise O(log n) plus the moves of runs.
    pub(crate) fn insert(&mut self, start: u64, end: u64) -> u64 {
        // Runs from `low` up to `high`, exclusive, touch the new run, so they are merged into one.
        let low = self.runs.partition_point(|run| run.1 < start);
        let mut high = low;
        let mut whole = (start, end);
        let mut known = 0;
        while let Some(run) = self.runs.get(high).filter(|run| run.0 <= end) {
            known += run.1.min(end).saturating_sub(run.0.max(start));
            whole = (whole.0.min(run.0), whole.1.max(run.1));
            high += 1;
        }
        match high - low {
            0 => self.runs.insert(low, whole),
            1 => self.runs[low] = whole,
            _ => {
                self.runs[low] = whole;
                self.runs.drain(low + 1..high);
            }
        }
        end - start - known
    }

    /// Removes all runs before `number`, and the run that contains or touches `number`. Returns
    /// where this run ends, or `number` if there is none.
    pub(crate) fn advance(&mut self, number: u64) -> u64 {
        let mut reached = number;
        while let Some(run) = self.runs.front().filter(|run| run.0 <= reached) {
            reached = reached.max(run.1);
            self.runs.pop_front();
        }
        reached
    }

    fn first_that_ends_after(&self, number: u64) -> usize {
        self.runs.partition_point(|run| run.1 <= number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::{Rng, RngExt, SeedableRng};

    #[test]
    fn runs_agree_with_a_set_of_bytes() {
        let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(1);
        for _ in 0..200 {
            let mut ranges = Ranges::default();
            let mut bytes = [false; 64];
            for _ in 0..20 {
                let start = random.random_range(0..60_usize);
                let end = random.random_range(start + 1..=(start + 8).min(64));
                let new = bytes[start..end].iter().filter(|there| !**there).count();
                bytes[start..end].fill(true);
                assert_eq!(ranges.insert(start as u64, end as u64), new as u64);
                check(&ranges, &bytes);
            }
            let number = random.next_u64() % 64;
            let reached = (number as usize..64).find(|at| !bytes[*at]).unwrap_or(64);
            assert_eq!(ranges.advance(number), reached as u64);
            bytes[..reached].fill(false);
            check(&ranges, &bytes);
        }
    }

    fn check(ranges: &Ranges, bytes: &[bool; 64]) {
        for (number, there) in bytes.iter().enumerate() {
            assert_eq!(ranges.containing(number as u64).is_some(), *there);
        }
        assert!(
            ranges
                .runs
                .iter()
                .zip(ranges.runs.iter().skip(1))
                .all(|(a, b)| a.1 < b.0)
        );
    }
}
