//! Stochastic Fair Blue: flows are hashed into bins, and a flow whose bins all overflow is limited.
//!
//! Each level has its own hash and its own bins. A bin counts the waiting packets of its flows. The
//! bin's probability rises while many packets wait and falls when none do. A packet is dropped (or
//! marked) with the least probability among its bins, so a flow pays for others only if it shares
//! every bin with them. A flow whose probability reaches one is unresponsive, and all such flows
//! together get `penalty_rate` packets a second. All hashes change periodically (`rehash`), so that
//! unlucky collisions end.
//!
//! Source: W. Feng, D. Kandlur, D. Saha, K. Shin, "Stochastic Fair Blue: A Queue Management
//! Algorithm for Enforcing Fairness", INFOCOM 2001. Parameters as in tc-sfb(8).
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
//! | responsive flow, among M unresponsive ones | shares all bins with them with probability (1 - (1 - 1/N)^M)^L over all seeds | `innocents_are_caught_as_often_as_the_formula_says` |
//! | unresponsive flow | is limited; the others lose next to nothing | `a_misbehaving_flow_is_limited_and_others_are_not` |
//! | flow with probability one | `penalty_burst` packets, and `penalty_rate` a second | `a_penalty_is_a_rate` |
//! | change of hashes | a flow limited in the `db` before the change stays limited | `a_warmed_filter_holds_down_from_the_start` |
//! | counts | bins of a level add up to the waiting packets, also across changes of hashes and parameters | `counts_survive_whatever_happens` |
//! | ECN | capable packets are marked; of a probability beyond a half, twice the excess is dropped | `capable_packets_are_marked_not_dropped` |
//!
//! Cost: O(1) a packet: `levels` bins, twice as many while the second filter warms up. A change of
//! hashes counts all waiting packets once. Memory: 32 bytes for each bin of a level, allocated at
//! the start.
//!
//! Differences from the paper, all as in tc: a packet is dropped because its bins are long only if
//! each bin has `max` packets, not if any has (`any_bin`). A bin's probability rises from `target`
//! on. All unresponsive flows share the penalty rate. With `penalty_rate 0` these flows get nothing
//! while their probability is one, as in the paper without its separate queue. Beyond tc: more than
//! 8 levels and numbers of bins other than 16.

use alloc::format;
use alloc::vec::Vec;

use crate::author::{
    Backlog, Billionths, ByCopy, ConfigError, Configured, Control, Discipline, DropReason,
    Duration, FlowId, Footprint, Handle, Instant, Linux, LinuxFlows, LinuxLimit, Packet, Parameter,
    Queues, Refused, Scheduler, Seed,
};
use crate::config::DAY;
use crate::mechanisms::hash::FlowHash;
use crate::mechanisms::random::{Probability, Random};
use crate::mechanisms::signalling::SignallingQueue;

/// Parameters of SFB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Levels, each with a hash of its own: 1 to 16.
    pub levels: u32,
    /// Bins of a level: 1 to 65536.
    pub bins: u32,
    /// Queue length of a bin, in packets, from which the bin's probability rises: up to 2^20. 0:
    /// four fifths of `max`.
    pub target: u32,
    /// Hard limit of a bin, in packets: up to 2^21. 0: five quarters of `target`, or 25 if `target`
    /// is 0 too.
    pub max: u32,
    /// Increase of a bin's probability when a packet finds the bin at `target`: 0 to 1.
    pub increment: Billionths,
    /// Decrease of the probability when a packet finds the bin empty: 0 to 1.
    pub decrement: Billionths,
    /// Time between two changes of the hashes, up to a day. Zero: never.
    pub rehash: Duration,
    /// Time before a change of hashes during which the next bins are warmed up: up to a day. Zero:
    /// no warm-up. `rehash` or longer: always.
    pub db: Duration,
    /// Packets a second for all unresponsive flows together: up to 10^6.
    pub penalty_rate: u32,
    /// Burst of unresponsive flows, in packets: up to 10^6.
    pub penalty_burst: u32,
    /// Whether a packet is dropped if any of its bins has `max` packets, as the MQFQ paper says.
    /// Otherwise it is dropped only if all have.
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

