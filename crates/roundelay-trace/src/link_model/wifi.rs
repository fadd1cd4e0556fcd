//! Wi-Fi: a station contends with others for a channel, and whoever wins sends an aggregate of
//! frames.
//!
//! The sources are IEEE 802.11 with enhanced distributed channel access, best effort, and the
//! aggregates of 802.11n and 802.11ac (A-MPDU). How long an aggregate takes follows T.
//! Høiland-Jørgensen et al., "Ending the Anomaly: Achieving Low Latency and Airtime Fairness in
//! WiFi", USENIX ATC 2017, section 2.2.1: preamble, frames at the physical layer's rate, SIFS and
//! block acknowledgement. There the wait for the channel is a mean. Here every station draws its
//! wait, and stations that draw the same collide.
//!
//! Every station always has full aggregates to send. A packet comes out when its aggregate's block
//! acknowledgement ends, so all packets in an aggregate come at once.

use rand_pcg::Pcg64Mcg;
use roundelay::author::Parameter;
use roundelay::{ConfigError, Duration, Rate};

use super::draw;
use super::settings::{LONGEST, Model, SHORTEST, rate_of};

/// Slot and short interframe space in the OFDM physical layers: aSlotTime and aSIFSTime.
const SLOT: Duration = Duration::from_micros(9);
const SIFS: Duration = Duration::from_micros(16);
/// A station counts only after the channel was idle for SIFS and three slots, which is AIFSN for
/// best effort.
const AIFS: Duration = Duration::from_micros(16 + 3 * 9);
/// Best effort's smallest and largest contention windows: aCWmin and aCWmax.
const LEAST_WINDOW: u32 = 15;
const MOST_WINDOW: u32 = 1023;
/// A compressed block acknowledgement has 32 bytes, in the legacy format at 24 Mbit/s. It takes 20
/// us before the symbols, and three symbols of 4 us for 16 + 256 + 6 bits.
const BLOCK_ACK: Duration = Duration::from_micros(20 + 12);
/// Bytes that a full packet's frame takes in an aggregate: 1,500 for IP, 8 for LLC and SNAP, 26 for
/// the MAC header with QoS, 16 for CCMP, 4 for the check sequence and 4 for the delimiter, rounded
/// up to words.
const FRAME: u64 = 1560;
/// 802.11n's aPPDUMaxTime.
const LONGEST_AIRTIME: Duration = Duration::from_micros(5484);

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wifi {
    /// None if it is written `link`, which is refused.
    phy_rate: Option<Rate>,
    /// None: the same.
    other_rate: Option<Rate>,
    stations: u32,
    frames: u32,
    size: u32,
    airtime: Duration,
    preamble: Duration,
    length: Duration,
}

impl Default for Wifi {
    fn default() -> Self {
        Self {
            phy_rate: Rate::from_bits_per_second(144_400_000),
            other_rate: None,
            stations: 3,
            frames: 64,
            size: 65_535,
            airtime: LONGEST_AIRTIME,
            preamble: Duration::from_micros(40),
            length: Duration::from_secs(60),
        }
    }
}

/// The station's aggregate: when its block acknowledgement ends, and its packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Aggregate {
    end: Duration,
    packets: u64,
}

/// A station that contends: the slots that it still counts, and the window for its next draw.
struct Contender {
    left: u32,
    window: u32,
}

impl Contender {
    fn new(random: &mut Pcg64Mcg) -> Self {
        let mut contender = Self {
            left: 0,
            window: LEAST_WINDOW,
        };
        contender.draw(random);
        contender
    }

    fn draw(&mut self, random: &mut Pcg64Mcg) {
        self.left = draw::up_to(random, self.window);
    }
}

impl Wifi {
    fn rates(&self) -> Result<[Rate; 2], ConfigError> {
        let own = rate_of::<Self>("phy_rate", self.phy_rate)?;
        Ok([own, self.other_rate.unwrap_or(own)])
    }

