//! Pages: Markdown of a paper with its items, and the index of all papers.
//!
//! All content comes from plans, records and `essay.md`; no number of ours is written by hand.

use std::fmt::Write;

use roundelay_report::{Axis, Chart, Curve, Drawn, Point, Scaling};

use crate::catalogue::{Item, Paper, Work};
use crate::essay;
use crate::figures::{Figures, Reference, deviation, modes};
use crate::finding::{Truth, measured, rounded};
use crate::kind::{Counts, Kind};
use crate::noise;
use crate::open;
use crate::plan::{CannotTell, ChartSpec, Claim, Plan, Setting};
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
        let (stands, figures) = &ran.variations[0];
        let planned = stands.seeds;
        let experiment = stands.experiment().map_err(|wrong| wrong.to_string())?;
        let is_timed = experiment.runs_alone();
        let is_quick = record.setting() == Setting::Quick;
        let mut verdicts = Vec::new();
        for claim in &plan.claims {
            let mut verdict = judge(plan, claim, &ran.variations, record.setting());
            if is_timed {
                verdict.unless_noisy(noise::of_claim(claim, figures));
            }
            let is_judged = !is_quick || claim.only_full.is_none();
            for finding in verdict.findings() {
                if is_judged && finding.is_missing {
                    return Err(format!(
                        "a claim compares a figure that the experiment does not measure: {}",
                        finding.words
                    ));
                }
            }
            verdicts.push(verdict);
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

    /// The claims with their verdicts.
    pub(crate) fn claims(&self) -> impl Iterator<Item = (&Claim, &Verdict)> {
        self.plan.claims.iter().zip(&self.verdicts)
    }

    /// Figures of the plan as it stands.
    fn figures(&self) -> &Figures {
        &self.ran.variations[0].1
    }

    /// Claims with a verdict other than expected by the plan. Claims with too few runs or noisy times
    /// do not count, and in the quick setting neither claims with an undecided verdict, nor with an
    /// undecided one expected.
    pub fn changed(&self) -> Vec<String> {
        let is_quick = self.record.setting() == Setting::Quick;
        let mut changed = Vec::new();
        for (claim, verdict) in self.claims() {
            let may_be_undecided = is_quick || verdict.is_noisy || verdict.too_few().is_some();
            let is_undecided = [claim.expect, verdict.kind].contains(&Kind::Undecided);
            if claim.expect == verdict.kind || (may_be_undecided && is_undecided) {
                continue;
            }
            changed.push(format!(
                "'{}': expected '{}', now {}",
                claim.says,
                claim.expect.name(),
                verdict.words
            ));
        }
        changed
    }

    /// Number of undecided claims with a decided verdict expected by the plan.
    pub fn undecided(&self) -> usize {
        let mut count = 0;
        for (claim, verdict) in self.claims() {
            let is_undecided = verdict.kind == Kind::Undecided && claim.expect != Kind::Undecided;
            count += usize::from(is_undecided);
        }
        count
    }

    /// Claims of the paper that hold. With one discipline in place of all others these say nothing
    /// on disciplines.
    pub fn holding(&self) -> Vec<&str> {
        let mut holding = Vec::new();
        for (claim, verdict) in self.claims() {
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
        for (claim, verdict) in self.claims() {
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
        let mut rows = Vec::new();
        for published in &self.plan.published {
            let figure = &published.figure;
            if let Some(value) = published.value {
                rows.push(self.compared(figure, None, value, published.deviation));
            }
            for (x, value) in &published.points {
                rows.push(self.compared(figure, Some(*x), *value, None));
            }
        }
        rows
    }

    fn compared(
        &self,
        figure: &str,
        x: Option<f64>,
        value: f64,
        deviation: Option<f64>,
    ) -> [String; 4] {
        let label = match x {
            Some(x) => format!("{figure} @ {}", rounded(x)),
            None => figure.to_owned(),
        };
        let published = match deviation {
            Some(deviation) => format!("{} (deviation {})", rounded(value), rounded(deviation)),
            None => rounded(value),
        };
        let mut ours = "not measured".to_owned();
        let mut ratio = "–".to_owned();
        if let Some(samples) = self.figures().at(figure, x)
            && let Some(interval) = samples.interval()
        {
            ours = measured(interval, self.figures().runs(samples));
            if value != 0.0 {
                ratio = rounded(interval.mean / value);
            }
        }
        [label, published, ours, ratio]
    }

    /// Notes on scalar figures with two modes.
    fn modes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for name in self.figures().names() {
            let Some(samples) = self.figures().at(name, None) else {
                continue;
            };
            let values = samples.values();
            let Some(modes) = modes(&values) else {
                continue;
            };
            let [low, high] = modes.map(|(mean, share)| {
                let runs = (share * values.len() as f64).round();
                format!("{} in {runs} of {} runs", rounded(mean), values.len())
            });
            notes.push(format!(
                "{name} has two modes: {low} and {high}; its mean describes no run."
            ));
        }
        notes
    }

    /// The charts of the plan.
    pub fn charts(&self) -> Vec<Chart> {
        let specs = self.plan.charts.iter();
        specs.map(|spec| self.chart(spec)).collect()
    }

    fn chart(&self, spec: &ChartSpec) -> Chart {
        let mut curves = Vec::new();
        for text in &spec.curves {
            curves.extend(self.curve(text));
        }
        let mut runs = Vec::new();
        for curve in &curves {
            runs.push(run_of(&curve.name).to_owned());
        }
        for (curve, run) in curves.iter_mut().zip(&runs) {
            // A run with only one curve needs no name of the figure.
            if runs.iter().filter(|other| *other == run).count() == 1 {
                curve.name.clone_from(run);
            }
        }
        Chart {
            title: format!("{}: {}", self.item.label, spec.title),
            x: axis(&spec.x, spec.log.contains('x')),
            y: axis(&spec.y, spec.log.contains('y')),
            curves,
            ..Chart::default()
        }
    }

    fn curve(&self, text: &str) -> Option<Curve> {
        let reference = Reference::parse(text).ok()?;
        let mut points = Vec::new();
        if reference.is_published {
            let mut known = self.plan.published.iter();
            let published = known.find(|published| published.figure == reference.figure)?;
            for &(x, y) in &published.points {
                points.push(Point {
                    x,
                    y,
                    half_width: 0.0,
                });
            }
            return Some(Curve {
                name: format!("published {}", reference.figure),
                points,
                drawn: Drawn::Dashes,
            });
        }
        for (x, samples) in self.figures().curve(&reference.figure)? {
            let Some(interval) = samples.interval() else {
                continue;
            };
            let has_several = samples.0.len() > 1;
            points.push(Point {
                x,
                y: interval.mean,
                half_width: if has_several {
                    deviation(&samples.values())
                } else {
                    0.0
                },
            });
        }
        Some(Curve {
            name: reference.figure,
            points,
            drawn: Drawn::Line,
        })
    }
}

/// The run in the name of a figure, `RUN: FIGURE`.
fn run_of(figure: &str) -> &str {
    match figure.split_once(": ") {
        Some((run, _)) => run,
        None => figure,
    }
}

fn axis(label: &str, is_logarithmic: bool) -> Axis {
    Axis {
        label: label.to_owned(),
        scaling: if is_logarithmic {
            Scaling::Logarithmic
        } else {
            Scaling::Linear
        },
        ..Axis::default()
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
pub fn index(papers: &[(&Paper, Vec<Option<Judged<'_>>>)]) -> String {
    let mut text = String::from("# The papers\n\n");
    text += &totals(papers);
    text += "Generated by `make papers-pages`. Each table, figure and numbered theorem has a \
        verdict, and a command that reproduces it, on its paper's page. Items without a full \
        record have their verdicts from the quick setting, which leaves many claims undecided.\n\n\
         `make papers` runs all items in the quick setting and compares verdicts with the plans' \
         expected verdicts of the full setting; `make papers-full` runs the published setting and \
         regenerates these pages. [How a verdict is made](verdicts.md).\n";
    for (paper, _) in papers {
        let about = &paper.about;
        _ = write!(
            text,
            "\n## [{}]({}.md)\n\n{}. {}.\n",
            about.heading(),
            paper.slug,
            about.authors.join(", "),
            about.venue,
        );
    }
    text
}

/// A line a paper: how many of its claims have which verdict.
fn totals(papers: &[(&Paper, Vec<Option<Judged<'_>>>)]) -> String {
    let mut text = String::from(
        "| claims of | hold | hold, but not if .. | fail, but hold if .. | do not hold | differ \
         here | cannot be | cannot be judged | undecided | beside them, ours | items not recorded |\n\
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
        let mut missing = 0;
        for (item, judged) in paper.items.iter().zip(judged) {
            missing += usize::from(item.plan().is_some() && judged.is_none());
        }
        _ = writeln!(text, " {} | {missing} |", counts.ours());
    }
    text + "\nThese are the papers' claims, of items on record. *Ours* are claims that a paper \
        does not make, such as rules of kernels and controls. \
            *Differ here*: the claim fails, but our program, machine or setting is another one \
            than the paper's, so the failure refutes nothing.\n\n"
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
    let authors = about.authors.join(", ");
    let mut text = format!(
        "# {}\n\n{authors}. {}.\n\n{}\n",
        about.heading(),
        about.venue,
        essay.trim()
    );
    text += "\n## All items\n\nA command runs an item and prints its verdicts with all that \
        decides them. `make docs` builds a page for each item from its record.\n\n\
         | item | about | verdict | command |\n|---|---|---|---|\n";
    for (item, judged) in paper.items.iter().zip(judged) {
        let again = older.get(&(paper.slug.clone(), item.name.clone()));
        _ = writeln!(
            text,
            "| <a id=\"{}\"></a>{} | {} | {} | {} |",
            item.name,
            item.label,
            cell(&item.about),
            cell(&one_line(item, judged.as_ref(), again)),
            command(paper, item, judged.as_ref())
        );
    }
    Ok(text)
}

/// The command that runs an item as it is on record, else as published.
fn command(paper: &Paper, item: &Item, judged: Option<&Judged<'_>>) -> String {
    if item.plan().is_none() {
        return String::new();
    }
    match judged {
        Some(judged) => format!("`{}`", again(&paper.slug, &item.name, &judged.record)),
        None => format!("`roundelay papers {} {} --full`", paper.slug, item.name),
    }
}

/// The page of an item, in a folder of its paper's name.
pub fn details(paper: &Paper, judged: &Judged<'_>) -> String {
    let short = &paper.about.short;
    let slug = &paper.slug;
    let item = &judged.item.name;
    format!(
        "# {short}, {}: {}\n\n[{short}](../{slug}.md#{item})\n\n{}",
        judged.item.label,
        judged.plan.title,
        body(paper, judged, Target::Page)
    )
}

/// Context of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// A page of the site, with charts in the same folder and a link to the plan.
    Page,
    /// Standalone: without links; the caller draws the charts.
    Alone,
}

/// An item alone: heading, verdicts, and all that [`details`] has.
pub fn alone(paper: &Paper, judged: &Judged<'_>) -> String {
    format!(
        "\n## {}: {}\n\n{}",
        judged.item.label,
        judged.plan.title,
        body(paper, judged, Target::Alone)
    )
}

/// Verdicts, published and own values, charts, open parameters, how to refute the item.
fn body(paper: &Paper, judged: &Judged<'_>, target: Target) -> String {
    let Judged {
        item, plan, record, ..
    } = judged;
    let mut text = format!(
        "**{}.** ({})\n\n{}\n\n",
        capital(&judged.summary()),
        plan.page,
        plan.method
    );
    if judged.is_stale {
        let again = again(&paper.slug, &item.name, record);
        _ = write!(
            text,
            "**Recorded with older code**: disciplines, sources or the simulator behave \
             differently today. `{again} --pages docs/papers` records it again.\n\n"
        );
    }
    text += &claims(paper, judged, target);
    text += &comparison(judged);
    for (number, chart) in judged.charts().iter().enumerate() {
        if target == Target::Page && chart.has_points() {
            let file = chart_file(item, number);
            _ = write!(text, "![{}]({file})\n\n", chart.title);
        }
    }
    text += &open::section(judged, target);
    for (part, lines) in &record.traces {
        _ = write!(
            text,
            "<details><summary>Step by step: {part}</summary>\n\n```text\n{}\n```\n\n\
             </details>\n\n",
            lines.join("\n")
        );
    }
    for mode in judged.modes() {
        _ = write!(text, "{mode}\n\n");
    }
    text += &faults(plan);
    if !plan.differs.is_empty() {
        text += "**Differences from the paper.**\n\n";
        for line in &plan.differs {
            _ = writeln!(text, "- {line}");
        }
        text += "\n";
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
        item, text: source, ..
    } = judged;
    let mut text = String::from("| claim | verdict | deciding findings |\n|---|---|---|\n");
    for (number, (claim, verdict)) in judged.claims().enumerate() {
        let line = line_of_claim(source, number);
        let file = format!("papers/{}/{}.toml", paper.slug, item.name);
        let link = match target {
            Target::Page => format!("[predicate](../../../{file}#L{line})"),
            Target::Alone => format!("{file}, line {line}"),
        };
        let stands = match (&claim.place, claim.ours) {
            (Some(place), true) => format!(" (ours; {place})"),
            (None, true) => " (ours)".to_owned(),
            (Some(place), false) => format!(" ({place})"),
            (None, false) => String::new(),
        };
        let mut findings = Vec::new();
        for finding in verdict.findings() {
            let finding = format!("{}{}", mark(finding.truth), finding.words);
            findings.push(cell(&finding));
        }
        if !claim.tolerance.is_empty() {
            findings.push(cell(&format!("Tolerance: {}", claim.tolerance)));
        }
        if !claim.tests.is_empty() {
            let tests = format!("Tests: `{}`", claim.tests.join("`, `"));
            findings.push(cell(&tests));
        }
        findings.push(cell(&link));
        _ = writeln!(
            text,
            "| {}{stands} | **{}** | {} |",
            cell(&claim.says),
            cell(&verdict.words),
            findings.join("<br>")
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
            "**No claim of the paper tells a wrong discipline from a right one here**, because \
             {because}\n\n"
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
    let mut before = 0;
    for (line, text) in (1..).zip(source.lines()) {
        if text.trim() != "[[claim]]" {
            continue;
        }
        if before == number {
            return line;
        }
        before += 1;
    }
    1
}

fn comparison(judged: &Judged<'_>) -> String {
    let rows = judged.comparison();
    if rows.is_empty() {
        return String::new();
    }
    let mut lines = String::new();
    for row in rows {
        let cells = row.map(|text| cell(&text));
        _ = writeln!(lines, "| {} |", cells.join(" | "));
    }
    format!(
        "| figure | published | ours, 95% interval | ours over published |\n|---|---|---|---|\n{lines}\n"
    )
}

fn cost(paper: &Paper, judged: &Judged<'_>) -> String {
    let Judged { item, record, .. } = judged;
    let memory = match record.peak_bytes {
        Some(bytes) => format!(", {} MB at most", bytes.div_ceil(1_000_000)),
        None => String::new(),
    };
    let again = again(&paper.slug, &item.name, record);
    let runs = judged.recorded();
    let mut fewer = String::new();
    for (column, seeds) in &judged.plan.fewer_seeds {
        fewer += &format!(", of {column} {seeds} at most");
    }
    format!(
        "`{again}` ({} setting, {runs} a variation{fewer}, {} processor seconds{memory}); every \
         row as Parquet: `--parquet rows.parquet`.\n",
        record.setting,
        rounded(record.seconds),
    )
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().to_string() + letters.as_str(),
        None => String::new(),
    }
}

/// Text in a cell of a table.
pub(crate) fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}
