//! Schedules: when each packet came to each node of its path, when its first bit left and when its last one had; and which are viable.

use core::fmt;

use super::Network;

/// A packet's stay at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stay {
    /// i(p, a): when its last bit has come.
    pub arrival: u64,
    /// o(p, a): when its first bit leaves.
    pub start: u64,
    /// When its last bit has left.
    pub end: u64,
}

/// For each packet, its stay at each hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule(pub Vec<Vec<Stay>>);

/// Why no collection of non-preemptive schedulers produces a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotViable {
    /// A packet has not one stay for each hop.
    Hops {
        /// The packet.
        packet: String,
        /// Hops of its path.
        hops: usize,
        /// Stays given.
        stays: usize,
    },
    /// A packet's arrival does not follow from the hop before.
    Arrival {
        /// The packet.
        packet: String,
        /// The node.
        node: String,
        /// The arrival given.
        given: u64,
        /// The arrival that follows: input time, or end at the hop before and propagation.
        follows: u64,
    },
    /// A packet is scheduled before its last bit is there.
    Early {
        /// The packet.
        packet: String,
        /// The node.
        node: String,
        /// When it comes.
        arrival: u64,
        /// When it is scheduled.
        start: u64,
    },
    /// A packet is not sent in one piece.
    Preempted {
        /// The packet.
        packet: String,
        /// The node.
        node: String,
        /// When its first bit leaves.
        start: u64,
        /// When its last bit has left.
        end: u64,
        /// T(p, a).
        transmission: u64,
    },
    /// Two packets are on a link at once.
    Overlap {
        /// The node.
        node: String,
        /// The packet that is scheduled first.
        first: String,
        /// When it has left.
        end: u64,
        /// The other one.
        second: String,
        /// When that one is scheduled.
        start: u64,
    },
}

impl fmt::Display for NotViable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hops { packet, hops, stays } => write!(formatter, "packet {packet}: {stays} stays for a path of {hops} nodes"),
            Self::Arrival { packet, node, given, follows } => {
                write!(formatter, "packet {packet} at {node}: arrival {given} given, {follows} follows from its input time and path")
            }
            Self::Early { packet, node, arrival, start } => {
                write!(formatter, "packet {packet} at {node}: scheduled at {start}, before its last bit is there at {arrival}")
            }
            Self::Preempted { packet, node, start, end, transmission } => {
                write!(formatter, "packet {packet} at {node}: sent from {start} to {end}, not in one piece of {transmission}")
            }
            Self::Overlap { node, first, end, second, start } => {
                write!(formatter, "node {node}: {second} is scheduled at {start}, while {first} is sent until {end}")
            }
        }
    }
}

impl core::error::Error for NotViable {}

impl Schedule {
    /// The schedule with these o(p, a), for each packet and hop: arrivals and ends follow. Hops without a time are left out.
    pub fn from_starts(network: &Network, starts: &[Vec<u64>]) -> Self {
        let of_packet = |(packet, starts): (usize, &Vec<u64>)| {
            let about = &network.packets()[packet];
            let mut arrival = about.input;
            let mut stays = Vec::new();
            for (hop, &start) in starts.iter().enumerate().take(about.path.len()) {
                let end = start + network.transmission(packet, hop);
                stays.push(Stay { arrival, start, end });
                arrival = end + about.path.get(hop + 1).map_or(0, |next| next.propagation);
            }
            stays
        };
        Self(starts.iter().enumerate().take(network.packets().len()).map(of_packet).collect())
    }

    /// Whether some collection of non-preemptive schedulers produces it: each packet comes to a node when it follows from the hop before, is scheduled
    /// once its last bit is there and sent in one piece, and no two packets are on a link at once. A node may idle while packets wait.
    ///
    /// # Errors
    /// The first violation, by packets and hops, then by nodes.
    pub fn is_viable(&self, network: &Network) -> Result<(), NotViable> {
        for packet in 0..network.packets().len() {
            self.check_packet(network, packet)?;
        }
        (0..network.nodes().len()).try_for_each(|node| self.check_node(network, node))
    }

