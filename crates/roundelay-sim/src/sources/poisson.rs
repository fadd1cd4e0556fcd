//! Source `poisson`: packets with independent exponential gaps.
//!
//! This source is for tests against known mean waits (L. Kleinrock, "Queueing Systems", volume 1,
//! 1975, section 5.6). If packets have one length, a link is an M/D/1 queue. If their lengths are
//! exponential it is M/M/1, and otherwise M/G/1.

use rand_pcg::Pcg64Mcg;
use roundelay::Rate;
use roundelay_files::{InWords, some_whole};
use serde::Deserialize;

use crate::agent::{Agent, Context};
use crate::sources::load::{Amount, Load, at_rate};
use crate::sources::source::{Conditions, Ending, Facts, Site, Source};
use crate::sources::source_flow::{SourceFlow, Terms, Turn};
use crate::sources::{Check, MOST_PACKETS, SourceError, draw, packet_len};

/// Packet lengths in bytes.
#[derive(Debug, Clone, PartialEq)]
pub enum Lengths {
    /// One length.
    Fixed(u32),
    /// Geometric: exponential with this mean, rounded up to whole bytes so that the mean stays the
    /// same. At most 37 times the mean.
    Exponential(u32),
    /// Drawn from these lengths, in proportion to their weights.
    Mix(Vec<(u32, u32)>),
}

impl Lengths {
    /// The longest that a packet may be.
    pub fn longest(&self) -> u32 {
        match self {
            Self::Fixed(len) => *len,
            Self::Exponential(mean) => mean.saturating_mul(37),
            Self::Mix(lengths) => lengths.iter().map(|(len, _)| *len).max().unwrap_or(0),
        }
    }

    fn check(&self, check: Check) -> Result<(), SourceError> {
        match self {
            Self::Fixed(len) => check.packet_len(*len),
            Self::Exponential(mean) => check.packet_len(*mean),
            Self::Mix(lengths) => {
                lengths.iter().try_for_each(|(len, weight)| {
                    check.packet_len(*len)?;
                    check.range("weight", *weight, 1..=1_000_000)
                })?;
                check.range("lengths", lengths.len(), 1..=1_000)
            }
        }
    }

    /// The mean length in bytes.
    pub fn mean(&self) -> f64 {
        match self {
            Self::Fixed(len) | Self::Exponential(len) => f64::from(*len),
            Self::Mix(lengths) => {
                let bytes: f64 = lengths
                    .iter()
                    .map(|(len, weight)| f64::from(*len) * f64::from(*weight))
                    .sum();
                bytes / weights(lengths) as f64
            }
        }
    }

    #[inline]
    fn draw(&self, random: &mut Pcg64Mcg) -> u32 {
        match self {
            Self::Fixed(len) => *len,
            Self::Exponential(1) => 1,
            Self::Exponential(mean) => {
                let of_a_byte = libm::log1p(-1.0 / f64::from(*mean));
                (libm::log(1.0 - draw::unit(random)) / of_a_byte)
                    .ceil()
                    .max(1.0) as u32
            }
            Self::Mix(lengths) => {
                let mut rest = draw::below(random, weights(lengths));
                for (len, weight) in lengths {
                    if rest < u64::from(*weight) {
                        return *len;
                    }
                    rest -= u64::from(*weight);
                }
                1
            }
        }
    }
}

fn weights(lengths: &[(u32, u32)]) -> u64 {
    lengths.iter().map(|(_, weight)| u64::from(*weight)).sum()
}

#[cfg(feature = "schema")]
pub(super) const SENDS: &str = "Packets with exponential gaps.";
pub(super) const EXAMPLES: [&str; 2] = [
    "rate = '300kbit'\nlengths = 'exponential'",
    "rate = '300kbit'\nmix = [[64, 7], [1500, 1]]",
];

/// Lengths of packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", schemars(rename = "Lengths"))]
pub enum Shape {
    /// One length.
    #[default]
    Fixed,
    /// Exponential, with the mean `packet_len`.
    Exponential,
}

