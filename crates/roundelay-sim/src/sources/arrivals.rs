//! Source `arrivals`: flows arrive as a Poisson process, each between two random hosts and of a
//! random size: an open load.
//!
//! "Utilisation u": each host offers u times the rate of its link, by starting u r / (8 E(S)) flows
//! a second, with S in bytes of data without headers. One process for all hosts has this rate times
//! their number and draws the source of each flow evenly, which is equivalent.

use roundelay::{FlowConfig, Instant, Rate};
use roundelay_tcp as protocol;

use crate::agent::{Agent, Context, FlowSpec};
use crate::network::NodeId;
use crate::sources::outlet::Terms;
use crate::sources::sizes::Sizes;
use crate::sources::stamp::Stamp;
use crate::sources::tcp::Tcp;
use crate::sources::urgency::Urgency;
use crate::sources::{Check, SourceError, burst, draw};

/// A host and its group. Flows go between groups: in UPS's network to hosts of other core routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// The host.
    pub node: NodeId,
    /// Its group.
    pub group: u32,
}

/// Transport of a flow's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// All at once, in packets of equal length, 1 to 65,535 bytes.
    Burst {
        /// Bytes of a packet; the last packet has the rest.
        packet_len: u32,
    },
    /// Over TCP.
    Tcp(protocol::Config),
}

/// Parameters of the source.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Hosts of at least two groups.
    pub hosts: Vec<Host>,
    /// The rate of a host's link.
    pub link_rate: Rate,
    /// Load of each host as a fraction of `link_rate`: above 0, up to 10.
    pub utilisation: f64,
    /// Distribution of flow sizes.
    pub sizes: Sizes,
    /// Transport of the flows.
    pub transport: Transport,
    /// Start of the process.
    pub start: Instant,
    /// Stop of the process, after its start; open flows go on.
    pub stop: Option<Instant>,
    /// Urgency of the packets.
    pub urgency: Urgency,
    /// Weight and longest packet of each flow.
    pub flow: Option<FlowConfig>,
}

impl Config {
    /// Flows a second from each host.
    pub fn flows_per_host(&self) -> f64 {
        self.utilisation * self.link_rate.bits_per_second() as f64 / (8.0 * self.sizes.mean())
    }

    fn check(&self) -> Result<(), SourceError> {
        let check = Check("arrivals");
        check.rate(self.link_rate)?;
        if !(self.utilisation > 0.0 && self.utilisation <= 10.0) {
            return Err(SourceError::new("arrivals", "utilisation", self.utilisation, "above 0, to 10"));
        }
        if !self.hosts.iter().any(|host| host.group != self.hosts[0].group) {
            return Err(SourceError::new(
                "arrivals",
                "hosts",
                format!("{} in one group", self.hosts.len()),
                "hosts of two groups at least",
            ));
        }
        self.terms(self.hosts[0].node, self.hosts[0].node).check(check)
    }

    fn terms(&self, from: NodeId, to: NodeId) -> Terms {
        let flow = FlowSpec { from, to, config: self.flow };
        Terms { start: self.start, stop: self.stop, urgency: self.urgency.clone(), flow, ..Terms::new(from, to) }
    }
}

/// Prototype of a flow.
#[derive(Debug)]
pub(crate) enum Mould {
    Burst(u32),
    Tcp(Box<Tcp>),
}

impl Mould {
    /// `terms`: of each flow, except for its ends.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub(crate) fn new(transport: Transport, terms: Terms, check: Check) -> Result<Self, SourceError> {
        Ok(match transport {
            Transport::Burst { packet_len } => {
                check.packet_len(packet_len)?;
                Self::Burst(packet_len)
            }
            Transport::Tcp(protocol) => Self::Tcp(Box::new(Tcp::prototype(Terms { start: Instant::ZERO, stop: None, ..terms }, protocol)?)),
        })
    }

    /// Begins a flow of `size` bytes.
    pub(crate) fn begin(&self, spec: FlowSpec, size: u64, urgency: &Urgency, context: &mut Context<'_>) {
        match self {
            Self::Tcp(prototype) => context.spawn(Box::new(prototype.like(spec, size)), context.now()),
            Self::Burst(packet_len) => {
                let flow = context.open(spec);
                let mut stamp = Stamp::new(urgency.clone(), spec.weight(), size, *packet_len);
                burst::send_all(flow, size, *packet_len, &mut stamp, context);
                context.close(flow);
            }
        }
    }
}

