//! The file of a scenario.

use std::collections::BTreeSet;
use std::path::Path;

use roundelay::schedulers::Spec;
use roundelay::{Duration, FlowConfig, Instant};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::estimate::{Estimate, MOST_EVENTS};
use super::pairs::{Pairing, matching};
use super::reader::Reader;
use super::source::{SourceSpec, Trace};
use super::topology::{LinkEntry, NodeEntry, Parts, PortEntry, TopologyTable, topology};
use super::{Group, Scenario, ScenarioError};
use crate::network::{Network, NodeId};
use crate::random::mix;
use crate::routing::{Metric, Routes, Routing};
use crate::sources::{Terms, Urgency, arrivals};
use crate::topologies::{Queues, Topology};
use crate::written::{InWords, read, some};

/// The longest run, which a `u64` of picoseconds can tell with some room.
const LONGEST: Duration = Duration::from_secs(200 * 86_400);
/// Most sources.
const MOST_SOURCES: u64 = 1_000_000;

/// A scenario: a network, what it carries and for how long.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "Roundelay scenario")]
struct Top {
    /// What it is called. Left out: as the file.
    name: Option<String>,
    /// Of all that is drawn: same seed, same result.
    #[serde(default = "one")]
    seed: u64,
    /// How long it lasts, at most 200 days.
    #[serde(deserialize_with = "read")]
    #[schemars(with = "InWords<Duration>")]
    duration: Duration,
    /// What happens before counts for nothing: less than the duration.
    #[serde(default, deserialize_with = "read")]
    #[schemars(with = "InWords<Duration>")]
    warmup: Duration,
    /// The network: a template with its parameters, or a file. Left out: [[node]] and [[link]].
    #[serde(default, skip_deserializing)]
    #[schemars(with = "Option<TopologyTable>")]
    #[allow(dead_code, reason = "it is read by itself")]
    topology: (),
    /// What orders queues, by class of links.
    #[serde(default)]
    queue: QueueTable,
    /// How packets find their way.
    #[serde(default)]
    routing: RoutingTable,
    /// Nodes, where there is no [topology].
    #[serde(default)]
    node: Vec<NodeEntry>,
    /// Links, where there is no [topology].
    #[serde(default)]
    link: Vec<LinkEntry>,
    /// What is different about some links, one way.
    #[serde(default)]
    port: Vec<PortEntry>,
    /// Who sends.
    #[serde(default, skip_deserializing)]
    #[schemars(with = "Vec<SourceTable>")]
    #[allow(dead_code, reason = "it is read by itself")]
    source: (),
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct QueueTable {
    /// Between core routers, and other outputs of routers where nothing is said of them. By default fifo limit 1000.
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "Option<InWords<Spec>>")]
    core: Option<Spec>,
    /// Other outputs of routers.
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "Option<InWords<Spec>>")]
    edge: Option<Spec>,
    /// Hosts' network interfaces. By default fifo, and no limit that matters.
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "Option<InWords<Spec>>")]
    host: Option<Spec>,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RoutingTable {
    /// What makes a route short.
    #[serde(default)]
    metric: Metric,
    /// Whether flows are spread over all shortest routes (equal-cost multipath), by a hash that the seed keys.
    #[serde(default)]
    spread: bool,
}

/// A `[[source]]` as the schema shows it.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the schema is made from it")]
struct SourceTable {
    #[schemars(flatten)]
    placement: Placement,
    #[schemars(flatten)]
    spec: SourceSpec,
}

