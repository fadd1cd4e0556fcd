//! Source `recorded`: flows whose packets go at listed times, written in the scenario itself. They
//! do not react to the network: calls, games, DNS, and whatever a capture does not show the inside
//! of.

use roundelay::Instant;
use serde::Deserialize;

use crate::agent::Agent;
use crate::sources::load::{Amount, Load};
use crate::sources::source::{Conditions, Ending, Facts, FileFault, Listed, Reading, Site, Source};
use crate::sources::trace::{Entry, Trace, packets};
use crate::sources::{SourceError, Terms, WrittenFields};

#[cfg(feature = "schema")]
pub(super) const SENDS: &str = "Flows of packets at listed times, written in the scenario.";
pub(super) const EXAMPLES: [&str; 2] = [
    "flows = [\"0 1000\\n0.01 500 0.001\", \"0.2 300\"]",
    "flows = [\"0 1000\\n0.01 500\\n0.5 1500\"]\nstart = '500ms'",
];

/// Flows of packets.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// The flows, each a list of packets: a line for each packet, in the order of time, as in the
    /// file of a `trace`.
    pub flows: Vec<String>,
    /// Packets of all flows, in the order of time.
    #[serde(skip)]
    pub packets: Vec<Entry>,
    /// Packets after the end of the run, left out.
    #[serde(skip)]
    pub late: usize,
    /// Bytes of the longest packet.
    #[serde(skip)]
    longest: u32,
}

impl Source for Config {
    fn facts(&self) -> Facts<'_> {
        Facts::datagrams(self.longest, Ending::Never)
    }

    fn load(&self, conditions: &Conditions) -> Load {
        let end = Instant::ZERO + conditions.span;
        let sent = self.packets.partition_point(|packet| packet.at < end);
        let flows = Amount::exact(self.flows.len() as f64);
        Load {
            flows,
            transfers: flows,
            ..Load::of_flow(Amount::exact(sent as f64))
        }
    }

    fn agent(&self, terms: Terms, _: &Site<'_>) -> Result<Box<dyn Agent>, SourceError> {
        let between = vec![terms.flow; self.flows.len()];
        Ok(Box::new(Trace::new(terms, between, self.packets.clone())?))
    }

    /// Reads the lists, but leaves out packets after the end of the run.
    fn read_files(&mut self, reading: &Reading<'_>) -> Result<(), FileFault> {
        let end = Instant::ZERO + reading.duration;
        for (number, text) in self.flows.iter().enumerate() {
            for packet in packets(&format!("flows, list {}", number + 1), text)? {
                if packet.at < end {
                    let flow = number as u32;
                    self.packets.push(Entry { flow, ..packet });
                } else {
                    self.late += 1;
                }
            }
        }
        self.packets.sort_by_key(|packet| packet.at);
        for packet in &self.packets {
            self.longest = packet.len.max(self.longest);
        }
        Ok(())
    }

    fn listed(&self, before: Instant) -> Option<Listed<'_>> {
        let before = self.packets.partition_point(|packet| packet.at < before);
        Some(Listed {
            file: "flows",
            noun: "packet",
            before,
            all: self.packets.len() + self.late,
            memory: size_of_val(&self.packets[..]),
        })
    }

    fn written(&self) -> WrittenFields {
        let mut written = WrittenFields {
            slack: false,
            priority: false,
            deadline: false,
        };
        for packet in &self.packets {
            written.slack |= packet.slack > roundelay::Duration::ZERO;
            written.priority |= packet.priority.is_some();
            written.deadline |= packet.deadline.is_some();
        }
        written
    }
}
