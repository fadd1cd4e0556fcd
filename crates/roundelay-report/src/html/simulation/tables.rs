//! HTML tables of a simulation: sources, transfers, links, flows, replicas.

use std::collections::BTreeMap;

use roundelay_sim::link_name;
use roundelay_sim::scenario::{ClassResult, FlowResult, GroupResult, LinkResult, Results, SizeResult};

use super::grid::{Column, Row, table};
use crate::simulation::{Gone, Simulated};
use crate::units::{bytes, count, percent, rate, seconds};

/// Maximum number of rows for links and flows.
pub(super) const MOST_ROWS: usize = 500;

fn whole(value: f64) -> String {
    count(value.round() as u64)
}

pub(super) fn index(value: f64) -> String {
    format!("{value:.3}")
}

fn some(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

/// One row per group, class or link, with the results of each replica.
fn rows<'a, R>(simulated: &'a Simulated, of: fn(&Results) -> &[R], name: impl Fn(&R) -> (String, String)) -> Vec<Row<'a, R>> {
    let Some(first) = simulated.replicas.first() else { return Vec::new() };
    let row = |(number, result): (usize, &R)| {
        let (name, below) = name(result);
        Row { is_sum: false, name, below, replicas: simulated.replicas.iter().map(|replica| &of(replica)[number]).collect() }
    };
    of(first).iter().enumerate().map(row).collect()
}

fn kinds(group: &GroupResult) -> (String, String) {
    (group.name.clone(), group.kind.replace('_', " "))
}

/// The groups; with several groups, the last row is their total.
pub(super) fn groups(simulated: &Simulated) -> Vec<Row<'_, GroupResult>> {
    let mut rows = rows(simulated, |results| &results.groups, kinds);
    if let [_, .., sum] = &mut rows[..] {
        sum.is_sum = true;
    }
    rows
}

pub(super) fn sources(simulated: &Simulated) -> String {
    let mut columns = vec![
        Column::new("Flows", "Flows that were opened", whole, |group: &GroupResult| Some(group.flows as f64)),
        Column::new("Throughput", "What arrived after the warm-up", rate, |group| Some(group.throughput)),
        Column::new("Loss", "The part of the packets that did not arrive", percent, |group: &GroupResult| group.loss)
            .with(|groups| Gone::sum(groups.iter().map(|group| group.packets.into()))),
        Column::new("Mean delay", "From agent to the end of the route", seconds, |group| group.delay.mean),
        Column::new("p50", "Half of the packets took no longer", seconds, |group| group.delay.p50),
        Column::new("p99", "99 of 100 packets took no longer", seconds, |group| group.delay.p99),
        Column::new("p99.9", "999 of 1000 packets took no longer", seconds, |group| group.delay.p999),
        Column::new("max", "The longest delay", seconds, |group| group.delay.max),
        Column::new("Round trip", "Mean over complete transfers over TCP", seconds, |group| group.round_trip.mean),
        Column::new("Jain", "Jain’s fairness index of the flows’ throughputs by weight", index, |group| group.jain),
    ];
    let marked = |group: &GroupResult| group.edge_marked.map(|marked| marked as f64);
    let all_groups = || simulated.replicas.iter().flat_map(|replica| &replica.groups);
    if all_groups().any(|group| marked(group).is_some()) {
        columns.insert(3, Column::new("Edge marks", "Packets marked by Edge-CoDel in place of drops", whole, marked));
    }
    if all_groups().any(|group| group.in_time.is_some()) {
        columns.push(Column::new("In time", "The part of the packets that arrived in time: [meter] late", percent, |group| group.in_time));
    }
    table("sources", "Source", &groups(simulated), &columns)
}

