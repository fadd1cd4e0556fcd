//! Reno congestion control: additive increase, multiplicative decrease (RFC 5681).

use crate::custom::{CongestionControl, Feedback};

/// What Reno keeps for a connection.
#[derive(Debug, Clone, Default)]
pub struct Reno {
    /// Bytes acknowledged towards the next segment of growth.
    credit: u64,
}

impl Reno {
    /// Growth in congestion avoidance: one segment for each window of acknowledged bytes (section
    /// 3.1, recommended way).
    #[inline]
    fn growth(&mut self, window: u64, acknowledged: u64, segment_len: u64) -> u64 {
        self.credit += acknowledged;
        if self.credit < window {
            return 0;
        }
        self.credit -= window;
        segment_len
    }
}

impl CongestionControl for Reno {
    #[inline]
    fn on_ack(&mut self, feedback: &Feedback) -> u64 {
        let Feedback {
            window,
            acknowledged,
            segment_len,
            ..
        } = *feedback;
        feedback
            .slow_start()
            .unwrap_or_else(|| window + self.growth(window, acknowledged, segment_len))
    }

    /// Equation 4.
    #[inline]
    fn on_loss(&mut self, feedback: &Feedback) -> u64 {
        self.credit = 0;
        (feedback.in_flight / 2).max(2 * feedback.segment_len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// If an acknowledgement tells of more than a window, the rest counts for the next segment.
    #[test]
    fn credit_is_kept() {
        let mut reno = Reno { credit: 3000 };
        assert_eq!((reno.growth(4000, 2500, 1000), reno.credit), (1000, 1500));
    }

    #[test]
    fn a_segment_more_each_window() {
        let mut reno = Reno::default();
        let mut window = 4000;
        let mut windows = Vec::new();
        for _ in 0..4 + 5 + 6 {
            window += reno.growth(window, 1000, 1000);
            windows.push(window / 1000);
        }
        assert_eq!(windows, [4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 7]);
    }
}
