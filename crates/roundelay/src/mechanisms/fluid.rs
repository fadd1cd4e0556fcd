//! Packets that wait, timed by the fluid server ([`GpsClock`]): what `wfq` and `wf2q` have in common. They differ in the [`Order`] of flows.
//!
//! Only the first packet of each flow has times: S = max(V as it came, F of the packet before), F = S + len / weight. They are reckoned once,
//! as it gets there, and stay. So a weight that changes counts from the packet behind it, and what the link has sent or is about to send
//! has been timed once and for all. If the fluid server is through with the first one by then, those behind it start anew, at V.
//!
//! Latency. Let p be a packet of a flow whose weight stays, and W the most that weights have come to add up to (`total_weight`, in which a
//! larger weight counts until V has passed what was timed with it). Then p leaves L / R after GRC(p) at the latest, whoever else is pushed
//! out, comes, goes or is given another weight:
//!
//! (1) V reaches F_p at T <= GRC(p), since it rises by R / W or faster while the link is busy, and GRC(p) takes the same maximum and the same
//! sum as F_p at this slope.
//! (2) Let m be the last packet before p that the link took, at t, with an F larger than F_p; if there is none, or the fluid server has
//! passed over time since (`catch_up`), let t be the beginning of the busy period, or when it last did so, and m nothing.
//! (3) No packet q between m and p had been begun by the fluid server at t. In `wfq`: the first packet of q's flow at t would have had an F no
//! less than F_m, since m was chosen; it was sent between m and p, with the same F; but those are F_p at most. So nobody of q's flow
//! waited. In `wf2q`: it may have waited, but had not begun. As V passes over time, no packet that waits has begun.
//! (4) By T the fluid server is through with each of these, q and p: its F is F_p at most, and nothing that happens after the link has taken
//! it makes the fluid server later with it.
//! (5) So in the time from t to T the fluid server has done all bytes from behind m to p, at the rate R: these are sent by T, and m takes L / R.
//!
//! What the fluid server does for packets that are pushed out later only delays T, and (1) has room for that. A clock that jumped to make
//! up for it would break (5): there are packets that it has done faster than at the rate R.

use alloc::vec::Vec;
use core::fmt::Debug;

use crate::config::ConfigError;
use crate::mechanisms::gps_clock::GpsClock;
use crate::mechanisms::longest::Longest;
use crate::packet::{FlowId, Packet};
use crate::pool::{Backlog, Pool, Queue};
use crate::scheduler::{FlowConfig, Footprint, Scheduler, is_time_to_check};
use crate::time::Instant;
use crate::units::Rate;
use crate::virtual_time::VirtualTime;

/// When the fluid server serves a packet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Service {
    /// S.
    pub(crate) start: VirtualTime,
    /// F.
    pub(crate) finish: VirtualTime,
}

/// Virtual times no further apart than this are equal: 2^-18 bytes per unit of weight.
pub(crate) const TOLERANCE: u64 = 1 << ROUNDED_BITS;
const ROUNDED_BITS: u32 = 12;

impl Service {
    /// F, such that packets that tie compare as equal.
    #[inline]
    pub(crate) const fn rounded_finish(self) -> VirtualTime {
        self.finish.plus(1 << (ROUNDED_BITS - 1)).slot_start(ROUNDED_BITS)
    }
}

/// In which order flows are sent, by their first packets.
pub trait Order: Debug + Clone + Default + Send {
    /// The discipline.
    const NAME: &'static str;
    /// Memory for a flow.
    const BYTES_PER_FLOW: usize;

    /// A flow has this first packet.
    fn insert(&mut self, flow: usize, head: Service);

    /// A flow has no longer the first packet that it had.
    fn remove(&mut self, flow: usize);

    /// A flow has this first packet in place of another.
    fn replace(&mut self, flow: usize, head: Service);

    /// The flow whose first packet the link takes; none only if no flow has one. V may have to catch up.
    fn choose(&mut self, clock: &mut GpsClock, head: impl Fn(usize) -> Service) -> Option<usize>;

    /// Panics if a flow is not where its first packet belongs, or the order is broken.
    fn check(&self, flow: usize, head: Option<Service>, now: VirtualTime);
}

