//! Loads whose packets take one unit at each node, and a way to enumerate them.

use crate::replay::{Hop, Network, Node, Packet};

/// The most packets, nodes and hops.
pub(super) const MOST: usize = 6;

/// i(p), o(p) and path(p), with the propagation delay before each hop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Attributes {
    pub(super) input: u8,
    pub(super) exit: u8,
    pub(super) hops: u8,
    pub(super) nodes: [u8; MOST],
    pub(super) delays: [u8; MOST],
}

impl Attributes {
    pub(super) fn path(&self) -> &[u8] {
        &self.nodes[..usize::from(self.hops)]
    }

    /// tmin, counted from the arrival at a hop.
    pub(super) fn rest(&self, hop: usize) -> u8 {
        self.hops - hop as u8 + self.delays[hop + 1..].iter().sum::<u8>()
    }

    pub(super) fn last(&self) -> u8 {
        self.nodes[usize::from(self.hops) - 1]
    }

    /// How many nodes on the path another packet passes too.
    fn shared(&self, passed: &[u8; MOST]) -> usize {
        let mut shared = 0;
        for node in self.path() {
            shared += usize::from(passed[usize::from(*node)] > 1);
        }
        shared
    }

    /// When the packet can arrive at a node at the earliest. None off its path.
    pub(super) fn earliest(&self, node: u8) -> Option<u8> {
        let hop = self.path().iter().position(|other| *other == node)?;
        Some(self.input + self.rest(0) - self.rest(hop))
    }
}

/// A load, as its packets' attributes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Load(pub(super) Vec<Attributes>);

impl Load {
    pub(super) const fn packets(&self) -> usize {
        self.0.len()
    }

    /// o(p) - tmin(p, a, dest(p)) + T(p, a).
    pub(super) fn deadline(&self, packet: usize, hop: usize) -> i32 {
        let attributes = &self.0[packet];
        i32::from(attributes.exit) - i32::from(attributes.rest(hop)) + 1
    }

    pub(super) fn exit(&self, packet: usize) -> i32 {
        self.0[packet].exit.into()
    }

    /// All propagation delays together.
    pub(super) fn delay(&self) -> u32 {
        let mut sum = 0;
        for attributes in &self.0 {
            for delay in attributes.delays {
                sum += u32::from(delay);
            }
        }
        sum
    }

    /// All packets' hops together.
    pub(super) fn hops(&self) -> usize {
        let mut sum = 0;
        for attributes in &self.0 {
            sum += usize::from(attributes.hops);
        }
        sum
    }

    /// How many packets pass each node.
    fn passed(&self) -> [u8; MOST] {
        let mut passed = [0; MOST];
        for attributes in &self.0 {
            for node in attributes.path() {
                passed[usize::from(*node)] += 1;
            }
        }
        passed
    }

    /// The most shared nodes on any packet's path.
    pub(super) fn most_shared(&self) -> usize {
        let passed = self.passed();
        let mut most = 0;
        for attributes in &self.0 {
            most = most.max(attributes.shared(&passed));
        }
        most
    }

    /// True if each packet shares a node with another, or if there is only one packet.
    fn is_joined(&self) -> bool {
        let passed = self.passed();
        self.packets() == 1 || self.0.iter().all(|packet| packet.shared(&passed) > 0)
    }

    fn nodes(&self) -> usize {
        let mut nodes = 0;
        for attributes in &self.0 {
            for node in attributes.path() {
                nodes = nodes.max(usize::from(*node) + 1);
            }
        }
        nodes
    }

    /// Converts to the general model, where packets are a, b, c, ... and nodes α0, α1, ....
    pub(super) fn network(&self) -> Network {
        let mut nodes = Vec::new();
        for number in 0..self.nodes() {
            nodes.push(Node {
                name: format!("α{number}"),
                transmission: 1,
            });
        }
        let mut packets = Vec::new();
        for (name, attributes) in (b'a'..).zip(&self.0) {
            let mut path = Vec::new();
            for (node, delay) in attributes.path().iter().zip(attributes.delays) {
                path.push(Hop {
                    node: usize::from(*node),
                    propagation: u64::from(delay),
                });
            }
            packets.push(Packet {
                name: char::from(name).to_string(),
                input: attributes.input.into(),
                len: 1,
                path,
            });
        }
        Network::new(nodes, packets).expect("loads are within the ranges of networks")
    }
}

/// A size: loads with so many packets and nodes, whose last exit is at `exit` and whose delays are
/// at most `delay`.
#[derive(Debug, Clone, Copy)]
pub(super) struct Cell {
    pub(super) packets: usize,
    pub(super) nodes: usize,
    pub(super) exit: u8,
    pub(super) delay: u8,
}

/// Visits all loads of a size. The packet with the longest path comes first and passes α0, α1, ...
/// The others follow, none with a longer path than the one before, and new nodes are numbered as
/// they are first used. At least one packet has input time 0.
pub(super) fn each(cell: Cell, mut visit: impl FnMut(&Load)) {
    let all = attributes(cell);
    let mut load = Load(Vec::with_capacity(cell.packets));
    extend(cell, &all, 0, 0, &mut load, &mut visit);
}

/// Adds packets to a load in all ways until it has as many as the cell, and visits the loads that
/// are of the cell. `nodes_used` counts the nodes on the paths so far. Packets come from
/// `first_index` on, so the next ones have the same attributes or later ones, and each load comes
/// in one order only.
fn extend(
    cell: Cell,
    all: &[Attributes],
    first_index: usize,
    nodes_used: u8,
    load: &mut Load,
    visit: &mut impl FnMut(&Load),
) {
    if load.packets() == cell.packets {
        if is_of_cell(load, cell, nodes_used) && load.is_joined() {
            visit(load);
        }
        return;
    }
    for (index, attributes) in all.iter().enumerate().skip(first_index) {
        // Two packets cannot leave a node at the same time, so no schedule would be viable.
        let collides = load
            .0
            .iter()
            .any(|other| other.exit == attributes.exit && other.last() == attributes.last());
        if collides {
            continue;
        }
        let Some(now_used) = used_after(nodes_used, attributes.path()) else {
            continue;
        };
        load.0.push(*attributes);
        extend(cell, all, index, now_used, load, visit);
        load.0.pop();
    }
}

