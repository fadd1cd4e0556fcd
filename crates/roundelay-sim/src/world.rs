//! State of a run that links and agents share.

use roundelay::{DropReason, Ecn, FlowId, Instant, Packet};

use crate::agent::Departure;
use crate::edge::Decision;
use crate::event_queue::Key;
use crate::flows::{FlowCounts, FlowState, Flows};
use crate::ids::{AgentId, Direction, LinkId};
use crate::packet_state::{Arena, Content, Tag};
use crate::probe::Probe;

/// What links and agents share: packet arena, flow table, probe.
#[derive(Debug)]
pub(crate) struct World<P> {
    pub(crate) arena: Arena,
    pub(crate) flows: Flows,
    pub(crate) probe: P,
    /// The last scheduled event's number. If two events fall on one instant, the lower number comes
    /// first.
    pub(crate) sequence: u64,
    pub(crate) packets: u64,
    /// Whether any flow's slack is written when packets leave its host.
    pub(crate) stamps_departures: bool,
    /// Whether any flow's agent is told of departures, and those that are not told yet.
    pub(crate) tells_departures: bool,
    pub(crate) departed: Vec<Departure>,
}

impl<P: Probe> World<P> {
    #[inline]
    pub(crate) fn next_key(&mut self, at: Instant) -> Key {
        self.sequence += 1;
        Key::new(at, self.sequence)
    }

    pub(crate) fn drop(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        now: Instant,
        reason: DropReason,
    ) {
        self.note_departure(packet);
        let state = self.arena.at(packet.payload.slot);
        self.probe.dropped(now, link, packet, state, reason);
        self.count(packet.flow, state.direction, |counts| {
            counts.dropped[reason as usize] += 1
        });
        self.leave_network(packet, now);
    }

    pub(crate) fn lose(&mut self, link: LinkId, packet: &Packet<Tag>, now: Instant) {
        let state = self.arena.at(packet.payload.slot);
        self.probe.lost(now, link, packet, state);
        self.count(packet.flow, state.direction, |counts| counts.lost += 1);
        self.leave_network(packet, now);
    }

    /// Notes that a packet leaves the queue of a link, for agents that are told of the first one.
    #[inline]
    pub(crate) fn note_departure(&mut self, packet: &Packet<Tag>) {
        if self.tells_departures {
            self.note_first_departure(packet);
        }
    }

    #[cold]
    fn note_first_departure(&mut self, packet: &Packet<Tag>) {
        let Some(flow) = self.flows.at(packet.flow) else {
            return;
        };
        let state = self.arena.at(packet.payload.slot);
        let is_first = packet.payload.hop == flow.routes[0].0;
        if flow.tells_departures
            && is_first
            && state.direction == Direction::Forward
            && let Content::Segment(segment) = state.content
        {
            self.departed.push(Departure {
                flow: packet.flow,
                data: segment.len,
            });
        }
    }

    /// Writes the slack of a packet that leaves its host's interface at `now`, if the flow's rule
    /// writes slack there.
    pub(crate) fn stamp_departure(&mut self, packet: &mut Packet<Tag>, now: Instant) {
        let state = self.arena.at_mut(packet.payload.slot);
        let direction = state.direction.index();
        let Some(FlowState {
            departures: Some(departures),
            routes,
            ..
        }) = self.flows.at_mut(packet.flow)
        else {
            return;
        };
        let is_host = packet.payload.hop == routes[direction].0;
        if is_host && let Some(slack) = departures[direction].depart(state.initial_slack, now) {
            (packet.slack, state.initial_slack) = (slack, slack);
        }
    }

    /// The flow's Edge-CoDel marks, drops or passes a packet at the end of its route. Returns true
    /// if it drops the packet.
    pub(crate) fn drops_at_edge(&mut self, packet: &mut Packet<Tag>, now: Instant) -> bool {
        let state = self.arena.at(packet.payload.slot);
        let Some(FlowState {
            edge: Some(edge),
            counts,
            ..
        }) = self.flows.at_mut(packet.flow)
        else {
            return false;
        };
        match edge.decide(now, packet, state) {
            Decision::Pass => return false,
            Decision::Mark => {
                counts.edge_marked += 1;
                packet.ecn = Ecn::Marked;
                self.probe.edge_marked(now, packet, state);
                return false;
            }
            Decision::Drop => counts.edge_dropped += 1,
        }
        self.probe.edge_dropped(now, packet, state);
        self.leave_network(packet, now);
        true
    }

    #[inline]
    pub(crate) fn count(
        &mut self,
        flow: FlowId,
        direction: Direction,
        write: impl FnOnce(&mut FlowCounts),
    ) {
        if direction == Direction::Forward
            && let Some(flow) = self.flows.at_mut(flow)
        {
            write(&mut flow.counts);
        }
    }

    /// Releases a packet. If this was a closed flow's last packet, the flow ends. Returns the agent
    /// if the flow is open.
    #[inline]
    pub(crate) fn leave_network(&mut self, packet: &Packet<Tag>, now: Instant) -> Option<AgentId> {
        self.arena.release(packet.payload.slot);
        let flow = self.flows.at_mut(packet.flow)?;
        flow.on_their_way -= 1;
        if flow.is_open {
            return Some(flow.agent);
        }
        if flow.on_their_way == 0 {
            self.end(packet.flow, now);
        }
        None
    }

    pub(crate) fn end(&mut self, id: FlowId, now: Instant) {
        if let Some(flow) = self.flows.forget(id) {
            self.probe.closed(now, flow.number, &flow.counts);
        }
    }
}
