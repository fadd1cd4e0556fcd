//! Source: the trait of a kind of source, and the facts on its traffic that scenarios, meters and
//! estimates ask for.

use std::collections::BTreeMap;
use std::fmt;

use roundelay::{Duration, Fault, Instant, Rate};

use super::flow_entry::Entry;
use super::load::Load;
use super::protocol::Protocol;
use super::{SourceError, Terms, WrittenFields};
use crate::agent::Agent;
use crate::files::Files;
use crate::network::{Network, NodeId};

/// Parameters of one kind of source, read from a `[[source]]` table.
pub(crate) trait Source: fmt::Debug {
    /// The facts.
    fn facts(&self) -> Facts<'_>;

    /// Upper estimate of the traffic of one source.
    fn load(&self, conditions: &Conditions) -> Load;

    /// The agent for two hosts, or for all hosts of `site`.
    ///
    /// # Errors
    /// A parameter is out of range; the error names its key.
    fn agent(&self, terms: Terms, site: &Site<'_>) -> Result<Box<dyn Agent>, SourceError>;

    /// The agents of a group, in the order of `terms`: `site.count` for each of `pairs` pairs.
    ///
    /// # Errors
    /// As [`Source::agent`].
    fn agents(
        &self,
        terms: &mut dyn Iterator<Item = Terms>,
        pairs: usize,
        site: &Site<'_>,
    ) -> Result<Vec<Box<dyn Agent>>, SourceError> {
        let _ = pairs;
        terms.map(|terms| self.agent(terms, site)).collect()
    }

    /// Keys without effect beside other keys, and the reason. Users expect an effect: the reader
    /// refuses these keys.
    fn unused(&self) -> Vec<(&'static str, &'static str)> {
        Vec::new()
    }

    /// Reads the files that the parameters name.
    ///
    /// # Errors
    /// A file is missing or not in its format.
    fn read_files(&mut self, reading: &Reading<'_>) -> Result<(), FileFault> {
        let _ = reading;
        Ok(())
    }

    /// The list that the source sends, counted up to a time.
    fn listed(&self, before: Instant) -> Option<Listed<'_>> {
        let _ = before;
        None
    }

    /// Header fields that differ between packets by a list.
    fn written(&self) -> WrittenFields {
        WrittenFields::default()
    }
}

/// Facts on a source's traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Facts<'a> {
    /// The longest packet in bytes, headers included.
    pub(crate) longest_packet: u32,
    /// TCP parameters of both ends, for sources over TCP.
    pub(crate) tcp: Option<&'a Protocol>,
    /// The way in which flows end.
    pub(crate) ending: Ending,
    /// The rate of one source while sending, headers included; none without a rate of its own.
    pub(crate) rate: Option<Rate>,
    /// Mean seconds between packets, for sources with one mean rate all the time.
    pub(crate) mean_gap: Option<f64>,
    /// Hosts of the flows.
    pub(crate) between: Between<'a>,
    /// Whether the flows of one list are dealt out to the pairs.
    pub(crate) is_dealt: bool,
}

impl<'a> Facts<'a> {
    /// A source without TCP and without a rate of its own.
    pub(crate) const fn datagrams(longest_packet: u32, ending: Ending) -> Self {
        Self {
            longest_packet,
            tcp: None,
            ending,
            rate: None,
            mean_gap: None,
            between: Between::Pair,
            is_dealt: false,
        }
    }

    /// A source over TCP.
    pub(crate) fn tcp(tcp: &'a Protocol, ending: Ending) -> Self {
        Self {
            tcp: Some(tcp),
            ..Self::datagrams(tcp.config().longest_packet(), ending)
        }
    }

    /// Whether one source begins flows between many hosts.
    pub(crate) fn is_of_many(&self) -> bool {
        self.between != Between::Pair
    }

    /// Whether the source may complete anything: a flow with an end, a response, a segment of
    /// video.
    pub(crate) fn may_complete(&self) -> bool {
        self.ending != Ending::Never
    }

    /// Whether flows end by themselves, in any run and with any queues.
    pub(crate) fn always_ends(&self) -> bool {
        self.ending == Ending::Silent || self.is_of_many()
    }

    /// Number of full packets for `bytes` of data.
    pub(crate) fn segments(&self, bytes: u64) -> f64 {
        bytes.div_ceil(u64::from(self.segment_len().max(1))) as f64
    }

    /// Bytes of data in a full packet of a flow.
    pub(crate) fn segment_len(&self) -> u32 {
        self.tcp
            .map_or(self.longest_packet, |tcp| tcp.config().segment_len)
    }
}

/// Hosts between which one source sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Between<'a> {
    /// A sender and a receiver.
    Pair,
    /// Any two of the group's hosts.
    Any,
    /// The hosts of each listed flow.
    Flows(&'a [Entry]),
}

/// The way in which flows of a group end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Ending {
    /// By themselves, without a report: complete if no packet was lost.
    Silent,
    /// As `Silent`, after a number of packets: flows cut off before are incomplete.
    After(u64),
    /// Agents report each transfer.
    #[default]
    Told,
    /// Without end: no transfers, agents report retransmissions only.
    Never,
}

impl Ending {
    /// After a number of packets, if set.
    pub(crate) fn after(packets: Option<u64>) -> Self {
        packets.map_or(Self::Never, Self::After)
    }

    /// Whether the end is the only report of a flow.
    pub(crate) const fn is_silent(self) -> bool {
        matches!(self, Self::Silent | Self::After(_))
    }
}

/// Conditions of an estimate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conditions {
    /// Time from start to stop.
    pub(crate) span: Duration,
    /// The shortest time of a request.
    pub(crate) round_trip: Duration,
    /// The highest rate of a route, in bits a second.
    pub(crate) fastest: f64,
    /// Number of sending hosts.
    pub(crate) hosts: f64,
}

/// Where the agents of a group send.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Site<'a> {
    /// The network.
    pub(crate) network: &'a Network,
    /// The group's sending hosts.
    pub(crate) hosts: &'a [NodeId],
    /// Sources for each pair.
    pub(crate) count: u32,
}

/// What a source needs to read its files.
pub(crate) struct Reading<'a> {
    /// The files beside the scenario.
    pub(crate) files: &'a Files<'a>,
    /// Entries later than this are counted and left out.
    pub(crate) duration: Duration,
    /// The group's sending hosts, by name.
    pub(crate) hosts: BTreeMap<String, NodeId>,
    /// Whether a key is written in the scenario.
    pub(crate) has: &'a dyn Fn(&str) -> bool,
}

/// A fault of a file named in a scenario.
#[derive(Debug)]
pub(crate) enum FileFault {
    /// Fault of the value of this key.
    Key(&'static str, Fault),
    /// Fault of a line of the file.
    Line(Fault),
}

impl From<Fault> for FileFault {
    fn from(error: Fault) -> Self {
        Self::Line(error)
    }
}

/// A list from a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed<'a> {
    /// The file's name in the scenario.
    pub(crate) file: &'a str,
    /// The entries: packet or flow.
    pub(crate) noun: &'static str,
    /// Entries before the asked time.
    pub(crate) before: usize,
    /// All entries of the file.
    pub(crate) all: usize,
    /// Bytes of memory.
    pub(crate) memory: usize,
}
