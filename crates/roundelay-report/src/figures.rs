//! Figures of simulation results. Each is declared once, with name, unit and value, for JSON, the
//! table of a sweep, terminal and HTML.

use std::borrow::Cow;
use std::collections::BTreeMap;

use roundelay_sim::LinkClass;
use roundelay_sim::scenario::{
    ClassResult, GroupLives, GroupResult, Interval, Results, student_95,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Serialize, Serializer};

use crate::grid::Column;
use crate::units::{bytes, count, percent, rate, seconds, short_count};

/// A figure taken from an `R`.
pub(crate) struct Figure<R> {
    /// Name in JSON, and the last part of the column's name in a sweep's table.
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    pub(crate) of: fn(&R) -> Option<f64>,
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

use Unit::{Bytes, Count, Index, Part, Rate, Seconds, Tenths};

const fn figure<R>(name: &'static str, unit: Unit, of: fn(&R) -> Option<f64>) -> Figure<R> {
    Figure { name, unit, of }
}

/// A source's figures.
pub(crate) const SOURCE: &[Figure<GroupResult>] = &[
    figure("flows", Count, |group| Some(group.flows as f64)),
    figure("throughput", Rate, |group| Some(group.throughput)),
    figure("loss", Part, |group| group.loss),
    // If the scenario sets a limit.
    figure("in_time", Part, |group| group.in_time),
    // Packets, if Edge-CoDel is active.
    figure("edge_marked", Count, |group| {
        Some(group.edge_marked? as f64)
    }),
    figure("delay_mean", Seconds, |group| group.delay.mean),
    figure("delay_p99", Seconds, |group| group.delay.p99),
    figure("delay_max", Seconds, |group| group.delay.max),
    figure("jain", Index, |group| group.jain),
    figure("jain_hosts", Index, |group| group.jain_hosts),
    figure("least_host", Part, |group| group.least_host),
    figure("transfers", Count, |group| {
        Some(group.completion.count as f64)
    }),
    figure("incomplete", Count, |group| Some(group.incomplete as f64)),
    figure("completion_mean", Seconds, |group| group.completion.mean),
    figure("completion_p99", Seconds, |group| group.completion.p99),
    figure("completion_by_bytes", Seconds, |group| {
        group.completion_by_bytes
    }),
    figure("goodput", Rate, |group| group.goodput),
    figure("retransmissions", Count, |group| {
        Some(group.retransmissions? as f64)
    }),
    figure("timeouts", Count, |group| Some(group.timeouts? as f64)),
    figure("round_trip_mean", Seconds, |group| group.round_trip.mean),
    figure("round_trip_by_bytes", Seconds, |group| {
        group.round_trip_by_bytes
    }),
];

/// Figures of a source's flows over their lifetimes: `[meter] flows`.
pub(crate) const LIVES: &[Figure<GroupLives>] = &[
    figure("throughput", Rate, |lives| lives.throughput),
    figure("jain", Index, |lives| lives.jain),
    figure("jain_of_ratios", Index, |lives| lives.jain_of_ratios),
    figure("reordering", Part, |lives| lives.reordering),
    figure("round_trip", Seconds, |lives| lives.round_trip),
    figure("bennett_zhang", Index, |lives| lives.bennett_zhang),
    figure("startup_latency", Seconds, |lives| lives.startup_latency),
    figure("starved", Tenths, |lives| Some(lives.starved as f64)),
    figure("correlation", Index, |lives| lives.correlation),
];

/// The worst-case fair indices of a source's worst flow: `[meter] wfi`.
pub(crate) const INDICES: &[Figure<Worst>] = &[
    figure("b_wfi", Bytes, |worst| worst.b_wfi),
    figure("t_wfi", Seconds, |worst| worst.t_wfi),
];

/// A link class's figures.
pub(crate) const CLASS: &[Figure<ClassResult>] = &[
    figure("utilisation", Part, |class| Some(class.utilisation)),
    figure("busiest", Part, |class| Some(class.busiest)),
    figure("loss", Part, |class| class.loss),
    figure("wait_mean", Seconds, |class| class.wait.mean),
    figure("wait_p99", Seconds, |class| class.wait.p99),
    figure("wait_max", Seconds, |class| class.wait.max),
];

/// Writes a figure's value with its unit. `name` is the figure's name in JSON and in sweeps. If
/// there is no such figure, the text has four digits.
pub fn figure_text(name: &str, value: f64) -> String {
    match figure_unit(name) {
        Some(unit) => unit.text(value),
        None => digits(value),
    }
}

/// Whether a higher value is better, by the figure's name in sweeps.
pub(crate) fn wants_more(name: &str) -> bool {
    let bare = bare_name(name);
    bare == "in_time"
        || bare.starts_with("jain")
        || ["throughput", "goodput", "bennett_zhang"].contains(&bare)
}

/// A figure's unit, by its name in JSON or in sweeps.
pub(crate) fn figure_unit(name: &str) -> Option<Unit> {
    unit_of(name).or_else(|| unit_of(bare_name(name)))
}

/// A figure's name without the prefix that it has in sweeps: `wait_p99` of `core_wait_p99`.
fn bare_name(name: &str) -> &str {
    let Some((prefix, bare)) = name.split_once('_') else {
        return name;
    };
    let is_class = LinkClass::ALL.iter().any(|class| class.name() == prefix);
    if is_class || prefix == "lives" {
        bare
    } else {
        name
    }
}

fn unit_of(name: &str) -> Option<Unit> {
    fn unit<R>(figures: &[Figure<R>], name: &str) -> Option<Unit> {
        let found = figures.iter().find(|figure| figure.name == name);
        found.map(|figure| figure.unit)
    }
    unit(SOURCE, name)
        .or_else(|| unit(CLASS, name))
        .or_else(|| unit(LIVES, name))
        .or_else(|| unit(INDICES, name))
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
    match known.find(|figure| figure.name == name) {
        Some(figure) => figure,
        None => panic!("no figure is called '{name}'"),
    }
}

/// The largest indices among a group's flows in one replica. None if no flow of the group crossed a
/// measured link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Worst {
    b_wfi: Option<f64>,
    t_wfi: Option<f64>,
}

