//! Errors of a comparison.

use std::error::Error;

use roundelay::{ConfigError, Fault};
use thiserror::Error;

use crate::capture::LinkType;
use crate::error::CaptureError;

/// Why a comparison failed.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum CompareError {
    /// The capture cannot be read.
    #[error(transparent)]
    Capture(#[from] CaptureError),
    /// A discipline's parameter is out of range.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The capture has no packets.
    #[error("{name}: {}the capture holds no packets", cut(*cut_at))]
    NoPackets {
        /// The capture.
        name: String,
        /// Where the file is cut off, if it is.
        cut_at: Option<u64>,
    },
    /// The capture is longer than a scenario.
    #[error(
        "{name}: {days} days from the first packet to the last, and a scenario has 200 at most; \
         --from and --to, or --busiest, take a part"
    )]
    TooLong {
        /// The capture.
        name: String,
        /// Its length in days.
        days: u64,
    },
    /// What is kept of the capture takes too much memory.
    #[error(
        "{name}: packet {packets}: up to here, connections and other flows take more than a gigabyte of \
         memory; --from and --to, --busiest or --filter take a part"
    )]
    TooMuch {
        /// The capture.
        name: String,
        /// Packets up to there.
        packets: u64,
    },
    /// The selection leaves no packets.
    #[error("{name}: {option} matches none of {packets} packets; {advice}")]
    NothingSelected {
        /// The capture.
        name: String,
        /// The option that matches nothing.
        option: String,
        /// How many packets the options before it left.
        packets: u64,
        /// Options that would match something.
        advice: Fault,
    },
    /// Packets are too far out of order for us to sort.
    #[error(
        "{name}: times step back by {seconds} s, past {packets} packets, more than are sorted in \
         memory (256 MB); sort the capture first: reordercap {name} sorted.pcapng"
    )]
    OutOfOrder {
        /// The capture.
        name: String,
        /// How many packets come between a packet and where it belongs.
        packets: u64,
        /// The longest step back, seconds.
        seconds: i64,
    },
    /// We do not read the headers of the capture's link type.
    #[error(
        "{name}: headers of {link} are not read; those of Ethernet, 802.11, raw IP, Linux cooked captures and PPP are"
    )]
    UnknownLink {
        /// The capture.
        name: String,
        /// The link type of its last packet.
        link: LinkType,
    },
    /// A discipline failed, because its packets could not be stored.
    #[error("{0}")]
    Lane(Box<dyn Error + Send + Sync>),
    /// Somebody asked it to stop.
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

fn cut(at: Option<u64>) -> String {
    at.map_or_else(String::new, |at| {
        format!("offset {at}: cut off, and up to there ")
    })
}
