//! Reads a scenario file and the captures that it names.

mod captures;

use std::cell::RefCell;
use std::io;
use std::path::Path;

use roundelay::Fault;
use roundelay::schedulers::AnyDiscipline;
use roundelay_files::read_text;
use roundelay_report::clean;
use roundelay_sim::scenario::{Estimate, ReadCapture, Scenario, ScenarioError};
use roundelay_trace::Stop;

use crate::failure::Failure;
use crate::host::{Host, Text};
use crate::text_file;

/// A scenario as it was read.
pub(crate) struct Read {
    /// The file's name in messages.
    pub(crate) name: String,
    pub(crate) scenario: Scenario,
    /// The file's text.
    pub(crate) text: String,
    /// Oddities of the captures, a sentence each.
    pub(crate) notes: Vec<String>,
}

impl Read {
    /// Reads a scenario. `-` is the host's text, or else standard input.
    ///
    /// # Errors
    /// The file cannot be read, or is not a valid scenario.
    pub(crate) fn scenario(path: &Path, host: &Host) -> Result<Self, Failure> {
        Self::with(path, host, Scenario::from_toml_with)
    }

    /// Reads a scenario's network, without its sources.
    pub(crate) fn network(path: &Path, host: &Host) -> Result<Self, Failure> {
        Self::with(path, host, Scenario::network_from_toml)
    }

    fn with(path: &Path, host: &Host, read: ReadScenario) -> Result<Self, Failure> {
        let (name, text) = text(path, host)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let notes = RefCell::default();
        let scenario = read(&name, &text, folder, &|path, captured, end| {
            captures::read(path, captured, end, &host.stop, &notes)
        });
        let mut scenario = scenario.map_err(|fault| Failure::usage(fault.map(clean)))?;
        scenario.topology.network.set_stop(host.stop.clone());
        Ok(Self {
            name,
            scenario,
            text,
            notes: notes.into_inner(),
        })
    }

    /// A scenario from a text, in which files are relative to `folder`. Queues may name the
    /// program's disciplines, too.
    ///
    /// # Errors
    /// The text is not a valid scenario. The message is without file and line.
    pub(crate) fn of_text(
        name: &str,
        text: &str,
        folder: &Path,
        own: &[AnyDiscipline],
        stop: &Stop,
    ) -> Result<Scenario, Fault> {
        let notes = RefCell::default();
        let capture: &ReadCapture<'_> =
            &|path, captured, end| captures::read(path, captured, end, stop, &notes);
        let scenario = Scenario::from_toml_with_own(name, text, folder, capture, own);
        let mut scenario = scenario.map_err(|fault| {
            let is_own = fault.file() == Some(name);
            let fault = fault.map(clean);
            // If the fault is in a file that the scenario names, it keeps that file.
            if is_own { fault.without_file() } else { fault }
        })?;
        scenario.topology.network.set_stop(stop.clone());
        Ok(scenario)
    }
}

/// A run with this many events takes minutes, which is more than most scenarios mean.
const LONG_RUN: f64 = 1e10;

/// Refuses a run of minutes or days unless `--long` asks for it, because you easily write 1 ns
/// where you mean 1 ms.
///
/// # Errors
/// The estimate is above 10^10 events.
pub(crate) fn check_length(scenario: &Scenario, is_wanted: bool) -> Result<(), Fault> {
    let events = Estimate::of(scenario).events;
    if is_wanted || events <= LONG_RUN {
        return Ok(());
    }
    Err(format!(
        "at most about {events:.1e} events a run, ten to thirty million a second: shorten the run, \
         slow down the sources, or use --long"
    )
    .into())
}

type ReadScenario = fn(&str, &str, &Path, &ReadCapture<'_>) -> Result<Scenario, ScenarioError>;

/// The scenario file's name and text.
pub(crate) fn text(path: &Path, host: &Host) -> Result<(String, String), Failure> {
    const EXPECTED: &str = "a scenario in TOML";
    if path.as_os_str() != "-" {
        return Ok((
            path.display().to_string(),
            text_file::read(path, EXPECTED, &host.stop)?,
        ));
    }
    if let Some(Text { name, text }) = &host.text {
        return Ok((name.clone(), text.clone()));
    }
    let name = "standard input";
    let wrong = |problem: &str| {
        let fault = Fault::wanted(EXPECTED).behind(format_args!("{problem}; "));
        Failure::usage(fault.in_file(name, 0))
    };
    let bytes = read_text(io::stdin()).map_err(|error| wrong(&format!("cannot read: {error}")))?;
    let text = String::from_utf8(bytes).map_err(|_| wrong("no text in UTF-8"))?;
    Ok((name.to_owned(), text))
}
