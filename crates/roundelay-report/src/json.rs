//! The comparison for scripts.

use roundelay_trace::Comparison;

/// The comparison as JSON, indented, ending in a newline: the fields of [`Comparison`] under their own names and in their own order.
///
/// What is not a finite number is `null`.
pub fn json(comparison: &Comparison) -> String {
    let mut text = serde_json::to_string_pretty(comparison).expect("plain data with string keys always serialises");
    text.push('\n');
    text
}
