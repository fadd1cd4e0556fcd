//! `roundelay simulate`: runs a scenario, once or with several seeds.

pub(crate) mod arguments;
mod first_run;
pub(crate) mod outputs;
pub(crate) mod queue;
pub(crate) mod result;
mod side_by_side;

use std::path::Path;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use roundelay::Fault;
use roundelay_report::{Printed, SideBySide, Simulated, json, provenance};
use roundelay_sim::link_name;
use roundelay_sim::scenario::{self, Estimate, Results, RunError, Scenario};
use serde::Serialize;

use crate::failure::Failure;
use crate::host::Host;
use crate::outputs::{files_of, finish_all};
use crate::scenario::{Read, check_length};
use crate::terminal::{self, print, tell};
use crate::threads::in_pool;
use arguments::Simulate;
use first_run::{Curved, FirstRun};
use outputs::Run;
use queue::Queue;
use result::Ran;

pub(crate) fn run(arguments: &Simulate) -> Result<(), Failure> {
    run_in(arguments, &Host::default())
}

/// Runs a host's scenario and prints the results.
///
/// # Errors
/// An argument or a file is wrong, a file cannot be written, or a stop was requested.
pub(crate) fn run_in(arguments: &Simulate, host: &Host) -> Result<(), Failure> {
    if arguments.schema {
        return print(scenario::SCHEMA);
    }
    if let Some(name) = &arguments.template {
        return template(name);
    }
    let Some(path) = &arguments.scenario else {
        return Err(Failure::usage("name a scenario, or --template NAME"));
    };
    let queue = match &arguments.queue[..] {
        [_, _, ..] if arguments.dry_run => {
            return Err(Failure::usage(
                "--dry-run is of one --queue, because the bound is the same",
            ));
        }
        [_, _, ..] => return side_by_side::run(path, arguments, host),
        one => one.first(),
    };
    if arguments.dry_run {
        arguments.outputs.check_none()?;
        let (scenario, _, notes) = read(path, arguments, queue, host)?;
        return print(&estimate(&scenario, arguments, &notes));
    }
    let read = read(path, arguments, queue, host)?;
    check(path, arguments, &read.0)?;
    if let Some(warning) = long_run(&read.0, arguments).filter(|_| !arguments.runs.quiet) {
        tell(&warning);
    }
    let (ran, written) = simulate_and_write(path, arguments, host, read)?;
    // Print the results even if the files could not be written.
    let text = match arguments.outputs.printed(&ran)? {
        Some(text) => text,
        None => ran.simulated.document().text(terminal::style()),
    };
    print(&text)?;
    written
}

/// The simulation, without printed text. It writes the files that the arguments name. The second
/// result says whether the files after the run were written.
///
/// # Errors
/// An argument or a file is wrong, a file cannot be written, or a stop was requested.
pub(crate) fn compute(path: &Path, arguments: &Simulate, host: &Host) -> Result<Computed, Failure> {
    let queue = match &arguments.queue[..] {
        [_, _, ..] => {
            return Err(Failure::usage(
                Fault::wanted("one; call once for each").behind("--queue: "),
            ));
        }
        one => one.first(),
    };
    let read = read(path, arguments, queue, host)?;
    check(path, arguments, &read.0)?;
    simulate_and_write(path, arguments, host, read)
}

/// The simulation under several queues, without printed text.
///
/// # Errors
/// As for the command.
pub(crate) fn compute_queues(
    path: &Path,
    arguments: &Simulate,
    host: &Host,
) -> Result<SideBySide, Failure> {
    let (result, written, _) = side_by_side::compute(path, arguments, host)?;
    written.map(|()| result)
}

/// # Errors
/// The run would be long, and nobody asked for it.
fn check(path: &Path, arguments: &Simulate, scenario: &Scenario) -> Result<(), Failure> {
    check_length(scenario, arguments.runs.long)
        .map_err(|fault| Failure::usage(fault.in_file(path.display().to_string(), 0)))
}

type Computed = (Ran, Result<(), Failure>);

