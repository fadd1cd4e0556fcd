//! Stochastic Fair Blue: flows are hashed into bins, several times over; a flow whose every bin overflows does not respond, and is held down.
//!
//! Each level has its own hash and its own bins. A bin counts the packets that wait of the flows in it, and has a probability that rises
//! while many wait and falls when none does. A packet is dropped (or marked) with the least probability of its bins, so that a flow pays
//! for others only if it shares every bin with them. A flow whose probability reaches one has answered to nothing: it gets `penalty_rate`
//! packets a second and no more. From time to time all hashes change (`rehash`), lest a flow stays in bad company.
//!
//! Source: W. Feng, D. Kandlur, D. Saha, K. Shin, "Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness", INFOCOM 2001;
//! parameters as in tc-sfb(8).
//!
//! | paper, tc | here |
//! |---|---|
//! | L levels, N bins | `levels`, `bins` |
//! | p_m, qlen | `Bin::probability`, `Bin::packets` |
//! | delta, d1 and d2 | `increment`, `decrement` |
//! | bin_size; hard limit of a bin | `target`; `max` |
//! | second set of bins, warmed up | `filters`, `is_warming`, for the last `db` before a change of hashes |
//!
//! | guarantee | value | test in `theorems/sfb.rs` |
//! |---|---|---|
//! | flow that responds, among M that do not | shares all bins with them with probability (1 - (1 - 1/N)^M)^L over all seeds | `innocents_are_caught_as_often_as_the_formula_says` |
//! | flow that does not respond | is held down; the others lose next to nothing | `a_misbehaving_flow_is_limited_and_others_are_not` |
//! | flow with probability one | `penalty_burst` packets, and `penalty_rate` a second | `a_penalty_is_a_rate` |
//! | change of hashes | a flow that was held down in the `db` before it stays so | `a_warmed_filter_holds_down_from_the_start` |
//! | counts | bins of a level add up to what waits, also across changes of hashes and parameters | `counts_survive_whatever_happens` |
//! | ECN | capable packets are marked, up to a probability of a half | `capable_packets_are_marked_not_dropped` |
//!
//! Cost: O(1) a packet: `levels` bins, twice while the second filter warms up; a change of hashes counts all packets that wait, once. Memory:
//! 32 bytes for each bin of a level, taken at the start.
//!
//! Differences from the paper, all as in tc: a packet is dropped for its bins' length only if each has `max` packets, not if any has (`any_bin`); the
//! probability of a bin rises from `target` on. A rate of penalty is for all such flows together; with `penalty_rate 0` they get nothing while
//! their probability is one, as in the paper without its separate queue. From tc: more than 8 levels and other numbers of bins than 16.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::vec::Vec;

use crate::buffer::Limit;
use crate::config::{ConfigError, Kind, Parameter, saturated};
use crate::mechanisms::hash::FlowHash;
use crate::mechanisms::random::{Probability, Random};
use crate::mechanisms::signalling::SignallingQueue;
use crate::packet::{FlowId, Packet};
use crate::pool::Backlog;
use crate::scheduler::{DropReason, Footprint, Scheduler, is_time_to_check};
use crate::schedulers::Discipline;
use crate::time::{Duration, Instant};
use crate::units::Billionths;

/// Parameters of SFB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Levels, each with a hash of its own: 1 to 16.
    pub levels: u32,
    /// Bins of a level: 1 to 65536.
    pub bins: u32,
    /// Packets in a bin from which its probability rises: up to 2^20. 0: four fifths of `max`.
    pub target: u32,
    /// Packets that a flow's bins hold at most: up to 2^21. 0: five quarters of `target`, or 25 if that is 0 too.
    pub max: u32,
    /// By how much a bin's probability rises when a packet finds it at `target`: 0 to 1.
    pub increment: Billionths,
    /// By how much it falls when a packet finds it empty: 0 to 1.
    pub decrement: Billionths,
    /// Time between two changes of the hashes, up to a day; zero for never.
    pub rehash: Duration,
    /// Time before a change from which the next hashes' bins are warmed up: up to a day. Zero: they are not; `rehash` or longer: all the time.
    pub db: Duration,
    /// Packets a second of flows that do not respond, all together: up to 10^6.
    pub penalty_rate: u32,
    /// How many of them may come at once: up to 10^6.
    pub penalty_burst: u32,
    /// Whether a packet is dropped if one of its bins has `max` packets, as the MQFQ paper tells it; if not, only where all of them have.
    pub any_bin: bool,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            levels: 8,
            bins: 16,
            target: 0,
            max: 0,
            increment: Billionths(500_000),
            decrement: Billionths(50_000),
            rehash: Duration::from_secs(600),
            db: Duration::from_secs(60),
            penalty_rate: 10,
            penalty_burst: 20,
            any_bin: false,
        }
    }
}

