//! Session of a sweep: points with their identities, known and pending runs, and the dataset.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use roundelay_report::{SweepFile, SweepRow, clean, sweep_rows};
use roundelay_sim::scenario::{Measures, Scenario};
use roundelay_trace::Stop;
use serde::{Deserialize, Serialize};

use super::arguments::Sweep;
use super::behaviour::Behaviours;
use super::dataset::{Dataset, Done, files, folder_of, others};
use super::identity::{FileHashes, Origin, run_identity};
use super::parts::{OwnParts, Parts};
use super::plan::Plan;
use super::report::{Failed, RowsOfPoint, Summary};
use super::shard::Shard;
use super::values::{Values, labels, quoted, word};
use crate::failure::Failure;
use crate::host::Host;
use crate::progress::Gauge;
use crate::scenario::{Read, check_length};
use crate::threads::in_pool;

/// Points and links of scenarios that stay in memory from the check until the run; others are read
/// again.
const KEPT: [usize; 2] = [20_000, 64];
/// Complete points whose files are written together: the code of one stays in the processor's
/// caches for the next, and a file costs a third less after runs of some milliseconds.
const TOGETHER: usize = 64;
/// Age of the last written files after which a finished run writes those of all complete points.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// Messages on wrong points before the rest is only counted.
const MOST_MESSAGES: usize = 5;

/// A point of the plan.
pub(super) struct Point {
    pub(super) values: Values,
    pub(super) labels: Vec<(String, String)>,
    /// Folder in the dataset.
    folder: PathBuf,
    origin: Origin,
    pub(super) identity: String,
    /// Differences from the origin of the folder's runs; none for a new point.
    changes: Option<Vec<String>>,
    /// Runs in the file of the point.
    pub(super) stored: BTreeMap<u64, Vec<SweepRow>>,
    fresh: Mutex<Fresh>,
}

/// Runs of a point from journals and from this session.
#[derive(Default)]
struct Fresh {
    /// Not in the file yet.
    runs: BTreeMap<u64, Done>,
    /// Written into the file; with results if a figure of these is asked for.
    written: BTreeMap<u64, Option<Done>>,
    /// Runs to come.
    pending: usize,
    /// The scenario, while runs are pending.
    scenario: Option<std::sync::Arc<Scenario>>,
}

impl Point {
    fn fresh(&self) -> MutexGuard<'_, Fresh> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the run with this seed is known.
    pub(super) fn has(&self, seed: u64) -> bool {
        let fresh = self.fresh();
        self.stored.contains_key(&seed)
            || fresh.runs.contains_key(&seed)
            || fresh.written.contains_key(&seed)
    }

    /// A figure of a source by seed.
    pub(super) fn figures(&self, source: &str, figure: usize) -> BTreeMap<u64, Option<f64>> {
        let of_row = |rows: &Vec<SweepRow>| {
            rows.iter()
                .find(|row| *row.source == *source)
                .and_then(|row| row.figures[figure])
        };
        let mut all: BTreeMap<u64, Option<f64>> = self
            .stored
            .iter()
            .map(|(seed, rows)| (*seed, of_row(rows)))
            .collect();
        let of_done = |done: &Done| {
            done.rows
                .iter()
                .find(|(name, _)| **name == *source)
                .and_then(|(_, figures)| figures[figure])
        };
        let fresh = self.fresh();
        let written = fresh
            .written
            .iter()
            .filter_map(|(seed, done)| Some((*seed, done.as_ref()?)));
        all.extend(
            fresh
                .runs
                .iter()
                .map(|(seed, done)| (*seed, done))
                .chain(written)
                .map(|(seed, done)| (seed, of_done(done))),
        );
        drop(fresh);
        all
    }

    /// Names of the sources, if a run is known.
    pub(super) fn sources(&self) -> Vec<String> {
        if let Some(rows) = self.stored.values().next() {
            return rows.iter().map(|row| row.source.to_string()).collect();
        }
        let fresh = self.fresh();
        let done = fresh
            .runs
            .values()
            .next()
            .or_else(|| fresh.written.values().flatten().next());
        done.map(|done| done.rows.iter().map(|(name, _)| name.to_string()).collect())
            .unwrap_or_default()
    }

    /// Keys and values in words.
    pub(super) fn name(&self) -> String {
        name_of(&self.labels)
    }
}

fn name_of(labels: &[(String, String)]) -> String {
    labels
        .iter()
        .map(|(key, value)| format!("{key}={value}"))
        .collect::<Vec<_>>()
        .join(" ")
}

/// Complete points without their files. The journal has their runs.
#[derive(Debug)]
struct Complete {
    points: Vec<usize>,
    written: Instant,
}

impl Default for Complete {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            written: Instant::now(),
        }
    }
}