/// Runs the replicas and writes the files that the arguments name. The second result says whether
/// the files after the runs were written.
fn simulate_and_write(
    path: &Path,
    arguments: &Simulate,
    host: &Host,
    read: (Scenario, String, Vec<String>),
) -> Result<Computed, Failure> {
    let (mut scenario, text, mut notes) = read;
    // An output that cannot be written ends the run, and so can the caller.
    let stop = host.stop.child();
    scenario.topology.network.set_stop(stop.clone());
    arguments.outputs.check(
        files_of(path, &scenario),
        &scenario.measures,
        arguments.runs.replicas.into(),
    )?;
    // The hash in the files' metadata is that of the scenario's text.
    let metadata = provenance(env!("CARGO_PKG_VERSION"), scenario.seed, &text);
    let run = Run {
        scenario: &scenario,
        network: &scenario.network(scenario.seed),
        metadata: &metadata,
        stop: &stop,
    };
    let curved = if arguments.outputs.has("html") {
        Curved::All
    } else if arguments.outputs.has("json") || host.draws {
        Curved::Sources
    } else {
        Curved::Nothing
    };
    let first_run = FirstRun::new(arguments.outputs.begin(&scenario.measures, &run)?, curved);
    let results = replicas(&scenario, arguments, &first_run, host);
    let (outputs, curves) = first_run.finish();
    let failure = outputs.iter().find_map(|output| output.failure());
    let results = results.map_err(|error| why_stopped(error, failure))?;
    notes.extend(equal_replicas(&results));
    notes.extend(host.notes.all());
    let simulated = Simulated {
        notes,
        ..Simulated::new(env!("CARGO_PKG_VERSION"), &scenario, results).with_curves(&curves)
    };
    let ran = Ran {
        simulated,
        curves,
        text,
        metadata,
    };
    let written = finish_all(outputs, &ran);
    Ok((ran, written))
}

/// Why the runs failed. An output that failed has stopped the runs, so its failure is the reason,
/// unless the caller has stopped them.
fn why_stopped(error: Failure, of_output: Option<Failure>) -> Failure {
    match of_output {
        Some(failure) if !error.is_stopped_by_caller() => failure,
        _ => error,
    }
}

/// A note if several seeds gave the same results, because an interval of ±0 then says nothing.
fn equal_replicas(results: &[Results]) -> Option<String> {
    let mut are_equal = results.len() > 1;
    for pair in results.windows(2) {
        are_equal &= pair[0].groups == pair[1].groups && pair[0].events == pair[1].events;
    }
    are_equal.then(|| {
        let count = results.len();
        format!(
            "all {count} replicas are equal: nothing random had an effect, and ±0 is no confidence \
             interval"
        )
    })
}

fn template(name: &str) -> Result<(), Failure> {
    if let Some(text) = scenario::template(name) {
        return print(text);
    }
    let names: Vec<_> = scenario::templates().map(|(name, _)| name).collect();
    Err(Failure::usage(Fault::no_such("template", name, &names)))
}

/// Reads the scenario to run, with its text and with notes on scenario and captures.
fn read(
    path: &Path,
    arguments: &Simulate,
    queue: Option<&Queue>,
    host: &Host,
) -> Result<(Scenario, String, Vec<String>), Failure> {
    let Read {
        name,
        mut scenario,
        mut text,
        mut notes,
    } = Read::scenario(path, host)?;
    scenario.seed = arguments.runs.seed.unwrap_or(scenario.seed);
    scenario.keeps_all_flows = arguments.outputs.has("parquet") || arguments.outputs.has("csv");
    if let Some(queue) = queue {
        let tree = queue.put_into(&name, &mut scenario, host)?;
        // `--queue` changes the text too, so that results with another discipline get another hash.
        let limit = match queue.limit() {
            Some(limit) => format!(", buffer {limit}"),
            None => String::new(),
        };
        text = format!(
            "# In the queues of routers, whatever is said below: {}{limit}\n\n{text}",
            queue.name()
        );
        if let Some(tree) = tree {
            text += &format!("\n# The tree in the queues of routers:\n\n{tree}");
        }
    }
    text = host.set_controls(&name, &mut scenario, text)?;
    notes.extend(scenario.notes());
    Ok((scenario, text, notes))
}

