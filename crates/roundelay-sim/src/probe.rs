//! Probe: an observer of all events in a simulation.

use roundelay::{DropReason, Duration, FlowConfig, Instant, Packet};

use crate::flows::{FlowCounts, FlowNumber};
use crate::network::{LinkId, NodeId};
use crate::packet_state::{PacketState, Tag};

/// Result of a transfer, reported by its agent: of a TCP flow, or of one response or segment of a
/// flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Payload bytes at the receiver, each counted once, without headers.
    pub bytes: u64,
    /// Start of the transfer: the flow was opened, or the request was made.
    pub start: Instant,
    /// When the receiver had all these bytes.
    pub delivered: Instant,
    /// When the sender knew. None: not yet.
    pub acknowledged: Option<Instant>,
    /// Whether the transfer is complete, not cut off.
    pub is_complete: bool,
    /// Whether the report is about a transfer. If false, only the counts since the last report
    /// matter.
    pub is_transfer: bool,
    /// Segments retransmitted since the last report of the connection.
    pub retransmissions: u64,
    /// Retransmission timeouts since the last report.
    pub timeouts: u64,
    /// Mean round-trip time: delay of segments to the receiver plus delay of their answers back,
    /// without the receiver's own delay.
    pub round_trip: Duration,
}

impl Report {
    /// From the start until the receiver had all bytes.
    pub const fn completion_time(&self) -> Duration {
        self.delivered.since(self.start)
    }

    /// From the start until the sender knew that the receiver had all bytes: the flow completion
    /// time of ns-2.
    pub fn acknowledged_after(&self) -> Option<Duration> {
        self.acknowledged.map(|at| at.since(self.start))
    }
}

/// Loss repair by senders.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Effort {
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
}

impl std::ops::Add for Effort {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            retransmissions: self.retransmissions + other.retransmissions,
            timeouts: self.timeouts + other.timeouts,
        }
    }
}

/// A flow at its start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// The group of its agent.
    pub group: u32,
    /// The source node.
    pub from: NodeId,
    /// The destination node.
    pub to: NodeId,
    /// Settings for the queues on the route. None: their defaults.
    pub config: Option<FlowConfig>,
    /// Whether Edge-CoDel controls the flow.
    pub has_edge_control: bool,
    /// The flow whose connection this flow is the other direction of, if any.
    pub reply_to: Option<FlowNumber>,
    /// The place of its connection, or of its packets, in the source's list, if it has one. The
    /// reply to a flow has none.
    pub listed: Option<u32>,
}

/// Observer of all events, in the order of occurrence; may also write header fields at each node.
/// In a simulation with this type of probe, methods not implemented cost nothing; behind `dyn
/// Probe`, an indirect call.
///
/// `packet.len` is the length on the current link, with its overhead and framing; on
/// delivery the length sent by the agent.
#[allow(unused_variables, reason = "by default nothing is listened to")]
pub trait Probe {
    /// An agent opens a flow.
    fn opened(&mut self, now: Instant, flow: FlowNumber, opening: Opening) {}
    /// An agent sends a packet, to the first queue of its route.
    fn sent(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {}
    /// A packet arrives at a link's queue: may change slack, priority and deadline. Called before
    /// [`arrived`](Self::arrived), and before the queue sees the packet.
    fn label(&mut self, now: Instant, link: LinkId, packet: &mut Packet<Tag>, state: &PacketState) {
    }
    /// A packet arrives at a link's queue.
    fn arrived(&mut self, now: Instant, link: LinkId, packet: &Packet<Tag>, state: &PacketState) {}
    /// A packet has the link during a span of two instants. Called at the first; on a preemptive
    /// link, at the second.
    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        span: [Instant; 2],
    ) {
    }
    /// A link's queue drops a packet.
    fn dropped(
        &mut self,
        now: Instant,
        link: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        reason: DropReason,
    ) {
    }
    /// A packet is lost on the wire. Called when the packet leaves the queue.
    fn lost(&mut self, now: Instant, link: LinkId, packet: &Packet<Tag>, state: &PacketState) {}
    /// Edge-CoDel drops a packet at the end of its route: no delivery follows.
    fn edge_dropped(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {}
    /// Edge-CoDel marks a packet; the delivery follows.
    fn edge_marked(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {}
    /// A packet reaches the end of its route.
    fn delivered(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {}
    /// An agent reports a transfer.
    fn reported(&mut self, now: Instant, flow: FlowNumber, report: &Report) {}
    /// An agent closes a flow; packets may still be on their way.
    fn finished(&mut self, now: Instant, flow: FlowNumber) {}
    /// A flow is closed and the last of its packets has left the network.
    fn closed(&mut self, now: Instant, flow: FlowNumber, counts: &FlowCounts) {}
}

/// Observes nothing.
impl Probe for () {}

/// A reference, an option, a pair and a list of probes are probes; the first one is called first.
macro_rules! pass_on {
    ($(fn $name:ident($($argument:ident: $kind:ty),*);)*) => {
        impl<P: Probe + ?Sized> Probe for &mut P {
            $(#[inline]
            fn $name(&mut self, $($argument: $kind),*) {
                (**self).$name($($argument),*);
            })*
        }

        impl<P: Probe> Probe for Option<P> {
            $(#[inline]
            fn $name(&mut self, $($argument: $kind),*) {
                if let Some(probe) = self {
                    probe.$name($($argument),*);
                }
            })*
        }

        impl Probe for Vec<&mut dyn Probe> {
            $(fn $name(&mut self, $($argument: $kind),*) {
                self.iter_mut().for_each(|probe| probe.$name($($argument),*));
            })*
        }

        impl<P: Probe, Q: Probe> Probe for (P, Q) {
            $(#[inline]
            fn $name(&mut self, $($argument: $kind),*) {
                self.0.$name($($argument),*);
                self.1.$name($($argument),*);
            })*
        }
    };
}

pass_on! {
    fn opened(now: Instant, flow: FlowNumber, opening: Opening);
    fn sent(now: Instant, packet: &Packet<Tag>, state: &PacketState);
    fn label(now: Instant, link: LinkId, packet: &mut Packet<Tag>, state: &PacketState);
    fn arrived(now: Instant, link: LinkId, packet: &Packet<Tag>, state: &PacketState);
    fn transmitted(link: LinkId, packet: &Packet<Tag>, state: &PacketState, span: [Instant; 2]);
    fn dropped(now: Instant, link: LinkId, packet: &Packet<Tag>, state: &PacketState, reason: DropReason);
    fn lost(now: Instant, link: LinkId, packet: &Packet<Tag>, state: &PacketState);
    fn edge_dropped(now: Instant, packet: &Packet<Tag>, state: &PacketState);
    fn edge_marked(now: Instant, packet: &Packet<Tag>, state: &PacketState);
    fn delivered(now: Instant, packet: &Packet<Tag>, state: &PacketState);
    fn reported(now: Instant, flow: FlowNumber, report: &Report);
    fn finished(now: Instant, flow: FlowNumber);
    fn closed(now: Instant, flow: FlowNumber, counts: &FlowCounts);
}
