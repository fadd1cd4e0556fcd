//! HTML tables for a simulation: sources, transfers, links, flows, replicas.

use std::collections::BTreeMap;

use roundelay_sim::link_name;
use roundelay_sim::scenario::{
    ClassResult, FlowResult, GroupResult, LinkResult, Results, SizeResult,
};

use super::grid::{Column, Row, table};
use crate::figures::{CLASS, SOURCE, Unit};
use crate::simulation::{Gone, Simulated};
use crate::units::{bytes, count};

/// Most rows for links and flows.
pub(super) const MOST_ROWS: usize = 500;

/// One row per group, class or link, with each replica's results.
fn rows<'a, R>(
    simulated: &'a Simulated,
    of: fn(&Results) -> &[R],
    name: impl Fn(&R) -> (String, String),
) -> Vec<Row<'a, R>> {
    let Some(first) = simulated.replicas.first() else {
        return Vec::new();
    };
    let mut rows = Vec::new();
    for (number, result) in of(first).iter().enumerate() {
        let (name, below) = name(result);
        let replicas = simulated.replicas.iter();
        rows.push(Row {
            is_sum: false,
            name,
            below,
            replicas: replicas.map(|replica| &of(replica)[number]).collect(),
        });
    }
    rows
}

/// A column for a figure of sources.
fn source(name: &str, head: &'static str, about: &'static str) -> Column<GroupResult> {
    Column::of(SOURCE, name, head, about)
}

fn kinds(group: &GroupResult) -> (String, String) {
    (group.name.clone(), group.kind.replace('_', " "))
}

/// The groups. If there are several, the last row is their total.
pub(super) fn groups(simulated: &Simulated) -> Vec<Row<'_, GroupResult>> {
    let mut rows = rows(simulated, |results| &results.groups, kinds);
    if let [_, .., sum] = &mut rows[..] {
        sum.is_sum = true;
    }
    rows
}

pub(super) fn sources(simulated: &Simulated) -> String {
    let mut columns = vec![
        source("flows", "Flows", "Flows that were opened"),
        source("throughput", "Throughput", "What arrived after the warm-up"),
        source(
            "loss",
            "Loss",
            "The part of the packets that did not arrive",
        )
        .with(|groups| Gone::mean(groups.iter().map(|group| group.packets.into()))),
        source(
            "delay_mean",
            "Mean delay",
            "From agent to the end of the route",
        ),
        Column::new(
            "p50",
            "Half of the packets took no longer",
            Unit::Seconds,
            |group| group.delay.p50,
        ),
        source("delay_p99", "p99", "99 of 100 packets took no longer"),
        Column::new(
            "p99.9",
            "999 of 1000 packets took no longer",
            Unit::Seconds,
            |group| group.delay.p999,
        ),
        source("delay_max", "max", "The longest delay"),
        source(
            "round_trip_mean",
            "Round trip",
            "Mean over complete transfers over TCP",
        ),
        source(
            "jain",
            "Jain",
            "Jain’s fairness index of the flows’ throughputs by weight",
        ),
    ];
    let mut has_marks = false;
    let mut has_deadlines = false;
    let mut has_hosts = false;
    for replica in &simulated.replicas {
        for group in &replica.groups {
            has_marks |= group.edge_marked.is_some();
            has_deadlines |= group.in_time.is_some();
            has_hosts |= group.jain_hosts.is_some();
        }
    }
    if has_marks {
        columns.insert(
            3,
            source(
                "edge_marked",
                "Edge marks",
                "Packets marked by Edge-CoDel in place of drops",
            ),
        );
    }
    if has_hosts {
        columns.push(source(
            "jain_hosts",
            "Jain, hosts",
            "Jain’s fairness index of the hosts’ throughputs",
        ));
        columns.push(source(
            "least_host",
            "Least host",
            "The least host’s throughput as a part of the hosts’ mean",
        ));
    }
    if has_deadlines {
        columns.push(source(
            "in_time",
            "In time",
            "The part of the packets that arrived in time: [meter] late",
        ));
    }
    table("sources", "Source", &groups(simulated), &columns)
}

