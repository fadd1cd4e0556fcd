//! Sum of all flows' weights over time, with its maximum since any past instant.

use roundelay::Instant;

/// The current sum of weights, and the largest sum since any past time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Totals {
    present: u64,
    /// (t, largest sum from t until now). t rises and the sum falls, so each distinct sum has at
    /// most one entry.
    maxima: Vec<(Instant, u64)>,
}

impl Totals {
    pub(crate) const fn present(&self) -> u64 {
        self.present
    }

    /// The largest sum in effect at `past` or later. It is the sum in the last entry that starts at
    /// or before `past`.
    #[inline]
    pub(crate) fn largest_since(&self, past: Instant) -> u64 {
        match self.maxima[..] {
            // Most often few flows have joined since.
            [.., (start, total)] | [.., (start, total), _] if start <= past => total,
            _ => {
                let after = self.maxima.partition_point(|&(start, _)| start <= past);
                self.maxima
                    .get(after.saturating_sub(1))
                    .map_or(self.present, |&(_, total)| total)
            }
        }
    }

    pub(crate) fn set(&mut self, now: Instant, total: u64) {
        self.present = total;
        // The new sum replaces all smaller or equal sums and starts where the first among them
        // started.
        let mut start = now;
        while let Some((earlier, _)) = self.maxima.pop_if(|&mut (_, known)| known <= total) {
            start = earlier;
        }
        self.maxima.push((start, total));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_stack_of_maxima_remembers_all_sums(changes in prop::collection::vec((0u64..5, 0u64..30), 0..100), asked in 0u64..300) {
            let mut totals = Totals::default();
            let mut now = 0;
            let mut sums = vec![(0, 0)];
            for (gap, total) in changes {
                now += gap;
                sums.push((now, total));
                totals.set(Instant::from_nanos(now), total);
            }
            let asked = asked.min(now);
            let in_effect = sums.iter().rfind(|sum| sum.0 <= asked);
            let later = sums.iter().filter(|sum| sum.0 > asked);
            let largest = totals.largest_since(Instant::from_nanos(asked));
            prop_assert_eq!(largest, later.chain(in_effect).map(|sum| sum.1).max().unwrap_or(0));
            prop_assert!(totals.maxima.is_sorted_by(|one, two| one.0 <= two.0 && one.1 > two.1));
        }
    }
}
