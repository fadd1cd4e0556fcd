//! Service curves of two pieces, and where they stand in time.
//!
//! Times are picoseconds, and service is counted in billionths of a thousandth of a bit, so that a
//! rate times a time is exact.

use crate::service::hfsc::Curve;

/// Work done: a bit a second for a picosecond.
pub(super) type Work = u128;

/// What a packet takes.
pub(super) const fn of_bytes(bytes: u32) -> Work {
    bytes as Work * 8_000_000_000_000
}

/// A curve at a place: from service `y` at time `x` on.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Placed {
    x: u64,
    y: Work,
    /// Length and service of the first piece.
    dx: u64,
    dy: Work,
    m1: u128,
    m2: u128,
}

impl Placed {
    pub(super) fn new(curve: &Curve, x: u64, y: Work) -> Self {
        let (m1, m2) = curve.slopes();
        let dx = curve.d.as_picos();
        Self {
            x,
            y,
            dx,
            dy: m1 * u128::from(dx),
            m1,
            m2,
        }
    }

    /// The same without its first piece.
    pub(super) const fn without_first_piece(self) -> Self {
        Self {
            dx: 0,
            dy: 0,
            ..self
        }
    }

    /// Work done at a time.
    pub(super) fn service_at(&self, x: u64) -> Work {
        if x <= self.x {
            return self.y;
        }
        let since = x - self.x;
        if since <= self.dx {
            return self.y + self.m1 * u128::from(since);
        }
        self.y + self.dy + self.m2 * u128::from(since - self.dx)
    }

    /// The first time at which the curve has this service. [`u64::MAX`]: never.
    pub(super) fn time_of(&self, y: Work) -> u64 {
        if y <= self.y {
            return self.x;
        }
        let more = y - self.y;
        let time = if more <= self.dy {
            u128::from(self.x) + more.div_ceil(self.m1)
        } else if self.m2 == 0 {
            return u64::MAX;
        } else {
            u128::from(self.x) + u128::from(self.dx) + (more - self.dy).div_ceil(self.m2)
        };
        u64::try_from(time).unwrap_or(u64::MAX)
    }

    /// The smaller of this and of the same curve from (x, y) on: Eq. 7 of the paper for deadlines,
    /// Eq. 12 for virtual times. Of curves with two pieces the smaller has two pieces again, since
    /// both have the same slopes.
    pub(super) fn lower_to(&mut self, curve: &Curve, x: u64, y: Work) {
        let fresh = Self::new(curve, x, y);
        let here = self.service_at(x);
        if curve.is_convex() {
            if here >= y {
                *self = fresh;
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
        // They cross: the fresh one is the smaller before, this one behind.
        let mut dx = (here - y) / (fresh.m1 - fresh.m2);
        let end_of_first = self.x.saturating_add(self.dx);
        dx += u128::from(end_of_first.saturating_sub(x));
        let dx = u64::try_from(dx).unwrap_or(u64::MAX);
        *self = Self {
            dx,
            dy: fresh.m1 * u128::from(dx),
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

    const MS: u64 = 1_000_000_000;

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

    #[test]
    fn a_placed_curve_is_read_both_ways() {
        let concave = Placed::new(&curve("m1 8mbit d 10ms m2 1mbit"), 5 * MS, of_bytes(100));
        for (time, bytes) in [(0, 100), (5, 100), (6, 1100), (15, 10_100), (23, 11_100)] {
            assert_eq!(concave.service_at(time * MS), of_bytes(bytes), "{time} ms");
            assert_eq!(concave.time_of(of_bytes(bytes)), (time * MS).max(5 * MS));
        }
        let flat = Placed::new(&curve("m1 8mbit d 10ms m2 0bit"), 0, 0);
        assert_eq!(flat.time_of(of_bytes(10_001)), u64::MAX);
        let late = Placed::new(&curve("d 10ms m2 8mbit"), 0, 0);
        assert_eq!(
            (late.service_at(10 * MS), late.time_of(of_bytes(1))),
            (0, 10 * MS + MS / 1000)
        );
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
                let before = Placed::new(&curve, 0, 0);
                let fresh = Placed::new(&curve, x * MS, of_bytes(bytes));
                let mut lower = before;
                lower.lower_to(&curve, x * MS, of_bytes(bytes));
                for time in (x..200).map(|ms| ms * MS) {
                    let smaller = before.service_at(time).min(fresh.service_at(time));
                    let got = lower.service_at(time);
                    if curve.is_convex() {
                        // One of both, as in the paper's footnote: the smaller at the time x.
                        assert!(got >= smaller, "{text} from {x} ms on");
                    } else {
                        let near = got.abs_diff(smaller) <= of_bytes(1) / 1000;
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
