//! Sources that send the packets or flows listed in a file.

use std::collections::BTreeMap;
use std::fmt;

use roundelay::{Duration, Instant};
use schemars::JsonSchema;
use serde::Deserialize;

use super::ScenarioError;
use super::protocol::Protocol;
use super::source::{Transport, full_len};
use crate::network::NodeId;
use crate::sources::burst::LARGEST_FLOW;
use crate::sources::{LONGEST_PACKET, Terms, trace, workload};
use crate::written::{InWords, read};

/// Header fields that define a flow of a capture.
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
    /// Path, relative to the scenario's folder. A list: a line for each packet, in the order of
    /// time, with seconds, bytes and, optionally, seconds of slack, a priority and the second of
    /// the deadline. Or a capture: pcap or pcapng.
    pub file: String,
    /// Header fields that define a flow of a capture.
    #[serde(default)]
    pub flow_by: FlowBy,
    /// The packets of the file.
    #[serde(skip)]
    pub packets: Vec<trace::Entry>,
    /// Packets of a list after the end of the run, left out. Not counted for captures.
    #[serde(skip)]
    pub late: usize,
    /// Whether flows are dealt out to the pairs in turn, as for captures. A list is one flow, sent
    /// by each pair.
    #[serde(skip)]
    pub is_dealt: bool,
}

impl Trace {
    /// The packets of each pair, or of all pairs if there is one list. Flows keep their order and
    /// get new numbers.
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
    /// Path, relative to the scenario's folder. A line for each flow, in the UPS authors' format:
    /// start in seconds, bytes, source host, destination host.
    pub file: String,
    /// Transport of the flows.
    #[serde(default)]
    pub transport: Transport,
    /// Bytes of a packet of a burst: 1 to 65,535.
    #[serde(default = "full_len", deserialize_with = "read")]
    #[schemars(with = "InWords<u32>")]
    pub packet_len: u32,
    /// TCP parameters of both ends, for flows over TCP.
    #[serde(default)]
    pub tcp: Protocol,
    /// The flows of the file.
    #[serde(skip)]
    pub flows: Vec<workload::Entry>,
    /// Flows of the list after the end of the run, left out.
    #[serde(skip)]
    pub late: usize,
}

impl Workload {
    pub(super) fn config(&self, terms: Terms) -> workload::Config {
        let transport = self.transport.with(self.packet_len, &self.tcp);
        let Terms { flow, start, start_jitter, stop, urgency } = terms;
        workload::Config { flows: self.flows.clone(), transport, start, start_jitter, stop, urgency, flow: flow.config }
    }
}

/// A line of a list, with its file and number.
#[derive(Clone, Copy)]
struct Line<'a> {
    file: &'a str,
    number: usize,
    text: &'a str,
}

impl<'a> Line<'a> {
    /// All lines with text. A byte order mark, which some editors put at the start, is skipped.
    fn all(file: &'a str, text: &'a str) -> impl Iterator<Item = Self> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let lines = (1..).zip(text.lines()).filter(|(_, text)| !text.trim().is_empty());
        lines.map(move |(number, text)| Self { file, number, text })
    }

    fn error(self, message: impl fmt::Display) -> ScenarioError {
        ScenarioError { file: self.file.to_owned(), line: self.number, message: message.to_string() }
    }

    /// The time and the number of bytes: the first two words.
    fn head(self, expected: &str, words: &[&str]) -> Result<(Instant, u64), ScenarioError> {
        let head = words.first().zip(words.get(1)).and_then(|(time, bytes)| seconds(time).zip(whole(bytes)));
        head.ok_or_else(|| self.wrong(expected))
    }

    /// A packet's slack, priority and deadline, each optional.
    fn fields(self, packet: trace::Entry, words: &[&str]) -> Result<trace::Entry, ScenarioError> {
        let column = |place: usize| words.get(place).copied().filter(|word| *word != "-");
        let time = |place| column(place).map(|word| seconds(word).ok_or_else(|| self.wrong(PACKET))).transpose();
        if words.len() > 3 {
            return Err(self.wrong(PACKET));
        }
        let (slack, deadline) = (time(0)?, time(2)?);
        let priority = column(1).map(|word| whole(word).ok_or_else(|| self.wrong(PACKET))).transpose()?;
        let legal = priority.map(|priority| {
            let error = || self.error(format!("priority {priority}: legal range 0 to {}", u32::MAX));
            u32::try_from(priority).map_err(|_| error())
        });
        if let Some(deadline) = deadline.filter(|deadline| *deadline < packet.at) {
            return Err(self.error(format!("deadline {deadline}: legal range from when the packet is sent, {}", packet.at)));
        }
        let slack = slack.map_or(Duration::ZERO, |slack| slack.since(Instant::ZERO));
        Ok(trace::Entry { slack, priority: legal.transpose()?, deadline, ..packet })
    }

    fn wrong(self, expected: &str) -> ScenarioError {
        self.error(format!("'{}': expected {expected}", self.text))
    }
}

/// Seconds, without a unit: digits and a point.
fn seconds(word: &str) -> Option<Instant> {
    let is_number = word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let time = format!("{word}s").parse::<Duration>().ok().filter(|_| is_number);
    time.map(|time| Instant::ZERO + time)
}

