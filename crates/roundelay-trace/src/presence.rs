//! Presence of flows: a flow joins with its first packet, leaves after ten seconds of silence, and
//! joins again when it returns or has a longer packet than assumed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use roundelay::author::prefetch;
use roundelay::{Duration, FlowConfig, FlowId, Instant};

/// A flow leaves after a silence of this length.
const FLOW_TIMEOUT: Duration = Duration::from_secs(10);
/// Assumed longest packet of a flow, until a longer one arrives.
const USUAL_MAX_PACKET_LEN: u32 = 1514;

/// The flows met so far, and which of them are present.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    flows: Vec<Met>,
    /// Timeouts of flows, earliest first, each present flow once.
    quiet: BinaryHeap<Reverse<(Instant, FlowId)>>,
}

#[derive(Debug)]
struct Met {
    config: FlowConfig,
    last: Instant,
    /// The flow has joined and not left.
    present: bool,
}

impl Presence {
    /// Meets the next flow, which joins with its first packet.
    pub(crate) fn meet(&mut self, weight: u32, at: Instant) -> FlowConfig {
        let config = FlowConfig {
            weight,
            max_packet_len: USUAL_MAX_PACKET_LEN,
        };
        self.flows.push(Met {
            config,
            last: at,
            present: false,
        });
        config
    }

    /// Asks for the memory of a flow whose packet arrives soon.
    #[inline]
    pub(crate) fn prefetch(&self, flow: FlowId) {
        prefetch(&self.flows, flow.index());
    }

    /// A packet of a flow that was met. The configuration with which the flow joins, if it does.
    pub(crate) fn arrive(&mut self, at: Instant, flow: FlowId, len: u32) -> Option<FlowConfig> {
        let known = &mut self.flows[flow.index()];
        known.last = at;
        let grows = len > known.config.max_packet_len;
        if grows {
            known.config.max_packet_len = len
                .max(2 * known.config.max_packet_len)
                .min(FlowConfig::MAX_PACKET_LEN);
        }
        let joins = grows || !known.present;
        if !known.present {
            known.present = true;
            self.quiet.push(Reverse((at + FLOW_TIMEOUT, flow)));
        }
        joins.then_some(known.config)
    }

    /// Calls `leave` for each flow whose silence has lasted too long by `now`.
    pub(crate) fn let_quiet_flows_leave(&mut self, now: Instant, mut leave: impl FnMut(FlowId)) {
        while let Some(&Reverse((at, flow))) =
            self.quiet.peek().filter(|Reverse((at, _))| *at <= now)
        {
            self.quiet.pop();
            let known = &mut self.flows[flow.index()];
            let silent_until = known.last + FLOW_TIMEOUT;
            if silent_until > at {
                self.quiet.push(Reverse((silent_until, flow)));
            } else {
                known.present = false;
                leave(flow);
            }
        }
    }

    /// Number of flows met.
    pub(crate) fn len(&self) -> usize {
        self.flows.len()
    }

    /// Gives a flow another weight. Its configuration, if the flow is present.
    pub(crate) fn reweigh(&mut self, flow: FlowId, weight: u32) -> Option<FlowConfig> {
        let known = &mut self.flows[flow.index()];
        known.config.weight = weight;
        known.present.then_some(known.config)
    }

    /// The configuration of a flow, if the flow is present.
    pub(crate) fn present(&self, flow: FlowId) -> Option<FlowConfig> {
        let known = &self.flows[flow.index()];
        known.present.then_some(known.config)
    }
}
