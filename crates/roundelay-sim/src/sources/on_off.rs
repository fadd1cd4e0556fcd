//! Source `on_off`: sends at a constant rate in on-times, and nothing in off-times.
//!
//! If on- and off-times are Pareto with a shape below 2, many such sources together make
//! self-similar traffic (W. Willinger, M. Taqqu, R. Sherman, D. Wilson, "Self-Similarity Through
//! High-Variability", IEEE/ACM ToN 5(1), 1997). When an on-time is too short to finish the interval
//! between two packets, the interval continues in the next on-time. So packets over total on-time
//! are exactly the rate, however short the on-times are.

use rand_pcg::Pcg64Mcg;
use roundelay::{Duration, Instant, Rate};
use roundelay_files::{InWords, some_whole};
use serde::Deserialize;

use crate::agent::{Agent, Context};
use crate::sources::draw::Span;
use crate::sources::load::{Amount, Load, at_rate};
use crate::sources::pace::Pace;
use crate::sources::source::{Conditions, Ending, Facts, Site, Source};
use crate::sources::source_flow::{SourceFlow, Terms, Turn};
use crate::sources::{Check, MOST_PACKETS, SourceError, packet_len};

#[cfg(feature = "schema")]
pub(super) const SENDS: &str = "A constant rate in on-times, nothing in off-times: Pareto times \
    with a shape, else\nexponential.";
pub(super) const EXAMPLES: [&str; 2] = [
    "rate = '500kbit'\non = '50ms'\noff = '50ms'",
    "rate = '500kbit'\non = '50ms'\noff = '50ms'\nshape = 1.5",
];

/// Parameters of the source.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Rate while on, headers included.
    #[serde(with = "InWords::<Rate>")]
    pub rate: Rate,
    /// Bytes of a packet: 1 to 65,535.
    #[serde(default = "packet_len", with = "InWords::<u32>")]
    pub packet_len: u32,
    /// Mean on-time: 1 ns to 1 day.
    #[serde(with = "InWords::<Duration>")]
    pub on: Duration,
    /// Mean off-time: 1 ns to 1 day.
    #[serde(with = "InWords::<Duration>")]
    pub off: Duration,
    /// Shape of Pareto times: above 1, to 100.
    #[serde(default)]
    pub shape: Option<f64>,
    /// Number of packets. Left out: no end.
    #[serde(default, deserialize_with = "some_whole::<_, _, 1, MOST_PACKETS>")]
    #[cfg_attr(
        feature = "schema",
        schemars(range(min = 1, max = 1_000_000_000_000u64))
    )]
    pub packets: Option<u64>,
}

impl Config {
    /// A source without end, with exponential times that have these means.
    pub const fn new(rate: Rate, packet_len: u32, [on, off]: [Duration; 2]) -> Self {
        Self {
            rate,
            packet_len,
            on,
            off,
            shape: None,
            packets: None,
        }
    }

    /// On-times and off-times.
    pub(super) fn times(&self) -> [Span; 2] {
        [self.on, self.off].map(|mean| match self.shape {
            Some(shape) => Span::Pareto { mean, shape },
            None => Span::Exponential(mean),
        })
    }

    /// What is known about a source with this rate and length of packets.
    pub(super) fn facts_of(
        rate: Option<Rate>,
        packet_len: u32,
        packets: Option<u64>,
    ) -> Facts<'static> {
        Facts {
            rate,
            ..Facts::datagrams(packet_len, Ending::after(packets))
        }
    }

    /// Packets that a source with exponential times sends in `seconds`: the variance of an
    /// alternating renewal process grows with time (D. Cox, "Renewal Theory", 1962, section 7). But
    /// Pareto on-times may last for the whole run, so there is no useful bound for their variance.
    pub(super) fn packets_in(&self, seconds: f64) -> Amount {
        let rate = at_rate(self.rate, self.packet_len.into(), 1.0);
        let [on, off] = [self.on, self.off].map(Duration::as_secs_f64);
        let cycle = (on + off).max(f64::MIN_POSITIVE);
        match self.shape {
            Some(_) => Amount::exact(rate * seconds),
            None => {
                let variance = 2.0 * (on * off).powi(2) / cycle.powi(3) * seconds * rate * rate;
                Amount::random(rate * seconds * on / cycle, variance)
            }
        }
        .up_to(self.packets)
    }
}

impl Source for Config {
    fn facts(&self) -> Facts<'_> {
        Self::facts_of(Some(self.rate), self.packet_len, self.packets)
    }

    /// A source ends when it has sent its last packet.
    fn load(&self, conditions: &Conditions) -> Load {
        let seconds = conditions.span.as_secs_f64();
        let packets = self.packets_in(seconds);
        let interval = f64::from(self.packet_len) * 8.0 / self.rate.bits_per_second() as f64;
        let most = self.packets.map_or(f64::INFINITY, |packets| {
            packets as f64 * (interval / self.on.as_secs_f64() + 1.0)
        });
        let rounds = seconds / (self.on + self.off).as_secs_f64();
        Load {
            idle_rounds: (rounds.min(most) - packets.mean()).max(0.0),
            ..Load::of_flow(packets)
        }
    }

    fn agent(&self, terms: Terms, _: &Site<'_>) -> Result<Box<dyn Agent>, SourceError> {
        Ok(Box::new(OnOff::new(terms, *self)?))
    }
}

