//! Tables over time (`[meter] over_time`): one row per replica, step and link, or source.

use roundelay_sim::scenario::{Curves, Results};

use super::column::{Column, Values, shared};
use super::rows::{Each, TableOf};
use crate::ReportError;
use crate::simulation::Simulated;

/// One row for each link and step.
pub const LINKS_OVER_TIME: TableOf<Simulated> = TableOf {
    name: "links_over_time",
    needs: Some(("[meter] over_time", |measures| measures.over_time)),
    batches: link_batches,
};

/// One row for each group and step.
pub const SOURCES_OVER_TIME: TableOf<Simulated> = TableOf {
    name: "sources_over_time",
    needs: Some(("[meter] over_time", |measures| measures.over_time)),
    batches: source_batches,
};

/// When each step ends, in picoseconds.
fn ends(curves: &Curves, steps: usize) -> Vec<i64> {
    let mut ends = Vec::new();
    for step in 1..=steps {
        ends.push((curves.step * 1e12 * step as f64).round() as i64);
    }
    ends
}

fn link_batches(simulated: &Simulated, each: Each<'_>) -> Result<(), ReportError> {
    // A batch without rows comes first: it tells the columns.
    each(LinkRows::default().columns())?;
    for replica in &simulated.replicas {
        if let Some(curves) = &replica.over_time {
            each(LinkRows::of(replica, curves).columns())?;
        }
    }
    Ok(())
}

fn source_batches(simulated: &Simulated, each: Each<'_>) -> Result<(), ReportError> {
    each(SourceRows::default().columns())?;
    for replica in &simulated.replicas {
        if let Some(curves) = &replica.over_time {
            each(SourceRows::of(replica, curves).columns())?;
        }
    }
    Ok(())
}

#[derive(Default)]
struct LinkRows {
    seeds: Vec<u64>,
    links: Vec<bytes::Bytes>,
    ends: Vec<i64>,
    utilisation: Vec<f64>,
    dropped: Vec<u64>,
    backlog: Vec<u64>,
    wait_mean: Vec<Option<f64>>,
    wait_max: Vec<Option<f64>>,
}

impl LinkRows {
    fn of(replica: &Results, curves: &Curves) -> Self {
        let mut rows = Self::default();
        for (link, over_time) in replica.links.iter().zip(&curves.links) {
            let steps = over_time.utilisation.len();
            let name = shared(&link.name());
            rows.links.extend(vec![name; steps]);
            rows.ends.extend(ends(curves, steps));
            rows.utilisation.extend(&over_time.utilisation);
            rows.dropped.extend(&over_time.dropped);
            rows.backlog.extend(&over_time.backlog);
            rows.wait_mean.extend(&over_time.wait_mean);
            rows.wait_max.extend(&over_time.wait_max);
        }
        rows.seeds = vec![replica.seed; rows.ends.len()];
        rows
    }

    fn columns(self) -> Vec<Column> {
        vec![
            column("seed", self.seeds),
            column("link", self.links),
            column("end_ps", self.ends),
            column("utilisation", self.utilisation),
            column("dropped", self.dropped),
            column("backlog", self.backlog),
            column("wait_mean", self.wait_mean),
            column("wait_max", self.wait_max),
        ]
    }
}

#[derive(Default)]
struct SourceRows {
    seeds: Vec<u64>,
    groups: Vec<bytes::Bytes>,
    ends: Vec<i64>,
    throughput: Vec<f64>,
    delay_mean: Vec<Option<f64>>,
    delay_max: Vec<Option<f64>>,
}

impl SourceRows {
    fn of(replica: &Results, curves: &Curves) -> Self {
        let mut rows = Self::default();
        for (group, over_time) in replica.groups.iter().zip(&curves.groups) {
            let steps = over_time.throughput.len();
            let name = shared(&group.name);
            rows.groups.extend(vec![name; steps]);
            rows.ends.extend(ends(curves, steps));
            rows.throughput.extend(&over_time.throughput);
            rows.delay_mean.extend(&over_time.delay_mean);
            rows.delay_max.extend(&over_time.delay_max);
        }
        rows.seeds = vec![replica.seed; rows.ends.len()];
        rows
    }

    fn columns(self) -> Vec<Column> {
        vec![
            column("seed", self.seeds),
            column("group", self.groups),
            column("end_ps", self.ends),
            column("throughput", self.throughput),
            column("delay_mean", self.delay_mean),
            column("delay_max", self.delay_max),
        ]
    }
}

fn column<V>(name: &'static str, values: Vec<V>) -> Column
where
    Values: From<Vec<V>>,
{
    Column {
        name,
        values: values.into(),
    }
}
