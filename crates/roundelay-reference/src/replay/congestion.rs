//! Congestion points on packets' paths, because the paper's term can be read in several ways.
//!
//! The paper defines a congestion point as a node where a packet is forced to wait during a given
//! schedule. It leaves open which packet and which schedule, but both matter: in the paper's own
//! Figure 10, a node has to count although packets wait there only in the replay.

use super::{Network, Schedule};

/// How we read "congestion point": which nodes on a packet's path count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Reading {
    /// Nodes where the packet itself waits in the original.
    OwnInOriginal,
    /// Nodes where some packet waits in the original.
    AnyInOriginal,
    /// Nodes where the packet itself waits in the original or in the replay.
    OwnInEither,
    /// Nodes where some packet waits in the original or in the replay.
    AnyInEither,
    /// Nodes where some packet can wait when a work-conserving rule runs, because another packet
    /// passes the node as well. Also nodes where the packet itself waits in the original.
    CanWait,
}

impl Reading {
    /// All readings, with their names.
    pub const ALL: [(&'static str, Self); 5] = [
        ("the packet waits in the original", Self::OwnInOriginal),
        ("some packet waits in the original", Self::AnyInOriginal),
        ("the packet waits in either run", Self::OwnInEither),
        ("some packet waits in either run", Self::AnyInEither),
        ("some packet can wait", Self::CanWait),
    ];

    /// Finds a reading by name.
    pub fn named(name: &str) -> Option<Self> {
        for (known, reading) in Self::ALL {
            if known == name {
                return Some(reading);
            }
        }
        None
    }

    /// The reading's name.
    pub fn name(self) -> &'static str {
        for (name, reading) in Self::ALL {
            if reading == self {
                return name;
            }
        }
        ""
    }

    /// How many congestion points each packet has.
    pub fn points(self, network: &Network, original: &Schedule, replay: &Schedule) -> Vec<usize> {
        let sees_replay = matches!(self, Self::OwnInEither | Self::AnyInEither);
        // By packet and hop: if the packet waits there.
        let mut waits = vec![Vec::new(); original.0.len()];
        // By node: if some packet waits, and how many pass.
        let mut is_congested = vec![false; network.nodes().len()];
        let mut passed = vec![0; network.nodes().len()];
        for (packet, hop) in original.hops() {
            let waits_here = original.waited(network, packet, hop) > 0
                || sees_replay && replay.waited(network, packet, hop) > 0;
            waits[packet].push(waits_here);
            let node = network.node_of(packet, hop);
            is_congested[node] |= waits_here;
            passed[node] += 1;
        }
        let mut points = vec![0; original.0.len()];
        for (packet, hop) in original.hops() {
            let node = network.node_of(packet, hop);
            let counts = match self {
                Self::OwnInOriginal | Self::OwnInEither => waits[packet][hop],
                Self::AnyInOriginal | Self::AnyInEither => is_congested[node],
                Self::CanWait => waits[packet][hop] || passed[node] > 1,
            };
            points[packet] += usize::from(counts);
        }
        points
    }

    /// The most congestion points that any packet has.
    pub fn most(self, network: &Network, original: &Schedule, replay: &Schedule) -> usize {
        self.points(network, original, replay)
            .into_iter()
            .max()
            .unwrap_or(0)
    }
}
