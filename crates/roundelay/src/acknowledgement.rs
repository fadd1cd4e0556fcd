//! What a TCP acknowledgement says, for a queue that drops those which a later one repeats.

/// What a TCP segment acknowledges.
///
/// A discipline that filters acknowledgements is told of each by
/// [`Control::set_acknowledgement`](crate::Control::set_acknowledgement), right before the packet
/// comes. Packets themselves carry none of it, because no other discipline reads it. All numbers
/// are the segment's, and wrap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Acknowledgement {
    /// Bytes of its IP packet.
    pub len: u32,
    /// Your number, equal for segments that go the same way in the same connection.
    pub connection: u64,
    /// The next byte expected (SEG.ACK).
    pub number: u32,
    /// Selective acknowledgements (RFC 2018): the first byte of each block and the byte after its
    /// last. Blocks with equal numbers are empty.
    pub blocks: [(u32, u32); 4],
    /// Value and echo of the timestamps option (RFC 7323), if there is one.
    pub timestamps: Option<(u32, u32)>,
    /// The receiver has seen a mark (ECE, RFC 3168).
    pub echoes_mark: bool,
    /// The sender has reduced its window (CWR, RFC 3168).
    pub has_reduced: bool,
    /// Whether the segment does nothing else: no data, no flag but ACK, ECE and CWR, and no option
    /// but selective acknowledgements, timestamps and a signature. Others are never dropped.
    pub is_bare: bool,
    /// Whether the segment acknowledges nothing: a SYN, or one without the flag ACK. It makes no
    /// other redundant, and counts only if its connection's ECN flags change.
    pub is_silent: bool,
}

impl Acknowledgement {
    /// Whether the segment has no data and no flag but ACK, and its IP packet is shorter than this.
    pub(crate) const fn is_below(&self, len: u32) -> bool {
        let has_flags = self.echoes_mark || self.has_reduced;
        self.is_bare && !has_flags && self.len < len
    }

    /// Whether this later acknowledgement makes an earlier one from the same connection redundant,
    /// because it says all that the earlier one says, and more. An exact repetition makes nothing
    /// redundant, because senders count duplicates.
    pub(crate) fn replaces(&self, earlier: &Self) -> bool {
        if self.is_silent || !earlier.is_bare || is_after(earlier.number, self.number) {
            return false;
        }
        if let Some((value, echo)) = earlier.timestamps {
            match self.timestamps {
                Some(later) if !is_after(value, later.0) && !is_after(echo, later.1) => {}
                _ => return false,
            }
        }
        match self.selects_beyond(earlier) {
            None => false,
            Some(selects_more) => selects_more || self.number != earlier.number,
        }
    }

    /// Whether the blocks tell of more bytes than an earlier acknowledgement's. None: one of the
    /// earlier blocks is in none of these, or tells of bytes that came twice (RFC 2883).
    fn selects_beyond(&self, earlier: &Self) -> Option<bool> {
        let mut told_before = 0_u32;
        for (start, end) in earlier.told() {
            let is_in = |(from, to): (u32, u32)| !is_after(from, start) && !is_after(end, to);
            if is_after(earlier.number, start) || !self.told().any(is_in) {
                return None;
            }
            told_before = told_before.wrapping_add(end.wrapping_sub(start));
        }
        let mut told = 0_u32;
        for (start, end) in self.told() {
            told = told.wrapping_add(end.wrapping_sub(start));
        }
        Some(told > told_before)
    }

    fn told(&self) -> impl Iterator<Item = (u32, u32)> {
        self.blocks.into_iter().filter(|(start, end)| start != end)
    }

    /// ECN flags that a later acknowledgement may not change unseen.
    pub(crate) const fn ecn_flags(&self) -> (bool, bool) {
        (self.echoes_mark, self.has_reduced)
    }
}

/// Whether a number that wraps is after another one (RFC 9293, section 3.4).
const fn is_after(number: u32, other: u32) -> bool {
    (number.wrapping_sub(other) as i32) > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ack(number: u32) -> Acknowledgement {
        Acknowledgement {
            number,
            is_bare: true,
            ..Acknowledgement::default()
        }
    }

    fn selective(number: u32, blocks: &[(u32, u32)]) -> Acknowledgement {
        let mut ack = ack(number);
        ack.blocks[..blocks.len()].copy_from_slice(blocks);
        ack
    }

    fn timed(number: u32, timestamps: (u32, u32)) -> Acknowledgement {
        Acknowledgement {
            timestamps: Some(timestamps),
            ..ack(number)
        }
    }

    #[test]
    fn a_later_number_replaces_an_earlier_one_and_a_repetition_does_not() {
        assert!(ack(2000).replaces(&ack(1000)));
        assert!(ack(10).replaces(&ack(u32::MAX - 10)), "numbers wrap");
        assert!(!ack(1000).replaces(&ack(1000)), "a duplicate counts");
        assert!(!ack(1000).replaces(&ack(2000)), "out of order");
        let with_data = Acknowledgement {
            is_bare: false,
            ..ack(1000)
        };
        assert!(!ack(2000).replaces(&with_data));
        assert!(with_data.replaces(&ack(500)));
    }

    #[test]
    fn selective_blocks_are_told_again_before_they_are_dropped() {
        let one = selective(1000, &[(3000, 4000)]);
        let grown = selective(1000, &[(3000, 5000)]);
        let other = selective(1000, &[(6000, 7000)]);
        let both = selective(1000, &[(6000, 7000), (3000, 4000)]);
        assert!(grown.replaces(&one), "a block has grown");
        assert!(both.replaces(&one), "a block more");
        assert!(!one.replaces(&grown));
        assert!(!other.replaces(&one), "the block is not told again");
        assert!(!one.replaces(&one), "a duplicate counts");
        assert!(!ack(5000).replaces(&one), "no block at all");
        assert!(one.replaces(&ack(1000)), "the first block");
        let twice = selective(1000, &[(500, 900)]);
        assert!(
            !selective(2000, &[(500, 900)]).replaces(&twice),
            "bytes that came twice"
        );
    }

    #[test]
    fn timestamps_do_not_step_back() {
        assert!(timed(2000, (11, 5)).replaces(&timed(1000, (10, 5))));
        assert!(!timed(2000, (9, 5)).replaces(&timed(1000, (10, 5))));
        assert!(!timed(2000, (11, 4)).replaces(&timed(1000, (10, 5))));
        assert!(!ack(2000).replaces(&timed(1000, (10, 5))));
    }
}
