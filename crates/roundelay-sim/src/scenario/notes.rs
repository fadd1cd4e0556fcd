//! Notes on a scenario: sentences on ignored or odd settings in a runnable scenario.

use std::collections::BTreeSet;

use roundelay::Instant;
use roundelay::schedulers::{AnyDiscipline, Priority, Times};
use roundelay_metrics::units::in_number;

use super::estimate::RatesEstimate;
use super::yardsticks::measured_class;
use super::{Group, Scenario};
use crate::fields_read::FieldsRead;
use crate::network::{LinkConfig, link_name};
use crate::routing::Metric;
use crate::sources::source::Listed;
use crate::sources::{SlackRule as _, Urgency, WrittenFields};
use crate::topologies::files::Oddities;

impl Scenario {
    /// Notes, a sentence each: ignored attributes of the network's file, header fields read by
    /// queues and written by no source, weights and urgency read by no queue, list entries after
    /// the end of the run.
    pub fn notes(&self) -> Vec<String> {
        let queues = Queues::of(self);
        let of_groups = self.groups.iter().flat_map(|group| {
            [
                self.of_list(group),
                self.of_jitter(group),
                self.of_warmup(group),
            ]
        });
        let of_queues = self
            .of_rates()
            .into_iter()
            .chain(self.notes_on_headers())
            .chain(queues.unread(self))
            .chain(self.of_rooms());
        self.of_file()
            .chain(of_queues)
            .chain(self.of_links())
            .chain(self.of_traces())
            .chain(of_groups.flatten())
            .collect()
    }

    /// Header fields read by queues, but not written by sources or the same in all packets; a
    /// sentence each.
    pub fn notes_on_headers(&self) -> Vec<String> {
        Queues::of(self)
            .without_what_they_go_by(self)
            .chain(self.sizes_without_end())
            .collect()
    }

    /// Endless sources with an urgency by flow size.
    fn sizes_without_end(&self) -> Option<String> {
        let is_endless = |group: &&Group| {
            group.urgency.goes_by_size() && !group.source.source().facts().may_complete()
        };
        let names: Vec<_> = self
            .groups
            .iter()
            .filter(is_endless)
            .map(|group| group.name.as_str())
            .collect();
        (!names.is_empty())
            .then(|| format!("Sources with endless flows: {}. Urgency by size puts endless flows behind all others.", names.join(", ")))
    }

    /// Ignored attributes of the network's file.
    fn of_file(&self) -> impl Iterator<Item = String> {
        let Oddities { notes, costs } = &self.topology.oddities;
        let goes_by_cost = self.topology.network.routing().metric == Metric::Cost;
        notes
            .iter()
            .chain(costs.iter().filter(move |_| !goes_by_cost))
            .cloned()
    }

    /// Large memory for series of rates.
    fn of_rates(&self) -> Option<String> {
        let RatesEstimate {
            flows,
            intervals,
            memory,
        } = RatesEstimate::of(self).filter(|rates| rates.memory > MUCH_MEMORY)?;
        let interval = self.measures.rates?;
        Some(format!(
            "Series of rates take up to {:.1} GB of memory a run: about {flows:.1e} flows in {intervals} intervals of {interval}. Longer ones take less.",
            memory / 1e9
        ))
    }

    /// `mqfq` drops when its own queues are full, even if the buffer has room.
    fn of_rooms(&self) -> Option<String> {
        let links = self.topology.network.links().iter();
        let room = |discipline: &AnyDiscipline| match discipline {
            AnyDiscipline::Mqfq(config) => Some(u64::from(config.buffer)),
            _ => None,
        };
        let mut rooms = links.flat_map(|link| {
            link.disciplines()
                .into_iter()
                .filter_map(room)
                .zip(std::iter::repeat(link.queue.limit_or_default().packets))
        });
        let (room, limit) = rooms.find(|(room, limit)| *room > 0 && room < limit)?;
        Some(format!(
            "mqfq holds at most {room} packets, by the parameter buffer, though the limit is {limit}; with buffer 0 only the limit counts."
        ))
    }

    /// Parallel links between the same nodes.
    fn of_links(&self) -> Option<String> {
        let network = &self.topology.network;
        let mut met = BTreeSet::new();
        let mut beside = network
            .links()
            .iter()
            .filter(|link| !met.insert((link.from, link.to)));
        let first = beside
            .next()
            .filter(|_| network.routing().spread.is_none())?;
        let from = network.name(first.from);
        let to = network.name(first.to);
        let count = 1 + beside.count();
        let beside = in_number(count as u64, "{link lies|links lie} beside another one");
        Some(format!(
            "{beside}, as from {from} to {to}: without [routing] spread = true one of both carries all."
        ))
    }

    /// Measured links with a trace.
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

