//! Whoever wants to know what happens.

use roundelay::{DropReason, Instant, Packet};

use crate::cargo::{Cargo, Carried};
use crate::flows::{FlowCounts, FlowNumber};
use crate::network::{LinkId, NodeId};

/// Hears of everything, in the order in which it happens. What is not asked for costs nothing.
///
/// `packet.len` is what it takes of the link that it is on, with that link's overhead; at its end it is what its agent sent.
#[allow(unused_variables, reason = "by default nothing is listened to")]
pub trait Probe {
    /// A flow begins.
    fn opened(&mut self, now: Instant, flow: FlowNumber, from: NodeId, to: NodeId) {}
    /// An agent sends a packet: it comes to the first queue of its route.
    fn sent(&mut self, now: Instant, packet: &Packet<Carried>, cargo: &Cargo) {}
    /// A packet comes to a link's queue.
    fn arrived(&mut self, now: Instant, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo) {}
    /// A packet gets a link, from the first of two instants to the second. Heard at the first; if the link
    /// interrupts packets at the second.
    fn transmitted(&mut self, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo, span: [Instant; 2]) {}
    /// A link's queue drops a packet.
    fn dropped(&mut self, now: Instant, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo, reason: DropReason) {}
    /// A packet does not survive the wire. Heard as it leaves the queue.
    fn lost(&mut self, now: Instant, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo) {}
    /// A packet reaches the end of its route.
    fn delivered(&mut self, now: Instant, packet: &Packet<Carried>, cargo: &Cargo) {}
    /// A flow has ended and none of its packets is on its way.
    fn closed(&mut self, now: Instant, flow: FlowNumber, counts: &FlowCounts) {}
}

/// Nobody.
impl Probe for () {}
