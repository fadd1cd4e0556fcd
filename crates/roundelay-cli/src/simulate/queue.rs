//! What `simulate --queue` puts into the routers: a discipline, or a tree of disciplines from a
//! file.

use std::path::PathBuf;
use std::sync::Arc;

use roundelay::{Fault, Limit, QueueSpec};
use roundelay_report::clean;
use roundelay_sim::scenario::Scenario;
use roundelay_trace::arguments::{parse_buffer, parse_spec};

use crate::compare::read_tree;
use crate::failure::Failure;
use crate::host::Host;

/// A value of `--queue`.
#[derive(Debug, Clone)]
pub(crate) enum Queue {
    /// A discipline.
    Discipline(QueueSpec),
    /// A tree.
    Tree {
        /// Its file.
        path: PathBuf,
        /// The buffer. None: the buffers that the queues have.
        limit: Option<Limit>,
    },
}

/// Reads a discipline in `tc` syntax, or `tree FILE`, with a limit if you want one, as in
/// scenarios.
///
/// # Errors
/// The discipline or the limit is wrong, or the tree has no file.
pub(crate) fn parse_queue(text: &str) -> Result<Queue, Fault> {
    let (name, rest) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
    if name.ends_with(".toml") {
        let fault = Fault::new(format!(
            "'{name}' is no discipline; a tree of disciplines in a file: \"tree {name}\""
        ));
        return Err(fault.with_given(name));
    }
    if name != "tree" {
        return parse_spec(text).map(Queue::Discipline);
    }
    let (file, limit) = match rest.rsplit_once(" limit ") {
        Some((file, limit)) => (file, Some(parse_buffer(limit.trim())?)),
        None => (rest, None),
    };
    if file.trim().is_empty() {
        return Err(Fault::wanted("a tree's file, as in \"tree home.toml\""));
    }
    Ok(Queue::Tree {
        path: PathBuf::from(file.trim()),
        limit,
    })
}

impl Queue {
    /// The discipline as `tc` writes it, or `tree` and the file.
    pub(super) fn name(&self) -> String {
        match self {
            Self::Discipline(queue) => queue.discipline.to_string(),
            Self::Tree { path, .. } => format!("tree {}", clean(&path.display().to_string())),
        }
    }

    /// The buffer, if the text sets one.
    pub(super) const fn limit(&self) -> Option<Limit> {
        match self {
            Self::Discipline(queue) => queue.limit,
            Self::Tree { limit, .. } => *limit,
        }
    }

    /// The discipline, unless it is a tree.
    pub(crate) const fn discipline_mut(&mut self) -> Option<&mut QueueSpec> {
        match self {
            Self::Discipline(queue) => Some(queue),
            Self::Tree { .. } => None,
        }
    }

    /// Puts the queue into all routers of a scenario, and returns the text of the tree's file.
    ///
    /// # Errors
    /// The scenario has no routers, the tree's file is no tree, or the scenario has no decision
    /// cost for the queue.
    pub(super) fn put_into(
        &self,
        name: &str,
        scenario: &mut Scenario,
        host: &Host,
    ) -> Result<Option<String>, Failure> {
        let mut written = None;
        let changed = match self {
            Self::Discipline(queue) => scenario.set_queues(queue),
            Self::Tree { path, limit } => {
                let (tree, text) = read_tree(path, &host.stop)?;
                written = Some(text);
                scenario.set_trees(&Arc::new(tree), *limit)
            }
        };
        let changed = changed.map_err(|error| {
            let fault = Fault::from(error).behind("--queue: ");
            Failure::usage(fault.in_file(name, 0))
        })?;
        if changed == 0 {
            return Err(Failure::usage(format!(
                "{name}: --queue is for the queues of routers, and there are none"
            )));
        }
        Ok(written)
    }
}