/// The section on transfers, if there are any.
pub(super) fn transfers(simulated: &Simulated) -> String {
    let mut groups = groups(simulated);
    groups.retain(|row| {
        row.replicas.iter().any(|group| {
            group.completion.count + group.incomplete > 0 || group.retransmissions.is_some()
        })
    });
    if groups.is_empty() {
        return String::new();
    }
    let columns = [
        source(
            "transfers",
            "Complete",
            "Transfers that their receivers have",
        ),
        source(
            "incomplete",
            "Incomplete",
            "Transfers that were cut off or lost packets for good",
        ),
        source("completion_mean", "Mean", "Completion time"),
        source(
            "completion_by_bytes",
            "By bytes",
            "Mean completion time, weighted by the transfers’ bytes",
        ),
        Column::new(
            "p50",
            "Half of the transfers took no longer",
            Unit::Seconds,
            |group| group.completion.p50,
        ),
        Column::new(
            "p90",
            "9 of 10 transfers took no longer",
            Unit::Seconds,
            |group| group.completion.p90,
        ),
        source(
            "completion_p99",
            "p99",
            "99 of 100 transfers took no longer",
        ),
        Column::new(
            "max",
            "The longest completion time",
            Unit::Seconds,
            |group| group.completion.max,
        ),
        source(
            "goodput",
            "Goodput",
            "Mean over transfers of their bytes by their time",
        ),
        source(
            "retransmissions",
            "Sent again",
            "Segments that were sent again",
        ),
        source("timeouts", "Timeouts", "Timeouts of senders"),
        source(
            "round_trip_by_bytes",
            "Round trip by bytes",
            "Mean of the transfers’ mean round trips, weighted by their bytes",
        ),
        Column::new(
            "Round trip p99",
            "99 of 100 transfers had a shorter mean round trip",
            Unit::Seconds,
            |group| group.round_trip.p99,
        ),
    ];
    format!(
        "\n<section aria-labelledby=\"transfers-title\">\n  <h2 \
         id=\"transfers-title\">Transfers</h2>\n  \
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-labelledby=\"transfers-title\">\n{}\n  </div>\n  \
         <h3 id=\"sizes-title\">By size</h3>\n  <div class=\"scroll tall\" tabindex=\"0\" \
         role=\"region\" aria-labelledby=\"sizes-title\">\n{}\n  </div>\n</section>\n",
        table("transfers", "Source", &groups, &columns),
        sizes(&groups)
    )
}

/// A row for each size class among a group's transfers that any replica has.
fn size_rows<'a>(group: &Row<'a, GroupResult>) -> Vec<Row<'a, SizeResult>> {
    let mut classes: BTreeMap<u64, Vec<&SizeResult>> = BTreeMap::new();
    for replica in &group.replicas {
        for size in &replica.sizes {
            classes.entry(size.above).or_default().push(size);
        }
    }
    let mut rows = Vec::new();
    for (above, replicas) in classes {
        let name = match replicas[replicas.len() - 1].up_to {
            Some(up_to) => format!("{}, up to {}", group.name, bytes(up_to as f64)),
            None => format!("{}, larger", group.name),
        };
        rows.push(Row {
            name,
            below: format!("above {}", bytes(above as f64)),
            is_sum: group.is_sum,
            replicas,
        });
    }
    rows
}

