//! GraphML (U. Brandes and others, "GraphML Progress Report", Graph Drawing 2001), as the Internet
//! Topology Zoo writes it, or with the keys `rate` and `delay` that scenarios use. Also the code
//! that GML shares.

use std::collections::{BTreeMap, BTreeSet};

use roundelay::{Duration, Fault, Rate};
use roundelay_files::Written;
use roxmltree::{Document, Node as Element};

use super::coordinates::Coordinates;
use super::{Edge, Graph, Node, Text, unread};

pub(super) fn read(file: Text<'_>) -> Result<Graph, Fault> {
    let document = Document::parse(file.text)
        .map_err(|error| file.error(error.pos().row as usize, format!("no XML: {error}")))?;
    let line = |element: Element<'_, '_>| document.text_pos_at(element.range().start).row as usize;
    let root = document.root_element();
    let mut children = root.children();
    let Some(graph) = children.find(|element| element.has_tag_name_local("graph")) else {
        return Err(file.error(line(root), "no <graph> in it"));
    };
    let mut names = BTreeMap::new();
    for key in root.children() {
        if key.has_tag_name_local("key")
            && let Some(id) = key.attribute("id")
            && let Some(name) = key.attribute("attr.name")
        {
            names.insert(id, name);
        }
    }
    let mut zoo = Zoo {
        is_directed: graph.attribute("edgedefault") == Some("directed"),
        ..Zoo::default()
    };
    for element in graph.children().filter(Element::is_element) {
        let attributes =
            attributes(element, &names).map_err(|message| file.error(line(element), message))?;
        match element.tag_name().name() {
            "node" => zoo.nodes.push((line(element), attributes)),
            "edge" => zoo.edges.push((line(element), attributes)),
            _ => {}
        }
    }
    zoo.graph(file)
}

fn attributes(element: Element<'_, '_>, names: &BTreeMap<&str, &str>) -> Result<Attributes, Fault> {
    let mut attributes = Attributes::default();
    for key in ["id", "source", "target"] {
        if let Some(text) = element.attribute(key) {
            // An edge may have an id of its own, but it is not a node's.
            let _ = key == "id" && element.tag_name().name() == "edge"
                || attributes.take(key, text).is_ok();
        }
    }
    for data in element.children() {
        if data.has_tag_name_local("data")
            && let Some(key) = data.attribute("key")
            && let Some(name) = names.get(key)
            && let Some(text) = data.text()
        {
            attributes.take(name, text.trim())?;
        }
    }
    Ok(attributes)
}

/// Ignores namespaces, because they differ from file to file.
trait LocalName {
    fn has_tag_name_local(&self, name: &str) -> bool;
}

impl LocalName for Element<'_, '_> {
    fn has_tag_name_local(&self, name: &str) -> bool {
        self.is_element() && self.tag_name().name() == name
    }
}

/// What a node or an edge says about itself.
#[derive(Debug, Default)]
pub(super) struct Attributes {
    id: Option<String>,
    label: Option<String>,
    source: Option<String>,
    target: Option<String>,
    latitude: Option<f64>,
    longitude: Option<f64>,
    /// Bits per second.
    speed_raw: Option<f64>,
    speed: Option<f64>,
    speed_unit: Option<String>,
    /// Whether there is a speed, readable or not.
    pub(super) has_speed: bool,
    /// As in scenarios.
    rate: Option<String>,
    delay: Option<String>,
    /// Keys that look like speeds or delays.
    pub(super) unread: BTreeSet<String>,
}

impl Attributes {
    /// # Errors
    /// A value is not a number.
    pub(super) fn take(&mut self, key: &str, text: &str) -> Result<(), Fault> {
        let word = || Some(text.to_owned());
        let number = || match text.parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(Some(number)),
            _ => Err(Fault::quoted(text, "a number").behind(format_args!("{key} "))),
        };
        match key {
            "id" => self.id = word(),
            "label" => self.label = Some(text.trim().to_owned()),
            "source" => self.source = word(),
            "target" => self.target = word(),
            "Latitude" => self.latitude = number()?,
            "Longitude" => self.longitude = number()?,
            "LinkSpeedRaw" => self.speed_raw = number()?,
            // Some maps have a range or a guess here, which counts as no speed.
            "LinkSpeed" => (self.speed, self.has_speed) = (number().unwrap_or_default(), true),
            "LinkSpeedUnits" => {
                self.speed_unit = Some(text.trim().to_owned()).filter(|unit| !unit.is_empty())
            }
            "rate" => self.rate = word(),
            "delay" => self.delay = word(),
            _ if unread::looks_like_a_quantity(key) => _ = self.unread.insert(key.to_owned()),
            _ => {}
        }
        Ok(())
    }

    /// # Errors
    /// The speed is not within 1 to 1e18 bits per second, or a value or unit cannot be read.
    fn rate(&self) -> Result<Option<Rate>, Fault> {
        if let Some(text) = &self.rate {
            return quantity("rate", text).map(Some);
        }
        let Some(bits) = self.bits()? else {
            return Ok(None);
        };
        if !(1.0..=1e18).contains(&bits) {
            return Err(Fault::range(bits, "1 to 1e18 bits per second").behind("link speed "));
        }
        Ok(Rate::from_bits_per_second(bits as u64))
    }

    /// The speed that the zoo's keys give.
    fn bits(&self) -> Result<Option<f64>, Fault> {
        if self.speed_raw.is_some() {
            return Ok(self.speed_raw);
        }
        // If a speed has no unit, it is not in bits per second, because such maps write speeds in
        // words, as in `155 Mbps`.
        let Some((speed, unit)) = self.speed.zip(self.speed_unit.as_deref()) else {
            return Ok(None);
        };
        let unit = match unit {
            "K" => 1e3,
            "M" => 1e6,
            "G" => 1e9,
            "T" => 1e12,
            other => {
                return Err(Fault::quoted(other, "K, M, G or T, for bits per second")
                    .behind("LinkSpeedUnits "));
            }
        };
        Ok(Some(speed * unit))
    }

    fn delay(&self) -> Result<Option<Duration>, Fault> {
        match &self.delay {
            Some(text) => quantity("delay", text).map(Some),
            None => Ok(None),
        }
    }

    fn coordinates(&self) -> Result<Option<Coordinates>, Fault> {
        match (self.latitude, self.longitude) {
            (Some(latitude), Some(longitude)) => Coordinates::new(latitude, longitude).map(Some),
            _ => Ok(None),
        }
    }
}

