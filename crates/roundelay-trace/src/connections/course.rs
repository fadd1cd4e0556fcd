//! The course of the link's TCP traffic: bytes in each tenth of a second, and how many messages
//! competed for them. What a message would have had if all had shared alike follows from it.

/// Most tenths of a second kept apart: in a longer capture, two count as one, then four.
const MOST: usize = 1 << 20;

/// Bytes and competitors over time.
#[derive(Debug)]
pub(super) struct Course {
    width: u64,
    bytes: Vec<u64>,
    /// Changes of the number of messages that compete.
    changes: Vec<i64>,
    /// Bytes for each competitor, summed up.
    shares: Vec<f64>,
}

impl Course {
    /// Nothing yet, in windows of this width.
    pub(super) const fn new(width: u64) -> Self {
        Self {
            width,
            bytes: Vec::new(),
            changes: Vec::new(),
            shares: Vec::new(),
        }
    }

    /// Bytes of TCP over the link.
    pub(super) fn count(&mut self, now: u64, bytes: u64) {
        while (now / self.width) as usize >= MOST {
            self.merge();
        }
        let window = (now / self.width) as usize;
        if self.bytes.len() <= window {
            self.bytes.resize(window + 1, 0);
        }
        self.bytes[window] += bytes;
    }

    /// Counts two windows as one.
    fn merge(&mut self) {
        let mut merged = Vec::with_capacity(self.bytes.len().div_ceil(2));
        for pair in self.bytes.chunks(2) {
            merged.push(pair.iter().sum());
        }
        self.bytes = merged;
        self.width *= 2;
    }

    /// The windows of a time: the first one, and the one behind the last.
    fn windows(&self, [begin, end]: [u64; 2]) -> [usize; 2] {
        let last = self.bytes.len();
        [begin / self.width, end / self.width + 1].map(|window| (window as usize).min(last))
    }

    /// A message competes in this time.
    pub(super) fn compete(&mut self, time: [u64; 2]) {
        self.changes.resize(self.bytes.len() + 1, 0);
        let [begin, end] = self.windows(time);
        self.changes[begin] += 1;
        self.changes[end] -= 1;
    }

    /// All messages are known.
    pub(super) fn close(&mut self) {
        let mut competitors = 0;
        let mut sum = 0.0;
        self.shares = vec![0.0];
        self.changes.resize(self.bytes.len() + 1, 0);
        for (bytes, change) in self.bytes.iter().zip(&self.changes) {
            competitors += change;
            sum += *bytes as f64 / competitors.max(1) as f64;
            self.shares.push(sum);
        }
    }

    /// What a message would have in this time if all that compete shared alike.
    pub(super) fn fair(&self, time: [u64; 2]) -> f64 {
        let [begin, end] = self.windows(time);
        self.shares[end] - self.shares[begin]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn competitors_share_alike() {
        let mut course = Course::new(10);
        for window in 0..4 {
            course.count(window * 10 + 5, 100);
        }
        course.compete([0, 39]);
        course.compete([20, 35]);
        course.close();
        assert_eq!(course.fair([0, 39]), 300.0);
        assert_eq!(course.fair([20, 35]), 100.0);
        assert_eq!(course.fair([20, 500]), 100.0, "nothing behind the end");
    }

    #[test]
    fn windows_grow_in_a_long_capture() {
        let mut course = Course::new(10);
        course.count(5, 1);
        course.count(15, 2);
        course.count(10 * MOST as u64, 4);
        assert_eq!((course.width, course.bytes[0]), (20, 3));
        assert_eq!(course.bytes.last(), Some(&4));
    }
}
