//! Notes on a scenario: a sentence for each setting that has no effect or is odd, although the
//! scenario runs.

use std::collections::BTreeSet;

use roundelay::Instant;
use roundelay::schedulers::{AnyDiscipline, Priority, Times};
use roundelay_metrics::units::in_number;

use super::estimate::RatesEstimate;
use super::yardsticks::measured_class;
use super::{Group, Scenario};
use crate::fields_read::FieldsRead;
use crate::network::{LinkConfig, Metric, link_name};
use crate::sources::source::Listed;
use crate::sources::{SlackRule as _, Urgency, WrittenFields};
use crate::topologies::files::Oddities;

impl Scenario {
    /// Notes, a sentence each, on what you may not have meant. For example: attributes of the
    /// network's file that are ignored, header fields that queues read but no source writes,
    /// weights and urgency that no queue reads, parallel links that carry nothing, or list entries
    /// after the end of the run.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = self.of_file();
        notes.extend(self.of_trees());
        notes.extend(self.of_rates());
        notes.extend(self.notes_on_headers());
        notes.extend(Queues::of(self).unread(self));
        notes.extend(self.of_rooms());
        notes.extend(self.of_links());
        notes.extend(self.of_traces());
        for group in &self.groups {
            notes.extend(self.of_list(group));
            notes.extend(self.of_jitter(group));
            notes.extend(self.of_warmup(group));
        }
        notes
    }

    /// A sentence for each header field that queues read, but that sources do not write or write
    /// the same into all packets.
    pub fn notes_on_headers(&self) -> Vec<String> {
        let mut notes = Queues::of(self).without_what_they_go_by(self);
        notes.extend(self.sizes_without_end());
        notes
    }

    /// Sources that never end but have an urgency by flow size.
    fn sizes_without_end(&self) -> Option<String> {
        let names = self.names(|group| {
            group.urgency.goes_by_size() && !group.source.source().facts().may_complete()
        })?;
        Some(format!(
            "Sources with endless flows: {names}. Urgency by size puts endless flows behind all others."
        ))
    }

    /// The names of all groups that fit, if any do.
    fn names(&self, fits: impl Fn(&Group) -> bool) -> Option<String> {
        let mut names = Vec::new();
        for group in &self.groups {
            if fits(group) {
                names.push(group.name.as_str());
            }
        }
        if names.is_empty() {
            None
        } else {
            Some(names.join(", "))
        }
    }

    /// Attributes of the network's file that are ignored.
    fn of_file(&self) -> Vec<String> {
        let Oddities { notes, costs } = &self.topology.oddities;
        let mut notes = notes.clone();
        if self.topology.network.routing().metric != Metric::Cost {
            notes.extend(costs.clone());
        }
        notes
    }

    /// What trees lack of the scripts that they were made from.
    fn of_trees(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for link in self.topology.network.links() {
            let Some(tree) = link
                .tree
                .as_ref()
                .filter(|tree| !tree.reserves().is_empty())
            else {
                continue;
            };
            let reserves = tree.reserves().join("; ");
            let note = format!("Tree {} is not all of its script: {reserves}.", tree.name());
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
        notes
    }

    /// Series of rates that take much memory.
    fn of_rates(&self) -> Option<String> {
        let RatesEstimate {
            flows,
            intervals,
            memory,
        } = RatesEstimate::of(self)?;
        if memory <= MUCH_MEMORY {
            return None;
        }
        let interval = self.measures.rates?;
        Some(format!(
            "Series of rates take up to {:.1} GB of memory a run: about {flows:.1e} flows in \
             {intervals} intervals of {interval}. Longer ones take less.",
            memory / 1e9
        ))
    }

    /// `mqfq` drops when its own queues are full, even if the buffer still has room.
    fn of_rooms(&self) -> Option<String> {
        for link in self.topology.network.links() {
            let limit = link.queue.limit_or_default().packets;
            for discipline in link.disciplines() {
                let AnyDiscipline::Mqfq(config) = discipline else {
                    continue;
                };
                let room = u64::from(config.buffer);
                if room > 0 && room < limit {
                    return Some(format!(
                        "mqfq holds at most {room} packets, by the parameter buffer, though the \
                         limit is {limit}; with buffer 0 only the limit counts."
                    ));
                }
            }
        }
        None
    }

    /// Parallel links between the same nodes, of which one carries everything.
    fn of_links(&self) -> Option<String> {
        let network = &self.topology.network;
        if network.routing().spread.is_some() {
            return None;
        }
        let mut met = BTreeSet::new();
        let mut beside = Vec::new();
        for link in network.links() {
            if !met.insert((link.from, link.to)) {
                beside.push(link);
            }
        }
        let first = beside.first()?;
        let from = network.name(first.from);
        let to = network.name(first.to);
        let count = beside.len();
        let beside = in_number(count as u64, "{link lies|links lie} beside another one");
        Some(format!(
            "{beside}, as from {from} to {to}: without [routing] spread = true one of both carries all."
        ))
    }

    /// Links with a trace, which are not measured.
    fn of_traces(&self) -> Option<String> {
        let network = &self.topology.network;
        let class = measured_class(network).filter(|_| self.measures.wfi)?;
        let is_left_out = |link: &&LinkConfig| link.class == class && link.trace.is_some();
        let first = network.links().iter().find(is_left_out)?;
        let name = link_name(&network.name(first.from), &network.name(first.to));
        Some(format!(
            "Without worst-case fair indices of links with a trace, as {name}: they compare with a link of constant rate."
        ))
    }

    /// List entries after the end. Time counts from when the first source starts.
    fn of_list(&self, group: &Group) -> Option<String> {
        let end = Instant::ZERO + (self.duration - group.start.min(self.duration));
        let Listed {
            file,
            noun,
            before,
            all,
            ..
        } = group.source.source().listed(end)?;
        let late = all - before;
        if late == 0 {
            return None;
        }
        let sentence = format!(
            "of {all} {noun}s {{comes after the end of the run and is|come after the end of the run and are}} not sent."
        );
        Some(format!("{file}: {}", in_number(late as u64, &sentence)))
    }

    fn of_warmup(&self, group: &Group) -> Option<String> {
        let end = group.end(self.duration);
        if end > self.warmup {
            return None;
        }
        Some(format!(
            "Sources of {} stop at {end}, within the warm-up: none of their packets count.",
            group.name
        ))
    }

    fn of_jitter(&self, group: &Group) -> Option<String> {
        let end = group.end(self.duration);
        let latest = group.last_start() + group.start_jitter;
        if latest <= end || group.last_start() >= end {
            return None;
        }
        Some(format!(
            "Sources of {} start as late as {latest} and stop at {end}: some may send nothing.",
            group.name
        ))
    }
}

