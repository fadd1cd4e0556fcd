//! Reference rate: the smallest rate that shapes a packet, the link's or that of a shaper on its
//! way.
//!
//! Whether a flow asks for more than its fair share depends on this rate, and not on the link's. A
//! script that shapes to 5 Mbit/s on an interface of 1 Gbit/s makes a bulk flow of each download.

use std::collections::BTreeMap;

use roundelay::schedulers::AnyDiscipline;
use roundelay::tree::{Config, Service};
use roundelay::{QueueSpec, Rate};

use crate::compare::options::Options;
use crate::headers::Headers;
use crate::tree::TreeFile;

/// What shapes a packet: the link, or a shaper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shaper {
    pub(crate) rate: Rate,
    /// Flows of the same shaper share its rate. The link has none.
    number: Option<[usize; 2]>,
}

impl Shaper {
    /// The slower of both. Of two alike, the first.
    fn min(self, other: Self) -> Self {
        if other.rate < self.rate { other } else { self }
    }

    /// The faster of both. Of two alike, the first.
    fn max(self, other: Self) -> Self {
        if other.rate > self.rate { other } else { self }
    }
}

/// The shapers of all compared disciplines and trees.
#[derive(Debug)]
pub(crate) struct Shapers {
    /// The link, or the slowest discipline that shapes all packets.
    least: Shaper,
    /// Trees with the shaper of each leaf.
    trees: Vec<(TreeFile, BTreeMap<String, Shaper>)>,
}

impl Shapers {
    pub(crate) fn of(options: &Options) -> Self {
        let link = options.rate;
        let mut least = Shaper {
            rate: link,
            number: None,
        };
        for (number, spec) in options.specs.iter().enumerate() {
            if let Some(rate) = own_rate(spec) {
                let number = Some([number, 0]);
                least = least.min(Shaper { rate, number });
            }
        }
        let mut trees = Vec::new();
        for (number, tree) in (options.specs.len()..).zip(&options.trees) {
            let leaves = of_tree(tree.config(), number, link);
            if leaves.values().any(|shaper| shaper.number.is_some()) {
                trees.push((tree.clone(), leaves));
            }
        }
        Self { least, trees }
    }

    /// The slowest shaper of a flow, by the headers of its first packet.
    pub(crate) fn shaper(&self, headers: Option<&Headers>) -> Shaper {
        let mut least = self.least;
        for (tree, leaves) in &self.trees {
            if let Some(shaper) = leaves.get(tree.leaf(headers)) {
                least = least.min(*shaper);
            }
        }
        least
    }
}

/// The rate to which a discipline shapes all its packets.
pub fn own_rate(spec: &QueueSpec) -> Option<Rate> {
    match &spec.discipline {
        AnyDiscipline::Cake(cake) => cake.bandwidth,
        AnyDiscipline::Tbf(tbf) => tbf.rate,
        _ => None,
    }
}

/// The largest of the leaves' reference rates: all packets pass a shaper at least as slow.
pub fn rate_of_tree(tree: &TreeFile, link: Rate) -> Rate {
    let mut most = None;
    for shaper in of_tree(tree.config(), 0, link).values() {
        most = most.max(Some(shaper.rate));
    }
    most.unwrap_or(link)
}

/// The slowest shaper above each node, itself included, under the node's name.
fn of_tree(config: &Config, tree: usize, link: Rate) -> BTreeMap<String, Shaper> {
    let mut found: BTreeMap<String, Shaper> = BTreeMap::new();
    let mut parents: BTreeMap<String, String> = BTreeMap::new();
    for (number, node) in config.nodes().enumerate() {
        let shaper = |rate| Shaper {
            rate,
            number: Some([tree, number]),
        };
        let above = parents.get(&node.name).and_then(|parent| found.get(parent));
        let link = Shaper {
            rate: link,
            number: None,
        };
        let mut least = above.copied().unwrap_or(link);
        // A class may always send at its own rate, and borrows up to its ceiling.
        match &node.service {
            Service::Htb(class) => {
                let ceil = class.ceil.unwrap_or(class.rate).max(class.rate);
                least = least.max(shaper(class.rate)).min(shaper(ceil));
            }
            Service::Hfsc(class) => {
                let own = class.rt.and_then(|curve| curve.m2);
                // Without link-sharing, only the real-time curve serves the class.
                let ceil = match &class.ls {
                    Some(_) => class.ul.and_then(|curve| curve.m2),
                    None => own,
                };
                least = ceil.map_or(least, |rate| least.min(shaper(rate)));
                least = own.map_or(least, |rate| least.max(shaper(rate)));
            }
            _ => {}
        }
        if let Some(rate) = own_rate(&node.spec) {
            least = least.min(shaper(rate));
        }
        found.insert(node.name.clone(), link.min(least));
        for child in config.children_of(&node.name) {
            parents.insert(child.name.clone(), node.name.clone());
        }
    }
    let is_leaf = |name: &str| config.children_of(name).is_empty();
    found.retain(|name, _| is_leaf(name));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(text: &str) -> Vec<String> {
        let tree = TreeFile::from_toml("t.toml", text).unwrap();
        let leaves = of_tree(tree.config(), 0, "1gbit".parse().unwrap());
        let mut told = Vec::new();
        for (leaf, shaper) in leaves {
            told.push(format!("{leaf} {}", shaper.rate));
        }
        told
    }

    #[test]
    fn a_leaf_has_the_smallest_rate_on_its_way_but_no_class_less_than_its_own() {
        let htb = r#"
            [[node]]
            name = "root"
            discipline = "htb"
            [[node]]
            name = "all"
            parent = "root"
            discipline = "htb"
            rate = "20mbit"
            [[node]]
            name = "a"
            parent = "all"
            discipline = "fq_codel"
            rate = "5mbit"
            ceil = "30mbit"
            default = true
            [[node]]
            name = "b"
            parent = "all"
            discipline = "cake bandwidth 4mbit"
            rate = "10mbit"
            [[node]]
            name = "c"
            parent = "all"
            discipline = "fifo"
            rate = "25mbit"
            [[node]]
            name = "d"
            parent = "root"
            discipline = "fifo"
            direct = true
        "#;
        assert_eq!(rates(htb), ["a 20mbit", "b 4mbit", "c 25mbit", "d 1gbit"]);
        let hfsc = r#"
            [[node]]
            name = "root"
            discipline = "hfsc"
            [[node]]
            name = "a"
            parent = "root"
            discipline = "fifo"
            ls = "m2 5mbit"
            ul = "m2 7mbit"
            default = true
            [[node]]
            name = "b"
            parent = "root"
            discipline = "fifo"
            rt = "m2 3mbit"
            [[node]]
            name = "c"
            parent = "root"
            discipline = "tbf rate 2mbit burst 5kb latency 50ms"
            ls = "m2 5mbit"
        "#;
        assert_eq!(rates(hfsc), ["a 7mbit", "b 3mbit", "c 2mbit"]);
    }
}
