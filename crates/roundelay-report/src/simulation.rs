//! Simulation report: terminal tables and JSON.

use roundelay_sim::scenario::{ClassResult, GroupResult, Interval, LinkResult, Measures, Results, Scenario, Spread, student_95};
use roundelay_sim::{LinkClass, NodeId};
use serde::Serialize;

use crate::document::{self, Block, Section, duration_in_words, seeds_in_words};
use crate::grid::{Cell, Column, Grid, Paint};
use crate::lives::{self, IndicesSummary, LivesSummary};
use crate::table::TableStyle;
use crate::text::{clean, cut};
use crate::units::{count, percent, rate, seconds, short_count};

/// A scenario and its replicas, one or more.
#[derive(Debug, Clone, Serialize)]
pub struct Simulated {
    /// Version of this program.
    pub version: &'static str,
    /// Name of the scenario.
    pub name: String,
    /// Simulated time, seconds.
    pub duration: f64,
    /// Excluded start of the simulated time, seconds.
    pub warmup: f64,
    /// Nodes of the network.
    pub nodes: usize,
    /// Nodes that send and receive.
    pub hosts: usize,
    /// Notes on oddities of the scenario's captures, a sentence each.
    pub notes: Vec<String>,
    /// Measurements requested by the scenario.
    #[serde(skip)]
    pub measures: Measures,
    /// Names of nodes by number.
    #[serde(skip)]
    pub node_names: Vec<String>,
    /// Means and 95% confidence intervals over the replicas.
    pub summary: Summary,
    /// Results of each replica.
    pub replicas: Vec<Results>,
}

/// Means and confidence intervals.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Summary {
    /// By group.
    pub groups: Vec<GroupSummary>,
    /// By class of links.
    pub classes: Vec<ClassSummary>,
}

/// Summary of a group; none if no replica has the figure.
#[derive(Debug, Clone, Serialize)]
pub struct GroupSummary {
    name: String,
    flows: Option<Interval>,
    throughput: Option<Interval>,
    loss: Option<Interval>,
    /// Part of the packets that arrived in time, if the scenario sets a limit.
    in_time: Option<Interval>,
    /// Packets marked by Edge-CoDel, if active.
    edge_marked: Option<Interval>,
    delay_mean: Option<Interval>,
    delay_p99: Option<Interval>,
    delay_max: Option<Interval>,
    jain: Option<Interval>,
    transfers: Option<Interval>,
    incomplete: Option<Interval>,
    completion_mean: Option<Interval>,
    completion_p99: Option<Interval>,
    completion_by_bytes: Option<Interval>,
    goodput: Option<Interval>,
    retransmissions: Option<Interval>,
    timeouts: Option<Interval>,
    round_trip_mean: Option<Interval>,
    round_trip_by_bytes: Option<Interval>,
    #[serde(skip_serializing_if = "Option::is_none")]
    lives: Option<LivesSummary>,
    #[serde(skip_serializing_if = "Option::is_none")]
    indices: Option<IndicesSummary>,
}

impl GroupSummary {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) const fn lives(&self) -> Option<&LivesSummary> {
        self.lives.as_ref()
    }

    pub(crate) const fn indices(&self) -> Option<&IndicesSummary> {
        self.indices.as_ref()
    }
}

/// Summary of a class of links.
#[derive(Debug, Clone, Serialize)]
pub struct ClassSummary {
    class: &'static str,
    utilisation: Option<Interval>,
    busiest: Option<Interval>,
    loss: Option<Interval>,
    wait_mean: Option<Interval>,
    wait_p99: Option<Interval>,
    wait_max: Option<Interval>,
}

impl Simulated {
    /// `replicas` are in the order of their seeds. `notes` is empty.
    pub fn new(version: &'static str, scenario: &Scenario, replicas: Vec<Results>) -> Self {
        let network = &scenario.topology.network;
        Self {
            version,
            name: scenario.name.clone(),
            duration: scenario.duration.as_secs_f64(),
            warmup: scenario.warmup.as_secs_f64(),
            nodes: network.nodes(),
            hosts: scenario.topology.hosts.len(),
            notes: Vec::new(),
            measures: scenario.measures.clone(),
            node_names: (0..network.nodes() as u32).map(|node| network.name(NodeId(node))).collect(),
            summary: Summary::of(&replicas),
            replicas,
        }
    }

