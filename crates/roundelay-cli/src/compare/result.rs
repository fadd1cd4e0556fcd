//! What a comparison gives.

use roundelay_report::{Advised, TableStyle, html, json, table};

/// What [`compare`](crate::call::compare) gives.
#[derive(Debug)]
pub struct Compared {
    /// The comparison with its advice.
    pub advised: Advised,
    /// Version, seed and hash of the configuration, as in the Parquet files.
    pub metadata: Vec<(String, String)>,
}

impl Compared {
    /// What `--json` prints.
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
