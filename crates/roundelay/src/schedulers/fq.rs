//! FQ as Linux 7.3 has it, or Linux 6.1: a queue for each flow, served by deficit round robin, new
//! flows first, and paced so that no flow is faster than a rate.
//!
//! This is the queue for servers with many connections. It has no hash, so flows never share a
//! queue. A new flow may send `initial_quantum` bytes before it takes turns, about the first window
//! of a TCP sender. With `maxrate`, a flow that has used up its credit waits until the rate allows
//! more. The others are served meanwhile, and if none is left the scheduler idles.
//!
//! Since 6.7 Linux has three changes, which `linux 6.1` is without. A packet that finds no packet of
//! a flow in turn, and fewer than eight packets that came like it, is sent in the order of arrival
//! and uses no flow's credit: the fast path, which `maxrate` closes. Flows are in three bands by
//! priority, of which each sends so many bytes in turn, but a flow that is seen for the first time
//! is always listed in the first band, whatever its priority. And a flow that is found without
//! packets always passes through the old flows, where it was idle at once if there were none.
//!
//! Source: tc-fq(8). The order of new and old flows: `mechanisms/new_and_old.rs`, RFC 8290, section
//! 4.2. The rule of pacing, which tc-fq(8) does not give, is a kernel's behaviour: a quantum at
//! once, then a pause as long as the rate takes for it, less what the flow was late, up to half. The
//! fast path too is a kernel's behaviour (`peers/linux`).
//!
//! | tc-fq(8) | here |
//! |---|---|
//! | new flows, old flows | `NewAndOld` |
//! | throttled flows | `paced` |
//! | fast path | `fast` |
//! | new flows of the first band | `newcomers` |
//! | time of a flow's next packet | `Flow::next_at` |
//! | refill_delay | `Flow::idle_since` |
//!
//! | guarantee | value | test in `theorems/fq.rs` |
//! |---|---|---|
//! | two flows, both backlogged for an interval and not paced | service differs by at most 2 (Q + L) bytes | `backlogged_flows_share_evenly` |
//! | a new flow | `initial_quantum` bytes and L go before all old flows', in 7.3 after 196,608 bytes of these | `a_new_flow_sends_its_first_window_at_once` |
//! | flows of any numbers | never share a queue | `flows_never_share_a_queue` |
//! | a flow paced at r, in any interval t | at most the first credit and r t + Q + L bytes | `no_interval_has_more_than_the_rate` |
//! | pace in the long term, packets of one length that divides Q | r | `packets_leave_at_the_pace` |
//! | idle | until the time of `Scheduler::ready_at`, not longer | `packets_leave_at_the_pace` |
//! | a flow of `flow_limit` packets | loses its next packet; others lose none | `a_flow_has_its_own_limit` |
//! | full buffer | drops the arriving packet | `a_full_buffer_drops_the_arriving_packet` |
//! | fast path | at most eight packets, before those of flows | `a_packet_alone_takes_the_fast_path` |
//!
//! Cost: O(1) a packet, with pacing O(log n) in the number of flows that wait. Memory: a record for
//! each flow ever seen.
//!
//! Differences from Linux's fq: a packet has no departure time of its own here, and a flow no
//! socket, so `maxrate` alone paces, and there is no horizon. All packets have the usual priority, so
//! they are in the second of the three bands, and 6.1's queue for the highest priority is not used.
//! The limit counts packets of the fast path too. A flow is forgotten when it is
//! removed, not by age. No packet takes the fast path past a flow that waits for its time, because
//! it may be the flow's own.

use alloc::collections::{BTreeSet, VecDeque};
use alloc::vec::Vec;

use crate::author::{
    Age, Backlog, ConfigError, Configured, Control, Discipline, DropReason, Duration, Ecn,
    FlowConfig, FlowId, Footprint, Handle, Instant, Leaving, Limit, Links, Linux, LinuxFlows,
    LinuxLimit, Nodes, Packet, Parameter, Pool, Queue, Queues, Rate, Refusal, Refused, Scheduler,
    Seed, Storage,
};
use crate::config::HOUR;
use crate::mechanisms::new_and_old::{Credit, NewAndOld, Turns};

pub use crate::mechanisms::kernel::Kernel;

/// Rates: a byte a second, as tc counts, to 100 Tbit/s.
const RATES: core::ops::RangeInclusive<u64> = 8..=100_000_000_000_000;
/// Longest pause of a paced flow.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

