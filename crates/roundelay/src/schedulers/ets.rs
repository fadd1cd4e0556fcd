//! Enhanced transmission selection: strict bands first, then deficit round robin among the other
//! bands.
//!
//! A packet's class chooses its band. The first `strict` bands go in strict priority, so a band
//! waits as long as an earlier strict band has packets. The other bands share what is left, each
//! with a quantum of bytes in its turn. A band is first in, first out, whatever flows are in it. If
//! all bands are strict, this is Linux's `prio`. If none is, it is deficit round robin among
//! classes.
//!
//! Source: tc-ets(8) and tc-prio(8) for rules and parameters. IEEE 802.1Q, "Enhanced Transmission
//! Selection", for the idea. M. Shreedhar, G. Varghese, "Efficient Fair Queueing Using Deficit
//! Round-Robin", IEEE/ACM ToN 4(3), 1996, for the other bands.
//!
//! | tc-ets(8) | here |
//! |---|---|
//! | band | `Band`, by number |
//! | class of the packet, priomap | [`Packet::priority`], [`Config::priomap`] |
//! | quantum, deficit | `Config::quantum_of`, `Band::deficit` |
//!
//! | guarantee | value | test in `theorems/ets.rs` |
//! |---|---|---|
//! | order of strict bands | no packet leaves while an earlier strict band has one | `strict_bands_go_first_and_a_band_is_fifo` |
//! | isolation | a strict band waits for no later band except for the packet on the link | `a_strict_band_does_not_feel_those_behind_it` |
//! | Lemma 2 of DRR, while no strict band has packets | in m turns a band sends m Q to within one packet | `turns_send_their_quanta` |
//! | fairness between bands i and j | Q_i / w_i + L / w_i + L / w_j bytes, w in proportion to Q | `bands_share_by_their_quanta` |
//! | starvation | no protection from strict bands | `a_busy_strict_band_starves_the_others` |
//! | push-out | the newest packet of the longest band | `a_full_buffer_gives_up_the_newest_of_the_longest_band` |
//!
//! A band gets its quantum when it becomes backlogged, at the end of the list. It gets one more
//! each time that its head packet is longer than what is left, and then goes to the end of the
//! list. A band that empties forfeits the rest. These are the rules of Linux's ets, and
//! `peers/linux` compares departures packet by packet. Linux 6.1.192 takes a quantum below 256
//! bytes for 256.
//!
//! In a hierarchy a child's class is its `priority`, so children with one class share a band and
//! take turns packet by packet.
//!
//! Cost: O(bands) a packet at most, for 16 bands at most, because rounds without a packet are
//! counted, not walked (`skip_rounds`). `Scheduler::evict_flow` searches for the packet: O(n),
//! where n is the number of waiting children if the scheduler is a node. Memory: the bands'
//! records, no state per flow.
//!
//! Differences from Linux's ets: the bands share one buffer, whereas each band there has a queue
//! with its own limit. A class goes to the band with its number if there is no `priomap` at all, as
//! filters would send it. A class beyond the bands, or beyond `priomap`, goes to the last band, as
//! there.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::author::{
    Backlog, ConfigError, Configured, Control, Discipline, DropReason, FlowId, Footprint, Handle,
    Instant, Links, Linux, LinuxFlows, LinuxLimit, Nodes, Numbers, Packet, Parameter, Pool, Queue,
    Reads, Refused, Scheduler, Seed, Storage,
};
use crate::schedulers;

/// Largest number of bands, as in Linux.
const MOST_BANDS: u32 = Numbers::MOST as u32;

/// Parameters of ETS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Number of bands, 1 to 16. 0: as many as `strict` and `quanta` make, or 8 without these.
    pub bands: u32,
    /// The first bands, in strict priority: 0 to 16.
    pub strict: u32,
    /// Bytes that each of the other bands may send in a turn, in order: 1 to 2^20. A band without
    /// one has [`QUANTUM`](Self::QUANTUM).
    pub quanta: Numbers,
    /// The band of each class. Empty: the band with the number of the class. A class beyond goes to
    /// the last band.
    pub priomap: Numbers,
}

impl Config {
    /// The quantum of a band without one, in bytes: a full Ethernet frame.
    pub const QUANTUM: u32 = 1514;
    /// The bands if no parameter says: a class for each IP precedence.
    pub const BANDS: u32 = 8;

    /// Linux's `prio` with its three bands.
    pub(crate) fn of_prio() -> Self {
        Self {
            bands: 3,
            ..Self::default()
        }
    }

