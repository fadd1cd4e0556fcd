//! Virtual time: bytes of normalised service in wrapping fixed point.

/// A point in virtual time: bytes served per unit of weight, with [`VirtualTime::FRACTION_BITS`] binary places.
///
/// It wraps. Two points can be compared while they are less than 2^63 apart, which the bounds of each discipline see to; so there is
/// `is_after` and, on purpose, no `Ord`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct VirtualTime(u64);

impl VirtualTime {
    /// Binary places after the point.
    pub const FRACTION_BITS: u32 = 30;
    /// Where virtual time starts.
    pub const ZERO: Self = Self(0);

    /// From the raw fixed-point number.
    #[inline]
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits)
    }

    /// The raw fixed-point number.
    #[inline]
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The point `span` later.
    #[inline]
    pub const fn plus(self, span: u64) -> Self {
        Self(self.0.wrapping_add(span))
    }

    /// The point `span` earlier.
    #[inline]
    pub const fn minus(self, span: u64) -> Self {
        Self(self.0.wrapping_sub(span))
    }

    /// How much later than `other`; negative if earlier.
    #[inline]
    pub const fn since(self, other: Self) -> i64 {
        self.0.wrapping_sub(other.0) as i64
    }

    /// Whether this point is later than `other`.
    #[inline]
    pub const fn is_after(self, other: Self) -> bool {
        self.since(other) > 0
    }

    /// The later of two points.
    #[inline]
    #[must_use]
    pub const fn later(self, other: Self) -> Self {
        if self.is_after(other) { self } else { other }
    }

    /// The earlier of two points.
    #[inline]
    #[must_use]
    pub const fn earlier(self, other: Self) -> Self {
        if self.is_after(other) { other } else { self }
    }

    /// The start of the slot of 2^`shift` that holds this point.
    #[inline]
    #[must_use]
    pub const fn slot_start(self, shift: u32) -> Self {
        Self(self.0 >> shift << shift)
    }
}

/// Virtual time that a byte of a flow of this weight takes, rounded up: [`VirtualTime::FRACTION_BITS`] binary places.
///
/// Rounded up here and down in [`VirtualClock`], so that the shares of all flows never add up to more than the link (sum of phi <= 1).
#[inline]
pub const fn byte_time(weight: u32) -> u64 {
    (1u64 << VirtualTime::FRACTION_BITS).div_ceil(weight as u64)
}

/// The system's virtual time V and its speed, 1 / sum of weights.
#[derive(Debug, Clone, Default)]
pub struct VirtualClock {
    now: VirtualTime,
    total_weight: u64,
    /// 2^62 / `total_weight`, rounded down.
    inverse: u64,
}

impl VirtualClock {
    const INVERSE_BITS: u32 = 62;

    /// V.
    #[inline]
    pub const fn now(&self) -> VirtualTime {
        self.now
    }

    /// The sum of the weights that V is shared by.
    #[inline]
    pub const fn total_weight(&self) -> u64 {
        self.total_weight
    }

    /// Another sum of weights from here on.
    pub const fn set_total_weight(&mut self, total: u64) {
        self.total_weight = total;
        self.inverse = match (1u64 << Self::INVERSE_BITS).checked_div(total) {
            Some(inverse) => inverse,
            None => 0,
        };
    }

    /// What serving `len` bytes adds to V, rounded down: Eq. 3's W(t1, t2) over the sum of weights.
    #[inline]
    pub const fn span_of(&self, len: u32) -> u64 {
        ((len as u128 * self.inverse as u128) >> (Self::INVERSE_BITS - VirtualTime::FRACTION_BITS)) as u64
    }

    /// Counts the service of `len` bytes.
    #[inline]
    pub const fn advance(&mut self, len: u32) {
        self.now = self.now.plus(self.span_of(len));
    }

    /// Jumps to `target` if that is later: Eq. 3's minimum over the backlogged start times.
    #[inline]
    pub const fn jump_to(&mut self, target: VirtualTime) {
        self.now = self.now.later(target);
    }

    /// Moves V without regard to what is in the queues: for tests of wrapping.
    #[doc(hidden)]
    pub const fn set(&mut self, now: VirtualTime) {
        self.now = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comparison_survives_the_wrap() {
        let before = VirtualTime::from_bits(u64::MAX - 5);
        let after = before.plus(10);
        assert!(after.is_after(before) && !before.is_after(after));
        assert_eq!(after.since(before), 10);
        assert_eq!(before.later(after), after);
    }

    #[test]
    fn shares_never_exceed_the_link() {
        for total in [1u64, 3, 7, 1000, 999_983, 1 << 20] {
            let mut clock = VirtualClock::default();
            clock.set_total_weight(total);
            // A flow of weight w that gets w / total of the link must not fall behind V.
            for weight in [1u32, 2, 3, 5, 7, 1000, 1024] {
                if u64::from(weight) <= total {
                    let flow = u128::from(byte_time(weight)) * 1500 * u128::from(weight);
                    let link = u128::from(clock.span_of(1500)) * u128::from(total);
                    assert!(flow >= link, "weight {weight} of {total}");
                }
            }
        }
    }
}
