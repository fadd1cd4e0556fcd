//! Pages: Markdown of a paper with its items, and the index of all papers.
//!
//! All content comes from plans, records and `essay.md`; no number of ours is written by hand.

use std::fmt::Write;

use roundelay_report::{Axis, Chart, Curve, Drawn, Point, Scaling};

use crate::catalogue::{Item, Paper, Work};
use crate::essay;
use crate::figures::{Reference, deviation, modes};
use crate::finding::{Truth, measured, rounded};
use crate::kind::{Counts, Kind};
use crate::noise;
use crate::open;
use crate::plan::{CannotTell, ChartSpec, Plan, Setting};
use crate::record::Record;
use crate::runner::Ran;
use crate::site::{OlderPlans, again};
use crate::verdict::{Verdict, judge};

/// An item with its results and verdicts.
#[derive(Debug)]
pub struct Judged<'a> {
    /// The item.
    pub item: &'a Item,
    /// Its plan.
    pub plan: &'a Plan,
    /// Text of the plan, for links to lines.
    pub text: &'a str,
    /// The record used for the verdicts.
    pub record: Record,
    /// Figures of the run.
    pub ran: Ran,
    /// A verdict for each claim.
    pub verdicts: Vec<Verdict>,
    /// True if the item measures time: its verdicts then depend on the machine.
    pub is_timed: bool,
    /// Number of seeds in the plan; the record may have fewer.
    pub planned: u64,
    /// True if the record is older than the code.
    pub is_stale: bool,
    /// True if the record is from before versions of its experiment, so that it may be older.
    pub is_unversioned: bool,
}

impl<'a> Judged<'a> {
    /// Judges all claims of a plan.
    ///
    /// # Errors
    /// The record belongs to another plan, or a claim needs a figure that was not measured.
    pub fn new(
        item: &'a Item,
        plan: &'a Plan,
        text: &'a str,
        record: Record,
    ) -> Result<Self, String> {
        let ran = record.ran(plan)?;
        let is_timed = ran.variations[0]
            .0
            .experiment()
            .map_err(|wrong| wrong.message)?
            .runs_alone();
        let planned = ran.variations[0].0.seeds;
        let mut verdicts = Vec::new();
        for claim in &plan.claims {
            let mut verdict = judge(plan, claim, &ran.variations, record.setting());
            if is_timed {
                verdict.unless_noisy(noise::of_claim(claim, &ran.variations[0].1));
            }
            verdicts.push(verdict);
        }
        let is_quick = record.setting() == Setting::Quick;
        let judged = plan
            .claims
            .iter()
            .zip(&verdicts)
            .filter(|(claim, _)| !(is_quick && claim.only_full.is_some()));
        if let Some(missing) = judged
            .flat_map(|(_, verdict)| verdict.findings())
            .find(|finding| finding.is_missing)
        {
            return Err(format!(
                "a claim compares a figure that the experiment does not measure: {}",
                missing.words
            ));
        }
        Ok(Self {
            item,
            plan,
            text,
            record,
            ran,
            verdicts,
            is_timed,
            planned,
            is_stale: false,
            is_unversioned: false,
        })
    }

    /// Claims with a verdict other than expected by the plan. Claims with too few runs or noisy times
    /// do not count, and in the quick setting neither claims with an undecided verdict, nor with an
    /// undecided one expected.
    pub fn changed(&self) -> Vec<String> {
        let is_quick = self.record.setting() == Setting::Quick;
        let pairs = self.plan.claims.iter().zip(&self.verdicts);
        let changed = pairs.filter(|(claim, verdict)| {
            let kinds = [claim.expect, verdict.kind];
            let may_be_undecided = is_quick || verdict.is_noisy || verdict.too_few().is_some();
            kinds[0] != kinds[1] && !(may_be_undecided && kinds.contains(&Kind::Undecided))
        });
        changed
            .map(|(claim, verdict)| {
                format!(
                    "'{}': expected '{}', now {}",
                    claim.says,
                    claim.expect.name(),
                    verdict.words
                )
            })
            .collect()
    }

    /// Number of undecided claims with a decided verdict expected by the plan.
    pub fn undecided(&self) -> usize {
        let pairs = self.plan.claims.iter().zip(&self.verdicts);
        pairs
            .filter(|(claim, verdict)| {
                verdict.kind == Kind::Undecided && claim.expect != Kind::Undecided
            })
            .count()
    }

