//! Why a packet is not sent: refused by a scheduler, or dropped.

use core::fmt;

use crate::handle::Handle;
use crate::packet::{FlowId, Packet};

/// Why a scheduler refuses a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Refusal {
    /// The packet is longer than the flow or the discipline allows.
    TooLong {
        /// Longest packet, in bytes.
        most: u32,
    },
    /// The flow's number is beyond [`FlowId::LARGEST_TABLED`].
    FlowNumber,
    /// The handle is beyond [`Handle::LARGEST`].
    HandleNumber,
    /// No class in the hierarchy takes the flow's packets.
    NoClass,
    /// The flow's queue is full.
    QueueFull,
    /// The flow has no queue, and all queues are taken.
    NoQueueFree,
    /// Another reason, of a scheduler from outside.
    Other,
}

/// A packet that a scheduler refuses, unchanged, and why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Refused<T> {
    /// The packet.
    pub packet: Packet<T>,
    /// Why.
    pub reason: Refusal,
}

impl<T> Packet<T> {
    /// What a scheduler's enqueue returns if it refuses this packet.
    #[inline(always)]
    pub fn refused(self, reason: Refusal) -> Refused<T> {
        Refused {
            packet: self,
            reason,
        }
    }
}

impl<T> fmt::Display for Refused<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl<T: fmt::Debug> core::error::Error for Refused<T> {}

impl Refusal {
    /// For a discipline with a table of flows, and packets of up to `most` bytes.
    ///
    /// # Errors
    /// The reason to refuse this packet.
    #[inline]
    pub(crate) fn check_tabled(flow: FlowId, len: u32, most: u32) -> Result<(), Self> {
        match flow.fits_a_table() {
            false => Err(Self::FlowNumber),
            true if len > most => Err(Self::TooLong { most }),
            true => Ok(()),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong { most } => write!(f, "the packet is longer than {most} bytes"),
            Self::FlowNumber => {
                write!(f, "the flow's number is above {}", FlowId::LARGEST_TABLED.0)
            }
            Self::HandleNumber => write!(f, "the handle is above {}", Handle::LARGEST.0),
            Self::NoClass => f.write_str("no class takes the flow's packets"),
            Self::QueueFull => f.write_str("the flow's queue is full"),
            Self::NoQueueFree => f.write_str("all queues are taken by other flows"),
            Self::Other => f.write_str("the scheduler does not take it"),
        }
    }
}

/// Why a packet was dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DropReason {
    /// The buffer was full and the arriving packet was dropped: drop tail.
    Full,
    /// The buffer was full and the discipline dropped a packet already queued.
    PushedOut,
    /// The discipline dropped it although it had room, to signal congestion: active queue management.
    Early,
    /// The discipline refused the packet: [`Refusal`].
    Refused,
    /// The discipline dropped an acknowledgement that a later one repeats, so nothing is lost: `cake
    /// ack-filter`.
    Filtered,
}

impl DropReason {
    /// All reasons, in the order in which reports list them.
    pub const ALL: [Self; 5] = [
        Self::Full,
        Self::PushedOut,
        Self::Early,
        Self::Refused,
        Self::Filtered,
    ];

    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::PushedOut => "pushed_out",
            Self::Early => "early",
            Self::Refused => "refused",
            Self::Filtered => "filtered",
        }
    }

    /// Whether a packet with this reason is missed by its receiver.
    pub const fn is_loss(self) -> bool {
        !matches!(self, Self::Filtered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn reports_tell_the_reasons_apart() {
        let names: BTreeSet<_> = DropReason::ALL
            .map(DropReason::name)
            .into_iter()
            .filter(|name| !name.is_empty())
            .collect();
        assert_eq!(names.len(), DropReason::ALL.len());
    }
}