impl Worst {
    /// For group `number`. The last group is all groups together and has no kind.
    pub(crate) fn of(results: &Results, number: usize) -> Self {
        let group = &results.groups[number];
        let mut worst = Self {
            b_wfi: None,
            t_wfi: None,
        };
        for flow in &results.flows {
            if let Some(indices) = flow.indices
                && (group.kind.is_empty() || *flow.group == *group.name)
            {
                worst.b_wfi = larger(worst.b_wfi, Some(indices.b_wfi));
                worst.t_wfi = larger(worst.t_wfi, indices.t_wfi);
            }
        }
        worst
    }

    pub(crate) const fn is_some(&self) -> bool {
        self.b_wfi.is_some()
    }
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, None) => one,
        (None, other) => other,
    }
}

/// Means and 95% confidence intervals of figures over the replicas, by name. None if no replica has
/// the figure.
#[derive(Debug, Clone)]
pub struct Means(Vec<(&'static str, Unit, Option<Interval>)>);

impl Means {
    pub(crate) fn of<'a, R: 'a>(
        figures: &[Figure<R>],
        replicas: impl Iterator<Item = &'a R> + Clone,
    ) -> Self {
        let mut means = Vec::new();
        for figure in figures {
            let values = replicas.clone().map(figure.of);
            means.push((figure.name, figure.unit, interval(values)));
        }
        Self(means)
    }

    fn named(&self, name: &str) -> (Unit, Option<Interval>) {
        let mut known = self.0.iter();
        match known.find(|(known, ..)| *known == name) {
            Some((_, unit, interval)) => (*unit, *interval),
            None => panic!("no figure is called '{name}'"),
        }
    }

    pub(crate) fn interval(&self, name: &str) -> Option<Interval> {
        self.named(name).1
    }

    /// Whether the figure has a mean above zero.
    pub(crate) fn is_positive(&self, name: &str) -> bool {
        match self.interval(name) {
            Some(interval) => interval.mean > 0.0,
            None => false,
        }
    }

    /// The figure for a terminal.
    pub(crate) fn text(&self, name: &str) -> String {
        let (unit, interval) = self.named(name);
        interval_text(interval, |value| unit.short(value))
    }
}

impl Serialize for Means {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, _, interval)| (name, interval)))
    }
}

impl JsonSchema for Means {
    fn schema_name() -> Cow<'static, str> {
        "Means".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        BTreeMap::<String, Option<Interval>>::json_schema(generator)
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

/// Each summary's figure.
pub(crate) fn means(name: &str, head: &str, all: &[&Means]) -> Column {
    Column::of(head, all, |means| means.text(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Formerly a figure of a class of links was printed without its unit.
    #[test]
    fn figures_of_sweeps_have_units_and_a_better_end() {
        assert_eq!(figure_text("core_wait_p99", 0.0123), "12.3 ms");
        assert_eq!(figure_text("lives_throughput", 1e6), "1.00 Mbit/s");
        assert_eq!(figure_text("unknown_figure", 0.5), "0.5000");
        assert!(wants_more("lives_jain_of_ratios") && wants_more("goodput"));
        assert!(!wants_more("delay_p99") && !wants_more("core_loss"));
    }
}
