//! Tables of a simulation: one row per replica and flow, and one per replica and link.

use roundelay_sim::scenario::{Backlogged, FlowLife, FlowResult, LinkResult, Measures};

use super::column::{Column, GROUP_ROWS, Values, shared};
use super::rows::{Each, TableOf};
use crate::ReportError;
use crate::simulation::Simulated;

/// One row for each flow in [`Results`] (`flows` and `more_flows`), with the same names and units
/// (seconds, bytes, bits per second).
///
/// [`Results`]: roundelay_sim::scenario::Results
pub const SIMULATED_FLOWS: TableOf<Simulated> = TableOf { name: "flows", needs: None, batches: flow_batches };

fn flow_batches(simulated: &Simulated, each: Each<'_>) -> Result<(), ReportError> {
    let asked = Asked::of(simulated);
    each(flow_columns(0, &[], asked))?;
    for replica in &simulated.replicas {
        let mut flows: Vec<_> = replica.flows.iter().chain(&replica.more_flows).collect();
        flows.sort_by_key(|flow| flow.number);
        flows.chunks(GROUP_ROWS).try_for_each(|flows| each(flow_columns(replica.seed, flows, asked)))?;
    }
    Ok(())
}

/// One row for each link.
pub const LINKS: TableOf<Simulated> = TableOf { name: "links", needs: None, batches: link_batches };

fn link_batches(simulated: &Simulated, each: Each<'_>) -> Result<(), ReportError> {
    let asked = Asked::of(simulated);
    each(link_columns(0, &[], asked))?;
    let mut replicas = simulated.replicas.iter().filter(|replica| !replica.links.is_empty());
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
        Self { lives: flows, indices: wfi }
    }
}

fn flow_columns(seed: u64, flows: &[&FlowResult], asked: Asked) -> Vec<Column> {
    let mut columns = plain_flow_columns(seed, flows);
    let numbers =
        |name, of: fn(&FlowResult) -> Option<f64>| column(name, Values::OptionalNumbers(flows.iter().map(|flow| of(flow)).collect()));
    let counts = |name, of: fn(&FlowLife) -> u64| {
        column(name, Values::OptionalCounts(flows.iter().map(|flow| flow.life.as_ref().map(of)).collect()))
    };
    if asked.lives {
        columns.extend([
            counts("life_sent", |life| life.sent),
            counts("life_received", |life| life.received),
            counts("reordered", |life| life.reordered),
            numbers("first_sent", |flow| flow.life?.first_sent),
            numbers("last_received", |flow| flow.life?.last_received),
            numbers("life_throughput", |flow| flow.life?.throughput),
            numbers("round_trip", |flow| flow.life?.round_trip),
            numbers("bennett_zhang", |flow| flow.life?.bennett_zhang),
            numbers("startup_latency", |flow| flow.life?.startup_latency),
        ]);
    }
    if asked.indices {
        columns.extend([numbers("b_wfi", |flow| Some(flow.indices?.b_wfi)), numbers("t_wfi", |flow| flow.indices?.t_wfi)]);
    }
    columns
}

fn plain_flow_columns(seed: u64, flows: &[&FlowResult]) -> Vec<Column> {
    let flows = || flows.iter().copied();
    let counts = |name, of: fn(&FlowResult) -> u64| column(name, Values::Counts(flows().map(of).collect()));
    let some_counts = |name, of: fn(&FlowResult) -> Option<u64>| column(name, Values::OptionalCounts(flows().map(of).collect()));
    let numbers = |name, of: fn(&FlowResult) -> f64| column(name, Values::Numbers(flows().map(of).collect()));
    let some_numbers = |name, of: fn(&FlowResult) -> Option<f64>| column(name, Values::OptionalNumbers(flows().map(of).collect()));
    let texts = |name, of: fn(&FlowResult) -> &str| column(name, Values::Texts(flows().map(|flow| shared(of(flow))).collect()));
    vec![
        column("seed", Values::Counts(flows().map(|_| seed).collect())),
        counts("flow", |flow| flow.number),
        texts("group", |flow| &flow.group),
        texts("from", |flow| &flow.from),
        texts("to", |flow| &flow.to),
        numbers("opened", |flow| flow.opened),
        column("open", Values::Flags(flows().map(|flow| flow.open).collect())),
        counts("sent", |flow| flow.packets.sent),
        counts("delivered", |flow| flow.packets.delivered),
        counts("drops_full", |flow| flow.packets.full),
        counts("drops_pushed_out", |flow| flow.packets.pushed_out),
        counts("drops_early", |flow| flow.packets.early),
        counts("drops_refused", |flow| flow.packets.refused),
        counts("lost", |flow| flow.packets.lost),
        counts("edge_dropped", |flow| flow.packets.edge_dropped),
        counts("on_their_way", |flow| flow.packets.on_their_way),
        counts("late", |flow| flow.packets.late),
        numbers("throughput", |flow| flow.throughput),
        some_numbers("delay_mean", |flow| flow.delay),
        some_numbers("delay_deviation", |flow| flow.delay_deviation),
        some_numbers("delay_max", |flow| flow.longest_delay),
        some_counts("retransmissions", |flow| flow.retransmissions),
        some_counts("timeouts", |flow| flow.timeouts),
    ]
}

fn link_columns(seed: u64, links: &[LinkResult], asked: Asked) -> Vec<Column> {
    let mut columns = plain_link_columns(seed, links);
    let numbers = |name, of: fn(&Backlogged) -> f64| {
        column(name, Values::OptionalNumbers(links.iter().map(|link| link.backlogged.as_ref().map(of)).collect()))
    };
    if asked.indices {
        columns.extend([numbers("jain_mean", |jain| jain.mean), numbers("jain_min", |jain| jain.min)]);
    }
    columns
}

fn plain_link_columns(seed: u64, links: &[LinkResult]) -> Vec<Column> {
    let counts = |name, of: fn(&LinkResult) -> u64| column(name, Values::Counts(links.iter().map(of).collect()));
    let numbers = |name, of: fn(&LinkResult) -> f64| column(name, Values::Numbers(links.iter().map(of).collect()));
    let some_numbers = |name, of: fn(&LinkResult) -> Option<f64>| column(name, Values::OptionalNumbers(links.iter().map(of).collect()));
    let texts = |name, of: fn(&LinkResult) -> &str| column(name, Values::Texts(links.iter().map(|link| shared(of(link))).collect()));
    let name = |link: &LinkResult| shared(link.name().as_str());
    vec![
        column("seed", Values::Counts(vec![seed; links.len()])),
        column("link", Values::Texts(links.iter().map(name).collect())),
        texts("from", |link| &link.from),
        texts("to", |link| &link.to),
        texts("class", |link| link.class),
        texts("queue", |link| &link.queue),
        texts("buffer", |link| &link.buffer),
        counts("rate", |link| link.rate),
        numbers("utilisation", |link| link.utilisation),
        counts("arrived", |link| link.arrived),
        counts("packets", |link| link.packets),
        counts("drops_full", |link| link.dropped[0]),
        counts("drops_pushed_out", |link| link.dropped[1]),
        counts("drops_early", |link| link.dropped[2]),
        counts("drops_refused", |link| link.dropped[3]),
        counts("lost", |link| link.lost),
        some_numbers("wait_mean", |link| link.wait),
    ]
}

const fn column(name: &'static str, values: Values) -> Column {
    Column { name, values }
}