/// What all sources have.
#[derive(Debug, Deserialize, JsonSchema)]
struct Placement {
    /// What it is called in results. Left out: its kind and number.
    name: Option<String>,
    /// Hosts that send: a name, one with a `*` for any letters, numbered ones as in s0..48, or a list of these.
    from: OneOrMany,
    /// Hosts that they send to; flows that arrive have none.
    to: Option<OneOrMany>,
    /// Who sends to whom.
    #[serde(default)]
    pairs: Pairing,
    /// Sources of each pair.
    #[serde(default = "one_u32")]
    count: u32,
    /// When the first starts.
    #[serde(default, deserialize_with = "read")]
    #[schemars(with = "InWords<Duration>")]
    start: Duration,
    /// Each starts so much later than the one before.
    #[serde(default, deserialize_with = "read")]
    #[schemars(with = "InWords<Duration>")]
    start_step: Duration,
    /// And up to so much later again, drawn evenly.
    #[serde(default, deserialize_with = "read")]
    #[schemars(with = "InWords<Duration>")]
    start_jitter: Duration,
    /// When all stop. Left out: never.
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "Option<InWords<Duration>>")]
    stop: Option<Duration>,
    /// Its weight in queues that know weights: 1 to 1024.
    #[schemars(range(min = 1, max = 1024))]
    weight: Option<u32>,
    /// Its longest packet, for queues that go by it: 512 to 65,536 bytes.
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "Option<InWords<u32>>")]
    max_packet_len: Option<u32>,
    /// What its packets say of their urgency.
    #[serde(default, deserialize_with = "some")]
    #[schemars(with = "Option<InWords<Urgency>>")]
    urgency: Option<Urgency>,
}

const PLACEMENT: [&str; 12] =
    ["name", "from", "to", "pairs", "count", "start", "start_step", "start_jitter", "stop", "weight", "max_packet_len", "urgency"];

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

impl OneOrMany {
    fn texts(&self) -> &[String] {
        match self {
            Self::One(text) => std::slice::from_ref(text),
            Self::Many(texts) => texts,
        }
    }
}

const fn one() -> u64 {
    1
}

const fn one_u32() -> u32 {
    1
}

