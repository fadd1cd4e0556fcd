//! Terminal table of a comparison.

use std::iter;

use roundelay_trace::{
    Comparison, Delay, DisciplineResult, Drops, Kind, KindOutcome, Outcome, Reserve,
};

use crate::document::{self, Block, Document, Section};
use crate::grid::{Cell, Column, Fold, Grid, Paint};
use crate::text::{clean, cut, cut_apart, cut_parts, distinct_at, width};
use crate::units::{bytes, count, counted, percent, rate, seconds, short_count, significant};

/// Look of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TableStyle {
    /// Use terminal colours; no information depends on colour alone.
    pub color: bool,
    /// Columns of the terminal; none for other outputs: 100 columns.
    pub width: Option<u16>,
}

impl TableStyle {
    pub(crate) fn limit(self) -> usize {
        self.width.map_or(100, usize::from).max(40)
    }
}

/// Lines of a screen.
pub const SCREEN: usize = 40;

/// Flows in the section on flows.
const FLOWS: usize = 10;
/// Columns of a short flow label, or more if two labels would look alike.
const SHORT_LABEL: usize = 34;

/// The comparison as a terminal table: the capture, a row for each discipline, important flows, the
/// verdict, and the commands to apply it. Only commands may be wider than the terminal.
pub fn table(comparison: &Comparison, style: TableStyle) -> String {
    document(comparison).text(style)
}

