//! What the program around a call adds to it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use roundelay::Fault;
use roundelay_report::clean;
use roundelay_sim::scenario::Scenario;
use roundelay_tcp::CustomControl;
use roundelay_trace::Stop;

use crate::failure::Failure;
use crate::parts::OwnParts;
use crate::progress::Gauge;

/// What a program adds to the arguments of a call.
#[derive(Debug, Clone, Default)]
pub struct Host {
    /// Ends the call early, with a failure that [`is_stopped_by_caller`](Failure::is_stopped_by_caller).
    pub stop: Stop,
    /// The call's progress.
    pub gauge: Gauge,
    /// The text of the file `-`. None: standard input.
    pub text: Option<Text>,
    /// The program's congestion controls for [`simulate`](crate::call::simulate) and
    /// [`replay`](crate::call::replay), by names of sources. `all` stands for all sources over TCP.
    /// Later ones replace earlier ones.
    pub controls: Vec<(String, CustomControl)>,
    /// The program's notes on the runs of [`simulate`](crate::call::simulate).
    pub notes: Notes,
    /// The program's disciplines and congestion controls for [`sweep`](crate::call::sweep) and
    /// [`open_sweep`](crate::call::open_sweep).
    pub parts: Option<OwnParts>,
    /// Whether text is printed for people, who want an answer also if they have not asked for a
    /// figure.
    pub is_for_people: bool,
    /// Whether the program may draw delays, so that results have them.
    pub draws: bool,
    /// Whether [`simulate_queues`](crate::call::simulate_queues) begins with the queues that the
    /// scenario has.
    pub is_paired: bool,
}

impl Host {
    /// Sets a scenario's congestion controls. Returns the text with a line for each, so that
    /// results with other controls get another hash.
    pub(crate) fn set_controls(
        &self,
        name: &str,
        scenario: &mut Scenario,
        mut text: String,
    ) -> Result<String, Failure> {
        for (source, control) in &self.controls {
            scenario
                .set_control(source, control)
                .map_err(|error| Failure::usage(Fault::from(error).in_file(name, 0).map(clean)))?;
            text = format!(
                "# Congestion control of {source}, whatever is said below: {}\n\n{text}",
                control.name()
            );
        }
        Ok(text)
    }
}

/// Notes on a run. Each stands once, and all clones share them.
#[derive(Debug, Clone, Default)]
pub struct Notes(Arc<Mutex<BTreeSet<String>>>);

impl Notes {
    /// Adds a sentence.
    pub fn add(&self, note: String) {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(note);
    }

    pub(crate) fn all(&self) -> BTreeSet<String> {
        self.0
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

/// A text instead of a file.
#[derive(Debug, Clone)]
pub struct Text {
    /// Its name in messages.
    pub name: String,
    /// The file's content.
    pub text: String,
}

/// The file that has this program's code, if the process runs another executable.
static PROGRAM_FILE: OnceLock<PathBuf> = OnceLock::new();

/// Tells that this library is part of `file`, a plugin of another program. Only the first call
/// counts.
pub fn set_program_file(file: PathBuf) {
    PROGRAM_FILE.get_or_init(|| file);
}

pub(crate) fn program_file() -> Option<&'static Path> {
    PROGRAM_FILE.get().map(PathBuf::as_path)
}