    /// Whether a word is a parameter of tc-prio(8).
    pub(crate) fn is_of_prio(word: &str) -> bool {
        word == "bands" || word == "priomap"
    }

    /// The number of bands in force.
    pub fn number_of_bands(&self) -> u32 {
        let told = self.strict + self.quanta.as_slice().len() as u32;
        match (self.bands, told) {
            (0, 0) => Self::BANDS,
            (0, told) => told,
            (bands, _) => bands,
        }
    }

    /// The quantum of a band in bytes. None: the band is strict.
    pub fn quantum_of(&self, band: u32) -> Option<u32> {
        let index = band.checked_sub(self.strict)?;
        let quanta = self.quanta.as_slice();
        Some(*quanta.get(index as usize).unwrap_or(&Self::QUANTUM))
    }

    /// The band of a class.
    pub fn band_of(&self, class: u32) -> u32 {
        let last = self.number_of_bands() - 1;
        let priomap = self.priomap.as_slice();
        if priomap.is_empty() {
            return class.min(last);
        }
        *priomap.get(class as usize).unwrap_or(&last)
    }
}

impl Default for Config {
    /// Eight bands in turn, with equal quanta.
    fn default() -> Self {
        Self {
            bands: 0,
            strict: 0,
            quanta: Numbers::default(),
            priomap: Numbers::default(),
        }
    }
}

impl Discipline for Config {
    const NAME: &'static str = "ets";
    const ABOUT: &'static str = "enhanced transmission selection: strict bands of classes first, then deficit round robin among the other bands";
    const SOURCE: &'static str =
        "tc-ets(8), tc-prio(8); IEEE 802.1Q, Enhanced Transmission Selection";
    const LINUX: Linux = Linux::Qdisc {
        name: "ets",
        flows: LinuxFlows::Unread,
        limit: LinuxLimit::Either,
    };
    const PARAMETERS: &'static [Parameter<Self>] = &[
        Parameter::count(
            "bands",
            0..=MOST_BANDS as u64,
            "number of bands; 0 for as many as strict and quanta make, or 8",
            |config| &mut config.bands,
        ),
        Parameter::count(
            "strict",
            0..=MOST_BANDS as u64,
            "number of bands in strict priority, the first ones",
            |config| &mut config.strict,
        ),
        Parameter::sizes(
            "quanta",
            1..=1 << 20,
            "bytes that each other band may send in a turn, in order; 1514b for a band without one",
            |config| &mut config.quanta,
        ),
        Parameter::counts(
            "priomap",
            0..=MOST_BANDS as u64 - 1,
            "the band of each class, from class 0 on; the last band for classes beyond",
            |config| &mut config.priomap,
        ),
    ];
    const REORDERS: bool = true;
    const COMPLEXITY: &'static str = "O(bands)";
    const PRIORITY: schedulers::Priority = schedulers::Priority::Class;
    const INTERIOR: bool = true;
    const DROPS: &'static [DropReason] = &[DropReason::Full, DropReason::PushedOut];
    type Scheduler<T: Send> = Ets<T>;
    type ByHandle = Ets<Handle, Links<FlowId>>;

    fn configuration<T: Send>(scheduler: &mut Ets<T>) -> Option<&mut Self> {
        Some(&mut scheduler.config)
    }

    /// As in tc, the bands must be enough for `strict` and `quanta`, and `priomap` names none
    /// beyond.
    fn check(&self) -> Result<(), ConfigError> {
        Self::PARAMETERS
            .iter()
            .try_for_each(|parameter| parameter.check(Self::NAME, self))?;
        let told = self.strict + self.quanta.as_slice().len() as u32;
        let most = match self.bands {
            0 => MOST_BANDS,
            bands => bands,
        };
        if told > most {
            return Err(ConfigError::beside(
                Self::NAME,
                "strict",
                format_args!("{} with {} quanta", self.strict, told - self.strict),
                alloc::format!("{most} bands at most, strict ones and quanta together"),
            ));
        }
        let last = self.number_of_bands() - 1;
        for band in self.priomap.as_slice() {
            if *band > last {
                let expected = alloc::format!("bands 0 to {last}; more bands: bands {}", band + 1);
                return Err(ConfigError::beside(Self::NAME, "priomap", band, expected));
            }
        }
        Ok(())
    }
}

