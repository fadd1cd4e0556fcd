//! Replays: one sender sends all packets in a schedule at their recorded times, with headers made
//! from the schedule.

use std::sync::Arc;

use roundelay::Seed;
use roundelay::{DropReason, Duration, FlowId, Instant, Slack};

use super::ReplayError;
use super::candidate::{Candidate, Label};
use super::record::run;
use super::schedule::{Schedule, ScheduledFlow};
use crate::agent::{Agent, Context, Outgoing};
use crate::flows::FlowSpec;
use crate::ids::LinkId;
use crate::packet_state::{PacketState, Tag};
use crate::probe::Probe;
use crate::scenario::{Progress, RunError};
use crate::simulation::{Simulation, SimulationError};

/// What a schedule's replay under a candidate gave.
#[derive(Debug, Clone)]
pub struct Replay {
    /// o'(p) by packet, or [`Instant::MAX`] if the packet was dropped.
    pub outputs: Vec<Instant>,
    /// Packets that queues dropped.
    pub dropped: u64,
    /// Events in the run.
    pub events: u64,
    /// The time that one step of `Packet::priority` stands for.
    pub priority_step: Duration,
}

/// An agent that sends all packets in a schedule.
struct Sender {
    schedule: Arc<Schedule>,
    candidate: Candidate,
    priority_step: u64,
    /// By flow: how many packets are not yet sent.
    left: Vec<u32>,
    /// Flows opened so far.
    open: Vec<FlowId>,
    next: usize,
}

impl Agent for Sender {
    fn wake(&mut self, context: &mut Context<'_>) {
        let schedule = Arc::clone(&self.schedule);
        while let Some(packet) = schedule.packets.get(self.next) {
            if packet.input > context.now() {
                return context.wake_at(packet.input);
            }
            let flow = packet.flow as usize;
            // Flows are opened in the recorded order, because their numbers choose among equal
            // routes.
            while self.open.len() <= flow {
                let ScheduledFlow {
                    from, to, config, ..
                } = schedule.flows[self.open.len()];
                let id = context.open(FlowSpec { from, to, config });
                if self.left[self.open.len()] == 0 {
                    context.close(id);
                }
                self.open.push(id);
            }
            context.send(Outgoing {
                direction: packet.direction,
                priority: (packet.output.as_picos() / self.priority_step) as u32,
                slack: self.candidate.slack_of(&schedule, packet),
                slack_has_path: false,
                deadline: packet.output,
                ..Outgoing::new(self.open[flow], packet.len)
            });
            self.left[flow] -= 1;
            if self.left[flow] == 0 {
                context.close(self.open[flow]);
            }
            self.next += 1;
        }
        context.leave();
    }
}

/// A probe that writes header fields at each node, and records when packets get out.
struct Exits {
    schedule: Arc<Schedule>,
    label: Option<Label>,
    outputs: Vec<Instant>,
    /// By packet: the index of its first hop in [`Schedule::starts`].
    firsts: Vec<u64>,
    dropped: u64,
}

impl Probe for Exits {
    #[inline]
    fn label(
        &mut self,
        now: Instant,
        link: LinkId,
        packet: &mut roundelay::Packet<Tag>,
        state: &PacketState,
    ) {
        let Some(label) = self.label else { return };
        let schedule = &self.schedule;
        let number = state.number as usize;
        let recorded = &schedule.packets[number];
        let mut route = schedule.route(recorded);
        let Some(hop) = route.position(|hop| hop == link.index()) else {
            return;
        };
        match label {
            Label::Slack => {
                let start = schedule.starts[self.firsts[number] as usize + hop];
                packet.slack = Slack::of(start.since(now)).after(now.since(start));
            }
            Label::Deadline => {
                let behind = schedule
                    .network
                    .fastest(route.map(|link| LinkId(link as u32)), recorded.len);
                let out = recorded.output.since(Instant::ZERO);
                packet.deadline =
                    Instant::ZERO + (out - behind - schedule.network.links()[link.index()].delay);
            }
        }
    }

    #[inline]
    fn delivered(&mut self, now: Instant, _packet: &roundelay::Packet<Tag>, state: &PacketState) {
        self.outputs[state.number as usize] = now;
    }

    fn dropped(
        &mut self,
        _now: Instant,
        _link: LinkId,
        _packet: &roundelay::Packet<Tag>,
        _state: &PacketState,
        _reason: DropReason,
    ) {
        self.dropped += 1;
    }
}

impl Schedule {
    /// Sends the packets again until the last one has left, with the candidate in the queues of all
    /// links that leave a router.
    ///
    /// # Errors
    /// The run fails, no link leaves a router, or the candidate's decisions cost time.
    ///
    /// # Panics
    /// The candidate needs starts, but the schedule was recorded without them.
    pub fn replay(
        self: &Arc<Self>,
        candidate: &Candidate,
        mut progress: impl FnMut(Progress),
    ) -> Result<Replay, ReplayError> {
        self.replayed(candidate, &mut progress)
    }

    fn replayed(
        self: &Arc<Self>,
        candidate: &Candidate,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Replay, ReplayError> {
        assert!(
            !candidate.needs_starts() || !self.starts.is_empty(),
            "a schedule recorded with starts"
        );
        let mut network = self.network.clone();
        let mut routers = Vec::new();
        for (link, leaves_router) in (0..).map(LinkId).zip(&self.leaves_router) {
            if *leaves_router {
                routers.push(link);
            }
        }
        if routers.is_empty() {
            return Err(ReplayError::NoRouters);
        }
        network.change_links(&routers, |link| link.set_queue(candidate.queue.clone()));
        Self::check(&network)?;
        let named = |error: SimulationError| RunError::of(error, &self.network);
        let mut last = Instant::ZERO;
        let mut left = vec![0; self.flows.len()];
        for packet in &self.packets {
            last = last.max(packet.output);
            left[packet.flow as usize] += 1;
        }
        let priority_step = (last.as_picos() >> 32) + 1;
        let exits = Exits {
            schedule: Arc::clone(self),
            label: candidate.label(),
            outputs: vec![Instant::MAX; self.packets.len()],
            firsts: if candidate.needs_starts() {
                self.firsts()
            } else {
                Vec::new()
            },
            dropped: 0,
        };
        let sender = Sender {
            schedule: Arc::clone(self),
            candidate: candidate.clone(),
            priority_step,
            left,
            open: Vec::with_capacity(self.flows.len()),
            next: 0,
        };
        let seeds = [self.seed, self.hash_seed].map(Seed::new);
        let mut simulation =
            Simulation::with_hash_seed(network, seeds[0], seeds[1], exits).map_err(named)?;
        simulation.spawn(Box::new(sender), Instant::ZERO);
        run(&mut simulation, self.window, &named, progress)?;
        let events = simulation.events();
        let Exits {
            outputs, dropped, ..
        } = simulation.into_probe();
        Ok(Replay {
            outputs,
            dropped,
            events,
            priority_step: Duration::from_picos(priority_step),
        })
    }

    /// By packet: the index of its first hop in `starts`.
    fn firsts(&self) -> Vec<u64> {
        let mut firsts = Vec::new();
        let mut next = 0;
        for packet in &self.packets {
            firsts.push(next);
            next += self.route(packet).count() as u64;
        }
        firsts
    }
}
