//! LSTF on priority levels: least slack time first on FIFO queues in strict priority.
//!
//! LSTF needs a queue sorted by rank. Switch ports have 8 to 64 FIFO queues instead, so each queue
//! stands for a step of time. `map uniform` and `map exponential` choose the queue by the slack
//! left on arrival, `map rotating` by the instant at which the packet's last bit is due. The first
//! two are plain strict priority, so a packet stays behind later arrivals with less slack, however
//! long it has waited. The third is a calendar (a rotating priority queue), in which waiting
//! packets move up as their time comes.
//!
//! Source: R. Mittal, R. Agarwal, S. Ratnasamy, S. Shenker, "Universal Packet Scheduling", NSDI
//! 2016, section 5, for the rank. J. Liebeherr, D. E. Wrege, "Priority Queue Schedulers with
//! Approximate Sorting in Output-Buffered Switches", IEEE JSAC 17(6), 1999, for FIFO queues that
//! are relabelled at fixed times. N. K. Sharma et al., "Programmable Calendar Queues for High-speed
//! Packet Scheduling", NSDI 2020, for the same on a programmable switch. Thresholds of slack: the
//! class project of E. Sie and C. Cheng, github.com/ccheng32/ups, 2019.
//!
//! | paper | here |
//! |---|---|
//! | slack(p, a) + i(p, a) + T(p, a), LSTF's rank | `last_bit_due` |
//! | Delta of rotating priority queues, bucket of a calendar queue | [`Config::step`] |
//! | the rank in steps | `slot` |
//! | label 0, head of the calendar | `base`: the slot of the first queue |
//!
//! | guarantee | value | test in `theorems/lstf_levels.rs` |
//! |---|---|---|
//! | uniform, exponential | strict priority of the level that the slack had on arrival; a level is FIFO | `slack_on_arrival_chooses_the_level` |
//! | rotating, packets due from the current slot on and within the horizon | no packet leaves before one whose last bit is due a whole step earlier | `a_calendar_sorts_to_a_step` |
//! | a queue for each rank | the decisions of `lstf` | `a_level_for_each_rank_is_lstf` |
//! | one queue | the decisions of `fifo` | `one_queue_is_fifo` |
//! | more queues for the same range of slack: `rotating`; `uniform`, where the queue empties between bursts | fewer inversions | `inversions_fall_with_the_number_of_queues` |
//! | more queues, `uniform`, in a queue that never empties | more inversions: packets with much slack starve | `levels_by_slack_on_arrival_starve_packets_in_a_standing_queue` |
//! | push-out | the newest packet of the last queue that holds any | `a_full_buffer_gives_up_the_newest_of_the_last_queue` |
//!
//! Levels are numbered from 0. With `uniform`, level i takes slack from i `step` to below (i + 1)
//! `step`. With `exponential`, level 0 takes slack below `step` and level i from 2^(i - 1) `step`
//! to below 2^i `step`. Slack below zero is level 0, and the last level takes the rest.
//!
//! **The calendar.** Queue s modulo `queues` stands for slot s, for the `queues` slots from `base`
//! on. A packet due earlier goes into the first queue, a packet due later into the last. `base`
//! follows the clock, but not past a slot whose queue holds packets, because that queue would
//! become the last one, with its overdue packets. While the port is behind, the horizon is nearer
//! than `queues` steps.
//!
//! Cost: O(1) for each packet, two find-first-set instructions. Memory: 24 bytes for each queue, no
//! state per flow.
//!
//! Differences from the sources: the level follows from the slack of the last bit, T included, as
//! LSTF's rank does. Rotating priority queues serve the first two queues in an order that keeps
//! deadlines when the labels change. Here an overdue queue keeps its position until it is empty.
//! Where a switch drops arrivals to a full queue, the shared buffer drops the tail of the last
//! queue, which is roughly LSTF's push-out. The scheduler does not update a departing packet's
//! slack. The driver subtracts the wait, as for `lstf`.