/// The section on transfers, if there are any.
pub(super) fn transfers(simulated: &Simulated) -> String {
    let mut groups = groups(simulated);
    groups.retain(|row| row.replicas.iter().any(|group| group.completion.count + group.incomplete > 0 || group.retransmissions.is_some()));
    if groups.is_empty() {
        return String::new();
    }
    let columns = [
        Column::new("Complete", "Transfers that their receivers have", whole, |group: &GroupResult| Some(group.completion.count as f64)),
        Column::new("Incomplete", "Transfers that were cut off or lost packets for good", whole, |group| Some(group.incomplete as f64)),
        Column::new("Mean", "Completion time", seconds, |group| group.completion.mean),
        Column::new("By bytes", "Mean completion time, weighted by the transfers’ bytes", seconds, |group| group.completion_by_bytes),
        Column::new("p50", "Half of the transfers took no longer", seconds, |group| group.completion.p50),
        Column::new("p90", "9 of 10 transfers took no longer", seconds, |group| group.completion.p90),
        Column::new("p99", "99 of 100 transfers took no longer", seconds, |group| group.completion.p99),
        Column::new("max", "The longest completion time", seconds, |group| group.completion.max),
        Column::new("Goodput", "Mean over transfers of their bytes by their time", rate, |group| group.goodput),
        Column::new("Sent again", "Segments that were sent again", whole, |group| some(group.retransmissions)),
        Column::new("Timeouts", "Timeouts of senders", whole, |group| some(group.timeouts)),
        Column::new("Round trip by bytes", "Mean of the transfers’ mean round trips, weighted by their bytes", seconds, |group| {
            group.round_trip_by_bytes
        }),
        Column::new("Round trip p99", "99 of 100 transfers had a shorter mean round trip", seconds, |group| group.round_trip.p99),
    ];
    format!(
        "\n<section aria-labelledby=\"transfers-title\">\n  <h2 id=\"transfers-title\">Transfers</h2>\n  \
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"transfers-title\">\n{}\n  </div>\n  \
         <h3 id=\"sizes-title\">By size</h3>\n  <div class=\"scroll tall\" tabindex=\"0\" role=\"region\" aria-labelledby=\"sizes-title\">\n{}\n  </div>\n</section>\n",
        table("transfers", "Source", &groups, &columns),
        sizes(&groups)
    )
}

/// A row for each size class of a group's transfers present in any replica.
fn size_rows<'a>(group: &Row<'a, GroupResult>) -> Vec<Row<'a, SizeResult>> {
    let all = || group.replicas.iter().flat_map(|replica| &replica.sizes);
    let classes: BTreeMap<u64, Option<u64>> = all().map(|size| (size.above, size.up_to)).collect();
    let name = |up_to: Option<u64>| match up_to {
        Some(up_to) => format!("{}, up to {}", group.name, bytes(up_to as f64)),
        None => format!("{}, larger", group.name),
    };
    let row = |(above, up_to): (u64, Option<u64>)| Row {
        name: name(up_to),
        below: format!("above {}", bytes(above as f64)),
        is_sum: group.is_sum,
        replicas: all().filter(|size| size.above == above).collect(),
    };
    classes.into_iter().map(row).collect()
}