fn whole(word: &str) -> Option<u64> {
    word.parse().ok().filter(|_| word.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The columns of a list of packets.
const PACKET: &str =
    "seconds and bytes, as in 0.0125 1500, then if there are any seconds of slack, a priority, and the second of its deadline; - for none";

/// Reads a list of packets, one a line.
pub(super) fn packets(file: &str, text: &str) -> Result<Vec<trace::Entry>, ScenarioError> {
    let (mut packets, mut before) = (Vec::new(), Instant::ZERO);
    for line in Line::all(file, text) {
        let words: Vec<_> = line.text.split_whitespace().collect();
        let (at, len) = line.head(PACKET, &words)?;
        let Some(len) = u32::try_from(len).ok().filter(|len| (1..=LONGEST_PACKET).contains(len)) else {
            return Err(line.error(format!("length {len}: legal range 1 to {LONGEST_PACKET}")));
        };
        if at < before {
            return Err(line.error(format!("time {at}: legal range from the packet before, {before}")));
        }
        before = at;
        packets.push(line.fields(trace::Entry::new(at, 0, len), &words[2..])?);
    }
    Ok(packets)
}

/// Reads a list of flows, one a line: start, bytes, source, destination.
pub(super) fn flows(file: &str, text: &str, hosts: &BTreeMap<String, NodeId>) -> Result<Vec<workload::Entry>, ScenarioError> {
    const EXPECTED: &str = "seconds, bytes and two hosts, as in 0.0125 14600 host1 host2";
    let flow = |line: Line<'_>| {
        let words: Vec<_> = line.text.split_whitespace().collect();
        let (at, size_bytes) = line.head(EXPECTED, &words)?;
        let [_, _, from, to] = words[..] else { return Err(line.wrong(EXPECTED)) };
        if !(1..=LARGEST_FLOW).contains(&size_bytes) {
            return Err(line.error(format!("size {size_bytes}: legal range 1 to {LARGEST_FLOW}")));
        }
        let host = |name: &str| hosts.get(name).copied().ok_or_else(|| line.error(format!("'{name}' is no host of 'from'")));
        let (from, to) = (host(from)?, host(to)?);
        if from == to {
            return Err(line.error(format!("'{}' sends to itself", words[2])));
        }
        Ok(workload::Entry { at, from, to, size_bytes })
    };
    Line::all(file, text).map(flow).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts() -> BTreeMap<String, NodeId> {
        [("a".to_owned(), NodeId(0)), ("b".to_owned(), NodeId(1))].into()
    }

    #[test]
    fn times_are_seconds_and_take_no_unit() {
        assert_eq!(seconds("0.0125"), Some(Instant::from_nanos(12_500_000)));
        for word in ["5m", "2u", "3n", "5ms", "1e3", "-1", "+1", ".", "", "1.2.3"] {
            assert_eq!(seconds(word), None, "{word}");
            let list = [packets("list", &format!("{word} 100")).map(drop), flows("list", &format!("{word} 100 a b"), &hosts()).map(drop)];
            assert!(list.iter().all(Result::is_err), "{word}");
        }
    }

    #[test]
    fn a_hyphen_leaves_a_column_out() {
        let fields = |line: &str| packets("list", line).map(|list| (list[0].slack.as_nanos(), list[0].priority, list[0].deadline)).unwrap();
        let none = (0, None, None);
        assert_eq!([fields("1 100"), fields("1 100 -"), fields("1 100 - - -")], [none; 3]);
        assert_eq!(fields("1 100 0.5 3 1.25"), (500_000_000, Some(3), Some(Instant::from_nanos(1_250_000_000))));
        assert_eq!(fields("1 100 - 4294967295"), (0, Some(u32::MAX), None));
        assert_eq!(fields("1 100 0.5 - 1"), (500_000_000, None, Some(Instant::from_nanos(1_000_000_000))));
    }

    #[test]
    fn errors_name_the_line_of_the_list() {
        let packets = |text| packets("list", text).unwrap_err().to_string();
        assert_eq!(packets("0 100\n\n0 0"), "list:3: length 0: legal range 1 to 65535");
        assert_eq!(packets("0 100\n0 65536"), "list:2: length 65536: legal range 1 to 65535");
        assert_eq!(packets("1 100\n0.5 100"), "list:2: time 500ms: legal range from the packet before, 1s");
        for line in ["1 100 1 1 2 1", "1 100 -1", "1 100 1ms", "1 100 - -1", "1 100 - 1.5", "1 100 - - 1ms"] {
            assert_eq!(packets(line), format!("list:1: '{line}': expected {PACKET}"));
        }
        assert_eq!(packets("0 100\n1 100 - 4294967296"), "list:2: priority 4294967296: legal range 0 to 4294967295");
        assert_eq!(packets("0 100\n1 100 - - 0.5"), "list:2: deadline 500ms: legal range from when the packet is sent, 1s");
        let flows = |text| flows("list", text, &hosts()).unwrap_err().to_string();
        assert_eq!(flows("2 100 a b\n1 0 a b"), "list:2: size 0: legal range 1 to 1099511627776");
        assert_eq!(flows("2 100 a b\n1 1099511627777 a b"), "list:2: size 1099511627777: legal range 1 to 1099511627776");
        assert_eq!(flows("2 100 a b c"), "list:1: '2 100 a b c': expected seconds, bytes and two hosts, as in 0.0125 14600 host1 host2");
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_a_list() {
        assert_eq!(packets("list", "\u{feff}0 100\r\n1 65535\r\n").unwrap().len(), 2);
        assert_eq!(flows("list", "\u{feff}0 100 a b\n", &hosts()).unwrap().len(), 1);
    }
}
