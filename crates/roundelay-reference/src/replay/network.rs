//! The model's network and its load: nodes with transmission times, and packets with paths.

use core::fmt;

/// The longest time or length in a network, in units.
pub const LARGEST: u64 = 1_000_000;
/// The most nodes, and the most packets.
pub const MOST: usize = 1_000;

/// A store-and-forward router, which forwards a packet once its last bit has arrived.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Node {
    /// Name in tables and errors.
    pub name: String,
    /// How long a unit of length takes to transmit, 1 to [`LARGEST`]. Leave out nodes that take no
    /// time, because they delay no packet.
    pub transmission: u64,
}

/// A node on a packet's path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hop {
    /// Node number.
    pub node: usize,
    /// Propagation delay from the previous hop, 0 to [`LARGEST`].
    pub propagation: u64,
}

/// A packet p, with i(p) and path(p).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// Name in tables and errors.
    pub name: String,
    /// i(p): when the last bit arrives at the ingress, 0 to [`LARGEST`].
    pub input: u64,
    /// Length, 1 to [`LARGEST`].
    pub len: u64,
    /// Nodes from ingress to egress, each at most once. The first propagation delay must be 0,
    /// because the input time is already that of the arrival there.
    pub path: Vec<Hop>,
}

/// Error: what is wrong in a network or a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invalid(pub String);

impl fmt::Display for Invalid {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

impl core::error::Error for Invalid {}

/// Nodes, and the packets that pass them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Network {
    nodes: Vec<Node>,
    packets: Vec<Packet>,
}

impl Network {
    /// # Errors
    /// No nodes or packets, or more than [`MOST`]. A number out of its range. A path that is empty,
    /// or that has an unknown node or the same node twice. A first propagation delay other than 0.
    pub fn new(nodes: Vec<Node>, packets: Vec<Packet>) -> Result<Self, Invalid> {
        for (what, count) in [("nodes", nodes.len()), ("packets", packets.len())] {
            if !(1..=MOST).contains(&count) {
                return Err(Invalid(format!("{count} {what}: legal range 1 to {MOST}")));
            }
        }
        for node in &nodes {
            in_range(
                &format!("node {}: transmission", node.name),
                node.transmission,
                1,
            )?;
        }
        for packet in &packets {
            check(packet, nodes.len())?;
        }
        Ok(Self { nodes, packets })
    }

    /// The nodes.
    pub fn nodes(&self) -> &[Node] {
        &self.nodes
    }

    /// The packets.
    pub fn packets(&self) -> &[Packet] {
        &self.packets
    }

    /// Finds a node by its name and returns its number.
    pub fn node(&self, name: &str) -> Option<usize> {
        self.nodes.iter().position(|node| node.name == name)
    }

    /// Finds a packet by its name and returns its number.
    pub fn packet(&self, name: &str) -> Option<usize> {
        self.packets.iter().position(|packet| packet.name == name)
    }

    /// T(p, a): how long a packet takes to transmit at a hop.
    pub fn transmission(&self, packet: usize, hop: usize) -> u64 {
        let Packet { len, path, .. } = &self.packets[packet];
        len * self.nodes[path[hop].node].transmission
    }

    /// tmin(p, a, dest(p)): how long a packet takes from its arrival at a hop to its exit, without
    /// waiting.
    pub fn least_time(&self, packet: usize, hop: usize) -> u64 {
        let path = &self.packets[packet].path;
        let mut time = 0;
        for (at, next) in path.iter().enumerate().skip(hop) {
            // When the packet arrives at `hop`, the propagation before `hop` is over.
            if at > hop {
                time += next.propagation;
            }
            time += self.transmission(packet, at);
        }
        time
    }

    /// Number of the node that a packet passes at this hop.
    pub(super) fn node_of(&self, packet: usize, hop: usize) -> usize {
        self.packets[packet].path[hop].node
    }
}

impl Packet {
    /// The packet's hop at a node, or None off its path.
    pub(super) fn hop_at(&self, node: usize) -> Option<usize> {
        self.path.iter().position(|hop| hop.node == node)
    }

    /// Propagation delay from a hop to the next, or 0 after the last.
    pub(super) fn propagation_after(&self, hop: usize) -> u64 {
        match self.path.get(hop + 1) {
            Some(next) => next.propagation,
            None => 0,
        }
    }
}

fn in_range(what: &str, value: u64, least: u64) -> Result<(), Invalid> {
    if (least..=LARGEST).contains(&value) {
        Ok(())
    } else {
        Err(Invalid(format!(
            "{what} = {value}: legal range {least} to {LARGEST}"
        )))
    }
}

fn check(packet: &Packet, nodes: usize) -> Result<(), Invalid> {
    let Packet {
        name,
        input,
        len,
        path,
    } = packet;
    in_range(&format!("packet {name}: input time"), *input, 0)?;
    in_range(&format!("packet {name}: length"), *len, 1)?;
    if path.is_empty() {
        return Err(Invalid(format!(
            "packet {name}: the path has to have a node or more"
        )));
    }
    for (number, hop) in path.iter().enumerate() {
        in_range(
            &format!("packet {name}: propagation to hop {number}"),
            hop.propagation,
            0,
        )?;
        if hop.node >= nodes {
            return Err(Invalid(format!(
                "packet {name}: node number {} of {nodes}: legal range 0 to {}",
                hop.node,
                nodes - 1
            )));
        }
        if path[..number].iter().any(|other| other.node == hop.node) {
            return Err(Invalid(format!(
                "packet {name}: the path passes node number {} twice",
                hop.node
            )));
        }
    }
    if path[0].propagation > 0 {
        return Err(Invalid(format!(
            "packet {name}: propagation to the first node has to be 0: the input time is that of \
             arrival there"
        )));
    }
    Ok(())
}
