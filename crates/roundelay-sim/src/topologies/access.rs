//! Access: a home behind a provider's line, slower up than down. The queues at the line's ends, the
//! provider's and the modem's, are deep and first in, first out. Your router's queues lie before
//! them, and shape if you say so.
//!
//! `server` reaches `home` through `isp`, `modem` and `router`. The line is the link between `isp`
//! and `modem`. What your router does downwards is the queue from `router` to `home`, and upwards
//! that from `router` to `modem`: a `[[port]]` for each. `[queue]` sets both at once.
//!
//! What a line adds is a rough model, so that shapers meet what they meet there. DOCSIS (RFC 8034):
//! upstream a packet waits for a grant, which is asked for in a time slot of 2 ms and comes two
//! slots later. DSL: PTM's framing (a byte in 65) and interleaving. LTE: a cell whose rate walks.
//! Starlink: another rate every 15 s ([`LinkModel`]).

use roundelay::{Duration, LinkLayer, QueueSpec, Rate, Seed};
use roundelay_files::InWords;
use roundelay_trace::{LinkModel, LinkTrace};
use serde::Deserialize;

use super::{Builder, Queues, Topology, TopologyError, Wire, mbit};
use crate::ids::NodeId;
use crate::network::LinkClass;

#[cfg(feature = "schema")]
pub(super) const NODES: &str =
    "A home behind a line with deep queues: `server`, `isp`, `modem`, `router`, `home`.";
pub(super) const SOURCE: &str = "";

/// What kind of line there is between provider and modem.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Line {
    /// Fibre: Ethernet with its preamble and gaps.
    #[default]
    Ethernet,
    /// Cable: headers of 18 bytes, and upstream 4 to 6 ms until a grant.
    Docsis,
    /// VDSL2: framing of PTM, and 4 ms of interleaving each way.
    Dsl,
    /// A cell that other users share: the rate walks around its mean.
    Lte,
    /// Satellites: another rate every 15 s.
    Starlink,
}

impl Line {
    /// All kinds.
    pub const ALL: [Self; 5] = [
        Self::Ethernet,
        Self::Docsis,
        Self::Dsl,
        Self::Lte,
        Self::Starlink,
    ];

    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ethernet => "ethernet",
            Self::Docsis => "docsis",
            Self::Dsl => "dsl",
            Self::Lte => "lte",
            Self::Starlink => "starlink",
        }
    }

    /// The keyword of cake for its overhead. Empty: no keyword.
    pub const fn keyword(self) -> &'static str {
        match self {
            Self::Ethernet => "ethernet",
            Self::Docsis => "docsis",
            Self::Dsl => "bridged-ptm",
            Self::Lte | Self::Starlink => "",
        }
    }

    /// Whether its rate changes.
    pub const fn varies(self) -> bool {
        matches!(self, Self::Lte | Self::Starlink)
    }

    /// Delay and jitter that it adds.
    const fn waits(self, is_up: bool) -> (Duration, Duration) {
        let millis = Duration::from_millis;
        match self {
            Self::Docsis if is_up => (millis(4), millis(2)),
            Self::Dsl => (millis(4), Duration::ZERO),
            Self::Lte if is_up => (millis(8), Duration::ZERO),
            _ => (Duration::ZERO, Duration::ZERO),
        }
    }
}

/// Parameters of an access.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default, deny_unknown_fields)]
pub struct Access {
    /// Rate of the line towards the home.
    #[serde(with = "InWords::<Rate>")]
    pub down: Rate,
    /// Rate of the line away from the home.
    #[serde(with = "InWords::<Rate>")]
    pub up: Rate,
    /// Delay between server and provider, one way.
    #[serde(with = "InWords::<Duration>")]
    pub delay: Duration,
    /// What kind of line it is.
    pub line: Line,
    /// What the queues at both ends of the line hold, in time at the line's rate: at least ten full
    /// packets.
    #[serde(with = "InWords::<Duration>")]
    pub buffer: Duration,
    /// Rate of the links in the home, and of the provider's network.
    #[serde(with = "InWords::<Rate>")]
    pub lan: Rate,
}

impl Default for Access {
    fn default() -> Self {
        Self {
            down: mbit(100),
            up: mbit(20),
            delay: Duration::from_millis(10),
            line: Line::default(),
            buffer: Duration::from_millis(250),
            lan: mbit(1_000),
        }
    }
}

impl Access {
    /// Builds the network.
    ///
    /// # Errors
    /// None: each parameter is in its range.
    pub fn build(&self, queues: &Queues) -> Result<Topology, TopologyError> {
        let lan = Wire {
            rate: self.lan.max(self.down).max(self.up),
            delay: Duration::ZERO,
        };
        let mut builder = Builder::new(queues);
        let [isp, modem, router] = ["isp", "modem", "router"].map(|name| builder.router(name));
        let server = Wire {
            delay: self.delay,
            ..lan
        };
        builder.host("server", isp, server);
        builder.host("home", router, lan);
        builder.join(modem, router, lan, LinkClass::Edge);
        let down = [isp, modem];
        let up = [modem, isp];
        for (ends, rate, is_up) in [(down, self.down, false), (up, self.up, true)] {
            self.add_line(&mut builder, ends, rate, is_up)?;
        }
        Ok(builder.topology)
    }

