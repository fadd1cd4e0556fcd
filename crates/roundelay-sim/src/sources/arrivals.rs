//! Source `arrivals`: flows arrive as a Poisson process, each between two random hosts and with a
//! random size. This is an open load.
//!
//! "Utilisation u" means that each host offers u times its link's rate r. To do so it starts u r /
//! (8 E(S)) flows a second, where S is in bytes of data without headers. Instead, we run one
//! process for all hosts with this rate times their number, and draw each flow's source evenly,
//! which is equivalent.

use std::collections::{BTreeSet, VecDeque};
use std::fmt;

use roundelay::{Instant, Rate};
use roundelay_files::InWords;
use roundelay_tcp as protocol;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};

use crate::agent::{Agent, Context};
use crate::flows::FlowSpec;
use crate::ids::NodeId;
use crate::network::{LinkClass, Network};
use crate::sources::load::{Amount, Load};
use crate::sources::protocol::Protocol;
use crate::sources::sizes::Sizes;
use crate::sources::source::{Between, Conditions, Ending, Facts, Site, Source};
use crate::sources::source_flow::Terms;
use crate::sources::stamp::Stamp;
use crate::sources::tcp::Tcp;
use crate::sources::urgency::Urgency;
use crate::sources::{Check, SourceError, burst, draw};

/// A host and its group. Flows only go from one group to another. In UPS's network, they go to
/// hosts at other core routers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Host {
    /// The host.
    pub node: NodeId,
    /// Its group.
    pub group: u32,
}

/// What carries a flow's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// All at once, in packets of equal length, 1 to 65,535 bytes.
    Burst {
        /// Bytes in a packet. The last packet has the rest.
        packet_len: u32,
    },
    /// Over TCP.
    Tcp(protocol::Config),
}

#[cfg(feature = "schema")]
pub(super) const SENDS: &str =
    "Flows that arrive at random, between random hosts of `from`; `to` is left out.";
pub(super) const EXAMPLES: [&str; 2] = [
    "utilisation = 0.005\nlink_rate = '50mbit'\nsizes = [[3000, 0.5], [9000, 1.0]]\n\
     transport = 'burst'",
    "utilisation = 0.005\nlink_rate = '50mbit'\nsizes = [[3000, 0.5], [9000, 1.0]]\n\
     interpolated = true\ntransport = 'tcp'",
];

/// Transport of arriving flows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Transport {
    /// All at once.
    #[default]
    Burst,
    /// Over TCP.
    Tcp,
}

/// Hosts that send no flows to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Apart {
    /// Only the host itself.
    #[default]
    Host,
    /// Hosts behind one router.
    Router,
    /// Hosts with the same nearest router with core links, as in UPS, where flows go to hosts of
    /// other core routers.
    Core,
}

/// Distribution of flow sizes.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(
    untagged,
    expecting = "expected ups, data_mining, web_search, or a list of [bytes, fraction]"
)]
pub enum SizesSpec {
    /// A built-in distribution: ups, data_mining or web_search.
    Named(String),
    /// Bytes, and the fraction of all flows of this size or smaller: [[1460, 0.5], [14600, 1.0]].
    Points(Vec<(u64, f64)>),
}

/// Parameters of the source.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Load of each host as a fraction of `link_rate`: above 0, to 10.
    #[serde(deserialize_with = "fraction")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "crate::scenario::schema::Fraction")
    )]
    pub utilisation: f64,
    /// The rate of a host's link.
    #[serde(with = "InWords::<Rate>")]
    pub link_rate: Rate,
    /// Distribution of flow sizes.
    pub sizes: SizesSpec,
    /// Whether sizes between the points occur, too.
    #[serde(default)]
    pub interpolated: bool,
    /// Hosts that send no flows to each other.
    #[serde(default)]
    pub apart: Apart,
    /// Transport of the flows.
    #[serde(default)]
    pub transport: Transport,
    /// Bytes of a packet of a burst: 1 to 65,535.
    #[serde(default = "full_len", with = "InWords::<u32>")]
    pub packet_len: u32,
    /// TCP parameters of both ends, for flows over TCP.
    #[serde(default)]
    pub tcp: Protocol,
}

