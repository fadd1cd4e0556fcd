//! The hold model: what a queue costs while it holds a constant number of packets. For each packet
//! that departs, another with a new slack arrives.
//!
//! The model is from D. W. Jones, "An Empirical Comparison of Priority-Queue and Event-Set
//! Implementations", CACM 29(4), 1986, which measures priority queues: they hold a number of
//! entries, and each pair removes one and inserts one. Here entries are packets ranked as in LSTF.
//! A packet leaves every 800 ns, and its replacement's slack is drawn from zero to twice the mean
//! waiting time.
//!
//! [`time_hold`] and [`count_hold`] use one flow, and slack alone. [`cost_of_hold`] compares any
//! disciplines, so it sets more: the replacement belongs to the same flow, flows have weights,
//! schedulers know the link's rate, and deadline and priority follow the slack. All ranks then
//! advance with time and keep their spread.

use std::fmt;
use std::hint::black_box;
use std::str::FromStr;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use roundelay::Seed;
use roundelay::schedulers::{AnyDiscipline, Discipline, Visitor};
use roundelay::{
    ConfigError, Control, Duration, FlowConfig, FlowId, Instant, Packet, QueueSpec, Rate,
    Scheduler, Slack,
};
use roundelay_metrics::cpu_seconds;

use crate::instructions::{Counts, InstructionsError, Sums};
use crate::nothing::Nothing;
use crate::sorted::Sorted;
use crate::subject::{Passed, Running};
use crate::time::Timing;

/// Most packets that a queue may hold.
pub const MOST_HELD: u32 = 1 << 24;

/// Time between two departures, in picoseconds: 1000 bytes at 10 Gbit/s.
const STEP: u64 = Duration::from_nanos(800).as_picos();

/// Rounds of [`cost_of_hold`]. The queues take turns within each.
const ROUNDS: usize = 5;
/// Pairs between two readings of the clock.
const CHUNK: u64 = 1_000;
/// Most dropped packets that one pair offers again.
const MOST_AGAIN: usize = 2;

/// The queue's contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Held {
    /// Packets, at least 1.
    pub packets: u32,
    /// Flows, at least 1.
    pub flows: u32,
}

/// A subject of the hold model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HoldSubject {
    /// The model alone, with packets in a ring.
    Nothing,
    /// LSTF on the standard library's binary heap.
    BinaryHeap,
    /// A discipline in `tc` syntax. `{slot}` stands for a time: a 3000th of the range of slack.
    Discipline(String),
}

impl HoldSubject {
    /// The discipline for a queue that holds `held` packets. None for the other subjects.
    fn discipline(&self, held: u32) -> Result<Option<AnyDiscipline>, ConfigError> {
        let Self::Discipline(text) = self else {
            return Ok(None);
        };
        // A calendar may have 4096 queues. Those beyond the 3000 are for late packets.
        let slot = Duration::from_nanos((2 * u64::from(held) * STEP).div_ceil(3000 * 1000));
        Ok(Some(
            text.replace("{slot}", &slot.to_string())
                .parse::<QueueSpec>()?
                .discipline,
        ))
    }
}

impl FromStr for HoldSubject {
    type Err = ConfigError;

    /// `none`, `heap`, or a discipline.
    fn from_str(text: &str) -> Result<Self, ConfigError> {
        let subject = match text {
            "none" => Self::Nothing,
            "heap" => Self::BinaryHeap,
            discipline => Self::Discipline(discipline.to_owned()),
        };
        subject.discipline(1).map(|_| subject)
    }
}

impl fmt::Display for HoldSubject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("none"),
            Self::BinaryHeap => f.write_str("heap"),
            Self::Discipline(text) => f.write_str(text),
        }
    }
}

/// A scheduler under the model. `FULL`: packets have deadlines and priorities, flows have weights,
/// and dropped packets are offered again. Otherwise there is one flow and only slack is written,
/// because every instruction of the model is part of all figures.
struct Hold<S, const FULL: bool> {
    scheduler: S,
    now: Instant,
    /// Slack is drawn from 0 to this, in picoseconds.
    range: u64,
    random: Pcg64Mcg,
    /// Dropped packets, to be offered again.
    dropped: Vec<Packet<u32>>,
    passed: Passed,
}

impl<S: Scheduler<u32>, const FULL: bool> Hold<S, FULL> {
    /// A queue filled with its packets.
    fn new(scheduler: S, held: Held) -> Self {
        let range = 2 * u64::from(held.packets) * STEP;
        let random = Pcg64Mcg::seed_from_u64(1);
        let mut hold = Self {
            scheduler,
            now: Instant::ZERO,
            range,
            random,
            dropped: Vec::new(),
            passed: Passed::default(),
        };
        (0..held.packets).for_each(|number| {
            hold.arrive(Packet::new(
                FlowId(number % held.flows.max(1)),
                1000,
                number,
            ))
        });
        hold
    }

