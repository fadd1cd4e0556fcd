//! Observer that measures the B-WFI and the T-WFI of each flow in a workload.

use std::collections::VecDeque;

use roundelay::{DropReason, FlowId, Instant, Observer, Packet};

use super::lags::Lags;
use super::load::{NANO, Workload, rate};
use crate::{BitWfi, Stamp, TimeWfi};

/// A discipline's results under a workload.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// Flows in the order in which they were served.
    pub order: Vec<u32>,
    /// Each flow's largest B-WFI (QFQ paper, Eq. 7) in bytes, by [`BitWfi`].
    pub b_wfi: Vec<f64>,
    /// Largest B-WFI by [`Lags`], where the rest of a packet on the link counts against a newly
    /// backlogged flow.
    pub b_wfi_by_bit: Vec<f64>,
    /// Each flow's largest T-WFI (QFQ paper, Eq. 11) in seconds. Minus infinity if no packet of the
    /// flow left.
    pub t_wfi: Vec<f64>,
    /// Bytes that each flow was served.
    pub served: Vec<u64>,
    /// Packets that arrived and did not leave: the indices exclude them.
    pub lost: u64,
}

impl Outcome {
    /// Bytes served.
    pub fn total(&self) -> u64 {
        self.served.iter().sum()
    }
}

/// Arrival or departure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The packet arrives.
    Arrival,
    /// The packet begins its transmission.
    Departure,
}

/// An arrival or a departure, with the watched flow's lag.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Event {
    /// When it happened.
    pub at: Instant,
    /// Arrival or departure.
    pub kind: EventKind,
    /// The packet's flow.
    pub flow: usize,
    /// The packet's length in bytes.
    pub len: u32,
    /// The watched flow's lag in bytes, just before a departure or just after an arrival. 0 while
    /// the flow is idle.
    pub lag: f64,
}

pub(super) struct Meter {
    /// Meters of B-WFI by packets, of T-WFI, and of B-WFI by bits.
    bits: BitWfi,
    time: TimeWfi,
    exact: Lags,
    waiting: Vec<u64>,
    /// Departures not yet reported to sources: flow, start.
    departures: VecDeque<(usize, Instant)>,
    on_link: VecDeque<(Instant, FlowId, Stamp)>,
    /// The watched flow.
    watched: Option<usize>,
    events: Vec<Event>,
    outcome: Outcome,
}

impl Meter {
    pub(super) fn new(workload: &Workload) -> Self {
        let mut bits = BitWfi::default();
        let mut time = TimeWfi::new(rate());
        for (flow, source) in (0..).zip(&workload.sources) {
            bits.set_weight(FlowId(flow), source.config.weight);
            time.set_weight(Instant::ZERO, FlowId(flow), source.config.weight);
        }
        let weights: Vec<u64> = workload
            .sources
            .iter()
            .map(|source| source.config.weight.into())
            .collect();
        let flows = weights.len();
        Self {
            bits,
            time,
            exact: Lags::new(&weights),
            waiting: vec![0; flows],
            departures: VecDeque::new(),
            on_link: VecDeque::new(),
            watched: None,
            events: Vec::new(),
            outcome: Outcome {
                served: vec![0; flows],
                ..Outcome::default()
            },
        }
    }

    /// A meter that also records events and `flow`'s lag.
    pub(super) fn watching(workload: &Workload, flow: usize) -> Self {
        Self {
            watched: Some(flow),
            ..Self::new(workload)
        }
    }

    pub(super) fn arrive(&mut self, now: Instant, flow: usize, len: u32) -> Stamp {
        if self.waiting[flow] == 0 {
            let rest = match self.on_link.back() {
                Some((end, on_link, _)) if on_link.index() != flow => {
                    end.since(now).as_picos().div_ceil(NANO)
                }
                _ => 0,
            };
            self.exact.becomes_backlogged(flow, rest);
        }
        self.waiting[flow] += 1;
        self.note(now, EventKind::Arrival, flow, len);
        self.bits.arrive(FlowId(flow as u32), len);
        self.time.arrive(now, FlowId(flow as u32), len)
    }

    fn note(&mut self, at: Instant, kind: EventKind, flow: usize, len: u32) {
        if let Some(watched) = self.watched {
            self.events.push(Event {
                at,
                kind,
                flow,
                len,
                lag: self.exact.now(watched),
            });
        }
    }

    /// The next departure to report to sources: flow, start, and how many packets are left at the
    /// time of the report.
    pub(super) fn next_departure(&mut self) -> Option<(usize, Instant, u64)> {
        let (flow, start) = self.departures.pop_front()?;
        Some((flow, start, self.waiting[flow]))
    }

    pub(super) fn complete_until(&mut self, now: Instant) {
        while let Some(&(end, flow, stamp)) = self.on_link.front()
            && end <= now
        {
            self.on_link.pop_front();
            self.time.complete(end, flow, stamp);
        }
    }

    pub(super) fn finish(mut self) -> (Outcome, Vec<Event>) {
        self.complete_until(Instant::MAX);
        for flow in 0..self.waiting.len() {
            let id = FlowId(flow as u32);
            let t_wfi = self.time.worst(id).unwrap_or(f64::NEG_INFINITY);
            self.outcome.b_wfi.push(self.bits.worst(id));
            self.outcome.b_wfi_by_bit.push(self.exact.worst(flow));
            self.outcome.t_wfi.push(t_wfi);
        }
        self.outcome.lost = self.waiting.iter().sum();
        (self.outcome, self.events)
    }
}

impl Observer<Stamp> for Meter {
    fn sent(&mut self, packet: Packet<Stamp>, start: Instant, end: Instant) {
        let flow = packet.flow.index();
        self.complete_until(start);
        self.note(start, EventKind::Departure, flow, packet.len);
        self.waiting[flow] -= 1;
        self.exact
            .serve(flow, packet.len.into(), self.waiting[flow] == 0);
        self.bits.serve(packet.flow, packet.len);
        self.on_link.push_back((end, packet.flow, packet.payload));
        self.departures.push_back((flow, start));
        self.outcome.order.push(packet.flow.0);
        self.outcome.served[flow] += u64::from(packet.len);
    }

    /// A dropped packet stays in `waiting` and counts as lost.
    fn dropped(&mut self, _packet: Packet<Stamp>, _now: Instant, _reason: DropReason) {}
}
