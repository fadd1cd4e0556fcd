//! Service curves with two pieces, and where they stand in time.
//!
//! Times are ticks of 64 ns and service is bytes, with slopes in fixed point, as in Linux. That
//! decides more than it seems to. A class that returns at its own virtual time goes on with the
//! curve that it had, or begins a fresh one, depending on the last bit.
//!
//! It also costs rate: at 10 Gbit/s a byte takes 204.8 units of 2^-14 ticks, which are rounded up,
//! so a curve with this rate has 9.990. [`kept`] says what a curve has. Rates beyond those that tc
//! can write have finer slopes.

use crate::service::hfsc::Curve;
use crate::time::Duration;
use crate::units::Rate;

/// Service, in bytes.
pub(super) type Work = u64;

const PICOS_PER_TICK: u64 = 64_000;
const TICKS_PER_SECOND: u128 = 15_625_000;
const PICOS_PER_MICRO: u64 = 1_000_000;

/// The tick at a time in picoseconds.
pub(super) const fn tick_at(picos: u64) -> u64 {
    picos / PICOS_PER_TICK
}

/// When a tick begins, in picoseconds. [`u64::MAX`] for those beyond.
pub(super) const fn begin_of(tick: u64) -> u64 {
    tick.saturating_mul(PICOS_PER_TICK)
}

/// A slope: bytes a tick and ticks a byte, in fixed point.
#[derive(Debug, Clone, Copy, Default)]
struct Slope {
    bytes: u64,
    ticks: u64,
}

impl Slope {
    const BYTES_SHIFT: u32 = 24;
    const TICKS_SHIFT: u32 = 30;
    /// Bits of ticks that Linux has.
    const TICKS_IN_LINUX: u32 = 14;
    /// The largest rate that tc can write, in bytes a second.
    const MOST_IN_LINUX: u64 = u32::MAX as u64;

    /// Both are rounded up.
    fn new(bytes_per_second: u64) -> Self {
        if bytes_per_second == 0 {
            return Self::default();
        }
        let rate = u128::from(bytes_per_second);
        let bits = if bytes_per_second > Self::MOST_IN_LINUX {
            Self::TICKS_SHIFT
        } else {
            Self::TICKS_IN_LINUX
        };
        let ticks = (TICKS_PER_SECOND << bits).div_ceil(rate) << (Self::TICKS_SHIFT - bits);
        let bytes = (rate << Self::BYTES_SHIFT).div_ceil(TICKS_PER_SECOND);
        Self {
            bytes: u64::try_from(bytes).unwrap_or(u64::MAX),
            ticks: u64::try_from(ticks).unwrap_or(u64::MAX),
        }
    }

    /// The rate at which bytes get their times, at most what was set.
    fn kept(self) -> Option<Rate> {
        let bits = (TICKS_PER_SECOND << Self::TICKS_SHIFT) * 8;
        let rate = bits.checked_div(self.ticks.into())?;
        Rate::from_bits_per_second(u64::try_from(rate).unwrap_or(u64::MAX))
    }

    fn bytes_in(self, ticks: u64) -> Work {
        scaled(ticks, self.bytes, Self::BYTES_SHIFT)
    }

    /// [`u64::MAX`] if the slope is flat.
    fn ticks_of(self, bytes: Work) -> u64 {
        if bytes > 0 && self.ticks == 0 {
            return u64::MAX;
        }
        scaled(bytes, self.ticks, Self::TICKS_SHIFT)
    }
}

/// `number` times a factor in fixed point, rounded down.
fn scaled(number: u64, factor: u64, shift: u32) -> u64 {
    let product = (u128::from(number) * u128::from(factor)) >> shift;
    u64::try_from(product).unwrap_or(u64::MAX)
}

/// What fixed point leaves of a curve, but for a byte and a tick.
pub(crate) fn kept(curve: &Curve) -> Curve {
    let anchored = AnchoredCurve::new(curve, 0, 0);
    Curve {
        m1: anchored.first.kept(),
        // A first piece is rounded up, which is worse if the second one is steeper.
        d: if curve.is_convex() {
            Duration::from_picos(begin_of(anchored.dx))
        } else {
            curve.d
        },
        m2: anchored.second.kept(),
    }
}

/// How much earlier than by its curve a packet may be due.
pub(crate) const TICK: Duration = Duration::from_picos(PICOS_PER_TICK);

/// A curve that begins with service `y` at tick `x`.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct AnchoredCurve {
    x: u64,
    y: Work,
    /// Length and service of the first piece.
    dx: u64,
    dy: Work,
    first: Slope,
    second: Slope,
}

