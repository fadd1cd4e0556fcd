//! Commands for a tree: qdiscs below classes of qdiscs.
//!
//! A node with children becomes a classful qdisc (drr, qfq, prio, ets) with a class for each child.
//! The child's qdisc hangs below its class. Each classful qdisc has its own filters: one for each
//! rule whose leaf is below it, in the order of the rules, and a last one that leads to the default
//! leaf. A rule of another leaf needs no filter here, because a packet that matches it first goes
//! elsewhere further up.
//!
//! A root of htb or hfsc becomes the device's root qdisc, with no shaper above. All classes of an
//! htb or hfsc belong to one qdisc, at the root or further down, and the filters lead straight to
//! those that send. A class of tbf becomes a tbf with the child's qdisc inside.

use roundelay::schedulers::{AnyDiscipline, Linux};
use roundelay::tree::{Node, Service, hfsc, htb};
use roundelay::{Limit, Rate};
use roundelay_trace::TreeFile;

use super::distinctions::Distinctions;
use super::flower;
use super::leaf::{self, absent, ets, prio};
use super::numbers::Reason;
use super::qdisc::{HANDLE, LAST, ROOT, class, delete_root, discipline_at, qdisc_add, shaper};
use super::remarks::{comment, has_bands, of_discipline, of_rules, remarks};
use super::weights::MOST_WEIGHT;

/// The fewest and the most bands that Linux's prio can have.
const BANDS: (usize, usize) = (2, 16);
/// The most handles, and the most classes of one qdisc.
const MOST: usize = 0xff00;

/// One command per line. `limit` is the limit of the buffer in front of the tree.
///
/// # Errors
/// Linux cannot nest an equivalent of some node. The reason names the node.
pub(super) fn commands_of_tree(
    tree: &TreeFile,
    limit: Limit,
    rate: Rate,
    distinctions: &Distinctions<'_>,
) -> Result<Vec<String>, Reason> {
    let root = tree.config().nodes().next().ok_or("the tree has no node")?;
    let mut plot = Plot {
        tree,
        limit,
        rate,
        distinctions,
        next: HANDLE,
        lines: Vec::new(),
        remarks: Vec::new(),
    };
    let has_classes = matches!(
        root.spec.discipline,
        AnyDiscipline::Htb(_) | AnyDiscipline::Hfsc(_)
    );
    if has_classes {
        plot.lines.extend(delete_root());
        plot.plant_classes(None, root)?;
    } else {
        plot.lines.extend(shaper(rate));
        plot.plant(ROOT, root)?;
    }
    let mut lines = plot.lines;
    let shared = "each leaf has a queue of its own, where leaves shared one buffer in the \
        comparison";
    lines.push(comment(shared.to_owned()));
    for remark in plot.remarks {
        lines.push(comment(remark));
    }
    Ok(lines)
}

struct Plot<'a> {
    tree: &'a TreeFile,
    limit: Limit,
    rate: Rate,
    distinctions: &'a Distinctions<'a>,
    /// The next handle.
    next: u32,
    lines: Vec<String>,
    remarks: Vec<String>,
}

impl<'a> Plot<'a> {
    /// Adds the commands for a node and everything below it.
    fn plant(&mut self, parent: &str, node: &'a Node) -> Result<(), Reason> {
        let of_node = |reason: Reason| format!("node '{}': {reason}", node.name);
        let handle = self.next;
        if handle as usize > MOST {
            return Err(of_node(format!("Linux has handles for {MOST} qdiscs")));
        }
        self.next += 1;
        let discipline = &node.spec.discipline;
        let mut children = self.tree.config().children_of(&node.name);
        if matches!(discipline, AnyDiscipline::Htb(_) | AnyDiscipline::Hfsc(_)) {
            self.next -= 1;
            return self.plant_classes(Some(parent), node);
        }
        if let (AnyDiscipline::Tbf(_), [child]) = (discipline, &children[..]) {
            // The qdisc inside has its own limit, but tc asks for one here too.
            let limit = discipline.default_limit();
            let link = (parent == ROOT).then_some(self.rate);
            let words = leaf::leaf(&node.spec, limit, link).map_err(of_node)?;
            self.add(handle, node, qdisc_add(parent, handle, discipline, &words));
            return self.plant(&format!("{handle:x}:1"), child);
        }
        if children.is_empty() {
            let limit = node.spec.limit.unwrap_or(self.limit);
            let limit = Limit {
                packets: limit.packets.min(self.limit.packets),
                bytes: limit.bytes.min(self.limit.bytes),
            };
            let link = (parent == ROOT).then_some(self.rate);
            let lines = discipline_at(parent, handle, &node.spec, limit, link, self.distinctions);
            self.add(handle, node, lines.map_err(of_node)?);
            for remark in remarks(discipline, limit, self.distinctions) {
                self.remarks.push(of_node(remark));
            }
            return Ok(());
        }
        let has_bands = has_bands(discipline);
        if has_bands {
            children.sort_by_key(|child| child.priority);
        }
        let qdisc = nested(discipline, &children).map_err(of_node)?;
        self.add(handle, node, qdisc_add(parent, handle, discipline, &qdisc));
        self.remarks.extend(of_rules(discipline).map(of_node));
        if !has_bands {
            self.remarks.extend(of_discipline(discipline).map(of_node));
        }
        for (index, child) in children.iter().enumerate() {
            let id = format!("{handle:x}:{:x}", class_number(discipline, index, child));
            if !has_bands {
                let words = class(discipline, child.weight, child.max_packet_len);
                self.lines.push(format!(
                    "tc class add dev $DEV parent {handle:x}: classid {id} {words}"
                ));
            }
            self.plant(&id, child)?;
        }
        let config = self.tree.config();
        self.filters(handle, &|leaf| {
            let index = children
                .iter()
                .position(|child| config.is_below(leaf, &child.name))?;
            let number = class_number(discipline, index, children[index]);
            Some(format!("{handle:x}:{number:x}"))
        });
        Ok(())
    }

