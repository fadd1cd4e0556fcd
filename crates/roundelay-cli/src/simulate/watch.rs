//! Who listens to a run: its log, its capture, and the page with what happened over time.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use roundelay::Instant;
use roundelay_report::PartialFile;
use roundelay_sim::log::Log;
use roundelay_sim::pcapng::Pcapng;
use roundelay_sim::scenario::{Curves, Progress, Results, RunError, Scenario};

use crate::arguments::Simulate;
use crate::failure::Failure;

/// A file that is being written, and what it is called.
type Named = (PathBuf, PartialFile);

/// Files that are written while the simulation runs.
pub(super) struct Files {
    log: Option<Named>,
    capture: Option<Named>,
}

impl Files {
    /// Places that cannot be written to are told before a long run, not after it.
    pub(super) fn create(arguments: &Simulate) -> Result<Self, Failure> {
        let open = |option: &str, path: &Option<PathBuf>| -> Result<Option<Named>, Failure> {
            let Some(path) = path else { return Ok(None) };
            if arguments.replicas > 1 {
                let message = format!(
                    "{option} tells of one run, not of {} replicas: leave out --replicas, or choose one with --seed",
                    arguments.replicas
                );
                return Err(Failure::usage(message));
            }
            Ok(Some((path.clone(), PartialFile::create(path).map_err(Failure::run)?)))
        };
        Ok(Self { log: open("--log", &arguments.log)?, capture: open("--pcapng", &arguments.pcapng)? })
    }

    /// Gives whole files their names.
    pub(super) fn finish(self) -> Result<(), Failure> {
        [self.log, self.capture].into_iter().flatten().try_for_each(|(_, file)| file.finish()).map_err(Failure::run)
    }
}

type Listeners<'a> = (Option<Log<&'a mut PartialFile>>, Option<Pcapng<&'a mut PartialFile>>);

/// Who listens to the first replica.
pub(super) struct Watch<'a> {
    listeners: Mutex<Listeners<'a>>,
    curves: OnceLock<Curves>,
    paths: [PathBuf; 2],
    is_wanted: bool,
}

impl<'a> Watch<'a> {
    pub(super) fn new(files: &'a mut Files, arguments: &Simulate, scenario: &Scenario) -> Self {
        let network = &scenario.topology.network;
        let name = |file: &Option<Named>| file.as_ref().map_or_else(PathBuf::new, |(path, _)| path.clone());
        let paths = [name(&files.log), name(&files.capture)];
        let log = files.log.as_mut().map(|(_, file)| Log::new(file, network));
        let capture = files.capture.as_mut().map(|(_, file)| Pcapng::new(file, network));
        let is_wanted = log.is_some() || capture.is_some() || arguments.html.is_some();
        Self { listeners: Mutex::new((log, capture)), curves: OnceLock::new(), paths, is_wanted }
    }

    /// Runs the scenario, and listens if anybody wants to know.
    pub(super) fn run(&self, scenario: &Scenario, progress: impl FnMut(Progress)) -> Result<Results, RunError> {
        if !self.is_wanted {
            return scenario.run(scenario.seed, progress);
        }
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let (results, curves) = scenario.run_with(scenario.seed, &mut *listeners, progress)?;
        self.curves.get_or_init(|| curves);
        Ok(results)
    }

    /// Writes what is not written yet; what happened over time.
    pub(super) fn finish(self, scenario: &Scenario) -> Result<Curves, Failure> {
        let (log, capture) = self.listeners.into_inner().unwrap_or_else(PoisonError::into_inner);
        let [log_path, capture_path] = &self.paths;
        let failed = |path: &Path| {
            let name = path.display().to_string();
            move |error| Failure::run(format!("{name}: cannot write: {error}"))
        };
        log.map_or(Ok(()), |mut log| log.finish(Instant::ZERO + scenario.duration)).map_err(failed(log_path))?;
        capture.map_or(Ok(()), |mut capture| capture.finish()).map_err(failed(capture_path))?;
        Ok(self.curves.into_inner().unwrap_or_default())
    }
}