/// Most packets that wait on the fast path.
const MOST_FAST: u32 = 8;
/// Bytes that each band sends in turn.
const BANDS: [i64; 3] = [9 << 16, 3 << 16, 1 << 16];
/// The band of newcomers, and the one of the usual priority.
const FIRST: usize = 0;
const USUAL: usize = 1;

/// Parameters of FQ.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Most packets of a flow: 1 to 2^31.
    pub flow_limit: u32,
    /// Bytes a flow may send in a turn: 256 to 2^20.
    pub quantum: u32,
    /// Bytes that a new flow may send before it takes turns: 256 to 2^20.
    pub initial_quantum: u32,
    /// Time of silence after which a flow gets a quantum when it returns: up to 1 hour.
    pub refill_delay: Duration,
    /// Largest rate of a flow: 8 bit/s to 100 Tbit/s. None: no flow is paced.
    pub maxrate: Option<Rate>,
    /// With a `maxrate` up to this, packets are paced one by one and not a quantum at a time: 8
    /// bit/s to 100 Tbit/s. None: with any.
    pub low_rate_threshold: Option<Rate>,
    /// Whether flows are paced at all.
    pub pacing: bool,
    /// Time in the queue above which each ECN-capable packet is marked. None: never.
    pub ce_threshold: Option<Duration>,
    /// The kernel whose rules hold. Linux before 6.7 has no fast path.
    pub linux: Kernel,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            flow_limit: 100,
            quantum: 3028,
            initial_quantum: 15_140,
            refill_delay: Duration::from_millis(40),
            maxrate: None,
            low_rate_threshold: Rate::from_bits_per_second(550_000),
            pacing: true,
            ce_threshold: None,
            linux: Kernel::V7_3,
        }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "fq";
    const ABOUT: &'static str =
        "Linux's fq: a queue for each flow, in turn, new flows first; paces flows to a rate";
    const SOURCE: &'static str = "tc-fq(8); RFC 8290, section 4.2";
    const LINUX: Linux = Linux::Qdisc {
        name: "fq",
        flows: LinuxFlows::Exact,
        limit: LinuxLimit::Packets,
    };
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::count(
            "flow_limit",
            1..=1 << 31,
            "most packets of a flow",
            |config| &mut config.flow_limit,
        ),
        Parameter::size(
            "quantum",
            256..=1 << 20,
            "bytes that a flow may send in a turn",
            |config| &mut config.quantum,
        ),
        Parameter::size(
            "initial_quantum",
            256..=1 << 20,
            "bytes that a new flow may send before it takes turns",
            |config| &mut config.initial_quantum,
        ),
        Parameter::time(
            "refill_delay",
            0..=HOUR,
            "silence after which a flow that returns gets a quantum",
            |config| &mut config.refill_delay,
        ),
        Parameter::bandwidth("maxrate", RATES, "largest rate of a flow", |config| {
            &mut config.maxrate
        }),
        Parameter::bandwidth(
            "low_rate_threshold",
            RATES,
            "maxrate up to which packets are paced one by one",
            |config| &mut config.low_rate_threshold,
        ),
        Parameter::switch("pacing", "pace flows to maxrate", |config| {
            &mut config.pacing
        }),
        Parameter::time_or_never(
            "ce_threshold",
            "time in the queue above which each ECN-capable packet is marked",
            |config| &mut config.ce_threshold,
        ),
        Parameter::version(
            "linux",
            Kernel::WORDS,
            "the kernel whose rules hold: 6.1 is without the fast path of 6.7 and later",
            |config| config.linux as u64,
            |config, word| config.linux = Kernel::of(word),
        ),
    ];
    const LIVE: &'static [&'static str] = &[
        "flow_limit",
        "quantum",
        "initial_quantum",
        "refill_delay",
        "maxrate",
        "low_rate_threshold",
        "pacing",
        "ce_threshold",
        "linux",
    ];
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::Refused];
    /// Packets of a flow (`flow_limit`).
    const BOUNDS: &'static [DropReason] = &[DropReason::Refused];
    const DEFAULT_LIMIT: Limit = Limit::of_packets(10_000);
    const QUEUES: Queues = Queues::PerFlow;
    const COMPLEXITY: &'static str = "O(1)";
    type Scheduler<T: Send> = Fq<T>;
    type ByHandle = Fq<Handle, Links<Age>>;

    fn configuration<T: Send>(scheduler: &mut Fq<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    /// Limits credits to the new quanta, because the credit from a longer one would remain.
    fn adopt<T: Send>(scheduler: &mut Fq<T>, _before: &Self) {
        for flow in &mut scheduler.flows {
            flow.credit.limit(scheduler.config.most_credit().into());
        }
        if let Some((credit, _)) = &mut scheduler.was_idle {
            // What an idle flow gets back if its packet is given up.
            *credit = (*credit).min(scheduler.config.most_credit().into());
        }
    }
}

