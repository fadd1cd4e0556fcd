//! Packets of a list or a capture, and which packets of a capture these are.

use roundelay::{Duration, Instant};
use roundelay_trace::DirectionChoice;
use roundelay_trace::arguments::Mtu;
use schemars::JsonSchema;
use serde::Deserialize;

/// A packet of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Sending time, counted from the start.
    pub at: Instant,
    /// Index of the packet's flow in the list of flows.
    pub flow: u32,
    /// Bytes of the packet, 1 to 65,535.
    pub len: u32,
    /// Slack added to that of [`Terms::urgency`](crate::sources::Terms::urgency): to replay a schedule, the packet's total wait
    /// (UPS, section 2.1).
    pub slack: Duration,
    /// Priority, in place of that of [`Terms::urgency`](crate::sources::Terms::urgency).
    pub priority: Option<u32>,
    /// Deadline, counted from the start like [`at`](Self::at), in place of that of
    /// [`Terms::urgency`](crate::sources::Terms::urgency).
    pub deadline: Option<Instant>,
}

impl Entry {
    /// A packet without fields of its own.
    pub const fn new(at: Instant, flow: u32, len: u32) -> Self {
        Self {
            at,
            flow,
            len,
            slack: Duration::ZERO,
            priority: None,
            deadline: None,
        }
    }
}

/// Header fields that define a flow of a capture.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub enum FlowBy {
    /// Addresses, protocol and ports; the two directions of a connection are two flows.
    #[default]
    #[serde(rename = "5tuple")]
    FiveTuple,
    /// The sender's address.
    #[serde(rename = "src")]
    Source,
    /// The receiver's address.
    #[serde(rename = "dst")]
    Destination,
    /// The code point of Differentiated Services.
    #[serde(rename = "dscp")]
    Dscp,
}

/// Which packets of a capture are sent, and as what: keys of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Header fields that define a flow.
    pub flow_by: FlowBy,
    /// The direction.
    pub direction: DirectionChoice,
    /// The longest IP packet: longer ones are split.
    pub mtu: Mtu,
}
