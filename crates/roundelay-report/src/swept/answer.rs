//! A sweep's answer in sentences: which line is best where, and how far apart the lines are.

use std::collections::BTreeMap;

use roundelay_sim::scenario::student_95;

use super::layout::Layout;
use super::points::{KeyValues, Swept, SweptPoint};
use crate::figures::is_better_if_more;
use crate::text::clean;

/// A point with a mean.
#[derive(Clone, Copy)]
struct Entry<'a> {
    point: &'a SweptPoint,
    mean: f64,
}

impl Entry<'_> {
    /// The compared key with its value.
    fn name(&self, swept: &Swept, key: usize) -> String {
        swept.setting(key, &self.point.values[key])
    }
}

/// The answer: its first sentence is the page's headline.
pub(super) fn sentences(swept: &Swept, layout: &Layout) -> Vec<String> {
    let mut entries = Vec::new();
    let mut has_replicas = false;
    for point in &swept.points {
        has_replicas |= point.runs.len() > 1;
        if let Some(mean) = point.mean() {
            entries.push(Entry {
                point,
                mean: mean.mean,
            });
        }
    }
    let mut sentences = match entries[..] {
        [] if swept.figure.is_empty() => return vec!["No run has a result.".to_owned()],
        [] => return vec![format!("No run has a value of {}.", swept.title())],
        [only] => vec![format!(
            "{} is {}{}.",
            swept.title(),
            swept.unit().text(only.mean),
            at(swept, only.point)
        )],
        _ => match compared(swept, layout) {
            Some(key) => of_values(swept, layout, key, &entries),
            None => vec![of_range(swept, &entries)],
        },
    };
    if !has_replicas {
        sentences.push(
            "Each point is one run: --replicas 10 tells which differences are more than chance."
                .to_owned(),
        );
    }
    sentences
}

/// The key whose values are compared: the lines' key, or categories along the axis.
fn compared(swept: &Swept, layout: &Layout) -> Option<usize> {
    let across = layout.across?;
    let is_words = swept.keys[across].values == KeyValues::Words;
    layout.line_key.or(is_words.then_some(across))
}

/// Where a point is, with a space before it.
fn at(swept: &Swept, point: &SweptPoint) -> String {
    let keys: Vec<usize> = (0..swept.keys.len()).collect();
    let settings = swept.settings(&keys, point);
    if settings.is_empty() {
        String::new()
    } else {
        format!(" at {settings}")
    }
}

/// Tells the lowest and the highest value and where they are, if nothing can be compared.
fn of_range(swept: &Swept, entries: &[Entry<'_>]) -> String {
    let mut lowest = entries[0];
    let mut highest = entries[0];
    for entry in entries {
        if entry.mean < lowest.mean {
            lowest = *entry;
        }
        if entry.mean > highest.mean {
            highest = *entry;
        }
    }
    let unit = swept.unit();
    if lowest.mean == highest.mean {
        return format!(
            "{} is {} at all {} points.",
            swept.title(),
            unit.text(lowest.mean),
            entries.len()
        );
    }
    // What `at` returns begins with a space.
    format!(
        "{} is lowest, {},{} and highest, {},{}.",
        swept.title(),
        unit.text(lowest.mean),
        at(swept, lowest.point),
        unit.text(highest.mean),
        at(swept, highest.point)
    )
}

/// The entries for each combination of the other keys, best first. Combinations with one entry are
/// left out, because there is nothing to compare.
fn combinations<'a>(swept: &Swept, key_index: usize, entries: &[Entry<'a>]) -> Vec<Vec<Entry<'a>>> {
    let mut by_rest: BTreeMap<Vec<&String>, Vec<Entry<'a>>> = BTreeMap::new();
    for entry in entries {
        let mut rest: Vec<&String> = entry.point.values.iter().collect();
        rest.remove(key_index);
        by_rest.entry(rest).or_default().push(*entry);
    }
    let mut all = Vec::new();
    for mut cell in by_rest.into_values() {
        cell.sort_by(|one, other| one.mean.total_cmp(&other.mean));
        if is_better_if_more(&swept.figure) {
            cell.reverse();
        }
        if cell.len() > 1 {
            all.push(cell);
        }
    }
    all
}