/// The table in at most `lines` lines, as far as possible: sections on flows, and on fairness and
/// cost, are left out, and a line says so.
pub fn table_within(comparison: &Comparison, style: TableStyle, lines: usize) -> String {
    let [headline, service, verdict] = [
        headline(comparison),
        service(comparison),
        verdict(comparison),
    ]
    .map(|blocks| document::lines(&blocks, style));
    let optional = [
        ("fairness and cost", fairness(comparison)),
        ("flows", flows(comparison)),
    ];
    let height = |lines: &[String]| lines.len() + usize::from(!lines.is_empty());
    let mut used = [&headline, &service, &verdict]
        .map(|lines| height(lines))
        .iter()
        .sum::<usize>();
    let mut sections = vec![headline, service];
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

/// The report of [`table`].
pub fn document(comparison: &Comparison) -> Document {
    Document(vec![
        headline(comparison),
        service(comparison),
        fairness(comparison),
        flows(comparison),
        verdict(comparison),
    ])
}

fn headline(comparison: &Comparison) -> Section {
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
    let load = format!(
        "Offered {}, {share} of a link of {}.",
        rate(offered),
        rate(comparison.link_rate as f64)
    );
    document::headline(&capture.name, format!("{facts} {load}"), &capture.notes)
}

fn service(comparison: &Comparison) -> Section {
    let column = |head: &str, cell: &dyn Fn(&DisciplineResult) -> Cell| {
        Column::new(head, comparison.disciplines.iter().map(cell))
    };
    let delay = |head, of: fn(&Delay) -> f64| {
        column(head, &|result| delay(&result.total, of).into()).under("delay")
    };
    let reorders = comparison
        .disciplines
        .iter()
        .any(|result| result.total.reordered > 0);
    let reordered =
        reorders.then(|| column("reordered", &|result| reordered(&result.total)).spare(4));
    let columns = vec![
        names(comparison),
        column("sent", &|result| rate(result.total.throughput).into()).spare(3),
        column("loss", &|result| loss(&result.total)),
        column("dropped", &|result| reasons(result.total.drops).into()).spare(7),
        delay("p50", |delay| delay.p50).spare(5),
        delay("p99", |delay| delay.p99),
        delay("p99.9", |delay| delay.p999).spare(8),
        delay("max", |delay| delay.max).spare(6),
        column("p99", &|result| Cell {
            text: result.light_p99.map_or_else(none, seconds),
            paint: Paint::Bold,
        })
        .under("light flows"),
        column("loss", &|result| light_loss(result)).under("light flows"),
    ];
    vec![Block::Table(Grid::new(
        columns
            .into_iter()
            .chain(reordered)
            .chain(kinds(comparison))
            .collect(),
    ))]
}

/// Columns by kind of flow, where the capture has several kinds: the typical and the worst flow's
/// delay and the loss of light kinds, the least share of bulk.
fn kinds(comparison: &Comparison) -> Vec<Column> {
    let Some(first) = comparison
        .disciplines
        .first()
        .filter(|result| result.kinds.len() > 1)
    else {
        return Vec::new();
    };
    let mut columns = Vec::new();
    for (place, outcome) in first.kinds.iter().enumerate() {
        let group = outcome.kind.name();
        let column = |head: &str, cell: &dyn Fn(&KindOutcome) -> Cell| {
            Column::new(
                head,
                comparison
                    .disciplines
                    .iter()
                    .map(|result| cell(&result.kinds[place])),
            )
            .under(group)
        };
        if outcome.kind == Kind::Bulk {
            columns.push(
                column("least share", &|of| {
                    of.least_share.map_or_else(none, percent).into()
                })
                .spare(1),
            );
            continue;
        }
        columns.push(column("p99", &|of| of.p99.map_or_else(none, seconds).into()).spare(2));
        if outcome.flows > 1 {
            columns.push(
                column("worst", &|of| {
                    of.worst_p99.map_or_else(none, seconds).into()
                })
                .spare(9),
            );
        }
        columns.push(column("loss", &|of| part_lost(of.loss)).spare(9));
    }
    columns
}

fn fairness(comparison: &Comparison) -> Section {
    let column = |head: &str, cell: &dyn Fn(&DisciplineResult) -> Cell| {
        Column::new(head, comparison.disciplines.iter().map(cell))
    };
    let grid = Grid::new(vec![
        names(comparison),
        column("Jain mean", &|result| {
            result
                .jain
                .map_or_else(none, |jain| format!("{:.3}", jain.mean))
                .into()
        }),
        column("worst", &|result| {
            result
                .jain
                .map_or_else(none, |jain| format!("{:.3}", jain.min))
                .into()
        })
        .spare(2),
        column("lag behind GPS", &|result| bytes(result.worst_lag).into()),
        column("bounds", &|result| bounds(result.kept_bounds)),
        column("ns/packet", &|result| {
            result
                .cost
                .map_or_else(none, |cost| significant(cost.nanos_per_packet))
                .into()
        }),
        column("bytes/flow", &|result| {
            count(result.bytes_per_flow as u64).into()
        })
        .spare(1),
        column("buffer", &|result| result.limit.clone().into()).spare(3),
    ]);
    vec![Block::Table(grid)]
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
    let labels: Vec<String> = chosen
        .iter()
        .map(|&flow| clean(&comparison.flows[flow].label))
        .collect();
    let names = |longest: usize| {
        Column::new(
            "flow",
            labels.iter().map(|label| cut_parts(label, longest).into()),
        )
    };
    let names = [usize::MAX, distinct_at(&labels, SHORT_LABEL)].map(names);
    let second = Column::new(
        "offered",
        chosen
            .iter()
            .map(|&flow| rate(comparison.flows[flow].offered_rate).into()),
    );
    let group = |(result, name): (&DisciplineResult, String)| {
        let outcome = |&flow: &usize| &result.flows[flow].outcome;
        let delays = Column::new(
            "p99",
            chosen
                .iter()
                .map(|flow| delay(outcome(flow), |delay| delay.p99).into()),
        );
        vec![
            delays.under(&name),
            Column::new("loss", chosen.iter().map(|flow| loss(outcome(flow)))).under(name),
        ]
    };
    let groups = comparison
        .disciplines
        .iter()
        .zip(short_names(&comparison.disciplines))
        .map(group)
        .collect();
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
    let name = |result: &DisciplineResult| {
        let alone = all.iter().filter(|other| other.name == result.name).count() == 1;
        // A tree has an individual name.
        if alone && result.name != "tree" {
            result.name.to_owned()
        } else {
            clean(&result.spec)
        }
    };
    cut_apart(&all.iter().map(name).collect::<Vec<_>>(), 20, cut)
}

/// The largest heavy flows, and the light flows with the largest delay in a plain queue.
fn chosen_flows(comparison: &Comparison) -> Vec<usize> {
    let plain = comparison
        .disciplines
        .iter()
        .find(|result| result.name.contains("fifo"))
        .or(comparison.disciplines.first());
    let worst = |flow: usize| {
        plain
            .and_then(|result| result.flows[flow].outcome.delay)
            .map_or(0.0, |delay| delay.p99)
    };
    let (mut light, mut heavy): (Vec<usize>, Vec<usize>) =
        (0..comparison.flows.len()).partition(|&flow| comparison.flows[flow].light);
    heavy.sort_by_key(|&flow| std::cmp::Reverse(comparison.flows[flow].bytes));
    light.sort_by(|&one, &other| worst(other).total_cmp(&worst(one)));
    heavy.truncate((FLOWS / 2).max(FLOWS.saturating_sub(light.len())));
    light.truncate(FLOWS - heavy.len());
    heavy.into_iter().chain(light).collect()
}

fn verdict(comparison: &Comparison) -> Section {
    let verdict = &comparison.verdict;
    let mut blocks = verdict.reserve.as_ref().map_or_else(Section::new, warning);
    blocks.push(Block::Verdict(
        verdict
            .sentences
            .iter()
            .map(|sentence| clean(sentence))
            .collect(),
    ));
    if !verdict.commands.is_empty() {
        blocks.push(Block::Commands(
            verdict
                .commands
                .iter()
                .map(|command| clean(command))
                .collect(),
        ));
    }
    blocks
}

/// The warning before a verdict, and the command that mends the load, on a line of its own to copy.
fn warning(reserve: &Reserve) -> Section {
    let commands: Vec<String> = reserve
        .command
        .iter()
        .map(|command| clean(command))
        .collect();
    let commands = (!commands.is_empty()).then_some(Block::Commands(commands));
    iter::once(Block::Warning(clean(&reserve.sentence)))
        .chain(commands)
        .collect()
}

fn names(comparison: &Comparison) -> Column {
    let is_best = |index: usize| index == comparison.verdict.best;
    let specs = comparison.disciplines.iter().enumerate();
    let texts: Vec<_> = specs
        .map(|(index, result)| {
            format!(
                "{} {}",
                if is_best(index) { '*' } else { ' ' },
                clean(&result.spec)
            )
        })
        .collect();
    let paint = |index: usize| {
        if is_best(index) {
            Paint::Good
        } else {
            Paint::Plain
        }
    };
    let cells = cut_apart(&texts, 32, cut)
        .into_iter()
        .enumerate()
        .map(|(index, text)| Cell {
            text,
            paint: paint(index),
        });
    let title = "  discipline";
    debug_assert_eq!(width(title), 12, "as short as a name may be cut");
    Column::new(title, cells)
}

fn delay(outcome: &Outcome, of: impl Fn(&Delay) -> f64) -> String {
    outcome
        .delay
        .as_ref()
        .map_or_else(none, |delay| seconds(of(delay)))
}

fn loss(outcome: &Outcome) -> Cell {
    part_lost(outcome.loss)
}

fn part_lost(part: f64) -> Cell {
    Cell {
        text: percent(part),
        paint: if part > 0.0 { Paint::Bad } else { Paint::Faint },
    }
}

/// Loss of light flows, if there are any.
fn light_loss(result: &DisciplineResult) -> Cell {
    let offered = result.light.packets + result.light.drops.total();
    if offered > 0 {
        loss(&result.light)
    } else {
        none().into()
    }
}

fn reordered(outcome: &Outcome) -> Cell {
    let paint = if outcome.reordered > 0 {
        Paint::Bad
    } else {
        Paint::Faint
    };
    Cell {
        text: count(outcome.reordered),
        paint,
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

/// Dropped packets by reason: `1,234 full, 12 early`.
pub(crate) fn reasons(drops: Drops) -> String {
    let reasons = [
        (drops.full, "full"),
        (drops.pushed_out, "pushed"),
        (drops.early, "early"),
        (drops.refused, "refused"),
    ];
    let some = reasons
        .iter()
        .filter(|(number, _)| *number > 0)
        .map(|(number, reason)| format!("{} {reason}", short_count(*number)));
    some.collect::<Vec<_>>().join(", ")
}

fn none() -> String {
    "–".to_owned()
}
