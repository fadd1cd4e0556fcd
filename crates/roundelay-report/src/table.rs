//! Terminal table for a comparison.

use std::iter;

use roundelay_trace::{Comparison, Cost, Delay, DisciplineResult, Drops, Kind, Outcome};

use crate::advised::Advised;
use crate::document::{self, Block, Document, Section};
use crate::figures::{FAIRNESS, Figure, KIND, LONGEST, Label, SERVICE};
use crate::grid::{Cell, Column, Fold, Grid, Paint, TableStyle};
use crate::recommendation::{Recommendation, Warning};
use crate::spread::{self, half_width};
use crate::text::{clean, cut, cut_apart, cut_parts, distinct_at, width};
use crate::units::{counted, percent, rate, seconds, short_count, significant};

/// Lines on a screen.
pub const SCREEN: usize = 40;

/// Flows in the section on flows.
const FLOWS: usize = 10;
/// Columns for a short flow label, or more if two labels would look alike.
const SHORT_LABEL: usize = 34;

/// The comparison as a terminal table: the capture, a row for each discipline, important flows, the
/// verdict, and the commands to apply it. Only commands may be wider than the terminal.
pub fn table(advised: &Advised, style: TableStyle) -> String {
    document(advised).text(style)
}

/// The table in at most `lines` lines, as far as possible: sections on flows, and on fairness and
/// cost, are left out, and a line says so.
pub fn table_within(advised: &Advised, style: TableStyle, lines: usize) -> String {
    if advised.verdict.is_open {
        return table(advised, style);
    }
    let [headline, service, open, verdict] = [
        headline(advised),
        service(advised),
        open(&advised.comparison),
        verdict(&advised.verdict),
    ]
    .map(|blocks| document::lines(&blocks, style));
    let optional = [
        ("fairness and cost", fairness(advised)),
        ("flows", flows(&advised.comparison)),
    ];
    let mut used = height(&headline) + height(&service) + height(&open) + height(&verdict);
    let mut sections = vec![headline, service];
    if !open.is_empty() {
        sections.push(open);
    }
    let mut left_out = Vec::new();
    for (name, blocks) in optional {
        let section = document::lines(&blocks, style);
        used += height(&section);
        if used + usize::from(!left_out.is_empty()) <= lines {
            sections.push(section);
        } else {
            used -= height(&section);
            left_out.push(name);
        }
    }
    if !left_out.is_empty() {
        let line = format!(
            "Hidden because they are longer than a screen: {}. Use --wide.",
            left_out.join(", ")
        );
        sections
            .last_mut()
            .expect("a headline")
            .push(Paint::Faint.on(&line, style.color));
    }
    sections.push(verdict);
    document::joined(sections)
}

/// How many lines a section has, with the empty line behind.
fn height(lines: &[String]) -> usize {
    lines.len() + usize::from(!lines.is_empty())
}

/// The report that [`table`] prints.
pub fn document(advised: &Advised) -> Document {
    if advised.verdict.is_open {
        // Figures say nothing if the packets did not share a link.
        return Document(vec![headline(advised), verdict(&advised.verdict)]);
    }
    Document(vec![
        headline(advised),
        service(advised),
        open(&advised.comparison),
        fairness(advised),
        flows(&advised.comparison),
        verdict(&advised.verdict),
    ])
}

fn headline(advised: &Advised) -> Section {
    let comparison = &advised.comparison;
    let capture = &comparison.capture;
    let offered = capture.bytes as f64 * 8.0 / capture.seconds;
    let share = percent(offered / comparison.link_rate as f64);
    let packets = counted(capture.packets, "packet");
    let flows = counted(comparison.flows.len() as u64, "flow");
    let facts = format!(
        "{packets}, {flows} by {}, {}.",
        clean(&capture.flow_by),
        seconds(capture.seconds)
    );
    let mut load = format!(
        "Offered {}, {share} of a link of {}.",
        rate(offered),
        rate(comparison.link_rate as f64)
    );
    if comparison.reference_rate < comparison.link_rate {
        let shaped = rate(comparison.reference_rate as f64);
        load += &format!(" Shapers let {shaped} through, by which flows are light or bulk.");
    }
    document::headline(&capture.name, format!("{facts} {load}"), &advised.notes)
}

