//! "Did you mean": the known name for an unknown one in error messages, by synonyms in `tc` and the
//! literature or by spelling. Also the list of legal names.
//!
//! Edit distances are computed here because the core has no dependencies and all parsers of names
//! should give the same suggestions.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// Other names of disciplines, with the name used here.
const SYNONYMS: [(&str, &str); 13] = [
    ("droptail", "fifo"),
    ("drop_tail", "fifo"),
    ("pfifo_fast", "priority"),
    ("strict", "priority"),
    ("rr", "drr"),
    ("wrr", "drr"),
    ("dwrr", "drr"),
    ("edd", "edf"),
    ("scfs", "scfq"),
    ("sjn", "sjf"),
    ("blue", "sfb"),
    ("pifo", "sp_pifo"),
    ("rpq", "lstf_levels"),
];

/// The intended discipline among the known ones.
pub(crate) fn discipline<'a>(
    written: &str,
    known: impl Iterator<Item = &'a str>,
) -> Option<&'a str> {
    let written = as_names_are(written);
    let meant = SYNONYMS
        .iter()
        .find(|(other, _)| *other == written)
        .map_or(written.as_str(), |(_, ours)| ours);
    nearest(meant, known)
}

/// `WF2Q+` as `wf2q_plus`, `fq-codel` as `fq_codel`.
fn as_names_are(written: &str) -> String {
    written
        .to_lowercase()
        .replace('+', "_plus")
        .replace('-', "_")
}

/// `one, two or three`.
pub fn alternatives(words: &[&str]) -> String {
    match words {
        [] => String::new(),
        [word] => (*word).to_owned(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// The known name with the fewest letter changes, up to one, or up to one for each three letters.
///
/// ```
/// use roundelay::suggestion::nearest;
///
/// assert_eq!(nearest("durration", ["duration", "warmup"].into_iter()), Some("duration"));
/// assert_eq!(nearest("speed", ["duration", "warmup"].into_iter()), None);
/// ```
pub fn nearest<'a>(written: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let letters: Vec<char> = written.chars().collect();
    let distances = known.map(|name| (distance(&letters, &name.chars().collect::<Vec<_>>()), name));
    let (distance, name) = distances.min_by_key(|(distance, _)| *distance)?;
    (distance <= (letters.len() / 3).max(1) && letters.len() > 1).then_some(name)
}

/// How many letters are inserted, deleted, replaced or swapped with a neighbour (optimal string
/// alignment).
fn distance(one: &[char], other: &[char]) -> usize {
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut now = alloc::vec![row + 1];
        for (column, wanted) in other.iter().enumerate() {
            let replaced = last[column] + usize::from(letter != wanted);
            let mut least = replaced.min(last[column + 1] + 1).min(now[column] + 1);
            if row > 0 && column > 0 && *letter == other[column - 1] && one[row - 1] == *wanted {
                least = least.min(before[column - 1] + 1);
            }
            now.push(least);
        }
        (before, last) = (last, now);
    }
    last[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schedulers::AnyDiscipline;

    #[test]
    fn distances_count_letters() {
        let of = |one: &str, other: &str| {
            distance(
                &one.chars().collect::<Vec<_>>(),
                &other.chars().collect::<Vec<_>>(),
            )
        };
        for (one, other, expected) in [
            ("", "", 0),
            ("", "abc", 3),
            ("qfq", "qfq", 0),
            ("qqf", "qfq", 1),
            ("kitten", "sitting", 3),
            ("ca", "abc", 3),
        ] {
            assert_eq!(
                (of(one, other), of(other, one)),
                (expected, expected),
                "{one} {other}"
            );
        }
    }

    #[test]
    fn other_names_and_slips_are_understood() {
        let all = AnyDiscipline::all();
        let meant = |written| discipline(written, all.iter().map(AnyDiscipline::name));
        for (written, name) in [
            ("fqcodel", "fq_codel"),
            ("fq-codel", "fq_codel"),
            ("fq_codle", "fq_codel"),
            ("FIFO", "fifo"),
            ("pfifo", "fifo"),
            ("bfifo", "fifo"),
            ("pfifo_fast", "priority"),
            ("sfq2", "sfq"),
            ("wf2q+", "wf2q_plus"),
            ("WF2Q+", "wf2q_plus"),
            ("wfq+", "wf2q_plus"),
            ("qfq+", "qfq_plus"),
            ("fifo+", "fifo_plus"),
            ("skps", "s_kps"),
        ] {
            assert_eq!(meant(written), Some(name), "{written}");
        }
        for written in [
            "hfsc", "htb", "hhf", "netem", "purple", "", "f", "target", "5ms", "1000", "größe",
        ] {
            assert_eq!(meant(written), None, "{written}");
        }
    }
}
