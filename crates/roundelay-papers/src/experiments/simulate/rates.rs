//! Figures of rates over time as rows: Jain's index and mean rates by interval.

use roundelay_sim::scenario::Results;

use super::super::Row;

pub(super) fn rows(_run: &str, _results: &Results) -> Vec<Row> {
    Vec::new()
}