/// Parameters of the source.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Mean rate, headers included.
    #[serde(with = "InWords::<Rate>")]
    pub rate: Rate,
    /// Bytes of a packet: 1 to 65,535.
    #[serde(default = "packet_len", with = "InWords::<u32>")]
    pub packet_len: u32,
    /// Distribution of packet lengths.
    #[serde(default)]
    pub lengths: Shape,
    /// Lengths with weights, in place of these: [[64, 7], [576, 4], [1500, 1]].
    #[serde(default)]
    pub mix: Vec<(u32, u32)>,
    /// Number of packets. Left out: no end.
    #[serde(default, deserialize_with = "some_whole::<_, _, 1, MOST_PACKETS>")]
    #[cfg_attr(
        feature = "schema",
        schemars(range(min = 1, max = 1_000_000_000_000u64))
    )]
    pub packets: Option<u64>,
}

impl Config {
    fn lengths(&self) -> Lengths {
        match self.lengths {
            _ if !self.mix.is_empty() => Lengths::Mix(self.mix.clone()),
            Shape::Fixed => Lengths::Fixed(self.packet_len),
            Shape::Exponential => Lengths::Exponential(self.packet_len),
        }
    }
}

impl Source for Config {
    fn facts(&self) -> Facts<'_> {
        let lengths = self.lengths();
        let mean_gap = lengths.mean() * 8.0 / self.rate.bits_per_second() as f64;
        let facts = Facts::datagrams(lengths.longest(), Ending::after(self.packets));
        Facts {
            rate: Some(self.rate),
            mean_gap: Some(mean_gap),
            ..facts
        }
    }

    fn load(&self, conditions: &Conditions) -> Load {
        let mean = at_rate(
            self.rate,
            self.lengths().mean(),
            conditions.span.as_secs_f64(),
        );
        Load::of_flow(Amount::drawn(mean, 1.0).up_to(self.packets))
    }

    fn agent(&self, terms: Terms, _: &Site<'_>) -> Result<Box<dyn Agent>, SourceError> {
        Ok(Box::new(Poisson::new(
            terms,
            self.rate,
            self.lengths(),
            self.packets,
        )?))
    }

    fn unused(&self) -> Vec<(&'static str, &'static str)> {
        let why = "'mix' says how long packets are: one of both";
        if self.mix.is_empty() {
            Vec::new()
        } else {
            vec![("packet_len", why), ("lengths", why)]
        }
    }
}

/// The source.
#[derive(Debug)]
pub struct Poisson {
    source_flow: SourceFlow,
    mean_gap_picos: f64,
    lengths: Lengths,
}

impl Poisson {
    /// A mean rate of up to 10^15 bits a second, headers included, and 1 to 10^12 packets, or no
    /// end.
    ///
    /// # Errors
    /// A parameter is out of range.
    pub fn new(
        terms: Terms,
        rate: Rate,
        lengths: Lengths,
        packets: Option<u64>,
    ) -> Result<Self, SourceError> {
        let check = Check("poisson");
        terms.check(check)?;
        check.rate(rate)?;
        lengths.check(check)?;
        check.packets(packets)?;
        let mean_gap_picos = lengths.mean() * 8e12 / rate.bits_per_second() as f64;
        let source_flow = SourceFlow::of_packets(terms, packets, lengths.mean().ceil() as u32);
        Ok(Self {
            source_flow,
            mean_gap_picos,
            lengths,
        })
    }
}

