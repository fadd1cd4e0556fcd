//! Processes that a run's commands have started: they end with the run, and no others do.
//!
//! Between this process and each command stands a keeper, a process without a program of its own.
//! When the parent of one of the command's processes ends, the process becomes the keeper's child,
//! even if it has left its process group and its session. So at the end of a run we find all that the
//! command started if we end the keeper's children again and again until none is left.
//!
//! This process itself may have other children and orphans: those that a shell started before it
//! became `roundelay` by `exec`, or all those of a container whose first process it is. They are
//! never the keeper's, so we leave them alone. A command that kills its keeper, as its parent, ends
//! with it; what it left behind then goes on.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use crate::sys::{self, ProcessDescriptor};
use crate::world::{Node, World, WorldError};

/// A command, and whatever it has started.
#[derive(Debug)]
pub struct Kept {
    keeper: Child,
    /// The keeper tells here how the command ended.
    told: OwnedFd,
    status: Option<ExitStatus>,
}

impl Kept {
    /// Starts a command at a node. Afterwards this thread is in the middle.
    ///
    /// # Errors
    /// The command cannot be started.
    pub fn start(world: &World, node: Node, command: &mut Command) -> Result<Self, WorldError> {
        let told = sys::keep(command).map_err(|error| WorldError::Call {
            what: "a pipe".to_owned(),
            error,
        })?;
        Ok(Self {
            keeper: world.start(node, command)?,
            told,
            status: None,
        })
    }

    /// How the command ended. None if it runs. What it has started may go on.
    ///
    /// # Errors
    /// The system does not tell.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        if self.status.is_none() {
            // In this order: a keeper that has ended has told before.
            let keeper = self.keeper.try_wait()?;
            let command = sys::command_status(&self.told);
            self.status = command.map(ExitStatus::from_raw).or(keeper);
        }
        Ok(self.status)
    }

    /// Ends the command and whatever it has started. Returns how many processes did not end within
    /// `most`. Some may not, because ending another user's program takes privileges.
    pub fn end(mut self, most: Duration) -> usize {
        const PAUSE: Duration = Duration::from_millis(2);
        let end = Instant::now() + most;
        loop {
            if matches!(self.keeper.try_wait(), Ok(Some(_))) {
                return 0;
            }
            let left = children(self.keeper.id());
            if Instant::now() >= end {
                _ = self.keeper.kill();
                _ = self.keeper.wait();
                return left.len();
            }
            for child in left {
                kill_child(child, self.keeper.id());
            }
            std::thread::sleep(PAUSE);
        }
    }
}

/// Ends a child of a process. The number may have gone to another process since we read it, so we
/// hold the process first, and then look whose child it is.
fn kill_child(child: u32, of: u32) {
    if let Ok(held) = ProcessDescriptor::of(child)
        && parent(child) == Some(of)
    {
        held.kill();
    }
}

/// The children of a process.
fn children(of: u32) -> Vec<u32> {
    let mut children = Vec::new();
    // In a `/proc` of another namespace, numbers are those of other processes.
    let own = fs::read_link("/proc/self").unwrap_or_default();
    if own != Path::new(&std::process::id().to_string()) {
        return children;
    }
    let Ok(processes) = fs::read_dir("/proc") else {
        return children;
    };
    for process in processes.flatten() {
        let name = process.file_name();
        let Some(Ok(number)) = name.to_str().map(str::parse) else {
            continue;
        };
        if parent(number) == Some(of) {
            children.push(number);
        }
    }
    children
}

/// The parent of a process.
fn parent(process: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    parent_in(&stat)
}

/// The parent in a line from `/proc/PID/stat`, as proc(5) describes it. The name before it is in
/// parentheses and may contain any letters.
fn parent_in(stat: &str) -> Option<u32> {
    let (_, rest) = stat.rsplit_once(')')?;
    rest.split_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parent_in("12 (sh) S 7 12 12 0"), Some(7));
        assert_eq!(parent_in("12 (a ) R 3 (b)) S 7 12"), Some(7));
        assert_eq!(parent_in(""), None);
    }

    #[test]
    fn only_a_child_is_killed() {
        let mut sleep = Command::new("sleep").arg("600").spawn().expect("it runs");
        let ours = std::process::id();
        assert!(children(ours).contains(&sleep.id()));
        kill_child(sleep.id(), 1);
        assert_eq!(sleep.try_wait().expect("a child of ours"), None);
        kill_child(sleep.id(), ours);
        let status = sleep.wait().expect("a child of ours");
        assert_eq!(status.signal(), Some(9));
    }
}
