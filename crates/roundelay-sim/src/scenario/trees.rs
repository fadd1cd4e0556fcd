//! Queues that are trees of disciplines: from files, or from `[trees.NAME]` in the scenario.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use roundelay_files::Reader;
use roundelay_trace::TreeFile;
use toml::Spanned;
use toml::de::DeValue;

use super::ScenarioError;
use crate::files::Files;

/// A scenario's trees.
#[derive(Default)]
pub(super) struct Trees {
    written: BTreeMap<String, Arc<TreeFile>>,
    /// Which trees queues use.
    wanted: RefCell<BTreeSet<String>>,
}

impl Trees {
    /// Reads the table `[trees]`.
    ///
    /// # Errors
    /// A table is not a valid tree. The error gives the line in the scenario.
    pub(super) fn read<'a>(
        reader: &Reader<'a>,
        table: Option<Spanned<DeValue<'a>>>,
    ) -> Result<Self, ScenarioError> {
        let Some(table) = table else {
            return Ok(Self::default());
        };
        let mut written = BTreeMap::new();
        for (name, value) in reader.table("trees", table)?.into_inner() {
            let name = name.into_inner().into_owned();
            let table = reader.table(&format!("trees.{name}"), value)?;
            let tree = TreeFile::from_table(reader, &name, table)?;
            written.insert(name, Arc::new(tree));
        }
        Ok(Self {
            written,
            wanted: RefCell::default(),
        })
    }

    /// The tree `name` that a queue uses: from the scenario, else from a file.
    ///
    /// # Errors
    /// There is no such tree or file, or the file does not hold a valid tree.
    pub(super) fn find(
        &self,
        reader: &Reader<'_>,
        path: &str,
        name: &str,
        files: &Files<'_>,
    ) -> Result<Arc<TreeFile>, ScenarioError> {
        if let Some(tree) = self.written.get(name) {
            self.wanted.borrow_mut().insert(name.to_owned());
            return Ok(Arc::clone(tree));
        }
        let known: Vec<_> = self
            .written
            .keys()
            .map(|name| format!("'{name}'"))
            .collect();
        let or = if known.is_empty() {
            String::new()
        } else {
            format!("; [trees] has {}", known.join(", "))
        };
        let text = files
            .text(name, "a tree in TOML, as docs/trees.md describes it")
            .map_err(|fault| reader.at(path, fault.with_hint(&or)))?;
        TreeFile::from_toml(name, &text).map(Arc::new)
    }

    /// Refuses trees that have no effect.
    ///
    /// # Errors
    /// There is a tree that no queue uses.
    pub(super) fn check_wanted(&self, reader: &Reader<'_>) -> Result<(), ScenarioError> {
        let wanted = self.wanted.borrow();
        match self.written.keys().find(|name| !wanted.contains(*name)) {
            Some(idle) => Err(reader.at(
                &format!("trees.{idle}"),
                format!("no queue is 'tree {idle}': name it in [queue] or a [[port]]"),
            )),
            None => Ok(()),
        }
    }
}
