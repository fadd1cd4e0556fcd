//! Schedules: when each packet arrives at each node on its path, and when its first and last bits
//! leave. Also tests if a schedule is viable.

use core::fmt;

use super::Network;

/// How long a packet stays at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stay {
    /// i(p, a): when the last bit arrives.
    pub arrival: u64,
    /// o(p, a): when the first bit leaves.
    pub start: u64,
    /// When the last bit leaves.
    pub end: u64,
}

/// Each packet's stays, by hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule(pub Vec<Vec<Stay>>);

/// Why no collection of non-preemptive schedulers produces a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotViable {
    /// A packet has more or fewer stays than hops.
    Hops {
        /// Packet name.
        packet: String,
        /// Number of hops on its path.
        hops: usize,
        /// Number of stays given.
        stays: usize,
    },
    /// A packet's arrival does not match the previous hop.
    Arrival {
        /// Packet name.
        packet: String,
        /// Node name.
        node: String,
        /// The arrival that was given.
        given: u64,
        /// The correct arrival: the input time, or when the packet left the previous hop, plus
        /// propagation.
        follows: u64,
    },
    /// A packet is sent before its last bit is there.
    Early {
        /// Packet name.
        packet: String,
        /// Node name.
        node: String,
        /// When the last bit arrives.
        arrival: u64,
        /// When the transmission starts.
        start: u64,
    },
    /// A packet is not sent in one piece.
    Preempted {
        /// Packet name.
        packet: String,
        /// Node name.
        node: String,
        /// When the first bit leaves.
        start: u64,
        /// When the last bit leaves.
        end: u64,
        /// T(p, a).
        transmission: u64,
    },
    /// Two packets are on a link at the same time.
    Overlap {
        /// Node name.
        node: String,
        /// Name of the packet sent first.
        first: String,
        /// When its transmission ends.
        end: u64,
        /// Name of the other packet.
        second: String,
        /// When the other packet's transmission starts.
        start: u64,
    },
}

impl fmt::Display for NotViable {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Hops {
                packet,
                hops,
                stays,
            } => write!(
                formatter,
                "packet {packet}: {stays} stays for a path of {hops} nodes"
            ),
            Self::Arrival {
                packet,
                node,
                given,
                follows,
            } => {
                write!(
                    formatter,
                    "packet {packet} at {node}: arrival {given} given, {follows} follows from its \
                     input time and path"
                )
            }
            Self::Early {
                packet,
                node,
                arrival,
                start,
            } => {
                write!(
                    formatter,
                    "packet {packet} at {node}: scheduled at {start}, before its last bit is there \
                     at {arrival}"
                )
            }
            Self::Preempted {
                packet,
                node,
                start,
                end,
                transmission,
            } => {
                write!(
                    formatter,
                    "packet {packet} at {node}: sent from {start} to {end}, not in one piece of \
                     {transmission}"
                )
            }
            Self::Overlap {
                node,
                first,
                end,
                second,
                start,
            } => {
                write!(
                    formatter,
                    "node {node}: {second} is scheduled at {start}, while {first} is sent until \
                     {end}"
                )
            }
        }
    }
}

impl core::error::Error for NotViable {}

impl Schedule {
    /// Builds a schedule from o(p, a) for each packet and hop, because arrivals and ends follow
    /// from that. Hops without a time are left out.
    pub fn from_starts(network: &Network, starts: &[Vec<u64>]) -> Self {
        let mut schedule = Vec::new();
        for (packet, starts) in starts.iter().enumerate() {
            let Some(about) = network.packets().get(packet) else {
                break;
            };
            let mut arrival = about.input;
            let mut stays = Vec::new();
            for (hop, &start) in starts.iter().enumerate().take(about.path.len()) {
                let end = start + network.transmission(packet, hop);
                stays.push(Stay {
                    arrival,
                    start,
                    end,
                });
                // i(p, a) at the next hop.
                arrival = end + about.propagation_after(hop);
            }
            schedule.push(stays);
        }
        Self(schedule)
    }

    /// Tests if some collection of non-preemptive schedulers produces the schedule. Each arrival
    /// must match the previous hop, each packet must be sent in one piece after its last bit has
    /// arrived, and no two packets may be on a link at the same time. But a node may idle while
    /// packets wait.
    ///
    /// # Errors
    /// The first violation. Packets and their hops are checked first, then nodes.
    pub fn is_viable(&self, network: &Network) -> Result<(), NotViable> {
        for packet in 0..network.packets().len() {
            self.check_packet(network, packet)?;
        }
        for node in 0..network.nodes().len() {
            self.check_node(network, node)?;
        }
        Ok(())
    }

