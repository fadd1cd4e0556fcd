//! Virtual time: normalised service in bytes, in wrapping fixed point.

/// A point in virtual time: bytes served per unit of weight, with [`VirtualTime::FRACTION_BITS`]
/// binary places.
///
/// Wraps. Two points can be compared while they are less than 2^63 apart, which each discipline's
/// bounds ensure. That is why there is `is_after` and, on purpose, no `Ord`.
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

    /// Distance from `other`. Negative if earlier.
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

    /// Where the slot around this point starts, if slots are 2^`shift` long.
    #[inline]
    #[must_use]
    pub const fn slot_start(self, shift: u32) -> Self {
        Self(self.0 >> shift << shift)
    }
}

/// How far a flow's finish time may be ahead of V, because the longest packet at weight 1 takes
/// 2^46, and no flow is served with a start after the end of its slot. A larger lead means that the
/// timestamp is from before the clock wrapped.
pub(crate) const MAX_AHEAD: i64 = 1 << 47;

/// A byte's virtual time at this weight, rounded up, with [`VirtualTime::FRACTION_BITS`] binary
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
