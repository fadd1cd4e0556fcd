//! Table of flows: one row per discipline and flow, with all figures.

use roundelay_trace::{Comparison, Delay, DisciplineResult, FlowResult, FlowSummary};

use super::column::{Column, Values, shared};
use super::rows::{Each, TableOf};
use crate::ReportError;

/// One row per discipline and flow, with the names and units of [`Comparison`] (seconds, bytes, bits
/// per second).
pub const FLOWS: TableOf<Comparison> = TableOf { name: "flows", needs: None, batches };

fn batches(comparison: &Comparison, each: Each<'_>) -> Result<(), ReportError> {
    each(columns(&[]))?;
    for discipline in &comparison.disciplines {
        let flows = comparison.flows.iter().zip(&discipline.flows).enumerate();
        let rows: Vec<Row<'_>> = flows.map(|(index, (flow, result))| Row { discipline, index, flow, result }).collect();
        if !rows.is_empty() {
            each(columns(&rows))?;
        }
    }
    Ok(())
}

/// Source of one row.
struct Row<'a> {
    discipline: &'a DisciplineResult,
    index: usize,
    flow: &'a FlowSummary,
    result: &'a FlowResult,
}

fn columns(rows: &[Row<'_>]) -> Vec<Column> {
    [offered(rows), served(rows), delays(rows), fairness(rows)].into_iter().flatten().collect()
}

fn offered(rows: &[Row<'_>]) -> Vec<Column> {
    vec![
        texts("discipline", rows, |row| row.discipline.name),
        texts("spec", rows, |row| &row.discipline.spec),
        counts("flow", rows, |row| row.index as u64),
        texts("label", rows, |row| &row.flow.label),
        counts("weight", rows, |row| row.flow.weight.into()),
        Column { name: "light", values: Values::Flags(rows.iter().map(|row| row.flow.light).collect()) },
        counts("offered_packets", rows, |row| row.flow.packets),
        counts("offered_bytes", rows, |row| row.flow.bytes),
        numbers("first", rows, |row| row.flow.first),
        numbers("last", rows, |row| row.flow.last),
        numbers("offered_rate", rows, |row| row.flow.offered_rate),
        numbers("fair_rate", rows, |row| row.flow.fair_rate),
    ]
}

fn served(rows: &[Row<'_>]) -> Vec<Column> {
    vec![
        counts("packets", rows, |row| row.result.outcome.packets),
        counts("bytes", rows, |row| row.result.outcome.bytes),
        numbers("throughput", rows, |row| row.result.outcome.throughput),
        numbers("loss", rows, |row| row.result.outcome.loss),
        counts("drops_full", rows, |row| row.result.outcome.drops.full),
        counts("drops_pushed_out", rows, |row| row.result.outcome.drops.pushed_out),
        counts("drops_early", rows, |row| row.result.outcome.drops.early),
        counts("drops_refused", rows, |row| row.result.outcome.drops.refused),
        counts("marked", rows, |row| row.result.outcome.marked),
        counts("reordered", rows, |row| row.result.outcome.reordered),
    ]
}

fn delays(rows: &[Row<'_>]) -> Vec<Column> {
    let delay = |name, of: fn(&Delay) -> f64| optional(name, rows, move |row| row.result.outcome.delay.as_ref().map(of));
    vec![
        delay("delay_mean", |delay| delay.mean),
        delay("delay_p50", |delay| delay.p50),
        delay("delay_p99", |delay| delay.p99),
        delay("delay_p999", |delay| delay.p999),
        delay("delay_max", |delay| delay.max),
    ]
}

fn fairness(rows: &[Row<'_>]) -> Vec<Column> {
    vec![
        numbers("lag", rows, |row| row.result.lag),
        numbers("b_wfi", rows, |row| row.result.b_wfi),
        optional("b_wfi_bound", rows, |row| row.result.b_wfi_bound),
        numbers("t_wfi", rows, |row| row.result.t_wfi),
        optional("t_wfi_bound", rows, |row| row.result.t_wfi_bound),
        numbers("latency", rows, |row| row.result.latency),
        optional("latency_bound", rows, |row| row.result.latency_bound),
        numbers("fairness", rows, |row| row.result.fairness),
        optional("fairness_bound", rows, |row| row.result.fairness_bound),
    ]
}

fn texts<'a>(name: &'static str, rows: &'a [Row<'a>], text: impl Fn(&'a Row<'a>) -> &'a str) -> Column {
    Column { name, values: Values::Texts(rows.iter().map(|row| shared(text(row))).collect()) }
}

fn counts(name: &'static str, rows: &[Row<'_>], count: impl Fn(&Row<'_>) -> u64) -> Column {
    Column { name, values: Values::Counts(rows.iter().map(count).collect()) }
}

fn numbers(name: &'static str, rows: &[Row<'_>], number: impl Fn(&Row<'_>) -> f64) -> Column {
    Column { name, values: Values::Numbers(rows.iter().map(number).collect()) }
}

fn optional(name: &'static str, rows: &[Row<'_>], number: impl Fn(&Row<'_>) -> Option<f64>) -> Column {
    Column { name, values: Values::OptionalNumbers(rows.iter().map(number).collect()) }
}
