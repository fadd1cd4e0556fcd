//! Table for flows: one row per discipline and flow, with all figures.

use roundelay_trace::{Comparison, Delay, DisciplineResult, FlowResult, FlowSummary};

use super::column::Column;
use super::rows::{Each, TableOf};
use crate::ReportError;

/// One row per discipline and flow, with the names and units of [`Comparison`] (seconds, bytes,
/// bits per second).
pub const FLOWS: TableOf<Comparison> = TableOf {
    name: "flows",
    needs: None,
    batches,
};

fn batches(comparison: &Comparison, each: Each<'_>) -> Result<(), ReportError> {
    each(columns(&[]))?;
    for discipline in &comparison.disciplines {
        let flows = comparison.flows.iter().zip(&discipline.flows).enumerate();
        let rows: Vec<Row<'_>> = flows
            .map(|(index, (flow, result))| Row {
                discipline,
                index,
                flow,
                result,
            })
            .collect();
        if !rows.is_empty() {
            each(columns(&rows))?;
        }
    }
    Ok(())
}

/// What a row is made from.
struct Row<'a> {
    discipline: &'a DisciplineResult,
    index: usize,
    flow: &'a FlowSummary,
    result: &'a FlowResult,
}

fn columns(rows: &[Row<'_>]) -> Vec<Column> {
    [offered(rows), served(rows), delays(rows), fairness(rows)]
        .into_iter()
        .flatten()
        .collect()
}

fn offered(rows: &[Row<'_>]) -> Vec<Column> {
    vec![
        Column::of("discipline", rows, |row| row.discipline.name),
        Column::of("spec", rows, |row| &row.discipline.spec[..]),
        Column::of("flow", rows, |row| row.index as u64),
        Column::of("label", rows, |row| &row.flow.label[..]),
        Column::of("weight", rows, |row| u64::from(row.flow.weight)),
        Column::of("light", rows, |row| row.flow.light),
        Column::of("offered_packets", rows, |row| row.flow.packets),
        Column::of("offered_bytes", rows, |row| row.flow.bytes),
        Column::of("first", rows, |row| row.flow.first),
        Column::of("last", rows, |row| row.flow.last),
        Column::of("offered_rate", rows, |row| row.flow.offered_rate),
        Column::of("fair_rate", rows, |row| row.flow.fair_rate),
    ]
}

fn served(rows: &[Row<'_>]) -> Vec<Column> {
    vec![
        Column::of("packets", rows, |row| row.result.outcome.packets),
        Column::of("bytes", rows, |row| row.result.outcome.bytes),
        Column::of("throughput", rows, |row| row.result.outcome.throughput),
        Column::of("loss", rows, |row| row.result.outcome.loss),
        Column::of("drops_full", rows, |row| row.result.outcome.drops.full),
        Column::of("drops_pushed_out", rows, |row| {
            row.result.outcome.drops.pushed_out
        }),
        Column::of("drops_early", rows, |row| row.result.outcome.drops.early),
        Column::of("drops_refused", rows, |row| {
            row.result.outcome.drops.refused
        }),
        Column::of("drops_filtered", rows, |row| {
            row.result.outcome.drops.filtered
        }),
        Column::of("marked", rows, |row| row.result.outcome.marked),
        Column::of("reordered", rows, |row| row.result.outcome.reordered),
    ]
}

fn delays(rows: &[Row<'_>]) -> Vec<Column> {
    let delay = |name, of: fn(&Delay) -> f64| {
        Column::of(name, rows, move |row| {
            row.result.outcome.delay.as_ref().map(of)
        })
    };
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
        Column::of("lag", rows, |row| row.result.lag),
        Column::of("b_wfi", rows, |row| row.result.b_wfi),
        Column::of("b_wfi_bound", rows, |row| row.result.b_wfi_bound),
        Column::of("t_wfi", rows, |row| row.result.t_wfi),
        Column::of("t_wfi_bound", rows, |row| row.result.t_wfi_bound),
        Column::of("latency", rows, |row| row.result.latency),
        Column::of("latency_bound", rows, |row| row.result.latency_bound),
        Column::of("fairness", rows, |row| row.result.fairness),
        Column::of("fairness_bound", rows, |row| row.result.fairness_bound),
    ]
}