/// A scheduler that imitates the fluid server.
#[derive(Debug, Clone)]
pub struct Imitation<T, O> {
    /// Packets, each with V as it came.
    pool: Pool<(VirtualTime, T)>,
    flows: Vec<Flow>,
    /// The fluid server.
    clock: GpsClock,
    order: O,
    longest: Longest,
}

#[derive(Debug, Clone, Default)]
struct Flow {
    queue: Queue,
    /// Times of the first packet.
    head: Service,
    /// When the next one starts, or later: F of the first, of the last one if none waits.
    next: VirtualTime,
    /// What F's division left over, in units of 1 / weight.
    remainder: u32,
    /// It was removed and goes with its last packet.
    leaves: bool,
}

impl Flow {
    /// Times of a packet that has become the first: `came` is V as it came.
    #[inline]
    fn time(&mut self, came: VirtualTime, len: u32, weight: u32) {
        if came.is_after(self.next) {
            (self.next, self.remainder) = (came, 0);
        }
        let scaled = (u64::from(len) << VirtualTime::FRACTION_BITS) + u64::from(self.remainder);
        self.head.start = self.next;
        self.next = self.next.plus(scaled / u64::from(weight));
        self.remainder = (scaled % u64::from(weight)) as u32;
        self.head.finish = self.next;
    }
}

impl<T, O: Order> Default for Imitation<T, O> {
    fn default() -> Self {
        let (pool, flows, clock) = (Pool::default(), Vec::new(), GpsClock::default());
        Self { pool, flows, clock, order: O::default(), longest: Longest::default() }
    }
}

impl<T, O: Order> Imitation<T, O> {
    #[cfg(test)]
    pub(crate) fn start_at(now: VirtualTime) -> Self {
        Self { clock: GpsClock::start_at(now), ..Self::default() }
    }

    /// A flow that is not known joins with weight 1.
    #[inline]
    fn know(&mut self, number: usize) {
        if number >= self.flows.len() {
            self.flows.resize_with(number + 1, Flow::default);
        }
        if self.clock.weight(number) == 0 {
            self.set_weight(number, FlowConfig::DEFAULT.weight);
        }
    }

    #[cold]
    fn set_weight(&mut self, number: usize, weight: u32) {
        let flow = &mut self.flows[number];
        if self.clock.weight(number) != weight {
            flow.next = self.clock.set_weight(number, weight, flow.queue.bytes() - u64::from(flow.queue.head_len()));
            flow.remainder = 0;
        }
    }

    fn enqueue_packet(&mut self, packet: Packet<T>) {
        let (number, len, came) = (packet.flow.index(), packet.len, self.clock.now());
        let flow = &mut self.flows[number];
        if flow.queue.is_empty() && !self.clock.is_backlogged(number) {
            (flow.next, flow.remainder) = (came, 0);
        }
        self.clock.arrive(number, len);
        self.pool.push(&mut flow.queue, with(packet, |payload| (came, payload)));
        self.longest.changed(number, flow.queue.size());
        if flow.queue.packets() == 1 {
            flow.time(came, len, self.clock.weight(number));
            self.order.insert(number, flow.head);
        }
    }

    fn dequeue_packet(&mut self, now: Instant) -> Option<Packet<T>> {
        self.clock.complete();
        let number = self.order.choose(&mut self.clock, |number| self.flows[number].head)?;
        let flow = &mut self.flows[number];
        let packet = self.pool.pop(&mut flow.queue)?;
        self.clock.begin(now, packet.len);
        self.longest.changed(number, flow.queue.size());
        if let Some(next) = self.pool.head(&flow.queue) {
            flow.time(next.payload.0, next.len, self.clock.weight(number));
            self.order.replace(number, flow.head);
        } else {
            self.order.remove(number);
            self.leave_if_removed(number);
        }
        Some(with(packet, |(_, payload)| payload))
    }

    fn leave_if_removed(&mut self, number: usize) {
        if core::mem::take(&mut self.flows[number].leaves) {
            self.clock.forget(number);
        }
    }

