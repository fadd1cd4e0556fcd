//! Figures of results. Each is declared once, with all that JSON, terminal, HTML and the table of a
//! sweep tell of it.

mod compared;
mod simulated;

use roundelay_advice::{NEGLIGIBLE_SECONDS, NOTABLE, NOTABLE_LOSS, NOTICED, UNNOTICED_SECONDS};
use roundelay_sim::LinkClass;
use roundelay_sim::scenario::{Interval, student_95};
use serde::{Serialize, Serializer};

use crate::document::{Block, Section};
use crate::grid::{Cell, Column, Grid, Paint};
use crate::text::clean;
use crate::units::{bytes, count, percent, rate, seconds, short_count};
pub(crate) use compared::{FAIRNESS, KIND, LONGEST, SERVICE};
pub(crate) use simulated::{
    CLASS, FLOW, INDICES, LINK, LIVES, RANK, SIZE, SOURCE, TRANSFER, Worst,
};

/// A figure taken from an `R`.
pub(crate) struct Figure<R: 'static> {
    pub(crate) label: Label,
    pub(crate) of: fn(&R) -> Option<f64>,
}

const fn figure<R>(label: Label, of: fn(&R) -> Option<f64>) -> Figure<R> {
    Figure { label, of }
}

/// What is told of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Label {
    /// Name in JSON, and the last part of the column's name in a sweep's table.
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    /// Heading, below that of the group.
    head: &'static str,
    /// What neighbours have in common. Empty for a figure of its own.
    group: &'static str,
    /// What it is, in a sentence without its end.
    pub(crate) about: &'static str,
    /// Rank for hiding in a narrow terminal: highest first, zero never.
    spare: u8,
    pub(crate) is_better_if_more: bool,
    /// Anything above zero harms: red in a terminal.
    is_harm: bool,
    /// In bold in a terminal.
    is_bold: bool,
    /// Left out where no value is above zero.
    is_if_any: bool,
    /// From where on a difference counts.
    pub(crate) difference: Difference,
}

/// Of a figure without a group, less of which is better.
const fn label(name: &'static str, unit: Unit, head: &'static str) -> Label {
    Label {
        name,
        unit,
        head,
        group: "",
        about: "",
        spare: 0,
        is_better_if_more: false,
        is_harm: false,
        is_bold: false,
        is_if_any: false,
        difference: Difference::of(unit),
    }
}

impl Label {
    const fn about(mut self, about: &'static str) -> Self {
        self.about = about;
        self
    }

    const fn under(mut self, group: &'static str) -> Self {
        self.group = group;
        self
    }

    const fn spare(mut self, rank: u8) -> Self {
        self.spare = rank;
        self
    }

    const fn more(mut self) -> Self {
        self.is_better_if_more = true;
        self
    }

    const fn harm(mut self) -> Self {
        self.is_harm = true;
        self
    }

    const fn bold(mut self) -> Self {
        self.is_bold = true;
        self
    }

    const fn if_any(mut self) -> Self {
        self.is_if_any = true;
        self
    }

    const fn counts(mut self, difference: Difference) -> Self {
        self.difference = difference;
        self
    }

    /// Heading on a page, where that of the group stands above.
    pub(crate) fn heading(&self) -> String {
        if self.group.is_empty() {
            capitalised(self.head)
        } else {
            self.head.to_owned()
        }
    }

    /// Empty for a figure of its own.
    pub(crate) fn group_heading(&self) -> String {
        capitalised(self.group)
    }

    /// In a sentence: `p99 delay`.
    pub(crate) fn words(&self) -> String {
        format!("{} {}", self.head, self.group)
            .trim_end()
            .to_owned()
    }

    /// Whether a table with these values has a column for the figure.
    pub(crate) fn is_shown(&self, values: impl Iterator<Item = Option<f64>>) -> bool {
        let mut known = values.flatten();
        known.any(|value| !self.is_if_any || value > 0.0)
    }

    /// A column of a terminal.
    pub(crate) fn column(&self, cells: Vec<Cell>) -> Column {
        let column = Column::new(self.head, cells)
            .under(self.group)
            .spare(self.spare);
        if self.is_bold { column.bold() } else { column }
    }

    /// A value in a terminal's table.
    pub(crate) fn cell(&self, value: Option<f64>) -> Cell {
        self.painted(self.text(value), value)
    }

