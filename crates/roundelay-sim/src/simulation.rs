//! The event loop: packets arrive at queues and leave, agents are called, and time jumps from one
//! event to the next.

use std::collections::VecDeque;

use roundelay::Purpose;
use roundelay::Seed;
use roundelay::{AnyPort, ConfigError, Duration, FlowConfig, FlowId, Hosts, Instant, Packet};

use crate::agent::{Agent, Arrival, Command, Context, Outgoing};
use crate::edge::{Edge, EdgeControl};
use crate::event_queue::{EVENTS, EventQueue, Key, OWNERS, Owner};
use crate::flows::{FlowCounts, FlowSpec, FlowState, Flows};
use crate::headers::{self, Marks};
use crate::ids::{AgentId, Direction, FlowNumber, LinkId};
use crate::link::{Link, LinkCounts, Work, next_key};
use crate::network::{Network, NetworkError};
use crate::packet_state::{Arena, PacketState, Tag, acknowledgement};
use crate::probe::{Opening, Probe, Report};
use crate::random::generator;
use crate::routing::{ARRIVED, Route, Routes};
use crate::sources::Stamped;
use crate::world::World;

/// Why a simulation could not be set up, or could not go on.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SimulationError {
    /// A link's discipline rejects a flow, or one of its parameters is out of range.
    #[error("link {}: {error}", .link.0)]
    Queue {
        /// The link.
        link: LinkId,
        /// What is wrong.
        error: ConfigError,
    },
    /// There is no route for a flow.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// There are more links and agents than the event queue can number (`OWNERS`).
    #[error("the links and the agents alive are more than {OWNERS}")]
    TooLarge,
    /// There are more events than sequence numbers (`EVENTS`).
    #[error("more than {EVENTS} events")]
    TooLong,
    /// Somebody requested a stop: see [`Network::set_stop`].
    #[error("interrupted")]
    Stopped,
}

/// How many events are scheduled between two checks for a stop. They take a few milliseconds, which
/// is short for a user who waits but long beside the check.
const LOOK_EVERY: u64 = 1 << 14;

/// An agent and its stream of random numbers.
struct Seat {
    agent: Box<dyn Agent>,
    group: u32,
    random: rand_pcg::Pcg64Mcg,
    open_flows: u32,
    leaves: bool,
}

/// A network with agents and flows, and the current time.
pub struct Simulation<P = ()> {
    network: Network,
    seed: Seed,
    now: Instant,
    links: Vec<Link>,
    routes: Routes,
    seats: Vec<Option<Seat>>,
    free_seats: Vec<u32>,
    spawned: u32,
    world: World<P>,
    /// By group: which protocol and DSCP the flows' headers have.
    marks: Vec<Marks>,
    /// By group: the flows' Edge-CoDel. Empty if no group uses it.
    edges: Vec<Option<EdgeControl>>,
    /// Whether any link has a tree, because a tree sorts flows by their headers.
    has_trees: bool,
    /// Whether some queue divides its link among hosts.
    reads_hosts: bool,
    /// Whether some queue filters acknowledgements.
    reads_acks: bool,
    /// Whether some queue takes priorities for code points.
    reads_code_points: bool,
    /// The next event for each link and agent.
    events: EventQueue,
    /// Events handled.
    happened: u64,
    /// The sequence number at which to look for a stop and at sizes again.
    looks_at: u64,
    /// Links that must pick at this instant, after all arrivals.
    due: Vec<u32>,
    commands: Vec<Command>,
    /// Agents that commands will add, in order.
    newcomers: VecDeque<Box<dyn Agent>>,
}

impl Simulation {
    /// An idle simulation of a network, without agents and without a probe.
    ///
    /// # Errors
    /// A discipline's parameter is out of range.
    pub fn new(network: Network, seed: Seed) -> Result<Self, SimulationError> {
        Self::with_probe(network, seed, ())
    }
}