/// A run to do: a point and a seed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Job {
    pub(super) point: usize,
    pub(super) seed: u64,
}

/// An open sweep.
pub struct Session {
    pub(super) plan: Plan,
    pub(super) points: Vec<Point>,
    /// Numbers of the points by identity.
    numbers: HashMap<String, usize>,
    pub(super) arguments: Options,
    pub(super) folder: PathBuf,
    dataset: Dataset,
    behaviours: Behaviours,
    /// The program's disciplines and congestion controls.
    parts: Option<OwnParts>,
    /// For each run of the plan: new, changed (and what), or cached, before the work.
    reasons: OnceLock<String>,
    pub(super) stop: Stop,
    pub(super) gauge: Gauge,
    pub(super) first_seed: u64,
    complete: Mutex<Complete>,
    failed: Mutex<Vec<Failed>>,
    /// Numbers of runs before the work.
    pub(super) cached: usize,
    /// Runs of this session.
    done: Mutex<usize>,
    /// Runs of each point, where `--until` has set these.
    pub(super) targets: Option<Vec<u32>>,
}

/// Arguments in use after the plan is read.
pub(super) struct Options {
    pub(super) file: PathBuf,
    pub(super) replicas: u32,
    pub(super) max_replicas: u32,
    pub(super) threads: Option<u16>,
    pub(super) figure: Option<String>,
    pub(super) fail_fast: bool,
    long: bool,
    pub(super) quiet: bool,
    shard: Option<Shard>,
}

/// A run as plain text, for another process: JSON with the scenario.
#[derive(Debug, Serialize, Deserialize)]
pub struct Task {
    point: String,
    seed: u64,
    replica: u64,
    name: String,
    folder: PathBuf,
    scenario: String,
    behaviours: String,
}

impl Session {
    /// Reads the plan, checks all points, and finds the known runs.
    pub(crate) fn open(arguments: &Sweep, host: &Host) -> Result<Self, Failure> {
        if cfg!(not(feature = "parquet")) {
            return Err(Failure::usage(
                "sweep: this program was built without Parquet, the format of datasets; expected the feature 'parquet'",
            ));
        }
        let behaviours = host
            .parts
            .iter()
            .fold(Behaviours::of_program(), |all, parts| {
                all.with(&parts.versions)
            });
        Self::open_with(arguments, host, behaviours)
    }

    pub(super) fn open_with(
        arguments: &Sweep,
        host: &Host,
        behaviours: Behaviours,
    ) -> Result<Self, Failure> {
        arguments.outputs.check([], &Measures::default(), 1)?;
        let plan = Plan::read(arguments, host)?;
        let replicas = plan
            .replicas
            .unwrap_or(if arguments.until.is_some() { 5 } else { 1 });
        let folder = arguments
            .outputs
            .path("out")
            .map(Path::to_owned)
            .unwrap_or_else(|| {
                let stem = if arguments.file.as_os_str() == "-" {
                    plan.name.as_ref()
                } else {
                    arguments.file.file_stem().unwrap_or_default()
                };
                PathBuf::from(stem).with_extension("sweep")
            });
        let options = Options {
            file: arguments.file.clone(),
            replicas,
            max_replicas: arguments.max_replicas.max(replicas),
            threads: arguments.threads,
            figure: arguments.figure.clone(),
            fail_fast: arguments.fail_fast,
            long: arguments.long,
            quiet: arguments.quiet,
            shard: arguments.shard,
        };
        let points = points(&plan, &folder, &behaviours, &options, host)?;
        let first_seed = plan.seed.unwrap_or_else(|| {
            plan.table
                .get("seed")
                .and_then(toml::Value::as_integer)
                .map_or(1, i64::cast_unsigned)
        });
        if first_seed
            .checked_add(u64::from(options.max_replicas))
            .is_none()
        {
            return Err(Failure::usage(format!(
                "seed {first_seed}: the last replica's must be below 2^64"
            )));
        }
        // Only reads.
        let keys: Vec<&str> = plan.points[0].iter().map(|(key, _)| key.as_str()).collect();
        let dataset = Dataset::open(&folder, &keys, &host.stop)?;
        let numbers: HashMap<String, usize> = points
            .iter()
            .enumerate()
            .map(|(number, point)| (point.identity.clone(), number))
            .collect();
        for done in &dataset.found {
            if let Some(point) = numbers.get(&done.point).map(|number| &points[*number])
                && !point.stored.contains_key(&done.seed)
            {
                point.fresh().runs.insert(done.seed, done.clone());
            }
        }
        let mut session = Self {
            plan,
            points,
            numbers,
            arguments: options,
            folder,
            dataset,
            behaviours,
            parts: host.parts.clone(),
            reasons: OnceLock::new(),
            stop: host.stop.clone(),
            gauge: host.gauge.clone(),
            first_seed,
            complete: Mutex::default(),
            failed: Mutex::default(),
            cached: 0,
            done: Mutex::new(0),
            targets: None,
        };
        session.cached = session
            .planned()
            .filter(|job| session.points[job.point].has(job.seed))
            .count();
        Ok(session)
    }