    fn painted(&self, text: String, value: Option<f64>) -> Cell {
        let paint = match value {
            Some(value) if self.is_harm && value > 0.0 => Paint::Bad,
            Some(_) if self.is_harm => Paint::Faint,
            _ => Paint::Plain,
        };
        Cell { text, paint }
    }

    /// A value with its unit, or a dash.
    pub(crate) fn text(&self, value: Option<f64>) -> String {
        match value {
            Some(value) => self.unit.text(value),
            None => "–".to_owned(),
        }
    }
}

fn capitalised(words: &str) -> String {
    match words.split_at_checked(1) {
        Some((first, rest)) => first.to_uppercase() + rest,
        None => String::new(),
    }
}

/// A terminal's table: a row for each name, a column for each figure that any row has, and behind the
/// loss its `reasons`. Nothing without rows.
pub(crate) fn table<R>(
    what: &str,
    names: &[&str],
    figures: &[Figure<R>],
    all: &[&Means],
    mut reasons: Option<Vec<Cell>>,
) -> Section {
    if names.is_empty() {
        return Section::new();
    }
    let mut columns = vec![Column::of(what, names, |name| clean(name))];
    for Figure { label, .. } in figures {
        let means = all.iter().map(|means| means.mean(label.name));
        if !label.is_shown(means.clone()) {
            continue;
        }
        let mut cells = Vec::new();
        for (means, mean) in all.iter().zip(means) {
            cells.push(label.painted(means.text(label.name), mean));
        }
        columns.push(label.column(cells));
        if label.name == "loss"
            && let Some(reasons) = reasons.take()
        {
            columns.push(Column::new("dropped", reasons).spare(4));
        }
    }
    vec![Block::Table(Grid::new(columns))]
}

/// From where on two values of a figure differ for users.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Difference {
    /// Smaller values count as this one.
    floor: f64,
    /// The larger one is larger by more than this much,
    above: f64,
    /// and by more than this factor.
    factor: f64,
}

impl Difference {
    /// Packets' delays.
    const DELAY: Self = Self {
        floor: NEGLIGIBLE_SECONDS,
        above: 0.0,
        factor: NOTABLE,
    };
    /// Completion times of transfers: a user waits for them.
    pub(crate) const WAIT: Self = Self {
        floor: 0.0,
        above: UNNOTICED_SECONDS,
        factor: 1.0 + NOTICED,
    };
    const PART: Self = Self {
        floor: 0.0,
        above: NOTABLE_LOSS,
        factor: 1.0,
    };
    const OTHER: Self = Self {
        floor: 0.0,
        above: 0.0,
        factor: 1.0 + NOTICED,
    };

    const fn of(unit: Unit) -> Self {
        match unit {
            Unit::Seconds => Self::DELAY,
            Unit::Part => Self::PART,
            Unit::Count | Unit::Rate | Unit::Bytes | Unit::Index | Unit::Tenths => Self::OTHER,
        }
    }

    /// From where on values differ, in words: `10% and 20.0 ms`.
    pub(crate) fn in_words(self, unit: Unit) -> String {
        let mut parts = Vec::new();
        if self.factor > 1.0 {
            parts.push(format!("{:.0}%", (self.factor - 1.0) * 100.0));
        }
        if self.above > 0.0 {
            parts.push(match unit {
                Unit::Part => format!("{:.0} percentage points", self.above * 100.0),
                _ => unit.text(self.above),
            });
        }
        let mut words = parts.join(" and ");
        if self.floor > 0.0 {
            let floor = unit.text(self.floor);
            words += &format!(", or if both are below {floor}");
        }
        words
    }

    pub(crate) fn is_between(self, one: f64, other: f64) -> bool {
        let less = one.min(other).max(self.floor);
        let more = one.max(other);
        more - less > self.above && more > less * self.factor
    }
}

/// A figure's unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    /// Packets, flows, transfers.
    Count,
    /// Bits per second.
    Rate,
    Seconds,
    Bytes,
    /// Fraction of 1, written as percents.
    Part,
    /// No unit, three decimals.
    Index,
    /// A mean of small counts, one decimal.
    Tenths,
}

impl Unit {
    /// `value` with its unit.
    pub(crate) fn text(self, value: f64) -> String {
        match self {
            Self::Count => count(value.round() as u64),
            Self::Rate => rate(value),
            Self::Seconds => seconds(value),
            Self::Bytes => bytes(value),
            Self::Part => percent(value),
            Self::Index => format!("{value:.3}"),
            Self::Tenths => format!("{value:.1}"),
        }
    }

