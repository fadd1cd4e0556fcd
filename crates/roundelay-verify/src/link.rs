//! Verifies one link of a log: which packets wait and fly, and when the link is free.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use roundelay::Seed;
use roundelay::schedulers::{AnyDiscipline, Onset, Queues};
use roundelay::{
    Control, DropReason, FlowConfig, FlowId, Instant, LinkLayer, Packet, QueueSpec, Rate,
    Scheduler as _,
};

use crate::Checks;
use crate::check::{Check, ensure};
use crate::log::{Limits, LinkRecord, MostRecord, Order, ShaperRecord};
use crate::trace::Trace;

/// A packet in a queue.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    packet: u64,
    flow: u64,
    since: u64,
    len: u64,
    transmission_time: u128,
}

/// The last packet that joined a queue.
#[derive(Debug, Clone, Copy, Default)]
struct LastArrival {
    at: u64,
    flow: u64,
    /// How many packets waited afterwards, with this one.
    waiting: usize,
}

/// Packets of a link's wire.
#[derive(Debug, Clone, Copy, Default)]
struct WireCounts {
    sent: u64,
    lost: u64,
}

#[derive(Debug)]
pub(crate) struct LinkState {
    pub(crate) record: LinkRecord,
    layer: LinkLayer,
    /// The trace instead of the rate.
    trace: Option<Trace>,
    /// Packets in the queue, in order of arrival.
    waiting: BTreeMap<u64, Waiting>,
    /// The same packets by flow, for queues that keep order within flows.
    by_flow: BTreeSet<(u64, u64)>,
    arrived: u64,
    /// Packets in flight, in the order in which they arrive at the end.
    flying: VecDeque<u64>,
    free_at: u64,
    /// The time of the line about the last transmission.
    logged_at: u64,
    /// The start of the last transmission. None before the first, and on preemptive links.
    picked_at: Option<u64>,
    /// The number of packets that left the wire, and the longest time by which one came later than
    /// possible.
    late: (u32, u64),
    /// For a preemptive link: when all logged transmissions can be done, at the earliest.
    done: u128,
    /// For a preemptive link: when it has sent all packets so far at the latest, if it is never
    /// idle.
    all_sent_by: u128,
    /// Bytes in the queue.
    bytes: u64,
    last: LastArrival,
    /// The discipline. None for a tree, because the log has only its name.
    discipline: Option<AnyDiscipline>,
    average: Average,
    /// The start of the last backlog.
    backlogged_at: u64,
    /// Whether a decision may have begun before the present backlog.
    has_decided: bool,
    wire: WireCounts,
    /// When the shaper's bucket is full again, in picoseconds, if it promises a rate.
    bucket_full_at: u128,
    /// Until when the link rests, as the last line about a rest tells.
    rests_until: u64,
}

/// An upper bound of the average backlog that arrivals find, for a discipline that signals by this
/// average. Idle times between drops count less here than there.
#[derive(Debug, Clone, Copy, Default)]
struct Average {
    bound: f64,
    idle_since: Option<u64>,
}

impl Average {
    /// No discipline's rounding adds as much to the average, in packets or bytes.
    const ROUNDING: f64 = 1.01;

    fn observe(&mut self, now: u64, waiting: u64, weight_log: u32, packet_time: u64) {
        let keeps = 1.0 - 0.5f64.powi(weight_log as i32);
        match self.idle_since.take() {
            Some(since) => {
                self.bound *=
                    keeps.powf((now - since).checked_div(packet_time.max(1)).unwrap_or(0) as f64)
            }
            None => self.bound = keeps * self.bound + (1.0 - keeps) * waiting as f64,
        }
    }
}

impl LinkState {
    /// None if the framing is unknown.
    pub(crate) fn new(record: LinkRecord, queue: Option<QueueSpec>) -> Option<Self> {
        let layer = record.layer()?;
        let trace = record.trace.clone().map(Trace::new);
        Some(Self {
            record,
            layer,
            trace,
            waiting: BTreeMap::new(),
            by_flow: BTreeSet::new(),
            arrived: 0,
            flying: VecDeque::new(),
            free_at: 0,
            logged_at: 0,
            picked_at: None,
            late: (0, 0),
            done: 0,
            all_sent_by: 0,
            bytes: 0,
            last: LastArrival::default(),
            discipline: queue.map(|queue| queue.discipline),
            average: Average::default(),
            backlogged_at: 0,
            has_decided: false,
            wire: WireCounts::default(),
            bucket_full_at: 0,
            rests_until: 0,
        })
    }

