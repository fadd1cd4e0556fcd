//! Recording: a scenario's run, packet by packet.

use roundelay::{DropReason, Duration, Instant, Rate};

use super::ReplayError;
use super::schedule::{Flow, Packet, Schedule};
use crate::cargo::{Cargo, Carried};
use crate::flows::FlowNumber;
use crate::link::{preempts, waited};
use crate::network::{LinkId, Network, NodeId};
use crate::probe::Probe;
use crate::scenario::{Progress, RunError, Scenario};
use crate::simulation::{Simulation, SimulationError};

/// How often progress is told.
pub(super) const STEPS: u64 = 200;

/// Writes a schedule down while it happens.
struct Recorder {
    schedule: Schedule,
    /// By link: whether packets that wait there pass a congestion point, and the rate if it interrupts packets.
    links: Vec<(bool, Option<Rate>)>,
    /// By group: what queues with weights are told of its flows.
    configs: Vec<Option<roundelay::FlowConfig>>,
    /// By packet: the place of its first hop in the schedule's starts. None: starts are not kept.
    firsts: Option<Vec<u64>>,
    /// By place in the arena of packets on their way: routers at which the packet waited. A byte a packet stays in the cache where the schedule does not.
    points: Vec<u8>,
    failure: Option<SimulationError>,
}

impl Probe for Recorder {
    fn opened(&mut self, _now: Instant, flow: FlowNumber, group: u32, from: NodeId, to: NodeId) {
        let Schedule { network, routes, flows, .. } = &mut self.schedule;
        match routes.there_and_back(network, from, to, flow.0) {
            Ok(routes) => flows.push(Flow { from, to, config: self.configs[group as usize], routes }),
            Err(error) => self.failure = Some(error.into()),
        }
    }

    fn sent(&mut self, now: Instant, packet: &roundelay::Packet<Carried>, cargo: &Cargo) {
        let Cargo { flow, direction, .. } = *cargo;
        let place = packet.payload.cargo as usize;
        if place >= self.points.len() {
            self.points.resize(place + 1, 0);
        }
        self.points[place] = 0;
        let packet = Packet { input: now, output: Instant::MAX, flow: flow.0 as u32, len: packet.len, direction, congestion_points: 0 };
        if let Some(firsts) = &mut self.firsts {
            firsts.push(self.schedule.starts.len() as u64);
            let hops = self.schedule.route(&packet).count();
            let all = self.schedule.starts.len() + hops;
            self.schedule.starts.resize(all, Instant::MAX);
        }
        self.schedule.packets.push(packet);
    }

    // Inlined, so that what the packet carries beside its header is not fetched where nobody asks for it.
    #[inline(always)]
    fn transmitted(&mut self, link: LinkId, packet: &roundelay::Packet<Carried>, cargo: &Cargo, span: [Instant; 2]) {
        let (counts, preempted_at) = self.links[link.index()];
        if counts && waited(preempted_at, packet, span) > Duration::ZERO {
            let points = &mut self.points[packet.payload.cargo as usize];
            *points = points.saturating_add(1);
        }
        if self.firsts.is_some() {
            // Of a packet that was interrupted, when it would have begun to leave at the same time in one piece.
            let start =
                preempted_at.map_or(span[0], |rate| Instant::ZERO + (span[1].since(Instant::ZERO) - rate.time_of(packet.len.into())));
            self.keep_start(link, cargo, start);
        }
    }

    #[inline]
    fn delivered(&mut self, now: Instant, packet: &roundelay::Packet<Carried>, cargo: &Cargo) {
        let recorded = &mut self.schedule.packets[cargo.number as usize];
        recorded.output = now;
        recorded.congestion_points = self.points[packet.payload.cargo as usize];
    }

    /// The network has brought it there: its schedule has no edge.
    fn edge_dropped(&mut self, now: Instant, packet: &roundelay::Packet<Carried>, cargo: &Cargo) {
        self.delivered(now, packet, cargo);
    }

    fn dropped(&mut self, _now: Instant, _link: LinkId, _packet: &roundelay::Packet<Carried>, _cargo: &Cargo, _reason: DropReason) {
        self.schedule.dropped += 1;
    }
}

