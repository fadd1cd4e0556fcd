//! `roundelay simulate --queue A --queue B`: one network under several queues.

use std::path::Path;

use roundelay_report::{SideBySide, Simulated, UnderQueue, json};

use super::arguments::Simulate;
use super::queue::Queue;
use super::{check, equal_replicas, read, replicas};
use crate::failure::Failure;
use crate::host::Host;
use crate::outputs::{Output, Outputs, Writes, files_of, finish_all};
use crate::simulate::first_run::{Curved, FirstRun};
use crate::terminal::{self, print};

/// The outputs about several queues.
#[derive(Debug)]
pub(super) struct Comparing;

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
    let (result, written, outputs) = compute(path, arguments, host)?;
    let text = match outputs.printed(&result)? {
        Some(text) => text,
        None => result.document().text(terminal::style()),
    };
    print(&text)?;
    written
}

/// What stands for the queues that the scenario has.
const OWN: &str = "the scenario's own";

/// The queues to run under, with their names. None: those that the scenario has.
type Queues<'a> = Vec<(Option<&'a Queue>, String)>;

/// # Errors
/// A queue stands twice.
fn queues<'a>(arguments: &'a Simulate, host: &Host) -> Result<Queues<'a>, Failure> {
    let mut queues: Queues<'_> = Vec::new();
    if host.is_paired {
        queues.push((None, OWN.to_owned()));
    }
    for queue in &arguments.queue {
        let name = match queue.limit() {
            Some(limit) => format!("{} limit {limit}", queue.name()),
            None => queue.name(),
        };
        if queues.iter().any(|(_, known)| *known == name) {
            return Err(Failure::usage(format!("--queue '{name}' stands twice")));
        }
        queues.push((Some(queue), name));
    }
    Ok(queues)
}

type Computed = (SideBySide, Result<(), Failure>, Outputs<Comparing>);

/// The runs under all queues. It writes the files that the arguments name. The second result says
/// whether they were written.
///
/// # Errors
/// An argument or a file is wrong, a queue stands twice, or a stop was requested.
pub(super) fn compute(path: &Path, arguments: &Simulate, host: &Host) -> Result<Computed, Failure> {
    let outputs: Outputs<Comparing> = arguments.outputs.of_kind(
        "only of one queue; with several --queue there are --json, --html and --markdown",
    )?;
    let mut scenarios = Vec::new();
    for (queue, name) in queues(arguments, host)? {
        let (mut scenario, _, notes) = read(path, arguments, queue, host)?;
        check(path, arguments, &scenario)?;
        scenario.topology.network.set_stop(host.stop.clone());
        scenarios.push((scenario, notes, name));
    }
    let Some((first, notes, _)) = scenarios.first() else {
        return Err(Failure::usage("--queue: expected one or more"));
    };
    let mut notes = notes.clone();
    outputs.check(files_of(path, first), &first.measures, 1)?;
    let files = outputs.begin(&first.measures, &())?;
    let is_drawn = outputs.has("html") || outputs.has("json") || host.draws;
    let curved = if is_drawn {
        Curved::Sources
    } else {
        Curved::Nothing
    };
    let mut queues = Vec::new();
    for (scenario, _, name) in &scenarios {
        let first_run = FirstRun::new(Vec::new(), curved);
        let results = replicas(scenario, arguments, &first_run, host)?;
        let (_, curves) = first_run.finish();
        if let Some(note) = equal_replicas(&results) {
            notes.push(format!("{name}: {note}"));
        }
        let simulated = Simulated::new(env!("CARGO_PKG_VERSION"), scenario, results);
        queues.push(UnderQueue {
            queue: name.clone(),
            simulated: simulated.with_curves(&curves),
        });
    }
    notes.extend(host.notes.all());
    let result = SideBySide::new(env!("CARGO_PKG_VERSION"), notes, queues);
    let written = finish_all(files, &result);
    Ok((result, written, outputs))
}
