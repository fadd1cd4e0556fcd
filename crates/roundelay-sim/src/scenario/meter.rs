//! Meter: counts packets, delays, flows and transfers during a run.
//!
//! Packets that were sent after the warm-up count, whatever becomes of them. Throughput is all data
//! received after the warm-up. Acknowledgements and other replies count only at links.

use std::collections::BTreeMap;

use roundelay::{DropReason, Duration, FlowId, Instant, Packet, Rate};
use roundelay_metrics::Delays;
use rustc_hash::FxHashMap;

use super::Scenario;
use super::flow_meter::{FlowMeter, Packets};
use super::transfers::{Completed, Counted, Transfer};
use crate::flows::FlowCounts;
use crate::ids::{Direction, FlowNumber, LinkId};
use crate::link::waited;
use crate::network::{LinkClass, LinkConfig, Network};
use crate::packet_state::{PacketState, Tag};
use crate::probe::{Effort, Opening, Probe, Report};
use crate::sources::source::Ending;

/// The most ended flows that results list.
pub(super) const TOLD_FLOWS: usize = 4096;

/// Whether a flow that has ended was delivered completely.
const fn is_complete(ending: Ending, counts: &FlowCounts) -> bool {
    let whole = if let Ending::After(packets) = ending {
        packets
    } else {
        counts.sent
    };
    counts.delivered == whole
}

/// What is counted for a group.
#[derive(Debug, Clone, Default)]
pub(super) struct GroupMeter {
    pub(super) ending: Ending,
    pub(super) flows: u64,
    /// Flows that have ended.
    pub(super) closed: u64,
    pub(super) packets: Packets,
    pub(super) delays: Delays,
    /// Transfers that count and are complete.
    pub(super) transfers: Completed,
    /// The same transfers, by size class.
    pub(super) sizes: BTreeMap<u32, Completed>,
    /// Transfers that count but were cut off, or lost packets for good.
    pub(super) incomplete: u64,
    /// How much senders repaired after the warm-up. None if no agent has reported on it.
    pub(super) repairs: Option<Effort>,
}

/// Packets that arrived at a link after the warm-up and were then transmitted.
#[derive(Debug)]
pub(super) struct LinkMeter {
    class: LinkClass,
    /// The rate, if the link interrupts packets.
    preempted_at: Option<Rate>,
    packets: u64,
    /// The sum of the packets' waits, in picoseconds.
    waits: u128,
}

impl LinkMeter {
    fn new(link: &LinkConfig) -> Self {
        Self {
            class: link.class,
            preempted_at: link.preempted_at(),
            packets: 0,
            waits: 0,
        }
    }

    /// A packet's mean wait in seconds.
    pub(super) fn wait(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.waits as f64 / 1e12 / self.packets as f64)
    }
}

/// Observes a run and counts.
#[derive(Debug)]
pub(super) struct Meter {
    pub(super) warmup: Instant,
    /// A packet is late if its delay is longer.
    late: Duration,
    pub(super) transfers: Counted,
    pub(super) groups: Vec<GroupMeter>,
    /// Whether ended flows are all kept, however many there are.
    keeps_all: bool,
    /// Flows that are open, and ended flows that results list.
    pub(super) flows: Vec<FlowMeter>,
    /// Free slots in `flows`. Each held a flow that has ended and is not listed, and its number is
    /// gone.
    free: Vec<usize>,
    slots: FxHashMap<u64, usize>,
    /// By a flow's number in queues: the flow, and its slot in `flows`.
    seen: Vec<(u64, usize)>,
    pub(super) closed: u64,
    pub(super) links: Vec<LinkMeter>,
    /// How long packets waited in queues, by class of link.
    pub(super) waits: [Delays; LinkClass::ALL.len()],
}

impl Meter {
    pub(super) fn new(network: &Network, scenario: &Scenario) -> Self {
        let mut groups = Vec::new();
        for group in &scenario.groups {
            groups.push(GroupMeter {
                ending: group.source.source().facts().ending,
                ..GroupMeter::default()
            });
        }
        Self {
            warmup: Instant::ZERO + scenario.warmup,
            late: scenario.measures.late.unwrap_or(Duration::MAX),
            transfers: Counted::new(&scenario.measures, scenario.warmup, scenario.duration),
            groups,
            keeps_all: scenario.keeps_all_flows,
            flows: Vec::new(),
            free: Vec::new(),
            slots: FxHashMap::default(),
            seen: Vec::new(),
            closed: 0,
            links: network.links().iter().map(LinkMeter::new).collect(),
            waits: Default::default(),
        }
    }

    /// The slot that a packet's flow has in `flows`.
    #[inline]
    fn slot(&mut self, queue: FlowId, flow: FlowNumber) -> usize {
        let index = queue.index();
        if let Some((number, slot)) = self.seen.get(index)
            && *number == flow.0
        {
            return *slot;
        }
        if self.seen.len() <= index {
            self.seen.resize(index + 1, (u64::MAX, 0));
        }
        self.seen[index] = (flow.0, self.slots[&flow.0]);
        self.seen[index].1
    }

    /// Counts a packet for its flow and for the group, if it was sent after the warm-up.
    #[inline]
    fn count(&mut self, packet: &Packet<Tag>, state: &PacketState, write: impl Fn(&mut Packets)) {
        if state.direction != Direction::Forward || state.sent < self.warmup {
            return;
        }
        let slot = self.slot(packet.flow, state.flow);
        let flow = &mut self.flows[slot];
        write(&mut flow.packets);
        write(&mut self.groups[flow.group as usize].packets);
    }