const MAX_LEVELS: usize = 16;
const DEFAULT_MAX: u32 = 25;
const DAY: u64 = Duration::from_secs(86_400).as_picos();

impl Discipline for Config {
    const NAME: &'static str = "sfb";
    const ABOUT: &'static str = "stochastic fair Blue: flows hashed into bins on several levels, those that respond to nothing held down";
    const SOURCE: &'static str =
        "Feng, Kandlur, Saha, Shin, Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness, INFOCOM 2001; tc-sfb(8)";
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter {
            name: "levels",
            kind: Kind::Count,
            min: 1,
            max: MAX_LEVELS as u64,
            about: "levels, each with a hash of its own",
            read: |config| config.levels.into(),
            write: |config, value| config.levels = saturated(value),
        },
        Parameter {
            name: "bins",
            kind: Kind::Count,
            min: 1,
            max: 1 << 16,
            about: "bins of a level",
            read: |config| config.bins.into(),
            write: |config, value| config.bins = saturated(value),
        },
        Parameter {
            name: "target",
            kind: Kind::Count,
            min: 0,
            max: 1 << 20,
            about: "packets in a bin from which its probability rises; 0 for four fifths of max, or 20",
            read: |config| config.target.into(),
            write: |config, value| config.target = saturated(value),
        },
        Parameter {
            name: "max",
            kind: Kind::Count,
            min: 0,
            max: 1 << 21,
            about: "packets that a flow's bins hold at most; 0 for five quarters of target, or 25",
            read: |config| config.max.into(),
            write: |config, value| config.max = saturated(value),
        },
        Parameter {
            name: "increment",
            kind: Kind::Number,
            min: 0,
            max: Billionths::ONE.0,
            about: "by how much a bin's probability rises when a packet finds it at target",
            read: |config| config.increment.0,
            write: |config, value| config.increment = Billionths(value),
        },
        Parameter {
            name: "decrement",
            kind: Kind::Number,
            min: 0,
            max: Billionths::ONE.0,
            about: "by how much it falls when a packet finds the bin empty",
            read: |config| config.decrement.0,
            write: |config, value| config.decrement = Billionths(value),
        },
        Parameter {
            name: "rehash",
            kind: Kind::Milliseconds,
            min: 0,
            max: DAY,
            about: "time between two changes of the hashes; 0 for never",
            read: |config| config.rehash.as_picos(),
            write: |config, value| config.rehash = Duration::from_picos(value),
        },
        Parameter {
            name: "db",
            kind: Kind::Milliseconds,
            min: 0,
            max: DAY,
            about: "time before a change from which the next hashes' bins are warmed up; 0 for not at all",
            read: |config| config.db.as_picos(),
            write: |config, value| config.db = Duration::from_picos(value),
        },
        Parameter {
            name: "penalty_rate",
            kind: Kind::Count,
            min: 0,
            max: 1_000_000,
            about: "packets a second of flows that do not respond, all together",
            read: |config| config.penalty_rate.into(),
            write: |config, value| config.penalty_rate = saturated(value),
        },
        Parameter {
            name: "penalty_burst",
            kind: Kind::Count,
            min: 0,
            max: 1_000_000,
            about: "how many of them may come at once",
            read: |config| config.penalty_burst.into(),
            write: |config, value| config.penalty_burst = saturated(value),
        },
        Parameter {
            name: "any_bin",
            kind: Kind::Switch,
            min: 0,
            max: 1,
            about: "drop a packet if any of its bins has max packets, not only if all have",
            read: |config| config.any_bin.into(),
            write: |config, value| config.any_bin = value != 0,
        },
    ];
    const LIVE: &'static [&'static str] =
        &["target", "max", "increment", "decrement", "rehash", "db", "penalty_rate", "penalty_burst", "any_bin"];
    const WEIGHTED: bool = false;
    const DEFAULT_LIMIT: Limit = Limit::of_packets(1000);
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Sfb<T>;

    fn build<T: Send>(&self, seed: u64) -> Result<Sfb<T>, ConfigError> {
        Sfb::new(*self, seed)
    }

    fn configuration<T: Send>(scheduler: &mut Sfb<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        Self::PARAMETERS.iter().try_for_each(|parameter| parameter.check(Self::NAME, self))?;
        let (target, max) = self.bin_sizes();
        if target <= max {
            return Ok(());
        }
        let expected = format!("no more than max, which is {max}");
        Err(ConfigError::BadValue { discipline: Self::NAME, parameter: "target".to_owned(), expected })
    }
}

