//! Resequencer: packet storage behind queues of tickets. Restores each flow's packet order, and
//! reassembles packets served in pieces.
//!
//! A discipline that spreads a flow over several queues (`mqfq`) queues tickets, one for each piece
//! of a packet. A packet is complete when its last ticket is picked. If order is kept, a complete
//! packet is held until its flow's older packets have been sent or dropped, and is ready then. So a
//! held packet always waits for a packet with tickets in a queue.
//!
//! Flows need no records, because a flow's packets are linked by age, and a keyed hash of the flow
//! finds the newest one. Memory grows with the queued packets, not with the flows.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::limit::Backlog;
use crate::mechanisms::hash::FlowHash;
use crate::packet::{FlowId, Packet};

const NONE: u32 = u32::MAX;

/// Identifies a packet until its departure.
pub(crate) type Ticket = u32;

#[derive(Debug, Clone)]
pub(crate) struct Resequencer<T> {
    entries: Vec<Entry<T>>,
    free: u32,
    backlog: Backlog,
    /// Complete packets without older packets of their flow. Empty unless order is kept.
    ready: VecDeque<Ticket>,
    newest: Option<Newest>,
}

#[derive(Debug, Clone)]
struct Entry<T> {
    packet: Option<Packet<T>>,
    /// Tickets still queued. Zero: the packet is complete.
    pieces: u32,
    /// The flow's previous and next packet. `NONE` if order is not kept.
    older: Ticket,
    newer: Ticket,
    /// For a flow's newest packet: the newest packet of another flow in the same hash chain. For a
    /// free entry: the next free entry.
    next: u32,
}

/// The newest packet of each flow with packets, in chains by hash.
#[derive(Debug, Clone)]
struct Newest {
    heads: Vec<u32>,
    hash: FlowHash,
}

/// A flow's position in its chain: the chain, the entry before, and the flow's newest packet if
/// any.
#[derive(Debug, Clone, Copy)]
struct ChainPosition {
    chain: usize,
    before: Ticket,
    newest: Ticket,
}

impl<T> Resequencer<T> {
    /// With a hash: keeps the order of each flow. Without: returns packets as soon as they are
    /// complete.
    pub(crate) fn new(hash: Option<FlowHash>) -> Self {
        let newest = hash.map(|hash| Newest {
            heads: Vec::new(),
            hash,
        });
        Self {
            entries: Vec::new(),
            free: NONE,
            backlog: Backlog::default(),
            ready: VecDeque::new(),
            newest,
        }
    }

    /// All packets in storage.
    #[inline]
    pub(crate) const fn backlog(&self) -> Backlog {
        self.backlog
    }

    /// Stores a packet of `pieces` pieces.
    pub(crate) fn admit(&mut self, packet: Packet<T>, pieces: u32) -> Ticket {
        let flow = packet.flow;
        self.backlog.packets += 1;
        self.backlog.bytes += u64::from(packet.len);
        let entry = Entry {
            packet: Some(packet),
            pieces,
            older: NONE,
            newer: NONE,
            next: NONE,
        };
        let ticket = self.free;
        if let Some(free) = self.entries.get_mut(ticket as usize) {
            self.free = free.next;
            *free = entry;
            self.link(flow, ticket);
            return ticket;
        }
        let ticket = self.entries.len() as u32;
        assert!(ticket != NONE, "fewer than 2^32 - 1 packets wait");
        self.grow_chains(self.entries.len() + 1);
        self.entries.push(entry);
        self.link(flow, ticket);
        ticket
    }

    /// A ticket was picked. Returns the packet if complete and the next of its flow.
    pub(crate) fn picked(&mut self, ticket: Ticket) -> Option<Packet<T>> {
        let entry = &mut self.entries[ticket as usize];
        entry.pieces -= 1;
        if entry.pieces == 0 && entry.older == NONE {
            self.remove(ticket)
        } else {
            None
        }
    }

    /// The next held packet that is ready.
    pub(crate) fn next_ready(&mut self) -> Option<Packet<T>> {
        let ticket = self.ready.pop_front()?;
        self.remove(ticket)
    }

    /// Gives up the ready packet that would leave last.
    pub(crate) fn give_up_ready(&mut self) -> Option<Packet<T>> {
        let ticket = self.ready.pop_back()?;
        self.remove(ticket)
    }

    /// Removes a packet with queued tickets, or a complete packet that is its flow's next. The
    /// caller must have removed the tickets from the queues.
    pub(crate) fn remove(&mut self, ticket: Ticket) -> Option<Packet<T>> {
        let flow = self.entries[ticket as usize].packet.as_ref()?.flow;
        self.unlink(flow, ticket);
        let entry = &mut self.entries[ticket as usize];
        let packet = entry.packet.take()?;
        entry.next = self.free;
        self.free = ticket;
        self.backlog.packets -= 1;
        self.backlog.bytes -= u64::from(packet.len);
        Some(packet)
    }

