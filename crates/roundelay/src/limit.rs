//! Backlog and limit of a queue, both in packets and bytes.

use core::fmt;

use crate::units::Bytes;

/// Backlog: packets and bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Backlog {
    /// Whether there is no packet.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.packets == 0
    }
}

/// A buffer's capacity. Both bounds apply at once, and [`Limit::UNBOUNDED`] has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Limit {
    /// Packets.
    pub packets: u64,
    /// Bytes.
    pub bytes: u64,
}

impl Limit {
    /// No limit.
    pub const UNBOUNDED: Self = Self {
        packets: u64::MAX,
        bytes: u64::MAX,
    };

    /// Whether the limit counts only bytes, so that a bare number for it means bytes.
    pub const fn is_in_bytes(&self) -> bool {
        self.packets == u64::MAX && self.bytes != u64::MAX
    }

    /// A limit by packets alone.
    pub const fn of_packets(packets: u64) -> Self {
        Self {
            packets,
            bytes: u64::MAX,
        }
    }

    /// A limit by bytes alone.
    pub const fn of_bytes(bytes: u64) -> Self {
        Self {
            packets: u64::MAX,
            bytes,
        }
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.packets, self.bytes) {
            (u64::MAX, u64::MAX) => write!(f, "unlimited"),
            (packets, u64::MAX) => write!(f, "{packets}p"),
            (u64::MAX, bytes) => Bytes(bytes).fmt(f),
            (packets, bytes) => write!(f, "{packets}p, {}", Bytes(bytes)),
        }
    }
}
