//! `roundelay simulate`: runs a scenario, once or with several seeds.

mod outputs;
mod watch;

use std::path::Path;

use rayon::iter::{IntoParallelIterator, ParallelIterator};
use roundelay_report::{
    Simulated, provenance, write_simulated_flows, write_simulated_links, write_simulated_rates, write_simulated_transfers,
};
use roundelay_sim::scenario::{self, Estimate, Results, RunError, Scenario, TEMPLATES};

use crate::arguments::Simulate;
use crate::call::{Host, Ran};
use crate::failure::Failure;
use crate::scenario::Read;
use crate::threads::in_pool;
use crate::{print, style};
use watch::{Files, Watch};

pub(crate) fn run(arguments: &Simulate) -> Result<(), Failure> {
    if arguments.schema {
        return print(&scenario::schema());
    }
    if let Some(name) = &arguments.template {
        return template(name);
    }
    let Some(path) = &arguments.scenario else { return Err(Failure::usage("name a scenario, or --template NAME")) };
    check_dry_run(arguments)?;
    if arguments.dry_run {
        let (scenario, _, notes) = read(path, arguments, &Host::default())?;
        outputs::check(arguments, &scenario)?;
        return print(&estimate(&scenario, arguments, &notes));
    }
    let (ran, written) = compute(path, arguments, &Host::default())?;
    // Print the results even if writing the files failed.
    print(&show(arguments, &ran.simulated))?;
    written
}

/// The simulation, without printed text: files named in the arguments are written; the second result
/// is that of the files written after the run.
///
/// # Errors
/// An argument or a file is wrong, a file cannot be written, or a stop was requested.
pub(crate) fn compute(path: &Path, arguments: &Simulate, host: &Host) -> Result<(Ran, Result<(), Failure>), Failure> {
    let (scenario, text, notes) = read(path, arguments, host)?;
    outputs::check(arguments, &scenario)?;
    let mut files = Files::create(arguments, &scenario.measures)?;
    // The hash in the files' metadata is that of the scenario's text.
    let metadata = provenance(env!("CARGO_PKG_VERSION"), scenario.seed, &text);
    let watch = Watch::new(&mut files, arguments, &scenario, &metadata)?;
    let results = replicas(&scenario, arguments, &watch, host)?;
    let curves = watch.finish(&scenario)?;
    let simulated = Simulated { notes, ..Simulated::new(env!("CARGO_PKG_VERSION"), &scenario, results) };
    let ran = Ran { simulated, curves, text, metadata };
    let written = files.finish(|| ran.html()).and_then(|()| write_columns(arguments, &ran.simulated, &ran.metadata));
    Ok((ran, written))
}

/// Rejects output files together with `--dry-run`, which would write nothing.
fn check_dry_run(arguments: &Simulate) -> Result<(), Failure> {
    let Simulate { html, parquet, log, pcapng, .. } = arguments;
    let files = [("--html", html), ("--parquet", parquet), ("--log", log), ("--pcapng", pcapng)];
    match files.iter().find(|(_, path)| arguments.dry_run && path.is_some()) {
        Some((option, _)) => {
            Err(Failure::usage(format!("{option}: --dry-run runs nothing and has nothing to write: leave one of the two out")))
        }
        None => Ok(()),
    }
}

fn template(name: &str) -> Result<(), Failure> {
    let names = || TEMPLATES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ");
    let text = scenario::template(name).ok_or_else(|| Failure::usage(format!("there is no template '{name}': {}", names())))?;
    print(text)
}

/// Reads the scenario to run, with its text and notes on scenario and captures.
fn read(path: &Path, arguments: &Simulate, host: &Host) -> Result<(Scenario, String, Vec<String>), Failure> {
    let Read { name, mut scenario, mut text, mut notes } = Read::scenario(path, host)?;
    scenario.seed = arguments.runs.seed.unwrap_or(scenario.seed);
    scenario.keeps_all_flows = arguments.parquet.is_some();
    if let Some(queue) = &arguments.queue {
        let changed = scenario.set_queues(queue).map_err(|error| Failure::usage(format!("{name}: --queue: {error}")))?;
        if changed == 0 {
            return Err(Failure::usage(format!("{name}: --queue is for the queues of routers, and there are none")));
        }
        // `--queue` changes the text too: results with another discipline get another hash.
        let limit = queue.limit.map_or_else(String::new, |limit| format!(", buffer {limit}"));
        text = format!("# In the queues of routers, whatever is said below: {}{limit}\n\n{text}", queue.discipline);
    }
    notes.extend(scenario.notes());
    Ok((scenario, text, notes))
}

fn write_columns(arguments: &Simulate, simulated: &Simulated, metadata: &[(String, String)]) -> Result<(), Failure> {
    let Some(folder) = &arguments.parquet else { return Ok(()) };
    write_simulated_flows(&folder.join("flows.parquet"), simulated, metadata).map_err(Failure::run)?;
    write_simulated_links(&folder.join("links.parquet"), simulated, metadata).map_err(Failure::run)?;
    if simulated.measures.transfers {
        write_simulated_transfers(&folder.join("transfers.parquet"), simulated, metadata).map_err(Failure::run)?;
    }
    if simulated.measures.rates.is_some() {
        write_simulated_rates(&folder.join("rates.parquet"), simulated, metadata).map_err(Failure::run)?;
    }
    Ok(())
}

/// Runs replicas in parallel; results are in order of seeds.
fn replicas(scenario: &Scenario, arguments: &Simulate, watch: &Watch<'_>, host: &Host) -> Result<Vec<Results>, Failure> {
    let runs = arguments.runs.count(scenario.seed)?;
    let meeting = arguments.runs.meeting(scenario.duration, runs, &host.gauge);
    let one = |replica: u64| {
        let mut told = (0, 0);
        let progress = |progress| meeting.tell(progress, &mut told);
        if replica == 0 { watch.run(scenario, progress) } else { scenario.run(scenario.seed + replica, progress) }
    };
    let outcome: Result<Vec<_>, RunError> = in_pool(arguments.runs.threads, || (0..runs).into_par_iter().map(one).collect())?;
    if host.stop.is_requested() {
        return Err(Failure::stopped());
    }
    outcome.map_err(|error| Failure::run(format!("{}: {error}", scenario.name)))
}

fn estimate(scenario: &Scenario, arguments: &Simulate, notes: &[String]) -> String {
    let Estimate { packets, packet_hops, events, memory } = Estimate::of(scenario);
    if arguments.json {
        let numbers =
            serde_json::json!({ "packets": packets, "packet_hops": packet_hops, "events": events, "memory_bytes": memory, "notes": notes });
        return format!("{numbers:#}\n");
    }
    let network = &scenario.topology.network;
    let notes: String = notes.iter().map(|note| format!("Note: {}\n", roundelay_report::clean(note))).collect();
    format!(
        "{}: {} nodes, {} hosts, {} links one way, {} sources\n{notes}at most about {packets:.2e} packets, {packet_hops:.2e} packet-hops, {events:.2e} events a run\nat most about {:.1} MB of memory a run, results not counted\n",
        roundelay_report::clean(&scenario.name),
        network.nodes(),
        scenario.topology.hosts.len(),
        network.links().len(),
        scenario.sources(),
        memory / 1e6,
    )
}

fn show(arguments: &Simulate, simulated: &Simulated) -> String {
    if arguments.json {
        return simulated.json();
    }
    simulated.table(style::of_stdout())
}
