//! The hold model: what a queue costs that always holds the same number of packets. Each packet that leaves is replaced by one with another slack.
//!
//! The model is that of D. W. Jones, "An Empirical Comparison of Priority-Queue and Event-Set Implementations", CACM 29(4), 1986, for priority queues:
//! a number of entries, and pairs of a removal and an insertion. Here entries are packets, whose rank is LSTF's: a packet leaves each 800
//! ns, and the one that takes its place has a slack drawn from zero to twice the time that packets wait on average.

use std::fmt;
use std::hint::black_box;
use std::str::FromStr;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::schedulers::{AnyDiscipline, Discipline, Spec, Visitor};
use roundelay::{ConfigError, Duration, FlowId, Instant, Packet, Scheduler, Slack};

use crate::instructions::{Counts, InstructionsError, Sums};
use crate::nothing::Nothing;
use crate::run::Passed;
use crate::sorted::Sorted;
use crate::time::{Timing, cpu_seconds};

/// Most packets that may be held.
pub const MOST_HELD: u32 = 1 << 24;

/// Between two departures, in picoseconds: 1000 bytes at 10 Gbit/s.
const STEP: u64 = Duration::from_nanos(800).as_picos();

/// A queue under the hold model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Holder {
    /// The model alone: packets are kept in a ring.
    Nothing,
    /// LSTF on the standard library's binary heap.
    BinaryHeap,
    /// A discipline as `tc` writes it, in which `{slot}` stands for a 3000th of the range of slack, a time.
    Discipline(String),
}

impl Holder {
    /// The discipline where so many packets are held. None: it is not one.
    fn discipline(&self, held: u32) -> Result<Option<AnyDiscipline>, ConfigError> {
        let Self::Discipline(text) = self else { return Ok(None) };
        // A calendar may have 4096 queues; the others are for packets that leave late.
        let slot = Duration::from_nanos((2 * u64::from(held) * STEP).div_ceil(3000 * 1000));
        Ok(Some(text.replace("{slot}", &slot.to_string()).parse::<Spec>()?.discipline))
    }
}

impl FromStr for Holder {
    type Err = ConfigError;

    /// `none`, `heap`, or a discipline.
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let holder = match text {
            "none" => Self::Nothing,
            "heap" => Self::BinaryHeap,
            discipline => Self::Discipline(discipline.to_owned()),
        };
        holder.discipline(1).map(|_| holder)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("none"),
            Self::BinaryHeap => f.write_str("heap"),
            Self::Discipline(text) => f.write_str(text),
        }
    }
}

/// A queue that holds packets, ready to run.
trait Holding {
    /// So many pairs of a departure and an arrival.
    fn run(&mut self, pairs: u64);
}

/// A scheduler under the model.
struct Hold<S> {
    scheduler: S,
    now: Instant,
    /// Slack is drawn below this, in picoseconds.
    range: u64,
    random: Pcg64Mcg,
}

impl<S: Scheduler<u32>> Hold<S> {
    fn filled(scheduler: S, held: u32) -> Self {
        let range = 2 * u64::from(held) * STEP;
        let mut hold = Self { scheduler, now: Instant::ZERO, range, random: Pcg64Mcg::seed_from_u64(1) };
        (0..held).for_each(|number| hold.arrive(Packet::new(FlowId(0), 1000, number)));
        hold
    }

    #[inline(always)]
    fn arrive(&mut self, packet: Packet<u32>) {
        // The upper half of a product: cheaper than an unbiased draw, which is a part of all figures.
        let drawn = (u128::from(self.random.random::<u64>()) * u128::from(self.range)) >> 64;
        let refused = self.scheduler.enqueue(self.now, Packet { slack: Slack::from_picos(drawn as i64), ..packet }).is_err();
        assert!(!refused, "the queue takes every packet");
    }
}

impl<S: Scheduler<u32>> Holding for Hold<S> {
    fn run(&mut self, pairs: u64) {
        for _ in 0..pairs {
            self.now += Duration::from_picos(STEP);
            let packet = self.scheduler.dequeue(self.now).expect("the queue drops no packet");
            self.arrive(black_box(packet));
        }
    }
}

struct Fill(u32);

impl Visitor for Fill {
    type Output = Result<Box<dyn Holding>, ConfigError>;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        Ok(Box::new(Hold::filled(discipline.build::<u32>(1)?, self.0)))
    }
}

