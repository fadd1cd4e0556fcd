//! Kind `listings`: QFQ's pseudo-code as printed, run with bursts on a fully allocated link; counts
//! runs with violated claims.
//!
//! Each column has the rows `runs` and, for each claim, `CLAIM, runs that break it` and
//! `CLAIM, runs that break it first`. `B-WFI over Theorem 1` is the largest. The trace shows the
//! shortest run that violates the claim `trace`, call by call, in the first column with a
//! violation.

use std::fmt::Write;

use roundelay_metrics::workload::{Lags, SaturatedBursts};
use roundelay_reference::qfq_listings::{
    Checked, Claim, FindLastSet, GroupTimes, QfqListings, Reading, StartTime,
};
use serde::Deserialize;

use super::columns::wrong;
use super::{Experiment, Failed, Outcome, Row, repetition, within};
use crate::locations::Wrong;

/// The `[run]` table.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Listings {
    /// Runs per column: 1 to a million.
    runs: u64,
    /// How to read the listings, by column name.
    columns: toml::Table,
    /// Name of the claim for the trace, as in [`Claim::name`].
    trace: Option<String>,
}

/// A column.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Column {
    /// A name in [`StartTime::ALL`].
    start_time: String,
    /// `rounded`, or `of head flow`: Fig. 5 to the letter.
    #[serde(default = "rounded")]
    group_times: String,
    /// Lowest bit of `fls`: 0, or 1 as in the C library.
    #[serde(default)]
    lowest_bit: u32,
}

fn rounded() -> String {
    "rounded".to_owned()
}

impl Column {
    fn reading(&self) -> Result<Reading, Failed> {
        let mut known = StartTime::ALL.into_iter();
        let Some((_, start_time)) = known.find(|(name, _)| *name == self.start_time) else {
            let names = StartTime::ALL.map(|(name, _)| name).join("', '");
            return Err(Failed(format!(
                "start_time = '{}': expected one of '{names}'",
                self.start_time
            )));
        };
        let group_times = match self.group_times.as_str() {
            "rounded" => GroupTimes::Rounded,
            "of head flow" => GroupTimes::OfHeadFlow,
            other => {
                return Err(Failed(format!(
                    "group_times = '{other}': expected 'rounded' or 'of head flow'"
                )));
            }
        };
        let find_last_set = match self.lowest_bit {
            0 => FindLastSet::FromZero,
            1 => FindLastSet::FromOne,
            other => return Err(Failed(format!("lowest_bit = {other}: expected 0 or 1"))),
        };
        Ok(Reading {
            start_time,
            group_times,
            find_last_set,
        })
    }
}

impl Listings {
    fn reading(&self, column: &str) -> Result<Reading, Wrong> {
        let Some(table) = self.columns.get(column).cloned() else {
            return Err(wrong(column, "no such column"));
        };
        let read: Column = table
            .try_into()
            .map_err(|error: toml::de::Error| wrong(column, error.message()))?;
        read.reading()
            .map_err(|Failed(problem)| wrong(column, problem))
    }

    fn traced(&self) -> Result<Option<Claim>, Wrong> {
        let Some(name) = &self.trace else {
            return Ok(None);
        };
        let mut known = Claim::ALL.into_iter();
        if let Some(claim) = known.find(|claim| claim.name() == name) {
            return Ok(Some(claim));
        }
        let names = Claim::ALL.map(Claim::name).join("', '");
        Err(Wrong::new(
            "trace",
            format!("trace = '{name}': expected one of '{names}'"),
        ))
    }
}

impl Experiment for Listings {
    fn parts(&self) -> Vec<String> {
        self.columns.keys().cloned().collect()
    }

    fn check(&self) -> Result<(), Wrong> {
        within("runs", self.runs, 1..=1_000_000)?;
        self.traced()?;
        for column in self.columns.keys() {
            self.reading(column)?;
        }
        Ok(())
    }

    fn run(&self, part: &str, seed: u64) -> Result<Outcome, Failed> {
        let reading = self.reading(part)?;
        let traced = self.traced()?;
        let mut counts = Counts::default();
        let mut shortest: Option<(usize, u64)> = None;
        for burst in 0..self.runs {
            let traffic_seed = repetition(seed, burst);
            let run = Run::of(reading, traffic_seed, |_, _| ())?;
            counts.add(&run);
            let Some(calls) = traced.and_then(|claim| run.calls_until(claim)) else {
                continue;
            };
            if shortest.is_none_or(|(fewest, _)| calls < fewest) {
                shortest = Some((calls, traffic_seed));
            }
        }
        let trace = match shortest {
            Some((calls, traffic_seed)) => trace(reading, traffic_seed, calls, traced)?,
            None => Vec::new(),
        };
        Ok(Outcome {
            rows: counts.rows(part, self.runs),
            trace,
        })
    }