/// A value as in scenarios.
///
/// # Errors
/// The text is not a value, or has no unit.
fn quantity<V: Written>(key: &str, text: &str) -> Result<V, Fault> {
    let text = text.trim();
    let number = text.parse().ok().and_then(V::from_number);
    let value = match number {
        Some(value) => Ok(value),
        None => V::from_text(text),
    };
    value.map_err(|fault| fault.behind(format_args!("{key}: ")))
}

/// A map from the zoo, before its names and ids are resolved.
#[derive(Debug, Default)]
pub(super) struct Zoo {
    pub(super) is_directed: bool,
    /// Nodes with their lines.
    pub(super) nodes: Vec<(usize, Attributes)>,
    pub(super) edges: Vec<(usize, Attributes)>,
}

impl Zoo {
    pub(super) fn graph(self, file: Text<'_>) -> Result<Graph, Fault> {
        let mut graph = Graph::default();
        let mut by_id = BTreeMap::new();
        let mut taken = BTreeSet::new();
        for (line, attributes) in &self.nodes {
            let on_line = |fault: Fault| file.error(*line, fault);
            let Some(id) = attributes.id.as_deref() else {
                return Err(on_line("a node without an id".into()));
            };
            if by_id.insert(id, graph.nodes.len()).is_some() {
                return Err(on_line(format!("two nodes have id {id}").into()));
            }
            // Maps have several routers in one town, and some without a name.
            let label = attributes.label.as_deref().unwrap_or_default();
            let name = if label.is_empty() || taken.contains(label) {
                format!("{label}#{id}")
            } else {
                label.to_owned()
            };
            if !taken.insert(name.clone()) {
                return Err(on_line(format!("two nodes are called '{name}'").into()));
            }
            graph.nodes.push(Node {
                name,
                coordinates: attributes.coordinates().map_err(on_line)?,
                is_host: false,
            });
        }
        for (line, attributes) in &self.edges {
            let end = |key, id: &Option<String>| {
                let Some(id) = id.as_deref() else {
                    return Err(file.error(*line, format!("an edge without a {key}")));
                };
                by_id.get(id).copied().ok_or_else(|| {
                    file.error(*line, format!("{key} {id}: there is no node with that id"))
                })
            };
            let from = end("source", &attributes.source)?;
            let to = end("target", &attributes.target)?;
            if from == to {
                return Err(file.error(
                    *line,
                    format!("a link from '{}' to itself", graph.nodes[from].name),
                ));
            }
            let on_line = |fault: Fault| file.error(*line, fault);
            let rate = attributes.rate().map_err(on_line)?;
            let delay = attributes.delay().map_err(on_line)?;
            graph.edges.push(Edge {
                from,
                to,
                rate,
                delay,
                ..Edge::default()
            });
        }
        if self.is_directed {
            graph.find_ways_back();
        }
        graph.oddities.notes = self.notes(&graph, file);
        Ok(graph)
    }

    /// Notes on a map, a sentence each.
    fn notes(&self, graph: &Graph, file: Text<'_>) -> Vec<String> {
        let name = file.name;
        let all = graph.edges.len();
        let mut notes = Vec::new();
        let mut keys = BTreeSet::new();
        let mut without = 0;
        for ((_, said), edge) in self.edges.iter().zip(&graph.edges) {
            keys.extend(said.unread.iter().map(String::as_str));
            without += usize::from(said.has_speed && edge.rate.is_none());
        }
        if !keys.is_empty() {
            let keys = Vec::from_iter(keys).join(", ");
            notes.push(format!(
                "{name}: keys of links that look like speeds or delays are not read: {keys}. Read are \
                 rate and delay with their units, LinkSpeedRaw, and \
                 LinkSpeed with LinkSpeedUnits."
            ));
        }
        if without > 0 {
            notes.push(format!(
                "{name}: {without} of {all} links have no usable LinkSpeed (no number, \
                or no LinkSpeedUnits); LinkSpeed is ignored for these links."
            ));
        }
        let both = graph.edges.iter().filter(|edge| !edge.one_way).count();
        if self.is_directed && both > 0 {
            notes.push(format!(
                "{name}: the graph is directed, and {both} of {all} links have no link \
                back; all links are read as both ways."
            ));
        }
        notes
    }
}
