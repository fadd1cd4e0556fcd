//! The scenario file: all its keys but the sources.

use std::path::Path;

use roundelay::schedulers::AnyDiscipline;
use roundelay::{ConfigError, Duration, Fault, QueueSpec};
use roundelay_files::{InWords, Maybe, Reader, some_whole, whole};
use serde::Deserialize;
use serde::de::IgnoredAny;
use toml::de::{DeTable, DeValue};

use super::entry::groups;
use super::estimate::{Estimate, MOST_EVENTS};
use super::measures::Measures;
use super::objective::Objective;
use super::topology::{ClassTree, LinkEntry, NodeEntry, Parts, PortEntry, topology};
use super::trees::Trees;
use super::{Scenario, ScenarioError};
use crate::files::{Files, ReadCapture, no_captures};
use crate::network::{LinkClass, Metric, Routing};
use crate::random::route_key;
use crate::topologies::{Queues, Topology};
use crate::written::{Ordering, with_own};

/// The shortest run.
const SHORTEST: Duration = Duration::from_nanos(1);
/// The longest run: in picoseconds it fits into a `u64` with some room.
const LONGEST: Duration = Duration::from_secs(200 * 86_400);

/// A scenario: a network, its traffic and its duration.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", schemars(title = "Roundelay scenario"))]
struct Top {
    /// Name in results. Left out: the file's name.
    name: Option<String>,
    /// Seed of all random draws: same seed, same result.
    #[serde(default = "one", deserialize_with = "whole::<_, _, 0, { u64::MAX }>")]
    seed: u64,
    /// Seed of the queues' hashes and draws, and of the hash that spreads flows over routes, the
    /// same in all runs. Left out: the seed of each run.
    #[serde(default, deserialize_with = "some_whole::<_, _, 0, { u64::MAX }>")]
    hash_seed: Option<u64>,
    /// Length of the run, at most 200 days.
    #[serde(with = "InWords::<Duration>")]
    duration: Duration,
    /// Warm-up: time at the start not counted in results, less than the duration.
    #[serde(default, with = "InWords::<Duration>")]
    warmup: Duration,
    /// The network: a template with its parameters, or a file. Left out: [[node]] and [[link]].
    #[serde(default)]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<super::schema::TopologyTable>")
    )]
    #[allow(dead_code, reason = "it is read by itself")]
    topology: Option<IgnoredAny>,
    /// Queueing disciplines, by class of links.
    #[serde(default)]
    queue: QueueTable,
    /// Trees of disciplines, for queues set to core = "tree NAME".
    #[serde(default)]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "std::collections::BTreeMap<String, super::schema::TreeTable>")
    )]
    #[allow(dead_code, reason = "it is read by itself")]
    trees: Option<IgnoredAny>,
    /// Routing of packets.
    #[serde(default)]
    routing: RoutingTable,
    /// Nodes, where there is no [topology].
    #[serde(default)]
    node: Vec<NodeEntry>,
    /// Links, where there is no [topology].
    #[serde(default)]
    link: Vec<LinkEntry>,
    /// Settings of some links, one way.
    #[serde(default)]
    port: Vec<PortEntry>,
    /// Measurements on request.
    #[serde(default)]
    meter: Measures,
    /// Objective for `roundelay objective`; other commands ignore this table.
    objective: Option<Objective>,
    /// Sources of traffic.
    #[serde(default)]
    #[cfg_attr(feature = "schema", schemars(with = "Vec<super::schema::SourceTable>"))]
    #[allow(dead_code, reason = "it is read by itself")]
    source: Option<IgnoredAny>,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct QueueTable {
    /// Queues between core routers, and the default of `edge`. By default fifo limit 1000.
    #[serde(default, with = "Maybe::<Ordering>")]
    core: Option<Ordering>,
    /// Queues of other router outputs. By default as core.
    #[serde(default, with = "Maybe::<Ordering>")]
    edge: Option<Ordering>,
    /// Queues of hosts' network interfaces. By default fifo, with a limit never reached.
    #[serde(default, with = "Maybe::<Ordering>")]
    host: Option<Ordering>,
}

#[derive(Debug, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
struct RoutingTable {
    /// Metric of the shortest routes.
    #[serde(default)]
    metric: Metric,
    /// Whether flows are spread over all shortest routes (equal-cost multipath), by a hash keyed by
    /// the seed.
    #[serde(default)]
    spread: bool,
}