/// The scheduler.
#[derive(Debug, Clone)]
pub struct Ets<T, P: Storage<T> = Nodes<T>> {
    pool: Pool<T, P>,
    bands: Vec<Band>,
    /// Backlogged bands that are not strict. The first has its turn.
    active: VecDeque<u32>,
    /// Turns since the last packet that ended without one.
    fruitless_turns: usize,
    config: Config,
}

#[derive(Debug, Clone)]
struct Band {
    queue: Queue,
    /// Bytes for each turn. None: strict.
    quantum: Option<u32>,
    /// Bytes that the band may still send in its turn.
    deficit: u64,
}

impl<T, P: Storage<T>> Configured<Config> for Ets<T, P> {
    fn configured(config: Config, _: Seed) -> Result<Self, ConfigError> {
        let number = config.number_of_bands();
        let mut bands = Vec::with_capacity(number as usize);
        for band in 0..number {
            bands.push(Band {
                queue: Queue::default(),
                quantum: config.quantum_of(band),
                deficit: 0,
            });
        }
        Ok(Self {
            pool: Pool::empty(),
            bands,
            active: VecDeque::with_capacity(number as usize),
            fruitless_turns: 0,
            config,
        })
    }
}

impl<T, P: Storage<T>> Ets<T, P> {
    fn enqueue_packet(&mut self, packet: Packet<T>) {
        let number = self.config.band_of(packet.priority);
        let band = &mut self.bands[number as usize];
        if let Some(quantum) = band.quantum
            && band.queue.is_empty()
        {
            // Onto the end of the active list, with a quantum.
            band.deficit = quantum.into();
            self.active.push_back(number);
        }
        self.pool.push(&mut band.queue, packet);
    }

    /// The next packet. If the scheduler is a node in a hierarchy, `refill` gives the flow's next
    /// packet before its band can count as empty.
    #[inline(always)]
    fn send(&mut self, mut refill: impl FnMut(FlowId) -> Option<Packet<T>>) -> Option<P::Leaving> {
        let number = self.next_band()?;
        let Band {
            queue,
            quantum,
            deficit,
        } = &mut self.bands[number as usize];
        if quantum.is_some() {
            // DRR: DC_i -= the head's length.
            *deficit -= u64::from(queue.head_len());
            self.fruitless_turns = 0;
        }
        let flow = self.pool.head_flow(queue);
        let packet = self.pool.pop(queue)?;
        if let Some(next) = flow.and_then(&mut refill) {
            assert!(
                self.pool.make_room_for(&next).is_ok(),
                "a refilled packet fits"
            );
            let home = self.config.band_of(next.priority);
            if home == number {
                self.pool.push(&mut self.bands[home as usize].queue, next);
            } else {
                self.enqueue_packet(next);
            }
        }
        self.leave_if_empty(number);
        Some(packet)
    }

    /// The band whose turn it is, and covers its head packet.
    fn next_band(&mut self) -> Option<u32> {
        for number in 0..self.config.strict {
            if !self.bands[number as usize].queue.is_empty() {
                return Some(number);
            }
        }
        loop {
            let number = *self.active.front()?;
            let band = &mut self.bands[number as usize];
            let len = u64::from(band.queue.head_len());
            // DRR: the head is sent if the deficit counter covers it.
            if len <= band.deficit {
                return Some(number);
            }
            // DRR: DC_i += Q_i, and on to the next in the active list.
            band.deficit += u64::from(band.quantum.unwrap_or(0));
            self.active.rotate_left(1);
            self.fruitless_turns += 1;
            if self.fruitless_turns > self.active.len() {
                self.skip_rounds();
            }
        }
    }

    /// After a whole round without a packet: adds the quanta of all further such rounds at once.
    fn skip_rounds(&mut self) {
        self.fruitless_turns = 0;
        let mut rounds = u64::MAX;
        for number in &self.active {
            let band = &self.bands[*number as usize];
            let quantum = u64::from(band.quantum.unwrap_or(1));
            let short = u64::from(band.queue.head_len()).saturating_sub(band.deficit);
            rounds = rounds.min(short.div_ceil(quantum));
        }
        for number in &self.active {
            let band = &mut self.bands[*number as usize];
            band.deficit += rounds.saturating_sub(1) * u64::from(band.quantum.unwrap_or(0));
        }
    }

    /// A band without packets leaves the list of active bands and forfeits its deficit.
    fn leave_if_empty(&mut self, number: u32) {
        let band = &mut self.bands[number as usize];
        if !band.queue.is_empty() || band.quantum.is_none() {
            return;
        }
        band.deficit = 0;
        if self.active.front() == Some(&number) {
            self.active.pop_front();
        } else {
            self.active.retain(|other| *other != number);
        }
    }
}