/// If series of rates take more memory than this, in bytes, there is a note.
const MUCH_MEMORY: f64 = 1e9;

/// The disciplines in a scenario's queues, without duplicates.
struct Queues(Vec<FieldsRead>);

impl Queues {
    fn of(scenario: &Scenario) -> Self {
        let mut queues = Vec::new();
        for link in scenario.topology.network.links() {
            for discipline in link.disciplines() {
                let queue = FieldsRead::of(discipline);
                if !queues.contains(&queue) {
                    queues.push(queue);
                }
            }
        }
        Self(queues)
    }

    fn named(&self, fits: impl Fn(&FieldsRead) -> bool) -> String {
        let mut names = Vec::new();
        for queue in &self.0 {
            if fits(queue) {
                names.push(queue.name);
            }
        }
        names.join(", ")
    }

    /// Disciplines that read a header field which no packet carries.
    fn without_what_they_go_by(&self, scenario: &Scenario) -> Vec<String> {
        let mut writes_priority = false;
        let mut writes_deadline = false;
        let mut writes_slack = false;
        for group in &scenario.groups {
            let WrittenFields {
                slack,
                priority,
                deadline,
            } = group.written();
            writes_priority |= priority;
            writes_deadline |= deadline;
            writes_slack |= slack;
        }
        let lacks = [
            (
                writes_priority,
                "priorities (urgency = \"priority 3\")",
                self.named(|queue| queue.priority == Priority::Class),
            ),
            (
                writes_priority,
                "sizes of flows (urgency = \"size 1s\")",
                self.named(|queue| queue.priority == Priority::FlowSize),
            ),
            (
                writes_priority,
                "what is left of flows (urgency = \"remaining 1s\")",
                self.named(|queue| queue.priority == Priority::Remaining),
            ),
            (
                writes_deadline,
                "deadlines (urgency = \"deadline 50ms\")",
                self.named(|queue| queue.times == Times::Deadline),
            ),
            // FIFO+ does not need slack from sources, because waits at earlier hops are slack, too.
            (
                writes_slack,
                "slack (urgency = \"slack 1s\")",
                self.named(|queue| queue.times == Times::Slack && !queue.takes_equal_slack),
            ),
        ];
        let mut notes = Vec::new();
        for (is_written, what, names) in lacks {
            if !is_written && !names.is_empty() {
                notes.push(format!(
                    "No source writes {what}; these queues order packets by this field: {names}."
                ));
            }
        }
        notes
    }

    /// Sources whose weights or urgency no queue reads.
    fn unread(&self, scenario: &Scenario) -> Vec<String> {
        let mut weights = false;
        let mut priorities = false;
        let mut slack = false;
        let mut deadlines = false;
        for queue in &self.0 {
            weights |= queue.weight;
            priorities |= queue.priority != Priority::Unread;
            slack |= queue.times == Times::Slack;
            deadlines |= queue.times == Times::Deadline;
        }
        let weighted = scenario.names(|group| {
            let is_read = weights || slack && group.urgency.goes_by_weight();
            group.weight() != 1 && !is_read
        });
        let urgent = scenario.names(|group| {
            let fields = group.urgency.written();
            let is_read = fields.priority && priorities
                || fields.slack && slack
                || fields.deadline && deadlines;
            // RC3 changes what is sent, whatever the queues.
            !is_read && !group.urgency.is_cautious() && group.urgency != Urgency::None
        });
        let mut notes = Vec::new();
        for (what, names) in [("weights", weighted), ("urgency", urgent)] {
            if let Some(names) = names {
                notes.push(format!(
                    "No queue looks at the {what} of these sources: {names}."
                ));
            }
        }
        notes
    }
}