    /// A packet's length on the link, in bytes.
    fn len_of(&self, len: u32) -> u64 {
        self.layer.len_on_link(len).into()
    }

    /// The time that `bytes` take to transmit, in picoseconds.
    fn time_of(&self, bytes: u64) -> u128 {
        (u128::from(bytes) * 8_000_000_000_000).div_ceil(u128::from(self.record.rate))
    }

    /// Adds a packet to the queue, and returns its number in the order of arrival.
    pub(crate) fn enter(&mut self, packet: u64, flow: u64, len: u32, since: u64) -> u64 {
        let rank = self.arrived;
        let len = self.len_of(len);
        let transmission_time = self.time_of(len);
        self.arrived += 1;
        // The link asks its discipline again.
        self.rests_until = self.rests_until.min(since);
        self.observe(since);
        self.waiting.insert(
            rank,
            Waiting {
                packet,
                flow,
                since,
                len,
                transmission_time,
            },
        );
        self.bytes += len;
        self.all_sent_by = self.all_sent_by.max(since.into()) + transmission_time;
        self.last = LastArrival {
            at: since,
            flow,
            waiting: self.waiting.len(),
        };
        if self.record.order == Order::PerFlow {
            self.by_flow.insert((flow, rank));
        }
        rank
    }

    /// Notes that a packet arrives, before it joins those that wait.
    fn observe(&mut self, now: u64) {
        if self.waiting.is_empty() {
            self.backlogged_at = now;
        }
        if let Some(Onset::Average {
            in_bytes,
            weight_log,
            packet_time,
            ..
        }) = self.onset()
        {
            let waiting = if in_bytes {
                self.bytes
            } else {
                self.waiting.len() as u64
            };
            self.average
                .observe(now, waiting, weight_log, packet_time.as_picos());
        }
    }

    /// Removes a packet from anywhere in the queue.
    pub(crate) fn remove_waiting(&mut self, rank: u64) {
        if let Some(Waiting { flow, len, .. }) = self.waiting.remove(&rank) {
            self.by_flow.remove(&(flow, rank));
            self.bytes -= len;
        }
    }

    /// Removes a packet that was sent or dropped. If none is left, the link's idle time begins.
    pub(crate) fn leave_queue(&mut self, rank: u64, now: u64, is_dropped: bool) {
        if is_dropped && let Some(dropped) = self.waiting.get(&rank) {
            // A preemptive link may have sent a part of it, at most for the time since its arrival.
            // It never sends the rest, so it has that much less to do.
            let sent_at_most = u128::from(now - dropped.since);
            self.all_sent_by -= dropped.transmission_time.saturating_sub(sent_at_most);
        }
        self.remove_waiting(rank);
        if self.waiting.is_empty() {
            self.begin_idle_time(now, is_dropped);
        }
    }

    /// The last packet was sent or dropped.
    fn begin_idle_time(&mut self, now: u64, is_dropped: bool) {
        // Drops that empty the queue do not end a decision, so the next packet finds it under way.
        self.has_decided |= is_dropped;
        self.all_sent_by = now.into();
        self.average.idle_since = Some(now);
    }

    /// Counts the link's work from now on, after idle time.
    pub(crate) fn begin_again(&mut self, now: u64) {
        let mut work = 0;
        for waiting in self.waiting.values() {
            work += waiting.transmission_time;
        }
        self.all_sent_by = u128::from(now) + work;
    }

    /// Lifts the deadline for waiting packets on a preemptive link, because a struck packet takes
    /// an unknown time.
    pub(crate) const fn lift_deadline(&mut self) {
        self.all_sent_by = u128::MAX / 2;
    }

    /// Whether more packets wait than the queue may hold. `beside` packets are not counted.
    fn overflows(&self, beside: usize) -> bool {
        let Limits { packets, bytes } = self.record.limit;
        let most = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
        let longest = || {
            if beside == 0 {
                0
            } else {
                self.waiting
                    .values()
                    .map(|waiting| waiting.len)
                    .max()
                    .unwrap_or(0)
            }
        };
        self.waiting.len().saturating_sub(beside) as u64 > most(packets)
            || self.bytes > most(bytes) && self.bytes - longest() > most(bytes)
    }