    fn check_packet(&self, network: &Network, number: usize) -> Result<(), NotViable> {
        let about = &network.packets()[number];
        let stays: &[Stay] = self.0.get(number).map(Vec::as_slice).unwrap_or_default();
        let packet = about.name.clone();
        if stays.len() != about.path.len() {
            return Err(NotViable::Hops {
                packet,
                hops: about.path.len(),
                stays: stays.len(),
            });
        }
        let mut follows = about.input;
        for (hop, stay) in stays.iter().enumerate() {
            let Stay {
                arrival,
                start,
                end,
            } = *stay;
            let node = network.nodes()[about.path[hop].node].name.clone();
            let transmission = network.transmission(number, hop);
            if arrival != follows {
                return Err(NotViable::Arrival {
                    packet,
                    node,
                    given: arrival,
                    follows,
                });
            }
            if start < arrival {
                return Err(NotViable::Early {
                    packet,
                    node,
                    arrival,
                    start,
                });
            }
            if end != start + transmission {
                return Err(NotViable::Preempted {
                    packet,
                    node,
                    start,
                    end,
                    transmission,
                });
            }
            follows = end + about.propagation_after(hop);
        }
        Ok(())
    }

    fn check_node(&self, network: &Network, node: usize) -> Result<(), NotViable> {
        for pair in self.at_node(network, node).windows(2) {
            let [(first, one), (second, other)] = [pair[0], pair[1]];
            if other.start < one.end {
                return Err(NotViable::Overlap {
                    node: network.nodes()[node].name.clone(),
                    first: network.packets()[first].name.clone(),
                    end: one.end,
                    second: network.packets()[second].name.clone(),
                    start: other.start,
                });
            }
        }
        Ok(())
    }

    /// The packets at a node and their stays, in the order in which the first bits leave.
    pub(super) fn at_node(&self, network: &Network, node: usize) -> Vec<(usize, Stay)> {
        let mut at_node = Vec::new();
        for (packet, stays) in self.0.iter().enumerate() {
            if let Some(hop) = network.packets()[packet].hop_at(node)
                && let Some(stay) = stays.get(hop)
            {
                at_node.push((packet, *stay));
            }
        }
        at_node.sort_by_key(|(packet, stay)| (stay.start, *packet));
        at_node
    }

    /// True if a node idles while a packet waits there.
    pub fn idles(&self, network: &Network) -> bool {
        for node in 0..network.nodes().len() {
            let stays = self.at_node(network, node);
            for (index, (_, waiting)) in stays.iter().enumerate() {
                // From the packet's arrival to its start, the packets sent before it must occupy
                // the link without a gap, or else the node idles.
                let mut taken_until = waiting.arrival;
                for (_, other) in &stays[..index] {
                    if other.start <= taken_until {
                        taken_until = taken_until.max(other.end);
                    }
                }
                if taken_until < waiting.start {
                    return true;
                }
            }
        }
        false
    }

    /// o(p): when a packet's last bit leaves the network.
    ///
    /// # Panics
    /// If the schedule has no stay of the packet.
    pub fn exit(&self, packet: usize) -> u64 {
        self.0[packet].last().expect("a packet passes a node").end
    }

    /// slack(p) = o(p) - i(p) - tmin(p, src(p), dest(p)): how long a packet waits in total.
    pub fn slack(&self, network: &Network, packet: usize) -> i64 {
        self.exit(packet) as i64
            - network.packets()[packet].input as i64
            - network.least_time(packet, 0) as i64
    }

    /// How long a packet waits at a hop, interruptions included.
    pub fn waited(&self, network: &Network, packet: usize, hop: usize) -> u64 {
        let Stay { arrival, end, .. } = self.0[packet][hop];
        end - arrival - network.transmission(packet, hop)
    }

    /// Packets that leave later than in the original, and by how much.
    pub fn overdue(&self, original: &Self) -> Vec<(usize, u64)> {
        let mut overdue = Vec::new();
        for packet in 0..self.0.len() {
            let exit = self.exit(packet);
            let due = original.exit(packet);
            if exit > due {
                overdue.push((packet, exit - due));
            }
        }
        overdue
    }

    /// Each packet and hop where the packet arrives later than in the original.
    pub fn late_arrivals(&self, original: &Self) -> Vec<(usize, usize)> {
        let mut late = Vec::new();
        for (packet, hop) in self.hops() {
            if self.0[packet][hop].arrival > original.0[packet][hop].arrival {
                late.push((packet, hop));
            }
        }
        late
    }

    /// Each packet with each of its hops.
    pub(super) fn hops(&self) -> impl Iterator<Item = (usize, usize)> {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(packet, stays)| (0..stays.len()).map(move |hop| (packet, hop)))
    }
}