impl<T, P: Storage<T>> Scheduler<T, P::Leaving> for Ets<T, P> {
    fn enqueue(&mut self, _now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        if let Err(reason) = self.pool.make_room_for(&packet) {
            return Err(packet.refused(reason));
        }
        self.enqueue_packet(packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<P::Leaving> {
        self.send(|_| None)
    }

    fn dequeue_refilled(
        &mut self,
        _now: Instant,
        refill: &mut dyn FnMut(FlowId) -> Option<Packet<T>>,
    ) -> Option<P::Leaving> {
        self.send(refill)
    }

    /// The newest packet of the longest band, or of the last one among equals.
    fn evict(&mut self) -> Option<P::Leaving> {
        let mut longest = (0, 0);
        for (number, band) in self.bands.iter().enumerate() {
            if band.queue.size() > 0 {
                longest = longest.max((band.queue.size(), number));
            }
        }
        let (_, number) = longest;
        let victim = self.pool.pop_tail(&mut self.bands[number].queue)?;
        self.leave_if_empty(number as u32);
        Some(victim)
    }

    /// The newest of the flow's packets, which are all in one band as long as the flow's class does
    /// not change. Otherwise the newest in the last such band.
    fn evict_flow(&mut self, flow: FlowId) -> Option<P::Leaving> {
        let numbers = 0..self.bands.len();
        numbers
            .rev()
            .find_map(|number| self.evict_from(number, flow))
    }

    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn turn(&mut self, _now: Instant) -> Option<FlowId> {
        let number = self.next_band()?;
        self.pool.head_flow(&self.bands[number as usize].queue)
    }

    fn set_len(&mut self, flow: FlowId, len: u32) {
        for band in &mut self.bands {
            if self.pool.head_flow(&band.queue) == Some(flow) {
                return self.pool.set_head_len(&mut band.queue, len);
            }
        }
    }
}

impl<T, P: Storage<T>> Ets<T, P> {
    /// The newest packet of a flow in a band. Moves each of the band's packets once or twice.
    fn evict_from(&mut self, number: usize, flow: FlowId) -> Option<P::Leaving> {
        let queue = &mut self.bands[number].queue;
        let mut waiting = Queue::default();
        let mut index = None;
        for at in 0..queue.packets() {
            if self.pool.head_flow(queue) == Some(flow) {
                index = Some(at);
            }
            self.pool.move_head(queue, &mut waiting);
        }
        let mut victim = None;
        for at in 0..waiting.packets() {
            if Some(at) == index {
                victim = self.pool.pop(&mut waiting);
            } else {
                self.pool.move_head(&mut waiting, queue);
            }
        }
        self.leave_if_empty(number as u32);
        victim
    }
}

impl<T, P: Storage<T>> Control for Ets<T, P> {
    fn names_turns(&self) -> bool {
        true
    }

    /// A turn of a band with a quantum may not cover the next packet.
    fn reads(&self, _flow: FlowId) -> Reads {
        Reads::InTurn
    }

    /// Strict bands are asked in their order.
    fn asks_idle(&self, priority: u32) -> Option<u32> {
        let band = self.config.band_of(priority);
        (band < self.config.strict).then_some(band)
    }

    fn footprint(&self) -> Footprint {
        let bytes_per_band = size_of::<Band>() + size_of::<u32>();
        Footprint::fixed(size_of::<Self>() + self.bands.len() * bytes_per_band)
    }

    /// 1. The bands that have packets and are not strict are active, once each. No other band is.
    /// 2. Lemma 1 of the DRR paper: a band without packets has no deficit.
    #[cfg(debug_assertions)]
    fn check_invariants(&self) {
        let mut bytes = 0;
        for (number, band) in (0..).zip(&self.bands) {
            bytes += band.queue.bytes();
            let listed = self.active.iter().filter(|other| **other == number);
            let is_active = !band.queue.is_empty() && band.quantum.is_some();
            assert_eq!(
                listed.count(),
                usize::from(is_active),
                "invariant 1: backlogged bands are active"
            );
            assert!(
                !band.queue.is_empty() || band.deficit == 0,
                "invariant 2: an empty band carries nothing"
            );
            self.pool.check_queue(&band.queue);
        }
        assert_eq!(bytes, self.pool.backlog().bytes, "bands' backlogs add up");
    }
}
