//! Sources of packets with deadlines: flows of randomly drawn types that make packets at constant rates, a few at a time.
//!
//! A backlog of 10^8 packets would take gigabytes, so the scheduler holds only the first packets of each flow (the window) and gets the next one
//! of a flow when it has sent one. Decisions are those of a scheduler that holds all packets: `afq` reads the first packet of a flow and whether
//! another one follows; the fluid server of `wf2q` is ahead of a flow's packets by at most one (Bennett and Zhang 1996, Theorem 1), so that it
//! finds a flow idle only where all its packets have been made and handed over. The test `a_window_changes_no_decision` compares whole runs.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::{Duration, FlowId, Instant, Packet, Rate};

use super::Deadlines;

/// Packets of a flow that a scheduler holds by default: the first, one that the fluid server may be at, one more.
pub(super) fn default_window() -> u32 {
    3
}

/// All flows.
#[derive(Debug, Clone)]
pub(super) struct Sources {
    flows: Vec<Source>,
    /// When flows with room in their windows make their next packet.
    next: BinaryHeap<Reverse<(Instant, u32)>>,
    window: u32,
    /// Packets that each flow makes.
    pub(super) packets: u32,
    packet_len: u32,
    lifetime: Duration,
    /// Whether packets tell the scheduler their deadlines.
    pub(super) tell_deadlines: bool,
}

/// A flow.
#[derive(Debug, Clone)]
pub(super) struct Source {
    /// Its type's place in the plan.
    pub(super) media: usize,
    pub(super) rate: Rate,
    pub(super) weight: u32,
    /// When it makes its first packet.
    pub(super) start: Instant,
    /// Packets that the scheduler has been given.
    handed: u32,
    /// Those that it still holds.
    held: u32,
}

impl Sources {
    /// Flows of types drawn with this seed; the types do not depend on whether starts are drawn as well.
    pub(super) fn draw(plan: &Deadlines, flows: u32, seed: u64) -> Self {
        let mut types = Pcg64Mcg::seed_from_u64(seed);
        let mut starts = Pcg64Mcg::seed_from_u64(!seed);
        let within = plan.starts_within.unwrap_or(Duration::ZERO).as_picos();
        let flows: Vec<_> = (0..flows)
            .map(|_| {
                let media = types.random_range(0..plan.types.len());
                let start = Instant::from_picos(starts.random_range(0..=within));
                Source { media, rate: plan.types[media].rate, weight: plan.types[media].weight, start, handed: 0, held: 0 }
            })
            .collect();
        let next = (0..).zip(&flows).map(|(number, flow)| Reverse((flow.start, number))).collect();
        let window = if plan.window == 0 { u32::MAX } else { plan.window };
        Self { flows, next, window, packets: plan.packets, packet_len: plan.packet_len, lifetime: plan.lifetime, tell_deadlines: true }
    }

    /// The flows, by their numbers.
    pub(super) fn flows(&self) -> &[Source] {
        &self.flows
    }

    /// Bytes of a packet.
    pub(super) fn packet_len(&self) -> u32 {
        self.packet_len
    }

    /// From a packet's making to its deadline.
    pub(super) fn lifetime(&self) -> Duration {
        self.lifetime
    }

    /// When a flow makes a packet, counted from 0.
    fn made_at(&self, flow: &Source, packet: u32) -> Instant {
        flow.start + flow.rate.time_of(u64::from(packet) * u64::from(self.packet_len))
    }

    /// When the last packet of all is made.
    pub(super) fn last_made(&self) -> Instant {
        self.flows.iter().map(|flow| self.made_at(flow, self.packets - 1)).max().unwrap_or(Instant::ZERO)
    }

    /// When the next packet is made for which there is room. None: there will be none.
    pub(super) fn next_at(&self) -> Option<Instant> {
        self.next.peek().map(|Reverse((at, _))| *at)
    }

    /// The next packet made up to `now` for which there is room, in the order of making.
    pub(super) fn take(&mut self, now: Instant) -> Option<Packet<()>> {
        let Reverse((at, number)) = self.next.peek().copied().filter(|Reverse((at, _))| *at <= now)?;
        self.next.pop();
        let packet = self.hand(number, at);
        if let Some(next) = self.next_of(number) {
            self.next.push(Reverse((next, number)));
        }
        Some(packet)
    }

    /// A packet of the flow has been sent: the next one, if it has been made by now. Otherwise it will be [taken](Self::take).
    pub(super) fn sent(&mut self, flow: FlowId, now: Instant) -> Option<Packet<()>> {
        let source = &mut self.flows[flow.index()];
        let was_full = source.held == self.window;
        source.held -= 1;
        let next = self.next_of(flow.0).filter(|_| was_full)?;
        if next <= now {
            return Some(self.hand(flow.0, next));
        }
        self.next.push(Reverse((next, flow.0)));
        None
    }

    /// When the flow makes its next packet, if there is one and room for it.
    fn next_of(&self, number: u32) -> Option<Instant> {
        let flow = &self.flows[number as usize];
        (flow.held < self.window && flow.handed < self.packets).then(|| self.made_at(flow, flow.handed))
    }

    fn hand(&mut self, number: u32, made: Instant) -> Packet<()> {
        let flow = &mut self.flows[number as usize];
        flow.handed += 1;
        flow.held += 1;
        let packet = Packet { arrival: made, ..Packet::new(FlowId(number), self.packet_len, ()) };
        if self.tell_deadlines { Packet { deadline: made + self.lifetime, ..packet } } else { packet }
    }
}
