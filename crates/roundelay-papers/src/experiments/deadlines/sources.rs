//! Sources of packets with deadlines: flows of randomly drawn types make packets at constant rates,
//! a few at a time.
//!
//! A backlog of 10^8 packets would take gigabytes. The scheduler therefore holds only the first
//! packets of each flow (the window), and gets a flow's next packet after sending one. It decides
//! as if it held all packets, because `afq` reads only a flow's first packet and whether there is
//! another. The fluid server of `wf2q` is ahead of a flow's packets by at most one (Bennett and
//! Zhang 1996, Theorem 1), and finds a flow idle only if all its packets have been made and handed
//! over. The test `a_window_changes_no_decision` compares whole runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::Purpose;
use roundelay::Seed;
use roundelay::{Duration, FlowId, Instant, Packet, Rate};

use super::plan::Deadlines;

/// All flows.
#[derive(Debug, Clone)]
pub(super) struct Sources {
    flows: Vec<Source>,
    /// When flows with room in their windows make their next packets.
    next: BinaryHeap<Reverse<(Instant, u32)>>,
    window: u32,
    /// Packets per flow.
    pub(super) packets: u32,
    packet_len: u32,
    lifetime: Duration,
    /// True if packets carry their deadlines to the scheduler.
    pub(super) tell_deadlines: bool,
}

/// A flow.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// Index of its type in the plan.
    pub(super) media: usize,
    pub(super) rate: Rate,
    pub(super) weight: u32,
    /// When the first packet is made.
    pub(super) start: Instant,
    /// Packets handed to the scheduler so far.
    handed: u32,
    /// How many of the flow's packets the scheduler holds.
    held: u32,
}

impl Sources {
    /// Draws the flows' types from this seed. Drawing start times does not change the types.
    pub(super) fn draw(plan: &Deadlines, flows: u32, seed: u64) -> Self {
        let run = Seed::new(seed);
        let mut types = Pcg64Mcg::from_seed(run.derive(Purpose::Traffic, 0).to_bytes());
        let mut starts = Pcg64Mcg::from_seed(run.derive(Purpose::Starts, 0).to_bytes());
        let within = plan.starts_within.unwrap_or(Duration::ZERO).as_picos();
        let mut drawn = Vec::new();
        let mut next = BinaryHeap::new();
        for number in 0..flows {
            let media = types.random_range(0..plan.types.len());
            let start = Instant::from_picos(starts.random_range(0..=within));
            drawn.push(Source {
                media,
                rate: plan.types[media].rate,
                weight: plan.types[media].weight,
                start,
                handed: 0,
                held: 0,
            });
            next.push(Reverse((start, number)));
        }
        let window = if plan.window == 0 {
            u32::MAX
        } else {
            plan.window
        };
        Self {
            flows: drawn,
            next,
            window,
            packets: plan.packets,
            packet_len: plan.packet_len,
            lifetime: plan.lifetime,
            tell_deadlines: true,
        }
    }

    /// The flows, by number.
    pub(super) fn flows(&self) -> &[Source] {
        &self.flows
    }

    /// Packet length in bytes.
    pub(super) fn packet_len(&self) -> u32 {
        self.packet_len
    }

    /// Time from a packet's creation to its deadline.
    pub(super) fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// When a flow's packet, counted from 0, is made.
    fn made_at(&self, flow: &Source, packet: u32) -> Instant {
        let bytes = u64::from(packet) * u64::from(self.packet_len);
        flow.start + flow.rate.time_of(bytes)
    }

    /// When the very last packet is made.
    pub(super) fn last_made(&self) -> Instant {
        let last = self.packets - 1;
        let made = self.flows.iter().map(|flow| self.made_at(flow, last));
        made.max().unwrap_or(Instant::ZERO)
    }

    /// When the next packet with room is made. None: there are no more.
    pub(super) fn next_at(&self) -> Option<Instant> {
        let Reverse((at, _)) = self.next.peek()?;
        Some(*at)
    }

    /// The next packet made up to `now` and with room, in order of creation.
    pub(super) fn take(&mut self, now: Instant) -> Option<Packet<()>> {
        let Reverse((at, number)) = *self.next.peek()?;
        if at > now {
            return None;
        }
        self.next.pop();
        let packet = self.hand(number, at);
        if let Some(next) = self.next_of(number) {
            self.next.push(Reverse((next, number)));
        }
        Some(packet)
    }

    /// Call it after a packet of the flow has left. Returns the flow's next packet, if made by now.
    /// Otherwise [`take`](Self::take) will return it.
    pub(super) fn sent(&mut self, flow: FlowId, now: Instant) -> Option<Packet<()>> {
        let source = &mut self.flows[flow.index()];
        let was_full = source.held == self.window;
        source.held -= 1;
        if !was_full {
            return None;
        }
        let next = self.next_of(flow.0)?;
        if next <= now {
            return Some(self.hand(flow.0, next));
        }
        self.next.push(Reverse((next, flow.0)));
        None
    }

    /// When the flow's next packet is made, if there is one and room for it.
    fn next_of(&self, number: u32) -> Option<Instant> {
        let flow = &self.flows[number as usize];
        if flow.held < self.window && flow.handed < self.packets {
            Some(self.made_at(flow, flow.handed))
        } else {
            None
        }
    }

    fn hand(&mut self, number: u32, made: Instant) -> Packet<()> {
        let flow = &mut self.flows[number as usize];
        flow.handed += 1;
        flow.held += 1;
        let mut packet = Packet::new(FlowId(number), self.packet_len, ());
        packet.arrival = made;
        if self.tell_deadlines {
            packet.deadline = made + self.lifetime;
        }
        packet
    }
}
