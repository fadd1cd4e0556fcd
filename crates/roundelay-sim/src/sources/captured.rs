//! Packets in a list or a capture, and which of a capture's packets a source sends.

use roundelay::{Duration, Instant};
use roundelay_trace::DirectionChoice;
use roundelay_trace::arguments::Mtu;
use serde::Deserialize;

/// One packet in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// When it is sent, counted from the start.
    pub at: Instant,
    /// The index that the packet's flow has in the list of flows.
    pub flow: u32,
    /// Bytes in the packet: 1 to 65,535.
    pub len: u32,
    /// Slack that is added to what [`Terms::urgency`](crate::sources::Terms::urgency) gives. To
    /// replay a schedule, this is the packet's total wait (UPS, section 2.1).
    pub slack: Duration,
    /// If set, this priority replaces what [`Terms::urgency`](crate::sources::Terms::urgency)
    /// gives.
    pub priority: Option<u32>,
    /// If set, this deadline, counted from the start like [`at`](Self::at), replaces what
    /// [`Terms::urgency`](crate::sources::Terms::urgency) gives.
    pub deadline: Option<Instant>,
}

impl Entry {
    /// A packet that has no fields of its own.
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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// Which packets of a capture are sent, and as what. These are keys of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Captured {
    /// Which header fields define a flow.
    pub flow_by: FlowBy,
    /// The direction.
    pub direction: DirectionChoice,
    /// The longest IP packet. Longer ones are split.
    pub mtu: Mtu,
}
