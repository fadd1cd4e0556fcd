//! Essays: numbers filled in from records, and sentences that fail when their record no longer
//! supports them.
//!
//! In an essay, `{{ITEM | RUN: FIGURE}}` stands for the recorded mean, `{{ITEM | A: X over B: Y}}`
//! for a ratio. A third part says how to write the number: `2` for two significant digits, `2%` for
//! a fraction in percent, or `range` for the smallest and the largest run.
//! `{{holds ITEM | CLAIM}}`, `fails` and `undecided` print nothing. They are errors if the claim,
//! named by its `id` or sentence, has another verdict with the plan as it stands. So is
//! `{{if ITEM | RUN: FIGURE | 0.9 to 1.1}}` if the mean is outside this range.
//! `ITEM with PARAMETER = VALUE` names the item with an open value. Mark numbers from the paper and
//! settings of a plan: `[paper: 0.21%]`, `[plan: 64 KB]`.

use crate::catalogue::Paper;
use crate::figures::{Reference, Samples};
use crate::finding::{Truth, significant};
use crate::judged::Judged;
use crate::plan::published::published_at;

/// Marks of numbers that are not our results.
const MARKS: [&str; 2] = ["[paper: ", "[plan: "];

/// Fills in the numbers of a paper's essay.
///
/// # Errors
/// A template cannot be read, or a sentence has no support. The message gives file and line.
pub fn fill(paper: &Paper, judged: &[Option<Judged<'_>>]) -> Result<String, String> {
    let mut filled = String::new();
    for (number, line) in paper.essay.lines().enumerate() {
        let line = fill_line(line, judged)
            .map_err(|why| format!("papers/{}/essay.md:{}: {why}", paper.slug, number + 1))?;
        filled += &line;
        filled.push('\n');
    }
    Ok(filled)
}

fn fill_line(line: &str, judged: &[Option<Judged<'_>>]) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = line;
    while let Some((before, template)) = rest.split_once("{{") {
        let Some((template, after)) = template.split_once("}}") else {
            return Err("{{ without }}".to_owned());
        };
        filled += before;
        filled += &value(template, judged).map_err(|why| format!("{{{{{template}}}}}: {why}"))?;
        rest = after;
    }
    filled += rest;
    Ok(without_marks(&filled))
}

/// `[paper: 0.21%]` as `0.21%`.
fn without_marks(line: &str) -> String {
    let mut line = line.to_owned();
    for mark in MARKS {
        while let Some(start) = line.find(mark) {
            let Some(length) = line[start..].find(']') else {
                return line;
            };
            let inner = line[start + mark.len()..start + length].to_owned();
            line.replace_range(start..=start + length, &inner);
        }
    }
    line
}

/// Printed for a number whose item has no record.
pub const NOT_ON_RECORD: &str = "(not on record)";

/// An item on record, with one of its variations.
struct Recorded<'a> {
    judged: &'a Judged<'a>,
    variation: usize,
}

/// The text for a template.
fn value(template: &str, judged: &[Option<Judged<'_>>]) -> Result<String, String> {
    let parts: Vec<&str> = template.split(" | ").map(str::trim).collect();
    let (verb, subject) = match parts[0].split_once(' ') {
        Some((verb, subject)) if VERBS.contains(&verb) => (verb, subject.trim()),
        _ => ("", parts[0]),
    };
    let (item, variation) = subject.split_once(" with ").unwrap_or((subject, ""));
    let mut on_record = judged.iter().flatten();
    // A folder of pages may hold records of only some items.
    let Some(judged) = on_record.find(|judged| judged.item.name == item) else {
        let is_number = verb.is_empty();
        return Ok(if is_number { NOT_ON_RECORD } else { "" }.to_owned());
    };
    let of = Recorded::new(judged, variation)?;
    match (verb, &parts[1..]) {
        ("", [figure]) => of.number(figure, "4"),
        ("", [figure, format]) => of.number(figure, format),
        ("holds", [claim]) => of.asserted(claim, Truth::Holds),
        ("fails", [claim]) => of.asserted(claim, Truth::Fails),
        ("undecided", [claim]) => of.asserted(claim, Truth::Undecided),
        ("if", [figure, range]) => of.within(figure, range),
        _ => Err(
            "expected ITEM | RUN: FIGURE, holds ITEM | CLAIM, or if ITEM | RUN: FIGURE | \
            RANGE; see docs/papers/verdicts.md"
                .to_owned(),
        ),
    }
}

const VERBS: [&str; 4] = ["holds", "fails", "undecided", "if"];

impl<'a> Recorded<'a> {
    /// The item as its plan stands, or with an open value: `credit = 16.0`.
    fn new(judged: &'a Judged<'a>, variation: &str) -> Result<Self, String> {
        let mut names = Vec::new();
        for (number, (known, _)) in judged.ran.variations.iter().enumerate() {
            if known.name == variation {
                return Ok(Self {
                    judged,
                    variation: number,
                });
            }
            names.push(known.name.as_str());
        }
        Err(format!(
            "no open value is '{variation}': one of {}",
            names[1..].join("; ")
        ))
    }

    fn number(&self, figure: &str, format: &str) -> Result<String, String> {
        let samples = self.samples(figure)?;
        if format == "range" {
            let mut least = f64::INFINITY;
            let mut most = f64::NEG_INFINITY;
            for value in samples.values() {
                least = least.min(value);
                most = most.max(value);
            }
            let [least, most] = [least, most].map(|value| significant(value, 2));
            return Ok(if least == most {
                least
            } else {
                format!("{least} to {most}")
            });
        }
        let mean = mean(&samples)?;
        let (digits, factor, unit) = match format.strip_suffix('%') {
            Some(digits) => (digits, 100.0, "%"),
            None => (format, 1.0, ""),
        };
        match digits.trim().parse() {
            Ok(digits @ 1..=9) => Ok(significant(factor * mean, digits) + unit),
            _ => Err(format!(
                "'{format}': expected 1 to 9 digits, as in 2 or 2%, or range"
            )),
        }
    }

    fn within(&self, figure: &str, range: &str) -> Result<String, String> {
        let mean = mean(&self.samples(figure)?)?;
        let limit = |text: &str| {
            let number = text.trim().parse::<f64>();
            number.map_err(|_| format!("'{range}': expected 0.9 to 1.1, at least 2, or at most 3"))
        };
        let (from, to) = if let Some(from) = range.strip_prefix("at least ") {
            (limit(from)?, f64::INFINITY)
        } else if let Some(to) = range.strip_prefix("at most ") {
            (f64::NEG_INFINITY, limit(to)?)
        } else {
            let (from, to) = range.split_once(" to ").unwrap_or((range, ""));
            (limit(from)?, limit(to)?)
        };
        if from <= mean && mean <= to {
            return Ok(String::new());
        }
        Err(format!("the record says {}", significant(mean, 4)))
    }

    fn asserted(&self, name: &str, wanted: Truth) -> Result<String, String> {
        for (claim, verdict) in self.judged.claims() {
            if !claim.is_called(name) {
                continue;
            }
            if verdict.truth(self.variation) == wanted {
                return Ok(String::new());
            }
            return Err(format!("the record says: {}", verdict.words));
        }
        Err(format!("no claim has the id or sentence '{name}'"))
    }

    /// A recorded figure, or a ratio seed by seed.
    fn samples(&self, figure: &str) -> Result<Samples, String> {
        match figure.split_once(" over ") {
            // A figure's own name may contain the word.
            Some((above, below)) if Reference::parse(below).is_ok() => {
                let above = self.figure(above)?;
                let below = self.figure(below)?;
                Ok(above.with(&below, |above, below| above / below))
            }
            _ => self.figure(figure),
        }
    }

    fn figure(&self, text: &str) -> Result<Samples, String> {
        let reference = Reference::parse(text.trim())?;
        let ran = &self.judged.ran;
        let found = if reference.is_published {
            let published = &self.judged.plan.published;
            let value = published_at(published, &reference.figure, reference.x);
            value.map(|value| {
                let seeds = self.judged.record.seeds.iter();
                Samples(seeds.map(|seed| (*seed, value)).collect())
            })
        } else {
            let (_, figures) = &ran.variations[self.variation];
            figures.at(&reference.figure, reference.x).cloned()
        };
        found.ok_or_else(|| format!("{reference} is not on record"))
    }
}

fn mean(samples: &Samples) -> Result<f64, String> {
    match samples.interval() {
        Some(interval) => Ok(interval.mean),
        None => Err("no seed has a value".to_owned()),
    }
}

/// Numbers with a unit that the essay neither fills in nor marks, with their lines.
pub fn bare_numbers(essay: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in essay.lines().enumerate() {
        let line = prose(line);
        let words: Vec<&str> = line.split_whitespace().collect();
        for (index, word) in words.iter().enumerate() {
            let word = word.trim_matches(is_punctuation);
            let next = words.get(index + 1).copied().unwrap_or_default();
            let next = next.trim_end_matches(is_punctuation);
            let is_number = word.parse::<f64>().is_ok();
            let with_unit = match word.strip_suffix('%') {
                Some(number) => number.parse::<f64>().is_ok(),
                None => false,
            };
            if with_unit || is_number && UNITS.contains(&next) {
                found.push((number + 1, format!("{word} {next}")));
            }
        }
    }
    found
}

fn is_punctuation(letter: char) -> bool {
    "(),.;:*_\"".contains(letter)
}

const UNITS: [&str; 18] = [
    "%",
    "s",
    "ms",
    "us",
    "µs",
    "ns",
    "bytes",
    "kB",
    "KB",
    "MB",
    "bit/s",
    "kbit/s",
    "Mbit/s",
    "Gbit/s",
    "times",
    "percent",
    "instructions",
    "seconds",
];

/// A line without templates, marks and code.
fn prose(line: &str) -> String {
    let mut line = line.to_owned();
    let pairs = [("{{", "}}"), (MARKS[0], "]"), (MARKS[1], "]"), ("`", "`")];
    for (open, close) in pairs {
        while let Some(start) = line.find(open) {
            let inner = start + open.len();
            let Some(length) = line[inner..].find(close) else {
                break;
            };
            line.replace_range(start..inner + length + close.len(), "");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::cache::Cache;
    use crate::plan::{Setting, tests::PLAN};
    use crate::record::{Code, Record};
    use crate::runner::{Runner, Versions};

    /// Fills an essay in, with the record of `PLAN` as figure-1.
    fn filled(essay: &str) -> Result<String, String> {
        let mut paper = Paper::of_plan("figure-1", PLAN, |_| None).unwrap();
        paper.essay = essay.to_owned();
        let (plan, text) = paper.items[0].plan().unwrap();
        let runner = Runner {
            setting: Setting::Full,
            versions: Versions::of_program(""),
            instead: None,
            seeds: None,
            until: None,
        };
        let ran = runner.run(plan, &Cache::none(), &|| ()).unwrap();
        let record = Record::new(plan, Setting::Full, &ran, Code::default(), None).unwrap();
        assert_eq!(record.seeds, BTreeSet::from([1, 2, 3]));
        let judged = Judged::new(&paper.items[0], plan, text, record).unwrap();
        fill(&paper, &[Some(judged)])
    }

    #[test]
    fn numbers_come_from_the_record() {
        let of = |template: &str| filled(&format!("It is {{{{{template}}}}}.")).unwrap();
        assert_eq!(of("figure-1 | DRR: least, kbit/s"), "It is 494.\n");
        assert_eq!(of("figure-1 | DRR: least, kbit/s | 2"), "It is 490.\n");
        assert_eq!(of("figure-1 | DRR: least, kbit/s | range"), "It is 490.\n");
        let ratio = "figure-1 | DRR: least, kbit/s over published DRR: least, kbit/s";
        assert_eq!(of(ratio), "It is 0.988.\n");
        assert_eq!(of(&format!("{ratio} | 2%")), "It is 99%.\n");
        let marked = filled("Theirs is [paper: 0.5 ms], of [plan: 64 KB].").unwrap();
        assert_eq!(marked, "Theirs is 0.5 ms, of 64 KB.\n");
    }

    #[test]
    fn a_sentence_that_its_record_does_not_support_is_an_error() {
        let holds = "{{holds figure-1 | Round robin shares evenly.}}It shares.";
        assert_eq!(filled(holds).unwrap(), "It shares.\n");
        let error = filled(&holds.replace("{{holds", "\n{{fails")).unwrap_err();
        assert!(
            error.starts_with("papers/plans/essay.md:2: ")
                && error.ends_with("the record says: holds"),
            "{error}"
        );
        let range = |range: &str| {
            filled(&format!(
                "{{{{if figure-1 | DRR: least, kbit/s | {range}}}}}Half."
            ))
        };
        for supported in ["400 to 500", "at least 480", "at most 500"] {
            assert_eq!(range(supported).unwrap(), "Half.\n");
        }
        for unsupported in ["500 to 600", "at least 500", "at most 480"] {
            assert!(
                range(unsupported)
                    .unwrap_err()
                    .ends_with("the record says 494")
            );
        }
    }

    /// Formerly what an essay said of an open value was a number by hand, which nothing checked.
    #[test]
    fn a_sentence_may_be_about_an_open_value() {
        let of = |essay: &str| filled(essay);
        let least = "DRR: least, kbit/s";
        assert_eq!(
            of(&format!(
                "{{{{figure-1 with rate = 2mbit | {least}}}}}, not {{{{figure-1 | {least}}}}}"
            ))
            .unwrap(),
            "492, not 494\n"
        );
        let even = "Round robin shares evenly.";
        let holds = format!("{{{{holds figure-1 with rate = 600kbit | {even}}}}}Even.");
        assert_eq!(of(&holds).unwrap(), "Even.\n");
        assert!(of(&holds.replace("{{holds", "{{fails")).is_err());
        let range = format!("{{{{if figure-1 with rate = 2mbit | {least} | 500 to 600}}}}");
        assert!(of(&range).unwrap_err().contains("the record says 49"));
        let unknown = of(&holds.replace("600kbit", "3mbit")).unwrap_err();
        assert!(
            unknown
                .ends_with("no open value is 'rate = 3mbit': one of rate = 600kbit; rate = 2mbit"),
            "{unknown}"
        );
    }

    #[test]
    fn an_item_without_a_record_is_told_in_place_of_its_number() {
        let essay = "{{holds figure-2 | order}}It is {{figure-2 | DRR: least, kbit/s}}.";
        assert_eq!(filled(essay).unwrap(), "It is (not on record).\n");
    }

    #[test]
    fn what_is_wrong_with_a_template_is_said() {
        for (essay, expected) in [
            ("{{figure-1 | DRR: least, kbit/s", "{{ without }}"),
            ("{{figure-1 | DRR: lest}}", "DRR: lest is not on record"),
            (
                "{{figure-1 | DRR: least, kbit/s | two}}",
                "expected 1 to 9 digits",
            ),
            (
                "{{holds figure-1 | order}}",
                "no claim has the id or sentence 'order'",
            ),
            (
                "{{if figure-1 | DRR: least, kbit/s | 4}}",
                "expected 0.9 to 1.1",
            ),
            ("{{figure-1}}", "expected ITEM | RUN: FIGURE"),
        ] {
            let error = filled(essay).unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn bare_numbers_are_those_neither_filled_in_nor_marked() {
        let essay = "Ours is {{a | B: c}} ms.\nTheirs is [paper: 0.21%] of `5 ms` in 2009.\nBoth are 4.5 ms (12%), or 3 times more, of 39 items.";
        assert_eq!(
            bare_numbers(essay),
            [
                (3, "4.5 ms".to_owned()),
                (3, "12% or".to_owned()),
                (3, "3 times".to_owned())
            ]
        );
    }
}
