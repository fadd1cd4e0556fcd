//! Layout of a sweep's points: which key goes along the horizontal axis, which one gives a line
//! for each value, and which ones a chart of their own.

use super::points::{KeyValues, Swept, labelled};
use crate::chart::{Axis, Scaling};

/// Ratio of the largest value to the smallest from which the horizontal axis may be logarithmic, if
/// its values grow by factors.
const GROWN_RATIO: f64 = 8.0;

/// Where each point of a sweep is drawn.
pub(super) struct Layout {
    /// The key along the horizontal axis. None if nothing was varied.
    pub(super) across: Option<usize>,
    /// The key with a line for each value.
    pub(super) line_key: Option<usize>,
    /// The keys whose combinations have a chart each.
    pub(super) panel_keys: Vec<usize>,
    /// The lines' names.
    pub(super) lines: Vec<String>,
    /// The charts' titles.
    pub(super) panels: Vec<String>,
    /// By point.
    pub(super) locations: Vec<Location>,
}

/// Where a point is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Location {
    pub(super) line: usize,
    pub(super) panel: usize,
}

/// The horizontal axis, with each point's position.
pub(super) struct Across {
    pub(super) axis: Axis,
    pub(super) positions: Vec<f64>,
}

impl Layout {
    pub(super) fn of(swept: &Swept) -> Self {
        let mut varied = Vec::new();
        for key in 0..swept.keys.len() {
            if distinct(swept, key).len() > 1 {
                varied.push(key);
            }
        }
        let across = across_key(swept, &varied);
        varied.retain(|key| Some(*key) != across);
        // Keys that change together with the axis, as in [zip], need no line or chart of their own.
        if let Some(across) = across {
            varied.retain(|key| !follows(swept, *key, across));
        }
        let line_key = line_key(swept, &varied);
        varied.retain(|key| Some(*key) != line_key);
        let mut layout = Self {
            across,
            line_key,
            panel_keys: varied,
            lines: Vec::new(),
            panels: Vec::new(),
            locations: Vec::new(),
        };
        for point in &swept.points {
            let line = match line_key {
                Some(key) => swept.setting(key, &point.values[key]),
                None => "mean, with its 95% interval".to_owned(),
            };
            let panel = swept.settings(&layout.panel_keys, point);
            let location = Location {
                line: number_of(&mut layout.lines, line),
                panel: number_of(&mut layout.panels, panel),
            };
            layout.locations.push(location);
        }
        layout
    }

    /// The horizontal axis: numbers, or category names.
    pub(super) fn across_axis(&self, swept: &Swept) -> Across {
        let Some(key) = self.across else {
            return Across {
                axis: Axis {
                    names: vec![String::new()],
                    ..Axis::default()
                },
                positions: vec![0.0; swept.points.len()],
            };
        };
        let about = &swept.keys[key];
        if let Some(numbers) = numbers(swept, key) {
            let mut sorted = numbers.clone();
            sorted.sort_by(f64::total_cmp);
            sorted.dedup();
            let most = sorted.last().copied().unwrap_or(0.0);
            let (unit, per_unit) = about.values.axis_unit(most);
            let mut positions = Vec::new();
            for number in numbers {
                positions.push(number * per_unit);
            }
            return Across {
                axis: Axis {
                    label: labelled(&about.words(), unit),
                    scaling: scaling(&sorted),
                    names: Vec::new(),
                },
                positions,
            };
        }
        let values = distinct(swept, key);
        let mut positions = Vec::new();
        for point in &swept.points {
            let index = values.iter().position(|value| **value == point.values[key]);
            positions.push(index.unwrap_or(0) as f64);
        }
        let mut names = Vec::new();
        for value in values {
            names.push(about.values.text(value));
        }
        Across {
            axis: Axis {
                label: about.words(),
                names,
                ..Axis::default()
            },
            positions,
        }
    }
}

/// The key of numbers with the most values, else the last key, because a list of disciplines mostly
/// stands first and becomes the lines.
fn across_key(swept: &Swept, varied: &[usize]) -> Option<usize> {
    let mut across = None;
    let mut most = 0;
    for &key in varied {
        let values = distinct(swept, key).len();
        if values > most && numbers(swept, key).is_some() {
            most = values;
            across = Some(key);
        }
    }
    across.or(varied.last().copied())
}

