//! Tree of disciplines in TOML: named nodes, and leaves with rules that select their flows.
//!
//! ```toml
//! name = "office"
//!
//! [[node]]
//! name = "link"
//! discipline = "wf2q_plus"
//!
//! [[node]]
//! name = "calls"
//! parent = "link"
//! discipline = "fifo limit 50"
//! weight = 4
//! flows = ["dscp ef", "udp portrange 10000-20000"]
//!
//! [[node]]
//! name = "rest"
//! parent = "link"
//! discipline = "fq_codel"
//! default = true
//! ```
//!
//! The node without a parent is the root. A node with children is a class, and the others are
//! leaves. Below a class of `htb`, nodes have the keys of tc's classes: `rate`, `ceil`, `burst`,
//! `cburst`, `prio`, `quantum`. Below one of `hfsc` they have curves: `rt`, `ls`, `sc`, `ul`.
//!
//! Rules have the syntax of weight rules, and `ack below 64 bytes`, and are tried in file order. The first match decides, and
//! a flow without a match goes to the default leaf. Where rules of several leaves alternate, they
//! stand in one list, which is tried before all `flows`:
//!
//! ```toml
//! [[rule]]
//! match = "dst 10.0.1.5"
//! leaf = "calls"
//! ```
//!
//! `reserve` lists what the tree lacks of the script that it was made from, for the verdict's notes.

use std::collections::{BTreeMap, BTreeSet};

use roundelay::schedulers::{AnyDiscipline, Priority};
use roundelay::tree::{Config, Node, Problem, Service, TreeError, hfsc, htb, only_classes};
use roundelay::{ConfigError, Fault, FlowConfig, FlowId, QueueSpec, Rate};
use roundelay_files::{Located, PacketLen, Reader, Size, Text, Whole, WithUnit, tables};
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeTable;

use crate::classifier::Flow;
use crate::headers::Headers;
use crate::urgency::meaning;
use crate::weights::WeightRule;

/// Nodes are looked up by name, one by one, so a million of them would take hours.
const MOST_NODES: usize = 20_000;

/// A tree with rules for its flows.
#[derive(Debug, Clone)]
pub struct TreeFile {
    name: String,
    /// The file's path as given, without its ending. Empty where the tree is part of a larger file.
    path: String,
    config: Config,
    rules: Vec<(WeightRule, String)>,
    /// What priorities mean at each node.
    meanings: BTreeMap<String, Priority>,
    default_leaf: String,
    reserves: Vec<String>,
}

/// Leaves whose rules match no flow of a capture.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IdleLeaves {
    /// Their names.
    pub leaves: Vec<String>,
    /// More rules would match packets of the other direction.
    pub looks_reversed: bool,
}

/// A file as the user wrote it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenTree {
    name: Option<String>,
    #[serde(default, deserialize_with = "tables")]
    node: Vec<FileNode>,
    #[serde(default, deserialize_with = "tables")]
    rule: Vec<FileRule>,
    #[serde(default)]
    reserve: Vec<String>,
}

/// A rule in the order of all.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileRule {
    r#match: Text,
    leaf: Text,
}

/// A node as the user wrote it.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FileNode {
    name: Text,
    parent: Option<Text>,
    discipline: Text,
    weight: Option<Spanned<Whole<1, { FlowConfig::LARGEST_WEIGHT }>>>,
    maxpkt: Option<Spanned<PacketLen>>,
    priority: Option<Spanned<Whole<0, { u32::MAX }>>>,
    rate: Option<Spanned<WithUnit<Rate>>>,
    ceil: Option<Spanned<WithUnit<Rate>>>,
    burst: Option<Spanned<Burst>>,
    cburst: Option<Spanned<Burst>>,
    prio: Option<Spanned<Whole<0, 7>>>,
    quantum: Option<Spanned<Size<1, { (1 << 31) - 1 }>>>,
    direct: Option<Spanned<bool>>,
    rt: Option<Text>,
    ls: Option<Text>,
    sc: Option<Text>,
    ul: Option<Text>,
    #[serde(default)]
    flows: Vec<Text>,
    default: Option<Spanned<bool>>,
}

/// How many bytes a bucket holds.
type Burst = Size<1, { 1 << 30 }>;