    /// The same in little space.
    pub(crate) fn short(self, value: f64) -> String {
        if self == Self::Count {
            short_count(value.round() as u64)
        } else {
            self.text(value)
        }
    }
}

/// Writes a figure's value with its unit. `name` is the figure's name in JSON and in sweeps. If
/// there is no such figure, the text has four digits.
pub fn figure_text(name: &str, value: f64) -> String {
    match label_of(name) {
        Some(label) => label.unit.text(value),
        None => digits(value),
    }
}

/// A figure's label, by its name in JSON or in sweeps.
pub(crate) fn label_of(name: &str) -> Option<&'static Label> {
    let class = LinkClass::ALL.iter().find_map(|class| {
        let name = name.strip_prefix(class.name())?.strip_prefix('_')?;
        find(CLASS, name)
    });
    find(SOURCE, name)
        .or_else(|| find(TRANSFER, name))
        .or_else(|| find(INDICES, name))
        .or_else(|| find(LIVES, name.strip_prefix("lives_").unwrap_or(name)))
        .or(class)
        .or_else(|| find(CLASS, name))
}

/// Whether a higher value is better, by the figure's name in sweeps.
pub(crate) fn is_better_if_more(name: &str) -> bool {
    label_of(name).is_some_and(|label| label.is_better_if_more)
}

fn find<R>(figures: &'static [Figure<R>], name: &str) -> Option<&'static Label> {
    let mut labels = figures.iter().map(|figure| &figure.label);
    labels.find(|label| label.name == name)
}

/// Four digits.
fn digits(value: f64) -> String {
    let decimals = if value == 0.0 {
        0
    } else {
        (3.0 - value.abs().log10().floor()).clamp(0.0, 12.0) as usize
    };
    format!("{value:.decimals$}")
}

/// The figure with this name.
pub(crate) fn named<R>(figures: &'static [Figure<R>], name: &str) -> &'static Figure<R> {
    let mut known = figures.iter();
    match known.find(|figure| figure.label.name == name) {
        Some(figure) => figure,
        None => panic!("no figure is called '{name}'"),
    }
}

/// Means and 95% confidence intervals of figures over the replicas, by name. None if no replica has
/// the figure.
#[derive(Debug, Clone)]
pub struct Means(Vec<Mean>);

#[derive(Debug, Clone)]
struct Mean {
    label: &'static Label,
    interval: Option<Interval>,
}

impl Means {
    pub(crate) fn of<'a, R: 'a>(
        figures: &'static [Figure<R>],
        replicas: impl Iterator<Item = &'a R> + Clone,
    ) -> Self {
        let mut means = Vec::new();
        for Figure { label, of } in figures {
            let interval = interval(replicas.clone().map(of));
            means.push(Mean { label, interval });
        }
        Self(means)
    }

    pub(crate) fn and(mut self, others: Self) -> Self {
        self.0.extend(others.0);
        self
    }

    fn named(&self, name: &str) -> &Mean {
        let mut known = self.0.iter();
        match known.find(|mean| mean.label.name == name) {
            Some(mean) => mean,
            None => panic!("no figure is called '{name}'"),
        }
    }

    pub(crate) fn interval(&self, name: &str) -> Option<Interval> {
        self.named(name).interval
    }

    fn mean(&self, name: &str) -> Option<f64> {
        Some(self.interval(name)?.mean)
    }

    /// Whether the figure has a mean above zero.
    pub(crate) fn is_positive(&self, name: &str) -> bool {
        self.mean(name).is_some_and(|mean| mean > 0.0)
    }

    /// The figure for a terminal.
    pub(crate) fn text(&self, name: &str) -> String {
        let Mean { label, interval } = self.named(name);
        interval_text(*interval, |value| label.unit.short(value))
    }
}

impl Serialize for Means {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|mean| (mean.label.name, mean.interval)))
    }
}

/// Mean and interval over the replicas with the figure.
pub(crate) fn interval(values: impl Iterator<Item = Option<f64>>) -> Option<Interval> {
    student_95(&values.flatten().collect::<Vec<_>>())
}

/// The mean and half the interval, both in the figure's unit.
pub(crate) fn interval_text(interval: Option<Interval>, unit: impl Fn(f64) -> String) -> String {
    let Some(Interval { mean, half_width }) = interval else {
        return "–".to_owned();
    };
    match half_width {
        Some(half) if half > 0.0 => format!("{} ±{}", unit(mean), unit(half)),
        _ => unit(mean),
    }
}

#[cfg(test)]
mod tests;