/// The first key that names a queue, else the first one with words.
fn line_key(swept: &Swept, varied: &[usize]) -> Option<usize> {
    let mut words = Vec::new();
    for &key in varied {
        if swept.keys[key].values == KeyValues::Words {
            words.push(key);
        }
    }
    let is_queue = |key: &&usize| swept.keys[**key].name.contains("queue");
    words.iter().find(is_queue).or(words.first()).copied()
}

/// A key's values in the order of the plan.
fn distinct(swept: &Swept, key: usize) -> Vec<&String> {
    let mut known = std::collections::HashSet::new();
    let mut values = Vec::new();
    for point in &swept.points {
        if known.insert(&point.values[key]) {
            values.push(&point.values[key]);
        }
    }
    values
}

/// A key's values at all points, if these are numbers.
fn numbers(swept: &Swept, key: usize) -> Option<Vec<f64>> {
    if !swept.keys[key].values.is_number() {
        return None;
    }
    let mut numbers = Vec::new();
    for point in &swept.points {
        numbers.push(point.values[key].parse().ok()?);
    }
    Some(numbers)
}

/// Whether each value of `leader` comes with only one value of `key`.
fn follows(swept: &Swept, key: usize, leader: usize) -> bool {
    let mut values = std::collections::HashMap::new();
    for point in &swept.points {
        let known = values
            .entry(&point.values[leader])
            .or_insert(&point.values[key]);
        if *known != &point.values[key] {
            return false;
        }
    }
    true
}

/// Logarithmic for values that grow by factors, because the one in the middle is then nearer to the
/// geometric mean of both ends than to the arithmetic one.
fn scaling(sorted: &[f64]) -> Scaling {
    let [first, .., last] = sorted else {
        return Scaling::Linear;
    };
    if *first <= 0.0 || last / first < GROWN_RATIO || sorted.len() < 3 {
        return Scaling::Linear;
    }
    let [below, above] = [sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]];
    let middle = f64::midpoint(below, above);
    let geometric = (first * last).sqrt();
    let arithmetic = f64::midpoint(*first, *last);
    if (middle - geometric).abs() < (middle - arithmetic).abs() {
        Scaling::Logarithmic
    } else {
        Scaling::Linear
    }
}

/// A name's number. The name is added if it is new.
fn number_of(names: &mut Vec<String>, name: String) -> usize {
    if let Some(number) = names.iter().position(|known| *known == name) {
        return number;
    }
    names.push(name);
    names.len() - 1
}

#[cfg(test)]
mod tests {
    use super::super::tests::swept;
    use super::*;

    #[test]
    fn keys_that_change_together_share_the_axis() {
        let swept = swept(
            &[
                ("topology.rate", KeyValues::Rates),
                ("topology.delay", KeyValues::Times),
                ("queue.core", KeyValues::Words),
            ],
            &[
                (&["1000000", "0.01", "fifo"], &[0.1]),
                (&["2000000", "0.02", "fifo"], &[0.1]),
                (&["1000000", "0.01", "qfq"], &[0.1]),
                (&["2000000", "0.02", "qfq"], &[0.1]),
            ],
        );
        let layout = Layout::of(&swept);
        assert_eq!((layout.across, layout.line_key), (Some(0), Some(2)));
        assert_eq!(layout.panels, [""], "one chart: {:?}", layout.panel_keys);
    }

    #[test]
    fn words_are_categories_where_no_key_has_numbers() {
        let swept = swept(
            &[
                ("queue.core", KeyValues::Words),
                ("source.calls.kind", KeyValues::Words),
            ],
            &[
                (&["fifo", "cbr"], &[0.1]),
                (&["fifo", "poisson"], &[0.1]),
                (&["qfq", "cbr"], &[0.1]),
            ],
        );
        let layout = Layout::of(&swept);
        assert_eq!((layout.across, layout.line_key), (Some(1), Some(0)));
        let across = layout.across_axis(&swept);
        assert_eq!(across.axis.names, ["cbr", "poisson"]);
        assert_eq!(across.positions, [0.0, 1.0, 0.0]);
    }

    #[test]
    fn values_that_double_have_a_logarithmic_axis() {
        assert_eq!(scaling(&[1.0, 2.0, 4.0, 8.0, 16.0]), Scaling::Logarithmic);
        assert_eq!(scaling(&[1.0, 2.0, 4.0, 8.0]), Scaling::Logarithmic);
        assert_eq!(scaling(&[1.0, 4.0, 7.0, 10.0]), Scaling::Linear);
        assert_eq!(scaling(&[0.0, 1.0, 16.0]), Scaling::Linear);
        assert_eq!(scaling(&[3.0]), Scaling::Linear);
    }
}