    /// Claims of the paper that hold. With one discipline in place of all others these say nothing
    /// on disciplines.
    pub fn holding(&self) -> Vec<&str> {
        let mut holding = Vec::new();
        for (claim, verdict) in self.plan.claims.iter().zip(&self.verdicts) {
            let holds = matches!(verdict.kind, Kind::Holds | Kind::HoldsButNotIf);
            if holds && !claim.ours {
                holding.push(claim.says.as_str());
            }
        }
        holding
    }

    /// Numbers of claims by kind of verdict.
    pub fn counts(&self) -> Counts {
        let mut counts = Counts::default();
        for (claim, verdict) in self.plan.claims.iter().zip(&self.verdicts) {
            counts.add(claim, verdict.kind);
        }
        counts
    }

    /// All verdicts in a line: `3 hold, 1 does not hold; ours: 2 hold`.
    pub fn summary(&self) -> String {
        self.counts().words()
    }

    /// True if the record has fewer seeds than the plan.
    pub fn lacks_seeds(&self) -> bool {
        (self.record.seeds.len() as u64) < self.planned
    }

    /// Number of recorded runs: `4 of 20 runs recorded`, or `20 seeds`.
    fn recorded(&self) -> String {
        match (self.record.seeds.len(), self.lacks_seeds()) {
            (recorded, true) => format!("{recorded} of {} runs recorded", self.planned),
            (1, false) => "1 run".to_owned(),
            (recorded, false) => format!("{recorded} seeds"),
        }
    }

    /// Published values beside our own: figure, published, ours, ratio.
    pub fn comparison(&self) -> Vec<[String; 4]> {
        let figures = &self.ran.variations[0].1;
        let row = |name: &str, x: Option<f64>, value: f64, spread: Option<f64>| {
            let samples = figures.at(name, x);
            let interval =
                samples.and_then(|samples| Some((samples.interval()?, figures.runs(samples))));
            let label = x.map_or_else(|| name.to_owned(), |x| format!("{name} @ {}", rounded(x)));
            let published = spread.map_or_else(
                || rounded(value),
                |spread| format!("{} (deviation {})", rounded(value), rounded(spread)),
            );
            let ours = interval.map_or_else(
                || "not measured".to_owned(),
                |(interval, runs)| measured(interval, runs),
            );
            let ratio = interval.filter(|_| value != 0.0).map_or_else(
                || "–".to_owned(),
                |(interval, _)| rounded(interval.mean / value),
            );
            [label, published, ours, ratio]
        };
        let rows = self.plan.published.iter().flat_map(|published| {
            let scalar = published
                .value
                .map(|value| row(&published.figure, None, value, published.deviation));
            let points = published
                .points
                .iter()
                .map(|(x, value)| row(&published.figure, Some(*x), *value, None));
            scalar.into_iter().chain(points)
        });
        rows.collect()
    }

    /// Notes on scalar figures with two modes.
    fn modes(&self) -> Vec<String> {
        let figures = &self.ran.variations[0].1;
        let told = figures.names().iter().filter_map(|name| {
            let values = figures.at(name, None)?.values();
            let [low, high] = modes(&values)?;
            let part = |(mean, share): (f64, f64)| {
                format!(
                    "{} in {} of {} runs",
                    rounded(mean),
                    (share * values.len() as f64).round(),
                    values.len()
                )
            };
            Some(format!(
                "{name} has two modes: {} and {}; its mean describes no run.",
                part(low),
                part(high)
            ))
        });
        told.collect()
    }

    /// The charts of the plan.
    pub fn charts(&self) -> Vec<Chart> {
        self.plan
            .charts
            .iter()
            .map(|spec| self.chart(spec))
            .collect()
    }

    fn chart(&self, spec: &ChartSpec) -> Chart {
        let axis = |label: &str, letter: char| Axis {
            label: label.to_owned(),
            scaling: if spec.log.contains(letter) {
                Scaling::Logarithmic
            } else {
                Scaling::Linear
            },
            ..Axis::default()
        };
        let mut curves: Vec<Curve> = spec
            .curves
            .iter()
            .filter_map(|text| self.curve(text))
            .collect();
        let is_alone = |name: &str| {
            curves
                .iter()
                .filter(|curve| curve.name.split(": ").next() == name.split(": ").next())
                .count()
                == 1
        };
        let short: Vec<bool> = curves.iter().map(|curve| is_alone(&curve.name)).collect();
        for (curve, _) in curves.iter_mut().zip(short).filter(|(_, short)| *short) {
            // A run with only one curve needs no name of the figure.
            curve.name = curve.name.split(": ").next().unwrap_or_default().to_owned();
        }
        Chart {
            title: format!("{}: {}", self.item.label, spec.title),
            x: axis(&spec.x, 'x'),
            y: axis(&spec.y, 'y'),
            curves,
            ..Chart::default()
        }
    }