    /// Appends a flow's newest packet to the flow's order.
    fn link(&mut self, flow: FlowId, ticket: Ticket) {
        let Some(position) = self.position_of(flow) else {
            return;
        };
        self.entries[ticket as usize].older = position.newest;
        if let Some(older) = self.entries.get_mut(position.newest as usize) {
            older.newer = ticket;
            let next = core::mem::replace(&mut older.next, NONE);
            self.entries[ticket as usize].next = next;
        }
        self.set_next(position, ticket);
    }

    /// Removes a packet from its flow's order. After the oldest packet, the next one may be ready.
    fn unlink(&mut self, flow: FlowId, ticket: Ticket) {
        let Entry {
            older, newer, next, ..
        } = self.entries[ticket as usize];
        if newer == NONE {
            let Some(position) = self.position_of(flow) else {
                return;
            };
            self.set_next(position, if older == NONE { next } else { older });
        }
        if let Some(older) = self.entries.get_mut(older as usize) {
            older.newer = newer;
            older.next = next;
        }
        if let Some(behind) = self.entries.get_mut(newer as usize) {
            behind.older = older;
            if older == NONE && behind.pieces == 0 {
                self.ready.push_back(newer);
            }
        }
    }

    /// Where a flow's newest packet stands in its chain, or would stand. None if order is not kept.
    fn position_of(&self, flow: FlowId) -> Option<ChainPosition> {
        let chains = self.newest.as_ref()?;
        let chain = chains.hash.bucket(flow, chains.heads.len() as u32) as usize;
        let mut position = ChainPosition {
            chain,
            before: NONE,
            newest: chains.heads[chain],
        };
        while let Some(entry) = self.entries.get(position.newest as usize) {
            if entry
                .packet
                .as_ref()
                .is_some_and(|packet| packet.flow == flow)
            {
                break;
            }
            position = ChainPosition {
                before: position.newest,
                newest: entry.next,
                ..position
            };
        }
        Some(position)
    }

    fn set_next(&mut self, position: ChainPosition, ticket: Ticket) {
        if let Some(before) = self.entries.get_mut(position.before as usize) {
            before.next = ticket;
        } else if let Some(newest) = &mut self.newest {
            newest.heads[position.chain] = ticket;
        }
    }

    /// Doubles the chains when they are fewer than the packets.
    fn grow_chains(&mut self, packets: usize) {
        let Some(newest) = &mut self.newest else {
            return;
        };
        if packets <= newest.heads.len() {
            return;
        }
        let chains = packets.next_power_of_two().max(16);
        newest.heads = alloc::vec![NONE; chains];
        for (ticket, entry) in self.entries.iter_mut().enumerate() {
            if let Some(packet) = entry.packet.as_ref().filter(|_| entry.newer == NONE) {
                let chain = newest.hash.bucket(packet.flow, chains as u32) as usize;
                entry.next = core::mem::replace(&mut newest.heads[chain], ticket as u32);
            }
        }
    }

    /// Tickets still queued. Walks all packets: for `check_invariants`.
    pub(crate) fn pieces(&self) -> u64 {
        let mut pieces = 0;
        for entry in &self.entries {
            if entry.packet.is_some() {
                pieces += u64::from(entry.pieces);
            }
        }
        pieces
    }

    /// Bytes of complete packets held for order. Walks all packets: for tests.
    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> u64 {
        let mut bytes = 0;
        for entry in &self.entries {
            if let (0, Some(packet)) = (entry.pieces, &entry.packet) {
                bytes += u64::from(packet.len);
            }
        }
        bytes
    }

    /// 1. A complete packet is behind an older stored packet of its flow, or is ready.
    /// 2. With order kept, chains lead to each stored packet exactly once, and links agree in both
    ///    directions.
    /// 3. The backlog counts the stored packets.
    #[cfg(any(test, debug_assertions))]
    pub(crate) fn check_invariants(&self) {
        let mut backlog = Backlog::default();
        for (ticket, entry) in (0..).zip(&self.entries) {
            let Some(packet) = &entry.packet else {
                continue;
            };
            backlog.packets += 1;
            backlog.bytes += u64::from(packet.len);
            assert!(
                entry.pieces > 0 || entry.older != NONE || self.ready.contains(&ticket),
                "resequencer, invariant 1: {ticket} is held for nobody"
            );
        }
        let mut found = 0;
        for newest in self.newest.iter().flat_map(|newest| &newest.heads) {
            let mut at = *newest;
            while at != NONE {
                found += self.walk(at);
                at = self.entries[at as usize].next;
            }
        }
        assert!(
            self.newest.is_none() || found == backlog.packets,
            "resequencer, invariant 2: chains lead to all packets"
        );
        assert_eq!(
            backlog, self.backlog,
            "resequencer, invariant 3: what waits is counted"
        );
    }