impl Discipline for Config {
    const NAME: &'static str = "sfb";
    const ABOUT: &'static str = "stochastic fair Blue: flows hashed into bins on several levels; unresponsive flows are rate-limited";
    const SOURCE: &'static str = "Feng, Kandlur, Saha, Shin, Stochastic Fair Blue: A Queue Management Algorithm for Enforcing Fairness, INFOCOM 2001; tc-sfb(8)";
    const LINUX: Linux = Linux::Qdisc {
        name: "sfb",
        flows: LinuxFlows::Hashed,
        limit: LinuxLimit::Packets,
    };
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::count(
            "levels",
            1..=MAX_LEVELS as u64,
            "number of levels, each with a separate hash",
            |config| &mut config.levels,
        ),
        Parameter::count("bins", 1..=1 << 16, "number of bins on a level", |config| {
            &mut config.bins
        }),
        Parameter::count(
            "target",
            0..=1 << 20,
            "packets in a bin above which the bin's probability rises; 0: four fifths of max, or 20",
            |config| &mut config.target,
        ),
        Parameter::count(
            "max",
            0..=1 << 21,
            "largest number of packets in a flow's bins; 0: five quarters of target, or 25",
            |config| &mut config.max,
        ),
        Parameter::number(
            "increment",
            0..=Billionths::ONE.0,
            "rise of a bin's probability when a packet finds the bin at target",
            |config| &mut config.increment,
        ),
        Parameter::number(
            "decrement",
            0..=Billionths::ONE.0,
            "fall of a bin's probability when a packet finds the bin empty",
            |config| &mut config.decrement,
        ),
        Parameter::milliseconds(
            "rehash",
            0..=DAY,
            "time between two changes of the hashes; 0: never",
            |config| &mut config.rehash,
        ),
        Parameter::milliseconds(
            "db",
            0..=DAY,
            "warm-up of the next hashes' bins before a change; 0: none",
            |config| &mut config.db,
        ),
        Parameter::count(
            "penalty_rate",
            0..=1_000_000,
            "packets a second for all unresponsive flows together",
            |config| &mut config.penalty_rate,
        ),
        Parameter::count(
            "penalty_burst",
            0..=1_000_000,
            "burst in packets for all unresponsive flows together",
            |config| &mut config.penalty_burst,
        ),
        Parameter::switch(
            "any_bin",
            "drop a packet if any of its bins has max packets, not only if all bins have",
            |config| &mut config.any_bin,
        ),
    ];
    const LIVE: &'static [&'static str] = &[
        "target",
        "max",
        "increment",
        "decrement",
        "rehash",
        "db",
        "penalty_rate",
        "penalty_burst",
        "any_bin",
    ];
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::Early];
    const QUEUES: Queues = Queues::One;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Sfb<T>;
    /// By copy. A mark is set on arrival and reported on departure, and the flow leaves its bins
    /// then.
    type ByHandle = ByCopy<Sfb<Handle>>;

    fn reads_seed(&self) -> bool {
        true
    }

    fn configuration<T: Send>(scheduler: &mut Sfb<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    fn check(&self) -> Result<(), ConfigError> {
        Self::PARAMETERS
            .iter()
            .try_for_each(|parameter| parameter.check(Self::NAME, self))?;
        let (target, max) = self.bin_sizes();
        if target <= max {
            return Ok(());
        }
        Err(ConfigError::beside(
            Self::NAME,
            "target",
            target,
            format!("no more than max, which is {max}"),
        ))
    }
}

impl Config {
    /// `target` and `max`. A value of zero is derived from the other.
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
    /// Index of the deciding filter.
    active: usize,
    /// Whether the other filter counts too, and learns of unresponsive flows.
    is_warming: bool,
    /// Number of draws of hashes.
    generation: u64,
    rehashed_at: Instant,
    /// Credit of unresponsive flows, in 10^-12 packets.
    credit: u64,
    credited_at: Instant,
    seed: Seed,
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
    /// Waiting packets of all flows in the bin.
    packets: u32,
    probability: Probability,
}

