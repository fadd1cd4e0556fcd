//! A rate that changes at even intervals between a high one and a low one: the varying capacity of
//! RFC 7928, section 8.2.6. Nothing is drawn.

use rand_pcg::Pcg64Mcg;
use roundelay::author::Parameter;
use roundelay::{ConfigError, Duration, Rate};

use super::settings::{LONGEST, Model, PACKET_BITS, SHORTEST, rate_of};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Steps {
    /// None if it is written `link`, which is refused.
    high: Option<Rate>,
    low: Option<Rate>,
    every: Duration,
    length: Duration,
}

impl Default for Steps {
    fn default() -> Self {
        Self {
            high: Rate::from_bits_per_second(100_000_000),
            low: Rate::from_bits_per_second(10_000_000),
            every: Duration::from_secs(20),
            length: Duration::from_secs(40),
        }
    }
}

fn millis(time: Duration) -> u64 {
    time.as_picos() / Duration::from_millis(1).as_picos()
}

impl Model for Steps {
    const NAME: &'static str = "steps";

    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::link_rate(
            "high",
            100_000..=1_000_000_000,
            "the rate with which a round begins",
            |steps| &mut steps.high,
        ),
        Parameter::link_rate(
            "low",
            100_000..=1_000_000_000,
            "the rate that follows",
            |steps| &mut steps.low,
        ),
        Parameter::milliseconds(
            "every",
            Duration::from_millis(10).as_picos()..=Duration::from_secs(60).as_picos(),
            "time between two changes",
            |steps| &mut steps.every,
        ),
        Parameter::seconds("length", SHORTEST..=LONGEST, "length of a round", |steps| {
            &mut steps.length
        }),
    ];

    fn check(&self) -> Result<Rate, ConfigError> {
        let wrong = |parameter: &str, value: Duration, expected: String| ConfigError::BadValue {
            discipline: Self::NAME,
            parameter: parameter.to_owned(),
            value: Some(value.to_string()),
            expected,
        };
        let millisecond = Duration::from_millis(1).as_picos();
        if !self.every.as_picos().is_multiple_of(millisecond) {
            let expected = "whole milliseconds, 10ms to 60s".to_owned();
            return Err(wrong("every", self.every, expected));
        }
        if !self
            .length
            .as_picos()
            .is_multiple_of(2 * self.every.as_picos())
        {
            let every = self.every;
            let expected = format!("a multiple of both rates' time, twice {every}");
            return Err(wrong("length", self.length, expected));
        }
        let high = rate_of::<Self>("high", self.high)?;
        let low = rate_of::<Self>("low", self.low)?;
        let mean = (high.bits_per_second() + low.bits_per_second()) / 2;
        Ok(Rate::from_bits_per_second(mean).unwrap_or(low))
    }

    fn length(&mut self) -> &mut Duration {
        &mut self.length
    }

    fn times(&self, _: &mut Pcg64Mcg) -> Vec<u64> {
        let [high, low] = [self.high, self.low].map(|rate| rate.map_or(1, Rate::bits_per_second));
        let length = millis(self.length);
        let mut bits = 0;
        let mut times = Vec::new();
        for before in 0..length {
            let is_high = (before / millis(self.every)).is_multiple_of(2);
            bits += if is_high { high } else { low };
            // Bits by milliseconds are thousandths.
            while (times.len() as u64 + 1) * PACKET_BITS * 1000 <= bits {
                times.push(before + 1);
            }
        }
        // The round ends with a packet, because its last time is its length.
        times.pop();
        times.push(length);
        times
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng as _;

    use super::super::settings::read;
    use super::*;

    fn times(text: &str) -> Vec<u64> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let model: Steps = read(&words).unwrap_or_else(|error| panic!("{error}"));
        model.times(&mut Pcg64Mcg::seed_from_u64(1))
    }

    /// Each half of a round has its own rate to a packet, and the round begins with the high one.
    #[test]
    fn each_step_has_its_rate() {
        for (text, every, [high, low]) in [
            ("", 20_000, [100_000, 10_000]),
            ("every 100ms length 2s", 100, [100_000, 10_000]),
            (
                "high 5mbit low 20mbit every 1s length 4s",
                1000,
                [5000, 20_000],
            ),
        ] {
            let times = times(text);
            for (step, rate) in [(0, high), (1, low)] {
                let [begin, end] = [every * step, every * (step + 1)];
                let here = times.iter().filter(|at| (begin + 1..=end).contains(*at));
                let expected = rate * every / PACKET_BITS;
                let count = here.count() as u64;
                assert!(
                    count.abs_diff(expected) <= 1,
                    "{text}, {step}: {count}, {expected}"
                );
            }
            assert!(times.is_sorted(), "{text}");
        }
    }
}