/// Runs replicas in parallel, and returns the results in order of seeds.
fn replicas(
    scenario: &Scenario,
    arguments: &Simulate,
    first_run: &FirstRun,
    host: &Host,
) -> Result<Vec<Results>, Failure> {
    let runs = arguments.runs.count(scenario.seed)?;
    let joint_progress = arguments
        .runs
        .joint_progress(scenario.duration, runs, &host.gauge);
    let one = |replica: u64| {
        let mut reported = (0, 0);
        let progress = |progress| joint_progress.tell(progress, &mut reported);
        if replica == 0 {
            first_run.run(scenario, progress)
        } else {
            scenario.run(scenario.seed + replica, progress)
        }
    };
    let outcome: Result<Vec<_>, RunError> = in_pool(arguments.runs.threads, || {
        (0..runs).into_par_iter().map(one).collect()
    })?;
    if host.stop.is_requested() {
        return Err(Failure::stopped());
    }
    outcome.map_err(|error| Failure::run(format!("{}: {error}", scenario.name)))
}

/// This many events, in all runs together, take a minute or more.
const MANY_EVENTS: f64 = 1e9;

/// A sentence before a run that takes minutes.
fn long_run(scenario: &Scenario, arguments: &Simulate) -> Option<String> {
    let Estimate { events, memory, .. } = Estimate::of(scenario);
    let runs = f64::from(arguments.runs.replicas);
    (events * runs > MANY_EVENTS).then(|| {
        let megabytes = memory / 1e6;
        format!(
            "at most about {:.2e} events, ten to thirty million a second, and {megabytes:.1} MB of \
             memory a run; Ctrl-C ends the runs",
            events * runs
        )
    })
}

/// The links that follow a trace: name, file or model, and the mean rate in the run with the
/// scenario's seed.
fn traces(scenario: &Scenario) -> Vec<(String, String, u64)> {
    let network = scenario.network(scenario.seed);
    let mut traces = Vec::new();
    for link in network.links() {
        if let Some(trace) = &link.trace {
            let name = link_name(&network.name(link.from), &network.name(link.to));
            let mean = link.rate.bits_per_second();
            traces.push((name, trace.name().to_owned(), mean));
        }
    }
    traces
}

/// What a run would take, at most.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct DryRun<'a> {
    /// Packets sent.
    packets: f64,
    /// Packets sent, each counted at every link.
    packet_hops: f64,
    /// Arrivals, departures and calls of agents.
    events: f64,
    /// Bytes of memory.
    memory_bytes: f64,
    /// Sentences on anomalies of captures used as sources.
    notes: &'a [String],
    /// Links that follow a trace.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    traces: Vec<Traced>,
}

impl Printed for DryRun<'_> {
    const SCHEMA: &'static str = "simulate-dry-run/1";
}

/// A link that follows a trace.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Traced {
    /// The link, as FROM > TO.
    link: String,
    /// File of the trace.
    trace: String,
    /// The mean.
    rate: u64,
}

fn estimate(scenario: &Scenario, arguments: &Simulate, notes: &[String]) -> String {
    let Estimate {
        packets,
        packet_hops,
        events,
        memory,
    } = Estimate::of(scenario);
    if arguments.outputs.has("json") {
        let mut traced = Vec::new();
        for (link, trace, rate) in traces(scenario) {
            traced.push(Traced { link, trace, rate });
        }
        return json(&DryRun {
            packets,
            packet_hops,
            events,
            memory_bytes: memory,
            notes,
            traces: traced,
        });
    }
    let network = &scenario.topology.network;
    let mut traced = String::new();
    for (link, trace, mean) in traces(scenario) {
        traced += &format!(
            "{} follows {}, {:.2} Mbit/s on average\n",
            roundelay_report::clean(&link),
            roundelay_report::clean(&trace),
            mean as f64 / 1e6
        );
    }
    let mut note_lines = String::new();
    for note in notes {
        note_lines += &format!("Note: {}\n", roundelay_report::clean(note));
    }
    format!(
        "{}: {} nodes, {} hosts, {} links one way, {} sources\n{traced}{note_lines}at most about \
         {packets:.2e} packets, {packet_hops:.2e} packet-hops, {events:.2e} events a run\nat most \
         about {:.1} MB of memory a run, results not counted\n",
        roundelay_report::clean(&scenario.name),
        network.nodes(),
        scenario.topology.hosts.len(),
        network.links().len(),
        scenario.sources(),
        memory / 1e6,
    )
}