/// The JSON Schema of scenario files, indented, ending in a newline.
pub fn schema() -> String {
    let schema = schemars::schema_for!(Top);
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

impl Scenario {
    /// Reads a scenario. `file` stands in messages; files that it names are looked for in `folder`.
    ///
    /// # Errors
    /// The file, the line, what is wrong there and what would be legal.
    pub fn from_toml(file: &str, text: &str, folder: &Path) -> Result<Self, ScenarioError> {
        let (reader, mut table) = Reader::parse(file, text)?;
        let topology_table = table.get_mut().remove("topology");
        let sources = table.get_mut().remove("source");
        let top: Top = reader.take(table)?;
        top.check(&reader)?;
        let queues = top.queues();
        let parts = Parts { nodes: &top.node, links: &top.link, ports: &top.port, queues: &queues };
        let topology_table = topology_table.map(|value| into_table(&reader, "topology", value)).transpose()?;
        let mut topology = topology(&reader, topology_table, &parts, folder)?;
        topology.network.set_routing(Routing { metric: top.routing.metric, spread: top.routing.spread.then_some(mix(top.seed)) });
        let groups = groups(&reader, sources, &topology, &top, folder)?;
        let name = top.name.unwrap_or_else(|| file.rsplit(['/', '\\']).next().unwrap_or(file).trim_end_matches(".toml").to_owned());
        let scenario = Self { name, seed: top.seed, duration: top.duration, warmup: top.warmup, topology, groups };
        let estimate = Estimate::of(&scenario);
        if estimate.events > MOST_EVENTS {
            let message = format!(
                "that would take {:.1e} events, legal range up to {MOST_EVENTS:.0e}: {}",
                estimate.events, "shorten it, or slow down its sources"
            );
            return Err(reader.at("duration", message));
        }
        Ok(scenario)
    }
}

impl Top {
    fn check(&self, reader: &Reader<'_>) -> Result<(), ScenarioError> {
        if self.duration == Duration::ZERO || self.duration > LONGEST {
            return Err(reader.at("duration", format!("duration {}: legal range 1ns to 200 days", self.duration)));
        }
        if self.warmup >= self.duration {
            let message = format!("warmup {}: legal range 0 to less than the duration, {}", self.warmup, self.duration);
            return Err(reader.at("warmup", message));
        }
        Ok(())
    }

    fn queues(&self) -> Queues {
        let QueueTable { core, edge, host } = &self.queue;
        let mut queues = core.clone().map_or_else(Queues::default, Queues::routers);
        edge.iter().for_each(|edge| queues.edge = edge.clone());
        host.iter().for_each(|host| queues.host = host.clone());
        queues
    }
}

fn into_table<'a>(reader: &Reader<'a>, key: &str, value: Spanned<DeValue<'a>>) -> Result<Spanned<DeTable<'a>>, ScenarioError> {
    let span = value.span();
    match value.into_inner() {
        DeValue::Table(table) => Ok(Spanned::new(span, table)),
        _ => Err(reader.at(key, format!("expected a table, as in [{key}]"))),
    }
}

fn groups<'a>(
    reader: &Reader<'a>,
    sources: Option<Spanned<DeValue<'a>>>,
    topology: &Topology,
    top: &Top,
    folder: &Path,
) -> Result<Vec<Group>, ScenarioError> {
    let Some(sources) = sources else { return Err(reader.at("", "nobody sends: [[source]]")) };
    let DeValue::Array(sources) = sources.into_inner() else {
        return Err(reader.at("source", "sources are written [[source]], each with a head of its own"));
    };
    let (mut groups, mut names, mut total) = (Vec::new(), BTreeSet::new(), 0);
    let mut routes = Routes::default();
    for (number, value) in sources.into_iter().enumerate() {
        let path = format!("source.{number}");
        let entry = Entry { reader, folder, path: &path, topology };
        let group = entry.read(into_table(reader, "[source]", value)?, number, top)?;
        if !names.insert(group.name.clone()) {
            return Err(reader.at(&format!("{path}.name"), format!("two sources are called '{}'", group.name)));
        }
        total += group.sources();
        if total > MOST_SOURCES {
            return Err(reader.at(&path, format!("that makes {total} sources, legal range up to {MOST_SOURCES}")));
        }
        entry.check_routes(&group, &mut routes)?;
        groups.push(group);
    }
    Ok(groups)
}

impl Group {
    /// The hosts of flows that arrive, none for other sources.
    pub(super) fn hosts(&self, network: &Network) -> Vec<arrivals::Host> {
        match &self.source {
            SourceSpec::Arrivals(spec) => spec.hosts(network, &self.from),
            _ => Vec::new(),
        }
    }

    /// Pairs that may come to be: all those that must have a route.
    pub(super) fn possible_pairs(&self) -> Vec<(NodeId, NodeId)> {
        match (&self.source, self.pairs) {
            (SourceSpec::Arrivals(_), _) | (_, Pairing::All | Pairing::Random) => Pairing::All.pairs(&self.from, &self.to, 0),
            (_, Pairing::Each) => Pairing::Each.pairs(&self.from, &self.to, 0),
        }
    }

    /// The pairs of its sources; only those of a pairing at random depend on the seed.
    pub(super) fn source_pairs(&self, seed: u64) -> Vec<(NodeId, NodeId)> {
        if matches!(self.source, SourceSpec::Arrivals(_)) {
            return vec![(self.from[0], self.to[0])];
        }
        self.pairs.pairs(&self.from, &self.to, seed)
    }

    /// How many sources it has.
    pub(super) fn sources(&self) -> u64 {
        let pairs = match self.pairs {
            _ if matches!(self.source, SourceSpec::Arrivals(_)) => 1,
            Pairing::All => self.possible_pairs().len() as u64,
            Pairing::Each => self.from.len().max(self.to.len()) as u64,
            Pairing::Random => self.from.len() as u64,
        };
        pairs * u64::from(self.count)
    }