    /// Checks the queue's limit before the next change, because packets that an arrival pushes out
    /// leave at the same instant. On a preemptive link, the packet in transmission is still in this
    /// model's queue but no longer in the real one.
    pub(crate) fn holds(&self, now: u64, is_drop: bool) -> Check {
        let has_time = is_drop && self.last.at == now;
        ensure(
            has_time || !self.overflows(self.record.preempts.into()),
            || {
                format!(
                    "{} packets of {} bytes wait, and the queue holds {}",
                    self.waiting.len(),
                    self.bytes,
                    self.record.limit
                )
            },
        )
    }

    fn is_lifo(&self) -> bool {
        matches!(self.discipline, Some(AnyDiscipline::Lifo(_)))
    }

    fn onset(&self) -> Option<Onset> {
        let rate = Rate::from_bits_per_second(self.record.rate)?;
        self.discipline
            .as_ref()
            .map(|discipline| discipline.onset(rate))
    }

    /// The order in which packets leave: as the header promises, or stricter if the discipline
    /// keeps more.
    fn order(&self) -> Order {
        match &self.discipline {
            Some(discipline) if discipline.info().queues == Queues::One => Order::Fifo,
            _ => self.record.order,
        }
    }

    /// Notes how much later than possible a packet left the wire.
    pub(crate) fn comes_late_by(&mut self, time: u64) {
        let (packets, largest) = &mut self.late;
        *packets = packets.saturating_add(1);
        *largest = (*largest).max(time);
    }

    /// Checks that the header does not exaggerate jitter. Jitter is uniform from 0 to the bound, so
    /// 64 packets or more are all in the first quarter with a probability of at most 2^-128.
    pub(crate) fn has_jitter(&self) -> Check {
        let (packets, largest) = self.late;
        ensure(packets < 64 || largest >= self.record.jitter / 4, || {
            format!(
                "none of {packets} packets was later than {largest} ps, and the header says {} ps \
                 of jitter",
                self.record.jitter
            )
        })
    }

    /// Checks that the wire loses the header's share of packets. If the check fails, then by
    /// Chernoff's bound a true wire would lose so many, or so few, with a probability below 2^-128.
    pub(crate) fn has_losses(&self) -> Check {
        let WireCounts {
            sent: packets,
            lost,
        } = self.wire;
        let share = self.record.loss as f64 / 1e9;
        let all = packets as f64;
        let found = lost as f64 / packets.max(1) as f64;
        let term = |found: f64, share: f64| {
            if found > 0.0 {
                found * (found / share).ln()
            } else {
                0.0
            }
        };
        let divergence = term(found, share) + term(1.0 - found, 1.0 - share);
        let is_likely = packets == 0 || all * divergence <= 128.0 * std::f64::consts::LN_2;
        ensure(is_likely, || {
            format!(
                "{lost} of {packets} packets are lost on the wire, and the header says a share of \
                 {share}"
            )
        })
    }

    /// Checks before an arrival that the link has not picked a packet at this instant, because
    /// arrivals come first.
    pub(crate) fn has_not_picked(&self, now: u64) -> Check {
        ensure(self.picked_at != Some(now), || {
            "the link has picked a packet at this instant: arrivals come first".to_owned()
        })
    }

    /// Checks that the packet of this `rank` can be dropped for this reason. `longest` is the
    /// longest packet set for its flow, in bytes.
    pub(crate) fn has_reason(
        &self,
        reason: DropReason,
        rank: u64,
        longest: Option<u32>,
        now: u64,
    ) -> Check {
        let Some(dropped) = self.waiting.get(&rank).copied() else {
            return Ok(());
        };
        ensure(self.drops_as(reason), || {
            format!("{} drops no packet as {}", self.record.queue, reason.name())
        })?;
        match reason {
            DropReason::Filtered => self.can_filter(rank),
            DropReason::Early => self.can_drop_early(dropped, now),
            DropReason::Refused => self.can_refuse(rank, dropped, longest, now),
            DropReason::Full | DropReason::PushedOut => self.can_make_room(reason, dropped, now),
        }
    }

    /// Whether the discipline ever drops for this reason. A tree may drop for any, because the log
    /// has only its name.
    fn drops_as(&self, reason: DropReason) -> bool {
        match &self.discipline {
            Some(discipline) => discipline.info().drops.contains(&reason),
            None => true,
        }
    }

