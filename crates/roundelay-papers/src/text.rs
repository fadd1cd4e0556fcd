//! Results of a plan for a terminal: verdicts, published and own values, open parameters.

use std::fmt::Write;

use crate::catalogue::{Paper, Work};
use crate::finding::Truth;
use crate::kind::{Counts, Kind};
use crate::page::Judged;
use crate::plan::Plan;
use roundelay_report::aligned;

/// The list of papers and items, with the verdicts expected in the full setting.
pub fn list(papers: &[Paper], only: Option<&str>) -> String {
    let mut text = String::new();
    for paper in papers
        .iter()
        .filter(|paper| only.is_none_or(|only| only == paper.slug))
    {
        _ = writeln!(
            text,
            "{}  {} ({})",
            paper.slug, paper.about.title, paper.about.venue
        );
        for item in &paper.items {
            let verdict = match &item.work {
                Work::Plan(plan, _) => expected(plan),
                Work::Nothing(_) => "nothing to measure".to_owned(),
                Work::NotAttempted(_) => "not attempted yet".to_owned(),
            };
            _ = writeln!(
                text,
                "  {:22}  {:44}  {}: {}",
                item.name, verdict, item.label, item.about
            );
        }
        text.push('\n');
    }
    text + "The list has the plans' expected verdicts of the full setting; docs/papers/index.md has the verdicts of the recorded runs.\n\
            roundelay papers PAPER ITEM runs one; --full as published; `roundelay papers all --check` compares verdicts with these.\n"
}

/// The expected verdicts of a plan's claims, with counts.
fn expected(plan: &Plan) -> String {
    let mut counts = Counts::default();
    for claim in &plan.claims {
        counts.add(claim, claim.expect);
    }
    counts.words()
}

/// Results of one item as JSON: claims with verdicts and findings, published and own values, and
/// the record.
pub fn json(paper: &str, judged: &Judged<'_>) -> serde_json::Value {
    let claims = judged.plan.claims.iter().zip(&judged.verdicts).map(|(claim, verdict)| {
        let findings: Vec<_> = verdict.findings().iter().map(|finding| finding.words.as_str()).collect();
        let kind = verdict.kind.name();
        let expected = claim.expect.name();
        serde_json::json!({ "claim": claim.says, "ours": claim.ours, "verdict": kind, "expected": expected, "words": verdict.words, "findings": findings })
    });
    let names = ["figure", "published", "ours", "ratio"];
    let comparison = judged.comparison().into_iter().map(|row| {
        names
            .into_iter()
            .zip(row)
            .collect::<std::collections::BTreeMap<_, _>>()
    });
    serde_json::json!({
        "paper": paper,
        "item": judged.item.name,
        "label": judged.item.label,
        "title": judged.plan.title,
        "claims": claims.collect::<Vec<_>>(),
        "comparison": comparison.collect::<Vec<_>>(),
        "record": judged.record,
    })
}

/// Results of one item as text.
pub fn report(paper: &str, judged: &Judged<'_>) -> String {
    let Judged {
        item, plan, record, ..
    } = judged;
    let mut text = format!(
        "{paper} {}: {}\n{} ({} setting)\n\n",
        item.label, plan.title, plan.page, record.setting
    );
    for (claim, verdict) in plan.claims.iter().zip(&judged.verdicts) {
        let ours = if claim.ours { " (ours)" } else { "" };
        _ = writeln!(text, "  {}{ours}\n    {}", claim.says, verdict.words);
        for finding in verdict.findings() {
            _ = writeln!(text, "    {} {}", mark(finding.truth), finding.words);
        }
    }
    text += &comparison(judged);
    text += &open(judged);
    // Times depend on the machine: another verdict there is no change of the program.
    let changed = if judged.is_timed {
        "On this machine"
    } else {
        "CHANGED"
    };
    for change in judged.changed() {
        _ = writeln!(text, "\n  {changed} {change}");
    }
    text + "\n"
}

fn comparison(judged: &Judged<'_>) -> String {
    let rows = judged.comparison();
    if rows.is_empty() {
        return String::new();
    }
    let head = ["figure", "published", "ours, 95% interval", "ratio"].map(str::to_owned);
    let rows: Vec<_> = std::iter::once(head).chain(rows).map(Vec::from).collect();
    format!("\n{}", aligned(&[], &rows))
}

fn open(judged: &Judged<'_>) -> String {
    let Judged { ran, verdicts, .. } = judged;
    if ran.variations.len() < 2 {
        return String::new();
    }
    let mut text =
        String::from("\n  open parameters: claims that hold (+), fail (x), are undecided (?)\n");
    for (place, (variation, _)) in ran.variations.iter().enumerate() {
        let marks: String = verdicts
            .iter()
            .map(|verdict| {
                if verdict.kind == Kind::LeftOut {
                    ' '
                } else {
                    mark(verdict.truth(place))
                }
            })
            .collect();
        let name = if variation.name.is_empty() {
            "the plan as it stands"
        } else {
            &variation.name
        };
        _ = writeln!(text, "  {marks}  {name}");
    }
    text
}

const fn mark(truth: Truth) -> char {
    match truth {
        Truth::Holds => '+',
        Truth::Fails => 'x',
        Truth::Undecided => '?',
    }
}
