//! LTE: the cell grants milliseconds at a rate that walks, and errors hold up what comes later.
//!
//! The rate is a Brownian motion with a step every 20 ms, as in K. Winstein, A. Sivaraman and H.
//! Balakrishnan, "Stochastic Forecasts Achieve High Throughput and Low Delay over Cellular
//! Networks" (Sprout), NSDI 2013, section 3.1. There it moves by 200 packets a second in a second,
//! between 0 and 1,000 packets a second, which is .4 of the mean. Here it turns back at its bounds.
//!
//! A grant is a subframe of 1 ms (3GPP TS 36.211). In each, the cell serves one of its users, drawn
//! evenly. A transport block that fails is sent again 8 ms later, at most three times (TS 36.213's
//! and 36.321's hybrid ARQ with frequency division). The receiver delivers in order (TS 36.322), so
//! the blocks behind it wait.

use rand_pcg::Pcg64Mcg;
use roundelay::author::Parameter;
use roundelay::{Billionths, ConfigError, Duration, Rate};

use super::draw;
use super::settings::{LONGEST, Model, PACKET_BITS, SHORTEST, rate_of};

/// How often the rate makes a step.
const STEP_MILLIS: u64 = 20;
/// How long after a transmission the same block is sent again, and how often at most.
const REPETITION_MILLIS: u64 = 8;
const REPETITIONS: u64 = 3;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Lte {
    /// None if it is written `link`, which is refused.
    rate: Option<Rate>,
    walk: Billionths,
    least: Billionths,
    users: u32,
    interval: Duration,
    errors: Billionths,
    length: Duration,
}

impl Default for Lte {
    fn default() -> Self {
        Self {
            rate: Rate::from_bits_per_second(20_000_000),
            walk: Billionths(400_000_000),
            least: Billionths(100_000_000),
            users: 3,
            interval: Duration::from_millis(1),
            errors: Billionths(100_000_000),
            length: Duration::from_secs(60),
        }
    }
}

/// A transport block.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Block {
    /// When its subframe ends, in milliseconds.
    sent: u64,
    /// When the receiver passes it on, in milliseconds.
    delivered: u64,
    /// Its size, in any unit.
    size: f64,
}

fn share(share: Billionths) -> f64 {
    share.0 as f64 / Billionths::ONE.0 as f64
}

impl Lte {
    fn length_millis(&self) -> u64 {
        self.length.as_picos() / Duration::from_millis(1).as_picos()
    }

    /// The blocks in one round. A block's size is what the rate allows at its time.
    fn blocks(&self, random: &mut Pcg64Mcg) -> Vec<Block> {
        let interval = self.interval.as_picos() / Duration::from_millis(1).as_picos();
        let [walk, least, errors] = [self.walk, self.least, self.errors].map(share);
        let most = 2.0 - least;
        // A walk that turns back at its bounds is equally often everywhere.
        let mut rate = least + (most - least) * draw::unit(random);
        let step = walk * libm::sqrt(STEP_MILLIS as f64 / 1e3);
        let mut next_step = STEP_MILLIS;
        let mut blocks = Vec::new();
        let mut delivered = 0;
        let mut sent = interval;
        while sent <= self.length_millis() {
            while next_step < sent {
                rate = turned_back(rate + step * draw::normal(random), least, most);
                next_step += STEP_MILLIS;
            }
            if draw::up_to(random, self.users) == 0 {
                let mut repetitions = 0;
                while repetitions < REPETITIONS && draw::unit(random) < errors {
                    repetitions += 1;
                }
                delivered = (sent + repetitions * REPETITION_MILLIS).max(delivered);
                let size = rate;
                blocks.push(Block {
                    sent,
                    delivered,
                    size,
                });
            }
            sent += interval;
        }
        blocks
    }
}

/// Mirrors a value at a bound that it went beyond.
fn turned_back(mut value: f64, least: f64, most: f64) -> f64 {
    while value < least || value > most {
        if least >= most {
            return most;
        }
        value = if value < least {
            2.0 * least - value
        } else {
            2.0 * most - value
        };
    }
    value
}

