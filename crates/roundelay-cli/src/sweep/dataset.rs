//! Dataset of a sweep at work: Parquet files in folders by swept keys, and a journal of unfinished
//! points.
//!
//! `DIR/KEY=VALUE/.../POINT.parquet` has the runs of one point. While a process works, it appends
//! each finished run to `DIR/.journal/NAME/runs.jsonl`. A killed process leaves its journal, and
//! the next one takes it over. A file gets its name when complete. At the end the file system is
//! synced, the journal removed, and all runs moved into one file ([`compact`](super::compact)).

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime};

use roundelay::Fault;
use roundelay_report::{SweepFile, SweepRow, open_to_append, refuse_special, sealed, unsealed};
use roundelay_trace::Stop;
use serde::{Deserialize, Serialize};

use super::done::Done;
use super::folder::{JOURNAL, RUNS_FILE, entries, escaped, files, has_extension, is_parquet, sync};
use crate::failure::Failure;

/// Name of the file with the runs of a journal.
const RUNS: &str = "runs.jsonl";
/// Name of the file that a process locks while changing the dataset.
const LOCK: &str = ".lock";
/// Time between two syncs of the journal. A killed process loses nothing; a power failure these
/// runs.
const SYNC_EVERY: Duration = Duration::from_secs(5);
/// Pauses between two attempts to lock the dataset.
const SHORTEST_PAUSE: Duration = Duration::from_micros(100);
const LONGEST_PAUSE: Duration = Duration::from_millis(50);

/// The journal of this process.
#[derive(Debug)]
struct Journal {
    folder: PathBuf,
    file: File,
    synced: Instant,
    /// Number of temporary files so far.
    files: u64,
    /// The points that it describes.
    described: HashSet<String>,
}

/// An open dataset.
#[derive(Debug)]
pub(super) struct Dataset {
    folder: PathBuf,
    /// The file that stands for the dataset; locked while the dataset changes.
    lock: Mutex<File>,
    stop: Stop,
    journal: Mutex<Journal>,
    /// Journals of ended processes, locked.
    adopted: Vec<(PathBuf, File)>,
    /// Runs in journals.
    pub(super) found: Vec<Done>,
    /// Metadata of the points of these runs, by identity.
    pub(super) described: HashMap<String, Metadata>,
}

/// Metadata of a point's file, with its labels.
type Metadata = Vec<(String, String)>;

/// A point in a journal, before its first run there: a later sweep of another plan can then move its
/// runs into the dataset.
#[derive(Serialize, Deserialize)]
struct Described {
    described: String,
    metadata: Metadata,
}

/// Length and time of a file, to detect a replacement.
#[derive(Debug, PartialEq, Eq)]
struct State(u64, SystemTime);

impl State {
    fn of(path: &Path) -> Option<Self> {
        let metadata = fs::metadata(path).ok()?;
        Some(Self(metadata.len(), metadata.modified().ok()?))
    }
}

/// A dataset locked against other processes and threads.
struct Locked<'a>(MutexGuard<'a, File>);

impl Drop for Locked<'_> {
    fn drop(&mut self) {
        // The lock also ends with the process.
        drop(self.0.unlock());
    }
}

/// Locks the dataset. Asks again and again, because a blocked process would not hear of a stop.
///
/// # Errors
/// The operating system's error, or a stop was requested while another process held the lock.
fn lock<'a>(file: &'a Mutex<File>, stop: &Stop) -> io::Result<Locked<'a>> {
    let file = file.lock().unwrap_or_else(PoisonError::into_inner);
    let mut pause = SHORTEST_PAUSE;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Locked(file)),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if stop.is_requested() => {
                return Err(io::ErrorKind::Interrupted.into());
            }
            Err(TryLockError::WouldBlock) => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