    /// Adds one direction of the line.
    fn add_line(
        &self,
        builder: &mut Builder<'_>,
        [from, to]: [NodeId; 2],
        rate: Rate,
        is_up: bool,
    ) -> Result<(), TopologyError> {
        let (delay, jitter) = self.line.waits(is_up);
        let queue = self.deep(rate)?;
        let layer: LinkLayer = match self.line.keyword() {
            "" => LinkLayer::NONE,
            keyword => keyword
                .parse()
                .map_err(|error: roundelay::LinkLayerError| TopologyError::new("line", error))?,
        };
        let parameter = if is_up { "up" } else { "down" };
        let drawn = |text: &str| drawn(text, parameter);
        let trace = match self.line {
            // Upwards grants come in the period of scheduling requests.
            Line::Lte if is_up => Some(drawn(&format!("lte rate {rate} interval 5ms"))?),
            Line::Lte => Some(drawn(&format!("lte rate {rate}"))?),
            Line::Starlink => Some(drawn(&format!("starlink rate {rate}"))?),
            _ => None,
        };
        let id = builder.link(from, to, Wire { rate, delay }, LinkClass::Core);
        builder.topology.network.change_link(id, |link| {
            link.queue = queue;
            link.jitter = jitter;
            link.set_trace(trace, layer);
        });
        Ok(())
    }

    /// A queue as long as the line's buffer.
    fn deep(&self, rate: Rate) -> Result<QueueSpec, TopologyError> {
        const LEAST: u128 = 10 * 1514;
        let bits = u128::from(rate.bits_per_second()) * u128::from(self.buffer.as_picos());
        let bytes = (bits / 8_000_000_000_000).clamp(LEAST, 1 << 40);
        format!("fifo limit {bytes}b")
            .parse()
            .map_err(|error| TopologyError::new("buffer", error))
    }
}

/// The trace of a model, the same for each run. Its rate is that of this parameter.
fn drawn(text: &str, parameter: &'static str) -> Result<LinkTrace, TopologyError> {
    let model = LinkModel::read(text).map_err(|error| TopologyError::new(parameter, error))?;
    match model {
        Some(model) => Ok(LinkTrace::of_model(model, Seed::new(1))),
        None => Err(TopologyError::new("line", format!("no model is {text}"))),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{links_of, way};
    use super::*;

    #[test]
    fn a_rate_that_a_line_cannot_have_is_told_with_its_parameter() {
        let queues = Queues::routers("fifo".parse().unwrap());
        for line in [Line::Lte, Line::Starlink] {
            let plain = Access {
                line,
                ..Access::default()
            };
            let fast = mbit(2000);
            for (access, parameter) in [
                (
                    Access {
                        down: fast,
                        ..plain.clone()
                    },
                    "down",
                ),
                (
                    Access {
                        up: fast,
                        ..plain.clone()
                    },
                    "up",
                ),
            ] {
                let error = access.build(&queues).unwrap_err();
                assert_eq!(error.parameter, parameter);
                assert!(error.fault.to_string().contains("100kbit to 1gbit"));
            }
        }
    }

    #[test]
    fn the_line_has_two_rates_and_deep_queues() {
        let queues = Queues::routers("fq_codel".parse().unwrap());
        let topology = Access::default().build(&queues).unwrap();
        assert_eq!(way(&topology, "server", "home"), ["isp", "modem", "router"]);
        assert_eq!(way(&topology, "home", "server"), ["router", "modem", "isp"]);
        assert_eq!(links_of(&topology, LinkClass::Core), 2, "the line");
        let network = &topology.network;
        let of = |from, to| {
            let [from, to] = [from, to].map(|name| network.named(name).unwrap());
            let link = network.link_between(from, to).unwrap();
            &network.links()[link.index()]
        };
        let (down, up) = (of("isp", "modem"), of("modem", "isp"));
        assert_eq!((down.rate, up.rate), (mbit(100), mbit(20)));
        // 250 ms at 100 and at 20 Mbit/s.
        for (link, bytes) in [(down, 3_125_000), (up, 625_000)] {
            assert_eq!(link.queue.discipline.to_string(), "fifo");
            assert_eq!(link.queue.limit.unwrap().bytes, bytes);
        }
        for (from, to) in [("router", "modem"), ("router", "home")] {
            assert_eq!(of(from, to).queue.discipline.to_string(), "fq_codel");
        }
    }

    #[test]
    fn lines_add_what_they_add() {
        let of = |line| {
            let topology = Access {
                line,
                ..Access::default()
            };
            let network = topology.build(&Queues::default()).unwrap().network;
            let mut links = network.links().iter();
            let down = links
                .clone()
                .find(|link| network.name(link.from) == "isp" && link.class == LinkClass::Core);
            let up = links
                .find(|link| network.name(link.from) == "modem" && link.class == LinkClass::Core);
            [down.unwrap().clone(), up.unwrap().clone()]
        };
        let [down, up] = of(Line::Docsis);
        assert_eq!((down.delay, down.jitter), (Duration::ZERO, Duration::ZERO));
        assert_eq!(
            (up.delay, up.jitter),
            (Duration::from_millis(4), Duration::from_millis(2))
        );
        assert_eq!(up.layer.len_on_link(40), 64, "mpu of docsis");
        let [down, _] = of(Line::Dsl);
        assert!(down.layer.len_on_link(1500) > 1522, "PTM's framing");
        let [down, up] = of(Line::Lte);
        assert!(down.trace.is_some() && up.trace.is_some());
        let ratio = down.rate.bits_per_second() as f64 / 100e6;
        assert!((0.95..1.05).contains(&ratio), "{ratio}");
        let [down, up] = of(Line::Starlink);
        assert!(down.trace.is_some() && up.trace.is_some());
    }
}
