//! Queued packets timed by the fluid server ([`GpsClock`]): what `wfq` and `wf2q` have in common.
//! They differ in the [`Order`] of flows.
//!
//! Only each flow's head packet has times: S = max(V at arrival, F of the previous packet), F = S +
//! len / weight. They are computed once, when the packet becomes the head, and stay. So a new
//! weight applies from the second packet on, and packets sent or about to be sent keep their times.
//! If the fluid server has finished the head packet by then, the packets behind start anew at V.
//!
//! Latency. Let p be a packet from a flow with a constant weight, and W the largest sum of weights
//! (`total_weight`, in which a larger weight counts until V has passed the times computed with it).
//! Then p leaves at most L / R after GRC(p), whatever push-outs, arrivals, departures and weight
//! changes other flows have:
//!
//! (1) V reaches F_p at T <= GRC(p), since V rises by R / W or faster while the link is busy, and
//! GRC(p) takes the same maximum and the same sum as F_p at this slope.
//! (2) Let m be the last packet before p taken by the link with an F larger than F_p, at time t. If
//! there is no m, or if the fluid server has skipped time since (`catch_up`), let t be the start of
//! the busy period or the last skip, and m empty.
//! (3) No packet q between m and p had been started by the fluid server at t. In `wfq`: the head
//! packet of q's flow at t would have had F >= F_m, since m was chosen. It was sent between m and p
//! with the same F. But F is at most F_p for packets between m and p, so q's flow had no packet at
//! t. In `wf2q`: a packet of q's flow may have waited, but had not started. When V skips time, no
//! waiting packet has started.
//! (4) By T the fluid server has finished each such q and p, because F is at most F_p, and because
//! no event after the link has taken a packet makes the fluid server finish the packet later.
//! (5) So from t to T the fluid server has done all bytes from behind m up to p, at the rate R.
//! These are sent by T, and m takes L / R.
//!
//! Fluid service of packets pushed out later only delays T, and (1) has room for the delay. A clock
//! that jumped to make up for the delay would break (5), because some packets would be finished
//! faster than at the rate R.

use alloc::vec::Vec;
use core::fmt::Debug;

use crate::config::ConfigError;
use crate::control::Control;
use crate::control::Footprint;
use crate::drops::{Refusal, Refused};
use crate::flow_config::FlowConfig;
use crate::limit::Backlog;
use crate::mechanisms::gps_clock::GpsClock;
use crate::mechanisms::longest::Longest;
use crate::packet::{FlowId, Packet};
use crate::pool::{Pool, Queue};
use crate::scheduler::Scheduler;
use crate::schedulers::Configured;
use crate::seed::Seed;
use crate::time::Instant;
use crate::units::Rate;
use crate::virtual_time::VirtualTime;

/// The fluid server's start and finish time of a packet.
#[derive(Debug, Clone, Copy, Default)]
pub struct Service {
    /// S.
    pub(crate) start: VirtualTime,
    /// F.
    pub(crate) finish: VirtualTime,
}

/// Virtual times no further apart than this count as equal: 2^-18 bytes per unit of weight.
pub(crate) const TOLERANCE: u64 = 1 << ROUNDED_BITS;
const ROUNDED_BITS: u32 = 12;

impl Service {
    /// F, rounded so that ties compare as equal.
    #[inline]
    pub(crate) const fn rounded_finish(self) -> VirtualTime {
        self.finish
            .plus(1 << (ROUNDED_BITS - 1))
            .slot_start(ROUNDED_BITS)
    }
}

/// The order in which flows are sent, by their head packets.
pub trait Order: Debug + Clone + Default + Send {
    /// The discipline.
    const NAME: &'static str;
    /// Memory for a flow.
    const BYTES_PER_FLOW: usize;

    /// A flow gets its first head packet.
    fn insert(&mut self, flow: usize, head: Service);

    /// A flow loses its head packet.
    fn remove(&mut self, flow: usize);

    /// A flow gets a new head packet in place of another.
    fn replace(&mut self, flow: usize, head: Service);

    /// The flow whose head packet the link takes. None only if no flow has one. V may have to catch
    /// up.
    fn choose(&mut self, clock: &mut GpsClock, head: impl Fn(usize) -> Service) -> Option<usize>;

    /// Panics if a flow is in the wrong position, or the order is broken.
    fn check(&self, flow: usize, head: Option<Service>, now: VirtualTime);
}

