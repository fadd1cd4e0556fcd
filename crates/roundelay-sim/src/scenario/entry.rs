//! A `[[source]]` table of a scenario: senders, receivers and traffic.

use std::collections::BTreeSet;

use roundelay::{Duration, Fault, FlowConfig, Instant};
use roundelay_files::{InWords, Maybe, Reader, some_whole, whole};
use serde::Deserialize;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::edge_codel::EdgeCodel;
use super::group::ALL;
use super::pairs::{Pairing, matching};
use super::{Group, Protocol, ScenarioError, SourceSpec};
use crate::files::Files;
use crate::ids::NodeId;
use crate::routing::{Inner, Reach};
use crate::sources::source::{FileFault, Listed, Reading};
use crate::sources::{LONGEST_PACKET, Urgency};
use crate::topologies::Topology;
use crate::written::CodePoint;

/// The most sources that a scenario may have.
const MOST_SOURCES: u64 = 1_000_000;
/// The most bytes of route tables that one group may need.
const MOST_ROUTE_BYTES: u64 = 4 << 30;

/// Keys of all sources.
#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(super) struct Placement {
    /// Name in results. Left out: kind and number.
    name: Option<String>,
    /// Sending hosts: a name, a name with `*` for any letters, numbered names as in s0..48, or a
    /// list of these.
    from: OneOrMany,
    /// Receiving hosts; none for `arrivals` and `workload`.
    to: Option<OneOrMany>,
    /// Which host sends to which.
    #[serde(default)]
    pairs: Pairing,
    /// Sources for each pair.
    #[serde(
        default = "one_u32",
        deserialize_with = "whole::<_, _, 1, MOST_SOURCES>"
    )]
    count: u32,
    /// When the first source starts.
    #[serde(default, with = "InWords::<Duration>")]
    start: Duration,
    /// Time between the starts of consecutive sources.
    #[serde(default, with = "InWords::<Duration>")]
    start_step: Duration,
    /// Extra delay of each start, drawn evenly from 0 to this.
    #[serde(default, with = "InWords::<Duration>")]
    start_jitter: Duration,
    /// When all sources stop. Left out: never.
    #[serde(default, with = "Maybe::<Duration>")]
    stop: Option<Duration>,
    /// Weight of each flow in weighted queues: 1 to 1024.
    #[serde(default, deserialize_with = "some_whole::<_, _, 1, 1024>")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1024)))]
    weight: Option<u32>,
    /// Longest packet, for queues that need the maximum length: 512 to 65,536 bytes.
    #[serde(default, with = "Maybe::<u32>")]
    max_packet_len: Option<u32>,
    /// Urgency written into packets.
    #[serde(default, with = "Maybe::<Urgency>")]
    urgency: Option<Urgency>,
    /// Edge-CoDel, for sources over TCP: active queue management of each flow where its packets
    /// leave the network.
    edge_codel: Option<EdgeCodel>,
    /// Code point of Differentiated Services, which trees may classify by: 0 to 63, or a name like
    /// "ef".
    #[serde(default, with = "Maybe::<CodePoint>")]
    dscp: Option<CodePoint>,
}

/// The keys of all sources, `kind` last.
const ALL_HAVE: [&str; 15] = [
    "name",
    "from",
    "to",
    "pairs",
    "count",
    "start",
    "start_step",
    "start_jitter",
    "stop",
    "weight",
    "max_packet_len",
    "urgency",
    "edge_codel",
    "dscp",
    "kind",
];

#[derive(Debug, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged, expecting = "expected a name or a list of names")]
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

const fn one_u32() -> u32 {
    1
}

