//! One flow in a list.

use roundelay::Instant;

use crate::ids::NodeId;

/// A flow in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// When the flow starts, counted from the start of the list.
    pub at: Instant,
    /// Where the flow starts.
    pub from: NodeId,
    /// Where the flow goes.
    pub to: NodeId,
    /// Bytes in the flow: 1 to 2^40.
    pub size_bytes: u64,
}
