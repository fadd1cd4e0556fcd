//! Schedules: arrival, first bit sent and last bit sent of each packet at each node of its path;
//! and the test of viability.

use core::fmt;

use super::Network;

/// A packet's stay at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Stay {
    /// i(p, a): arrival of the last bit.
    pub arrival: u64,
    /// o(p, a): departure of the first bit.
    pub start: u64,
    /// Departure of the last bit.
    pub end: u64,
}

/// The stays of each packet, by hop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule(pub Vec<Vec<Stay>>);

/// Reason why no collection of non-preemptive schedulers produces a schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotViable {
    /// The number of stays of a packet differs from its number of hops.
    Hops {
        /// Packet name.
        packet: String,
        /// Number of hops on the path.
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
        /// Arrival given.
        given: u64,
        /// Correct arrival: the input time, or the end at the previous hop plus propagation.
        follows: u64,
    },
    /// A packet is sent before its last bit has arrived.
    Early {
        /// Packet name.
        packet: String,
        /// Node name.
        node: String,
        /// Arrival of the last bit.
        arrival: u64,
        /// Start of transmission.
        start: u64,
    },
    /// A packet is not sent in one piece.
    Preempted {
        /// Packet name.
        packet: String,
        /// Node name.
        node: String,
        /// Departure of the first bit.
        start: u64,
        /// Departure of the last bit.
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
        /// End of its transmission.
        end: u64,
        /// Name of the other packet.
        second: String,
        /// Start of the other packet's transmission.
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
    /// Builds a schedule from o(p, a) of each packet and hop: arrivals and ends are derived. Hops
    /// without a time are left out.
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

    /// Tests if some collection of non-preemptive schedulers produces the schedule: each arrival
    /// matches the previous hop, each packet is sent in one piece after its last bit has arrived,
    /// and no two packets are on a link at the same time. A node may idle while packets wait.
    ///
    /// # Errors
    /// The first violation, by packets and hops, then by nodes.
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

    /// Packets at a node with their stays, ordered by departure of the first bit.
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
                // From a packet's arrival to its start, the packets sent before it must occupy the
                // link without a gap.
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

    /// o(p): exit of a packet's last bit from the network.
    ///
    /// # Panics
    /// The schedule has no stay of the packet.
    pub fn exit(&self, packet: usize) -> u64 {
        self.0[packet].last().expect("a packet passes a node").end
    }

    /// slack(p) = o(p) - i(p) - tmin(p, src(p), dest(p)): total waiting time of a packet.
    pub fn slack(&self, network: &Network, packet: usize) -> i64 {
        self.exit(packet) as i64
            - network.packets()[packet].input as i64
            - network.least_time(packet, 0) as i64
    }

    /// Waiting time of a packet at a hop, including interruptions.
    pub fn waited(&self, network: &Network, packet: usize, hop: usize) -> u64 {
        let Stay { arrival, end, .. } = self.0[packet][hop];
        end - arrival - network.transmission(packet, hop)
    }

    /// Packets that leave later than in the original, with the difference.
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

    /// Pairs of packet and hop with a later arrival than in the original.
    pub fn late_arrivals(&self, original: &Self) -> Vec<(usize, usize)> {
        let mut late = Vec::new();
        for (packet, hop) in self.hops() {
            if self.0[packet][hop].arrival > original.0[packet][hop].arrival {
                late.push((packet, hop));
            }
        }
        late
    }

    /// All pairs of packet and hop.
    pub(super) fn hops(&self) -> impl Iterator<Item = (usize, usize)> {
        self.0
            .iter()
            .enumerate()
            .flat_map(|(packet, stays)| (0..stays.len()).map(move |hop| (packet, hop)))
    }
}