    /// Adds an htb or hfsc with its classes and everything below. It goes into a class of another
    /// qdisc, or to the device's root.
    fn plant_classes(&mut self, parent: Option<&str>, root: &'a Node) -> Result<(), Reason> {
        let handle = self.next;
        self.next += 1;
        let tree = self.tree.config();
        let kind = root.spec.discipline.name();
        let is_inner = |node: &Node| node.spec.discipline.name() == kind;
        let classes = self.classes_of(root);
        if classes.len() > MOST {
            let name = &root.name;
            return Err(format!(
                "node '{name}': Linux has numbers for {MOST} classes of a qdisc"
            ));
        }
        // Filters lead to the classes that send, which have no classes below them. Such a class is
        // the leaf, or holds the qdiscs above it (`is_below` is true for a node and itself).
        let minor_for = |leaf: &str| {
            minor_of(&classes, |node| {
                !is_inner(node) && tree.is_below(leaf, &node.name)
            })
        };
        let r2q = match &root.spec.discipline {
            AnyDiscipline::Htb(config) => config.r2q,
            _ => htb::Config::default().r2q,
        };
        let attachment = match parent {
            Some(parent) => format!("parent {parent}"),
            None => "root".to_owned(),
        };
        let direct = classes.iter().find(|node| node.service == Service::Direct);
        let direct_leaf = direct.map(|node| node.name.as_str());
        let default = match self.tree.default_leaf() {
            leaf if direct_leaf == Some(leaf) => None,
            leaf => minor_for(leaf),
        };
        let mut words = classes_words(kind, default, r2q);
        if let Some(node) = direct {
            words += &self.direct_words(node)?;
        }
        self.lines.push(format!(
            "tc qdisc add dev $DEV {attachment} handle {handle:x}: {words} # {}",
            root.name
        ));
        for (index, node) in classes.iter().enumerate() {
            let Some(words) = class_words(node, r2q, is_inner(node))? else {
                continue;
            };
            let minor_above = minor_of(&classes, |above| {
                let children = tree.children_of(&above.name);
                children.iter().any(|child| child.name == node.name)
            });
            let above = minor_above.map_or(String::new(), |minor| format!("{minor:x}"));
            let id = format!("{handle:x}:{:x}", index + 1);
            self.lines.push(format!(
                "tc class add dev $DEV parent {handle:x}:{above} classid {id} {words} # {}",
                node.name
            ));
            let is_first_on_device = parent.is_none() && minor_above.is_none();
            if is_first_on_device && let Some(remark) = above_the_link(&node.service, self.rate) {
                self.remarks.push(format!("node '{}': {remark}", node.name));
            }
            if !is_inner(node) {
                self.plant(&id, node)?;
            }
        }
        self.filters(handle, &|leaf| {
            let minor = minor_for(leaf)?;
            // A filter that names the qdisc itself sends packets past the classes.
            let minor = if direct_leaf == Some(leaf) { 0 } else { minor };
            Some(format!("{handle:x}:{minor:x}"))
        });
        Ok(())
    }

