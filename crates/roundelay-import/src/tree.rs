//! Turns an interface's qdiscs and classes into nodes of a tree, with rules from their filters.

mod class;
mod lost;
mod priomap;
mod write;

use std::collections::{BTreeMap, BTreeSet};

use roundelay::Fault;

use crate::commands::{Class, Device, Filter, Handle, Parent, Qdisc};
use crate::faults::at_line;
use crate::filters::{self, Rule, Test, Tests};
use crate::leaf::{Leaf, leaf};
use crate::marks::{Mark, Marked, Marks, Sets};
use crate::noted::Noted;
use crate::remarks;

use write::readable;
pub(crate) use write::written;

/// The most levels that a tree has below its root.
const MOST_LEVELS: usize = 8;
/// The most rules that a filter becomes together with those of the qdisc behind it.
const MOST_RULES: usize = 4096;
/// The most filters that we follow. Those of an inner class count each time that we reach it.
const MOST_FILTERS: usize = 20_000;
/// The most rules that we compare with each other.
const MOST_COMPARED: usize = 1000;
/// So many alternatives of marks are compared with each other.
const MOST_MARKS_COMPARED: usize = 1 << 20;
/// Qdiscs that a tree skips, to go on with what is below them.
const PASSED: [&str; 6] = ["netem", "mq", "mqprio", "multiq", "taprio", "plug"];
/// The queue that Linux makes where nobody sets one up: its length in packets is txqueuelen.
const QUEUE_OF_DEVICE: &str = "fifo limit 1000";

/// A node as the file will have it.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) parent: Option<String>,
    pub(crate) discipline: String,
    /// Keys, with their values in TOML.
    pub(crate) keys: Vec<(&'static str, String)>,
    /// The lines in the script.
    pub(crate) lines: Vec<usize>,
    pub(crate) rules: Vec<String>,
    pub(crate) is_default: bool,
    pub(crate) is_leaf: bool,
}

/// Where a qdisc goes: a node that only lacks its discipline.
#[derive(Debug, Clone, Default)]
struct Slot {
    name: String,
    parent: Option<String>,
    /// The parent's discipline.
    parent_kind: &'static str,
    keys: Vec<(&'static str, String)>,
    lines: Vec<usize>,
    depth: usize,
}

/// Whether a filter's words name this handle as the class.
fn names(pair: &[String], handle: Handle) -> bool {
    ["flowid", "classid"].contains(&pair[0].as_str()) && handle.is_named(&pair[1])
}

/// Which packets go to which leaf.
#[derive(Debug, Clone)]
struct Choice {
    /// In order. The first rule that matches decides.
    rules: Vec<(Tests, usize)>,
    /// The node for all other packets, by number.
    otherwise: usize,
}

impl Choice {
    /// Drops rules that no packet reaches because an earlier rule takes all that they match.
    fn drop_covered(&mut self) {
        let mut kept: Vec<(Tests, usize)> = Vec::new();
        for (tests, leaf) in self.rules.drain(..) {
            let looked_at = &kept[..kept.len().min(MOST_COMPARED)];
            let is_covered = looked_at
                .iter()
                .any(|(early, _)| filters::covers(early, &tests));
            if !is_covered {
                kept.push((tests, leaf));
            }
        }
        self.rules = kept;
    }

    fn only(leaf: usize) -> Self {
        let rules = Vec::new();
        Self {
            rules,
            otherwise: leaf,
        }
    }
}

/// The tree of an interface, with remarks. `is_whole` is false if commands of the script were left
/// out.
///
/// # Errors
/// A word is wrong. The message tells the line.
pub(crate) fn plant(
    name: &str,
    device: &Device,
    root: &Qdisc,
    is_whole: bool,
    marks: &Marks,
) -> Result<Planted, Fault> {
    let mut planter = Planter {
        name,
        device,
        is_whole,
        marks,
        planted: Vec::new(),
        tried: vec![false; device.filters.len()],
        nodes: Vec::new(),
        rules: Vec::new(),
        notes: Vec::new(),
        fault: None,
        followed: 0,
        short: short_of(device, marks),
        classified: Vec::new(),
    };
    // Which packets go to which leaf, by the filters on the way.
    let mut choice = planter.root(root);
    // The leaves' rules.
    planter.assign(&mut choice);
    // What is in the script and not in the tree.
    planter.note_lost();
    planter.note_marks();
    remarks::of_device(name, device, &mut planter.notes);
    match planter.fault {
        Some(fault) => Err(fault),
        None => Ok(Planted {
            nodes: planter.nodes,
            rules: planter.rules,
            notes: planter.notes,
        }),
    }
}

/// The tree of an interface.
pub(crate) struct Planted {
    pub(crate) nodes: Vec<Node>,
    /// Rules in one order over all leaves, each with its leaf. Empty if the leaves hold them.
    pub(crate) rules: Vec<(String, String)>,
    pub(crate) notes: Vec<Noted>,
}

impl Planted {
    /// Gives the classes of the interface the names that they have in the script, as far as these are
    /// not taken.
    pub(crate) fn name_nodes(&mut self, device: &str, names: &BTreeMap<[String; 2], String>) {
        let mut taken: BTreeSet<String> = self.nodes.iter().map(|node| node.name.clone()).collect();
        let mut renamed = BTreeMap::new();
        for node in &self.nodes {
            let place = [device.to_owned(), node.name.clone()];
            let Some(name) = names.get(&place) else {
                continue;
            };
            let name = readable(name);
            if !name.is_empty() && taken.insert(name.clone()) {
                renamed.insert(node.name.clone(), name);
            }
        }
        let change = |name: &mut String| {
            if let Some(other) = renamed.get(name) {
                name.clone_from(other);
            }
        };
        for node in &mut self.nodes {
            change(&mut node.name);
            node.parent.iter_mut().for_each(change);
        }
        for (_, leaf) in &mut self.rules {
            change(leaf);
        }
        for note in &mut self.notes {
            note.node.iter_mut().for_each(change);
        }
    }
}

struct Planter<'a> {
    name: &'a str,
    device: &'a Device,
    is_whole: bool,
    marks: &'a Marks,
    /// The qdiscs that are in the tree or passed over, by where they hang.
    planted: Vec<Parent>,
    /// Filters that a packet can reach.
    tried: Vec<bool>,
    nodes: Vec<Node>,
    /// Rules in one order over all leaves, each with its leaf. Empty if the leaves hold them.
    rules: Vec<(String, String)>,
    notes: Vec<Noted>,
    /// The first word that is wrong.
    fault: Option<Fault>,
    /// How many filters we have followed so far.
    followed: usize,
    /// Below how many bytes acknowledgements are short.
    short: Option<u32>,
    /// Lines of packet filters' rules that choose a class of the tree.
    classified: Vec<usize>,
}