impl Recorder {
    fn new(network: &Network, scenario: &Scenario, keeps_starts: bool) -> Self {
        let schedule = Schedule::new(network.clone(), &scenario.topology.hosts);
        let rates = network.links().iter().map(|link| preempts(&link.queue).then_some(link.rate));
        let links = schedule.leaves_router.iter().copied().zip(rates);
        Self {
            links: links.collect(),
            schedule,
            configs: scenario.groups.iter().map(|group| group.flow).collect(),
            firsts: keeps_starts.then(Vec::new),
            points: Vec::new(),
            failure: None,
        }
    }

    /// Writes down when a link began to send a packet.
    #[cold]
    #[inline(never)]
    fn keep_start(&mut self, link: LinkId, cargo: &Cargo, start: Instant) {
        let (Some(firsts), number) = (&self.firsts, cargo.number as usize) else { return };
        let packet = self.schedule.packets[number];
        let hop = self.schedule.route(&packet).position(|hop| hop == link.index());
        if let Some(hop) = hop {
            self.schedule.starts[firsts[number] as usize + hop] = start;
        }
    }

    /// The schedule without packets that were dropped.
    fn finish(self) -> Schedule {
        let mut schedule = self.schedule;
        if schedule.dropped > 0 {
            if let Some(firsts) = self.firsts {
                let all = firsts.iter().skip(1).copied().chain([schedule.starts.len() as u64]);
                let kept = firsts.iter().zip(all).zip(&schedule.packets).filter(|(_, packet)| packet.output < Instant::MAX);
                schedule.starts = kept.flat_map(|((first, end), _)| schedule.starts[*first as usize..end as usize].to_vec()).collect();
            }
            schedule.packets.retain(|packet| packet.output < Instant::MAX);
        }
        schedule
    }
}

impl Schedule {
    /// Runs a scenario with a seed and writes down its schedule: all packets sent within its duration, until the last of them has left. `keeps_starts`:
    /// when each link began to send each packet, which omniscient headers need; 8 bytes a packet-hop.
    ///
    /// # Errors
    /// The run fails, nothing gets out, or wires lose packets or vary in delay.
    pub fn record(scenario: &Scenario, seed: u64, keeps_starts: bool, mut progress: impl FnMut(Progress)) -> Result<Self, ReplayError> {
        let network = scenario.network(seed);
        Self::check(&network)?;
        let mut simulation = scenario.simulation(seed, Recorder::new(&network, scenario, keeps_starts))?;
        run(&mut simulation, scenario.duration, |error| scenario.named(error), &mut progress)?;
        let events = simulation.events();
        let mut recorder = simulation.into_probe();
        if let Some(error) = recorder.failure.take() {
            return Err(scenario.named(error).into());
        }
        let schedule = recorder.finish();
        if schedule.flows.len() > u32::MAX as usize || schedule.packets.len() > u32::MAX as usize {
            return Err(ReplayError::TooMany);
        }
        if schedule.packets.is_empty() {
            return Err(ReplayError::Empty);
        }
        let Scenario { duration, warmup, hash_seed, .. } = *scenario;
        Ok(Self { window: duration, warmup, seed, hash_seed: hash_seed.unwrap_or(seed), events, ..schedule })
    }
}

/// Runs until `window`, and on without agents until the network is empty.
pub(super) fn run<P: Probe>(
    simulation: &mut Simulation<P>,
    window: Duration,
    named: impl Fn(SimulationError) -> RunError,
    progress: &mut impl FnMut(Progress),
) -> Result<(), ReplayError> {
    for step in 1..=STEPS {
        let until = Instant::from_picos((u128::from(window.as_picos()) * u128::from(step) / u128::from(STEPS)) as u64);
        simulation.run(until).map_err(&named)?;
        progress(Progress { now: until.since(Instant::ZERO), end: window, events: simulation.events() });
    }
    simulation.silence();
    simulation.run(Instant::MAX).map_err(&named)?;
    if simulation.on_their_way() > 0 { Err(ReplayError::TooLong) } else { Ok(()) }
}
