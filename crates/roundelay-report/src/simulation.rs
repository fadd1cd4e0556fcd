//! Simulation report: terminal tables and JSON.

use roundelay::DropReason;
use roundelay_sim::scenario::{
    ClassResult, Curves, Fates, FlowResult, GroupResult, LinkResult, Measures, Results, Scenario,
};
use roundelay_sim::{LinkClass, NodeId};
use serde::Serialize;

use crate::document::{self, Block, Document, Section, duration_in_words, seeds_in_words};
use crate::figures::{CLASS, SOURCE, TRANSFER, table};
use crate::grid::{Column, Grid};
use crate::json::Printed;
use crate::lives;
use crate::plotted::DelayCurves;
use crate::summary::Summary;
use crate::table::reasons_in_words;
use crate::text::{clean, cut};
use crate::units::{count, short_count, significant};

/// A scenario and its replicas, one or more.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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
    /// Delays of each source in the first replica, to draw.
    pub curves: Vec<DelayCurves>,
}

impl Printed for Simulated {
    const SCHEMA: &'static str = "simulate/1";
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
            curves: Vec::new(),
        }
    }

    /// Adds the delays of the first replica's sources, to draw.
    #[must_use]
    pub fn with_curves(mut self, curves: &Curves) -> Self {
        if let Some(first) = self.replicas.first() {
            self.curves = DelayCurves::of_sources(first, curves);
        }
        self
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
        let hops = self.replicas.iter().map(|replica| replica.packet_hops);
        let facts = format!(
            "{}; {} nodes, {} hosts; {}; {} packet-hops.",
            duration_in_words(self.duration, self.warmup),
            count(self.nodes as u64),
            count(self.hosts as u64),
            seeds_in_words(self.replicas.iter().map(|replica| replica.seed)),
            count(hops.sum()),
        );
        document::headline(&self.name, facts, &self.notes)
    }

    fn groups(&self) -> Section {
        let groups = &self.summary.groups;
        let mut reasons = Vec::new();
        for group in 0..groups.len() {
            let gone = self.replicas.iter().map(|results| &results.groups[group]);
            reasons.push(Gone::mean(gone.map(Gone::from)).into());
        }
        let mut names = Vec::new();
        let mut all = Vec::new();
        for group in groups {
            names.push(&*group.name);
            all.push(&group.means);
        }
        table("sources", &names, SOURCE, &all, Some(reasons))
    }

    /// Transfers and retransmissions, if any.
    fn transfers(&self) -> Section {
        let mut names = Vec::new();
        let mut all = Vec::new();
        for group in &self.summary.groups {
            let has_any = group.means.is_positive("transfers")
                || group.means.is_positive("incomplete")
                || group.means.interval("retransmissions").is_some();
            if has_any {
                names.push(&*group.name);
                all.push(&group.means);
            }
        }
        table("transfers", &names, TRANSFER, &all, None)
    }

    fn classes(&self) -> Section {
        let classes = &self.summary.classes;
        let mut reasons = Vec::new();
        let mut names = Vec::new();
        let mut all = Vec::new();
        for (number, class) in classes.iter().enumerate() {
            let gone = self.replicas.iter().map(|results| &results.classes[number]);
            reasons.push(Gone::mean(gone.map(Gone::from)).into());
            names.push(class.class);
            all.push(&class.means);
        }
        table("links", &names, CLASS, &all, Some(reasons))
    }

    /// The queues' disciplines and buffers, one line per distinct combination with the link class.
    fn queues(&self) -> Section {
        let Some(first) = self.replicas.first() else {
            return Vec::new();
        };
        let mut alike: Vec<Vec<&LinkResult>> = Vec::new();
        for link in &first.links {
            let known = alike.iter_mut().find(|links| {
                let first = links[0];
                let (class, queue, buffer) = (first.class, &first.queue, &first.buffer);
                class == link.class && *queue == link.queue && *buffer == link.buffer
            });
            match known {
                Some(links) => links.push(link),
                None => alike.push(vec![link]),
            }
        }
        alike.sort_by_key(|links| {
            let mut classes = LinkClass::ALL.iter();
            classes.position(|class| class.name() == links[0].class)
        });
        let left_out = alike.len().saturating_sub(MOST_QUEUES);
        alike.truncate(MOST_QUEUES);
        let columns = vec![
            Column::of("queues", &alike, |links| {
                format!("{}: {}", links[0].class, clean(&links[0].queue))
            }),
            Column::of("buffer", &alike, |links| links[0].buffer.clone()),
            Column::of("links", &alike, |links| count(links.len() as u64)),
            Column::of("from", &alike, |links| ends(links)).spare(2),
        ];
        let mut blocks = vec![Block::Table(Grid::new(columns))];
        if left_out > 0 {
            blocks.push(Block::Text(format!(
                "and {left_out} more kinds of queues: --json, --html"
            )));
        }
        blocks
    }
}

/// Most lines for queues.
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

/// Packets that did not arrive: full, pushed out, early, refused, lost, dropped by Edge-CoDel. Filtered
/// acknowledgements are no loss.
pub(crate) struct Gone([u64; 6]);

/// Names for the numbers in [`Gone`].
const REASONS: [&str; 6] = ["full", "pushed", "early", "refused", "lost", "edge"];

impl From<&Fates> for Gone {
    fn from(fates: &Fates) -> Self {
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

impl From<&GroupResult> for Gone {
    fn from(group: &GroupResult) -> Self {
        Self::from(&group.packets)
    }
}

impl From<&FlowResult> for Gone {
    fn from(flow: &FlowResult) -> Self {
        Self::from(&flow.packets)
    }
}

impl From<&ClassResult> for Gone {
    fn from(class: &ClassResult) -> Self {
        Self::at_queues(class.dropped, class.lost)
    }
}

impl From<&LinkResult> for Gone {
    fn from(link: &LinkResult) -> Self {
        Self::at_queues(link.dropped, link.lost)
    }
}

impl Gone {
    const fn at_queues(dropped: [u64; DropReason::ALL.len()], lost: u64) -> Self {
        let [full, pushed_out, early, refused, _filtered] = dropped;
        Self([full, pushed_out, early, refused, lost, 0])
    }

    /// Means over replicas in words, as the figures beside them are: `1,234 full, 12 lost`.
    pub(crate) fn mean(replicas: impl Iterator<Item = Self>) -> String {
        let mut number = 0;
        let mut sum = [0; 6];
        for gone in replicas {
            number += 1;
            for (sum, gone) in sum.iter_mut().zip(gone.0) {
                *sum += gone;
            }
        }
        if number <= 1 {
            return Self(sum).in_words();
        }
        let mut words = Vec::new();
        for (sum, reason) in sum.into_iter().zip(REASONS) {
            let mean = sum as f64 / f64::from(number);
            if sum > 0 && mean < 10.0 {
                words.push(format!("{} {reason}", significant(mean)));
            } else if sum > 0 {
                words.push(format!("{} {reason}", short_count(mean.round() as u64)));
            }
        }
        words.join(", ")
    }

    fn in_words(&self) -> String {
        let mut reasons = Vec::new();
        for (number, reason) in self.0.into_iter().zip(REASONS) {
            reasons.push((number, reason));
        }
        reasons_in_words(&reasons)
    }
}
