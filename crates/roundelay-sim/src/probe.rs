//! Probe: observes all events in a simulation.

use roundelay::{DropReason, Duration, FlowConfig, Instant, Packet};

use crate::flows::FlowCounts;
use crate::ids::{FlowNumber, LinkId, NodeId};
use crate::packet_state::{PacketState, Tag};

/// What an agent reports about a transfer, which is a TCP flow, or one response or segment on a
/// flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Payload bytes that the receiver has, without headers. Each byte counts once.
    pub bytes: u64,
    /// When the transfer started: the flow was opened, or the request was made.
    pub start: Instant,
    /// When the receiver had all these bytes.
    pub delivered: Instant,
    /// When the sender knew that. None: not yet.
    pub acknowledged: Option<Instant>,
    /// Whether the transfer is complete and was not cut off.
    pub is_complete: bool,
    /// Whether the report is about a transfer. If not, only the counts since the last report
    /// matter.
    pub is_transfer: bool,
    /// Segments retransmitted since the connection's last report.
    pub retransmissions: u64,
    /// Retransmission timeouts since the last report.
    pub timeouts: u64,
    /// Mean round-trip time: how long segments take to the receiver plus how long their answers
    /// take back, without the receiver's own delay.
    pub round_trip: Duration,
}

impl Report {
    /// From the start until the receiver had all bytes.
    pub const fn completion_time(&self) -> Duration {
        self.delivered.since(self.start)
    }

    /// From the start until the sender knew that the receiver had all bytes. This is what ns-2
    /// calls flow completion time.
    pub fn acknowledged_after(&self) -> Option<Duration> {
        self.acknowledged.map(|at| at.since(self.start))
    }
}

/// How much senders had to repair.
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

/// A flow when it starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Opening {
    /// The group of its agent.
    pub group: u32,
    /// The source node.
    pub from: NodeId,
    /// The destination node.
    pub to: NodeId,
    /// Settings for the queues on the route. If None, they use their defaults.
    pub config: Option<FlowConfig>,
    /// Whether Edge-CoDel controls the flow.
    pub has_edge_control: bool,
    /// If this flow is the other direction of a flow's connection, that flow.
    pub reply_to: Option<FlowNumber>,
    /// If the source has a list, the index of the flow's connection, or of its packets, in that
    /// list. A reply to a flow has none.
    pub listed: Option<u32>,
}

/// Observes all events, in the order in which they occur, and may write header fields at each node.
/// If a simulation is built with this type of probe, methods that it does not implement cost
/// nothing. Behind `dyn Probe`, each costs an indirect call.
///
/// `packet.len` is the length on the current link, with its overhead and framing. On delivery it is
/// the length that the agent sent.
#[allow(unused_variables, reason = "by default nothing is listened to")]
pub trait Probe {
    /// An agent opens a flow.
    fn opened(&mut self, now: Instant, flow: FlowNumber, opening: Opening) {}
    /// An agent sends a packet into the first queue on its route.
    fn sent(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {}
    /// A packet arrives at a link's queue, and the probe may change its slack, priority and
    /// deadline. Called before [`arrived`](Self::arrived), and before the queue sees the packet.
    fn label(&mut self, now: Instant, link: LinkId, packet: &mut Packet<Tag>, state: &PacketState) {
    }
    /// A packet arrives at a link's queue.
    fn arrived(&mut self, now: Instant, link: LinkId, packet: &Packet<Tag>, state: &PacketState) {}
    /// A packet has the link from the first instant of the span to the second. Called at the first,
    /// but on a preemptive link at the second.
    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        span: [Instant; 2],
    ) {
    }
    /// A link sends none of the packets that wait, because its discipline holds them back until
    /// `until`, or until the next arrival. Not called where decisions cost time, or where the link
    /// is preemptive.
    fn rests(&mut self, now: Instant, link: LinkId, until: Instant) {}
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
    /// Edge-CoDel drops a packet at the end of its route, so no delivery follows.
    fn edge_dropped(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {}
    /// Edge-CoDel marks a packet. Its delivery follows.
    fn edge_marked(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {}
    /// A packet reaches the end of its route.
    fn delivered(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {}
    /// An agent reports a transfer.
    fn reported(&mut self, now: Instant, flow: FlowNumber, report: &Report) {}
    /// An agent closes a flow. Packets may still be on their way.
    fn finished(&mut self, now: Instant, flow: FlowNumber) {}
    /// A flow is closed and its last packet has left the network.
    fn closed(&mut self, now: Instant, flow: FlowNumber, counts: &FlowCounts) {}
}

/// Observes nothing.
impl Probe for () {}

/// A reference, an option, a pair and a list of probes are probes. The first one is called first.
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
    fn rests(now: Instant, link: LinkId, until: Instant);
    fn dropped(now: Instant, link: LinkId, packet: &Packet<Tag>, state: &PacketState, reason: DropReason);
    fn lost(now: Instant, link: LinkId, packet: &Packet<Tag>, state: &PacketState);
    fn edge_dropped(now: Instant, packet: &Packet<Tag>, state: &PacketState);
    fn edge_marked(now: Instant, packet: &Packet<Tag>, state: &PacketState);
    fn delivered(now: Instant, packet: &Packet<Tag>, state: &PacketState);
    fn reported(now: Instant, flow: FlowNumber, report: &Report);
    fn finished(now: Instant, flow: FlowNumber);
    fn closed(now: Instant, flow: FlowNumber, counts: &FlowCounts);
}
