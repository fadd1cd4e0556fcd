//! Cache of runs: a file of JSON lines per paper, with one line for each part and seed.
//!
//! A run's key is the version of its code ([`Versions`](crate::runner::Versions)), and a hash of
//! its inputs and the seed. So a run is repeated when its code, plan or seed changes, but not when
//! only a comment in the plan does, and plans share what they have in common. An interrupted
//! process may leave an incomplete line. Each line begins with a digest of the rest, so such lines,
//! and any others that were altered, are skipped. When a cache of more than 128 MiB is opened, it
//! is cut to its newest 64 MiB. Several processes may share a cache, because each writer holds the
//! lock file beside it while writing.
//!
//! A file of the same lines stands beside a paper's records: the finished runs of items whose
//! record is not complete yet ([`Cache::with_parts`]). It goes with the repository, so that a
//! measurement of many hours goes on where it stopped, on any machine.

mod line;

use std::collections::{BTreeSet, HashMap};
use std::fs::{self, File};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use roundelay_metrics::cpu_seconds;
use roundelay_report::{open_to_append, refuse_special, replace_file, sealed, unsealed};

use crate::experiments::{Failed, Outcome};

/// Size in bytes above which a paper's cache loses its older half.
const LARGEST: usize = 128 << 20;

/// A finished run.
#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    key: String,
    /// The part's name in the plan that ran it.
    part: String,
    /// CPU seconds that the run took.
    pub seconds: f64,
    /// What the run returned.
    pub outcome: Outcome,
}

impl Done {
    /// The run as that of a part with the same inputs in another plan, where it may have another
    /// name.
    fn under(mut self, part: &str) -> Self {
        for row in &mut self.outcome.rows {
            let Some(rest) = row.run.strip_prefix(&self.part) else {
                continue;
            };
            if rest.is_empty() || rest.starts_with(" by ") {
                row.run = format!("{part}{rest}");
            }
        }
        part.clone_into(&mut self.part);
        self
    }
}

/// One paper's runs: in the user's cache, and in the file beside the records.
#[derive(Debug, Default)]
pub struct Cache {
    own: Store,
    parts: Option<Store>,
}

impl Cache {
    /// No cache: runs everything.
    pub fn none() -> Self {
        Self::default()
    }

    /// Opens a paper's cache in a folder, which is created if missing.
    ///
    /// # Errors
    /// The operating system's error, with the path.
    pub fn open(folder: &Path, paper: &str) -> Result<Self, Failed> {
        let own = Store::open(&folder.join(format!("{paper}.jsonl")), LARGEST, false)?;
        Ok(Self { own, parts: None })
    }

    /// This cache, and all its new runs also in the file at `path`, with six digits.
    ///
    /// # Errors
    /// The operating system's error, with the path.
    pub fn with_parts(self, path: &Path) -> Result<Self, Failed> {
        let parts = Some(Store::open(path, usize::MAX, true)?);
        Ok(Self { parts, ..self })
    }

    /// Removes all runs except these from the file beside the records, and the file if none is
    /// left.
    ///
    /// # Errors
    /// The operating system's error, with the path.
    pub fn keep_parts(&self, keys: &BTreeSet<String>) -> Result<(), Failed> {
        match &self.parts {
            Some(parts) => parts.keep(keys),
            None => Ok(()),
        }
    }

    /// True if a run is finished.
    pub fn has(&self, key: &str) -> bool {
        self.find(key).is_some()
    }

    /// Finds a finished run.
    fn find(&self, key: &str) -> Option<Done> {
        let own = self.own.find(key);
        match &self.parts {
            Some(parts) if own.is_none() => parts.find(key),
            _ => own,
        }
    }

    /// Finds the finished run of a part, or runs and keeps it.
    ///
    /// # Errors
    /// Why the run failed, or the operating system's error, with the path.
    pub fn find_or_run(
        &self,
        key: &str,
        part: &str,
        run: impl FnOnce() -> Result<Outcome, Failed>,
    ) -> Result<Done, Failed> {
        if let Some(done) = self.find(key) {
            let done = done.under(part);
            self.add(&done)?;
            return Ok(done);
        }
        let began = cpu_seconds();
        let mut outcome = run()?;
        // A division by zero gives no number, so the figure has no value with this seed.
        outcome.rows.retain(|row| row.value.is_finite());
        let done = Done {
            key: key.to_owned(),
            part: part.to_owned(),
            seconds: cpu_seconds() - began,
            outcome,
        };
        self.add(&done)?;
        Ok(done)
    }