    /// Whether the discipline drops for this reason at a bound of its own, below the buffer's
    /// limit. A tree may do so for any.
    fn drops_at_own_bound(&self, reason: DropReason) -> bool {
        match &self.discipline {
            Some(discipline) => discipline.info().bounds.contains(&reason),
            None => true,
        }
    }

    /// Checks that the discipline filters acknowledgements, and that another packet has come after
    /// this one. The log does not hold what packets acknowledge. A tree may filter any.
    fn can_filter(&self, rank: u64) -> Check {
        let Some(discipline) = &self.discipline else {
            return Ok(());
        };
        ensure(discipline.info().reads_acknowledgements, || {
            format!("{} filters no acknowledgements", self.record.queue)
        })?;
        ensure(rank + 1 < self.arrived, || {
            "an acknowledgement is filtered only when a later one has come".to_owned()
        })
    }

    /// Checks that the discipline can refuse the packet. `longest` is as in [`Self::has_reason`].
    fn can_refuse(&self, rank: u64, refused: Waiting, longest: Option<u32>, now: u64) -> Check {
        let Some(discipline) = &self.discipline else {
            return Ok(());
        };
        ensure(self.last.at == now && rank + 1 == self.arrived, || {
            "only the arriving packet can be refused".to_owned()
        })?;
        // Packets that wait already may have brought the queue to the discipline's own bound.
        if self.drops_at_own_bound(DropReason::Refused) && self.last.waiting > 1 {
            return Ok(());
        }
        let longest = longest.map(|longest| {
            self.layer
                .len_on_link(longest)
                .max(longest)
                .min(FlowConfig::MAX_PACKET_LEN)
        });
        // A flow's replies pass through queues without its settings, so either may refuse it.
        let is_taken = takes(discipline, refused, None) && takes(discipline, refused, longest);
        ensure(!is_taken, || {
            format!(
                "{} refuses no packet of {} bytes",
                self.record.queue, refused.len
            )
        })
    }

    /// Checks that the packet can be dropped to make room: an arrival now asks for it, at the
    /// discipline's own bound or at the buffer's limit.
    fn can_make_room(&self, reason: DropReason, dropped: Waiting, now: u64) -> Check {
        ensure(self.last.at == now, || {
            format!(
                "no packet arrives at the queue, and none can be dropped as {}",
                reason.name()
            )
        })?;
        ensure(reason == DropReason::Full || self.last.waiting > 1, || {
            "there is no other packet to push it out".to_owned()
        })?;
        if self.drops_at_own_bound(reason) {
            return Ok(());
        }
        self.overflows_for(reason, dropped, now)
    }

    /// Checks a drop at the buffer's limit. It is full for the arriving packet, or for another of
    /// its flow that came at the same instant, because the buffer cannot tell these apart. Any
    /// other packet is pushed out.
    fn overflows_for(&self, reason: DropReason, dropped: Waiting, now: u64) -> Check {
        let arrives = dropped.flow == self.last.flow && dropped.since == now;
        ensure(self.overflows(0), || "the queue has room for it".to_owned())?;
        // A preemptive link puts the interrupted packet back, so this one arrives as well.
        ensure(
            self.record.preempts || arrives == (reason == DropReason::Full),
            || match reason {
                DropReason::Full => {
                    "the packet waits already: at an arrival it is pushed out".to_owned()
                }
                _ => "the packet arrives: the queue is full for it".to_owned(),
            },
        )
    }

    /// Checks that the discipline can drop the packet early, by the condition that it states
    /// ([`Onset`]).
    fn can_drop_early(&self, dropped: Waiting, now: u64) -> Check {
        let queue = &self.record.queue;
        match self.onset().unwrap_or(Onset::Unknown) {
            Onset::Unknown => Ok(()),
            Onset::Wait(least) => {
                let waited = now - dropped.since;
                ensure(waited >= least.as_picos(), || {
                    format!("{queue} drops no packet early that has waited {waited} ps only")
                })
            }
            Onset::Backlog { above } => {
                let waiting = self.bytes - dropped.len;
                ensure(dropped.since == now && waiting > above, || {
                    format!("{queue} drops no packet early when {waiting} bytes wait")
                })
            }
            Onset::Average {
                least, in_bytes, ..
            } => {
                let bound = self.average.bound;
                let unit = if in_bytes { "bytes" } else { "packets" };
                ensure(bound + Average::ROUNDING >= least as f64, || {
                    format!(
                        "{queue} drops no packet early: the average queue is {bound:.0} {unit} at \
                         most, and min is {least}"
                    )
                })
            }
        }
    }

