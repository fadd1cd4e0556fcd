//! Result of a comparison.

use roundelay_report::{TableStyle, html, json, table};
use roundelay_trace::Comparison;

/// Result of [`compare`](crate::call::compare).
#[derive(Debug)]
pub struct Compared {
    /// The comparison.
    pub comparison: Comparison,
    /// Version, seed and hash of the configuration, as in the Parquet files.
    pub metadata: Vec<(String, String)>,
}

impl Compared {
    /// The output of `--json`.
    pub fn json(&self) -> String {
        json(&self.comparison)
    }

    /// The page of `--html`.
    pub fn html(&self) -> String {
        html(&self.comparison)
    }

    /// The printed table.
    pub fn table(&self, style: TableStyle) -> String {
        table(&self.comparison, style)
    }
}