fn service(advised: &Advised) -> Section {
    let comparison = &advised.comparison;
    let all = &Rows::of(comparison);
    let mut columns = vec![names_and_seeds(comparison, advised.verdict.best, all)];
    for Figure { label, of } in SERVICE {
        if !label.is_shown(all.results.iter().map(of)) {
            continue;
        }
        columns.push(measured(label, all, of));
        if label.name == "loss" {
            columns.push(plain("dropped", all, |result| reasons(result.total.drops)).spare(9));
        }
    }
    columns.extend(kinds(all));
    vec![Block::Table(Grid::new(columns))]
}

/// A table's disciplines, with a row below some of them.
struct Rows<'a> {
    results: &'a [DisciplineResult],
    below: Vec<Below<'a>>,
}

/// What stands in the row below a discipline.
enum Below<'a> {
    /// There is no such row.
    Nothing,
    /// The figures' intervals, where senders react.
    Intervals,
    /// The figures with another seed.
    Seed(u64, &'a DisciplineResult),
}

impl<'a> Rows<'a> {
    fn of(comparison: &'a Comparison) -> Self {
        let mut below = Vec::new();
        for (index, result) in comparison.disciplines.iter().enumerate() {
            below.push(if result.replicas.len() > 1 {
                Below::Intervals
            } else if let Some((seed, other)) = spread::farthest_seed(comparison, index) {
                Below::Seed(seed, other)
            } else {
                Below::Nothing
            });
        }
        Self {
            results: &comparison.disciplines,
            below,
        }
    }

    fn iter(&self) -> impl Iterator<Item = (&'a DisciplineResult, &Below<'a>)> {
        self.results.iter().zip(&self.below)
    }
}

/// A column with figures and what stands below them.
fn measured(
    label: &Label,
    all: &Rows<'_>,
    of: impl Fn(&DisciplineResult) -> Option<f64>,
) -> Column {
    let mut cells = Vec::new();
    for (result, below) in all.iter() {
        cells.push(label.cell(of(result)));
        match below {
            Below::Nothing => {}
            Below::Intervals => cells.push(faint(half_width(result, &of, label.unit))),
            Below::Seed(_, other) => cells.push(faint(label.text(of(other)))),
        }
    }
    label.column(cells)
}

/// A column without intervals.
fn plain<C: Into<Cell>>(
    head: &str,
    all: &Rows<'_>,
    cell: impl Fn(&DisciplineResult) -> C,
) -> Column {
    let mut cells = Vec::new();
    for (result, below) in all.iter() {
        cells.push(cell(result).into());
        match below {
            Below::Nothing => {}
            Below::Intervals => cells.push(Cell::default()),
            Below::Seed(_, other) => cells.push(faint(cell(other).into().text)),
        }
    }
    Column::new(head, cells)
}

/// The names, and below them the seeds for further figures.
fn names_and_seeds(comparison: &Comparison, best: Option<usize>, all: &Rows<'_>) -> Column {
    let mut cells = Vec::new();
    for (name, below) in name_cells(comparison, best).into_iter().zip(&all.below) {
        cells.push(name);
        match below {
            Below::Nothing => {}
            Below::Intervals => cells.push(Cell::default()),
            Below::Seed(seed, _) => cells.push(faint(format!("    seed {seed}"))),
        }
    }
    Column::new(NAMES, cells)
}

fn faint(text: String) -> Cell {
    Cell {
        text,
        paint: Paint::Faint,
    }
}

