//! Presence of flows. A flow joins with its first packet and leaves after ten seconds of silence.
//! It joins again when it returns or has a longer packet than assumed.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use roundelay::author::prefetch;
use roundelay::{Duration, FlowConfig, FlowId, Instant};

/// After a silence this long, a flow leaves.
const FLOW_TIMEOUT: Duration = Duration::from_secs(10);
/// A flow's assumed longest packet, until a longer one arrives.
const USUAL_MAX_PACKET_LEN: u32 = 1514;

/// The flows met so far, and which of them are present.
#[derive(Debug, Default)]
pub(crate) struct Presence {
    flows: Vec<Met>,
    /// When flows time out, earliest first. Each present flow has one entry.
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
    /// Meets the next flow. It joins with its first packet.
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

    /// Takes a packet of a flow that was met before. If the flow joins with it, returns its
    /// configuration.
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

    /// Calls `leave` for each flow that by `now` has been silent for too long.
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

    /// How many flows have been met.
    pub(crate) fn len(&self) -> usize {
        self.flows.len()
    }

    /// Gives a flow another weight. If the flow is present, returns its configuration.
    pub(crate) fn reweigh(&mut self, flow: FlowId, weight: u32) -> Option<FlowConfig> {
        let known = &mut self.flows[flow.index()];
        known.config.weight = weight;
        known.present.then_some(known.config)
    }

    /// A flow's configuration, if the flow is present.
    pub(crate) fn present(&self, flow: FlowId) -> Option<FlowConfig> {
        let known = &self.flows[flow.index()];
        known.present.then_some(known.config)
    }
}
