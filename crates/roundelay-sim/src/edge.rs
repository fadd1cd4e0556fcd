//! Edge-CoDel at receiving hosts: active queue management for each flow, where packets leave the
//! network instead of in each queue.
//!
//! A packet's total wait in queues is its initial slack minus the slack that remains, because every
//! port subtracts waits from the slack, whatever its discipline. So the figure exists under FQ as
//! well as under LSTF. Only forward packets with TCP data are judged. The sending host's interface
//! counts as one of the queues.
//!
//! Source: R. Mittal, R. Agarwal, S. Ratnasamy, S. Shenker, "Universal Packet Scheduling", NSDI
//! 2016, section 4.2. The control loop itself is [`roundelay::edge_codel`].

use roundelay::edge_codel::{Config, queueing_delay};
use roundelay::{ConfigError, Ecn, EdgeCodel, Instant, Packet};

use crate::ids::Direction;
use crate::packet_state::{Content, PacketState, Tag};

/// How Edge-CoDel treats a group's flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EdgeControl {
    /// The control loop's parameters.
    pub codel: Config,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub marks: bool,
}

/// What Edge-CoDel decides about a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Pass,
    Mark,
    Drop,
}

/// Edge-CoDel for one flow.
#[derive(Debug)]
pub(crate) struct Edge {
    codel: EdgeCodel,
    marks: bool,
}

impl Edge {
    /// # Errors
    /// A parameter is out of range.
    pub(crate) fn new(control: EdgeControl) -> Result<Self, ConfigError> {
        Ok(Self {
            codel: EdgeCodel::new(control.codel)?,
            marks: control.marks,
        })
    }

    /// Call once for each packet that reaches the end of its route, in the order of arrival.
    pub(crate) fn decide(
        &mut self,
        now: Instant,
        packet: &Packet<Tag>,
        state: &PacketState,
    ) -> Decision {
        if state.direction != Direction::Forward || !has_data(state) {
            return Decision::Pass;
        }
        let delay = queueing_delay(state.initial_slack, packet.slack);
        if !self.codel.judges_bad(now, state.sent, delay) {
            Decision::Pass
        } else if self.marks && packet.ecn != Ecn::NotCapable {
            Decision::Mark
        } else {
            Decision::Drop
        }
    }
}

/// False for SYNs and pure acknowledgements.
const fn has_data(state: &PacketState) -> bool {
    matches!(&state.content, Content::Segment(segment) if segment.len > 0)
}
