//! The file with all runs of a dataset, `DIR/runs.parquet`. The last process that works on a
//! dataset writes it from the files of the points, which it replaces: thousands of small files cost
//! a reader hundreds of times as much.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use roundelay_report::{PointRuns, SweepFile, SweepRow, SweepRuns, replace_file};

use super::folder::{JOURNAL, LABELS, RUNS_FILE, entries, files, sync};
use super::identity::Origin;
use super::point::Point;

/// Most rows in the file: a third of a gigabyte in memory. Larger datasets keep a file a point.
const MOST_ROWS: usize = 250_000;
/// Key of a point's metadata: its identity.
const POINT: &str = "roundelay.point";

/// The runs in the file.
#[derive(Debug, Default)]
pub(super) struct Kept(SweepRuns);

impl Kept {
    /// The runs of a dataset's file; none if there is no file.
    ///
    /// # Errors
    /// The file cannot be read, or is damaged.
    pub(super) fn read(dataset: &Path) -> Result<Self, String> {
        let path = dataset.join(RUNS_FILE);
        if !path.exists() {
            return Ok(Self::default());
        }
        match SweepRuns::read(&path) {
            Ok(runs) => Ok(Self(runs)),
            Err(error) => Err(format!(
                "{error}; expected the file as it was written, or none: without it all its runs \
                 are run again"
            )),
        }
    }

    /// The swept keys; none without a file.
    pub(super) fn keys(&self) -> Option<&[String]> {
        (!self.0.points.is_empty()).then_some(&self.0.keys)
    }

    /// Gives points the runs that are theirs, with rows if asked, and tells of each other point
    /// what has changed. Returns the number of points in the file with other values.
    pub(super) fn give(self, points: &mut [Point], with_rows: bool) -> usize {
        let mut by_labels: HashMap<Vec<String>, Vec<PointRuns>> = HashMap::new();
        for kept in self.0.points {
            by_labels.entry(kept.labels.clone()).or_default().push(kept);
        }
        for point in points {
            let Some(known) = by_labels.remove(&point.values_as_labels()) else {
                continue;
            };
            for kept in known {
                if identity_of(&kept) == point.identity {
                    point.changes = Some(Vec::new());
                    let mut stored: BTreeMap<u64, Vec<SweepRow>> = BTreeMap::new();
                    for row in kept.rows {
                        let rows = stored.entry(row.seed).or_default();
                        if with_rows {
                            rows.push(row);
                        }
                    }
                    // Runs in the file of the point are the same.
                    stored.append(&mut point.stored);
                    point.stored = stored;
                } else if point.changes.is_none() {
                    let before = Origin::of_metadata(&kept.metadata);
                    point.changes = before.map(|before| point.origin.changes(&before));
                }
            }
        }
        by_labels.into_values().map(|kept| kept.len()).sum()
    }

    /// Rows of a point by its identity.
    pub(super) fn by_identity(self) -> HashMap<String, Vec<SweepRow>> {
        let mut rows = HashMap::new();
        for kept in self.0.points {
            rows.insert(identity_of(&kept).to_owned(), kept.rows);
        }
        rows
    }
}

/// Identity of a point.
fn identity_of(point: &PointRuns) -> &str {
    let mut metadata = point.metadata.iter();
    match metadata.find(|(key, _)| key == POINT) {
        Some((_, identity)) => identity,
        None => "",
    }
}

/// A file of a point.
struct OfPoint {
    path: PathBuf,
    runs: PointRuns,
}

/// Moves the runs of all files of points into the one file. Files without labels, of earlier
/// versions and outside the plan, stay; so do all if there are too many rows.
///
/// The dataset is locked, and no other process works on it. Killed at any time, the dataset has
/// each run in one of its files or in both.
///
/// # Errors
/// A file cannot be read or written.
pub(super) fn compact(dataset: &Path, keys: &[String], plan: &[Point]) -> Result<(), String> {
    let mut labels = HashMap::new();
    for point in plan {
        labels.insert(point.file(dataset), point.values_as_labels());
    }
    let mut found = Vec::new();
    for path in files_below(dataset) {
        found.extend(of_point(&path, labels.get(&path)));
    }
    if found.is_empty() {
        return Ok(());
    }
    let Kept(mut all) = Kept::read(dataset)?;
    let mut numbers = HashMap::new();
    for (number, kept) in all.points.iter().enumerate() {
        numbers.insert(identity_of(kept).to_owned(), number);
    }
    for file in &mut found {
        let runs = std::mem::take(&mut file.runs);
        match numbers.get(identity_of(&runs)) {
            Some(number) => merge(&mut all.points[*number], runs),
            None => all.points.push(runs),
        }
    }
    remove_superseded(&mut all.points, plan);
    all.points.sort_by(order);
    all.keys = keys.to_vec();
    let mut rows = 0;
    for point in &all.points {
        rows += point.rows.len();
    }
    if rows > MOST_ROWS {
        return Ok(());
    }
    let path = dataset.join(RUNS_FILE);
    let failed = |error: io::Error| format!("{}: {error}", path.display());
    let bytes = all
        .bytes()
        .map_err(|error| format!("{}: {error}", path.display()))?;
    replace_file(&path, &bytes).map_err(|error| error.to_string())?;
    // The new name must be on disk before the files of the points go.
    sync(dataset).map_err(failed)?;
    for file in &found {
        remove(dataset, &file.path).map_err(failed)?;
    }
    Ok(())
}