/// Columns by kind of flow, if the capture has several kinds: the typical and the worst flow's
/// delay and the loss for light kinds, and the least share for bulk. If senders react, also bulk's
/// rate and the time until transfers are complete.
fn kinds(all: &Rows<'_>) -> Vec<Column> {
    let first = match all.results.first() {
        Some(first) if first.kinds.len() > 1 => first,
        _ => return Vec::new(),
    };
    let mut columns = Vec::new();
    for (index, outcome) in first.kinds.iter().enumerate() {
        let group = short_name(outcome.kind);
        let has_transfers = has_transfers(all.results, index);
        let is_bulk = outcome.kind == Kind::Bulk;
        // The verdict quotes p99: it gives way last. Where transfers became complete, their time says
        // more than the packets'.
        let p99 = if has_transfers { 3 } else { 1 };
        let done = if is_bulk { 2 } else { 1 };
        for Figure { label, of } in KIND {
            let spare = match label.name {
                "least_share" if is_bulk => 0,
                "throughput" if is_bulk && outcome.served.is_some() => 4,
                "p99" if !is_bulk => p99,
                "loss" if !is_bulk => 11,
                "done_mean" if has_transfers => done,
                "done_p99" if has_transfers => 10,
                _ => continue,
            };
            let column = measured(label, all, |one| of(&one.kinds[index]));
            columns.push(column.under(group).spare(spare));
            if label.name == "p99" && outcome.flows > 1 {
                let Figure { label, of } = LONGEST;
                let worst = plain("worst", all, |result| label.text(of(&result.kinds[index])));
                columns.push(worst.under(group).spare(11));
            }
        }
    }
    columns
}

/// Whether transfers of a kind are complete under some discipline.
fn has_transfers(all: &[DisciplineResult], kind: usize) -> bool {
    let mut of_kind = all.iter().map(|result| result.kinds[kind].served);
    of_kind.any(|served| served.is_some_and(|served| served.transfers > 0.0))
}

/// The verdict at the ends of what no capture shows, where these were tried.
fn open(comparison: &Comparison) -> Section {
    let Some(reaction) = comparison.reaction.as_ref() else {
        return Section::new();
    };
    let ends = &reaction.open;
    if ends.is_empty() {
        return Section::new();
    }
    let grid = Grid::new(vec![
        Column::of("not in the capture", ends, |end| end.parameter.to_owned()),
        Column::of("tried", ends, |end| end.value.clone()),
        Column::of("best", ends, |end| {
            clean(&comparison.disciplines[end.best].spec)
        }),
        Column::of("loss", ends, |end| part_lost(end.loss)),
        Column::of("light flows p99", ends, |end| {
            if_any(end.light_p99, seconds)
        }),
    ]);
    vec![Block::Table(grid)]
}

fn fairness(advised: &Advised) -> Section {
    let comparison = &advised.comparison;
    let all = &comparison.disciplines;
    let mut columns = vec![names(comparison, advised.verdict.best)];
    for Figure { label, of } in FAIRNESS {
        if label.is_shown(all.iter().map(of)) {
            columns.push(label.column(all.iter().map(|result| label.cell(of(result))).collect()));
        }
    }
    columns.extend([
        Column::of("bounds", all, |result| bounds(result.kept_bounds)),
        Column::of("ns/packet", all, |result| match result.cost {
            Some(cost) => nanos(&cost),
            None => none(),
        }),
        Column::of("buffer", all, |result| result.limit.clone()).spare(3),
    ]);
    vec![Block::Table(Grid::new(columns))]
}

