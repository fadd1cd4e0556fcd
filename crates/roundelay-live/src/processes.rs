//! Processes that a run's commands have started: they end with the run.
//!
//! This process adopts what its commands leave behind. When a process's parent ends it becomes our
//! child, even if it has left its process group and its session. So at the end of a run we find all
//! descendants if we end the children again and again until none is left.

use std::fs;
use std::io;
use std::time::{Duration, Instant};

use crate::sys;

/// From now on, adopts orphans among our descendants.
///
/// # Errors
/// The system does not allow it.
pub fn adopt_orphans() -> io::Result<()> {
    sys::adopt_orphans()
}

/// Collects adopted processes that have ended. `ours` are left to whoever started them.
pub fn collect_orphans(ours: &[u32]) {
    while let Some(ended) = sys::ended_child() {
        if ours.contains(&ended) {
            return;
        }
        sys::collect(ended);
    }
}

/// Ends all descendants and collects them. Returns how many children did not end within `most`.
/// Some may not, because ending another user's program takes privileges.
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

/// Processes whose parent is this one.
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

/// The parent in a line from `/proc/PID/stat`, as proc(5) describes it. The name before it is in
/// parentheses and may contain any letters.
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
