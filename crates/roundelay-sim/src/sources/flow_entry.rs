//! A flow of a list.

use roundelay::Instant;

use crate::network::NodeId;

/// A flow of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Start of the flow, counted from the start of the list.
    pub at: Instant,
    /// Source of the flow.
    pub from: NodeId,
    /// Destination of the flow.
    pub to: NodeId,
    /// Bytes of the flow, 1 to 2^40.
    pub size_bytes: u64,
}