    /// The result as terminal tables: groups of sources, classes of links, disciplines and buffers
    /// of queues.
    pub fn table(&self, style: TableStyle) -> String {
        document::terminal(&self.sections(), style)
    }

    /// The tables of [`table`](Self::table) as Markdown, with all columns.
    pub fn markdown(&self) -> String {
        document::markdown(&self.sections())
    }

    fn sections(&self) -> Vec<Section> {
        let groups = &self.summary.groups;
        vec![self.headline(), self.groups(), self.transfers(), lives::lives(groups), lives::indices(groups), self.classes(), self.queues()]
    }

    fn headline(&self) -> Section {
        let hops: u64 = self.replicas.iter().map(|replica| replica.packet_hops).sum();
        let facts = format!(
            "{}; {} nodes, {} hosts; {}; {} packet-hops.",
            duration_in_words(self.duration, self.warmup),
            count(self.nodes as u64),
            count(self.hosts as u64),
            seeds_in_words(self.replicas.iter().map(|replica| replica.seed)),
            count(hops),
        );
        document::headline(&self.name, facts, &self.notes)
    }

    fn groups(&self) -> Section {
        let groups = &self.summary.groups;
        let column = |head: &str, cell: &dyn Fn(&GroupSummary) -> Cell| Column::new(head, groups.iter().map(cell));
        let reasons = (0..groups.len()).map(|group| self.reasons(|results| results.groups[group].packets.into()).into());
        let mut columns = vec![
            column("sources", &|group| clean(&group.name).into()),
            column("flows", &|group| figure(group.flows, |value| short_count(value.round() as u64)).into()).spare(2),
            column("throughput", &|group| figure(group.throughput, rate).into()),
            column("loss", &|group| loss(group.loss)),
            Column::new("dropped", reasons).spare(4),
            column("mean", &|group| figure(group.delay_mean, seconds).into()).under("delay"),
            column("p99", &|group| figure(group.delay_p99, seconds).into()).under("delay"),
            column("max", &|group| figure(group.delay_max, seconds).into()).under("delay").spare(3),
            column("Jain", &|group| figure(group.jain, |value| format!("{value:.3}")).into()),
        ];
        if groups.iter().any(|group| group.in_time.is_some()) {
            columns.push(column("in time", &|group| figure(group.in_time, percent).into()));
        }
        if groups.iter().any(|group| group.edge_marked.is_some_and(|marked| marked.mean > 0.0)) {
            columns.insert(5, column("edge marks", &|group| figure(group.edge_marked, whole).into()).spare(4));
        }
        vec![Block::Table(Grid::new(columns))]
    }

    /// Transfers and retransmissions, if any.
    fn transfers(&self) -> Section {
        let is_any = |number: Option<Interval>| number.is_some_and(|number| number.mean > 0.0);
        let some = |summary: &&GroupSummary| is_any(summary.transfers) || is_any(summary.incomplete) || summary.retransmissions.is_some();
        let groups: Vec<_> = self.summary.groups.iter().filter(some).collect();
        if groups.is_empty() {
            return Vec::new();
        }
        let column = |head: &str, cell: &dyn Fn(&GroupSummary) -> Cell| Column::new(head, groups.iter().map(|group| cell(group)));
        let columns = vec![
            column("transfers", &|group| clean(&group.name).into()),
            column("complete", &|group| figure(group.transfers, whole).into()),
            column("incomplete", &|group| figure(group.incomplete, whole).into()).spare(3),
            column("mean", &|group| figure(group.completion_mean, seconds).into()).under("completion time"),
            column("p99", &|group| figure(group.completion_p99, seconds).into()).under("completion time"),
            column("by bytes", &|group| figure(group.completion_by_bytes, seconds).into()).under("completion time").spare(5),
            column("goodput", &|group| figure(group.goodput, rate).into()),
            column("sent again", &|group| figure(group.retransmissions, whole).into()).spare(2),
            column("timeouts", &|group| figure(group.timeouts, whole).into()).spare(4),
            column("mean", &|group| figure(group.round_trip_mean, seconds).into()).under("round trip").spare(6),
            column("by bytes", &|group| figure(group.round_trip_by_bytes, seconds).into()).under("round trip").spare(6),
        ];
        vec![Block::Table(Grid::new(columns))]
    }

