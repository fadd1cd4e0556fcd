//! Kind `footprint`: memory of disciplines, a flow's and what is fixed, part by part where a discipline tells its parts.
//!
//! Rows of each column: `a flow, bytes`, `fixed, bytes`, and for each part that takes any `a flow, PART, bytes` or `fixed, PART, bytes`. The
//! figures are what disciplines state; the test `footprints_are_what_is_allocated` holds that against the allocator.

use roundelay::schedulers::Spec;
use roundelay::{Footprint, Scheduler};
use serde::Deserialize;
use toml::Table;

use super::{Experiment, Failed, Outcome, Row};

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Memory {
    /// Columns: the paper's name, and the discipline.
    columns: Table,
}

impl Experiment for Memory {
    fn parts(&self) -> Vec<String> {
        self.columns.keys().cloned().collect()
    }

    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed> {
        let text = self.columns.get(part).and_then(toml::Value::as_str);
        let text = text.ok_or_else(|| Failed(format!("columns.{part}: expected a discipline")))?;
        let spec: Spec = text.parse().map_err(|error| Failed(format!("columns.{part}: {error}")))?;
        let scheduler = spec.discipline.build::<()>(seed).map_err(Failed::from)?;
        let mut rows = vec![
            Row::scalar(part, "a flow, bytes", scheduler.footprint().bytes_per_flow as f64),
            Row::scalar(part, "fixed, bytes", scheduler.footprint().fixed_bytes as f64),
        ];
        for (name, Footprint { bytes_per_flow, fixed_bytes }) in scheduler.footprint_parts() {
            let parts = [("a flow", bytes_per_flow), ("fixed", fixed_bytes)].into_iter().filter(|(_, bytes)| *bytes > 0);
            rows.extend(parts.map(|(of, bytes)| Row::scalar(part, format!("{of}, {name}, bytes"), bytes as f64)));
        }
        Ok(Outcome { rows, trace: Vec::new() })
    }

    fn instead(&mut self, discipline: &str) -> Result<(), Failed> {
        self.columns.iter_mut().for_each(|(_, column)| *column = toml::Value::String(discipline.to_owned()));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_to_what_is_stated() {
        let table: Table = "columns = { QFQ = 'qfq', FIFO = 'fifo' }".parse().unwrap();
        let memory: Memory = table.try_into().unwrap();
        let rows = memory.run("QFQ", 1).unwrap().rows;
        for of in ["a flow", "fixed"] {
            let stated = rows.iter().find(|row| row.figure == format!("{of}, bytes")).unwrap().value;
            let parts: Vec<_> = rows
                .iter()
                .filter(|row| row.figure.starts_with(&format!("{of}, ")) && row.figure != format!("{of}, bytes"))
                .map(|row| row.value)
                .collect();
            assert!(parts.len() > 2 && parts.iter().sum::<f64>() == stated, "{of}: {stated}, {parts:?}");
        }
        assert_eq!(memory.run("FIFO", 1).unwrap().rows.len(), 2);
    }
}
