//! Parts of a whole.

/// A part, divided by the whole. None if the whole is zero.
pub(super) fn ratio(part: f64, whole: f64) -> Option<f64> {
    if whole > 0.0 {
        Some(part / whole)
    } else {
        None
    }
}
