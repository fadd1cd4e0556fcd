//! Pairs of loads that no scheduler with black-box headers can tell apart, and that demand opposite orders: why there is no universal scheduler.

use std::collections::HashMap;

use super::load::{Attributes, Load};
use super::slots::is_feasible;

/// Pieces of a unit after which a packet can be interrupted in the replays that are tried before an order counts as demanded.
const GRAIN: u16 = 4;

/// Loads that demand an order of two packets, by the attributes of these: one that demands the first of them first, and one that demands the second.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    loads: HashMap<[Attributes; 2], [Option<Load>; 2]>,
    /// The two loads of a contradiction, of the fewest hops.
    found: Option<[Load; 2]>,
}

impl Pairs {
    /// Adds a load. Whether it demands an order of some pair.
    pub(super) fn add(&mut self, load: &Load) -> bool {
        let mut demands = false;
        for (first, second) in pairs(load) {
            // What whole units allow pieces allow as well.
            if !is_feasible(load, 1, Some(first)) && !is_feasible(load, GRAIN, Some(first)) {
                demands = true;
                for (place, ordered) in [relabelled(load, first, second), relabelled(load, second, first)].into_iter().enumerate() {
                    self.insert(place, ordered);
                }
            }
        }
        demands
    }

    fn insert(&mut self, place: usize, load: Load) {
        let entry = self.loads.entry([load.0[0], load.0[1]]).or_default();
        if entry[place].as_ref().is_some_and(|known| known.hops() <= load.hops()) {
            return;
        }
        entry[place] = Some(load);
        let hops = |loads: &[Load; 2]| loads[0].hops() + loads[1].hops();
        if let [Some(one), Some(other)] = entry {
            let pair = [one.clone(), other.clone()];
            if self.found.as_ref().is_none_or(|known| hops(&pair) < hops(known)) {
                self.found = Some(pair);
            }
        }
    }

    /// The two loads of a contradiction, if there is one.
    pub(super) const fn found(&self) -> Option<&[Load; 2]> {
        self.found.as_ref()
    }
}

/// Pairs of packets, either way, that enter at one node at one instant, before any other can be there.
fn pairs(load: &Load) -> Vec<(usize, usize)> {
    let packets = &load.0;
    let are_alone = |&(first, second): &(usize, usize)| {
        let (one, other) = (&packets[first], &packets[second]);
        let node = one.nodes[0];
        let comes_before = |third: &Attributes| third.earliest(node).is_some_and(|at| at <= one.input);
        let others = || packets.iter().enumerate().filter(|(number, _)| *number != first && *number != second).map(|(_, third)| third);
        first != second && other.nodes[0] == node && other.input == one.input && !others().any(comes_before)
    };
    (0..packets.len()).flat_map(|first| (0..packets.len()).map(move |second| (first, second))).filter(are_alone).collect()
}

/// The same load with these two packets in front, and nodes numbered by their first use.
fn relabelled(load: &Load, first: usize, second: usize) -> Load {
    let others = (0..load.packets()).filter(|number| ![first, second].contains(number));
    let mut packets: Vec<Attributes> = [first, second].into_iter().chain(others).map(|number| load.0[number]).collect();
    let mut names: Vec<u8> = Vec::new();
    for attributes in &mut packets {
        for hop in 0..usize::from(attributes.hops) {
            let node = attributes.nodes[hop];
            let known = names.iter().position(|name| *name == node).unwrap_or_else(|| {
                names.push(node);
                names.len() - 1
            });
            attributes.nodes[hop] = known as u8;
        }
    }
    Load(packets)
}
