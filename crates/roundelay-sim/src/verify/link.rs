//! A link of a log that is being checked: who waits, who flies, and when it is free.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use roundelay::DropReason;

use super::Checks;
use super::books::{Check, ensure};
use crate::log::{Limits, LinkRecord, Order};
use crate::network::TREE;

/// A packet in a queue.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    packet: u64,
    flow: u64,
    since: u64,
    len: u64,
    /// Time that it needs on the link.
    took: u128,
}

#[derive(Debug)]
pub(super) struct LinkState {
    pub(super) record: LinkRecord,
    /// Packets in the queue, by their places in the order in which they came.
    waiting: BTreeMap<u64, Waiting>,
    /// The same by flow, where the order within flows is promised.
    by_flow: BTreeSet<(u64, u64)>,
    arrived: u64,
    /// Packets on the link or behind it, in the order in which they will come off it.
    flying: VecDeque<u64>,
    free_at: u64,
    /// When the line that told of the last transmission was told.
    told_at: u64,
    /// If it interrupts packets: when it can have done the work that was told, at the earliest.
    done: u128,
    /// And when it must have done all that has come, if it never rests.
    must_end: u128,
    /// Bytes in the queue.
    bytes: u64,
    /// When a packet came to the queue last, and how many there were then.
    last: (u64, usize),
    /// The discipline drops packets as a full queue does, by bounds of its own beside the queue's limit.
    has_own_bounds: bool,
}

impl LinkState {
    pub(super) fn new(record: LinkRecord) -> Self {
        let (waiting, by_flow, flying) = (BTreeMap::new(), BTreeSet::new(), VecDeque::new());
        let has_own_bounds = record.queue.split_whitespace().next().is_some_and(|name| ["mqfq", TREE].contains(&name));
        let (done, must_end, last) = (0, 0, (0, 0));
        Self { record, waiting, by_flow, arrived: 0, flying, free_at: 0, told_at: 0, done, must_end, bytes: 0, last, has_own_bounds }
    }

    /// Bytes that a packet takes of the link.
    fn len_of(&self, len: u32) -> u64 {
        u64::from(len) + u64::from(self.record.overhead)
    }

    /// Time that so many bytes need, in picoseconds.
    fn time_of(&self, bytes: u64) -> u128 {
        (u128::from(bytes) * 8_000_000_000_000).div_ceil(u128::from(self.record.rate))
    }

    /// A packet comes to the queue: its place there.
    pub(super) fn enter(&mut self, packet: u64, flow: u64, len: u32, since: u64) -> u64 {
        let place = self.arrived;
        let len = self.len_of(len);
        let took = self.time_of(len);
        self.arrived += 1;
        self.waiting.insert(place, Waiting { packet, flow, since, len, took });
        self.bytes += len;
        self.must_end = self.must_end.max(since.into()) + took;
        self.last = (since, self.waiting.len());
        if self.record.order == Order::PerFlow {
            self.by_flow.insert((flow, place));
        }
        place
    }

    /// Takes a packet out of the queue, whether or not it is its turn.
    pub(super) fn take(&mut self, place: u64) {
        if let Some(Waiting { flow, len, .. }) = self.waiting.remove(&place) {
            self.by_flow.remove(&(flow, place));
            self.bytes -= len;
        }
    }

    /// After a packet has left, dropped or sent: an empty queue's link is free, and what was dropped needs no more of it than it had time for.
    pub(super) fn leaves(&mut self, place: u64, now: u64, is_dropped: bool) {
        if let Some(Waiting { since, took, .. }) = self.waiting.get(&place).filter(|_| is_dropped) {
            self.must_end -= took.saturating_sub(u128::from(now - since));
        }
        self.take(place);
        if self.waiting.is_empty() {
            self.must_end = now.into();
        }
    }

    /// After it has rested: as if it began now.
    pub(super) fn begin_again(&mut self, now: u64) {
        self.must_end = u128::from(now) + self.waiting.values().map(|waiting| waiting.took).sum::<u128>();
    }

    /// Something comes of which nobody knows how long it needs: if the link interrupts packets, what waits may be late for it.
    pub(super) const fn take_your_time(&mut self) {
        self.must_end = u128::MAX / 2;
    }

    /// Whether more waits than the queue holds, not counting `beside` packets.
    fn overflows(&self, beside: usize) -> bool {
        let Limits { packets, bytes } = self.record.limit;
        let most = |limit: Option<u64>| limit.unwrap_or(u64::MAX);
        let longest = || if beside == 0 { 0 } else { self.waiting.values().map(|waiting| waiting.len).max().unwrap_or(0) };
        self.waiting.len().saturating_sub(beside) as u64 > most(packets) || self.bytes > most(bytes) && self.bytes - longest() > most(bytes)
    }

    /// Whether the queue holds what waits, before something else happens to it: what an arrival drives out goes at once. A packet that has
    /// the link is told of at its end, if the link interrupts packets, and is in the queue no more.
    pub(super) fn holds(&self, now: u64, is_drop: bool) -> Check {
        let has_time = is_drop && self.last.0 == now;
        ensure(has_time || !self.overflows(self.record.preempts.into()), || {
            format!("{} packets of {} bytes wait, and the queue holds {}", self.waiting.len(), self.bytes, self.record.limit)
        })
    }

