//! Geometric mean, for figures that span orders of magnitude. Logarithms are those of `libm`, with
//! the same last bits on every machine and in WebAssembly.

/// The geometric mean of delays in seconds; none without values. Delays below a picosecond count as
/// a picosecond, because zero has no logarithm.
pub fn geometric_mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut sum = 0.0;
    let mut count = 0_u32;
    for value in values {
        sum += libm::log(value.max(1e-12));
        count += 1;
    }
    (count > 0).then(|| libm::exp(sum / f64::from(count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundredfold_more_and_less_cancel_out() {
        let mean = geometric_mean([0.001, 0.1, 10.0].into_iter()).unwrap();
        assert!((mean - 0.1).abs() < 1e-12, "{mean}");
        assert_eq!(geometric_mean([].into_iter()), None);
        assert!(geometric_mean([0.0].into_iter()).unwrap() > 0.0);
    }
}
