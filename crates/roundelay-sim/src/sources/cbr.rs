//! A constant rate: packets of one length at even intervals.
//!
//! Packet n leaves floor(n L / r) after the first one, in picoseconds, for any n: nothing drifts. Exactly periodic sources that start
//! together stay together, and which of them a full queue drops is then decided by the order in which they were added, over and over (S.
//! Floyd and V. Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways", 1992). Start jitter, or [`Config::spread`], takes that
//! away.

use roundelay::{Duration, Rate};

use crate::agent::{Agent, Context};
use crate::sources::outlet::{Outlet, Terms, Turn};
use crate::sources::pace::Pace;
use crate::sources::{Check, SourceError};

/// What the source is to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Where and when.
    pub terms: Terms,
    /// Its rate, headers included: up to 10^15 bits a second.
    pub rate: Rate,
    /// Bytes of a packet, 1 to 65,535.
    pub packet_len: u32,
}

impl Config {
    /// The terms of `count` such sources whose starts are spread evenly over one interval; the caller gives each its own flow.
    pub fn spread(self, count: u32) -> impl Iterator<Item = Self> {
        let interval = u128::from(self.rate.time_of(self.packet_len.into()).as_picos());
        (0..count).map(move |place| {
            let later = Duration::from_picos((interval * u128::from(place) / u128::from(count)) as u64);
            Self { terms: Terms { start: self.terms.start + later, ..self.terms }, ..self }
        })
    }
}

/// The source.
#[derive(Debug)]
pub struct Cbr {
    outlet: Outlet,
    pace: Pace,
    packet_len: u32,
}

impl Cbr {
    /// # Errors
    /// A parameter is out of its range.
    pub fn new(config: Config) -> Result<Self, SourceError> {
        let Config { terms, rate, packet_len } = config;
        let check = Check("cbr");
        terms.check(check)?;
        check.rate(rate)?;
        check.packet_len(packet_len)?;
        Ok(Self { outlet: Outlet::new(terms, u64::MAX, packet_len), pace: Pace::new(rate, packet_len), packet_len })
    }
}

impl Agent for Cbr {
    #[inline]
    fn wake(&mut self, context: &mut Context<'_>) {
        let (Turn::Start(flow) | Turn::GoOn(flow)) = self.outlet.turn(context) else { return };
        self.outlet.send(flow, self.packet_len, u64::MAX, context);
        self.outlet.call_at(context.now() + self.pace.beat(), context);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::bench::{Bench, seconds};
    use roundelay::Instant;

    fn config(bench: &Bench) -> Config {
        Config { terms: bench.terms(), rate: "150kbit".parse().unwrap(), packet_len: 1000 }
    }

    /// 1000 bytes at 150 kbit/s are 53 1/3 ms: packet n at floor(n 8000 / 150000 s), after hours as after seconds.
    #[test]
    fn the_rate_is_exact() {
        let bench = Bench::default();
        let sent = bench.sent(1, 7200, [Cbr::new(config(&bench)).unwrap()]);
        assert_eq!(sent.len(), 135_000, "18.75 a second for 7200 s");
        for (n, packet) in sent.iter().enumerate() {
            assert_eq!(u128::from(packet.now.as_picos()), n as u128 * 160_000_000_000 / 3);
        }
    }

    #[test]
    fn it_starts_and_stops_when_it_should() {
        let bench = Bench::default();
        let mut config = config(&bench);
        (config.terms.start, config.terms.stop) = (seconds(1), Some(seconds(5)));
        config.rate = "8kbit".parse().unwrap();
        let times: Vec<_> = bench.sent(1, 100, [Cbr::new(config).unwrap()]).iter().map(|packet| packet.now).collect();
        assert_eq!(times, [1, 2, 3, 4].map(seconds), "none at the stop");
    }

    #[test]
    fn jitter_moves_the_start_only() {
        let bench = Bench::default();
        let mut config = config(&bench);
        config.terms.start_jitter = Duration::from_secs(1);
        let sent = |seed| bench.sent(seed, 10, [Cbr::new(config).unwrap()]);
        let (one, other) = (sent(1), sent(2));
        assert_ne!(one[0].now, other[0].now);
        assert!(one[0].now < seconds(1) && one[0].now > Instant::ZERO);
        let gaps = |sent: &[crate::sources::bench::Sent]| sent.windows(2).map(|pair| pair[1].now.since(pair[0].now)).collect::<Vec<_>>();
        assert_eq!(gaps(&one)[..100], gaps(&other)[..100]);
        assert_eq!(one, sent(1), "same seed, same packets");
    }

    #[test]
    fn starts_can_be_spread_over_an_interval() {
        let bench = Bench::default();
        let starts: Vec<_> = config(&bench).spread(4).map(|config| config.terms.start.as_picos()).collect();
        assert_eq!(starts, [0, 13_333_333_333, 26_666_666_667, 40_000_000_000]);
    }

    #[test]
    fn errors_name_parameter_and_range() {
        let bench = Bench::default();
        let good = config(&bench);
        let message = |config| Cbr::new(config).unwrap_err().to_string();
        assert_eq!(message(Config { packet_len: 0, ..good }), "cbr: packet_len 0: legal range 1 to 65535");
        let rate = Rate::from_bits_per_second(u64::MAX).unwrap();
        assert_eq!(message(Config { rate, ..good }), "cbr: rate 18446744073709551615bit: legal range 1bit to 1000tbit");
        let terms = Terms { start: seconds(2), stop: Some(seconds(2)), ..good.terms };
        assert_eq!(message(Config { terms, ..good }), "cbr: stop 2s: legal range after its start at 2s");
    }
}