use crate::author::{
    Backlog, ByCopy, ConfigError, Configured, Control, Discipline, DropReason, Duration, Footprint,
    Handle, Instant, Linux, Packet, Parameter, Rate, Refused, Scheduler, Seed, Times,
};
use crate::mechanisms::levels::{self, Levels};
use crate::mechanisms::rank_by::last_bit_due;

/// Parameters of LSTF on priority levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// FIFO queues: 1 to 4096.
    pub queues: u32,
    /// Time step of each queue, with `exponential` of the first one: 1 ns to 1000 s.
    pub step: Duration,
    /// Mapping of packets to queues.
    pub map: Map,
}

/// Mapping of packets to queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Map {
    /// By the slack on arrival, in equal steps.
    Uniform,
    /// By the slack on arrival, in doubling steps.
    Exponential,
    /// By the instant at which the last bit is due: a calendar.
    Rotating,
}

impl Map {
    const WORDS: &'static [&'static str] = &["uniform", "exponential", "rotating"];
    const ALL: [Self; 3] = [Self::Uniform, Self::Exponential, Self::Rotating];
}

impl Default for Config {
    fn default() -> Self {
        Self {
            queues: 8,
            step: Duration::from_millis(1),
            map: Map::Uniform,
        }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "lstf_levels";
    const ABOUT: &'static str = "LSTF on a switch's FIFO queues in strict priority: queues by slack on arrival, or a calendar";
    const SOURCE: &'static str = "Mittal et al., Universal Packet Scheduling, NSDI 2016; Liebeherr, Wrege, Priority Queue Schedulers with Approximate Sorting in Output-Buffered Switches, IEEE JSAC 17(6), 1999";
    const LINUX: Linux = Linux::Absent;
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::count(
            "queues",
            1..=levels::MOST as u64,
            "number of FIFO queues in strict priority",
            |config| &mut config.queues,
        ),
        Parameter::time(
            "step",
            Duration::from_nanos(1).as_picos()..=Duration::from_secs(1000).as_picos(),
            "slack range of a queue; with exponential of the first queue",
            |config| &mut config.step,
        ),
        Parameter::choice(
            "map",
            Map::WORDS,
            "choice of the queue: by slack on arrival in equal or doubling steps, or by due time in a calendar",
            |config| {
                Map::ALL
                    .iter()
                    .position(|map| *map == config.map)
                    .unwrap_or(0) as u64
            },
            |config, value| {
                config.map = Map::ALL.get(value as usize).copied().unwrap_or(config.map)
            },
        ),
    ];
    const REORDERS: bool = true;
    const TIMES: Times = Times::Slack;
    const COMPLEXITY: &'static str = "O(1)";
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::PushedOut];
    type Scheduler<T: Send> = LstfLevels<T>;
    /// By copy for now. To use links, only `mechanisms/levels.rs` would have to change.
    type ByHandle = ByCopy<LstfLevels<Handle>>;

    fn configuration<T: Send>(scheduler: &mut LstfLevels<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct LstfLevels<T> {
    levels: Levels<T>,
    /// The slot of the calendar's first queue. 0 without a calendar. Never later than the clock's
    /// slot.
    base: u64,
    link_rate: Option<Rate>,
    config: Config,
}

impl<T> Configured<Config> for LstfLevels<T> {
    fn configured(config: Config, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            levels: Levels::new(config.queues),
            base: 0,
            link_rate: None,
            config,
        })
    }
}

impl<T> LstfLevels<T> {
    /// The queue for a packet with this slack, the time on the link included, or due at this
    /// instant of the calendar.
    fn queue_of(&self, slack: i128, due: i128) -> usize {
        let step = i128::from(self.config.step.as_picos());
        let last = self.levels.count() - 1;
        let bounded = |level: i128| level.clamp(0, last as i128) as usize;
        match self.config.map {
            Map::Uniform => bounded(slack.div_euclid(step)),
            Map::Exponential => {
                bounded((i128::BITS - (slack.max(0) / step).leading_zeros()).into())
            }
            Map::Rotating => {
                (self.first_queue() + bounded(due.div_euclid(step) - i128::from(self.base)))
                    % self.levels.count()
            }
        }
    }

