//! Who sends: sources, senders and receivers.

use std::fmt;

use rand_pcg::Pcg64Mcg;
use roundelay::{Ecn, FlowConfig, FlowId, Instant, Slack};

use crate::cargo::Content;
use crate::flows::Flows;
use crate::network::NodeId;
use crate::probe::Report;

/// An agent's number, from 0 upwards in the order in which they are added.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(pub u32);

/// Which way a packet of a flow goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the flow's source to its destination.
    Forward,
    /// Back: acknowledgements.
    Backward,
}

/// A flow to be opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowSpec {
    /// Its source.
    pub from: NodeId,
    /// Its destination.
    pub to: NodeId,
    /// Weight and longest packet for the schedulers on its way. None: what they take for granted.
    pub config: Option<FlowConfig>,
}

impl FlowSpec {
    /// Its weight: 1 if none is set.
    pub fn weight(&self) -> u32 {
        self.config.map_or(1, |config| config.weight)
    }
}

/// A packet to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing {
    /// The flow.
    pub flow: FlowId,
    /// Which way.
    pub direction: Direction,
    /// Bytes, all headers but the links' overhead included.
    pub len: u32,
    /// What it says.
    pub content: Content,
    /// Whether queues may mark it.
    pub ecn: Ecn,
    /// Its class, or the bytes of its flow: see [`roundelay::Packet::priority`].
    pub priority: u32,
    /// Time that it can lose in queues.
    pub slack: Slack,
    /// When it is needed.
    pub deadline: Instant,
}

impl Outgoing {
    /// A packet of `len` bytes forward, with nothing special about it.
    pub const fn new(flow: FlowId, len: u32) -> Self {
        let (direction, content, ecn) = (Direction::Forward, Content::Bytes, Ecn::NotCapable);
        Self { flow, direction, len, content, ecn, priority: 0, slack: Slack::ZERO, deadline: Instant::MAX }
    }
}

/// A packet that has reached the end of its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The flow.
    pub flow: FlowId,
    /// Which way it came.
    pub direction: Direction,
    /// Bytes.
    pub len: u32,
    /// What it says.
    pub content: Content,
    /// Whether a queue has marked it.
    pub ecn: Ecn,
    /// When it was sent.
    pub sent: Instant,
    /// The slack that it was sent with.
    pub initial_slack: Slack,
    /// What is left of it.
    pub slack: Slack,
}

/// Sends packets and is told what comes of them. Both ends of its flows are its own.
pub trait Agent: Send {
    /// It was asked to be called now: at its start, and whenever its timer goes off.
    fn wake(&mut self, context: &mut Context<'_>);

    /// A packet of one of its flows has reached the end of its route.
    fn arrive(&mut self, arrival: &Arrival, context: &mut Context<'_>) {
        let _ = (arrival, context);
    }

    /// What counts begins now: what it has counted before is not reported.
    fn forget(&mut self) {}

    /// The run ends now: it reports what it has not.
    fn end(&mut self, context: &mut Context<'_>) {
        let _ = context;
    }
}

/// What an agent can do while it is called. What it asks for is done right after the call, in the order in which it asked.
#[derive(Debug)]
pub struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) random: &'a mut Pcg64Mcg,
    pub(crate) flows: &'a mut Flows,
    pub(crate) commands: &'a mut Vec<Command>,
}

/// What an agent asked for.
pub(crate) enum Command {
    Open(FlowId, FlowSpec),
    Close(FlowId),
    Send(Outgoing),
    Wake(Option<Instant>),
    Report(FlowId, Report),
    /// The agent is there until the command is done.
    Spawn(Option<Box<dyn Agent>>, Instant),
    Leave,
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Open(flow, spec) => f.debug_tuple("Open").field(flow).field(spec).finish(),
            Self::Close(flow) => f.debug_tuple("Close").field(flow).finish(),
            Self::Send(packet) => f.debug_tuple("Send").field(packet).finish(),
            Self::Report(flow, report) => f.debug_tuple("Report").field(flow).field(report).finish(),
            Self::Wake(at) => f.debug_tuple("Wake").field(at).finish(),
            Self::Spawn(_, at) => f.debug_tuple("Spawn").field(at).finish_non_exhaustive(),
            Self::Leave => f.write_str("Leave"),
        }
    }
}

impl Context<'_> {
    /// What time it is.
    #[inline]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The agent's own random numbers.
    pub const fn random(&mut self) -> &mut Pcg64Mcg {
        self.random
    }

    /// Opens a flow. Its number is free for another one once it is closed and the last of its packets has left the network.
    pub fn open(&mut self, spec: FlowSpec) -> FlowId {
        let flow = self.flows.reserve();
        self.commands.push(Command::Open(flow, spec));
        flow
    }

    /// Closes a flow of its own. What is on its way still arrives, unheard.
    pub fn close(&mut self, flow: FlowId) {
        self.commands.push(Command::Close(flow));
    }

    /// Sends a packet: it comes to the first queue of its flow's route.
    #[inline]
    pub fn send(&mut self, packet: Outgoing) {
        self.commands.push(Command::Send(packet));
    }

    /// Tells whoever listens what came of a transfer over an open flow of its own.
    pub fn report(&mut self, flow: FlowId, report: Report) {
        self.commands.push(Command::Report(flow, report));
    }

    /// Wants to be called at `at`, instead of when it wanted to be before.
    #[inline]
    pub fn wake_at(&mut self, at: Instant) {
        self.commands.push(Command::Wake(Some(at)));
    }

    /// Does not want to be called by time any more.
    pub fn sleep(&mut self) {
        self.commands.push(Command::Wake(None));
    }

    /// Adds an agent that is first called at `at`.
    pub fn spawn(&mut self, agent: Box<dyn Agent>, at: Instant) {
        self.commands.push(Command::Spawn(Some(agent), at));
    }

    /// Leaves for good, once its flows are closed: the agent is dropped after this call.
    pub fn leave(&mut self) {
        self.commands.push(Command::Leave);
    }
}
