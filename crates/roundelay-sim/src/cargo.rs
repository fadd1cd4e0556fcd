//! What packets carry, in one arena: a place is used again as soon as its packet is gone.

use roundelay::{Instant, Slack};
use roundelay_tcp::Segment;

use crate::agent::Direction;
use crate::flows::FlowNumber;

/// What a packet in a queue carries of it: where it is, and where the rest lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Carried {
    /// Its place on its way, in the table of routes.
    pub(crate) hop: u32,
    /// Its place in the arena.
    pub(crate) cargo: u32,
}

/// What the ends of a flow tell each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Content {
    /// Nothing but bytes.
    #[default]
    Bytes,
    /// Whatever the agent numbers.
    Number(u64),
    /// A segment of TCP, or its acknowledgement.
    Segment(Segment),
}

/// The rest of a packet on its way. All but what a segment says lies in one cache line.
#[derive(Debug, Clone, Copy)]
#[repr(C, align(64))]
pub struct Cargo {
    /// Its number: packets are counted as they are sent, from 0 upwards.
    pub number: u64,
    /// The flow: numbers are never used again, unlike the `FlowId` by which queues know it.
    pub flow: FlowNumber,
    /// When its agent sent it.
    pub sent: Instant,
    /// The slack that it was sent with.
    pub initial_slack: Slack,
    /// Which way it goes.
    pub direction: Direction,
    /// What it says.
    pub content: Content,
}

/// All packets on their way.
#[derive(Debug, Default)]
pub(crate) struct Arena {
    cargoes: Vec<Cargo>,
    free: Vec<u32>,
}

impl Arena {
    #[inline]
    pub(crate) fn store(&mut self, cargo: Cargo) -> u32 {
        let Some(place) = self.free.pop() else {
            self.cargoes.push(cargo);
            return (self.cargoes.len() - 1) as u32;
        };
        let stored = &mut self.cargoes[place as usize];
        // Nothing but bytes is one line to write, not two.
        let content = if cargo.content == Content::Bytes { Content::Bytes } else { cargo.content };
        *stored = Cargo { content, ..cargo };
        place
    }

    #[inline]
    pub(crate) fn at(&self, place: u32) -> &Cargo {
        &self.cargoes[place as usize]
    }

    #[inline]
    pub(crate) fn release(&mut self, place: u32) {
        self.free.push(place);
    }

    /// Packets on their way.
    pub(crate) fn len(&self) -> usize {
        self.cargoes.len() - self.free.len()
    }
}