    /// The packet that has waited longest.
    pub(crate) fn first(&self) -> Option<u64> {
        self.waiting
            .first_key_value()
            .map(|(_, waiting)| waiting.packet)
    }

    /// The packet that arrived last.
    pub(crate) fn newest(&self) -> Option<u64> {
        self.waiting
            .last_key_value()
            .map(|(_, waiting)| waiting.packet)
    }

    /// A waiting packet that should leave before the one of this `rank`.
    pub(crate) fn overtaken(&self, rank: u64) -> Option<u64> {
        let first = match self.order() {
            Order::Any if self.is_lifo() => *self.waiting.last_key_value()?.0,
            Order::Any => return None,
            Order::PerFlow => {
                let flow = self.waiting.get(&rank)?.flow;
                self.by_flow.range((flow, 0)..).next()?.1
            }
            Order::Fifo => *self.waiting.first_key_value()?.0,
        };
        self.waiting
            .get(&first)
            .filter(|_| first != rank)
            .map(|waiting| waiting.packet)
    }

    /// Checks that the packet of this `rank` leaves in the promised order.
    pub(crate) fn is_in_order(&self, rank: u64, checks: &mut Checks) -> Check {
        checks.fifo += u64::from(self.order() == Order::Fifo);
        checks.in_flow += u64::from(self.order() == Order::PerFlow);
        if self.is_lifo() {
            let newest = self.overtaken(rank);
            return newest.map_or(Ok(()), |newest| {
                Err(format!(
                    "lifo sends the newest packet first, here packet {newest}"
                ))
            });
        }
        self.overtaken(rank).map_or(Ok(()), |other| {
            Err(format!(
                "the packet overtakes packet {other} in a queue that keeps order"
            ))
        })
    }

    /// Checks that the link can make a transmission.
    pub(crate) fn transmits(
        &mut self,
        rank: u64,
        len: u32,
        now: u64,
        end: u64,
        checks: &mut Checks,
    ) -> Check {
        checks.transmissions += 1;
        let bytes = self.len_of(len);
        let bits = u128::from(bytes) * 8;
        let exact = self.time_of(bytes);
        self.holds(now, false)?;
        self.decides(now)?;
        if self.record.preempts {
            self.does_not_rest(now, checks)?;
            return self.has_transmitted(rank, exact, now, end);
        }
        if let Some(trace) = &self.trace {
            trace.carries(bytes, now, end)?;
            self.does_not_rest(now, checks)?;
            return self.keeps_to_its_rate(bytes, now);
        }
        let took = u128::from(end.checked_sub(now).ok_or("it ends before it starts")?);
        ensure(took == exact, || {
            format!("{bits} bits take {exact} ps on this link, not {took}")
        })?;
        ensure(now >= self.free_at, || {
            format!("the link is not free before {}", self.free_at)
        })?;
        self.does_not_rest(now, checks)?;
        self.keeps_to_its_rate(bytes, now)
    }

    /// The same check for a preemptive link. There was time for this packet since its arrival, and
    /// for all packets together since the first arrival. No packet sent later has arrived earlier,
    /// so idle time before then is lost.
    fn has_transmitted(&mut self, rank: u64, took: u128, now: u64, end: u64) -> Check {
        ensure(end == now, || "it ends when it is told".to_owned())?;
        let since =
            |waiting: Option<&Waiting>| u128::from(waiting.map_or(now, |waiting| waiting.since));
        let first = since(self.waiting.first_key_value().map(|(_, first)| first));
        let done = self.done.max(first) + took;
        let has_time =
            since(self.waiting.get(&rank)) + took <= u128::from(now) && done <= u128::from(now);
        ensure(has_time, || {
            format!("the transmission takes {took} ps, more than the link had since the arrival")
        })?;
        self.done = done;
        Ok(())
    }

    /// Checks that the header does not exaggerate the decision cost: a discipline has decided
    /// nothing before its first packet.
    fn decides(&mut self, now: u64) -> Check {
        let is_first = !std::mem::replace(&mut self.has_decided, true) && !self.record.preempts;
        let starts_at = self.backlogged_at.saturating_add(self.record.decision);
        ensure(!is_first || now >= starts_at, || {
            format!("the link's first decision lasts until {starts_at}")
        })
    }

