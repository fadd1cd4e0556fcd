//! Cache of runs: a file of JSON lines per paper, with one line for each part and seed.
//!
//! A run's key is the version of its code ([`Versions`](crate::runner::Versions)), and the hash of
//! the `[run]` table and the seed. So a run is repeated when its code, plan or seed changes, but
//! not when only a comment in the plan does. An interrupted process may leave an incomplete line.
//! Each line begins with a digest of the rest, so such lines, and any others that were altered, are
//! skipped. When a cache of more than 128 MiB is opened, it is cut to its newest 64 MiB. Several
//! processes may share a cache, because each writer holds the lock file beside it while writing.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use roundelay_bench::cpu_seconds;
use roundelay_report::{open_to_append, refuse_special, replace_file, sealed, unsealed};
use serde::{Deserialize, Serialize};

use crate::experiments::{Failed, Outcome};

/// Size in bytes above which a paper's cache loses its older half.
const LARGEST: usize = 128 << 20;

/// A finished run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Done {
    key: String,
    /// CPU seconds that the run took.
    pub seconds: f64,
    /// What the run returned.
    pub outcome: Outcome,
}

/// One paper's runs.
#[derive(Debug, Default)]
pub struct Cache {
    path: Option<PathBuf>,
    done: Mutex<HashMap<String, Done>>,
    file: Mutex<()>,
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
        Self::open_within(folder, paper, LARGEST)
    }

    fn open_within(folder: &Path, paper: &str, largest: usize) -> Result<Self, Failed> {
        let path = folder.join(format!("{paper}.jsonl"));
        let failed = |error: std::io::Error| Failed(format!("{}: {error}", path.display()));
        fs::create_dir_all(folder)
            .map_err(|error| Failed(format!("{}: {error}", folder.display())))?;
        let _lock = lock(&path).map_err(failed)?;
        let mut bytes = match read(&path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            other => other.map_err(failed)?,
        };
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
            replace_file(&path, text.as_bytes()).map_err(Failed::from)?;
        }
        let mut done = HashMap::new();
        for line in text.lines().filter_map(unsealed) {
            if let Ok(run) = serde_json::from_str::<Done>(&line) {
                done.insert(run.key.clone(), run);
            }
        }
        Ok(Self {
            path: Some(path),
            done: Mutex::new(done),
            file: Mutex::default(),
        })
    }

    /// Finds a finished run.
    pub fn find(&self, key: &str) -> Option<Done> {
        let done = self.done.lock().unwrap_or_else(PoisonError::into_inner);
        done.get(key).cloned()
    }

    /// Finds a finished run, or runs and keeps it.
    ///
    /// # Errors
    /// Why the run failed, or the operating system's error, with the path.
    pub fn find_or_run(
        &self,
        key: &str,
        run: impl FnOnce() -> Result<Outcome, Failed>,
    ) -> Result<Done, Failed> {
        if let Some(done) = self.find(key) {
            return Ok(done);
        }
        let began = cpu_seconds();
        let mut outcome = run()?;
        // A division by zero gives no number, so the figure has no value with this seed.
        outcome.rows.retain(|row| row.value.is_finite());
        self.add(key.to_owned(), cpu_seconds() - began, outcome)
    }

    /// Writes a run to the cache.
    ///
    /// # Errors
    /// The operating system's error, with the path.
    pub fn add(&self, key: String, seconds: f64, outcome: Outcome) -> Result<Done, Failed> {
        let done = Done {
            key,
            seconds,
            outcome,
        };
        self.done
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .insert(done.key.clone(), done.clone());
        let Some(path) = &self.path else {
            return Ok(done);
        };
        // Start on a new line, because an interrupted process may have left an incomplete one.
        let line = format!(
            "\n{}\n",
            sealed(&serde_json::to_string(&done).map_err(Failed::from)?)
        );
        let _guard = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        append(path, &line).map_err(|error| Failed(format!("{}: {error}", path.display())))?;
        Ok(done)
    }
}

/// Reads a cache. Whatever else has its name may be somebody else's, or never end.
fn read(cache: &Path) -> std::io::Result<Vec<u8>> {
    refuse_special(&fs::symlink_metadata(cache)?)?;
    fs::read(cache)
}

/// Appends a line to a cache while holding its lock.
fn append(cache: &Path, line: &str) -> std::io::Result<()> {
    let _lock = lock(cache)?;
    open_to_append(cache)?.write_all(line.as_bytes())
}

/// Locks a cache against other processes until the returned file is closed.
fn lock(cache: &Path) -> std::io::Result<File> {
    let file = open_to_append(&cache.with_extension("lock"))?;
    file.lock()?;
    Ok(file)
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

    #[test]
    fn what_was_done_is_found_and_half_a_line_is_not() {
        let folder = std::env::temp_dir().join(format!("roundelay-cache-{}", std::process::id()));
        let outcome = Outcome {
            rows: vec![Row::scalar("A", "delay", 0.1 + 0.2)],
            trace: vec!["a step".to_owned()],
        };
        let cache = Cache::open(&folder, "qfq").unwrap();
        cache.add("one".to_owned(), 0.5, outcome.clone()).unwrap();
        let path = folder.join("qfq.jsonl");
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}{}", &whole[..whole.len() / 2])).unwrap();
        cache.add("two".to_owned(), 0.5, outcome.clone()).unwrap();
        let again = Cache::open(&folder, "qfq").unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(
            again.find("one").map(|done| done.outcome),
            Some(outcome),
            "numbers come back to the last bit"
        );
        assert_eq!(again.find("two").map(|done| done.seconds), Some(0.5));
        assert_eq!(again.done.lock().unwrap().len(), 2);
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
        cache.add("one".to_owned(), 0.5, outcome).unwrap();
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
            drop(
                Cache::open(&folder, "qfq")
                    .unwrap()
                    .add(run.to_owned(), 0.5, Outcome::default())
                    .unwrap(),
            );
        };
        ["one", "two", "three"].into_iter().for_each(add);
        let size = fs::read_to_string(folder.join("qfq.jsonl")).unwrap().len();
        let kept = Cache::open_within(&folder, "qfq", size).unwrap();
        assert!(
            ["one", "two", "three"]
                .iter()
                .all(|run| kept.find(run).is_some())
        );
        let cut = Cache::open_within(&folder, "qfq", size - 1).unwrap();
        let again = Cache::open(&folder, "qfq").unwrap();
        fs::remove_dir_all(&folder).unwrap();
        for cache in [cut, again] {
            assert!(cache.find("one").is_none() && cache.find("three").is_some());
        }
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
                        drop(Cache::open(folder, "qfq").unwrap().add(
                            format!("p-{writer}-{run}"),
                            0.0,
                            long(run),
                        ))
                    });
                });
            }
        });
        let cache = Cache::open(&folder, "qfq").unwrap();
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(cache.done.lock().unwrap().len(), 80);
    }

    #[test]
    fn a_hash_is_of_each_text_and_their_borders() {
        assert_eq!(hash(["a", "bc"]), hash(["a", "bc"]));
        assert_ne!(hash(["a", "bc"]), hash(["ab", "c"]));
    }
}
