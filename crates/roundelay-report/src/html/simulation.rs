//! HTML page for a simulation, self-contained.

mod data;
mod fairness;
mod grid;
mod lives;
mod page;
mod tables;

use roundelay_sim::LinkClass;
use roundelay_sim::scenario::{Curves, Results};

pub use self::page::Page;

use self::grid::small;
use self::page::note_on_first_replica;
use super::frame::{Frame, escape, fact, fill, notes};
use crate::side_by_side::criterion;
use crate::simulation::Simulated;
use crate::units::{count, seconds};

const TEMPLATE: &str = include_str!("../../assets/simulation.html");
pub(super) const STYLE: &str = include_str!("../../assets/simulation.css");
pub(super) const SCRIPT: &str = include_str!("../../assets/simulation.js");

/// The simulation as one self-contained HTML page: nothing is loaded, and the content security
/// policy forbids loading.
pub fn simulation_html(page: &Page<'_>) -> String {
    let simulated = page.simulated;
    let name = &simulated.name;
    let charted = data::charted(page.curves);
    let main = fill(TEMPLATE, |slot| match slot {
        "answer" => escape(&answer(simulated)),
        "figures" => figures(simulated),
        "lead" => lead(simulated),
        "facts" => facts(simulated),
        "notes" => notes(&simulated.notes),
        "sources" => tables::sources(simulated),
        "intervals" => intervals(simulated).to_owned(),
        "transfers" => tables::transfers(simulated) + &lives::section(simulated),
        "classes" => tables::classes(simulated),
        "links" => tables::links(simulated),
        "links_about" => tables::links_about(simulated),
        "curves_of" => note_on_first_replica(simulated, "The curves are"),
        "fairness" => fairness::section(page),
        "completion_figure" => completion(page.curves),
        "charted" => format!(
            "{} {}",
            data::charted_about(&charted, page.curves),
            note_on_first_replica(simulated, "All are")
        ),
        "flows" => tables::flows(simulated),
        "flows_about" => tables::flows_about(simulated),
        "replicas" => tables::replicas(simulated),
        "scenario" => escape_lines(page.scenario),
        "provenance" => provenance(page.provenance),
        other => unreachable!("the template has a slot {other} that nothing fills"),
    });
    let title = format!("{name} – Roundelay");
    let footer = format!(", seed {}", seeds(simulated));
    let data = data::page(page, &charted);
    Frame {
        version: simulated.version,
        title: &title,
        name,
        main,
        footer: &footer,
        data: &data,
        style: STYLE,
        script: SCRIPT,
    }
    .html()
}

fn seeds(simulated: &Simulated) -> String {
    match &simulated.replicas[..] {
        [first, .., last] => format!("{} to {}", first.seed, last.seed),
        [only] => only.seed.to_string(),
        [] => "none".to_owned(),
    }
}

/// Most groups that get a figure below the headline.
const MOST_FIGURES: usize = 6;

/// Most groups that get a figure in the headline.
const MOST_NAMED: usize = 3;

/// The headline, a sentence: what was tested, and what came out for the first groups.
fn answer(simulated: &Simulated) -> String {
    let name = &simulated.name;
    let Some(first) = simulated.replicas.first() else {
        return format!("{name}: no results");
    };
    let mut clauses = Vec::new();
    for (group, summary) in first.groups.iter().zip(&simulated.summary.groups) {
        if group.kind.is_empty() || clauses.len() == MOST_NAMED {
            continue;
        }
        let figure = criterion(group);
        if let Some(interval) = summary.means.interval(figure.label.name) {
            let is = if clauses.is_empty() { "is " } else { "" };
            let value = figure.label.unit.text(interval.mean);
            clauses.push(format!(
                "the {} of {} {is}{value}",
                figure.label.words(),
                group.name
            ));
        }
    }
    let came_out = match &clauses[..] {
        [] => "no packet sent after the warm-up arrived".to_owned(),
        [only] => only.clone(),
        [others @ .., last] => format!("{}, and {last}", others.join(", ")),
    };
    format!("{}, {came_out}.", tested(first))
}

