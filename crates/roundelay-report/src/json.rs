//! JSON output of a comparison, for scripts.

use roundelay_trace::Comparison;

/// The comparison as JSON, indented, with a newline at the end: the fields of [`Comparison`] with
/// their names and order.
///
/// Non-finite numbers are `null`.
pub fn json(comparison: &Comparison) -> String {
    let mut text = serde_json::to_string_pretty(comparison).expect("plain data with string keys always serialises");
    text.push('\n');
    text
}