impl Config {
    /// The rate to which flows are paced, if to any.
    fn pace(&self) -> Option<Rate> {
        self.maxrate.filter(|_| self.pacing)
    }

    fn most_credit(&self) -> u32 {
        self.quantum.max(self.initial_quantum)
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Fq<T, P: Storage<T> = Nodes<T>> {
    pool: Pool<T, P>,
    /// By flow number.
    flows: Vec<Flow>,
    /// Flows of the usual priority.
    turns: NewAndOld,
    /// Flows seen for the first time, since then: in the first band. They come into `turns` when
    /// their credit or their packets are used up.
    newcomers: VecDeque<u32>,
    /// The band whose turn it is, and the bytes that each may still send.
    band: usize,
    band_credits: [i64; 3],
    /// Flows with packets.
    backlogged: u32,
    /// Packets that were alone when they came, or nearly.
    fast: Queue,
    /// The packet that arrived last is one of them.
    arrived_fast: bool,
    /// Flows that wait for their time, with this time.
    paced: BTreeSet<(Instant, u32)>,
    /// The flow of the packet that arrived last.
    arrived: u32,
    /// If the packet found this flow idle, its credit before, and whether it was known. None after
    /// a departure.
    was_idle: Option<(i64, bool)>,
    config: Config,
}

#[derive(Debug, Clone, Default)]
struct Flow {
    queue: Queue,
    credit: Credit,
    is_known: bool,
    /// Removed, so the flow is forgotten when it becomes idle.
    leaves: bool,
    /// The rate allows no packet before.
    next_at: Instant,
    /// When the flow left the lists.
    idle_since: Instant,
}

impl Turns for Flow {
    fn credit(&mut self) -> &mut Credit {
        &mut self.credit
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    fn became_idle(&mut self, now: Instant) {
        self.idle_since = now;
        if self.leaves {
            *self = Self::default();
        }
    }
}

impl<T, P: Storage<T>> Configured<Config> for Fq<T, P> {
    fn configured(config: Config, _seed: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            pool: Pool::empty(),
            flows: Vec::new(),
            turns: NewAndOld::with_capacity(0),
            newcomers: VecDeque::new(),
            band: FIRST,
            band_credits: [0; 3],
            backlogged: 0,
            fast: Queue::EMPTY,
            arrived_fast: false,
            paced: BTreeSet::new(),
            arrived: 0,
            was_idle: None,
            config,
        })
    }
}

impl<T, P: Storage<T>> Fq<T, P> {
    /// The packet's flow takes turns from now on, if it does not yet.
    fn join(&mut self, now: Instant, number: u32) {
        let flow = &mut self.flows[number as usize];
        if flow.leaves && flow.queue.packets() == 1 {
            // Removed and without packets, but its turn has not ended.
            flow.leaves = false;
            flow.credit.renew(self.config.initial_quantum.into());
        }
        let before = (flow.credit.bytes(), flow.is_known);
        let mut credit = flow.credit.bytes();
        if !flow.is_known {
            flow.is_known = true;
            credit = self.config.initial_quantum.into();
            if self.config.linux == Kernel::V7_3 {
                flow.credit.begin(credit);
                self.newcomers.push_back(number);
                self.was_idle = Some(before);
                return;
            }
        } else if now.since(flow.idle_since) > self.config.refill_delay {
            credit = credit.max(self.config.quantum.into());
        }
        self.was_idle = self.turns.join(number, flow, credit).then_some(before);
    }

    /// Whether a packet need not take turns: no flow with packets waits, and few others have come
    /// like it.
    fn is_alone(&self) -> bool {
        self.config.linux == Kernel::V7_3
            && self.config.maxrate.is_none()
            && self.backlogged == 0
            && self.fast.packets() < MOST_FAST
    }

    /// The band whose turn it is: the present one while it has credit and flows, or the next that
    /// has both. Each gets what it sends in a turn when its turn comes. None: no band has a flow.
    fn next_band(&mut self) -> Option<usize> {
        for step in 0..=BANDS.len() {
            if step > 0 {
                self.band = (self.band + 1) % BANDS.len();
                let quantum = BANDS[self.band];
                let credit = &mut self.band_credits[self.band];
                *credit = (*credit + quantum).min(quantum);
            }
            let has_flows = match self.band {
                FIRST => !self.newcomers.is_empty(),
                USUAL => !self.turns.is_empty(),
                _ => false,
            };
            if has_flows && self.band_credits[self.band] > 0 {
                return Some(self.band);
            }
        }
        None
    }