impl<'a> Planter<'a> {
    /// What was read. After a fault it is empty, and we keep the fault.
    fn read<T: Default>(&mut self, line: usize, read: Result<T, Fault>) -> T {
        match read {
            Ok(value) => value,
            Err(fault) => {
                self.fault.get_or_insert(at_line(line, fault));
                T::default()
            }
        }
    }

    fn note(&mut self, line: usize, node: &str, text: impl Into<String>) {
        let noted = Noted {
            line,
            node: Some(node.to_owned()),
            text: text.into(),
        };
        if !self.notes.contains(&noted) {
            self.notes.push(noted);
        }
    }

    fn push_class(&mut self, slot: &Slot, discipline: &str) -> usize {
        self.push(slot, discipline, false)
    }

    fn push_leaf(&mut self, slot: &Slot, discipline: &str) -> usize {
        self.push(slot, discipline, true)
    }

    /// Adds a node, and returns its number.
    fn push(&mut self, slot: &Slot, discipline: &str, is_leaf: bool) -> usize {
        self.nodes.push(Node {
            name: slot.name.clone(),
            parent: slot.parent.clone(),
            discipline: discipline.to_owned(),
            keys: slot.keys.clone(),
            lines: slot.lines.clone(),
            rules: Vec::new(),
            is_default: false,
            is_leaf,
        });
        self.nodes.len() - 1
    }

    /// Plants the device's root qdisc. Because a tree's root has to be a class, a queue goes below
    /// one.
    fn root(&mut self, root: &Qdisc) -> Choice {
        let name = if root.has_handle() {
            Handle {
                major: root.major,
                minor: 0,
            }
            .to_string()
        } else {
            "root".to_owned()
        };
        let has_child = self.child_of(root).is_some();
        let is_netem_with_rate = root.kind == "netem" && class::netem_has_rate(&root.words);
        let is_class = ["htb", "hfsc", "drr", "qfq", "prio", "ets", "pfifo_fast"]
            .contains(&root.kind.as_str());
        if is_class || is_netem_with_rate || (root.kind == "tbf" && has_child) {
            let slot = Slot {
                name,
                ..Slot::default()
            };
            return self.qdisc(root, slot);
        }
        if PASSED.contains(&root.kind.as_str())
            && let Some(child) = self.child_of(root)
        {
            self.note_passed(root, &name, "");
            return self.root(child);
        }
        let link = Slot {
            name: "link".to_owned(),
            ..Slot::default()
        };
        self.push_class(&link, "drr");
        let slot = Slot {
            name,
            parent: Some(link.name),
            depth: 1,
            ..Slot::default()
        };
        self.qdisc(root, slot)
    }

