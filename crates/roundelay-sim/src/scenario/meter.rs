//! What is counted while a scenario runs.
//!
//! A packet counts if it is sent after the warm-up, wherever it is then; throughput is what arrives after it. Acknowledgements and other replies
//! count at links only.

use std::collections::{BTreeMap, HashMap};

use roundelay::{DropReason, Duration, FlowId, Instant, Packet, Rate};
use roundelay_metrics::Delays;

use super::{Group, Scenario};
use crate::agent::Direction;
use crate::cargo::{Cargo, Carried};
use crate::flows::{FlowCounts, FlowNumber};
use crate::link::{preempts, waited};
use crate::network::{LinkClass, LinkConfig, LinkId, Network, NodeId};
use crate::probe::{Effort, Probe, Report};

/// Flows that are told one by one in results.
pub(super) const TOLD_FLOWS: usize = 4096;

/// Packets of a flow, or of all flows of a group.
#[derive(Debug, Clone, Default)]
pub(super) struct Packets {
    pub(super) sent: u64,
    pub(super) delivered: u64,
    pub(super) dropped: [u64; DropReason::ALL.len()],
    pub(super) lost: u64,
    pub(super) edge_dropped: u64,
    pub(super) edge_marked: u64,
    /// Bytes that arrived after the warm-up.
    pub(super) bytes: u64,
    /// Sum of the delays of packets that arrived, in picoseconds.
    delays: u128,
    /// And of their squares, in square nanoseconds.
    squares: u128,
    pub(super) longest: Duration,
}

impl Packets {
    #[inline]
    fn deliver(&mut self, delay: Duration) {
        self.delivered += 1;
        self.delays += u128::from(delay.as_picos());
        self.squares += u128::from(delay.as_nanos()).pow(2);
        self.longest = self.longest.max(delay);
    }

    /// Seconds.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.delivered > 0).then(|| self.delays as f64 / 1e12 / self.delivered as f64)
    }

    /// Of the delays of one packet from their mean, in seconds.
    pub(super) fn deviation(&self) -> Option<f64> {
        let mean = self.mean()?;
        let square = self.squares as f64 / 1e18 / self.delivered as f64 - mean * mean;
        // To a nanosecond's rounding there may be nothing left.
        Some(square.max(0.0).sqrt())
    }
}

/// How flows of a group end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum Ending {
    /// By themselves, without telling: they are then complete if nothing of them was lost.
    Silent,
    /// The same after so many packets: those that were cut off before are not complete.
    After(u64),
    /// Their agents tell of each transfer.
    #[default]
    Told,
    /// They are no transfers: what their agents tell is what was sent again.
    Never,
}

impl Ending {
    /// Whether a flow's end is all that is told of it.
    const fn is_silent(self) -> bool {
        matches!(self, Self::Silent | Self::After(_))
    }

    /// Whether a flow that has ended was delivered as a whole.
    const fn is_complete(self, counts: &FlowCounts) -> bool {
        let whole = if let Self::After(packets) = self { packets } else { counts.sent };
        counts.delivered == whole
    }
}

/// A flow.
#[derive(Debug, Clone)]
pub(super) struct FlowMeter {
    pub(super) number: u64,
    pub(super) group: u32,
    pub(super) from: NodeId,
    pub(super) to: NodeId,
    pub(super) opened: Instant,
    pub(super) is_open: bool,
    /// Whether it has ended after so many others that it is one of those told only on demand.
    pub(super) is_late: bool,
    pub(super) packets: Packets,
    /// After the warm-up. None of a flow whose agent tells nothing.
    pub(super) repairs: Option<Effort>,
}

/// All flows of a group.
#[derive(Debug, Clone, Default)]
pub(super) struct GroupMeter {
    pub(super) ending: Ending,
    pub(super) flows: u64,
    /// Those that have ended.
    pub(super) closed: u64,
    pub(super) packets: Packets,
    pub(super) delays: Delays,
    /// Times until transfers were complete that began after the warm-up.
    pub(super) completions: Delays,
    /// Sum of their bits a second.
    pub(super) goodputs: f64,
    /// Such transfers that were cut off, or of which packets were lost for good.
    pub(super) incomplete: u64,
    /// After the warm-up. None if no agent has told any.
    pub(super) repairs: Option<Effort>,
    /// Mean round trips of complete transfers whose agents tell.
    pub(super) round_trips: Delays,
    /// Completion times and goodputs by how many decimal digits the transfer's bytes less one have.
    pub(super) sizes: BTreeMap<u32, (Delays, f64)>,
}

