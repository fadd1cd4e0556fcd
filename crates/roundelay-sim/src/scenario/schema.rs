//! JSON Schemas of tables that are read key by key, and of what scenarios have beside quantities.

#![allow(dead_code, reason = "only schemas are made from these tables")]

use std::borrow::Cow;

use roundelay_files::Described;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

use super::entry::Placement;
use crate::DecisionCost;
use crate::sources::connections::Message;
use crate::sources::{SourceSpec, Urgency};
use crate::topologies::Template;
use crate::topologies::files::{Format, FromFile};
use crate::written::{CodePoint, Ordering};

/// A `[[source]]` for the schema.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SourceTable {
    #[schemars(flatten)]
    placement: Placement,
    #[schemars(flatten)]
    spec: SourceSpec,
}

/// The `[topology]` table for the schema.
#[derive(JsonSchema)]
#[serde(untagged)]
pub(super) enum TopologyTable {
    Template(Template),
    File(File),
}

/// A topology file.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct File {
    /// Path, relative to the scenario's folder.
    file: String,
    /// File format. Left out: by the file's name.
    format: Option<Format>,
    /// The second file, for formats with two files: Rocketfuel's latencies.
    second: Option<String>,
    #[schemars(flatten)]
    rest: FromFile,
}

/// A `[trees.NAME]` for the schema: same keys as in files.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
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
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
struct TreeRule {
    /// The flows, as in "dscp ef".
    r#match: String,
    /// The leaf.
    leaf: String,
}

/// A node of a tree.
#[derive(JsonSchema)]
#[serde(deny_unknown_fields)]
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
#[derive(JsonSchema)]
#[serde(untagged)]
enum Size {
    Bytes(u32),
    Text(String),
}

/// A fraction, or percent in quotes.
#[derive(JsonSchema)]
#[serde(untagged)]
pub(crate) enum Fraction {
    /// A fraction, as in 0.6.
    Number(f64),
    /// Percent, as in "60%".
    Text(String),
}

impl Described for Urgency {
    const NAME: &'static str = "Urgency";

    fn schema() -> Schema {
        json_schema!({
            "type": "string", "pattern": "^(none|priority [0-9]+|deadline [0-9.]+[a-z]+|((slack|size|remaining) [0-9.]+[a-z]+|fair [0-9.]+[a-zA-Z]+|cautious [0-9.]+[a-z]+ [0-9.]+[a-zA-Z]+)( plus [0-9.]+[a-z]+)*( at departure)?)$",
            "description": "What packets say of their urgency.",
            "examples": ["priority 3", "slack 1s", "size 1s", "remaining 1s", "fair 100mbit", "deadline 5ms", "cautious 1s 1gbit", "size 1s plus 100s", "fair 100mbit at departure"]
        })
    }
}

impl Described for Message {
    const NAME: &'static str = "Message";

    fn schema() -> Schema {
        json_schema!({
            "type": "string", "pattern": "^[<>] ([0-9.]+[a-zA-Z]+|endless)( (after|every) [0-9.]+[a-zA-Z]+)?$",
            "description": "What one end of a connection writes: the client (>) or the server (<), how many bytes, and how long after the message before, or by a clock of this period.",
            "examples": ["> 300b", "< 14kb after 2ms", "> 300b every 4s", "< endless"]
        })
    }
}

impl Described for CodePoint {
    const NAME: &'static str = "CodePoint";

    fn schema() -> Schema {
        json_schema!({
            "anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0, "maximum": 63}],
            "description": "A code point of Differentiated Services.", "examples": [46, "ef"]
        })
    }
}

impl Described for Ordering {
    const NAME: &'static str = "Queue";

    fn schema() -> Schema {
        json_schema!({
            "type": "string", "description": "A discipline as tc writes it: `roundelay list` names them. Or tree, its name in [trees] or a file that describes one, and its limit.",
            "examples": ["fifo limit 100", "fq_codel limit 1000 target 5ms", "qfq", "tree home.toml limit 1000"]
        })
    }
}

impl JsonSchema for DecisionCost {
    fn schema_name() -> Cow<'static, str> {
        "Decision".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [
                {"type": "string", "pattern": "^[0-9.]+ *[a-zA-Z]+$"},
                {"const": 0},
                {"type": "object", "additionalProperties": {"anyOf": [{"type": "string", "pattern": "^[0-9.]+ *[a-zA-Z]+$"}, {"const": 0}]}}
            ],
            "description": "What each decision costs, 0 to 3600s: a time with its unit, or times by discipline.", "examples": ["1ms", {"afq": "1ms", "wf2q": "1ms"}]
        })
    }
}