    /// The band whose turn it is has sent a packet. However long this was, the band has credit again
    /// in its next turn.
    fn charge_band(&mut self, len: u32) {
        let least = 1 - BANDS[self.band];
        let credit = &mut self.band_credits[self.band];
        *credit = (*credit - i64::from(len)).max(least);
    }

    /// The first newcomer with credit. One without gets a quantum, and is an old flow from then on.
    fn next_newcomer(&mut self) -> Option<u32> {
        while let Some(number) = self.newcomers.front().copied() {
            let credit = &mut self.flows[number as usize].credit;
            if credit.bytes() > 0 {
                return Some(number);
            }
            credit.add(self.config.quantum);
            self.newcomers.pop_front();
            self.turns.come_back(number);
        }
        None
    }

    /// Flows whose time has come take turns again, behind the others.
    fn wake(&mut self, now: Instant) {
        while let Some(&(at, number)) = self.paced.first() {
            if at > now {
                return;
            }
            self.paced.pop_first();
            self.turns.come_back(number);
        }
    }

    /// The packet that has left takes its bytes from the credit, and the rate its time.
    fn sent(&mut self, now: Instant, number: u32, len: u32) {
        let flow = &mut self.flows[number as usize];
        self.turns.sent(flow, len);
        let Some(rate) = self.config.pace() else {
            return;
        };
        let mut bytes = len;
        if self.config.low_rate_threshold.is_none_or(|low| rate <= low) {
            flow.credit.limit(0);
        } else {
            bytes = len.max(self.config.quantum);
        }
        if flow.credit.bytes() > 0 {
            return;
        }
        let mut pause = rate.time_of(bytes.into()).min(LONGEST_PAUSE).as_picos();
        if flow.next_at > Instant::ZERO {
            // The pause counts from when the flow was due, not from when its turn came.
            let late = now.since(flow.next_at).as_picos();
            pause -= late.min(pause / 2);
        }
        flow.next_at = now + Duration::from_picos(pause);
    }
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for Fq<T, P> {
    /// Sets the packet's arrival time. A flow that has `flow_limit` packets gets no more.
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        let has_room = Refusal::check_tabled(packet.flow, packet.len, u32::MAX);
        if let Err(reason) = has_room.and_then(|()| self.pool.make_room_for(&packet)) {
            return Err(packet.refused(reason));
        }
        let number = packet.flow.0;
        if packet.flow.index() >= self.flows.len() {
            self.flows.resize(packet.flow.index() + 1, Flow::default());
        }
        self.arrived_fast = self.is_alone();
        let flow = &mut self.flows[number as usize];
        if !self.arrived_fast && flow.queue.packets() >= self.config.flow_limit {
            return Err(packet.refused(Refusal::QueueFull));
        }
        let packet = Packet {
            arrival: now,
            ..packet
        };
        if self.arrived_fast {
            self.pool.push(&mut self.fast, packet);
            return Ok(());
        }
        self.arrived = number;
        self.backlogged += u32::from(flow.queue.is_empty());
        self.pool.push(&mut flow.queue, packet);
        self.join(now, number);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<P::Leaving> {
        // As in Linux, an empty buffer ends no flow's turn.
        if self.pool.backlog().is_empty() {
            return None;
        }
        if let Some(packet) = self.pool.pop(&mut self.fast) {
            return Some(packet);
        }
        self.was_idle = None;
        self.wake(now);
        loop {
            let is_newcomer = self.next_band()? == FIRST;
            let next = if is_newcomer {
                self.next_newcomer()
            } else {
                self.turns.next(now, &mut self.flows, self.config.quantum)
            };
            let Some(number) = next else {
                continue;
            };
            let flow = &mut self.flows[number as usize];
            let Some(age) = self.pool.head_age(&flow.queue) else {
                // Idle, or through the old flows first. Before 6.7 a new flow was idle at once if there
                // were no old flows.
                let goes_at_once = self.config.linux == Kernel::V6_1;
                if is_newcomer {
                    self.newcomers.pop_front();
                    self.turns.come_back(number);
                } else if self.turns.found_empty(flow, goes_at_once) {
                    flow.became_idle(now);
                }
                continue;
            };
            if flow.next_at > now {
                self.paced.insert((flow.next_at, number));
                if is_newcomer {
                    self.newcomers.pop_front();
                } else {
                    self.turns.set_aside();
                }
                continue;
            }
            let len = flow.queue.head_len();
            // The pace holds a packet back on purpose, so this wait says nothing of the link.
            let could_leave = age.arrival.max(flow.next_at);
            let mut packet = self.pool.pop(&mut flow.queue)?;
            self.backlogged -= u32::from(flow.queue.is_empty());
            if let Some(threshold) = self.config.ce_threshold
                && age.ecn == Ecn::Capable
                && now.since(could_leave) > threshold
            {
                packet.mark();
            }
            self.charge_band(len);
            self.sent(now, number, len);
            return Some(packet);
        }
    }

    /// The newest packet in the flow of the last arrival, which is that arrival if it waits, or
    /// else the newest in the longest flow. If this packet had ended its flow's silence, the flow
    /// is as before.
    fn evict(&mut self) -> Option<P::Leaving> {
        if self.arrived_fast || self.backlogged == 0 {
            self.arrived_fast = false;
            if let Some(packet) = self.pool.pop_tail(&mut self.fast) {
                return Some(packet);
            }
        }
        let mut number = self.arrived as usize;
        if self.flows.get(number)?.queue.is_empty() {
            let mut most = 0;
            for (other, flow) in self.flows.iter().enumerate() {
                if flow.queue.size() > most {
                    most = flow.queue.size();
                    number = other;
                }
            }
        }
        let flow = &mut self.flows[number];
        let packet = self.pool.pop_tail(&mut flow.queue);
        self.backlogged -= u32::from(packet.is_some() && flow.queue.is_empty());
        if let Some((credit, was_known)) = self.was_idle.take()
            && number == self.arrived as usize
        {
            if self.newcomers.back() == Some(&self.arrived) {
                self.newcomers.pop_back();
                flow.credit.take_back(credit);
            } else {
                self.turns.take_back(flow, credit);
            }
            flow.is_known = was_known;
        }
        packet
    }

    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    /// While all flows with packets wait for their time, the earliest such time.
    fn ready_at(&self) -> Option<Instant> {
        let is_idle = self.pool.backlog().is_empty();
        let takes_turns = !self.turns.is_empty() || !self.newcomers.is_empty();
        if is_idle || takes_turns || !self.fast.is_empty() {
            return None;
        }
        self.paced.first().map(|(at, _)| *at)
    }
}

impl<T, P: Storage<T>> Control for Fq<T, P> {
    /// All flows are alike: only the number is checked.
    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(Config::NAME, flow)
    }

