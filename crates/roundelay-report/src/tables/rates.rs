//! Table for rates: one row per replica, flow and interval with received bytes. Times are
//! simulated, in picoseconds.

use roundelay_sim::scenario::Rates;

use super::column::{Column, GROUP_ROWS, Values, picos};
use super::rows::{Each, TableOf};
use crate::ReportError;
use crate::simulation::Simulated;

/// One row for each flow and interval with bytes.
pub const RATES: TableOf<Simulated> = TableOf {
    name: "rates",
    needs: Some(("[meter] rates", |measures| measures.rates.is_some())),
    batches,
};

fn batches(simulated: &Simulated, each: Each<'_>) -> Result<(), ReportError> {
    // A batch without rows comes first: it tells the columns.
    each(Rows::default().columns())?;
    for replica in &simulated.replicas {
        let mut rows = Rows {
            seed: replica.seed,
            ..Rows::default()
        };
        if let Some(rates) = &replica.rates {
            rows.add(rates, each)?;
        }
        rows.flush(each)?;
    }
    Ok(())
}

/// A replica's rows that are not written yet.
#[derive(Default)]
struct Rows {
    seed: u64,
    flows: Vec<u64>,
    starts: Vec<i64>,
    bytes: Vec<u64>,
}

impl Rows {
    /// Adds a run's rows, and gives them to `each` whenever they fill a batch.
    fn add(&mut self, rates: &Rates, each: Each<'_>) -> Result<(), ReportError> {
        for flow in &rates.flows {
            for (interval, bytes) in &flow.bytes {
                self.flows.push(flow.flow);
                self.starts.push(picos(rates.start(*interval)));
                self.bytes.push(*bytes);
                if self.flows.len() == GROUP_ROWS {
                    self.flush(each)?;
                }
            }
        }
        Ok(())
    }

    /// Gives the rows so far to `each`, if there are any.
    fn flush(&mut self, each: Each<'_>) -> Result<(), ReportError> {
        if self.flows.is_empty() {
            return Ok(());
        }
        let rows = std::mem::take(self);
        self.seed = rows.seed;
        each(rows.columns())
    }

    fn columns(self) -> Vec<Column> {
        vec![
            Column {
                name: "seed",
                values: Values::Counts(vec![self.seed; self.flows.len()]),
            },
            Column {
                name: "flow",
                values: Values::Counts(self.flows),
            },
            Column {
                name: "start_ps",
                values: Values::Times(self.starts),
            },
            Column {
                name: "bytes",
                values: Values::Counts(self.bytes),
            },
        ]
    }
}