    fn is_exact(&self) -> bool {
        true
    }

    /// The registry of disciplines does not have the listings, so none can stand in their place.
    fn replace_disciplines(&mut self, discipline: &str) -> Result<(), Failed> {
        Err(Failed(format!(
            "the paper's listings are run, in whose place {discipline} cannot be put"
        )))
    }
}

/// A call of the listings' functions.
#[derive(Debug, Clone, Copy)]
enum Call {
    Enqueue(usize, u64),
    Dequeue(Option<(usize, u64)>),
}

/// What a run found.
struct Run {
    /// Claims that were violated, in order, with the number of calls up to the violation.
    broken: Vec<(Claim, usize)>,
    /// Largest B-WFI over Theorem 1's bound.
    b_wfi: f64,
}

impl Run {
    /// Runs a seed's bursts, and calls `watch` after each call.
    fn of(
        reading: Reading,
        seed: u64,
        mut watch: impl FnMut(Call, &Checked),
    ) -> Result<Self, Failed> {
        let mut traffic = SaturatedBursts::new(seed);
        let mut checked = Checked::new(reading, traffic.shares()).map_err(Failed::from)?;
        let mut lags = Lags::new(traffic.weights());
        let mut broken = Vec::new();
        let mut calls = 0;
        let mut note = |call, checked: &Checked| {
            calls += 1;
            for claim in &checked.broken()[broken.len()..] {
                broken.push((*claim, calls));
            }
            watch(call, checked);
        };
        for step in 0.. {
            let is_loaded = step < SaturatedBursts::STEPS;
            let arrivals = if is_loaded {
                traffic.next(|flow| checked.listings().waiting(flow))
            } else {
                Vec::new()
            };
            for (flow, len) in arrivals {
                if checked.listings().waiting(flow) == 0 {
                    lags.becomes_backlogged(flow, 0);
                }
                checked.enqueue(flow, len);
                note(Call::Enqueue(flow, len), &checked);
            }
            let served = checked.dequeue();
            note(Call::Dequeue(served), &checked);
            match served {
                Some((flow, len)) => lags.serve(flow, len, checked.listings().waiting(flow) == 0),
                None if is_loaded => {}
                None => break,
            }
        }
        Ok(Self {
            b_wfi: largest_over_theorem_1(&traffic, checked.listings(), &lags),
            broken,
        })
    }

    fn calls_until(&self, claim: Claim) -> Option<usize> {
        let mut broken = self.broken.iter();
        let (_, calls) = broken.find(|(broken, _)| *broken == claim)?;
        Some(*calls)
    }
}

/// The largest B-WFI over its bound. Theorem 1: B-WFI <= phi (3 sigma_i + 2 L), both sides divided
/// by phi here.
fn largest_over_theorem_1(traffic: &SaturatedBursts, listings: &QfqListings, lags: &Lags) -> f64 {
    let lengths = traffic.shares().iter().map(|(_, len)| *len);
    let longest = lengths.max().unwrap_or(0);
    let mut largest = 0.0_f64;
    for (flow, (inverse_share, _)) in traffic.shares().iter().enumerate() {
        let bound = 3 * listings.slot_size(flow) + 2 * longest;
        largest = largest.max(lags.worst(flow) * *inverse_share as f64 / bound as f64);
    }
    largest
}

#[derive(Default)]
struct Counts {
    broken: [u64; Claim::ALL.len()],
    first: [u64; Claim::ALL.len()],
    b_wfi: f64,
}

impl Counts {
    fn add(&mut self, run: &Run) {
        let first = run.broken.first().map(|(_, calls)| *calls);
        for (index, claim) in Claim::ALL.into_iter().enumerate() {
            let calls = run.calls_until(claim);
            self.broken[index] += u64::from(calls.is_some());
            self.first[index] += u64::from(calls.is_some() && calls == first);
        }
        self.b_wfi = self.b_wfi.max(run.b_wfi);
    }

    fn rows(&self, column: &str, runs: u64) -> Vec<Row> {
        let mut rows = vec![
            Row::scalar(column, "runs", runs as f64),
            Row::scalar(column, "B-WFI over Theorem 1", self.b_wfi),
        ];
        for (index, claim) in Claim::ALL.into_iter().enumerate() {
            let name = claim.name();
            let broken = self.broken[index] as f64;
            let first = self.first[index] as f64;
            rows.push(Row::scalar(
                column,
                format!("{name}, runs that break it"),
                broken,
            ));
            let figure = format!("{name}, runs that break it first");
            rows.push(Row::scalar(column, figure, first));
        }
        rows
    }
}