/// The routers' queues.
fn tested(first: &Results) -> String {
    let mut queues: Vec<&str> = Vec::new();
    for link in &first.links {
        if link.class != LinkClass::Host.name() && !queues.contains(&&link.queue[..]) {
            queues.push(&link.queue);
        }
    }
    match queues[..] {
        [] => "Without routers".to_owned(),
        [queue] => format!("Under {queue}"),
        [one, other] => format!("Under {one} and {other}"),
        [..] => format!("Under {} kinds of queues", queues.len()),
    }
}

/// What came out: the figure that each group's senders wait for.
fn figures(simulated: &Simulated) -> String {
    let Some(first) = simulated.replicas.first() else {
        return String::new();
    };
    let mut entries = Vec::new();
    for (group, summary) in first.groups.iter().zip(&simulated.summary.groups) {
        if group.kind.is_empty() {
            continue;
        }
        let figure = criterion(group);
        let mut beside = Vec::new();
        if summary.means.is_positive("loss") {
            beside.push(format!("loss {}", summary.means.text("loss")));
        }
        // The mean is over those that are complete.
        if figure.label.name == "completion_mean" && summary.means.is_positive("incomplete") {
            beside.push(format!("{} incomplete", summary.means.text("incomplete")));
        }
        let beside = small(&beside.join(", "));
        entries.push(format!(
            "    <div><dt>{}, {}</dt><dd>{}{beside}</dd></div>",
            escape(&group.name),
            figure.label.words(),
            escape(&summary.means.text(figure.label.name))
        ));
    }
    entries.truncate(MOST_FIGURES);
    format!("  <dl class=\"figures\">\n{}\n  </dl>", entries.join("\n"))
}

fn lead(simulated: &Simulated) -> String {
    let warmup = if simulated.warmup > 0.0 {
        format!(
            ", of which the first {} count for nothing",
            seconds(simulated.warmup)
        )
    } else {
        String::new()
    };
    let replicas = match simulated.replicas.len() {
        1 => String::new(),
        number => format!(
            " {} replicas: figures are means, with 95% confidence intervals.",
            count(number as u64)
        ),
    };
    format!(
        "{} of simulated time{warmup}.{replicas}",
        seconds(simulated.duration)
    )
}

const fn intervals(simulated: &Simulated) -> &'static str {
    if simulated.replicas.len() > 1 {
        " Figures are means over the replicas, ± half the width of Student’s 95% confidence \
         interval."
    } else {
        ""
    }
}

fn facts(simulated: &Simulated) -> String {
    let replicas = &simulated.replicas;
    let mut links = 0;
    let mut flows = 0;
    if let Some(first) = replicas.first() {
        links = first.links.len() as u64;
        flows = first.groups.last().map_or(0, |group| group.flows);
    }
    let hops = replicas.iter().map(|results| results.packet_hops);
    let events = replicas.iter().map(|results| results.events);
    let facts = [
        ("Nodes", count(simulated.nodes as u64)),
        ("Hosts", count(simulated.hosts as u64)),
        ("Links, one way", count(links)),
        ("Flows", count(flows)),
        ("Packet-hops", count(hops.sum())),
        ("Events", count(events.sum())),
        (
            if replicas.len() > 1 { "Seeds" } else { "Seed" },
            seeds(simulated),
        ),
    ];
    facts.map(|(name, value)| fact(name, &value)).join("\n")
}

/// A chart with completion times, if there are any.
fn completion(curves: &Curves) -> String {
    let mut groups = curves.groups.iter();
    if groups.all(|group| group.completion.is_empty()) {
        return String::new();
    }
    "  <figure>\n    <figcaption><h3>Completion times of transfers</h3><p>Share of the complete \
     transfers, by the time that they took.</p></figcaption>\n    \
     <div class=\"chart\" id=\"completion\"></div>\n  </figure>"
        .to_owned()
}

fn provenance(entries: &[(String, String)]) -> String {
    let facts: Vec<String> = entries
        .iter()
        .map(|(name, value)| fact(&escape(name), value))
        .collect();
    facts.join("\n")
}

/// Escapes text and keeps its lines and tabs.
fn escape_lines(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.lines() {
        lines.push(escape(&line.replace('\t', "    ")));
    }
    lines.join("\n")
}
