//! Table for transfers: one row per replica and transfer of a simulation. Times are simulated, in
//! picoseconds.

use roundelay_sim::NodeId;
use roundelay_sim::scenario::{Results, Transfer};

use super::column::{Column, GROUP_ROWS, picos};
use super::rows::{Each, TableOf};
use crate::ReportError;
use crate::simulation::Simulated;

/// One row for each transfer in [`Results`].
pub const TRANSFERS: TableOf<Simulated> = TableOf {
    name: "transfers",
    needs: Some(("[meter] transfers", |measures| measures.transfers)),
    batches,
};

fn batches(simulated: &Simulated, each: Each<'_>) -> Result<(), ReportError> {
    let names = &simulated.node_names;
    // A batch without rows comes first: it tells the columns.
    each(
        Rows {
            seed: 0,
            groups: Vec::new(),
            nodes: &[],
            transfers: &[],
        }
        .columns(),
    )?;
    for replica in &simulated.replicas {
        for transfers in replica.transfers.chunks(GROUP_ROWS) {
            each(Rows::of(replica, names, transfers).columns())?;
        }
    }
    Ok(())
}

/// Some of a replica's transfers, and the names of groups and nodes.
struct Rows<'a> {
    seed: u64,
    groups: Vec<&'a str>,
    nodes: &'a [String],
    transfers: &'a [Transfer],
}

impl<'a> Rows<'a> {
    fn of(replica: &'a Results, nodes: &'a [String], transfers: &'a [Transfer]) -> Self {
        let names = replica.groups.iter().map(|group| group.name.as_str());
        Self {
            seed: replica.seed,
            groups: names.collect(),
            nodes,
            transfers,
        }
    }

    fn node(&self, node: NodeId) -> &'a str {
        &self.nodes[node.0 as usize]
    }

    fn columns(&self) -> Vec<Column> {
        vec![
            Column::of("seed", self.transfers, |_| self.seed),
            Column::of("flow", self.transfers, |transfer| transfer.flow),
            Column::of("group", self.transfers, |transfer| {
                self.groups[transfer.group as usize]
            }),
            Column::of("from", self.transfers, |transfer| self.node(transfer.from)),
            Column::of("to", self.transfers, |transfer| self.node(transfer.to)),
            Column::of("start_ps", self.transfers, |transfer| picos(transfer.start)),
            Column::of("bytes", self.transfers, |transfer| transfer.bytes),
            Column::of("delivered_ps", self.transfers, |transfer| {
                transfer.delivered.map(picos)
            }),
            Column::of("acknowledged_ps", self.transfers, |transfer| {
                transfer.acknowledged.map(picos)
            }),
            Column::of("complete", self.transfers, |transfer| transfer.is_complete),
            Column::of("retransmissions", self.transfers, |transfer| {
                transfer.retransmissions.map(u64::from)
            }),
            Column::of("timeouts", self.transfers, |transfer| {
                transfer.timeouts.map(u64::from)
            }),
            Column::of("round_trip_ps", self.transfers, |transfer| {
                Some(transfer.round_trip?.as_picos().cast_signed())
            }),
        ]
    }
}