    /// How many frames an aggregate has: as many as all limits allow, but at least one.
    fn frames(&self, rate: Rate) -> u64 {
        let preamble = self.preamble.as_picos();
        let room = self.airtime.as_picos().saturating_sub(preamble);
        let in_time = room / rate.time_of(FRAME).as_picos().max(1);
        let in_size = u64::from(self.size) / FRAME;
        u64::from(self.frames).min(in_size).min(in_time).max(1)
    }

    /// How long an aggregate is on the channel, without the answer.
    fn time(&self, rate: Rate) -> Duration {
        self.preamble + rate.time_of(self.frames(rate) * FRAME)
    }

    /// The station's aggregates, up to the first that ends no earlier than the round.
    fn aggregates(&self, random: &mut Pcg64Mcg) -> Vec<Aggregate> {
        let mut aggregates = Vec::new();
        let Ok([own, other]) = self.rates() else {
            return aggregates;
        };
        let packets = self.frames(own);
        let [own, other] = [self.time(own), self.time(other)];
        // The first contender is the station whose link this is.
        let mut contenders = Vec::new();
        for _ in 0..=self.stations {
            contenders.push(Contender::new(random));
        }
        let mut now = Duration::ZERO;
        let mut end = Duration::ZERO;
        while end < self.length {
            let least = contenders.iter().map(|contender| contender.left).min();
            let least = least.unwrap_or(0);
            now = now + AIFS + Duration::from_picos(SLOT.as_picos() * u64::from(least));
            let mut senders = 0;
            let mut longest = Duration::ZERO;
            for (number, contender) in contenders.iter_mut().enumerate() {
                contender.left -= least;
                if contender.left == 0 {
                    senders += 1;
                    longest = longest.max(if number == 0 { own } else { other });
                }
            }
            // After a collision, stations wait for an answer that does not come.
            now = now + longest + SIFS + BLOCK_ACK;
            if senders == 1 && contenders[0].left == 0 {
                end = now;
                aggregates.push(Aggregate { end, packets });
            }
            for contender in &mut contenders {
                if contender.left == 0 {
                    let doubled = (2 * contender.window + 1).min(MOST_WINDOW);
                    contender.window = if senders == 1 { LEAST_WINDOW } else { doubled };
                    contender.draw(random);
                }
            }
        }
        aggregates
    }
}

