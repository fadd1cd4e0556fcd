//! Cast: the flows that a simulation sends over the link, by number.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use roundelay::{Ecn, FlowId};

use crate::classifier::{Classifier, Flow};
use crate::compare::options::Options;
use crate::headers::{Headers, Ports, TCP, UDP, Unparsable};

/// The flows that a simulation sends over the link. The index is their number.
#[derive(Debug)]
pub struct Cast {
    classifier: Classifier,
}

impl Cast {
    /// No flows.
    pub fn new(options: &Options) -> Self {
        Self {
            classifier: Classifier::with_max_flows(options.flow_by, options.most_flows()),
        }
    }

    /// The number of the flow with these headers, from its sender to its receiver.
    pub fn number(&mut self, protocol: Option<u8>, ends: Option<[SocketAddr; 2]>) -> FlowId {
        let nowhere = SocketAddr::new(IpAddr::V4(Ipv4Addr::UNSPECIFIED), 0);
        let [from, to] = ends.unwrap_or([nowhere; 2]);
        let Some(protocol) = protocol else {
            return self.classifier.classify(Err(Unparsable::NotIp));
        };
        let has_ports = matches!(protocol, TCP | UDP) || from.port() > 0 || to.port() > 0;
        let headers = Headers {
            source: from.ip(),
            destination: to.ip(),
            protocol,
            source_port: from.port(),
            destination_port: to.port(),
            ports: if has_ports {
                Ports::Present
            } else {
                Ports::None
            },
            dscp: 0,
            ecn: Ecn::NotCapable,
        };
        self.classifier.classify(Ok(&headers))
    }

    /// The number of a TCP flow.
    pub fn of_tcp(&mut self, ends: [SocketAddr; 2]) -> FlowId {
        self.number(Some(TCP), Some(ends))
    }

    /// The flows.
    pub fn flows(&self) -> &[Flow] {
        self.classifier.flows()
    }
}