    /// Writes a run to where it is missing.
    fn add(&self, done: &Done) -> Result<(), Failed> {
        self.own.add(done)?;
        match &self.parts {
            Some(parts) => parts.add(done),
            None => Ok(()),
        }
    }
}

/// A file of finished runs, or none: then they are known to this process alone.
#[derive(Debug, Default)]
struct Store {
    path: Option<PathBuf>,
    /// True if numbers are written with six digits.
    is_short: bool,
    done: Mutex<HashMap<String, Done>>,
    file: Mutex<()>,
}

impl Store {
    /// Opens a file, whose folder is created if missing. If it has more than `largest` bytes, it
    /// loses its older half.
    fn open(path: &Path, largest: usize, is_short: bool) -> Result<Self, Failed> {
        let folder = path.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)
            .map_err(|error| Failed(format!("{}: {error}", folder.display())))?;
        let _lock = lock(path).map_err(|error| failed(path, error))?;
        let mut bytes = read(path).map_err(|error| failed(path, error))?;
        let is_cut = bytes.len() > largest;
        if is_cut {
            bytes.drain(..bytes.len() - largest / 2);
        }
        let text = String::from_utf8_lossy(&bytes);
        let mut text = &*text;
        if is_cut {
            // The cut may have taken the beginning of the first line.
            text = match text.split_once('\n') {
                Some((_, newest)) => newest,
                None => "",
            };
            replace_file(path, text.as_bytes()).map_err(Failed::from)?;
        }
        let mut done = HashMap::new();
        for run in text.lines().filter_map(done_of_line) {
            done.insert(run.key.clone(), run);
        }
        Ok(Self {
            path: Some(path.to_owned()),
            is_short,
            done: Mutex::new(done),
            file: Mutex::default(),
        })
    }

    fn find(&self, key: &str) -> Option<Done> {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.get(key).cloned()
    }

    /// Writes a run, if it is missing.
    fn add(&self, run: &Done) -> Result<(), Failed> {
        {
            let mut done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
            if done.contains_key(&run.key) {
                return Ok(());
            }
            done.insert(run.key.clone(), run.clone());
        }
        let Some(path) = &self.path else {
            return Ok(());
        };
        let line = sealed(&line::written(run, self.is_short)?);
        let _guard = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        append(path, &line).map_err(|error| failed(path, error))
    }

    /// Rewrites the file without other runs than these. Runs that another process has added since
    /// are examined too.
    fn keep(&self, keys: &BTreeSet<String>) -> Result<(), Failed> {
        let Some(path) = &self.path else {
            return Ok(());
        };
        let _guard = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let lock = lock(path).map_err(|error| failed(path, error))?;
        let bytes = read(path).map_err(|error| failed(path, error))?;
        let mut kept = String::new();
        for line in String::from_utf8_lossy(&bytes).lines() {
            if done_of_line(line).is_some_and(|run| keys.contains(&run.key)) {
                kept.push_str(line);
                kept.push('\n');
            }
        }
        if !kept.is_empty() {
            return replace_file(path, kept.as_bytes()).map_err(Failed::from);
        }
        if path.exists() {
            fs::remove_file(path).map_err(|error| failed(path, error))?;
        }
        drop(lock);
        fs::remove_file(lock_file(path)).map_err(|error| failed(path, error))
    }
}

fn failed(path: &Path, error: std::io::Error) -> Failed {
    Failed(format!("{}: {error}", path.display()))
}

/// The run in a line. None if the line is incomplete or altered.
fn done_of_line(line: &str) -> Option<Done> {
    line::read(&unsealed(line)?)
}

/// Reads a cache; one that is missing is empty. Whatever else has its name may be somebody else's,
/// or never end.
fn read(cache: &Path) -> std::io::Result<Vec<u8>> {
    match fs::symlink_metadata(cache) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        other => refuse_special(&other?)?,
    }
    fs::read(cache)
}