/// What came to a link after the warm-up, and got it.
#[derive(Debug)]
pub(super) struct LinkMeter {
    class: LinkClass,
    /// Of a link that interrupts packets; None else.
    preempted_at: Option<Rate>,
    packets: u64,
    /// The sum of their waits, in picoseconds.
    waits: u128,
}

impl LinkMeter {
    fn new(link: &LinkConfig) -> Self {
        Self { class: link.class, preempted_at: preempts(&link.queue).then_some(link.rate), packets: 0, waits: 0 }
    }

    /// Seconds that a packet waited in the mean.
    pub(super) fn wait(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.waits as f64 / 1e12 / self.packets as f64)
    }
}

/// Who listens to a run.
#[derive(Debug)]
pub(super) struct Meter {
    pub(super) warmup: Instant,
    pub(super) groups: Vec<GroupMeter>,
    /// Whether flows that have ended are kept however many there are.
    keeps_all: bool,
    /// Those that are open, and those that have ended while there was room to tell of them.
    pub(super) flows: Vec<FlowMeter>,
    /// Places of flows that have ended and are not told of; these have no number.
    free: Vec<usize>,
    places: HashMap<u64, usize>,
    /// By the number in queues: the flow that has it, and its place.
    seen: Vec<(u64, usize)>,
    pub(super) closed: u64,
    pub(super) links: Vec<LinkMeter>,
    /// Waits in queues, by class of link.
    pub(super) waits: [Delays; LinkClass::ALL.len()],
}

impl Meter {
    pub(super) fn new(network: &Network, scenario: &Scenario) -> Self {
        let group = |group: &Group| GroupMeter { ending: group.source.ending(), ..GroupMeter::default() };
        Self {
            warmup: Instant::ZERO + scenario.warmup,
            groups: scenario.groups.iter().map(group).collect(),
            keeps_all: scenario.keeps_all_flows,
            flows: Vec::new(),
            free: Vec::new(),
            places: HashMap::new(),
            seen: Vec::new(),
            closed: 0,
            links: network.links().iter().map(LinkMeter::new).collect(),
            waits: Default::default(),
        }
    }

    /// The place of a packet's flow.
    #[inline]
    fn place(&mut self, queue: FlowId, flow: FlowNumber) -> usize {
        let index = queue.index();
        if let Some((number, place)) = self.seen.get(index)
            && *number == flow.0
        {
            return *place;
        }
        if self.seen.len() <= index {
            self.seen.resize(index + 1, (u64::MAX, 0));
        }
        self.seen[index] = (flow.0, self.places[&flow.0]);
        self.seen[index].1
    }

    /// Writes down a packet that counts, in its flow and in its group.
    #[inline]
    fn count(&mut self, packet: &Packet<Carried>, cargo: &Cargo, write: impl Fn(&mut Packets)) {
        if cargo.direction != Direction::Forward || cargo.sent < self.warmup {
            return;
        }
        let place = self.place(packet.flow, cargo.flow);
        let flow = &mut self.flows[place];
        write(&mut flow.packets);
        write(&mut self.groups[flow.group as usize].packets);
    }

    /// The run ends: bursts that are still on their way are cut off.
    pub(super) fn end(&mut self) {
        for flow in self.flows.iter().filter(|flow| flow.is_open && flow.opened >= self.warmup) {
            let group = &mut self.groups[flow.group as usize];
            group.incomplete += u64::from(group.ending.is_silent());
        }
    }

    fn finish(&mut self, group: u32, took: Duration, bytes: u64) {
        let group = &mut self.groups[group as usize];
        group.completions.record(took);
        let seconds = took.as_secs_f64();
        let goodput = if seconds > 0.0 { bytes as f64 * 8.0 / seconds } else { 0.0 };
        group.goodputs += goodput;
        let (completions, goodputs) = group.sizes.entry(digits(bytes)).or_default();
        completions.record(took);
        *goodputs += goodput;
    }
}

/// Sizes up to 10^n are alike: n.
fn digits(bytes: u64) -> u32 {
    bytes.saturating_sub(1).checked_ilog10().map_or(0, |digits| digits + 1)
}

