//! Reno congestion control: additive increase, multiplicative decrease (RFC 5681).

/// Growth in congestion avoidance: one segment for each window of acknowledged bytes (section 3.1,
/// recommended way). `credit` holds the bytes acknowledged towards the next segment.
pub(crate) fn growth(credit: &mut u64, window: u64, acknowledged: u64, segment_len: u64) -> u64 {
    *credit += acknowledged;
    if *credit < window {
        return 0;
    }
    *credit -= window;
    segment_len
}

/// Equation 4, without the minimum of two segments.
pub(crate) fn reduced(flight: u64) -> u64 {
    flight / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rest of an acknowledgement of more than a window counts for the next segment.
    #[test]
    fn credit_is_kept() {
        let mut credit = 3000;
        assert_eq!((growth(&mut credit, 4000, 2500, 1000), credit), (1000, 1500));
    }

    #[test]
    fn a_segment_more_each_window() {
        let (mut credit, mut window) = (0, 4000);
        let mut windows = Vec::new();
        for _ in 0..4 + 5 + 6 {
            window += growth(&mut credit, window, 1000, 1000);
            windows.push(window / 1000);
        }
        assert_eq!(windows, [4, 4, 4, 5, 5, 5, 5, 5, 6, 6, 6, 6, 6, 6, 7]);
    }
}