    /// All runs of the plan, or of the shard.
    fn planned(&self) -> impl Iterator<Item = Job> {
        let seeds = self.first_seed..self.first_seed + u64::from(self.arguments.replicas);
        let all = (0..self.points.len())
            .flat_map(move |point| seeds.clone().map(move |seed| Job { point, seed }));
        let shard = self.arguments.shard;
        all.filter(move |job| {
            shard.is_none_or(|shard| {
                shard.has(&run_identity(&self.points[job.point].identity, job.seed))
            })
        })
    }

    /// Runs of the plan that are not known, after the files of points without any are written.
    pub(super) fn pending(&self) -> Result<Vec<Job>, Failure> {
        let all: Vec<_> = self
            .planned()
            .filter(|job| !self.points[job.point].has(job.seed))
            .collect();
        self.expect(&all)?;
        Ok(all)
    }

    /// Announces runs: the file of a point is written after the last one.
    pub(super) fn expect(&self, jobs: &[Job]) -> Result<(), Failure> {
        jobs.iter()
            .for_each(|job| self.points[job.point].fresh().pending += 1);
        let mut complete = self
            .points
            .iter()
            .filter(|point| point.fresh().pending == 0);
        complete
            .try_for_each(|point| self.write(point))
            .map_err(Failure::run)
    }

    /// Number of failed runs.
    pub(super) fn failures(&self) -> usize {
        self.failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
    }

    /// Whether no more runs should start.
    pub(super) fn is_over(&self) -> bool {
        self.stop.is_requested() || self.arguments.fail_fast && self.failures() > 0
    }

    /// Runs one job, and records the result or the failure.
    ///
    /// # Errors
    /// The dataset cannot be written.
    pub(super) fn run(&self, job: Job) -> Result<(), String> {
        if self.is_over() {
            return Ok(());
        }
        let point = &self.points[job.point];
        match self.rows_of(point, job.seed) {
            Ok(rows) => {
                let point = point.identity.clone();
                let seed = job.seed;
                self.record(
                    job.point,
                    Done {
                        point,
                        seed,
                        replica: seed - self.first_seed,
                        rows,
                    },
                )
            }
            Err(_) if self.stop.is_requested() => Ok(()),
            Err(message) => self.fail(job, message),
        }
    }

    fn rows_of(&self, point: &Point, seed: u64) -> Result<super::dataset::Rows, String> {
        let text = || text_of(&self.plan, &point.values).map(|(_, text)| text);
        let Plan { name, folder, .. } = &self.plan;
        if let Some(parts) = &self.parts {
            return simulate_with(&(parts.make)(), seed, |parts| {
                read_with(parts, name, &text()?, folder, &self.stop)
            });
        }
        let known = point.fresh().scenario.clone();
        let scenario = match known {
            Some(scenario) => scenario,
            None => point
                .fresh()
                .scenario
                .insert(Read::of_text(name, &text()?, folder, &[], &self.stop)?.into())
                .clone(),
        };
        simulate(&scenario, seed)
    }

    /// Records a finished run. The file of the point is written after its last run, together with
    /// those of other points.
    pub(super) fn record(&self, number: usize, done: Done) -> Result<(), String> {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let point = &self.points[number];
        self.dataset.note(&done)?;
        point.fresh().runs.insert(done.seed, done);
        self.count_down(number)
    }

    fn count_down(&self, number: usize) -> Result<(), String> {
        let is_complete = {
            let mut fresh = self.points[number].fresh();
            fresh.pending = fresh.pending.saturating_sub(1);
            if fresh.pending == 0 {
                fresh.scenario = None;
            }
            fresh.pending == 0
        };
        let mut complete = self.complete.lock().unwrap_or_else(PoisonError::into_inner);
        if is_complete {
            complete.points.push(number);
        }
        let is_due =
            complete.points.len() >= TOGETHER || complete.written.elapsed() >= LONGEST_WAIT;
        if complete.points.is_empty() || !is_due {
            return Ok(());
        }
        let points = std::mem::take(&mut *complete).points;
        // Other threads go on meanwhile.
        drop(complete);
        points
            .into_iter()
            .try_for_each(|number| self.write(&self.points[number]))
    }

    pub(super) fn fail(&self, job: Job, message: String) -> Result<(), String> {
        self.note_failure(&self.points[job.point].values, job.seed, message);
        self.count_down(job.point)
    }

