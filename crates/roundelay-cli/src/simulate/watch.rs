//! Observers of a run: log, capture, and charts over time for the page.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

use roundelay::Instant;
use roundelay_report::{PartialFile, SimulatedHops, SimulatedPackets};
use roundelay_sim::Network;
use roundelay_sim::log::Log;
use roundelay_sim::pcapng::Pcapng;
use roundelay_sim::scenario::{Curves, Group, Measures, Progress, Results, RunError, Scenario};

use crate::arguments::Simulate;
use crate::failure::Failure;
use crate::simulate::outputs::columns;

/// An open file and its path.
type Named = (PathBuf, PartialFile);

/// Files written during the simulation.
pub(super) struct Files {
    log: Option<Named>,
    capture: Option<Named>,
    page: Option<Named>,
}

impl Files {
    /// Creates all files before the run, to report unwritable paths first.
    pub(super) fn create(arguments: &Simulate, measures: &Measures) -> Result<Self, Failure> {
        let Simulate { log, pcapng, html, packets, runs, .. } = arguments;
        let options = [("--log", log.is_some()), ("--pcapng", pcapng.is_some()), ("--packets", *packets)];
        if let Some((option, _)) = options.into_iter().find(|(_, is_wanted)| *is_wanted && runs.replicas > 1) {
            let message =
                format!("{option} tells of one run, not of {} replicas: leave out --replicas, or choose one with --seed", runs.replicas);
            return Err(Failure::usage(message));
        }
        let open = |path: &Option<PathBuf>| -> Result<Option<Named>, Failure> {
            let Some(path) = path else { return Ok(None) };
            Ok(Some((path.clone(), PartialFile::create(path).map_err(Failure::run)?)))
        };
        let files = Self { log: open(log)?, capture: open(pcapng)?, page: open(html)? };
        if let Some(folder) = &arguments.parquet {
            std::fs::create_dir_all(folder).map_err(|error| Failure::run(format!("{}: {error}", folder.display())))?;
        }
        // Created and dropped again: these files are written after the run.
        columns(arguments, measures).iter().try_for_each(|path| PartialFile::create(path).map(drop)).map_err(Failure::run)?;
        Ok(files)
    }

    /// Writes the page, and renames complete files to their final names.
    pub(super) fn finish(self, page: impl FnOnce() -> String) -> Result<(), Failure> {
        [self.log, self.capture].into_iter().flatten().try_for_each(|(_, file)| file.finish()).map_err(Failure::run)?;
        let Some((path, mut file)) = self.page else { return Ok(()) };
        file.write_all(page().as_bytes()).map_err(|error| Failure::run(format!("{}: cannot write: {error}", path.display())))?;
        file.finish().map_err(Failure::run)
    }
}

type Columns = (Option<SimulatedPackets>, Option<SimulatedHops>);
type Captures<'a> = (Option<Pcapng<&'a mut PartialFile>>, Columns);
type Listeners<'a> = (Option<Log<&'a mut PartialFile>>, Captures<'a>);

/// Observers of the first replica.
pub(super) struct Watch<'a> {
    listeners: Mutex<Listeners<'a>>,
    curves: OnceLock<Curves>,
    paths: [PathBuf; 2],
    is_wanted: bool,
}

impl<'a> Watch<'a> {
    /// `metadata` is for the files of packets and hops.
    pub(super) fn new(
        files: &'a mut Files,
        arguments: &Simulate,
        scenario: &Scenario,
        metadata: &[(String, String)],
    ) -> Result<Self, Failure> {
        let network = &scenario.network(scenario.seed);
        let name = |file: &Option<Named>| file.as_ref().map_or_else(PathBuf::new, |(path, _)| path.clone());
        let paths = [name(&files.log), name(&files.capture)];
        let log = files.log.as_mut().map(|(_, file)| Log::new(file, network));
        let capture =
            files.capture.as_mut().map(|(_, file)| Pcapng::new(file, network).with_marks(scenario.groups.iter().map(Group::marks)));
        let columns = match arguments.parquet.as_deref().filter(|_| arguments.packets) {
            Some(folder) => each(folder, network, metadata)?,
            None => (None, None),
        };
        let is_wanted = log.is_some() || capture.is_some() || columns.0.is_some() || arguments.html.is_some();
        Ok(Self { listeners: Mutex::new((log, (capture, columns))), curves: OnceLock::new(), paths, is_wanted })
    }

    /// Runs the scenario, with observers only if one is needed.
    pub(super) fn run(&self, scenario: &Scenario, progress: impl FnMut(Progress)) -> Result<Results, RunError> {
        if !self.is_wanted {
            return scenario.run(scenario.seed, progress);
        }
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        let (results, curves) = scenario.run_with(scenario.seed, &mut *listeners, progress)?;
        self.curves.get_or_init(|| curves);
        Ok(results)
    }

    /// Completes all files and returns the curves over time.
    pub(super) fn finish(self, scenario: &Scenario) -> Result<Curves, Failure> {
        let (log, (capture, (packets, hops))) = self.listeners.into_inner().unwrap_or_else(PoisonError::into_inner);
        let [log_path, capture_path] = &self.paths;
        let failed = |path: &Path| {
            let name = path.display().to_string();
            move |error| Failure::run(format!("{name}: cannot write: {error}"))
        };
        log.map_or(Ok(()), |mut log| log.finish(Instant::ZERO + scenario.duration)).map_err(failed(log_path))?;
        capture.map_or(Ok(()), |mut capture| capture.finish()).map_err(failed(capture_path))?;
        packets.map_or(Ok(()), SimulatedPackets::finish).map_err(Failure::run)?;
        hops.map_or(Ok(()), SimulatedHops::finish).map_err(Failure::run)?;
        Ok(self.curves.into_inner().unwrap_or_default())
    }
}

/// The files of packets and of hops.
fn each(folder: &Path, network: &Network, metadata: &[(String, String)]) -> Result<Columns, Failure> {
    let packets = SimulatedPackets::create(&folder.join("packets.parquet"), network, metadata).map_err(Failure::run)?;
    let hops = SimulatedHops::create(&folder.join("hops.parquet"), network, metadata).map_err(Failure::run)?;
    Ok((Some(packets), Some(hops)))
}
