//! Sources that send what a file lists: packets, or flows.

use std::collections::BTreeMap;

use roundelay::{Duration, Instant};
use schemars::JsonSchema;
use serde::Deserialize;

use super::ScenarioError;
use super::protocol::Protocol;
use super::source::{Transport, full_len};
use crate::network::NodeId;
use crate::sources::{Terms, trace, workload};
use crate::written::{InWords, read};

/// What makes packets of a capture a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
pub enum FlowBy {
    /// Addresses, protocol and ports; the two directions of a connection are two flows.
    #[default]
    #[serde(rename = "5tuple")]
    FiveTuple,
    /// The sender's address.
    #[serde(rename = "src")]
    Source,
    /// The receiver's address.
    #[serde(rename = "dst")]
    Destination,
    /// The code point of Differentiated Services.
    #[serde(rename = "dscp")]
    Dscp,
}

/// A list of packets, or a capture.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Trace {
    /// Its path, from the folder of the scenario: a line a packet, seconds and bytes, in the order of time; or a capture, pcap or pcapng.
    pub file: String,
    /// What makes packets of a capture a flow.
    #[serde(default)]
    pub flow_by: FlowBy,
    /// What is in it.
    #[serde(skip)]
    pub packets: Vec<trace::Entry>,
    /// Whether its flows are dealt out to the pairs in turn: those of a capture are. A list is one flow, which each pair sends.
    #[serde(skip)]
    pub is_dealt: bool,
}

impl Trace {
    /// What each pair sends, or all of them if there is but one list. Flows keep their order, but not their numbers.
    pub(super) fn deal(&self, pairs: usize) -> Vec<Vec<trace::Entry>> {
        if !self.is_dealt {
            return vec![self.packets.clone()];
        }
        let mut dealt = vec![Vec::new(); pairs.max(1)];
        let of = dealt.len();
        for packet in &self.packets {
            let flow = packet.flow as usize;
            dealt[flow % of].push(trace::Entry { flow: (flow / of) as u32, ..*packet });
        }
        dealt
    }
}

/// A list of flows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Workload {
    /// Its path, from the folder of the scenario: a line a flow, when it begins in seconds, bytes, and the names of the hosts that it goes from and to,
    /// as the UPS authors write it.
    pub file: String,
    /// How flows are sent.
    #[serde(default)]
    pub transport: Transport,
    /// Bytes of a packet of a burst: 1 to 65,535.
    #[serde(default = "full_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
    /// What both ends do, where flows go over TCP.
    #[serde(default)]
    pub tcp: Protocol,
    /// What is in it.
    #[serde(skip)]
    pub flows: Vec<workload::Entry>,
}

impl Workload {
    pub(super) fn config(&self, terms: Terms) -> workload::Config {
        let transport = self.transport.with(self.packet_len, &self.tcp);
        let Terms { flow, start, start_jitter, stop, urgency } = terms;
        workload::Config { flows: self.flows.clone(), transport, start, start_jitter, stop, urgency, flow: flow.config }
    }
}

/// A line a packet: seconds and bytes.
pub(super) fn packets(file: &str, text: &str) -> Result<Vec<trace::Entry>, ScenarioError> {
    let lines = (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty());
    let packet = |(line, text): (usize, &str)| {
        let mut words = text.split_whitespace();
        let time = words.next().and_then(|word| format!("{word}s").parse::<Duration>().ok());
        let len = words.next().and_then(|word| word.parse().ok());
        let (Some(time), Some(len), None) = (time, len, words.next()) else {
            let message = format!("'{text}': expected seconds and bytes, as in 0.0125 1500");
            return Err(ScenarioError { file: file.to_owned(), line, message });
        };
        Ok(trace::Entry { at: Instant::ZERO + time, flow: 0, len })
    };
    lines.map(packet).collect()
}

/// A line a flow: when it begins, bytes, its source, its destination.
pub(super) fn flows(file: &str, text: &str, hosts: &BTreeMap<String, NodeId>) -> Result<Vec<workload::Entry>, ScenarioError> {
    let lines = (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty());
    let flow = |(line, text): (usize, &str)| {
        let error = |message| ScenarioError { file: file.to_owned(), line, message };
        let words: Vec<_> = text.split_whitespace().collect();
        let wrong = || error(format!("'{text}': expected seconds, bytes and two hosts, as in 0.0125 14600 host1 host2"));
        let [time, size, from, to] = words[..] else { return Err(wrong()) };
        let (Ok(time), Ok(size_bytes)) = (format!("{time}s").parse::<Duration>(), size.parse()) else { return Err(wrong()) };
        let host = |name: &str| hosts.get(name).copied().ok_or_else(|| error(format!("'{name}' is no host of 'from'")));
        let (from, to) = (host(from)?, host(to)?);
        if from == to {
            return Err(error(format!("'{}' sends to itself", words[2])));
        }
        Ok(workload::Entry { at: Instant::ZERO + time, from, to, size_bytes })
    };
    lines.map(flow).collect()
}
