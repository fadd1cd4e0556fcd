//! A point of a sweep: values for the swept keys, and the known and pending runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rayon::iter::{IndexedParallelIterator, IntoParallelRefIterator, ParallelIterator};
use roundelay::Fault;
use roundelay_report::{SweepFile, SweepRow, clean};
use roundelay_sim::scenario::Scenario;

use super::behaviour::Behaviours;
use super::done::Done;
use super::folder::{LABELS, files, folder_of};
use super::identity::{FileHashes, Origin};
use super::plan::{Base, Plan};
use super::task::read_with;
use super::values::{Values, labels, word};
use crate::failure::Failure;
use crate::host::Host;
use crate::scenario::{Read, check_length};
use crate::threads::in_pool;

/// In sweeps of up to this many points, scenarios stay in memory from the check until the run.
const MOST_KEPT_POINTS: usize = 20_000;
/// Scenarios with more links are read again for the run.
const MOST_KEPT_LINKS: usize = 64;
/// Most wrong points with a message. The others are only counted.
const MOST_MESSAGES: usize = 5;

/// A point of the plan.
pub(super) struct Point {
    pub(super) values: Values,
    pub(super) labels: Vec<(String, String)>,
    /// The point's folder in the dataset.
    pub(super) folder: PathBuf,
    pub(super) origin: Origin,
    pub(super) identity: String,
    /// The changes since the folder's runs. None for a new point.
    pub(super) changes: Option<Vec<String>>,
    /// Runs that the dataset's files have.
    pub(super) stored: BTreeMap<u64, Vec<SweepRow>>,
    fresh: Mutex<Fresh>,
}

/// A point's runs from journals and from this session.
#[derive(Default)]
pub(super) struct Fresh {
    /// Runs that are not in the file yet.
    pub(super) runs: BTreeMap<u64, Done>,
    /// Runs that are written into the file, with results if somebody asks for a figure.
    pub(super) written: BTreeMap<u64, Option<Done>>,
    /// Runs that are still to come.
    pub(super) pending: usize,
    /// The scenario, while runs are pending.
    pub(super) scenario: Option<Arc<Scenario>>,
}

impl Point {
    pub(super) fn fresh(&self) -> MutexGuard<'_, Fresh> {
        self.fresh.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether the run with this seed is known.
    pub(super) fn has(&self, seed: u64) -> bool {
        let fresh = self.fresh();
        self.stored.contains_key(&seed)
            || fresh.runs.contains_key(&seed)
            || fresh.written.contains_key(&seed)
    }

    /// A source's figure, by seed.
    pub(super) fn figures(&self, source: &str, figure: usize) -> BTreeMap<u64, Option<f64>> {
        let mut all = BTreeMap::new();
        for (seed, rows) in &self.stored {
            let row = rows.iter().find(|row| *row.source == *source);
            all.insert(*seed, row.and_then(|row| row.figures[figure]));
        }
        let fresh = self.fresh();
        for (seed, done) in &fresh.runs {
            all.insert(*seed, done.figure(source, figure));
        }
        for (seed, done) in &fresh.written {
            if let Some(done) = done {
                all.insert(*seed, done.figure(source, figure));
            }
        }
        all
    }

    /// The sources' names, if a run is known.
    pub(super) fn sources(&self) -> Vec<String> {
        let mut names = Vec::new();
        if let Some(rows) = self.stored.values().next() {
            for row in rows {
                names.push(row.source.to_string());
            }
            return names;
        }
        let fresh = self.fresh();
        let mut known = fresh.runs.values().chain(fresh.written.values().flatten());
        if let Some(done) = known.next() {
            for (name, _) in &done.rows {
                names.push(name.to_string());
            }
        }
        names
    }

    /// The keys' values, as the dataset has them.
    pub(super) fn values_as_labels(&self) -> Vec<String> {
        let mut values = Vec::new();
        for (_, value) in &self.labels {
            values.push(value.clone());
        }
        values
    }

    /// Metadata for the point's file.
    pub(super) fn metadata(&self) -> Vec<(String, String)> {
        let mut metadata = self.origin.metadata(&self.identity);
        let labels = serde_json::json!(self.values_as_labels());
        metadata.push((LABELS.to_owned(), labels.to_string()));
        metadata
    }

    /// Keys and values in words.
    pub(super) fn name(&self) -> String {
        name_of(&self.labels)
    }

    /// The point's file in a dataset.
    pub(super) fn file(&self, dataset: &Path) -> PathBuf {
        let name = format!("{}.parquet", self.identity);
        dataset.join(&self.folder).join(name)
    }
}

/// Keys and values in words.
pub(super) fn name_of(labels: &[(String, String)]) -> String {
    let mut words = Vec::new();
    for (key, value) in labels {
        words.push(format!("{key}={value}"));
    }
    words.join(" ")
}

