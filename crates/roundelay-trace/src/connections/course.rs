//! The course of a direction's traffic: bytes in each tenth of a second, how many messages competed
//! for those of TCP, and the bytes that have left the link. What a message would have had if all had
//! shared alike follows from it, and so does the link's rate.
//!
//! In front of a queue, packets may come faster than the link carries them: a sender's slow start is
//! many times as fast for a tenth of a second. So data leaves when its acknowledgement passes. An
//! acknowledgement that repairs a loss tells of much data at once, which has left since the one
//! before, so we spread its bytes over that time.

use std::net::IpAddr;

/// Most tenths of a second kept apart: in a longer capture, two count as one, then four.
const MOST: usize = 1 << 20;
/// The longest time in which an acknowledged packet may have left, nanoseconds: a repair by a timeout
/// takes longer, but then the link was not busy.
const LONGEST_SPREAD: u64 = 1_000_000_000;
/// A link's rate is its highest in this time, nanoseconds: acknowledgements that wait behind an upload
/// come together, and so do those behind several losses.
const RATED: u64 = 1_000_000_000;
/// The part of its rate that a full link carries, and the wait that tells a queue, nanoseconds.
const FULL: f64 = 0.9;
const WAIT: u64 = 4_000_000;
/// The time before an instant in which a link that has a queue is busy.
const BEFORE: u64 = 200_000_000;

/// The least time to a receiver and back, microseconds, and the receiver.
type Nearest = (u32, Option<IpAddr>);
/// Nothing was measured.
const UNMEASURED: Nearest = (u32::MAX, None);

/// Bytes and competitors over time.
#[derive(Debug)]
pub(super) struct Course {
    width: u64,
    bytes: Vec<u64>,
    /// Bytes of all packets, as long as they are on the link; in the end summed up.
    carried: Vec<u64>,
    /// Bytes of all packets, when they have left the link.
    left: Vec<f64>,
    /// The least time to any receiver and back, microseconds, and to which one.
    least: Vec<Nearest>,
    /// Segments sent again.
    repairs: Vec<u64>,
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
            left: Vec::new(),
            least: Vec::new(),
            repairs: Vec::new(),
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

    /// Bytes of packets that have left the link in this time.
    pub(super) fn leave(&mut self, [since, now]: [u64; 2], bytes: u64) {
        let last = self.window(now);
        let since = since.max(now.saturating_sub(LONGEST_SPREAD));
        let first = (since / self.width) as usize;
        let part = bytes as f64 / (now - since).max(1) as f64;
        for window in first..=last {
            let begin = since.max(window as u64 * self.width);
            let end = now.min((window as u64 + 1) * self.width);
            self.left[window] += part * end.saturating_sub(begin).max(1) as f64;
        }
    }

    /// A time to a receiver and back.
    pub(super) fn measure(&mut self, now: u64, nanos: u64, receiver: IpAddr) {
        let window = self.window(now);
        let micros = u32::try_from(nanos / 1000).unwrap_or(u32::MAX);
        if micros < self.least[window].0 {
            self.least[window] = (micros, Some(receiver));
        }
    }

    /// A segment was sent again.
    pub(super) fn repair(&mut self, now: u64) {
        let window = self.window(now);
        self.repairs[window] += 1;
    }

    /// How long, in nanoseconds, the link was full of TCP's data, which waited or was lost, while no
    /// message explains why. `rate`: bits a second; `nearest`: the least time to any receiver.
    pub(super) fn unexplained(&self, rate: f64, nearest: u64, explained: &[[u64; 2]]) -> u64 {
        let mut is_explained = vec![false; self.bytes.len()];
        for time in explained {
            let [begin, end] = self.windows(*time);
            is_explained[begin..end].fill(true);
        }
        let together = (RATED / self.width).max(1) as usize;
        let full = FULL * rate * (together as u64 * self.width) as f64 / 8e9;
        let waits = (nearest + WAIT + nearest / 8) / 1000;
        let mut windows = 0;
        for begin in (0..self.left.len()).step_by(together) {
            let end = (begin + together).min(self.left.len());
            let left: f64 = self.left[begin..end].iter().sum();
            let of_tcp: u64 = self.bytes[begin..end].iter().sum();
            let lost: u64 = self.repairs[begin..end].iter().sum();
            let mut waiting = 0;
            for (least, _) in &self.least[begin..end] {
                waiting += usize::from(*least < u32::MAX && u64::from(*least) > waits);
            }
            let has_pressure = lost > 0 || waiting * 2 > together;
            let is_full = left >= full && of_tcp as f64 * 2.0 > left;
            if is_full && has_pressure && !is_explained[begin..end].contains(&true) {
                windows += end - begin;
            }
        }
        windows as u64 * self.width
    }