pub(crate) fn check_times(check: Check, key: &'static str, times: Span) -> Result<(), SourceError> {
    check.range(
        key,
        times.mean(),
        Duration::from_nanos(1)..=Duration::from_secs(86_400),
    )?;
    match times {
        Span::Pareto { shape: value, .. } if !(value > 1.0 && value <= 100.0) => {
            Err(SourceError::new(check.0, "shape", value, "above 1, to 100"))
        }
        _ => Ok(()),
    }
}

/// The source.
#[derive(Debug)]
pub struct OnOff {
    source_flow: SourceFlow,
    pace: Pace,
    packet_len: u32,
    on: Span,
    off: Span,
    /// When this on-time ends, or when the last one ended.
    on_until: Instant,
    /// On-time that must pass until the next packet.
    left: Duration,
}

/// The most on-times that one call draws. If on-times are far shorter than the interval between
/// packets, the next packet may need more of them than a run has.
const MOST_ROUNDS: u32 = 1_000;

impl OnOff {
    /// # Errors
    /// A parameter is out of range.
    pub fn new(terms: Terms, config: Config) -> Result<Self, SourceError> {
        Self::with_times(Check("on_off"), terms, config, config.times())
    }

    /// As [`OnOff::new`], but with other times than those in `config`.
    pub(crate) fn with_times(
        check: Check,
        terms: Terms,
        config: Config,
        [on, off]: [Span; 2],
    ) -> Result<Self, SourceError> {
        let Config {
            rate,
            packet_len,
            packets,
            ..
        } = config;
        terms.check(check)?;
        check.rate(rate)?;
        check.packet_len(packet_len)?;
        check_times(check, "on", on)?;
        check_times(check, "off", off)?;
        check.packets(packets)?;
        let source_flow = SourceFlow::of_packets(terms, packets, packet_len);
        Ok(Self {
            source_flow,
            pace: Pace::new(rate, packet_len),
            packet_len,
            on,
            off,
            on_until: Instant::ZERO,
            left: Duration::ZERO,
        })
    }

    /// Goes on through on- and off-times until the next packet leaves, or through [`MOST_ROUNDS`]
    /// of them. In that case on-time is left.
    fn next(&mut self, now: Instant, random: &mut Pcg64Mcg) -> Instant {
        let mut at = now;
        for _ in 0..MOST_ROUNDS {
            if self.left < self.on_until.since(at) || at == Instant::MAX {
                return at + core::mem::take(&mut self.left);
            }
            self.left = self.left - self.on_until.since(at);
            at = self.on_until + self.off.draw(random);
            self.on_until = at + self.on.draw(random);
        }
        at
    }
}

