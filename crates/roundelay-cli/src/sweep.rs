//! `roundelay sweep`: runs a scenario with all combinations of its keys' values, into one dataset.
//!
//! A [`Session`] is a plan with its dataset. The command runs the pending tasks on threads, but a
//! program may run them elsewhere ([`run_task`]: text in, bytes out) and commit the results.

pub(crate) mod arguments;
mod behaviour;
mod compact;
mod dataset;
mod done;
mod figure;
mod folder;
mod hash;
mod identity;
pub(crate) mod outputs;
mod plan;
mod point;
mod precision;
pub(crate) mod report;
mod runner;
mod session;
mod shard;
mod task;
mod until;
mod values;
#[cfg(feature = "papers")]
mod versions;

use std::path::PathBuf;

use crate::failure::Failure;
use crate::host::Host;
use crate::outputs::finish_all;
use crate::runs::Runs;
use crate::terminal::print;
use arguments::Sweep;
use behaviour::Behaviours;
pub(crate) use plan::{Base, Plan};
pub use report::Summary;
use roundelay_sim::scenario::Measures;
use session::Options;
pub use session::Session;
pub use task::{Task, run_task};
pub(crate) use values::SCENARIO;
#[cfg(feature = "papers")]
pub(crate) use versions::{version_of, version_of_experiment};

pub(crate) fn run(arguments: &Sweep) -> Result<(), Failure> {
    let outputs = &arguments.outputs;
    let host = Host {
        is_for_people: true,
        ..Host::default()
    };
    let session = Session::open(arguments, &host)?;
    if arguments.why {
        return print(&session.why()?);
    }
    let files = outputs.begin(&Measures::default(), &())?;
    let summary = work(session, arguments, false)?;
    let written = finish_all(files, &summary);
    print(
        &outputs
            .printed(&summary)?
            .unwrap_or_else(|| summary.text_with_hint(arguments.figure.is_some())),
    )?;
    written?;
    summary.failure().map_or(Ok(()), Err)
}

/// The sweep, without printed text.
///
/// # Errors
/// An argument or a file is wrong, the dataset cannot be written, or a stop was requested. Failed
/// runs are no error: the summary has them.
pub(crate) fn compute(arguments: &Sweep, host: &Host, with_rows: bool) -> Result<Summary, Failure> {
    work(Session::open(arguments, host)?, arguments, with_rows)
}

/// Does the runs of a plan that another command made, in this dataset. The summary has all rows.
///
/// # Errors
/// A point is no valid scenario, the dataset cannot be written, or a stop was requested.
pub(crate) fn sweep_scenarios(
    plan: Plan,
    folder: PathBuf,
    runs: &Runs,
    host: &Host,
) -> Result<Summary, Failure> {
    let options = Options::of_runs(runs);
    let behaviours = Behaviours::of_program();
    let mut session = Session::of_plan(plan, folder, options, host, behaviours)?;
    let ended = runner::run(&mut session);
    let summary = session.finish(true)?;
    ended.map(|()| summary)
}

/// Does the runs of an open session.
///
/// # Errors
/// The dataset cannot be written, or a stop was requested.
fn work(mut session: Session, arguments: &Sweep, with_rows: bool) -> Result<Summary, Failure> {
    if with_rows {
        session.note_states_before_work();
    }
    let ended = match arguments.until {
        Some(precision) => until::run(&mut session, precision),
        None => runner::run(&mut session),
    };
    let summary = session.finish(with_rows)?;
    ended.map(|()| summary)
}
