//! A scenario's network: from a template, from a file, or from nodes and links.

use roundelay::suggestion::alternatives;
use roundelay::{Billionths, Duration, Fault, Framing, Limit, LinkLayer, Rate, Seed};
use roundelay_files::{InWords, Maybe, Overhead, Reader, some_whole};
use roundelay_trace::{LinkModel, LinkTrace};
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

use super::ScenarioError;
use super::trees::Trees;
use crate::decision::DecisionCost;
use crate::files::Files;
use crate::ids::{LinkId, NodeId};
use crate::network::{LinkClass, LinkConfig, LinkSettings, Network};
use crate::topologies::files::{self, Format, FromFile};
use crate::topologies::{Queues, Template, Topology};
use crate::written::Ordering;

/// A node of a network without `[topology]`.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct NodeEntry {
    /// Name of the node.
    name: String,
    /// Whether the node sends and receives. Routers only forward.
    #[serde(default)]
    host: bool,
}

/// A link of a network without `[topology]`, both ways.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct LinkEntry {
    /// A node at one end.
    from: String,
    /// The node at the other end.
    to: String,
    /// Left out only with a `link_trace`.
    #[serde(default, with = "Maybe::<Rate>")]
    rate: Option<Rate>,
    /// Link trace in place of the rate, both ways: a file with a line for each time in milliseconds at
    /// which the link delivers a full packet, as mahimahi's mm-link reads it, or a model, as in
    /// `wifi stations 5` or `lte rate 10mbit`.
    link_trace: Option<String>,
    /// Propagation delay: 0 if left out.
    #[serde(default, with = "InWords::<Duration>")]
    delay: Duration,
    /// Maximum extra delay, drawn evenly for each packet; packets keep their order.
    #[serde(default, with = "Maybe::<Duration>")]
    jitter: Option<Duration>,
    /// The fraction of packets lost on the wire.
    #[serde(default, with = "Maybe::<Billionths>")]
    loss: Option<Billionths>,
    /// Whether the link goes only from `from` to `to`.
    #[serde(default)]
    one_way: bool,
    /// Link class; by default `host` for links from a host, `edge` for links to a host, else
    /// `core`.
    class: Option<LinkClass>,
}

/// Settings of some links, one way.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub(super) struct PortEntry {
    /// Node at the start of the links: a name, or a name with `*`.
    from: String,
    /// Node at the end.
    to: String,
    #[serde(default, with = "Maybe::<Ordering>")]
    queue: Option<Ordering>,
    #[serde(default, with = "Maybe::<Rate>")]
    rate: Option<Rate>,
    /// Link trace in place of the rate: a file with a line for each time in milliseconds at which the
    /// link delivers a full packet, as mahimahi's mm-link reads it, or a model, as in
    /// `wifi stations 5` or `lte rate 10mbit`.
    link_trace: Option<String>,
    #[serde(default, with = "Maybe::<Duration>")]
    delay: Option<Duration>,
    /// The fraction of packets lost on the wire.
    #[serde(default, with = "Maybe::<Billionths>")]
    loss: Option<Billionths>,
    /// Maximum extra delay, drawn evenly for each packet; packets keep their order.
    #[serde(default, with = "Maybe::<Duration>")]
    jitter: Option<Duration>,
    /// The kind of link, by a keyword of tc-cake(8): sets `overhead`, `mpu` and `framing`.
    #[serde(default, with = "Maybe::<LinkLayer>")]
    link: Option<LinkLayer>,
    /// Bytes that the link adds to each packet: -64 to 65,535.
    #[serde(default, with = "Maybe::<Overhead>")]
    overhead: Option<Overhead>,
    /// Bytes that each packet takes at least, with overhead: up to 65,535.
    #[serde(default, with = "Maybe::<u32>")]
    mpu: Option<u32>,
    /// Cells of ATM (53 bytes for each 48) or the code of PTM (65 for each 64).
    #[serde(default, with = "Maybe::<Framing>")]
    framing: Option<Framing>,
    /// Cost of the link for routing by cost.
    #[serde(default, deserialize_with = "some_whole::<_, _, 0, { u64::MAX }>")]
    pub(super) cost: Option<u64>,
    /// Time for each decision of the queue, during which the link is idle.
    #[serde(default)]
    decision: Option<DecisionCost>,
}

/// A tree at the links of a class.
pub(super) struct ClassTree<'a> {
    pub(super) class: LinkClass,
    pub(super) file: &'a str,
    pub(super) limit: Option<Limit>,
}

