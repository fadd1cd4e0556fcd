//! The model's event loop: it moves packets through nodes, and a callback decides for the nodes.

use std::collections::BTreeSet;

use super::{Network, Schedule, Stay};

/// A packet at a node. If preemption is possible, the packet on the link is among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// Packet number.
    pub packet: usize,
    /// Where the hop is on the packet's path, from 0.
    pub hop: usize,
    /// When the packet arrived at the node.
    pub arrival: u64,
    /// How long the packet waited at all earlier hops.
    pub waited: u64,
    /// How much transmission time remains.
    pub remaining: u64,
    start: Option<u64>,
}

/// What a node decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Sends the waiting packet with this index.
    Send(usize),
    /// Sends nothing until this time, or for one unit if the time has passed. When another packet
    /// arrives before, the node decides again.
    IdleUntil(u64),
}

#[derive(Debug, Default)]
struct Link {
    /// In the order of arrival.
    waiting: Vec<Waiting>,
    /// The packet on the link, and when its transmission started or resumed.
    sending: Option<(usize, u64)>,
    wakes: Option<u64>,
    /// True if something has happened since the last decision.
    is_due: bool,
}

impl Link {
    fn ends(&self) -> Option<u64> {
        let (packet, since) = self.sending?;
        let waiting = self
            .waiting
            .iter()
            .find(|waiting| waiting.packet == packet)?;
        Some(since + waiting.remaining)
    }

    fn next(&self) -> Option<u64> {
        earlier(self.ends(), self.wakes)
    }

    /// Subtracts what the link has transmitted of its packet, and frees the link.
    fn pause(&mut self, now: u64) {
        let Some((packet, since)) = self.sending.take() else {
            return;
        };
        if let Some(waiting) = self
            .waiting
            .iter_mut()
            .find(|waiting| waiting.packet == packet)
        {
            waiting.remaining -= now - since;
        }
    }

    fn act(&mut self, now: u64, action: Action) {
        match action {
            Action::Send(index) => {
                let waiting = &mut self.waiting[index];
                waiting.start.get_or_insert(now);
                self.sending = Some((waiting.packet, now));
            }
            Action::IdleUntil(then) => self.wakes = Some(then.max(now + 1)),
        }
    }
}

/// The earlier of two times, either or both of which may be missing.
fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        _ => one.or(other),
    }
}

/// When the next packet arrives, the next transmission ends, or the next idling ends.
fn next_event(arrivals: &BTreeSet<(u64, usize, usize)>, links: &[Link]) -> Option<u64> {
    let mut next = arrivals.first().map(|(at, ..)| *at);
    for link in links {
        next = earlier(next, link.next());
    }
    next
}

/// How much extra delay a packet gets before a hop.
fn extra_delay(delays: &[Vec<u64>], packet: usize, hop: usize) -> u64 {
    match delays.get(packet) {
        Some(of_packet) => of_packet.get(hop).copied().unwrap_or(0),
        None => 0,
    }
}

/// Records the schedule of a network without preemption. Whenever a node is free and something has
/// changed there, `decide` sees the node's number, the time, and the waiting packets in the order
/// of arrival. It picks one or idles.
///
/// # Panics
/// If `decide` returns an index out of range.
pub fn record(network: &Network, decide: impl FnMut(usize, u64, &[Waiting]) -> Action) -> Schedule {
    run(network, &[], false, decide)
}

/// Like [`record`], but with preemption after each arrival if `preempts`, and with extra delays
/// before hops. `delays` gives them by packet and hop, and is empty for none.
pub(super) fn run(
    network: &Network,
    delays: &[Vec<u64>],
    preempts: bool,
    mut decide: impl FnMut(usize, u64, &[Waiting]) -> Action,
) -> Schedule {
    let packets = network.packets();
    let mut stays: Vec<Vec<Stay>> = vec![Vec::new(); packets.len()];
    let mut waited = vec![0; packets.len()];
    let mut links: Vec<Link> = network.nodes().iter().map(|_| Link::default()).collect();
    let mut arrivals = BTreeSet::new();
    for (number, packet) in packets.iter().enumerate() {
        arrivals.insert((packet.input + extra_delay(delays, number, 0), number, 0));
    }
    while let Some(now) = next_event(&arrivals, &links) {
        for link in &mut links {
            link.is_due = link.wakes.take_if(|at| *at <= now).is_some();
            if link.ends() == Some(now) {
                link.pause(now);
                link.is_due = true;
                let ended = link.waiting.iter().position(|one| one.remaining == 0);
                let Waiting {
                    packet,
                    hop,
                    arrival,
                    start,
                    ..
                } = link.waiting.remove(ended.expect("one has ended"));
                stays[packet].push(Stay {
                    arrival,
                    start: start.expect("it was sent"),
                    end: now,
                });
                waited[packet] += now - arrival - network.transmission(packet, hop);
                if let Some(next) = packets[packet].path.get(hop + 1) {
                    let delay = next.propagation + extra_delay(delays, packet, hop + 1);
                    arrivals.insert((now + delay, packet, hop + 1));
                }
            }
        }
        while let Some(&(at, packet, hop)) = arrivals.first()
            && at == now
        {
            arrivals.pop_first();
            let link = &mut links[network.node_of(packet, hop)];
            let remaining = network.transmission(packet, hop);
            link.waiting.push(Waiting {
                packet,
                hop,
                arrival: now,
                waited: waited[packet],
                remaining,
                start: None,
            });
            link.is_due = true;
        }
        for (node, link) in links.iter_mut().enumerate() {
            if !link.is_due {
                continue;
            }
            if preempts {
                link.pause(now);
            }
            if link.sending.is_none() && !link.waiting.is_empty() {
                link.wakes = None;
                let action = decide(node, now, &link.waiting);
                link.act(now, action);
            }
        }
    }
    Schedule(stays)
}