/// A scheduler that emulates the fluid server.
#[derive(Debug, Clone)]
pub struct Imitation<T, O> {
    /// Packets, each with V at its arrival.
    pool: Pool<(VirtualTime, T)>,
    flows: Vec<FluidFlow>,
    /// The fluid server.
    clock: GpsClock,
    order: O,
    longest: Longest,
}

#[derive(Debug, Clone, Default)]
struct FluidFlow {
    queue: Queue,
    /// Times of the head packet.
    head: Service,
    /// When the next packet may start: at F of the head packet, or of the last one if the flow is
    /// empty.
    next: VirtualTime,
    /// Remainder of the division for F, in units of 1 / weight.
    remainder: u32,
    /// Removed. Forget the flow when its last packet leaves.
    leaves: bool,
}

impl FluidFlow {
    /// Times a new head packet. `came` is V at the packet's arrival.
    #[inline]
    fn time(&mut self, came: VirtualTime, len: u32, weight: u32) {
        // S = max(V(a), F of the packet before), then F = S + L / phi.
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

impl<C, T, O: Order> Configured<C> for Imitation<T, O> {
    fn configured(_: C, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self::with(GpsClock::default()))
    }
}

impl<T, O: Order> Imitation<T, O> {
    fn with(clock: GpsClock) -> Self {
        Self {
            pool: Pool::default(),
            flows: Vec::new(),
            clock,
            order: O::default(),
            longest: Longest::default(),
        }
    }

    #[cfg(test)]
    pub(crate) fn start_at(now: VirtualTime) -> Self {
        Self::with(GpsClock::start_at(now))
    }

    /// An unknown flow joins with weight 1.
    #[inline]
    fn know(&mut self, number: usize) {
        if number >= self.flows.len() {
            self.flows.resize_with(number + 1, FluidFlow::default);
        }
        if self.clock.weight(number) == 0 {
            self.set_weight(number, FlowConfig::DEFAULT.weight);
        }
    }

    #[cold]
    fn set_weight(&mut self, number: usize, weight: u32) {
        let flow = &mut self.flows[number];
        if self.clock.weight(number) != weight {
            flow.next = self.clock.set_weight(
                number,
                weight,
                flow.queue.bytes() - u64::from(flow.queue.head_len()),
            );
            flow.remainder = 0;
        }
    }

    fn enqueue_packet(&mut self, packet: Packet<T>) {
        let number = packet.flow.index();
        let len = packet.len;
        let came = self.clock.now();
        let flow = &mut self.flows[number];
        if flow.queue.is_empty() && !self.clock.is_backlogged(number) {
            (flow.next, flow.remainder) = (came, 0);
        }
        self.clock.arrive(number, len);
        self.pool.push(
            &mut flow.queue,
            with_payload(packet, |payload| (came, payload)),
        );
        self.longest.changed(number, flow.queue.size());
        if flow.queue.packets() == 1 {
            flow.time(came, len, self.clock.weight(number));
            self.order.insert(number, flow.head);
        }
    }

    fn dequeue_packet(&mut self, now: Instant) -> Option<Packet<T>> {
        self.clock.complete();
        let number = self
            .order
            .choose(&mut self.clock, |number| self.flows[number].head)?;
        let flow = &mut self.flows[number];
        let packet = self.pool.pop(&mut flow.queue)?;
        self.clock.begin(now, packet.len);
        self.longest.changed(number, flow.queue.size());
        if let Some(next) = self.pool.head(&flow.queue) {
            // The next packet becomes the head, and gets its S and F now.
            flow.time(next.payload.0, next.len, self.clock.weight(number));
            self.order.replace(number, flow.head);
        } else {
            self.order.remove(number);
            self.leave_if_removed(number);
        }
        Some(with_payload(packet, |(_, payload)| payload))
    }