impl Agent for Poisson {
    #[inline]
    fn wake(&mut self, context: &mut Context<'_>) {
        let turn = self.source_flow.turn(context);
        if turn == Turn::Pass {
            return;
        }
        if let Turn::GoOn(flow) = turn {
            let len = self.lengths.draw(context.random());
            self.source_flow.send(flow, len, context);
        }
        let gap = draw::exponential(context.random(), self.mean_gap_picos);
        self.source_flow.call_at(context.now() + gap, context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation::Simulation;
    use crate::sources::Urgency;
    use crate::sources::bench::{Bench, seconds};
    use rand::SeedableRng as _;
    use roundelay::Instant;
    use roundelay::Seed;

    fn poisson(
        terms: Terms,
        lengths: Lengths,
        packets: Option<u64>,
    ) -> Result<Poisson, SourceError> {
        Poisson::new(terms, "8mbit".parse().unwrap(), lengths, packets)
    }

    /// 1000 packets a second. Their count deviates by sqrt(n), the gaps' variance is their mean's
    /// square, and half of the gaps are below ln 2.
    #[test]
    fn packets_come_as_a_poisson_process() {
        let bench = Bench::default();
        let sent = bench.sent(
            1,
            100,
            [poisson(bench.terms(), Lengths::Fixed(1000), None).unwrap()],
        );
        let count = sent.len() as f64;
        assert!((count - 1e5).abs() < 5.0 * 1e5_f64.sqrt(), "{count}");
        let gaps: Vec<_> = sent
            .windows(2)
            .map(|pair| pair[1].now.since(pair[0].now).as_secs_f64() * 1e3)
            .collect();
        let variance = gaps.iter().map(|gap| (gap - 1.0).powi(2)).sum::<f64>() / count;
        assert!(
            (variance - 1.0).abs() < 5.0 * (8.0 / count).sqrt(),
            "{variance}"
        );
        let short = gaps
            .iter()
            .filter(|gap| **gap < std::f64::consts::LN_2)
            .count() as f64;
        assert!(
            (short - count / 2.0).abs() < 5.0 * (count / 4.0).sqrt(),
            "{short}"
        );
        assert_eq!(
            sent,
            bench.sent(
                1,
                100,
                [poisson(bench.terms(), Lengths::Fixed(1000), None).unwrap()]
            ),
            "same seed, same packets"
        );
    }

    #[test]
    fn lengths_have_their_mean() {
        let mut random = Pcg64Mcg::seed_from_u64(3);
        let mut mean = |lengths: Lengths| {
            (0..200_000)
                .map(|_| f64::from(lengths.draw(&mut random)))
                .sum::<f64>()
                / 2e5
        };
        let tolerance = 5.0 / 2e5_f64.sqrt();
        assert!((mean(Lengths::Exponential(1000)) / 1000.0 - 1.0).abs() < tolerance);
        assert!((mean(Lengths::Exponential(2)) / 2.0 - 1.0).abs() < tolerance);
        assert_eq!(mean(Lengths::Exponential(1)), 1.0);
        let mix = Lengths::Mix(vec![(40, 5), (576, 3), (1500, 2)]);
        assert_eq!(mix.mean(), 20.0 + 172.8 + 300.0);
        assert!(
            (mean(mix) / 492.8 - 1.0).abs() < 1.2 * tolerance,
            "sigma is 1.15 means"
        );
    }

    /// The mean wait at a link with a load of one half, in units of the time that a mean packet
    /// takes: rho / (1 - rho) x E[S^2] / (2 E[S]^2).
    #[test]
    fn waits_are_those_of_pollaczek_and_khinchine() {
        let mix = Lengths::Mix(vec![(500, 2), (2000, 1)]);
        for (lengths, expected) in [
            (Lengths::Fixed(1000), 0.5),
            (Lengths::Exponential(1000), 1.0),
            (mix, 0.75),
        ] {
            let bench = Bench::of(2, "16mbit");
            let source = poisson(bench.terms(), lengths, None).unwrap();
            let mut simulation = Simulation::new(bench.0, Seed::new(5)).unwrap();
            simulation.spawn(Box::new(source), Instant::ZERO);
            simulation.run(seconds(500)).unwrap();
            let counts = simulation.links().next().unwrap();
            let wait = counts.waits as f64 / counts.packets as f64 / 0.5e9;
            assert!(
                (wait / expected - 1.0).abs() < 0.02,
                "{wait} for {expected}"
            );
        }
    }

    /// Slack counts packets, and the bytes left fall by a mean packet each time, whatever lengths
    /// are drawn.
    #[test]
    fn urgency_by_size_counts_packets() {
        let bench = Bench::default();
        let second = roundelay::Duration::from_secs(1);
        let slacks = |urgency: Urgency| {
            let terms = Terms {
                urgency,
                ..bench.terms()
            };
            let sent = bench.sent(
                1,
                100,
                [poisson(terms, Lengths::Exponential(1000), Some(4)).unwrap()],
            );
            sent.iter()
                .map(|packet| packet.slack.as_picos() / second.as_picos() as i64)
                .collect::<Vec<_>>()
        };
        assert_eq!(slacks(Urgency::FlowSize(second)), [4; 4]);
        assert_eq!(slacks(Urgency::Remaining(second)), [4, 3, 2, 1]);
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let message = |lengths| {
            poisson(Bench::default().terms(), lengths, None)
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            message(Lengths::Fixed(0)),
            "poisson: packet_len 0: legal range 1 to 65535"
        );
        assert_eq!(
            message(Lengths::Mix(Vec::new())),
            "poisson: lengths 0: legal range 1 to 1000"
        );
        assert_eq!(
            message(Lengths::Mix(vec![(40, 0)])),
            "poisson: weight 0: legal range 1 to 1000000"
        );
    }
}