fn sizes(groups: &[Row<'_, GroupResult>]) -> String {
    let rows: Vec<_> = groups.iter().flat_map(size_rows).collect();
    let columns = [
        Column::new(
            "Complete",
            "Complete transfers of that size",
            Unit::Count,
            |size: &SizeResult| Some(size.completion.count as f64),
        ),
        Column::new("Mean", "Completion time", Unit::Seconds, |size| {
            size.completion.mean
        }),
        Column::new(
            "p50",
            "Half of the transfers took no longer",
            Unit::Seconds,
            |size| size.completion.p50,
        ),
        Column::new(
            "p99",
            "99 of 100 transfers took no longer",
            Unit::Seconds,
            |size| size.completion.p99,
        ),
        Column::new(
            "max",
            "The longest completion time",
            Unit::Seconds,
            |size| size.completion.max,
        ),
        Column::new(
            "Goodput",
            "Mean over transfers of their bytes by their time",
            Unit::Rate,
            |size| Some(size.goodput),
        ),
        Column::new(
            "Round trip",
            "Mean over transfers over TCP",
            Unit::Seconds,
            |size| size.round_trip.mean,
        ),
        Column::new("Bytes", "Of all of them", Unit::Bytes, |size| {
            Some(size.bytes as f64)
        }),
    ];
    table("sizes", "Source and size", &rows, &columns)
}

/// A column for a figure of link classes.
fn class(name: &str, head: &'static str, about: &'static str) -> Column<ClassResult> {
    Column::of(CLASS, name, head, about)
}

pub(super) fn classes(simulated: &Simulated) -> String {
    let columns = [
        Column::new(
            "Number",
            "Links of this class, one way",
            Unit::Count,
            |class: &ClassResult| Some(class.links as f64),
        ),
        class(
            "utilisation",
            "Utilisation",
            "Mean of the parts of the time at work",
        ),
        class("busiest", "Busiest", "Utilisation of the busiest of them").with(|classes| {
            match classes.first() {
                Some(class) => class.busiest_link.clone(),
                None => String::new(),
            }
        }),
        class(
            "loss",
            "Loss",
            "Dropped and lost packets over sent and dropped packets",
        )
        .with(|classes| Gone::mean(classes.iter().map(|class| Gone::of(class)))),
        class("wait_mean", "Mean wait", "In their queues"),
        Column::new(
            "p50",
            "Half of the waits were no longer",
            Unit::Seconds,
            |class| class.wait.p50,
        ),
        class("wait_p99", "p99", "99 of 100 waits were no longer"),
        Column::new(
            "p99.9",
            "999 of 1000 waits were no longer",
            Unit::Seconds,
            |class| class.wait.p999,
        ),
        class("wait_max", "max", "The longest wait"),
    ];
    table(
        "classes",
        "Class",
        &rows(
            simulated,
            |results| &results.classes,
            |class| (class.class.to_owned(), String::new()),
        ),
        &columns,
    )
}

fn buffered(link: &LinkResult) -> String {
    let buffer = if link.buffer.starts_with(|c: char| c.is_ascii_digit()) {
        "buffer "
    } else {
        ""
    };
    format!("{}, {buffer}{}", link.queue, link.buffer)
}

/// The busiest links.
pub(super) fn links(simulated: &Simulated) -> String {
    let mut rows = rows(
        simulated,
        |results| &results.links,
        |link| (link.name(), buffered(link)),
    );
    rows.sort_by(|one, other| {
        let [one, other] = [one, other].map(|row| row.replicas[0].utilisation);
        other.total_cmp(&one)
    });
    rows.truncate(MOST_ROWS);
    let columns = [
        Column::new("Rate", "Of the link", Unit::Rate, |link: &LinkResult| {
            Some(link.rate as f64)
        }),
        Column::new(
            "Utilisation",
            "Part of the time at work",
            Unit::Part,
            |link| Some(link.utilisation),
        ),
        Column::new("Packets", "That it carried", Unit::Count, |link| {
            Some(link.packets as f64)
        }),
        Column::new(
            "Loss",
            "Dropped and lost packets over sent and dropped packets",
            Unit::Part,
            LinkResult::loss,
        )
        .with(|links| Gone::mean(links.iter().map(|link| Gone::of_link(link)))),
        Column::new("Mean wait", "In its queue", Unit::Seconds, |link| link.wait),
    ];
    table("links", "Link", &rows, &columns)
}

pub(super) fn links_about(simulated: &Simulated) -> String {
    let links = match simulated.replicas.first() {
        Some(first) => first.links.len(),
        None => 0,
    };
    let left_out = links.saturating_sub(MOST_ROWS);
    if left_out == 0 {
        "Activate a heading to sort by it.".to_owned()
    } else {
        format!(
            "The busiest {MOST_ROWS}; {} are left out.",
            count(left_out as u64)
        )
    }
}

fn flow(flow: &FlowResult) -> Row<'_, FlowResult> {
    let FlowResult {
        number,
        group,
        from,
        to,
        ..
    } = flow;
    Row {
        name: link_name(from, to),
        below: format!("{group}, flow {number}"),
        is_sum: false,
        replicas: vec![flow],
    }
}