impl Probe for Meter {
    fn opened(&mut self, now: Instant, flow: FlowNumber, group: u32, from: NodeId, to: NodeId) {
        self.groups[group as usize].flows += 1;
        let (packets, repairs) = (Packets::default(), None);
        let meter = FlowMeter { number: flow.0, group, from, to, opened: now, is_open: true, is_late: false, packets, repairs };
        let place = self.free.pop().unwrap_or(self.flows.len());
        if place == self.flows.len() {
            self.flows.push(meter);
        } else {
            self.flows[place] = meter;
        }
        self.places.insert(flow.0, place);
    }

    #[inline]
    fn sent(&mut self, _: Instant, packet: &Packet<Carried>, cargo: &Cargo) {
        self.count(packet, cargo, |packets| packets.sent += 1);
    }

    #[inline]
    fn transmitted(&mut self, link: LinkId, packet: &Packet<Carried>, _: &Cargo, span: [Instant; 2]) {
        if packet.arrival >= self.warmup {
            let link = &mut self.links[link.index()];
            let wait = waited(link.preempted_at, packet, span);
            link.packets += 1;
            link.waits += u128::from(wait.as_picos());
            self.waits[link.class as usize].record(wait);
        }
    }

    #[inline]
    fn dropped(&mut self, _: Instant, _: LinkId, packet: &Packet<Carried>, cargo: &Cargo, reason: DropReason) {
        self.count(packet, cargo, |packets| packets.dropped[reason as usize] += 1);
    }

    #[inline]
    fn lost(&mut self, _: Instant, _: LinkId, packet: &Packet<Carried>, cargo: &Cargo) {
        self.count(packet, cargo, |packets| packets.lost += 1);
    }

    fn edge_dropped(&mut self, _: Instant, packet: &Packet<Carried>, cargo: &Cargo) {
        self.count(packet, cargo, |packets| packets.edge_dropped += 1);
    }

    fn edge_marked(&mut self, _: Instant, packet: &Packet<Carried>, cargo: &Cargo) {
        self.count(packet, cargo, |packets| packets.edge_marked += 1);
    }

    // With and without other listeners there are two callers, which for the compiler is one too many.
    #[allow(clippy::inline_always, reason = "counted: 40 instructions a packet")]
    #[inline(always)]
    fn delivered(&mut self, now: Instant, packet: &Packet<Carried>, cargo: &Cargo) {
        if cargo.direction != Direction::Forward || now < self.warmup {
            return;
        }
        let place = self.place(packet.flow, cargo.flow);
        let flow = &mut self.flows[place];
        let group = &mut self.groups[flow.group as usize];
        flow.packets.bytes += u64::from(packet.len);
        group.packets.bytes += u64::from(packet.len);
        if cargo.sent >= self.warmup {
            let delay = now.since(cargo.sent);
            flow.packets.deliver(delay);
            group.packets.deliver(delay);
            group.delays.record(delay);
        }
    }

    fn reported(&mut self, now: Instant, flow: FlowNumber, report: &Report) {
        let Some(place) = self.places.get(&flow.0) else { return };
        let flow = &mut self.flows[*place];
        let group = flow.group;
        let meter = &mut self.groups[group as usize];
        let Report { retransmissions, timeouts, .. } = *report;
        let effort = if now < self.warmup { Effort::default() } else { Effort { retransmissions, timeouts } };
        for repairs in [&mut flow.repairs, &mut meter.repairs] {
            *repairs = Some(repairs.unwrap_or_default() + effort);
        }
        if report.start < self.warmup || !report.is_transfer || meter.ending == Ending::Never {
            return;
        }
        if report.is_complete {
            self.finish(group, report.completion_time(), report.bytes);
            if report.round_trip > Duration::ZERO {
                self.groups[group as usize].round_trips.record(report.round_trip);
            }
        } else {
            meter.incomplete += 1;
        }
    }

    fn closed(&mut self, now: Instant, flow: FlowNumber, counts: &FlowCounts) {
        let Some(place) = self.places.remove(&flow.0) else { return };
        let FlowMeter { group, opened, .. } = self.flows[place];
        self.flows[place].is_open = false;
        self.groups[group as usize].closed += 1;
        let ending = self.groups[group as usize].ending;
        if ending.is_silent() && opened >= self.warmup {
            if ending.is_complete(counts) {
                self.finish(group, now.since(opened), counts.bytes);
            } else {
                self.groups[group as usize].incomplete += 1;
            }
        }
        self.closed += 1;
        self.flows[place].is_late = self.closed > TOLD_FLOWS as u64;
        if self.flows[place].is_late && !self.keeps_all {
            self.flows[place].number = u64::MAX;
            self.free.push(place);
        }
    }
}