    #[inline(always)]
    fn arrive(&mut self, packet: Packet<u32>) {
        // The upper half of a product is cheaper than an unbiased draw, and the draw is part of all
        // figures.
        let drawn =
            ((u128::from(self.random.random::<u64>()) * u128::from(self.range)) >> 64) as u64;
        let packet = Packet {
            slack: Slack::from_picos(drawn as i64),
            ..packet
        };
        if FULL {
            return self.arrive_ranked(packet, self.now + Duration::from_picos(drawn));
        }
        let refused = self.scheduler.enqueue(self.now, packet).is_err();
        assert!(!refused, "the queue takes every packet");
    }

    /// All ranks are those of a packet with deadline `due`. Priorities are in steps of 2^16 ps, so
    /// that 32 bits cover almost five minutes.
    #[inline(always)]
    fn arrive_ranked(&mut self, packet: Packet<u32>, due: Instant) {
        let packet = Packet {
            arrival: self.now,
            deadline: due,
            priority: (due.as_picos() >> 16) as u32,
            ..packet
        };
        self.passed.offered += 1;
        self.dropped.extend(
            self.scheduler
                .enqueue(self.now, packet)
                .err()
                .map(|refused| refused.packet),
        );
        self.take_dropped();
    }

    #[inline(always)]
    fn take_dropped(&mut self) {
        while let Some((packet, _)) = self.scheduler.take_dropped() {
            self.dropped.push(packet);
        }
    }

    /// One pair: a waiting packet leaves and its replacement arrives. Some dropped packets are
    /// offered again.
    #[inline(always)]
    fn exchange(&mut self) {
        let packet = self.scheduler.dequeue(self.now);
        self.take_dropped();
        if let Some(packet) = packet {
            self.passed.sent += 1;
            self.arrive(black_box(packet));
        }
        for _ in 0..self.dropped.len().min(MOST_AGAIN) {
            let packet = self.dropped.pop();
            packet.into_iter().for_each(|packet| self.arrive(packet));
        }
    }
}

impl<S: Scheduler<u32>, const FULL: bool> Running for Hold<S, FULL> {
    fn run(&mut self, pairs: u64) -> Passed {
        self.passed = Passed::default();
        for _ in 0..pairs {
            self.now += Duration::from_picos(STEP);
            if FULL {
                self.exchange();
            } else {
                let packet = self
                    .scheduler
                    .dequeue(self.now)
                    .expect("the queue drops no packet");
                self.arrive(black_box(packet));
            }
        }
        if FULL {
            self.passed
        } else {
            Passed {
                offered: pairs,
                sent: pairs,
            }
        }
    }
}

/// Visitor that builds the discipline's scheduler and fills it with packets.
struct Fill<const FULL: bool>(Held);

impl<const FULL: bool> Visitor for Fill<FULL> {
    type Output = Result<Box<dyn Running>, ConfigError>;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        let mut scheduler = discipline.build::<u32>(Seed::new(1))?;
        if FULL {
            // 1000 bytes every 800 ns.
            Rate::from_bits_per_second(8_000 * 1_000_000_000_000 / STEP)
                .into_iter()
                .for_each(|rate| scheduler.set_link_rate(rate));
            let mut flows = (0..self.0.flows).map(|flow| {
                (
                    FlowId(flow),
                    FlowConfig {
                        weight: weight(flow),
                        ..FlowConfig::DEFAULT
                    },
                )
            });
            flows.try_for_each(|(flow, config)| scheduler.set_flow(flow, config))?;
        }
        Ok(Box::new(Hold::<_, FULL>::new(scheduler, self.0)))
    }
}

/// Weights 1, 2, 4, 8 in rotation.
const fn weight(flow: u32) -> u32 {
    1 << (flow % 4)
}

/// A queue after a warm-up of two pairs per held packet, when most initial packets have left.
fn warm<const FULL: bool>(
    subject: &HoldSubject,
    held: Held,
) -> Result<Box<dyn Running>, ConfigError> {
    let mut running: Box<dyn Running> = match (subject, subject.discipline(held.packets)?) {
        (_, Some(discipline)) => discipline.visit(Fill::<FULL>(held))?,
        (HoldSubject::BinaryHeap, None) => Box::new(Hold::<_, FULL>::new(Sorted::default(), held)),
        (_, None) => Box::new(Hold::<_, FULL>::new(
            Nothing::new(u64::from(held.packets) + 1),
            held,
        )),
    };
    running.run(2 * u64::from(held.packets));
    Ok(running)
}