    /// The queue served first: with a calendar, that of slot `base`.
    #[inline]
    fn first_queue(&self) -> usize {
        (self.base % self.levels.count() as u64) as usize
    }

    /// Turns the calendar: `base` follows the clock up to the first slot that holds packets.
    fn turn(&mut self, now: Instant) {
        if self.config.map != Map::Rotating {
            return;
        }
        let ahead = (now.as_picos() / self.config.step.as_picos()).saturating_sub(self.base);
        let first = self.first_queue();
        let count = self.levels.count();
        let empty = self
            .levels
            .first_from(first)
            .map_or(ahead, |queue| ((queue + count - first) % count) as u64);
        // The labels rotate, once for each step that has passed.
        self.base += ahead.min(empty);
    }
}

impl<T> Scheduler<T> for LstfLevels<T> {
    /// Sets the packet's arrival, the instant from which slack is spent.
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        self.turn(now);
        // LSTF's rank, slack(p, a) + i(p, a) + T(p, a). Less the time of arrival it is the slack of
        // the last bit.
        let due = last_bit_due(&packet, now, self.link_rate);
        let queue = self.queue_of(due - i128::from(now.as_picos()), due);
        self.levels.push(
            queue,
            Packet {
                arrival: now,
                ..packet
            },
        );
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        self.turn(now);
        self.levels.pop(self.levels.first_from(self.first_queue())?)
    }

    /// The newest packet of the last queue with packets.
    fn evict(&mut self) -> Option<Packet<T>> {
        self.levels
            .pop_tail(self.levels.last_from(self.first_queue())?)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.levels.backlog()
    }
}

impl<T> Control for LstfLevels<T> {
    /// T(p, a) follows from the rate, for later arrivals.
    fn set_link_rate(&mut self, rate: Rate) {
        self.link_rate = Some(rate);
    }

    fn footprint(&self) -> Footprint {
        Footprint::fixed(size_of::<Self>() + self.levels.heap_bytes())
    }