    fn classes(&self) -> Section {
        let classes = &self.summary.classes;
        let column = |head: &str, cell: &dyn Fn(&ClassSummary) -> Cell| Column::new(head, classes.iter().map(cell));
        let first = |of: &dyn Fn(&ClassResult) -> String| -> Vec<Cell> {
            self.replicas.first().map_or_else(Vec::new, |replica| replica.classes.iter().map(|class| of(class).into()).collect())
        };
        let reasons = (0..classes.len()).map(|class| self.reasons(|results| Gone::of(&results.classes[class])).into());
        let columns = vec![
            column("links", &|class| class.class.to_owned().into()),
            Column::new("number", first(&|class| count(class.links))).spare(2),
            column("utilisation", &|class| figure(class.utilisation, percent).into()),
            column("busiest", &|class| figure(class.busiest, percent).into()),
            column("loss", &|class| loss(class.loss)),
            Column::new("dropped", reasons).spare(4),
            column("mean", &|class| figure(class.wait_mean, seconds).into()).under("wait"),
            column("p99", &|class| figure(class.wait_p99, seconds).into()).under("wait"),
            column("max", &|class| figure(class.wait_max, seconds).into()).under("wait").spare(3),
        ];
        vec![Block::Table(Grid::new(columns))]
    }

    /// Disciplines and buffers of the queues, one line per distinct combination with the link
    /// class.
    fn queues(&self) -> Section {
        let Some(first) = self.replicas.first() else { return Vec::new() };
        let mut alike: Vec<Vec<&LinkResult>> = Vec::new();
        for link in &first.links {
            let of = |link: &LinkResult| (link.class, link.queue.clone(), link.buffer.clone());
            match alike.iter_mut().find(|links| of(links[0]) == of(link)) {
                Some(links) => links.push(link),
                None => alike.push(vec![link]),
            }
        }
        alike.sort_by_key(|links| LinkClass::ALL.iter().position(|class| class.name() == links[0].class));
        let left_out = alike.len().saturating_sub(MOST_QUEUES);
        alike.truncate(MOST_QUEUES);
        let column = |head: &str, cell: &dyn Fn(&[&LinkResult]) -> String| Column::new(head, alike.iter().map(|links| cell(links).into()));
        let columns = vec![
            column("queues", &|links| format!("{}: {}", links[0].class, clean(&links[0].queue))),
            column("buffer", &|links| links[0].buffer.clone()),
            column("links", &|links| count(links.len() as u64)),
            column("from", &|links| ends(links)).spare(2),
        ];
        let mut blocks = vec![Block::Table(Grid::new(columns))];
        if left_out > 0 {
            blocks.push(Block::Text(format!("and {left_out} more kinds of queues: --json, --html")));
        }
        blocks
    }

    /// Packets that did not arrive, by reason, over all replicas: `1,234 full, 12 lost`.
    fn reasons(&self, of: impl Fn(&Results) -> Gone) -> String {
        Gone::sum(self.replicas.iter().map(of))
    }
}

/// Maximum number of lines for queues.
const MOST_QUEUES: usize = 12;

/// The first link, with an ellipsis if there are more.
fn ends(links: &[&LinkResult]) -> String {
    let first = cut(&clean(&links[0].name()), 30);
    if links.len() == 1 { first } else { format!("{first}, …") }
}

/// Packets that did not arrive: full, pushed out, early, refused, lost, dropped by Edge-CoDel.
pub(crate) struct Gone([u64; 6]);

impl From<roundelay_sim::scenario::Fates> for Gone {
    fn from(fates: roundelay_sim::scenario::Fates) -> Self {
        Self([fates.full, fates.pushed_out, fates.early, fates.refused, fates.lost, fates.edge_dropped])
    }
}

impl Gone {
    pub(crate) const fn of(class: &ClassResult) -> Self {
        let [full, pushed_out, early, refused] = class.dropped;
        Self([full, pushed_out, early, refused, class.lost, 0])
    }