/// A queue with its packets, once around: each packet that it was filled with has most likely left.
fn warm(holder: &Holder, held: u32) -> Result<Box<dyn Holding>, ConfigError> {
    let mut holding: Box<dyn Holding> = match (holder, holder.discipline(held)?) {
        (_, Some(discipline)) => discipline.visit(Fill(held))?,
        (Holder::BinaryHeap, None) => Box::new(Hold::filled(Sorted::default(), held)),
        (_, None) => Box::new(Hold::filled(Nothing::new(u64::from(held) + 1), held)),
    };
    holding.run(2 * u64::from(held));
    Ok(holding)
}

/// Fills a queue and runs so many pairs.
///
/// # Errors
/// A parameter of the discipline is out of its range.
pub fn run_hold(holder: &Holder, held: u32, pairs: u64) -> Result<(), ConfigError> {
    warm(holder, held)?.run(pairs);
    Ok(())
}

/// CPU time of a pair, in `rounds` in which the queues take turns.
///
/// # Errors
/// A parameter of a discipline is out of its range.
pub fn time_hold(holders: &[Holder], held: u32, pairs: u64, rounds: usize) -> Result<Vec<Timing>, ConfigError> {
    let mut timings = vec![Timing::default(); holders.len()];
    for _ in 0..rounds.max(1) {
        for (holder, timing) in holders.iter().zip(&mut timings) {
            let mut holding = warm(holder, held)?;
            let start = cpu_seconds();
            holding.run(pairs);
            timing.nanos.push((cpu_seconds() - start) * 1e9 / pairs.max(1) as f64);
            timing.passed = Passed { offered: timing.passed.offered + pairs, sent: timing.passed.sent + pairs };
        }
    }
    Ok(timings)
}

/// Instructions and cache misses of a pair. The program that calls this has to be `roundelay`, which valgrind runs as `bench --hold HELD --holder TEXT
/// --once PAIRS`; that calls [`run_hold`].
///
/// # Errors
/// Valgrind is not there, or it could not run the program, or that was another one.
pub fn count_hold(holder: &Holder, held: u32, pairs: u64) -> Result<Counts, InstructionsError> {
    let arguments = |pairs: u64| {
        let words = ["bench", "--hold", &held.to_string(), "--holder", &holder.to_string(), "--once", &pairs.to_string()];
        words.map(str::to_owned).to_vec()
    };
    Sums::collect([pairs, 2 * pairs].map(arguments))?.each(pairs, Passed { offered: pairs, sent: pairs })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_holds_what_it_was_given_and_serves_by_rank() {
        for text in ["lstf", "fifo", "lstf_levels queues 4096 step {slot} map rotating", "sp_pifo queues 8"] {
            let discipline = text.parse::<Holder>().unwrap().discipline(100).unwrap().unwrap();
            let mut hold = Hold::filled(discipline.build::<u32>(1).unwrap(), 100);
            hold.run(1_000);
            assert_eq!(hold.scheduler.backlog().packets, 100, "{text}");
        }
        let mut heap = Hold::filled(Sorted::default(), 100);
        heap.run(1_000);
        let due = |packet: &Packet<u32>| packet.arrival.as_picos() + packet.slack.as_picos() as u64;
        let left: Vec<_> = std::iter::from_fn(|| heap.scheduler.dequeue(heap.now)).map(|packet| due(&packet)).collect();
        assert!(left.len() == 100 && left.is_sorted());
    }

    /// Half of the slack has been spent, on average, when a packet leaves: ranks are about now.
    #[test]
    fn packets_leave_about_when_they_are_due() {
        let mut hold = Hold::filled(Sorted::default(), 1_000);
        hold.run(10_000);
        let packet = hold.scheduler.dequeue(hold.now).unwrap();
        let due = packet.arrival.as_picos() as i64 + packet.slack.as_picos();
        let off = (due - hold.now.as_picos() as i64).abs();
        assert!(off < (200 * STEP) as i64, "{} places off", off / STEP as i64);
    }

    #[test]
    fn holders_read_as_they_are_written() {
        for text in ["none", "heap", "lstf", "lstf_levels queues 4096 step {slot} map rotating"] {
            assert_eq!(text.parse::<Holder>().unwrap().to_string(), text);
        }
        assert!(["cake", "lstf_levels step {spot}", ""].iter().all(|text| text.parse::<Holder>().is_err()));
    }

    #[test]
    fn rounds_are_timed() {
        let holders = ["none", "heap", "fifo"].map(|text| text.parse().unwrap());
        let timings = time_hold(&holders, 100, 1_000, 3).unwrap();
        assert!(timings.iter().all(|timing| timing.nanos.len() == 3 && timing.passed.share() == 1.0));
    }
}
