//! Random networks and random viable schedules. The caller supplies the random numbers.

use super::{Action, Hop, Invalid, Network, Node, Packet, Schedule, record};

/// Ranges for random networks. Each value is drawn uniformly from its range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RandomNetwork {
    /// Number of nodes that packets share.
    pub nodes: usize,
    /// The most shared nodes on a path. A path may also have private nodes, but the packet never
    /// waits there.
    pub passes: usize,
    /// The most packets, 2 or more.
    pub packets: usize,
    /// The longest transmission time for a unit of length.
    pub transmission: u64,
    /// The greatest length.
    pub len: u64,
    /// The longest propagation delay.
    pub propagation: u64,
}

impl RandomNetwork {
    /// Draws a network. `draw(n)` must return a random number below n.
    ///
    /// # Errors
    /// A range that is empty or exceeds the one that [`Network`] allows.
    pub fn network(&self, draw: &mut dyn FnMut(u64) -> u64) -> Result<Network, Invalid> {
        let Self {
            nodes: shared,
            passes,
            packets,
            transmission,
            len,
            propagation,
        } = *self;
        if shared == 0 || passes == 0 || packets < 2 || transmission == 0 || len == 0 {
            return Err(Invalid(format!(
                "{self:?}: legal range 2 and more of packets, 0 and more of propagation, 1 and \
                 more of all else"
            )));
        }
        let mut nodes = Vec::new();
        for number in 0..shared {
            nodes.push(Node {
                name: format!("α{number}"),
                transmission: 1 + draw(transmission),
            });
        }
        let count = 2 + draw(packets as u64 - 1) as usize;
        // Only a few units of time per packet, so that packets collide often.
        let span = 1 + draw(2 * count as u64);
        let mut of_packets = Vec::new();
        for number in 0..count {
            let mut path = vec![];
            for node in choose(shared, 1 + draw(passes.min(shared) as u64) as usize, draw) {
                path.push(node);
                if draw(4) == 0 {
                    path.push(nodes.len());
                    nodes.push(Node {
                        name: format!("β{}", nodes.len() - shared),
                        transmission: 1 + draw(transmission),
                    });
                }
            }
            let mut hops = Vec::new();
            for node in path {
                let is_first = hops.is_empty();
                hops.push(Hop {
                    node,
                    propagation: if is_first { 0 } else { draw(propagation + 1) },
                });
            }
            of_packets.push(Packet {
                name: format!("p{number}"),
                input: draw(span),
                len: 1 + draw(len),
                path: hops,
            });
        }
        Network::new(nodes, of_packets)
    }

    /// Draws a viable schedule. Nodes send in any order, and if `may_idle`, they sometimes leave
    /// the link idle while packets wait.
    pub fn schedule(
        network: &Network,
        may_idle: bool,
        draw: &mut dyn FnMut(u64) -> u64,
    ) -> Schedule {
        record(network, |_, now, waiting| {
            if may_idle && draw(4) == 0 {
                Action::IdleUntil(now + 1 + draw(4))
            } else {
                Action::Send(draw(waiting.len() as u64) as usize)
            }
        })
    }
}

/// Draws `count` different numbers below `of`, in any order.
fn choose(of: usize, count: usize, draw: &mut dyn FnMut(u64) -> u64) -> Vec<usize> {
    let mut all: Vec<usize> = (0..of).collect();
    let mut chosen = Vec::new();
    for _ in 0..count {
        let index = draw(all.len() as u64) as usize;
        chosen.push(all.remove(index));
    }
    chosen
}
