//! Trees that order queues: in files, and written out in the scenario as `[trees.NAME]`.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use roundelay_trace::{TreeFile, TreeFileError};
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeValue;

use super::ScenarioError;
use super::file::into_table;
use super::files::Files;
use super::reader::Reader;

/// A `[trees.NAME]` as the schema shows it: a tree as files have it.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the schema is made from it")]
pub(super) struct TreeTable {
    /// What results call it. Left out: as the table.
    name: Option<String>,
    /// Its classes and leaves; the one without a parent is the root.
    node: Vec<TreeNode>,
}

/// A node of a tree.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the schema is made from it")]
struct TreeNode {
    /// What errors and other nodes call it.
    name: String,
    /// The class whose service it shares. Left out: it is the root.
    parent: Option<String>,
    /// How it orders its packets, or its children: as tc writes it.
    discipline: String,
    /// Its part of its parent's service, relative to its siblings': 1 to 1024.
    #[schemars(range(min = 1, max = 1024))]
    weight: Option<u32>,
    /// Its longest packet in bytes: 512 to 65,536.
    maxpkt: Option<Size>,
    /// The smaller goes first, where the parent goes by priority.
    priority: Option<u32>,
    /// Which flows go to this leaf, as in "dscp ef".
    #[serde(default)]
    flows: Vec<String>,
    /// Whether flows that no rule matches go to this leaf.
    #[serde(default)]
    default: bool,
}

/// Bytes, as a number or with their unit.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "the schema is made from it")]
enum Size {
    Bytes(u32),
    Text(String),
}

/// The trees of a scenario.
#[derive(Default)]
pub(super) struct Trees {
    written: BTreeMap<String, Arc<TreeFile>>,
    /// Those that a queue has asked for.
    wanted: RefCell<BTreeSet<String>>,
}

impl Trees {
    /// Reads the table `[trees]`.
    ///
    /// # Errors
    /// One of them is no tree: with its line in the scenario.
    pub(super) fn read<'a>(reader: &Reader<'a>, table: Option<Spanned<DeValue<'a>>>) -> Result<Self, ScenarioError> {
        let Some(table) = table else { return Ok(Self::default()) };
        let mut written = BTreeMap::new();
        for (name, value) in into_table(reader, "trees", table)?.into_inner() {
            let name = name.into_inner().into_owned();
            let table = into_table(reader, &format!("trees.{name}"), value)?;
            let tree = TreeFile::from_table(reader.name(), reader.text(), &name, table).map_err(fault)?;
            written.insert(name, Arc::new(tree));
        }
        Ok(Self { written, wanted: RefCell::default() })
    }

    /// The tree that a queue calls `name`: of the scenario, else that of the file.
    ///
    /// # Errors
    /// There is none, or what the file describes is none.
    pub(super) fn find(&self, reader: &Reader<'_>, path: &str, name: &str, files: &Files<'_>) -> Result<Arc<TreeFile>, ScenarioError> {
        if let Some(tree) = self.written.get(name) {
            self.wanted.borrow_mut().insert(name.to_owned());
            return Ok(Arc::clone(tree));
        }
        let known: Vec<_> = self.written.keys().map(|name| format!("'{name}'")).collect();
        let or = if known.is_empty() { String::new() } else { format!("; [trees] has {}", known.join(", ")) };
        let text = files.text(name, "a tree in TOML, as docs/trees.md describes it").map_err(|error| reader.at(path, error + &or))?;
        TreeFile::from_toml(name, &text).map(Arc::new).map_err(fault)
    }

    /// A tree that no queue has would do nothing.
    ///
    /// # Errors
    /// There is one.
    pub(super) fn check_wanted(&self, reader: &Reader<'_>) -> Result<(), ScenarioError> {
        let wanted = self.wanted.borrow();
        match self.written.keys().find(|name| !wanted.contains(*name)) {
            Some(idle) => Err(reader.at(&format!("trees.{idle}"), format!("no queue is 'tree {idle}': name it in [queue] or a [[port]]"))),
            None => Ok(()),
        }
    }
}

fn fault(error: TreeFileError) -> ScenarioError {
    let TreeFileError { name, line, message } = error;
    ScenarioError { file: name, line, message }
}
