//! Virtual time: bytes of normalised service in wrapping fixed point.

/// A point in virtual time: bytes served per unit of weight, with [`VirtualTime::FRACTION_BITS`]
/// binary places.
///
/// Wraps. Two points can be compared while they are less than 2^63 apart, which each discipline's
/// bounds ensure; hence `is_after` and, on purpose, no `Ord`.
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

    /// Distance from `other`; negative if earlier.
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

    /// The start of the slot of size 2^`shift` around this point.
    #[inline]
    #[must_use]
    pub const fn slot_start(self, shift: u32) -> Self {
        Self(self.0 >> shift << shift)
    }
}

/// Largest lead of a flow's finish time over V: the longest packet at weight 1 takes 2^46, and no
/// flow is served with a start after the end of its slot. A larger lead is a timestamp from before
/// the clock wrapped.
pub(crate) const MAX_AHEAD: i64 = 1 << 47;

/// Virtual time of a byte at this weight, rounded up, with [`VirtualTime::FRACTION_BITS`] binary
/// places.
///
/// Rounded up here and down in [`VirtualClock`](crate::author::VirtualClock), so that the shares of all flows never add up to
/// more than the link (sum of phi <= 1).
#[inline]
pub const fn byte_time(weight: u32) -> u64 {
    (1u64 << VirtualTime::FRACTION_BITS).div_ceil(weight as u64)
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
}