/// Appends a line to a cache while holding its lock. An interrupted process may have left an
/// incomplete line, which is ended first.
fn append(cache: &Path, line: &str) -> std::io::Result<()> {
    let _lock = lock(cache)?;
    let mut file = open_to_append(cache)?;
    let end = if ends_within_a_line(cache)? { "\n" } else { "" };
    file.write_all(format!("{end}{line}\n").as_bytes())
}

fn ends_within_a_line(cache: &Path) -> std::io::Result<bool> {
    let mut file = File::open(cache)?;
    if file.metadata()?.len() == 0 {
        return Ok(false);
    }
    file.seek(SeekFrom::End(-1))?;
    let mut last = [0];
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// Locks a cache against other processes until the returned file is closed.
fn lock(cache: &Path) -> std::io::Result<File> {
    let file = open_to_append(&lock_file(cache))?;
    file.lock()?;
    Ok(file)
}

fn lock_file(cache: &Path) -> PathBuf {
    cache.with_extension("lock")
}

/// Hashes a list of texts with 64-bit FNV-1a, in hexadecimal. Where each text ends counts too.
pub fn hash<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for text in texts {
        for byte in text.bytes().chain([0xff]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Row;

    fn done(key: &str, outcome: Outcome) -> Done {
        Done {
            key: key.to_owned(),
            part: "A".to_owned(),
            seconds: 0.5,
            outcome,
        }
    }

    #[test]
    fn what_was_done_is_found_and_half_a_line_is_not() {
        let folder = std::env::temp_dir().join(format!("roundelay-cache-{}", std::process::id()));
        let outcome = Outcome {
            rows: vec![Row::scalar("A", "delay", 0.1 + 0.2)],
            trace: vec!["a step".to_owned()],
        };
        let cache = Cache::open(&folder, "qfq").unwrap();
        cache.add(&done("one", outcome.clone())).unwrap();
        let path = folder.join("qfq.jsonl");
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{}", &whole[..whole.len() / 2])).unwrap();
        cache.add(&done("two", outcome.clone())).unwrap();
        let again = Cache::open(&folder, "qfq").unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(
            again.find("one").map(|done| done.outcome),
            Some(outcome),
            "numbers come back to the last bit"
        );
        assert_eq!(again.find("two").map(|done| done.seconds), Some(0.5));
        assert_eq!(again.own.done.lock().unwrap().len(), 2);
    }

    /// Regression: a value edited in the cache was printed as ours.
    #[test]
    fn a_changed_line_is_not_found() {
        let folder =
            std::env::temp_dir().join(format!("roundelay-cache-changed-{}", std::process::id()));
        let outcome = Outcome {
            rows: vec![Row::scalar("A", "delay", 0.25)],
            trace: Vec::new(),
        };
        let cache = Cache::open(&folder, "qfq").unwrap();
        cache.add(&done("one", outcome)).unwrap();
        let path = folder.join("qfq.jsonl");
        let whole = fs::read_to_string(&path).unwrap();
        assert!(Cache::open(&folder, "qfq").unwrap().find("one").is_some());
        fs::write(&path, whole.replace("0.25", "0.35")).unwrap();
        let changed = Cache::open(&folder, "qfq").unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert!(whole.contains("0.25") && changed.find("one").is_none());
    }

    #[test]
    fn old_runs_do_not_pile_up() {
        let folder =
            std::env::temp_dir().join(format!("roundelay-cache-old-{}", std::process::id()));
        let add = |run: &str| {
            let cache = Cache::open(&folder, "qfq").unwrap();
            cache.add(&done(run, Outcome::default())).unwrap();
        };
        ["one", "two", "three"].into_iter().for_each(add);
        let path = folder.join("qfq.jsonl");
        let size = fs::read_to_string(&path).unwrap().len();
        let kept = Store::open(&path, size, false).unwrap();
        assert!(
            ["one", "two", "three"]
                .iter()
                .all(|run| kept.find(run).is_some())
        );
        let cut = Store::open(&path, size - 1, false).unwrap();
        let again = Store::open(&path, size, false).unwrap();
        fs::remove_dir_all(&folder).unwrap();
        for cache in [cut, again] {
            assert!(cache.find("one").is_none() && cache.find("three").is_some());
        }
    }

    /// A measurement of many hours goes on from this file, on another machine as well.
    #[test]
    fn parts_are_found_without_the_users_cache_and_removed_when_nobody_needs_them() {
        let folder =
            std::env::temp_dir().join(format!("roundelay-cache-parts-{}", std::process::id()));
        let path = folder.join("records/parts.jsonl");
        let open = |user: &str| {
            let own = Cache::open(&folder.join(user), "ups").unwrap();
            own.with_parts(&path).unwrap()
        };
        let run = |cache: &Cache, key: &str| {
            let row = Row::scalar("A", "delay", 1.0 / 3.0);
            let outcome = Outcome {
                rows: vec![row],
                trace: Vec::new(),
            };
            let done = cache.find_or_run(key, "A", || Ok(outcome)).unwrap();
            done.outcome.rows[0].value
        };
        let first = open("first");
        assert_eq!(run(&first, "one"), 1.0 / 3.0);
        run(&first, "two");
        let second = open("second");
        assert_eq!(run(&second, "one"), 0.333333, "six digits");
        second
            .keep_parts(&BTreeSet::from(["two".to_owned()]))
            .unwrap();
        let third = open("third");
        assert!(!third.has("one") && third.has("two"));
        assert!(
            open("second").has("one"),
            "found before, so in its own cache"
        );
        third.keep_parts(&BTreeSet::new()).unwrap();
        let left = fs::read_dir(path.parent().unwrap()).unwrap().count();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(left, 0);
    }

    /// A plan may call the same run otherwise.
    #[test]
    fn a_run_has_the_name_that_its_part_has_in_the_plan() {
        let rows = |names: [&str; 3]| Vec::from(names.map(|name| Row::scalar(name, "delay", 1.0)));
        let outcome = Outcome {
            rows: rows(["70% by FQ", "70% by FQ by LSTF", "70% by FQ-CoDel"]),
            trace: Vec::new(),
        };
        let cache = Cache::none();
        let run = || Ok(outcome.clone());
        cache.find_or_run("key", "70% by FQ", run).unwrap();
        let done = cache.find_or_run("key", "I2", || panic!("known")).unwrap();
        let expected = rows(["I2", "I2 by LSTF", "70% by FQ-CoDel"]);
        assert_eq!(done.outcome.rows, expected);
    }

    /// Regression: a named pipe in place of the cache was read for ever.
    #[cfg(unix)]
    #[test]
    fn a_named_pipe_is_no_cache() {
        let folder =
            std::env::temp_dir().join(format!("roundelay-cache-pipe-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        for name in ["qfq.lock", "qfq.jsonl"] {
            let pipe = folder.join(name);
            drop(fs::remove_file(&pipe));
            let made = std::process::Command::new("mkfifo").arg(&pipe).status();
            assert!(made.unwrap().success());
            let Failed(message) = Cache::open(&folder, "qfq").unwrap_err();
            assert!(message.contains("not a regular file"), "{message}");
            fs::remove_file(&pipe).unwrap();
        }
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn lines_of_several_writers_stay_whole() {
        let folder =
            std::env::temp_dir().join(format!("roundelay-cache-writers-{}", std::process::id()));
        let long = |run: usize| Outcome {
            rows: Vec::new(),
            trace: vec![run.to_string().repeat(20_000)],
        };
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let folder = &folder;
                scope.spawn(move || {
                    // Reopened for each run, as by separate processes.
                    (0..20).for_each(|run| {
                        let cache = Cache::open(folder, "qfq").unwrap();
                        let run = done(&format!("p-{writer}-{run}"), long(run));
                        cache.add(&run).unwrap();
                    });
                });
            }
        });
        let cache = Cache::open(&folder, "qfq").unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(cache.own.done.lock().unwrap().len(), 80);
    }

    #[test]
    fn a_hash_is_of_each_text_and_their_borders() {
        assert_eq!(hash(["a", "bc"]), hash(["a", "bc"]));
        assert_ne!(hash(["a", "bc"]), hash(["ab", "c"]));
    }
}
