//! Source `cbr`: a constant rate, in packets of one length with even or random gaps.
//!
//! Packet n leaves floor(n L / r) picoseconds after the first one, for any n, so there is no drift.
//! Sources that are exactly periodic and start together stay in phase. A full queue then drops
//! packets from the same sources again and again, depending on the order in which sources were
//! added (S. Floyd and V. Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992).
//! Start jitter, [`Config::spread`] or random gaps prevent this.
//!
//! Random gaps follow ns-2's `random_` (`Application/Traffic/CBR`): each gap is drawn independently
//! and evenly from half to one and a half times the mean gap. The mean is the even gap to the
//! picosecond, so the mean rate is exact.

use rand_pcg::Pcg64Mcg;
use roundelay::{Duration, Rate};
use roundelay_files::{InWords, some_whole};
use serde::Deserialize;

use crate::agent::{Agent, Context};
use crate::sources::load::{Amount, Load, at_rate};
use crate::sources::pace::Pace;
use crate::sources::source::{Conditions, Ending, Facts, Site, Source};
use crate::sources::source_flow::{SourceFlow, Terms, Turn};
use crate::sources::{Check, MOST_PACKETS, SourceError, draw, packet_len};

/// Gaps between packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Gaps {
    /// At even intervals.
    #[default]
    Even,
    /// Each gap drawn evenly from 0.5 to 1.5 times the mean gap: ns-2's `random_`.
    Random,
}

#[cfg(feature = "schema")]
pub(super) const SENDS: &str =
    "Packets of one length at a constant rate, with even or random gaps.";
pub(super) const EXAMPLES: [&str; 2] = [
    "rate = '300kbit'",
    "rate = '300kbit'\ngaps = 'random'\npackets = 20",
];

/// Parameters of the source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rate, headers included.
    #[serde(with = "InWords::<Rate>")]
    pub rate: Rate,
    /// Bytes of a packet: 1 to 65,535.
    #[serde(default = "packet_len", with = "InWords::<u32>")]
    pub packet_len: u32,
    /// Gaps between packets.
    #[serde(default)]
    pub gaps: Gaps,
    /// Number of packets. Left out: no end.
    #[serde(default, deserialize_with = "some_whole::<_, _, 1, MOST_PACKETS>")]
    #[cfg_attr(
        feature = "schema",
        schemars(range(min = 1, max = 1_000_000_000_000u64))
    )]
    pub packets: Option<u64>,
}

impl Config {
    /// A constant rate with even gaps, without end.
    pub const fn new(rate: Rate, packet_len: u32) -> Self {
        Self {
            rate,
            packet_len,
            gaps: Gaps::Even,
            packets: None,
        }
    }

    /// Terms for `count` sources whose starts are spread evenly over one interval. The caller gives
    /// each source its own flow.
    pub fn spread(self, terms: Terms, count: u32) -> impl Iterator<Item = Terms> {
        let interval = u128::from(self.rate.time_of(self.packet_len.into()).as_picos());
        (0..count).map(move |packet| {
            let later =
                Duration::from_picos((interval * u128::from(packet) / u128::from(count)) as u64);
            Terms {
                start: terms.start + later,
                ..terms.clone()
            }
        })
    }
}

impl Source for Config {
    fn facts(&self) -> Facts<'_> {
        let mean_gap = f64::from(self.packet_len) * 8.0 / self.rate.bits_per_second() as f64;
        let facts = Facts::datagrams(self.packet_len, Ending::after(self.packets));
        Facts {
            rate: Some(self.rate),
            mean_gap: Some(mean_gap),
            ..facts
        }
    }

    /// This is a renewal process. The gaps' variance is a twelfth of their squared mean, so the
    /// variance of the number of packets is a twelfth of its mean (D. Cox, "Renewal Theory", 1962,
    /// section 3.3).
    fn load(&self, conditions: &Conditions) -> Load {
        let mean = at_rate(
            self.rate,
            self.packet_len.into(),
            conditions.span.as_secs_f64(),
        )
        .ceil();
        let variance = if self.gaps == Gaps::Random {
            mean / 12.0
        } else {
            0.0
        };
        Load::of_flow(Amount::random(mean, variance).up_to(self.packets))
    }

    fn agent(&self, terms: Terms, _: &Site<'_>) -> Result<Box<dyn Agent>, SourceError> {
        Ok(Box::new(Cbr::new(terms, *self)?))
    }
}

