//! A sweep's answer in sentences: which line is best where, which ones are as good, and how far
//! apart the lines are.

use std::collections::BTreeMap;

use roundelay_sim::scenario::student_95;

use super::layout::Layout;
use super::points::{KeyValues, Swept, SweptPoint};
use crate::figures::{is_better_if_more, label_of};
use crate::units::count;

/// A point with a mean.
#[derive(Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) point: &'a SweptPoint,
    pub(super) mean: f64,
}

impl Entry<'_> {
    /// The compared key with its value.
    fn name(&self, swept: &Swept, key: usize) -> String {
        swept.with_setting(key, &self.point.values[key])
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
        [] => return vec![format!("No run has a {}.", swept.title())],
        [only] => vec![format!(
            "The {} is {}{}.",
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
pub(super) fn compared(swept: &Swept, layout: &Layout) -> Option<usize> {
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
            "The {} is {} at all {} points.",
            swept.title(),
            unit.text(lowest.mean),
            count(entries.len() as u64)
        );
    }
    // What `at` returns begins with a space.
    format!(
        "The {} is lowest, {},{} and highest, {},{}.",
        swept.title(),
        unit.text(lowest.mean),
        at(swept, lowest.point),
        unit.text(highest.mean),
        at(swept, highest.point)
    )
}

/// The entries for each combination of the other keys, best first. Combinations with one entry are
/// left out, because there is nothing to compare.
pub(super) fn combinations<'a>(
    swept: &Swept,
    key_index: usize,
    entries: &[Entry<'a>],
) -> Vec<Vec<Entry<'a>>> {
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

/// How many of a combination's entries, best first, are as good as the best: a user notices no
/// difference.
pub(super) fn as_good(swept: &Swept, cell: &[Entry<'_>]) -> usize {
    let Some(first) = cell.first() else { return 0 };
    let Some(label) = label_of(&swept.figure) else {
        return 1;
    };
    let differs = |entry: &&Entry<'_>| label.difference.is_between(first.mean, entry.mean);
    cell.iter().take_while(|entry| !differs(entry)).count()
}

/// Tells which value of a key is best at how many combinations of the other keys, and which are as
/// good.
fn of_values(swept: &Swept, layout: &Layout, key: usize, entries: &[Entry<'_>]) -> Vec<String> {
    let cells = combinations(swept, key, entries);
    if cells.is_empty() {
        return vec![of_range(swept, entries)];
    }
    let mut wins: BTreeMap<Vec<String>, usize> = BTreeMap::new();
    let mut widest = &cells[0];
    let mut has_ties = false;
    for cell in &cells {
        let equals = as_good(swept, cell);
        has_ties |= equals > 1;
        let mut names = Vec::new();
        for entry in &cell[..equals] {
            names.push(entry.name(swept, key));
        }
        names.sort();
        // All of many are told as all.
        if equals == cell.len() {
            names.clear();
        }
        *wins.entry(names).or_default() += 1;
        if distance(cell) > distance(widest) {
            widest = cell;
        }
    }
    let of = name_combinations(swept, layout, key, cells.len());
    let mut sentences = vec![headline(swept, wins, &of)];
    if as_good(swept, widest) < widest.len() {
        sentences.push(largest_difference(swept, key, widest));
    }
    if has_ties && let Some(label) = label_of(&swept.figure) {
        sentences.push(format!(
            "Values count as equal up to a difference of {}.",
            label.difference.in_words(label.unit)
        ));
    }
    sentences.extend(beyond_chance(swept, &cells, &of));
    sentences
}

fn largest_difference(swept: &Swept, key: usize, cell: &[Entry<'_>]) -> String {
    let unit = swept.unit();
    let best = &cell[0];
    let worst = &cell[cell.len() - 1];
    let mut keys: Vec<usize> = (0..swept.keys.len()).collect();
    keys.retain(|other| *other != key);
    let settings = swept.settings(&keys, best.point);
    let opening = if settings.is_empty() {
        "It is".to_owned()
    } else {
        format!("The largest difference is at {settings}:")
    };
    format!(
        "{opening} {} {}, {} {}.",
        unit.text(best.mean),
        best.name(swept, key),
        unit.text(worst.mean),
        worst.name(swept, key)
    )
}

/// At how many combinations the best one differs from the next by more than chance. Nothing where
/// no seed has an effect: without spread there is no chance, and so no claim on it.
fn beyond_chance(swept: &Swept, cells: &[Vec<Entry<'_>>], of: &Combinations) -> Option<String> {
    let mut judged = 0;
    let mut sure = 0;
    for cell in cells {
        let equals = as_good(swept, cell);
        // The best, and the best of those that are notably worse.
        let Some(next) = cell.get(equals) else {
            continue;
        };
        let pair = [cell[0].point, next.point];
        if pair.iter().any(|point| has_spread(point)) {
            judged += 1;
            sure += usize::from(is_sure(pair[0], pair[1]));
        }
    }
    match (judged, sure) {
        (0, _) => None,
        (1, 0) if of.number == 1 => {
            Some("The difference is no more than chance (95%, seed by seed).".to_owned())
        }
        (1, _) if of.number == 1 => {
            Some("The difference is more than chance (95%, seed by seed).".to_owned())
        }
        _ => Some(format!(
            "The best differs from the next by more than chance (95%, seed by seed) at {sure} of \
             the {judged} where it differs and seeds have an effect."
        )),
    }
}

/// Whether the seeds of a point give different values.
fn has_spread(point: &SweptPoint) -> bool {
    let mut values = point.runs.values();
    let Some(first) = values.next() else {
        return false;
    };
    values.any(|value| value != first)
}

/// How far the best and the worst are apart.
fn distance(cell: &[Entry<'_>]) -> f64 {
    (cell[cell.len() - 1].mean - cell[0].mean).abs()
}

/// Most groups of winners in the headline.
const NAMED: usize = 2;

/// The values that are best, alone or together, at how many combinations. No name stands for all.
fn headline(swept: &Swept, wins: BTreeMap<Vec<String>, usize>, of: &Combinations) -> String {
    let best = if is_better_if_more(&swept.figure) {
        "highest"
    } else {
        "lowest"
    };
    let mut order: Vec<(Vec<String>, usize)> = wins.into_iter().collect();
    order.sort_by_key(|(names, wins)| (usize::MAX - wins, names.is_empty()));
    let title = swept.title();
    let has_ties = order.iter().any(|(names, _)| names.len() != 1);
    if let [(names, _)] = &order[..] {
        return match &names[..] {
            [] => format!("The {title} is about the same for all{}.", of.everywhere),
            [only] => format!("The {title} is {best} {only}{}.", of.everywhere),
            several => format!(
                "The {title} is {best}, and about the same, {}{}.",
                joined(several),
                of.everywhere
            ),
        };
    }
    let mut parts = Vec::new();
    for (number, (names, wins)) in order.iter().take(NAMED).enumerate() {
        let wins = count(*wins as u64);
        let place = if number == 0 {
            format!("{wins} of {}", of.all)
        } else {
            wins
        };
        parts.push(match &names[..] {
            [] => format!("about the same for all at {place}"),
            [only] if has_ties => format!("{best} {only} alone at {place}"),
            [only] => format!("{best} {only} at {place}"),
            several => format!("{best} {} alike at {place}", joined(several)),
        });
    }
    let mut rest = 0;
    for (_, wins) in order.iter().skip(NAMED) {
        rest += wins;
    }
    let others = match rest {
        0 => String::new(),
        _ => format!("; others are at {}", count(rest as u64)),
    };
    format!("The {title} is {}{others}.", parts.join(", and "))
}

/// Names in a row. A word that all begin with stands once.
fn joined(names: &[String]) -> String {
    let mut rest = Vec::new();
    for name in names {
        rest.push(name.strip_prefix("under ").unwrap_or(name));
    }
    let is_under = rest.len() == names.len() && names.iter().all(|name| name.starts_with("under "));
    let listed = match rest.split_last() {
        Some((last, others)) if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => rest.concat(),
    };
    if is_under {
        format!("under {listed}")
    } else {
        listed
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
    let counted = count(number as u64);
    let all = match layout.across {
        Some(across) if layout.panel_keys.is_empty() && across != key => {
            format!("{counted} values of {}", swept.keys[across].words())
        }
        _ => format!("{counted} combinations of the other keys"),
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
                (&["fifo", "128000"], &[0.30, 0.32]),
                (&["qfq", "64000"], &[0.010, 0.012]),
                (&["qfq", "128000"], &[0.011, 0.5]),
            ],
        );
        assert_eq!(
            answer(&swept),
            [
                "The p99 delay of calls is lowest under qfq alone at 1 of 2 values of rate of \
                 calls, and about the same for all at 1.",
                "The largest difference is at rate of calls 64.0 kbit/s: 11.0 ms under qfq, 110 ms \
                 under fifo.",
                "Values count as equal up to a difference of 25%, or if both are below 5.00 ms.",
                "The best differs from the next by more than chance (95%, seed by seed) at 0 of \
                 the 1 where it differs and seeds have an effect.",
            ]
        );
        swept.figure = "throughput".to_owned();
        let first = &answer(&swept)[0];
        assert!(
            first.contains("is highest under fifo at all 2 values"),
            "{first}"
        );
    }

    /// Regression: "lowest with fq_codel at 234 of 1000", where drr was equal at the other 766.
    #[test]
    fn ties_are_named_with_the_difference_that_counts_as_one() {
        let mut points: Vec<(&[&str], &[f64])> = vec![
            (&["fifo", "1"], &[0.2]),
            (&["fifo", "2"], &[0.2]),
            (&["fifo", "3"], &[0.2]),
            (&["drr", "1"], &[0.0100]),
            (&["drr", "2"], &[0.0101]),
            (&["drr", "3"], &[0.0180]),
            (&["qfq", "1"], &[0.0101]),
            (&["qfq", "2"], &[0.0100]),
            (&["qfq", "3"], &[0.0100]),
        ];
        let told = answer(&swept(&[QUEUE, RATE], &points));
        assert_eq!(
            told[0],
            "The p99 delay of calls is lowest under drr and qfq alike at 2 of 3 values of rate of \
             calls, and lowest under qfq alone at 1."
        );
        assert!(
            told[2].starts_with("Values count as equal up to"),
            "{told:?}"
        );
        assert!(told[3].starts_with("Each point is one run"), "{told:?}");
        points[5].1 = &[0.0100];
        let alike = answer(&swept(&[QUEUE, RATE], &points));
        assert_eq!(
            alike[0],
            "The p99 delay of calls is lowest, and about the same, under drr and qfq at all 3 \
             values of rate of calls."
        );
    }

    /// Regression: "more than chance" where nothing was random.
    #[test]
    fn without_spread_nothing_is_said_of_chance() {
        let points: [(&[&str], &[f64]); 4] = [
            (&["fifo", "1"], &[0.27, 0.27, 0.27]),
            (&["fifo", "2"], &[0.27, 0.27, 0.27]),
            (&["qfq", "1"], &[0.026, 0.026, 0.026]),
            (&["qfq", "2"], &[0.026, 0.026, 0.026]),
        ];
        let told = answer(&swept(&[QUEUE, RATE], &points));
        assert!(told[0].contains("is lowest under qfq at all 2"), "{told:?}");
        assert!(!told.concat().contains("chance"), "{told:?}");
        // Seeds that shift both alike have an effect, so the difference may be sure.
        let shifted: [(&[&str], &[f64]); 2] = [(&["fifo"], &[0.2, 0.3]), (&["qfq"], &[0.02, 0.12])];
        let told = answer(&swept(&[QUEUE], &shifted));
        assert!(told.concat().contains("is more than chance"), "{told:?}");
    }

    #[test]
    fn without_lines_the_extremes_are_told() {
        let of = |points: &[(&[&str], &[f64])]| answer(&swept(&[RATE], points)).remove(0);
        assert_eq!(
            of(&[(&["64000"], &[0.1]), (&["128000"], &[0.3])]),
            "The p99 delay of calls is lowest, 100 ms, at rate of calls 64.0 kbit/s and highest, \
             300 ms, at rate of calls 128 kbit/s."
        );
        assert_eq!(
            of(&[(&["64000"], &[0.1]), (&["128000"], &[0.1])]),
            "The p99 delay of calls is 100 ms at all 2 points."
        );
        assert_eq!(
            of(&[(&["64000"], &[0.1])]),
            "The p99 delay of calls is 100 ms at rate of calls 64.0 kbit/s."
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
