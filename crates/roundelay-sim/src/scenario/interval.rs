//! Means over replicas and their confidence intervals.

use serde::Serialize;

/// A mean over replicas with its 95% confidence interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Interval {
    /// The mean.
    pub mean: f64,
    /// Half the width of the 95% confidence interval; none from one value.
    pub half_width: Option<f64>,
}

/// Student's t for 95% and 1 to 30 degrees of freedom.
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.160,
    2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064, 2.060, 2.056,
    2.052, 2.048, 2.045, 2.042,
];

/// The mean's 95% confidence interval by Student's t distribution ("The Probable Error of a Mean",
/// Biometrika 6, 1908). Beyond 30 degrees of freedom we use the value for 30, which is a little too
/// wide. None if there are no values. If the half width is at most 1e-9 of the mean, it comes from
/// rounding alone, so it is set to zero.
pub fn student_95(values: &[f64]) -> Option<Interval> {
    let count = values.len() as f64;
    if values.is_empty() {
        return None;
    }
    let mean = values.iter().sum::<f64>() / count;
    let Some(freedom) = values.len().checked_sub(2) else {
        return Some(Interval {
            mean,
            half_width: None,
        });
    };
    let variance = values
        .iter()
        .map(|value| (value - mean) * (value - mean))
        .sum::<f64>()
        / (count - 1.0);
    let half_width = STUDENT[freedom.min(29)] * (variance / count).sqrt();
    Some(Interval {
        mean,
        half_width: Some(if half_width > mean.abs() * 1e-9 {
            half_width
        } else {
            0.0
        }),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean of 1 to 5 is 3, the standard error is sqrt(2.5 / 5), and t for four degrees of
    /// freedom is 2.776.
    #[test]
    fn confidence_is_student_s() {
        let interval = student_95(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!(interval.mean, 3.0);
        assert!(
            (interval.half_width.unwrap() - 1.9629).abs() < 1e-4,
            "{interval:?}"
        );
        assert_eq!(
            student_95(&[0.1 + 0.2, 0.3, 0.3]).unwrap().half_width,
            Some(0.0)
        );
        assert_eq!(
            student_95(&[7.0]),
            Some(Interval {
                mean: 7.0,
                half_width: None
            })
        );
        assert_eq!(student_95(&[]), None);
    }
}
