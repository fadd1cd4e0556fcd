//! Packet contents in an arena: the slot of a packet is reused as soon as the packet is gone.

use roundelay::author::prefetch;
use roundelay::{Acknowledgement, Instant, Slack};
use roundelay_tcp::{Flags, Segment};

use crate::agent::Direction;
use crate::flows::FlowNumber;

/// Payload of a packet in a queue: the hop, and the arena slot of the [`PacketState`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    /// Current hop: an index into the table of routes.
    pub(crate) hop: u32,
    /// Slot in the arena.
    pub(crate) slot: u32,
}

/// Message from one end of a flow to the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    /// Bytes without meaning.
    #[default]
    Bytes,
    /// A number chosen by the agent.
    Number(u64),
    /// A TCP segment or acknowledgement.
    Segment(Segment),
}

/// Packet state outside queues. All fields but the content of a segment lie in one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct PacketState {
    /// Packet number, counted from 0 as packets are sent.
    pub number: u64,
    /// The flow. Flow numbers are never reused, unlike the `FlowId` used by queues.
    pub flow: FlowNumber,
    /// The time of sending.
    pub sent: Instant,
    /// The slack at sending.
    pub initial_slack: Slack,
    /// The length sent by the agent, bytes. Links change the length on the link only.
    pub len: u32,
    /// The direction.
    pub direction: Direction,
    /// The content.
    pub content: Content,
}

/// What a packet acknowledges, for queues that filter acknowledgements: as a capture of the
/// simulation would have it, with timestamps in milliseconds.
pub(crate) fn acknowledgement(state: &PacketState) -> Option<Acknowledgement> {
    let Content::Segment(segment) = state.content else {
        return None;
    };
    let flags = segment.flags;
    if !flags.has(Flags::ACK) || segment.is_syn() {
        return None;
    }
    let mut blocks = [(0, 0); 4];
    for (block, (start, end)) in blocks.iter_mut().zip(segment.selective()) {
        *block = (start as u32, end as u32);
    }
    let millis = |time: Instant| (time.since(Instant::ZERO).as_nanos() / 1_000_000) as u32;
    Some(Acknowledgement {
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

/// The [`PacketState`] of all packets on their way.
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
        // `Bytes` writes one cache line, not two.
        let content = if state.content == Content::Bytes {
            Content::Bytes
        } else {
            state.content
        };
        *stored = PacketState { content, ..state };
        slot
    }

    /// Prefetches the first cache line of a packet's state, before the packet's arrival at the end
    /// of the route: no hop before reads the state, unless a probe does.
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