    /// Notes a failure with the command that repeats the run.
    fn note_failure(&self, values: &Values, seed: u64, message: String) {
        // A sweep file stands for its scenario and the values of the point.
        let file = if self.plan.is_file {
            self.plan.name.clone()
        } else {
            self.arguments.file.display().to_string()
        };
        let [file, out] = [file, self.folder.display().to_string()].map(|path| quoted(&path));
        let keys: String = values
            .iter()
            .map(|(key, value)| format!(" {}", word(key, value)))
            .collect();
        let command = format!("roundelay sweep {file}{keys} --seed {seed} --out {out}");
        let failed = Failed {
            point: name_of(&labels(values)),
            values: values.clone(),
            seed,
            message,
            command,
        };
        self.failed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(failed);
    }

    /// Writes the new runs of a point into the dataset.
    fn write(&self, point: &Point) -> Result<(), String> {
        let runs = std::mem::take(&mut point.fresh().runs);
        if runs.is_empty() {
            return Ok(());
        }
        if let Err(error) = self.dataset.add(
            &point.folder,
            &point.identity,
            &point.origin.metadata(&point.identity),
            runs.values(),
        ) {
            // The end of the sweep tries again.
            point.fresh().runs.extend(runs);
            return Err(error);
        }
        let is_kept = self.arguments.figure.is_some();
        point.fresh().written.extend(
            runs.into_iter()
                .map(|(seed, done)| (seed, is_kept.then_some(done))),
        );
        Ok(())
    }

    /// For each run of the plan: new, changed (and what), or cached. Runs nothing.
    ///
    /// # Errors
    /// The dataset cannot be read.
    pub fn why(mut self) -> Result<String, Failure> {
        self.keep_reasons();
        self.dataset.leave().map_err(Failure::run)?;
        Ok(self.reasons.take().unwrap_or_default())
    }

    /// Keeps the state of the runs before the work, for the summary.
    pub(super) fn keep_reasons(&self) {
        self.reasons.get_or_init(|| self.reasons());
    }

    fn reasons(&self) -> String {
        let line = |job: Job| {
            let point = &self.points[job.point];
            let state = match &point.changes {
                _ if point.has(job.seed) => "cached".to_owned(),
                Some(changes) if changes.is_empty() => "new".to_owned(),
                Some(changes) => format!("changed: {}", changes.join("; ")),
                None => "new".to_owned(),
            };
            let name = point.name();
            let space = if name.is_empty() { "" } else { " " };
            clean(&format!("{name}{space}seed={}: {state}", job.seed)) + "\n"
        };
        self.planned().map(line).collect()
    }

    /// The pending runs as texts for other processes.
    ///
    /// # Errors
    /// The dataset cannot be written.
    pub fn tasks(&self) -> Result<Vec<String>, Failure> {
        // An empty path has no absolute form.
        let folder =
            std::path::absolute(Path::new(".").join(&self.plan.folder)).map_err(Failure::run)?;
        let behaviours = self.behaviours.hash();
        self.keep_reasons();
        let jobs = self.pending()?;
        let text = |job: Job| -> Result<String, String> {
            let point = &self.points[job.point];
            let task = Task {
                point: point.identity.clone(),
                seed: job.seed,
                replica: job.seed - self.first_seed,
                name: self.plan.name.clone(),
                folder: folder.clone(),
                scenario: text_of(&self.plan, &point.values)?.1,
                behaviours: behaviours.clone(),
            };
            serde_json::to_string(&task).map_err(|error| error.to_string())
        };
        jobs.into_iter()
            .map(|job| text(job).map_err(Failure::run))
            .collect()
    }

    /// Adds the result of a task to the dataset. The result of a run that is known already is
    /// ignored.
    ///
    /// # Errors
    /// No result of this sweep, or the dataset cannot be written.
    pub fn commit(&self, result: &[u8]) -> Result<(), Failure> {
        let done = str::from_utf8(result)
            .ok()
            .and_then(Done::parse)
            .ok_or_else(|| Failure::run("no result of a run"))?;
        let number = self.number_of(&done.point)?;
        if self.points[number].has(done.seed) {
            return Ok(());
        }
        self.record(number, done).map_err(Failure::run)
    }

    /// Notes the failure of a task.
    ///
    /// # Errors
    /// No task of this sweep, or the dataset cannot be written.
    pub fn failed(&self, task: &str, message: &str) -> Result<(), Failure> {
        let task: Task = serde_json::from_str(task)
            .map_err(|error| Failure::run(format!("no task: {error}")))?;
        let job = Job {
            point: self.number_of(&task.point)?,
            seed: task.seed,
        };
        self.fail(job, message.to_owned()).map_err(Failure::run)
    }