/// Reads a fraction, or percent in quotes.
///
/// # Errors
/// The value is neither.
fn fraction<'de, D: Deserializer<'de>>(deserializer: D) -> Result<f64, D::Error> {
    struct Within;

    impl Visitor<'_> for Within {
        type Value = f64;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a fraction, as in 0.6 or \"60%\"")
        }

        fn visit_f64<E: Error>(self, number: f64) -> Result<f64, E> {
            Ok(number)
        }

        fn visit_i64<E: Error>(self, number: i64) -> Result<f64, E> {
            Ok(number as f64)
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<f64, E> {
            let number = text.strip_suffix('%').unwrap_or_default().trim();
            let percent: Option<f64> = number.parse().ok();
            match percent {
                Some(percent) if percent.is_finite() => Ok(percent / 100.0),
                _ => Err(E::invalid_value(Unexpected::Str(text), &self)),
            }
        }
    }

    deserializer.deserialize_any(Within)
}

pub(super) const fn full_len() -> u32 {
    1460
}

impl Transport {
    pub(super) fn carrier(self, packet_len: u32, tcp: &Protocol) -> Carrier {
        match self {
            Self::Burst => Carrier::Burst { packet_len },
            Self::Tcp => Carrier::Tcp(tcp.config()),
        }
    }

    /// What is known about flows over this transport.
    pub(super) fn facts<'a>(
        self,
        packet_len: u32,
        tcp: &'a Protocol,
        between: Between<'a>,
    ) -> Facts<'a> {
        let facts = match self {
            Self::Burst => Facts::datagrams(packet_len, Ending::Silent),
            Self::Tcp => Facts::tcp(tcp, Ending::Told),
        };
        Facts { between, ..facts }
    }

    /// Keys that have no effect, for sources that begin flows between many hosts.
    pub(super) const fn unused(self) -> [(&'static str, &'static str); 2] {
        let pairs = (
            "pairs",
            "flows of arrivals go between random hosts of 'from': leave this key out",
        );
        match self {
            Self::Burst => [
                pairs,
                (
                    "tcp",
                    "bursts do not go over TCP: leave it out, or transport = \"tcp\"",
                ),
            ],
            Self::Tcp => [
                pairs,
                (
                    "packet_len",
                    "over TCP, tcp = { segment_len = ... } sets the length of packets",
                ),
            ],
        }
    }
}

impl Config {
    fn sizes(&self) -> Result<Sizes, SourceError> {
        let sizes = match &self.sizes {
            SizesSpec::Named(name) => Sizes::named(name).ok_or_else(|| {
                SourceError::new(
                    "arrivals",
                    "sizes",
                    name,
                    format!("{}, or points", Sizes::NAMES.join(", ")),
                )
            })?,
            SizesSpec::Points(points) => Sizes::discrete(points.clone())?,
        };
        Ok(if self.interpolated {
            sizes.interpolated()
        } else {
            sizes
        })
    }

    /// The hosts with their groups, as `apart` says.
    fn hosts(&self, site: &Site<'_>) -> Vec<Host> {
        let network = site.network;
        let mut hosts = Vec::new();
        for &host in site.hosts {
            let group = match self.apart {
                Apart::Host => host,
                Apart::Router => match network.leaving(host).first() {
                    Some(link) => network.links()[link.index()].to,
                    None => host,
                },
                Apart::Core => nearest_core(network, host),
            };
            hosts.push(Host {
                node: host,
                group: group.0,
            });
        }
        hosts
    }
}