impl Dataset {
    /// Opens the dataset in a folder, made if missing, over these keys.
    ///
    /// # Errors
    /// The operating system's error, the folder has a sweep over other keys, or a stop was
    /// requested.
    pub(super) fn open(folder: &Path, keys: &[&str], stop: &Stop) -> Result<Self, Failure> {
        check_keys(folder, keys).map_err(Failure::usage)?;
        let of = |path: &Path, error: io::Error| {
            if stop.is_requested() {
                Failure::stopped()
            } else {
                Failure::run(format!("{}: {error}", path.display()))
            }
        };
        if folder.exists() && !folder.is_dir() {
            return Err(Failure::run(format!(
                "{}: not a folder; expected a folder, new or existing, for the runs",
                folder.display()
            )));
        }
        let journals = folder.join(JOURNAL);
        refuse_link(&journals).map_err(|error| of(folder, error))?;
        fs::create_dir_all(folder).map_err(|error| of(folder, error))?;
        let failed = |error: io::Error| of(&journals, error);
        // Under the lock: a process that ends removes an empty folder of journals.
        let path = folder.join(LOCK);
        let lock_file = open_to_append(&path).map_err(|error| of(&path, error))?;
        let lock_file = Mutex::new(lock_file);
        let locked = lock(&lock_file, stop).map_err(|error| of(&path, error))?;
        fs::create_dir_all(&journals).map_err(failed)?;
        let mut adopted = Vec::new();
        let mut found = Vec::new();
        let mut described = HashMap::new();
        for path in entries(&journals).map_err(failed)? {
            refuse_link(&path).map_err(failed)?;
            read_journal(&path, &mut found, &mut described).map_err(failed)?;
            // A living process holds the lock.
            let Ok(file) = open_to_append(&path.join(RUNS)) else {
                continue;
            };
            match file.try_lock() {
                Ok(()) => adopted.push((path, file)),
                Err(TryLockError::WouldBlock) => {}
                Err(TryLockError::Error(error)) => return Err(failed(error)),
            }
        }
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        let now = now.unwrap_or_default().as_nanos();
        let own = journals.join(format!("{}-{now}", std::process::id()));
        fs::create_dir(&own).map_err(failed)?;
        let file = open_to_append(&own.join(RUNS)).map_err(failed)?;
        file.lock().map_err(failed)?;
        let journal = Mutex::new(Journal {
            folder: own,
            file,
            synced: Instant::now(),
            files: 0,
            described: HashSet::new(),
        });
        drop(locked);
        Ok(Self {
            folder: folder.to_owned(),
            lock: lock_file,
            stop: stop.clone(),
            journal,
            adopted,
            found,
            described,
        })
    }

    /// Appends a run to the journal, and before a point's first run the metadata of its file.
    ///
    /// # Errors
    /// The operating system's error.
    pub(super) fn note(
        &self,
        done: &Done,
        metadata: impl FnOnce() -> Metadata,
    ) -> Result<(), String> {
        let mut line = done.line() + "\n";
        let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
        if !journal.described.contains(&done.point) {
            journal.described.insert(done.point.clone());
            let described = Described {
                described: done.point.clone(),
                metadata: metadata(),
            };
            let text = serde_json::to_string(&described).expect("texts are JSON");
            line = sealed(&text) + "\n" + &line;
        }
        let failed = |error: io::Error| format!("{}: {error}", self.folder.join(JOURNAL).display());
        journal.file.write_all(line.as_bytes()).map_err(failed)?;
        if journal.synced.elapsed() < SYNC_EVERY {
            return Ok(());
        }
        journal.synced = Instant::now();
        // Other threads go on meanwhile.
        let file = journal.file.try_clone().map_err(failed)?;
        drop(journal);
        file.sync_data().map_err(failed)
    }

