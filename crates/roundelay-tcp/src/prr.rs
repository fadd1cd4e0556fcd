//! Proportional rate reduction: in fast recovery the window shrinks with what arrives, not at once.
//! RFC 6937, by the names of its section 3, with the slow start reduction bound (PRR-SSRB).

/// State of a recovery.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Reduction {
    /// RecoverFS: data in flight when the recovery began.
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

    /// Data is sent in the recovery.
    pub(crate) fn send(&mut self, len: u32) {
        self.out += u64::from(len);
    }

    /// The window after an acknowledgement by which `news` bytes are known to have arrived, with
    /// `pipe` bytes in the network.
    pub(crate) fn window(&mut self, news: u64, pipe: u64, threshold: u64, segment_len: u64) -> u64 {
        self.delivered += news;
        if pipe > threshold {
            // Proportional rate reduction.
            let due = u128::from(self.delivered) * u128::from(threshold);
            let due = u64::try_from(due.div_ceil(u128::from(self.flight))).unwrap_or(u64::MAX);
            return pipe + due.saturating_sub(self.out);
        }
        // Slow start reduction bound.
        let limit = self.delivered.saturating_sub(self.out).max(news) + segment_len;
        pipe + (threshold - pipe).min(limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The RFC's first example (section 4): a window of twenty, the first segment lost, half the rate.
    /// One segment goes out for every second acknowledgement, beginning with the retransmission.
    #[test]
    fn half_of_what_arrives_goes_out() {
        let mut reduction = Reduction::begin(20_000);
        let (mut pipe, mut sent) = (19_000, Vec::new());
        // Of twenty, the first was lost, and one arrives with each acknowledgement.
        for _ in 0..16 {
            pipe -= 1000;
            let window = reduction.window(1000, pipe, 10_000, 1000);
            let room = (window - pipe) / 1000;
            for _ in 0..room {
                reduction.send(1000);
                pipe += 1000;
            }
            sent.push(room);
        }
        // Of 500 bytes that are due, nothing whole can be sent; of 1,000 a segment.
        assert_eq!(sent[..8], [0, 1, 0, 1, 0, 1, 0, 1]);
        assert_eq!(pipe, 10_000, "the pipe ends at the threshold");
    }

    /// The RFC's second example: most of the window is lost. Slow start from what is left: up to two
    /// segments for one that arrives, and no burst.
    #[test]
    fn after_many_losses_the_pipe_grows_like_slow_start() {
        let mut reduction = Reduction::begin(20_000);
        let (mut pipe, mut sent) = (4_000, Vec::new());
        for _ in 0..4 {
            pipe -= 1000;
            let window = reduction.window(1000, pipe, 10_000, 1000);
            let room = (window - pipe) / 1000;
            for _ in 0..room {
                reduction.send(1000);
                pipe += 1000;
            }
            sent.push(room);
        }
        assert_eq!(sent, [2, 2, 2, 2]);
        assert_eq!(pipe, 8_000);
    }
}