impl Source for Config {
    fn facts(&self) -> Facts<'_> {
        self.transport
            .facts(self.packet_len, &self.tcp, Between::Any)
    }

    /// Each flow fills its last packet in part and, over TCP, begins with a packet without data.
    /// Starts are spread evenly over time. By the end, a flow over TCP has sent no more than its
    /// route can carry.
    fn load(&self, conditions: &Conditions) -> Load {
        let Ok(sizes) = self.sizes() else {
            return Load::of_flow(Amount::exact(0.0));
        };
        let seconds = conditions.span.as_secs_f64();
        let len = f64::from(self.facts().segment_len().max(1));
        let flows = self.utilisation * self.link_rate.bits_per_second() as f64
            / 8.0
            / sizes.mean().max(1.0)
            * seconds
            * conditions.hosts;
        let rate = if self.transport == Transport::Tcp {
            conditions.fastest / 8.0
        } else {
            f64::INFINITY
        };
        let most = rate * seconds;
        // A flow that needs the fraction t of the whole time is cut off if it begins in the last
        // fraction t. Then what it has sent is even between nothing and everything. So the mean is
        // 1 - t + t / 2 = 1 - t / 2 of its packets, and the mean square 1 - t + t / 3 = 1 - 2 t / 3
        // of their square.
        let packets = |bytes: f64| (bytes / len).ceil() + 1.0;
        let part = |size: f64| (size / most).min(1.0);
        let mean = sizes.mean_of(|size| packets(size.min(most)) * (1.0 - part(size) / 2.0));
        let square =
            sizes.mean_of(|size| packets(size.min(most)).powi(2) * (1.0 - part(size) * 2.0 / 3.0));
        let drawn = Amount::drawn(flows, 1.0);
        Load {
            packets: Amount::random(flows * mean, flows * square),
            flows: drawn,
            transfers: drawn,
            idle_rounds: 0.0,
        }
    }

    fn agent(&self, terms: Terms, site: &Site<'_>) -> Result<Box<dyn Agent>, SourceError> {
        let carrier = self.transport.carrier(self.packet_len, &self.tcp);
        Ok(Box::new(Arrivals::new(
            terms,
            self.hosts(site),
            self.link_rate,
            self.utilisation,
            self.sizes()?,
            carrier,
        )?))
    }

    fn unused(&self) -> Vec<(&'static str, &'static str)> {
        let [pairs, transport] = self.transport.unused();
        vec![
            pairs,
            (
                "start_jitter",
                "flows of arrivals start at random times: leave this key out",
            ),
            transport,
        ]
    }
}

/// The nearest router with core links, or the host itself if there is none. If several are equally
/// near, the one found first.
fn nearest_core(network: &Network, host: NodeId) -> NodeId {
    let mut queue = VecDeque::from([host]);
    let mut seen = BTreeSet::from([host]);
    while let Some(node) = queue.pop_front() {
        let leaving = network.leaving(node).iter();
        let links: Vec<_> = leaving.map(|link| &network.links()[link.index()]).collect();
        if links.iter().any(|link| link.class == LinkClass::Core) {
            return node;
        }
        for link in links {
            if seen.insert(link.to) {
                queue.push_back(link.to);
            }
        }
    }
    host
}

/// The mould from which a source makes its flows.
#[derive(Debug)]
pub(crate) enum Mould {
    Burst(u32),
    Tcp(Box<Tcp>),
}

impl Mould {
    /// `terms` are for each flow, except for its ends.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub(crate) fn new(carrier: Carrier, terms: Terms, check: Check) -> Result<Self, SourceError> {
        Ok(match carrier {
            Carrier::Burst { packet_len } => {
                check.packet_len(packet_len)?;
                Self::Burst(packet_len)
            }
            Carrier::Tcp(protocol) => Self::Tcp(Box::new(Tcp::prototype(
                Terms {
                    start: Instant::ZERO,
                    stop: None,
                    ..terms
                },
                protocol,
            )?)),
        })
    }

    /// Begins a flow of `size` bytes.
    pub(crate) fn begin(
        &self,
        spec: FlowSpec,
        size: u64,
        urgency: &Urgency,
        context: &mut Context<'_>,
    ) {
        match self {
            Self::Tcp(prototype) => {
                context.spawn(Box::new(prototype.like(spec, size)), context.now())
            }
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
    terms: Terms,
    hosts: Vec<Host>,
    sizes: Sizes,
    mean_gap_picos: f64,
    mould: Mould,
    has_begun: bool,
}

/// Flows that each host starts in a second.
fn flows_per_host(link_rate: Rate, utilisation: f64, sizes: &Sizes) -> f64 {
    utilisation * link_rate.bits_per_second() as f64 / (8.0 * sizes.mean())
}

impl Arrivals {
    /// Flows between `hosts`, which must belong to at least two groups. All flows have these
    /// `terms`, but other ends. Open flows go on after the stop. `utilisation` is each host's load
    /// as a fraction of `link_rate`: above 0, up to 10.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn new(
        terms: Terms,
        hosts: Vec<Host>,
        link_rate: Rate,
        utilisation: f64,
        sizes: Sizes,
        carrier: Carrier,
    ) -> Result<Self, SourceError> {
        let check = Check("arrivals");
        check.rate(link_rate)?;
        if !(utilisation > 0.0 && utilisation <= 10.0) {
            return Err(SourceError::new(
                "arrivals",
                "utilisation",
                utilisation,
                "above 0, to 10",
            ));
        }
        if !hosts.iter().any(|host| host.group != hosts[0].group) {
            return Err(SourceError::new(
                "arrivals",
                "hosts",
                format!("{} in one group", hosts.len()),
                "hosts of two groups at least",
            ));
        }
        terms.check(check)?;
        let mould = Mould::new(carrier, terms.clone(), check)?;
        let mean_gap_picos =
            1e12 / flows_per_host(link_rate, utilisation, &sizes) / hosts.len() as f64;
        Ok(Self {
            terms,
            hosts,
            sizes,
            mean_gap_picos,
            mould,
            has_begun: false,
        })
    }

    fn host(&self, context: &mut Context<'_>) -> Host {
        self.hosts[draw::below(context.random(), self.hosts.len() as u64) as usize]
    }

    /// Any host as the source, and as the destination any host in another group.
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
        let size = self.sizes.draw(context.random());
        let spec = FlowSpec {
            from,
            to,
            config: self.terms.flow.config,
        };
        self.mould.begin(spec, size, &self.terms.urgency, context);
    }
}

