//! Errors of a comparison.

use std::error::Error;

use roundelay::{ConfigError, Fault};
use thiserror::Error;

use crate::capture::LinkType;
use crate::error::CaptureError;

/// Errors of a comparison.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The capture is unreadable.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A discipline's parameter is out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The capture has no packets.
    #[error("{name}: the capture holds no packets")]
    NoPackets {
        /// The capture.
        name: String,
    },
    /// The selection is empty.
    #[error("{name}: {option} matches none of {packets} packets; {advice}")]
    NothingSelected {
        /// The capture.
        name: String,
        /// The option without a match.
        option: String,
        /// Packets that the options before left.
        packets: u64,
        /// The options that would match.
        advice: Fault,
    },
    /// Packets are too far out of order to be sorted here.
    #[error(
        "{name}: times step back by {seconds} s, past {packets} packets, more than are sorted in \
         memory (256 MB); sort the capture first: reordercap {name} sorted.pcapng"
    )]
    OutOfOrder {
        /// The capture.
        name: String,
        /// Packets between a packet and its place.
        packets: u64,
        /// The furthest step back, seconds.
        seconds: i64,
    },
    /// The headers of the capture's link type are unknown.
    #[error(
        "{name}: headers of {link} are not read; those of Ethernet, 802.11, raw IP, Linux cooked captures and PPP are"
    )]
    UnknownLink {
        /// The capture.
        name: String,
        /// The link type of its last packet.
        link: LinkType,
    },
    /// A discipline failed: its packets could not be stored.
    #[error("{0}")]
    Lane(Box<dyn Error + Send + Sync>),
    /// A stop was requested.
    #[error("interrupted")]
    Stopped,
}

impl From<CompareError> for Fault {
    fn from(error: CompareError) -> Self {
        match error {
            CompareError::Capture(error) => error.into(),
            CompareError::Config(error) => error.into(),
            CompareError::NothingSelected {
                name,
                option,
                packets,
                advice,
            } => advice
                .behind(format_args!("{option} matches none of {packets} packets; "))
                .in_file(name, 0),
            other => Self::new(other.to_string()),
        }
    }
}