impl<P: Probe> Simulation<P> {
    /// An idle simulation of a network, without agents. Each queue, wire and agent gets a seed of
    /// its own, derived from `seed`.
    ///
    /// # Errors
    /// A discipline's parameter is out of range.
    pub fn with_probe(network: Network, seed: Seed, probe: P) -> Result<Self, SimulationError> {
        Self::with_hash_seed(network, seed, seed, probe)
    }

    /// [`with_probe`](Self::with_probe), but the queues' hashes and random draws have another seed:
    /// their seeds are derived from `hash_seed`, and those for sources and wires from `seed`.
    ///
    /// # Errors
    /// A discipline's parameter is out of range.
    pub fn with_hash_seed(
        network: Network,
        seed: Seed,
        hash_seed: Seed,
        probe: P,
    ) -> Result<Self, SimulationError> {
        let mut links = Vec::with_capacity(network.links().len());
        for (number, config) in network.links().iter().enumerate() {
            let id = LinkId(number as u32);
            let link = Link::new(id, config, [seed, hash_seed]);
            links.push(link.map_err(|error| SimulationError::Queue { link: id, error })?);
        }
        if links.len() >= OWNERS {
            return Err(SimulationError::TooLarge);
        }
        let mut has_trees = false;
        let mut reads_code_points = false;
        let mut reads_acks = false;
        let mut reads_hosts = false;
        for link in network.links() {
            has_trees |= link.tree.is_some();
            reads_code_points |= link.reads_code_points();
            reads_acks |= link.reads_acknowledgements();
            reads_hosts |= link.reads_hosts();
        }
        let world = World {
            arena: Arena::default(),
            flows: Flows::default(),
            probe,
            sequence: 0,
            packets: 0,
            stamps_departures: false,
            tells_departures: false,
            departed: Vec::new(),
        };
        Ok(Self {
            network,
            seed,
            now: Instant::ZERO,
            links,
            routes: Routes::default(),
            seats: Vec::new(),
            free_seats: Vec::new(),
            spawned: 0,
            world,
            marks: Vec::new(),
            edges: Vec::new(),
            has_trees,
            reads_hosts,
            reads_acks,
            reads_code_points,
            events: EventQueue::default(),
            happened: 0,
            looks_at: 0,
            due: Vec::new(),
            commands: Vec::new(),
            newcomers: VecDeque::new(),
        })
    }

    /// Adds an agent to group 0. It is first called at `at`, or now if `at` has passed.
    pub fn spawn(&mut self, agent: Box<dyn Agent>, at: Instant) -> AgentId {
        self.spawn_in(0, agent, at)
    }

    /// [`spawn`](Self::spawn) in a group. [`Probe::opened`] reports each flow's group. Agents that
    /// this agent spawns join the same group.
    pub fn spawn_in(&mut self, group: u32, agent: Box<dyn Agent>, at: Instant) -> AgentId {
        let random = generator(self.seed.derive(Purpose::Agent, self.spawned.into()));
        self.spawned += 1;
        let seat = Some(Seat {
            agent,
            group,
            random,
            open_flows: 0,
            leaves: false,
        });
        let number = match self.free_seats.pop() {
            Some(number) => {
                self.seats[number as usize] = seat;
                number
            }
            None => {
                self.seats.push(seat);
                (self.seats.len() - 1) as u32
            }
        };
        if self.links.len() + (number as usize) < OWNERS {
            self.set_timer(number, Some(at));
        } else {
            self.looks_at = 0;
        }
        AgentId(number)
    }

    /// Sets which header fields a group's flows have, from the next flow on. Trees sort flows by
    /// these fields. The default is UDP, best effort.
    pub fn set_marks(&mut self, group: u32, marks: Marks) {
        let group = group as usize;
        if group >= self.marks.len() {
            self.marks.resize(group + 1, Marks::default());
        }
        self.marks[group] = marks;
    }