    fn leave_if_removed(&mut self, number: usize) {
        if core::mem::take(&mut self.flows[number].leaves) {
            self.clock.forget(number);
        }
    }
}

/// The packet with another payload.
#[inline]
fn with_payload<T, U>(packet: Packet<T>, payload: impl FnOnce(T) -> U) -> Packet<U> {
    let Packet {
        flow,
        len,
        arrival,
        ecn,
        priority,
        slack,
        deadline,
        payload: before,
    } = packet;
    Packet {
        flow,
        len,
        arrival,
        ecn,
        priority,
        slack,
        deadline,
        payload: payload(before),
    }
}

impl<T, O: Order> Scheduler<T> for Imitation<T, O> {
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        if !packet.flow.fits_a_table() || !self.clock.has_room_for(packet.flow.index(), packet.len)
        {
            let fits = Refusal::check_tabled(packet.flow, packet.len, FlowConfig::MAX_PACKET_LEN);
            return Err(packet.refused(fits.err().unwrap_or(Refusal::QueueFull)));
        }
        self.clock.advance(now);
        if self.pool.backlog().is_empty() {
            self.clock.rest();
        }
        self.know(packet.flow.index());
        self.enqueue_packet(packet);
        Ok(())
    }

    fn dequeue(&mut self, now: Instant) -> Option<Packet<T>> {
        self.dequeue_packet(now)
    }

    /// The tail packet of the longest backlog. The fluid server drops the packet too.
    fn evict(&mut self) -> Option<Packet<T>> {
        let number = self
            .longest
            .find(self.flows.iter().map(|flow| flow.queue.size()))?;
        let flow = &mut self.flows[number];
        let packet = self.pool.pop_tail(&mut flow.queue)?;
        self.longest.changed(number, flow.queue.size());
        self.clock.withdraw(number, packet.len);
        if flow.queue.is_empty() {
            (flow.next, flow.remainder) = (flow.head.start, 0);
            self.order.remove(number);
            self.leave_if_removed(number);
        }
        Some(with_payload(packet, |(_, payload)| payload))
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.pool.backlog()
    }
}

impl<T, O: Order> Control for Imitation<T, O> {
    fn set_link_rate(&mut self, rate: Rate) {
        self.clock.set_link_rate(rate);
    }

    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        config.check(O::NAME, flow)?;
        let number = flow.index();
        if number >= self.flows.len() {
            self.flows.resize_with(number + 1, FluidFlow::default);
        }
        self.flows[number].leaves = false;
        self.set_weight(number, config.weight);
        Ok(())
    }

    fn remove_flow(&mut self, flow: FlowId) {
        let Some(record) = self.flows.get_mut(flow.index()) else {
            return;
        };
        record.leaves = true;
        if record.queue.is_empty() {
            self.leave_if_removed(flow.index());
        }
    }

    /// Departed flows count until the fluid server has finished their packets. If a flow has two
    /// weights, the larger counts until the packets timed with it are finished.
    fn total_weight(&self) -> Option<u64> {
        Some(self.clock.known_weight())
    }

    fn footprint(&self) -> Footprint {
        let bytes_per_flow = size_of::<FluidFlow>()
            + GpsClock::BYTES_PER_FLOW
            + O::BYTES_PER_FLOW
            + Longest::BYTES_PER_QUEUE;
        Footprint {
            fixed_bytes: size_of::<Self>() + Longest::FIXED_BYTES,
            bytes_per_flow,
        }
    }

    /// 1. A flow is in the order if and only if it has packets.
    /// 2. Work is conserved to the last unit, so the fluid server's backlog is the link's plus the
    ///    excess.
    #[cfg(any(test, debug_assertions))]
    fn check_invariants(&self) {
        for (number, flow) in self.flows.iter().enumerate() {
            self.order.check(
                number,
                Some(flow.head).filter(|_| !flow.queue.is_empty()),
                self.clock.now(),
            );
            self.pool.check_queue(&flow.queue);
        }
        self.clock.check(self.pool.backlog().bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Packets of whole bytes tie at whole bytes, where rounding errors may fall on either side.
    #[test]
    fn finish_times_that_differ_by_less_than_the_tolerance_tie_at_whole_bytes() {
        let finish = |bits: u64| {
            Service {
                finish: VirtualTime::from_bits(bits),
                ..Service::default()
            }
            .rounded_finish()
        };
        let whole = 1500u64 << VirtualTime::FRACTION_BITS;
        assert_eq!(finish(whole - TOLERANCE / 2), finish(whole));
        assert_eq!(finish(whole + TOLERANCE / 2 - 1), finish(whole));
        assert!(finish(whole).is_after(finish(whole - TOLERANCE / 2 - 1)));
        assert!(finish(whole + TOLERANCE / 2).is_after(finish(whole)));
    }
}