impl TreeFile {
    /// Reads a file. `name` appears in messages. If the file gives no `name`, the tree gets the
    /// file's, without folder and extension.
    ///
    /// # Errors
    /// The tree is illegal. The message names the line and the node.
    pub fn from_toml(name: &str, text: &str) -> Result<Self, Fault> {
        let stem = name.rsplit(['/', '\\']).next().unwrap_or(name);
        let (reader, table) = Reader::parse(name, text).map_err(|error| {
            let is_script = text.contains("tc qdisc") || text.contains("tc class");
            let hint = "; 'roundelay import' makes a tree of a script of tc commands";
            error.with_hint(if is_script { hint } else { "" })
        })?;
        let stem = stem.strip_suffix(".toml").unwrap_or(stem);
        let mut tree = Self::from_table(&reader, stem, table)?;
        name.strip_suffix(".toml")
            .unwrap_or(name)
            .clone_into(&mut tree.path);
        Ok(tree)
    }

    /// Reads a table in a larger file. If the table gives no `name`, the tree is called `stem`.
    ///
    /// # Errors
    /// As [`from_toml`](Self::from_toml).
    pub fn from_table<'a>(
        reader: &Reader<'a>,
        stem: &str,
        table: Spanned<DeTable<'a>>,
    ) -> Result<Self, Fault> {
        let whole = table.span();
        let written: WrittenTree = reader.take(table)?;
        Self::plant(stem, &written).map_err(|(span, fault)| {
            // A fault in the whole table has no location inside it.
            let span = if span.is_empty() { whole } else { span };
            reader.fault((span, fault))
        })
    }

    fn plant(stem: &str, written: &WrittenTree) -> Result<Self, Located> {
        let nodes = &written.node;
        if let Some(node) = nodes.get(MOST_NODES) {
            let message = format!("a tree has at most {MOST_NODES} nodes");
            return Err((node.name.span(), message.into()));
        }
        let order = from_the_root(nodes)?;
        let parents: BTreeSet<&str> = nodes.iter().filter_map(FileNode::parent).collect();
        let root = order[0];
        let mut tree = Self {
            name: written.name.clone().unwrap_or_else(|| stem.to_owned()),
            path: String::new(),
            config: Config::new(root.node(None)?).map_err(|error| root.fault(error))?,
            rules: Vec::new(),
            meanings: BTreeMap::new(),
            default_leaf: String::new(),
            reserves: written.reserve.clone(),
        };
        // By name, because a tree of thousands of nodes would take minutes if each searched it.
        let mut made_before = BTreeMap::from([(root.name(), root.node(None)?)]);
        for node in &order[1..] {
            let parent = node.parent().unwrap_or_default();
            let made = node.node(made_before.get(parent))?;
            made_before.insert(node.name(), made.clone());
            let added = if parents.contains(node.name()) {
                tree.config.add_class(parent, made)
            } else {
                tree.config.add_leaf(parent, made)
            };
            added.map_err(|error| node.fault(error))?;
        }
        for (name, node) in made_before {
            tree.meanings.insert(name.to_owned(), meaning(&node.spec));
        }
        let mut leaves = BTreeSet::new();
        for node in nodes {
            if node.parent.is_some() && !parents.contains(node.name()) {
                leaves.insert(node.name());
            }
        }
        for rule in &written.rule {
            tree.add_rule(rule, &leaves)?;
        }
        for node in nodes {
            let is_leaf = !parents.contains(node.name()) && node.parent.is_some();
            tree.sort(node, is_leaf)?;
        }
        if tree.default_leaf.is_empty() {
            let error = TreeError {
                node: root.name().to_owned(),
                problem: Problem::NoDefault,
            };
            let fault = Fault::from(error).with_hint("; write default = true with one");
            return Err((root.name.span(), fault));
        }
        Ok(tree)
    }

    /// Adds a rule of the list.
    fn add_rule(&mut self, rule: &FileRule, leaves: &BTreeSet<&str>) -> Result<(), Located> {
        let leaf = rule.leaf.get_ref();
        if !leaves.contains(leaf.as_str()) {
            let fault = Fault::new(format!("no leaf is called '{leaf}'"));
            return Err((rule.leaf.span(), fault.with_given(leaf)));
        }
        let matching = WeightRule::matching(rule.r#match.get_ref())
            .map_err(|error| (rule.r#match.span(), error.into()))?;
        self.push_rule(matching, leaf)
            .map_err(|fault| (rule.r#match.span(), fault))
    }

    /// Adds a rule behind the others.
    fn push_rule(&mut self, rule: WeightRule, leaf: &str) -> Result<(), Fault> {
        if let Some(below) = rule.short_acknowledgements() {
            let known = self.short_acknowledgements();
            if let Some(known) = known.filter(|known| *known != below) {
                let fault =
                    Fault::wanted(format!("ack below {known} bytes, as in the rule before"));
                return Err(fault
                    .behind(format_args!(
                        "ack below {below} bytes: a tree has one length; "
                    ))
                    .with_given(below));
            }
            self.config.sort_acknowledgements(below);
        }
        self.rules.push((rule, leaf.to_owned()));
        Ok(())
    }

    /// Below how many bytes an acknowledgement is short, if a rule asks for that.
    fn short_acknowledgements(&self) -> Option<u32> {
        let mut rules = self.rules.iter();
        rules.find_map(|(rule, _)| rule.short_acknowledgements())
    }

    /// Adds a node's rules and its default flag.
    fn sort(&mut self, node: &FileNode, is_leaf: bool) -> Result<(), Located> {
        let name = node.name();
        for text in &node.flows {
            if !is_leaf {
                return Err((text.span(), node.problem(Problem::IsClass)));
            }
            let rule = WeightRule::matching(text.get_ref())
                .map_err(|error| (text.span(), node.owned(error)))?;
            self.push_rule(rule, name)
                .map_err(|fault| (text.span(), node.owned(fault)))?;
        }
        if let Some(default) = &node.default
            && *default.get_ref()
        {
            if !is_leaf {
                return Err((default.span(), node.problem(Problem::IsClass)));
            }
            if !self.default_leaf.is_empty() {
                let message = format!("'{}' is the default leaf already", self.default_leaf);
                return Err((default.span(), node.owned(message)));
            }
            self.config
                .set_default(name)
                .map_err(|error| (default.span(), error.into()))?;
            self.default_leaf = name.to_owned();
        }
        Ok(())
    }

    /// Tells trees of the same name apart by their files, with as many folders as that takes, or by
    /// numbers if one file is given twice, because results go by name. Two trees that `roundelay
    /// import` made of one interface are both called `eth0`. Numbers alone where `files_are_secret`.
    pub fn tell_apart(trees: &mut [Self], files_are_secret: bool) {
        let names = names_of(trees);
        let paths: Vec<String> = trees.iter().map(|tree| tree.path.clone()).collect();
        for (index, tree) in trees.iter_mut().enumerate() {
            let mut others = Vec::new();
            for (other, name) in names.iter().enumerate() {
                if other != index && *name == names[index] {
                    others.push(paths[other].as_str());
                }
            }
            if !files_are_secret && !others.is_empty() {
                tree.name += &format!(" ({})", shortest_end(&tree.path, &others));
            }
        }
        let names = names_of(trees);
        for (index, tree) in trees.iter_mut().enumerate() {
            let earlier = names[..index].iter().filter(|name| **name == tree.name);
            let number = 1 + earlier.count();
            if number > 1 || names[index + 1..].contains(&tree.name) {
                tree.name += &format!(" ({number})");
            }
        }
    }

    /// The tree's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The tree's configuration, with no flows assigned.
    pub const fn config(&self) -> &Config {
        &self.config
    }

    /// The leaf for a flow, by the headers of its first packet. `None` stands for a flow without
    /// headers, which goes to the default leaf.
    pub fn leaf(&self, headers: Option<&Headers>) -> &str {
        self.leaf_of_packets(headers, false)
    }

    /// The leaf for a flow's short acknowledgements, if a rule of the tree asks for these.
    pub fn leaf_of_acknowledgements(&self, headers: Option<&Headers>) -> Option<&str> {
        self.short_acknowledgements()?;
        Some(self.leaf_of_packets(headers, true))
    }

    /// The leaf for a flow's short acknowledgements, or for its other packets.
    fn leaf_of_packets(&self, headers: Option<&Headers>, are_short: bool) -> &str {
        if let Some(headers) = headers {
            for (rule, leaf) in &self.rules {
                if rule.matches_packet(headers, are_short) {
                    return leaf;
                }
            }
        }
        &self.default_leaf
    }

    /// The rules in the order in which they are tried, each with the leaf that its flows go to.
    pub fn rules(&self) -> impl Iterator<Item = (&WeightRule, &str)> {
        self.rules.iter().map(|(rule, leaf)| (rule, leaf.as_str()))
    }

    /// What the tree lacks of the script that it was made from, each in a sentence.
    pub fn reserves(&self) -> &[String] {
        &self.reserves
    }

    /// The leaf for flows that no rule matches.
    pub fn default_leaf(&self) -> &str {
        &self.default_leaf
    }

    /// What priorities mean at a leaf.
    pub(crate) fn meaning(&self, leaf: &str) -> Priority {
        let known = self.meanings.get(leaf);
        known.copied().unwrap_or(Priority::Unread)
    }

    /// The disciplines at the leaves.
    pub fn leaves(&self) -> impl Iterator<Item = &QueueSpec> {
        let mut used = BTreeSet::from([self.default_leaf.as_str()]);
        for (_, leaf) in &self.rules {
            used.insert(leaf);
        }
        let nodes = self.config.nodes();
        let leaves = nodes.filter(move |node| used.contains(node.name.as_str()));
        leaves.map(|node| &node.spec)
    }

    /// The tree with these flows assigned. They are numbered from 0, as far as the table reaches.
    pub(crate) fn with_flows(&self, flows: &[Flow]) -> Config {
        let mut config = self.config.clone();
        for (number, flow) in (0..=FlowId::LARGEST_TABLED.0).zip(flows) {
            // This cannot fail, because leaves named by rules exist and the number is within the
            // table.
            let _ = config.assign(FlowId(number), self.leaf(flow.headers()));
            if let Some(leaf) = self.leaf_of_acknowledgements(flow.headers()) {
                let _ = config.assign_acknowledgements(FlowId(number), leaf);
            }
        }
        config
    }

    /// The leaves that get none of these flows.
    pub(crate) fn idle_leaves(&self, flows: &[Flow]) -> IdleLeaves {
        let leaves = self.leaves_without(flows.iter().map(|flow| flow.headers().copied()));
        let reversed = flows
            .iter()
            .map(|flow| flow.headers().map(Headers::reversed));
        IdleLeaves {
            looks_reversed: !leaves.is_empty()
                && self.leaves_without(reversed).len() < leaves.len(),
            leaves,
        }
    }

    /// The leaves with rules that get no flow of these headers.
    fn leaves_without(&self, flows: impl Iterator<Item = Option<Headers>>) -> Vec<String> {
        let mut met = BTreeSet::new();
        for headers in flows {
            met.insert(self.leaf(headers.as_ref()));
            met.extend(self.leaf_of_acknowledgements(headers.as_ref()));
        }
        let mut idle: Vec<String> = Vec::new();
        for (_, leaf) in &self.rules {
            if !met.contains(leaf.as_str()) && !idle.contains(leaf) {
                idle.push(leaf.clone());
            }
        }
        idle
    }
}

fn names_of(trees: &[TreeFile]) -> Vec<String> {
    trees.iter().map(|tree| tree.name.clone()).collect()
}

/// The last parts of a path, as few as no other path ends in. All of it if there are none.
fn shortest_end(path: &str, others: &[&str]) -> String {
    let all = parts(path);
    for first in (0..all.len()).rev() {
        let end = &all[first..];
        if !others.iter().any(|other| parts(other).ends_with(end)) {
            return end.join("/");
        }
    }
    path.to_owned()
}

fn parts(path: &str) -> Vec<&str> {
    path.split(std::path::is_separator).collect()
}

/// All nodes from the root down. Each comes after its parent.
fn from_the_root(nodes: &[FileNode]) -> Result<Vec<&FileNode>, Located> {
    let mut names = BTreeSet::new();
    for node in nodes {
        let name = node.name();
        let span = node.name.span();
        if !names.insert(name) {
            return Err((span, node.problem(Problem::NameTaken)));
        }
    }
    for node in nodes {
        if let Some(parent) = &node.parent
            && !names.contains(parent.get_ref().as_str())
        {
            let problem = Problem::UnknownParent {
                parent: parent.get_ref().clone(),
            };
            return Err((parent.span(), node.problem(problem)));
        }
    }
    let mut roots = nodes.iter().filter(|node| node.parent.is_none());
    let Some(root) = roots.next() else {
        let Some(first) = nodes.first() else {
            let none = "a tree has nodes: [[node]], each with a name and a discipline";
            return Err((0..0, none.into()));
        };
        return Err((first.name.span(), circle(first, nodes)));
    };
    if let Some(other) = roots.next() {
        let message = format!(
            "it has no parent, and neither has '{}': a tree has one root",
            root.name()
        );
        let fault = other.owned(message).with_given(other.name());
        return Err((other.name.span(), fault));
    }
    let mut below: BTreeMap<&str, Vec<&FileNode>> = BTreeMap::new();
    for node in nodes {
        if let Some(parent) = node.parent() {
            below.entry(parent).or_default().push(node);
        }
    }
    // Children come after their parents, level by level.
    let mut order = vec![root];
    let mut reached = BTreeSet::new();
    let mut next = 0;
    while let Some(above) = order.get(next).map(|node| node.name()) {
        order.extend(below.remove(above).unwrap_or_default());
        reached.insert(above);
        next += 1;
    }
    for node in nodes {
        if !reached.contains(node.name()) {
            return Err((node.name.span(), circle(node, nodes)));
        }
    }
    Ok(order)
}

/// The error for a node whose parents form a circle.
fn circle(start: &FileNode, nodes: &[FileNode]) -> Fault {
    let mut way = vec![start.name()];
    let mut node = Some(start);
    while let Some(parent) = node.and_then(FileNode::parent) {
        let turned = way.contains(&parent);
        way.push(parent);
        if turned {
            break;
        }
        node = nodes.iter().find(|node| node.name() == parent);
    }
    let way = way.join(", ");
    start
        .owned(format!(
            "its parents go in a circle and lead to no root: {way}"
        ))
        .with_given(start.name())
}

impl FileNode {
    fn name(&self) -> &str {
        self.name.get_ref()
    }

    fn parent(&self) -> Option<&str> {
        self.parent.as_ref().map(|parent| parent.get_ref().as_str())
    }

    /// Names the node in a fault.
    fn owned(&self, fault: impl Into<Fault>) -> Fault {
        fault
            .into()
            .behind(format_args!("node '{}': ", self.name()))
    }

    /// The fault for a problem with the node.
    fn problem(&self, problem: Problem) -> Fault {
        let node = self.name().to_owned();
        TreeError { node, problem }.into()
    }

    fn node(&self, parent: Option<&Node>) -> Result<Node, Located> {
        let text = self.discipline.get_ref();
        let spec = QueueSpec::read(text, &only_classes())
            .map_err(|error| (self.discipline.span(), self.owned(error)))?;
        let plain = Node::new(self.name(), spec);
        let longest = self.maxpkt.as_ref().and_then(|size| size.get_ref().bytes());
        Ok(Node {
            weight: number(self.weight.as_ref()).unwrap_or(plain.weight),
            max_packet_len: longest.unwrap_or(plain.max_packet_len),
            priority: number(self.priority.as_ref()).unwrap_or(plain.priority),
            service: self.service(parent)?,
            ..plain
        })
    }

    /// What the parent gives the node: a class with its keys below `htb` or `hfsc`, otherwise a
    /// share.
    fn service(&self, parent: Option<&Node>) -> Result<Service, Located> {
        self.check_keys(parent)?;
        match parent.map(|parent| &parent.spec.discipline) {
            Some(AnyDiscipline::Htb(_)) => self.class_of_htb(),
            Some(AnyDiscipline::Hfsc(_)) => self.class_of_hfsc(),
            _ => Ok(Service::Shared),
        }
    }

    /// Refuses keys that belong to another discipline's classes, and keys that the parent's own
    /// keys replace.
    fn check_keys(&self, parent: Option<&Node>) -> Result<(), Located> {
        let above = parent.map_or("", |parent| parent.spec.discipline.name());
        let of_classes = [
            ("rate", "htb", span(self.rate.as_ref())),
            ("ceil", "htb", span(self.ceil.as_ref())),
            ("burst", "htb", span(self.burst.as_ref())),
            ("cburst", "htb", span(self.cburst.as_ref())),
            ("prio", "htb", span(self.prio.as_ref())),
            ("quantum", "htb", span(self.quantum.as_ref())),
            ("direct", "htb", span(self.direct.as_ref())),
            ("rt", "hfsc", span(self.rt.as_ref())),
            ("ls", "hfsc", span(self.ls.as_ref())),
            ("sc", "hfsc", span(self.sc.as_ref())),
            ("ul", "hfsc", span(self.ul.as_ref())),
        ];
        for (key, discipline, location) in of_classes {
            if let Some(location) = location
                && discipline != above
            {
                let why = match parent {
                    Some(_) => format!("its parent is of {above}"),
                    None => "the root is the link: give a node below it this key".to_owned(),
                };
                let message = format!("{key} is a key of classes of {discipline}, and {why}");
                return Err((location, self.owned(message).with_given(key)));
            }
        }
        let replaced = [
            ("weight", span(self.weight.as_ref()), ["quantum", "ls"]),
            ("priority", span(self.priority.as_ref()), ["prio", "rt"]),
        ];
        for (key, location, [of_htb, of_hfsc]) in replaced {
            let instead = match above {
                "htb" => of_htb,
                "hfsc" => of_hfsc,
                _ => continue,
            };
            if let Some(location) = location {
                let message = format!("{key} has no effect below {above}; the key is {instead}");
                let fault = self.owned(message).with_given(key);
                return Err((location, fault.with_meant(Some(instead))));
            }
        }
        Ok(())
    }

    fn class_of_htb(&self) -> Result<Service, Located> {
        if self.direct.as_ref().is_some_and(|direct| *direct.get_ref()) {
            return self.check_direct().map(|()| Service::Direct);
        }
        let Some(rate) = &self.rate else {
            let problem = Problem::NoService { discipline: "htb" };
            return Err((self.name.span(), self.problem(problem)));
        };
        let rate_of = |rate: &Spanned<WithUnit<Rate>>| rate.get_ref().0;
        // The type keeps it within 2^31.
        let bytes_of = |bytes: u64| bytes as u32;
        let class = htb::Class {
            ceil: self.ceil.as_ref().map(rate_of),
            burst: self.burst.as_ref().map(|burst| bytes_of(burst.get_ref().0)),
            cburst: self
                .cburst
                .as_ref()
                .map(|burst| bytes_of(burst.get_ref().0)),
            prio: number(self.prio.as_ref()).unwrap_or(0),
            quantum: self.quantum.as_ref().map(|size| bytes_of(size.get_ref().0)),
            ..htb::Class::new(rate_of(rate))
        };
        Ok(Service::Htb(class))
    }

    /// Refuses keys of classes beside `direct`.
    fn check_direct(&self) -> Result<(), Located> {
        for (key, location) in [
            ("rate", span(self.rate.as_ref())),
            ("ceil", span(self.ceil.as_ref())),
            ("burst", span(self.burst.as_ref())),
            ("cburst", span(self.cburst.as_ref())),
            ("prio", span(self.prio.as_ref())),
            ("quantum", span(self.quantum.as_ref())),
        ] {
            if let Some(location) = location {
                let message = format!(
                    "{key} has no effect beside direct, whose packets go before all classes"
                );
                return Err((location, self.owned(message).with_given(key)));
            }
        }
        Ok(())
    }

    /// `sc` stands for both `rt` and `ls`.
    fn class_of_hfsc(&self) -> Result<Service, Located> {
        let both = self.curve(self.sc.as_ref())?;
        for other in [&self.rt, &self.ls].into_iter().flatten() {
            if both.is_some() {
                let message = "sc stands for rt and ls, so write either";
                return Err((other.span(), self.owned(message)));
            }
        }
        let class = hfsc::Class {
            rt: self.curve(self.rt.as_ref())?.or(both),
            ls: self.curve(self.ls.as_ref())?.or(both),
            ul: self.curve(self.ul.as_ref())?,
        };
        if class.rt.is_none() && class.ls.is_none() {
            let problem = Problem::NoService { discipline: "hfsc" };
            return Err((self.name.span(), self.problem(problem)));
        }
        Ok(Service::Hfsc(class))
    }

    fn curve(&self, key: Option<&Text>) -> Result<Option<hfsc::Curve>, Located> {
        let Some(text) = key else {
            return Ok(None);
        };
        let curve = text.get_ref().parse();
        curve
            .map(Some)
            .map_err(|error: ConfigError| (text.span(), self.owned(error)))
    }

    /// The error, located at the key that is wrong.
    fn fault(&self, error: TreeError) -> Located {
        let span = match &error.problem {
            Problem::NotTaken { .. } => self.maxpkt.as_ref().map(Spanned::span),
            Problem::NotDirect => self.direct.as_ref().map(Spanned::span),
            Problem::NotInterior { .. } | Problem::NoLeaf { .. } | Problem::LimitOfClass => {
                Some(self.discipline.span())
            }
            Problem::UnknownParent { .. }
            | Problem::ParentIsLeaf
            | Problem::OneChild { .. }
            | Problem::TooDeep => self.parent.as_ref().map(Spanned::span),
            _ => None,
        };
        (span.unwrap_or_else(|| self.name.span()), error.into())
    }
}

/// Where a key is, if it is given.
fn span<T>(key: Option<&Spanned<T>>) -> Option<std::ops::Range<usize>> {
    key.map(Spanned::span)
}

fn number<const LEAST: u32, const MOST: u32>(
    key: Option<&Spanned<Whole<LEAST, MOST>>>,
) -> Option<u32> {
    key.map(|key| key.get_ref().0)
}
