//! Event loop of the model: packets through nodes whose decisions a function takes.

use std::collections::BTreeSet;

use super::{Network, Schedule, Stay};

/// A packet at a node, the one on the link included where it can be interrupted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waiting {
    /// The packet.
    pub packet: usize,
    /// Its hop.
    pub hop: usize,
    /// When it came.
    pub arrival: u64,
    /// How long it waited at the hops before, in all.
    pub waited: u64,
    /// Time on the link that it still needs.
    pub remaining: u64,
    start: Option<u64>,
}

/// What a node does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Sends the packet at this place of those that wait.
    Send(usize),
    /// Sends nothing until then, unless another packet comes before.
    IdleUntil(u64),
}

#[derive(Debug, Default)]
struct Link {
    /// In the order of arrival.
    waiting: Vec<Waiting>,
    /// The packet on the link, and since when.
    sending: Option<(usize, u64)>,
    wakes: Option<u64>,
    /// Whether something has happened since the last decision.
    is_due: bool,
}

impl Link {
    fn ends(&self) -> Option<u64> {
        let (packet, since) = self.sending?;
        let waiting = self.waiting.iter().find(|waiting| waiting.packet == packet)?;
        Some(since + waiting.remaining)
    }

    fn next(&self) -> Option<u64> {
        self.ends().into_iter().chain(self.wakes).min()
    }

    /// Takes off what the packet on the link has been sent, and gives the link to none.
    fn pause(&mut self, now: u64) {
        let Some((packet, since)) = self.sending.take() else { return };
        if let Some(waiting) = self.waiting.iter_mut().find(|waiting| waiting.packet == packet) {
            waiting.remaining -= now - since;
        }
    }

    fn act(&mut self, now: u64, action: Action) {
        match action {
            Action::Send(place) => {
                let waiting = &mut self.waiting[place];
                waiting.start.get_or_insert(now);
                self.sending = Some((waiting.packet, now));
            }
            Action::IdleUntil(then) => self.wakes = Some(then.max(now + 1)),
        }
    }
}

/// The schedule of a network without preemption: at each instant at which a node is free and something has changed there, `decide` sees its number, the
/// time and the packets that wait, in the order of arrival, and picks one or idles.
///
/// # Panics
/// `decide` names a place that is not there.
pub fn record(network: &Network, decide: impl FnMut(usize, u64, &[Waiting]) -> Action) -> Schedule {
    run(network, &[], false, decide)
}

/// As [`record`], with preemption after each arrival if asked for, and packets held up before hops: `delays` by packet and hop, none where empty.
pub(super) fn run(
    network: &Network,
    delays: &[Vec<u64>],
    preempts: bool,
    mut decide: impl FnMut(usize, u64, &[Waiting]) -> Action,
) -> Schedule {
    let delay = |packet: usize, hop: usize| delays.get(packet).and_then(|delays| delays.get(hop)).copied().unwrap_or(0);
    let packets = network.packets();
    let mut stays: Vec<Vec<Stay>> = vec![Vec::new(); packets.len()];
    let mut waited = vec![0; packets.len()];
    let mut links: Vec<Link> = network.nodes().iter().map(|_| Link::default()).collect();
    let mut arrivals: BTreeSet<_> =
        packets.iter().enumerate().map(|(number, packet)| (packet.input + delay(number, 0), number, 0)).collect();
    while let Some(now) = arrivals.first().map(|(at, ..)| *at).into_iter().chain(links.iter().filter_map(Link::next)).min() {
        for link in &mut links {
            link.is_due = link.wakes.take_if(|at| *at <= now).is_some();
            if link.ends() == Some(now) {
                link.pause(now);
                link.is_due = true;
                let place = link.waiting.iter().position(|waiting| waiting.remaining == 0).expect("one has ended");
                let Waiting { packet, hop, arrival, start, .. } = link.waiting.remove(place);
                stays[packet].push(Stay { arrival, start: start.expect("it was sent"), end: now });
                waited[packet] += now - arrival - network.transmission(packet, hop);
                if let Some(next) = packets[packet].path.get(hop + 1) {
                    arrivals.insert((now + next.propagation + delay(packet, hop + 1), packet, hop + 1));
                }
            }
        }
        while let Some(arrival) = arrivals.first().copied().filter(|(at, ..)| *at == now) {
            arrivals.remove(&arrival);
            let (_, packet, hop) = arrival;
            let link = &mut links[packets[packet].path[hop].node];
            let remaining = network.transmission(packet, hop);
            link.waiting.push(Waiting { packet, hop, arrival: now, waited: waited[packet], remaining, start: None });
            link.is_due = true;
        }
        for (node, link) in links.iter_mut().enumerate().filter(|(_, link)| link.is_due) {
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
