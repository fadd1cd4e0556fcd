//! HTML tables for a simulation: sources, transfers, links, flows, replicas.

use std::collections::BTreeMap;

use roundelay_sim::link_name;
use roundelay_sim::scenario::{FlowResult, GroupResult, LinkResult, Results, SizeResult};

use super::grid::{Row, nothing, table};
use crate::figures::{CLASS, FLOW, Figure, LINK, SIZE, SOURCE, TRANSFER};
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

/// Below a loss: why packets are gone.
fn reasons<R>(figure: &Figure<R>, replicas: &[&R]) -> String
where
    for<'a> Gone: From<&'a R>,
{
    if figure.label.name == "loss" {
        Gone::mean(replicas.iter().copied().map(Gone::from))
    } else {
        String::new()
    }
}

pub(super) fn sources(simulated: &Simulated) -> String {
    let rows = groups(simulated);
    table("sources", "Source", &rows, SOURCE, reasons)
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
    format!(
        "\n<section aria-labelledby=\"transfers-title\">\n  <h2 \
         id=\"transfers-title\">Transfers</h2>\n  \
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" \
         aria-labelledby=\"transfers-title\">\n{}\n  </div>\n  \
         <h3 id=\"sizes-title\">By size</h3>\n  <div class=\"scroll tall\" tabindex=\"0\" \
         role=\"region\" aria-labelledby=\"sizes-title\">\n{}\n  </div>\n</section>\n",
        table("transfers", "Source", &groups, TRANSFER, nothing),
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
    table("sizes", "Source and size", &rows, SIZE, nothing)
}

pub(super) fn classes(simulated: &Simulated) -> String {
    let rows = rows(
        simulated,
        |results| &results.classes,
        |class| (class.class.to_owned(), String::new()),
    );
    table("classes", "Class", &rows, CLASS, |figure, classes| {
        match (figure.label.name, classes) {
            ("busiest", [first, ..]) => first.busiest_link.clone(),
            _ => reasons(figure, classes),
        }
    })
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
    table("links", "Link", &rows, LINK, reasons)
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
    table("flows", "Flow", &rows, FLOW, reasons)
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

/// Figures of replicas: as many as fit.
const OF_REPLICAS: [&str; 7] = [
    "throughput",
    "loss",
    "delay_mean",
    "delay_p99",
    "completion_mean",
    "completion_p99",
    "goodput",
];

/// A row for each replica: all sources together, the last group.
fn replica(results: &Results) -> Row<'_, GroupResult> {
    Row {
        name: format!("seed {}", results.seed),
        below: format!("{} packet-hops", count(results.packet_hops)),
        is_sum: false,
        replicas: results.groups.last().into_iter().collect(),
    }
}

/// The section with a row per replica, if there are several.
pub(super) fn replicas(simulated: &Simulated) -> String {
    if simulated.replicas.len() < 2 {
        return String::new();
    }
    let rows: Vec<_> = simulated.replicas.iter().map(replica).collect();
    let mut figures = Vec::new();
    for list in [SOURCE, TRANSFER] {
        for figure in list {
            if OF_REPLICAS.contains(&figure.label.name) {
                figures.push(figure);
            }
        }
    }
    format!(
        "\n<section aria-labelledby=\"replicas-title\">\n  <h2 \
         id=\"replicas-title\">Replicas</h2>\n  \
         <div class=\"scroll tall\" tabindex=\"0\" role=\"region\" \
         aria-labelledby=\"replicas-title\">\n{}\n  </div>\n</section>\n",
        table("replicas", "Replica", &rows, figures, nothing)
    )
}
