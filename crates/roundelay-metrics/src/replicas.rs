//! Statistics over replicas: sorted ranks, two modes, starved flows, correlation.
//!
//! A mean hides a figure with two modes, for example when two hashes collide or do not. If all
//! flows are alike, a flow's number means nothing, so we compare the k-th smallest throughput of
//! each replica.

/// One rank's statistics over replicas.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rank {
    /// The values' mean.
    pub mean: f64,
    /// The values' standard deviation, with n - 1. None for one value.
    pub deviation: Option<f64>,
    /// The two modes, if there are two.
    pub modes: Option<[Mode; 2]>,
}

/// One of two modes: the values on one side of the gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Mode {
    /// The values' mean.
    pub mean: f64,
    /// How many values.
    pub count: usize,
}

/// The ranks over several replicas, the smallest value first. Rank k covers the k-th smallest value
/// of each replica with at least k values. NaN sorts last.
pub fn ranks(replicas: &[Vec<f64>]) -> Vec<Rank> {
    let mut sorted = replicas.to_vec();
    for values in &mut sorted {
        values.sort_by(f64::total_cmp);
    }
    let most = sorted.iter().map(Vec::len).max().unwrap_or(0);
    let mut ranks = Vec::new();
    for rank in 0..most {
        let mut values = Vec::new();
        for replica in &sorted {
            values.extend(replica.get(rank));
        }
        ranks.push(Rank {
            mean: mean(&values),
            deviation: deviation(&values),
            modes: modes(&values),
        });
    }
    ranks
}

/// The two modes of a figure. The rule: in sorted order, the largest gap between neighbours is more
/// than three times the spread (largest minus smallest) on either side, and each side has at least
/// a fifth of all values. None for fewer than five values.
pub fn modes(values: &[f64]) -> Option<[Mode; 2]> {
    if values.len() < 5 {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    // The largest gap, the last of equal ones.
    let mut above = 1;
    let mut gap = sorted[1] - sorted[0];
    for index in 2..sorted.len() {
        let other = sorted[index] - sorted[index - 1];
        if other.total_cmp(&gap).is_ge() {
            above = index;
            gap = other;
        }
    }
    let (low, high) = sorted.split_at(above);
    for side in [low, high] {
        let spread = side[side.len() - 1] - side[0];
        let is_mode = side.len() * 5 >= sorted.len() && gap > 3.0 * spread;
        if !is_mode {
            return None;
        }
    }
    Some([Mode::of(low), Mode::of(high)])
}

impl Mode {
    fn of(values: &[f64]) -> Self {
        Self {
            mean: mean(values),
            count: values.len(),
        }
    }
}

/// How many values are below `part` of their mean. If the values are throughputs by weight and the
/// mean is the fair share, these flows are starved.
pub fn starved(values: &[f64], part: f64) -> usize {
    let least = part * mean(values);
    values.iter().filter(|value| **value < least).count()
}

/// Pearson's correlation of pairs, -1 to 1. None for fewer than three pairs, or if either figure is
/// constant.
pub fn correlation(pairs: impl Iterator<Item = (f64, f64)>) -> Option<f64> {
    let (xs, ys): (Vec<_>, Vec<_>) = pairs.unzip();
    if xs.len() < 3 {
        return None;
    }
    let mean_x = mean(&xs);
    let mean_y = mean(&ys);
    let mut sum_xy = 0.0;
    let mut sum_xx = 0.0;
    let mut sum_yy = 0.0;
    for (x, y) in xs.iter().zip(&ys) {
        let from_mean_x = x - mean_x;
        let from_mean_y = y - mean_y;
        sum_xy += from_mean_x * from_mean_y;
        sum_xx += from_mean_x * from_mean_x;
        sum_yy += from_mean_y * from_mean_y;
    }
    let both_vary = sum_xx > 0.0 && sum_yy > 0.0;
    both_vary.then(|| sum_xy / (sum_xx * sum_yy).sqrt())
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() {
        0.0
    } else {
        values.iter().sum::<f64>() / values.len() as f64
    }
}

fn deviation(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values);
    let squares = values.iter().map(|value| (value - mean).powi(2));
    Some((squares.sum::<f64>() / (values.len() - 1) as f64).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_are_of_the_sorted_values_of_each_replica() {
        let ranks = ranks(&[vec![3.0, 1.0], vec![2.0, 5.0, 9.0]]);
        let means: Vec<_> = ranks.iter().map(|rank| rank.mean).collect();
        assert_eq!(means, [1.5, 4.0, 9.0]);
        assert_eq!(ranks[0].deviation, Some(0.5_f64.sqrt()), "1 and 2");
        assert_eq!((ranks[2].deviation, ranks[2].modes), (None, None));
        assert!(super::ranks(&[]).is_empty());
    }

    #[test]
    fn a_figure_has_two_modes_if_they_are_far_apart() {
        let two = modes(&[600.0, 310.0, 615.0, 300.0, 610.0]).unwrap();
        assert_eq!(two.map(|mode| mode.count), [2, 3]);
        assert_eq!(two[0].mean, 305.0);
        assert!((two[1].mean - 1825.0 / 3.0).abs() < 1e-9);
        assert_eq!(modes(&[1.0, 2.0, 3.0, 4.0, 5.0]), None, "even");
        assert_eq!(
            modes(&[1.0, 1.0, 1.0, 1.0, 1.0, 9.0]),
            None,
            "one value of six is an outlier"
        );
        assert_eq!(
            modes(&[1.0, 2.0, 4.9, 5.9, 5.9]),
            None,
            "a gap of 2.9 beside a spread of 1"
        );
        assert!(modes(&[1.0, 2.0, 5.1, 6.1, 6.1]).is_some(), "a gap of 3.1");
        assert_eq!(
            (modes(&[1.0, 1.0, 9.0, 9.0]), modes(&[2.0; 9])),
            (None, None),
            "too few, all alike"
        );
    }

    #[test]
    fn starved_flows_have_a_small_part_of_the_mean() {
        assert_eq!(starved(&[0.0, 0.9, 1.0, 2.0, 1.1], 0.1), 1);
        assert_eq!(starved(&[0.0, 0.9, 1.0, 2.0, 1.1], 0.95), 2);
        assert_eq!(
            (starved(&[0.0, 0.0], 0.5), starved(&[], 0.5)),
            (0, 0),
            "nobody has anything"
        );
    }

    #[test]
    fn correlation_is_pearson_s() {
        let of = |pairs: &[(f64, f64)]| correlation(pairs.iter().copied());
        assert_eq!(of(&[(1.0, 2.0), (2.0, 4.0), (3.0, 6.0)]), Some(1.0));
        assert_eq!(of(&[(1.0, 6.0), (2.0, 4.0), (3.0, 2.0)]), Some(-1.0));
        let found = of(&[(1.0, 1.0), (2.0, 3.0), (3.0, 2.0)]).unwrap();
        assert!((found - 0.5).abs() < 1e-12, "{found}");
        assert_eq!(
            (
                of(&[(1.0, 2.0), (2.0, 4.0)]),
                of(&[(1.0, 1.0), (1.0, 2.0), (1.0, 3.0)])
            ),
            (None, None)
        );
    }
}
