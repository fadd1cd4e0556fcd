//! Results of a plan for a terminal and as JSON: verdicts, published and own values, open
//! parameters.

use std::fmt::Write;

use crate::catalogue::{Paper, Work};
use crate::counts::Counts;
use crate::finding::Truth;
use crate::judged::Judged;
use crate::kind::Kind;
use crate::plan::Plan;
use crate::record::Record;
use crate::summary::Summaries;
use roundelay_report::{Printed, aligned};
use serde::Serialize;

/// The list of papers and items with their recorded verdicts. Items without a record have the
/// verdicts that their plans expect, and say so.
pub fn list(papers: &[Paper], only: Option<&str>, recorded: &Summaries) -> String {
    let mut text = String::new();
    for paper in papers {
        if only.is_some_and(|only| only != paper.slug) {
            continue;
        }
        _ = writeln!(
            text,
            "{}  {} ({})",
            paper.slug, paper.about.title, paper.about.venue
        );
        for item in &paper.items {
            let verdict = match &item.work {
                Work::Plan(plan, _) => match recorded.get(&paper.slug, &item.name) {
                    Some(summary) => summary.words(),
                    None => format!("not recorded; expected: {}", expected(plan)),
                },
                Work::Nothing(_) => "nothing to measure".to_owned(),
                Work::NotAttempted(_) => "not attempted yet".to_owned(),
            };
            _ = writeln!(
                text,
                "  {:22}  {:52}  {}: {}",
                item.name, verdict, item.label, item.about
            );
        }
        text.push('\n');
    }
    text + "Verdicts are those on record, with setting and seeds. roundelay papers PAPER ITEM runs \
        an item, --recorded shows its record, --full runs it as published. `roundelay papers all \
        --check` compares verdicts with those that the plans expect.\n"
}

/// The verdicts expected for a plan's claims, with counts.
fn expected(plan: &Plan) -> String {
    let mut counts = Counts::default();
    for claim in &plan.claims {
        counts.add(claim, claim.expect);
    }
    counts.words()
}

/// Results of several items, for JSON.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Report {
    /// The items, in the order of their papers.
    pub items: Vec<ItemReport>,
}

impl Printed for Report {
    const SCHEMA: &'static str = "papers/1";
}

/// Results of one item: claims with verdicts and findings, published and own values, and the
/// record.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ItemReport {
    /// Name of the paper on the command line.
    paper: String,
    /// Name of the item on the command line.
    item: String,
    /// Name of the item in the paper, as in "Table 2".
    label: String,
    /// What the item shows.
    title: String,
    claims: Vec<ClaimReport>,
    comparison: Vec<Compared>,
    record: Record,
}

/// A claim and its verdict.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct ClaimReport {
    /// The claim, a sentence.
    claim: String,
    /// Whether the claim is ours, and not the paper's.
    ours: bool,
    /// Whether it holds.
    verdict: &'static str,
    /// The verdict that the plan expects of the full setting.
    expected: &'static str,
    /// The verdict in words.
    words: String,
    /// What decided the verdict, a sentence each.
    findings: Vec<String>,
}

/// A published value beside ours, as texts with their units.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Compared {
    /// What was measured.
    figure: String,
    /// The paper's value.
    published: String,
    /// Our value.
    ours: String,
    /// Ours by the published one.
    ratio: String,
}

impl ItemReport {
    /// Results of one item of a paper.
    pub fn of(paper: &str, judged: &Judged<'_>) -> Self {
        let mut claims = Vec::new();
        for (claim, verdict) in judged.claims() {
            let mut findings = Vec::new();
            for finding in verdict.findings() {
                findings.push(finding.words.clone());
            }
            claims.push(ClaimReport {
                claim: claim.says.clone(),
                ours: claim.ours,
                verdict: verdict.kind.name(),
                expected: claim.expect.name(),
                words: verdict.words.clone(),
                findings,
            });
        }
        let mut comparison = Vec::new();
        for [figure, published, ours, ratio] in judged.comparison() {
            comparison.push(Compared {
                figure,
                published,
                ours,
                ratio,
            });
        }
        Self {
            paper: paper.to_owned(),
            item: judged.item.name.clone(),
            label: judged.item.label.clone(),
            title: judged.plan.title.clone(),
            claims,
            comparison,
            record: judged.record.clone(),
        }
    }
}

/// One item's results as text.
pub fn report(paper: &str, judged: &Judged<'_>) -> String {
    let Judged {
        item, plan, record, ..
    } = judged;
    let mut text = format!(
        "{paper} {}: {}\n{} ({} setting, {}{})\n\n",
        item.label,
        plan.title,
        plan.page,
        record.setting,
        judged.recorded(),
        if judged.is_stale {
            ", recorded with older code"
        } else {
            ""
        },
    );
    for (claim, verdict) in judged.claims() {
        let ours = if claim.ours { " (ours)" } else { "" };
        _ = writeln!(text, "  {}{ours}\n    {}", claim.says, verdict.words);
        for finding in verdict.findings() {
            _ = writeln!(text, "    {} {}", mark(finding.truth), finding.words);
        }
    }
    text += &comparison(judged);
    text += &open(judged);
    // Times depend on the machine, so another verdict there does not mean that the program changed.
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
    let mut lines = vec![Vec::from(head)];
    for row in rows {
        lines.push(Vec::from(row));
    }
    format!("\n{}", aligned(&[], &lines))
}

fn open(judged: &Judged<'_>) -> String {
    let Judged { ran, verdicts, .. } = judged;
    if ran.variations.len() < 2 {
        return String::new();
    }
    let mut text =
        String::from("\n  open parameters: claims that hold (+), fail (x), are undecided (?)\n");
    for (number, (variation, _)) in ran.variations.iter().enumerate() {
        let mut marks = String::new();
        for verdict in verdicts {
            marks.push(match verdict.kind {
                Kind::LeftOut => ' ',
                _ => mark(verdict.truth(number)),
            });
        }
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