    /// 1. Only a calendar turns.
    /// 2. Without a calendar, a packet is on no level before that of its slack. The time on the
    ///    link may put the packet on a later level.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.levels.check();
        if self.config.map == Map::Rotating {
            return;
        }
        assert_eq!(self.base, 0, "invariant 1: no calendar, no turns");
        for (level, head) in
            (0..self.levels.count()).filter_map(|level| Some((level, self.levels.head(level)?)))
        {
            let least = self.queue_of(head.slack.as_picos().into(), 0);
            assert!(
                least <= level,
                "invariant 2: a packet of level {level} has the slack of level {least}"
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;
    use crate::time::Slack;
    use alloc::vec::Vec;

    const MILLI: i64 = 1_000_000_000;

    fn build(text: &str) -> LstfLevels<i64> {
        let spec: crate::QueueSpec = text.parse().expect("legal");
        let crate::schedulers::AnyDiscipline::LstfLevels(config) = spec.discipline else {
            panic!("{text}")
        };
        config.build(Seed::new(0)).expect("legal")
    }

    fn at(millis: u64) -> Instant {
        Instant::ZERO + Duration::from_millis(millis)
    }

    fn put(scheduler: &mut LstfLevels<i64>, millis: u64, slack_millis: i64) {
        let packet = Packet {
            slack: Slack::from_picos(slack_millis * MILLI),
            ..Packet::new(FlowId(0), 1000, slack_millis)
        };
        scheduler
            .enqueue(at(millis), packet)
            .expect("all packets are taken");
    }

    fn take_all(scheduler: &mut LstfLevels<i64>, millis: u64) -> Vec<i64> {
        core::iter::from_fn(|| scheduler.dequeue(at(millis)))
            .map(|packet| packet.payload)
            .collect()
    }

    #[test]
    fn thresholds_are_multiples_or_powers_of_the_step() {
        let levels = |text: &str, slacks: &[i64]| {
            let scheduler = build(text);
            slacks
                .iter()
                .map(|slack| scheduler.queue_of(i128::from(*slack), 0))
                .collect::<Vec<_>>()
        };
        let slacks = [
            i64::MIN,
            -1,
            0,
            MILLI - 1,
            MILLI,
            2 * MILLI - 1,
            2 * MILLI,
            3 * MILLI,
            4 * MILLI,
            i64::MAX,
        ];
        assert_eq!(
            levels("lstf_levels queues 4", &slacks),
            [0, 0, 0, 0, 1, 1, 2, 3, 3, 3]
        );
        assert_eq!(
            levels("lstf_levels queues 4 map exponential", &slacks),
            [0, 0, 0, 0, 1, 1, 2, 2, 3, 3]
        );
        assert_eq!(
            levels(
                "lstf_levels queues 64 step 1ns map exponential",
                &[i64::MAX, 1000, 999]
            ),
            [54, 1, 0]
        );
    }

    /// Slots of 1 ms, four queues: at time 2 they stand for slots 2, 3, 4 and 5.
    #[test]
    fn a_calendar_worked_by_hand() {
        let mut calendar = build("lstf_levels queues 4 step 1ms map rotating");
        put(&mut calendar, 2, 3);
        assert_eq!((calendar.base, calendar.first_queue()), (2, 2));
        assert_eq!(
            calendar.levels.head(1).map(|packet| packet.payload),
            Some(3),
            "slot 5 is queue 1"
        );
        put(&mut calendar, 2, 9);
        put(&mut calendar, 2, 0);
        put(&mut calendar, 2, -7);
        assert_eq!(
            calendar.dequeue(at(2)).map(|packet| packet.payload),
            Some(0),
            "overdue packets are behind those of the first slot"
        );
        put(&mut calendar, 4, 2);
        assert_eq!(
            calendar.base, 2,
            "queue 2 holds the packet that came overdue"
        );
        // Slot 6 is beyond the horizon, 2 + 4 slots, and shares the last queue.
        assert_eq!(take_all(&mut calendar, 4), [-7, 3, 9, 2]);
        put(&mut calendar, 100, 0);
        assert_eq!((calendar.base, calendar.first_queue()), (100, 0));
    }

    /// A packet with 5 ms of slack waits for 4 ms. Then one with 3 ms arrives, more than the 1 ms
    /// left.
    #[test]
    fn what_waits_moves_up_in_a_calendar_only() {
        let leaves_first = |text: &str| {
            let mut scheduler = build(text);
            put(&mut scheduler, 0, 5);
            put(&mut scheduler, 4, 3);
            scheduler.dequeue(at(4)).map(|packet| packet.payload)
        };
        assert_eq!(
            leaves_first("lstf_levels map rotating"),
            Some(5),
            "1 ms is left of 5"
        );
        assert_eq!(leaves_first("lstf_levels map uniform"), Some(3));
        assert_eq!(
            leaves_first("lstf_levels step 1ms map exponential"),
            Some(3)
        );
    }

    #[test]
    fn extremes_do_not_wrap() {
        for map in Map::ALL {
            for (queues, step) in [(1, 1000), (4096, 1000), (7, 1_000_000_000_000_000)] {
                let config = Config {
                    queues,
                    step: Duration::from_picos(step),
                    map,
                };
                let mut scheduler = config.build(Seed::new(0)).expect("legal");
                scheduler.set_link_rate(Rate::from_bits_per_second(1).expect("not zero"));
                for (now, slack) in [
                    (0, i64::MIN),
                    (0, i64::MAX),
                    (u64::MAX, i64::MAX),
                    (u64::MAX, i64::MIN),
                ] {
                    let packet = Packet {
                        slack: Slack::from_picos(slack),
                        ..Packet::new(FlowId(0), u32::MAX, ())
                    };
                    scheduler
                        .enqueue(Instant::from_picos(now), packet)
                        .expect("all packets are taken");
                }
                assert_eq!(
                    core::iter::from_fn(|| scheduler.dequeue(Instant::MAX)).count(),
                    4
                );
            }
        }
    }
}
