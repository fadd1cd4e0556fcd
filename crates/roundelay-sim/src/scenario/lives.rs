//! Measures a flow over its life, from first to last packet: reordering, throughput, round trips,
//! startup latency and Bennett and Zhang's ratio.

use roundelay::{FlowId, Instant, Packet, Rate};
use roundelay_metrics::Reordering;
use serde::Serialize;

use super::ratio::ratio;
use crate::ids::{Direction, FlowNumber};
use crate::packet_state::{PacketState, Tag};

/// A flow from the first packet on, warm-up included. Only packets from source to destination
/// count; a packet sent twice counts twice.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowLife {
    /// Packets sent.
    pub sent: u64,
    /// Packets received.
    pub received: u64,
    /// Packets received after a packet that was sent later (RFC 4737).
    pub reordered: u64,
    /// When the first packet was sent, in seconds.
    pub first_sent: Option<f64>,
    /// When the last packet was received, in seconds.
    pub last_received: Option<f64>,
    /// Bits a second from the first sent to the last received.
    pub throughput: Option<f64>,
    /// The mean time of packets there plus the mean time of replies back, in seconds; none without
    /// replies.
    pub round_trip: Option<f64>,
    /// Bennett and Zhang's ratio: the flow's throughput, divided by the throughput on an own link
    /// with the source's rate. None if the source has no rate.
    pub bennett_zhang: Option<f64>,
    /// `t_f` - p / r - `t_s` of an ended flow, in seconds: p packets made at r a second from `t_s`
    /// on, the last received at `t_f`. None if the source has no mean rate.
    pub startup_latency: Option<f64>,
}

/// The nominal rate at which a group's sources send.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    /// A source's rate while it sends.
    pub(super) rate: Option<Rate>,
    /// Mean seconds between packets.
    pub(super) gap: Option<f64>,
}

/// What is counted for a flow.
#[derive(Debug, Clone, Copy, Default)]
struct Life {
    group: u32,
    sent: u64,
    sent_bytes: u64,
    received: u64,
    received_bytes: u64,
    first_sent: Option<Instant>,
    last_received: Instant,
    /// When a link that the flow had for itself would have sent all packets so far.
    exclusive_end: Instant,
    /// By direction, there and back: the sum of the packets' delays, in picoseconds, and how many
    /// packets were received.
    delay_sums: [u128; 2],
    received_by_direction: [u64; 2],
    has_ended: bool,
}

/// All flows, by number: about 150 bytes each.
#[derive(Debug)]
pub(super) struct Lives {
    paces: Vec<Pace>,
    flows: Vec<Life>,
    reordering: Reordering,
}

/// A flow's index in tables. 32 bits are enough for all flows that fit into memory.
pub(super) const fn table_id(flow: FlowNumber) -> FlowId {
    FlowId(flow.0 as u32)
}

impl Lives {
    /// `paces` has one entry for each group.
    pub(super) fn new(paces: Vec<Pace>) -> Self {
        Self {
            paces,
            flows: Vec::new(),
            reordering: Reordering::default(),
        }
    }

    pub(super) fn open(&mut self, group: u32) {
        self.flows.push(Life {
            group,
            ..Life::default()
        });
    }

    pub(super) fn send(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {
        let Some(life) = self.flows.get_mut(state.flow.0 as usize) else {
            return;
        };
        if state.direction != Direction::Forward {
            return;
        }
        life.sent += 1;
        life.sent_bytes += u64::from(packet.len);
        life.first_sent.get_or_insert(now);
        if let Some(rate) = self.paces[life.group as usize].rate {
            life.exclusive_end = life.exclusive_end.max(now) + rate.time_of(packet.len.into());
        }
    }

    /// A packet reaches its destination. A reply counts for the round trip only.
    pub(super) fn receive(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {
        let Some(life) = self.flows.get_mut(state.flow.0 as usize) else {
            return;
        };
        let direction = state.direction.index();
        life.delay_sums[direction] += u128::from(now.since(state.sent).as_picos());
        life.received_by_direction[direction] += 1;
        if state.direction == Direction::Forward {
            life.received += 1;
            life.received_bytes += u64::from(packet.len);
            life.last_received = now;
            // The order in which packets leave the network.
            self.reordering.depart(table_id(state.flow), state.number);
        }
    }

    pub(super) fn close(&mut self, flow: FlowNumber) {
        if let Some(life) = self.flows.get_mut(flow.0 as usize) {
            life.has_ended = true;
        }
    }

    /// All flows' results with their groups, in the order of flow numbers.
    pub(super) fn all(&self) -> impl Iterator<Item = (u32, FlowLife)> {
        let flows = (0..).zip(&self.flows);
        flows.map(|(number, life)| (life.group, self.result(number, life)))
    }

    /// One flow's results.
    pub(super) fn of(&self, number: u64) -> FlowLife {
        match self.flows.get(number as usize) {
            Some(life) => self.result(number, life),
            None => FlowLife::default(),
        }
    }

    fn result(&self, number: u64, life: &Life) -> FlowLife {
        let pace = self.paces[life.group as usize];
        let mut result = FlowLife {
            sent: life.sent,
            received: life.received,
            reordered: self.reordering.reordered(table_id(FlowNumber(number))),
            first_sent: life.first_sent.map(Instant::as_secs_f64),
            last_received: None,
            throughput: life.throughput(),
            round_trip: life.round_trip(),
            bennett_zhang: None,
            startup_latency: None,
        };
        if life.received > 0 {
            result.last_received = Some(life.last_received.as_secs_f64());
        }
        if let (Some(throughput), Some(exclusive)) =
            (result.throughput, life.exclusive_throughput())
            && pace.rate.is_some()
        {
            result.bennett_zhang = Some(throughput / exclusive);
        }
        if let Some(gap) = pace.gap
            && life.has_ended
        {
            result.startup_latency = life.startup_latency(gap);
        }
        result
    }
}

impl Life {
    /// When the flow's first packet was sent, if any of its packets was received.
    fn start(&self) -> Option<Instant> {
        if self.received > 0 {
            self.first_sent
        } else {
            None
        }
    }

    fn throughput(&self) -> Option<f64> {
        let span = self.last_received.since(self.start()?);
        ratio(self.received_bytes as f64 * 8.0, span.as_secs_f64())
    }

    /// The throughput that the sent packets would have on a link that the flow had for itself.
    fn exclusive_throughput(&self) -> Option<f64> {
        let span = self.exclusive_end.since(self.first_sent?);
        ratio(self.sent_bytes as f64 * 8.0, span.as_secs_f64())
    }

    fn round_trip(&self) -> Option<f64> {
        let mean_delay = |direction: usize| {
            let seconds = self.delay_sums[direction] as f64 / 1e12;
            ratio(seconds, self.received_by_direction[direction] as f64)
        };
        Some(mean_delay(0)? + mean_delay(1)?)
    }

    fn startup_latency(&self, gap: f64) -> Option<f64> {
        let first = self.start()?;
        Some(self.last_received.as_secs_f64() - self.sent as f64 * gap - first.as_secs_f64())
    }
}
