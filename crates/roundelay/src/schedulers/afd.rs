//! Approximate fair dropping (AFD): one queue, in which each flow loses its excess over a fair
//! rate.
//!
//! AFD estimates the flows' rates from a sample of recent arrivals, the shadow buffer, because a
//! flow's part in the sample is its part in the load. A flow with m_i bytes in the sample, where
//! m_fair are fair, loses the part 1 - m_fair / m_i, its excess. The fair amount follows from the
//! queue, which is kept around a target length. Slow flows, the majority, lose nothing and need no
//! state.
//!
//! Source: R. Pan, L. Breslau, B. Prabhakar, S. Shenker, "Approximate Fairness through Differential
//! Dropping", ACM SIGCOMM Computer Communication Review 33(2), 2003.
//!
//! | paper | here |
//! |---|---|
//! | b, shadow buffer | `shadow`, `Afd::sample` |
//! | s, one arrival in s is sampled | `Config::sample` |
//! | m_i | `FlowCounts::bytes` |
//! | m_fair | `fair`, in billionths of a byte |
//! | q_target, alpha, beta | `target`, `alpha`, `beta` |
//!
//! | guarantee | value | test in `theorems/afd.rs` |
//! |---|---|---|
//! | unresponsive flows | get about equal shares, slower ones their full demand | `unequal_senders_get_max_min_fair_rates` |
//! | flow below the fair rate | loses next to nothing | `slow_flows_are_left_alone` |
//! | drops of a flow with m_i of the sample | 1 - m_fair / m_i | `a_flow_loses_what_is_beyond_the_fair_amount`, at the end |
//! | queue | around the target, under a load that lasts | `the_queue_stays_around_its_target` |
//! | memory | constant, however many flows | `memory_does_not_grow_with_flows` |
//!
//! Number format: m_fair is counted in billionths of a byte, so both gains are exact.
//!
//! Cost: O(1) a packet. Memory: 8 bytes for each packet in the sample and 32 to 64 for the table
//! beside it, allocated at the start.
//!
//! Differences from the paper: all amounts are bytes. Arrivals and departures update m_fair, once
//! for each elapsed interval. A timer would give the same, since the queue does not change in
//! between. m_fair is limited to the whole sample, so that it comes down in time after a quiet
//! spell. Where the paper's figures were not at hand (`shadow`, `sample`, `target`), the defaults
//! are ours.

use alloc::vec::Vec;

use crate::author::{
    Backlog, Billionths, ByCopy, ConfigError, Configured, Control, Discipline, DropReason,
    Duration, FlowId, Footprint, Handle, Instant, Linux, Packet, Parameter, Queues, Refused,
    Scheduler, Seed,
};
use crate::config::{HOUR, MICROSECOND};
use crate::mechanisms::flow_counts::FlowCounts;
use crate::mechanisms::hash::FlowHash;
use crate::mechanisms::random::{Probability, Random};
use crate::mechanisms::signalling::SignallingQueue;

/// Parameters of AFD.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Target queue length under load, in bytes: 1 to 2^32.
    pub target: u64,
    /// Packets of the sample: 1 to 65536.
    pub shadow: u32,
    /// One arrival in this many is sampled: 1 to 2^20.
    pub sample: u32,
    /// Time between two updates of the fair amount: 1 us to 1 hour.
    pub interval: Duration,
    /// Gain of the queue length at the last update: 0 to 1000.
    pub alpha: Billionths,
    /// Gain of the current queue length: 0 to 1000. If it is no more than `alpha`, the queue strays
    /// from the target.
    pub beta: Billionths,
}

impl Default for Config {
    fn default() -> Self {
        let alpha = Billionths(1_700_000_000);
        let beta = Billionths(1_800_000_000);
        Self {
            target: 50_000,
            shadow: 500,
            sample: 5,
            interval: Duration::from_micros(6_250),
            alpha,
            beta,
        }
    }
}

const MAX_GAIN: u64 = 1000 * Billionths::ONE.0;

