//! What a scheduler orders: a packet is a flow, a length and whatever the caller carries along.

use crate::time::{Instant, Slack};

/// The flow that a packet belongs to.
///
/// Callers number their flows from 0 upwards; most disciplines keep one record per number, so numbers should be dense, and refuse packets of
/// flows beyond [`FlowId::LARGEST_TABLED`]. Disciplines that hash (`sfq`, `fq_codel`) take any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The largest flow number for which a discipline with a table of flows makes room: a stray number must not cost all memory.
    pub const LARGEST_TABLED: Self = Self((1 << 20) - 1);

    /// Whether a table of flows makes room for this one.
    #[inline]
    pub(crate) const fn fits_a_table(self) -> bool {
        self.0 <= Self::LARGEST_TABLED.0
    }

    /// The flow's place in a table.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// Explicit Congestion Notification, as far as a queue needs it (RFC 3168, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
// As wide as its neighbours: packets are moved in whole words then, also where this tells a packet from none.
#[repr(u32)]
pub enum Ecn {
    /// The sender does not take part: congestion can be told by loss only.
    #[default]
    NotCapable,
    /// ECT(0) or ECT(1): the queue may mark the packet where it would drop it.
    Capable,
    /// CE: some queue has marked the packet.
    Marked,
}

/// A packet in a queue, generic over what it stands for: a frame, an offset into a capture, a simulated segment, a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<T> {
    /// The flow it belongs to.
    pub flow: FlowId,
    /// Bytes that it occupies on the link.
    pub len: u32,
    /// When it reached the queue. [`Port`](crate::Port) sets it; disciplines that look at the time spent in the queue read it.
    pub arrival: Instant,
    /// Whether it may be marked instead of dropped, and whether it has been.
    pub ecn: Ecn,
    /// Smaller goes first, in disciplines that serve by it: a class, the bytes of its flow (`sjf`), what is left of them (`srpt`);
    /// [`Discipline::PRIORITY`](crate::schedulers::Discipline::PRIORITY) says which a discipline means.
    pub priority: u32,
    /// Time that it can still lose in queues. Whoever carries it on takes off what it waited at each: the dynamic packet state of LSTF.
    pub slack: Slack,
    /// When its receiver needs it, for disciplines that go by deadlines.
    pub deadline: Instant,
    /// What the caller carries along. No scheduler looks at it.
    pub payload: T,
}

impl<T> Packet<T> {
    /// A packet of `len` bytes that is not capable of ECN, with priority 0, no slack and no deadline.
    pub const fn new(flow: FlowId, len: u32, payload: T) -> Self {
        let (arrival, ecn, priority) = (Instant::ZERO, Ecn::NotCapable, 0);
        Self { flow, len, arrival, ecn, priority, slack: Slack::ZERO, deadline: Instant::MAX, payload }
    }
}

const _: () = assert!(size_of::<Packet<u32>>() <= 48, "a packet and its links lie in one cache line");
