//! The recommendation of a comparison, in sentences and commands.

use roundelay_trace::Kind;
use serde::Serialize;

/// The recommendation.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recommendation {
    /// Index into [`Comparison::disciplines`](roundelay_trace::Comparison::disciplines); none if no
    /// discipline is chosen, because the packets are not one link's or shapers differ.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub best: Option<usize>,
    /// A warning before all others; none if one direction of one link is replayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reserve: Option<Warning>,
    /// The direction that was not chosen: its load, and the command that compares it. None if there
    /// was nothing to choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub other: Option<Warning>,
    /// No discipline is chosen, because nothing says which packets share the link: the warning
    /// asks.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub is_open: bool,
    /// The kind of flows that the worst discipline hurts.
    #[serde(skip)]
    pub hurt: Option<Kind>,
    /// Two or three sentences: the best discipline and the reasons.
    pub sentences: Vec<String>,
    /// Linux commands that set up the discipline, one per line; empty if none are known.
    pub commands: Vec<String>,
}

/// Warning that several links share the replayed one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Warning {
    /// What is wrong with the load.
    pub sentence: String,
    /// The command that selects one direction of one link, for a shell; none if no option does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
}