/// Writes a run's first `calls` calls, a line each.
fn trace(
    reading: Reading,
    seed: u64,
    calls: usize,
    claim: Option<Claim>,
) -> Result<Vec<String>, Failed> {
    let mut lines = vec![flows_line(reading, seed)?];
    let mut number = 0;
    Run::of(reading, seed, |call, checked| {
        number += 1;
        if number <= calls {
            lines.push(line(number, call, checked.listings()));
        }
    })?;
    if let Some(claim) = claim {
        let name = claim.name();
        lines.push(format!("after call {calls} this is broken: {name}"));
    }
    Ok(lines)
}

fn flows_line(reading: Reading, seed: u64) -> Result<String, Failed> {
    let traffic = SaturatedBursts::new(seed);
    let listings = QfqListings::new(reading, traffic.shares()).map_err(Failed::from)?;
    let mut flows = Vec::new();
    for (flow, (inverse_share, len)) in traffic.shares().iter().enumerate() {
        let slot = listings.slot_size(flow);
        flows.push(format!(
            "{flow}: 1/{inverse_share}, {len} bytes, slot {slot}"
        ));
    }
    Ok(format!(
        "bursts of seed {seed}; flows (share, packets, slot size): {}",
        flows.join("; ")
    ))
}

fn line(number: usize, call: Call, listings: &QfqListings) -> String {
    let mut line = match call {
        Call::Enqueue(flow, len) => format!("{number}. enqueue flow {flow}, {len} bytes"),
        Call::Dequeue(Some((flow, len))) => format!("{number}. dequeue: flow {flow}, {len} bytes"),
        Call::Dequeue(None) => format!("{number}. dequeue: nothing"),
    };
    if let Call::Enqueue(flow, _) | Call::Dequeue(Some((flow, _))) = call {
        let (start, finish) = listings.times(flow);
        let _ = write!(line, ", then S {start}, F {finish}");
    }
    let _ = write!(line, " | V {}", listings.virtual_time());
    for (name, groups) in listings.sets() {
        for (group, start, finish) in groups {
            let _ = write!(line, " | {name} {group}: S {start}, F {finish}");
        }
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listings(text: &str) -> Listings {
        toml::from_str(text).unwrap()
    }

    fn value(outcome: &Outcome, figure: &str) -> f64 {
        outcome
            .rows
            .iter()
            .find(|row| row.figure == figure)
            .unwrap()
            .value
    }

    #[test]
    fn the_printed_start_time_breaks_theorem_6_and_the_trace_ends_there() {
        let plan = "runs = 400\ntrace = 'Theorem 6'\ncolumns.printed.start_time = 'as printed'\ncolumns.every.start_time = 'every flow'";
        let experiment = listings(plan);
        assert_eq!(experiment.parts(), ["printed", "every"]);
        let printed = experiment.run("printed", 1).unwrap();
        assert!(
            value(&printed, "Theorem 6, runs that break it") > 0.0
                && value(&printed, "runs") == 400.0
        );
        assert!(
            printed.trace.len() > 3 && printed.trace.last().unwrap().ends_with("Theorem 6"),
            "{:?}",
            printed.trace
        );
        let every = experiment.run("every", 1).unwrap();
        assert_eq!(
            (
                value(&every, "Theorem 6, runs that break it"),
                every.trace.len()
            ),
            (0.0, 0)
        );
        assert_ne!(
            experiment.run("printed", 2).unwrap(),
            printed,
            "another seed, other bursts"
        );
    }

    #[test]
    fn a_rule_that_is_not_known_is_named_with_those_that_are() {
        let error = |plan: &str| listings(plan).check().unwrap_err().to_string();
        let rule = error("runs = 1\ncolumns.a.start_time = 'b'");
        assert!(
            rule.starts_with("columns.a: start_time = 'b': expected one of 'as printed'"),
            "{rule}"
        );
        assert!(
            error("runs = 1\ncolumns.a = { start_time = 'linux', lowest_bit = 2 }")
                .ends_with("expected 0 or 1")
        );
        assert!(
            error("runs = 1\ntrace = 'x'\ncolumns.a.start_time = 'linux'")
                .starts_with("trace = 'x': expected one of 'Theorem 3'")
        );
    }
}