/// The important flows, with as many disciplines side by side as fit and the others below.
fn flows(comparison: &Comparison) -> Section {
    let chosen = chosen_flows(comparison);
    if chosen.is_empty() {
        return Section::new();
    }
    let title = format!(
        "99th percentile of delay, and loss: {} of {}",
        chosen.len(),
        counted(comparison.flows.len() as u64, "flow")
    );
    let mut labels = Vec::new();
    for &flow in &chosen {
        labels.push(clean(&comparison.flows[flow].label));
    }
    let short = distinct_at(&labels, SHORT_LABEL);
    let names = [usize::MAX, short]
        .map(|longest| Column::of("flow", &labels, |label| cut_parts(label, longest)));
    let second = Column::of("offered", &chosen, |&flow| {
        rate(comparison.flows[flow].offered_rate)
    });
    let mut groups = Vec::new();
    let short_names = short_names(&comparison.disciplines);
    for (result, name) in comparison.disciplines.iter().zip(short_names) {
        let delays = Column::of("p99", &chosen, |&flow| {
            delay(&result.flows[flow].outcome, |delay| delay.p99)
        });
        let losses = Column::of("loss", &chosen, |&flow| loss(&result.flows[flow].outcome));
        groups.push(vec![delays.under(&name), losses.under(name)]);
    }
    vec![
        Block::Heading(title),
        Block::Fold(Box::new(Fold {
            names,
            second,
            groups,
        })),
    ]
}

/// The name alone if unambiguous.
fn short_names(all: &[DisciplineResult]) -> Vec<String> {
    let mut names = Vec::new();
    for result in all {
        let alike = all.iter().filter(|other| other.name == result.name);
        // A tree has an individual name.
        names.push(if alike.count() == 1 && result.name != "tree" {
            result.name.to_owned()
        } else {
            clean(&result.spec)
        });
    }
    cut_apart(&names, 20, cut)
}

/// `fifo`, or the first discipline if `fifo` is not compared.
fn plain_queue(disciplines: &[DisciplineResult]) -> Option<&DisciplineResult> {
    let plain = disciplines.iter().find(|result| result.name == "fifo");
    plain.or(disciplines.first())
}

/// The largest heavy flows, and the light flows with the largest delay in a plain queue.
fn chosen_flows(comparison: &Comparison) -> Vec<usize> {
    let plain = plain_queue(&comparison.disciplines);
    let mut light = Vec::new();
    let mut heavy = Vec::new();
    for (flow, facts) in comparison.flows.iter().enumerate() {
        if !facts.light {
            heavy.push(flow);
            continue;
        }
        let delay = plain.and_then(|result| result.flows[flow].outcome.delay);
        light.push((flow, delay.map_or(0.0, |delay| delay.p99)));
    }
    heavy.sort_by_key(|&flow| std::cmp::Reverse(comparison.flows[flow].bytes));
    light.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    // Half the rows for each, and what the light flows leave is for the heavy ones, or the reverse.
    let left_by_light = FLOWS.saturating_sub(light.len());
    heavy.truncate(left_by_light.max(FLOWS / 2));
    let left_by_heavy = FLOWS - heavy.len();
    light.truncate(left_by_heavy);
    let mut chosen = heavy;
    chosen.extend(light.iter().map(|(flow, _)| flow));
    chosen
}

fn verdict(verdict: &Recommendation) -> Section {
    let mut blocks = verdict.reserve.as_ref().map_or_else(Section::new, warning);
    let mut sentences = Vec::new();
    for sentence in &verdict.sentences {
        sentences.push(clean(sentence));
    }
    if !sentences.is_empty() {
        blocks.push(Block::Verdict(sentences));
    }
    if !verdict.commands.is_empty() {
        blocks.push(Block::Commands(
            verdict
                .commands
                .iter()
                .map(|command| clean(command))
                .collect(),
        ));
    }
    if let Some(other) = &verdict.other {
        blocks.push(Block::Note(clean(&other.sentence)));
        blocks.push(Block::Commands(commands_of(other)));
    }
    blocks
}

fn commands_of(warning: &Warning) -> Vec<String> {
    let command = warning.command.iter();
    command.map(|command| clean(command)).collect()
}