/// 16 bits of a hash for each level.
const LEVELS_PER_HASH: usize = 4;
/// One packet of credit.
const PACKET: u64 = 1_000_000_000_000;
/// Above this probability some capable packets are dropped, too, because at such a mark rate somebody
/// ignores the marks.
const MOST_MARKED: Billionths = Billionths(500_000_000);

/// Visits the flow's bin on each level, by index among the bins of all levels. The loops are plain
/// because iterator adapters took a third more instructions.
#[inline]
fn for_each_bin(hashes: &[FlowHash], config: &Config, flow: FlowId, mut visit: impl FnMut(usize)) {
    let levels = config.levels as usize;
    let per_level = config.bins as usize;
    for (group, hash) in hashes
        .iter()
        .enumerate()
        .take(levels.div_ceil(LEVELS_PER_HASH))
    {
        let mut word = hash.of(flow);
        let first = group * LEVELS_PER_HASH;
        for level in first..levels.min(first + LEVELS_PER_HASH) {
            visit(level * per_level + (((word & 0xffff) as usize * per_level) >> 16));
            word >>= 16;
        }
    }
}

impl Filter {
    fn new(config: &Config, seed: Seed, generation: u64) -> Self {
        let bins = alloc::vec![Bin::default(); config.levels as usize * config.bins as usize];
        Self {
            hashes: Self::hashes(seed, generation),
            bins,
        }
    }

    fn hashes(seed: Seed, generation: u64) -> [FlowHash; MAX_LEVELS / LEVELS_PER_HASH] {
        [0, 1, 2, 3].map(|number| FlowHash::new(seed, 4 * generation + number))
    }

    fn for_each_bin(&mut self, config: &Config, flow: FlowId, mut visit: impl FnMut(&mut Bin)) {
        let bins = self.bins.as_mut_slice();
        for_each_bin(&self.hashes, config, flow, |bin| visit(&mut bins[bin]));
    }

    /// Blue, for each of the flow's bins. Returns the least number of packets in a bin (with
    /// `any_bin` the most) and the least probability.
    fn observe(&mut self, config: &Config, flow: FlowId) -> (u32, Probability) {
        let (target, _) = config.bin_sizes();
        let increment = config.increment.into();
        let decrement = config.decrement.into();
        let mut packets = if config.any_bin { 0 } else { u32::MAX };
        let mut probability = Probability::ALWAYS;
        self.for_each_bin(config, flow, |bin| {
            if bin.packets == 0 {
                // qlen == 0: p_m -= delta.
                bin.probability = bin.probability.minus(decrement);
            } else if bin.packets >= target {
                // qlen > bin_size in the paper, from `target` on here: p_m += delta.
                bin.probability = bin.probability.plus(increment);
            }
            packets = if config.any_bin {
                packets.max(bin.packets)
            } else {
                packets.min(bin.packets)
            };
            // p_min = min(p_0, .., p_(L-1)).
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
            assert_eq!(
                level.iter().map(|bin| u64::from(bin.packets)).sum::<u64>(),
                waiting,
                "bins of a level add up to what waits"
            );
            assert!(
                level
                    .iter()
                    .all(|bin| bin.probability <= Probability::ALWAYS),
                "probabilities"
            );
        }
    }
}

impl<T> Configured<Config> for Sfb<T> {
    fn configured(config: Config, seed: Seed) -> Result<Self, ConfigError> {
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
}

impl<T> Sfb<T> {
    fn enqueue_packet(&mut self, now: Instant, packet: Packet<T>) {
        self.change_hashes_if_due(now);
        let (packets, probability) = self.filters[self.active].observe(&self.config, packet.flow);
        if packets >= self.config.bin_sizes().1 {
            return self.queue.drop_early(packet);
        }
        // p_min == 1: ratelimit(). Otherwise mark or drop with probability p_min.
        let kept = if probability == Probability::ALWAYS {
            self.punish(now, packet)
        } else {
            self.judge(probability, packet)
        };
        if let Some(packet) = kept {
            self.counting()
                .for_each(|(config, filter)| filter.count(config, packet.flow));
            self.queue.push(packet);
        }
    }