/// The source.
#[derive(Debug)]
pub struct Cbr {
    source_flow: SourceFlow,
    pace: Pace,
    packet_len: u32,
    gaps: Gaps,
}

impl Cbr {
    /// # Errors
    /// A parameter is out of range.
    pub fn new(terms: Terms, config: Config) -> Result<Self, SourceError> {
        let Config {
            rate,
            packet_len,
            gaps,
            packets,
        } = config;
        let check = Check("cbr");
        terms.check(check)?;
        check.rate(rate)?;
        check.packet_len(packet_len)?;
        check.packets(packets)?;
        Ok(Self {
            source_flow: SourceFlow::of_packets(terms, packets, packet_len),
            pace: Pace::new(rate, packet_len),
            packet_len,
            gaps,
        })
    }

    /// The time until the next packet.
    #[inline]
    fn gap(&mut self, random: &mut Pcg64Mcg) -> Duration {
        let mean = self.pace.beat();
        match self.gaps {
            Gaps::Even => mean,
            Gaps::Random => draw::within_half(random, mean),
        }
    }
}

impl Agent for Cbr {
    #[inline]
    fn wake(&mut self, context: &mut Context<'_>) {
        let (Turn::Start(flow) | Turn::GoOn(flow)) = self.source_flow.turn(context) else {
            return;
        };
        self.source_flow.send(flow, self.packet_len, context);
        let gap = self.gap(context.random());
        self.source_flow.call_at(context.now() + gap, context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::bench::{Bench, seconds};
    use roundelay::Instant;

    fn config() -> Config {
        Config::new("150kbit".parse().unwrap(), 1000)
    }

    /// 1000 bytes at 150 kbit/s take 53 1/3 ms. Packet n leaves at floor(n 8000 / 150000 s), after
    /// hours as well as after seconds.
    #[test]
    fn the_rate_is_exact() {
        let bench = Bench::default();
        let sent = bench.sent(1, 7200, [Cbr::new(bench.terms(), config()).unwrap()]);
        assert_eq!(sent.len(), 135_000, "18.75 a second for 7200 s");
        for (n, packet) in sent.iter().enumerate() {
            assert_eq!(
                u128::from(packet.now.as_picos()),
                n as u128 * 160_000_000_000 / 3
            );
        }
    }

    #[test]
    fn it_starts_and_stops_when_it_should() {
        let bench = Bench::default();
        let terms = Terms {
            start: seconds(1),
            stop: Some(seconds(5)),
            ..bench.terms()
        };
        let config = Config::new("8kbit".parse().unwrap(), 1000);
        let times: Vec<_> = bench
            .sent(1, 100, [Cbr::new(terms, config).unwrap()])
            .iter()
            .map(|packet| packet.now)
            .collect();
        assert_eq!(times, [1, 2, 3, 4].map(seconds), "none at the stop");
    }

    #[test]
    fn jitter_moves_the_start_only() {
        let bench = Bench::default();
        let terms = Terms {
            start_jitter: Duration::from_secs(1),
            ..bench.terms()
        };
        let sent = |seed| bench.sent(seed, 10, [Cbr::new(terms.clone(), config()).unwrap()]);
        let one = sent(1);
        let other = sent(2);
        assert_ne!(one[0].now, other[0].now);
        assert!(one[0].now < seconds(1) && one[0].now > Instant::ZERO);
        let gaps = |sent: &[crate::sources::bench::Sent]| {
            sent.windows(2)
                .map(|pair| pair[1].now.since(pair[0].now))
                .collect::<Vec<_>>()
        };
        assert_eq!(gaps(&one)[..100], gaps(&other)[..100]);
        assert_eq!(one, sent(1), "same seed, same packets");
    }

    #[test]
    fn it_ends_after_so_many_packets() {
        let bench = Bench::default();
        let config = Config {
            packets: Some(3),
            rate: "8kbit".parse().unwrap(),
            ..config()
        };
        let terms = Terms {
            urgency: crate::sources::Urgency::Remaining(Duration::from_secs(1)),
            ..bench.terms()
        };
        let log = bench.run(1, 100, [Cbr::new(terms.clone(), config).unwrap()]);
        let sent: Vec<_> = log
            .sent
            .iter()
            .map(|packet| (packet.now, packet.priority))
            .collect();
        assert_eq!(
            sent,
            [(seconds(0), 3000), (seconds(1), 2000), (seconds(2), 1000)]
        );
        let [(closed, _, counts)] = log.closed[..] else {
            panic!("one flow: {:?}", log.closed)
        };
        assert_eq!((counts.sent, counts.delivered), (3, 3));
        let crossing = Duration::from_nanos(80) + Duration::from_micros(1);
        assert_eq!(
            closed,
            seconds(2) + crossing,
            "when its last packet has left the network"
        );
        let error = Cbr::new(
            terms,
            Config {
                packets: Some(0),
                ..config
            },
        )
        .unwrap_err();
        assert_eq!(
            error.to_string(),
            "cbr: packets 0: legal range 1 to 1000000000000"
        );
    }

    /// 18,750 gaps of 53 1/3 ms on average. All lie within half of the mean, their mean is within
    /// five standard errors (a third of a half, over sqrt(3)), their variance is that of an even
    /// distribution, and neighbours do not correlate.
    #[test]
    fn random_gaps_are_even_within_half_the_mean() {
        let bench = Bench::default();
        let config = Config {
            gaps: Gaps::Random,
            ..config()
        };
        let sent = |seed| bench.sent(seed, 1000, [Cbr::new(bench.terms(), config).unwrap()]);
        let packets = sent(1);
        let mean = 160e9 / 3.0;
        let gaps: Vec<_> = packets
            .windows(2)
            .map(|pair| pair[1].now.since(pair[0].now).as_picos() as f64 / mean)
            .collect();
        let count = gaps.len() as f64;
        assert!(gaps.iter().all(|gap| (0.5..=1.5).contains(gap)));
        assert!(
            gaps.iter().any(|gap| *gap < 0.501) && gaps.iter().any(|gap| *gap > 1.499),
            "to the ends"
        );
        let average = gaps.iter().sum::<f64>() / count;
        assert!(
            (average - 1.0).abs() < 5.0 * (1.0 / 12.0 / count).sqrt(),
            "{average}"
        );
        let variance = gaps.iter().map(|gap| (gap - 1.0).powi(2)).sum::<f64>() / count;
        assert!(
            (variance * 12.0 - 1.0).abs() < 5.0 * (0.8 / count).sqrt(),
            "{variance}"
        );
        let together = gaps
            .windows(2)
            .map(|pair| (pair[0] - 1.0) * (pair[1] - 1.0))
            .sum::<f64>()
            / count;
        assert!((together * 12.0).abs() < 5.0 / count.sqrt(), "{together}");
        assert_eq!(packets, sent(1), "same seed, same packets");
        assert_ne!(packets, sent(2));
    }

    #[test]
    fn starts_can_be_spread_over_an_interval() {
        let starts: Vec<_> = config()
            .spread(Bench::default().terms(), 4)
            .map(|terms| terms.start.as_picos())
            .collect();
        assert_eq!(starts, [0, 13_333_333_333, 26_666_666_667, 40_000_000_000]);
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let bench = Bench::default();
        let message = |config| Cbr::new(bench.terms(), config).unwrap_err().to_string();
        assert_eq!(
            message(Config {
                packet_len: 0,
                ..config()
            }),
            "cbr: packet_len 0: legal range 1 to 65535"
        );
        let rate = Rate::from_bits_per_second(u64::MAX).unwrap();
        assert_eq!(
            message(Config { rate, ..config() }),
            "cbr: rate 18446744073709551615bit: legal range 1bit to 1000tbit"
        );
        let terms = Terms {
            start: seconds(2),
            stop: Some(seconds(2)),
            ..bench.terms()
        };
        assert_eq!(
            Cbr::new(terms, config()).unwrap_err().to_string(),
            "cbr: stop 2s: legal range after its start at 2s"
        );
    }
}