    /// Applies Edge-CoDel to a group's flows, from the next flow on. It judges packets with TCP
    /// data at the node where they leave the network.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn set_edge_control(
        &mut self,
        group: u32,
        control: EdgeControl,
    ) -> Result<(), ConfigError> {
        control.codel.check()?;
        let group = group as usize;
        if group >= self.edges.len() {
            self.edges.resize(group + 1, None);
        }
        self.edges[group] = Some(control);
        Ok(())
    }

    #[inline]
    fn set_timer(&mut self, agent: u32, at: Option<Instant>) {
        let key = at.map_or(Key::NEVER, |at| self.world.next_key(at.max(self.now)));
        self.events.set_timer(agent, key);
    }

    /// The current time.
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Events handled: arrivals at the end of a link, picks, and timer calls to agents.
    pub const fn events(&self) -> u64 {
        self.happened
    }

    /// No event comes before this time. None: no event is scheduled.
    pub fn next_event(&self) -> Option<Instant> {
        let (key, _) = self.events.first();
        (key != Key::NEVER).then(|| key.time())
    }

    /// The network.
    pub const fn network(&self) -> &Network {
        &self.network
    }

    /// What was counted for the flows that are alive, in the order of their [`FlowId`]s.
    pub fn flows(&self) -> impl Iterator<Item = (FlowNumber, FlowCounts)> {
        self.world
            .flows
            .alive()
            .map(|flow| (flow.number, flow.counts))
    }

    /// What was counted at each link.
    pub fn links(&self) -> impl Iterator<Item = LinkCounts> {
        self.links.iter().map(|link| link.wire.counts)
    }

    /// For how long a link has transmitted until now. If a packet is on the link, only the part
    /// that is already sent counts. The time may be too short by up to 1 ps a packet, because
    /// transmission times are rounded up, but on a preemptive link it is exact. If the link has a
    /// trace, this is at its mean rate, and [`trace_work`](Self::trace_work) is exact.
    pub fn at_work(&self, link: LinkId) -> Duration {
        let (Link { port, wire, .. }, rate) = (
            &self.links[link.index()],
            self.network.links()[link.index()].rate,
        );
        match port {
            // On a preemptive link the wire counts a packet only when its last bit has left.
            AnyPort::Preemptive(port) => port.at_work(self.now),
            _ => rate.time_of(wire.counts.bytes) - wire.free_at.since(self.now),
        }
    }

    /// If a link has a trace: how many bytes it carried before now, and how many it could have
    /// carried.
    pub fn trace_work(&self, link: LinkId) -> Option<[u64; 2]> {
        let trace = self.links[link.index()].wire.trace.as_ref()?;
        Some(trace.work(self.now))
    }

    /// What waits in a link's queue, without the packet on the link.
    pub fn backlog(&self, link: LinkId) -> roundelay::Backlog {
        self.links[link.0 as usize].port.backlog()
    }

    /// Packets in the network.
    pub fn on_their_way(&self) -> usize {
        self.world.arena.len()
    }

    /// The probe.
    pub const fn probe(&self) -> &P {
        &self.world.probe
    }

    /// The probe, so that you can query or change it.
    pub const fn probe_mut(&mut self) -> &mut P {
        &mut self.world.probe
    }

    /// Ends the simulation and returns the probe.
    pub fn into_probe(self) -> P {
        self.world.probe
    }

    /// Drops all agents, so no more packets are sent. Packets on their way still arrive, but no
    /// agent is called for them.
    pub fn silence(&mut self) {
        for agent in 0..self.seats.len() as u32 {
            self.seats[agent as usize] = None;
            self.set_timer(agent, None);
        }
    }

    /// Runs until just before `end`, or until no event is left.
    ///
    /// # Errors
    /// A flow was opened between nodes that are not connected, a queue rejects a flow, or there are
    /// too many agents or events.
    pub fn run(&mut self, end: Instant) -> Result<(), SimulationError> {
        loop {
            if self.world.sequence >= self.looks_at {
                self.look()?;
            }
            if !self.world.departed.is_empty() {
                self.tell_departures()?;
            }
            let (key, owner) = self.events.first();
            if !self.due.is_empty() && (key.is_pick() || key.time() > self.now) {
                self.pick_due();
                continue;
            }
            if key.time() >= end {
                self.now = self.now.max(end);
                return Ok(());
            }
            self.now = key.time();
            match owner {
                Owner::Link(number) => {
                    self.events.links.pop();
                    let link = &self.links[number];
                    // A pick that was brought forward leaves an event that is neither.
                    if key == link.works {
                        self.work(number);
                    } else if key == link.wire.in_flight.first() {
                        self.deliver(number)?;
                    }
                }
                Owner::Agent(agent) => {
                    if self.events.expires(agent) {
                        self.happened += 1;
                        self.call(AgentId(agent), |agent, context| agent.wake(context))?;
                    }
                }
            }
        }
    }

    /// Tells all agents to start counting now, because the warm-up ends.
    pub fn forget(&mut self) {
        self.seats
            .iter_mut()
            .flatten()
            .for_each(|seat| seat.agent.forget());
    }

    /// Tells all agents that the run ends now, so that they report to the probe what they have not
    /// reported yet.
    ///
    /// # Errors
    /// None, if agents only report.
    pub fn end(&mut self) -> Result<(), SimulationError> {
        (0..self.seats.len() as u32)
            .try_for_each(|agent| self.call(AgentId(agent), |agent, context| agent.end(context)))
    }

    /// Checks whether there are too many agents or events, and whether a stop is requested.
    #[cold]
    fn look(&mut self) -> Result<(), SimulationError> {
        if self.links.len() + self.seats.len() > OWNERS {
            return Err(SimulationError::TooLarge);
        }
        self.looks_at = self.world.sequence.saturating_add(LOOK_EVERY).min(EVENTS);
        if self.world.sequence >= EVENTS {
            Err(SimulationError::TooLong)
        } else if self.network.stop().is_requested() {
            Err(SimulationError::Stopped)
        } else {
            Ok(())
        }
    }

    #[inline]
    fn pick_due(&mut self) {
        let mut due = std::mem::take(&mut self.due);
        due.iter().for_each(|link| self.work(*link as usize));
        due.clear();
        self.due = due;
    }

    /// A link's port has an event. It picks, and may find a packet to send or not. Or a packet ends
    /// on a preemptive link.
    #[inline]
    fn work(&mut self, number: usize) {
        self.happened += 1;
        let link = &mut self.links[number];
        if !link.waits_for_trace() {
            link.port.work(&mut Work {
                wire: &mut link.wire,
                world: &mut self.world,
                events: &mut self.events.links,
            });
            link.follow_trace();
            if link.tells_rests
                && let Some(until) = link.rests_until(self.now)
            {
                self.world
                    .probe
                    .rests(self.now, LinkId(number as u32), until);
            }
        }
        link.works = next_key(&link.port, self.world.sequence);
        if link.works != Key::NEVER {
            self.events.links.push(number, link.works);
        }
    }

    /// Tells agents what has left their hosts' queues.
    #[cold]
    fn tell_departures(&mut self) -> Result<(), SimulationError> {
        for departure in std::mem::take(&mut self.world.departed) {
            let flow = self.world.flows.at(departure.flow);
            let Some(flow) = flow.filter(|flow| flow.is_open) else {
                continue;
            };
            self.call(flow.agent, |agent, context| {
                agent.depart(&departure, context);
            })?;
        }
        Ok(())
    }

    /// The first packet in flight arrives at the link's end.
    #[inline]
    fn deliver(&mut self, number: usize) -> Result<(), SimulationError> {
        let link = &mut self.links[number];
        self.happened += 1;
        let prefetch_next = |next: Tag| {
            if self.routes.hops[next.hop as usize + 1] == ARRIVED {
                self.world.arena.prefetch(next.slot);
            }
        };
        let Some(mut packet) =
            link.wire
                .in_flight
                .pop(number, &mut self.events.links, prefetch_next)
        else {
            return Ok(());
        };
        if !link.keeps_lengths {
            packet.len = self.world.arena.at(packet.payload.slot).len;
        }
        packet.payload.hop += 1;
        let link = self.routes.hops[packet.payload.hop as usize];
        if link == ARRIVED {
            return self.hand_over(packet);
        }
        self.arrive(link, packet);
        Ok(())
    }

    /// A packet arrives at a link's queue.
    #[inline]
    fn arrive(&mut self, number: u32, mut packet: Packet<Tag>) {
        let Link {
            port,
            wire,
            works,
            layer,
            keeps_lengths,
            ..
        } = &mut self.links[number as usize];
        if !*keeps_lengths {
            packet.len = layer.len_on_link(packet.len);
        }
        wire.counts.arrived += 1;
        let state = self.world.arena.at(packet.payload.slot);
        self.world
            .probe
            .label(self.now, LinkId(number), &mut packet, state);
        self.world
            .probe
            .arrived(self.now, LinkId(number), &packet, state);
        if self.reads_acks {
            let ack = acknowledgement(state);
            port.set_acknowledgement(packet.flow, ack.as_ref());
        }
        port.arrive(
            self.now,
            packet,
            &mut Work {
                wire,
                world: &mut self.world,
                events: &mut self.events.links,
            },
        );
        let Some(at) = port.next_event().filter(|at| *at < works.time()) else {
            return;
        };
        *works = Key::pick(at, self.world.sequence);
        if at == self.now {
            self.due.push(number);
        } else {
            self.events.links.push(number as usize, *works);
        }
    }

    /// A packet arrives at the end of its route.
    #[inline]
    fn hand_over(&mut self, mut packet: Packet<Tag>) -> Result<(), SimulationError> {
        let world = &mut self.world;
        if !self.edges.is_empty() && world.drops_at_edge(&mut packet, self.now) {
            return Ok(());
        }
        let state = world.arena.at(packet.payload.slot);
        world.probe.delivered(self.now, &packet, state);
        let PacketState {
            direction,
            sent,
            initial_slack,
            ..
        } = *state;
        let Packet {
            flow,
            len,
            ecn,
            slack,
            ..
        } = packet;
        let arrival = Arrival {
            flow,
            direction,
            len,
            content: state.content,
            ecn,
            sent,
            initial_slack,
            slack,
        };
        let delay = self.now.since(sent);
        world.count(flow, direction, |counts| counts.deliver(len, delay));
        match world.leave_network(&packet, self.now) {
            Some(agent) => self.call(agent, |agent, context| agent.arrive(&arrival, context)),
            None => Ok(()),
        }
    }

    /// Calls an agent, then executes what it requested.
    #[inline]
    fn call(
        &mut self,
        id: AgentId,
        call: impl FnOnce(&mut dyn Agent, &mut Context<'_>),
    ) -> Result<(), SimulationError> {
        let Some(seat) = &mut self.seats[id.0 as usize] else {
            return Ok(());
        };
        let group = seat.group;
        let flows = &mut self.world.flows;
        let commands = &mut self.commands;
        let newcomers = &mut self.newcomers;
        call(
            &mut *seat.agent,
            &mut Context {
                now: self.now,
                random: &mut seat.random,
                flows,
                commands,
                newcomers,
            },
        );
        let mut commands = std::mem::take(&mut self.commands);
        let outcome = commands
            .iter()
            .try_for_each(|command| self.execute(id, group, command));
        commands.clear();
        self.commands = commands;
        self.newcomers.clear();
        outcome
    }

    #[inline]
    fn execute(
        &mut self,
        agent: AgentId,
        group: u32,
        command: &Command,
    ) -> Result<(), SimulationError> {
        match command {
            Command::Send(packet) => self.send(packet, group)?,
            Command::Report(flow, report) => self.report(agent, *flow, report),
            Command::Wake(at) => self.set_timer(agent.0, Some(*at)),
            Command::Open(flow, spec, listed) => {
                self.open(agent, group, *flow, spec, (None, *listed))?;
            }
            Command::OpenReply(flow, spec, to) => {
                let to = self.world.flows.at(*to).map(|flow| flow.number);
                self.open(agent, group, *flow, spec, (to, None))?;
            }
            Command::Close(flow) => self.close(agent, *flow),
            Command::Spawn(at) => {
                if let Some(agent) = self.newcomers.pop_front() {
                    self.spawn_in(group, agent, *at);
                }
            }
            Command::Leave => self.leave(agent, true),
        }
        Ok(())
    }

    /// Sends an agent's packet. If its flow is closed, the packet is ignored. Where queues read
    /// code points, a packet without a priority gets its group's code point.
    ///
    /// # Errors
    /// The packet goes back to the flow's source, but there is no route back.
    #[inline]
    fn send(&mut self, packet: &Outgoing, group: u32) -> Result<(), SimulationError> {
        let world = &mut self.world;
        let Some(flow) = world.flows.at_mut(packet.flow).filter(|flow| flow.is_open) else {
            return Ok(());
        };
        let direction = packet.direction;
        if flow.routes[direction.index()] == Routes::NOWHERE {
            let there = flow.routes[0];
            return Err(self.no_way_back(there));
        }
        flow.on_their_way += 1;
        flow.counts.sent += u64::from(direction == Direction::Forward);
        if packet.stamped != Stamped::AtSending {
            let departures = flow.departures.get_or_insert_default();
            departures[direction.index()].stamped = packet.stamped;
            world.stamps_departures = true;
        }
        if packet.tells_departure {
            flow.tells_departures = true;
            world.tells_departures = true;
        }
        let number = flow.number;
        let hop = flow.routes[direction.index()].0;
        let Outgoing {
            flow: id,
            len,
            ecn,
            priority,
            deadline,
            ..
        } = *packet;
        let mut priority = priority;
        if self.reads_code_points
            && priority == 0
            && let Some(marks) = self.marks.get(group as usize)
        {
            priority = marks.dscp.into();
        }
        let slack = if packet.slack_has_path {
            let path = self
                .routes
                .links(flow.routes[direction.index()])
                .map(|link| LinkId(link as u32));
            packet.slack.after(self.network.fastest(path, len))
        } else {
            packet.slack
        };
        let sent = self.now;
        let content = packet.content;
        let state = PacketState {
            number: world.packets,
            flow: number,
            direction,
            len,
            sent,
            initial_slack: slack,
            content,
        };
        world.packets += 1;
        let slot = world.arena.store(state);
        let tag = Tag { hop, slot };
        let packet = Packet {
            ecn,
            priority,
            slack,
            deadline,
            ..Packet::new(id, len, tag)
        };
        world.probe.sent(self.now, &packet, world.arena.at(slot));
        self.arrive(self.routes.hops[hop as usize], packet);
        Ok(())
    }

    #[cold]
    fn no_way_back(&self, there: Route) -> SimulationError {
        let links = self.network.links();
        let mut route = self.routes.links(there);
        let last = self.routes.links(there).last();
        let (first, last) = route
            .next()
            .zip(last)
            .expect("a route between two nodes has a link");
        NetworkError::Unroutable(links[last].to, links[first].from).into()
    }

    fn open(
        &mut self,
        agent: AgentId,
        group: u32,
        id: FlowId,
        spec: &FlowSpec,
        (reply_to, listed): (Option<FlowNumber>, Option<u32>),
    ) -> Result<(), SimulationError> {
        let number = self.world.flows.next_number();
        let [forward, backward] =
            self.routes
                .there_and_back(&self.network, spec.from, spec.to, number.0)?;
        if self.has_trees {
            self.sort(group, id, spec, [forward, backward])?;
        }
        if self.reads_hosts {
            self.name_hosts(id, spec, [forward, backward])?;
        }
        if let Some(config) = spec.config {
            for link in self.routes.links(forward) {
                let Link { port, layer, .. } = &mut self.links[link];
                // Queues see the lengths that packets have on the link.
                let max_packet_len = config.max_packet_len;
                let max_packet_len = layer
                    .len_on_link(max_packet_len)
                    .max(max_packet_len)
                    .min(FlowConfig::MAX_PACKET_LEN);
                port.set_flow(
                    id,
                    FlowConfig {
                        max_packet_len,
                        ..config
                    },
                )
                .map_err(|error| SimulationError::Queue {
                    link: LinkId(link as u32),
                    error,
                })?;
            }
        }
        let control = self.edges.get(group as usize).copied().flatten();
        // `set_edge_control` has checked the parameters.
        let edge = control
            .and_then(|control| Edge::new(control).ok())
            .map(Box::new);
        let FlowSpec { from, to, config } = *spec;
        let opening = Opening {
            group,
            from,
            to,
            config,
            has_edge_control: edge.is_some(),
            reply_to,
            listed,
        };
        self.world
            .flows
            .open(id, agent, spec, [forward, backward], edge);
        self.world.probe.opened(self.now, number, opening);
        if let Some(seat) = &mut self.seats[agent.0 as usize] {
            seat.open_flows += 1;
        }
        Ok(())
    }

    /// Assigns a flow to a leaf in each tree on both routes.
    fn sort(
        &mut self,
        group: u32,
        id: FlowId,
        spec: &FlowSpec,
        [forward, backward]: [Route; 2],
    ) -> Result<(), SimulationError> {
        let marks = self.marks.get(group as usize).copied().unwrap_or_default();
        let there = headers::forward(self.world.flows.next_number(), [spec.from, spec.to], marks);
        for (route, headers) in [(forward, there), (backward, headers::backward(there))] {
            for link in self.routes.links(route) {
                if let Some(tree) = &self.network.links()[link].tree {
                    let port = &mut self.links[link].port;
                    let mut outcome = port.assign(id, tree.leaf(Some(&headers)));
                    if let Some(leaf) = tree.leaf_of_acknowledgements(Some(&headers)) {
                        outcome = outcome.and(port.assign_acknowledgements(id, leaf));
                    }
                    outcome.map_err(|error| SimulationError::Queue {
                        link: LinkId(link as u32),
                        error,
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Tells each queue on both routes which hosts the flow has.
    fn name_hosts(
        &mut self,
        id: FlowId,
        spec: &FlowSpec,
        [forward, backward]: [Route; 2],
    ) -> Result<(), SimulationError> {
        for (route, [source, destination]) in [
            (forward, [spec.from.0, spec.to.0]),
            (backward, [spec.to.0, spec.from.0]),
        ] {
            let hosts = Hosts {
                source,
                destination,
            };
            for link in self.routes.links(route) {
                let outcome = self.links[link].port.set_hosts(id, hosts);
                outcome.map_err(|error| SimulationError::Queue {
                    link: LinkId(link as u32),
                    error,
                })?;
            }
        }
        Ok(())
    }

    fn report(&mut self, agent: AgentId, id: FlowId, report: &Report) {
        if let Some(flow) = self
            .world
            .flows
            .at(id)
            .filter(|flow| flow.is_open && flow.agent == agent)
        {
            self.world.probe.reported(self.now, flow.number, report);
        }
    }

    fn close(&mut self, agent: AgentId, id: FlowId) {
        let Some(flow) = self
            .world
            .flows
            .at_mut(id)
            .filter(|flow| flow.is_open && flow.agent == agent)
        else {
            return;
        };
        flow.is_open = false;
        let FlowState {
            number,
            config,
            routes: [forward, _],
            on_their_way,
            ..
        } = *flow;
        self.world.probe.finished(self.now, number);
        if config.is_some() {
            for link in self.routes.links(forward) {
                self.links[link].port.remove_flow(id);
            }
        }
        if on_their_way == 0 {
            self.world.end(id, self.now);
        }
        if let Some(seat) = &mut self.seats[agent.0 as usize] {
            seat.open_flows -= 1;
        }
        self.leave(agent, false);
    }

    /// Removes an agent that wants to leave, once all its flows are closed. Without `wants_to`, one
    /// of them was closed now.
    fn leave(&mut self, agent: AgentId, wants_to: bool) {
        let taken = &mut self.seats[agent.0 as usize];
        let Some(seat) = taken else { return };
        seat.leaves |= wants_to;
        if seat.leaves && seat.open_flows == 0 {
            *taken = None;
            self.set_timer(agent.0, None);
            self.free_seats.push(agent.0);
        }
    }
}