    /// The qdisc inside one that has a single class, such as tbf.
    fn child_of(&self, qdisc: &Qdisc) -> Option<&'a Qdisc> {
        if !qdisc.has_handle() {
            return None;
        }
        let device = self.device;
        for other in &device.qdiscs {
            if let Parent::At(handle) = other.parent
                && handle.major == qdisc.major
            {
                return Some(other);
            }
        }
        None
    }

    /// Says that a qdisc is passed over, and which qdiscs below it are left out.
    fn note_passed(&mut self, qdisc: &Qdisc, name: &str, above: &str) {
        self.planted.push(qdisc.parent);
        let device = self.device;
        let below = self.child_of(qdisc).map_or("", |child| child.kind.as_str());
        self.note(qdisc.line, name, remarks::of_passed(qdisc, above, below));
        let mut is_first = true;
        for other in &device.qdiscs {
            if let Parent::At(handle) = other.parent
                && handle.major == qdisc.major
            {
                if !is_first {
                    let text = format!(
                        "{} at {handle} is left out: the tree is of the first queue of {}",
                        other.kind, qdisc.kind
                    );
                    self.note(other.line, name, text);
                }
                is_first = false;
            }
        }
    }

    /// Plants a qdisc, or the device's own queue if there is none.
    fn qdisc_or_queue(&mut self, qdisc: Option<&'a Qdisc>, slot: Slot) -> Choice {
        match qdisc {
            Some(qdisc) => self.qdisc(qdisc, slot),
            None => Choice::only(self.push_leaf(&slot, QUEUE_OF_DEVICE)),
        }
    }

    fn qdisc(&mut self, qdisc: &Qdisc, mut slot: Slot) -> Choice {
        self.planted.push(qdisc.parent);
        if !slot.lines.contains(&qdisc.line) {
            slot.lines.push(qdisc.line);
        }
        if !qdisc.stab.is_empty() {
            let text = remarks::of_size_table(self.name, &qdisc.stab);
            self.note(qdisc.line, &slot.name, text);
        }
        if let Some(text) = remarks::of_waiting(qdisc, slot.parent_kind) {
            self.note(qdisc.line, &slot.name, text);
        }
        if slot.depth >= MOST_LEVELS && leaf(&qdisc.kind, &[]).is_none() {
            let text = format!(
                "{} is left out: a tree has at most {MOST_LEVELS} levels below its root",
                qdisc.kind
            );
            self.note(qdisc.line, &slot.name, text);
            return Choice::only(self.push_leaf(&slot, QUEUE_OF_DEVICE));
        }
        match qdisc.kind.as_str() {
            "htb" | "hfsc" => self.shaper(qdisc, slot),
            "drr" | "qfq" => self.by_weight(qdisc, slot),
            "prio" | "ets" | "pfifo_fast" => self.bands(qdisc, slot),
            "tbf" if slot.depth < MOST_LEVELS && self.child_of(qdisc).is_some() => {
                self.tbf(qdisc, slot)
            }
            "netem" => self.netem(qdisc, slot),
            kind if PASSED.contains(&kind) => {
                self.note_passed(qdisc, &slot.name, slot.parent_kind);
                let child = self.child_of(qdisc);
                self.qdisc_or_queue(child, slot)
            }
            kind => {
                let Some(read) = leaf(kind, &qdisc.words) else {
                    self.note(qdisc.line, &slot.name, remarks::of_unknown(kind));
                    return Choice::only(self.push_leaf(&slot, QUEUE_OF_DEVICE));
                };
                let Leaf { text, remarks } = self.read(qdisc.line, read);
                for remark in remarks {
                    self.note(qdisc.line, &slot.name, remark);
                }
                if let Some(remark) = remarks::of_limit(&text) {
                    self.note(qdisc.line, &slot.name, remark);
                }
                for remark in remarks::of_leaf(qdisc, slot.parent_kind) {
                    self.note(qdisc.line, &slot.name, remark);
                }
                Choice::only(self.push_leaf(&slot, &text))
            }
        }
    }

    /// Plants a netem: its rate as a shaper, and its limit as that of a queue. Its delay and loss
    /// belong to the link.
    fn netem(&mut self, qdisc: &Qdisc, slot: Slot) -> Choice {
        let child = self.child_of(qdisc);
        let read = self.read(qdisc.line, class::of_netem(&qdisc.words));
        let queue = format!("fifo limit {}", read.limit);
        if !read.is_only_rate || child.is_some() {
            self.note_passed(qdisc, &slot.name, slot.parent_kind);
        }
        let Some(shaper) = read.shaper else {
            return match child {
                Some(child) => self.qdisc(child, slot),
                None => Choice::only(self.push_leaf(&slot, &queue)),
            };
        };
        if slot.depth >= MOST_LEVELS {
            let text = format!("netem's rate is left out: a tree has {MOST_LEVELS} levels");
            self.note(qdisc.line, &slot.name, text);
            return Choice::only(self.push_leaf(&slot, &queue));
        }
        self.push_class(&slot, &shaper);
        let below = Slot {
            name: format!("{}/netem", slot.name),
            parent: Some(slot.name),
            parent_kind: "tbf",
            lines: slot.lines,
            depth: slot.depth + 1,
            ..Slot::default()
        };
        match child {
            // What waits for the rate waits in netem, so only a shaper below it has a queue.
            Some(child) if ["tbf", "htb", "hfsc"].contains(&child.kind.as_str()) => {
                self.qdisc(child, below)
            }
            Some(child) => {
                let text = format!(
                    "{} below netem is left out: what waits for netem's rate waits in netem, so \
                     this queue stays empty in Linux",
                    child.kind
                );
                self.planted.push(child.parent);
                self.note(child.line, &below.name, text);
                Choice::only(self.push_leaf(&below, &queue))
            }
            None => Choice::only(self.push_leaf(&below, &queue)),
        }
    }

    /// Plants a tbf with the queue inside it.
    fn tbf(&mut self, qdisc: &Qdisc, slot: Slot) -> Choice {
        let child = self.child_of(qdisc);
        let (text, notes) = self.read(qdisc.line, class::of_bucket(&qdisc.words));
        for note in notes.into_iter().chain(remarks::of_bucket(&qdisc.words)) {
            self.note(qdisc.line, &slot.name, note);
        }
        self.push_class(&slot, &text);
        // Linux numbers the only class of a tbf :1.
        let inside = Handle {
            major: qdisc.major,
            minor: 1,
        };
        let below = Slot {
            name: inside.to_string(),
            parent: Some(slot.name),
            parent_kind: "tbf",
            depth: slot.depth + 1,
            ..Slot::default()
        };
        self.qdisc_or_queue(child, below)
    }

    /// Plants an htb or hfsc with its classes.
    fn shaper(&mut self, qdisc: &Qdisc, slot: Slot) -> Choice {
        let kind = if qdisc.kind == "htb" { "htb" } else { "hfsc" };
        let slot = if kind == "htb" && slot.parent_kind == "htb" && slot.depth + 1 < MOST_LEVELS {
            self.apart(qdisc, slot)
        } else {
            slot
        };
        let is_inner = slot.parent_kind == kind;
        if is_inner {
            let text = format!(
                "this {kind} inside {kind} is one {kind} with the outer one here, so a class below \
                 it sends at its own rate whatever the outer class has left"
            );
            self.note(qdisc.line, &slot.name, text);
        }
        let (text, notes) = self.read(qdisc.line, class::of_shaper(kind, &qdisc.words));
        for note in notes {
            self.note(qdisc.line, &slot.name, note);
        }
        let discipline = if is_inner { kind } else { &text };
        self.push_class(&slot, discipline);
        let top = Handle {
            major: qdisc.major,
            minor: 0,
        };
        let mut leaves = BTreeMap::new();
        for class in self.below(top) {
            self.plant_class(class, kind, &slot, &mut leaves);
        }
        for note in remarks::of_classes(kind, qdisc, self.device) {
            self.notes.push(note);
        }
        // Several inside may have no handle.
        let own = match qdisc.has_handle() || slot.depth == 0 {
            true => top.to_string(),
            false => format!("{}:", slot.name),
        };
        let mut direct = None;
        if kind == "htb" && self.has_filter_to(qdisc, top) {
            direct = Some(self.stand_in(kind, format!("{own}direct"), &slot, qdisc));
        }
        let default = class::default_of(&qdisc.words);
        let wanted = default.and_then(|minor| leaves.get(&Handle { minor, ..top }).cloned());
        let otherwise = match wanted {
            Some(choice) => {
                if qdisc.words.iter().any(|word| word == "direct_qlen") {
                    let text = "direct_qlen is left out: it is for packets without a class, and \
                                `default` gives all of them one";
                    self.note(qdisc.line, &slot.name, text);
                }
                choice
            }
            None => {
                let is_inside = slot.depth > 0 && !is_inner;
                let text = remarks::of_no_default(kind, default, self.is_whole, is_inside);
                let name = if kind == "htb" {
                    "direct"
                } else {
                    "unclassified"
                };
                let name = format!("{own}{name}");
                self.note(qdisc.line, &name, text);
                match &direct {
                    Some(direct) => direct.clone(),
                    None => self.stand_in(kind, name, &slot, qdisc),
                }
            }
        };
        if let Some(direct) = direct {
            // A filter that names the htb itself sends past its classes.
            leaves.insert(top, direct);
        }
        self.choose(qdisc, top, &leaves, &otherwise)
    }

    /// A class of one child between an htb and the htb inside it, because a node of htb right below
    /// another one is one htb with it. Returns the child's place.
    fn apart(&mut self, qdisc: &Qdisc, slot: Slot) -> Slot {
        self.push_class(&slot, "priority");
        let own = Handle {
            major: qdisc.major,
            minor: 0,
        };
        let name = if qdisc.has_handle() {
            own.to_string()
        } else {
            format!("{} htb", slot.name)
        };
        Slot {
            name,
            parent: Some(slot.name),
            parent_kind: "priority",
            lines: vec![qdisc.line],
            depth: slot.depth + 1,
            keys: Vec::new(),
        }
    }

    /// Whether a filter of this qdisc names the qdisc itself as the class.
    fn has_filter_to(&self, qdisc: &Qdisc, top: Handle) -> bool {
        for filter in &self.device.filters {
            let is_own = match filter.parent {
                Parent::At(parent) => parent.major == top.major,
                Parent::Root => qdisc.parent == Parent::Root,
                Parent::Ingress => false,
            };
            for pair in filter.words.windows(2) {
                if is_own && names(pair, top) {
                    return true;
                }
            }
        }
        false
    }

    fn below(&self, parent: Handle) -> Vec<&'a Class> {
        let device = self.device;
        device.below(parent)
    }

    /// Plants a class of an htb or hfsc, and all classes below it. A class with none below is a leaf,
    /// with its qdisc or the device's own queue.
    fn plant_class(
        &mut self,
        class: &'a Class,
        kind: &'static str,
        above: &Slot,
        leaves: &mut BTreeMap<Handle, Choice>,
    ) {
        let name = class.id.to_string();
        let below = self.below(class.id);
        let read = class::keys(kind, &class.words, below.is_empty());
        let (keys, notes) = self.read(class.line, read);
        for note in notes {
            self.note(class.line, &name, note);
        }
        let slot = Slot {
            name,
            parent: Some(above.name.clone()),
            parent_kind: kind,
            keys,
            lines: vec![class.line],
            depth: above.depth + 1,
        };
        if below.is_empty() {
            let inside = self.device.at(class.id);
            let choice = self.qdisc_or_queue(inside, slot);
            leaves.insert(class.id, choice);
            return;
        }
        if slot.depth >= MOST_LEVELS {
            let text = format!("the classes below are left out: a tree has {MOST_LEVELS} levels");
            self.note(class.line, &slot.name, text);
            let choice = Choice::only(self.push_leaf(&slot, QUEUE_OF_DEVICE));
            leaves.insert(class.id, choice);
            return;
        }
        self.push_class(&slot, kind);
        for class in below {
            self.plant_class(class, kind, &slot, leaves);
        }
    }

    /// Adds a leaf for packets that Linux sends past all classes or drops.
    fn stand_in(&mut self, kind: &str, name: String, above: &Slot, qdisc: &Qdisc) -> Choice {
        let (discipline, keys) = match kind {
            // The topmost node of an htb.
            "htb" if above.parent_kind != "htb" => (
                format!("fifo limit {}", class::direct_limit(&qdisc.words)),
                vec![("direct", "true".to_owned())],
            ),
            "htb" => (
                format!("fifo limit {}", class::direct_limit(&qdisc.words)),
                vec![
                    ("rate", "\"100tbit\"".to_owned()),
                    ("quantum", "\"200000b\"".to_owned()),
                ],
            ),
            "hfsc" => (
                "fifo limit 1".to_owned(),
                vec![
                    ("ls", "\"rate 8bit\"".to_owned()),
                    ("ul", "\"rate 8bit\"".to_owned()),
                ],
            ),
            _ => ("fifo limit 1".to_owned(), Vec::new()),
        };
        let slot = Slot {
            name,
            parent: Some(above.name.clone()),
            parent_kind: "",
            keys,
            lines: vec![qdisc.line],
            depth: above.depth + 1,
        };
        Choice::only(self.push_leaf(&slot, &discipline))
    }

    /// Plants a drr or qfq.
    fn by_weight(&mut self, qdisc: &Qdisc, slot: Slot) -> Choice {
        let kind = if qdisc.kind == "drr" { "drr" } else { "qfq" };
        let top = Handle {
            major: qdisc.major,
            minor: 0,
        };
        let classes = self.below(top);
        let (discipline, weights) = match class::weights(kind, &classes) {
            Ok(weights) => weights,
            Err(fault) => {
                self.fault.get_or_insert(fault);
                Default::default()
            }
        };
        self.push_class(&slot, &discipline);
        let mut leaves = BTreeMap::new();
        for (class, (keys, notes)) in classes.into_iter().zip(weights) {
            let name = class.id.to_string();
            for note in notes {
                self.note(class.line, &name, note);
            }
            let below = Slot {
                name,
                parent: Some(slot.name.clone()),
                parent_kind: kind,
                keys,
                lines: vec![class.line],
                depth: slot.depth + 1,
            };
            let inside = self.device.at(class.id);
            let choice = self.qdisc_or_queue(inside, below);
            leaves.insert(class.id, choice);
        }
        let name = format!("{top}unclassified");
        let text = format!(
            "Linux drops a packet that no filter of {kind} sends to a class; this leaf, which \
             keeps one packet, stands for that"
        );
        self.note(qdisc.line, &name, text);
        let otherwise = self.stand_in(kind, name, &slot, qdisc);
        self.choose(qdisc, top, &leaves, &otherwise)
    }

    /// Plants a prio or ets, whose bands exist without a command.
    fn bands(&mut self, qdisc: &Qdisc, slot: Slot) -> Choice {
        let kind = if qdisc.kind == "ets" { "ets" } else { "prio" };
        let read = class::bands(kind, &qdisc.words).map(Some);
        let Some(bands) = self.read(qdisc.line, read) else {
            return Choice::only(self.push_leaf(&slot, QUEUE_OF_DEVICE));
        };
        for note in &bands.notes {
            self.note(qdisc.line, &slot.name, note.clone());
        }
        self.push_class(&slot, &bands.discipline);
        let top = Handle {
            major: qdisc.major,
            minor: 0,
        };
        let mut leaves = BTreeMap::new();
        let mut all = Vec::new();
        for band in 0..bands.number {
            let id = Handle {
                minor: band + 1,
                ..top
            };
            let name = if qdisc.has_handle() {
                id.to_string()
            } else {
                format!("{}/{}", slot.name, band + 1)
            };
            let below = Slot {
                name,
                parent: Some(slot.name.clone()),
                parent_kind: if band < bands.strict { "prio" } else { "ets" },
                keys: vec![("priority", band.to_string())],
                lines: slot.lines.clone(),
                depth: slot.depth + 1,
            };
            let inside = if qdisc.has_handle() {
                self.device.at(id)
            } else {
                None
            };
            let choice = self.qdisc_or_queue(inside, below);
            leaves.insert(id, choice.clone());
            all.push(choice);
        }
        let of = |band: u16| all[usize::from(band.min(bands.number - 1))].clone();
        let mut otherwise = of(bands.priomap[0]);
        for (points, band) in priomap::code_points(&bands.priomap) {
            if band == bands.priomap[0] {
                continue;
            }
            let choice = of(band);
            for point in points.into_iter().rev() {
                let tests = vec![Test::CodePoint(point), filters::every(true)];
                otherwise = before(otherwise, &[tests], &choice);
            }
        }
        let choice = self.choose(qdisc, top, &leaves, &otherwise);
        let of_filters = choice.rules.len() - otherwise.rules.len();
        let mut has_ef = false;
        for (tests, _) in &choice.rules[..of_filters] {
            has_ef |= tests.contains(&Test::CodePoint(46)) || tests.contains(&Test::Leaving(46));
        }
        if let Some(text) = priomap::remark(&bands.priomap, has_ef) {
            self.note(qdisc.line, &slot.name, text);
        }
        choice
    }

    /// Follows the filters of a qdisc.
    fn choose(
        &mut self,
        qdisc: &Qdisc,
        top: Handle,
        leaves: &BTreeMap<Handle, Choice>,
        otherwise: &Choice,
    ) -> Choice {
        let mut parents = vec![Parent::At(top)];
        if qdisc.parent == Parent::Root {
            parents.push(Parent::Root);
        }
        if !qdisc.has_handle() {
            parents.retain(|parent| *parent == Parent::Root);
        }
        let mut choice = self.follow(&parents, top, leaves, otherwise, 0);
        // What a packet filter has chosen comes before all filters.
        let marks = self.marks;
        for rule in marks.rules.iter().rev() {
            let Sets::Class(class) = &rule.sets else {
                continue;
            };
            let target = Handle::below(class, top.major)
                .filter(|id| id.major == top.major)
                .and_then(|id| leaves.get(&id));
            if let Some(target) = target {
                self.classified.push(rule.line);
                if let Some(text) = self.other_length(filters::short(&rule.alternatives)) {
                    self.note(rule.line, &top.to_string(), text);
                    continue;
                }
                choice = before(choice, &rule.alternatives, target);
            }
        }
        choice
    }

    /// Follows the filters that hang here, in their order.
    fn follow(
        &mut self,
        parents: &[Parent],
        top: Handle,
        leaves: &BTreeMap<Handle, Choice>,
        otherwise: &Choice,
        depth: usize,
    ) -> Choice {
        let device = self.device;
        let mut filters: Vec<&Filter> = Vec::new();
        for (number, filter) in device.filters.iter().enumerate() {
            if parents.contains(&filter.parent) {
                self.tried[number] = true;
                filters.push(filter);
            }
        }
        filters.sort_by_key(|filter| filter.priority);
        let rules = self.rules_of(&filters, top);
        // Goes from the last to the first and puts each before the others.
        let mut choice = otherwise.clone();
        let mut behind_marks = otherwise.clone();
        for followed in rules.into_iter().rev() {
            let Some(line) = followed.line() else {
                behind_marks = choice.clone();
                continue;
            };
            self.followed += 1;
            if self.followed > MOST_FILTERS || choice.rules.len() > MOST_FILTERS {
                let text = format!(
                    "more than {MOST_FILTERS} rules: this filter and those before it are left out"
                );
                self.note(line, &top.to_string(), text);
                break;
            }
            let (filter, rule) = match followed {
                Followed::By(filter, rule) => (filter, rule),
                Followed::OtherMark(marked) => {
                    let short = filters::short(&marked.alternatives);
                    match self.other_length(short) {
                        Some(text) => self.note(line, &top.to_string(), text),
                        None => choice = before(choice, &marked.alternatives, &behind_marks),
                    }
                    continue;
                }
                Followed::EndOfMarks => continue,
            };
            if let Some(text) = self.other_length(rule.short()) {
                self.note(filter.line, &top.to_string(), text);
                continue;
            }
            if let Some(direct) = leaves.get(&top)
                && top.is_named(&rule.class)
            {
                choice = before(choice, &rule.alternatives, direct);
                continue;
            }
            let Some(id) = Handle::below(&rule.class, top.major) else {
                let text = format!("this filter is left out: `{}` is no class", rule.class);
                self.note(filter.line, &top.to_string(), text);
                continue;
            };
            for remark in rule.remarks {
                self.note(filter.line, &id.to_string(), remark);
            }
            let target = match leaves.get(&id) {
                Some(choice) => choice.clone(),
                None if device.class(id).is_some() && depth < MOST_LEVELS => {
                    // At an inner class its own filters go on, and else the qdisc's default.
                    self.follow(&[Parent::At(id)], top, leaves, otherwise, depth + 1)
                }
                None => {
                    let text = format!(
                        "this filter names class {id}, which is not there, so its packets go to \
                         the default"
                    );
                    self.note(filter.line, &top.to_string(), text);
                    otherwise.clone()
                }
            };
            choice = before(choice, &rule.alternatives, &target);
        }
        choice
    }

    /// Why a filter's acknowledgements cannot be told from those of another one.
    fn other_length(&self, short: Option<u32>) -> Option<String> {
        let below = short?;
        let known = self.short?;
        (known != below).then(|| {
            format!(
                "this filter is left out: it is on acknowledgements below {below} bytes, another \
                 one on those below {known}, and a tree has one length"
            )
        })
    }

    /// Filters as rules, in their order. Those on the same bits of marks that follow each other have the
    /// order of the packet filter's rules, because a packet has one mark, and several of these rules
    /// may match it.
    fn rules_of(&mut self, filters: &[&'a Filter], top: Handle) -> Vec<Followed<'a>> {
        let mut all = Vec::new();
        let mut rest = filters;
        while let Some(first) = rest.first() {
            let bits = bits_of(first);
            let mut run = 0;
            while let Some(filter) = rest.get(run)
                && filter.kind == "fw"
                && bits_of(filter) == bits
            {
                run += 1;
            }
            let (filters, behind) = rest.split_at(run.max(1));
            rest = behind;
            if run > 0 {
                self.add_marked(filters, top, &mut all);
                continue;
            }
            match filters::read(first) {
                Ok(mut rule) => {
                    if self.marks.write_code_points() {
                        filters::ask_at_leaving(&mut rule.alternatives);
                    }
                    all.push(Followed::By(first, rule));
                }
                Err(why) => self.note_filter(first, top, &why),
            }
        }
        all
    }

    fn note_filter(&mut self, filter: &Filter, top: Handle, why: &Fault) {
        let text = format!("this filter is left out: {why}");
        self.note(filter.line, &top.to_string(), text);
    }

    /// Adds the rules of filters on marks.
    fn add_marked(&mut self, filters: &[&'a Filter], top: Handle, all: &mut Vec<Followed<'a>>) {
        let marks = self.marks;
        let first = all.len();
        let mut by_value: BTreeMap<u32, &'a Filter> = BTreeMap::new();
        let mut mask = 0;
        for filter in filters {
            if let Some(asked) = asked_of(filter) {
                mask = asked.mask;
                by_value.entry(asked.value & asked.mask).or_insert(filter);
            }
        }
        let mut met = BTreeSet::new();
        let mut of_rules = Vec::new();
        for marked in &marks.rules {
            let Sets::Mark(mark) = &marked.sets else {
                continue;
            };
            // It sets none of the bits that these filters ask for.
            if mark.mask & mask == 0 {
                continue;
            }
            if mark.mask & mask != mask {
                let text = "left out: the bits of the mark that this rule does not set, though a \
                            filter asks for them; it counts as if they were 0";
                self.note(marked.line, &top.to_string(), text);
            }
            let value = mark.value & mask;
            met.insert(value);
            of_rules.push((marked, by_value.get(&value).copied()));
        }
        for filter in filters {
            if let Some(asked) = asked_of(filter)
                && met.contains(&(asked.value & mask))
            {
                continue;
            }
            if let Err(why) = filters::read(filter) {
                self.note_filter(filter, top, &why);
            }
        }
        let takes_over = taking_over(&of_rules);
        for (number, (marked, filter)) in of_rules.into_iter().enumerate() {
            let Some(filter) = filter else {
                if takes_over[number] {
                    all.push(Followed::OtherMark(marked));
                }
                continue;
            };
            match filters::marked(filter, &marked.alternatives) {
                Ok(rule) => all.push(Followed::By(filter, rule)),
                Err(why) => self.note_filter(filter, top, &why),
            }
        }
        if all.len() > first {
            all.push(Followed::EndOfMarks);
        }
    }

    /// Says which rules of a packet filter the tree lacks.
    fn note_marks(&mut self) {
        let marks = self.marks;
        let mut asked = Vec::new();
        let mut asks_marks = false;
        let mut asks_points = false;
        for filter in &self.device.filters {
            asks_marks |= filter.kind == "fw" || filter.words.iter().any(|word| word == "mark");
            for tests in filters::read(filter)
                .map(|rule| rule.alternatives)
                .unwrap_or_default()
            {
                asks_points |= filters::code_point_of(&tests).is_some();
                asked.extend(tests);
            }
        }
        let mut has_tins = false;
        for node in &self.nodes {
            has_tins |=
                node.discipline.starts_with("cake") && !node.discipline.contains("besteffort");
        }
        let mut found = Vec::new();
        for rule in &marks.left_out {
            if asks_marks || !rule.is_mark {
                found.push((rule.line, rule.text.clone()));
            }
        }
        for rule in &marks.rules {
            match &rule.sets {
                Sets::CodePoint(point)
                    if !asks_points && !marks.points.contains(point)
                        || has_tins && !asked.contains(&Test::CodePoint(*point)) => found.push((
                    rule.line,
                    format!(
                        "left out: the code point {point} that this rule writes; no filter asks \
                         for it, and what goes by code points, as cake's tins, has those of the \
                         capture"
                    ),
                )),
                Sets::Class(class) if !self.classified.contains(&rule.line) => found.push((
                    rule.line,
                    format!("left out: the class {class} of this rule, which is not in the tree"),
                )),
                _ => {}
            }
        }
        for (line, text) in found {
            let node = None;
            self.notes.push(Noted { line, node, text });
        }
    }

    /// Replaces code points with which packets leave by those with which they come: packets of a rule
    /// that writes one go where this one goes.
    fn ask_at_arrival(&mut self, choice: &mut Choice) {
        // Rules before the first that asks for a code point decide about all packets alike.
        let mut first = 0;
        while let Some((tests, _)) = choice.rules.get(first)
            && filters::leaving(tests).is_none()
        {
            first += 1;
        }
        let rest = choice.rules.split_off(first);
        let mut then = Choice::only(choice.otherwise);
        for (tests, leaf) in &rest {
            then.rules.push((filters::at_arrival(tests), *leaf));
        }
        let marks = self.marks;
        for rule in marks.rules.iter().rev() {
            let Sets::CodePoint(written) = rule.sets else {
                continue;
            };
            let mut of_rule = Choice::only(choice.otherwise);
            for (tests, leaf) in &rest {
                match filters::leaving(tests) {
                    Some(point) if point != written => {}
                    _ => of_rule.rules.push((filters::without_leaving(tests), *leaf)),
                }
            }
            if then.rules.len() + rule.alternatives.len() * of_rule.rules.len() > MOST_RULES {
                let text = "left out: the code point that this rule writes, because the tree would \
                            have too many rules with it";
                self.notes.push(Noted {
                    line: rule.line,
                    node: None,
                    text: text.to_owned(),
                });
                continue;
            }
            then = before(then, &rule.alternatives, &of_rule);
        }
        choice.rules.append(&mut then.rules);
    }

    /// Gives the leaves their rules.
    fn assign(&mut self, choice: &mut Choice) {
        self.ask_at_arrival(choice);
        choice.drop_covered();
        // Rules at the end that lead to the default leaf change nothing.
        while choice
            .rules
            .last()
            .is_some_and(|(_, leaf)| *leaf == choice.otherwise)
        {
            choice.rules.pop();
        }
        self.nodes[choice.otherwise].is_default = true;
        // The file has its rules by leaf, so leaves come in the order of their first rules.
        let mut order: Vec<usize> = Vec::new();
        for (_, leaf) in &choice.rules {
            if !order.contains(leaf) {
                order.push(*leaf);
            }
        }
        let is_listed = alternates(choice, &order);
        for (tests, leaf) in &choice.rules {
            let text = filters::written(tests);
            if is_listed {
                self.rules.push((text, self.nodes[*leaf].name.clone()));
            } else if !self.nodes[*leaf].rules.contains(&text) {
                self.nodes[*leaf].rules.push(text);
            }
        }
        let mut first = Vec::new();
        let mut then = Vec::new();
        for (number, node) in self.nodes.iter().enumerate() {
            match order.iter().position(|leaf| *leaf == number) {
                Some(index) => then.push((index, node.clone())),
                None if node.is_leaf && !node.is_default => {
                    then.push((usize::MAX, node.clone()));
                }
                None if node.is_default => then.push((usize::MAX - 1, node.clone())),
                None => first.push(node.clone()),
            }
        }
        then.sort_by_key(|(index, _)| *index);
        for (_, node) in &then {
            let stands_in = node.name.ends_with(":unclassified") || node.name.ends_with(":direct");
            let is_listed = self.rules.iter().any(|(_, leaf)| *leaf == node.name);
            let has_rules = is_listed || !node.rules.is_empty();
            let is_bare = !has_rules && !node.is_default && !stands_in;
            if is_bare {
                let line = node.lines.first().copied().unwrap_or(1);
                let text = "no filter that a tree can have sends packets here, so the leaf is \
                            empty; give it flows";
                self.note(line, &node.name, text);
            }
        }
        first.extend(then.into_iter().map(|(_, node)| node));
        self.nodes = first;
    }
}

/// A step through the filters of a qdisc or class.
enum Followed<'a> {
    By(&'a Filter, Rule),
    /// Packets with a mark that none of these filters asks for go on behind them.
    OtherMark(&'a Marked),
    /// Filters on marks that follow each other end here.
    EndOfMarks,
}

impl Followed<'_> {
    /// The line of the filter or rule.
    const fn line(&self) -> Option<usize> {
        match self {
            Self::By(filter, _) => Some(filter.line),
            Self::OtherMark(marked) => Some(marked.line),
            Self::EndOfMarks => None,
        }
    }
}

/// The mark that a filter asks for.
fn asked_of(filter: &Filter) -> Option<Mark> {
    Mark::read(filter.handle.as_deref().unwrap_or_default())
}

/// The bits of it.
fn bits_of(filter: &Filter) -> Option<u32> {
    Some(asked_of(filter)?.mask)
}

/// Which rules take packets from others behind them that have filters. Rules without an own filter are
/// asked for alone.
fn taking_over(rules: &[(&Marked, Option<&Filter>)]) -> Vec<bool> {
    let mut all = vec![false; rules.len()];
    let mut behind: Vec<&Marked> = Vec::new();
    let mut last: Option<&Marked> = None;
    let mut compared = 0;
    for (number, (marked, filter)) in rules.iter().enumerate().rev() {
        if filter.is_some() {
            behind.push(marked);
            continue;
        }
        // A rule like the last one changes nothing.
        if let Some(last) = last
            && last.alternatives == marked.alternatives
        {
            continue;
        }
        last = Some(marked);
        for other in &behind {
            compared += marked.alternatives.len() * other.alternatives.len();
            if compared > MOST_MARKS_COMPARED || overlap(marked, other) {
                all[number] = true;
                break;
            }
        }
    }
    all
}

fn overlap(marked: &Marked, other: &Marked) -> bool {
    for tests in &other.alternatives {
        if filters::one_overlaps(&marked.alternatives, tests) {
            return true;
        }
    }
    false
}

/// Below how many bytes the first filter that asks for acknowledgements, or the first mark, does so.
fn short_of(device: &Device, marks: &Marks) -> Option<u32> {
    for filter in &device.filters {
        if let Ok(rule) = filters::read(filter)
            && let Some(below) = rule.short()
        {
            return Some(below);
        }
    }
    for rule in &marks.rules {
        if let Some(below) = filters::short(&rule.alternatives) {
            return Some(below);
        }
    }
    None
}

/// Whether some packet would go elsewhere if each leaf's rules stood together, leaves in this order.
fn alternates(choice: &Choice, order: &[usize]) -> bool {
    let index = |leaf: usize| order.iter().position(|other| *other == leaf);
    // With more rules we do not look, and keep their order.
    if choice.rules.len() > MOST_COMPARED {
        return true;
    }
    for (number, (late, leaf)) in choice.rules.iter().enumerate() {
        for (early, other) in &choice.rules[..number] {
            if index(*leaf) < index(*other) && filters::overlap(early, late) {
                return true;
            }
        }
    }
    false
}

/// Puts a rule before all others. What matches goes to the target, which chooses further.
fn before(choice: Choice, alternatives: &[Tests], target: &Choice) -> Choice {
    let mut rules = Vec::new();
    for tests in alternatives {
        for (inner, leaf) in &target.rules {
            let mut both = tests.clone();
            both.extend(inner.iter().cloned());
            let is_possible = filters::overlap(tests, inner);
            if is_possible && rules.len() < MOST_RULES {
                rules.push((both, *leaf));
            }
        }
        rules.push((tests.clone(), target.otherwise));
    }
    rules.extend(choice.rules);
    Choice {
        rules,
        otherwise: choice.otherwise,
    }
}
