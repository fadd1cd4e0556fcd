//! ACK filter: drops bare acknowledgements that wait in a queue if later ones from the same
//! connection repeat them.
//!
//! Source: "Piece of CAKE" and tc-cake(8), "ACK filter": what a dropped acknowledgement says, the
//! one that has come must say again, duplicates and selective acknowledgements included, and ECN's
//! flags must not get lost.

use alloc::vec::Vec;

use crate::acknowledgement::Acknowledgement;
use crate::packet::FlowId;
use crate::pool::{Pool, Queue, Storage};

/// Which acknowledgements are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AckFilter {
    /// None.
    #[default]
    Off,
    /// The first redundant one while a second one still waits.
    Conservative,
    /// That one, and also a single redundant one right before the acknowledgement that has come.
    Aggressive,
}

impl AckFilter {
    /// The words of `tc`, in the order of the variants.
    pub const WORDS: &'static [&'static str] =
        &["no-ack-filter", "ack-filter", "ack-filter-aggressive"];

    /// The choice at this position among [`WORDS`](Self::WORDS).
    pub const fn of(index: u64) -> Self {
        match index {
            0 => Self::Off,
            1 => Self::Conservative,
            _ => Self::Aggressive,
        }
    }
}

/// Acknowledgements that wait, by the slots of their packets.
#[derive(Debug, Clone)]
pub(super) struct Acks {
    is_aggressive: bool,
    /// What the flow's next packet acknowledges.
    announced: Option<(FlowId, Acknowledgement)>,
    /// Grows with the slots of the pool.
    by_slot: Vec<Option<Acknowledgement>>,
}

impl Acks {
    /// None if nothing is dropped.
    pub(super) fn new(filter: AckFilter) -> Option<Self> {
        (filter != AckFilter::Off).then_some(Self {
            is_aggressive: filter == AckFilter::Aggressive,
            announced: None,
            by_slot: Vec::new(),
        })
    }

    pub(super) fn announce(&mut self, flow: FlowId, ack: Option<&Acknowledgement>) {
        self.announced = ack.map(|ack| (flow, *ack));
    }

    /// A packet of this flow has come to this slot, or to none if it was refused.
    pub(super) fn arrived(&mut self, flow: FlowId, slot: Option<u32>) {
        let announced = self.announced.take();
        let Some(slot) = slot else { return };
        let slot = slot as usize;
        if slot >= self.by_slot.len() {
            self.by_slot.resize(slot + 1, None);
        }
        self.by_slot[slot] = match announced {
            Some((of, ack)) if of == flow => Some(ack),
            _ => None,
        };
    }

    /// The slot of the packet that the queue's last one makes redundant.
    pub(super) fn redundant<T, P: Storage<T>>(
        &self,
        pool: &Pool<T, P>,
        queue: &Queue,
    ) -> Option<u32> {
        let newest = self.at(queue.tail)?;
        let mut found: Option<(u32, &Acknowledgement)> = None;
        let mut last_before = None;
        let mut slot = queue.head.slot;
        // As many packets as there are, because the links of a handle that its owner has queued twice
        // lead in a circle.
        for _ in 0..queue.packets {
            if slot == queue.tail {
                break;
            }
            last_before = Some(slot);
            let waiting = self.at(slot);
            if let Some(ack) = waiting.filter(|ack| ack.connection == newest.connection) {
                // The flags have changed behind it, so without it the change would be lost.
                if found.is_some_and(|(_, first)| first.ecn_flags() != ack.ecn_flags()) {
                    found = None;
                }
                if newest.replaces(ack) {
                    match found {
                        // Another one remains, so the one nearest to the head goes.
                        Some((first, _)) => return Some(first),
                        None => found = Some((slot, ack)),
                    }
                }
            }
            slot = pool.behind(slot)?.slot;
        }
        let (single, ack) = found?;
        let goes = self.is_aggressive
            && last_before == Some(single)
            && ack.ecn_flags() == newest.ecn_flags();
        goes.then_some(single)
    }

    fn at(&self, slot: u32) -> Option<&Acknowledgement> {
        self.by_slot.get(slot as usize)?.as_ref()
    }
}
