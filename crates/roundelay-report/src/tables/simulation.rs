//! Tables for a simulation: one row per replica and flow, and one per replica and link.

use roundelay_sim::scenario::{FlowResult, LinkResult, Measures};

use super::column::{Column, GROUP_ROWS, shared};
use super::rows::{Each, TableOf};
use crate::ReportError;
use crate::simulation::Simulated;

/// One row for each flow in [`Results`] (`flows` and `more_flows`), with the same names and units
/// (seconds, bytes, bits per second).
///
/// [`Results`]: roundelay_sim::scenario::Results
pub const SIMULATED_FLOWS: TableOf<Simulated> = TableOf {
    name: "flows",
    needs: None,
    batches: flow_batches,
};

fn flow_batches(simulated: &Simulated, each: Each<'_>) -> Result<(), ReportError> {
    let asked = Asked::of(simulated);
    each(flow_columns(0, &[], asked))?;
    for replica in &simulated.replicas {
        let mut flows: Vec<_> = replica.flows.iter().chain(&replica.more_flows).collect();
        flows.sort_by_key(|flow| flow.number);
        flows
            .chunks(GROUP_ROWS)
            .try_for_each(|flows| each(flow_columns(replica.seed, flows, asked)))?;
    }
    Ok(())
}

/// One row for each link.
pub const LINKS: TableOf<Simulated> = TableOf {
    name: "links",
    needs: None,
    batches: link_batches,
};

fn link_batches(simulated: &Simulated, each: Each<'_>) -> Result<(), ReportError> {
    let asked = Asked::of(simulated);
    each(link_columns(0, &[], asked))?;
    let mut replicas = simulated
        .replicas
        .iter()
        .filter(|replica| !replica.links.is_empty());
    replicas.try_for_each(|replica| each(link_columns(replica.seed, &replica.links, asked)))
}

/// Measurements requested by `[meter]`: their columns are written only on request.
#[derive(Debug, Clone, Copy)]
struct Asked {
    lives: bool,
    indices: bool,
}

impl Asked {
    fn of(simulated: &Simulated) -> Self {
        let Measures { flows, wfi, .. } = simulated.measures;
        Self {
            lives: flows,
            indices: wfi,
        }
    }
}

fn flow_columns(seed: u64, flows: &[&FlowResult], asked: Asked) -> Vec<Column> {
    let mut columns = plain_flow_columns(seed, flows);
    if asked.lives {
        columns.extend([
            Column::of("life_sent", flows, |flow| Some(flow.life?.sent)),
            Column::of("life_received", flows, |flow| Some(flow.life?.received)),
            Column::of("reordered", flows, |flow| Some(flow.life?.reordered)),
            Column::of("first_sent", flows, |flow| flow.life?.first_sent),
            Column::of("last_received", flows, |flow| flow.life?.last_received),
            Column::of("life_throughput", flows, |flow| flow.life?.throughput),
            Column::of("round_trip", flows, |flow| flow.life?.round_trip),
            Column::of("bennett_zhang", flows, |flow| flow.life?.bennett_zhang),
            Column::of("startup_latency", flows, |flow| flow.life?.startup_latency),
        ]);
    }
    if asked.indices {
        columns.extend([
            Column::of("b_wfi", flows, |flow| Some(flow.indices?.b_wfi)),
            Column::of("t_wfi", flows, |flow| flow.indices?.t_wfi),
        ]);
    }
    columns
}

fn plain_flow_columns(seed: u64, flows: &[&FlowResult]) -> Vec<Column> {
    vec![
        Column::of("seed", flows, |_| seed),
        Column::of("flow", flows, |flow| flow.number),
        Column::of("group", flows, |flow| &flow.group[..]),
        Column::of("from", flows, |flow| &flow.from[..]),
        Column::of("to", flows, |flow| &flow.to[..]),
        Column::of("opened", flows, |flow| flow.opened),
        Column::of("open", flows, |flow| flow.open),
        Column::of("sent", flows, |flow| flow.packets.sent),
        Column::of("delivered", flows, |flow| flow.packets.delivered),
        Column::of("drops_full", flows, |flow| flow.packets.full),
        Column::of("drops_pushed_out", flows, |flow| flow.packets.pushed_out),
        Column::of("drops_early", flows, |flow| flow.packets.early),
        Column::of("drops_refused", flows, |flow| flow.packets.refused),
        Column::of("drops_filtered", flows, |flow| flow.packets.filtered),
        Column::of("lost", flows, |flow| flow.packets.lost),
        Column::of("edge_dropped", flows, |flow| flow.packets.edge_dropped),
        Column::of("on_their_way", flows, |flow| flow.packets.on_their_way),
        Column::of("late", flows, |flow| flow.packets.late),
        Column::of("throughput", flows, |flow| flow.throughput),
        Column::of("delay_mean", flows, |flow| flow.delay),
        Column::of("delay_deviation", flows, |flow| flow.delay_deviation),
        Column::of("delay_max", flows, |flow| flow.longest_delay),
        Column::of("retransmissions", flows, |flow| flow.retransmissions),
        Column::of("timeouts", flows, |flow| flow.timeouts),
    ]
}

fn link_columns(seed: u64, links: &[LinkResult], asked: Asked) -> Vec<Column> {
    let mut columns = plain_link_columns(seed, links);
    if asked.indices {
        columns.extend([
            Column::of("jain_mean", links, |link| {
                Some(link.backlogged.as_ref()?.mean)
            }),
            Column::of("jain_min", links, |link| {
                Some(link.backlogged.as_ref()?.min)
            }),
        ]);
    }
    columns
}

fn plain_link_columns(seed: u64, links: &[LinkResult]) -> Vec<Column> {
    vec![
        Column::of("seed", links, |_| seed),
        Column::of("link", links, |link| shared(link.name().as_str())),
        Column::of("from", links, |link| &link.from[..]),
        Column::of("to", links, |link| &link.to[..]),
        Column::of("class", links, |link| link.class),
        Column::of("queue", links, |link| &link.queue[..]),
        Column::of("buffer", links, |link| &link.buffer[..]),
        Column::of("rate", links, |link| link.rate),
        Column::of("utilisation", links, |link| link.utilisation),
        Column::of("arrived", links, |link| link.arrived),
        Column::of("packets", links, |link| link.packets),
        Column::of("drops_full", links, |link| link.dropped[0]),
        Column::of("drops_pushed_out", links, |link| link.dropped[1]),
        Column::of("drops_early", links, |link| link.dropped[2]),
        Column::of("drops_refused", links, |link| link.dropped[3]),
        Column::of("drops_filtered", links, |link| link.dropped[4]),
        Column::of("lost", links, |link| link.lost),
        Column::of("wait_mean", links, |link| link.wait),
    ]
}
