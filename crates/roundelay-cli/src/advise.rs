//! `roundelay advise`: which rates to set for a line. It runs a household that fills the line, at
//! falling rates of the router's shaper, and finds from where on a ping gains little.

pub(crate) mod arguments;
mod household;
pub(crate) mod outputs;
pub(crate) mod report;
mod script;

use std::path::Path;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use roundelay::Rate;
use roundelay_sim::scenario::{GroupResult, Results, Scenario};
use roundelay_trace::Stop;

use crate::failure::Failure;
use crate::progress::Gauge;
use crate::scenario::{Read, check_length};
use crate::terminal::print;
use crate::threads::in_pool;
use arguments::Advise;
use household::{Access, BULK, BURSTS, PAGES, PINGS, Way};
use report::{Direction, Report, Row, knee};

/// Parts of the line's rate, of a line whose rate stays.
const PARTS: [f64; 11] = [1.0, 0.98, 0.95, 0.92, 0.9, 0.85, 0.8, 0.75, 0.7, 0.6, 0.5];
/// The same of the mean, where the rate changes all the time.
const PARTS_OF_MEAN: [f64; 9] = [1.0, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2];
/// Seeds of a line whose rate changes, at the least: of one trace the rate to set is chance.
const TRACES: u64 = 3;
/// A shaper helps little if a ping at the rate to set still takes this part of one without a shaper.
const HELPS_LITTLE: f64 = 0.5;

pub(crate) fn run(arguments: &Advise) -> Result<(), Failure> {
    let report = report(arguments)?;
    match arguments.outputs.printed(&report)? {
        Some(text) => print(&text),
        None => print(&report.text()),
    }
}

/// A run to do: a direction that is filled, and the shaper's rate for it.
struct Trial {
    way: Way,
    part: Option<f64>,
    rate: Option<Rate>,
    scenario: Scenario,
}

fn report(arguments: &Advise) -> Result<Report, Failure> {
    let access = Access {
        down: arguments.down,
        up: arguments.up,
        line: arguments.link,
    };
    let parts: &[f64] = if access.line.varies() {
        &PARTS_OF_MEAN
    } else {
        &PARTS
    };
    let mut trials = Vec::new();
    for way in Way::BOTH {
        for part in std::iter::once(None).chain(parts.iter().map(|part| Some(*part))) {
            trials.push(trial(&access, way, part, arguments)?);
        }
    }
    let found = rows(&trials, arguments)?;
    let mut ways = Vec::new();
    let mut chosen = Vec::new();
    for way in Way::BOTH {
        let mut of_way = Vec::new();
        for (trial, seeds) in trials.iter().zip(&found) {
            if trial.way == way {
                of_way.push(seeds);
            }
        }
        let line = access.rate(way).bits_per_second();
        let mut rows = Vec::new();
        for seeds in &of_way {
            rows.push(mean(seeds));
        }
        let knee_of_mean = knee(&rows, line).and_then(Rate::from_bits_per_second);
        let knee_of_mean = knee_of_mean.ok_or_else(|| Failure::run(no_ping(way)))?;
        chosen.push(knee_of_mean);
        ways.push(Direction {
            way: way.name(),
            line,
            knee: knee_of_mean.bits_per_second(),
            knees: knees(&of_way, line),
            rows,
        });
    }
    let notes = notes(&access, &ways);
    let [down, up] = [chosen[0], chosen[1]];
    Ok(Report {
        version: env!("CARGO_PKG_VERSION"),
        link: access.line.name(),
        varies: access.line.varies(),
        script: script::commands(&arguments.dev, [down, up], access.line),
        sqm: script::sqm(&arguments.dev, [down, up], access.line),
        ways,
        notes,
    })
}

/// The rate to set by each seed alone. Rows come by trial, then by seed.
fn knees(trials: &[&Vec<Row>], line: u64) -> Vec<u64> {
    let mut knees = Vec::new();
    for seed in 0..trials[0].len() {
        let mut rows = Vec::new();
        for seeds in trials {
            rows.push(seeds[seed].clone());
        }
        knees.extend(knee(&rows, line));
    }
    knees
}

fn no_ping(way: Way) -> String {
    format!(
        "no ping came through while {} was full, at any rate: this line is too slow for a \
         household, so there is no rate to name",
        way.name()
    )
}

fn trial(
    access: &Access,
    way: Way,
    part: Option<f64>,
    arguments: &Advise,
) -> Result<Trial, Failure> {
    let rate = part.map(|part| access.part(way, part));
    let text = access.scenario(way, rate);
    let scenario = Read::of_text("access", &text, Path::new(""), &[], &Stop::default());
    let mut scenario = scenario.map_err(|fault| {
        // The rates are the user's.
        let text = fault.to_string();
        let is_rate = text.starts_with("down: ") || text.starts_with("up: ");
        Failure::usage(if is_rate { fault.behind("--") } else { fault })
    })?;
    scenario.seed = arguments.runs.seed.unwrap_or(scenario.seed);
    check_length(&scenario, arguments.runs.long).map_err(Failure::usage)?;
    Ok(Trial {
        way,
        part,
        rate,
        scenario,
    })
}