impl Discipline for Config {
    const NAME: &'static str = "afd";
    const ABOUT: &'static str = "approximate fair dropping: one queue; drops from flows in proportion to their excess over a fair rate";
    const SOURCE: &'static str = "Pan, Breslau, Prabhakar, Shenker, Approximate Fairness through Differential Dropping, ACM SIGCOMM CCR 33(2), 2003";
    const LINUX: Linux = Linux::Absent;
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::size64(
            "target",
            1..=1 << 32,
            "target length of the queue under load, in bytes",
            |config| &mut config.target,
        ),
        Parameter::count(
            "shadow",
            1..=1 << 16,
            "packets in the sample that estimates the flows' rates",
            |config| &mut config.shadow,
        ),
        Parameter::count(
            "sample",
            1..=1 << 20,
            "sampling interval: one of this many arrivals is sampled",
            |config| &mut config.sample,
        ),
        Parameter::time(
            "interval",
            MICROSECOND..=HOUR,
            "time between two updates of the fair share",
            |config| &mut config.interval,
        ),
        Parameter::number(
            "alpha",
            0..=MAX_GAIN,
            "gain of the previous queue length",
            |config| &mut config.alpha,
        ),
        Parameter::number(
            "beta",
            0..=MAX_GAIN,
            "gain of the present queue length; above alpha, else the queue drifts from the target",
            |config| &mut config.beta,
        ),
    ];
    const LIVE: &'static [&'static str] = &["target", "sample", "interval", "alpha", "beta"];
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::Early];
    const QUEUES: Queues = Queues::One;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Afd<T>;
    /// By copy. A mark is set on arrival and reported on departure.
    type ByHandle = ByCopy<Afd<Handle>>;

    fn reads_seed(&self) -> bool {
        true
    }

    fn configuration<T: Send>(scheduler: &mut Afd<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Afd<T> {
    queue: SignallingQueue<T>,
    /// The shadow buffer: flows and lengths of recent arrivals, in no order.
    sample: Vec<(FlowId, u32)>,
    sample_bytes: u64,
    counts: FlowCounts,
    /// Bytes that a flow may have in the sample without drops, in billionths.
    fair: i128,
    /// Waiting bytes at the last update.
    waited: u64,
    updated_at: Instant,
    random: Random,
    config: Config,
}

impl<T> Configured<Config> for Afd<T> {
    fn configured(config: Config, seed: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            queue: SignallingQueue::default(),
            sample: Vec::with_capacity(config.shadow as usize),
            sample_bytes: 0,
            counts: FlowCounts::new(config.shadow, FlowHash::new(seed, 0)),
            fair: i128::MAX,
            waited: 0,
            updated_at: Instant::ZERO,
            random: Random::new(seed),
            config,
        })
    }
}

impl<T> Afd<T> {
    fn enqueue_packet(&mut self, now: Instant, packet: Packet<T>) {
        self.update(now);
        // One arrival in s enters the shadow buffer.
        if self.random.one_in(self.config.sample) {
            self.take_into_sample(packet.flow, packet.len);
        }
        // The flow's drop probability, from m_i and m_fair.
        let probability = self.drop_probability(packet.flow);
        if self.random.chance(probability) {
            self.queue.drop_early(packet);
        } else {
            self.queue.push(packet);
        }
    }

    /// 1 - m_fair / m_i, zero at least.
    fn drop_probability(&self, flow: FlowId) -> Probability {
        // m_i, which has this packet too if it was sampled.
        let of_flow = i128::from(self.counts.bytes(flow)) * i128::from(Billionths::ONE.0);
        let beyond = of_flow.saturating_sub(self.fair);
        if beyond <= 0 {
            Probability::NEVER
        } else {
            Probability::ratio(beyond as u128, of_flow as u128)
        }
    }

    /// An arrival replaces a random entry of the full sample.
    fn take_into_sample(&mut self, flow: FlowId, len: u32) {
        if self.sample.len() == self.config.shadow as usize {
            let (old, old_len) = self
                .sample
                .swap_remove(self.random.below(self.config.shadow) as usize);
            self.counts.subtract(old, old_len);
            self.sample_bytes -= u64::from(old_len);
        }
        self.sample.push((flow, len));
        self.counts.add(flow, len);
        self.sample_bytes += u64::from(len);
    }

    /// m_fair += alpha (q_old - q_target) - beta (q - q_target), once for each elapsed interval.
    fn update(&mut self, now: Instant) {
        let Config {
            target,
            interval,
            alpha,
            beta,
            ..
        } = self.config;
        let intervals = now.since(self.updated_at).as_picos() / interval.as_picos();
        if intervals == 0 {
            return;
        }
        self.updated_at += Duration::from_picos(intervals * interval.as_picos());
        let waiting = self.queue.backlog().bytes;
        let beyond = |bytes: u64| i128::from(bytes) - i128::from(target);
        let alpha = i128::from(alpha.0);
        let beta = i128::from(beta.0);
        // q_old is the queue at the last update, q the present one.
        let first = alpha * beyond(self.waited) - beta * beyond(waiting);
        // In the other intervals q_old = q.
        let others = (alpha - beta)
            .saturating_mul(beyond(waiting))
            .saturating_mul((intervals - 1).into());
        self.fair = self
            .fair
            .saturating_add(first)
            .saturating_add(others)
            .clamp(0, self.most_fair());
        self.waited = waiting;
    }