impl Config {
    /// `target` and `max`, or what follows from the other.
    pub const fn bin_sizes(&self) -> (u32, u32) {
        match (self.target, self.max) {
            (0, 0) => (DEFAULT_MAX * 4 / 5, DEFAULT_MAX),
            (0, 1) => (1, 1),
            (0, max) => (max / 5 * 4 + max % 5 * 4 / 5, max),
            (target, 0) => (target, target + target / 4),
            sizes => sizes,
        }
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Sfb<T> {
    queue: SignallingQueue<T>,
    filters: [Filter; 2],
    /// Which of the two decides.
    active: usize,
    /// Whether the other one counts, and learns of flows that do not respond.
    is_warming: bool,
    /// How often hashes have been drawn.
    generation: u64,
    rehashed_at: Instant,
    /// Packets that flows which do not respond may still send, in 10^-12.
    credit: u64,
    credited_at: Instant,
    seed: u64,
    random: Random,
    config: Config,
}

/// Bins of all levels under one set of hashes.
#[derive(Debug, Clone)]
struct Filter {
    hashes: [FlowHash; MAX_LEVELS / LEVELS_PER_HASH],
    /// Level by level.
    bins: Vec<Bin>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Bin {
    /// That wait, of all flows in it.
    packets: u32,
    probability: Probability,
}

/// 16 bits of a hash for each level.
const LEVELS_PER_HASH: usize = 4;
/// Of credit.
const PACKET: u64 = 1_000_000_000_000;
/// From here on even capable packets are dropped: so many marks mean that somebody does not read them.
const MOST_MARKED: Billionths = Billionths(500_000_000);

impl Filter {
    fn new(config: &Config, seed: u64, generation: u64) -> Self {
        let bins = alloc::vec![Bin::default(); config.levels as usize * config.bins as usize];
        Self { hashes: Self::hashes(seed, generation), bins }
    }

    fn hashes(seed: u64, generation: u64) -> [FlowHash; MAX_LEVELS / LEVELS_PER_HASH] {
        [0, 1, 2, 3].map(|number| FlowHash::new(seed, 4 * generation + number))
    }

    /// The flow's bin on each level, by its number among the bins of all levels.
    fn bins_of(&self, config: &Config, flow: FlowId) -> impl Iterator<Item = usize> + use<> {
        let (levels, per_level) = (config.levels as usize, config.bins as usize);
        let hashes = self.hashes;
        let groups = (0..levels).step_by(LEVELS_PER_HASH).zip(hashes);
        groups.flat_map(move |(first, hash)| {
            let word = hash.of(flow);
            let share = move |level: usize| ((word >> (16 * (level - first))) & 0xffff) as usize;
            (first..levels.min(first + LEVELS_PER_HASH)).map(move |level| level * per_level + ((share(level) * per_level) >> 16))
        })
    }

    fn for_each_bin(&mut self, config: &Config, flow: FlowId, mut visit: impl FnMut(&mut Bin)) {
        self.bins_of(config, flow).for_each(|bin| visit(&mut self.bins[bin]));
    }

    /// Blue, for each of the flow's bins: the least number of packets of them (with `any_bin` the most) and the least probability.
    fn observe(&mut self, config: &Config, flow: FlowId) -> (u32, Probability) {
        let (target, _) = config.bin_sizes();
        let (increment, decrement) = (config.increment.into(), config.decrement.into());
        let (mut packets, mut probability) = (if config.any_bin { 0 } else { u32::MAX }, Probability::ALWAYS);
        self.for_each_bin(config, flow, |bin| {
            if bin.packets == 0 {
                bin.probability = bin.probability.minus(decrement);
            } else if bin.packets >= target {
                bin.probability = bin.probability.plus(increment);
            }
            packets = if config.any_bin { packets.max(bin.packets) } else { packets.min(bin.packets) };
            probability = probability.min(bin.probability);
        });
        (packets, probability)
    }

    fn count(&mut self, config: &Config, flow: FlowId) {
        self.for_each_bin(config, flow, |bin| bin.packets += 1);
    }

    fn uncount(&mut self, config: &Config, flow: FlowId) {
        self.for_each_bin(config, flow, |bin| bin.packets -= 1);
    }

    fn check(&self, config: &Config, waiting: u64) {
        for level in self.bins.chunks(config.bins as usize) {
            assert_eq!(level.iter().map(|bin| u64::from(bin.packets)).sum::<u64>(), waiting, "bins of a level add up to what waits");
            assert!(level.iter().all(|bin| bin.probability <= Probability::ALWAYS), "probabilities");
        }
    }
}

impl<T> Sfb<T> {
    /// An empty scheduler that draws, and hashes flows, by `seed`.
    ///
    /// # Errors
    /// A parameter is out of its range, or `target` is beyond `max`.
    pub fn new(config: Config, seed: u64) -> Result<Self, ConfigError> {
        config.check()?;
        Ok(Self {
            queue: SignallingQueue::default(),
            filters: [0, 1].map(|generation| Filter::new(&config, seed, generation)),
            active: 0,
            is_warming: false,
            generation: 0,
            rehashed_at: Instant::ZERO,
            credit: PACKET * u64::from(config.penalty_burst),
            credited_at: Instant::ZERO,
            seed,
            random: Random::new(seed),
            config,
        })
    }

    fn enqueue_packet(&mut self, now: Instant, packet: Packet<T>) {
        self.change_hashes_if_due(now);
        let (packets, probability) = self.filters[self.active].observe(&self.config, packet.flow);
        if packets >= self.config.bin_sizes().1 {
            return self.queue.drop_early(packet);
        }
        let kept = if probability == Probability::ALWAYS {
            self.punish(now, packet)
        } else if self.random.chance(probability) {
            self.queue.signal(packet, probability <= MOST_MARKED.into())
        } else {
            Some(packet)
        };
        if let Some(packet) = kept {
            self.counting().for_each(|(config, filter)| filter.count(config, packet.flow));
            self.queue.push(packet);
        }
    }

    /// A packet of a flow that does not respond: let in if there is credit for it.
    fn punish(&mut self, now: Instant, packet: Packet<T>) -> Option<Packet<T>> {
        if self.is_warming {
            self.filters[1 - self.active].observe(&self.config, packet.flow);
        }
        let earned = now.since(self.credited_at).as_picos().saturating_mul(self.config.penalty_rate.into());
        self.credited_at = now;
        self.credit = self.credit.saturating_add(earned).min(PACKET * u64::from(self.config.penalty_burst));
        let Some(rest) = self.credit.checked_sub(PACKET) else {
            self.queue.drop_early(packet);
            return None;
        };
        self.credit = rest;
        Some(packet)
    }

    /// The filters that count what waits.
    fn counting(&mut self) -> impl Iterator<Item = (&Config, &mut Filter)> {
        let (active, is_warming, config) = (self.active, self.is_warming, &self.config);
        let counts = move |number: usize| number == active || is_warming;
        self.filters.iter_mut().enumerate().filter(move |(number, _)| counts(*number)).map(move |(_, filter)| (config, filter))
    }

    /// Lets the other filter start to warm up, `db` before it takes over, or take over.
    fn change_hashes_if_due(&mut self, now: Instant) {
        let Config { rehash, db, .. } = self.config;
        let age = now.since(self.rehashed_at);
        if rehash == Duration::ZERO {
            return;
        }
        if !self.is_warming && age >= rehash - db {
            self.start_warming();
        }
        if age >= rehash {
            self.active = 1 - self.active;
            self.is_warming = false;
            self.rehashed_at = now;
        }
    }

    /// Gives the other filter fresh hashes, and counts what waits into it.
    fn start_warming(&mut self) {
        self.generation += 1;
        self.is_warming = true;
        let (filter, config) = (&mut self.filters[1 - self.active], &self.config);
        filter.hashes = Filter::hashes(self.seed, self.generation);
        filter.bins.fill(Bin::default());
        self.queue.for_each(|packet| filter.count(config, packet.flow));
    }

    fn left(&mut self, packet: Option<Packet<T>>) -> Option<Packet<T>> {
        if let Some(packet) = &packet {
            self.counting().for_each(|(config, filter)| filter.uncount(config, packet.flow));
        }
        self.debug_check();
        packet
    }

    #[inline]
    fn debug_check(&self) {
        if is_time_to_check(self.filters[0].bins.len() / 16, self.queue.backlog()) {
            self.check_invariants();
        }
    }
}

impl<T> Scheduler<T> for Sfb<T> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        self.enqueue_packet(now, packet);
        self.debug_check();
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<T>> {
        let packet = self.queue.pop();
        self.left(packet)
    }

    /// The newest: drop tail.
    fn evict(&mut self) -> Option<Packet<T>> {
        let packet = self.queue.pop_tail();
        self.left(packet)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
        self.queue.take_dropped()
    }

    fn queues_of(&self, flow: FlowId) -> Vec<usize> {
        self.filters[self.active].bins_of(&self.config, flow).collect()
    }

    /// The bins of both filters.
    fn footprint(&self) -> Footprint {
        let bins: usize = self.filters.iter().map(|filter| filter.bins.len()).sum();
        Footprint { fixed_bytes: size_of::<Self>() + bins * size_of::<Bin>(), bytes_per_flow: 0 }
    }

    /// 1. In each filter that counts, the bins of each level add up to what waits.
    /// 2. Probabilities are between 0 and 1.
    /// 3. What waits is one queue.
    fn check_invariants(&self) {
        self.filters[self.active].check(&self.config, self.queue.backlog().packets);
        if self.is_warming {
            self.filters[1 - self.active].check(&self.config, self.queue.backlog().packets);
        }
        self.queue.check();
    }
}
