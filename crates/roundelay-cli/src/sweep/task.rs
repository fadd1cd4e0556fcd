//! A sweep's run as text, for another process.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use roundelay::Fault;
use roundelay_report::sweep_rows;
use roundelay_sim::scenario::Scenario;
use roundelay_trace::Stop;
use serde::{Deserialize, Serialize};

use super::behaviour::Behaviours;
use super::done::{Done, Rows};
use crate::failure::Failure;
use crate::parts::{OwnParts, Parts};
use crate::scenario::Read;

/// A run as plain text, for another process: JSON with the scenario.
#[derive(Debug, Serialize, Deserialize)]
pub struct Task {
    pub(super) point: String,
    pub(super) seed: u64,
    pub(super) replica: u64,
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) scenario: String,
    pub(super) behaviours: String,
}

/// Runs a task of [`Session::tasks`](super::Session::tasks) in any process. If the session's
/// program has parts, give them too. Returns the result for
/// [`Session::commit`](super::Session::commit).
///
/// # Errors
/// The run failed, or this program behaves otherwise than the session's program.
pub fn run_task(task: &str, parts: Option<&OwnParts>, stop: &Stop) -> Result<Vec<u8>, Failure> {
    // A process runs many tasks, and the table is read and hashed for the first one only.
    static OF_PROGRAM: OnceLock<String> = OnceLock::new();
    let task: Task = serde_json::from_str(task)
        .map_err(|error| Failure::usage(format!("no task of a sweep: {error}")))?;
    let behaviours = match parts {
        Some(parts) => Behaviours::of_program().with(&parts.versions).hash(),
        None => OF_PROGRAM
            .get_or_init(|| Behaviours::of_program().hash())
            .clone(),
    };
    if task.behaviours != behaviours {
        return Err(Failure::run(
            "planner and worker must run the same version of Roundelay and of your classes",
        ));
    }
    let Task {
        point,
        seed,
        replica,
        name,
        folder,
        scenario: text,
        ..
    } = task;
    let rows = match parts {
        Some(parts) => {
            let parts = (parts.make)();
            let scenario = read_with(&parts, &name, &text, &folder, stop);
            simulate_with(&parts, scenario, seed)
        }
        None => match Read::of_text(&name, &text, &folder, &[], stop) {
            Ok(scenario) => simulate(&scenario, seed),
            Err(fault) => Err(fault.to_string()),
        },
    };
    if stop.is_requested() {
        return Err(Failure::stopped());
    }
    let done = Done {
        point,
        seed,
        replica,
        rows: rows.map_err(Failure::run)?,
    };
    Ok(done.line().into_bytes())
}

/// Reads a scenario whose queues may have the names of the program's disciplines.
///
/// # Errors
/// The text is not a valid scenario, or a congestion control is for a source that it does not have
/// over TCP.
pub(super) fn read_with(
    parts: &Parts,
    name: &str,
    text: &str,
    folder: &Path,
    stop: &Stop,
) -> Result<Scenario, Fault> {
    let mut scenario = Read::of_text(name, text, folder, &parts.disciplines, stop)?;
    for (source, control) in &parts.controls {
        scenario.set_control(source, control)?;
    }
    Ok(scenario)
}

/// Does one run. If it panics, the run has failed.
pub(super) fn simulate(scenario: &Scenario, seed: u64) -> Result<Rows, String> {
    match catch_unwind(AssertUnwindSafe(|| scenario.run(seed, |_| ()))) {
        Ok(Ok(results)) => Ok(sweep_rows(&results)),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the simulator failed; its message is on standard error".to_owned()),
    }
}

/// Does one run with a program's parts. If these say why they failed, that comes first.
pub(super) fn simulate_with(
    parts: &Parts,
    scenario: Result<Scenario, Fault>,
    seed: u64,
) -> Result<Rows, String> {
    let rows = match scenario {
        Ok(scenario) => simulate(&scenario, seed),
        Err(fault) => Err(fault.to_string()),
    };
    match (parts.failure)() {
        Some(message) => Err(message),
        None => rows,
    }
}