/// True if a load fills its cell. One with fewer nodes or an earlier exit belongs to a smaller
/// cell. One that starts later is another load moved in time.
fn is_of_cell(load: &Load, cell: Cell, nodes_used: u8) -> bool {
    usize::from(nodes_used) == cell.nodes
        && load.0.iter().any(|packet| packet.exit == cell.exit)
        && load.0.iter().any(|packet| packet.input == 0)
}

/// How many nodes are in use with this path too. None if a new node does not have the next number.
fn used_after(used: u8, path: &[u8]) -> Option<u8> {
    let mut used = used;
    for node in path {
        if *node > used {
            return None;
        }
        used = used.max(*node + 1);
    }
    Some(used)
}

/// All attributes within a cell. The longest paths come first.
fn attributes(cell: Cell) -> Vec<Attributes> {
    let mut all = Vec::new();
    for hops in (1..=cell.nodes.min(MOST)).rev() {
        for nodes in paths(hops, cell.nodes) {
            for delays in delays(hops, cell.delay) {
                let one = Attributes {
                    input: 0,
                    exit: 0,
                    hops: hops as u8,
                    nodes,
                    delays,
                };
                for input in 0..cell.exit {
                    for exit in (input + one.rest(0))..=cell.exit {
                        all.push(Attributes { input, exit, ..one });
                    }
                }
            }
        }
    }
    all
}

/// Paths with `hops` different nodes.
fn paths(hops: usize, nodes: usize) -> Vec<[u8; MOST]> {
    let mut paths: Vec<Vec<u8>> = vec![Vec::new()];
    for _ in 0..hops {
        let mut longer = Vec::new();
        for path in &paths {
            for node in 0..nodes as u8 {
                if !path.contains(&node) {
                    longer.push([path.as_slice(), &[node]].concat());
                }
            }
        }
        paths = longer;
    }
    paths.iter().map(|path| padded(path)).collect()
}

/// Delays before hops. The first is always 0.
fn delays(hops: usize, most: u8) -> Vec<[u8; MOST]> {
    let mut delays = vec![vec![0]];
    for _ in 1..hops {
        let mut longer = Vec::new();
        for one in &delays {
            for delay in 0..=most {
                longer.push([one.as_slice(), &[delay]].concat());
            }
        }
        delays = longer;
    }
    delays.iter().map(|one| padded(one)).collect()
}

fn padded(values: &[u8]) -> [u8; MOST] {
    let mut padded = [0; MOST];
    padded[..values.len()].copy_from_slice(values);
    padded
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// The least among all ways to name a load's nodes, as a sorted list.
    fn least_names(load: &Load, nodes: usize) -> Vec<Attributes> {
        let named = |names: &[u8; MOST]| {
            let rename = |attributes: &Attributes| {
                let path: Vec<u8> = attributes
                    .path()
                    .iter()
                    .map(|node| names[usize::from(*node)])
                    .collect();
                Attributes {
                    nodes: padded(&path),
                    ..*attributes
                }
            };
            let mut packets: Vec<_> = load.0.iter().map(rename).collect();
            packets.sort();
            packets
        };
        paths(nodes, nodes).iter().map(named).min().unwrap()
    }

    /// Generates all sets of attributes independently and compares them with the loads visited.
    /// They must be equal, up to nodes' names.
    #[test]
    fn every_load_is_visited_up_to_names_of_nodes() {
        for (nodes, exit, delay) in [(1, 3, 0), (2, 4, 1), (3, 4, 0)] {
            let cell = Cell {
                packets: 2,
                nodes,
                exit,
                delay,
            };
            let mut visited = BTreeSet::new();
            let mut expected = BTreeSet::new();
            each(cell, |load| {
                visited.insert(least_names(load, nodes));
            });
            let all = attributes(cell);
            for (one, other) in all
                .iter()
                .flat_map(|one| all.iter().map(move |other| (*one, *other)))
            {
                let load = Load(vec![one, other]);
                let used: BTreeSet<u8> = load
                    .0
                    .iter()
                    .flat_map(|attributes| attributes.path().to_vec())
                    .collect();
                let is_of_size = used.len() == nodes
                    && one.exit.max(other.exit) == exit
                    && one.input.min(other.input) == 0;
                if is_of_size
                    && load.is_joined()
                    && (one.exit, one.last()) != (other.exit, other.last())
                {
                    expected.insert(least_names(&load, nodes));
                }
            }
            assert_eq!(visited, expected, "{cell:?}");
            assert!(nodes == 1 || visited.len() > 40, "{} loads", visited.len());
        }
    }

    #[test]
    fn times_on_a_path() {
        let attributes = Attributes {
            input: 2,
            exit: 9,
            hops: 3,
            nodes: padded(&[4, 0, 2]),
            delays: padded(&[0, 1, 2]),
        };
        assert_eq!([0, 1, 2].map(|hop| attributes.rest(hop)), [6, 4, 1]);
        assert_eq!(
            [4, 0, 2, 1].map(|node| attributes.earliest(node)),
            [Some(2), Some(4), Some(7), None]
        );
        assert_eq!(
            [0, 1, 2].map(|hop| Load(vec![attributes]).deadline(0, hop)),
            [4, 6, 9]
        );
    }
}