    /// Adds runs to the file of a point, and removes files of the folder with runs of another
    /// origin.
    ///
    /// # Errors
    /// The operating system's error.
    pub(super) fn add<'a>(
        &self,
        folder: &Path,
        point: &str,
        metadata: &[(String, String)],
        runs: impl IntoIterator<Item = &'a Done>,
    ) -> Result<(), String> {
        self.add_to(folder, point, metadata, runs, true)
    }

    /// Adds runs to the file of a point that another plan has, and leaves other files alone.
    ///
    /// # Errors
    /// The operating system's error.
    pub(super) fn add_beside<'a>(
        &self,
        folder: &Path,
        point: &str,
        metadata: &[(String, String)],
        runs: impl IntoIterator<Item = &'a Done>,
    ) -> Result<(), String> {
        self.add_to(folder, point, metadata, runs, false)
    }

    fn add_to<'a>(
        &self,
        folder: &Path,
        point: &str,
        metadata: &[(String, String)],
        runs: impl IntoIterator<Item = &'a Done>,
        replaces: bool,
    ) -> Result<(), String> {
        let folder = self.folder.join(folder);
        let path = folder.join(format!("{point}.parquet"));
        let failed = |error: io::Error| format!("{}: {error}", path.display());
        self.refuse_links(&folder).map_err(failed)?;
        let mut is_new = create(&folder).map_err(failed)?;
        let partial = {
            let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
            journal.files += 1;
            journal.folder.join(format!("{}.partial", journal.files))
        };
        let mut new: BTreeMap<u64, Vec<SweepRow>> = BTreeMap::new();
        for done in runs {
            new.insert(done.seed, done.rows());
        }
        loop {
            let before = if is_new { None } else { State::of(&path) };
            // An incomplete file, after a power failure, is replaced.
            let file = if before.is_some() {
                SweepFile::read(&path).unwrap_or_default()
            } else {
                SweepFile::default()
            };
            let mut all: BTreeMap<u64, Vec<SweepRow>> = BTreeMap::new();
            for row in file.rows {
                all.entry(row.seed).or_default().push(row);
            }
            all.extend(new.clone());
            let file = SweepFile {
                metadata: metadata.to_vec(),
                rows: all.into_values().flatten().collect(),
            };
            let bytes = file
                .bytes()
                .map_err(|error| format!("{}: {error}", path.display()))?;
            write_new(&partial, &bytes).map_err(failed)?;
            let _locked = lock(&self.lock, &self.stop).map_err(failed)?;
            self.refuse_links(&folder).map_err(failed)?;
            // Otherwise another process has added runs of the same point meanwhile.
            if State::of(&path) == before {
                fs::rename(&partial, &path).map_err(failed)?;
                if is_new || !replaces {
                    return Ok(());
                }
                for other in entries(&folder).map_err(failed)? {
                    if is_parquet(&other) && other != path && !other.ends_with(RUNS_FILE) {
                        fs::remove_file(&other).map_err(failed)?;
                    }
                }
                return Ok(());
            }
            is_new = false;
        }
    }

    /// Refuses symbolic links among the folders down to that of a point.
    fn refuse_links(&self, folder: &Path) -> io::Result<()> {
        for part in folder.ancestors() {
            if part == self.folder {
                break;
            }
            refuse_link(part)?;
        }
        Ok(())
    }

    /// Ends without work: removes the journal of this process, and a folder without content.
    ///
    /// # Errors
    /// The operating system's error.
    pub(super) fn leave(self) -> Result<(), String> {
        let failed = |error: io::Error| format!("{}: {error}", self.folder.display());
        let own = self
            .journal
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        fs::remove_dir_all(&own.folder).map_err(failed)?;
        drop(fs::remove_dir(self.folder.join(JOURNAL)));
        if entries(&self.folder).map_err(failed)? == [self.folder.join(LOCK)] {
            fs::remove_dir_all(&self.folder).map_err(failed)?;
        }
        Ok(())
    }

    /// Ends the work: all files are on disk, and journals without other runs are removed. Returns
    /// the number of runs left in journals. If no other process is at work, `at_rest` is called with
    /// the dataset locked.
    ///
    /// # Errors
    /// The operating system's error.
    pub(super) fn finish(
        self,
        is_written: impl Fn(&Done) -> bool,
        at_rest: impl FnOnce() -> Result<(), String>,
    ) -> Result<usize, String> {
        let failed = |error: io::Error| format!("{}: {error}", self.folder.display());
        let _locked = lock(&self.lock, &self.stop).map_err(failed)?;
        sync(&self.folder).map_err(failed)?;
        let left = self.found.iter().filter(|done| !is_written(done)).count();
        let own = self
            .journal
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        if left == 0 {
            for (path, _) in &self.adopted {
                fs::remove_dir_all(path).map_err(failed)?;
            }
        }
        fs::remove_dir_all(&own.folder).map_err(failed)?;
        // Not empty: another process is at work, or runs of another plan wait there.
        if fs::remove_dir(self.folder.join(JOURNAL)).is_ok() {
            at_rest()?;
        }
        Ok(left)
    }
}

/// Writes a file under a name that nothing else may have; that of an attempt before is removed.
fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    File::create_new(path)?.write_all(bytes)
}

/// Reads the runs in the files of a journal, and what it says of their points.
fn read_journal(
    journal: &Path,
    runs: &mut Vec<Done>,
    described: &mut HashMap<String, Metadata>,
) -> io::Result<()> {
    for file in entries(journal)? {
        if has_extension(&file, "jsonl") {
            refuse_special(&fs::metadata(&file)?)?;
            let bytes = fs::read(&file)?;
            let text = String::from_utf8_lossy(&bytes);
            for line in text.lines() {
                if let Some(done) = Done::parse(line) {
                    runs.push(done);
                } else if let Some(text) = unsealed(line)
                    && let Ok(point) = serde_json::from_str::<Described>(&text)
                {
                    described.insert(point.described, point.metadata);
                }
            }
        }
    }
    Ok(())
}

