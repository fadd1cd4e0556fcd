//! The session of a sweep: points with their identities, known and pending runs, and the dataset.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use roundelay_report::{SweepFile, SweepRow, SweptKey, clean};
use roundelay_sim::scenario::Measures;
use roundelay_trace::Stop;

use super::arguments::Sweep;
use super::behaviour::Behaviours;
use super::compact::{Kept, compact};
use super::dataset::{Dataset, other_keys, others};
use super::done::{Done, Rows};
use super::figure::check_figure;
use super::folder::{folder_of, labels_of};
use super::identity::run_identity;
use super::plan::{Base, Plan};
use super::point::{Check, Point, name_of, text_of};
use super::report::{Failed, RowsOfPoint, Summary};
use super::shard::Shard;
use super::task::{Task, read_with, simulate, simulate_with};
use super::values::{SCENARIO, Values, kind_of, labels, quoted, word};
use crate::failure::Failure;
use crate::host::Host;
use crate::parts::OwnParts;
use crate::progress::Gauge;
use crate::runs::Runs;
use crate::scenario::Read;

/// Complete points whose files are written together. The code for one then stays in the processor's
/// caches for the next, so a file costs a third less after runs of some milliseconds.
const TOGETHER: usize = 64;
/// If the last files are older than this, a finished run writes those of all complete points.
const LONGEST_WAIT: Duration = Duration::from_secs(1);
/// Points whose runs are done but whose file is not written yet. The journal holds the runs.
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
    /// The points' numbers by identity.
    numbers: HashMap<String, usize>,
    pub(super) arguments: Options,
    pub(super) folder: PathBuf,
    dataset: Dataset,
    behaviours: Behaviours,
    /// The program's disciplines and congestion controls.
    parts: Option<OwnParts>,
    /// For each run of the plan: new, changed (and how), or cached, before the work.
    reasons: OnceLock<String>,
    pub(super) stop: Stop,
    pub(super) gauge: Gauge,
    pub(super) first_seed: u64,
    /// Points in the dataset's file that have other values.
    other_points: usize,
    complete: Mutex<Complete>,
    failed: Mutex<Vec<Failed>>,
    /// Runs that were known before the work.
    pub(super) cached: usize,
    /// Runs of this session.
    done: Mutex<usize>,
    /// Runs for each point, once `--until` has set them.
    pub(super) targets: Option<Vec<u32>>,
}

/// The arguments in use once the plan has been read.
pub(super) struct Options {
    pub(super) file: PathBuf,
    pub(super) replicas: u32,
    pub(super) max_replicas: u32,
    pub(super) threads: Option<u16>,
    pub(super) figure: Option<String>,
    pub(super) fail_fast: bool,
    pub(super) quiet: bool,
    /// Whether somebody asks for runs of more than 10^10 events.
    pub(super) is_long: bool,
    pub(super) shard: Option<Shard>,
}

impl Options {
    /// Those of a plan whose figures another command chooses.
    pub(super) fn of_runs(runs: &Runs) -> Self {
        let replicas = runs.replicas.into();
        Self {
            file: PathBuf::new(),
            replicas,
            max_replicas: replicas,
            threads: runs.threads,
            figure: None,
            fail_fast: false,
            quiet: runs.quiet,
            is_long: runs.long,
            shard: None,
        }
    }
}

impl Session {
    /// Reads the plan, checks all points, and finds the known runs.
    pub(crate) fn open(arguments: &Sweep, host: &Host) -> Result<Self, Failure> {
        let mut behaviours = Behaviours::of_program();
        if let Some(parts) = &host.parts {
            behaviours = behaviours.with(&parts.versions);
        }
        Self::open_with(arguments, host, behaviours)
    }

    pub(super) fn open_with(
        arguments: &Sweep,
        host: &Host,
        behaviours: Behaviours,
    ) -> Result<Self, Failure> {
        let read = [("the scenario", arguments.file.as_path())];
        arguments.outputs.check(read, &Measures::default(), 1)?;
        let plan = Plan::read(arguments, host)?;
        let usual = if arguments.until.is_some() { 5 } else { 1 };
        let replicas = plan.replicas.unwrap_or(usual);
        let folder = folder(arguments, &plan);
        let options = Options {
            file: arguments.file.clone(),
            replicas,
            max_replicas: arguments.max_replicas.max(replicas),
            threads: arguments.threads,
            figure: figure(arguments, host, plan.points.len() * replicas as usize),
            fail_fast: arguments.fail_fast,
            quiet: arguments.quiet,
            is_long: arguments.long,
            shard: arguments.shard,
        };
        Self::of_plan(plan, folder, options, host, behaviours)
    }