/// The first replica's flows.
pub(super) fn flows(simulated: &Simulated) -> String {
    let mut rows = Vec::new();
    if let Some(first) = simulated.replicas.first() {
        rows.extend(first.flows.iter().take(MOST_ROWS).map(flow));
    }
    let columns = [
        Column::new(
            "Opened",
            "When it began",
            Unit::Seconds,
            |flow: &FlowResult| Some(flow.opened),
        ),
        Column::new("Sent", "Packets after the warm-up", Unit::Count, |flow| {
            Some(flow.packets.sent as f64)
        }),
        Column::new(
            "Throughput",
            "What arrived after the warm-up",
            Unit::Rate,
            |flow| Some(flow.throughput),
        ),
        Column::new(
            "Loss",
            "The part of the packets that did not arrive",
            Unit::Part,
            |flow: &FlowResult| flow.packets.loss(),
        )
        .with(|flows| Gone::mean(flows.iter().map(|flow| flow.packets.into()))),
        Column::new(
            "Mean delay",
            "From agent to the end of the route",
            Unit::Seconds,
            |flow| flow.delay,
        ),
        Column::new(
            "Deviation",
            "Of one packet’s delay from the mean",
            Unit::Seconds,
            |flow| flow.delay_deviation,
        ),
        Column::new("max", "The longest delay", Unit::Seconds, |flow| {
            flow.longest_delay
        }),
        Column::new(
            "Ratio",
            "Bennett and Zhang’s ratio: throughput over the throughput on a separate link",
            Unit::Index,
            |flow| flow.life?.bennett_zhang,
        ),
        Column::new(
            "Reordered",
            "Packets received after one that was sent later",
            Unit::Count,
            |flow| Some(flow.life?.reordered as f64),
        ),
        Column::new(
            "Startup",
            "Startup latency, of a flow that has ended",
            Unit::Seconds,
            |flow| flow.life?.startup_latency,
        ),
        Column::new(
            "B-WFI",
            "B-WFI: the largest number of bytes by which the backlogged flow was behind the share",
            Unit::Bytes,
            |flow| Some(flow.indices?.b_wfi),
        ),
        Column::new(
            "T-WFI",
            "T-WFI: the largest delay of a packet behind the flow’s share",
            Unit::Seconds,
            |flow| flow.indices?.t_wfi,
        ),
    ];
    table("flows", "Flow", &rows, &columns)
}

pub(super) fn flows_about(simulated: &Simulated) -> String {
    let Some(first) = simulated.replicas.first() else {
        return String::new();
    };
    let left_out = first.flows.len().saturating_sub(MOST_ROWS) as u64 + first.flows_left_out;
    let others = if left_out > 0 {
        format!(
            " The first {MOST_ROWS} to begin; {} more are counted above only.",
            count(left_out)
        )
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
    Row {
        name: format!("seed {}", results.seed),
        below: String::new(),
        is_sum: false,
        replicas: vec![results],
    }
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
        Column::new(
            "Throughput",
            "What arrived after the warm-up",
            Unit::Rate,
            |results: &Results| Some(all(results)?.throughput),
        ),
        Column::new(
            "Loss",
            "The part of the packets that did not arrive",
            Unit::Part,
            |results| all(results)?.loss,
        ),
        Column::new(
            "Mean delay",
            "From agent to the end of the route",
            Unit::Seconds,
            |results| all(results)?.delay.mean,
        ),
        Column::new(
            "p99",
            "99 of 100 packets took no longer",
            Unit::Seconds,
            |results| all(results)?.delay.p99,
        ),
        Column::new(
            "Completion",
            "Mean completion time of transfers",
            Unit::Seconds,
            |results| all(results)?.completion.mean,
        ),
        Column::new(
            "Completion p99",
            "99 of 100 transfers took no longer",
            Unit::Seconds,
            |results| all(results)?.completion.p99,
        ),
        Column::new(
            "Goodput",
            "Mean over transfers of their bytes by their time",
            Unit::Rate,
            |results| all(results)?.goodput,
        ),
        Column::new(
            "Packet-hops",
            "Packets that links have sent, counted once a link",
            Unit::Count,
            |results| Some(results.packet_hops as f64),
        ),
    ];
    let rows: Vec<_> = simulated.replicas.iter().map(replica).collect();
    format!(
        "\n<section aria-labelledby=\"replicas-title\">\n  <h2 \
         id=\"replicas-title\">Replicas</h2>\n  \
         <div class=\"scroll tall\" tabindex=\"0\" role=\"region\" \
         aria-labelledby=\"replicas-title\">\n{}\n  </div>\n</section>\n",
        table("replicas", "Replica", &rows, &columns)
    )
}
