//! Sinks: who stores each packet of a discipline with its fate.

use std::error::Error;

use roundelay::{DropReason, FlowId, Instant};

/// Record of one packet, for sinks that store every packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRecord {
    /// Arrival time, from the start of the capture.
    pub arrival: Instant,
    /// The packet's flow: an index into [`crate::Comparison::flows`].
    pub flow: FlowId,
    /// Bytes.
    pub len: u32,
    /// Sent, or the reason of the drop.
    pub fate: PacketFate,
}

/// Fate of a packet: sent, or the reason of the drop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketFate {
    /// The packet was sent.
    Sent {
        /// Start of the transmission.
        start: Instant,
        /// End of the transmission.
        end: Instant,
        /// The discipline marked the packet with ECN's CE.
        marked: bool,
    },
    /// The packet was dropped.
    Dropped(DropReason),
}

/// Receives every packet of one discipline when its fate is known.
pub trait PacketSink: Send {
    /// Stores one packet.
    ///
    /// # Errors
    /// The packet could not be stored, for example because the disk is full; the comparison ends.
    fn record(&mut self, packet: &PacketRecord) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// Called after the last packet.
    ///
    /// # Errors
    /// Stored packets could not be saved.
    fn finish(self: Box<Self>) -> Result<(), Box<dyn Error + Send + Sync>>;
}