impl Agent for Arrivals {
    fn wake(&mut self, context: &mut Context<'_>) {
        let now = context.now();
        if self.terms.stop.is_some_and(|stop| now >= stop) {
            return context.leave();
        }
        if now < self.terms.start {
            return context.wake_at(self.terms.start);
        }
        if std::mem::replace(&mut self.has_begun, true) {
            self.begin_flow(context);
        }
        let next = now + draw::exponential(context.random(), self.mean_gap_picos);
        context.wake_at(self.terms.stop.map_or(next, |stop| stop.min(next)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::bench::{Bench, Log, seconds};
    use roundelay::Duration;

    const HOSTS: u32 = 6;

    /// Six hosts in a ring, in groups of one, two and three.
    fn hosts() -> Vec<Host> {
        [0, 1, 1, 2, 2, 2]
            .iter()
            .zip(0..)
            .map(|(group, node)| Host {
                node: NodeId(node),
                group: *group,
            })
            .collect()
    }

    fn terms() -> Terms {
        Terms {
            urgency: Urgency::FlowSize(Duration::from_secs(1)),
            ..Terms::new(NodeId(0), NodeId(0))
        }
    }

    const BURST: Carrier = Carrier::Burst { packet_len: 1460 };

    fn arrivals(
        terms: Terms,
        hosts: Vec<Host>,
        utilisation: f64,
        carrier: Carrier,
    ) -> Result<Arrivals, SourceError> {
        Arrivals::new(
            terms,
            hosts,
            "1gbit".parse().unwrap(),
            utilisation,
            Sizes::named("ups").unwrap(),
            carrier,
        )
    }

    fn run(terms: Terms, utilisation: f64, carrier: Carrier, secs: u64) -> Log {
        Bench::of(HOSTS, "100gbit").run(
            4,
            secs,
            [arrivals(terms, hosts(), utilisation, carrier).unwrap()],
        )
    }

    #[test]
    fn flows_a_second() {
        for (utilisation, expected) in [
            (0.1, 46.41),
            (0.3, 139.23),
            (0.5, 232.05),
            (0.7, 324.88),
            (0.9, 417.70),
        ] {
            let flows = flows_per_host(
                "1gbit".parse().unwrap(),
                utilisation,
                &Sizes::named("ups").unwrap(),
            );
            assert!((flows - expected).abs() < 0.006, "{utilisation}: {flows}");
        }
        let web = flows_per_host(
            "10gbit".parse().unwrap(),
            0.7,
            &Sizes::named("web_search").unwrap(),
        );
        assert!((web - 525.4).abs() < 0.1);
    }

    /// Flows are Poisson, pairs are binomial, and bytes deviate as sizes do (2.78 means each). The
    /// tolerance is five sigma.
    #[test]
    fn flows_come_as_often_as_they_should_between_groups() {
        let log = run(terms(), 0.3, BURST, 20);
        let flows = log.opened.len() as f64;
        let expected = 139.23 * 20.0 * f64::from(HOSTS);
        assert!(
            (flows - expected).abs() < 5.0 * expected.sqrt(),
            "{flows} for {expected}"
        );
        let group = |node: NodeId| [0, 1, 1, 2, 2, 2][node.0 as usize];
        assert!(
            log.opened
                .iter()
                .all(|(_, from, to)| group(*from) != group(*to))
        );
        let count = |from, to| {
            log.opened
                .iter()
                .filter(|(_, f, t)| (f.0, t.0) == (from, to))
                .count() as f64
        };
        for (from, to, part) in [
            (0, 1, 1.0 / 30.0),
            (1, 0, 1.0 / 24.0),
            (3, 0, 1.0 / 18.0),
            (5, 2, 1.0 / 18.0),
        ] {
            assert!(
                (count(from, to) - flows * part).abs() < 5.0 * (flows * part).sqrt(),
                "{from} to {to}: {}",
                count(from, to)
            );
        }
        let bytes: f64 = log.sent.iter().map(|packet| f64::from(packet.len)).sum();
        let offered = 0.3e9 / 8.0 * 20.0 * f64::from(HOSTS);
        assert!(
            (bytes / offered - 1.0).abs() < 5.0 * (1.0 + 2.78_f64.powi(2)).sqrt() / flows.sqrt(),
            "{bytes} for {offered}"
        );
    }

    #[test]
    fn packets_say_how_large_their_flow_is() {
        let log = run(terms(), 0.1, BURST, 1);
        let mut sizes = std::collections::BTreeMap::new();
        log.sent
            .iter()
            .for_each(|packet| *sizes.entry(packet.flow).or_insert(0) += packet.len);
        assert!(
            log.sent
                .iter()
                .all(|packet| packet.priority == sizes[&packet.flow])
        );
        assert!(sizes.values().any(|size| *size == 2107 * 1460));
        assert_eq!(
            log.sent,
            run(terms(), 0.1, BURST, 1).sent,
            "same seed, same packets"
        );
    }

    #[test]
    fn flows_over_tcp_are_the_same_flows() {
        let tcp = Carrier::Tcp(protocol::Config::ns2_newreno_sack1());
        let [bursts, flows] = [BURST, tcp].map(|carrier| {
            run(
                Terms {
                    stop: Some(seconds(1)),
                    ..terms()
                },
                0.1,
                carrier,
                10,
            )
        });
        assert_eq!(bursts.opened, flows.opened);
        assert_eq!(flows.reports.len(), flows.opened.len(), "all of them end");
        let bytes: u64 = flows
            .reports
            .iter()
            .map(|(_, _, report)| report.bytes)
            .sum();
        assert_eq!(
            bytes,
            bursts
                .sent
                .iter()
                .map(|packet| u64::from(packet.len))
                .sum::<u64>()
        );
    }

    #[test]
    fn it_starts_and_stops_when_it_should() {
        let log = run(
            Terms {
                start: seconds(2),
                stop: Some(seconds(3)),
                ..terms()
            },
            0.3,
            BURST,
            10,
        );
        assert!(!log.opened.is_empty());
        assert!(
            log.opened
                .iter()
                .all(|(now, ..)| (seconds(2)..seconds(3)).contains(now))
        );
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let message = |hosts, utilisation, carrier| {
            arrivals(terms(), hosts, utilisation, carrier)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            message(hosts(), f64::NAN, BURST),
            "arrivals: utilisation NaN: legal range above 0, to 10"
        );
        let one = "in one group: legal range hosts of two groups at least";
        assert_eq!(
            message(hosts()[3..].to_vec(), 0.5, BURST),
            format!("arrivals: hosts 3 {one}")
        );
        assert_eq!(
            message(Vec::new(), 0.5, BURST),
            format!("arrivals: hosts 0 {one}")
        );
        let empty = Carrier::Burst { packet_len: 0 };
        assert_eq!(
            message(hosts(), 0.5, empty),
            "arrivals: packet_len 0: legal range 1 to 65535"
        );
        let terms = Terms {
            stop: Some(Instant::ZERO),
            ..terms()
        };
        assert_eq!(
            arrivals(terms, hosts(), 0.5, BURST)
                .unwrap_err()
                .to_string(),
            "arrivals: stop 0s: legal range after its start at 0s"
        );
    }
}
