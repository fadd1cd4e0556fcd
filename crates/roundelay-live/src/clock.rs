//! Clocks: the time since a run started, and how stamps relate to it.

use std::time::{Instant, SystemTime};

/// A clock that counts nanoseconds from the start of a run.
pub trait Clock {
    /// Nanoseconds since the start. Never goes back.
    fn now(&self) -> u64;

    /// Now, in nanoseconds since 1970. This is the clock that stamps use, and it may be set.
    fn unix_nanos(&self) -> i64;
}

/// The machine's clocks.
#[derive(Debug, Clone, Copy)]
pub struct WallClock {
    start: Instant,
}

impl WallClock {
    /// A clock that starts now.
    pub fn start() -> Self {
        Self {
            start: Instant::now(),
        }
    }
}

impl Clock for WallClock {
    fn now(&self) -> u64 {
        u64::try_from(self.start.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    fn unix_nanos(&self) -> i64 {
        let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        since.map_or(0, |since| {
            i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
        })
    }
}

/// Turns stamps into times since the start.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stamps {
    /// Nanoseconds since 1970 at the start, as last measured.
    offset: i64,
    /// How often the stamps' clock was set.
    pub(crate) steps: u64,
}

/// If two measurements differ by more than this, nanoseconds, it is no drift: the clock was set.
const STEP: u64 = 1_000_000;

impl Stamps {
    pub(crate) fn new(clock: &impl Clock) -> Self {
        Self {
            offset: clock.unix_nanos().saturating_sub_unsigned(clock.now()),
            steps: 0,
        }
    }

    /// Nanoseconds since 1970 at the start of the run.
    pub(crate) const fn offset(&self) -> i64 {
        self.offset
    }

    /// Measures the offset anew.
    pub(crate) fn measure(&mut self, clock: &impl Clock) {
        let before = clock.now();
        let unix_nanos = clock.unix_nanos();
        // If the measurement was interrupted, it says nothing.
        if clock.now() - before > STEP / 4 {
            return;
        }
        let offset = unix_nanos.saturating_sub_unsigned(before);
        self.steps += u64::from(offset.abs_diff(self.offset) > STEP);
        self.offset = offset;
    }

    /// When a stamp was made, in nanoseconds since the start. At most `now`, because no frame comes
    /// from the future.
    pub(crate) fn time(&self, unix_nanos: Option<i64>, now: u64) -> u64 {
        let Some(unix_nanos) = unix_nanos else {
            return now;
        };
        let since = unix_nanos.saturating_sub(self.offset);
        u64::try_from(since).unwrap_or(0).min(now)
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    struct Set {
        now: u64,
        unix_nanos: Cell<i64>,
    }

    impl Clock for Set {
        fn now(&self) -> u64 {
            self.now
        }

        fn unix_nanos(&self) -> i64 {
            self.unix_nanos.get()
        }
    }

    #[test]
    fn a_step_of_the_clock_is_counted_and_stamps_stay_in_the_past() {
        let clock = Set {
            now: 5_000,
            unix_nanos: Cell::new(1_000_005_000),
        };
        let mut stamps = Stamps::new(&clock);
        assert_eq!(stamps.time(Some(1_000_004_000), 5_000), 4_000);
        assert_eq!(stamps.time(Some(1_000_009_000), 5_000), 5_000);
        assert_eq!(stamps.time(Some(3), 5_000), 0);
        assert_eq!(stamps.time(None, 5_000), 5_000);
        clock.unix_nanos.set(1_000_105_000);
        stamps.measure(&clock);
        assert_eq!(stamps.steps, 0, "drift");
        clock.unix_nanos.set(-7_000_000_000);
        stamps.measure(&clock);
        assert_eq!(stamps.steps, 1);
        assert_eq!(stamps.time(Some(-7_000_001_000), 5_000), 4_000);
    }
}
