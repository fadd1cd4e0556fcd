//! Recorded verdicts of all items in a line each, for the list of a program that has no records.
//!
//! `records/verdicts.json` beside the pages is written with them, and embedded in the program.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::judged::Judged;

/// The file as it was when the program was built.
const EMBEDDED: &str = include_str!("../verdicts.json");

/// Verdicts by paper and item.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Summaries(BTreeMap<String, BTreeMap<String, Summary>>);

/// What is on record for an item.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Summary {
    /// The verdicts in a line.
    verdicts: String,
    /// Setting of the runs.
    setting: String,
    /// Seeds on record, and in the plan.
    seeds: [u64; 2],
    /// True if the record is older than the code.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    is_older: bool,
}

impl Summaries {
    /// The verdicts that this program comes with.
    ///
    /// # Panics
    /// Never: a test reads the file.
    pub fn of_program() -> Self {
        serde_json::from_str(EMBEDDED).expect("a test reads the embedded file")
    }

    /// Adds an item.
    pub(crate) fn add(&mut self, paper: &str, judged: &Judged<'_>) {
        let summary = Summary {
            verdicts: judged.summary(),
            setting: judged.record.setting.clone(),
            seeds: [judged.record.seeds.len() as u64, judged.planned],
            is_older: judged.is_stale,
        };
        let items = self.0.entry(paper.to_owned()).or_default();
        items.insert(judged.item.name.clone(), summary);
    }

    /// An item's verdicts.
    pub fn get(&self, paper: &str, item: &str) -> Option<&Summary> {
        self.0.get(paper)?.get(item)
    }

    /// The file: a line for each item.
    pub(crate) fn json(&self) -> String {
        let mut papers = Vec::new();
        for (paper, items) in &self.0 {
            let mut lines = Vec::new();
            for (item, summary) in items {
                lines.push(format!("\"{item}\": {}", serde_json::json!(summary)));
            }
            papers.push(format!("\"{paper}\": {{\n{}\n}}", lines.join(",\n")));
        }
        format!("{{\n{}\n}}\n", papers.join(",\n"))
    }
}

impl Summary {
    /// The verdicts, with setting and seeds: `3 hold (full, 20 seeds)`.
    pub fn words(&self) -> String {
        let seeds = match self.seeds {
            [1, 1] => "1 run".to_owned(),
            [known, planned] if known < planned => format!("{known} of {planned} seeds"),
            [known, _] => format!("{known} seeds"),
        };
        let age = if self.is_older { ", older code" } else { "" };
        format!("{} ({}, {seeds}{age})", self.verdicts, self.setting)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_setting_seeds_and_age() {
        let summary = |seeds, is_older| Summary {
            verdicts: "3 hold".to_owned(),
            setting: "full".to_owned(),
            seeds,
            is_older,
        };
        let words = |seeds, is_older| summary(seeds, is_older).words();
        assert_eq!(words([1, 1], false), "3 hold (full, 1 run)");
        assert_eq!(words([20, 20], false), "3 hold (full, 20 seeds)");
        assert_eq!(
            words([3, 10], true),
            "3 hold (full, 3 of 10 seeds, older code)"
        );
    }

    #[test]
    fn what_is_written_is_read() {
        let all = Summaries::of_program();
        assert_eq!(serde_json::from_str::<Summaries>(&all.json()).unwrap(), all);
    }
}
