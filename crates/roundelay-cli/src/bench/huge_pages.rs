//! Huge pages. With millions of packets, memory accesses also wait while the processor walks page
//! tables, and pages of 2 MB need few such walks.
//!
//! The allocator decides. glibc from 2.35 on uses huge pages if an environment variable asks for
//! them when the program starts.

use std::env;
use std::fs;
use std::hint::black_box;
use std::os::unix::process::CommandExt;
use std::process::Command;

use crate::failure::Failure;

const TUNABLES: &str = "GLIBC_TUNABLES";
const REQUEST: &str = "glibc.malloc.hugetlb=1";
/// glibc 2.36 sometimes fails to detect huge pages on a system that has them.
const TRIES: usize = 16;
/// So large that any allocator with huge pages uses them.
const SAMPLE: usize = 64 << 20;

/// Restarts the program with a request for huge pages in its environment. Returns only in the
/// restarted program.
///
/// # Errors
/// There are no huge pages: the system has none, or the C library is not glibc.
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
        "--huge-pages needs Linux with transparent huge pages \
         (/sys/kernel/mm/transparent_hugepage/enabled: madvise or always) and glibc of at least \
         2.35: with {TUNABLES}={tunables} this program has none"
    )))
}

/// Whether this process was started with the request.
pub(super) fn are_asked_for() -> bool {
    requests() > 0
}

/// The number of requests in the environment. Each restart adds one.
fn requests() -> usize {
    tunables()
        .split(':')
        .filter(|tunable| *tunable == REQUEST)
        .count()
}

fn tunables() -> String {
    env::var(TUNABLES).unwrap_or_default()
}

/// Returns only on failure.
fn start_anew(tunables: &str) -> Failure {
    let all = [tunables, REQUEST]
        .into_iter()
        .filter(|tunable| !tunable.is_empty())
        .collect::<Vec<_>>()
        .join(":");
    let error = env::current_exe().map(|program| {
        Command::new(program)
            .args(env::args_os().skip(1))
            .env(TUNABLES, all)
            .exec()
    });
    Failure::run(format!(
        "--huge-pages: the program cannot be started anew: {}",
        error.unwrap_or_else(|error| error)
    ))
}

fn gives_them() -> bool {
    let sample = black_box(vec![1u8; SAMPLE]);
    let bytes = huge_bytes();
    drop(sample);
    bytes > 0
}

/// This process's bytes in huge pages, if the system reports them.
fn huge_bytes() -> u64 {
    let text = fs::read_to_string("/proc/self/smaps_rollup").unwrap_or_default();
    let kilobytes = text.lines().find_map(|line| {
        line.strip_prefix("AnonHugePages:")?
            .trim()
            .strip_suffix(" kB")?
            .parse::<u64>()
            .ok()
    });
    kilobytes.unwrap_or(0) << 10
}
