//! What packets carry, in an arena. A packet's slot is used again as soon as the packet is gone.

use roundelay::author::prefetch;
use roundelay::{Acknowledgement, Instant, Slack};
use roundelay_tcp::{Flags, Segment};

use crate::ids::{Direction, FlowNumber};

/// What a packet carries through queues: its hop, and the arena slot of its [`PacketState`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// The current hop: an index into the table of routes.
    pub(crate) hop: u32,
    /// The slot in the arena.
    pub(crate) slot: u32,
}

/// A message from one end of a flow to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    /// Bytes without meaning.
    #[default]
    Bytes,
    /// A number that the agent chose.
    Number(u64),
    /// A TCP segment or acknowledgement.
    Segment(Segment),
}

/// A packet's state outside queues. All fields fit into one cache line, except for a segment's
/// content.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct PacketState {
    /// The packet's number, counted from 0 as packets are sent.
    pub number: u64,
    /// The flow. Its number is never used again, unlike the `FlowId` that queues use.
    pub flow: FlowNumber,
    /// When the packet was sent.
    pub sent: Instant,
    /// The slack when the packet was sent.
    pub initial_slack: Slack,
    /// The length that the agent sent, in bytes. A link changes the length only while the packet is
    /// on the link.
    pub len: u32,
    /// The direction.
    pub direction: Direction,
    /// The content.
    pub content: Content,
}

/// What a packet acknowledges, for queues that filter acknowledgements. It is what a capture of the
/// simulation would show, with timestamps in milliseconds.
pub(crate) fn acknowledgement(state: &PacketState) -> Option<Acknowledgement> {
    let Content::Segment(segment) = state.content else {
        return None;
    };
    let flags = segment.flags;
    if !flags.has(Flags::ACK) || segment.is_syn() {
        return None;
    }
    let mut blocks = [(0, 0); 4];
    // IPv4, TCP and timestamps; what else the packet has belongs to the link.
    let mut headers = 20 + 20 + 12;
    for (block, (start, end)) in blocks.iter_mut().zip(segment.selective()) {
        headers += if headers == 52 { 12 } else { 8 };
        *block = (start as u32, end as u32);
    }
    let millis = |time: Instant| (time.since(Instant::ZERO).as_nanos() / 1_000_000) as u32;
    Some(Acknowledgement {
        len: state.len.min(headers + segment.len),
        connection: 2 * state.flow.0 + state.direction.index() as u64,
        number: segment.acknowledgement as u32,
        blocks,
        timestamps: Some((millis(segment.timestamp), millis(segment.echo))),
        echoes_mark: flags.has(Flags::ECE),
        has_reduced: flags.has(Flags::CWR),
        is_bare: segment.len == 0 && !flags.has(Flags::OUT_OF_BAND),
        is_silent: false,
    })
}

/// The [`PacketState`] of each packet on its way.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    states: Vec<PacketState>,
    free: Vec<u32>,
}

impl Arena {
    #[inline]
    pub(crate) fn store(&mut self, state: PacketState) -> u32 {
        let Some(slot) = self.free.pop() else {
            self.states.push(state);
            return (self.states.len() - 1) as u32;
        };
        let stored = &mut self.states[slot as usize];
        // Written so, `Bytes` costs one cache line and not two.
        let content = if state.content == Content::Bytes {
            Content::Bytes
        } else {
            state.content
        };
        *stored = PacketState { content, ..state };
        slot
    }

    /// Prefetches the first cache line of a packet's state before the packet reaches the end of its
    /// route. No earlier hop reads the state, unless a probe does.
    #[inline]
    pub(crate) fn prefetch(&self, slot: u32) {
        prefetch(&self.states, slot as usize);
    }

    #[inline]
    pub(crate) fn at(&self, slot: u32) -> &PacketState {
        &self.states[slot as usize]
    }

    #[inline]
    pub(crate) fn at_mut(&mut self, slot: u32) -> &mut PacketState {
        &mut self.states[slot as usize]
    }

    #[inline]
    pub(crate) fn release(&mut self, slot: u32) {
        self.free.push(slot);
    }

    /// Packets on their way.
    pub(crate) fn len(&self) -> usize {
        self.states.len() - self.free.len()
    }
}