    fn number_of(&self, identity: &str) -> Result<usize, Failure> {
        self.numbers
            .get(identity)
            .copied()
            .ok_or_else(|| Failure::run("the run is of another sweep"))
    }

    /// The rows of the plan's runs, with the values of the swept keys.
    fn rows(&self) -> Vec<RowsOfPoint> {
        let rows = |point: &Point| {
            let file = SweepFile::read(
                &self
                    .folder
                    .join(&point.folder)
                    .join(format!("{}.parquet", point.identity)),
            );
            let mine = |row: &SweepRow| {
                (self.first_seed..self.first_seed + u64::from(self.arguments.replicas))
                    .contains(&row.seed)
            };
            (
                point.labels.clone(),
                file.map_or_else(
                    |_| Vec::new(),
                    |file| file.rows.into_iter().filter(mine).collect(),
                ),
            )
        };
        self.points.iter().map(rows).collect()
    }

    /// Writes all files, removes the journal, and sums up, with the rows of the runs if asked.
    ///
    /// # Errors
    /// The dataset cannot be written.
    pub fn finish(mut self, with_rows: bool) -> Result<Summary, Failure> {
        // Complete points without files, and points whose last runs never came.
        self.points
            .iter()
            .try_for_each(|point| self.write(point))
            .map_err(Failure::run)?;
        let figures = self.summary_of_figure()?;
        let rows = if with_rows { self.rows() } else { Vec::new() };
        let known: BTreeSet<PathBuf> = self
            .points
            .iter()
            .map(|point| {
                self.folder
                    .join(&point.folder)
                    .join(format!("{}.parquet", point.identity))
            })
            .collect();
        let others = others(&self.folder, &known);
        let mut failed =
            std::mem::take(&mut *self.failed.lock().unwrap_or_else(PoisonError::into_inner));
        failed.sort_by(|one, other| (&one.point, one.seed).cmp(&(&other.point, other.seed)));
        let done = *self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let points = self.points.len();
        let why = self.reasons.take().unwrap_or_default();
        let identities: BTreeSet<String> = self
            .points
            .into_iter()
            .map(|point| point.identity)
            .collect();
        let waiting = self
            .dataset
            .finish(|done| identities.contains(&done.point))
            .map_err(Failure::run)?;
        Ok(Summary {
            name: self.plan.name,
            folder: self.folder,
            points,
            cached: self.cached,
            done,
            failed,
            others,
            waiting,
            figures,
            why,
            rows,
        })
    }
}

/// Reads a scenario whose queues may have the names of the program's disciplines.
///
/// # Errors
/// The text is not a valid scenario, or no source over TCP has the name of a congestion control.
fn read_with(
    parts: &Parts,
    name: &str,
    text: &str,
    folder: &Path,
    stop: &Stop,
) -> Result<Scenario, String> {
    let mut scenario = Read::of_text(name, text, folder, &parts.disciplines, stop)?;
    for (source, control) in &parts.controls {
        scenario
            .set_control(source, control)
            .map_err(|error| error.to_string())?;
    }
    Ok(scenario)
}

/// The scenario of a point, as a table and as text.
fn text_of(plan: &Plan, values: &Values) -> Result<(toml::Table, String), String> {
    let table = plan.resolved(values)?;
    let text = if values.is_empty() {
        plan.text.clone()
    } else {
        toml::to_string(&table).map_err(|error| error.to_string())?
    };
    Ok((table, text))
}

/// One run. A panic is a failure of the run.
fn simulate(scenario: &Scenario, seed: u64) -> Result<super::dataset::Rows, String> {
    match catch_unwind(AssertUnwindSafe(|| scenario.run(seed, |_| ()))) {
        Ok(Ok(results)) => Ok(sweep_rows(&results)),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("the simulator panicked; its message is on standard error".to_owned()),
    }
}

/// One run with parts of a program.
fn simulate_with(
    parts: &Parts,
    seed: u64,
    read: impl FnOnce(&Parts) -> Result<Scenario, String>,
) -> Result<super::dataset::Rows, String> {
    let rows = read(parts).and_then(|scenario| simulate(&scenario, seed));
    (parts.failure)().map_or(rows, Err)
}