    /// The length of htb's queue for packets of no class, which is the device's if there is none.
    ///
    /// # Errors
    /// In Linux this queue is first in, first out, and has a limit in packets.
    fn direct_words(&self, node: &Node) -> Result<String, Reason> {
        let limit = node.spec.limit.unwrap_or(self.limit);
        let packets = limit.packets.min(self.limit.packets);
        let is_fifo = matches!(node.spec.discipline, AnyDiscipline::Fifo(_));
        if !is_fifo || limit.bytes != Limit::UNBOUNDED.bytes || packets > u32::MAX.into() {
            return Err(format!(
                "node '{}': Linux's htb has a fifo with a limit in packets for packets of no \
                 class",
                node.name
            ));
        }
        Ok(format!(" direct_qlen {packets}"))
    }

    /// The classes of an htb or hfsc, level by level.
    fn classes_of(&self, root: &'a Node) -> Vec<&'a Node> {
        let tree = self.tree.config();
        let kind = root.spec.discipline.name();
        let mut inner = vec![root];
        let mut classes = Vec::new();
        let mut index = 0;
        while let Some(node) = inner.get(index) {
            index += 1;
            for child in tree.children_of(&node.name) {
                classes.push(child);
                if child.spec.discipline.name() == kind {
                    inner.push(child);
                }
            }
        }
        classes
    }

    /// Adds the commands for a node, and writes the node's name behind the qdisc's command.
    fn add(&mut self, handle: u32, node: &Node, mut lines: Vec<String>) {
        let made = format!(" handle {handle:x}: ");
        if let Some(line) = lines.iter_mut().find(|line| line.contains(&made)) {
            *line += &format!(" # {}", node.name);
        }
        self.lines.append(&mut lines);
    }

    /// Adds a classful qdisc's filters, which lead to the classes with the leaves.
    fn filters(&mut self, handle: u32, class_with: &dyn Fn(&str) -> Option<String>) {
        let mut priority = 0;
        for (rule, leaf) in self.tree.rules() {
            let Some(class) = class_with(leaf) else {
                continue;
            };
            for (family, words) in flower::filters(rule) {
                priority += 1;
                self.lines.push(format!(
                    "tc filter add dev $DEV parent {handle:x}: protocol {family} prio {priority} \
                     {words} flowid {class} # {leaf}"
                ));
            }
        }
        if let Some(class) = class_with(self.tree.default_leaf()) {
            self.lines.push(format!(
                "tc filter add dev $DEV parent {handle:x}: protocol all prio {LAST} matchall \
                 flowid {class}"
            ));
        }
    }
}

/// The number of a child's class: its position among its siblings, or with ets the band that the
/// child waits in.
fn class_number(discipline: &AnyDiscipline, index: usize, child: &Node) -> usize {
    match discipline {
        AnyDiscipline::Ets(config) => config.band_of(child.priority) as usize + 1,
        _ => index + 1,
    }
}

/// The minor number of the first class that is meant. Classes are numbered in their order, from 1.
fn minor_of(classes: &[&Node], is_meant: impl Fn(&Node) -> bool) -> Option<usize> {
    let index = classes.iter().position(|node| is_meant(node))?;
    Some(index + 1)
}

/// An htb or hfsc in `tc` syntax. `default` is the class for packets that no filter matches.
fn classes_words(kind: &str, default: Option<usize>, r2q: u32) -> String {
    let mut words = kind.to_owned();
    if let Some(minor) = default {
        words += &format!(" default {minor:x}");
    }
    if r2q != htb::Config::default().r2q {
        words += &format!(" r2q {r2q}");
    }
    words
}

/// A class of htb or hfsc in `tc` syntax. None for other nodes, but the tree has checked that htb
/// and hfsc have no such children.
///
/// # Errors
/// A slope is steeper than Linux can take.
fn class_words(node: &Node, r2q: u32, is_inner: bool) -> Result<Option<String>, Reason> {
    match &node.service {
        Service::Htb(class) => Ok(Some(htb_class(class, r2q, is_inner))),
        Service::Hfsc(class) => match hfsc_class(class) {
            Ok(words) => Ok(Some(words)),
            Err(why) => Err(format!("node '{}': {why}", node.name)),
        },
        _ => Ok(None),
    }
}

/// Why the queue may build up behind the interface: a class below the root sends faster than the
/// link.
fn above_the_link(service: &Service, rate: Rate) -> Option<String> {
    let (key, most) = match service {
        Service::Htb(class) => ("ceil", class.ceil()),
        Service::Hfsc(hfsc::Class { ul: Some(ul), .. }) => ("ul", ul.m2?),
        Service::Hfsc(hfsc::Class { ls: Some(_), .. }) => {
            return Some(
                "it has no ul, so the queue may build up behind this interface".to_owned(),
            );
        }
        _ => return None,
    };
    (most > rate).then(|| {
        format!(
            "its {key} {most} is above the link's {rate}, so the queue may build up behind this \
             interface"
        )
    })
}

/// The steepest slope that `tc` can write, in bits per second, because it counts bytes in 32 bits.
const STEEPEST: u64 = 8 * (u32::MAX as u64);

/// A class of hfsc in `tc` syntax.
///
/// # Errors
/// A slope is steeper than Linux can take.
fn hfsc_class(class: &hfsc::Class) -> Result<String, Reason> {
    let mut words = "hfsc".to_owned();
    for (name, curve) in [("rt", class.rt), ("ls", class.ls), ("ul", class.ul)] {
        let Some(curve) = curve else {
            continue;
        };
        for slope in [curve.m1, curve.m2].into_iter().flatten() {
            if slope.bits_per_second() > STEEPEST {
                return Err(format!(
                    "Linux's hfsc has no slope of {slope}, {STEEPEST}bit is the steepest"
                ));
            }
        }
        words += &format!(" {name} {curve}");
    }
    Ok(words)
}

/// A class of htb in `tc` syntax. If the quantum by r2q is outside 1,000 to 200,000 bytes, the
/// kernel warns and takes the nearer bound, so we write that bound.
fn htb_class(class: &htb::Class, r2q: u32, is_inner: bool) -> String {
    let mut words = format!("htb rate {}", class.rate);
    if let Some(ceil) = class.ceil {
        words += &format!(" ceil {ceil}");
    }
    for (name, bytes) in [("burst", class.burst), ("cburst", class.cburst)] {
        if let Some(bytes) = bytes {
            words += &format!(" {name} {bytes}");
        }
    }
    // Only classes without children have queues to serve by priority and quantum.
    if is_inner {
        return words;
    }
    if class.prio > 0 {
        words += &format!(" prio {}", class.prio);
    }
    let by_rate = class.rate.bits_per_second() / 8 / u64::from(r2q);
    let quantum = class.quantum(r2q);
    if class.quantum.is_some() || by_rate != u64::from(quantum) {
        words += &format!(" quantum {quantum}");
    }
    words
}

/// The classful qdisc that holds these children, in `tc` syntax.
fn nested(discipline: &AnyDiscipline, children: &[&Node]) -> Result<String, Reason> {
    if children.len() > MOST {
        return Err(format!("Linux has numbers for {MOST} classes of a qdisc"));
    }
    match discipline {
        AnyDiscipline::Drr(_) => Ok("drr".to_owned()),
        AnyDiscipline::Qfq(_) | AnyDiscipline::QfqPlus(_) => {
            let mut sum = 0;
            for child in children {
                sum += u64::from(child.weight);
            }
            if sum > MOST_WEIGHT {
                return Err(format!(
                    "the weights of its children add up to {sum}, and Linux's qfq takes \
                    {MOST_WEIGHT} at most"
                ));
            }
            Ok("qfq".to_owned())
        }
        AnyDiscipline::Priority(_) if children.len() > BANDS.1 => {
            Err(format!("Linux's prio has {} bands at most", BANDS.1))
        }
        AnyDiscipline::Priority(_) => {
            for pair in children.windows(2) {
                if pair[0].priority == pair[1].priority {
                    return Err(format!(
                        "its children '{}' and '{}' of one priority take turns, and Linux's prio \
                         has one queue for each",
                        pair[0].name, pair[1].name
                    ));
                }
            }
            Ok(prio(children.len().max(BANDS.0)))
        }
        AnyDiscipline::Ets(config) => {
            for pair in children.windows(2) {
                let band = config.band_of(pair[0].priority);
                if band == config.band_of(pair[1].priority) {
                    return Err(format!(
                        "its children '{}' and '{}' of one band take turns, and Linux's ets has \
                         one queue for each band",
                        pair[0].name, pair[1].name
                    ));
                }
            }
            Ok(ets(config))
        }
        other => {
            let why = match other.info().linux {
                Linux::Qdisc { name, .. } => format!("Linux's {name} has no classes"),
                Linux::Absent => absent(other),
            };
            Err(format!(
                "{why} (classes of Linux are drr, qfq, qfq_plus, priority, ets, htb, hfsc and tbf)"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFFICE: &str = r#"
        [[node]]
        name = "link"
        discipline = "drr quantum 1500"

        [[node]]
        name = "calls"
        parent = "link"
        discipline = "fifo limit 50"
        weight = 4
        flows = ["dscp ef", "udp portrange 10000-20000"]

        [[node]]
        name = "rest"
        parent = "link"
        discipline = "qfq_plus linux"
        weight = 9

        [[node]]
        name = "web"
        parent = "rest"
        discipline = "fq_codel limit 400 linux"
        weight = 3
        maxpkt = 1514
        flows = ["tcp dst port 443"]

        [[node]]
        name = "everything else"
        parent = "rest"
        discipline = "sfq limit 100 linux"
        default = true
    "#;

    fn lines(text: &str) -> Result<Vec<String>, Reason> {
        let tree = TreeFile::from_toml("office.toml", text).unwrap();
        let rate = "5mbit".parse().unwrap();
        commands_of_tree(
            &tree,
            Limit::of_packets(300),
            rate,
            &Distinctions::default(),
        )
        .map(|lines| lines[4..].to_vec())
    }

    #[test]
    fn a_tree_is_qdiscs_below_classes_of_qdiscs() {
        assert_eq!(
            lines(OFFICE).unwrap(),
            [
                "tc qdisc add dev $DEV parent 1:1 handle 10: drr # link",
                "tc class add dev $DEV parent 10: classid 10:1 drr quantum 6000",
                "tc qdisc add dev $DEV parent 10:1 handle 11: pfifo limit 50 # calls",
                "tc class add dev $DEV parent 10: classid 10:2 drr quantum 13500",
                "tc qdisc add dev $DEV parent 10:2 handle 12: qfq # rest",
                "tc class add dev $DEV parent 12: classid 12:1 qfq weight 3 maxpkt 1514",
                "tc qdisc add dev $DEV parent 12:1 handle 13: fq_codel limit 300 memory_limit \
                33554432 # web",
                "tc class add dev $DEV parent 12: classid 12:2 qfq weight 1 maxpkt 2048",
                "tc qdisc add dev $DEV parent 12:2 handle 14: sfq limit 100 # everything else",
                "tc filter add dev $DEV parent 12: protocol ip prio 1 flower ip_proto tcp \
                dst_port 443 flowid 12:1 # web",
                "tc filter add dev $DEV parent 12: protocol ipv6 prio 2 flower ip_proto tcp \
                dst_port 443 flowid 12:1 # web",
                "tc filter add dev $DEV parent 12: protocol all prio 65000 matchall flowid 12:2",
                "tc filter add dev $DEV parent 10: protocol ip prio 1 flower ip_tos 0xb8/0xfc \
                flowid 10:1 # calls",
                "tc filter add dev $DEV parent 10: protocol ipv6 prio 2 flower ip_tos 0xb8/0xfc \
                flowid 10:1 # calls",
                "tc filter add dev $DEV parent 10: protocol ip prio 3 flower ip_proto udp \
                src_port 10000-20000 flowid 10:1 # calls",
                "tc filter add dev $DEV parent 10: protocol ipv6 prio 4 flower ip_proto udp \
                src_port 10000-20000 flowid 10:1 # calls",
                "tc filter add dev $DEV parent 10: protocol ip prio 5 flower ip_proto udp \
                dst_port 10000-20000 flowid 10:1 # calls",
                "tc filter add dev $DEV parent 10: protocol ipv6 prio 6 flower ip_proto udp \
                dst_port 10000-20000 flowid 10:1 # calls",
                "tc filter add dev $DEV parent 10: protocol ip prio 7 flower ip_proto tcp \
                dst_port 443 flowid 10:2 # web",
                "tc filter add dev $DEV parent 10: protocol ipv6 prio 8 flower ip_proto tcp \
                dst_port 443 flowid 10:2 # web",
                "tc filter add dev $DEV parent 10: protocol all prio 65000 matchall flowid 10:2",
                "# each leaf has a queue of its own, where leaves shared one buffer in the \
                comparison",
            ]
        );
    }

    #[test]
    fn priorities_of_children_are_bands_and_a_leaf_may_have_classes() {
        let text = OFFICE
            .replace("drr quantum 1500", "priority")
            .replace("weight = 4", "priority = 9")
            .replace("sfq limit 100 linux", "drr");
        let lines = lines(&text).unwrap();
        assert_eq!(
            lines[0],
            "tc qdisc add dev $DEV parent 1:1 handle 10: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 \
            1 1 1 1 1 1 1 # link"
        );
        assert_eq!(
            lines[1], "tc qdisc add dev $DEV parent 10:1 handle 11: qfq # rest",
            "the lower priority first: {lines:?}"
        );
        assert!(
            lines.contains(
                &"tc qdisc add dev $DEV parent 10:2 handle 14: pfifo limit 50 # calls".to_owned()
            ),
            "{lines:?}"
        );
        let hash = "tc filter add dev $DEV parent 13: protocol all prio 1 handle 1 flow hash \
            keys src,dst,proto,proto-src,proto-dst \
                    divisor 64 baseclass 13:1";
        assert!(lines.contains(&hash.to_owned()), "{lines:?}");
        assert!(
            lines.last().unwrap().starts_with(
                "# node 'everything else': flows are hashed into 64 classes, with a queue each"
            ),
            "{lines:?}"
        );
    }

    #[test]
    fn children_of_ets_are_in_the_bands_of_their_priorities() {
        let text = OFFICE
            .replace("drr quantum 1500", "ets strict 1 quanta 9000 1500")
            .replace("weight = 4", "priority = 0")
            .replace("weight = 9", "priority = 2");
        let lines = lines(&text).unwrap();
        assert_eq!(
            lines[..3],
            [
                "tc qdisc add dev $DEV parent 1:1 handle 10: ets bands 3 strict 1 quanta 9000 1500 \
                # link",
                "tc qdisc add dev $DEV parent 10:1 handle 11: pfifo limit 50 # calls",
                "tc qdisc add dev $DEV parent 10:3 handle 12: qfq # rest",
            ]
        );
        let last = "tc filter add dev $DEV parent 10: protocol all prio 65000 matchall flowid 10:3";
        assert!(lines.contains(&last.to_owned()), "{lines:?}");
    }

    #[test]
    fn direct_packets_need_no_class() {
        let text = r#"
            [[node]]
            name = "link"
            discipline = "htb"

            [[node]]
            name = "past"
            parent = "link"
            discipline = "fifo limit 50"
            direct = true
            flows = ["dscp cs6"]
            default = true

            [[node]]
            name = "web"
            parent = "link"
            discipline = "fifo"
            rate = "4mbit"
            flows = ["tcp"]
        "#;
        let lines_of = |text: &str| {
            let tree = TreeFile::from_toml("t.toml", text).unwrap();
            let rate = "5mbit".parse().unwrap();
            commands_of_tree(
                &tree,
                Limit::of_packets(300),
                rate,
                &Distinctions::default(),
            )
        };
        let lines = lines_of(text).unwrap();
        let add = "tc qdisc add dev $DEV root handle 10: htb direct_qlen 50 # link";
        assert!(lines.contains(&add.to_owned()), "{lines:?}");
        let classes: Vec<_> = lines
            .iter()
            .filter(|line| line.contains("class add"))
            .collect();
        assert_eq!(classes.len(), 1, "{lines:?}");
        assert!(classes[0].ends_with("# web"), "{lines:?}");
        let past = lines.iter().filter(|line| line.contains(" flowid 10:0"));
        // The rule's two families, and the default.
        assert_eq!(past.count(), 3, "{lines:?}");
        let error = lines_of(&text.replacen("fifo limit 50", "fq_codel", 1)).unwrap_err();
        assert!(
            error.contains("node 'past'") && error.contains("fifo"),
            "{error}"
        );
    }

    #[test]
    fn a_root_of_htb_is_the_qdisc_of_the_device_and_all_below_are_its_classes() {
        let text = r#"
            [[node]]
            name = "link"
            discipline = "htb r2q 20"

            [[node]]
            name = "all"
            parent = "link"
            discipline = "htb"
            rate = "6mbit"

            [[node]]
            name = "calls"
            parent = "all"
            discipline = "fifo limit 50"
            rate = "100kbit"
            ceil = "4mbit"
            burst = "4kb"
            cburst = 3000
            prio = 1
            flows = ["dscp ef"]

            [[node]]
            name = "shares"
            parent = "all"
            discipline = "drr"
            rate = "4mbit"
            quantum = 3000

            [[node]]
            name = "web"
            parent = "shares"
            discipline = "fifo"
            default = true
        "#;
        let tree = TreeFile::from_toml("t.toml", text).unwrap();
        let limit = Limit::of_packets(300);
        let rate = "5mbit".parse().unwrap();
        let lines = commands_of_tree(&tree, limit, rate, &Distinctions::default()).unwrap();
        assert_eq!(lines[1], "tc qdisc del dev $DEV root 2> /dev/null || true");
        assert_eq!(
            lines[2..],
            [
                "tc qdisc add dev $DEV root handle 10: htb default 3 r2q 20 # link",
                "tc class add dev $DEV parent 10: classid 10:1 htb rate 6mbit # all",
                "tc class add dev $DEV parent 10:1 classid 10:2 htb rate 100kbit ceil 4mbit burst \
                4096 cburst 3000 prio 1 quantum 1000 # calls",
                "tc qdisc add dev $DEV parent 10:2 handle 11: pfifo limit 50 # calls",
                "tc class add dev $DEV parent 10:1 classid 10:3 htb rate 4mbit quantum 3000 # \
                shares",
                "tc qdisc add dev $DEV parent 10:3 handle 12: drr # shares",
                "tc class add dev $DEV parent 12: classid 12:1 drr quantum 1514",
                "tc qdisc add dev $DEV parent 12:1 handle 13: pfifo limit 300 # web",
                "tc filter add dev $DEV parent 12: protocol all prio 65000 matchall flowid 12:1",
                "tc filter add dev $DEV parent 10: protocol ip prio 1 flower ip_tos 0xb8/0xfc \
                flowid 10:2 # calls",
                "tc filter add dev $DEV parent 10: protocol ipv6 prio 2 flower ip_tos 0xb8/0xfc \
                flowid 10:2 # calls",
                "tc filter add dev $DEV parent 10: protocol all prio 65000 matchall flowid 10:3",
                "# each leaf has a queue of its own, where leaves shared one buffer in the \
                comparison",
                "# node 'all': its ceil 6mbit is above the link's 5mbit, so the queue may build up \
                behind this interface",
            ]
        );
    }

    #[test]
    fn shapers_below_other_qdiscs_are_qdiscs_of_their_own() {
        let text = r#"
            [[node]]
            name = "link"
            discipline = "priority"

            [[node]]
            name = "calls"
            parent = "link"
            discipline = "tbf rate 1mbit burst 5000b"

            [[node]]
            name = "queue"
            parent = "calls"
            discipline = "fifo limit 50"
            flows = ["dscp ef"]

            [[node]]
            name = "rest"
            parent = "link"
            priority = 1
            discipline = "htb"

            [[node]]
            name = "all"
            parent = "rest"
            discipline = "htb"
            rate = "4mbit"

            [[node]]
            name = "web"
            parent = "all"
            discipline = "tbf rate 2mbit burst 4000b"
            rate = "3mbit"

            [[node]]
            name = "shares"
            parent = "web"
            discipline = "hfsc"

            [[node]]
            name = "one"
            parent = "shares"
            discipline = "fifo"
            ls = "rate 1mbit"
            default = true
        "#;
        let tree = TreeFile::from_toml("t.toml", text).unwrap();
        let limit = Limit::of_packets(300);
        let rate = "5mbit".parse().unwrap();
        let lines = commands_of_tree(&tree, limit, rate, &Distinctions::default()).unwrap();
        assert_eq!(
            lines[4..],
            [
                "tc qdisc add dev $DEV parent 1:1 handle 10: prio bands 2 priomap 1 1 1 1 1 1 1 1 \
                1 1 1 1 1 1 1 1 # link",
                "tc qdisc add dev $DEV parent 10:1 handle 11: tbf rate 1mbit burst 5000 limit \
                1514000 # calls",
                "tc qdisc add dev $DEV parent 11:1 handle 12: pfifo limit 50 # queue",
                "tc qdisc add dev $DEV parent 10:2 handle 13: htb default 2 # rest",
                "tc class add dev $DEV parent 13: classid 13:1 htb rate 4mbit # all",
                "tc class add dev $DEV parent 13:1 classid 13:2 htb rate 3mbit # web",
                "tc qdisc add dev $DEV parent 13:2 handle 14: tbf rate 2mbit burst 4000 limit \
                1514000 # web",
                "tc qdisc add dev $DEV parent 14:1 handle 15: hfsc default 1 # shares",
                "tc class add dev $DEV parent 15: classid 15:1 hfsc ls m2 1mbit # one",
                "tc qdisc add dev $DEV parent 15:1 handle 16: pfifo limit 300 # one",
                "tc filter add dev $DEV parent 15: protocol all prio 65000 matchall flowid 15:1",
                "tc filter add dev $DEV parent 13: protocol all prio 65000 matchall flowid 13:2",
                "tc filter add dev $DEV parent 10: protocol ip prio 1 flower ip_tos 0xb8/0xfc \
                flowid 10:1 # queue",
                "tc filter add dev $DEV parent 10: protocol ipv6 prio 2 flower ip_tos 0xb8/0xfc \
                flowid 10:1 # queue",
                "tc filter add dev $DEV parent 10: protocol all prio 65000 matchall flowid 10:2",
                "# each leaf has a queue of its own, where leaves shared one buffer in the \
                comparison",
            ]
        );
    }

    #[test]
    fn classes_of_hfsc_have_their_curves() {
        let text = r#"
            [[node]]
            name = "link"
            discipline = "hfsc"

            [[node]]
            name = "all"
            parent = "link"
            discipline = "hfsc"
            sc = "rate 5mbit"

            [[node]]
            name = "calls"
            parent = "all"
            discipline = "fifo"
            rt = "umax 1500 dmax 5ms rate 64kbit"
            ul = "m2 1mbit"
            ls = "m1 2mbit d 10ms m2 0"
            default = true
        "#;
        let tree = TreeFile::from_toml("t.toml", text).unwrap();
        let limit = Limit::of_packets(300);
        let rate = "5mbit".parse().unwrap();
        let lines = commands_of_tree(&tree, limit, rate, &Distinctions::default()).unwrap();
        assert_eq!(
            lines[2..6],
            [
                "tc qdisc add dev $DEV root handle 10: hfsc default 2 # link",
                "tc class add dev $DEV parent 10: classid 10:1 hfsc rt m2 5mbit ls m2 5mbit # all",
                "tc class add dev $DEV parent 10:1 classid 10:2 hfsc rt m1 2400kbit d 5ms m2 64kbit \
                ls m1 2mbit d 10ms m2 0bit ul m2 1mbit # calls",
                "tc qdisc add dev $DEV parent 10:2 handle 11: pfifo limit 300 # calls",
            ]
        );
        assert!(
            lines.last().unwrap().contains("'all': it has no ul"),
            "{lines:?}"
        );
        // tc writes slopes in 32 bits of bytes per second.
        let steep = text.replace("m2 1mbit", "m2 40gbit");
        let tree = TreeFile::from_toml("t.toml", &steep).unwrap();
        let why = commands_of_tree(&tree, limit, rate, &Distinctions::default()).unwrap_err();
        assert_eq!(
            why,
            "node 'calls': Linux's hfsc has no slope of 40gbit, 34359738360bit is the steepest"
        );
    }

    #[test]
    fn a_node_that_linux_cannot_nest_is_the_reason() {
        let reason = |from: &str, to: &str| lines(&OFFICE.replacen(from, to, 1)).unwrap_err();
        let classes = "(classes of Linux are drr, qfq, qfq_plus, priority, ets, htb, hfsc and tbf)";
        assert_eq!(
            reason("drr quantum 1500", "wf2q_plus"),
            format!("node 'link': Linux has no wf2q_plus {classes}")
        );
        assert_eq!(
            reason("qfq_plus linux", "packet_fq"),
            format!("node 'rest': Linux has no packet_fq {classes}")
        );
        assert_eq!(
            reason("sfq limit 100 linux", "red gentle"),
            "node 'everything else': tc has no `gentle`"
        );
        assert_eq!(
            reason("drr quantum 1500", "priority"),
            "node 'link': its children 'calls' and 'rest' of one priority take turns, and \
            Linux's prio has one queue for each"
        );
        let children = |discipline: &str, count: usize, keys: &dyn Fn(usize) -> String| {
            let root = format!("[[node]]\nname = \"root\"\ndiscipline = \"{discipline}\"\n");
            let child = |number| {
                format!(
                    "[[node]]\nname = \"{number}\"\nparent = \"root\"\ndiscipline = \"fifo\"\n{}\n",
                    keys(number)
                )
            };
            lines(&(root + &(0..count).map(child).collect::<String>()))
        };
        let of_bands = |number| format!("priority = {number}\ndefault = {}", number == 0);
        assert!(children("priority", 16, &of_bands).is_ok());
        assert_eq!(
            children("priority", 17, &of_bands).unwrap_err(),
            "node 'root': Linux's prio has 16 bands at most"
        );
        let of_bands = |number| format!("priority = {number}\ndefault = {}", number == 0);
        assert_eq!(
            children("ets bands 3 strict 1", 4, &of_bands).unwrap_err(),
            "node 'root': its children '2' and '3' of one band take turns, and Linux's ets has \
             one queue for each band"
        );
        let of_weight = |number| format!("weight = 1024\ndefault = {}", number == 0);
        assert!(children("qfq", 64, &of_weight).is_ok());
        assert!(
            children("qfq", 65, &of_weight)
                .unwrap_err()
                .contains("add up to 66560, and Linux's qfq takes 65536 at most")
        );
    }
}
