//! TCP segments: header fields only, because a simulation needs no payload.

use roundelay::Instant;

use crate::config::Config;

/// A segment's flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u8);

impl Flags {
    /// No flags.
    pub const NONE: Self = Self(0);
    /// Opens a connection. Here a SYN takes no sequence number, so data starts at 0.
    pub const SYN: Self = Self(1);
    /// `acknowledgement` is valid.
    pub const ACK: Self = Self(2);
    /// The receiver has seen an ECN mark (ECN-Echo).
    pub const ECE: Self = Self(4);
    /// The sender has reduced the window (Congestion Window Reduced).
    pub const CWR: Self = Self(8);
    /// Queues may mark the packet instead of dropping it (ECT). Only for new data: RFC 3168,
    /// section 6.1.5.
    pub const ECT: Self = Self(16);
    /// A retransmission. No real wire carries this flag, but statistics need it.
    pub const RETRANSMISSION: Self = Self(32);
    /// Sent beyond the window ([`rc3`](crate::rc3)), or the acknowledgement of such a segment.
    pub const OUT_OF_BAND: Self = Self(64);

    /// Whether all flags of `other` are set.
    #[inline]
    pub const fn has(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union of both.
    #[inline]
    #[must_use]
    pub const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The union of both if `condition` holds, otherwise `self`.
    #[inline]
    #[must_use]
    pub const fn with_if(self, condition: bool, other: Self) -> Self {
        if condition { self.with(other) } else { self }
    }
}

/// A selective acknowledgement block: `len` bytes that were received out of order, from
/// `acknowledgement + offset`. If the length is 0, there is no block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Block {
    /// How far the block's first byte is from the cumulative acknowledgement.
    pub offset: u32,
    /// Length in bytes.
    pub len: u32,
}

/// The most blocks in an acknowledgement: as many as fit beside timestamps (RFC 2018, section 3).
pub const MAX_BLOCKS: usize = 3;

/// A segment or an acknowledgement, in one cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Segment {
    /// The first byte's sequence number. Numbers start at 0 and do not wrap.
    pub sequence: u64,
    /// The next byte expected, so all bytes before it have arrived.
    pub acknowledgement: u64,
    /// When the segment was sent, rounded down to the sender's clock tick (TSval of RFC 7323).
    pub timestamp: Instant,
    /// The timestamp that an acknowledgement echoes (TSecr). Data echoes one only if a receive
    /// window grows by it ([`Config::window_growth`]).
    pub echo: Instant,
    /// Bytes of data. If a burst passes whole ([`Config::offload`]), these are more than a
    /// segment's.
    pub len: u32,
    /// Selective acknowledgements, the latest first. If a length is 0, there is no block.
    pub blocks: [Block; MAX_BLOCKS],
    /// Flags.
    pub flags: Flags,
    /// The receive window that an acknowledgement tells, scaled except with SYN (RFC 7323, section
    /// 2.2). 0 unless the window grows ([`Config::window_growth`]).
    pub window: u16,
}

impl Segment {
    /// The length on the wire, in bytes. A burst that passes whole has the headers of all its
    /// segments, as Linux counts it.
    pub fn wire_len(&self, config: &Config) -> u32 {
        if self.len > 0 {
            return config.header_len * config.segments(self.len) + self.len;
        }
        let blocks = self.blocks.iter().filter(|block| block.len > 0).count() as u32;
        if config.sack_option_counted && blocks > 0 {
            config.bare_len + 4 + 8 * blocks
        } else {
            config.bare_len
        }
    }

    /// The byte after the last byte of data.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.sequence.saturating_add(self.len as u64)
    }

    /// Whether the segment is a SYN or SYN-ACK.
    #[inline]
    pub const fn is_syn(&self) -> bool {
        self.flags.has(Flags::SYN)
    }

    /// Whether queues may mark the segment instead of dropping it.
    #[inline]
    pub const fn is_ecn_capable(&self) -> bool {
        self.flags.has(Flags::ECT)
    }

    /// Whether the segment is a retransmission.
    #[inline]
    pub const fn is_retransmission(&self) -> bool {
        self.flags.has(Flags::RETRANSMISSION)
    }

    /// The blocks that are present, each as its first byte and the byte after its last.
    #[inline]
    pub fn selective(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        let present = self.blocks.iter().filter(|block| block.len > 0);
        present.map(|block| {
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
        let blocks = [
            Block {
                offset: 1460,
                len: 1460,
            },
            Block::default(),
            Block::default(),
        ];
        assert_eq!(
            Segment {
                len: 1460,
                ..Segment::default()
            }
            .wire_len(&ns2),
            1510
        );
        assert_eq!(
            Segment {
                blocks,
                ..Segment::default()
            }
            .wire_len(&ns2),
            40
        );
        assert_eq!(
            Segment {
                blocks,
                ..Segment::default()
            }
            .wire_len(&Config::rfc()),
            64
        );
        assert_eq!(
            Segment {
                len: 1448,
                ..Segment::default()
            }
            .wire_len(&Config::rfc()),
            1500
        );
    }
}
