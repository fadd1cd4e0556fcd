//! Huge pages: with millions of packets each reference to memory waits for the tables of pages as well, and pages of 2 MB need few of them.
//!
//! They are the allocator's to give. That of glibc, from version 2.35 on, does so if the environment of a program says so as it starts.

use std::env;
use std::fs;
use std::hint::black_box;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::failure::Failure;

const TUNABLES: &str = "GLIBC_TUNABLES";
const REQUEST: &str = "glibc.malloc.hugetlb=1";
/// glibc 2.36 now and then takes the system for one without huge pages where it has them.
const TRIES: usize = 16;
/// Large enough that an allocator which has huge pages takes them for it.
const SAMPLE: usize = 64 << 20;

/// Starts the program anew as one that has asked its allocator for huge pages, and there returns.
///
/// # Errors
/// There are none: the system gives none, or the C library is another one.
pub(super) fn insist() -> Result<(), Failure> {
    let tunables = tunables();
    let tries = requests();
    if tries > 0 && gives_them() {
        return Ok(());
    }
    if tries < TRIES {
        return Err(start_anew(&tunables));
    }
    Err(Failure::run(format!(
        "--huge-pages needs Linux with transparent huge pages (/sys/kernel/mm/transparent_hugepage/enabled: madvise or always) and glibc of at \
         least 2.35: with {TUNABLES}={tunables} this program has none"
    )))
}

/// Whether this is a program that has asked.
pub(super) fn are_asked_for() -> bool {
    requests() > 0
}

/// How often it has been asked: each start repeats what the one before has said.
fn requests() -> usize {
    tunables().split(':').filter(|tunable| *tunable == REQUEST).count()
}

fn tunables() -> String {
    env::var(TUNABLES).unwrap_or_default()
}

/// Returns only if that fails.
fn start_anew(tunables: &str) -> Failure {
    let all = [tunables, REQUEST].into_iter().filter(|tunable| !tunable.is_empty()).collect::<Vec<_>>().join(":");
    let error = env::current_exe().map(|program| Command::new(program).args(env::args_os().skip(1)).env(TUNABLES, all).exec());
    Failure::run(format!("--huge-pages: the program cannot be started anew: {}", error.unwrap_or_else(|error| error)))
}

fn gives_them() -> bool {
    let sample = black_box(vec![1u8; SAMPLE]);
    let bytes = huge_bytes();
    drop(sample);
    bytes > 0
}

/// Bytes of this program that lie in huge pages, as far as the system says so.
fn huge_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let kilobytes = text.lines().find_map(|line| line.strip_prefix("AnonHugePages:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) << 10
}