    /// Whether there is this reason to drop a packet.
    pub(super) fn has_reason(&self, reason: DropReason, now: u64) -> Check {
        let arrives =
            || ensure(self.last.0 == now, || format!("nothing comes to the queue, so that nothing is dropped as {}", reason.name()));
        match reason {
            DropReason::Full => {
                arrives()?;
                ensure(self.has_own_bounds || self.overflows(0), || "the queue has room for it".to_owned())
            }
            DropReason::PushedOut => {
                arrives()?;
                ensure(self.last.1 > 1, || "there is no other packet to push it out".to_owned())
            }
            DropReason::Early | DropReason::Refused => Ok(()),
        }
    }

    /// The packet that has waited longest.
    pub(super) fn first(&self) -> Option<u64> {
        self.waiting.first_key_value().map(|(_, waiting)| waiting.packet)
    }

    /// The packet that came last.
    pub(super) fn newest(&self) -> Option<u64> {
        self.waiting.last_key_value().map(|(_, waiting)| waiting.packet)
    }

    /// A packet that should leave before the one at this place.
    pub(super) fn overtaken(&self, place: u64) -> Option<u64> {
        let first = match self.record.order {
            Order::Any => return None,
            Order::PerFlow => {
                let flow = self.waiting.get(&place)?.flow;
                self.by_flow.range((flow, 0)..).next()?.1
            }
            Order::Fifo => *self.waiting.first_key_value()?.0,
        };
        self.waiting.get(&first).filter(|_| first != place).map(|waiting| waiting.packet)
    }

    /// Whether it is the turn of the packet at this place.
    pub(super) fn is_in_order(&self, place: u64, checks: &mut Checks) -> Check {
        checks.fifo += u64::from(self.record.order == Order::Fifo);
        checks.in_flow += u64::from(self.record.order == Order::PerFlow);
        self.overtaken(place).map_or(Ok(()), |other| Err(format!("it overtakes packet {other} in a queue that promises order")))
    }

    /// Whether a transmission is one that the link can do.
    pub(super) fn transmits(&mut self, place: u64, len: u32, now: u64, end: u64, checks: &mut Checks) -> Check {
        checks.transmissions += 1;
        let bytes = self.len_of(len);
        let (bits, exact) = (u128::from(bytes) * 8, self.time_of(bytes));
        self.holds(now, false)?;
        if self.record.preempts {
            self.does_not_rest(now, checks)?;
            return self.has_transmitted(place, exact, now, end);
        }
        let took = u128::from(end.checked_sub(now).ok_or("it ends before it starts")?);
        ensure(took == exact, || format!("{bits} bits take {exact} ps on this link, not {took}"))?;
        ensure(now >= self.free_at, || format!("the link is not free before {}", self.free_at))?;
        self.does_not_rest(now, checks)
    }

    /// The same of a link that interrupts packets: it has had time for this one since it came, and for all together since the first of them
    /// came. Whatever it sends from then on came no earlier, so that a rest before is worth nothing.
    fn has_transmitted(&mut self, place: u64, took: u128, now: u64, end: u64) -> Check {
        ensure(end == now, || "it ends when it is told".to_owned())?;
        let since = |waiting: Option<&Waiting>| u128::from(waiting.map_or(now, |waiting| waiting.since));
        let first = since(self.waiting.first_key_value().map(|(_, first)| first));
        let done = self.done.max(first) + took;
        let has_time = since(self.waiting.get(&place)) + took <= u128::from(now) && done <= u128::from(now);
        ensure(has_time, || format!("it takes {took} ps on this link, which has not had them since"))?;
        self.done = done;
        Ok(())
    }

    /// Whether it has sent until `now` if something waited.
    pub(super) fn does_not_rest(&self, now: u64, checks: &mut Checks) -> Check {
        let Some((_, first)) = self.waiting.first_key_value() else { return Ok(()) };
        checks.rests += 1;
        if self.record.preempts {
            let has_work = u128::from(now) <= self.must_end;
            return ensure(has_work, || {
                format!("the link should have sent all that waits by {}, packet {} too", self.must_end, first.packet)
            });
        }
        let could_send_at = self.free_at.max(first.since).saturating_add(self.record.decision);
        ensure(now <= could_send_at, || format!("the link rests from {could_send_at} on while packet {} waits", first.packet))
    }

    /// A packet goes on the wire, until `end`, as is told `now`: the first and the last instant at which it can come off.
    pub(super) fn fly(&mut self, packet: u64, now: u64, end: u64) -> (u64, u64) {
        self.told_at = now;
        self.free_at = end;
        self.flying.push_back(packet);
        let earliest = end.saturating_add(self.record.delay);
        (earliest, earliest.saturating_add(self.record.jitter))
    }

    /// A packet comes off the wire.
    pub(super) fn land(&mut self, packet: u64) -> Check {
        ensure(self.flying.front() == Some(&packet), || "it overtakes on the wire".to_owned())?;
        self.flying.pop_front();
        Ok(())
    }

    /// The packet that went on the wire last does not come off it, which is told as soon as it has left the queue.
    pub(super) fn lose(&mut self, packet: u64, now: u64) -> Check {
        ensure(self.record.loses, || "this link loses nothing".to_owned())?;
        ensure(self.flying.back() == Some(&packet), || "it is not the last that was sent".to_owned())?;
        ensure(self.told_at == now, || format!("it left the queue at {}, and is lost then or not at all", self.told_at))?;
        self.flying.pop_back();
        Ok(())
    }

    /// As if a packet had never been on the wire.
    pub(super) fn forget(&mut self, packet: u64) {
        self.flying.retain(|flying| *flying != packet);
    }
}