    fn curve(&self, text: &str) -> Option<Curve> {
        let reference = Reference::parse(text).ok()?;
        if reference.is_published {
            let published = self
                .plan
                .published
                .iter()
                .find(|published| published.figure == reference.figure)?;
            let points = published
                .points
                .iter()
                .map(|&(x, y)| Point {
                    x,
                    y,
                    half_width: 0.0,
                })
                .collect();
            return Some(Curve {
                name: format!("published {}", reference.figure),
                points,
                drawn: Drawn::Dashes,
            });
        }
        let points = self.ran.variations[0]
            .1
            .curve(&reference.figure)?
            .into_iter()
            .filter_map(|(x, samples)| {
                Some(Point {
                    x,
                    y: samples.interval()?.mean,
                    half_width: if samples.0.len() > 1 {
                        deviation(&samples.values())
                    } else {
                        0.0
                    },
                })
            });
        let points = points.collect();
        Some(Curve {
            name: reference.figure,
            points,
            drawn: Drawn::Line,
        })
    }
}

/// Result of an item in a line, for lists; `again` is the command if its record belongs to an older
/// plan.
fn one_line(item: &Item, judged: Option<&Judged<'_>>, again: Option<&String>) -> String {
    match (&item.work, judged) {
        (Work::Nothing(why), _) => format!("nothing to measure: {why}"),
        (Work::NotAttempted(why), _) => format!("not attempted yet: {why}"),
        (Work::Plan(..), Some(judged)) => {
            let mut text = judged.summary();
            if judged.lacks_seeds() {
                text += &format!(" ({})", judged.recorded());
            }
            if judged.record.setting() == Setting::Quick {
                text += " (quick setting)";
            }
            if judged.is_stale {
                text += " (older code)";
            }
            text
        }
        (Work::Plan(..), None) => match again {
            Some(again) => {
                format!(
                    "recorded for an older plan: `{again} --pages docs/papers` records it again"
                )
            }
            None => "not attempted yet: no results".to_owned(),
        },
    }
}