/// Tells which value of a key is best at how many combinations of the other keys.
fn of_values(swept: &Swept, layout: &Layout, key: usize, entries: &[Entry<'_>]) -> Vec<String> {
    let cells = combinations(swept, key, entries);
    if cells.is_empty() {
        return vec![of_range(swept, entries)];
    }
    let mut wins: BTreeMap<String, usize> = BTreeMap::new();
    let mut sure = 0;
    let mut widest = &cells[0];
    for cell in &cells {
        // Equals share the first rank, so none of them wins.
        if cell[0].mean != cell[1].mean {
            *wins.entry(cell[0].name(swept, key)).or_default() += 1;
        }
        sure += usize::from(is_sure(cell[0].point, cell[1].point));
        if distance(cell) > distance(widest) {
            widest = cell;
        }
    }
    let of = name_combinations(swept, layout, key, cells.len());
    let mut sentences = vec![headline(swept, wins, &of)];
    if distance(widest) > 0.0 {
        let unit = swept.unit();
        let best = &widest[0];
        let worst = &widest[widest.len() - 1];
        let mut keys: Vec<usize> = (0..swept.keys.len()).collect();
        keys.retain(|other| *other != key);
        let settings = swept.settings(&keys, best.point);
        let opening = if settings.is_empty() {
            "It is".to_owned()
        } else {
            format!("The largest difference is at {settings}:")
        };
        sentences.push(format!(
            "{opening} {} with {}, {} with {}.",
            unit.text(best.mean),
            best.name(swept, key),
            unit.text(worst.mean),
            worst.name(swept, key)
        ));
    }
    if entries.iter().any(|entry| entry.point.runs.len() > 1) {
        let [best, second] = [cells[0][0].name(swept, key), cells[0][1].name(swept, key)];
        sentences.push(match (cells.len(), sure) {
            (1, 0) => {
                format!("{best} and {second} differ by no more than chance (95%, seed by seed).")
            }
            (1, _) => {
                format!("{best} and {second} differ by more than chance (95%, seed by seed).")
            }
            _ => format!(
                "The best two differ by more than chance (95%, seed by seed) at {sure} of {}.",
                of.all
            ),
        });
    }
    sentences
}

/// How far the best and the worst are apart.
fn distance(cell: &[Entry<'_>]) -> f64 {
    (cell[cell.len() - 1].mean - cell[0].mean).abs()
}

/// The value that is best most often, and the next one.
fn headline(swept: &Swept, wins: BTreeMap<String, usize>, of: &Combinations) -> String {
    let best = if is_better_if_more(&swept.figure) {
        "highest"
    } else {
        "lowest"
    };
    let mut order: Vec<(String, usize)> = wins.into_iter().collect();
    order.sort_by_key(|(_, wins)| usize::MAX - wins);
    let title = swept.title();
    match &order[..] {
        [] => format!("{title} is the same for the best two{}.", of.everywhere),
        [(winner, wins), ..] if *wins == of.number => {
            format!("{title} is {best} with {winner}{}.", of.everywhere)
        }
        [(winner, wins)] => format!("{title} is {best} with {winner} at {wins} of {}.", of.all),
        [(winner, wins), (second, more), ..] => format!(
            "{title} is {best} with {winner} at {wins} of {}, and with {second} at {more}.",
            of.all
        ),
    }
}

/// Combinations of the keys other than the lines' key, in words.
struct Combinations {
    number: usize,
    /// With its preposition. Empty if there is one combination.
    everywhere: String,
    all: String,
}

fn name_combinations(swept: &Swept, layout: &Layout, key: usize, number: usize) -> Combinations {
    if number == 1 {
        return Combinations {
            number,
            everywhere: String::new(),
            all: "1 combination".to_owned(),
        };
    }
    let all = match layout.across {
        Some(across) if layout.panel_keys.is_empty() && across != key => {
            format!("{number} values of {}", clean(&swept.keys[across].name))
        }
        _ => format!("{number} combinations of the other keys"),
    };
    Combinations {
        number,
        everywhere: format!(" at all {all}"),
        all,
    }
}

/// Whether two points differ by more than chance, judged by how runs with the same seed differ.
fn is_sure(one: &SweptPoint, other: &SweptPoint) -> bool {
    let mut differences = Vec::new();
    for (seed, value) in &one.runs {
        if let Some(beside) = other.runs.get(seed) {
            differences.push(value - beside);
        }
    }
    match student_95(&differences) {
        Some(interval) => match interval.half_width {
            Some(half) => interval.mean.abs() > half,
            None => false,
        },
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::swept;
    use super::*;

    const QUEUE: (&str, KeyValues) = ("queue.core", KeyValues::Words);
    const RATE: (&str, KeyValues) = ("source.calls.rate", KeyValues::Rates);

    fn answer(swept: &Swept) -> Vec<String> {
        sentences(swept, &Layout::of(swept))
    }

    #[test]
    fn the_best_line_is_named_with_the_largest_difference() {
        let mut swept = swept(
            &[QUEUE, RATE],
            &[
                (&["fifo", "64000"], &[0.10, 0.12]),
                (&["fifo", "128000"], &[0.30, 0.34]),
                (&["qfq", "64000"], &[0.010, 0.012]),
                (&["qfq", "128000"], &[0.011, 0.5]),
            ],
        );
        assert_eq!(
            answer(&swept),
            [
                "calls.delay_p99 is lowest with queue.core=qfq at all 2 values of \
                 source.calls.rate.",
                "The largest difference is at source.calls.rate=64.0 kbit/s: 11.0 ms with \
                 queue.core=qfq, 110 ms with queue.core=fifo.",
                "The best two differ by more than chance (95%, seed by seed) at 0 of 2 values of \
                 source.calls.rate.",
            ]
        );
        swept.figure = "throughput".to_owned();
        let first = &answer(&swept)[0];
        assert!(
            first.contains("is highest with queue.core=fifo at all 2"),
            "{first}"
        );
    }

    #[test]
    fn lines_that_share_the_first_rank_are_both_named() {
        let mut points: Vec<(&[&str], &[f64])> = vec![
            (&["fifo", "64000"], &[0.1]),
            (&["fifo", "128000"], &[0.1]),
            (&["fifo", "256000"], &[0.1]),
            (&["qfq", "64000"], &[0.2]),
            (&["qfq", "128000"], &[0.2]),
            (&["qfq", "256000"], &[0.05]),
        ];
        let both = answer(&swept(&[QUEUE, RATE], &points));
        assert_eq!(
            both[0],
            "calls.delay_p99 is lowest with queue.core=fifo at 2 of 3 values of \
             source.calls.rate, and with queue.core=qfq at 1."
        );
        assert!(both[2].starts_with("Each point is one run"), "{both:?}");
        points[5].1 = &[0.1];
        let alike = answer(&swept(&[QUEUE, RATE], &points));
        assert!(
            alike[0].ends_with("with queue.core=fifo at 2 of 3 values of source.calls.rate."),
            "{alike:?}"
        );
    }

    #[test]
    fn without_lines_the_extremes_are_told() {
        let of = |points: &[(&[&str], &[f64])]| answer(&swept(&[RATE], points)).remove(0);
        assert_eq!(
            of(&[(&["64000"], &[0.1]), (&["128000"], &[0.3])]),
            "calls.delay_p99 is lowest, 100 ms, at source.calls.rate=64.0 kbit/s and highest, \
             300 ms, at source.calls.rate=128 kbit/s."
        );
        assert_eq!(
            of(&[(&["64000"], &[0.1]), (&["128000"], &[0.1])]),
            "calls.delay_p99 is 100 ms at all 2 points."
        );
        assert_eq!(
            of(&[(&["64000"], &[0.1])]),
            "calls.delay_p99 is 100 ms at source.calls.rate=64.0 kbit/s."
        );
    }

    #[test]
    fn a_paired_difference_is_surer_than_two_intervals() {
        let sure = |one: &[f64], other: &[f64]| {
            let swept = swept(&[QUEUE], &[(&["fifo"], one), (&["qfq"], other)]);
            is_sure(&swept.points[0], &swept.points[1])
        };
        assert!(sure(&[1.0, 2.0, 3.0], &[1.1, 2.1, 3.1]));
        assert!(!sure(&[1.0, 2.0, 3.0], &[1.1, 1.9, 3.1]));
        assert!(!sure(&[1.0], &[2.0]), "of one seed nothing is sure");
    }
}
