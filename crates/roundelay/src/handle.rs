//! What a dequeue returns: a packet, or the handle of a packet that the caller keeps.

use crate::packet::{Ecn, FlowId, Packet};

/// What a dequeue returns: a [`Packet`], or a handle's [`Departure`].
pub trait Leaving {
    /// The packet's flow. None for a departure.
    fn flow(&self) -> Option<FlowId>;

    /// Marks the packet: CE must be set.
    fn mark(&mut self);
}

impl<T> Leaving for Packet<T> {
    #[inline]
    fn flow(&self) -> Option<FlowId> {
        Some(self.flow)
    }

    #[inline]
    fn mark(&mut self) {
        self.ecn = Ecn::Marked;
    }
}

/// The caller's number for a packet.
///
/// A handle may be queued only once, in one scheduler at a time. If you queue it a second time
/// before its departure, this breaks the links of both queues, so packets are lost or leave twice.
/// Debug builds check this in schedulers over [`Links`](crate::author::Links). Schedulers but FIFO
/// and TBF, which have no such table, refuse handles beyond [`Handle::LARGEST`], and a table of
/// links grows to the largest handle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Handle(pub u32);

impl Handle {
    /// The largest handle accepted, 67,108,863, because a stray number must not cost all memory.
    pub const LARGEST: Self = Self((1 << 26) - 1);

    /// The packet's index in a table.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a dequeue from a scheduler by handle returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Departure {
    /// The packet's handle.
    pub handle: Handle,
    /// Whether CE must be set on the packet.
    pub mark: bool,
}

impl Leaving for Departure {
    #[inline]
    fn flow(&self) -> Option<FlowId> {
        None
    }

    #[inline]
    fn mark(&mut self) {
        self.mark = true;
    }
}
