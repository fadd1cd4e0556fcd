//! A recorded schedule: when each packet came in and got out, and which links it took.

use std::collections::{BTreeMap, BTreeSet};

use roundelay::{Duration, FlowConfig, Instant, Slack};

use super::ReplayError;
use crate::agent::Direction;
use crate::network::{LinkConfig, LinkId, Network, NodeId, Route, Routes, link_name};

/// A flow of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Flow {
    /// Its source.
    pub from: NodeId,
    /// Its destination.
    pub to: NodeId,
    /// Weight and longest packet for queues that have weights.
    pub config: Option<FlowConfig>,
    pub(super) routes: [Route; 2],
}

/// A packet of a schedule that got out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// i(p): when it came into the network.
    pub input: Instant,
    /// o(p): when its last bit reached the end of its path.
    pub output: Instant,
    /// Its flow, by its place in [`Schedule::flows`].
    pub flow: u32,
    /// Bytes, as its source sent it.
    pub len: u32,
    /// Which way it went.
    pub direction: Direction,
    /// Routers at which it waited.
    pub congestion_points: u8,
}

/// {(path(p), i(p), o(p))} of the packets that got out, in the order in which they were sent.
#[derive(Debug)]
pub struct Schedule {
    pub(super) network: Network,
    /// By link: whether it leaves a router.
    pub(super) leaves_router: Vec<bool>,
    pub(super) routes: Routes,
    /// In the order in which they were opened.
    pub flows: Vec<Flow>,
    /// In the order in which they were sent.
    pub packets: Vec<Packet>,
    /// When each link began to send each packet, hop by hop, packet by packet. Empty where it was not asked for.
    pub(super) starts: Vec<Instant>,
    /// When sources fell silent.
    pub window: Duration,
    /// Packets sent before do not count.
    pub warmup: Duration,
    /// The seed of the recorded run.
    pub seed: u64,
    /// That of its queues' hashes.
    pub hash_seed: u64,
    /// Packets that the recorded run dropped: they are not in the schedule.
    pub dropped: u64,
    /// Events of the recorded run.
    pub events: u64,
}

impl Schedule {
    /// An empty schedule of a network with these hosts.
    pub(super) fn new(network: Network, hosts: &[NodeId]) -> Self {
        let hosts: BTreeSet<_> = hosts.iter().collect();
        let leaves_router = network.links().iter().map(|link| !hosts.contains(&link.from)).collect();
        Self {
            network,
            leaves_router,
            routes: Routes::default(),
            flows: Vec::new(),
            packets: Vec::new(),
            starts: Vec::new(),
            window: Duration::ZERO,
            warmup: Duration::ZERO,
            seed: 0,
            hash_seed: 0,
            dropped: 0,
            events: 0,
        }
    }

    /// The network on which it was recorded.
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// path(p): the links that a packet takes.
    pub fn path(&self, packet: &Packet) -> impl Iterator<Item = LinkId> + '_ {
        self.route(packet).map(|link| LinkId(link as u32))
    }

    #[inline]
    pub(super) fn route(&self, packet: &Packet) -> impl Iterator<Item = usize> + '_ {
        self.routes.links(self.flows[packet.flow as usize].routes[packet.direction.index()])
    }

    /// tmin(p): the time that a packet needs if it waits nowhere.
    #[inline]
    pub fn fastest(&self, packet: &Packet) -> Duration {
        self.network.fastest(self.path(packet), packet.len)
    }

    /// The time that a packet waited: o(p) - i(p) - tmin(p), the slack with which LSTF replays it.
    #[inline]
    pub fn waited(&self, packet: &Packet) -> Slack {
        Slack::of(packet.output.since(packet.input)).after(self.fastest(packet))
    }

    /// Packets that count, by their numbers.
    pub fn counted(&self) -> impl Iterator<Item = (usize, &Packet)> {
        let warm = Instant::ZERO + self.warmup;
        self.packets.iter().enumerate().filter(move |(_, packet)| packet.input >= warm)
    }

    /// The longest time that a packet takes on a link of its path: T, the paper's threshold, one transmission time on the bottleneck link.
    pub fn bottleneck_time(&self) -> Duration {
        let mut longest = BTreeMap::<(u32, bool), u32>::new();
        for packet in &self.packets {
            let len = longest.entry((packet.flow, packet.direction == Direction::Backward)).or_default();
            *len = packet.len.max(*len);
        }
        let times = longest.into_iter().flat_map(|((flow, is_back), len)| {
            let route = self.flows[flow as usize].routes[usize::from(is_back)];
            let time = move |link: usize| {
                let link = &self.network.links()[link];
                link.rate.time_of(u64::from(len) + u64::from(link.overhead))
            };
            self.routes.links(route).map(time)
        });
        times.max().unwrap_or(Duration::ZERO)
    }

    /// # Errors
    /// The time that packets need without waiting is not certain.
    pub(super) fn check(network: &Network) -> Result<(), ReplayError> {
        let what = |link: &LinkConfig| {
            if link.loss.0 > 0 {
                Some("its wire loses packets")
            } else if link.jitter > Duration::ZERO {
                Some("its delay varies")
            } else if link.decision_cost() != Ok(Duration::ZERO) {
                Some("decisions of its queue cost time, or the scenario does not say what they cost")
            } else {
                None
            }
        };
        network.links().iter().try_for_each(|link| match what(link) {
            Some(what) => Err(ReplayError::Uncertain { link: link_name(&network.name(link.from), &network.name(link.to)), what }),
            None => Ok(()),
        })
    }
}