    /// The run ends, so this cuts off open flows whose agents report nothing.
    pub(super) fn end(&mut self) {
        let mut cut_off = Vec::new();
        for flow in &self.flows {
            if flow.is_open && self.groups[flow.group as usize].ending.is_silent() {
                cut_off.push(Transfer::cut_off(flow));
            }
        }
        for transfer in &cut_off {
            self.settle(transfer);
        }
    }

    /// A transfer ends.
    fn settle(&mut self, transfer: &Transfer) {
        if !self.transfers.counts(transfer.start) {
            return;
        }
        let group = &mut self.groups[transfer.group as usize];
        match self.transfers.settle(transfer) {
            Some((took, size)) => {
                group.transfers.record(transfer, took);
                group.sizes.entry(size).or_default().record(transfer, took);
            }
            None => group.incomplete += 1,
        }
    }
}

impl Probe for Meter {
    fn opened(
        &mut self,
        now: Instant,
        flow: FlowNumber,
        Opening {
            group, from, to, ..
        }: Opening,
    ) {
        self.groups[group as usize].flows += 1;
        let is_timed =
            self.groups[group as usize].ending != Ending::Silent || self.transfers.counts(now);
        let packets = Packets::default();
        let repairs = None;
        let meter = FlowMeter {
            number: flow.0,
            group,
            from,
            to,
            opened: now,
            is_open: true,
            is_late: false,
            is_timed,
            packets,
            repairs,
        };
        let slot = self.free.pop().unwrap_or(self.flows.len());
        if slot == self.flows.len() {
            self.flows.push(meter);
        } else {
            self.flows[slot] = meter;
        }
        self.slots.insert(flow.0, slot);
    }

    #[inline]
    fn sent(&mut self, _: Instant, packet: &Packet<Tag>, state: &PacketState) {
        self.count(packet, state, |packets| packets.sent += 1);
    }

    #[inline]
    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        _: &PacketState,
        span: [Instant; 2],
    ) {
        if packet.arrival >= self.warmup {
            let link = &mut self.links[link.index()];
            let wait = waited(link.preempted_at, packet, span);
            link.packets += 1;
            link.waits += u128::from(wait.as_picos());
            self.waits[link.class as usize].record(wait);
        }
    }

    #[inline]
    fn dropped(
        &mut self,
        _: Instant,
        _: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        reason: DropReason,
    ) {
        self.count(packet, state, |packets| {
            packets.dropped[reason as usize] += 1
        });
    }

    #[inline]
    fn lost(&mut self, _: Instant, _: LinkId, packet: &Packet<Tag>, state: &PacketState) {
        self.count(packet, state, |packets| packets.lost += 1);
    }

    fn edge_dropped(&mut self, _: Instant, packet: &Packet<Tag>, state: &PacketState) {
        self.count(packet, state, |packets| packets.edge_dropped += 1);
    }

    fn edge_marked(&mut self, _: Instant, packet: &Packet<Tag>, state: &PacketState) {
        self.count(packet, state, |packets| packets.edge_marked += 1);
    }

    // The compiler does not inline this by itself, because it has two callers: with other observers
    // and without.
    #[allow(clippy::inline_always, reason = "counted: 40 instructions a packet")]
    #[inline(always)]
    fn delivered(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {
        if state.direction != Direction::Forward || now < self.warmup {
            return;
        }
        let slot = self.slot(packet.flow, state.flow);
        let flow = &mut self.flows[slot];
        let group = &mut self.groups[flow.group as usize];
        flow.packets.bytes += u64::from(packet.len);
        group.packets.bytes += u64::from(packet.len);
        if state.sent >= self.warmup {
            let delay = now.since(state.sent);
            flow.packets.delivered += 1;
            group.packets.delivered += 1;
            flow.packets.time(delay);
            let late = u64::from(delay > self.late);
            flow.packets.late += late;
            group.packets.late += late;
            if flow.is_timed {
                group.packets.time(delay);
                group.delays.record(delay);
            }
        }
    }

    fn reported(&mut self, now: Instant, flow: FlowNumber, report: &Report) {
        let Some(slot) = self.slots.get(&flow.0) else {
            return;
        };
        let flow = &mut self.flows[*slot];
        let meter = &mut self.groups[flow.group as usize];
        let Report {
            retransmissions,
            timeouts,
            ..
        } = *report;
        let effort = if now < self.warmup {
            Effort::default()
        } else {
            Effort {
                retransmissions,
                timeouts,
            }
        };
        for repairs in [&mut flow.repairs, &mut meter.repairs] {
            *repairs = Some(repairs.unwrap_or_default() + effort);
        }
        if report.is_transfer && meter.ending != Ending::Never {
            let transfer = Transfer::of_report(flow, report);
            self.settle(&transfer);
        }
    }

    fn closed(&mut self, now: Instant, flow: FlowNumber, counts: &FlowCounts) {
        let Some(slot) = self.slots.remove(&flow.0) else {
            return;
        };
        let flow = &mut self.flows[slot];
        flow.is_open = false;
        let group = &mut self.groups[flow.group as usize];
        group.closed += 1;
        if group.ending.is_silent() {
            let transfer =
                Transfer::of_counts(flow, counts, is_complete(group.ending, counts), now);
            self.settle(&transfer);
        }
        self.closed += 1;
        self.flows[slot].is_late = self.closed > TOLD_FLOWS as u64;
        if self.flows[slot].is_late && !self.keeps_all {
            self.flows[slot].number = u64::MAX;
            self.free.push(slot);
        }
    }
}
