//! Source `on_off`: a constant rate in on-times, nothing in off-times.
//!
//! Many such sources with Pareto times of a shape below 2 are self-similar traffic (W. Willinger,
//! M. Taqqu, R. Sherman, D. Wilson, "Self-Similarity Through High-Variability", IEEE/ACM ToN 5(1),
//! 1997). An interval between packets that an on-time cannot finish continues in the next on-time.
//! Packets over total on-time are thus exactly the rate, however short the on-times are.

use rand_pcg::Pcg64Mcg;
use roundelay::{Duration, Instant, Rate};

use crate::agent::{Agent, Context};
use crate::sources::draw::Span;
use crate::sources::outlet::{Outlet, Terms, Turn};
use crate::sources::pace::Pace;
use crate::sources::{Check, SourceError};

/// Parameters of the source.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// Hosts, times and urgency. The source starts with an on-time.
    pub terms: Terms,
    /// Rate while on, headers included: up to 10^15 bits a second.
    pub rate: Rate,
    /// Bytes of a packet, 1 to 65,535.
    pub packet_len: u32,
    /// On-times: a mean of 1 ns to 1 day, the shape of a Pareto distribution above 1 and up to 100.
    pub on: Span,
    /// Off-times, with the same limits.
    pub off: Span,
    /// Number of packets, 1 to 10^12. None: no end.
    pub packets: Option<u64>,
}

impl Config {
    /// Pareto times of one shape.
    pub const fn pareto(terms: Terms, rate: Rate, packet_len: u32, [on, off]: [Duration; 2], shape: f64) -> Self {
        Self { terms, rate, packet_len, on: Span::Pareto { mean: on, shape }, off: Span::Pareto { mean: off, shape }, packets: None }
    }

    /// Exponential times.
    pub const fn exponential(terms: Terms, rate: Rate, packet_len: u32, [on, off]: [Duration; 2]) -> Self {
        Self { terms, rate, packet_len, on: Span::Exponential(on), off: Span::Exponential(off), packets: None }
    }

    /// The mean rate in bits a second: the rate times the fraction of on-time.
    pub fn mean_rate(&self) -> f64 {
        let (on, off) = (self.on.mean().as_secs_f64(), self.off.mean().as_secs_f64());
        self.rate.bits_per_second() as f64 * on / (on + off)
    }
}

