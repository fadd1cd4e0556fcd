//! TCP segments: header fields only, because a simulation needs no payload.

use roundelay::Instant;

use crate::config::Config;

/// Flags of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(u8);

impl Flags {
    /// No flags.
    pub const NONE: Self = Self(0);
    /// Opens a connection. A SYN takes no sequence number here: data starts at 0.
    pub const SYN: Self = Self(1);
    /// `acknowledgement` is valid.
    pub const ACK: Self = Self(2);
    /// The receiver has seen an ECN mark (ECN-Echo).
    pub const ECE: Self = Self(4);
    /// The sender has reduced the window (Congestion Window Reduced).
    pub const CWR: Self = Self(8);
    /// Queues may mark the packet instead of dropping it (ECT). New data only: RFC 3168, section
    /// 6.1.5.
    pub const ECT: Self = Self(16);
    /// Retransmission. Not on a real wire; for statistics.
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

/// A selective acknowledgement block: `len` bytes received out of order, from
/// `acknowledgement + offset`. Length 0 means no block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Block {
    /// Distance from the cumulative acknowledgement to the first byte of the block.
    pub offset: u32,
    /// Length in bytes.
    pub len: u32,
}

/// Most blocks in an acknowledgement: the number that fits beside timestamps (RFC 2018, section 3).
pub const MAX_BLOCKS: usize = 3;

/// A segment or an acknowledgement, in one cache line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Segment {
    /// Sequence number of the first byte. Numbers start at 0 and do not wrap.
    pub sequence: u64,
    /// The next byte expected: all bytes before have arrived.
    pub acknowledgement: u64,
    /// The time of sending, rounded down to the sender's clock tick (TSval of RFC 7323).
    pub timestamp: Instant,
    /// The timestamp echoed by an acknowledgement (TSecr). Data echoes only where a receive window
    /// grows by it ([`Config::window_growth`]).
    pub echo: Instant,
    /// Bytes of data: more than a segment's in a burst that passes whole ([`Config::offload`]).
    pub len: u32,
    /// Selective acknowledgements, the latest first; length 0 means no block.
    pub blocks: [Block; MAX_BLOCKS],
    /// Flags.
    pub flags: Flags,
    /// The receive window told by an acknowledgement, scaled except with SYN (RFC 7323, section 2.2);
    /// 0 unless it grows ([`Config::window_growth`]).
    pub window: u16,
}

impl Segment {
    /// Length on the wire, in bytes. A burst that passes whole has the headers of all its segments, as
    /// Linux counts it.
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

    /// The blocks present, each as the first byte and the byte after the last.
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
