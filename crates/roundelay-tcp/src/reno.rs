//! Additive increase, multiplicative decrease: RFC 5681.

/// Growth in congestion avoidance: a segment for each window's worth of bytes that was acknowledged (section 3.1, the way it recommends).
/// `credit` holds what was acknowledged towards the next.
pub(crate) fn growth(credit: &mut u64, window: u64, acknowledged: u64, segment_len: u64) -> u64 {
    *credit += acknowledged;
    if *credit < window {
        return 0;
    }
    *credit -= window;
    segment_len
}

/// Equation 4, but for the least of two segments.
pub(crate) fn reduced(flight: u64) -> u64 {
    flight / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One acknowledgement of more than a window leaves the rest for the next.
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