    /// Checks that the shaper sends no more than it promises, in any time up to now: a bucket of
    /// tokens (GCRA) holds what it may send at once. Then takes the packet's tokens out.
    fn keeps_to_its_rate(&mut self, bytes: u64, now: u64) -> Check {
        let Some(most) = self.most() else {
            return Ok(());
        };
        let [own, burst] = [bytes, most.burst].map(|bytes| time_at(most.rate, bytes));
        let full_at = self.bucket_full_at.max(now.into()) + own;
        ensure(full_at <= u128::from(now) + burst, || {
            format!(
                "{} sends more than {} bit/s and {} bytes at once",
                self.record.queue, most.rate, most.burst
            )
        })?;
        self.bucket_full_at = full_at;
        Ok(())
    }

    fn most(&self) -> Option<&MostRecord> {
        self.record.shaper.as_ref()?.most.as_ref()
    }

    /// Checks that the link can rest: it is free, packets wait, and its shaper's rests are told.
    pub(crate) fn rests(&mut self, now: u64, until: u64, checks: &mut Checks) -> Check {
        let tells = self
            .record
            .shaper
            .as_ref()
            .is_some_and(|shaper| shaper.tells_rests);
        ensure(tells, || format!("{} tells of no rests", self.record.queue))?;
        ensure(now >= self.free_at, || {
            format!("the link is not free before {}", self.free_at)
        })?;
        ensure(until > now, || "the rest ends before it begins".to_owned())?;
        self.does_not_rest(now, checks)?;
        self.rests_until = until;
        Ok(())
    }

    /// Until when a shaper may let the link rest before it sends one of the packets that wait: as
    /// the log tells, and no longer than its bucket asks for. `rests`: from when on the link would be
    /// idle.
    fn may_rest_until(&self, rests: u64) -> u64 {
        let Some(shaper) = &self.record.shaper else {
            return rests;
        };
        let by_bucket = self.bucket_lets_rest_until(shaper, rests);
        if !shaper.tells_rests {
            return by_bucket;
        }
        let told = rests.max(self.rests_until);
        // Where the discipline would send, a link with a trace may have to wait for its next time.
        let told = match &self.trace {
            Some(trace) if told > rests => trace.could_start(told),
            _ => told,
        };
        told.min(by_bucket)
    }

    fn bucket_lets_rest_until(&self, shaper: &ShaperRecord, rests: u64) -> u64 {
        let (Some(most), Some(bucket)) = (&shaper.most, shaper.prompt) else {
            return u64::MAX;
        };
        let longest = self.waiting.values().map(|waiting| waiting.len).max();
        let own = time_at(most.rate, longest.unwrap_or(0));
        let ready = self.bucket_full_at + own + ROUNDING;
        let ready = ready.saturating_sub(time_at(most.rate, bucket));
        rests.max(u64::try_from(ready).unwrap_or(u64::MAX))
    }

    /// Checks that the link was busy until `now` if packets waited.
    pub(crate) fn does_not_rest(&self, now: u64, checks: &mut Checks) -> Check {
        let Some((_, first)) = self.waiting.first_key_value() else {
            return Ok(());
        };
        checks.rests += 1;
        if self.record.preempts {
            let has_work = u128::from(now) <= self.all_sent_by;
            return ensure(has_work, || {
                format!(
                    "the link should have sent all that waits by {}, packet {} too",
                    self.all_sent_by, first.packet
                )
            });
        }
        let waits_from = self.free_at.max(first.since);
        let could_send_at = match &self.trace {
            Some(trace) => trace.could_start(waits_from),
            None => waits_from.saturating_add(self.record.decision),
        };
        let could_send_at = self.may_rest_until(could_send_at);
        ensure(now <= could_send_at, || {
            format!(
                "the link rests from {could_send_at} on while packet {} waits",
                first.packet
            )
        })
    }

    /// Puts a packet on the wire until `end`, as logged at `now`. Returns the first and the last
    /// instant at which it may arrive. `len` is the packet's length, if known.
    pub(crate) fn put_on_wire(
        &mut self,
        packet: u64,
        len: Option<u32>,
        now: u64,
        end: u64,
    ) -> (u64, u64) {
        let bytes = len.map(|len| self.len_of(len));
        if let Some(trace) = &mut self.trace {
            match bytes {
                Some(bytes) => trace.carry(bytes, now),
                None => trace.is_taken_until(end),
            }
        }
        self.wire.sent += 1;
        self.logged_at = now;
        self.picked_at = (!self.record.preempts).then_some(now);
        self.free_at = end;
        self.flying.push_back(packet);
        let earliest = end.saturating_add(self.record.delay);
        (earliest, earliest.saturating_add(self.record.jitter))
    }