    pub(crate) const fn of_link(link: &LinkResult) -> Self {
        let [full, pushed_out, early, refused] = link.dropped;
        Self([full, pushed_out, early, refused, link.lost, 0])
    }

    /// Totals in words: `1,234 full, 12 lost`.
    pub(crate) fn sum(all: impl Iterator<Item = Self>) -> String {
        let mut sum = [0; 6];
        for gone in all {
            sum.iter_mut().zip(gone.0).for_each(|(sum, gone)| *sum += gone);
        }
        let named = sum.iter().zip(["full", "pushed", "early", "refused", "lost", "edge"]);
        let some = named.filter(|(number, _)| **number > 0).map(|(number, reason)| format!("{} {reason}", short_count(*number)));
        some.collect::<Vec<_>>().join(", ")
    }
}

impl Summary {
    fn of(replicas: &[Results]) -> Self {
        let Some(first) = replicas.first() else { return Self::default() };
        let groups = first.groups.iter().enumerate().map(|(number, group)| {
            let over = |of: &dyn Fn(&GroupResult) -> Option<f64>| interval(replicas.iter().map(|replica| of(&replica.groups[number])));
            let delay = |of: fn(&Spread) -> Option<f64>| over(&|group| of(&group.delay));
            GroupSummary {
                name: group.name.clone(),
                flows: over(&|group| Some(group.flows as f64)),
                throughput: over(&|group| Some(group.throughput)),
                loss: over(&|group| group.loss),
                in_time: over(&|group| group.in_time),
                edge_marked: over(&|group| group.edge_marked.map(|marked| marked as f64)),
                delay_mean: delay(|delay| delay.mean),
                delay_p99: delay(|delay| delay.p99),
                delay_max: delay(|delay| delay.max),
                jain: over(&|group| group.jain),
                transfers: over(&|group| Some(group.completion.count as f64)),
                incomplete: over(&|group| Some(group.incomplete as f64)),
                completion_mean: over(&|group| group.completion.mean),
                completion_p99: over(&|group| group.completion.p99),
                completion_by_bytes: over(&|group| group.completion_by_bytes),
                goodput: over(&|group| group.goodput),
                retransmissions: over(&|group| group.retransmissions.map(|number| number as f64)),
                timeouts: over(&|group| group.timeouts.map(|number| number as f64)),
                round_trip_mean: over(&|group| group.round_trip.mean),
                round_trip_by_bytes: over(&|group| group.round_trip_by_bytes),
                lives: LivesSummary::of(replicas, number),
                indices: IndicesSummary::of(replicas, number),
            }
        });
        let classes = first.classes.iter().enumerate().map(|(number, class)| {
            let over = |of: &dyn Fn(&ClassResult) -> Option<f64>| interval(replicas.iter().map(|replica| of(&replica.classes[number])));
            ClassSummary {
                class: class.class,
                utilisation: over(&|class| Some(class.utilisation)),
                busiest: over(&|class| Some(class.busiest)),
                loss: over(&|class| class.loss),
                wait_mean: over(&|class| class.wait.mean),
                wait_p99: over(&|class| class.wait.p99),
                wait_max: over(&|class| class.wait.max),
            }
        });
        Self { groups: groups.collect(), classes: classes.collect() }
    }
}

/// Mean and interval over the replicas with the figure.
pub(crate) fn interval(values: impl Iterator<Item = Option<f64>>) -> Option<Interval> {
    student_95(&values.flatten().collect::<Vec<_>>())
}

/// The mean and half the interval, both in the figure's unit.
pub(crate) fn figure(interval: Option<Interval>, unit: impl Fn(f64) -> String) -> String {
    let Some(Interval { mean, half_width }) = interval else { return "–".to_owned() };
    match half_width {
        // A residue of rounding in equal figures is not an interval.
        Some(half) if half > mean.abs() * 1e-9 => format!("{} ±{}", unit(mean), unit(half)),
        _ => unit(mean),
    }
}

fn whole(value: f64) -> String {
    short_count(value.round() as u64)
}

fn loss(interval: Option<Interval>) -> Cell {
    let paint = if interval.is_some_and(|interval| interval.mean > 0.0) { Paint::Bad } else { Paint::Faint };
    Cell { text: figure(interval, percent), paint }
}