/// Makes a folder, and those above. Returns whether the folder is new.
fn create(folder: &Path) -> io::Result<bool> {
    match fs::create_dir(folder) {
        Ok(()) => Ok(true),
        Err(_) => fs::create_dir_all(folder).map(|()| false),
    }
}

/// Refuses a symbolic link in place of a folder: files are made, replaced and removed by known names
/// below it, so whoever may write to a dataset's folder could lead a sweep into folders of others.
fn refuse_link(folder: &Path) -> io::Result<()> {
    if folder.is_symlink() {
        let name = folder.file_name().unwrap_or_default().display();
        return Err(io::Error::other(format!(
            "{name} is a symbolic link; expected a folder"
        )));
    }
    Ok(())
}

/// Number of Parquet files below a folder whose paths are not in `known`.
pub(super) fn others(folder: &Path, known: &BTreeSet<PathBuf>) -> usize {
    let mut count = 0;
    for path in entries(folder).unwrap_or_default() {
        if is_parquet(&path) && !path.is_dir() {
            count += usize::from(!known.contains(&path) && !path.ends_with(RUNS_FILE));
        } else if !path.ends_with(JOURNAL) {
            // A file has no paths.
            count += others(&path, known);
        }
    }
    count
}

/// # Errors
/// The folder has a dataset over other keys, or Parquet files without keys.
fn check_keys(folder: &Path, keys: &[&str]) -> Result<(), Fault> {
    let mut found = Vec::new();
    let mut path = folder.to_owned();
    while let Some((next, key)) = folder_of_key(&path) {
        found.push(key);
        path = next;
    }
    let is_there = !found.is_empty() || !files(folder).is_empty();
    let mut expected = Vec::new();
    for key in keys {
        expected.push(escaped(key));
    }
    // A process killed while making the folders of a point leaves the first folders alone.
    let is_begun = expected.starts_with(&found) && files(&path).is_empty();
    if !is_there || found == expected || is_begun {
        return Ok(());
    }
    Err(other_keys(folder, &found, &expected))
}

/// The fault of a folder with a sweep over other keys.
pub(super) fn other_keys(folder: &Path, found: &[String], expected: &[String]) -> Fault {
    let found = listed(found);
    let expected = listed(expected);
    Fault::wanted("another folder in --out")
        .behind(format_args!(
            "has a sweep over {found}; this one is over {expected}: "
        ))
        .in_file(folder.display().to_string(), 0)
}

/// Keys in words.
fn listed(keys: &[String]) -> String {
    if keys.is_empty() {
        "no keys".to_owned()
    } else {
        keys.join(", ")
    }
}

