//! Random distributions in our own code, so a run is the same on any machine and with any release
//! of any crate.
//!
//! All use the inverse transform of 53 random bits. Logarithms and powers come from `libm`, because
//! it is written in Rust and gives the same on all machines.

use rand::Rng as _;
use rand_pcg::Pcg64Mcg;
use roundelay::Duration;

/// Even in [0, 1).
#[inline]
pub(crate) fn unit(random: &mut Pcg64Mcg) -> f64 {
    (random.next_u64() >> 11) as f64 / (1_u64 << 53) as f64
}

/// Even in 0 to `count` - 1, or 0 if `count` is 0. The bias is below `count` in 2^64.
#[inline]
pub(crate) fn below(random: &mut Pcg64Mcg, count: u64) -> u64 {
    ((u128::from(random.next_u64()) * u128::from(count)) >> 64) as u64
}

/// Even from zero to `longest`.
pub(crate) fn up_to(random: &mut Pcg64Mcg, longest: Duration) -> Duration {
    if longest == Duration::ZERO {
        return longest;
    }
    Duration::from_picos(below(random, longest.as_picos().saturating_add(1)))
}

/// Even from half of `mean` to one and a half times `mean`, both included, in whole picoseconds.
#[inline]
pub(crate) fn within_half(random: &mut Pcg64Mcg, mean: Duration) -> Duration {
    let half = mean.as_picos() / 2;
    let drawn = up_to(random, Duration::from_picos(half * 2));
    Duration::from_picos((mean.as_picos() - half).saturating_add(drawn.as_picos()))
}

/// A span of picoseconds, rounded to the nearest. It is limited to the longest [`Duration`].
#[inline]
pub(crate) fn span(picos: f64) -> Duration {
    Duration::from_picos((picos + 0.5) as u64)
}

/// An exponential span: -m ln u. It is at most 37 times the mean.
#[inline]
pub(crate) fn exponential(random: &mut Pcg64Mcg, mean_picos: f64) -> Duration {
    span(-mean_picos * libm::log(1.0 - unit(random)))
}

/// How spans of time are distributed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Span {
    /// Always the same.
    Fixed(Duration),
    /// Exponential, with this mean.
    Exponential(Duration),
    /// Pareto: a span is longer than x with probability (x_m / x)^shape. The shortest is x_m = mean
    /// (shape - 1) / shape. If the shape is 2 or less, the variance is infinite.
    Pareto {
        /// The mean.
        mean: Duration,
        /// The shape, above 1.
        shape: f64,
    },
}

impl Span {
    /// The distribution's mean.
    pub const fn mean(&self) -> Duration {
        match self {
            Self::Fixed(mean) | Self::Exponential(mean) | Self::Pareto { mean, .. } => *mean,
        }
    }

    #[inline]
    pub(crate) fn draw(&self, random: &mut Pcg64Mcg) -> Duration {
        match *self {
            Self::Fixed(span) => span,
            Self::Exponential(mean) => exponential(random, mean.as_picos() as f64),
            Self::Pareto { mean, shape } => {
                let shortest = mean.as_picos() as f64 * (shape - 1.0) / shape;
                span(shortest * libm::pow(1.0 - unit(random), -1.0 / shape))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng as _;

    fn random() -> Pcg64Mcg {
        Pcg64Mcg::seed_from_u64(7)
    }

    /// Mean and variance, in units of `unit` and of its square.
    fn moments(unit: Duration, mut draw: impl FnMut() -> Duration) -> (f64, f64) {
        const DRAWS: u32 = 200_000;
        let mut sum = 0.0;
        let mut squares = 0.0;
        for _ in 0..DRAWS {
            let x = draw().as_picos() as f64 / unit.as_picos() as f64;
            sum += x;
            squares += x * x;
        }
        let mean = sum / f64::from(DRAWS);
        (mean, squares / f64::from(DRAWS) - mean * mean)
    }

    /// With n draws the mean is off by sigma / sqrt(n) and the variance by
    /// sigma^2 sqrt((kurtosis - 1) / n). The tolerance is five times this.
    #[test]
    fn an_exponential_has_its_mean_and_variance() {
        let mut random = random();
        let mean = Duration::from_millis(3);
        let (average, variance) = moments(mean, || Span::Exponential(mean).draw(&mut random));
        assert!(
            (average - 1.0).abs() < 5.0 / 200_000_f64.sqrt(),
            "mean {average}"
        );
        assert!(
            (variance - 1.0).abs() < 5.0 * (8.0_f64 / 200_000.0).sqrt(),
            "variance {variance}"
        );
    }

    /// With shape 5, the variance is shape / ((shape - 1)^2 (shape - 2)) x_m^2 with x_m = 4/5 mean,
    /// here 1/15, and the kurtosis is 9 + 64.8.
    #[test]
    fn a_pareto_has_its_mean_and_variance() {
        let mut random = random();
        let mean = Duration::from_millis(3);
        let (average, variance) =
            moments(mean, || Span::Pareto { mean, shape: 5.0 }.draw(&mut random));
        assert!(
            (average - 1.0).abs() < 5.0 * (1.0_f64 / 15.0 / 200_000.0).sqrt(),
            "mean {average}"
        );
        assert!(
            (variance * 15.0 - 1.0).abs() < 5.0 * (72.8_f64 / 200_000.0).sqrt(),
            "variance {variance}"
        );
    }

    /// With shape 1.5 there is no variance, so the test checks the tail: a span is longer than x
    /// with probability (x_m / x)^shape. Counts are binomial, and the tolerance is five sigma.
    #[test]
    fn a_pareto_has_its_tail() {
        let mut random = random();
        let mean = Duration::from_secs(3);
        let shape = 1.5;
        let draws: Vec<_> = (0..1_000_000)
            .map(|_| Span::Pareto { mean, shape }.draw(&mut random).as_secs_f64())
            .collect();
        assert!(
            draws.iter().all(|draw| *draw >= 1.0),
            "the shortest is mean (shape - 1) / shape = 1 s"
        );
        for probability in [0.5, 0.1, 0.01, 0.001_f64] {
            let longer = draws
                .iter()
                .filter(|draw| **draw > probability.powf(-1.0 / shape))
                .count() as f64;
            let expected = 1e6 * probability;
            let sigma = (1e6 * probability * (1.0 - probability)).sqrt();
            assert!(
                (longer - expected).abs() < 5.0 * sigma,
                "{probability}: {longer} for {expected} by {sigma}"
            );
        }
    }

    #[test]
    fn even_draws_are_even() {
        let mut random = random();
        let mut counts = [0_i32; 10];
        (0..100_000).for_each(|_| counts[below(&mut random, 10) as usize] += 1);
        assert!(
            counts.iter().all(|count| (count - 10_000).abs() < 5 * 95),
            "binomial, sigma 95: {counts:?}"
        );
        assert_eq!(below(&mut random, 0), 0);
        assert!((0..1000).all(|_| up_to(&mut random, Duration::from_picos(1)).as_picos() <= 1));
        assert!((0..1000).any(|_| up_to(&mut random, Duration::from_picos(1)).as_picos() == 1));
        assert_eq!(up_to(&mut random, Duration::ZERO), Duration::ZERO);
    }

    #[test]
    fn what_is_too_long_to_tell_is_as_long_as_can_be_told() {
        assert_eq!(span(1e30), Duration::MAX);
        let mut random = random();
        let long = Span::Pareto {
            mean: Duration::MAX,
            shape: 1.01,
        };
        assert!((0..1000).any(|_| long.draw(&mut random) == Duration::MAX));
    }
}
