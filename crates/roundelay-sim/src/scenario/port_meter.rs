//! Measures one link in a simulation: worst-case fair indices (B-WFI, T-WFI), and Jain's index
//! while flows are backlogged.

use roundelay::{DropReason, Duration, Instant, Packet, Rate};
use roundelay_metrics::{BitWfi, JainWhileBacklogged, Stamp, TimeWfi};
use rustc_hash::FxHashMap;
use serde::Serialize;

use super::lives::table_id;
use crate::ids::{Direction, FlowNumber};
use crate::network::LinkConfig;
use crate::packet_state::{PacketState, Tag};

/// Fairness of a link to flows that stayed backlogged: Jain's index of service by weight, window
/// after window.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Backlogged {
    /// Mean over the windows.
    pub mean: f64,
    /// The smallest index of a window.
    pub min: f64,
    /// Windows in which two flows or more stayed backlogged.
    pub windows: u64,
    /// Seconds of a window.
    pub window: f64,
}

/// What is measured at a link. A flow is registered from its first packet until it closes.
#[derive(Debug)]
pub(super) struct PortMeter {
    bits: BitWfi,
    time: TimeWfi,
    jain: JainWhileBacklogged,
    window: Duration,
    /// Whether the link reports packets after it has transmitted them, and not before.
    preempts: bool,
    /// The stamps that packets in the queue have, by packet.
    stamps: FxHashMap<u64, Stamp>,
    /// The packet on the link, and when its transmission ends.
    on_link: Option<(FlowNumber, Stamp, Instant)>,
    /// Flows seen: whether they had forward packets, and whether they are registered now.
    flows: FxHashMap<u64, Passing>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Passing {
    goes_forward: bool,
    is_registered: bool,
}

/// At least 100 ms and 128 full packets. If there were fewer, whole packets would lower the index
/// under even the fairest queue.
fn window(rate: Rate) -> Duration {
    Duration::from_millis(100).max(rate.time_of(128 * 1514))
}

impl PortMeter {
    pub(super) fn new(link: &LinkConfig) -> Self {
        let window = window(link.rate);
        Self {
            bits: BitWfi::default(),
            time: TimeWfi::new(link.rate),
            jain: JainWhileBacklogged::new(window),
            window,
            preempts: link.queue.discipline.preempts(),
            stamps: FxHashMap::default(),
            on_link: None,
            flows: FxHashMap::default(),
        }
    }

    /// The warm-up ends.
    pub(super) fn forget(&mut self, now: Instant) {
        self.complete_until(now);
        self.bits.forget();
        self.time.forget(now);
        self.jain.advance(now);
        self.jain.forget();
    }

    pub(super) fn arrive(
        &mut self,
        now: Instant,
        packet: &Packet<Tag>,
        state: &PacketState,
        weight: u32,
    ) {
        self.complete_until(now);
        let flow = table_id(state.flow);
        let passing = self.flows.entry(state.flow.0).or_default();
        passing.goes_forward |= state.direction == Direction::Forward;
        if !passing.is_registered {
            passing.is_registered = true;
            self.bits.set_weight(flow, weight);
            self.time.set_weight(now, flow, weight);
            self.jain.set_weight(flow, weight);
        }
        self.bits.arrive(flow, packet.len);
        self.jain.arrive(now, flow, packet.len);
        self.stamps
            .insert(state.number, self.time.arrive(now, flow, packet.len));
    }

    pub(super) fn transmit(
        &mut self,
        packet: &Packet<Tag>,
        state: &PacketState,
        [start, end]: [Instant; 2],
    ) {
        let heard = if self.preempts { end } else { start };
        self.complete_until(heard);
        let flow = table_id(state.flow);
        self.bits.serve(flow, packet.len);
        self.jain.serve(heard, flow, packet.len);
        self.on_link = self
            .stamps
            .remove(&state.number)
            .map(|stamp| (state.flow, stamp, end));
    }

    pub(super) fn drop(
        &mut self,
        now: Instant,
        packet: &Packet<Tag>,
        state: &PacketState,
        reason: DropReason,
    ) {
        self.complete_until(now);
        let flow = table_id(state.flow);
        self.bits.withdraw(flow, packet.len);
        match reason {
            DropReason::Early | DropReason::Filtered => self.jain.withdraw(now, flow, packet.len),
            DropReason::Full | DropReason::PushedOut | DropReason::Refused => {
                self.jain.deny(now, flow, packet.len)
            }
        }
        self.stamps
            .remove(&state.number)
            .into_iter()
            .for_each(|stamp| self.time.withdraw(flow, stamp));
    }

    pub(super) fn close(&mut self, now: Instant, flow: FlowNumber) {
        let Some(passing) = self.flows.get_mut(&flow.0) else {
            return;
        };
        passing.is_registered = false;
        self.complete_until(now);
        self.bits.remove(table_id(flow));
        self.time.remove(now, table_id(flow));
    }

    /// The run ends.
    pub(super) fn end(&mut self, now: Instant) {
        self.complete_until(now);
        self.jain.advance(now);
    }

    /// Completes the packet on the link, if its transmission has ended by `now`.
    fn complete_until(&mut self, now: Instant) {
        if let Some((flow, stamp, end)) = self.on_link.take_if(|(_, _, end)| *end <= now) {
            self.time.complete(end, table_id(flow), stamp);
        }
    }

    /// A flow's B-WFI in bytes and T-WFI in seconds, if the flow had forward packets. There is no
    /// T-WFI before the first packet has left.
    pub(super) fn indices(&self, flow: FlowNumber) -> Option<(f64, Option<f64>)> {
        self.flows
            .get(&flow.0)
            .filter(|passing| passing.goes_forward)?;
        Some((
            self.bits.worst(table_id(flow)),
            self.time.worst(table_id(flow)),
        ))
    }

    /// None if no two flows stayed backlogged throughout a window.
    pub(super) fn backlogged(&self) -> Option<Backlogged> {
        let mean = self.jain.mean()?;
        let min = self.jain.minimum()?;
        let windows = self.jain.windows();
        Some(Backlogged {
            mean,
            min,
            windows,
            window: self.window.as_secs_f64(),
        })
    }
}
