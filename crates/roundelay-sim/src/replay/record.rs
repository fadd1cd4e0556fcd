//! Recording: runs a scenario and records every packet.

use roundelay::{DropReason, Duration, Instant, Rate};

use super::ReplayError;
use super::schedule::{Packet, Schedule, ScheduledFlow};
use crate::ids::{FlowNumber, LinkId};
use crate::link::waited;
use crate::network::Network;
use crate::packet_state::{PacketState, Tag};
use crate::probe::{Opening, Probe};
use crate::scenario::{Progress, RunError, Scenario};
use crate::simulation::{Simulation, SimulationError};

/// A run reports its progress this many times.
pub(super) const STEPS: u64 = 200;

/// A probe that records the schedule.
struct Recorder {
    schedule: Schedule,
    /// By link: whether a wait there is a congestion point, and the rate if the link is preemptive.
    links: Vec<(bool, Option<Rate>)>,
    /// By group: the flows' weight and maximum packet length.
    configs: Vec<Option<roundelay::FlowConfig>>,
    /// By packet: the index of its first hop in [`Schedule::starts`]. None: starts are not
    /// recorded.
    firsts: Option<Vec<u64>>,
    /// By the arena slot of each packet on its way: at how many routers it has waited. With one
    /// byte per packet this stays in the cache, unlike the schedule.
    points: Vec<u8>,
    failure: Option<SimulationError>,
}

impl Probe for Recorder {
    fn opened(
        &mut self,
        _now: Instant,
        flow: FlowNumber,
        Opening {
            group, from, to, ..
        }: Opening,
    ) {
        let Schedule {
            network,
            routes,
            flows,
            ..
        } = &mut self.schedule;
        match routes.there_and_back(network, from, to, flow.0) {
            Ok(routes) => flows.push(ScheduledFlow {
                from,
                to,
                config: self.configs[group as usize],
                routes,
            }),
            Err(error) => self.failure = Some(error.into()),
        }
    }

    fn sent(&mut self, now: Instant, packet: &roundelay::Packet<Tag>, state: &PacketState) {
        let PacketState {
            flow, direction, ..
        } = *state;
        let slot = packet.payload.slot as usize;
        if slot >= self.points.len() {
            self.points.resize(slot + 1, 0);
        }
        self.points[slot] = 0;
        let packet = Packet {
            input: now,
            output: Instant::MAX,
            flow: flow.0 as u32,
            len: packet.len,
            direction,
            congestion_points: 0,
        };
        if let Some(firsts) = &mut self.firsts {
            firsts.push(self.schedule.starts.len() as u64);
            let hops = self.schedule.route(&packet).count();
            let all = self.schedule.starts.len() + hops;
            self.schedule.starts.resize(all, Instant::MAX);
        }
        self.schedule.packets.push(packet);
    }

    // Inlined, so that it fetches the packet's `PacketState` only if starts are recorded.
    #[inline(always)]
    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &roundelay::Packet<Tag>,
        state: &PacketState,
        span: [Instant; 2],
    ) {
        let (counts, preempted_at) = self.links[link.index()];
        if counts && waited(preempted_at, packet, span) > Duration::ZERO {
            let points = &mut self.points[packet.payload.slot as usize];
            *points = points.saturating_add(1);
        }
        if self.firsts.is_some() {
            // If the packet was interrupted, we record when an uninterrupted transmission with the
            // same end would have started.
            let start = preempted_at.map_or(span[0], |rate| {
                Instant::ZERO + (span[1].since(Instant::ZERO) - rate.time_of(packet.len.into()))
            });
            self.keep_start(link, state, start);
        }
    }

    #[inline]
    fn delivered(&mut self, now: Instant, packet: &roundelay::Packet<Tag>, state: &PacketState) {
        let recorded = &mut self.schedule.packets[state.number as usize];
        recorded.output = now;
        recorded.congestion_points = self.points[packet.payload.slot as usize];
    }

    /// The packet reached the end of its path, and Edge-CoDel is not part of the schedule.
    fn edge_dropped(&mut self, now: Instant, packet: &roundelay::Packet<Tag>, state: &PacketState) {
        self.delivered(now, packet, state);
    }

    fn dropped(
        &mut self,
        _now: Instant,
        _link: LinkId,
        _packet: &roundelay::Packet<Tag>,
        state: &PacketState,
        _reason: DropReason,
    ) {
        let packet = &self.schedule.packets[state.number as usize];
        self.schedule.dropped += u64::from(packet.input >= Instant::ZERO + self.schedule.warmup);
    }
}