    fn check_packet(&self, network: &Network, number: usize) -> Result<(), NotViable> {
        let about = &network.packets()[number];
        let stays = self.0.get(number).map_or(&[][..], Vec::as_slice);
        let packet = about.name.clone();
        if stays.len() != about.path.len() {
            return Err(NotViable::Hops { packet, hops: about.path.len(), stays: stays.len() });
        }
        let mut follows = about.input;
        for (hop, &Stay { arrival, start, end }) in stays.iter().enumerate() {
            let node = network.nodes()[about.path[hop].node].name.clone();
            let transmission = network.transmission(number, hop);
            if arrival != follows {
                return Err(NotViable::Arrival { packet, node, given: arrival, follows });
            }
            if start < arrival {
                return Err(NotViable::Early { packet, node, arrival, start });
            }
            if end != start + transmission {
                return Err(NotViable::Preempted { packet, node, start, end, transmission });
            }
            follows = end + about.path.get(hop + 1).map_or(0, |next| next.propagation);
        }
        Ok(())
    }

    fn check_node(&self, network: &Network, node: usize) -> Result<(), NotViable> {
        for pair in self.at_node(network, node).windows(2) {
            let [(first, one), (second, other)] = [pair[0], pair[1]];
            if other.start < one.end {
                let name = |packet: usize| network.packets()[packet].name.clone();
                let (first, second) = (name(first), name(second));
                return Err(NotViable::Overlap {
                    node: network.nodes()[node].name.clone(),
                    first,
                    end: one.end,
                    second,
                    start: other.start,
                });
            }
        }
        Ok(())
    }

    /// Packets at a node with their stays, in the order of their first bits.
    pub(super) fn at_node(&self, network: &Network, node: usize) -> Vec<(usize, Stay)> {
        let of_packet = |(packet, stays): (usize, &Vec<Stay>)| {
            let hop = network.packets()[packet].path.iter().position(|hop| hop.node == node)?;
            Some((packet, *stays.get(hop)?))
        };
        let mut stays: Vec<_> = self.0.iter().enumerate().filter_map(of_packet).collect();
        stays.sort_by_key(|(packet, stay)| (stay.start, *packet));
        stays
    }

    /// Whether a node idles while a packet waits there.
    pub fn idles(&self, network: &Network) -> bool {
        let at_node = |node: usize| {
            let stays = self.at_node(network, node);
            // From a packet's arrival to its start the link has to be taken by others, one after another.
            stays.iter().any(|(_, waiting)| {
                let taken_until = |now: u64, (_, other): &(usize, Stay)| if other.start <= now { now.max(other.end) } else { now };
                stays.iter().take_while(|(_, other)| other.start < waiting.start).fold(waiting.arrival, taken_until) < waiting.start
            })
        };
        (0..network.nodes().len()).any(at_node)
    }

    /// o(p): when a packet's last bit exits the network.
    ///
    /// # Panics
    /// The schedule has no stay of that packet.
    pub fn exit(&self, packet: usize) -> u64 {
        self.0[packet].last().expect("a packet passes a node").end
    }

    /// slack(p) = o(p) - i(p) - tmin(p, src(p), dest(p)): what a packet waited in all.
    pub fn slack(&self, network: &Network, packet: usize) -> i64 {
        self.exit(packet) as i64 - network.packets()[packet].input as i64 - network.least_time(packet, 0) as i64
    }

    /// How long a packet waited at a hop, interruptions included.
    pub fn waited(&self, network: &Network, packet: usize, hop: usize) -> u64 {
        let Stay { arrival, end, .. } = self.0[packet][hop];
        end - arrival - network.transmission(packet, hop)
    }

    /// Packets that leave later than in the original, and by how much.
    pub fn overdue(&self, original: &Self) -> Vec<(usize, u64)> {
        let late = |packet: usize| self.exit(packet).checked_sub(original.exit(packet)).filter(|by| *by > 0).map(|by| (packet, by));
        (0..self.0.len()).filter_map(late).collect()
    }

    /// Packets and hops at which they arrive later than in the original.
    pub fn late_arrivals(&self, original: &Self) -> Vec<(usize, usize)> {
        let is_late = |&(packet, hop): &(usize, usize)| self.0[packet][hop].arrival > original.0[packet][hop].arrival;
        self.hops().filter(is_late).collect()
    }

    /// All packets and hops.
    pub(super) fn hops(&self) -> impl Iterator<Item = (usize, usize)> {
        self.0.iter().enumerate().flat_map(|(packet, stays)| (0..stays.len()).map(move |hop| (packet, hop)))
    }
}
