//! Pairs of loads that schedulers with black-box headers cannot distinguish, and that require
//! opposite orders: the proof that no universal scheduler exists.

use std::collections::HashMap;

use super::load::{Attributes, Load};
use super::slots::is_feasible;

/// Preemption points per unit of time, in the replays tried before an order counts as required.
const GRAIN: u16 = 4;

/// Loads that require an order of two packets, by the attributes of these packets: one load
/// requires the first packet to go first, the other the second.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    loads: HashMap<[Attributes; 2], [Option<Load>; 2]>,
    /// The two loads of a contradiction with the fewest hops.
    found: Option<[Load; 2]>,
}

impl Pairs {
    /// Adds a load. Returns true if the load requires an order of some pair.
    pub(super) fn add(&mut self, load: &Load) -> bool {
        let mut demands = false;
        for (first, second) in pairs(load) {
            // A replay in whole units is also a replay in pieces.
            if !is_feasible(load, 1, Some(first)) && !is_feasible(load, GRAIN, Some(first)) {
                demands = true;
                for (place, ordered) in [
                    relabelled(load, first, second),
                    relabelled(load, second, first),
                ]
                .into_iter()
                .enumerate()
                {
                    self.insert(place, ordered);
                }
            }
        }
        demands
    }

    fn insert(&mut self, place: usize, load: Load) {
        let entry = self.loads.entry([load.0[0], load.0[1]]).or_default();
        if entry[place]
            .as_ref()
            .is_some_and(|known| known.hops() <= load.hops())
        {
            return;
        }
        entry[place] = Some(load);
        let hops = |loads: &[Load; 2]| loads[0].hops() + loads[1].hops();
        if let [Some(one), Some(other)] = entry {
            let pair = [one.clone(), other.clone()];
            if self
                .found
                .as_ref()
                .is_none_or(|known| hops(&pair) < hops(known))
            {
                self.found = Some(pair);
            }
        }
    }

    /// The two loads of a contradiction, if found.
    pub(super) const fn found(&self) -> Option<&[Load; 2]> {
        self.found.as_ref()
    }
}

/// Pairs of packets, in both orders, that enter at the same node and instant before any other
/// packet can be there.
fn pairs(load: &Load) -> Vec<(usize, usize)> {
    let packets = &load.0;
    let are_alone = |&(first, second): &(usize, usize)| {
        let one = &packets[first];
        let other = &packets[second];
        let node = one.nodes[0];
        let comes_before =
            |third: &Attributes| third.earliest(node).is_some_and(|at| at <= one.input);
        let others = || {
            packets
                .iter()
                .enumerate()
                .filter(|(number, _)| *number != first && *number != second)
                .map(|(_, third)| third)
        };
        first != second
            && other.nodes[0] == node
            && other.input == one.input
            && !others().any(comes_before)
    };
    (0..packets.len())
        .flat_map(|first| (0..packets.len()).map(move |second| (first, second)))
        .filter(are_alone)
        .collect()
}

/// The same load with these two packets first, and nodes numbered by first use.
fn relabelled(load: &Load, first: usize, second: usize) -> Load {
    let others = (0..load.packets()).filter(|number| ![first, second].contains(number));
    let mut packets: Vec<Attributes> = [first, second]
        .into_iter()
        .chain(others)
        .map(|number| load.0[number])
        .collect();
    let mut names: Vec<u8> = Vec::new();
    for attributes in &mut packets {
        for hop in 0..usize::from(attributes.hops) {
            let node = attributes.nodes[hop];
            let known = names
                .iter()
                .position(|name| *name == node)
                .unwrap_or_else(|| {
                    names.push(node);
                    names.len() - 1
                });
            attributes.nodes[hop] = known as u8;
        }
    }
    Load(packets)
}