    /// Takes a packet off the wire.
    pub(crate) fn take_off_wire(&mut self, packet: u64) -> Check {
        ensure(self.flying.front() == Some(&packet), || {
            "it overtakes on the wire".to_owned()
        })?;
        self.flying.pop_front();
        Ok(())
    }

    /// Removes the last packet put on the wire, because a loss is logged when the packet leaves the
    /// queue.
    pub(crate) fn lose(&mut self, packet: u64, now: u64) -> Check {
        ensure(self.record.loss > 0, || {
            "this link loses nothing".to_owned()
        })?;
        self.wire.lost += 1;
        ensure(self.flying.back() == Some(&packet), || {
            "the packet is not the last one sent".to_owned()
        })?;
        ensure(self.logged_at == now, || {
            format!(
                "it left the queue at {}, and is lost then or not at all",
                self.logged_at
            )
        })?;
        self.flying.pop_back();
        Ok(())
    }

    /// Removes a packet from the wire.
    pub(crate) fn forget(&mut self, packet: u64) {
        self.flying.retain(|flying| *flying != packet);
    }
}

/// What a shaper's times are rounded by, in picoseconds: one for each packet of a million.
const ROUNDING: u128 = 1_000_000;

/// The time that `bytes` take at a rate, in picoseconds.
fn time_at(rate: u64, bytes: u64) -> u128 {
    u128::from(bytes) * 8_000_000_000_000 / u128::from(rate.max(1))
}

/// Whether the discipline takes the packet into an empty queue.
fn takes(discipline: &AnyDiscipline, packet: Waiting, longest: Option<u32>) -> bool {
    // Queues number the flows alive, from 0, so no number is higher than in the log, which counts
    // all flows.
    if packet.flow > FlowId::LARGEST_TABLED.0.into() {
        return false;
    }
    let flow = FlowId(0);
    let len = u32::try_from(packet.len).unwrap_or(u32::MAX);
    let Ok(mut empty) = discipline.build_arena::<()>(Seed::new(0)) else {
        return false;
    };
    let settings = longest.map(|max_packet_len| FlowConfig {
        max_packet_len,
        ..FlowConfig::DEFAULT
    });
    settings.is_none_or(|settings| empty.set_flow(flow, settings).is_ok())
        && empty
            .enqueue(Instant::ZERO, Packet::new(flow, len, ()))
            .is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of what is new, and half less for each packet that idle time would have carried.
    #[test]
    fn an_average_follows_the_backlog_and_falls_while_idle() {
        let mut average = Average::default();
        average.observe(0, 100, 1, 10);
        assert_eq!(average.bound, 50.0);
        average.observe(1, 200, 1, 10);
        assert_eq!(average.bound, 125.0);
        average.idle_since = Some(100);
        average.observe(125, 999, 1, 10);
        assert_eq!(average.bound, 125.0 / 4.0, "two packets' time");
        assert_eq!(average.idle_since, None);
    }

    /// An early drop needs an average of min, but for what a discipline rounds.
    #[test]
    fn an_average_may_lack_what_is_rounded() {
        let text = r#"{"from":0,"to":1,"rate":8000000,"delay":0,"jitter":0,"overhead":0,"loss":0,
            "queue":"red min 2kb max 8kb burst 5 probability 0.5 avpkt 1000b",
            "limit":{"packets":9,"bytes":null},"order":"per_flow","preempts":false}"#;
        let record: LinkRecord = serde_json::from_str(text).unwrap();
        let queue = record.queue.parse().unwrap();
        let mut state = LinkState::new(record, Some(queue)).expect("no framing");
        let dropped = Waiting {
            packet: 0,
            flow: 0,
            since: 0,
            len: 1000,
            transmission_time: 0,
        };
        for (bound, is_fine) in [(2048.0, true), (2047.0, true), (2046.9, false)] {
            state.average.bound = bound;
            assert_eq!(state.can_drop_early(dropped, 0).is_ok(), is_fine, "{bound}");
        }
    }
}