/// # Errors
/// There is a mistake in the sources.
pub(super) fn groups<'a>(
    reader: &Reader<'a>,
    sources: Option<Spanned<DeValue<'a>>>,
    topology: &Topology,
    duration: Duration,
    files: &Files<'_>,
) -> Result<Vec<Group>, ScenarioError> {
    let Some(sources) = sources else {
        return Ok(Vec::new());
    };
    let DeValue::Array(sources) = sources.into_inner() else {
        return Err(reader.at(
            "source",
            "sources are written [[source]], each with a head of its own",
        ));
    };
    let mut groups = Vec::new();
    let mut names = BTreeSet::new();
    let mut total = 0;
    // These belong to the network, so the first source makes them for all.
    let mut ways = None;
    for (number, value) in sources.into_iter().enumerate() {
        let path = format!("source.{number}");
        let entry = Source {
            reader,
            files,
            path: &path,
            topology,
            duration,
        };
        let group = entry.read(reader.table("[source]", value)?, number)?;
        if group.name == ALL {
            return Err(reader.at(
                &format!("{path}.name"),
                format!("'{ALL}' is what results call all sources together: choose another name"),
            ));
        }
        if !names.insert(group.name.clone()) {
            return Err(reader.at(
                &format!("{path}.name"),
                format!("two sources are called '{}'", group.name),
            ));
        }
        total += group.sources();
        if total > MOST_SOURCES {
            let legal = format!("up to {MOST_SOURCES}");
            let fault = Fault::new(format!("that makes {total} sources, legal range {legal}"));
            return Err(reader.at(&path, fault.with_given(total).with_legal(legal)));
        }
        let (inner, reach) = ways.get_or_insert_with(|| {
            (
                Inner::of(&topology.network),
                Reach::of(&topology.network, group.from[0]),
            )
        });
        entry.check_size(&group, inner)?;
        entry.check_routes(&group, reach)?;
        groups.push(group);
    }
    Ok(groups)
}

/// A `[[source]]` while it is read.
struct Source<'r, 'a> {
    reader: &'r Reader<'a>,
    files: &'r Files<'r>,
    path: &'r str,
    topology: &'r Topology,
    duration: Duration,
}

