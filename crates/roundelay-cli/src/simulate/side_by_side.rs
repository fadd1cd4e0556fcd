//! `roundelay simulate --queue A --queue B`: one network under several queues.

use std::path::Path;

use roundelay_report::{SideBySide, Simulated, UnderQueue, json};

use super::arguments::Simulate;
use super::{check, equal_replicas, read, replicas};
use crate::failure::Failure;
use crate::host::Host;
use crate::outputs::{Output, Outputs, Writes, files_of, finish_all};
use crate::simulate::first_run::FirstRun;
use crate::terminal::{self, print};

/// The outputs about several queues.
#[derive(Debug)]
struct Comparing;

impl Writes for Comparing {
    type Results<'a> = SideBySide;
    type Start<'a> = ();

    const OUTPUTS: &'static [Output<Self>] = &[
        Output::json(|result| Ok(json(result))),
        Output::html(|result| Ok(result.html())),
        Output::markdown(|result| Ok(result.document().markdown())),
    ];
}

/// Runs the scenario under each queue with the same seeds, and prints what differs.
///
/// # Errors
/// An argument or a file is wrong, a queue stands twice, a file cannot be written, or a stop was
/// requested.
pub(super) fn run(path: &Path, arguments: &Simulate, host: &Host) -> Result<(), Failure> {
    let outputs: Outputs<Comparing> = arguments.outputs.of_kind(
        "only of one queue; with several --queue there are --json, --html and --markdown",
    )?;
    let mut names = Vec::new();
    for queue in &arguments.queue {
        let name = match queue.limit() {
            Some(limit) => format!("{} limit {limit}", queue.name()),
            None => queue.name(),
        };
        if names.contains(&name) {
            return Err(Failure::usage(format!("--queue '{name}' stands twice")));
        }
        names.push(name);
    }
    let mut scenarios = Vec::new();
    for queue in &arguments.queue {
        let (scenario, _, notes) = read(path, arguments, Some(queue), host)?;
        check(path, arguments, &scenario)?;
        scenarios.push((scenario, notes));
    }
    let (first, notes) = &scenarios[0];
    let mut notes = notes.clone();
    outputs.check(files_of(path, first), &first.measures, 1)?;
    let files = outputs.begin(&first.measures, &())?;
    let mut queues = Vec::new();
    for ((scenario, _), name) in scenarios.iter().zip(names) {
        let first_run = FirstRun::new(Vec::new(), false);
        let results = replicas(scenario, arguments, &first_run, host)?;
        if let Some(note) = equal_replicas(&results) {
            notes.push(format!("{name}: {note}"));
        }
        let simulated = Simulated::new(env!("CARGO_PKG_VERSION"), scenario, results);
        queues.push(UnderQueue {
            queue: name,
            simulated,
        });
    }
    notes.extend(host.notes.all());
    let result = SideBySide::new(env!("CARGO_PKG_VERSION"), notes, queues);
    let written = finish_all(files, &result);
    let text = match outputs.printed(&result)? {
        Some(text) => text,
        None => result.document().text(terminal::style()),
    };
    print(&text)?;
    written
}
