//! Processes that the commands of a run have started: they end with the run.
//!
//! This process adopts what its commands leave behind: a process whose parent ends becomes a child of
//! ours, even one that has left its process group and its session. So at the end of a run all
//! descendants are found by ending the children, again and again, until none is left.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use crate::sys;

/// Adopts the orphans among our descendants from now on.
///
/// # Errors
/// The system does not allow it.
pub fn adopt_orphans() -> io::Result<()> {
    sys::adopt_orphans()
}

/// Collects adopted processes that have ended, but leaves `ours` to whoever started them.
pub fn collect_orphans(ours: &[u32]) {
    while let Some(ended) = sys::ended_child() {
        if ours.contains(&ended) {
            return;
        }
        sys::collect(ended);
    }
}

/// Ends all descendants, and collects them. The number of children that do not end within `most`,
/// because another user's program cannot be ended without privileges.
pub fn end_all(most: Duration) -> usize {
    const PAUSE: Duration = Duration::from_millis(2);
    let end = Instant::now() + most;
    loop {
        while let Some(ended) = sys::ended_child() {
            sys::collect(ended);
        }
        let children = children();
        if children.is_empty() || Instant::now() >= end {
            return children.len();
        }
        for child in children {
            sys::kill(child);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Processes whose parent is this process.
fn children() -> Vec<u32> {
    let mut children = Vec::new();
    let Ok(processes) = fs::read_dir("/proc") else {
        return children;
    };
    for process in processes.flatten() {
        let name = process.file_name();
        let Some(number) = name.to_str().and_then(|name| name.parse().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        if parent(&stat) == Some(std::process::id()) {
            children.push(number);
        }
    }
    children
}

/// The parent in a line of `/proc/PID/stat`, as proc(5) describes it. The name before it stands in
/// parentheses, and may have any letters.
fn parent(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent("12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parent("12 (a ) R 3 (b)) S 7 12"), Some(7));
        assert_eq!(parent(""), None);
    }
}
