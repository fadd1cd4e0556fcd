//! Sinks: who stores each packet of a discipline with its fate.

use std::error::Error;

use roundelay::{DropReason, FlowId, Instant};

/// What became of one packet, for sinks that store every packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PacketRecord {
    /// When it arrived, from the start of the capture.
    pub arrival: Instant,
    /// The packet's flow: an index into [`crate::Comparison::flows`].
    pub flow: FlowId,
    /// The packet's length, bytes.
    pub len: u32,
    /// Whether it was sent, or why it was dropped.
    pub fate: PacketFate,
}

/// A packet's fate: sent, or dropped for a reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PacketFate {
    /// The packet was sent.
    Sent {
        /// When the transmission started.
        start: Instant,
        /// When the transmission ended.
        end: Instant,
        /// The discipline marked the packet with ECN's CE.
        marked: bool,
    },
    /// The packet was dropped.
    Dropped(DropReason),
}

/// Receives each of a discipline's packets when its fate is known.
pub trait PacketSink: Send {
    /// Stores one packet.
    ///
    /// # Errors
    /// The packet could not be stored, for example because the disk is full. The comparison ends.
    fn record(&mut self, packet: &PacketRecord) -> Result<(), Box<dyn Error + Send + Sync>>;

    /// Called after the last packet.
    ///
    /// # Errors
    /// Stored packets could not be saved.
    fn finish(self: Box<Self>) -> Result<(), Box<dyn Error + Send + Sync>>;
}
