//! Kind `deadlines`: media flows with deadlines on one link where each scheduler decision takes
//! time.
//!
//! Flows of randomly drawn types make packets at their rates. They start together, or spread over a
//! while. The scheduler orders the packets, and the link waits for each decision. Packets are made
//! only when the scheduler has room ([`sources`]), so memory does not depend on the backlog.
//!
//! Each column has rows that are points over the number of flows, or over the cost of a decision in
//! nanoseconds if the plan lists several costs. [`figures`] names them. A discipline decides once
//! per packet unless `Scheduler::has_decided` says otherwise: `afq` decides once per turn.

use roundelay::{Duration, FlowConfig};
use toml::Value;

use super::{Experiment, Failed, Outcome, all_within, columns, seed_of_queue, within};
use crate::locations::Wrong;
use link::Link;
use plan::{Cell, Column};
use sources::Sources;

pub(super) use plan::Deadlines;

mod counterexample;
mod figures;
mod link;
mod meter;
mod plan;
mod sources;

impl Deadlines {
    fn link(&self, cell: &Cell, column: &Column) -> Link {
        Link {
            decision: column.decision.unwrap_or(cell.decision),
            packet: column.packet.unwrap_or(Duration::ZERO),
            rate: self.link,
            propagation: self.propagation.unwrap_or(Duration::ZERO),
        }
    }
}

impl Experiment for Deadlines {
    fn check(&self) -> Result<(), Wrong> {
        if self.types.is_empty() {
            return Err(Wrong::new(
                "type",
                "type: none; write [[run.type]] with name, rate and weight",
            ));
        }
        if self.window == 1 {
            let problem = "window: 1 makes flows look idle between packets; legal: 0 (all \
                packets), or 2 and more";
            return Err(Wrong::new("window", problem));
        }
        all_within("flows", &self.flows, 1..=1 << 20)?;
        within("packets", self.packets, 1..=10_000_000)?;
        within("packet_len", self.packet_len, 1..=1 << 16)?;
        within("credit", self.credit, 1e-6..=1e6)?;
        for (number, media) in self.types.iter().enumerate() {
            within(
                &format!("type.{number}.weight"),
                media.weight,
                1..=FlowConfig::MAX_WEIGHT,
            )?;
        }
        for name in self.columns.keys() {
            let column = self.column(name)?;
            self.discipline(&column.discipline)
                .map_err(|Failed(problem)| columns::wrong(name, problem))?;
        }
        self.check_size()
    }

    fn parts(&self) -> Vec<String> {
        self.cells().iter().map(Cell::part).collect()
    }

    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed> {
        let mut cells = self.cells().into_iter();
        let Some(cell) = cells.find(|cell| cell.part() == part) else {
            return Err(Failed(format!("{part}: no such part")));
        };
        let column = self.column(&cell.column)?;
        let mut scheduler = self
            .discipline(&column.discipline)?
            .build_arena(seed_of_queue(seed))
            .map_err(Failed::from)?;
        let mut sources = Sources::draw(self, cell.flows, seed);
        sources.tell_deadlines = column.deadlines;
        let results = self
            .link(&cell, &column)
            .run(&mut scheduler, &mut sources)?;
        let trace = counterexample::late_with_negative_startup_latency(self, &sources, &results);
        Ok(Outcome {
            rows: figures::rows(self, &cell, &sources, &results),
            trace,
        })
    }

    fn disciplines(&self) -> Vec<&str> {
        columns::texts(&self.columns)
    }

    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        let discipline = Value::String(discipline.to_owned());
        for (_, column) in self.columns.iter_mut() {
            match column {
                Value::Table(column) => {
                    column.insert("discipline".to_owned(), discipline.clone());
                }
                other => *other = discipline.clone(),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
