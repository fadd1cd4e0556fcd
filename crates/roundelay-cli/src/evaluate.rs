//! `roundelay evaluate`: a queue under the scenarios of RFC 7928, beside fifo.
//!
//! It is a sweep over scenarios and queues, in one dataset, so it is resumable as sweeps are. The
//! scenarios, figures and marks are those of `roundelay-evaluate`, the words those of the report.

pub(crate) mod arguments;
pub(crate) mod outputs;

use std::collections::BTreeMap;
use std::path::PathBuf;

use roundelay::Limit;
use roundelay_evaluate::{Evaluation, Scenario, ScenarioResult, chosen};
use roundelay_report::{Evaluated, SWEEP_FIGURES};
use roundelay_sim::scenario::{DisciplineText, Measures};
use roundelay_trace::Stop;

use crate::failure::Failure;
use crate::host::Host;
use crate::outputs::finish_all;
use crate::scenario::Read;
use crate::sweep::{Base, Plan, SCENARIO, Summary, sweep_scenarios};
use crate::terminal::{self, print};
use arguments::Evaluate;

/// The key of the queue at the bottleneck.
const QUEUE: &str = "queue.core";

/// Runs the scenarios under fifo and each queue, and writes and prints the result.
pub(crate) fn run(arguments: &Evaluate) -> Result<(), Failure> {
    let Evaluate { outputs, .. } = arguments;
    if let Some(name) = &arguments.scenario {
        let scenarios = sections("--scenario", std::slice::from_ref(name))?;
        return match scenarios[..] {
            [scenario] => print(scenario.text),
            _ => Err(Failure::usage(format!(
                "--scenario {name} has several; choose one of {}",
                names(&scenarios).join(", ")
            ))),
        };
    }
    let scenarios = sections("--sections", &arguments.sections)?;
    outputs.check([], &Measures::default(), 1)?;
    let queues = queues(&arguments.queues)?;
    let Planned {
        sweep,
        buffers,
        seeds,
    } = plan(arguments, &scenarios, &queues)?;
    let files = outputs.begin(&Measures::default(), &())?;
    let summary = sweep_scenarios(sweep, folder(arguments), &arguments.runs, &Host::default())?;
    let failure = summary.failure();
    let evaluation = evaluation(arguments, &scenarios, &queues, &buffers, seeds, summary);
    let evaluated = Evaluated::new(env!("CARGO_PKG_VERSION"), evaluation);
    let written = finish_all(files, &evaluated);
    let text = match outputs.printed(&evaluated)? {
        Some(text) => text,
        None => evaluated.document().text(terminal::style()),
    };
    print(&text)?;
    written?;
    verdict(failure, &evaluated.faults())
}

/// # Errors
/// A run failed, or fifo missed the intended loss.
fn verdict(failure: Option<Failure>, faults: &[String]) -> Result<(), Failure> {
    match (failure, faults) {
        (Some(failure), _) => Err(failure),
        (None, []) => Ok(()),
        (None, faults) => Err(Failure::run(faults.join("\n"))),
    }
}

/// # Errors
/// No scenario is of a section.
fn sections(option: &str, names: &[String]) -> Result<Vec<&'static Scenario>, Failure> {
    chosen(names).map_err(|fault| Failure::usage(fault.behind(format_args!("{option}: "))))
}

fn names(scenarios: &[&Scenario]) -> Vec<&'static str> {
    scenarios.iter().map(|scenario| scenario.name).collect()
}

/// The queues with fifo in front.
///
/// # Errors
/// A queue stands twice.
fn queues(given: &[DisciplineText]) -> Result<Vec<DisciplineText>, Failure> {
    let mut queues: Vec<DisciplineText> = vec!["fifo".parse().map_err(Failure::usage)?];
    for (number, queue) in given.iter().enumerate() {
        if given[..number].iter().any(|other| other.text == queue.text) {
            return Err(Failure::usage(format!(
                "queue '{}' stands twice",
                queue.text
            )));
        }
        // It is there anyway.
        if queue.text != "fifo" {
            queues.push(queue.clone());
        }
    }
    Ok(queues)
}

/// The folder of the dataset.
fn folder(arguments: &Evaluate) -> PathBuf {
    match arguments.outputs.path("out") {
        Some(folder) => folder.to_owned(),
        None if arguments.quick => "rfc7928-quick.sweep".into(),
        None => "rfc7928.sweep".into(),
    }
}

/// The sweep, and what its results need besides.
struct Planned {
    sweep: Plan,
    /// The buffer of each scenario.
    buffers: Vec<Limit>,
    seeds: Vec<u64>,
}