/// The tables that describe the network beside `[topology]`.
pub(super) struct Parts<'a> {
    pub(super) nodes: &'a [NodeEntry],
    pub(super) links: &'a [LinkEntry],
    pub(super) ports: &'a [PortEntry],
    pub(super) queues: &'a Queues,
    /// Link classes whose queues are trees.
    pub(super) trees: &'a [ClassTree<'a>],
    /// The trees that the scenario itself contains.
    pub(super) written: &'a Trees,
}

/// # Errors
/// There is a mistake in the network.
pub(super) fn topology<'a>(
    reader: &Reader<'a>,
    table: Option<Spanned<DeTable<'a>>>,
    parts: &Parts<'_>,
    files: &Files<'_>,
) -> Result<Topology, ScenarioError> {
    let mut topology = match table {
        Some(_) if !(parts.nodes.is_empty() && parts.links.is_empty()) => {
            let key = if parts.nodes.is_empty() {
                "link"
            } else {
                "node"
            };
            return Err(reader.at(
                key,
                "the network comes from [topology]: [[port]] changes links of the network",
            ));
        }
        Some(table) if table.get_ref().contains_key("file") => {
            from_file(reader, table, parts.queues, files)?
        }
        Some(table) => from_template(reader, table, parts.queues)?,
        None => written_out(reader, parts, files)?,
    };
    for ClassTree { class, file, limit } in parts.trees {
        let tree = parts
            .written
            .find(reader, &format!("queue.{class}"), file, files)?;
        let mut links = Vec::new();
        for (number, link) in (0..).zip(topology.network.links()) {
            if link.class == *class {
                links.push(LinkId(number));
            }
        }
        let put = |link: &mut LinkSettings| link.set_tree(tree.clone(), *limit);
        topology.network.change_links(&links, put);
    }
    for (number, port) in parts.ports.iter().enumerate() {
        change(
            reader,
            &format!("port.{number}"),
            port,
            &mut topology.network,
            (parts.written, files),
        )?;
    }
    Ok(topology)
}

fn from_template<'a>(
    reader: &Reader<'a>,
    mut table: Spanned<DeTable<'a>>,
    queues: &Queues,
) -> Result<Topology, ScenarioError> {
    let names = alternatives(Template::NAMES);
    let Some(template) = table.get_mut().remove("template") else {
        return Err(reader.at(
            "topology",
            format!("neither a template nor a file: template = {names}, or file = \"...\""),
        ));
    };
    let Some(name) = template.get_ref().as_str() else {
        return Err(reader.at(
            "topology.template",
            Fault::wanted(format_args!("a name: {names}")),
        ));
    };
    if !Template::NAMES.contains(&name) {
        let fault = Fault::no_such("template", name, Template::NAMES);
        return Err(reader.at("topology.template", fault));
    }
    let template = reader.take_rest(&["template"], table, |table| Template::read(name, table))?;
    template
        .build(queues)
        .map_err(|error| reader.at(&format!("topology.{}", error.parameter), error))
}

fn from_file<'a>(
    reader: &Reader<'a>,
    mut table: Spanned<DeTable<'a>>,
    queues: &Queues,
    files: &Files<'_>,
) -> Result<Topology, ScenarioError> {
    let mut text_of = |key: &str| -> Result<Option<String>, ScenarioError> {
        let Some(value) = table.get_mut().remove(key) else {
            return Ok(None);
        };
        let text = value.get_ref().as_str().map(str::to_owned);
        text.map(Some).ok_or_else(|| {
            reader.at(
                &format!("topology.{key}"),
                Fault::wanted("a text").behind(format_args!("{key}: ")),
            )
        })
    };
    let file = text_of("file")?.unwrap_or_default();
    let format = text_of("format")?;
    let second = text_of("second")?;
    let format = format.map_or_else(
        || Ok(Format::of_name(&file)),
        |format| format.parse::<Format>(),
    );
    let format = format.map_err(|message| reader.at("topology.format", message))?;
    if second.is_some() && format.second().is_none() {
        return Err(reader.at(
            "topology.second",
            format!("format {} has one file only", format.name()),
        ));
    }
    let rest: FromFile =
        reader.take_rest(&["file", "format", "second"], table, FromFile::deserialize)?;
    for key in ["access_rate", "access_delay"] {
        let path = format!("topology.{key}");
        if reader.has(&path) && rest.hosts_per_router == 0 {
            let why = "no host is attached with hosts_per_router = 0";
            return Err(reader.at(&path, format!("{key}: {why}")));
        }
    }
    let what = format!("a network in the format {}", format.name());
    let load = |key: &str, file: &str| {
        files
            .text(file, &what)
            .map_err(|message| reader.at(key, message))
    };
    let first = load("topology.file", &file)?;
    let other = second
        .as_deref()
        .map(|name| load("topology.second", name))
        .transpose()?;
    let other = second
        .as_deref()
        .zip(other.as_deref())
        .map(|(name, text)| files::Text { name, text });
    rest.read(
        format,
        files::Text {
            name: &file,
            text: &first,
        },
        other,
        queues,
    )
}

