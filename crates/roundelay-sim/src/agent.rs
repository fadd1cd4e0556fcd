//! Agents: they send packets, receive packets, or both.

use std::collections::VecDeque;
use std::fmt;

use rand_pcg::Pcg64Mcg;
use roundelay::{Ecn, FlowId, Instant, Slack};

use crate::flows::{FlowSpec, Flows};
use crate::ids::Direction;
use crate::packet_state::Content;
use crate::probe::Report;
use crate::sources::Stamped;

/// A packet to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outgoing {
    /// The flow.
    pub flow: FlowId,
    /// The direction.
    pub direction: Direction,
    /// Length in bytes, with all headers but without the links' overhead.
    pub len: u32,
    /// The content.
    pub content: Content,
    /// ECN codepoint, which says whether queues may mark the packet.
    pub ecn: Ecn,
    /// The packet's class, or its flow's bytes: see [`roundelay::Packet::priority`].
    pub priority: u32,
    /// Slack: how long queues may hold the packet.
    pub slack: Slack,
    /// Whether the slack still includes the time that the packet needs on its path without any
    /// wait. If so, the network subtracts that time.
    pub slack_has_path: bool,
    /// The deadline.
    pub deadline: Instant,
    /// Where the slack starts to count.
    pub stamped: Stamped,
    /// Whether the agent is told when the packet leaves the first queue on its route.
    pub tells_departure: bool,
}

impl Outgoing {
    /// A packet of `len` bytes forward, without ECN, priority, slack or deadline.
    pub const fn new(flow: FlowId, len: u32) -> Self {
        let direction = Direction::Forward;
        let content = Content::Bytes;
        let ecn = Ecn::NotCapable;
        Self {
            flow,
            direction,
            len,
            content,
            ecn,
            priority: 0,
            slack: Slack::ZERO,
            slack_has_path: false,
            deadline: Instant::MAX,
            stamped: Stamped::AtSending,
            tells_departure: false,
        }
    }
}

/// A packet that has reached the end of its route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Arrival {
    /// The flow.
    pub flow: FlowId,
    /// The direction.
    pub direction: Direction,
    /// Length in bytes.
    pub len: u32,
    /// The content.
    pub content: Content,
    /// ECN codepoint, which says whether a queue has marked the packet.
    pub ecn: Ecn,
    /// When the packet was sent.
    pub sent: Instant,
    /// The slack at sending.
    pub initial_slack: Slack,
    /// The slack left on arrival.
    pub slack: Slack,
}

/// A packet leaves the first queue on its route: its transmission begins, or it is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// The flow.
    pub flow: FlowId,
    /// Bytes of data in its segment.
    pub data: u32,
}

/// Sends and receives packets. One agent is both ends of a flow.
pub trait Agent: Send {
    /// Called when the agent starts, and whenever its timer expires.
    fn wake(&mut self, context: &mut Context<'_>);

    /// A packet from one of the agent's flows has reached the end of its route.
    fn arrive(&mut self, arrival: &Arrival, context: &mut Context<'_>) {
        let _ = (arrival, context);
    }

    /// A packet forward that was sent with [`Outgoing::tells_departure`] leaves its host's queue.
    fn depart(&mut self, departure: &Departure, context: &mut Context<'_>) {
        let _ = (departure, context);
    }

    /// The measurement starts now, so earlier counts are not reported.
    fn forget(&mut self) {}

    /// The run ends now, so the agent reports any counts that it has not reported yet.
    fn end(&mut self, context: &mut Context<'_>) {
        let _ = context;
    }
}

/// What an agent does during a call. The simulation executes these requests right after the call,
/// in the order in which they were made.
pub struct Context<'a> {
    pub(crate) now: Instant,
    pub(crate) random: &'a mut Pcg64Mcg,
    pub(crate) flows: &'a mut Flows,
    pub(crate) commands: &'a mut Vec<Command>,
    /// The agents to add, in the same order as the commands that add them.
    pub(crate) newcomers: &'a mut VecDeque<Box<dyn Agent>>,
}

/// An action requested by an agent.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Command {
    /// Opens a flow. If the source has a list, the number is the flow's index there.
    Open(FlowId, FlowSpec, Option<u32>),
    /// Opens the other direction of an open flow's connection.
    OpenReply(FlowId, FlowSpec, FlowId),
    Close(FlowId),
    Send(Outgoing),
    Wake(Instant),
    Report(FlowId, Report),
    /// Adds the first newcomer.
    Spawn(Instant),
    Leave,
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context")
            .field("now", &self.now)
            .field("commands", &self.commands)
            .finish_non_exhaustive()
    }
}

impl Context<'_> {
    /// The current time.
    #[inline]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The agent's own random numbers.
    pub const fn random(&mut self) -> &mut Pcg64Mcg {
        self.random
    }

    /// Opens a flow. The returned number is used again once the flow is closed and its last packet
    /// has left the network.
    pub fn open(&mut self, spec: FlowSpec) -> FlowId {
        let flow = self.flows.reserve();
        self.commands.push(Command::Open(flow, spec, None));
        flow
    }

    /// Opens the flow of one entry in the source's list, for probes that tell entries apart.
    pub fn open_listed(&mut self, spec: FlowSpec, entry: u32) -> FlowId {
        let flow = self.flows.reserve();
        self.commands.push(Command::Open(flow, spec, Some(entry)));
        flow
    }

    /// Opens the other direction of an open flow's connection. Captures give both flows the same
    /// ports.
    pub fn open_reply(&mut self, spec: FlowSpec, to: FlowId) -> FlowId {
        let flow = self.flows.reserve();
        self.commands.push(Command::OpenReply(flow, spec, to));
        flow
    }

    /// Closes one of the agent's flows. Packets on their way still arrive, but the agent is no
    /// longer called for them.
    pub fn close(&mut self, flow: FlowId) {
        self.commands.push(Command::Close(flow));
    }

    /// Sends a packet into the first queue on the flow's route.
    #[inline]
    pub fn send(&mut self, packet: Outgoing) {
        self.commands.push(Command::Send(packet));
    }

    /// Reports a transfer over one of the agent's open flows to the probe.
    pub fn report(&mut self, flow: FlowId, report: Report) {
        self.commands.push(Command::Report(flow, report));
    }

    /// Sets the timer to `at`. This replaces any earlier setting.
    #[inline]
    pub fn wake_at(&mut self, at: Instant) {
        self.commands.push(Command::Wake(at));
    }

    /// Adds an agent, which is first called at `at`.
    pub fn spawn(&mut self, agent: Box<dyn Agent>, at: Instant) {
        self.newcomers.push_back(agent);
        self.commands.push(Command::Spawn(at));
    }

    /// Leaves for good. The agent is dropped after this call, or once all its flows are closed.
    pub fn leave(&mut self) {
        self.commands.push(Command::Leave);
    }
}