fn sizes(groups: &[Row<'_, GroupResult>]) -> String {
    let rows: Vec<_> = groups.iter().flat_map(size_rows).collect();
    let columns = [
        Column::new("Complete", "Complete transfers of that size", whole, |size: &SizeResult| Some(size.completion.count as f64)),
        Column::new("Mean", "Completion time", seconds, |size| size.completion.mean),
        Column::new("p50", "Half of the transfers took no longer", seconds, |size| size.completion.p50),
        Column::new("p99", "99 of 100 transfers took no longer", seconds, |size| size.completion.p99),
        Column::new("max", "The longest completion time", seconds, |size| size.completion.max),
        Column::new("Goodput", "Mean over transfers of their bytes by their time", rate, |size| Some(size.goodput)),
        Column::new("Round trip", "Mean over transfers over TCP", seconds, |size| size.round_trip.mean),
        Column::new("Bytes", "Of all of them", bytes, |size| Some(size.bytes as f64)),
    ];
    table("sizes", "Source and size", &rows, &columns)
}

pub(super) fn classes(simulated: &Simulated) -> String {
    let columns = [
        Column::new("Number", "Links of this class, one way", whole, |class: &ClassResult| Some(class.links as f64)),
        Column::new("Utilisation", "Mean of the parts of the time at work", percent, |class| Some(class.utilisation)),
        Column::new("Busiest", "Utilisation of the busiest of them", percent, |class: &ClassResult| Some(class.busiest))
            .with(|classes| classes.first().map_or_else(String::new, |class| class.busiest_link.clone())),
        Column::new("Loss", "Dropped and lost packets over sent and dropped packets", percent, |class: &ClassResult| class.loss)
            .with(|classes| Gone::sum(classes.iter().map(|class| Gone::of(class)))),
        Column::new("Mean wait", "In their queues", seconds, |class| class.wait.mean),
        Column::new("p50", "Half of the waits were no longer", seconds, |class| class.wait.p50),
        Column::new("p99", "99 of 100 waits were no longer", seconds, |class| class.wait.p99),
        Column::new("p99.9", "999 of 1000 waits were no longer", seconds, |class| class.wait.p999),
        Column::new("max", "The longest wait", seconds, |class| class.wait.max),
    ];
    table("classes", "Class", &rows(simulated, |results| &results.classes, |class| (class.class.to_owned(), String::new())), &columns)
}

fn buffered(link: &LinkResult) -> String {
    let buffer = if link.buffer.starts_with(|c: char| c.is_ascii_digit()) { "buffer " } else { "" };
    format!("{}, {buffer}{}", link.queue, link.buffer)
}

/// The busiest links.
pub(super) fn links(simulated: &Simulated) -> String {
    let name = |link: &LinkResult| (link.name(), buffered(link));
    let mut rows = rows(simulated, |results| &results.links, name);
    rows.sort_by(|one, other| other.replicas[0].utilisation.total_cmp(&one.replicas[0].utilisation));
    rows.truncate(MOST_ROWS);
    let columns = [
        Column::new("Rate", "Of the link", rate, |link: &LinkResult| Some(link.rate as f64)),
        Column::new("Utilisation", "Part of the time at work", percent, |link| Some(link.utilisation)),
        Column::new("Packets", "That it carried", whole, |link| Some(link.packets as f64)),
        Column::new("Loss", "Dropped and lost packets over sent and dropped packets", percent, LinkResult::loss)
            .with(|links| Gone::sum(links.iter().map(|link| Gone::of_link(link)))),
        Column::new("Mean wait", "In its queue", seconds, |link| link.wait),
    ];
    table("links", "Link", &rows, &columns)
}

pub(super) fn links_about(simulated: &Simulated) -> String {
    let links = simulated.replicas.first().map_or(0, |results| results.links.len());
    let left_out = links.saturating_sub(MOST_ROWS);
    if left_out == 0 {
        "Activate a heading to sort by it.".to_owned()
    } else {
        format!("The busiest {MOST_ROWS}; {} are left out.", count(left_out as u64))
    }
}

fn flow(flow: &FlowResult) -> Row<'_, FlowResult> {
    let FlowResult { number, group, from, to, .. } = flow;
    Row { name: link_name(from, to), below: format!("{group}, flow {number}"), is_sum: false, replicas: vec![flow] }
}

