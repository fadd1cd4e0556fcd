//! Whoever wants to know what happens.

use roundelay::{DropReason, Duration, Instant, Packet};

use crate::cargo::{Cargo, Carried};
use crate::flows::{FlowCounts, FlowNumber};
use crate::network::{LinkId, NodeId};

/// What came of a transfer, as its agent tells: of a flow over TCP, or of one response or segment of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Report {
    /// Bytes that its receiver has, each counted once, headers not.
    pub bytes: u64,
    /// When it began: the flow was opened, the request was made.
    pub start: Instant,
    /// When its receiver had the last of these bytes, and all before it.
    pub delivered: Instant,
    /// When its sender knew. None if it does not yet.
    pub acknowledged: Option<Instant>,
    /// Whether this is all of it: it was not cut off.
    pub is_complete: bool,
    /// Whether it is of a transfer at all. If not, it only tells what was counted after the last one.
    pub is_transfer: bool,
    /// Segments that were sent again since the last report of its connection.
    pub retransmissions: u64,
    /// Timeouts of senders since then.
    pub timeouts: u64,
    /// The mean time of its segments to the receiver and of what answered them back, the time that the receiver took not counted.
    pub round_trip: Duration,
}

impl Report {
    /// From its beginning until its receiver had it all.
    pub const fn completion_time(&self) -> Duration {
        self.delivered.since(self.start)
    }

    /// From its beginning until its sender knew that its receiver had it all: when a flow is over for ns-2.
    pub fn acknowledged_after(&self) -> Option<Duration> {
        self.acknowledged.map(|at| at.since(self.start))
    }

    /// Bits per second until its receiver had it all; 0 if it took no time.
    pub fn goodput(&self) -> f64 {
        let seconds = self.completion_time().as_secs_f64();
        if seconds > 0.0 { self.bytes as f64 * 8.0 / seconds } else { 0.0 }
    }
}

/// What senders did to repair losses.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Effort {
    pub(crate) retransmissions: u64,
    pub(crate) timeouts: u64,
}

impl std::ops::Add for Effort {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { retransmissions: self.retransmissions + other.retransmissions, timeouts: self.timeouts + other.timeouts }
    }
}

/// Hears of everything, in the order in which it happens, and may label packets at each node. What is not asked for costs nothing.
///
/// `packet.len` is what it takes of the link that it is on, with that link's overhead; at its end it is what its agent sent.
#[allow(unused_variables, reason = "by default nothing is listened to")]
pub trait Probe {
    /// A flow begins, of an agent of that group.
    fn opened(&mut self, now: Instant, flow: FlowNumber, group: u32, from: NodeId, to: NodeId) {}
    /// An agent sends a packet: it comes to the first queue of its route.
    fn sent(&mut self, now: Instant, packet: &Packet<Carried>, cargo: &Cargo) {}
    /// A packet comes to a link's queue: may write its header anew: slack, priority, deadline. Called before the queue looks at the packet, and before [`arrived`](Self::arrived).
    fn label(&mut self, now: Instant, link: LinkId, packet: &mut Packet<Carried>, cargo: &Cargo) {}
    /// A packet comes to a link's queue.
    fn arrived(&mut self, now: Instant, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo) {}
    /// A packet gets a link, from the first of two instants to the second. Heard at the first; if the link
    /// interrupts packets at the second.
    fn transmitted(&mut self, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo, span: [Instant; 2]) {}
    /// A link's queue drops a packet.
    fn dropped(&mut self, now: Instant, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo, reason: DropReason) {}
    /// A packet does not survive the wire. Heard as it leaves the queue.
    fn lost(&mut self, now: Instant, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo) {}
    /// Edge-CoDel drops a packet at the end of its route: the packet is not delivered.
    fn edge_dropped(&mut self, now: Instant, packet: &Packet<Carried>, cargo: &Cargo) {}
    /// Edge-CoDel marks a packet, which is delivered next.
    fn edge_marked(&mut self, now: Instant, packet: &Packet<Carried>, cargo: &Cargo) {}
    /// A packet reaches the end of its route.
    fn delivered(&mut self, now: Instant, packet: &Packet<Carried>, cargo: &Cargo) {}
    /// An agent tells what came of a transfer.
    fn reported(&mut self, now: Instant, flow: FlowNumber, report: &Report) {}
    /// A flow has ended and none of its packets is on its way.
    fn closed(&mut self, now: Instant, flow: FlowNumber, counts: &FlowCounts) {}
}

/// Nobody.
impl Probe for () {}

/// Whoever stands behind a reference, somebody or nobody, or two of them: they hear the same, the first one first.
macro_rules! pass_on {
    ($(fn $name:ident($($argument:ident: $kind:ty),*);)*) => {
        impl<P: Probe> Probe for &mut P {
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
    fn opened(now: Instant, flow: FlowNumber, group: u32, from: NodeId, to: NodeId);
    fn sent(now: Instant, packet: &Packet<Carried>, cargo: &Cargo);
    fn label(now: Instant, link: LinkId, packet: &mut Packet<Carried>, cargo: &Cargo);
    fn arrived(now: Instant, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo);
    fn transmitted(link: LinkId, packet: &Packet<Carried>, cargo: &Cargo, span: [Instant; 2]);
    fn dropped(now: Instant, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo, reason: DropReason);
    fn lost(now: Instant, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo);
    fn edge_dropped(now: Instant, packet: &Packet<Carried>, cargo: &Cargo);
    fn edge_marked(now: Instant, packet: &Packet<Carried>, cargo: &Cargo);
    fn delivered(now: Instant, packet: &Packet<Carried>, cargo: &Cargo);
    fn reported(now: Instant, flow: FlowNumber, report: &Report);
    fn closed(now: Instant, flow: FlowNumber, counts: &FlowCounts);
}