/// The first folder `KEY=VALUE` in a folder, with its key.
fn folder_of_key(folder: &Path) -> Option<(PathBuf, String)> {
    for path in entries(folder).unwrap_or_default() {
        let name = path.file_name().and_then(OsStr::to_str).unwrap_or_default();
        if let Some((key, _)) = name.split_once('=') {
            let key = key.to_owned();
            return Some((path, key));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use roundelay_report::SWEEP_FIGURES;

    use super::super::folder::folder_of;
    use super::*;

    fn done(seed: u64) -> Done {
        let figures = (0..SWEEP_FIGURES.len())
            .map(|number| (number % 2 > 0).then(|| (number as f64).sqrt() * 1e-7))
            .collect();
        Done {
            point: "ab".to_owned(),
            seed,
            replica: seed - 1,
            rows: vec![("calls".into(), figures)],
        }
    }

    #[test]
    fn lines_come_back_to_the_last_bit_and_half_a_line_does_not() {
        let line = done(u64::MAX).line();
        assert_eq!(Done::parse(&line), Some(done(u64::MAX)));
        (0..line.len()).for_each(|end| assert_eq!(Done::parse(&line[..end]), None));
    }

    /// Regression: a digit changed in a journal was a result.
    #[test]
    fn a_changed_line_is_no_result() {
        let line = done(5).line();
        for offset in 0..line.len() {
            let mut bytes = line.clone().into_bytes();
            bytes[offset] ^= 1;
            let changed = String::from_utf8(bytes).unwrap();
            assert_eq!(Done::parse(&changed), None, "{changed}");
        }
    }

    #[test]
    fn folders_are_named_as_in_urls() {
        let labels = [
            ("queue.core".to_owned(), "fq_codel limit 5".to_owned()),
            ("a".to_owned(), "0.5/x".to_owned()),
        ];
        assert_eq!(
            folder_of(&labels),
            Path::new("queue.core=fq_codel%20limit%205/a=0.5%2Fx")
        );
        let long = escaped(&"x".repeat(1000));
        assert!(
            long.len() < 255 && long != escaped(&"x".repeat(1001)),
            "{long}"
        );
        let long = escaped(&" ".repeat(1000));
        assert!(long.len() < 255, "three characters for each: {long}");
    }

    /// Regression: killed between two folders.
    #[test]
    fn folders_without_files_are_no_other_dataset() {
        let folder =
            std::env::temp_dir().join(format!("roundelay-dataset-begun-{}", std::process::id()));
        fs::create_dir_all(folder.join("k=1")).unwrap();
        assert_eq!(check_keys(&folder, &["k", "j"]), Ok(()));
        assert!(check_keys(&folder, &["j", "k"]).is_err());
        fs::write(folder.join("k=1/ab.parquet"), "").unwrap();
        assert!(check_keys(&folder, &["k", "j"]).is_err() && check_keys(&folder, &["k"]).is_ok());
        fs::remove_dir_all(&folder).unwrap();
    }

    /// At any depth, but for known ones, the one file with all runs, and the journal.
    #[test]
    fn other_files_are_counted() {
        let folder =
            std::env::temp_dir().join(format!("roundelay-dataset-others-{}", std::process::id()));
        let journal = format!("{JOURNAL}/1");
        for below in ["k=1/j=2", "k=2", "k=3.parquet", &journal] {
            fs::create_dir_all(folder.join(below)).unwrap();
        }
        let known = BTreeSet::from([folder.join("k=2/known.parquet")]);
        for file in [
            RUNS_FILE,
            "k=1/j=2/a.parquet",
            "k=1/j=2/b.parquet",
            "k=2/c.parquet",
            "k=2/known.parquet",
            "k=2/notes.txt",
            "k=3.parquet/d.parquet",
            &format!("{journal}/e.parquet"),
        ] {
            fs::write(folder.join(file), "").unwrap();
        }
        assert_eq!(others(&folder, &known), 4, "a, b, c and d");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_stop_is_heard_while_another_process_holds_the_lock() {
        let folder =
            std::env::temp_dir().join(format!("roundelay-dataset-locked-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let other = File::create(folder.join(LOCK)).unwrap();
        other.lock().unwrap();
        let stop = Stop::default();
        let waiting = std::thread::spawn({
            let folder = folder.clone();
            let stop = stop.clone();
            move || Dataset::open(&folder, &["k"], &stop).map(drop)
        });
        std::thread::sleep(LONGEST_PAUSE);
        assert!(!waiting.is_finished());
        stop.request();
        assert!(waiting.join().unwrap().unwrap_err().is_stopped_by_caller());
        drop(other);
        assert!(Dataset::open(&folder, &["k"], &Stop::default()).is_ok());
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn a_journal_of_an_ended_process_is_taken_over() {
        let folder = std::env::temp_dir().join(format!("roundelay-dataset-{}", std::process::id()));
        let open = || Dataset::open(&folder, &["k"], &Stop::default()).unwrap();
        let first = open();
        first.note(&done(1), Vec::new).unwrap();
        // The first process lives: its journal is read, and stays.
        let second = open();
        assert_eq!((second.found.len(), second.adopted.len()), (1, 0));
        second.add(Path::new("k=1"), "ab", &[], [&done(2)]).unwrap();
        assert_eq!(second.finish(|_| true, || Ok(())), Ok(0));
        drop(first);
        let third = open();
        assert_eq!(
            (third.found.clone(), third.adopted.len()),
            (vec![done(1)], 1)
        );
        third
            .add(Path::new("k=1"), "ab", &[], &third.found)
            .unwrap();
        third.add(Path::new("k=1"), "ab", &[], [&done(3)]).unwrap();
        assert_eq!(third.finish(|_| true, || Ok(())), Ok(0));
        let rows = SweepFile::read(&folder.join("k=1/ab.parquet"))
            .unwrap()
            .rows;
        assert_eq!(
            rows.iter().map(|row| row.seed).collect::<Vec<_>>(),
            [1, 2, 3]
        );
        assert!(!folder.join(JOURNAL).exists());
        let error = Dataset::open(&folder, &["other"], &Stop::default())
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("has a sweep over k; this one is over other"),
            "{error}"
        );
        // Runs of another plan stay in the journal.
        let fourth = Dataset::open(&folder, &["k"], &Stop::default()).unwrap();
        fourth.note(&done(9), Vec::new).unwrap();
        drop(fourth);
        assert_eq!(open().finish(|_| false, || Ok(())), Ok(1));
        assert_eq!(open().found, [done(9)]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