    /// Terms of a source between two hosts.
    pub(super) fn terms(&self, from: NodeId, to: NodeId, number: u64) -> Terms {
        let start = self.start + Duration::from_picos(self.start_step.as_picos().saturating_mul(number));
        let mut terms = Terms::new(from, to);
        terms.flow.config = self.flow;
        terms.start = Instant::ZERO + start;
        terms.start_jitter = self.start_jitter;
        terms.stop = self.stop.map(|stop| Instant::ZERO + stop);
        terms.urgency = self.urgency;
        terms
    }
}

/// A `[[source]]` that is being read.
struct Entry<'r, 'a> {
    reader: &'r Reader<'a>,
    folder: &'r Path,
    path: &'r str,
    topology: &'r Topology,
}

impl<'a> Entry<'_, 'a> {
    fn at(&self, key: &str, message: impl std::fmt::Display) -> ScenarioError {
        self.reader.at(&format!("{}.{key}", self.path), message)
    }

    fn read(&self, mut table: Spanned<DeTable<'a>>, number: usize, top: &Top) -> Result<Group, ScenarioError> {
        let mut common = DeTable::new();
        let span = table.span();
        for key in PLACEMENT {
            if let Some((key, value)) = table.get_mut().remove_entry(key) {
                common.insert(key, value);
            }
        }
        let kind = table.get_mut().remove("kind");
        let source = self.source(kind.as_ref().and_then(|kind| kind.get_ref().as_str()), table)?;
        let placement: Placement = self.reader.take(Spanned::new(span, common))?;
        let from = self.hosts("from", &placement.from)?;
        let to = match (&placement.to, &source) {
            (Some(_), SourceSpec::Arrivals(_)) => return Err(self.at("to", "flows that arrive go between hosts of 'from': leave it out")),
            (None, SourceSpec::Arrivals(_)) => from.clone(),
            (Some(to), _) => self.hosts("to", to)?,
            (None, _) => return Err(self.at("to", "a source without receivers: to = \"...\"")),
        };
        placement.pairs.count(&from, &to).map_err(|message| self.at("pairs", message))?;
        let name = placement.name.clone().unwrap_or_else(|| format!("{}{number}", source.kind()));
        let flow = self.flow(&placement)?;
        let Placement { pairs, count, start, start_step, start_jitter, stop, .. } = placement;
        let urgency = placement.urgency.unwrap_or_default();
        let group = Group { name, source, from, to, pairs, count, start, start_step, start_jitter, stop, flow, urgency };
        self.check(&group, top)?;
        Ok(group)
    }

    fn source(&self, kind: Option<&str>, table: Spanned<DeTable<'a>>) -> Result<SourceSpec, ScenarioError> {
        let reader = self.reader;
        Ok(match kind {
            Some("cbr") => SourceSpec::Cbr(reader.take(table)?),
            Some("poisson") => SourceSpec::Poisson(reader.take(table)?),
            Some("on_off") => SourceSpec::OnOff(reader.take(table)?),
            Some("voip") => SourceSpec::Voip(reader.take(table)?),
            Some("burst") => SourceSpec::Burst(reader.take(table)?),
            Some("tcp") => SourceSpec::Tcp(reader.take(table)?),
            Some("request_response") => SourceSpec::RequestResponse(reader.take(table)?),
            Some("video") => SourceSpec::Video(reader.take(table)?),
            Some("arrivals") => SourceSpec::Arrivals(reader.take(table)?),
            Some("trace") => SourceSpec::Trace(self.trace(reader.take(table)?)?),
            Some(other) => return Err(self.at("kind", format!("'{other}' is no kind of source: {}", SourceSpec::KINDS.join(", ")))),
            None => return Err(self.at("kind", format!("a source without a kind: {}", SourceSpec::KINDS.join(", ")))),
        })
    }

    /// Reads a trace's packets.
    fn trace(&self, mut trace: Trace) -> Result<Trace, ScenarioError> {
        let text = std::fs::read_to_string(self.folder.join(&trace.file));
        let text = text.map_err(|error| self.at("file", format!("cannot read '{}': {error}", trace.file)))?;
        for (line, text) in (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty()) {
            let mut words = text.split_whitespace();
            let time = words.next().and_then(|word| format!("{word}s").parse::<Duration>().ok());
            let len = words.next().and_then(|word| word.parse().ok());
            let (Some(time), Some(len), None) = (time, len, words.next()) else {
                let message = format!("'{text}': expected seconds and bytes, as in 0.0125 1500");
                return Err(ScenarioError { file: trace.file, line, message });
            };
            trace.packets.push((Instant::ZERO + time, len));
        }
        Ok(trace)
    }

    fn hosts(&self, key: &str, patterns: &OneOrMany) -> Result<Vec<NodeId>, ScenarioError> {
        let mut hosts = Vec::new();
        for pattern in patterns.texts() {
            let found = matching(&self.topology.network, &self.topology.hosts, pattern);
            hosts.extend(found.map_err(|message| self.at(key, message))?);
        }
        if hosts.is_empty() { Err(self.at(key, "an empty list: one host or more")) } else { Ok(hosts) }
    }

    fn flow(&self, placement: &Placement) -> Result<Option<FlowConfig>, ScenarioError> {
        if placement.weight.is_none() && placement.max_packet_len.is_none() {
            return Ok(None);
        }
        let mut flow = FlowConfig::default();
        if let Some(weight) = placement.weight {
            let most = FlowConfig::MAX_WEIGHT;
            if !(1..=most).contains(&weight) {
                return Err(self.at("weight", format!("weight {weight}: legal range 1 to {most}")));
            }
            flow.weight = weight;
        }
        if let Some(len) = placement.max_packet_len {
            let (least, most) = (FlowConfig::MIN_MAX_PACKET_LEN, FlowConfig::MAX_PACKET_LEN);
            if !(least..=most).contains(&len) {
                return Err(self.at("max_packet_len", format!("max_packet_len {len}: legal range {least} to {most}")));
            }
            flow.max_packet_len = len;
        }
        Ok(Some(flow))
    }

    /// What can be checked by making one of the sources.
    fn check(&self, group: &Group, top: &Top) -> Result<(), ScenarioError> {
        if group.count == 0 {
            return Err(self.at("count", "count 0: legal range 1 to 1000000"));
        }
        if group.count > 1 && matches!(group.source, SourceSpec::Arrivals(_)) {
            return Err(self.at("count", "flows that arrive are one source: raise their utilisation"));
        }
        if group.start >= top.duration {
            return Err(self.at("start", format!("start {}: legal range 0 to less than the duration, {}", group.start, top.duration)));
        }
        let hosts = group.hosts(&self.topology.network);
        let agent = group.source.agent(group.terms(group.from[0], group.to[0], 0), &hosts);
        agent.map(drop).map_err(|error| {
            let key = key_of(error.parameter);
            self.at(key, format!("{key} {}: legal range {}", error.value, error.range))
        })
    }

    fn check_routes(&self, group: &Group, routes: &mut Routes) -> Result<(), ScenarioError> {
        let network = &self.topology.network;
        for (from, to) in group.possible_pairs() {
            if from == to {
                return Err(self.at("to", format!("'{}' sends to itself", network.name(from))));
            }
            for (from, to) in [(from, to), (to, from)] {
                let route = routes.between(network, from, to);
                route.map_err(|_| self.at("to", format!("there is no way from '{}' to '{}'", network.name(from), network.name(to))))?;
            }
        }
        Ok(())
    }
}

/// The key that a source's parameter is written under.
fn key_of(parameter: &'static str) -> &'static str {
    let key = parameter.trim_end_matches("_bytes").trim_start_matches("mean_");
    if key.starts_with("shape_") { "shape" } else { key }
}