/// # Errors
/// The last seed would exceed 2^64 - 1.
fn plan(
    arguments: &Evaluate,
    scenarios: &[&Scenario],
    queues: &[DisciplineText],
) -> Result<Planned, Failure> {
    let first = arguments.runs.seed.unwrap_or(1);
    let replicas = arguments.runs.count(first)?;
    let mut bases = Vec::new();
    let mut buffers = Vec::new();
    let mut points = Vec::new();
    for scenario in scenarios {
        let name = format!("{}.toml", scenario.name);
        let label = scenario.name.to_owned();
        let mut base = Base::new(label, name, scenario.text.to_owned(), PathBuf::new())?;
        if arguments.quick {
            base.set(scenario.quick).map_err(Failure::run)?;
        }
        let read = Read::of_text(&base.name, &base.text, &base.folder, &[], &Stop::default());
        let buffer = buffer(&read.map_err(Failure::run)?);
        for queue in queues {
            let value = |text: &str| toml::Value::String(text.to_owned());
            points.push(vec![
                (SCENARIO.to_owned(), value(scenario.name)),
                (QUEUE.to_owned(), value(&with_buffer(queue, buffer))),
            ]);
        }
        bases.push(base);
        buffers.push(buffer);
    }
    let sweep = Plan {
        name: arguments.standard.clone(),
        bases,
        is_file: true,
        points,
        replicas: Some(replicas as u32),
        seed: Some(first),
    };
    Ok(Planned {
        sweep,
        buffers,
        seeds: (first..first + replicas).collect(),
    })
}

/// The buffer at a scenario's bottleneck.
fn buffer(scenario: &roundelay_sim::scenario::Scenario) -> Limit {
    let network = &scenario.topology.network;
    let mut links = network.links().iter();
    let core = links.find(|link| link.class == roundelay_sim::LinkClass::Core);
    core.map_or(Limit::UNBOUNDED, |link| link.queue.limit_or_default())
}

/// A queue as the scenario has it: with its own limit, or else with the buffer of all. Packets are
/// written as such, because a bare number is in bytes under `red`.
fn with_buffer(queue: &DisciplineText, buffer: Limit) -> String {
    match queue.spec.limit {
        Some(_) => queue.text.clone(),
        None => format!("{} limit {}p", queue.text, buffer.packets),
    }
}

/// What the dataset says of each scenario.
fn evaluation(
    arguments: &Evaluate,
    scenarios: &[&Scenario],
    queues: &[DisciplineText],
    buffers: &[Limit],
    seeds: Vec<u64>,
    summary: Summary,
) -> Evaluation {
    let mut numbers = BTreeMap::new();
    for (number, name) in SWEEP_FIGURES.iter().enumerate() {
        numbers.insert(*name, number);
    }
    let mut results = Vec::new();
    for (number, scenario) in scenarios.iter().enumerate() {
        // Points are in the plan's order: all queues of a scenario, then those of the next.
        let rows = &summary.rows[number * queues.len()..][..queues.len()];
        let figure = |queue: usize, seed: u64, source: &str, figure: &str| {
            let (_, rows) = &rows[queue];
            let mut of_run = rows.iter();
            let row = of_run.find(|row| row.seed == seed && *row.source == *source)?;
            row.figures[*numbers.get(figure)?]
        };
        results.push(ScenarioResult::new(
            scenario,
            buffers[number].to_string(),
            queues.len(),
            &seeds,
            arguments.quick,
            &figure,
        ));
    }
    let mut texts = Vec::new();
    for queue in queues {
        texts.push(queue.text.clone());
    }
    Evaluation {
        rfc: 7928,
        seeds,
        is_quick: arguments.quick,
        queues: texts,
        scenarios: results,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// No queue changes fifo's loss, so the loss is planted: 8.2.4 intends 1%.
    #[test]
    fn a_loss_that_fifo_misses_ends_with_status_1() {
        let evaluated = |loss: f64| {
            let scenarios = sections("--sections", &["8.2.4".to_owned()]).unwrap();
            let figure = |_: usize, _: u64, _: &str, _: &str| Some(loss);
            let buffer = "83p".to_owned();
            let result = ScenarioResult::new(scenarios[0], buffer, 1, &[1], false, &figure);
            let evaluation = Evaluation {
                rfc: 7928,
                seeds: vec![1],
                is_quick: false,
                queues: vec!["fifo".to_owned()],
                scenarios: vec![result],
            };
            Evaluated::new("0.1.0", evaluation)
        };
        assert!(verdict(None, &evaluated(0.01).faults()).is_ok());
        let failure = verdict(None, &evaluated(0.001).faults()).unwrap_err();
        assert_eq!(failure.status(), 1);
    }
}
