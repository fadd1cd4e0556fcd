//! The format of a simulation's event log: one line of JSON for each event, for checks and
//! drawings.
//!
//! The first line describes the network. Each other line is an event, in the order in which they
//! happen. Times are picoseconds. Packets and flows are numbered from 0 in the order in which they
//! start. [`verify`](crate::verify) checks a log without knowing the simulation behind it.

use std::fmt;

use roundelay::schedulers::{AnyDiscipline, Discipline as _};
use roundelay::{Framing, Limit, LinkLayer, QueueSpec};
use serde::{Deserialize, Serialize};

/// What [`LinkRecord::queue`] says before the name of a tree.
pub(crate) const TREE: &str = roundelay::tree::Config::NAME;

/// Version of the format.
pub const FORMAT: u32 = 4;

/// The first line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Header {
    /// [`FORMAT`].
    pub format: u32,
    /// Number of nodes.
    pub nodes: u32,
    /// Node names for readers, each different. Empty if nodes have no names.
    #[serde(default)]
    pub names: Vec<String>,
    /// The links, ordered by number.
    pub links: Vec<LinkRecord>,
}

/// A link in the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkRecord {
    /// Node where it begins.
    pub from: u32,
    /// Node where it ends.
    pub to: u32,
    /// Bits per second; with a trace, the mean.
    pub rate: u64,
    /// The trace instead of the rate. Left out if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<TraceRecord>,
    /// Propagation delay.
    pub delay: u64,
    /// Upper bound of the random extra delay.
    pub jitter: u64,
    /// Bytes that the link adds to each packet.
    pub overhead: i32,
    /// Shortest packet on the link, in bytes. Left out if zero.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub mpu: u32,
    /// Framing, `atm` or `ptm`. Left out if there is none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub framing: String,
    /// Share of packets lost on the wire, in billionths. Each packet is lost independently.
    pub loss: u64,
    /// The discipline with its parameters.
    pub queue: String,
    /// Capacity of the queue.
    pub limit: Limits,
    /// The order in which the queue promises to send packets.
    pub order: Order,
    /// Whether the link is preemptive, so that a transmission is logged at its end.
    pub preempts: bool,
    /// Decision cost: how long the link may be idle before each packet. Left out if zero.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub decision: u64,
    /// The shaper by which the link may rest while packets wait. Left out if there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shaper: Option<ShaperRecord>,
}

/// What a discipline that may rest promises.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShaperRecord {
    /// The most that it sends in any time t: `rate` t / 8 + `burst` bytes. Left out if it promises
    /// nothing for all packets together, as where it paces each flow alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<MostRecord>,
    /// If it sends as soon as a bucket of so many bytes lets it, so that the link rests no longer: the
    /// bucket's size. Left out in a tree, because its classes have rates of their own, and where a
    /// shaper counts other bytes than the link.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prompt: Option<u64>,
    /// Whether a line tells each rest and until when it lasts ([`Event::Rest`]), so that the link
    /// rests no longer. Left out if false, as in what is made of the record of a live run.
    #[serde(default, skip_serializing_if = "is_false")]
    pub tells_rests: bool,
}

/// The most that a shaper sends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MostRecord {
    /// Bits per second.
    pub rate: u64,
    /// Bytes, of packets as long as on the link.
    pub burst: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_false(flag: &bool) -> bool {
    !*flag
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
const fn is_nothing(number: &u32) -> bool {
    *number == 0
}

/// A link's trace. The link carries packets at these times only, and no bytes between.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceRecord {
    /// Times in milliseconds, never falling. The last, above 0, is when the trace begins again.
    pub times: Vec<u64>,
    /// The bytes that go at each time, of one packet or of several. At least 1.
    pub bytes: u64,
}

/// A queue's capacity, without the packet on the link. Both bounds hold at once. None: no bound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// Packets.
    pub packets: Option<u64>,
    /// Bytes, where each packet is as long as on the link.
    pub bytes: Option<u64>,
}