    /// Checks all points of a plan, and finds the runs that the folder's dataset has.
    ///
    /// # Errors
    /// A point is no valid scenario, or the dataset has other keys or cannot be read.
    pub(super) fn of_plan(
        plan: Plan,
        folder: PathBuf,
        options: Options,
        host: &Host,
        behaviours: Behaviours,
    ) -> Result<Self, Failure> {
        if cfg!(not(feature = "parquet")) {
            return Err(Failure::usage(
                "sweep: this program was built without Parquet, the format of datasets; expected \
                 the feature 'parquet'",
            ));
        }
        let check = Check {
            plan: &plan,
            folder: &folder,
            behaviours: &behaviours,
            host,
            is_long: options.is_long,
            with_rows: options.figure.is_some(),
            threads: options.threads,
        };
        let mut points = check.points()?;
        if let Some(figure) = &options.figure {
            check_figure(figure, &check)?;
        }
        let first_seed = match (plan.seed, plan.bases[0].table.get("seed")) {
            (Some(seed), _) => seed,
            (None, Some(toml::Value::Integer(seed))) => seed.cast_unsigned(),
            (None, _) => 1,
        };
        if first_seed
            .checked_add(u64::from(options.max_replicas))
            .is_none()
        {
            return Err(Failure::usage(format!(
                "seed {first_seed}: the last replica's must be below 2^64"
            )));
        }
        // Nothing is written before the dataset is opened below.
        let mut keys = Vec::new();
        for (key, _) in &plan.points[0] {
            keys.push(key.as_str());
        }
        // Read after the points' files, because their runs may move there meanwhile.
        let kept = Kept::read(&folder).map_err(Failure::run)?;
        if let Some(known) = kept.keys()
            && known != keys
        {
            let keys = keys.iter().map(|key| (*key).to_owned());
            let keys: Vec<String> = keys.collect();
            return Err(Failure::usage(other_keys(&folder, known, &keys)));
        }
        let other_points = kept.give(&mut points, options.figure.is_some());
        let dataset = Dataset::open(&folder, &keys, &host.stop)?;
        let mut numbers = HashMap::new();
        for (number, point) in points.iter().enumerate() {
            numbers.insert(point.identity.clone(), number);
        }
        for done in &dataset.found {
            let Some(number) = numbers.get(&done.point) else {
                continue;
            };
            let point = &points[*number];
            if !point.stored.contains_key(&done.seed) {
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
            other_points,
            complete: Mutex::default(),
            failed: Mutex::default(),
            cached: 0,
            done: Mutex::new(0),
            targets: None,
        };
        for job in session.planned() {
            session.cached += usize::from(session.is_known(job));
        }
        Ok(session)
    }

    /// All runs that the plan or the shard has.
    fn planned(&self) -> Vec<Job> {
        let mut jobs = Vec::new();
        for (number, point) in self.points.iter().enumerate() {
            for seed in self.seeds() {
                if let Some(shard) = self.arguments.shard
                    && !shard.has(&run_identity(&point.identity, seed))
                {
                    continue;
                }
                jobs.push(Job {
                    point: number,
                    seed,
                });
            }
        }
        jobs
    }

    /// The seeds that each point runs with.
    fn seeds(&self) -> Range<u64> {
        self.first_seed..self.first_seed + u64::from(self.arguments.replicas)
    }

    fn is_known(&self, job: Job) -> bool {
        self.points[job.point].has(job.seed)
    }

    /// The plan's runs that are not known. First writes the files of points whose runs are all known.
    pub(super) fn pending(&self) -> Result<Vec<Job>, Failure> {
        let mut jobs = self.planned();
        jobs.retain(|job| !self.is_known(*job));
        self.expect(&jobs)?;
        Ok(jobs)
    }

    /// Announces runs, because a point's file is written after its last run.
    pub(super) fn expect(&self, jobs: &[Job]) -> Result<(), Failure> {
        for job in jobs {
            self.points[job.point].fresh().pending += 1;
        }
        for point in &self.points {
            let is_complete = point.fresh().pending == 0;
            if is_complete {
                self.write(point).map_err(Failure::run)?;
            }
        }
        Ok(())
    }

    /// The number of failed runs.
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
                let done = Done {
                    point: point.identity.clone(),
                    seed: job.seed,
                    replica: job.seed - self.first_seed,
                    rows,
                };
                self.record(job.point, done)
            }
            Err(_) if self.stop.is_requested() => Ok(()),
            Err(message) => self.fail(job, message),
        }
    }

    fn rows_of(&self, point: &Point, seed: u64) -> Result<Rows, String> {
        let Base { name, folder, .. } = self.plan.base(&point.values);
        if let Some(parts) = &self.parts {
            let parts = (parts.make)();
            let scenario = match text_of(&self.plan, &point.values) {
                Ok((_, text)) => read_with(&parts, name, &text, folder, &self.stop),
                Err(message) => Err(message),
            };
            return simulate_with(&parts, scenario, seed);
        }
        let known = point.fresh().scenario.clone();
        if let Some(scenario) = known {
            return simulate(&scenario, seed);
        }
        let scenario = text_of(&self.plan, &point.values)
            .and_then(|(_, text)| Read::of_text(name, &text, folder, &[], &self.stop));
        let scenario = Arc::new(scenario.map_err(|fault| fault.to_string())?);
        point.fresh().scenario = Some(Arc::clone(&scenario));
        simulate(&scenario, seed)
    }

    /// Records a finished run. The point's file is written after its last run, together with other
    /// points' files.
    pub(super) fn record(&self, number: usize, done: Done) -> Result<(), String> {
        *self.done.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        let point = &self.points[number];
        self.dataset.note(&done, || point.metadata())?;
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
        for number in points {
            self.write(&self.points[number])?;
        }
        Ok(())
    }

    pub(super) fn fail(&self, job: Job, message: String) -> Result<(), String> {
        self.note_failure(&self.points[job.point].values, job.seed, message);
        self.count_down(job.point)
    }

    /// Notes a failure with the command that repeats the run.
    fn note_failure(&self, values: &Values, seed: u64, message: String) {
        // A sweep file stands for its scenario and the point's values.
        let file = if self.plan.is_file {
            self.plan.base(values).name.clone()
        } else {
            self.arguments.file.display().to_string()
        };
        let file = quoted(&file);
        // A dataset of several scenarios has a key that a sweep of one has not.
        let out = match &self.plan.bases[..] {
            [_] => format!(" --out {}", quoted(&self.folder.display().to_string())),
            _ => String::new(),
        };
        let mut keys = String::new();
        for (key, value) in values {
            if key != SCENARIO {
                keys += &format!(" {}", word(key, value));
            }
        }
        let command = format!("roundelay sweep {file}{keys} --seed {seed}{out}");
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

    /// Writes a point's new runs into the dataset.
    fn write(&self, point: &Point) -> Result<(), String> {
        let runs = std::mem::take(&mut point.fresh().runs);
        if runs.is_empty() {
            return Ok(());
        }
        let metadata = point.metadata();
        let added = self
            .dataset
            .add(&point.folder, &point.identity, &metadata, runs.values());
        if let Err(error) = added {
            // The end of the sweep tries again.
            point.fresh().runs.extend(runs);
            return Err(error);
        }
        let is_kept = self.arguments.figure.is_some();
        let mut fresh = point.fresh();
        for (seed, done) in runs {
            fresh.written.insert(seed, is_kept.then_some(done));
        }
        Ok(())
    }

    /// Tells for each run of the plan whether it is new, changed (and how), or cached. Runs
    /// nothing.
    ///
    /// # Errors
    /// The dataset cannot be read.
    pub fn why(mut self) -> Result<String, Failure> {
        self.note_states_before_work();
        self.dataset.leave().map_err(Failure::run)?;
        Ok(self.reasons.take().unwrap_or_default())
    }

    /// Keeps the state of the runs before the work, for the summary.
    pub(super) fn note_states_before_work(&self) {
        self.reasons.get_or_init(|| self.reasons());
    }

    fn reasons(&self) -> String {
        let mut lines = String::new();
        for job in self.planned() {
            let point = &self.points[job.point];
            let state = match &point.changes {
                _ if self.is_known(job) => "cached".to_owned(),
                Some(changes) if changes.is_empty() => "new".to_owned(),
                Some(changes) => format!("changed: {}", changes.join("; ")),
                None => "new".to_owned(),
            };
            let name = point.name();
            let space = if name.is_empty() { "" } else { " " };
            lines += &clean(&format!("{name}{space}seed={}: {state}", job.seed));
            lines.push('\n');
        }
        lines
    }

    /// The pending runs as texts for other processes. First writes the files of points whose runs
    /// are all known.
    ///
    /// # Errors
    /// The dataset cannot be written.
    pub fn tasks(&self) -> Result<Vec<String>, Failure> {
        let behaviours = self.behaviours.hash();
        self.note_states_before_work();
        // This also writes the files of complete points.
        let jobs = self.pending()?;
        let mut tasks = Vec::new();
        for job in jobs {
            let point = &self.points[job.point];
            let (_, scenario) = text_of(&self.plan, &point.values).map_err(Failure::run)?;
            let base = self.plan.base(&point.values);
            // An empty path has no absolute form.
            let folder = std::path::absolute(Path::new(".").join(&base.folder));
            let task = Task {
                point: point.identity.clone(),
                seed: job.seed,
                replica: job.seed - self.first_seed,
                name: base.name.clone(),
                folder: folder.map_err(Failure::run)?,
                scenario,
                behaviours: behaviours.clone(),
            };
            tasks.push(serde_json::to_string(&task).map_err(Failure::run)?);
        }
        Ok(tasks)
    }

    /// Adds a task's result to the dataset. If the run is known already, its result is ignored.
    ///
    /// # Errors
    /// This is no result of this sweep, or the dataset cannot be written.
    pub fn commit(&self, result: &[u8]) -> Result<(), Failure> {
        let text = str::from_utf8(result).unwrap_or_default();
        let done = Done::parse(text).ok_or_else(|| Failure::run("no result of a run"))?;
        let number = self.number_of(&done.point)?;
        if self.points[number].has(done.seed) {
            return Ok(());
        }
        self.record(number, done).map_err(Failure::run)
    }

    /// Notes that a task has failed.
    ///
    /// # Errors
    /// This is no task of this sweep, or the dataset cannot be written.
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
        match self.numbers.get(identity) {
            Some(number) => Ok(*number),
            None => Err(Failure::run("the run is of another sweep")),
        }
    }

    /// The rows of the plan's runs, with the swept keys' values.
    fn rows(&self) -> Result<Vec<RowsOfPoint>, String> {
        let seeds = self.seeds();
        let mut kept = Kept::read(&self.folder)?.by_identity();
        let mut all = Vec::new();
        for point in &self.points {
            let mut by_seed: BTreeMap<u64, Vec<SweepRow>> = BTreeMap::new();
            for row in kept.remove(&point.identity).unwrap_or_default() {
                by_seed.entry(row.seed).or_default().push(row);
            }
            let file = SweepFile::read(&point.file(&self.folder)).unwrap_or_default();
            let mut new: BTreeMap<u64, Vec<SweepRow>> = BTreeMap::new();
            for row in file.rows {
                new.entry(row.seed).or_default().push(row);
            }
            by_seed.append(&mut new);
            let mut rows = Vec::new();
            for (_, of_seed) in by_seed.range(seeds.clone()) {
                rows.extend(of_seed.iter().cloned());
            }
            all.push((point.labels.clone(), rows));
        }
        Ok(all)
    }

    /// The swept keys, and what their values are.
    fn keys(&self) -> Vec<SweptKey> {
        let mut keys = Vec::new();
        for (index, (name, _)) in self.plan.points[0].iter().enumerate() {
            let values = self.points.iter().map(|point| &point.values[index]);
            keys.push(SweptKey {
                name: name.clone(),
                values: kind_of(name, values.map(|(_, value)| value)),
            });
        }
        keys
    }

    /// Moves runs that another plan left in a journal into files of their points, as far as the
    /// journal describes these. Where a point of this plan has the same values, it replaces them:
    /// the scenario was edited. Returns the points that need their journal no more.
    fn move_runs_of_other_plans(&self) -> Result<BTreeSet<String>, String> {
        let mut replaced = BTreeSet::new();
        for point in &self.points {
            if self.seeds().any(|seed| point.has(seed)) {
                replaced.insert(point.values_as_labels());
            }
        }
        let mut others: BTreeMap<&str, Vec<&Done>> = BTreeMap::new();
        for done in &self.dataset.found {
            if !self.numbers.contains_key(&done.point) {
                others.entry(&done.point).or_default().push(done);
            }
        }
        let mut moved = BTreeSet::new();
        for (identity, runs) in others {
            let Some(metadata) = self.dataset.described.get(identity) else {
                continue;
            };
            let Some(values) = labels_of(metadata) else {
                continue;
            };
            if !replaced.contains(&values) {
                let mut labels = Vec::new();
                for ((key, _), value) in self.points[0].labels.iter().zip(values) {
                    labels.push((key.clone(), value));
                }
                let folder = folder_of(&labels);
                self.dataset.add_beside(&folder, identity, metadata, runs)?;
            }
            moved.insert(identity.to_owned());
        }
        Ok(moved)
    }

    /// Writes all files, removes the journal, and sums up. If asked, the summary has the rows of
    /// the runs.
    ///
    /// # Errors
    /// The dataset cannot be written.
    pub fn finish(mut self, with_rows: bool) -> Result<Summary, Failure> {
        // There may be complete points without files, and points whose last runs never came.
        for point in &self.points {
            self.write(point).map_err(Failure::run)?;
        }
        let figures = self.summary_of_figure()?;
        let keys = self.keys();
        let moved = self.move_runs_of_other_plans().map_err(Failure::run)?;
        let rows = if with_rows {
            self.rows().map_err(Failure::run)?
        } else {
            Vec::new()
        };
        let mut known = BTreeSet::new();
        for point in &self.points {
            known.insert(point.file(&self.folder));
        }
        let others = others(&self.folder, &known) + self.other_points;
        let mut failed =
            std::mem::take(&mut *self.failed.lock().unwrap_or_else(PoisonError::into_inner));
        failed.sort_by(|one, other| (&one.point, one.seed).cmp(&(&other.point, other.seed)));
        let done = *self.done.lock().unwrap_or_else(PoisonError::into_inner);
        let why = self.reasons.take().unwrap_or_default();
        let mut identities = BTreeSet::new();
        for point in &self.points {
            identities.insert(point.identity.as_str());
        }
        let mut names = Vec::new();
        for key in &keys {
            names.push(key.name.clone());
        }
        let waiting = self
            .dataset
            .finish(
                |done| identities.contains(&*done.point) || moved.contains(&done.point),
                || compact(&self.folder, &names, &self.points),
            )
            .map_err(Failure::run)?;
        let points = self.points.len();
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
            keys,
            why,
            rows,
        })
    }
}

