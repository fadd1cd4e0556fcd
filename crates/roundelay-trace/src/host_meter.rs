//! Ideal servers of hosts: what each host at one end of the flows is due of the link.
//!
//! A host is the address at one end of a flow. An ideal server serves hosts as it otherwise serves
//! flows, each with the same weight.

use std::collections::HashMap;
use std::net::IpAddr;

use roundelay::schedulers::AnyDiscipline;
use roundelay::schedulers::cake::Isolation;
use roundelay::{FlowId, Instant, QueueSpec, Rate};
use roundelay_reference::GpsServer;

use crate::compare::options::Options;
use crate::headers::Headers;
use crate::host_summary::HostEnd;

/// Whether a discipline shares the link by hosts at the flows' sources, and at their destinations.
fn ends_of(spec: &QueueSpec) -> [bool; 2] {
    let AnyDiscipline::Cake(cake) = &spec.discipline else {
        return [spec.discipline.info().reads_hosts; 2];
    };
    match cake.isolation {
        Isolation::Flowblind | Isolation::Flows => [false, false],
        Isolation::Srchost | Isolation::DualSrchost => [true, false],
        Isolation::Dsthost | Isolation::DualDsthost => [false, true],
        Isolation::Hosts | Isolation::TripleIsolate => [true, true],
    }
}

/// Ideal servers of hosts, fed with a capture's packets.
pub(crate) struct HostMeter {
    pub(crate) ends: Vec<End>,
}

/// The hosts at one end.
pub(crate) struct End {
    pub(crate) which: HostEnd,
    numbers: HashMap<IpAddr, u32>,
    pub(crate) addresses: Vec<Option<IpAddr>>,
    /// The host of each flow.
    pub(crate) of_flows: Vec<u32>,
    /// One for each shaper or link, numbered as the servers of flows.
    servers: Vec<GpsServer<f64>>,
}

impl HostMeter {
    /// None if nothing compared shares by host, or if a flow may have several hosts.
    pub(crate) fn for_options(options: &Options) -> Option<Self> {
        if !options.flow_by.is_five_tuple() {
            return None;
        }
        let mut specs: Vec<&QueueSpec> = options.specs.iter().collect();
        for tree in &options.trees {
            for node in tree.config().nodes() {
                specs.push(&node.spec);
            }
        }
        let mut by_source = false;
        let mut by_destination = false;
        for spec in specs {
            let [source, destination] = ends_of(spec);
            by_source |= source;
            by_destination |= destination;
        }
        let mut ends = Vec::new();
        if by_destination {
            ends.push(End::new(HostEnd::Destination));
        }
        if by_source {
            ends.push(End::new(HostEnd::Source));
        }
        if ends.is_empty() {
            return None;
        }
        Some(Self { ends })
    }

    /// The next flow has these headers.
    pub(crate) fn meet(&mut self, headers: Option<&Headers>) {
        for end in &mut self.ends {
            let address = headers.map(|headers| match end.which {
                HostEnd::Source => headers.source,
                HostEnd::Destination => headers.destination,
            });
            let next = end.addresses.len() as u32;
            // A flow without an address is a host of its own.
            let host = match address {
                Some(address) => *end.numbers.entry(address).or_insert(next),
                None => next,
            };
            if host == next {
                end.addresses.push(address);
            }
            end.of_flows.push(host);
        }
    }

    /// A packet of a flow arrives at the server with this number and rate.
    pub(crate) fn arrive(&mut self, at: Instant, flow: FlowId, len: u32, server: u32, rate: Rate) {
        for end in &mut self.ends {
            let server = server as usize;
            while end.servers.len() <= server {
                end.servers.push(GpsServer::new(rate));
            }
            let host = FlowId(end.of_flows[flow.index()]);
            end.servers[server].arrive(at, host, len.into());
        }
    }
}

impl End {
    fn new(which: HostEnd) -> Self {
        Self {
            which,
            numbers: HashMap::new(),
            addresses: Vec::new(),
            of_flows: Vec::new(),
            servers: Vec::new(),
        }
    }

    /// Bytes that the ideal servers have sent of a host.
    pub(crate) fn served(&self, host: usize) -> f64 {
        let mut bytes = 0.0;
        for server in &self.servers {
            bytes += server.served(FlowId(host as u32));
        }
        bytes
    }
}