impl Model for Lte {
    const NAME: &'static str = "lte";

    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::link_rate(
            "rate",
            100_000..=1_000_000_000,
            "mean rate of a round",
            |lte| &mut lte.rate,
        ),
        Parameter::number(
            "walk",
            0..=10_000_000_000,
            "deviation of the rate's change in a second, as a part of the mean",
            |lte| &mut lte.walk,
        ),
        Parameter::number(
            "least",
            0..=1_000_000_000,
            "lower bound of the rate, as a part of the mean; the upper one is as far above it",
            |lte| &mut lte.least,
        ),
        Parameter::count("users", 0..=250, "other users of the cell", |lte| {
            &mut lte.users
        }),
        Parameter::milliseconds(
            "interval",
            Duration::from_millis(1).as_picos()..=Duration::from_millis(80).as_picos(),
            "time between grants",
            |lte| &mut lte.interval,
        ),
        Parameter::number(
            "errors",
            0..=500_000_000,
            "part of the transmissions that fail",
            |lte| &mut lte.errors,
        ),
        Parameter::seconds("length", SHORTEST..=LONGEST, "length of a round", |lte| {
            &mut lte.length
        }),
    ];

    fn check(&self) -> Result<Rate, ConfigError> {
        let rate = rate_of::<Self>("rate", self.rate)?;
        let millisecond = Duration::from_millis(1).as_picos();
        if !self.interval.as_picos().is_multiple_of(millisecond) {
            return Err(ConfigError::BadValue {
                discipline: Self::NAME,
                parameter: "interval".to_owned(),
                value: Some(self.interval.to_string()),
                expected: "whole milliseconds, 1ms to 80ms".to_owned(),
            });
        }
        Ok(rate)
    }

    fn length(&mut self) -> &mut Duration {
        &mut self.length
    }

    fn times(&self, random: &mut Pcg64Mcg) -> Vec<u64> {
        let rate = self.rate.map_or(1, Rate::bits_per_second);
        let length = self.length_millis();
        let packets = (rate * length / 1000 / PACKET_BITS).max(1);
        let blocks = self.blocks(random);
        let total: f64 = blocks.iter().map(|block| block.size).sum();
        let mut times = Vec::new();
        let mut sum = 0.0;
        // Scales the blocks' sizes, so that a round has the mean rate to within a packet.
        for block in blocks {
            sum += block.size;
            let until = (packets as f64 * sum / total) as u64;
            while (times.len() as u64) < until {
                times.push(block.delivered.min(length));
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

    fn lte(text: &str) -> Lte {
        let words: Vec<&str> = text.split_whitespace().collect();
        read(&words).unwrap_or_else(|error| panic!("{error}"))
    }

    fn random(seed: u64) -> Pcg64Mcg {
        Pcg64Mcg::seed_from_u64(seed)
    }

    #[test]
    fn the_mean_of_a_round_is_the_rate_to_a_packet() {
        for (text, bits) in [
            ("", 20_000_000),
            ("rate 100kbit length 1s", 100_000),
            ("rate 1gbit walk 10 least 0 length 9s", 1_000_000_000),
            ("rate 5mbit interval 80ms errors .5", 5_000_000),
            ("rate 5mbit users 250 interval 80ms length 1s", 5_000_000),
        ] {
            let lte = lte(text);
            let seconds = lte.length.as_secs_f64() as u64;
            for seed in 0..5 {
                let times = lte.times(&mut random(seed));
                assert_eq!(times.len() as u64, bits * seconds / PACKET_BITS, "{text}");
                assert_eq!(times.last(), Some(&(seconds * 1000)), "{text}");
                assert!(times.is_sorted(), "{text}");
            }
        }
    }

    #[test]
    fn packets_come_with_the_blocks_that_carry_them() {
        let lte = lte("rate 5mbit users 0 errors 0");
        let blocks = lte.blocks(&mut random(5));
        let times = lte.times(&mut random(5));
        let total: f64 = blocks.iter().map(|block| block.size).sum();
        let mut sum = 0.0;
        for block in &blocks[..blocks.len() - 1] {
            sum += block.size;
            let until = times.partition_point(|time| *time <= block.sent) as f64;
            let expected = sum / total * times.len() as f64;
            if expected > times.len() as f64 - 2.0 {
                // What rounding left over, and the end of the round.
                break;
            }
            // All that a block carries whole, and no more.
            assert!(
                (-1e-6..1.0 + 1e-6).contains(&(expected - until)),
                "{block:?}: {until} {expected}"
            );
        }
    }

    #[test]
    fn without_walk_users_and_errors_packets_are_even() {
        let times = lte("walk 0 least 1 users 0 errors 0").times(&mut random(1));
        for (number, time) in times.iter().enumerate() {
            let end = (number as u64 + 1) * PACKET_BITS;
            let expected = end.div_ceil(20_000);
            assert!(time.abs_diff(expected) <= 1, "{number}: {time} {expected}");
        }
    }

    #[test]
    fn the_rate_walks_by_steps_between_its_bounds_and_is_everywhere_equally_often() {
        let lte = lte("walk .4 least .1 users 0 rate 1mbit length 600s");
        let [mut inside, mut square] = [0.0, 0.0];
        let mut thirds = [0_u64; 3];
        for seed in 0..20 {
            let blocks = lte.blocks(&mut random(seed));
            let mut last = None;
            for block in blocks.iter().step_by(STEP_MILLIS as usize) {
                // It turns back at a bound, and does not stay there.
                assert!(block.size > 0.1 && block.size < 1.9, "{block:?}");
                thirds[((block.size - 0.1) / 0.6).min(2.0) as usize] += 1;
                let before = last.replace(block.size).unwrap_or(0.0);
                if (0.5..1.5).contains(&before) {
                    inside += 1.0;
                    square += (block.size - before) * (block.size - before);
                }
            }
            // Between steps nothing moves.
            for step in blocks.chunks(STEP_MILLIS as usize) {
                assert!(step.iter().all(|block| block.size == step[0].size));
            }
        }
        let deviation = libm::sqrt(square / inside);
        let expected = 0.4 * libm::sqrt(0.02);
        assert!((deviation / expected - 1.0).abs() < 0.02, "{deviation}");
        let all: u64 = thirds.iter().sum();
        for third in thirds {
            let part = third as f64 / all as f64;
            assert!((part - 1.0 / 3.0).abs() < 0.05, "{thirds:?}");
        }
    }

    #[test]
    fn grants_come_at_random_among_the_users() {
        for (users, interval) in [(0, 1), (3, 1), (1, 10)] {
            let text = format!("users {users} interval {interval}ms rate 1mbit length 600s");
            let blocks = lte(&text).blocks(&mut random(2));
            let wins = 1.0 / f64::from(users + 1);
            let mut counts = [0_u64; 5];
            for pair in blocks.windows(2) {
                let gap = pair[1].sent - pair[0].sent;
                assert!(gap.is_multiple_of(interval), "{gap}");
                if let Some(count) = counts.get_mut((gap / interval) as usize - 1) {
                    *count += 1;
                }
            }
            let mut expected = wins;
            for count in counts {
                let part = count as f64 / (blocks.len() - 1) as f64;
                assert!((part - expected).abs() < 0.01, "{text}: {counts:?}");
                expected *= 1.0 - wins;
            }
        }
    }

    #[test]
    fn a_failed_block_is_sent_again_eight_milliseconds_later_three_times_at_most() {
        let blocks =
            lte("errors .3 users 0 interval 80ms rate 1mbit length 3600s").blocks(&mut random(3));
        let mut counts = [0_u64; 4];
        for block in &blocks {
            let late = block.delivered - block.sent;
            assert!(late.is_multiple_of(8), "{late}");
            counts[(late / 8) as usize] += 1;
        }
        let expected = [0.7, 0.3 * 0.7, 0.09 * 0.7, 0.027];
        for (count, expected) in counts.iter().zip(expected) {
            let part = *count as f64 / blocks.len() as f64;
            assert!((part - expected).abs() < 0.01, "{counts:?}");
        }
    }

    #[test]
    fn blocks_behind_a_failed_one_wait_for_it() {
        let blocks = lte("errors .1 users 0 rate 1mbit length 600s").blocks(&mut random(4));
        let order = blocks.windows(2);
        assert!(
            order
                .into_iter()
                .all(|pair| pair[0].delivered <= pair[1].delivered)
        );
        let at_once = blocks.iter().filter(|block| block.sent == block.delivered);
        let part = at_once.count() as f64 / blocks.len() as f64;
        // It and the seven before it at once, eight before these at the second attempt at last, eight
        // at the third.
        let expected = libm::pow(0.9, 8.0) * libm::pow(0.99, 8.0) * libm::pow(0.999, 8.0);
        assert!((part - expected).abs() < 0.01, "{part} {expected}");
    }
}