/// Runs a task of [`Session::tasks`] in any process, with the parts of the session's program if
/// there are any. Returns the result for [`Session::commit`].
///
/// # Errors
/// The run failed, or this program has other behaviours than that of the session.
pub fn run_task(task: &str, parts: Option<&OwnParts>, stop: &Stop) -> Result<Vec<u8>, Failure> {
    let task: Task = serde_json::from_str(task)
        .map_err(|error| Failure::usage(format!("no task of a sweep: {error}")))?;
    static OWN: OnceLock<String> = OnceLock::new();
    let program = || OWN.get_or_init(|| Behaviours::of_program().hash()).clone();
    if task.behaviours
        != parts.map_or_else(program, |parts| {
            Behaviours::of_program().with(&parts.versions).hash()
        })
    {
        let expected =
            "planner and worker must run the same version of Roundelay and of your classes";
        return Err(Failure::run(expected.to_string()));
    }
    let Task {
        name,
        scenario,
        folder,
        seed,
        ..
    } = &task;
    let rows = match parts {
        Some(parts) => simulate_with(&(parts.make)(), *seed, |parts| {
            read_with(parts, name, scenario, folder, stop)
        }),
        None => Read::of_text(name, scenario, folder, &[], stop)
            .and_then(|scenario| simulate(&scenario, *seed)),
    };
    if stop.is_requested() {
        return Err(Failure::stopped());
    }
    let Task {
        point,
        seed,
        replica,
        ..
    } = task;
    let rows = rows.map_err(Failure::run)?;
    Ok(Done {
        point,
        seed,
        replica,
        rows,
    }
    .line()
    .into_bytes())
}

/// Checks all points.
///
/// # Errors
/// A point is no valid scenario: nothing has been run then.
fn points(
    plan: &Plan,
    folder: &Path,
    behaviours: &Behaviours,
    options: &Options,
    host: &Host,
) -> Result<Vec<Point>, Failure> {
    let threads = options.threads;
    let with_rows = options.figure.is_some();
    let hashes = FileHashes::default();
    let one = |values: &Values| {
        let mut point = point(
            plan,
            values,
            folder,
            behaviours,
            &hashes,
            host,
            options.long,
        )?;
        if !with_rows {
            point
                .stored
                .values_mut()
                .for_each(|rows| *rows = Vec::new());
        }
        Ok(point)
    };
    let all: Vec<Result<Point, String>> = in_pool(threads, || {
        plan.points.par_iter().with_min_len(8).map(one).collect()
    })?;
    let mut points = Vec::new();
    let mut messages = Vec::new();
    for (values, point) in plan.points.iter().zip(all) {
        match point {
            Ok(point) => points.push(point),
            Err(message) => messages.push((values, message)),
        }
    }
    if messages.is_empty() {
        return Ok(points);
    }
    let mut lines: Vec<_> = messages
        .iter()
        .take(MOST_MESSAGES)
        .map(|(values, message)| told(plan, values, message))
        .collect();
    lines.dedup();
    if messages.len() > MOST_MESSAGES {
        lines.push(format!(
            "and {} more points",
            messages.len() - MOST_MESSAGES
        ));
    }
    Err(Failure::usage(lines.join("\n")))
}

/// A message on a wrong point; one on the scenario itself has the line.
fn told(plan: &Plan, values: &Values, message: &str) -> String {
    let own = Scenario::from_toml_with(&plan.name, &plan.text, &plan.folder, &|_, _, _| {
        Ok(Vec::new())
    })
    .err();
    match own.filter(|error| clean(&error.message) == *message) {
        Some(error) => clean(&error.to_string()),
        None => {
            let labels: Vec<_> = values.iter().map(|(key, value)| word(key, value)).collect();
            format!("{}: {}: {message}", plan.name, clean(&labels.join(" ")))
        }
    }
}