impl Recorder {
    fn new(network: &Network, scenario: &Scenario, keeps_starts: bool) -> Self {
        let schedule = Schedule {
            warmup: scenario.warmup,
            ..Schedule::new(network.clone(), &scenario.topology.hosts)
        };
        let rates = network.links().iter().map(|link| link.preempted_at());
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

    /// Records when a link began to send a packet.
    #[cold]
    #[inline(never)]
    fn keep_start(&mut self, link: LinkId, state: &PacketState, start: Instant) {
        let (Some(firsts), number) = (&self.firsts, state.number as usize) else {
            return;
        };
        let packet = self.schedule.packets[number];
        let hop = self
            .schedule
            .route(&packet)
            .position(|hop| hop == link.index());
        if let Some(hop) = hop {
            self.schedule.starts[firsts[number] as usize + hop] = start;
        }
    }

    /// The schedule, without dropped packets.
    fn finish(self) -> Schedule {
        let mut schedule = self.schedule;
        let mut packets = schedule.packets.iter();
        if packets.all(|packet| packet.output < Instant::MAX) {
            return schedule;
        }
        if let Some(firsts) = self.firsts {
            let mut starts = Vec::new();
            for (number, packet) in schedule.packets.iter().enumerate() {
                if packet.output < Instant::MAX {
                    let first = firsts[number] as usize;
                    let next = firsts.get(number + 1).map(|next| *next as usize);
                    let end = next.unwrap_or(schedule.starts.len());
                    starts.extend_from_slice(&schedule.starts[first..end]);
                }
            }
            schedule.starts = starts;
        }
        schedule
            .packets
            .retain(|packet| packet.output < Instant::MAX);
        schedule
    }
}

impl Schedule {
    /// Runs a scenario with a seed and records the schedule: all packets sent within the duration,
    /// until the last one has left. If `keeps_starts`, it also records when each link began to send
    /// each packet, which omniscient headers need. This takes 8 bytes for each hop of a packet.
    ///
    /// # Errors
    /// The run fails, no packet gets out, wires lose packets or vary in delay, or decisions cost
    /// time.
    pub fn record(
        scenario: &Scenario,
        seed: u64,
        keeps_starts: bool,
        mut progress: impl FnMut(Progress),
    ) -> Result<Self, ReplayError> {
        Self::recorded(scenario, seed, keeps_starts, &mut progress)
    }

    fn recorded(
        scenario: &Scenario,
        seed: u64,
        keeps_starts: bool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, ReplayError> {
        let network = scenario.network(seed);
        Self::check(&network)?;
        let mut simulation =
            scenario.simulation(seed, Recorder::new(&network, scenario, keeps_starts))?;
        run(
            &mut simulation,
            scenario.duration,
            &|error| scenario.named(error),
            progress,
        )?;
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
        let Scenario {
            duration,
            warmup,
            hash_seed,
            ..
        } = *scenario;
        Ok(Self {
            window: duration,
            warmup,
            seed,
            hash_seed: hash_seed.unwrap_or(seed),
            events,
            ..schedule
        })
    }
}

/// Runs with agents until `window`, then without them until the network is empty.
pub(super) fn run<P: Probe>(
    simulation: &mut Simulation<P>,
    window: Duration,
    named: &dyn Fn(SimulationError) -> RunError,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), ReplayError> {
    for step in 1..=STEPS {
        let until = Instant::from_picos(
            (u128::from(window.as_picos()) * u128::from(step) / u128::from(STEPS)) as u64,
        );
        simulation.run(until).map_err(named)?;
        progress(Progress {
            now: until.since(Instant::ZERO),
            end: window,
            events: simulation.events(),
        });
    }
    simulation.silence();
    simulation.run(Instant::MAX).map_err(named)?;
    if simulation.on_their_way() > 0 {
        Err(ReplayError::TooLong)
    } else {
        Ok(())
    }
}
