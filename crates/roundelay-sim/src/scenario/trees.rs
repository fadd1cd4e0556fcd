//! Queues that are trees of disciplines: from files, or from `[trees.NAME]` in the scenario.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use roundelay_files::Reader;
use roundelay_trace::TreeFile;
use schemars::JsonSchema;
use serde::Deserialize;
use toml::Spanned;
use toml::de::DeValue;

use super::ScenarioError;
use crate::files::Files;

/// A `[trees.NAME]` for the schema: same keys as in files.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the schema is made from it")]
pub(super) struct TreeTable {
    /// Name in results. Left out: the table's name.
    name: Option<String>,
    /// Classes and leaves; the node without a parent is the root.
    node: Vec<TreeNode>,
    /// Rules in one order over all leaves, tried before the leaves' flows.
    #[serde(default)]
    rule: Vec<TreeRule>,
    /// What the tree lacks of the script that it was made from.
    #[serde(default)]
    reserve: Vec<String>,
}

/// A rule that says which leaf gets a flow.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the schema is made from it")]
struct TreeRule {
    /// The flows, as in "dscp ef".
    r#match: String,
    /// The leaf.
    leaf: String,
}

/// A node of a tree.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[allow(dead_code, reason = "the schema is made from it")]
struct TreeNode {
    /// Name for errors and other nodes.
    name: String,
    /// The class whose service the node shares. Left out: the node is the root.
    parent: Option<String>,
    /// Discipline for the node's packets or children, as in tc.
    discipline: String,
    /// Weight relative to siblings, for the parent's service: 1 to 1024.
    #[schemars(range(min = 1, max = 1024))]
    weight: Option<u32>,
    /// Longest packet in bytes: 512 to 65,536.
    maxpkt: Option<Size>,
    /// Priority among siblings, smallest first, if the parent uses priorities.
    priority: Option<u32>,
    /// Below a class of htb: what the node may send without borrowing, as in "10mbit".
    rate: Option<String>,
    /// Below a class of htb: what the node may send with borrowing. Left out: the rate.
    ceil: Option<String>,
    /// Below a class of htb: bytes at once at the rate.
    burst: Option<Size>,
    /// Below a class of htb: bytes at once at the ceil.
    cburst: Option<Size>,
    /// Below a class of htb: who borrows first, 0 to 7.
    #[schemars(range(min = 0, max = 7))]
    prio: Option<u32>,
    /// Below a class of htb: bytes of a leaf's turn when it borrows.
    quantum: Option<Size>,
    /// Below the topmost node of htb: whether packets of this leaf belong to no class and go first.
    #[serde(default)]
    direct: bool,
    /// Below a class of hfsc: what a leaf is guaranteed, as in "umax 1500 dmax 5ms rate 1mbit".
    rt: Option<String>,
    /// Below a class of hfsc: how the node and its siblings share what is left, as in "m2 10mbit".
    ls: Option<String>,
    /// Below a class of hfsc: rt and ls in one.
    sc: Option<String>,
    /// Below a class of hfsc: what the sharing gives at most.
    ul: Option<String>,
    /// Flows for this leaf, as in "dscp ef".
    #[serde(default)]
    flows: Vec<String>,
    /// Whether flows without a matching rule go to this leaf.
    #[serde(default)]
    default: bool,
}

/// Bytes, as a number or with a unit.
#[derive(Deserialize, JsonSchema)]
#[serde(untagged)]
#[allow(dead_code, reason = "the schema is made from it")]
enum Size {
    Bytes(u32),
    Text(String),
}

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