/// The flows of the first replica.
pub(super) fn flows(simulated: &Simulated) -> String {
    let flows = simulated.replicas.first().map_or(&[][..], |results| &results.flows);
    let columns = [
        Column::new("Opened", "When it began", seconds, |flow: &FlowResult| Some(flow.opened)),
        Column::new("Sent", "Packets after the warm-up", whole, |flow| Some(flow.packets.sent as f64)),
        Column::new("Throughput", "What arrived after the warm-up", rate, |flow| Some(flow.throughput)),
        Column::new("Loss", "The part of the packets that did not arrive", percent, |flow: &FlowResult| flow.packets.loss())
            .with(|flows| Gone::sum(flows.iter().map(|flow| flow.packets.into()))),
        Column::new("Mean delay", "From agent to the end of the route", seconds, |flow| flow.delay),
        Column::new("Deviation", "Of one packet’s delay from the mean", seconds, |flow| flow.delay_deviation),
        Column::new("max", "The longest delay", seconds, |flow| flow.longest_delay),
        Column::new("Ratio", "Bennett and Zhang’s ratio: throughput over the throughput on a separate link", index, |flow| {
            flow.life?.bennett_zhang
        }),
        Column::new("Reordered", "Packets received after one that was sent later", whole, |flow| Some(flow.life?.reordered as f64)),
        Column::new("Startup", "Startup latency, of a flow that has ended", seconds, |flow| flow.life?.startup_latency),
        Column::new("B-WFI", "B-WFI: the largest number of bytes by which the backlogged flow was behind the share", bytes, |flow| {
            Some(flow.indices?.b_wfi)
        }),
        Column::new("T-WFI", "T-WFI: the largest delay of a packet behind the flow’s share", seconds, |flow| flow.indices?.t_wfi),
    ];
    table("flows", "Flow", &flows.iter().take(MOST_ROWS).map(flow).collect::<Vec<_>>(), &columns)
}

pub(super) fn flows_about(simulated: &Simulated) -> String {
    let Some(first) = simulated.replicas.first() else { return String::new() };
    let left_out = first.flows.len().saturating_sub(MOST_ROWS) as u64 + first.flows_left_out;
    let others = if left_out > 0 {
        format!(" The first {MOST_ROWS} to begin; {} more are counted above only.", count(left_out))
    } else {
        String::new()
    };
    let of = if simulated.replicas.len() > 1 {
        format!("Of the first replica, seed {}.", first.seed)
    } else {
        "Flows that ended early on, and all open flows.".to_owned()
    };
    of + &others
}

fn replica(results: &Results) -> Row<'_, Results> {
    Row { name: format!("seed {}", results.seed), below: String::new(), is_sum: false, replicas: vec![results] }
}

/// The total over all sources, the last group.
fn all(results: &Results) -> Option<&GroupResult> {
    results.groups.last()
}

/// The section with a row per replica, if there are several.
pub(super) fn replicas(simulated: &Simulated) -> String {
    if simulated.replicas.len() < 2 {
        return String::new();
    }
    let columns = [
        Column::new("Throughput", "What arrived after the warm-up", rate, |results: &Results| all(results).map(|group| group.throughput)),
        Column::new("Loss", "The part of the packets that did not arrive", percent, |results| all(results)?.loss),
        Column::new("Mean delay", "From agent to the end of the route", seconds, |results| all(results)?.delay.mean),
        Column::new("p99", "99 of 100 packets took no longer", seconds, |results| all(results)?.delay.p99),
        Column::new("Completion", "Mean completion time of transfers", seconds, |results| all(results)?.completion.mean),
        Column::new("Completion p99", "99 of 100 transfers took no longer", seconds, |results| all(results)?.completion.p99),
        Column::new("Goodput", "Mean over transfers of their bytes by their time", rate, |results| all(results)?.goodput),
        Column::new("Packet-hops", "Packets that links have sent, counted once a link", whole, |results| Some(results.packet_hops as f64)),
    ];
    format!(
        "\n<section aria-labelledby=\"replicas-title\">\n  <h2 id=\"replicas-title\">Replicas</h2>\n  \
         <div class=\"scroll tall\" tabindex=\"0\" role=\"region\" aria-labelledby=\"replicas-title\">\n{}\n  </div>\n</section>\n",
        table("replicas", "Replica", &simulated.replicas.iter().map(replica).collect::<Vec<_>>(), &columns)
    )
}