/// Runs all trials with all seeds, and returns a row for each seed of each trial.
fn rows(trials: &[Trial], arguments: &Advise) -> Result<Vec<Vec<Row>>, Failure> {
    let Some(first) = trials.first() else {
        return Ok(Vec::new());
    };
    let seed = first.scenario.seed;
    let least = if arguments.link.varies() { TRACES } else { 1 };
    let seeds = arguments.runs.count_at_least(least, seed)?;
    let mut longest = first.scenario.duration;
    for trial in trials {
        longest = longest.max(trial.scenario.duration);
    }
    let runs = seeds * trials.len() as u64;
    let joint_progress = arguments
        .runs
        .joint_progress(longest, runs, &Gauge::default());
    let mut jobs = Vec::new();
    for trial in trials {
        for replica in 0..seeds {
            jobs.push((trial, seed + replica));
        }
    }
    let one = |(trial, seed): (&Trial, u64)| -> Result<Row, Failure> {
        let mut reported = (0, 0);
        let results = trial.scenario.run(seed, |progress| {
            joint_progress.tell(progress, &mut reported);
        });
        let results = results.map_err(|error| Failure::run(error.to_string()))?;
        Ok(trial.row(&results))
    };
    let found: Result<Vec<Row>, Failure> = in_pool(arguments.runs.threads, || {
        jobs.into_par_iter().map(one).collect()
    })?;
    let found = found?;
    Ok(found.chunks(seeds as usize).map(<[Row]>::to_vec).collect())
}

/// The mean of rows of one trial.
fn mean(rows: &[Row]) -> Row {
    Row {
        ping_p99: mean_of(rows, |row| row.ping_p99),
        carried: mean_of(rows, |row| Some(row.carried)).unwrap_or(0.0),
        page: mean_of(rows, |row| row.page),
        ..rows[0].clone()
    }
}

/// The mean of a figure, over rows that have it.
fn mean_of(rows: &[Row], figure: fn(&Row) -> Option<f64>) -> Option<f64> {
    let mut sum = 0.0;
    let mut known = 0;
    for row in rows {
        if let Some(value) = figure(row) {
            sum += value;
            known += 1;
        }
    }
    (known > 0).then(|| sum / f64::from(known))
}

/// The results of a source.
fn group<'a>(results: &'a Results, name: &str) -> Option<&'a GroupResult> {
    results.groups.iter().find(|group| group.name == name)
}

impl Trial {
    fn row(&self, results: &Results) -> Row {
        let mut ping: Option<f64> = Some(0.0);
        for (way, name) in PINGS {
            let one_way = group(results, name).and_then(|group| match way == self.way {
                true => group.delay.p99,
                false => group.delay.p50,
            });
            ping = match (ping, one_way) {
                (Some(sum), Some(one_way)) => Some(sum + one_way),
                _ => None,
            };
        }
        let mut carried = 0.0;
        let of_way = match self.way {
            Way::Down => &[BULK, BURSTS, PAGES][..],
            Way::Up => &[BULK, BURSTS],
        };
        for name in of_way {
            carried += group(results, name).map_or(0.0, |group| group.throughput);
        }
        Row {
            rate: self.rate.map(Rate::bits_per_second),
            part: self.part,
            ping_p99: ping,
            carried,
            page: group(results, PAGES).and_then(|group| group.completion.mean),
        }
    }
}

/// What to know about these rates.
fn notes(access: &Access, ways: &[Direction]) -> Vec<String> {
    let mut notes = Vec::new();
    for direction in ways {
        let without = direction.rows.first().and_then(|row| row.ping_p99);
        let with = direction.chosen().and_then(|row| row.ping_p99);
        if let (Some(without), Some(with)) = (without, with)
            && with > HELPS_LITTLE * without
        {
            notes.push(format!(
                "A shaper changes little {}: the line's own queue delays a ping by less than it \
                 takes.",
                direction.way
            ));
        }
    }
    if access.line.varies() {
        notes.push(
            "The rate of such a line changes. No fixed rate follows it: above the moment's rate \
             packets wait in the provider's queue, below it the line is not used. So the table is \
             of a few synthetic traces, a minute each. A program that sets the rate from measured \
             pings (cake-autorate) can do what no fixed rate does; run it between the rate at which \
             pings are short and the highest that you have seen."
                .to_owned(),
        );
    }
    notes
}