    /// List entries after the end, counted from the first start of a source.
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
        let sentence = format!(
            "of {all} {noun}s {{comes after the end of the run and is|come after the end of the run and are}} not sent."
        );
        (late > 0).then(|| format!("{file}: {}", in_number(late as u64, &sentence)))
    }

    fn of_warmup(&self, group: &Group) -> Option<String> {
        let end = group.end(self.duration);
        (end <= self.warmup).then(|| {
            format!(
                "Sources of {} stop at {end}, within the warm-up: none of their packets count.",
                group.name
            )
        })
    }

    fn of_jitter(&self, group: &Group) -> Option<String> {
        let end = group.end(self.duration);
        let latest = group.last_start() + group.start_jitter;
        (latest > end && group.last_start() < end).then(|| {
            format!(
                "Sources of {} start as late as {latest} and stop at {end}: some may send nothing.",
                group.name
            )
        })
    }
}

/// Memory above this gets a note, in bytes.
const MUCH_MEMORY: f64 = 1e9;

/// The disciplines of a scenario's queues, without duplicates.
struct Queues(Vec<FieldsRead>);

impl Queues {
    fn of(scenario: &Scenario) -> Self {
        let mut queues = Vec::new();
        for discipline in scenario
            .topology
            .network
            .links()
            .iter()
            .flat_map(|link| link.disciplines())
        {
            let queue = FieldsRead::of(discipline);
            if !queues.contains(&queue) {
                queues.push(queue);
            }
        }
        Self(queues)
    }

    fn named(&self, fits: impl Fn(&FieldsRead) -> bool) -> String {
        let names: Vec<_> = self
            .0
            .iter()
            .filter(|queue| fits(queue))
            .map(|queue| queue.name)
            .collect();
        names.join(", ")
    }

    /// Disciplines whose header field no packet carries.
    fn without_what_they_go_by<'a>(
        &'a self,
        scenario: &Scenario,
    ) -> impl Iterator<Item = String> + 'a {
        let written: Vec<_> = scenario.groups.iter().map(Group::written).collect();
        let says = |what: fn(&WrittenFields) -> bool| written.iter().any(what);
        let lacks = [
            (
                says(|fields| fields.priority),
                "priorities (urgency = \"priority 3\")",
                self.named(|queue| queue.priority == Priority::Class),
            ),
            (
                says(|fields| fields.priority),
                "sizes of flows (urgency = \"size 1s\")",
                self.named(|queue| queue.priority == Priority::FlowSize),
            ),
            (
                says(|fields| fields.priority),
                "what is left of flows (urgency = \"remaining 1s\")",
                self.named(|queue| queue.priority == Priority::Remaining),
            ),
            (
                says(|fields| fields.deadline),
                "deadlines (urgency = \"deadline 50ms\")",
                self.named(|queue| queue.times == Times::Deadline),
            ),
            // FIFO+ needs no slack from sources: waits at earlier hops are slack, too.
            (
                says(|fields| fields.slack),
                "slack (urgency = \"slack 1s\")",
                self.named(|queue| queue.times == Times::Slack && !queue.takes_equal_slack),
            ),
        ];
        let lacks = lacks
            .into_iter()
            .filter(|(is_said, _, names)| !is_said && !names.is_empty());
        lacks.map(|(_, what, names)| {
            format!("No source writes {what}; these queues order packets by this field: {names}.")
        })
    }

    /// Weights and urgency of sources, not read by any queue.
    fn unread<'a>(&'a self, scenario: &'a Scenario) -> impl Iterator<Item = String> + 'a {
        let reads = |fits: &dyn Fn(&FieldsRead) -> bool| self.0.iter().any(fits);
        let read = [
            reads(&|queue| queue.weight),
            reads(&|queue| queue.priority != Priority::Unread),
            reads(&|queue| queue.times == Times::Slack),
            reads(&|queue| queue.times == Times::Deadline),
        ];
        let [weights, priorities, slack, deadlines] = read;
        let weighted = |group: &Group| {
            let is_read = weights || slack && group.urgency.goes_by_weight();
            group.weight() != 1 && !is_read
        };
        let urgent = move |group: &Group| {
            let fields = group.urgency.written();
            let is_read = fields.priority && priorities
                || fields.slack && slack
                || fields.deadline && deadlines;
            // RC3 changes what is sent, with any queue.
            !is_read && !group.urgency.is_cautious() && group.urgency != Urgency::None
        };
        let named = |fits: &dyn Fn(&Group) -> bool| {
            let names: Vec<_> = scenario
                .groups
                .iter()
                .filter(|group| fits(group))
                .map(|group| group.name.as_str())
                .collect();
            names.join(", ")
        };
        let unread = [("weights", named(&weighted)), ("urgency", named(&urgent))];
        unread
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(what, names)| format!("No queue looks at the {what} of these sources: {names}."))
    }
}