    /// Upper limit of m_fair, at which no flow loses packets: the bytes of the sample, scaled up to
    /// a full one.
    fn most_fair(&self) -> i128 {
        let packets = self.sample.len() as u64;
        if packets == 0 {
            return i128::MAX;
        }
        let full =
            u128::from(self.sample_bytes) * u128::from(self.config.shadow) / u128::from(packets);
        full as i128 * i128::from(Billionths::ONE.0)
    }
}

impl<T> Scheduler<T> for Afd<T> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        self.enqueue_packet(now, packet);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        self.update(now);
        self.queue.pop()
    }

    /// Drop tail: the newest packet.
    fn evict(&mut self) -> Option<Packet<T>> {
        self.queue.pop_tail()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn take_dropped(&mut self) -> Option<(Packet<T>, DropReason)> {
        self.queue.take_dropped()
    }
}

impl<T> Control for Afd<T> {
    /// The sample and its table.
    fn footprint(&self) -> Footprint {
        let sample = self.config.shadow as usize * size_of::<(FlowId, u32)>();
        Footprint {
            fixed_bytes: size_of::<Self>() + sample + FlowCounts::bytes_for(self.config.shadow),
            bytes_per_flow: 0,
        }
    }

    /// 1. Flows' counts are those of the sample.
    /// 2. The fair amount is not negative.
    /// 3. All waiting packets are in one queue.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.counts.check(&self.sample);
        assert!(
            self.sample.len() <= self.config.shadow as usize,
            "invariant 1: the sample has its size"
        );
        assert!(self.fair >= 0, "invariant 2: a fair amount");
        self.queue.check();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BILLION: i128 = 1_000_000_000;

    fn afd(config: Config) -> Afd<()> {
        config.build(Seed::new(1)).expect("legal parameters")
    }

    #[test]
    fn a_flow_loses_what_is_beyond_the_fair_amount() {
        const TRIALS: u32 = 20_000;
        let mut afd = afd(Config {
            sample: 1 << 20,
            interval: Duration::from_secs(3600),
            ..Config::default()
        });
        for (flow, packets) in [(0, 5), (1, 10), (2, 20), (3, 40)] {
            (0..packets).for_each(|_| afd.take_into_sample(FlowId(flow), 1000));
        }
        afd.fair = 10_000 * BILLION;
        for (flow, expected) in [(0, 0.0), (1, 0.0), (2, 0.5), (3, 0.75), (4, 0.0)] {
            for _ in 0..TRIALS {
                assert!(
                    afd.enqueue(Instant::ZERO, Packet::new(FlowId(flow), 1000, ()))
                        .is_ok()
                );
                afd.dequeue(Instant::ZERO);
            }
            let dropped = core::iter::from_fn(|| afd.take_dropped()).count() as f64;
            let trials = f64::from(TRIALS);
            // A packet in a million is sampled on the way.
            assert!(
                (dropped - trials * expected).abs()
                    <= 5.0 * (trials * expected * (1.0 - expected)).sqrt() + 20.0,
                "flow {flow}: {dropped}"
            );
        }
    }

    #[test]
    fn updates_that_were_missed_are_made_up_for() {
        let config = Config {
            target: 10_000,
            ..Config::default()
        };
        let mut one = afd(config);
        let mut other = afd(config);
        for afd in [&mut one, &mut other] {
            (0..500).for_each(|_| afd.take_into_sample(FlowId(0), 1000));
            afd.fair = 100_000 * BILLION;
            afd.waited = 3_000;
            (0..9).for_each(|_| afd.queue.push(Packet::new(FlowId(0), 1000, ())));
        }
        let at = |intervals: u64| Instant::from_nanos(6_250_000 * intervals + 77);
        (1..=40).for_each(|interval| one.update(at(interval)));
        other.update(at(40));
        assert_eq!(
            (one.fair, one.waited, one.updated_at),
            (other.fair, other.waited, other.updated_at)
        );
        // 1.7 (3000 - 10000) - 1.8 (9000 - 10000), then 39 times 0.1 (10000 - 9000).
        assert_eq!(one.fair, (100_000 - 10_100 + 3_900) * BILLION);
    }

    #[test]
    fn the_fair_amount_is_neither_negative_nor_more_than_the_sample() {
        let mut afd = afd(Config {
            shadow: 10,
            ..Config::default()
        });
        assert_eq!(afd.drop_probability(FlowId(0)), Probability::NEVER);
        (0..5).for_each(|_| afd.take_into_sample(FlowId(0), 1000));
        afd.update(Instant::MAX);
        assert_eq!(afd.fair, 10_000 * BILLION, "as if the sample were full");
        (0..1000).for_each(|_| afd.queue.push(Packet::new(FlowId(0), 1 << 20, ())));
        afd.updated_at = Instant::ZERO;
        afd.update(Instant::MAX);
        assert_eq!(
            (afd.fair, afd.drop_probability(FlowId(0))),
            (0, Probability::ALWAYS)
        );
    }
}