pub(crate) fn check_times(check: Check, [mean, shape]: [&'static str; 2], times: Span) -> Result<(), SourceError> {
    check.range(mean, times.mean(), Duration::from_nanos(1)..=Duration::from_secs(86_400))?;
    match times {
        Span::Pareto { shape: value, .. } if !(value > 1.0 && value <= 100.0) => {
            Err(SourceError::new(check.0, shape, value, "above 1, to 100"))
        }
        _ => Ok(()),
    }
}

/// The source.
#[derive(Debug)]
pub struct OnOff {
    outlet: Outlet,
    pace: Pace,
    packet_len: u32,
    on: Span,
    off: Span,
    /// End of this on-time, or of the last one.
    on_until: Instant,
    /// On-time until the next packet.
    left: Duration,
}

/// On-times drawn in one call: of on-times far shorter than the interval between packets, the next
/// packet may need more than a run has.
const MOST_ROUNDS: u32 = 1_000;

impl OnOff {
    /// # Errors
    /// A parameter is out of range.
    pub fn new(config: Config) -> Result<Self, SourceError> {
        Self::named("on_off", config)
    }

    pub(crate) fn named(kind: &'static str, config: Config) -> Result<Self, SourceError> {
        let Config { terms, rate, packet_len, on, off, packets } = config;
        let check = Check(kind);
        terms.check(check)?;
        check.rate(rate)?;
        check.packet_len(packet_len)?;
        check_times(check, ["mean_on", "shape_on"], on)?;
        check_times(check, ["mean_off", "shape_off"], off)?;
        check.packets(packets)?;
        let outlet = Outlet::of_packets(terms, packets, packet_len);
        Ok(Self { outlet, pace: Pace::new(rate, packet_len), packet_len, on, off, on_until: Instant::ZERO, left: Duration::ZERO })
    }

    /// Goes on through on- and off-times until the next packet leaves, or for [`MOST_ROUNDS`] of
    /// them: then on-time is left.
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
        let turn = self.outlet.turn(context);
        let (Turn::Start(flow) | Turn::GoOn(flow)) = turn else { return };
        if matches!(turn, Turn::Start(_)) {
            self.on_until = context.now() + self.on.draw(context.random());
        }
        if self.left == Duration::ZERO {
            self.outlet.send(flow, self.packet_len, context);
            self.left = self.pace.beat();
        }
        let next = self.next(context.now(), context.random());
        self.outlet.call_at(next, context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::bench::Bench;
    use crate::sources::voip;

    fn config(on: Span, off: Span) -> Config {
        Config { terms: Bench::default().terms(), rate: "1mbit".parse().unwrap(), packet_len: 125, on, off, packets: None }
    }

    fn times(config: Config, seed: u64, secs: u64) -> Vec<u64> {
        let sent = Bench::default().sent(seed, secs, [OnOff::new(config).unwrap()]);
        sent.iter().map(|packet| packet.now.as_picos() / 1_000_000).collect()
    }

    /// A packet a millisecond while on; on for 2.5 ms, off for 10 ms: each third packet comes half
    /// an interval into an on-time.
    #[test]
    fn on_time_is_counted_through() {
        let (on, off) = (Duration::from_micros(2500), Duration::from_millis(10));
        let times = times(config(Span::Fixed(on), Span::Fixed(off)), 1, 1);
        assert_eq!(times[..6], [0, 1000, 2000, 13_000, 14_000, 25_000]);
        assert_eq!(times.len(), 200, "1000 a second for a fifth of a second");
    }

    #[test]
    fn on_times_shorter_than_an_interval_lose_nothing() {
        let times = times(config(Span::Fixed(Duration::from_micros(300)), Span::Fixed(Duration::from_micros(700))), 1, 10);
        assert_eq!(times.len(), 3000);
        assert_eq!(times[..3], [0, 3100, 6200]);
    }

    /// A packet needs 40,000,000,000 on-times: the run ends without it, after as many as it has time for.
    #[test]
    fn on_times_of_a_nanosecond_end_with_the_run() {
        let tiny = Span::Fixed(Duration::from_nanos(1));
        let mut config = Config { rate: "100bit".parse().unwrap(), packet_len: 500, ..config(tiny, tiny) };
        config.terms.stop = Some(Instant::ZERO + Duration::from_millis(1));
        assert_eq!(times(config, 1, 1), [0]);
    }

    /// A packet after 2,500 on-times, more than one call draws.
    #[test]
    fn packets_come_after_many_on_times() {
        let tiny = Span::Fixed(Duration::from_nanos(400));
        assert_eq!(times(config(tiny, tiny), 1, 1)[..4], [0, 2000, 4000, 6000]);
    }

    /// On-times of 100 ms and off-times of 300 ms: after n rounds the fraction of on-time has a
    /// relative standard deviation of about off / (on + off) x sqrt(2 / n).
    #[test]
    fn exponential_times_give_the_mean_rate() {
        let times_of = [Duration::from_millis(100), Duration::from_millis(300)];
        let terms = Bench::default().terms();
        let config = Config::exponential(terms, "1mbit".parse().unwrap(), 125, times_of);
        assert_eq!(config.mean_rate(), 250_000.0);
        let sent = times(config.clone(), 1, 4000);
        let (rounds, expected) = (10_000.0_f64, 1e6);
        let sigma = expected * 0.75 * (2.0 / rounds).sqrt();
        assert!((sent.len() as f64 - expected).abs() < 5.0 * sigma, "{} for {expected} by {sigma}", sent.len());
        assert_eq!(sent, times(config.clone(), 1, 4000), "same seed, same packets");
        assert_ne!(sent, times(config, 2, 4000));
    }

    /// The best-effort flows of the QFQ paper: 4 Mbit/s while on, 100 ms on and off in the mean,
    /// shape 1.5. The variance is infinite: hence the wide tolerance. But gaps must be
    /// heavy-tailed: of Pareto off-times one in 100 is above 33 (100)^(2/3) ms = 718 ms.
    #[test]
    fn pareto_times_give_the_mean_rate() {
        let mean = Duration::from_millis(100);
        let config = Config::pareto(Bench::default().terms(), "4mbit".parse().unwrap(), 500, [mean, mean], 1.5);
        let sent = times(config.clone(), 1, 4000);
        assert!((sent.len() as f64 / 2e6 - 1.0).abs() < 0.05, "{}", sent.len());
        let gaps: Vec<_> = sent.windows(2).map(|pair| pair[1] - pair[0]).filter(|gap| *gap > 20_000).collect();
        let long = gaps.iter().filter(|gap| **gap > 718_000).count() as f64;
        let rounds = gaps.len() as f64;
        assert!(rounds > 15_000.0 && (long - rounds / 100.0).abs() < 5.0 * (rounds / 100.0).sqrt(), "{long} of {rounds}");
    }

    /// Fifty packets a second for 1.004 of 2.591 seconds, and 50 packets in a talkspurt.
    #[test]
    fn speech() {
        let terms = Bench::default().terms();
        let sent = Bench::default().sent(1, 10_000, [voip::new(voip::Config::new(terms)).unwrap()]);
        let expected = 500_000.0 * 1004.0 / 2591.0;
        let sigma = expected * 0.61 * (2.0_f64 / 3860.0).sqrt();
        assert!((sent.len() as f64 - expected).abs() < 5.0 * sigma, "{} for {expected} by {sigma}", sent.len());
        let frames = sent.windows(2).filter(|pair| pair[1].now.since(pair[0].now) == voip::FRAME).count() as f64;
        assert!(frames / sent.len() as f64 > 0.97, "all but those after pauses");
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let good = Span::Exponential(Duration::from_millis(1));
        let message = |on, off| OnOff::new(config(on, off)).unwrap_err().to_string();
        assert_eq!(message(Span::Fixed(Duration::ZERO), good), "on_off: mean_on 0s: legal range 1ns to 86400s");
        let bad = Span::Pareto { mean: Duration::from_millis(1), shape: f64::NAN };
        assert_eq!(message(good, bad), "on_off: shape_off NaN: legal range above 1, to 100");
        let bad = voip::Config { packet_len: 0, ..voip::Config::new(Bench::default().terms()) };
        assert_eq!(voip::new(bad).unwrap_err().to_string(), "voip: packet_len 0: legal range 1 to 65535");
    }
}