impl Model for Wifi {
    const NAME: &'static str = "wifi";

    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::link_rate(
            "phy_rate",
            1_000_000..=10_000_000_000,
            "rate of the physical layer",
            |wifi| &mut wifi.phy_rate,
        ),
        Parameter::link_rate(
            "other_rate",
            1_000_000..=10_000_000_000,
            "the same of the other stations; link: as phy_rate",
            |wifi| &mut wifi.other_rate,
        ),
        Parameter::count(
            "stations",
            0..=250,
            "other stations, which always have something to send",
            |wifi| &mut wifi.stations,
        ),
        Parameter::count("frames", 1..=256, "most frames in an aggregate", |wifi| {
            &mut wifi.frames
        }),
        Parameter::size(
            "size",
            1560..=1_048_575,
            "most bytes in an aggregate",
            |wifi| &mut wifi.size,
        ),
        Parameter::time(
            "airtime",
            Duration::from_micros(100).as_picos()..=LONGEST_AIRTIME.as_picos(),
            "longest aggregate",
            |wifi| &mut wifi.airtime,
        ),
        Parameter::time(
            "preamble",
            Duration::from_micros(16).as_picos()..=Duration::from_micros(200).as_picos(),
            "time before the frames of an aggregate",
            |wifi| &mut wifi.preamble,
        ),
        Parameter::seconds("length", SHORTEST..=LONGEST, "length of a round", |wifi| {
            &mut wifi.length
        }),
    ];

    fn check(&self) -> Result<Rate, ConfigError> {
        // All stations win the channel equally often, so each of the others sends one aggregate for
        // each of ours.
        let [own, other] = self.rates()?;
        let [own_time, other_time] = [self.time(own).as_picos(), self.time(other).as_picos()];
        let cycle = own_time + u64::from(self.stations) * other_time;
        let bits = u128::from(own.bits_per_second()) * u128::from(own_time) / u128::from(cycle);
        let highest = Rate::from_bits_per_second(bits as u64);
        Ok(highest.unwrap_or(own))
    }

    fn length(&mut self) -> &mut Duration {
        &mut self.length
    }

    fn times(&self, random: &mut Pcg64Mcg) -> Vec<u64> {
        let mut times = Vec::new();
        let millisecond = Duration::from_millis(1).as_picos();
        for aggregate in self.aggregates(random) {
            let time = aggregate.end.as_picos().div_ceil(millisecond);
            for _ in 0..aggregate.packets {
                times.push(time);
            }
        }
        times
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::super::settings::read;
    use super::*;

    fn wifi(text: &str) -> Wifi {
        let words: Vec<&str> = text.split_whitespace().collect();
        read(&words).unwrap_or_else(|error| panic!("{error}"))
    }

    /// The same in a longer round than a trace may have.
    fn long(text: &str) -> Wifi {
        let mut wifi = wifi(text);
        wifi.length = Duration::from_secs(600);
        wifi
    }

    fn random(seed: u64) -> Pcg64Mcg {
        Pcg64Mcg::seed_from_u64(seed)
    }

    /// Seconds of a cycle but the wait, at defaults: AIFS, preamble, frames, SIFS, block
    /// acknowledgement.
    fn busy(frames: f64, mbit: f64) -> f64 {
        (43.0 + 40.0 + frames * 1560.0 * 8.0 / mbit + 16.0 + 32.0) / 1e6
    }

    /// Aggregates a second of each of `count` equal stations, by G. Bianchi, "Performance Analysis of
    /// the IEEE 802.11 Distributed Coordination Function", 2000, Eq. 7, 9 and 13: windows of 16 to
    /// 1,024 slots.
    fn bianchi(count: i32, busy: f64) -> f64 {
        let (window, doublings) = (16.0, 6);
        let [mut low, mut high] = [0.0, 1.0];
        for _ in 0..100 {
            let sends: f64 = (low + high) / 2.0;
            let collides = 1.0 - libm::pow(1.0 - sends, f64::from(count - 1));
            let twice = 2.0 * collides;
            let powers = (0..doublings).map(|power| libm::pow(twice, f64::from(power)));
            let expected = 2.0 / (1.0 + window + collides * window * powers.sum::<f64>());
            if sends < expected {
                low = sends;
            } else {
                high = sends;
            }
        }
        let idle = libm::pow(1.0 - low, f64::from(count));
        let one = low * libm::pow(1.0 - low, f64::from(count - 1));
        one / (idle * SLOT.as_secs_f64() + (1.0 - idle) * busy)
    }

    fn per_second(wifi: &Wifi, seed: u64) -> f64 {
        let aggregates = wifi.aggregates(&mut random(seed));
        let last = aggregates.last().expect("an aggregate");
        aggregates.len() as f64 / last.end.as_secs_f64()
    }

    #[test]
    fn alone_a_station_waits_seven_and_a_half_slots_before_each_aggregate() {
        for (text, frames, mbit) in [
            ("", 42.0, 144.4),
            ("frames 1", 1.0, 144.4),
            ("phy_rate 7.2mbit", 3.0, 7.2),
            // Nobody else sends.
            ("other_rate 7.2mbit", 42.0, 144.4),
        ] {
            let cycle = busy(frames, mbit) + 7.5 * SLOT.as_secs_f64();
            let found = per_second(&wifi(&format!("stations 0 {text}")), 1) * cycle;
            assert!((found - 1.0).abs() < 0.003, "{text}: {found}");
        }
    }

    #[test]
    fn the_wait_alone_is_any_number_of_slots_up_to_fifteen() {
        let wifi = wifi("stations 0");
        let least = Duration::from_picos((busy(42.0, 144.4) * 1e12) as u64);
        let aggregates = wifi.aggregates(&mut random(2));
        let mut counts = [0_u64; 16];
        for pair in aggregates.windows(2) {
            let gap = pair[1].end.as_picos() - pair[0].end.as_picos();
            let slots = (gap + 1000 - least.as_picos()) / SLOT.as_picos();
            counts[slots as usize] += 1;
        }
        let all: u64 = counts.iter().sum();
        let expected = all as f64 / 16.0;
        for (slots, count) in counts.iter().enumerate() {
            let apart = (*count as f64 - expected).abs();
            assert!(
                apart < 5.0 * expected.sqrt(),
                "{slots} slots: {count} of {all}"
            );
        }
    }

    #[test]
    fn with_others_the_mean_rate_is_that_of_bianchis_analysis() {
        for stations in [1, 3, 10, 30] {
            let wifi = long(&format!("stations {stations}"));
            let expected = bianchi(stations + 1, busy(42.0, 144.4));
            let found = per_second(&wifi, 3) / expected;
            assert!((found - 1.0).abs() < 0.04, "{stations} others: {found}");
        }
    }

    #[test]
    fn gaps_with_others_are_random_and_have_their_mean() {
        let alone = per_second(&wifi("stations 0"), 4);
        let wifi = long("stations 4");
        let aggregates = wifi.aggregates(&mut random(4));
        let mut gaps = Vec::new();
        for pair in aggregates.windows(2) {
            gaps.push((pair[1].end.as_picos() - pair[0].end.as_picos()) as f64 / 1e12 * alone);
        }
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        // Five turns, and collisions.
        assert!((5.0..6.5).contains(&mean), "{mean}");
        // In turn none would be longer than twice the mean; without memory 13.5% would.
        let long = gaps.iter().filter(|gap| **gap > 2.0 * mean).count() as f64;
        let long = long / gaps.len() as f64;
        assert!((0.05..0.135).contains(&long), "{long}");
        // A station may win again at once.
        let short = gaps.iter().filter(|gap| **gap < 1.05).count();
        assert!(short * 20 > gaps.len(), "{short} of {}", gaps.len());
    }

    #[test]
    fn aggregates_are_as_long_as_the_limits_allow() {
        for (text, expected) in [
            // 65,535 bytes.
            ("", 42),
            ("size 10000b", 6),
            ("size 10920b", 7),
            ("frames 7", 7),
            ("frames 1", 1),
            // 64 frames.
            ("size 1048575b phy_rate 866.7mbit", 64),
            ("size 1048575b phy_rate 866.7mbit frames 256", 256),
            // 5.484 ms, and less.
            ("size 1048575b", 62),
            ("phy_rate 7.2mbit", 3),
            ("airtime 1ms", 11),
            ("airtime 1ms preamble 200us", 9),
            // A frame is always sent.
            ("phy_rate 1mbit", 1),
        ] {
            let wifi = wifi(&format!("{text} stations 0 length 1s"));
            let aggregates = wifi.aggregates(&mut random(5));
            assert!(
                aggregates.iter().all(|one| one.packets == expected),
                "{text}: {:?}",
                aggregates.first()
            );
            // All packets of an aggregate have one time, and so many times are the trace's.
            let times = wifi.times(&mut random(5));
            assert_eq!(times.len() as u64, expected * aggregates.len() as u64);
            let chunks = times.chunks(expected as usize);
            for (chunk, aggregate) in chunks.zip(&aggregates) {
                let time = aggregate.end.as_picos().div_ceil(1_000_000_000);
                assert!(chunk.iter().all(|found| *found == time), "{text}");
            }
        }
    }

    /// M. Heusse et al., "Performance Anomaly of 802.11b", INFOCOM 2003: who sends slowly slows all.
    #[test]
    fn slow_stations_take_the_channel_from_fast_ones() {
        let [even, slow] = ["", "other_rate 7.2mbit"].map(|other| {
            let wifi = long(&format!("stations 1 phy_rate 144.4mbit {other}"));
            per_second(&wifi, 6)
        });
        let wifi = wifi("other_rate 7.2mbit");
        let [own, other] = wifi.rates().expect("rates");
        let [own, other] = [own, other].map(|rate| wifi.time(rate).as_secs_f64());
        assert!(other > 1.4 * own, "{other} {own}");
        let expected = 2.0 * own / (own + other);
        assert!((slow / even / expected - 1.0).abs() < 0.06, "{slow} {even}");
    }
}
