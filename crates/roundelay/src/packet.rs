//! Packet: flow, length, scheduling fields, and the caller's payload.

use crate::time::{Instant, Slack};

/// The flow that a packet belongs to.
///
/// Number your flows from 0 upwards. Most disciplines keep one record per number, so numbers should
/// be dense, and packets from flows beyond [`FlowId::LARGEST_TABLED`] are refused. Disciplines that
/// hash (`sfq`, `fq_codel`) take any number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FlowId(pub u32);

impl FlowId {
    /// The largest flow number that a discipline with a table of flows accepts, 1,048,575, because
    /// a stray number must not cost all memory.
    pub const LARGEST_TABLED: Self = Self((1 << 20) - 1);

    /// Whether the flow number is within [`LARGEST_TABLED`](Self::LARGEST_TABLED).
    #[inline]
    pub(crate) const fn fits_a_table(self) -> bool {
        self.0 <= Self::LARGEST_TABLED.0
    }

    /// The flow's index in a table.
    #[inline]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// The hosts at a flow's ends, by your own numbers: equal addresses, equal numbers.
///
/// Disciplines that share a link among hosts read them
/// ([`Discipline::reads_hosts`](crate::schedulers::Discipline::reads_hosts)). You give them once
/// for each flow, with [`Control::set_hosts`](crate::Control::set_hosts), because all its packets
/// have the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Hosts {
    /// The host that sends.
    pub source: u32,
    /// The host that receives.
    pub destination: u32,
}

/// Explicit Congestion Notification field, reduced to the needs of a queue (RFC 3168, section 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
// u32, so that `Packet` has no padding and copies by words. Also the niche of `Option<Packet>`.
#[repr(u32)]
pub enum Ecn {
    /// The sender does not use ECN, so only a loss can signal congestion.
    #[default]
    NotCapable,
    /// ECT(0) or ECT(1): the queue may mark the packet instead of a drop.
    Capable,
    /// CE: some queue has marked the packet.
    Marked,
}

/// A packet in a queue. The payload is generic: a frame, an offset into a capture, a simulated
/// segment, a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<T> {
    /// The packet's flow.
    pub flow: FlowId,
    /// Bytes on the link.
    pub len: u32,
    /// Arrival time at the queue. [`Port`](crate::Port) sets it for disciplines that use the time
    /// in the queue.
    pub arrival: Instant,
    /// Whether the packet may be marked instead of dropped, and whether it is marked.
    pub ecn: Ecn,
    /// Smaller goes first, in disciplines that serve by priority: a class, the bytes of the flow
    /// (`sjf`), the remaining bytes (`srpt`).
    /// [`Discipline::PRIORITY`](crate::schedulers::Discipline::PRIORITY) names the meaning in a
    /// discipline.
    pub priority: u32,
    /// Queueing time still allowed. Each hop subtracts the time in its queue, which makes it LSTF's
    /// dynamic packet state.
    pub slack: Slack,
    /// The time at which the receiver needs the packet, for disciplines with deadlines.
    pub deadline: Instant,
    /// The caller's payload. No scheduler reads it.
    pub payload: T,
}

impl<T> Packet<T> {
    /// A packet of `len` bytes without ECN, with priority 0, no slack and no deadline.
    pub const fn new(flow: FlowId, len: u32, payload: T) -> Self {
        let arrival = Instant::ZERO;
        let ecn = Ecn::NotCapable;
        let priority = 0;
        Self {
            flow,
            len,
            arrival,
            ecn,
            priority,
            slack: Slack::ZERO,
            deadline: Instant::MAX,
            payload,
        }
    }
}

/// What [`Packet::priority`] means to a discipline, and so what to write into new packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Priority {
    /// Not read.
    Unread,
    /// The caller's classes: smaller goes first.
    Class,
    /// The Differentiated Services code point, 0 to 63: see RFC 2474.
    CodePoint,
    /// The whole flow's bytes.
    FlowSize,
    /// How many bytes the flow has still to send, including this packet.
    Remaining,
}

/// Which of a packet's time fields a discipline uses, beside the arrival.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Times {
    /// None.
    Unread,
    /// [`Packet::slack`].
    Slack,
    /// [`Packet::deadline`].
    Deadline,
}

const _: () = assert!(
    size_of::<Packet<u32>>() <= 48,
    "a packet and its links lie in one cache line"
);
