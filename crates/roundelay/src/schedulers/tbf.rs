//! Token bucket filter: a first-in-first-out queue that sends no faster than a rate, after a burst.
//!
//! A bucket of `burst` bytes fills at `rate`. A packet leaves when the bucket holds its length, and
//! takes that much out. So a queue that was idle may send a burst at once. Later it sends at the
//! rate, which means that it waits although the link is free. A second bucket of `mtu` bytes that
//! fills at `peakrate` spreads the burst. Packets longer than a bucket could never leave and are
//! refused.
//!
//! Source: tc-tbf(8) for rules and parameters. For the bucket as a schedule of times: the virtual
//! scheduling algorithm of ITU-T I.371, annex A (GCRA).
//!
//! | tc-tbf(8) | here |
//! |---|---|
//! | rate, burst (buffer, maxburst) | `Bucket` of [`Config::burst`], in time |
//! | peakrate, mtu (minburst) | second `Bucket`, of [`Config::mtu`] |
//! | tokens | `Bucket::size` less the time until `Bucket::full_at` |
//! | limit, latency | the buffer's limit, [`Config::latency_limit`] |
//!
//! | guarantee | value | test in `theorems/tbf.rs` |
//! |---|---|---|
//! | order | packets leave in order of arrival, over all flows | `no_interval_has_more_than_the_buckets` |
//! | output in any interval t | at most burst + rate t bytes, and mtu + peakrate t | `no_interval_has_more_than_the_buckets` |
//! | latency after GRC at the rate, all flows together, burst of two packets or more | 2 L / C on a link of rate C | `a_queue_is_as_good_as_a_link_of_its_rate` |
//! | long term | the rate, to the bit: no drift from rounding | `the_rate_is_kept_without_drift` |
//! | idle | until the time of `Scheduler::ready_at`, not longer | `packets_leave_at_the_times_of_the_buckets` |
//!
//! Latency: let GRC(p) be the end of p on a link of rate R, max(arrival, GRC(p - 1)) + l / R. A
//! packet starts when the link has become free, or at its arrival, or when the bucket has filled
//! since some packet j found it full: at s(j) + (l(j) + .. + l(p)) / R - burst / R, where GRC(p) is
//! at least GRC(j) + (l(j+1) + .. + l(p)) / R. By induction over the packets each starts at the
//! latest L / C after GRC, if the burst covers l(j) and what the link sends meanwhile, at most L. A
//! burst of 2 L does. The packet ends L / C later.
//!
//! The buckets' time is in picoseconds, and a packet's time is rounded up to one of these.
//!
//! Cost: O(1) a packet, two divisions. Memory: only the packets, no state per flow.
//!
//! Differences from Linux's tbf: the queue within is first in, first out with the buffer's limit in
//! bytes or packets. If you want another discipline within, make it the child of a tree's class.
//! Tokens are not cut to ticks of 64 ns. `rate link` is the link's rate, with which tbf never waits
//! at a port.

use crate::author::{
    Backlog, ConfigError, Configured, Control, Discipline, DropReason, Duration, FlowId, Handle,
    Instant, Limit, Linux, LinuxFlows, LinuxLimit, Packet, Parameter, Queues, Rate, Reads, Refusal,
    Refused, Scheduler, Seed,
};
use crate::mechanisms::line::{InLine, Waits};
use crate::schedulers::fifo::{self, Fifo};

/// Rates: a byte a second, as tc counts, to 100 Tbit/s.
const RATES: core::ops::RangeInclusive<u64> = 8..=100_000_000_000_000;

/// Parameters of TBF.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Rate at which the bucket fills: 8 bit/s to 100 Tbit/s. None: the link's.
    pub rate: Option<Rate>,
    /// Size of the bucket in bytes, and the longest packet: 1 to 2^30.
    pub burst: u32,
    /// Longest wait in a full buffer, in place of a limit. None: the buffer has a limit.
    pub latency: Option<Duration>,
    /// Rate at which the second bucket fills, above `rate`. None: the link's, without a bucket.
    pub peakrate: Option<Rate>,
    /// Size of the second bucket in bytes, and then the longest packet: 1 to 2^20.
    pub mtu: u32,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            rate: None,
            burst: 65_536,
            latency: None,
            peakrate: None,
            mtu: 1514,
        }
    }
}