impl fmt::Display for Limits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Limit {
            packets: self.packets.unwrap_or(u64::MAX),
            bytes: self.bytes.unwrap_or(u64::MAX),
        }
        .fmt(f)
    }
}

/// The order in which a queue promises to send packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Order {
    /// All packets leave in the order in which they arrived.
    Fifo,
    /// Packets of one flow leave in the order in which they arrived.
    PerFlow,
    /// No promise.
    Any,
}

/// An event. Flows, packets, nodes and links are given by number.
#[allow(missing_docs, reason = "the variants say it")]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case", deny_unknown_fields)]
pub enum Event {
    /// A flow starts. `edge`: Edge-CoDel may drop its packets; left out if false. `longest`: the
    /// longest packet that the flow's queues expect, in bytes; left out for the default.
    Open {
        flow: u64,
        from: u32,
        to: u32,
        #[serde(default, skip_serializing_if = "is_false")]
        edge: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        longest: Option<u32>,
    },
    /// An agent sends a packet of `len` bytes. `back`: the packet goes from the flow's destination
    /// to its source.
    Send {
        packet: u64,
        flow: u64,
        len: u32,
        back: bool,
    },
    /// A packet arrives at a link's queue.
    Arrive { packet: u64, link: u32 },
    /// A packet has the link until `end`. On a preemptive link the line comes at the end.
    Transmit { packet: u64, link: u32, end: u64 },
    /// A link's queue drops a packet.
    Drop {
        packet: u64,
        link: u32,
        reason: String,
    },
    /// A link sends none of the packets that wait, because its discipline holds them back until
    /// `until`. An arrival ends the rest, because the discipline is asked again.
    Rest { link: u32, until: u64 },
    /// A packet has left the queue and is lost on the wire.
    Lose { packet: u64, link: u32 },
    /// A packet reaches the end of its route.
    Deliver { packet: u64 },
    /// Edge-CoDel drops a packet at the end of its route.
    EdgeDrop { packet: u64 },
    /// The flow's agent ends the flow, so no more packets are sent. Its `close` follows at the
    /// instant at which its last packet has left the network.
    Finish { flow: u64 },
    /// A flow has ended. `sent` and `delivered` count its packets but no replies.
    Close {
        flow: u64,
        sent: u64,
        delivered: u64,
    },
    /// The simulation ends here with this number of open flows, while packets may still be on their
    /// way.
    End { open: u64 },
}

/// A line of the log after the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Line {
    /// Time in picoseconds.
    pub time: u64,
    /// The event.
    #[serde(flatten)]
    pub event: Event,
}

impl Order {
    /// Name in the log.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Fifo => "fifo",
            Self::PerFlow => "per_flow",
            Self::Any => "any",
        }
    }

    /// The order that a queue's discipline promises, from the registry.
    pub fn of(queue: &QueueSpec) -> Self {
        let info = queue.discipline.info();
        match queue.discipline {
            AnyDiscipline::Fifo(_) => Self::Fifo,
            _ if info.reorders => Self::Any,
            _ => Self::PerFlow,
        }
    }
}

impl LinkRecord {
    /// Overhead, minimum and framing. None if the framing is unknown.
    pub fn layer(&self) -> Option<LinkLayer> {
        let framing = if self.framing.is_empty() {
            Some(Framing::None)
        } else {
            self.framing.parse().ok()
        };
        framing.map(|framing| LinkLayer {
            // Lengths in the log are already those to which the link adds its overhead.
            raw: true,
            overhead: self.overhead,
            mpu: self.mpu,
            framing,
        })
    }
}

impl Header {
    /// A node's name, or its number if there are no names.
    pub fn name(&self, node: u32) -> String {
        self.names
            .get(node as usize)
            .map_or_else(|| node.to_string(), Clone::clone)
    }
}
