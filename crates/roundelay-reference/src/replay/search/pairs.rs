//! Pairs of loads that prove that no universal scheduler exists: schedulers with black-box headers
//! cannot tell them apart, but they require opposite orders.

use std::collections::HashMap;

use super::load::{Attributes, Load};
use super::slots::is_feasible;

/// Preemption points per unit of time. Before an order counts as required, we try the replays in
/// whole units, then those in pieces.
const WHOLE_UNITS: u16 = 1;
const PIECES: u16 = 4;

/// Which of two packets must go first.
#[derive(Debug, Clone, Copy)]
enum Order {
    FirstBefore,
    SecondBefore,
}

/// Loads that require an order of two packets, by these packets' attributes and then by [`Order`].
#[derive(Debug, Default)]
pub(super) struct Pairs {
    loads: HashMap<[Attributes; 2], [Option<Load>; 2]>,
    /// The two loads with the fewest hops that contradict each other.
    found: Option<[Load; 2]>,
}

impl Pairs {
    /// Adds a load. Returns true if the load requires that some pair goes in one order.
    pub(super) fn add(&mut self, load: &Load) -> bool {
        let mut demands = false;
        for (first, second) in pairs(load) {
            // We try whole units first, because there are fewer replays and each is also one in
            // pieces.
            let may_be_late = is_feasible(load, WHOLE_UNITS, Some(first))
                || is_feasible(load, PIECES, Some(first));
            if !may_be_late {
                demands = true;
                self.insert(Order::FirstBefore, relabelled(load, first, second));
                self.insert(Order::SecondBefore, relabelled(load, second, first));
            }
        }
        demands
    }

    /// Keeps the load, unless a known one has no more hops. `order` says which of its first two
    /// packets must go first.
    fn insert(&mut self, order: Order, load: Load) {
        let order = order as usize;
        let entry = self.loads.entry([load.0[0], load.0[1]]).or_default();
        if let Some(known) = &entry[order]
            && known.hops() <= load.hops()
        {
            return;
        }
        entry[order] = Some(load);
        if let [Some(one), Some(other)] = entry {
            let has_fewer_hops = match &self.found {
                Some([first, second]) => one.hops() + other.hops() < first.hops() + second.hops(),
                None => true,
            };
            if has_fewer_hops {
                self.found = Some([one.clone(), other.clone()]);
            }
        }
    }

    /// The two loads that contradict each other, if found.
    pub(super) const fn found(&self) -> Option<&[Load; 2]> {
        self.found.as_ref()
    }
}

/// Pairs of packets that enter at the same node and instant, before any other packet can be there.
/// Each pair comes in both orders.
fn pairs(load: &Load) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for first in 0..load.packets() {
        for second in 0..load.packets() {
            if first != second && enter_alone(&load.0, first, second) {
                pairs.push((first, second));
            }
        }
    }
    pairs
}

fn enter_alone(packets: &[Attributes], first: usize, second: usize) -> bool {
    let one = &packets[first];
    let other = &packets[second];
    let node = one.nodes[0];
    if other.nodes[0] != node || other.input != one.input {
        return false;
    }
    for (number, third) in packets.iter().enumerate() {
        if number != first
            && number != second
            && let Some(arrival) = third.earliest(node)
            && arrival <= one.input
        {
            return false;
        }
    }
    true
}

/// The same load, but with these two packets first and with nodes numbered as they are first used.
fn relabelled(load: &Load, first: usize, second: usize) -> Load {
    let mut packets = vec![load.0[first], load.0[second]];
    for (number, attributes) in load.0.iter().enumerate() {
        if number != first && number != second {
            packets.push(*attributes);
        }
    }
    let mut names: Vec<u8> = Vec::new();
    for attributes in &mut packets {
        for node in &mut attributes.nodes[..usize::from(attributes.hops)] {
            let known = names.iter().position(|name| name == node);
            if known.is_none() {
                names.push(*node);
            }
            *node = known.unwrap_or(names.len() - 1) as u8;
        }
    }
    Load(packets)
}
