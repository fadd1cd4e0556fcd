//! The [`Scheduler`] trait: what happens to packets. [`Control`] has the rest.

use alloc::vec::Vec;

use crate::control::Control;
use crate::drops::{DropReason, Refused};
use crate::handle::Leaving;
use crate::limit::Backlog;
use crate::packet::{FlowId, Packet};
use crate::time::Instant;

/// Orders packets for one link. Has no clock, no limit, no I/O.
///
/// Packets are passed by value with a payload `T`. A scheduler by handle is a `Scheduler<Handle,
/// Departure>`: the enqueued [`Packet`] carries a [`Handle`](crate::Handle) and is the description
/// of a packet that the caller keeps, and a dequeue returns (`L`) a
/// [`Departure`](crate::Departure).
///
/// Time is an argument and must not run backwards. Packets of one flow leave in order of arrival,
/// unless a discipline says otherwise. A scheduler forgets each packet returned by a call.
pub trait Scheduler<T, L: Leaving = Packet<T>>: Control {
    /// Takes a packet.
    ///
    /// # Errors
    /// The packet is refused: it comes back unchanged, with the reason, and the state is as before.
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>>;

    /// The next packet for the link. None if the queue is empty, or no packet may leave before
    /// [`ready_at`](Self::ready_at).
    fn dequeue(&mut self, now: Instant) -> Option<L>;

    /// [`enqueue`](Self::enqueue) of each packet in turn. Refused packets stay in `packets`, in
    /// their order.
    ///
    /// With several packets at once, a discipline can fetch the records of their flows from memory
    /// together instead of waiting for each. The result is the same.
    /// [`take_dropped`](Self::take_dropped) covers the whole burst.
    fn enqueue_burst(&mut self, now: Instant, packets: &mut Vec<Packet<T>>) {
        let mut refused = Vec::new();
        for packet in packets.drain(..) {
            if let Err(error) = self.enqueue(now, packet) {
                refused.push(error.packet);
            }
        }
        packets.append(&mut refused);
    }

    /// [`dequeue`](Self::dequeue) up to `most` times, or until None. Appends the packets to `into`.
    fn dequeue_burst(&mut self, now: Instant, most: usize, into: &mut Vec<L>) {
        into.extend(core::iter::from_fn(|| self.dequeue(now)).take(most));
    }

    /// [`dequeue`](Self::dequeue) in a tree's class, where each flow is a child with one packet in
    /// the scheduler. Before the chosen flow can count as idle, `refill` returns the flow's next
    /// packet. The flow then keeps its turn and its virtual times.
    ///
    /// Disciplines with [`INTERIOR`](crate::schedulers::Discipline::INTERIOR) give this guarantee.
    /// The default here does not. By handle, the default never calls `refill`, because a departure
    /// has no flow.
    ///
    /// # Panics
    /// The scheduler refuses the packet from `refill`. A node checks its children's packets before.
    fn dequeue_refilled(
        &mut self,
        now: Instant,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<L> {
        let packet = self.dequeue(now)?;
        if let Some(next) = packet.flow().and_then(refill) {
            assert!(self.enqueue(now, next).is_ok(), "a refilled packet fits");
        }
        Some(packet)
    }

    /// The packet that this discipline gives up first when the buffer is full. None only if the
    /// queue is empty.
    fn evict(&mut self) -> Option<L>;

    /// A flow's newest packet, for a hierarchy that removes a child's stand-in. None if the flow
    /// has none, or if the discipline cannot be an
    /// [`INTERIOR`](crate::schedulers::Discipline::INTERIOR) node.
    fn evict_flow(&mut self, flow: FlowId) -> Option<L> {
        let _ = flow;
        None
    }

    /// Packets and bytes in the queue, without dropped packets not yet taken.
    fn backlog(&self) -> Backlog;

    /// When a discipline that idles although packets wait serves next. None: it never idles
    /// (work-conserving).
    fn ready_at(&self) -> Option<Instant> {
        None
    }

    /// The flow whose packet a [`dequeue`](Self::dequeue) would give now, for a tree's class that
    /// asks its children in their turn: see [`Control::names_turns`]. None: no packet may leave now.
    fn turn(&mut self, now: Instant) -> Option<FlowId> {
        let _ = now;
        None
    }

    /// Sets the length of a child's stand-in, which was enqueued without one, in a tree's class. The
    /// child is the one that [`turn`](Self::turn) named, and the stand-in is its only packet.
    fn set_len(&mut self, flow: FlowId, len: u32) {
        let _ = (flow, len);
    }

    /// Whether the next packet follows from a decision already taken, for a turn or for a service
    /// with several packets. A [`Port`](crate::Port) with a decision time asks before each
    /// [`dequeue`](Self::dequeue). False: each packet is a decision of its own.
    fn has_decided(&self) -> bool {
        false
    }

    /// A packet dropped by the discipline itself in the last [`enqueue`](Self::enqueue) (the
    /// arriving packet included, if dropped early), [`dequeue`](Self::dequeue) or
    /// [`evict`](Self::evict), with the reason, oldest first. Call until None.
    fn take_dropped(&mut self) -> Option<(L, DropReason)> {
        None
    }

    /// Whether a queued packet should take the link from `sending`. `sending` is shown as it would
    /// rejoin the queue now: with its whole length and its remaining slack. Called by a
    /// [`PreemptivePort`](crate::PreemptivePort) only.
    fn preempts(&self, now: Instant, sending: &Packet<T>) -> bool {
        let _ = (now, sending);
        false
    }
}
