//! Proportional rate reduction: in fast recovery the window shrinks with what arrives, and not at
//! once. The names are those of RFC 9937.
//!
//! If little is in the network, as much goes out as arrives (PRR-CRB). One segment more goes out,
//! as in slow start (PRR-SSRB), but only if an acknowledgement of new data tells of no further
//! loss. RFC 6937 sent it for each arrival. So when lost retransmissions are found by time, a
//! sender would have sent twice what arrived for as long as half of it was lost.

/// What a recovery keeps.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reduction {
    /// RecoverFS: how much data was in flight when the recovery began.
    flight: u64,
    /// prr_delivered and prr_out.
    delivered: u64,
    out: u64,
}

impl Reduction {
    pub(crate) fn begin(flight: u64) -> Self {
        Self {
            flight: flight.max(1),
            ..Self::default()
        }
    }

    /// Whether nothing has been sent yet.
    pub(crate) fn has_sent_nothing(&self) -> bool {
        self.out == 0
    }

    /// Data is sent during the recovery.
    pub(crate) fn send(&mut self, len: u32) {
        self.out += u64::from(len);
    }

    /// The window after an acknowledgement that tells of `newly_delivered` bytes, with `pipe` bytes
    /// in the network. `is_safe` is SafeACK: all data up to some new byte has arrived, and nothing
    /// more is known to be lost.
    pub(crate) fn window(
        &mut self,
        (newly_delivered, is_safe): (u64, bool),
        pipe: u64,
        threshold: u64,
        segment_len: u64,
    ) -> u64 {
        self.delivered += newly_delivered;
        let window = pipe + self.allowed((newly_delivered, is_safe), pipe, threshold, segment_len);
        if self.out == 0 {
            // A recovery begins with a retransmission.
            return window.max(pipe + segment_len);
        }
        window
    }

    /// sndcnt.
    fn allowed(
        &self,
        (newly_delivered, is_safe): (u64, bool),
        pipe: u64,
        threshold: u64,
        segment_len: u64,
    ) -> u64 {
        if pipe > threshold {
            // Proportional rate reduction.
            let due = u128::from(self.delivered) * u128::from(threshold);
            let due = u64::try_from(due.div_ceil(u128::from(self.flight))).unwrap_or(u64::MAX);
            return due.saturating_sub(self.out);
        }
        // Conservative reduction bound.
        let mut limit = self.delivered.saturating_sub(self.out).max(newly_delivered);
        if is_safe {
            // Slow start reduction bound.
            limit += segment_len;
        }
        limit.min(threshold - pipe)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A window of twenty, with the first segment lost and half the rate, as in RFC 6937's first
    /// example. The retransmission goes out at once, and then a segment for every second one that
    /// arrives.
    #[test]
    fn half_of_what_arrives_goes_out() {
        let mut reduction = Reduction::begin(20_000);
        let (mut pipe, mut sent) = (19_000, Vec::new());
        // The first of twenty was lost, and one arrives with each acknowledgement.
        for _ in 0..16 {
            pipe -= 1000;
            let window = reduction.window((1000, false), pipe, 10_000, 1000);
            let room = (window - pipe) / 1000;
            for _ in 0..room {
                reduction.send(1000);
                pipe += 1000;
            }
            sent.push(room);
        }
        // 500 bytes are due for each that arrives, and the retransmission counts.
        assert_eq!(sent[..8], [1, 0, 0, 1, 0, 1, 0, 1]);
        assert_eq!(pipe, 10_000, "the pipe ends at the threshold");
    }

    /// Most of the window is lost, so the pipe is below the threshold. As much goes out as arrives
    /// beyond a gap.
    #[test]
    fn after_many_losses_as_much_goes_out_as_arrives() {
        assert_eq!(sent_for([false; 4]), [1, 1, 1, 1]);
    }

    /// Once retransmissions arrive and nothing more is lost, the pipe grows as in slow start: two
    /// segments for each one that arrives, but no burst.
    #[test]
    fn a_recovery_in_good_progress_is_like_slow_start() {
        assert_eq!(sent_for([true; 4]), [2, 2, 2, 2]);
        assert_eq!(sent_for([false, true, false, true]), [1, 2, 1, 2]);
    }

    /// How many segments go out for each of four that arrive, when sixteen of twenty were lost.
    fn sent_for(is_safe: [bool; 4]) -> Vec<u64> {
        let mut reduction = Reduction::begin(20_000);
        let (mut pipe, mut sent) = (4_000, Vec::new());
        for is_safe in is_safe {
            pipe -= 1000;
            let window = reduction.window((1000, is_safe), pipe, 10_000, 1000);
            let room = (window - pipe) / 1000;
            for _ in 0..room {
                reduction.send(1000);
                pipe += 1000;
            }
            sent.push(room);
        }
        sent
    }
}