/// One flow with `packets` packets.
const fn of_one_flow(packets: u32) -> Held {
    Held { packets, flows: 1 }
}

/// Fills a queue and runs `pairs` pairs.
///
/// # Errors
/// A parameter of the discipline is out of its range.
pub fn run_hold(subject: &HoldSubject, held: u32, pairs: u64) -> Result<(), ConfigError> {
    warm::<false>(subject, of_one_flow(held))?.run(pairs);
    Ok(())
}

/// CPU time per pair, in `rounds` rounds. The queues take turns within each.
///
/// # Errors
/// A parameter of a discipline is out of its range.
pub fn time_hold(
    subjects: &[HoldSubject],
    held: u32,
    pairs: u64,
    rounds: usize,
) -> Result<Vec<Timing>, ConfigError> {
    in_turns(
        subjects,
        rounds,
        |subject| warm::<false>(subject, of_one_flow(held)),
        |running| running.run(pairs),
    )
}

/// CPU time per sent packet under each discipline, with flows, weights and all ranks. Takes about
/// `seconds` of CPU time in all. Dropped packets are offered again, and [`Timing::passed`] counts
/// them.
///
/// # Errors
/// A parameter of a discipline is out of its range.
pub fn cost_of_hold(
    subjects: &[HoldSubject],
    held: Held,
    seconds: f64,
) -> Result<Vec<Timing>, ConfigError> {
    let seconds = seconds / (ROUNDS * subjects.len().max(1)) as f64;
    in_turns(
        subjects,
        ROUNDS,
        |subject| warm::<true>(subject, held),
        |running| run_for(running, seconds),
    )
}

/// Runs for this long, and for one chunk of pairs at least.
fn run_for(running: &mut dyn Running, seconds: f64) -> Passed {
    let start = cpu_seconds();
    let mut passed = Passed::default();
    loop {
        passed += running.run(CHUNK);
        if cpu_seconds() - start >= seconds {
            return passed;
        }
    }
}

/// CPU time that `run` takes per sent packet. Subjects take turns, so a disturbance of the machine
/// hits all alike. A queue exists only during its round.
fn in_turns(
    subjects: &[HoldSubject],
    rounds: usize,
    set_up: impl Fn(&HoldSubject) -> Result<Box<dyn Running>, ConfigError>,
    run: impl Fn(&mut dyn Running) -> Passed,
) -> Result<Vec<Timing>, ConfigError> {
    let mut timings = vec![Timing::default(); subjects.len()];
    for _ in 0..rounds.max(1) {
        for (subject, timing) in subjects.iter().zip(&mut timings) {
            let mut running = set_up(subject)?;
            let start = cpu_seconds();
            let passed = run(running.as_mut());
            timing
                .nanos
                .push((cpu_seconds() - start) * 1e9 / passed.sent.max(1) as f64);
            timing.passed += passed;
        }
    }
    Ok(timings)
}

