//! Table of transfers: one row per replica and transfer of a simulation. Times are
//! picoseconds of simulated time.

use roundelay::{Duration, Instant};
use roundelay_sim::NodeId;
use roundelay_sim::scenario::{Results, Transfer};

use super::column::{Column, GROUP_ROWS, Values, shared};
use super::rows::{Each, TableOf};
use crate::ReportError;
use crate::simulation::Simulated;

/// One row for each transfer in [`Results`].
pub const TRANSFERS: TableOf<Simulated> =
    TableOf { name: "transfers", needs: Some(("[meter] transfers", |measures| measures.transfers)), batches };

fn batches(simulated: &Simulated, each: Each<'_>) -> Result<(), ReportError> {
    let names = &simulated.node_names;
    each(Rows { seed: 0, groups: Vec::new(), nodes: &[], transfers: &[] }.columns())?;
    for replica in &simulated.replicas {
        let chunks = replica.transfers.chunks(GROUP_ROWS);
        chunks.map(|transfers| Rows::of(replica, names, transfers)).try_for_each(|rows| each(rows.columns()))?;
    }
    Ok(())
}

/// Some transfers of a replica, and the names of groups and nodes.
struct Rows<'a> {
    seed: u64,
    groups: Vec<&'a str>,
    nodes: &'a [String],
    transfers: &'a [Transfer],
}

impl<'a> Rows<'a> {
    fn of(replica: &'a Results, nodes: &'a [String], transfers: &'a [Transfer]) -> Self {
        Self { seed: replica.seed, groups: replica.groups.iter().map(|group| group.name.as_str()).collect(), nodes, transfers }
    }

    fn counts(&self, name: &'static str, of: impl Fn(&Transfer) -> u64) -> Column {
        Column { name, values: Values::Counts(self.transfers.iter().map(of).collect()) }
    }

    fn some_counts(&self, name: &'static str, of: impl Fn(&Transfer) -> Option<u32>) -> Column {
        let values = self.transfers.iter().map(|transfer| of(transfer).map(u64::from));
        Column { name, values: Values::OptionalCounts(values.collect()) }
    }

    fn texts(&self, name: &'static str, of: impl Fn(&Transfer) -> &'a str) -> Column {
        Column { name, values: Values::Texts(self.transfers.iter().map(|transfer| shared(of(transfer))).collect()) }
    }

    fn some_times(&self, name: &'static str, of: impl Fn(&Transfer) -> Option<u64>) -> Column {
        let values = self.transfers.iter().map(|transfer| of(transfer).map(u64::cast_signed));
        Column { name, values: Values::OptionalTimes(values.collect()) }
    }

    fn node(&self, node: NodeId) -> &'a str {
        &self.nodes[node.0 as usize]
    }

    fn columns(&self) -> Vec<Column> {
        let starts = self.transfers.iter().map(|transfer| transfer.start.as_picos().cast_signed()).collect();
        vec![
            self.counts("seed", |_| self.seed),
            self.counts("flow", |transfer| transfer.flow),
            self.texts("group", |transfer| self.groups[transfer.group as usize]),
            self.texts("from", |transfer| self.node(transfer.from)),
            self.texts("to", |transfer| self.node(transfer.to)),
            Column { name: "start_ps", values: Values::Times(starts) },
            self.counts("bytes", |transfer| transfer.bytes),
            self.some_times("delivered_ps", |transfer| transfer.delivered.map(Instant::as_picos)),
            self.some_times("acknowledged_ps", |transfer| transfer.acknowledged.map(Instant::as_picos)),
            Column { name: "complete", values: Values::Flags(self.transfers.iter().map(|transfer| transfer.is_complete).collect()) },
            self.some_counts("retransmissions", |transfer| transfer.retransmissions),
            self.some_counts("timeouts", |transfer| transfer.timeouts),
            self.some_times("round_trip_ps", |transfer| transfer.round_trip.map(Duration::as_picos)),
        ]
    }
}
