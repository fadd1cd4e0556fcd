//! The result of a comparison.

use roundelay_report::{Advised, TableStyle, html, json, table};

/// The result of [`compare`](crate::call::compare).
#[derive(Debug)]
pub struct Compared {
    /// The comparison with its advice.
    pub advised: Advised,
    /// Version, seed and hash of the configuration, as in the Parquet files.
    pub metadata: Vec<(String, String)>,
}

impl Compared {
    /// The output of `--json`.
    pub fn json(&self) -> String {
        json(&self.advised)
    }

    /// The page of `--html`.
    pub fn html(&self) -> String {
        html(&self.advised)
    }

    /// The printed table.
    pub fn table(&self, style: TableStyle) -> String {
        table(&self.advised, style)
    }
}