/// Instructions and cache misses per pair. The calling program must be `roundelay`, because
/// valgrind runs it as `bench --hold HELD --holder TEXT --once PAIRS`, a call of [`run_hold`].
///
/// # Errors
/// Valgrind is missing, could not run the program, or ran a program without `bench --once`.
pub fn count_hold(
    subject: &HoldSubject,
    held: u32,
    pairs: u64,
) -> Result<Counts, InstructionsError> {
    let arguments = |pairs: u64| {
        let words = [
            "bench",
            "--hold",
            &held.to_string(),
            "--holder",
            &subject.to_string(),
            "--once",
            &pairs.to_string(),
        ];
        words.map(str::to_owned).to_vec()
    };
    // The second run has twice the pairs and the same set-up, so the difference has no set-up.
    Sums::collect([pairs, 2 * pairs].map(arguments))?.each(
        pairs,
        Passed {
            offered: pairs,
            sent: pairs,
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_holds_what_it_was_given_and_serves_by_rank() {
        for text in [
            "lstf",
            "fifo",
            "lstf_levels queues 4096 step {slot} map rotating",
            "sp_pifo queues 8",
        ] {
            let discipline = text
                .parse::<HoldSubject>()
                .unwrap()
                .discipline(100)
                .unwrap()
                .unwrap();
            let mut hold = Hold::<_, false>::new(
                discipline.build::<u32>(Seed::new(1)).unwrap(),
                of_one_flow(100),
            );
            hold.run(1_000);
            assert_eq!(hold.scheduler.backlog().packets, 100, "{text}");
        }
        let mut heap = Hold::<_, false>::new(Sorted::default(), of_one_flow(100));
        heap.run(1_000);
        let due = |packet: &Packet<u32>| packet.arrival.as_picos() + packet.slack.as_picos() as u64;
        let left: Vec<_> = std::iter::from_fn(|| heap.scheduler.dequeue(heap.now))
            .map(|packet| due(&packet))
            .collect();
        assert!(left.len() == 100 && left.is_sorted());
    }

    /// On average half of the slack is used up at departure, so ranks are close to the present.
    #[test]
    fn packets_leave_about_when_they_are_due() {
        let mut hold = Hold::<_, false>::new(Sorted::default(), of_one_flow(1_000));
        hold.run(10_000);
        let packet = hold.scheduler.dequeue(hold.now).unwrap();
        let due = packet.arrival.as_picos() as i64 + packet.slack.as_picos();
        let off = (due - hold.now.as_picos() as i64).abs();
        assert!(
            off < (200 * STEP) as i64,
            "{} places off",
            off / STEP as i64
        );
    }

    #[test]
    fn subjects_read_as_they_are_written() {
        for text in [
            "none",
            "heap",
            "lstf",
            "lstf_levels queues 4096 step {slot} map rotating",
        ] {
            assert_eq!(text.parse::<HoldSubject>().unwrap().to_string(), text);
        }
        assert!(
            ["cakes", "lstf_levels step {spot}", ""]
                .iter()
                .all(|text| text.parse::<HoldSubject>().is_err())
        );
    }

    #[test]
    fn rounds_are_timed() {
        let subjects = ["none", "heap", "fifo"].map(|text| text.parse().unwrap());
        let timings = time_hold(&subjects, 100, 1_000, 3).unwrap();
        assert!(
            timings
                .iter()
                .all(|timing| timing.nanos.len() == 3 && timing.passed.share() == 1.0)
        );
    }

    fn full(text: &str, held: Held) -> Hold<roundelay::schedulers::AnyScheduler<u32>, true> {
        let discipline = text.parse::<QueueSpec>().unwrap().discipline;
        let mut scheduler = discipline.build::<u32>(Seed::new(1)).unwrap();
        (0..held.flows).for_each(|flow| {
            scheduler
                .set_flow(
                    FlowId(flow),
                    FlowConfig {
                        weight: weight(flow),
                        ..FlowConfig::DEFAULT
                    },
                )
                .unwrap()
        });
        Hold::new(scheduler, held)
    }

    /// A constant rank (a priority drawn only once) would leave packets at the end of the queue for
    /// ever.
    #[test]
    fn every_rank_goes_on_with_time() {
        for text in [
            "fifo",
            "lstf",
            "edf",
            "sjf",
            "srpt",
            "priority",
            "fifo_plus",
            "packet_fq",
            "wf2q_plus",
        ] {
            let mut hold = full(
                text,
                Held {
                    packets: 100,
                    flows: 10,
                },
            );
            assert_eq!(
                hold.run(5_000),
                Passed {
                    offered: 5_000,
                    sent: 5_000
                },
                "{text}"
            );
            assert_eq!(hold.scheduler.backlog().packets, 100, "{text}");
            let oldest = std::iter::from_fn(|| hold.scheduler.dequeue(hold.now))
                .map(|packet| packet.arrival)
                .min()
                .unwrap();
            let waited = hold.now.since(oldest).as_picos() / STEP;
            assert!(waited < 2_000, "{text}: {waited} steps");
        }
    }

    #[test]
    fn flows_have_weights() {
        let mut hold = full(
            "wf2q_plus",
            Held {
                packets: 400,
                flows: 4,
            },
        );
        let mut sent = [0; 4];
        for _ in 0..1_500 {
            hold.now += Duration::from_picos(STEP);
            let packet = hold.scheduler.dequeue(hold.now).unwrap();
            sent[packet.flow.0 as usize] += 1;
            hold.arrive(packet);
        }
        assert!(
            sent.iter()
                .zip([100, 200, 400, 800])
                .all(|(sent, share)| i32::abs(sent - share) <= 2),
            "{sent:?}"
        );
    }

    #[test]
    fn drops_are_counted_and_replaced() {
        let costs = |text: &str| {
            cost_of_hold(
                &[text.parse().unwrap()],
                Held {
                    packets: 200,
                    flows: 3,
                },
                0.01,
            )
            .unwrap()
            .remove(0)
        };
        let codel = costs("codel target 1us interval 1us");
        assert!(
            codel.passed.share() < 0.99 && codel.passed.sent > 0,
            "{:?}",
            codel.passed
        );
        let fifo = costs("fifo");
        assert!(
            fifo.passed.share() == 1.0
                && fifo.nanos.len() == ROUNDS
                && fifo.passed.sent >= ROUNDS as u64 * CHUNK
        );
    }
}