    /// Walks from a flow's newest packet to the oldest. Returns the number of packets.
    fn walk(&self, newest: Ticket) -> u64 {
        let mut at = newest;
        let mut newer = NONE;
        let mut packets = 0;
        while at != NONE {
            let entry = &self.entries[at as usize];
            assert!(
                entry.packet.is_some() && entry.newer == newer,
                "resequencer, invariant 2: links agree"
            );
            packets += 1;
            (newer, at) = (at, entry.older);
        }
        packets
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::seed::Seed;
    use proptest::prelude::*;

    fn ordered() -> Resequencer<u32> {
        Resequencer::new(Some(FlowHash::new(Seed::new(1), 0)))
    }

    fn packet(flow: u32, number: u32) -> Packet<u32> {
        Packet::new(FlowId(flow), 10 + flow, number)
    }

    #[test]
    fn what_is_picked_early_is_held_until_its_predecessors_left_or_were_dropped() {
        let mut waiting = ordered();
        let tickets = [0, 1, 2, 3].map(|number| waiting.admit(packet(7, number), 1));
        assert!(
            waiting.picked(tickets[1]).is_none()
                && waiting.picked(tickets[3]).is_none()
                && waiting.next_ready().is_none()
        );
        assert_eq!(
            waiting.picked(tickets[0]).map(|packet| packet.payload),
            Some(0)
        );
        assert_eq!(waiting.next_ready().map(|packet| packet.payload), Some(1));
        assert!(waiting.next_ready().is_none() && waiting.backlog().packets == 2);
        assert_eq!(
            waiting.remove(tickets[2]).map(|packet| packet.payload),
            Some(2)
        );
        assert_eq!(
            waiting.give_up_ready().map(|packet| packet.payload),
            Some(3)
        );
        waiting.check_invariants();
    }

    #[test]
    fn a_packet_is_complete_with_its_last_piece() {
        let mut waiting = Resequencer::new(None);
        let one = waiting.admit(packet(0, 1), 3);
        let two = waiting.admit(packet(0, 2), 1);
        assert!(waiting.picked(one).is_none() && waiting.picked(one).is_none());
        assert_eq!(
            waiting.picked(two).map(|packet| packet.payload),
            Some(2),
            "no order is kept"
        );
        assert_eq!(waiting.picked(one).map(|packet| packet.payload), Some(1));
    }

    proptest! {
        /// Compares with a list as the model: picks and drops in any order.
        #[test]
        fn flows_leave_in_order_and_nothing_is_held_for_nobody(
            steps in prop::collection::vec((0u32..6, 0usize..40, 0u32..10), 1..300),
        ) {
            let mut waiting = ordered();
            let mut line: Vec<(Ticket, u32, u32)> = Vec::new();
            let mut last = [0; 6];
            for (number, (flow, choice, kind)) in (1..).zip(steps) {
                if kind < 5 || line.is_empty() {
                    let ticket = waiting.admit(packet(flow, number), 1);
                    line.push((ticket, flow, number));
                } else {
                    let (ticket, ..) = line.remove(choice % line.len());
                    if kind == 5 {
                        prop_assert!(waiting.remove(ticket).is_some());
                    }
                    let sent = if kind == 5 { None } else { waiting.picked(ticket) };
                    let ready = core::iter::from_fn(|| waiting.next_ready());
                    for packet in sent.into_iter().chain(ready.collect::<Vec<_>>()) {
                        let before = core::mem::replace(&mut last[packet.flow.index()], packet.payload);
                        prop_assert!(before < packet.payload);
                        let overtakes = line.iter().any(|(_, flow, number)| *flow == packet.flow.0 && *number < packet.payload);
                        prop_assert!(!overtakes);
                    }
                }
                waiting.check_invariants();
            }
            while let Some((ticket, ..)) = line.pop() {
                waiting.picked(ticket);
                while waiting.next_ready().is_some() {}
            }
            prop_assert!(waiting.backlog().is_empty(), "nothing is held when nobody is in line");
        }
    }

    /// Flow numbers that share one chain under an unkeyed hash of their low bits.
    #[test]
    fn chosen_flow_numbers_do_not_make_long_chains() {
        let mut waiting = ordered();
        for number in 0..100_000u32 {
            waiting.admit(packet(number.wrapping_mul(1 << 17), number), 1);
            waiting.admit(packet(number.wrapping_mul(1024), number), 1);
        }
        let chains = waiting.newest.as_ref().expect("order is kept");
        let length = |head: &u32| {
            core::iter::successors(Some(*head), |at| {
                waiting.entries.get(*at as usize).map(|entry| entry.next)
            })
            .count()
                - 1
        };
        let longest = chains.heads.iter().map(length).max();
        assert!(longest <= Some(12), "{longest:?}");
        let by_low_bits = (0..100_000u32).filter(|number| {
            (number.wrapping_mul(1024) as usize).is_multiple_of(chains.heads.len())
        });
        assert!(
            by_low_bits.count() > 300,
            "the check finds a hash without a key"
        );
    }
}
