//! Simulation report: terminal tables and JSON.

use roundelay_sim::scenario::{ClassResult, LinkResult, Measures, Results, Scenario};
use roundelay_sim::{LinkClass, NodeId};
use serde::Serialize;

use crate::document::{self, Block, Document, Section, duration_in_words, seeds_in_words};
use crate::figures::{CLASS, Means, SOURCE};
use crate::grid::{Cell, Column, Grid, Paint};
use crate::lives::{self, LivesSummary};
use crate::text::{clean, cut};
use crate::units::{count, short_count};

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

/// Summary of a group.
#[derive(Debug, Clone, Serialize)]
pub struct GroupSummary {
    pub(crate) name: String,
    #[serde(flatten)]
    means: Means,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) lives: Option<LivesSummary>,
    /// Of the worst flow; none if no flow of the group crossed a measured link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) indices: Option<Means>,
}

/// Summary of a class of links.
#[derive(Debug, Clone, Serialize)]
pub struct ClassSummary {
    class: &'static str,
    #[serde(flatten)]
    means: Means,
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
            node_names: (0..network.nodes() as u32)
                .map(|node| network.name(NodeId(node)))
                .collect(),
            summary: Summary::of(&replicas),
            replicas,
        }
    }

    /// The report: groups of sources, classes of links, disciplines and buffers of queues.
    pub fn document(&self) -> Document {
        let groups = &self.summary.groups;
        Document(vec![
            self.headline(),
            self.groups(),
            self.transfers(),
            lives::lives(groups),
            lives::indices(groups),
            self.classes(),
            self.queues(),
        ])
    }

    fn headline(&self) -> Section {
        let hops: u64 = self
            .replicas
            .iter()
            .map(|replica| replica.packet_hops)
            .sum();
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
        let column = |name: &str, head: &str| {
            Column::new(
                head,
                groups.iter().map(|group| group.means.text(name).into()),
            )
        };
        let reasons = (0..groups.len()).map(|group| {
            self.reasons(|results| results.groups[group].packets.into())
                .into()
        });
        let mut columns = vec![
            Column::new(
                "sources",
                groups.iter().map(|group| clean(&group.name).into()),
            ),
            column("flows", "flows").spare(2),
            column("throughput", "throughput"),
            Column::new("loss", groups.iter().map(|group| loss(&group.means))),
            Column::new("dropped", reasons).spare(4),
            column("delay_mean", "mean").under("delay"),
            column("delay_p99", "p99").under("delay"),
            column("delay_max", "max").under("delay").spare(3),
            column("jain", "Jain"),
        ];
        if groups
            .iter()
            .any(|group| group.means.interval("in_time").is_some())
        {
            columns.push(column("in_time", "in time"));
        }
        if groups
            .iter()
            .any(|group| group.means.is_positive("edge_marked"))
        {
            columns.insert(5, column("edge_marked", "edge marks").spare(4));
        }
        vec![Block::Table(Grid::new(columns))]
    }

    /// Transfers and retransmissions, if any.
    fn transfers(&self) -> Section {
        let has_any = |means: &Means| {
            means.is_positive("transfers")
                || means.is_positive("incomplete")
                || means.interval("retransmissions").is_some()
        };
        let groups: Vec<_> = self
            .summary
            .groups
            .iter()
            .filter(|group| has_any(&group.means))
            .collect();
        if groups.is_empty() {
            return Vec::new();
        }
        let column = |name: &str, head: &str| {
            Column::new(
                head,
                groups.iter().map(|group| group.means.text(name).into()),
            )
        };
        let columns = vec![
            Column::new(
                "transfers",
                groups.iter().map(|group| clean(&group.name).into()),
            ),
            column("transfers", "complete"),
            column("incomplete", "incomplete").spare(3),
            column("completion_mean", "mean").under("completion time"),
            column("completion_p99", "p99").under("completion time"),
            column("completion_by_bytes", "by bytes")
                .under("completion time")
                .spare(5),
            column("goodput", "goodput"),
            column("retransmissions", "sent again").spare(2),
            column("timeouts", "timeouts").spare(4),
            column("round_trip_mean", "mean")
                .under("round trip")
                .spare(6),
            column("round_trip_by_bytes", "by bytes")
                .under("round trip")
                .spare(6),
        ];
        vec![Block::Table(Grid::new(columns))]
    }

    fn classes(&self) -> Section {
        let classes = &self.summary.classes;
        let column = |name: &str, head: &str| {
            Column::new(
                head,
                classes.iter().map(|class| class.means.text(name).into()),
            )
        };
        let links = self
            .replicas
            .first()
            .into_iter()
            .flat_map(|replica| &replica.classes)
            .map(|class| count(class.links).into());
        let reasons = (0..classes.len()).map(|class| {
            self.reasons(|results| Gone::of(&results.classes[class]))
                .into()
        });
        let columns = vec![
            Column::new(
                "links",
                classes.iter().map(|class| class.class.to_owned().into()),
            ),
            Column::new("number", links).spare(2),
            column("utilisation", "utilisation"),
            column("busiest", "busiest"),
            Column::new("loss", classes.iter().map(|class| loss(&class.means))),
            Column::new("dropped", reasons).spare(4),
            column("wait_mean", "mean").under("wait"),
            column("wait_p99", "p99").under("wait"),
            column("wait_max", "max").under("wait").spare(3),
        ];
        vec![Block::Table(Grid::new(columns))]
    }

    /// Disciplines and buffers of the queues, one line per distinct combination with the link
    /// class.
    fn queues(&self) -> Section {
        let Some(first) = self.replicas.first() else {
            return Vec::new();
        };
        let mut alike: Vec<Vec<&LinkResult>> = Vec::new();
        for link in &first.links {
            let of = |link: &LinkResult| (link.class, link.queue.clone(), link.buffer.clone());
            match alike.iter_mut().find(|links| of(links[0]) == of(link)) {
                Some(links) => links.push(link),
                None => alike.push(vec![link]),
            }
        }
        alike.sort_by_key(|links| {
            LinkClass::ALL
                .iter()
                .position(|class| class.name() == links[0].class)
        });
        let left_out = alike.len().saturating_sub(MOST_QUEUES);
        alike.truncate(MOST_QUEUES);
        let column = |head: &str, cell: &dyn Fn(&[&LinkResult]) -> String| {
            Column::new(head, alike.iter().map(|links| cell(links).into()))
        };
        let columns = vec![
            column("queues", &|links| {
                format!("{}: {}", links[0].class, clean(&links[0].queue))
            }),
            column("buffer", &|links| links[0].buffer.clone()),
            column("links", &|links| count(links.len() as u64)),
            column("from", &|links| ends(links)).spare(2),
        ];
        let mut blocks = vec![Block::Table(Grid::new(columns))];
        if left_out > 0 {
            blocks.push(Block::Text(format!(
                "and {left_out} more kinds of queues: --json, --html"
            )));
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
    if links.len() == 1 {
        first
    } else {
        format!("{first}, …")
    }
}

/// Packets that did not arrive: full, pushed out, early, refused, lost, dropped by Edge-CoDel.
pub(crate) struct Gone([u64; 6]);

impl From<roundelay_sim::scenario::Fates> for Gone {
    fn from(fates: roundelay_sim::scenario::Fates) -> Self {
        Self([
            fates.full,
            fates.pushed_out,
            fates.early,
            fates.refused,
            fates.lost,
            fates.edge_dropped,
        ])
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
            sum.iter_mut()
                .zip(gone.0)
                .for_each(|(sum, gone)| *sum += gone);
        }
        let named = sum
            .iter()
            .zip(["full", "pushed", "early", "refused", "lost", "edge"]);
        let some = named
            .filter(|(number, _)| **number > 0)
            .map(|(number, reason)| format!("{} {reason}", short_count(*number)));
        some.collect::<Vec<_>>().join(", ")
    }
}

impl Summary {
    fn of(replicas: &[Results]) -> Self {
        let Some(first) = replicas.first() else {
            return Self::default();
        };
        let groups = first
            .groups
            .iter()
            .enumerate()
            .map(|(number, group)| GroupSummary {
                name: group.name.clone(),
                means: Means::of(
                    SOURCE,
                    replicas.iter().map(|replica| &replica.groups[number]),
                ),
                lives: LivesSummary::of(replicas, number),
                indices: lives::indices_of(replicas, number),
            });
        let classes = first
            .classes
            .iter()
            .enumerate()
            .map(|(number, class)| ClassSummary {
                class: class.class,
                means: Means::of(
                    CLASS,
                    replicas.iter().map(|replica| &replica.classes[number]),
                ),
            });
        Self {
            groups: groups.collect(),
            classes: classes.collect(),
        }
    }
}

fn loss(means: &Means) -> Cell {
    Cell {
        text: means.text("loss"),
        paint: if means.is_positive("loss") {
            Paint::Bad
        } else {
            Paint::Faint
        },
    }
}
