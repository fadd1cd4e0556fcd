//! Flow table: the routes and counts of all flows that are alive.

use roundelay::{DropReason, Duration, FlowConfig, FlowId, Instant, Slack};

use crate::edge::Edge;
use crate::ids::{AgentId, FlowNumber, NodeId};
use crate::routing::Route;
use crate::sources::Stamped;
use crate::sources::urgency::grown;

/// A flow to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowSpec {
    /// The source node.
    pub from: NodeId,
    /// The destination node.
    pub to: NodeId,
    /// Weight and maximum packet length for the schedulers on the route. If None, they use their
    /// defaults.
    pub config: Option<FlowConfig>,
}

impl FlowSpec {
    /// The flow's weight, or 1 if none is set.
    pub fn weight(&self) -> u32 {
        self.config.map_or(1, |config| config.weight)
    }
}

/// What is counted for a flow. Only forward packets count, not replies.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowCounts {
    /// Packets sent.
    pub sent: u64,
    /// Packets delivered.
    pub delivered: u64,
    /// Bytes delivered.
    pub bytes: u64,
    /// Packets dropped by queues, by reason, in the order of [`DropReason::ALL`].
    pub dropped: [u64; DropReason::ALL.len()],
    /// Packets lost on a wire.
    pub lost: u64,
    /// Packets that Edge-CoDel dropped at the end of their route. `delivered` does not include
    /// them.
    pub edge_dropped: u64,
    /// Packets that Edge-CoDel marked. `delivered` includes them.
    pub edge_marked: u64,
    /// Sum of the delays from the agent to the end of the route, in picoseconds.
    pub delays: u128,
    /// The longest delay.
    pub longest_delay: Duration,
}

impl FlowCounts {
    #[inline]
    pub(crate) fn deliver(&mut self, len: u32, delay: Duration) {
        self.delivered += 1;
        self.bytes += u64::from(len);
        self.delays += u128::from(delay.as_picos());
        self.longest_delay = self.longest_delay.max(delay);
    }
}

/// A flow that is open, or closed with packets still on their way.
#[derive(Debug)]
pub(crate) struct FlowState {
    pub(crate) number: FlowNumber,
    pub(crate) agent: AgentId,
    /// Forward and backward.
    pub(crate) routes: [Route; 2],
    pub(crate) config: Option<FlowConfig>,
    /// Packets on their way, in both directions.
    pub(crate) on_their_way: u32,
    pub(crate) is_open: bool,
    /// None if the group does not use Edge-CoDel.
    pub(crate) edge: Option<Box<Edge>>,
    /// Forward and backward, if slack is written at departure.
    pub(crate) departures: Option<Box<[Departures; 2]>>,
    /// Whether the agent is told when forward packets leave their host's queue.
    pub(crate) tells_departures: bool,
    pub(crate) counts: FlowCounts,
}

/// How a flow's slack is written when packets leave their host, and when the last one left.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Departures {
    pub(crate) stamped: Stamped,
    before: Option<(Instant, Slack)>,
}

impl Departures {
    /// The slack that a packet sent with `slack` gets when it leaves at `now`. None: it keeps its
    /// own.
    pub(crate) fn depart(&mut self, slack: Slack, now: Instant) -> Option<Slack> {
        match self.stamped {
            Stamped::AtSending => None,
            Stamped::AtDeparture => Some(slack),
            Stamped::Fairly { gain, least } => {
                let fair = match self.before {
                    None => least,
                    Some((then, slack)) => grown(slack, gain, now.since(then)).max(least),
                };
                self.before = Some((now, fair));
                Some(fair)
            }
        }
    }
}

/// All flows, by `FlowId`.
#[derive(Debug, Default)]
pub(crate) struct Flows {
    flows: Vec<Option<FlowState>>,
    free: Vec<u32>,
    opened: u64,
}

impl Flows {
    /// Reserves a `FlowId` for a flow that is about to be opened.
    pub(crate) fn reserve(&mut self) -> FlowId {
        if let Some(number) = self.free.pop() {
            return FlowId(number);
        }
        self.flows.push(None);
        FlowId((self.flows.len() - 1) as u32)
    }

    /// The number that the next flow will have.
    pub(crate) const fn next_number(&self) -> FlowNumber {
        FlowNumber(self.opened)
    }

    pub(crate) fn open(
        &mut self,
        id: FlowId,
        agent: AgentId,
        spec: &FlowSpec,
        routes: [Route; 2],
        edge: Option<Box<Edge>>,
    ) {
        let number = self.next_number();
        self.opened += 1;
        let counts = FlowCounts::default();
        self.flows[id.index()] = Some(FlowState {
            number,
            agent,
            routes,
            config: spec.config,
            on_their_way: 0,
            is_open: true,
            edge,
            departures: None,
            tells_departures: false,
            counts,
        });
    }

    #[inline]
    pub(crate) fn at(&self, id: FlowId) -> Option<&FlowState> {
        self.flows.get(id.index())?.as_ref()
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, id: FlowId) -> Option<&mut FlowState> {
        self.flows.get_mut(id.index())?.as_mut()
    }

    /// Removes a flow that has ended.
    pub(crate) fn forget(&mut self, id: FlowId) -> Option<FlowState> {
        self.free.push(id.0);
        self.flows[id.index()].take()
    }

    /// The flows that are alive, in the order of their `FlowId`s.
    pub(crate) fn alive(&self) -> impl Iterator<Item = &FlowState> {
        self.flows.iter().flatten()
    }
}