impl AnchoredCurve {
    pub(super) fn new(curve: &Curve, x: u64, y: Work) -> Self {
        let [m1, m2] = curve.bytes_per_second();
        let (first, second) = (Slope::new(m1), Slope::new(m2));
        // tc hands over whole microseconds.
        let micros = curve.d.as_picos().div_ceil(PICOS_PER_MICRO);
        let dx = (micros * PICOS_PER_MICRO).div_ceil(PICOS_PER_TICK);
        Self {
            x,
            y,
            dx,
            dy: first.bytes_in(dx),
            first,
            second,
        }
    }

    /// The curve without its first piece.
    pub(super) const fn without_first_piece(self) -> Self {
        Self {
            dx: 0,
            dy: 0,
            ..self
        }
    }

    /// Work done at a tick.
    pub(super) fn service_at(&self, x: u64) -> Work {
        if x <= self.x {
            return self.y;
        }
        let since = x - self.x;
        let done = if since <= self.dx {
            self.first.bytes_in(since)
        } else {
            let later = self.second.bytes_in(since - self.dx);
            self.dy.saturating_add(later)
        };
        self.y.saturating_add(done)
    }

    /// When the curve has this service. If its first piece is flat, at this piece's end.
    /// [`u64::MAX`]: never.
    pub(super) fn time_of(&self, y: Work) -> u64 {
        if y < self.y {
            return self.x;
        }
        let more = y - self.y;
        let since = if more > self.dy {
            let later = self.second.ticks_of(more - self.dy);
            self.dx.saturating_add(later)
        } else if self.dy == 0 {
            self.dx
        } else {
            self.first.ticks_of(more)
        };
        self.x.saturating_add(since)
    }