    #[inline]
    fn debug_check(&self) {
        if is_time_to_check(self.flows.len(), self.pool.backlog()) {
            self.check_invariants();
        }
    }
}

/// The packet with something else as its payload.
#[inline]
fn with<T, U>(packet: Packet<T>, payload: impl FnOnce(T) -> U) -> Packet<U> {
    let Packet { flow, len, arrival, ecn, priority, slack, deadline, payload: before } = packet;
    Packet { flow, len, arrival, ecn, priority, slack, deadline, payload: payload(before) }
}

impl<T, O: Order> Scheduler<T> for Imitation<T, O> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Packet<T>> {
        if !packet.flow.fits_a_table() || !self.clock.has_room_for(packet.flow.index(), packet.len) {
            return Err(packet);
        }
        self.clock.advance(now);
        if self.pool.backlog().is_empty() {
            self.clock.rest();
        }
        self.know(packet.flow.index());
        self.enqueue_packet(packet);
        self.debug_check();
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        let packet = self.dequeue_packet(now);
        self.debug_check();
        packet
    }

    /// The tail of the longest backlog, which the fluid server gives up as well.
    fn evict(&mut self) -> Option<Packet<T>> {
        let number = self.longest.find(self.flows.iter().map(|flow| flow.queue.size()))?;
        let flow = &mut self.flows[number];
        let packet = self.pool.pop_tail(&mut flow.queue)?;
        self.longest.changed(number, flow.queue.size());
        self.clock.withdraw(number, packet.len);
        if flow.queue.is_empty() {
            (flow.next, flow.remainder) = (flow.head.start, 0);
            self.order.remove(number);
            self.leave_if_removed(number);
        }
        self.debug_check();
        Some(with(packet, |(_, payload)| payload))
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }

    fn set_link_rate(&mut self, rate: Rate) {
        self.clock.set_link_rate(rate);
    }

    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(O::NAME, flow)?;
        let number = flow.index();
        if number >= self.flows.len() {
            self.flows.resize_with(number + 1, Flow::default);
        }
        self.flows[number].leaves = false;
        self.set_weight(number, config.weight);
        self.debug_check();
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        let Some(record) = self.flows.get_mut(flow.index()) else { return };
        record.leaves = true;
        if record.queue.is_empty() {
            self.leave_if_removed(flow.index());
        }
        self.debug_check();
    }

    /// Flows that have left count until the fluid server is through with them, and so does the larger of two weights of a flow until it is
    /// through with what was timed with it.
    fn total_weight(&self) -> Option<u64> {
        Some(self.clock.known_weight())
    }

    fn footprint(&self) -> Footprint {
        let bytes_per_flow = size_of::<Flow>() + GpsClock::BYTES_PER_FLOW + O::BYTES_PER_FLOW + Longest::BYTES_PER_QUEUE;
        Footprint { fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES, bytes_per_flow }
    }

    /// 1. A flow with packets has a place in the order, one without has none.
    /// 2. The fluid server has as much to do as the link and what it does in vain, to the last unit of work.
    fn check_invariants(&self) {
        for (number, flow) in self.flows.iter().enumerate() {
            self.order.check(number, Some(flow.head).filter(|_| !flow.queue.is_empty()), self.clock.now());
            self.pool.check_queue(&flow.queue);
        }
        self.clock.check(self.pool.backlog().bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of whole bytes tie at whole bytes, where what is cut off in reckoning may fall on either side.
    #[test]
    fn finish_times_that_differ_by_less_than_the_tolerance_tie_at_whole_bytes() {
        let finish = |bits: u64| Service { finish: VirtualTime::from_bits(bits), ..Service::default() }.rounded_finish();
        let whole = 1500u64 << VirtualTime::FRACTION_BITS;
        assert_eq!(finish(whole - TOLERANCE / 2), finish(whole));
        assert_eq!(finish(whole + TOLERANCE / 2 - 1), finish(whole));
        assert!(finish(whole).is_after(finish(whole - TOLERANCE / 2 - 1)));
        assert!(finish(whole + TOLERANCE / 2).is_after(finish(whole)));
    }
}