/// The warning before a verdict, and the command that mends the load, on a line of its own to copy.
fn warning(reserve: &Warning) -> Section {
    let commands = commands_of(reserve);
    let commands = (!commands.is_empty()).then_some(Block::Commands(commands));
    iter::once(Block::Warning(clean(&reserve.sentence)))
        .chain(commands)
        .collect()
}

/// Head for the column with names.
const NAMES: &str = "  discipline";

fn names(comparison: &Comparison, best: Option<usize>) -> Column {
    Column::new(NAMES, name_cells(comparison, best))
}

fn name_cells(comparison: &Comparison, best: Option<usize>) -> Vec<Cell> {
    debug_assert_eq!(width(NAMES), 12, "as short as a name may be cut");
    let mut texts = Vec::new();
    for (index, result) in comparison.disciplines.iter().enumerate() {
        let is_best = Some(index) == best;
        let mark = if is_best { '*' } else { ' ' };
        texts.push(format!("{mark} {}", clean(&result.spec)));
    }
    let mut cells = Vec::new();
    for (index, text) in cut_apart(&texts, 32, cut).into_iter().enumerate() {
        let is_best = Some(index) == best;
        cells.push(Cell {
            text,
            paint: if is_best { Paint::Good } else { Paint::Plain },
        });
    }
    cells
}

fn delay(outcome: &Outcome, of: impl Fn(&Delay) -> f64) -> String {
    if_any(outcome.delay.as_ref().map(of), seconds)
}

fn loss(outcome: &Outcome) -> Cell {
    part_lost(outcome.loss)
}

/// A kind's name above a narrow column.
pub(crate) const fn short_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Call => "calls",
        Kind::Other => "other light",
        Kind::Acknowledgements => "ACKs",
        Kind::Dns | Kind::Web | Kind::Bulk => kind.name(),
    }
}

fn part_lost(part: f64) -> Cell {
    Cell {
        text: percent(part),
        paint: if part > 0.0 { Paint::Bad } else { Paint::Faint },
    }
}

fn bounds(kept: Option<bool>) -> Cell {
    match kept {
        Some(true) => Cell {
            text: "✓ kept".to_owned(),
            paint: Paint::Plain,
        },
        Some(false) => Cell {
            text: "✗ broken".to_owned(),
            paint: Paint::Bad,
        },
        None => Cell {
            text: none(),
            paint: Paint::Faint,
        },
    }
}

/// Nanoseconds a packet: `18.2`, or `12.0–95.1` if the runs differ too much for one figure.
pub(crate) fn nanos(cost: &Cost) -> String {
    if cost.is_certain() {
        return significant(cost.nanos_per_packet);
    }
    let (fastest, slowest) = cost.range;
    format!("{}–{}", significant(fastest), significant(slowest))
}

/// Lost packets by reason: `1,234 full, 12 early`. Filtered acknowledgements are no loss and have a
/// column of their own.
pub(crate) fn reasons(drops: Drops) -> String {
    let reasons = [
        (drops.full, "full"),
        (drops.pushed_out, "pushed"),
        (drops.early, "early"),
        (drops.refused, "refused"),
    ];
    reasons_in_words(&reasons)
}

/// The numbers above 0, each with its reason: `1,234 full, 12 early`.
pub(crate) fn reasons_in_words(reasons: &[(u64, &str)]) -> String {
    let mut words = Vec::new();
    for (number, reason) in reasons {
        if *number > 0 {
            words.push(format!("{} {reason}", short_count(*number)));
        }
    }
    words.join(", ")
}

fn if_any(value: Option<f64>, in_words: fn(f64) -> String) -> String {
    match value {
        Some(value) => in_words(value),
        None => none(),
    }
}

fn none() -> String {
    "–".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cost_is_a_figure_or_a_range() {
        let of = |slowest| {
            nanos(&Cost {
                nanos_per_packet: 18.24,
                range: (17.9, slowest),
                packets: 50_000,
            })
        };
        assert_eq!([of(20.0), of(95.0)], ["18.2", "17.9–95.0"]);
    }
}