/// Parquet files below a folder but for the one with all runs.
fn files_below(folder: &Path) -> Vec<PathBuf> {
    let mut all = files(folder);
    all.retain(|path| !path.is_dir());
    for path in entries(folder).unwrap_or_default() {
        if path.is_dir() && !path.is_symlink() && !path.ends_with(JOURNAL) {
            all.extend(files_below(&path));
        }
    }
    all
}

/// The runs of a file; none for one that is not as it was written, or without labels.
fn of_point(path: &Path, labels: Option<&Vec<String>>) -> Option<OfPoint> {
    let SweepFile { mut metadata, rows } = SweepFile::read(path).ok()?;
    let index = metadata.iter().position(|(key, _)| key == LABELS);
    let own = index.map(|index| metadata.remove(index).1);
    let labels = match (own, labels) {
        (Some(own), _) => serde_json::from_str(&own).ok()?,
        (None, Some(labels)) => labels.clone(),
        (None, None) => return None,
    };
    let runs = PointRuns {
        labels,
        metadata,
        rows,
    };
    Some(OfPoint {
        path: path.to_owned(),
        runs,
    })
}

/// Adds runs to those of the same point. Runs of a seed are the same wherever they stand.
fn merge(kept: &mut PointRuns, new: PointRuns) {
    let mut by_seed: BTreeMap<u64, Vec<SweepRow>> = BTreeMap::new();
    for row in std::mem::take(&mut kept.rows) {
        by_seed.entry(row.seed).or_default().push(row);
    }
    let mut seeds = HashSet::new();
    for row in new.rows {
        let rows = by_seed.entry(row.seed).or_default();
        if seeds.insert(row.seed) {
            rows.clear();
        }
        rows.push(row);
    }
    kept.rows = by_seed.into_values().flatten().collect();
    kept.metadata = new.metadata;
}

/// Removes points with the values of a point of the plan and another origin, if the plan's point
/// has runs.
fn remove_superseded(points: &mut Vec<PointRuns>, plan: &[Point]) {
    let mut planned = HashMap::new();
    for point in plan {
        planned.insert(point.values_as_labels(), point.identity.as_str());
    }
    let mut present = HashSet::new();
    for point in &*points {
        present.insert(identity_of(point).to_owned());
    }
    points.retain(|point| match planned.get(&point.labels) {
        Some(identity) => identity_of(point) == *identity || !present.contains(*identity),
        None => true,
    });
}

/// By the values of the keys, numbers by size and before texts; then by identity.
fn order(one: &PointRuns, other: &PointRuns) -> Ordering {
    for (value, beside) in one.labels.iter().zip(&other.labels) {
        let order = match (value.parse::<f64>(), beside.parse::<f64>()) {
            (Ok(value), Ok(beside)) => value.total_cmp(&beside),
            (Ok(_), Err(_)) => Ordering::Less,
            (Err(_), Ok(_)) => Ordering::Greater,
            (Err(_), Err(_)) => Ordering::Equal,
        };
        let order = order.then_with(|| value.cmp(beside));
        if order != Ordering::Equal {
            return order;
        }
    }
    identity_of(one).cmp(identity_of(other))
}

/// Removes a file, and the folders that it leaves empty.
fn remove(dataset: &Path, path: &Path) -> io::Result<()> {
    fs::remove_file(path)?;
    let mut folder = path.parent();
    while let Some(empty) = folder
        && empty != dataset
        && fs::remove_dir(empty).is_ok()
    {
        folder = empty.parent();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(labels: &[&str], identity: &str, seeds: &[u64]) -> PointRuns {
        let mut rows = Vec::new();
        for &seed in seeds {
            for source in ["a", "all"] {
                rows.push(SweepRow {
                    identity: format!("{identity}{seed}").into(),
                    seed,
                    replica: seed - 1,
                    source: source.into(),
                    figures: Vec::new(),
                });
            }
        }
        PointRuns {
            labels: labels.iter().map(|label| (*label).to_owned()).collect(),
            metadata: vec![(POINT.to_owned(), identity.to_owned())],
            rows,
        }
    }

    #[test]
    fn points_are_in_the_order_of_their_values() {
        let mut points = [
            point(&["qfq", "2"], "a", &[]),
            point(&["fifo", "10"], "b", &[]),
            point(&["fifo", "9.5"], "c", &[]),
            point(&["fifo", "x"], "d", &[]),
            point(&["5", "x"], "e", &[]),
            point(&["fifo", "10"], "a", &[]),
        ];
        points.sort_by(order);
        let labels: Vec<String> = points.iter().map(|point| point.labels.join(" ")).collect();
        assert_eq!(
            labels,
            ["5 x", "fifo 9.5", "fifo 10", "fifo 10", "fifo x", "qfq 2"]
        );
        assert_eq!(identity_of(&points[2]), "a");
    }

    #[test]
    fn runs_of_one_seed_count_once() {
        let mut kept = point(&["fifo"], "a", &[1, 3]);
        merge(&mut kept, point(&["fifo"], "a", &[2, 3]));
        assert_eq!(kept, point(&["fifo"], "a", &[1, 2, 3]));
    }
}