    /// Signals with this probability: by a mark, if the packet is capable. Beyond a half, twice the
    /// excess is dropped all the same, as in Linux.
    fn judge(&mut self, probability: Probability, packet: Packet<T>) -> Option<Packet<T>> {
        let drawn = self.random.draw();
        if drawn >= probability {
            return Some(packet);
        }
        let beyond = probability.minus(MOST_MARKED.into());
        let marks = drawn >= beyond.plus(beyond);
        self.queue.signal(packet, marks)
    }

    /// A packet of an unresponsive flow: admitted if there is credit.
    fn punish(&mut self, now: Instant, packet: Packet<T>) -> Option<Packet<T>> {
        if self.is_warming {
            self.filters[1 - self.active].observe(&self.config, packet.flow);
        }
        let earned = now
            .since(self.credited_at)
            .as_picos()
            .saturating_mul(self.config.penalty_rate.into());
        self.credited_at = now;
        self.credit = self
            .credit
            .saturating_add(earned)
            .min(PACKET * u64::from(self.config.penalty_burst));
        let Some(rest) = self.credit.checked_sub(PACKET) else {
            self.queue.drop_early(packet);
            return None;
        };
        self.credit = rest;
        Some(packet)
    }

    /// The filters that count waiting packets.
    fn counting(&mut self) -> impl Iterator<Item = (&Config, &mut Filter)> {
        let active = self.active;
        let is_warming = self.is_warming;
        let config = &self.config;
        let counts = move |number: usize| number == active || is_warming;
        self.filters
            .iter_mut()
            .enumerate()
            .filter(move |(number, _)| counts(*number))
            .map(move |(_, filter)| (config, filter))
    }

    /// Starts the other filter's warm-up, `db` before the change of hashes. At the change, makes
    /// that filter the deciding one.
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

    /// Gives the other filter fresh hashes, and counts all waiting packets into its bins.
    fn start_warming(&mut self) {
        self.generation += 1;
        self.is_warming = true;
        let filter = &mut self.filters[1 - self.active];
        let config = &self.config;
        filter.hashes = Filter::hashes(self.seed, self.generation);
        filter.bins.fill(Bin::default());
        self.queue
            .for_each(|packet| filter.count(config, packet.flow));
    }

    fn left(&mut self, packet: Option<Packet<T>>) -> Option<Packet<T>> {
        if let Some(packet) = &packet {
            self.counting()
                .for_each(|(config, filter)| filter.uncount(config, packet.flow));
        }
        packet
    }
}

impl<T> Scheduler<T> for Sfb<T> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        self.enqueue_packet(now, packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<T>> {
        let packet = self.queue.pop();
        self.left(packet)
    }

    /// Drop tail: the newest packet.
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
}

impl<T> Control for Sfb<T> {
    fn queues_of(&self, flow: FlowId) -> Vec<usize> {
        let mut bins = Vec::new();
        for_each_bin(
            &self.filters[self.active].hashes,
            &self.config,
            flow,
            |bin| bins.push(bin),
        );
        bins
    }

    /// The bins of both filters.
    fn footprint(&self) -> Footprint {
        let bins: usize = self.filters.iter().map(|filter| filter.bins.len()).sum();
        Footprint {
            fixed_bytes: size_of::<Self>() + bins * size_of::<Bin>(),
            bytes_per_flow: 0,
        }
    }

    /// 1. In each counting filter, the bins of each level add up to the number of waiting packets.
    /// 2. Probabilities are between 0 and 1.
    /// 3. All waiting packets are in one queue.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.filters[self.active].check(&self.config, self.queue.backlog().packets);
        if self.is_warming {
            self.filters[1 - self.active].check(&self.config, self.queue.backlog().packets);
        }
        self.queue.check();
    }
}
