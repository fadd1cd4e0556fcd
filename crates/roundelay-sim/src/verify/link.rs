//! A link of a log that is being checked: who waits, who flies, and when it is free.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::Checks;
use super::books::{Check, ensure};
use crate::log::{LinkRecord, Order};

/// A packet in a queue.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    packet: u64,
    flow: u64,
    since: u64,
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
}

impl LinkState {
    pub(super) fn new(record: LinkRecord) -> Self {
        let (waiting, by_flow, flying) = (BTreeMap::new(), BTreeSet::new(), VecDeque::new());
        Self { record, waiting, by_flow, arrived: 0, flying, free_at: 0, told_at: 0, done: 0 }
    }

    /// A packet comes to the queue: its place there.
    pub(super) fn enter(&mut self, packet: u64, flow: u64, since: u64) -> u64 {
        let place = self.arrived;
        self.arrived += 1;
        self.waiting.insert(place, Waiting { packet, flow, since });
        if self.record.order == Order::PerFlow {
            self.by_flow.insert((flow, place));
        }
        place
    }

    /// Takes a packet out of the queue, whether or not it is its turn.
    pub(super) fn take(&mut self, place: u64) {
        if let Some(Waiting { flow, .. }) = self.waiting.remove(&place) {
            self.by_flow.remove(&(flow, place));
        }
    }

    /// The packet that has waited longest.
    pub(super) fn first(&self) -> Option<u64> {
        self.waiting.first_key_value().map(|(_, waiting)| waiting.packet)
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
        let bits = (u128::from(len) + u128::from(self.record.overhead)) * 8;
        let exact = (bits * 1_000_000_000_000).div_ceil(u128::from(self.record.rate));
        if self.record.preempts {
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
        let Some((_, first)) = self.waiting.first_key_value().filter(|_| !self.record.preempts) else { return Ok(()) };
        checks.rests += 1;
        let could_send_at = self.free_at.max(first.since);
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