/// The index page of all papers.
pub fn index(papers: &[(&Paper, Vec<Option<Judged<'_>>>)], older: &OlderPlans) -> String {
    let mut text = String::from("# The papers, item by item\n\n");
    text += &totals(papers);
    text += "Generated by `make papers-pages`. Each table, figure and numbered theorem has a verdict and a command that reproduces the verdict. Items without a full record have their verdicts from the quick setting, which leaves many claims undecided.\n\n\
         `make papers` runs all items in the quick setting and compares verdicts with the plans' expected verdicts of the full setting; `make papers-full` runs the published setting and \
         regenerates these pages. [How a verdict is made](verdicts.md).\n";
    for (paper, judged) in papers {
        let about = &paper.about;
        _ = write!(
            text,
            "\n## {}: {}\n\n{}. {}. [The page]({}.md)\n\n| item | about | verdict | command |\n|---|---|---|---|\n",
            about.short,
            about.title,
            about.authors.join(", "),
            about.venue,
            paper.slug
        );
        for (item, judged) in paper.items.iter().zip(judged) {
            let is_quick = judged
                .as_ref()
                .is_some_and(|judged| judged.record.setting() == Setting::Quick);
            let command = match item.plan() {
                None => String::new(),
                Some(_) if is_quick => format!("`roundelay papers {} {}`", paper.slug, item.name),
                Some(_) => format!("`roundelay papers {} {} --full`", paper.slug, item.name),
            };
            let again = older.get(&(paper.slug.clone(), item.name.clone()));
            let verdict = one_line(item, judged.as_ref(), again);
            let link = if judged.is_some() {
                format!("[{}]({}.md#{})", item.label, paper.slug, item.name)
            } else {
                item.label.clone()
            };
            _ = writeln!(
                text,
                "| {link} | {} | {} | {command} |",
                cell(&item.about),
                cell(&verdict)
            );
        }
    }
    text
}

/// A line a paper: how many of its claims have which verdict.
fn totals(papers: &[(&Paper, Vec<Option<Judged<'_>>>)]) -> String {
    let mut text = String::from(
        "| claims of | hold | hold, but not if .. | fail, but hold if .. | do not hold | differ here | cannot be | cannot be judged | undecided | beside them, ours | items not recorded |\n\
         |---|---|---|---|---|---|---|---|---|---|---|\n",
    );
    for (paper, judged) in papers {
        let mut counts = Counts::default();
        for judged in judged.iter().flatten() {
            counts.add_all(&judged.counts());
        }
        _ = write!(text, "| [{}]({}.md) |", paper.about.short, paper.slug);
        for kind in Kind::ALL {
            _ = write!(text, " {} |", counts.of_paper(kind));
        }
        let items = paper.items.iter().zip(judged);
        let missing = items
            .filter(|(item, judged)| item.plan().is_some() && judged.is_none())
            .count();
        _ = writeln!(text, " {} | {missing} |", counts.ours());
    }
    text + "\nThese are the papers' claims, of items on record. *Ours* are claims that a paper does not make, such as rules of kernels and controls. \
            *Differ here*: the claim fails, but our program, machine or setting is another one than the paper's, so the failure refutes nothing.\n\n"
}

/// The page of a paper.
///
/// # Errors
/// The essay has a sentence that the records do not support.
pub fn page(
    paper: &Paper,
    judged: &[Option<Judged<'_>>],
    older: &OlderPlans,
) -> Result<String, String> {
    let essay = essay::fill(paper, judged)?;
    let about = &paper.about;
    let short = &about.short;
    let title = &about.title;
    let authors = about.authors.join(", ");
    let mut text = format!(
        "# {short}: {title}\n\n{authors}. {}.\n\n{}\n",
        about.venue,
        essay.trim()
    );
    _ = write!(
        text,
        "\n## All items\n\n| item | about | verdict |\n|---|---|---|\n"
    );
    for (item, judged) in paper.items.iter().zip(judged) {
        let link = if judged.is_some() {
            format!("[{}](#{})", item.label, item.name)
        } else {
            item.label.clone()
        };
        let again = older.get(&(paper.slug.clone(), item.name.clone()));
        _ = writeln!(
            text,
            "| {link} | {} | {} |",
            cell(&item.about),
            cell(&one_line(item, judged.as_ref(), again))
        );
    }
    for judged in judged.iter().flatten() {
        text += &section(paper, judged, Target::Repository);
    }
    Ok(text)
}

/// Context of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// In the repository, with files for charts and plans.
    Repository,
    /// Standalone: without links; the caller draws the charts.
    Alone,
}

/// The section of an item: verdicts, published and own values, charts, open parameters, how to
/// refute it.
pub fn section(paper: &Paper, judged: &Judged<'_>, target: Target) -> String {
    let Judged {
        item, plan, record, ..
    } = judged;
    let mut text = format!(
        "\n<a id=\"{}\"></a>\n\n## {}: {}\n\n**{}.**",
        item.name,
        item.label,
        plan.title,
        capital(&judged.summary())
    );
    _ = write!(text, " ({})\n\n{}\n\n", plan.page, plan.method);
    if judged.is_stale {
        let again = again(&paper.slug, &item.name, record);
        _ = write!(
            text,
            "**Recorded with older code**: disciplines, sources or the simulator behave differently today. `{again} --pages docs/papers` records it again.\n\n"
        );
    }
    text += &claims(paper, judged, target);
    text += &comparison(judged);
    for (number, chart) in judged
        .charts()
        .iter()
        .enumerate()
        .filter(|(_, chart)| target == Target::Repository && chart.has_points())
    {
        _ = write!(
            text,
            "![{}]({}/{})\n\n",
            chart.title,
            paper.slug,
            chart_file(item, number)
        );
    }
    text += &open::section(paper, judged, target);
    for (part, lines) in &record.traces {
        _ = write!(
            text,
            "<details><summary>Step by step: {part}</summary>\n\n```text\n{}\n```\n\n</details>\n\n",
            lines.join("\n")
        );
    }
    for mode in judged.modes() {
        _ = write!(text, "{mode}\n\n");
    }
    text += &faults(plan);
    if !plan.differs.is_empty() {
        _ = write!(
            text,
            "**Differences from the paper.**\n\n{}\n",
            plan.differs
                .iter()
                .map(|line| format!("- {line}\n"))
                .collect::<String>()
        );
    }
    if !plan.refute.is_empty() {
        _ = write!(text, "**How to refute this.** {}\n\n", plan.refute);
    }
    text + &cost(paper, judged)
}

/// File name of a chart: `figure-4.svg`, then `figure-4-2.svg`.
pub fn chart_file(item: &Item, number: usize) -> String {
    if number == 0 {
        format!("{}.svg", item.name)
    } else {
        format!("{}-{}.svg", item.name, number + 1)
    }
}

fn claims(paper: &Paper, judged: &Judged<'_>, target: Target) -> String {
    let Judged {
        item,
        plan,
        verdicts,
        text: source,
        ..
    } = judged;
    let mut text = String::from("| claim | verdict | deciding findings |\n|---|---|---|\n");
    for (number, (claim, verdict)) in plan.claims.iter().zip(verdicts).enumerate() {
        let line = line_of_claim(source, number);
        let file = format!("papers/{}/{}.toml", paper.slug, item.name);
        let link = match target {
            Target::Repository => format!("[predicate](../../{file}#L{line})"),
            Target::Alone => format!("{file}, line {line}"),
        };
        let stands = match (&claim.place, claim.ours) {
            (Some(place), true) => format!(" (ours; {place})"),
            (None, true) => " (ours)".to_owned(),
            (Some(place), false) => format!(" ({place})"),
            (None, false) => String::new(),
        };
        let mut findings: Vec<String> = verdict
            .findings()
            .iter()
            .map(|finding| format!("{}{}", mark(finding.truth), finding.words))
            .collect();
        if !claim.tolerance.is_empty() {
            findings.push(format!("Tolerance: {}", claim.tolerance));
        }
        if !claim.tests.is_empty() {
            findings.push(format!(
                "Tests: {}",
                claim
                    .tests
                    .iter()
                    .map(|test| format!("`{test}`"))
                    .collect::<Vec<_>>()
                    .join(", ")
            ));
        }
        findings.push(link);
        _ = writeln!(
            text,
            "| {}{stands} | **{}** | {} |",
            cell(&claim.says),
            cell(&verdict.words),
            findings
                .iter()
                .map(|line| cell(line))
                .collect::<Vec<_>>()
                .join("<br>")
        );
    }
    text + "\n"
}

/// Which planted faults the claims notice. `make papers-faults` runs them.
fn faults(plan: &Plan) -> String {
    let mut text = String::new();
    if let Some(CannotTell { because }) = &plan.cannot_tell {
        _ = write!(
            text,
            "**No claim of the paper tells a wrong discipline from a right one here**, because {because}\n\n"
        );
    }
    if plan.faults.is_empty() {
        return text;
    }
    text += "**Which wrong discipline would be noticed?**\n\n";
    for fault in &plan.faults {
        let mut claims = Vec::new();
        for (number, claim) in plan.claims.iter().enumerate() {
            if fault.noticed.iter().any(|name| claim.is_called(name)) {
                claims.push((number + 1).to_string());
            }
        }
        let verb = if claims.len() == 1 { "claim" } else { "claims" };
        _ = writeln!(
            text,
            "- {} ({}): noticed by {verb} {}.",
            fault.name,
            fault.words(),
            claims.join(", ")
        );
    }
    text + "\n"
}

const fn mark(truth: Truth) -> &'static str {
    match truth {
        Truth::Holds => "",
        Truth::Fails => "✗ ",
        Truth::Undecided => "? ",
    }
}

/// Line number of the claim with this number in the plan.
fn line_of_claim(source: &str, number: usize) -> usize {
    let lines = source
        .lines()
        .enumerate()
        .filter(|(_, line)| line.trim() == "[[claim]]");
    lines.map(|(line, _)| line + 1).nth(number).unwrap_or(1)
}

fn comparison(judged: &Judged<'_>) -> String {
    let rows = judged.comparison();
    if rows.is_empty() {
        return String::new();
    }
    let lines: String = rows
        .iter()
        .map(|row| {
            format!(
                "| {} |\n",
                row.iter()
                    .map(|text| cell(text))
                    .collect::<Vec<_>>()
                    .join(" | ")
            )
        })
        .collect();
    format!(
        "| figure | published | ours, 95% interval | ours over published |\n|---|---|---|---|\n{lines}\n"
    )
}

fn cost(paper: &Paper, judged: &Judged<'_>) -> String {
    let Judged { item, record, .. } = judged;
    let memory = record.peak_bytes.map_or_else(String::new, |bytes| {
        format!(", {} MB at most", bytes.div_ceil(1_000_000))
    });
    let again = again(&paper.slug, &item.name, record);
    let runs = judged.recorded();
    let mut fewer = String::new();
    for (column, seeds) in &judged.plan.fewer_seeds {
        fewer += &format!(", of {column} {seeds} at most");
    }
    format!(
        "`{again}` ({} setting, {runs} a variation{fewer}, {} processor seconds{memory}); every row as Parquet: `--parquet rows.parquet`.\n",
        record.setting,
        rounded(record.seconds),
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

/// Text in a cell of a table.
pub(crate) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