/// The link trace that a `[[link]]` or `[[port]]` names.
fn link_trace(
    reader: &Reader<'_>,
    path: &str,
    name: Option<&str>,
    has_rate: bool,
    files: &Files<'_>,
) -> Result<Option<LinkTrace>, ScenarioError> {
    let Some(name) = name else {
        return Ok(None);
    };
    let key = format!("{path}.link_trace");
    if has_rate {
        let message = "link_trace: it takes the place of rate, so leave out one of them";
        return Err(reader.at(&key, message));
    }
    let model = LinkModel::read(name).map_err(|error| reader.at(&key, error))?;
    if let Some(model) = model {
        // Each run draws its own, so this seed does not matter.
        return Ok(Some(LinkTrace::of_model(model, Seed::new(0))));
    }
    let what = "a link trace: times in milliseconds, one a line";
    let text = files
        .text(name, what)
        .map_err(|message| reader.at(&key, message))?;
    LinkTrace::parse(name, &text).map(Some)
}

fn written_out(
    reader: &Reader<'_>,
    parts: &Parts<'_>,
    files: &Files<'_>,
) -> Result<Topology, ScenarioError> {
    if parts.nodes.is_empty() {
        return Err(reader.at(
            "",
            "no network: [topology] with a template or a file, or [[node]] and [[link]]",
        ));
    }
    let mut topology = Topology::default();
    for (number, entry) in parts.nodes.iter().enumerate() {
        let node = topology.network.add_named(&entry.name);
        let node = node.map_err(|_| {
            reader.at(
                &format!("node.{number}.name"),
                format!("two nodes are called '{}'", entry.name),
            )
        })?;
        topology.hosts.extend(entry.host.then_some(node));
    }
    for (number, entry) in parts.links.iter().enumerate() {
        let end = |key: &str, name: &str| {
            let node = topology.network.named(name);
            node.ok_or_else(|| {
                let names: Vec<_> = parts.nodes.iter().map(|node| node.name.as_str()).collect();
                let fault = Fault::no_such("node", name, &names);
                reader.at(&format!("link.{number}.{key}"), fault)
            })
        };
        let from = end("from", &entry.from)?;
        let to = end("to", &entry.to)?;
        if from == to {
            return Err(reader.at(
                &format!("link.{number}.to"),
                format!("a link from '{}' to itself", entry.from),
            ));
        }
        let path = format!("link.{number}");
        let name = entry.link_trace.as_deref();
        let trace = link_trace(reader, &path, name, entry.rate.is_some(), files)?;
        let mean = trace.as_ref().map(|trace| trace.mean_rate(LinkLayer::NONE));
        let rate = entry.rate.or(mean).ok_or_else(|| {
            reader.at(
                &path,
                "missing field `rate`: a link needs it, or link_trace",
            )
        })?;
        let ways = [(from, to), (to, from)];
        for ends in ways.into_iter().take(if entry.one_way { 1 } else { 2 }) {
            let mut link = link(&topology, entry, ends, rate, parts.queues);
            let layer = link.layer;
            link.set_trace(trace.clone(), layer);
            let checked = link.decision_cost();
            checked.map_err(|error| reader.at(&format!("{path}.link_trace"), error))?;
            let id = topology.network.add_link(link);
            id.expect("both ends have been found");
        }
    }
    Ok(topology)
}