impl<'a> Source<'_, 'a> {
    /// An error at one of this source's keys.
    fn at(&self, key: &str, fault: impl Into<Fault>) -> ScenarioError {
        self.reader.at(&format!("{}.{key}", self.path), fault)
    }

    fn read(&self, mut table: Spanned<DeTable<'a>>, number: usize) -> Result<Group, ScenarioError> {
        let mut common = DeTable::new();
        let span = table.span();
        let kind = table.get_mut().remove("kind");
        for key in ALL_HAVE {
            if let Some((key, value)) = table.get_mut().remove_entry(key) {
                common.insert(key, value);
            }
        }
        // We refuse a list, because serde would read it as the table's values in the order of its
        // keys.
        if common
            .get("edge_codel")
            .is_some_and(|value| matches!(value.get_ref(), DeValue::Array(_)))
        {
            let legal = "a table, as in edge_codel = { target = \"5ms\" }";
            return Err(self.at("edge_codel", Fault::wanted(legal)));
        }
        let mut source = self.source(
            kind.as_ref().and_then(|kind| kind.get_ref().as_str()),
            table,
        )?;
        let placement: Placement = self.reader.take(Spanned::new(span, common))?;
        let from = self.hosts("from", &placement.from)?;
        self.read_files(&mut source, &from)?;
        let facts = source.source().facts();
        let to = match &placement.to {
            Some(_) if facts.is_of_many() => {
                return Err(self.at(
                    "to",
                    "flows of arrivals go between hosts of 'from': leave 'to' out",
                ));
            }
            None if facts.is_of_many() => from.clone(),
            Some(to) => self.hosts("to", to)?,
            None => return Err(self.at("to", "a source without receivers: to = \"...\"")),
        };
        placement
            .pairs
            .count(&from, &to)
            .map_err(|message| self.at("pairs", message))?;
        let name = placement
            .name
            .clone()
            .unwrap_or_else(|| format!("{}{number}", source.kind()));
        let flow = self.flow(&placement, facts.longest_packet)?;
        let edge_codel = placement
            .edge_codel
            .map(|table| table.control(facts.tcp.map(|tcp| tcp.config().ecn)));
        let edge_codel = edge_codel
            .transpose()
            .map_err(|(key, message)| self.at(&key, message))?;
        let Placement {
            pairs,
            count,
            start,
            start_step,
            start_jitter,
            stop,
            ..
        } = placement;
        let urgency = placement.urgency.unwrap_or_default();
        let dscp = placement.dscp.map_or(0, |CodePoint(dscp)| dscp);
        let control = None;
        let group = Group {
            name,
            source,
            from,
            to,
            pairs,
            count,
            start,
            start_step,
            start_jitter,
            stop,
            flow,
            urgency,
            control,
            edge_codel,
            dscp,
        };
        self.check(&group)?;
        self.check_times(&group)?;
        self.check_list(&group)?;
        Ok(group)
    }

    fn source(
        &self,
        kind: Option<&str>,
        table: Spanned<DeTable<'a>>,
    ) -> Result<SourceSpec, ScenarioError> {
        let Some(kind) = kind else {
            return Err(self.at(
                "kind",
                format!("a source without a kind: {}", SourceSpec::KINDS.join(", ")),
            ));
        };
        if !SourceSpec::KINDS.contains(&kind) {
            let fault = Fault::no_such("kind of source", kind, SourceSpec::KINDS);
            return Err(self.at("kind", fault));
        }
        self.reader
            .take_rest(&ALL_HAVE, table, |table| SourceSpec::read(kind, table))
    }

    fn read_files(&self, source: &mut SourceSpec, from: &[NodeId]) -> Result<(), ScenarioError> {
        let hosts = from
            .iter()
            .map(|host| (self.topology.network.name(*host), *host))
            .collect();
        let has = |key: &str| self.reader.has(&format!("{}.{key}", self.path));
        let reading = Reading {
            files: self.files,
            duration: self.duration,
            hosts,
            has: &has,
        };
        source
            .source_mut()
            .read_files(&reading)
            .map_err(|fault| match fault {
                FileFault::Key(key, message) => self.at(key, message),
                FileFault::Line(error) => error,
            })
    }

    /// Refuses a list that would send nothing.
    fn check_list(&self, group: &Group) -> Result<(), ScenarioError> {
        let end = Instant::ZERO + group.span(self.duration);
        let Some(Listed {
            file,
            noun,
            before: 0,
            ..
        }) = group.source.source().listed(end)
        else {
            return Ok(());
        };
        let end = group.stop.filter(|stop| *stop < self.duration);
        let end = end.map_or_else(
            || "the end of the run".to_owned(),
            |stop| format!("its stop at {stop}"),
        );
        let start = if group.start == Duration::ZERO {
            String::new()
        } else {
            format!(", its times counted from its start at {}", group.start)
        };
        Err(self.at(
            "file",
            format!("'{file}' has no {noun} before {end}{start}"),
        ))
    }

    fn hosts(&self, key: &str, patterns: &OneOrMany) -> Result<Vec<NodeId>, ScenarioError> {
        let mut hosts = Vec::new();
        for pattern in patterns.texts() {
            let found = matching(&self.topology.network, &self.topology.hosts, pattern);
            hosts.extend(found.map_err(|message| self.at(key, message))?);
        }
        if hosts.is_empty() {
            Err(self.at(key, "an empty list: one host or more"))
        } else {
            Ok(hosts)
        }
    }

    /// How queues with weights treat the flow. None if their defaults fit. `longest` is the
    /// source's longest packet.
    fn flow(
        &self,
        placement: &Placement,
        longest: u32,
    ) -> Result<Option<FlowConfig>, ScenarioError> {
        let plain = FlowConfig::default();
        let most = FlowConfig::MAX_PACKET_LEN;
        let weight = placement.weight.unwrap_or(plain.weight);
        if !(1..=FlowConfig::MAX_WEIGHT).contains(&weight) {
            return Err(self.at(
                "weight",
                Fault::range(weight, format_args!("1 to {}", FlowConfig::MAX_WEIGHT))
                    .behind("weight "),
            ));
        }
        let least = longest.clamp(FlowConfig::MIN_MAX_PACKET_LEN, most);
        let max_packet_len = placement
            .max_packet_len
            .unwrap_or_else(|| least.max(plain.max_packet_len));
        if !(least..=most).contains(&max_packet_len) {
            let why = if least == longest {
                ", as its packets have up to so many bytes"
            } else {
                ""
            };
            return Err(self.at(
                "max_packet_len",
                Fault::range(max_packet_len, format_args!("{least} to {most}{why}"))
                    .behind("max_packet_len "),
            ));
        }
        // Queues see the lengths that packets have on the link.
        let on_links = self
            .topology
            .network
            .links()
            .iter()
            .map(|link| link.layer.len_on_link(longest))
            .max()
            .unwrap_or(longest);
        let is_plain = placement.weight.is_none()
            && placement.max_packet_len.is_none()
            && on_links <= plain.max_packet_len;
        Ok((!is_plain).then_some(FlowConfig {
            weight,
            max_packet_len,
        }))
    }

    /// Checks what only the whole entry shows, and then the source's own parameters by building it.
    fn check(&self, group: &Group) -> Result<(), ScenarioError> {
        self.check_count(group)?;
        self.check_unused_keys(group)?;
        self.check_segment_len(group)?;
        self.check_by_building(group)
    }

    fn check_count(&self, group: &Group) -> Result<(), ScenarioError> {
        if group.count == 0 {
            return Err(self.at("count", Fault::range(0, "1 to 1000000").behind("count ")));
        }
        if group.count > 1 && group.source.source().facts().is_of_many() {
            return Err(self.at("count", "arrivals are one source: raise the utilisation, or write more sources into the file"));
        }
        Ok(())
    }

    /// Refuses keys that this source does not read as it is set.
    fn check_unused_keys(&self, group: &Group) -> Result<(), ScenarioError> {
        let source = group.source.source();
        let mut unused = source.unused();
        // RC3 sends the last packets of a TCP flow early.
        if source.facts().tcp.is_none() && group.urgency.is_cautious() {
            unused.push((
                "urgency",
                "\"cautious\" is for sources over TCP: others have no tail to send",
            ));
        }
        for (key, why) in unused {
            if self.reader.has(&format!("{}.{key}", self.path)) {
                return Err(self.at(key, format!("{key}: {why}")));
            }
        }
        Ok(())
    }

    fn check_segment_len(&self, group: &Group) -> Result<(), ScenarioError> {
        let Some(tcp) = group.source.source().facts().tcp.map(Protocol::config) else {
            return Ok(());
        };
        let most = LONGEST_PACKET.saturating_sub(tcp.header_len);
        if tcp.segment_len <= most {
            return Ok(());
        }
        let legal = format_args!("1 to {most}, as headers take {} bytes", tcp.header_len);
        let fault = Fault::range(tcp.segment_len, legal).behind("segment_len ");
        Err(self.at("tcp.segment_len", fault))
    }

    /// Builds one of the sources, because a source checks its parameters then.
    fn check_by_building(&self, group: &Group) -> Result<(), ScenarioError> {
        let terms = group.terms(group.from[0], group.to[0], 0);
        let site = group.site(&self.topology.network);
        match group.source.source().agent(terms, &site) {
            Ok(_) => Ok(()),
            Err(error) => Err(self.at(&error.path(), error.without_kind())),
        }
    }

    /// Refuses sources that start after the end, because they would send nothing.
    fn check_times(&self, group: &Group) -> Result<(), ScenarioError> {
        if group.start >= self.duration {
            return Err(self.at(
                "start",
                Fault::range(
                    group.start,
                    format_args!("0 to less than the duration, {}", self.duration),
                )
                .behind("start "),
            ));
        }
        let sources = group.sources();
        let end = group.end(self.duration);
        let last = group.last_start();
        if last < end {
            return Ok(());
        }
        let most =
            Duration::from_picos((end - group.start).as_picos() / sources.saturating_sub(1).max(1));
        let step = group.start_step;
        let legal = format!("0 to less than {most}");
        let fault = Fault::new(format!(
            "start_step {step}: the last of {sources} sources starts at {last}, legal range {legal}"
        ));
        Err(self.at("start_step", fault.with_given(step).with_legal(legal)))
    }

    /// Refuses groups that would fill the memory before they send their first packet.
    fn check_size(&self, group: &Group, inner: &Inner) -> Result<(), ScenarioError> {
        let bytes = group.route_bytes(&self.topology.network, inner);
        if bytes > MOST_ROUTE_BYTES {
            let [bytes, most] = [bytes, MOST_ROUTE_BYTES].map(|bytes| bytes >> 20);
            let fault = Fault::new(format!(
                "routes of so many hosts take {bytes} MB (2^20 bytes) of memory, legal range up to {most}"
            ));
            return Err(self.at("from", fault.with_legal(format_args!("up to {most}"))));
        }
        Ok(())
    }

    /// `reach` belongs to any one host. If it and all hosts in the group reach each other, so do
    /// any two of them.
    fn check_routes(&self, group: &Group, reach: &Reach) -> Result<(), ScenarioError> {
        let network = &self.topology.network;
        let no_way = |from, to| {
            self.at(
                "to",
                format!(
                    "there is no way from '{}' to '{}'",
                    network.name(from),
                    network.name(to)
                ),
            )
        };
        // Only TCP sends packets back.
        let goes_back = group.source.source().facts().tcp.is_some();
        let are_joined = group
            .from
            .iter()
            .chain(&group.to)
            .all(|host| reach.there[host.index()] && reach.back[host.index()]);
        if are_joined && group.has_all_pairs() {
            return Ok(());
        }
        let mut own = None::<Reach>;
        for (from, to) in group.possible_pairs() {
            if from == to {
                return Err(self.at("to", format!("'{}' sends to itself", network.name(from))));
            }
            if are_joined {
                continue;
            }
            own = own.filter(|own| own.node == from);
            let reach = own.get_or_insert_with(|| Reach::of(network, from));
            if !reach.there[to.index()] {
                return Err(no_way(from, to));
            }
            if goes_back && !reach.back[to.index()] {
                return Err(no_way(to, from));
            }
        }
        Ok(())
    }
}
