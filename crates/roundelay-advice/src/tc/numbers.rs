//! Numbers as `tc` and the kernel take them, and the reasons where they take none.

use roundelay::{Limit, Rate};

/// Why a discipline or a tree has no commands, as the end of a sentence.
pub(crate) type Reason = String;

/// Bytes of a full Ethernet frame.
pub(crate) const FULL_PACKET: u64 = 1514;
/// Linux's qfq serves at most this many classes in one turn.
pub(super) const MOST_IN_A_TURN: u32 = 8;

/// `tc` counts rates in bytes per second, so the least rate is one.
pub(super) fn at_least_a_byte(rate: Rate) -> Rate {
    Rate::from_bits_per_second(8).map_or(rate, |byte| rate.max(byte))
}

/// `tc` reads numbers up to 2^32 - 1.
pub(super) fn number(value: u64) -> u64 {
    value.min(u32::MAX.into())
}

/// The limit for qdiscs that only count packets. It is never zero, which `tc` would take for its
/// default.
pub(super) fn in_packets(limit: Limit) -> u64 {
    number(limit.packets.min(limit.bytes / FULL_PACKET)).max(1)
}