fn link(
    topology: &Topology,
    entry: &LinkEntry,
    (from, to): (NodeId, NodeId),
    rate: Rate,
    queues: &Queues,
) -> LinkConfig {
    let is_host = |node| topology.hosts.contains(&node);
    let by_ends = match (is_host(from), is_host(to)) {
        (true, _) => LinkClass::Host,
        (_, true) => LinkClass::Edge,
        _ => LinkClass::Core,
    };
    let class = entry.class.unwrap_or(by_ends);
    let mut link = LinkConfig::new(from, to, rate, entry.delay, queues.of(class).clone());
    link.class = class;
    link.jitter = entry.jitter.unwrap_or(link.jitter);
    link.loss = entry.loss.unwrap_or(link.loss);
    link
}

fn change(
    reader: &Reader<'_>,
    path: &str,
    entry: &PortEntry,
    network: &mut Network,
    (trees, files): (&Trees, &Files<'_>),
) -> Result<(), ScenarioError> {
    let fits = |pattern: &str, node: NodeId| {
        let name = network.name(node);
        pattern
            .split_once('*')
            .map_or(name == pattern, |(head, tail)| {
                name.len() >= head.len() + tail.len()
                    && name.starts_with(head)
                    && name.ends_with(tail)
            })
    };
    let all = network.links().iter().enumerate();
    let found = all.filter(|(_, link)| fits(&entry.from, link.from) && fits(&entry.to, link.to));
    let found: Vec<_> = found.map(|(number, _)| LinkId(number as u32)).collect();
    if found.is_empty() {
        return Err(reader.at(
            path,
            format!("no link leads from '{}' to '{}'", entry.from, entry.to),
        ));
    }
    let range = |key: &str, bytes: i64, least: i64, most: i64| {
        let is_legal = (least..=most).contains(&bytes);
        is_legal.then_some(()).ok_or_else(|| {
            reader.at(
                &format!("{path}.{key}"),
                Fault::range(bytes, format_args!("{least} to {most}"))
                    .behind(format_args!("{key} ")),
            )
        })
    };
    let overhead = LinkLayer::OVERHEAD;
    let mpu = LinkLayer::MPU;
    entry.overhead.map_or(Ok(()), |bytes| {
        range(
            "overhead",
            bytes.0.into(),
            (*overhead.start()).into(),
            (*overhead.end()).into(),
        )
    })?;
    entry.mpu.map_or(Ok(()), |bytes| {
        range(
            "mpu",
            bytes.into(),
            (*mpu.start()).into(),
            (*mpu.end()).into(),
        )
    })?;
    let tree = match &entry.queue {
        Some(Ordering::Tree { file, limit }) => Some((
            trees.find(reader, &format!("{path}.queue"), file, files)?,
            *limit,
        )),
        _ => None,
    };
    let name = entry.link_trace.as_deref();
    let trace = link_trace(reader, path, name, entry.rate.is_some(), files)?;
    // With a trace, decisions may not cost time and queues may not interrupt packets.
    let key = if trace.is_some() && entry.decision.is_none() {
        "link_trace"
    } else {
        "decision"
    };
    network.change_links(&found, |link| {
        if let Some((tree, limit)) = &tree {
            link.set_tree(tree.clone(), *limit);
        }
        entry.apply(link, trace.as_ref());
    });
    for id in found {
        network.links()[id.index()]
            .decision_cost()
            .map_err(|error| reader.at(&format!("{path}.{key}"), error))?;
    }
    Ok(())
}

impl PortEntry {
    /// The link layer, if any key sets it.
    fn layer(&self) -> Option<LinkLayer> {
        let Self {
            link,
            overhead,
            mpu,
            framing,
            ..
        } = *self;
        let is_set = link.is_some() || overhead.is_some() || mpu.is_some() || framing.is_some();
        is_set
            .then(|| LinkLayer::replaced(link, overhead.map(|Overhead(bytes)| bytes), mpu, framing))
    }

    fn apply(&self, link: &mut LinkSettings, trace: Option<&LinkTrace>) {
        if let Some(Ordering::Discipline(queue)) = &self.queue {
            link.set_queue(queue.clone());
        }
        let mut trace = trace.or(link.trace.as_ref()).cloned();
        if let Some(rate) = self.rate {
            (link.rate, trace) = (rate, None);
        }
        link.set_trace(trace, self.layer().unwrap_or(link.layer));
        link.delay = self.delay.unwrap_or(link.delay);
        link.loss = self.loss.unwrap_or(link.loss);
        link.jitter = self.jitter.unwrap_or(link.jitter);
        link.cost = self.cost.unwrap_or(link.cost);
        self.decision
            .iter()
            .for_each(|decision| link.decision.clone_from(decision));
    }
}
