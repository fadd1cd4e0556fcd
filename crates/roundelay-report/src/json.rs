//! JSON: all results, for scripts.

use serde::Serialize;

/// Results as indented JSON with a newline at the end. Times in seconds, rates in bits per second,
/// sizes in bytes, unless a name ends in a unit; unknown values are null.
pub fn json(results: &impl Serialize) -> String {
    serde_json::to_string_pretty(results).expect("plain data with string keys always serialises")
        + "\n"
}
