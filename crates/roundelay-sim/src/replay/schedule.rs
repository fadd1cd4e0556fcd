//! A recorded schedule: when each packet entered the network, when it got out, and its path.

use std::collections::{BTreeMap, BTreeSet};

use roundelay::{Duration, FlowConfig, Instant, Slack};

use super::ReplayError;
use crate::ids::{Direction, LinkId, NodeId};
use crate::network::{Network, link_name};
use crate::routing::{Route, Routes};

/// A flow of a schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScheduledFlow {
    /// The source.
    pub from: NodeId,
    /// The destination.
    pub to: NodeId,
    /// Weight and maximum packet length for weighted queues.
    pub config: Option<FlowConfig>,
    pub(super) routes: [Route; 2],
}

/// A packet in a schedule, recorded once it got out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet {
    /// i(p): when the packet entered the network.
    pub input: Instant,
    /// o(p): when the last bit reached the end of the path.
    pub output: Instant,
    /// The flow: an index into [`Schedule::flows`].
    pub flow: u32,
    /// Length in bytes, as sent by the source.
    pub len: u32,
    /// The direction.
    pub direction: Direction,
    /// At how many routers the packet waited.
    pub congestion_points: u8,
}

/// {(path(p), i(p), o(p))} for each packet that got out, in the order in which they were sent.
#[derive(Debug)]
pub struct Schedule {
    pub(super) network: Network,
    /// By link: whether the link leaves a router.
    pub(super) leaves_router: Vec<bool>,
    pub(super) routes: Routes,
    /// Flows, in the order in which they were opened.
    pub flows: Vec<ScheduledFlow>,
    /// Packets, in the order in which they were sent.
    pub packets: Vec<Packet>,
    /// When each link began to send each packet: by packet, then by hop. Empty if nobody asked for
    /// it.
    pub(super) starts: Vec<Instant>,
    /// When sources stop.
    pub window: Duration,
    /// Packets sent before this time are not counted.
    pub warmup: Duration,
    /// The recorded run's seed.
    pub seed: u64,
    /// The seed for hashes in the recorded run's queues.
    pub hash_seed: u64,
    /// Packets that were sent after the warm-up but dropped in the recorded run. They are not in
    /// the schedule.
    pub dropped: u64,
    /// Events in the recorded run.
    pub events: u64,
}

impl Schedule {
    /// An empty schedule for a network with these hosts.
    pub(super) fn new(network: Network, hosts: &[NodeId]) -> Self {
        let hosts: BTreeSet<_> = hosts.iter().collect();
        let leaves_router = network
            .links()
            .iter()
            .map(|link| !hosts.contains(&link.from))
            .collect();
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

    /// The network in which the schedule was recorded.
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// path(p): the links on a packet's path.
    pub fn path(&self, packet: &Packet) -> impl Iterator<Item = LinkId> + '_ {
        self.route(packet).map(|link| LinkId(link as u32))
    }

    #[inline]
    pub(super) fn route(&self, packet: &Packet) -> impl Iterator<Item = usize> + '_ {
        self.routes
            .links(self.flows[packet.flow as usize].routes[packet.direction.index()])
    }

    /// tmin(p): how long a packet takes over its path without waiting.
    #[inline]
    pub fn fastest(&self, packet: &Packet) -> Duration {
        self.network.fastest(self.path(packet), packet.len)
    }

    /// How long a packet waited, o(p) - i(p) - tmin(p). This is its initial slack in a replay by
    /// LSTF.
    #[inline]
    pub fn waited(&self, packet: &Packet) -> Slack {
        Slack::of(packet.output.since(packet.input)).after(self.fastest(packet))
    }

    /// The packets that are counted because they were sent after the warm-up, with their numbers.
    pub fn counted(&self) -> impl Iterator<Item = (usize, &Packet)> {
        let warm = Instant::ZERO + self.warmup;
        self.packets
            .iter()
            .enumerate()
            .filter(move |(_, packet)| packet.input >= warm)
    }

    /// The longest that any packet takes to be transmitted on a link of its path. This is the
    /// paper's threshold T, one transmission time on the bottleneck link.
    pub fn bottleneck_time(&self) -> Duration {
        let mut longest = BTreeMap::<(u32, bool), u32>::new();
        for packet in &self.packets {
            let len = longest
                .entry((packet.flow, packet.direction == Direction::Backward))
                .or_default();
            *len = packet.len.max(*len);
        }
        let mut bottleneck = Duration::ZERO;
        for ((flow, is_back), len) in longest {
            let route = self.flows[flow as usize].routes[usize::from(is_back)];
            for link in self.routes.links(route) {
                let link = &self.network.links()[link];
                let time = link.rate.time_of(link.layer.len_on_link(len).into());
                bottleneck = bottleneck.max(time);
            }
        }
        bottleneck
    }

    /// # Errors
    /// It is uncertain how long packets take without waiting.
    pub(super) fn check(network: &Network) -> Result<(), ReplayError> {
        for link in network.links() {
            let what = if link.trace.is_some() {
                "its rate follows a trace"
            } else if link.loss.0 > 0 {
                "its wire loses packets"
            } else if link.jitter > Duration::ZERO {
                "its delay varies"
            } else if link.decision_cost() != Ok(Duration::ZERO) {
                "decisions of the queue cost time, or the scenario has no time for the decisions"
            } else {
                continue;
            };
            return Err(ReplayError::Uncertain {
                link: link_name(&network.name(link.from), &network.name(link.to)),
                what,
            });
        }
        Ok(())
    }
}