    /// The least time to any receiver and back at this time, nanoseconds, and the receiver.
    pub(super) fn least(&self, now: u64) -> Option<(u64, IpAddr)> {
        let (micros, receiver) = *self.least.get((now / self.width) as usize)?;
        receiver.map(|receiver| (u64::from(micros) * 1000, receiver))
    }

    /// Bits a second that left the link just before this time.
    pub(super) fn load_before(&self, now: u64) -> f64 {
        let [begin, end] = self.windows([now.saturating_sub(BEFORE), now]);
        let bytes: f64 = self.left[begin..end].iter().sum();
        bytes * 8e9 / ((end - begin).max(1) as f64 * self.width as f64)
    }

    /// The highest rate at which bytes left in a time of [`RATED`], bits a second. It is no higher than
    /// that at which they came: where packets pass the capture point behind the queue, that is the
    /// link's.
    pub(super) fn rate(&self) -> f64 {
        let together = (RATED / self.width).max(1) as usize;
        let carried: Vec<f64> = self.carried.iter().map(|bytes| *bytes as f64).collect();
        let most = most_together(&self.left, together).min(most_together(&carried, together));
        most * 8e9 / (together as u64 * self.width) as f64
    }

    /// The window of a time, which has room.
    fn window(&mut self, now: u64) -> usize {
        while (now / self.width) as usize >= MOST {
            self.bytes = merged(&self.bytes);
            self.carried = merged(&self.carried);
            self.left = merged(&self.left);
            self.least = least_of_pairs(&self.least);
            self.repairs = merged(&self.repairs);
            self.width *= 2;
        }
        let window = (now / self.width) as usize;
        if self.bytes.len() <= window {
            self.bytes.resize(window + 1, 0);
            self.carried.resize(window + 1, 0);
            self.left.resize(window + 1, 0.0);
            self.least.resize(window + 1, UNMEASURED);
            self.repairs.resize(window + 1, 0);
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
fn merged<T: Copy + std::iter::Sum<T>>(windows: &[T]) -> Vec<T> {
    let mut merged = Vec::with_capacity(windows.len().div_ceil(2));
    for pair in windows.chunks(2) {
        merged.push(pair.iter().copied().sum());
    }
    merged
}

/// The largest sum of so many windows in a row.
fn most_together(windows: &[f64], together: usize) -> f64 {
    let mut sum = 0.0;
    let mut most: f64 = 0.0;
    for (number, value) in windows.iter().enumerate() {
        sum += value;
        if number >= together {
            sum -= windows[number - together];
        }
        most = most.max(sum);
    }
    most
}

/// Two windows as one, with the least of both.
fn least_of_pairs(windows: &[Nearest]) -> Vec<Nearest> {
    let mut merged = Vec::with_capacity(windows.len().div_ceil(2));
    for pair in windows.chunks(2) {
        merged.push(
            pair.iter()
                .copied()
                .min_by_key(|(micros, _)| *micros)
                .unwrap_or(UNMEASURED),
        );
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

    /// An acknowledgement that repairs a loss tells of data that has left since the one before.
    #[test]
    fn the_rate_is_that_of_what_leaves() {
        let second = 1_000_000_000;
        let mut course = Course::new(second / 10);
        for window in 0..7 {
            course.carry(window * second, 5000);
        }
        course.leave([0, second], 1000);
        course.leave([second, second + 1], 1000);
        course.leave([second * 5, second * 6], 3000);
        assert!(
            (course.rate() - 24_000.0).abs() < 100.0,
            "{}",
            course.rate()
        );
        let [near, far] = [1, 2].map(|host| IpAddr::from([10, 0, 0, host]));
        course.measure(second, 9000, far);
        course.measure(second, 7000, near);
        course.measure(second, 8000, far);
        assert_eq!(course.least(second), Some((7000, near)));
        assert_eq!(course.least(0), None);
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
