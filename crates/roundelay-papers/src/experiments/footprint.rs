//! Kind `footprint`: memory of disciplines, per flow and fixed, with parts for disciplines that
//! report them.
//!
//! Each column has the rows `a flow, bytes` and `fixed, bytes`, and for each part in use
//! `a flow, PART, bytes` or `fixed, PART, bytes`. The disciplines state these figures themselves,
//! and the test `footprints_are_what_is_allocated` compares them with the allocator.

use roundelay::Footprint;
use roundelay_bench::StatedFootprint;
use serde::Deserialize;

use super::columns::Columns;
use super::{Experiment, Failed, Outcome, Row};
use crate::locations::Wrong;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Memory {
    /// Columns: the paper's name, and the discipline.
    columns: Columns,
}

impl Experiment for Memory {
    fn parts(&self) -> Vec<String> {
        self.columns.names()
    }

    fn check(&self) -> Result<(), Wrong> {
        self.columns.check()
    }

    fn run(&self, part: &str, _seed: u64) -> Result<Outcome, Failed> {
        let spec = self.columns.spec(part)?;
        let stated = StatedFootprint::of(&spec.discipline).map_err(Failed::from)?;
        let mut rows = vec![
            Row::scalar(part, "a flow, bytes", stated.whole.bytes_per_flow as f64),
            Row::scalar(part, "fixed, bytes", stated.whole.fixed_bytes as f64),
        ];
        for (
            name,
            Footprint {
                bytes_per_flow,
                fixed_bytes,
            },
        ) in stated.parts
        {
            let parts = [("a flow", bytes_per_flow), ("fixed", fixed_bytes)]
                .into_iter()
                .filter(|(_, bytes)| *bytes > 0);
            rows.extend(parts.map(|(of, bytes)| {
                Row::scalar(part, format!("{of}, {name}, bytes"), bytes as f64)
            }));
        }
        Ok(Outcome {
            rows,
            trace: Vec::new(),
        })
    }

    fn is_exact(&self) -> bool {
        true
    }

    fn disciplines(&self) -> Vec<&str> {
        self.columns.texts()
    }

    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        self.columns.replace_disciplines(discipline);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_what_is_stated() {
        let table: toml::Table = "columns = { QFQ = 'qfq', FIFO = 'fifo' }".parse().unwrap();
        let memory: Memory = table.try_into().unwrap();
        let rows = memory.run("QFQ", 1).unwrap().rows;
        for of in ["a flow", "fixed"] {
            let stated = rows
                .iter()
                .find(|row| row.figure == format!("{of}, bytes"))
                .unwrap()
                .value;
            let parts: Vec<_> = rows
                .iter()
                .filter(|row| {
                    row.figure.starts_with(&format!("{of}, "))
                        && row.figure != format!("{of}, bytes")
                })
                .map(|row| row.value)
                .collect();
            assert!(
                parts.len() > 2 && parts.iter().sum::<f64>() == stated,
                "{of}: {stated}, {parts:?}"
            );
        }
        assert_eq!(memory.run("FIFO", 1).unwrap().rows.len(), 2);
    }
}