    fn remove_flow(&mut self, flow: FlowId) {
        if let Some(flow) = self.flows.get_mut(flow.index()) {
            if flow.credit.is_listed() {
                flow.leaves = true;
            } else {
                *flow = Flow::default();
            }
        }
    }

    fn footprint(&self) -> Footprint {
        let of_pacing = size_of::<(Instant, u32)>();
        Footprint {
            fixed_bytes: size_of::<Self>(),
            bytes_per_flow: size_of::<Flow>() + NewAndOld::BYTES_PER_QUEUE + of_pacing,
        }
    }

    /// 1. A flow that takes turns is in one list or waits for its time. Other flows are in none of
    ///    these and have no packets.
    /// 2. Credit never exceeds the larger quantum.
    /// 3. A packet is in its flow's queue, or on the fast path.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        let mut entries = self.turns.entries(self.flows.len());
        for (at, number) in &self.paced {
            let flow = &self.flows[*number as usize];
            assert!(
                flow.next_at == *at,
                "invariant 1: a flow waits for its own time"
            );
            entries[*number as usize] += 1;
        }
        for number in &self.newcomers {
            entries[*number as usize] += 1;
        }
        let most = self.config.most_credit();
        let mut bytes = self.fast.bytes();
        let mut backlogged = 0;
        for (number, flow) in self.flows.iter().enumerate() {
            let is_empty = flow.queue.is_empty();
            backlogged += u32::from(!is_empty);
            flow.credit.check(entries[number], is_empty, most);
            if let Some(head) = self.pool.head_flow(&flow.queue) {
                assert_eq!(head.index(), number, "invariant 3");
            }
            bytes += flow.queue.bytes();
            self.pool.check_queue(&flow.queue);
        }
        self.pool.check_queue(&self.fast);
        assert_eq!(backlogged, self.backlogged, "flows with packets");
        assert_eq!(bytes, self.pool.backlog().bytes, "flows' backlogs add up");
    }
}
