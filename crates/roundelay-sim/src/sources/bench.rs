//! Test bench for sources: nodes with fast links, and a log of the packets that were sent.

use roundelay::Seed;
use roundelay::{DropReason, Duration, Instant, Packet, Slack};

use crate::agent::Agent;
use crate::flows::FlowCounts;
use crate::ids::{Direction, FlowNumber, LinkId, NodeId};
use crate::network::{LinkConfig, Network};
use crate::packet_state::{PacketState, Tag};
use crate::probe::{Opening, Probe, Report};
use crate::simulation::Simulation;
use crate::sources::Terms;

/// A packet when its source sends it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) now: Instant,
    pub(crate) flow: FlowNumber,
    pub(crate) len: u32,
    pub(crate) slack: Slack,
    pub(crate) priority: u32,
    pub(crate) deadline: Instant,
    pub(crate) direction: Direction,
}

/// Everything that was observed.
#[derive(Debug, Default)]
pub(crate) struct Log {
    pub(crate) sent: Vec<Sent>,
    pub(crate) opened: Vec<(Instant, NodeId, NodeId)>,
    pub(crate) closed: Vec<(Instant, FlowNumber, FlowCounts)>,
    pub(crate) reports: Vec<(Instant, FlowNumber, Report)>,
}

impl Probe for Log {
    fn opened(&mut self, now: Instant, _: FlowNumber, Opening { from, to, .. }: Opening) {
        self.opened.push((now, from, to));
    }

    fn sent(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {
        let Packet {
            len,
            slack,
            priority,
            deadline,
            ..
        } = *packet;
        self.sent.push(Sent {
            now,
            flow: state.flow,
            len,
            slack,
            priority,
            deadline,
            direction: state.direction,
        });
    }

    fn reported(&mut self, now: Instant, flow: FlowNumber, report: &Report) {
        self.reports.push((now, flow, *report));
    }

    fn dropped(
        &mut self,
        _: Instant,
        _: LinkId,
        _: &Packet<Tag>,
        _: &PacketState,
        reason: DropReason,
    ) {
        panic!("the bench drops nothing: {reason:?}");
    }

    fn closed(&mut self, now: Instant, flow: FlowNumber, counts: &FlowCounts) {
        self.closed.push((now, flow, *counts));
    }
}

/// A ring of nodes, each with a link to the next and back.
#[derive(Debug)]
pub(crate) struct Bench(pub(crate) Network);

impl Default for Bench {
    fn default() -> Self {
        Self::of(2, "100gbit")
    }
}

impl Bench {
    pub(crate) fn of(nodes: u32, rate: &str) -> Self {
        Self::over(nodes, rate, Duration::from_micros(1))
    }

    pub(crate) fn over(nodes: u32, rate: &str, delay: Duration) -> Self {
        let mut network = Network::default();
        for _ in 0..nodes {
            network.add_node();
        }
        for (from, to) in
            (0..nodes).flat_map(|node| [(node, (node + 1) % nodes), ((node + 1) % nodes, node)])
        {
            let rate = rate.parse().unwrap();
            let queue = "fifo limit 100000000".parse().unwrap();
            network
                .add_link(LinkConfig::new(
                    NodeId(from),
                    NodeId(to),
                    rate,
                    delay,
                    queue,
                ))
                .unwrap();
        }
        Self(network)
    }

    /// The terms for a flow from the first node to the second.
    pub(crate) fn terms(&self) -> Terms {
        Terms::new(NodeId(0), NodeId(1))
    }

    /// The log after `secs` seconds.
    pub(crate) fn run<A: Agent + 'static>(
        &self,
        seed: u64,
        secs: u64,
        agents: impl IntoIterator<Item = A>,
    ) -> Log {
        let mut simulation =
            Simulation::with_probe(self.0.clone(), Seed::new(seed), Log::default()).unwrap();
        for agent in agents {
            simulation.spawn(Box::new(agent), Instant::ZERO);
        }
        simulation.run(seconds(secs)).unwrap();
        std::mem::take(simulation.probe_mut())
    }

    /// The packets that were sent in `secs` seconds.
    pub(crate) fn sent<A: Agent + 'static>(
        &self,
        seed: u64,
        secs: u64,
        agents: impl IntoIterator<Item = A>,
    ) -> Vec<Sent> {
        self.run(seed, secs, agents).sent
    }
}

pub(crate) fn seconds(seconds: u64) -> Instant {
    Instant::ZERO + Duration::from_secs(seconds)
}