/// The source.
#[derive(Debug)]
pub struct Arrivals {
    config: Config,
    mean_gap_picos: f64,
    mould: Mould,
    has_begun: bool,
}

impl Arrivals {
    /// # Errors
    /// A parameter is out of range.
    pub fn new(config: Config) -> Result<Self, SourceError> {
        config.check()?;
        let node = config.hosts[0].node;
        let mould = Mould::new(config.transport, config.terms(node, node), Check("arrivals"))?;
        let mean_gap_picos = 1e12 / config.flows_per_host() / config.hosts.len() as f64;
        Ok(Self { config, mean_gap_picos, mould, has_begun: false })
    }

    fn host(&self, context: &mut Context<'_>) -> Host {
        self.config.hosts[draw::below(context.random(), self.config.hosts.len() as u64) as usize]
    }

    /// Any host as the source, and any host of another group as the destination.
    fn pair(&self, context: &mut Context<'_>) -> [NodeId; 2] {
        let from = self.host(context);
        loop {
            let to = self.host(context);
            if to.group != from.group {
                return [from.node, to.node];
            }
        }
    }

    fn begin_flow(&self, context: &mut Context<'_>) {
        let [from, to] = self.pair(context);
        let size = self.config.sizes.draw(context.random());
        let spec = FlowSpec { from, to, config: self.config.flow };
        self.mould.begin(spec, size, &self.config.urgency, context);
    }
}

