//! Source: the trait that each kind of source implements, and what scenarios, meters and estimates
//! ask about its traffic.

use std::collections::BTreeMap;
use std::fmt;

use roundelay::{Duration, Fault, Instant, Rate};

use super::flow_entry::Entry;
use super::load::Load;
use super::protocol::Protocol;
use super::{SourceError, Terms, WrittenFields};
use crate::agent::Agent;
use crate::files::Files;
use crate::ids::NodeId;
use crate::network::Network;

/// The parameters of one kind of source, as a `[[source]]` table holds them.
pub(crate) trait Source: fmt::Debug {
    /// What is known about the traffic.
    fn facts(&self) -> Facts<'_>;

    /// An upper estimate for what one source sends.
    fn load(&self, conditions: &Conditions) -> Load;

    /// The agent for two hosts, or for all hosts in `site`.
    ///
    /// # Errors
    /// A parameter is out of range. The error names its key.
    fn agent(&self, terms: Terms, site: &Site<'_>) -> Result<Box<dyn Agent>, SourceError>;

    /// The agents in a group, in the order of `terms`: `site.count` for each of `pairs` pairs.
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

    /// Keys that other keys leave without effect, and why. You would expect an effect, so the
    /// reader refuses these keys.
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

    /// Header fields in which a list makes packets differ.
    fn written(&self) -> WrittenFields {
        WrittenFields::default()
    }
}

/// What is known about a source's traffic.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Facts<'a> {
    /// The longest packet in bytes, headers included.
    pub(crate) longest_packet: u32,
    /// The TCP parameters that both ends have, if the source uses TCP.
    pub(crate) tcp: Option<&'a Protocol>,
    /// How flows end.
    pub(crate) ending: Ending,
    /// One source's rate while it sends, headers included. None if it has no rate of its own.
    pub(crate) rate: Option<Rate>,
    /// Mean seconds between packets, if the source has one mean rate all the time.
    pub(crate) mean_gap: Option<f64>,
    /// Between which hosts flows go.
    pub(crate) between: Between<'a>,
    /// Whether one list's flows are dealt out to the pairs.
    pub(crate) is_dealt: bool,
}

impl<'a> Facts<'a> {
    /// A source that does not use TCP and has no rate of its own.
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

    /// Full packets that `bytes` of data make.
    pub(crate) fn segments(&self, bytes: u64) -> f64 {
        bytes.div_ceil(u64::from(self.segment_len().max(1))) as f64
    }

    /// Bytes of data in a flow's full packet.
    pub(crate) fn segment_len(&self) -> u32 {
        self.tcp
            .map_or(self.longest_packet, |tcp| tcp.config().segment_len)
    }
}

/// Between which hosts one source sends.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Between<'a> {
    /// A sender and a receiver.
    Pair,
    /// Any two hosts in the group.
    Any,
    /// The hosts that each listed flow names.
    Flows(&'a [Entry]),
}

/// How a group's flows end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Ending {
    /// By themselves, without a report. A flow is complete if no packet was lost.
    Silent,
    /// As `Silent`, but after a number of packets. A flow that is cut off before is incomplete.
    After(u64),
    /// Agents report each transfer.
    #[default]
    Told,
    /// Never. There are no transfers, so agents report only retransmissions.
    Never,
}

impl Ending {
    /// After a number of packets, if there is one.
    pub(crate) fn after(packets: Option<u64>) -> Self {
        packets.map_or(Self::Never, Self::After)
    }

    /// Whether agents report nothing, so that only a flow's end tells of it.
    pub(crate) const fn is_silent(self) -> bool {
        matches!(self, Self::Silent | Self::After(_))
    }
}

/// The conditions for which to estimate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Conditions {
    /// The time from start to stop.
    pub(crate) span: Duration,
    /// The shortest time that a request takes.
    pub(crate) round_trip: Duration,
    /// The highest rate that a route has, in bits a second.
    pub(crate) fastest: f64,
    /// The number of sending hosts.
    pub(crate) hosts: f64,
}

/// Where a group's agents send.
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
    /// Entries that come later are counted, but left out.
    pub(crate) duration: Duration,
    /// The group's sending hosts, by name.
    pub(crate) hosts: BTreeMap<String, NodeId>,
    /// Whether the scenario contains a key.
    pub(crate) has: &'a dyn Fn(&str) -> bool,
}

/// What is wrong with a file that a scenario names.
#[derive(Debug)]
pub(crate) enum FileFault {
    /// The value of this key is wrong.
    Key(&'static str, Fault),
    /// A line in the file is wrong.
    Line(Fault),
}

impl From<Fault> for FileFault {
    fn from(error: Fault) -> Self {
        Self::Line(error)
    }
}

/// A list that was read from a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listed<'a> {
    /// The file's name in the scenario.
    pub(crate) file: &'a str,
    /// What an entry is called: packet or flow.
    pub(crate) noun: &'static str,
    /// Entries before the time asked for.
    pub(crate) before: usize,
    /// Entries in the file.
    pub(crate) all: usize,
    /// Bytes that it takes in memory.
    pub(crate) memory: usize,
}
