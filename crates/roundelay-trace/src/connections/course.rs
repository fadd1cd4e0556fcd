//! The course of the link's traffic: bytes in each tenth of a second, and how many messages competed
//! for those of TCP. What a message would have had if all had shared alike follows from it.

/// Most tenths of a second kept apart: in a longer capture, two count as one, then four.
const MOST: usize = 1 << 20;

/// Bytes and competitors over time.
#[derive(Debug)]
pub(super) struct Course {
    width: u64,
    bytes: Vec<u64>,
    /// Bytes of all packets, as long as they are on the link; in the end summed up.
    carried: Vec<u64>,
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
            carried: Vec::new(),
            changes: Vec::new(),
            shares: Vec::new(),
        }
    }

    /// Bytes of TCP's data over the link.
    pub(super) fn count(&mut self, now: u64, bytes: u64) {
        let window = self.window(now);
        self.bytes[window] += bytes;
    }

    /// Bytes of any packet over the link.
    pub(super) fn carry(&mut self, now: u64, bytes: u64) {
        let window = self.window(now);
        self.carried[window] += bytes;
    }

    /// The window of a time, which has room.
    fn window(&mut self, now: u64) -> usize {
        while (now / self.width) as usize >= MOST {
            self.bytes = merged(&self.bytes);
            self.carried = merged(&self.carried);
            self.width *= 2;
        }
        let window = (now / self.width) as usize;
        if self.bytes.len() <= window {
            self.bytes.resize(window + 1, 0);
            self.carried.resize(window + 1, 0);
        }
        window
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
        let mut carried = 0;
        for bytes in &mut self.carried {
            carried += *bytes;
            *bytes = carried;
        }
    }

    /// Bits a second over the link in this time, by the windows that are within it.
    pub(super) fn load(&self, time: [u64; 2]) -> f64 {
        let [begin, end] = self.windows(time);
        // The first and the last window are of others, too.
        let [first, last] = [begin + 1, end.saturating_sub(1)];
        if last <= first {
            return 0.0;
        }
        let bytes = self.carried[last - 1] - self.carried[first - 1];
        bytes as f64 * 8e9 / ((last - first) as f64 * self.width as f64)
    }

    /// What a message would have in this time if all that compete shared alike.
    pub(super) fn fair(&self, time: [u64; 2]) -> f64 {
        let [begin, end] = self.windows(time);
        self.shares[end] - self.shares[begin]
    }
}

/// Two windows as one.
fn merged(windows: &[u64]) -> Vec<u64> {
    let mut merged = Vec::with_capacity(windows.len().div_ceil(2));
    for pair in windows.chunks(2) {
        merged.push(pair.iter().sum());
    }
    merged
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
    fn the_load_is_that_of_whole_windows() {
        let mut course = Course::new(1_000_000_000);
        for window in 0..5 {
            course.carry(window * 1_000_000_000 + 1, 1000 * window);
        }
        course.close();
        assert_eq!(course.load([500_000_000, 3_500_000_000]), 12_000.0);
        assert_eq!(course.load([500_000_000, 1_500_000_000]), 0.0, "none");
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