fn point(
    plan: &Plan,
    values: &Values,
    folder: &Path,
    behaviours: &Behaviours,
    hashes: &FileHashes,
    host: &Host,
    is_long: bool,
) -> Result<Point, String> {
    let (table, text) = text_of(plan, values)?;
    let scenario = match &host.parts {
        Some(parts) => read_with(&(parts.make)(), &plan.name, &text, &plan.folder, &host.stop)?,
        None => Read::of_text(&plan.name, &text, &plan.folder, &[], &host.stop)?,
    };
    check_length(&scenario, is_long)?;
    let origin = Origin::new(&table, &scenario, behaviours, hashes)?;
    let identity = origin.identity();
    let labels = labels(values);
    let own = folder_of(&labels);
    let mut changes = None;
    let mut stored = BTreeMap::new();
    for path in files(&folder.join(&own)) {
        let Ok(file) = SweepFile::read(&path) else {
            continue;
        };
        if path.file_stem().is_some_and(|stem| *stem == *identity) {
            changes = Some(Vec::new());
            for row in file.rows {
                stored.entry(row.seed).or_insert_with(Vec::new).push(row);
            }
        } else if stored.is_empty() {
            changes = Origin::of_metadata(&file.metadata).map(|before| origin.changes(&before));
        }
    }
    let is_kept = host.parts.is_none()
        && plan.points.len() <= KEPT[0]
        && scenario.topology.network.links().len() <= KEPT[1]
        && scenario.files.is_empty();
    let fresh = Mutex::new(Fresh {
        scenario: is_kept.then(|| scenario.into()),
        ..Fresh::default()
    });
    Ok(Point {
        values: values.clone(),
        labels,
        folder: own,
        origin,
        identity,
        changes,
        stored,
        fresh,
    })
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::command::{Arguments, Command};

    const SCENARIO: &str = "duration = '100ms'\n[topology]\ntemplate = 'dumbbell'\npairs = 1\nrate = '1mbit'\n[[source]]\nname = 'a'\nkind = 'cbr'\nfrom = 's0'\nto = 'r0'\nrate = '900kbit'\n";

    /// A folder with a scenario, deleted on drop.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir()
                .join(format!("roundelay-session-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).unwrap();
            std::fs::write(path.join("s.toml"), SCENARIO).unwrap();
            Self(path)
        }

        fn session(&self, words: &[&str], behaviours: Behaviours) -> Session {
            let [file, out] = ["s.toml", "out"].map(|name| self.0.join(name).display().to_string());
            let words = [
                &["roundelay", "sweep", &file, "--quiet", "--out", &out],
                words,
            ]
            .concat();
            let Command::Sweep(arguments) = Arguments::try_parse_from(words).unwrap().command
            else {
                panic!("not sweep")
            };
            Session::open_with(&arguments, &Host::default(), behaviours).unwrap()
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(std::fs::remove_dir_all(&self.0));
        }
    }

    fn run(mut session: Session) -> [usize; 3] {
        super::super::runner::run(&mut session).unwrap();
        let summary = session.finish(false).unwrap();
        [summary.cached, summary.done, summary.failed.len()]
    }

    #[test]
    fn a_changed_discipline_runs_exactly_its_rows() {
        let folder = Folder::new("changed");
        let words = [
            "queue.core=fifo,qfq,fq_codel",
            "source.a.packet_len=500,1000",
            "--replicas",
            "3",
        ];
        assert_eq!(
            run(folder.session(&words, Behaviours::of_program())),
            [0, 18, 0]
        );
        assert_eq!(
            run(folder.session(&words, Behaviours::of_program())),
            [18, 0, 0]
        );
        let changed = || Behaviours::of_program().changed("discipline.qfq");
        let why = folder.session(&words, changed()).why().unwrap();
        for line in why.lines() {
            let expected = if line.contains("core=qfq") {
                ": changed: behaviour of discipline.qfq"
            } else {
                ": cached"
            };
            assert!(line.ends_with(expected), "{line}");
        }
        assert_eq!(run(folder.session(&words, changed())), [12, 6, 0]);
        assert_eq!(run(folder.session(&words, changed())), [18, 0, 0]);
        // All runs use the engine.
        assert_eq!(
            run(folder.session(&words, changed().changed("engine"))),
            [0, 18, 0]
        );
        assert_eq!(
            run(folder.session(&words, changed().changed("engine").changed("source.tcp"))),
            [18, 0, 0],
            "no run has TCP"
        );
    }

    #[test]
    fn tasks_run_elsewhere_and_results_count_once() {
        let folder = Folder::new("tasks");
        let words = ["queue.core=fifo,qfq", "--replicas", "3"];
        let session = folder.session(&words, Behaviours::of_program());
        let tasks = session.tasks().unwrap();
        assert_eq!(tasks.len(), 6);
        let results: Vec<_> = tasks
            .iter()
            .map(|task| run_task(task, None, &Stop::default()).unwrap())
            .collect();
        for result in results.iter().chain(&results).rev().take(10) {
            session.commit(result).unwrap();
        }
        assert!(session.commit(b"{}").is_err());
        let summary = session.finish(true).unwrap();
        assert_eq!(
            (
                summary.done,
                summary
                    .rows
                    .iter()
                    .map(|(_, rows)| rows.len())
                    .sum::<usize>()
            ),
            (6, 6)
        );
        assert_eq!(
            run(folder.session(&words, Behaviours::of_program())),
            [6, 0, 0]
        );
        // A task of another version is refused.
        let other = folder
            .session(
                &["queue.core=fq"],
                Behaviours::of_program().changed("engine"),
            )
            .tasks()
            .unwrap();
        assert!(
            run_task(&other[0], None, &Stop::default())
                .unwrap_err()
                .to_string()
                .contains("the same version")
        );
    }

    /// A failed run leaves the other runs of its point in the dataset; a resumed sweep does only
    /// the failed one.
    #[test]
    fn a_failed_run_is_repeated_alone() {
        let folder = Folder::new("failed");
        let words = ["queue.core=fifo,qfq", "--replicas", "2"];
        let session = folder.session(&words, Behaviours::of_program());
        let tasks = session.tasks().unwrap();
        for task in &tasks[1..] {
            session
                .commit(&run_task(task, None, &Stop::default()).unwrap())
                .unwrap();
        }
        session.failed(&tasks[0], "the worker died").unwrap();
        let summary = session.finish(false).unwrap();
        let message = summary.failure().unwrap().to_string();
        assert!(
            message.starts_with(
                "1 of 4 runs failed, the first with: the worker died\n  queue.core=fifo seed=1: "
            ),
            "{message}"
        );
        assert!(
            message.contains("s.toml queue.core=fifo --seed 1 --out "),
            "{message}"
        );
        assert_eq!(
            run(folder.session(&words, Behaviours::of_program())),
            [3, 1, 0]
        );
    }

    /// Files are written for some points at a time; the journal has the others, whatever ends the
    /// process.
    #[test]
    fn complete_points_wait_for_others_in_the_journal() {
        let folder = Folder::new("together");
        let words = ["source.a.packet_len=500..569+1"];
        let session = folder.session(&words, Behaviours::of_program());
        for job in session.pending().unwrap() {
            session.run(job).unwrap();
        }
        let written = session
            .points
            .iter()
            .filter(|point| !files(&session.folder.join(&point.folder)).is_empty())
            .count();
        assert!((TOGETHER..=70).contains(&written), "{written} files");
        drop(session);
        assert_eq!(
            run(folder.session(&words, Behaviours::of_program())),
            [70, 0, 0]
        );
        let again = folder.session(&words, Behaviours::of_program());
        assert!(again.points.iter().all(|point| point.stored.len() == 1));
    }

    #[test]
    fn a_run_whose_file_cannot_be_written_is_written_at_the_end() {
        let folder = Folder::new("unwritten");
        let words = ["queue.core=fifo,qfq"];
        let session = folder.session(&words, Behaviours::of_program());
        let jobs = session.pending().unwrap();
        // A file stands where the folder of the first point belongs.
        let path = session.folder.join(&session.points[0].folder);
        std::fs::write(&path, "").unwrap();
        session.complete.lock().unwrap().written -= LONGEST_WAIT;
        let error = session.run(jobs[0]).unwrap_err();
        assert!(error.contains("queue.core=fifo"), "{error}");
        session.run(jobs[1]).unwrap();
        std::fs::remove_file(path).unwrap();
        session.finish(false).unwrap();
        assert_eq!(
            run(folder.session(&words, Behaviours::of_program())),
            [2, 0, 0]
        );
    }

    /// Values named as files are folders; equal runs have a note, and others none.
    #[test]
    fn notes_are_of_other_files_and_of_equal_runs() {
        let folder = Folder::new("notes");
        let random = Folder::new("notes-random");
        let notes = |folder: &Folder, words: &[&str]| {
            let mut session = folder.session(words, Behaviours::of_program());
            super::super::runner::run(&mut session).unwrap();
            let json: serde_json::Value =
                serde_json::from_str(&session.finish(false).unwrap().json()).unwrap();
            json["notes"]
                .as_array()
                .unwrap()
                .iter()
                .map(|note| note.as_str().unwrap().to_owned())
                .collect::<Vec<_>>()
        };
        let both = ["name=a.parquet,b.parquet", "--replicas", "3", "--figure"];
        assert_eq!(notes(&folder, &both[..3]), Vec::<String>::new());
        let others =
            "1 file in the dataset with other values or from earlier versions, not checked";
        assert_eq!(notes(&folder, &["name=a.parquet"]), [others]);
        let equal = "is the same for all seeds of a point: nothing random had an effect, and ±0 is no confidence interval";
        assert_eq!(
            notes(&folder, &[&both[..], &["a.core_utilisation"]].concat()),
            [format!("a.core_utilisation {equal}")]
        );
        assert_eq!(
            notes(
                &random,
                &[
                    "source.a.kind=poisson",
                    "--replicas",
                    "3",
                    "--figure",
                    "a.delay_mean"
                ]
            ),
            Vec::<String>::new()
        );
    }

    #[test]
    fn the_first_failure_ends_a_sweep_that_fails_fast() {
        let folder = Folder::new("fast");
        let session = folder.session(
            &["queue.core=fifo,qfq", "--replicas", "2", "--fail-fast"],
            Behaviours::of_program(),
        );
        let jobs = session.pending().unwrap();
        session.fail(jobs[0], "a fault".to_owned()).unwrap();
        jobs[1..].iter().for_each(|job| session.run(*job).unwrap());
        let summary = session.finish(false).unwrap();
        assert_eq!((summary.done, summary.failed.len()), (0, 1));
    }
}