const fn one() -> u64 {
    1
}

/// The JSON Schema for scenario files.
pub const SCHEMA: &str = include_str!("schema.json");

/// [`SCHEMA`] made anew.
#[cfg(feature = "schema")]
pub fn schema() -> String {
    let schema = schemars::schema_for!(Top);
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

impl Scenario {
    /// Reads a scenario. Messages name `file`. Paths to files that the scenario names start at
    /// `folder`.
    ///
    /// # Errors
    /// The file, the line, the mistake and the legal values.
    pub fn from_toml(file: &str, text: &str, folder: &Path) -> Result<Self, ScenarioError> {
        Self::from_toml_with(file, text, folder, &no_captures)
    }

    /// As [`Scenario::from_toml`], with a reader of captures.
    ///
    /// # Errors
    /// As above.
    pub fn from_toml_with(
        file: &str,
        text: &str,
        folder: &Path,
        capture: &ReadCapture<'_>,
    ) -> Result<Self, ScenarioError> {
        let scenario = Self::network_from_toml(file, text, folder, capture)?;
        if scenario.groups.is_empty() {
            let fault = Fault::wanted("a table [[source]]").behind("a scenario without a source: ");
            return Err(fault.in_file(file, 0));
        }
        Ok(scenario)
    }

    /// As [`Scenario::from_toml_with`], but queues may also have the names of these disciplines,
    /// which the program brings. They take a limit but no parameters.
    ///
    /// # Errors
    /// As above, or a built-in discipline already has one of the names.
    pub fn from_toml_with_own(
        file: &str,
        text: &str,
        folder: &Path,
        capture: &ReadCapture<'_>,
        disciplines: &[AnyDiscipline],
    ) -> Result<Self, ScenarioError> {
        for discipline in disciplines {
            let name = discipline.name();
            let read = QueueSpec::read(name, &[]);
            if let Err(ConfigError::UnknownDiscipline { .. } | ConfigError::NotHere { .. }) = read {
                continue;
            }
            let fault = Fault::wanted("another name").behind(format_args!(
                "'{name}': a discipline of the program with the name of a built-in one: "
            ));
            return Err(fault.with_given(name).in_file(file, 0));
        }
        with_own(disciplines, || {
            Self::from_toml_with(file, text, folder, capture)
        })
    }

    /// As [`Scenario::from_toml_with`], but sources may be missing.
    ///
    /// # Errors
    /// As above.
    pub fn network_from_toml(
        file: &str,
        text: &str,
        folder: &Path,
        capture: &ReadCapture<'_>,
    ) -> Result<Self, ScenarioError> {
        let (reader, mut table) = Reader::parse(file, text)?;
        expect_tables(&reader, table.get_ref())?;
        let topology_table = table.get_mut().remove("topology");
        let sources = table.get_mut().remove("source");
        let written = Trees::read(&reader, table.get_mut().remove("trees"))?;
        let top: Top = reader.take(table)?;
        top.check(&reader)?;
        let (queues, trees) = top.queues();
        let parts = Parts {
            nodes: &top.node,
            links: &top.link,
            ports: &top.port,
            queues: &queues,
            trees: &trees,
            written: &written,
        };
        let topology_table = topology_table
            .map(|value| reader.table("topology", value))
            .transpose()?;
        let files = Files::new(folder, capture);
        let mut topology = topology(&reader, topology_table, &parts, &files)?;
        top.queue.check(&reader, &topology)?;
        written.check_wanted(&reader)?;
        topology.network.set_routing(Routing {
            metric: top.routing.metric,
            spread: top
                .routing
                .spread
                .then_some(route_key(top.hash_seed.unwrap_or(top.seed))),
        });
        let groups = groups(&reader, sources, &topology, top.duration, &files)?;
        if let Some(objective) = &top.objective {
            objective.check_source(&reader, &groups)?;
        }
        let name = match top.name {
            Some(name) => name,
            None => {
                let last = file.rsplit(['/', '\\']).next().unwrap_or(file);
                last.trim_end_matches(".toml").to_owned()
            }
        };
        let scenario = Self {
            name,
            seed: top.seed,
            hash_seed: top.hash_seed,
            duration: top.duration,
            warmup: top.warmup,
            topology,
            groups,
            measures: top.meter,
            objective: top.objective.map(|objective| Objective {
                line: reader.line("objective"),
                ..objective
            }),
            files: files.wanted(),
            keeps_all_flows: false,
        };
        let estimate = Estimate::of(&scenario);
        if estimate.events > MOST_EVENTS {
            let events = estimate.events;
            let fault = Fault::new(format!(
                "that would take {events:.1e} events, legal range up to {MOST_EVENTS:.0e}: \
                 shorten the run, or slow down the sources"
            ));
            let legal = format_args!("up to {MOST_EVENTS:.0e}");
            return Err(reader.at("duration", fault.with_legal(legal)));
        }
        Ok(scenario)
    }
}

impl QueueTable {
    /// # Errors
    /// A queue is set for a class that has no links.
    fn check(&self, reader: &Reader<'_>, topology: &Topology) -> Result<(), ScenarioError> {
        let links = topology.network.links();
        let has = |class: LinkClass| links.iter().any(|link| link.class == class);
        for (class, ordering) in [
            (LinkClass::Core, &self.core),
            (LinkClass::Edge, &self.edge),
            (LinkClass::Host, &self.host),
        ] {
            let stands_for_edge =
                class == LinkClass::Core && self.edge.is_none() && has(LinkClass::Edge);
            if ordering.is_some() && !has(class) && !stands_for_edge {
                let classes = LinkClass::ALL.into_iter().filter(|class| has(*class));
                let classes: Vec<_> = classes.map(LinkClass::name).collect();
                let message = format!(
                    "{class}: no link of this class; the network has links of {}",
                    classes.join(" and ")
                );
                return Err(reader.at(&format!("queue.{class}"), message));
            }
        }
        Ok(())
    }
}

impl Top {
    fn check(&self, reader: &Reader<'_>) -> Result<(), ScenarioError> {
        if self.duration < SHORTEST || self.duration > LONGEST {
            return Err(reader.at(
                "duration",
                Fault::range(self.duration, "1ns to 200 days").behind("duration "),
            ));
        }
        if self.warmup >= self.duration {
            let legal = format_args!("0 to less than the duration, {}", self.duration);
            let fault = Fault::range(self.warmup, legal).behind("warmup ");
            return Err(reader.at("warmup", fault));
        }
        self.meter.check(reader, self.warmup, self.duration)?;
        if let Some(objective) = &self.objective {
            objective.check(reader)?;
        }
        for (number, port) in self.port.iter().enumerate() {
            if port.cost.is_some() && self.routing.metric != Metric::Cost {
                return Err(reader.at(
                    &format!("port.{number}.cost"),
                    "cost: it counts where [routing] has metric = \"cost\", and nowhere else",
                ));
            }
        }
        Ok(())
    }

    /// Which disciplines each class's queues have, and which of them are trees.
    fn queues(&self) -> (Queues, Vec<ClassTree<'_>>) {
        let QueueTable { core, edge, host } = &self.queue;
        let edge = edge.as_ref().or(core.as_ref());
        let mut queues = Queues::default();
        let mut trees = Vec::new();
        for (class, ordering) in [
            (LinkClass::Core, core.as_ref()),
            (LinkClass::Edge, edge),
            (LinkClass::Host, host.as_ref()),
        ] {
            match ordering {
                Some(Ordering::Discipline(spec)) => *queues.of_mut(class) = spec.clone(),
                Some(Ordering::Tree { file, limit }) => trees.push(ClassTree {
                    class,
                    file,
                    limit: *limit,
                }),
                None => {}
            }
        }
        (queues, trees)
    }
}

/// # Errors
/// A list stands in place of a table. Serde would read it as the values of the table's keys in
/// order.
fn expect_tables(reader: &Reader<'_>, top: &DeTable<'_>) -> Result<(), ScenarioError> {
    for key in ["queue", "routing", "meter", "objective"] {
        if let Some(value) = top.get(key)
            && matches!(value.get_ref(), DeValue::Array(_))
        {
            let fault = Fault::wanted(format_args!("a table, as in [{key}]"));
            return Err(reader.at(key, fault.behind(format_args!("{key}: "))));
        }
    }
    Ok(())
}