impl Config {
    /// The limit in bytes that corresponds to `latency`, as tc computes it: what arrives in this
    /// time at the rate, and the burst. With a peak rate, the smaller of this and of the same for
    /// `peakrate` and `mtu`. None: no latency is written, or the rate is the link's.
    pub fn latency_limit(&self) -> Option<Limit> {
        let latency = self.latency?;
        let mut bytes = bytes_in(self.rate?, latency).saturating_add(self.burst.into());
        if let Some(peak) = self.peakrate {
            bytes = bytes.min(bytes_in(peak, latency).saturating_add(self.mtu.into()));
        }
        Some(Limit::of_bytes(bytes))
    }

    /// # Errors
    /// A limit is written beside a latency. As in tc, only one of them may be.
    pub(crate) fn check_limit(&self, limit: Limit) -> Result<(), ConfigError> {
        if self.latency.is_none() {
            return Ok(());
        }
        let expected = "limit or latency, not both";
        Err(ConfigError::beside(Self::NAME, "limit", limit, expected))
    }

    /// Longest packet that can leave, in bytes.
    pub fn longest(&self) -> u32 {
        match self.peakrate {
            Some(_) => self.burst.min(self.mtu),
            None => self.burst,
        }
    }
}

/// Bytes that a rate carries in a time, rounded down.
fn bytes_in(rate: Rate, time: Duration) -> u64 {
    const PICO_BITS_PER_BYTE: u128 = 8_000_000_000_000;
    let product = u128::from(rate.bits_per_second()) * u128::from(time.as_picos());
    u64::try_from(product / PICO_BITS_PER_BYTE).unwrap_or(u64::MAX)
}

