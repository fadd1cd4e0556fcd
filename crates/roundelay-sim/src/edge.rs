//! Edge-CoDel at receiving hosts: active queue management for each flow, where its packets leave the network instead of in each queue.
//!
//! The time that a packet waited in all queues is the slack that it was sent with less the slack that is left. Every port takes waiting time
//! off the slack, whichever discipline orders its queue, so that the figure is there for FQ as for LSTF. Only packets forward with TCP data
//! are judged. The sending host's interface counts as one of the queues.
//!
//! Source: R. Mittal, R. Agarwal, S. Ratnasamy, S. Shenker, "Universal Packet Scheduling", NSDI 2016, section 4.2. The loop itself:
//! [`roundelay::edge_codel`].

use roundelay::edge_codel::{Config, queueing_delay};
use roundelay::{ConfigError, Ecn, EdgeCodel, Instant, Packet};

use crate::agent::Direction;
use crate::cargo::{Cargo, Carried, Content};

/// Parameters of Edge-CoDel for a group of flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EdgeControl {
    /// Of the control loop.
    pub codel: Config,
    /// Whether packets that can be marked are marked (ECN), not dropped.
    pub marks: bool,
}

/// What Edge-CoDel does with a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Decision {
    Pass,
    Mark,
    Drop,
}

/// State of a flow.
#[derive(Debug)]
pub(crate) struct Edge {
    codel: EdgeCodel,
    marks: bool,
}

impl Edge {
    /// # Errors
    /// A parameter is out of its range.
    pub(crate) fn new(control: EdgeControl) -> Result<Self, ConfigError> {
        Ok(Self { codel: EdgeCodel::new(control.codel)?, marks: control.marks })
    }

    /// To be asked once for each packet at the end of its route, in the order in which they come.
    pub(crate) fn decide(&mut self, now: Instant, packet: &Packet<Carried>, cargo: &Cargo) -> Decision {
        if cargo.direction != Direction::Forward || !has_data(cargo) {
            return Decision::Pass;
        }
        let delay = queueing_delay(cargo.initial_slack, packet.slack);
        if !self.codel.judges_bad(now, cargo.sent, delay) {
            Decision::Pass
        } else if self.marks && packet.ecn != Ecn::NotCapable {
            Decision::Mark
        } else {
            Decision::Drop
        }
    }
}

/// SYNs have none.
const fn has_data(cargo: &Cargo) -> bool {
    matches!(&cargo.content, Content::Segment(segment) if segment.len > 0)
}
