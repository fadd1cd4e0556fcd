//! The points of a sweep side by side: a row for each combination of the other keys, a column for
//! each value of the compared key. The best of a row, and what is as good, stand out.

use std::collections::BTreeMap;

use super::answer::{Entry, as_good, compared};
use super::layout::Layout;
use super::points::Swept;
use crate::figures::{interval_text, is_better_if_more};
use crate::markdown::escaped;

/// Most rows. The dataset has all.
const MOST_ROWS: usize = 1000;
/// Most columns with values.
const MOST_COLUMNS: usize = 12;

/// The number of rows, and the table in Markdown. None where nothing is compared.
pub(super) fn beside(swept: &Swept, layout: &Layout) -> Option<(usize, String)> {
    let key = compared(swept, layout)?;
    let mut values: Vec<&String> = Vec::new();
    let mut rows: Vec<Vec<&String>> = Vec::new();
    let mut row_numbers = BTreeMap::new();
    let mut cells: BTreeMap<(usize, usize), Entry<'_>> = BTreeMap::new();
    for point in &swept.points {
        let value = &point.values[key];
        let column = match values.iter().position(|known| *known == value) {
            Some(column) => column,
            None => {
                values.push(value);
                values.len() - 1
            }
        };
        let mut rest: Vec<&String> = point.values.iter().collect();
        rest.remove(key);
        let next = rows.len();
        let row = *row_numbers.entry(rest.clone()).or_insert(next);
        if row == next {
            rows.push(rest);
        }
        if let Some(mean) = point.mean() {
            let mean = mean.mean;
            cells.insert((row, column), Entry { point, mean });
        }
    }
    if values.len() > MOST_COLUMNS || rows.len() > MOST_ROWS || values.len() < 2 {
        return None;
    }
    let mut text = head(swept, key, &values);
    for (row, rest) in rows.iter().enumerate() {
        text += &line(
            swept,
            key,
            rest,
            &best_first(swept, &cells, row),
            values.len(),
        );
    }
    let title = crate::text::capitalised(&swept.title());
    let about = format!(
        "### {}\n\nThe best of each row, and what counts as equal to it, is in bold.\n\n",
        escaped(&title)
    );
    Some((rows.len(), about + &text + "\n"))
}

/// A row's entries with their columns, the best one first, and how many count as best.
type Row<'a> = (Vec<(usize, Entry<'a>)>, usize);

fn best_first<'a>(
    swept: &Swept,
    cells: &BTreeMap<(usize, usize), Entry<'a>>,
    row: usize,
) -> Row<'a> {
    let mut own = Vec::new();
    for ((_, column), entry) in cells.range((row, 0)..(row + 1, 0)) {
        own.push((*column, *entry));
    }
    own.sort_by(|(_, one), (_, other)| one.mean.total_cmp(&other.mean));
    if is_better_if_more(&swept.figure) {
        own.reverse();
    }
    let mut entries = Vec::new();
    for (_, entry) in &own {
        entries.push(*entry);
    }
    let equals = as_good(swept, &entries);
    (own, equals)
}

fn head(swept: &Swept, key: usize, values: &[&String]) -> String {
    let mut heads = Vec::new();
    for (number, about) in swept.keys.iter().enumerate() {
        if number != key {
            heads.push(escaped(&about.words()));
        }
    }
    let mut rule = "|---".repeat(heads.len());
    for value in values {
        heads.push(escaped(&swept.setting(key, value)));
        rule += "|--:";
    }
    format!("| {} |\n{rule}|\n", heads.join(" | "))
}

fn line(
    swept: &Swept,
    key: usize,
    rest: &[&String],
    (own, equals): &Row<'_>,
    columns: usize,
) -> String {
    let mut texts = Vec::new();
    let mut others = rest.iter();
    for (number, about) in swept.keys.iter().enumerate() {
        if number != key
            && let Some(value) = others.next()
        {
            texts.push(escaped(&about.values.text(value)));
        }
    }
    let unit = swept.unit();
    for column in 0..columns {
        let found = own.iter().position(|(own, _)| *own == column);
        let Some(rank) = found else {
            texts.push("–".to_owned());
            continue;
        };
        let text = interval_text(own[rank].1.point.mean(), |value| unit.text(value));
        let is_best = rank < *equals && *equals < own.len();
        texts.push(if is_best { format!("**{text}**") } else { text });
    }
    format!("| {} |\n", texts.join(" | "))
}

#[cfg(test)]
mod tests {
    use super::super::points::KeyValues;
    use super::super::tests::swept;
    use super::*;

    #[test]
    fn the_best_of_a_row_and_its_equals_stand_out() {
        let swept = swept(
            &[
                ("queue.core", KeyValues::Words),
                ("source.calls.rate", KeyValues::Rates),
            ],
            &[
                (&["fifo", "64000"], &[0.2]),
                (&["drr", "64000"], &[0.0101]),
                (&["qfq", "64000"], &[0.0100]),
                (&["fifo", "128000"], &[0.2]),
                (&["qfq", "128000"], &[0.2]),
            ],
        );
        let (rows, table) = beside(&swept, &Layout::of(&swept)).expect("a table");
        assert_eq!(rows, 2);
        let lines: Vec<&str> = table.lines().skip(4).collect();
        assert_eq!(
            lines,
            [
                "| rate of calls | fifo | drr | qfq |",
                "|---|--:|--:|--:|",
                "| 64.0 kbit/s | 200 ms | **10.1 ms** | **10.0 ms** |",
                "| 128 kbit/s | 200 ms | – | 200 ms |",
                "",
            ]
        );
    }
}
