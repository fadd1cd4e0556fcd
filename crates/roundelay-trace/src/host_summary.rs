//! Hosts of a comparison: their summaries, and how a discipline divides the link among them.

use serde::Serialize;

/// The end of a flow whose address is the host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum HostEnd {
    /// Where packets come from.
    Source,
    /// Where packets go.
    Destination,
}

/// The hosts at one end of the flows.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostsSummary {
    /// Which end. With a discipline that shares by both, it is the one with fewer hosts.
    pub end: HostEnd,
    /// Every host, in order of first appearance.
    pub all: Vec<HostSummary>,
}

/// A host as its flows offer traffic to the port.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostSummary {
    /// Its address, or the flow's name if the packets show none.
    pub label: String,
    /// Its flows.
    pub flows: usize,
    /// Bits sent by an ideal GPS server that serves hosts, with an unlimited buffer, until the last
    /// arrival, divided by the length of the capture.
    pub fair_rate: f64,
    /// Whether some flow of it is bulk.
    pub bulk: bool,
}

/// How a discipline divides the link among hosts with bulk flows.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HostFairness {
    /// Jain's index of the parts of their fair shares that they got.
    pub jain: f64,
    /// The smallest part that one of them got, 0 to 1.
    pub least_share: f64,
    /// That host, an index into the comparison's hosts.
    pub worst: usize,
    /// Whether `least_share` of bulk flows, and with it the verdict, goes by what hosts are due. This
    /// is so if the discipline shares by host, and treats flows better by this measure.
    pub judged: bool,
}