    /// The smaller of this and the same curve from (x, y) on: the paper's Eq. 7 for deadlines, Eq.
    /// 12 for virtual times. The smaller of two curves with two pieces has two pieces again, since
    /// both have the same slopes.
    pub(super) fn lower_to(&mut self, curve: &Curve, x: u64, y: Work) {
        let fresh = Self::new(curve, x, y);
        let here = self.service_at(x);
        if curve.is_convex() {
            // Only where it stands changes, because this one may have lost its first piece.
            if here >= y {
                (self.x, self.y) = (x, y);
            }
            return;
        }
        if here <= y {
            return;
        }
        if self.service_at(x.saturating_add(fresh.dx)) >= y + fresh.dy {
            *self = fresh;
            return;
        }
        // They cross. The fresh one is smaller before, this one after.
        let faster = fresh.first.bytes - fresh.second.bytes;
        let above = u128::from(here - y) << Slope::BYTES_SHIFT;
        let mut dx = u64::try_from(above / u128::from(faster)).unwrap_or(u64::MAX);
        let end_of_first = self.x.saturating_add(self.dx);
        dx = dx.saturating_add(end_of_first.saturating_sub(x));
        *self = Self {
            dx,
            dy: fresh.first.bytes_in(dx),
            ..fresh
        };
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;

    use super::*;

    fn curve(text: &str) -> Curve {
        text.parse().expect("a curve")
    }

    /// Ticks of a millisecond.
    const MS: u64 = 15_625;

    #[test]
    fn curves_are_written_as_tc_writes_them() {
        for (text, shown) in [
            ("m1 10mbit d 10ms m2 2mbit", "m1 10mbit d 10ms m2 2mbit"),
            ("d 10ms m2 2mbit", "m1 0bit d 10ms m2 2mbit"),
            ("m1 2mbit d 5ms m2 0bit", "m1 2mbit d 5ms m2 0bit"),
            ("m2 2mbit", "m2 2mbit"),
            ("rate 2mbit", "m2 2mbit"),
            // 1500 bytes in 5 ms are 2.4 Mbit/s, above 64 kbit/s.
            (
                "umax 1500 dmax 5ms rate 64kbit",
                "m1 2400kbit d 5ms m2 64kbit",
            ),
            // At 2 Mbit/s they take 6 ms of the 10.
            ("umax 1500b dmax 10ms rate 2mbit", "m1 0bit d 4ms m2 2mbit"),
        ] {
            assert_eq!(curve(text).to_string(), shown, "{text}");
            assert_eq!(curve(&curve(text).to_string()), curve(text));
        }
        for wrong in [
            "",
            "2mbit",
            "m2",
            "m1 2mbit m2 1mbit",
            "rate 0bit",
            "m2 1mbit d 5ms",
            "d 5 parsecs",
            "dmax 5xs rate 1mbit",
        ] {
            let error = wrong.parse::<Curve>().expect_err(wrong).to_string();
            assert!(error.contains("hfsc"), "{error}");
        }
    }

    /// Slopes in fixed point are up to a byte, or a byte's ticks, too steep.
    #[test]
    fn an_anchored_curve_is_read_both_ways() {
        let concave = AnchoredCurve::new(&curve("m1 8mbit d 10ms m2 1mbit"), 5 * MS, 100);
        for (time, bytes) in [(0, 100), (5, 100), (6, 1100), (15, 10_100), (23, 11_100)] {
            let service = concave.service_at(time * MS);
            assert!((bytes..=bytes + 1).contains(&service), "{time} ms");
            let ticks = concave.time_of(bytes);
            let right = (time * MS).max(5 * MS);
            assert!(ticks.abs_diff(right) <= 2, "{bytes}: {ticks}, not {right}");
        }
        let flat = AnchoredCurve::new(&curve("m1 8mbit d 10ms m2 0bit"), 0, 0);
        assert_eq!(flat.time_of(10_002), u64::MAX);
        let late = AnchoredCurve::new(&curve("d 10ms m2 8mbit"), 0, 0);
        assert_eq!(late.service_at(10 * MS), 0);
        assert_eq!(late.time_of(0), 10 * MS);
        assert_eq!(late.time_of(1), 10 * MS + 15);
    }

    /// A byte in a second takes as many ticks, and so does the largest rate.
    #[test]
    fn the_smallest_and_the_largest_slope_are_kept() {
        let slow = AnchoredCurve::new(&curve("m2 8bit"), 0, 0);
        assert_eq!(slow.time_of(1000), 1000 * 15_625_000);
        let fast = AnchoredCurve::new(&curve("m2 100tbit"), 0, 0);
        assert_eq!(fast.service_at(15_625_000), 12_500_000_000_000);
    }

    /// Linux's fixed point takes a thousandth of 10 Gbit/s, but above what tc can write it is
    /// finer.
    #[test]
    fn rates_are_kept_as_far_as_fixed_point_allows() {
        for (text, least, most) in [
            ("m2 1mbit", 999_999, 1_000_000),
            ("m2 1gbit", 999_900_000, 1_000_000_000),
            ("m2 10gbit", 9_990_000_000, 9_991_000_000),
            ("m2 34gbit", 33_500_000_000, 33_600_000_000),
            ("m2 35gbit", 34_999_900_000, 35_000_000_000),
            ("m2 100gbit", 99_999_000_000, 100_000_000_000),
            ("m2 100tbit", 99_900_000_000_000, 100_000_000_000_000),
        ] {
            let rate = kept(&curve(text)).m2.expect("a rate").bits_per_second();
            assert!((least..=most).contains(&rate), "{text}: {rate}");
        }
        let convex = kept(&curve("m1 8kbit d 1us m2 1mbit"));
        assert_eq!(convex.d, Duration::from_picos(16 * PICOS_PER_TICK));
    }

    /// A class that is idle for no time goes on with its second piece, unless rounding has it that
    /// the curve is above what was served: with these numbers it is.
    #[test]
    fn rounding_decides_whether_a_convex_curve_begins_again() {
        let curve = curve("d 8ms m2 616104bit");
        let mut anchored = AnchoredCurve::new(&curve, 0, 0);
        let at = anchored.time_of(3166);
        anchored.lower_to(&curve, at, 3166);
        assert_eq!(anchored.time_of(3166), at + 8 * MS);
    }

    /// The smaller of two curves, at every time.
    #[test]
    fn a_lowered_curve_is_the_smaller_of_both() {
        for text in [
            "m1 8mbit d 10ms m2 1mbit",
            "m1 1mbit d 10ms m2 8mbit",
            "m2 3mbit",
        ] {
            let curve = curve(text);
            for (x, bytes) in [
                (1, 500),
                (4, 1_000),
                (12, 3_000),
                (12, 9_000),
                (30, 11_500),
                (80, 100),
            ] {
                let before = AnchoredCurve::new(&curve, 0, 0);
                let fresh = AnchoredCurve::new(&curve, x * MS, bytes);
                let mut lower = before;
                lower.lower_to(&curve, x * MS, bytes);
                for time in (x..200).map(|ms| ms * MS) {
                    let smaller = before.service_at(time).min(fresh.service_at(time));
                    let got = lower.service_at(time);
                    if curve.is_convex() {
                        // One of both, as in the paper's footnote: the smaller at the time x.
                        assert!(got >= smaller, "{text} from {x} ms on");
                    } else {
                        let near = got.abs_diff(smaller) <= 2;
                        assert!(
                            near,
                            "{text} from {x} ms on, at {time}: {got}, not {smaller}"
                        );
                    }
                }
            }
        }
    }
}