/// What the check of a point needs beside its values.
pub(super) struct Check<'a> {
    pub(super) plan: &'a Plan,
    /// The dataset's folder.
    pub(super) folder: &'a Path,
    pub(super) behaviours: &'a Behaviours,
    pub(super) host: &'a Host,
    /// Whether somebody asks for runs of more than 10^10 events.
    pub(super) is_long: bool,
    /// Whether known runs keep their rows, for a figure.
    pub(super) with_rows: bool,
    pub(super) threads: Option<u16>,
}

impl Check<'_> {
    /// Checks all points.
    ///
    /// # Errors
    /// A point is no valid scenario. In that case nothing has been run.
    pub(super) fn points(&self) -> Result<Vec<Point>, Failure> {
        let plan = self.plan;
        let hashes = FileHashes::default();
        let all: Vec<Result<Point, Fault>> = in_pool(self.threads, || {
            let values = plan.points.par_iter().with_min_len(8);
            values.map(|values| self.point(values, &hashes)).collect()
        })?;
        let mut points = Vec::new();
        let mut faults = Vec::new();
        let mut more = 0;
        for (values, point) in plan.points.iter().zip(all) {
            match point {
                Ok(point) => points.push(point),
                Err(fault) if faults.len() < MOST_MESSAGES => {
                    faults.push(fault_of_point(plan, values, fault));
                }
                Err(_) => more += 1,
            }
        }
        faults.dedup();
        let mut faults = faults.into_iter();
        let Some(mut first) = faults.next() else {
            return Ok(points);
        };
        // The first one's data, and the messages of all.
        for other in faults {
            first = first.with_hint(&format!("\n{other}"));
        }
        if more > 0 {
            first = first.with_hint(&format!("\nand {more} more points"));
        }
        Err(Failure::usage(first))
    }

    /// A point's scenario, as a table and as it is read.
    pub(super) fn scenario(&self, values: &Values) -> Result<(toml::Table, Scenario), Fault> {
        let Self { plan, host, .. } = self;
        let (table, text) = text_of(plan, values)?;
        let Base { name, folder, .. } = plan.base(values);
        let scenario = match &host.parts {
            Some(parts) => read_with(&(parts.make)(), name, &text, folder, &host.stop)?,
            None => Read::of_text(name, &text, folder, &[], &host.stop)?,
        };
        Ok((table, scenario))
    }

    fn point(&self, values: &Values, hashes: &FileHashes) -> Result<Point, Fault> {
        let Self { plan, host, .. } = self;
        let (table, scenario) = self.scenario(values)?;
        check_length(&scenario, self.is_long)?;
        let origin = Origin::new(&table, &scenario, self.behaviours, hashes)?;
        let identity = origin.identity();
        let labels = labels(values);
        let folder = folder_of(&labels);
        let mut changes = None;
        let mut stored = BTreeMap::new();
        for path in files(&self.folder.join(&folder)) {
            let Ok(file) = SweepFile::read(&path) else {
                continue;
            };
            if path.file_stem().is_some_and(|stem| *stem == *identity) {
                changes = Some(Vec::new());
                for row in file.rows {
                    let rows: &mut Vec<SweepRow> = stored.entry(row.seed).or_default();
                    if self.with_rows {
                        rows.push(row);
                    }
                }
            } else if stored.is_empty() {
                changes = Origin::of_metadata(&file.metadata).map(|before| origin.changes(&before));
            }
        }
        let is_kept = host.parts.is_none()
            && plan.points.len() <= MOST_KEPT_POINTS
            && scenario.topology.network.links().len() <= MOST_KEPT_LINKS
            && scenario.files.is_empty();
        let fresh = Fresh {
            scenario: is_kept.then(|| Arc::new(scenario)),
            ..Fresh::default()
        };
        Ok(Point {
            values: values.clone(),
            labels,
            folder,
            origin,
            identity,
            changes,
            stored,
            fresh: Mutex::new(fresh),
        })
    }
}

/// A point's scenario, as a table and as text.
pub(super) fn text_of(plan: &Plan, values: &Values) -> Result<(toml::Table, String), Fault> {
    let table = plan.resolved(values)?;
    let mut pairs = values.iter();
    let text = if pairs.all(|(key, value)| plan.named(key, value).is_some()) {
        plan.base(values).text.clone()
    } else {
        toml::to_string(&table).map_err(|error| error.to_string())?
    };
    Ok((table, text))
}

/// The fault of a wrong point. If the scenario itself is wrong, the fault has the line.
fn fault_of_point(plan: &Plan, values: &Values, fault: Fault) -> Fault {
    let no_captures: &roundelay_sim::scenario::ReadCapture<'_> = &|_, _, _| Ok(Vec::new());
    let base = plan.base(values);
    let own = Scenario::from_toml_with(&base.name, &base.text, &base.folder, no_captures);
    if let Err(own) = own.map_err(|own| own.map(clean))
        && own.message() == fault.message()
    {
        return own;
    }
    let mut words = Vec::new();
    for (key, value) in values {
        words.push(word(key, value));
    }
    let words = clean(&words.join(" "));
    fault
        .behind(format_args!("{words}: "))
        .in_file(&*base.name, 0)
}