impl Agent for Arrivals {
    fn wake(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        if self.config.stop.is_some_and(|stop| now >= stop) {
            return context.leave();
        }
        if now < self.config.start {
            return context.wake_at(self.config.start);
        }
        if std::mem::replace(&mut self.has_begun, true) {
            self.begin_flow(context);
        }
        let next = now + draw::exponential(context.random(), self.mean_gap_picos);
        context.wake_at(self.config.stop.map_or(next, |stop| stop.min(next)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::bench::{Bench, Log, seconds};
    use roundelay::Duration;

    const HOSTS: u32 = 6;

    /// Six hosts in a ring, in groups of one, two and three.
    fn config(utilisation: f64, transport: Transport) -> Config {
        let hosts = [0, 1, 1, 2, 2, 2].iter().zip(0..).map(|(group, node)| Host { node: NodeId(node), group: *group }).collect();
        Config {
            hosts,
            link_rate: "1gbit".parse().unwrap(),
            utilisation,
            sizes: Sizes::named("ups").unwrap(),
            transport,
            start: Instant::ZERO,
            stop: None,
            urgency: Urgency::FlowSize(Duration::from_secs(1)),
            flow: None,
        }
    }

    const BURST: Transport = Transport::Burst { packet_len: 1460 };

    fn run(config: Config, secs: u64) -> Log {
        Bench::of(HOSTS, "100gbit").run(4, secs, [Arrivals::new(config).unwrap()])
    }

    #[test]
    fn flows_a_second() {
        for (utilisation, expected) in [(0.1, 46.41), (0.3, 139.23), (0.5, 232.05), (0.7, 324.88), (0.9, 417.70)] {
            let flows = config(utilisation, BURST).flows_per_host();
            assert!((flows - expected).abs() < 0.006, "{utilisation}: {flows}");
        }
        let web = Config { sizes: Sizes::named("web_search").unwrap(), link_rate: "10gbit".parse().unwrap(), ..config(0.7, BURST) };
        assert!((web.flows_per_host() - 525.4).abs() < 0.1);
    }

    /// Counts are Poisson, pairs binomial, bytes deviate as sizes do (2.78 means each): five sigma.
    #[test]
    fn flows_come_as_often_as_they_should_between_groups() {
        let log = run(config(0.3, BURST), 20);
        let (flows, expected) = (log.opened.len() as f64, 139.23 * 20.0 * f64::from(HOSTS));
        assert!((flows - expected).abs() < 5.0 * expected.sqrt(), "{flows} for {expected}");
        let group = |node: NodeId| [0, 1, 1, 2, 2, 2][node.0 as usize];
        assert!(log.opened.iter().all(|(_, from, to)| group(*from) != group(*to)));
        let count = |from, to| log.opened.iter().filter(|(_, f, t)| (f.0, t.0) == (from, to)).count() as f64;
        for (from, to, part) in [(0, 1, 1.0 / 30.0), (1, 0, 1.0 / 24.0), (3, 0, 1.0 / 18.0), (5, 2, 1.0 / 18.0)] {
            assert!((count(from, to) - flows * part).abs() < 5.0 * (flows * part).sqrt(), "{from} to {to}: {}", count(from, to));
        }
        let bytes: f64 = log.sent.iter().map(|packet| f64::from(packet.len)).sum();
        let offered = 0.3e9 / 8.0 * 20.0 * f64::from(HOSTS);
        assert!((bytes / offered - 1.0).abs() < 5.0 * (1.0 + 2.78_f64.powi(2)).sqrt() / flows.sqrt(), "{bytes} for {offered}");
    }

    #[test]
    fn packets_say_how_large_their_flow_is() {
        let log = run(config(0.1, BURST), 1);
        let mut sizes = std::collections::BTreeMap::new();
        log.sent.iter().for_each(|packet| *sizes.entry(packet.flow).or_insert(0) += packet.len);
        assert!(log.sent.iter().all(|packet| packet.priority == sizes[&packet.flow]));
        assert!(sizes.values().any(|size| *size == 2107 * 1460));
        assert_eq!(log.sent, run(config(0.1, BURST), 1).sent, "same seed, same packets");
    }

    #[test]
    fn flows_over_tcp_are_the_same_flows() {
        let tcp = |utilisation| config(utilisation, Transport::Tcp(protocol::Config::ns2_newreno_sack1()));
        let stop = Some(seconds(1));
        let (bursts, flows) = (run(Config { stop, ..config(0.1, BURST) }, 10), run(Config { stop, ..tcp(0.1) }, 10));
        assert_eq!(bursts.opened, flows.opened);
        assert_eq!(flows.reports.len(), flows.opened.len(), "all of them end");
        let bytes: u64 = flows.reports.iter().map(|(_, _, report)| report.bytes).sum();
        assert_eq!(bytes, bursts.sent.iter().map(|packet| u64::from(packet.len)).sum::<u64>());
    }

    #[test]
    fn it_starts_and_stops_when_it_should() {
        let log = run(Config { start: seconds(2), stop: Some(seconds(3)), ..config(0.3, BURST) }, 10);
        assert!(!log.opened.is_empty());
        assert!(log.opened.iter().all(|(now, ..)| (seconds(2)..seconds(3)).contains(now)));
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let message = |config| Arrivals::new(config).unwrap_err().to_string();
        let good = config(0.5, BURST);
        assert_eq!(message(config(f64::NAN, BURST)), "arrivals: utilisation NaN: legal range above 0, to 10");
        let hosts = good.hosts[3..].to_vec();
        assert_eq!(message(Config { hosts, ..good.clone() }), "arrivals: hosts 3 in one group: legal range hosts of two groups at least");
        let empty = Config { hosts: Vec::new(), ..good.clone() };
        assert_eq!(message(empty), "arrivals: hosts 0 in one group: legal range hosts of two groups at least");
        let transport = Transport::Burst { packet_len: 0 };
        assert_eq!(message(Config { transport, ..good.clone() }), "arrivals: packet_len 0: legal range 1 to 65535");
        let stop = Config { stop: Some(Instant::ZERO), ..good };
        assert_eq!(message(stop), "arrivals: stop 0s: legal range after its start at 0s");
    }
}
