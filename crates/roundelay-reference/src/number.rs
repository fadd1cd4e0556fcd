//! Number types for the references: `f64` for audits, exact rationals for tests.

use core::fmt::Debug;

use num_bigint::BigInt;
use num_rational::Ratio;
use num_traits::{Num, ToPrimitive};

/// An exact rational number, as large as memory allows.
pub type Rational = Ratio<BigInt>;

/// A number type that the references can compute with.
pub trait Number: Num + Clone + PartialOrd + Debug {
    /// The number closest to `value`, which is exact below 2^53.
    fn from_u64(value: u64) -> Self;

    /// The value as an `f64`: the closest one or a neighbour.
    fn approximate(&self) -> f64;
}

impl Number for f64 {
    fn from_u64(value: u64) -> Self {
        value as Self
    }

    fn approximate(&self) -> f64 {
        *self
    }
}

impl Number for Rational {
    fn from_u64(value: u64) -> Self {
        Ratio::from_integer(BigInt::from(value))
    }

    /// Relative error below 2^-52, because the numerator is first shifted until it has 64 bits more
    /// than the denominator.
    fn approximate(&self) -> f64 {
        let shift = (self.denom().bits() + 64).saturating_sub(self.numer().bits());
        let shifted: BigInt = (self.numer() << shift) / self.denom();
        // At least 64 significant bits are left. We scale back in two steps, because one could
        // overflow.
        let half = shift as i32 / 2;
        shifted.to_f64().unwrap_or(f64::NAN) * 2f64.powi(-half) * 2f64.powi(-(shift as i32 - half))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rationals_become_the_closest_floats() {
        let ratio = |numerator: i64, denominator: i64| {
            Ratio::new(BigInt::from(numerator), BigInt::from(denominator))
        };
        assert_eq!(ratio(1, 3).approximate(), 1.0 / 3.0);
        assert_eq!(ratio(-22, 7).approximate(), -22.0 / 7.0);
        assert_eq!(ratio(0, 7).approximate(), 0.0);
        let huge = Rational::from_integer(BigInt::from(3) << 1500usize);
        assert_eq!(
            (huge.clone() / (huge * Rational::from_integer(BigInt::from(2)))).approximate(),
            0.5
        );
    }
}
