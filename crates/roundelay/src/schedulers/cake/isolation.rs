//! Isolation: what shares a queue, and whether queues share the link by their hosts.

use alloc::vec::Vec;

use crate::config::ConfigError;
use crate::mechanisms::hash::FlowHash;
use crate::packet::{FlowId, Hosts};
use crate::seed::Seed;

/// What is kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Isolation {
    /// Nothing: one queue a tin.
    Flowblind,
    /// Source hosts.
    Srchost,
    /// Destination hosts.
    Dsthost,
    /// Pairs of hosts.
    Hosts,
    /// Flows.
    Flows,
    /// Source hosts, and each one's flows.
    DualSrchost,
    /// Destination hosts, and each one's flows.
    DualDsthost,
    /// Source hosts, destination hosts, and flows.
    #[default]
    TripleIsolate,
}

impl Isolation {
    /// The words of `tc`, in the order of the variants.
    pub const WORDS: &'static [&'static str] = &[
        "flowblind",
        "srchost",
        "dsthost",
        "hosts",
        "flows",
        "dual-srchost",
        "dual-dsthost",
        "triple-isolate",
    ];

    /// The choice at this position among [`WORDS`](Self::WORDS).
    pub const fn of(index: u64) -> Self {
        match index {
            0 => Self::Flowblind,
            1 => Self::Srchost,
            2 => Self::Dsthost,
            3 => Self::Hosts,
            4 => Self::Flows,
            5 => Self::DualSrchost,
            6 => Self::DualDsthost,
            _ => Self::TripleIsolate,
        }
    }

    /// Whether a quantum is divided among a source host's bulk flows.
    pub(super) const fn by_source(self) -> bool {
        matches!(self, Self::DualSrchost | Self::TripleIsolate)
    }

    /// Whether a quantum is divided among a destination host's bulk flows.
    pub(super) const fn by_destination(self) -> bool {
        matches!(self, Self::DualDsthost | Self::TripleIsolate)
    }

    /// Whether hosts matter at all.
    pub(super) const fn reads_hosts(self) -> bool {
        !matches!(self, Self::Flowblind | Self::Flows)
    }
}

/// A packet's hashes: one for what has its own queue, and one for each host.
#[derive(Debug, Clone, Copy)]
pub(super) struct Hashes {
    pub(super) queue: u32,
    pub(super) source: u32,
    pub(super) destination: u32,
}

/// Makes hashes of flow numbers.
#[derive(Debug, Clone)]
pub(super) struct Hasher {
    isolation: Isolation,
    flows: FlowHash,
    hosts: FlowHash,
    /// For flows with unknown hosts, each of which counts as one between two hosts of its own.
    strangers: FlowHash,
    /// Hosts of flows, by flow number.
    known: Vec<Option<Hosts>>,
}

impl Hasher {
    pub(super) const fn new(isolation: Isolation, seed: Seed) -> Self {
        Self {
            isolation,
            flows: FlowHash::new(seed, 0),
            hosts: FlowHash::new(seed, 1),
            strangers: FlowHash::new(seed, 2),
            known: Vec::new(),
        }
    }

    pub(super) fn set_hosts(
        &mut self,
        discipline: &'static str,
        flow: FlowId,
        hosts: Hosts,
    ) -> Result<(), ConfigError> {
        if !self.isolation.reads_hosts() {
            return Ok(());
        }
        let most = FlowId::LARGEST_TABLED.0.into();
        ConfigError::in_range(discipline, "flow", flow.0.into(), 0, most)?;
        if self.known.len() <= flow.index() {
            self.known.resize(flow.index() + 1, None);
        }
        self.known[flow.index()] = Some(hosts);
        Ok(())
    }

    #[inline]
    pub(super) fn of(&self, flow: FlowId) -> Hashes {
        let of_flow = self.flows.of(flow) as u32;
        if !self.isolation.reads_hosts() {
            return Hashes {
                queue: of_flow,
                source: 0,
                destination: 0,
            };
        }
        let (source, destination) = self.hosts_of(flow);
        let queue = match self.isolation {
            Isolation::Srchost => source,
            Isolation::Dsthost => destination,
            // The order of the two hosts matters.
            Isolation::Hosts => source.rotate_left(16) ^ destination,
            _ => of_flow,
        };
        Hashes {
            queue,
            source,
            destination,
        }
    }

    fn hosts_of(&self, flow: FlowId) -> (u32, u32) {
        let known = self.known.get(flow.index()).copied().flatten();
        match known {
            Some(hosts) => (
                self.hosts.of(FlowId(hosts.source)) as u32,
                self.hosts.of(FlowId(hosts.destination)) as u32,
            ),
            None => {
                let hash = self.strangers.of(flow);
                (hash as u32, (hash >> 32) as u32)
            }
        }
    }
}
