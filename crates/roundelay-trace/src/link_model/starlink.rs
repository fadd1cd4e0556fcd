//! Starlink, roughly: every 15 s a terminal gets another satellite, and with it another rate.
//!
//! The step is that of H. B. Tanveer, M. Puchol, R. Singh, A. Bianchi and R. Nithyanand, "Making
//! Sense of Constellations: Methodologies for Understanding Starlink's Scheduling Algorithms",
//! CoNEXT Companion 2023: a global controller allocates satellites to terminals anew every 15 s.
//! How far rates differ and how long nothing comes at a step are parameters. Their defaults are
//! ours, and of no measurement.

use rand_pcg::Pcg64Mcg;
use roundelay::author::Parameter;
use roundelay::{Billionths, ConfigError, Duration, Rate};

use super::draw;
use super::settings::{LONGEST, Model, PACKET_BITS, SHORTEST, rate_of};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Starlink {
    /// None if it is written `link`, which is refused.
    rate: Option<Rate>,
    least: Billionths,
    step: Duration,
    gap: Duration,
    length: Duration,
}

impl Default for Starlink {
    fn default() -> Self {
        Self {
            rate: Rate::from_bits_per_second(100_000_000),
            least: Billionths(400_000_000),
            step: Duration::from_secs(15),
            gap: Duration::from_millis(50),
            length: Duration::from_secs(120),
        }
    }
}

fn millis(time: Duration) -> u64 {
    time.as_picos() / Duration::from_millis(1).as_picos()
}

impl Starlink {
    /// The rate of each millisecond in a round, as a part of any unit.
    fn rates(&self, random: &mut Pcg64Mcg) -> Vec<f64> {
        let least = self.least.0 as f64 / Billionths::ONE.0 as f64;
        let [step, gap] = [self.step, self.gap].map(millis);
        let mut rate = 0.0;
        let mut rates = Vec::new();
        for at in 0..millis(self.length) {
            let since = at % step;
            if since == 0 {
                rate = least + 2.0 * (1.0 - least) * draw::unit(random);
            }
            // The round begins within a step.
            let is_silent = at >= step && since < gap;
            rates.push(if is_silent { 0.0 } else { rate });
        }
        rates
    }
}

impl Model for Starlink {
    const NAME: &'static str = "starlink";

    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::link_rate(
            "rate",
            100_000..=1_000_000_000,
            "mean rate of a round",
            |starlink| &mut starlink.rate,
        ),
        Parameter::number(
            "least",
            0..=1_000_000_000,
            "lower bound of a step's rate, as a part of the mean; the upper one is as far above it",
            |starlink| &mut starlink.least,
        ),
        Parameter::milliseconds(
            "step",
            Duration::from_millis(100).as_picos()..=Duration::from_secs(60).as_picos(),
            "time with a satellite",
            |starlink| &mut starlink.step,
        ),
        Parameter::milliseconds(
            "gap",
            0..=Duration::from_secs(1).as_picos(),
            "time without packets between two satellites",
            |starlink| &mut starlink.gap,
        ),
        Parameter::seconds(
            "length",
            SHORTEST..=LONGEST,
            "length of a round",
            |starlink| &mut starlink.length,
        ),
    ];

    fn check(&self) -> Result<Rate, ConfigError> {
        let millisecond = Duration::from_millis(1).as_picos();
        let wrong = |parameter: &str, value: Duration, expected: String| ConfigError::BadValue {
            discipline: Self::NAME,
            parameter: parameter.to_owned(),
            value: Some(value.to_string()),
            expected,
        };
        for (name, value, range) in [
            ("step", self.step, "100ms to 60s"),
            ("gap", self.gap, "0ms to 1s"),
        ] {
            if !value.as_picos().is_multiple_of(millisecond) {
                return Err(wrong(name, value, format!("whole milliseconds, {range}")));
            }
        }
        if self.gap >= self.step {
            let expected = format!("less than the step of {}", self.step);
            return Err(wrong("gap", self.gap, expected));
        }
        rate_of::<Self>("rate", self.rate)
    }

    fn length(&mut self) -> &mut Duration {
        &mut self.length
    }

    fn times(&self, random: &mut Pcg64Mcg) -> Vec<u64> {
        let length = millis(self.length);
        let bits = self.rate.map_or(1, Rate::bits_per_second);
        let packets = (bits * length / 1000 / PACKET_BITS).max(1);
        let rates = self.rates(random);
        let total: f64 = rates.iter().sum();
        let mut times = Vec::new();
        let mut sum = 0.0;
        // Scales the rates, so that a round has the mean rate to within a packet.
        for (before, rate) in (0..).zip(rates) {
            sum += rate;
            let until = (packets as f64 * sum / total.max(f64::MIN_POSITIVE)) as u64;
            while (times.len() as u64) < until {
                times.push(before + 1);
            }
        }
        // Adds what rounding left over, and the end of the round.
        times.pop();
        times.resize(packets as usize - 1, length);
        times.push(length);
        times
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::super::settings::read;
    use super::*;

    fn times(text: &str, seed: u64) -> Vec<u64> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let model: Starlink = read(&words).unwrap_or_else(|error| panic!("{error}"));
        model.times(&mut Pcg64Mcg::seed_from_u64(seed))
    }

    #[test]
    fn the_mean_of_a_round_is_the_rate_to_a_packet() {
        for (text, bits, seconds) in [
            ("rate 20mbit", 20_000_000, 120),
            ("rate 100kbit length 1s", 100_000, 1),
            ("rate 5mbit least 0 gap 1s length 60s", 5_000_000, 60),
        ] {
            for seed in 0..5 {
                let times = times(text, seed);
                assert_eq!(times.len() as u64, bits * seconds / PACKET_BITS, "{text}");
                assert_eq!(times.last(), Some(&(seconds * 1000)), "{text}");
                assert!(times.is_sorted(), "{text}");
            }
        }
    }

    /// Within a step the rate is one, at its begin nothing comes, and steps differ.
    #[test]
    fn each_step_has_a_rate_of_its_own_and_a_gap() {
        let times = times("rate 20mbit length 120s", 3);
        let mut counts = Vec::new();
        for step in 0..8_u64 {
            let [begin, end] = [15_000 * step, 15_000 * (step + 1)];
            let here = Vec::from_iter(times.iter().filter(|at| (begin..end).contains(*at)));
            if step > 0 {
                let gap = begin + 1..=begin + 50;
                assert!(!here.iter().any(|at| gap.contains(*at)), "{step}");
            }
            let half = here.iter().filter(|at| ***at < begin + 7_525).count();
            assert!(half.abs_diff(here.len() / 2) <= here.len() / 100);
            counts.push(here.len());
        }
        counts.sort_unstable();
        assert!(counts[7] > 3 * counts[0] / 2, "{counts:?}");
        assert!(counts[7] < 5 * counts[0], "from .4 to 1.6: {counts:?}");
    }
}