impl Discipline for Config {
    const NAME: &'static str = "tbf";
    const ABOUT: &'static str =
        "token bucket filter: one queue that sends at a rate after a burst, and waits in between";
    const SOURCE: &'static str = "tc-tbf(8); ITU-T I.371, annex A";
    const LINUX: Linux = Linux::Qdisc {
        name: "tbf",
        flows: LinuxFlows::Unread,
        limit: LinuxLimit::Bytes,
    };
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::link_rate("rate", RATES, "rate at which the bucket fills", |config| {
            &mut config.rate
        }),
        Parameter::size(
            "burst",
            1..=1 << 30,
            "size of the bucket, and the longest packet",
            |config| &mut config.burst,
        ),
        Parameter::time_or_never(
            "latency",
            "longest wait in the buffer, in place of limit",
            |config| &mut config.latency,
        ),
        Parameter::link_rate(
            "peakrate",
            RATES,
            "rate at which the second bucket fills, above rate",
            |config| &mut config.peakrate,
        ),
        Parameter::size(
            "mtu",
            1..=1 << 20,
            "size of the second bucket, and then the longest packet",
            |config| &mut config.mtu,
        ),
    ];
    const LIVE: &'static [&'static str] = &["rate", "burst", "peakrate", "mtu"];
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::Refused];
    const QUEUES: Queues = Queues::One;
    const COMPLEXITY: &'static str = "O(1)";
    const DEFAULT_LIMIT: Limit = Limit::of_bytes(1_514_000);
    type Scheduler<T: Send> = Tbf<T>;
    type ByHandle = Tbf<Handle, InLine>;

    fn default_limit(&self) -> Limit {
        self.latency_limit().unwrap_or(Self::DEFAULT_LIMIT)
    }

    fn configuration<T: Send>(scheduler: &mut Tbf<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    /// An empty bucket stays empty: a change gives no burst.
    fn adopt<T: Send>(scheduler: &mut Tbf<T>, _before: &Self) {
        scheduler.size_buckets();
    }

    fn check(&self) -> Result<(), ConfigError> {
        Self::PARAMETERS
            .iter()
            .try_for_each(|parameter| parameter.check(Self::NAME, self))?;
        if let (Some(rate), Some(peak)) = (self.rate, self.peakrate)
            && peak <= rate
        {
            let expected = alloc::format!("more than rate {rate}");
            return Err(ConfigError::beside(Self::NAME, "peakrate", peak, expected));
        }
        if let (Some(latency), None) = (self.latency, self.rate) {
            let expected = "a rate with it, as in tbf rate 20mbit latency 50ms";
            return Err(ConfigError::beside(
                Self::NAME,
                "latency",
                latency,
                expected,
            ));
        }
        Ok(())
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Tbf<T, W = Packet<T>> {
    queue: Fifo<T, W>,
    /// Fills at the rate. None: neither the rate nor the link's is known.
    bucket: Option<Bucket>,
    /// Fills at the peak rate.
    peak: Option<Bucket>,
    link: Option<Rate>,
    config: Config,
}

/// A token bucket, in time: the tokens are `size` less the time until `full_at`.
#[derive(Debug, Clone, Copy)]
struct Bucket {
    rate: Rate,
    size: Duration,
    /// When the bucket is full, or was.
    full_at: Instant,
}

impl Bucket {
    /// The bucket of this rate and size. What `before` holds stays in proportion to the rate: an
    /// empty bucket is empty, and one that nobody has used is full.
    fn of(rate: Rate, bytes: u32, before: Option<Self>) -> Self {
        let size = rate.time_of(bytes.into());
        let mut full_at = Instant::ZERO;
        if let Some(before) = before
            && before.full_at > Instant::ZERO
        {
            let picos = before.full_at.as_picos().saturating_add(size.as_picos());
            full_at = Instant::from_picos(picos.saturating_sub(before.size.as_picos()));
        }
        Self {
            rate,
            size,
            full_at,
        }
    }

    /// When the bucket holds as many tokens as a packet needs: earlier than it is full, by what a
    /// full bucket holds beyond the packet.
    fn ready_at(&self, len: u32) -> Instant {
        let needed = self.full_at.as_picos();
        let needed = needed.saturating_add(self.rate.time_of(len.into()).as_picos());
        // GCRA: a packet conforms from TAT - tau on.
        Instant::from_picos(needed.saturating_sub(self.size.as_picos()))
    }

    /// Takes a packet's tokens out.
    fn take(&mut self, now: Instant, len: u32) {
        let full_at = self.full_at.max(now).as_picos();
        let len = self.rate.time_of(len.into()).as_picos();
        // GCRA: TAT = max(t, TAT) + T.
        self.full_at = Instant::from_picos(full_at.saturating_add(len));
    }
}

impl<T, W: Waits<T>> Configured<Config> for Tbf<T, W> {
    fn configured(config: Config, seed: Seed) -> Result<Self, ConfigError> {
        let mut scheduler = Self {
            queue: Fifo::configured(fifo::Config, seed)?,
            bucket: None,
            peak: None,
            link: None,
            config,
        };
        scheduler.size_buckets();
        Ok(scheduler)
    }
}

impl<T, W> Tbf<T, W> {
    fn size_buckets(&mut self) {
        let Config {
            rate,
            burst,
            peakrate,
            mtu,
            ..
        } = self.config;
        let rate = rate.or(self.link);
        self.bucket = rate.map(|rate| Bucket::of(rate, burst, self.bucket));
        self.peak = peakrate.map(|rate| Bucket::of(rate, mtu, self.peak));
    }

    /// When the buckets allow a packet of this length.
    fn ready_for(&self, len: u32) -> Instant {
        let mut ready = Instant::ZERO;
        for bucket in [&self.bucket, &self.peak].into_iter().flatten() {
            ready = ready.max(bucket.ready_at(len));
        }
        ready
    }
}

impl<T, W: Waits<T>> Scheduler<T, W::Leaving> for Tbf<T, W> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        let most = self.config.longest();
        if packet.len > most {
            return Err(packet.refused(Refusal::TooLong { most }));
        }
        self.queue.enqueue(now, packet)
    }

    fn dequeue(&mut self, now: Instant) -> Option<W::Leaving> {
        let len = self.queue.head_len()?;
        if now < self.ready_for(len) {
            return None;
        }
        for bucket in [&mut self.bucket, &mut self.peak].into_iter().flatten() {
            bucket.take(now, len);
        }
        self.queue.dequeue(now)
    }

    /// Drop tail: the newest packet.
    fn evict(&mut self) -> Option<W::Leaving> {
        self.queue.evict()
    }

    /// The newest packet, whatever the flow: as a tree's class it has one child, so one flow.
    fn evict_flow(&mut self, _flow: FlowId) -> Option<W::Leaving> {
        self.queue.evict()
    }

    fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    fn ready_at(&self) -> Option<Instant> {
        let len = self.queue.head_len()?;
        Some(self.ready_for(len))
    }

    /// A class of a tree has one child, the first flow.
    fn turn(&mut self, now: Instant) -> Option<FlowId> {
        let len = self.queue.head_len()?;
        (self.ready_for(len) <= now).then_some(FlowId(0))
    }

    fn set_len(&mut self, _flow: FlowId, len: u32) {
        self.queue.set_head_len(len);
    }
}

impl<T, W: Waits<T>> Control for Tbf<T, W> {
    fn names_turns(&self) -> bool {
        true
    }

    /// The buckets must hold the next packet.
    fn reads(&self, _flow: FlowId) -> Reads {
        Reads::InTurn
    }

    fn asks_idle(&self, _priority: u32) -> Option<u32> {
        Some(0)
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.link = Some(rate);
        self.size_buckets();
    }

    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        self.queue.check_invariants();
    }
}