/// The figure if you name no other.
const USUAL_FIGURE: &str = "delay_p99";
/// Most runs whose rows are kept in memory for a figure that nobody asked for.
const MOST_UNASKED: usize = 20_000;

/// The figure to sum up, if any. Text for people has one, because it begins with the answer.
fn figure(arguments: &Sweep, host: &Host, runs: usize) -> Option<String> {
    let outputs = &arguments.outputs;
    let is_for_people = host.is_for_people && !outputs.has("json") && runs <= MOST_UNASKED;
    match &arguments.figure {
        Some(figure) => Some(figure.clone()),
        None if outputs.has("html") || is_for_people => Some(USUAL_FIGURE.to_owned()),
        None => None,
    }
}

/// The dataset's folder: the one you asked for, or else one in the working directory that has the
/// scenario's name.
fn folder(arguments: &Sweep, plan: &Plan) -> PathBuf {
    if let Some(folder) = arguments.outputs.path("out") {
        return folder.to_owned();
    }
    let stem = if arguments.file.as_os_str() == "-" {
        plan.name.as_ref()
    } else {
        arguments.file.file_stem().unwrap_or_default()
    };
    PathBuf::from(stem).with_extension("sweep")
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;
    use crate::command::{Arguments, Command};
    use crate::parts::Parts;
    use crate::sweep::folder::files;
    use crate::sweep::run_task;

    const SCENARIO: &str = "duration = '100ms'\n[topology]\ntemplate = 'dumbbell'\npairs = 1\nrate \
        = '1mbit'\n[[source]]\nname = 'a'\nkind = 'cbr'\nfrom = 's0'\nto = 'r0'\nrate = '900kbit'\n";

    /// A folder with a scenario, which is deleted on drop.
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
            self.open(words, behaviours).unwrap()
        }

        fn open(&self, words: &[&str], behaviours: Behaviours) -> Result<Session, Failure> {
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
            Session::open_with(&arguments, &Host::default(), behaviours)
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
        // A task from another version is refused.
        let other = folder
            .session(
                &["queue.core=packet_fq"],
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

    /// A failed run leaves its point's other runs in the dataset, so a resumed sweep does only the
    /// failed one.
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

    /// A run that ends with an error after a stop has not failed: the next sweep runs it.
    #[test]
    fn a_run_that_a_stop_ends_has_not_failed() {
        let folder = Folder::new("ended");
        for (is_stopped, failures) in [(false, 1), (true, 0)] {
            let mut session = folder.session(&["queue.core=fifo"], Behaviours::of_program());
            let stop = session.stop.clone();
            let make = move || {
                if is_stopped {
                    stop.request();
                }
                Parts {
                    disciplines: Vec::new(),
                    controls: Vec::new(),
                    failure: Box::new(|| Some("the run ended".to_owned())),
                }
            };
            session.parts = Some(OwnParts {
                make: Arc::new(make),
                versions: BTreeMap::new(),
            });
            let jobs = session.pending().unwrap();
            session.run(jobs[0]).unwrap();
            assert_eq!(session.failures(), failures);
        }
    }

    /// Files are written for some points at a time. The journal has the others, whatever ends the
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
        // The runs in the journal have their files before any other run begins.
        let session = folder.session(&words, Behaviours::of_program());
        assert!(session.pending().unwrap().is_empty());
        for point in &session.points {
            assert_eq!(files(&session.folder.join(&point.folder)).len(), 1);
        }
        drop(session);
        assert_eq!(
            run(folder.session(&words, Behaviours::of_program())),
            [70, 0, 0]
        );
        let again = folder.session(&words, Behaviours::of_program());
        assert!(again.points.iter().all(|point| point.stored.len() == 1));
    }

    #[test]
    fn the_file_of_a_complete_point_waits_for_others() {
        let folder = Folder::new("waits");
        let session = folder.session(&["queue.core=fifo,qfq"], Behaviours::of_program());
        let jobs = session.pending().unwrap();
        // No time passes.
        session.complete.lock().unwrap().written += Duration::from_secs(3600);
        for job in jobs {
            session.run(job).unwrap();
        }
        for point in &session.points {
            assert!(files(&session.folder.join(&point.folder)).is_empty());
        }
        assert_eq!(session.finish(false).unwrap().done, 2);
    }

    /// The rows of runs that are in the one file, and not in files of points.
    #[test]
    fn rows_of_all_runs_come_with_the_summary() {
        let folder = Folder::new("rows");
        let words = ["queue.core=fifo,qfq", "--replicas", "3"];
        assert_eq!(
            run(folder.session(&words, Behaviours::of_program())),
            [0, 6, 0]
        );
        let summary = folder
            .session(&words, Behaviours::of_program())
            .finish(true)
            .unwrap();
        let mut seeds = Vec::new();
        for (_, rows) in &summary.rows {
            seeds.push(rows.iter().map(|row| row.seed).collect::<Vec<_>>());
        }
        assert_eq!(seeds, [[1, 2, 3], [1, 2, 3]]);
    }

    /// Where all runs that are asked for are known, more are asked for until the interval is narrow
    /// enough or no more are allowed.
    #[test]
    fn known_runs_are_added_until_the_interval_is_narrow() {
        let folder = Folder::new("known");
        let poisson = "source.a.kind=poisson";
        assert_eq!(
            run(folder.session(&[poisson, "--replicas", "12"], Behaviours::of_program())),
            [0, 12, 0]
        );
        let words = [
            poisson,
            "--replicas",
            "2",
            "--figure",
            "a.delay_mean",
            "--until",
            "ci=0.0001%",
            "--max-replicas",
            "12",
        ];
        let mut session = folder.session(&words, Behaviours::of_program());
        let precision = "ci=0.0001%".parse().expect("a precision");
        super::super::until::run(&mut session, precision).unwrap();
        assert_eq!(session.targets, Some(vec![12]));
        assert_eq!(session.finish(false).unwrap().done, 0, "all are known");
    }

    /// The sources of a figure are those of any point with results.
    #[test]
    fn a_figure_needs_one_point_with_results() {
        for point in [0, 1] {
            let folder = Folder::new(&format!("figure-{point}"));
            let words = ["queue.core=fifo,qfq", "--figure", "a.delay_mean"];
            let session = folder.session(&words, Behaviours::of_program());
            assert_eq!(session.figure().unwrap(), None);
            let jobs = session.pending().unwrap();
            session.run(jobs[point]).unwrap();
            let (source, _) = session.figure().unwrap().expect("a figure");
            assert_eq!(source, "a");
        }
    }

    /// Each of the first wrong points has a message, and the others are counted.
    #[test]
    fn wrong_points_are_told_up_to_five() {
        let folder = Folder::new("wrong");
        for (count, more) in [(4, None), (5, None), (7, Some("and 2 more points"))] {
            let names: Vec<String> = (0..count).map(|number| format!("no{number}")).collect();
            let queue = format!("queue.core={}", names.join(","));
            let Err(failure) = folder.open(&[&queue], Behaviours::of_program()) else {
                panic!("{queue} is legal");
            };
            let message = failure.to_string();
            let told = message.matches("no discipline is called").count();
            assert_eq!(told, count.min(5), "{message}");
            let last = message
                .lines()
                .last()
                .filter(|line| line.contains("more point"));
            assert_eq!(last, more, "{message}");
        }
    }

    /// Regression: after a sweep was killed and its scenario edited, the dataset kept a journal and a
    /// file for each point for ever.
    #[test]
    fn a_dataset_is_one_file_after_an_edited_scenario() {
        let folder = Folder::new("edited");
        let words = ["source.a.packet_len=500..509+1", "--replicas", "3"];
        let session = folder.session(&words, Behaviours::of_program());
        let jobs = session.pending().unwrap();
        for job in &jobs[..20] {
            session.run(*job).unwrap();
        }
        // As if killed: the journal stays.
        drop(session);
        let edited = SCENARIO.replace("100ms", "200ms");
        std::fs::write(folder.0.join("s.toml"), edited).unwrap();
        assert_eq!(
            run(folder.session(&words, Behaviours::of_program())),
            [0, 30, 0]
        );
        assert_eq!(at_rest(&folder), [".lock", "runs.parquet"]);
        assert_eq!(
            run(folder.session(&words, Behaviours::of_program())),
            [30, 0, 0]
        );
    }

    /// Runs of values that the next plan lacks are not lost.
    #[test]
    fn runs_of_other_values_move_from_a_journal_into_the_file() {
        let folder = Folder::new("moved");
        let words = ["source.a.packet_len=500..504+1", "--replicas", "2"];
        let session = folder.session(&words, Behaviours::of_program());
        for job in session.pending().unwrap() {
            session.run(job).unwrap();
        }
        drop(session);
        let others = ["source.a.packet_len=504..506+1", "--replicas", "2"];
        assert_eq!(
            run(folder.session(&others, Behaviours::of_program())),
            [2, 4, 0]
        );
        assert_eq!(at_rest(&folder), [".lock", "runs.parquet"]);
        assert_eq!(
            run(folder.session(&words, Behaviours::of_program())),
            [10, 0, 0]
        );
    }

    /// The names in a dataset's folder.
    fn at_rest(folder: &Folder) -> Vec<String> {
        let mut names = Vec::new();
        for entry in std::fs::read_dir(folder.0.join("out")).unwrap() {
            names.push(entry.unwrap().file_name().into_string().unwrap());
        }
        names.sort();
        names
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

    /// Values named as files are folders. Equal runs get a note, others do not.
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
            "1 point in the dataset with other values or from earlier versions, not checked";
        assert_eq!(notes(&folder, &["name=a.parquet"]), [others]);
        let equal = "is the same for all seeds of a point: nothing random had an effect, so no \
            difference is chance and there is no interval";
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
