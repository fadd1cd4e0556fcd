//! Plateau: a rate that a capture often has and never exceeds, which shows that it was taken behind
//! the bottleneck.
//!
//! Behind a link's queue, packets are as far apart as that link sends them. So the rate never
//! exceeds the link's, and equals it whenever the queue is not empty. A replay over a link with
//! this rate shows next to no waiting.

use roundelay::{Duration, Instant, Rate};

/// A rate that a capture often reaches and hardly ever exceeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlateauRate {
    /// Bits per second.
    pub rate: f64,
    /// Part of the time with about this rate.
    pub part: f64,
}

/// The shortest window over which we take the rate.
const WINDOW: Duration = Duration::from_millis(100);
/// A window holds at least this many full packets, because one packet more or less must not matter.
const PACKETS: u64 = 40;
/// With fewer windows, the plateau says nothing.
const WINDOWS: u64 = 15;
/// The ratio between neighbouring steps in the histogram.
const STEP: f64 = 1.005;
/// The plateau reaches down to this part of the highest rate.
const NEAR: f64 = 0.95;
/// At least this part of the windows must be on a plateau.
const PART: f64 = 0.2;
/// At most this part of the windows may be above the plateau, because a host has bursts of its own.
const ABOVE: f64 = 0.01;

/// A histogram of the rate in each window.
#[derive(Debug)]
pub(crate) struct Plateau {
    window: Duration,
    end: Instant,
    bytes: u64,
    /// How many windows have about this many bytes. Steps are logarithmic.
    steps: Vec<u64>,
    windows: u64,
}

impl Plateau {
    /// A histogram for a link with this rate.
    pub(crate) fn new(link: Rate) -> Self {
        let window = WINDOW.max(link.time_of(PACKETS * 1514));
        Self {
            window,
            end: Instant::ZERO + window,
            bytes: 0,
            steps: Vec::new(),
            windows: 0,
        }
    }

    /// Counts an arrival. Times never decrease.
    pub(crate) fn count(&mut self, at: Instant, len: u32) {
        if at >= self.end {
            self.close(at);
        }
        self.bytes += u64::from(len);
    }

    /// Closes the window, and skips windows without a packet.
    #[cold]
    fn close(&mut self, at: Instant) {
        let step = if self.bytes > 0 {
            (libm::log(self.bytes as f64) / libm::log(STEP)) as usize
        } else {
            0
        };
        if self.steps.len() <= step {
            self.steps.resize(step + 1, 0);
        }
        self.steps[step] += 1;
        let window = self.window.as_picos();
        let skipped = at.since(self.end).as_picos() / window;
        self.windows += 1 + skipped;
        self.end += Duration::from_picos(window.saturating_mul(1 + skipped));
        self.bytes = 0;
    }

    /// The highest rate, if the rate is often close to it. None if rates vary.
    pub(crate) fn rate(&self) -> Option<PlateauRate> {
        // Finds the highest step, but for a few windows with bursts.
        let mut above = 0;
        let mut top = self.steps.len();
        while above as f64 <= ABOVE * self.windows as f64 {
            top = top.checked_sub(1)?;
            above += self.steps[top];
        }
        // The plateau: this step and those at most 5% below.
        let mut from = top;
        while from > 0 && bytes(from - 1) >= NEAR * bytes(top) {
            from -= 1;
        }
        let windows: u64 = self.steps[from..=top].iter().sum();
        let part = windows as f64 / self.windows as f64;
        let rate = bytes(top) * 8.0 / self.window.as_secs_f64();
        (self.windows >= WINDOWS && part >= PART).then_some(PlateauRate { rate, part })
    }
}

/// The most bytes that a window in this step has.
fn bytes(step: usize) -> f64 {
    libm::exp((step as f64 + 1.0) * libm::log(STEP))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The plateau of packets of 1500 bytes at these times in microseconds.
    fn plateau(times: impl Iterator<Item = u64>) -> Option<PlateauRate> {
        let mut plateau = Plateau::new("10mbit".parse().unwrap());
        times.for_each(|micros| plateau.count(Instant::ZERO + Duration::from_micros(micros), 1500));
        plateau.rate()
    }

    #[test]
    fn packets_behind_a_queue_have_the_rate_of_its_link() {
        // At 10 Mbit/s a packet takes 1.2 ms: half a second of each second.
        let behind = (0..20)
            .flat_map(|second| (0..416).map(move |packet| second * 1_000_000 + packet * 1200));
        let PlateauRate { rate, part } = plateau(behind).unwrap();
        assert!(
            (rate / 10e6 - 1.0).abs() < 0.02 && (0.35..0.55).contains(&part),
            "{rate} {part}"
        );
    }

    #[test]
    fn bursts_and_short_captures_have_no_plateau() {
        // The same packets in bursts of a growing length.
        let bursts = (0..200_u64)
            .flat_map(|burst| (0..10 + burst).map(move |packet| burst * 100_000 + packet * 12));
        assert_eq!(plateau(bursts), None);
        assert_eq!(
            plateau((0..1000).map(|packet| packet * 1200)),
            None,
            "twelve windows"
        );
        assert_eq!(plateau(std::iter::empty()), None);
        let once_a_year = (0..30).map(|year| year * 500_000_000_000);
        assert_eq!(plateau(once_a_year), None);
    }
}
