//! What goes over the wire: headers only, since a simulation needs no content.

use roundelay::Instant;

use crate::config::Config;

/// Marks of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u8);

impl Flags {
    /// None.
    pub const NONE: Self = Self(0);
    /// Opens a connection. It takes no sequence number here: data starts at 0.
    pub const SYN: Self = Self(1);
    /// `acknowledgement` means something.
    pub const ACK: Self = Self(2);
    /// The receiver has seen a mark of congestion (ECN-Echo).
    pub const ECE: Self = Self(4);
    /// The sender has reduced its window (Congestion Window Reduced).
    pub const CWR: Self = Self(8);
    /// Queues may mark the packet instead of dropping it (ECT). New data only: RFC 3168, section 6.1.5.
    pub const ECT: Self = Self(16);
    /// Was sent before. Not on a real wire; for those who count.
    pub const RETRANSMISSION: Self = Self(32);
    /// Was sent past the window ([`rc3`](crate::rc3)), or acknowledges such a segment.
    pub const OUT_OF_BAND: Self = Self(64);

    /// Whether all of `other` is set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// These and those.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// These, and those if `condition`.
    #[inline]
    #[must_use]
    pub const fn with_if(self, condition: bool, other: Self) -> Self {
        if condition { self.with(other) } else { self }
    }
}

/// Bytes that came out of order: from `acknowledgement + offset`, `len` of them. A block of length 0 is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Block {
    /// From the cumulative acknowledgement to the block's first byte.
    pub offset: u32,
    /// Its length in bytes.
    pub len: u32,
}

/// Most blocks that an acknowledgement tells: what fits beside timestamps (RFC 2018, section 3).
pub const MAX_BLOCKS: usize = 3;

/// A segment, or its acknowledgement: one cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Segment {
    /// Number of the first byte. Numbers start at 0 and do not wrap.
    pub sequence: u64,
    /// The byte that is expected next: all before it have come.
    pub acknowledgement: u64,
    /// When it was sent, rounded down to the sender's clock tick (TSval of RFC 7323).
    pub timestamp: Instant,
    /// The timestamp that an acknowledgement sends back (TSecr).
    pub echo: Instant,
    /// Bytes of data.
    pub len: u32,
    /// Selective acknowledgements, the latest first; those of length 0 are none.
    pub blocks: [Block; MAX_BLOCKS],
    /// Marks.
    pub flags: Flags,
}

impl Segment {
    /// Bytes that it takes on the wire.
    pub fn wire_len(&self, config: &Config) -> u32 {
        if self.len > 0 {
            return config.header_len + self.len;
        }
        let blocks = self.blocks.iter().filter(|block| block.len > 0).count() as u32;
        if config.sack_option_counted && blocks > 0 { config.bare_len + 4 + 8 * blocks } else { config.bare_len }
    }

    /// The byte after the last.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.sequence.saturating_add(self.len as u64)
    }

    /// Whether it opens a connection or answers that.
    #[inline]
    pub const fn is_syn(&self) -> bool {
        self.flags.has(Flags::SYN)
    }

    /// Whether queues may mark it instead of dropping it.
    #[inline]
    pub const fn is_ecn_capable(&self) -> bool {
        self.flags.has(Flags::ECT)
    }

    /// Whether it was sent before.
    #[inline]
    pub const fn is_retransmission(&self) -> bool {
        self.flags.has(Flags::RETRANSMISSION)
    }

    /// The blocks that are told, each as its first byte and the byte after its last.
    #[inline]
    pub fn selective(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let told = self.blocks.iter().filter(|block| block.len > 0);
        told.map(|block| {
            let start = self.acknowledgement.saturating_add(u64::from(block.offset));
            (start, start.saturating_add(u64::from(block.len)))
        })
    }
}

const _: () = assert!(size_of::<Segment>() == 64);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wire_lengths() {
        let ns2 = Config::ns2_newreno_sack1();
        let blocks = [Block { offset: 1460, len: 1460 }, Block::default(), Block::default()];
        assert_eq!(Segment { len: 1460, ..Segment::default() }.wire_len(&ns2), 1510);
        assert_eq!(Segment { blocks, ..Segment::default() }.wire_len(&ns2), 40);
        assert_eq!(Segment { blocks, ..Segment::default() }.wire_len(&Config::rfc()), 64);
        assert_eq!(Segment { len: 1448, ..Segment::default() }.wire_len(&Config::rfc()), 1500);
    }
}