impl Agent for OnOff {
    #[inline]
    fn wake(&mut self, context: &mut Context<'_>) {
        let turn = self.source_flow.turn(context);
        let (Turn::Start(flow) | Turn::GoOn(flow)) = turn else {
            return;
        };
        if matches!(turn, Turn::Start(_)) {
            self.on_until = context.now() + self.on.draw(context.random());
        }
        if self.left == Duration::ZERO {
            self.source_flow.send(flow, self.packet_len, context);
            self.left = self.pace.beat();
        }
        let next = self.next(context.now(), context.random());
        self.source_flow.call_at(next, context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::bench::Bench;
    use crate::sources::voip;

    /// One packet of 125 bytes each millisecond while on.
    fn config() -> Config {
        Config::new(
            "1mbit".parse().unwrap(),
            125,
            [Duration::from_millis(100), Duration::from_millis(300)],
        )
    }

    fn fixed(terms: Terms, config: Config, times: [Duration; 2]) -> Result<OnOff, SourceError> {
        OnOff::with_times(Check("on_off"), terms, config, times.map(Span::Fixed))
    }

    fn times(source: Result<OnOff, SourceError>, seed: u64, secs: u64) -> Vec<u64> {
        let sent = Bench::default().sent(seed, secs, [source.unwrap()]);
        sent.iter()
            .map(|packet| packet.now.as_picos() / 1_000_000)
            .collect()
    }

    fn terms() -> Terms {
        Bench::default().terms()
    }

    /// A packet each millisecond while on. On-times take 2.5 ms and off-times 10 ms, so each third
    /// packet comes half an interval into an on-time.
    #[test]
    fn on_time_is_counted_through() {
        let on = Duration::from_micros(2500);
        let off = Duration::from_millis(10);
        let times = times(fixed(terms(), config(), [on, off]), 1, 1);
        assert_eq!(times[..6], [0, 1000, 2000, 13_000, 14_000, 25_000]);
        assert_eq!(times.len(), 200, "1000 a second for a fifth of a second");
    }

    #[test]
    fn on_times_shorter_than_an_interval_lose_nothing() {
        let times = times(
            fixed(terms(), config(), [300, 700].map(Duration::from_micros)),
            1,
            10,
        );
        assert_eq!(times.len(), 3000);
        assert_eq!(times[..3], [0, 3100, 6200]);
    }

    /// A packet needs 40,000,000,000 on-times. The run ends without it, after as many on-times as
    /// it has time for.
    #[test]
    fn on_times_of_a_nanosecond_end_with_the_run() {
        let config = Config {
            rate: "100bit".parse().unwrap(),
            packet_len: 500,
            ..config()
        };
        let terms = Terms {
            stop: Some(Instant::ZERO + Duration::from_millis(1)),
            ..terms()
        };
        assert_eq!(
            times(fixed(terms, config, [Duration::from_nanos(1); 2]), 1, 1),
            [0]
        );
    }

    /// A packet that comes after 2,500 on-times, which is more than one call draws.
    #[test]
    fn packets_come_after_many_on_times() {
        assert_eq!(
            times(
                fixed(terms(), config(), [Duration::from_nanos(400); 2]),
                1,
                1
            )[..4],
            [0, 2000, 4000, 6000]
        );
    }

    /// On-times of 100 ms and off-times of 300 ms. After n rounds the fraction of on-time has a
    /// relative standard deviation of about off / (on + off) x sqrt(2 / n).
    #[test]
    fn exponential_times_give_the_mean_rate() {
        let sent = times(OnOff::new(terms(), config()), 1, 4000);
        let rounds = 10_000.0_f64;
        let expected = 1e6;
        let sigma = expected * 0.75 * (2.0 / rounds).sqrt();
        assert!(
            (sent.len() as f64 - expected).abs() < 5.0 * sigma,
            "{} for {expected} by {sigma}",
            sent.len()
        );
        assert_eq!(
            sent,
            times(OnOff::new(terms(), config()), 1, 4000),
            "same seed, same packets"
        );
        assert_ne!(sent, times(OnOff::new(terms(), config()), 2, 4000));
    }

    /// The best-effort flows in the QFQ paper: 4 Mbit/s while on, 100 ms on and off on average,
    /// shape 1.5. The variance is infinite, so the tolerance is wide. But gaps must be
    /// heavy-tailed: one in 100 Pareto off-times is above 33 (100)^(2/3) ms = 718 ms.
    #[test]
    fn pareto_times_give_the_mean_rate() {
        let mean = Duration::from_millis(100);
        let config = Config {
            shape: Some(1.5),
            ..Config::new("4mbit".parse().unwrap(), 500, [mean, mean])
        };
        let sent = times(OnOff::new(terms(), config), 1, 4000);
        assert!(
            (sent.len() as f64 / 2e6 - 1.0).abs() < 0.05,
            "{}",
            sent.len()
        );
        let gaps: Vec<_> = sent
            .windows(2)
            .map(|pair| pair[1] - pair[0])
            .filter(|gap| *gap > 20_000)
            .collect();
        let long = gaps.iter().filter(|gap| **gap > 718_000).count() as f64;
        let rounds = gaps.len() as f64;
        assert!(
            rounds > 15_000.0 && (long - rounds / 100.0).abs() < 5.0 * (rounds / 100.0).sqrt(),
            "{long} of {rounds}"
        );
    }

    /// Fifty packets a second for 1.004 of 2.591 seconds, so 50 packets in a talkspurt.
    #[test]
    fn speech() {
        let sent = Bench::default().sent(
            1,
            10_000,
            [voip::new(terms(), voip::Config::default()).unwrap()],
        );
        let expected = 500_000.0 * 1004.0 / 2591.0;
        let sigma = expected * 0.61 * (2.0_f64 / 3860.0).sqrt();
        assert!(
            (sent.len() as f64 - expected).abs() < 5.0 * sigma,
            "{} for {expected} by {sigma}",
            sent.len()
        );
        let frames = sent
            .windows(2)
            .filter(|pair| pair[1].now.since(pair[0].now) == voip::FRAME)
            .count() as f64;
        assert!(
            frames / sent.len() as f64 > 0.97,
            "all but those after pauses"
        );
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let message = |config| OnOff::new(terms(), config).unwrap_err().to_string();
        assert_eq!(
            message(Config {
                on: Duration::ZERO,
                ..config()
            }),
            "on_off: on 0s: legal range 1ns to 86400s"
        );
        assert_eq!(
            message(Config {
                shape: Some(f64::NAN),
                ..config()
            }),
            "on_off: shape NaN: legal range above 1, to 100"
        );
        let bad = voip::Config {
            packet_len: 0,
            ..voip::Config::default()
        };
        assert_eq!(
            voip::new(terms(), bad).unwrap_err().to_string(),
            "voip: packet_len 0: legal range 1 to 65535"
        );
    }
}
