//! The fluid server (GPS) that fair queueing imitates, as a clock: how far it is, and when it would serve each packet.
//!
//! The fluid server sends all flows that are backlogged in it at once, each in proportion to its weight. Virtual time V is what each of
//! them has been sent per unit of weight; it runs at R / (sum of the weights of those flows), faster whenever one of them empties. A packet
//! of a flow is served from S = max(V, F of the packet before it) to F = S + len / weight.
//!
//! Source: A. Demers, S. Keshav, S. Shenker, "Analysis and Simulation of a Fair Queueing Algorithm", SIGCOMM 1989; A. Parekh, R. Gallager,
//! "A Generalized Processor Sharing Approach to Flow Control in Integrated Services Networks: The Single-Node Case", IEEE/ACM ToN 1(3),
//! 1993.
//!
//! What drives it: two servers that never idle while something waits, fed alike on links of the same rate, have always sent the same number
//! of bytes. So whenever the link asks for a packet, the fluid server has sent precisely what the link has; only while a packet is on the
//! link does real time tell how much of it, at the link's rate. With a rate that is not the true one all is as if packets that come
//! while another is on the link had come at another moment of its time, and nothing of that is left at the next one. Without a rate that
//! moment is its end: a packet counts as sent once it is given out.
//!
//! Number format: V, S and F in 2^-30 bytes per unit of weight, wrapping at 2^64; work in 2^-30 bytes. Every division leaves its remainder
//! where it counts on, so work is conserved to the last unit: what is backlogged in the fluid server is what waits and what is left of the
//! packet on the link (`check`). Only S is rounded, down, by less than a unit each time that a flow becomes backlogged. V is then a mean
//! of such errors: it is too small by at most a unit for each such time since the fluid server was last empty.
//!
//! Cost: O(log N) a packet, amortised. The heap has each flow where it would have emptied when last looked at; packets that came since are
//! found out when it is reached.

use alloc::vec::Vec;

use crate::guarantees::Share;
use crate::mechanisms::heap::FlowHeap;
use crate::packet::Packet;
use crate::scheduler::FlowConfig;
use crate::time::Instant;
use crate::units::Rate;
use crate::virtual_time::VirtualTime;

/// When the fluid server serves a packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Service {
    /// S.
    pub(crate) start: VirtualTime,
    /// F.
    pub(crate) finish: VirtualTime,
}

/// Virtual times no further apart than this are equal: 2^-18 bytes per unit of weight.
pub(crate) const TOLERANCE: i64 = 1 << ROUNDED_BITS;
const ROUNDED_BITS: u32 = 12;

impl Service {
    /// F, such that packets that tie compare as equal.
    #[inline]
    pub(crate) const fn rounded_finish(self) -> VirtualTime {
        self.finish.plus(1 << (ROUNDED_BITS - 1)).slot_start(ROUNDED_BITS)
    }

    /// The packet, with this beside what it carries.
    #[inline]
    pub(crate) fn stamp<T>(self, packet: Packet<T>) -> Packet<(Self, T)> {
        let Packet { flow, len, arrival, ecn, priority, slack, deadline, payload } = packet;
        Packet { flow, len, arrival, ecn, priority, slack, deadline, payload: (self, payload) }
    }

    /// The packet as it came.
    #[inline]
    pub(crate) fn unstamp<T>(packet: Packet<(Self, T)>) -> Packet<T> {
        let Packet { flow, len, arrival, ecn, priority, slack, deadline, payload: (_, payload) } = packet;
        Packet { flow, len, arrival, ecn, priority, slack, deadline, payload }
    }
}

/// 2^-30 bytes.
type Work = u64;

const fn work_of(len: u32) -> Work {
    (len as Work) << VirtualTime::FRACTION_BITS
}

/// Most that a flow can have backlogged in the fluid server: 4 GB. Its finish time is then less than 2^62 ahead of V, whatever its weight
/// may come to be.
const MOST_BACKLOG: Work = 1 << 62;

/// The fluid server.
#[derive(Debug, Clone, Default)]
pub(crate) struct GpsClock {
    /// V.
    now: VirtualTime,
    /// Work done that V does not show: less than a unit of V.
    rest: Work,
    fluids: Vec<Fluid>,
    /// Sum of the weights of the flows that are backlogged here.
    busy_weight: u64,
    /// Sum of the weights of those and of all others that are known.
    known_weight: u64,
    /// The flows that are backlogged here, by when they empty or earlier.
    emptying: FlowHeap,
    link: Link,
}

/// A flow in the fluid server.
#[derive(Debug, Clone, Default)]
struct Fluid {
    /// F of its last packet: when it empties.
    finish: VirtualTime,
    /// Work that the division left over: it is done at `finish`.
    remainder: Work,
    /// Zero: the flow is not known.
    weight: u32,
    /// It is forgotten as soon as it is empty here.
    leaves: bool,
}

impl Fluid {
    fn backlog_at(&self, now: VirtualTime) -> Work {
        self.finish.since(now) as u64 * u64::from(self.weight) + self.remainder
    }

    /// F such that from `from` on this is its backlog.
    fn set_backlog(&mut self, from: VirtualTime, backlog: Work) {
        self.finish = from.plus(backlog / u64::from(self.weight));
        self.remainder = backlog % u64::from(self.weight);
    }
}

/// The packet on the link, or the last one that was.
#[derive(Debug, Clone, Default)]
struct Link {
    rate: Option<Rate>,
    since: Instant,
    /// When the link has sent it.
    until: Instant,
    len: u32,
    /// What the fluid server has done in its time.
    done: Work,
}

impl Link {
    /// What the link has sent of the packet at `now`.
    fn sent_at(&self, now: Instant) -> Work {
        /// A bit per second is 2^15 / 5^12 units of work per picosecond.
        const PICOS: u128 = 5u128.pow(12);
        match self.rate {
            Some(rate) if now < self.until => {
                let picos = u128::from(now.since(self.since).as_picos());
                (((picos * u128::from(rate.bits_per_second())) << 15) / PICOS) as Work
            }
            _ => work_of(self.len),
        }
    }
}

impl GpsClock {
    /// Memory for a flow.
    pub(crate) const BYTES_PER_FLOW: usize = size_of::<Fluid>() + Self::BYTES_IN_HEAP;
    /// Memory for a flow in a [`FlowHeap`].
    pub(crate) const BYTES_IN_HEAP: usize = size_of::<(VirtualTime, u32)>() + size_of::<u32>();

    /// What bounds lose to ties: bytes that the link sends while V passes all that counts as equal, with room for what is rounded.
    pub(crate) const fn tied_bytes(share: &Share) -> u64 {
        share.total_weight.div_ceil(1 << 16)
    }

    /// V.
    #[inline]
    pub(crate) const fn now(&self) -> VirtualTime {
        self.now
    }

    /// The sum of the weights that the link may come to be shared by.
    pub(crate) const fn known_weight(&self) -> u64 {
        self.known_weight
    }

    pub(crate) const fn set_link_rate(&mut self, rate: Rate) {
        self.link.rate = Some(rate);
    }

    /// Real time goes by: the link has sent more of its packet.
    #[inline]
    pub(crate) fn advance(&mut self, now: Instant) {
        let whole = work_of(self.link.len);
        if self.link.done < whole {
            let sent = self.link.sent_at(now).clamp(self.link.done, whole);
            let work = sent - self.link.done;
            self.link.done = sent;
            self.work(work);
        }
    }

    /// The link asks for a packet: it has sent the one that it had.
    #[inline]
    pub(crate) fn complete(&mut self) {
        let work = work_of(self.link.len) - self.link.done;
        self.link.done += work;
        self.work(work);
    }

    /// The link takes a packet.
    #[inline]
    pub(crate) fn begin(&mut self, now: Instant, len: u32) {
        let until = self.link.rate.map_or(now, |rate| now + rate.time_of(len.into()));
        self.link = Link { since: now, until, len, done: 0, ..self.link };
    }

    /// Whether a packet still fits into the fluid server's arithmetic.
    pub(crate) fn has_room_for(&self, flow: usize, len: u32) -> bool {
        let backlog = if self.emptying.contains(flow) { self.fluids[flow].backlog_at(self.now) } else { 0 };
        len <= FlowConfig::MAX_PACKET_LEN && backlog + work_of(len) <= MOST_BACKLOG
    }

    /// A packet comes. A flow that is not known joins with weight 1.
    pub(crate) fn arrive(&mut self, flow: usize, len: u32) -> Service {
        if self.fluids.get(flow).is_none_or(|fluid| fluid.weight == 0 || fluid.leaves) {
            self.set_weight(flow, FlowConfig::DEFAULT.weight);
        }
        let fluid = &mut self.fluids[flow];
        let was_idle = !self.emptying.contains(flow);
        if was_idle {
            (fluid.finish, fluid.remainder) = (self.now, 0);
        }
        let start = fluid.finish;
        fluid.set_backlog(start, work_of(len) + fluid.remainder);
        let finish = fluid.finish;
        if was_idle && len > 0 {
            self.emptying.insert(flow, finish);
            self.busy_weight += u64::from(fluid.weight);
        }
        Service { start, finish }
    }

    /// The last packet of a flow is given up. What the fluid server has done of it already it makes up for at once, so that it goes on
    /// having as much to do as the link.
    pub(crate) fn withdraw(&mut self, flow: usize, len: u32) {
        let mut done = work_of(len);
        if self.emptying.contains(flow) {
            let backlog = self.fluids[flow].backlog_at(self.now);
            let left = backlog.saturating_sub(done);
            done -= backlog - left;
            self.file(flow, left);
        }
        self.work(done);
    }

    /// Gives a flow this weight from now on. Packets that have been told when they are served stay so.
    pub(crate) fn set_weight(&mut self, flow: usize, weight: u32) {
        if flow >= self.fluids.len() {
            self.fluids.resize_with(flow + 1, Fluid::default);
        }
        let fluid = &mut self.fluids[flow];
        fluid.leaves = false;
        let backlog = self.emptying.contains(flow).then(|| fluid.backlog_at(self.now));
        let before = core::mem::replace(&mut fluid.weight, weight);
        let change = |sum: u64| sum - u64::from(before) + u64::from(weight);
        self.known_weight = change(self.known_weight);
        if let Some(backlog) = backlog {
            self.busy_weight = change(self.busy_weight);
            self.file(flow, backlog);
            self.work(0);
        }
    }

    /// A flow leaves, once the fluid server is through with it.
    pub(crate) fn forget(&mut self, flow: usize) {
        self.fluids[flow].leaves = true;
        if !self.emptying.contains(flow) {
            self.leave(flow);
        }
    }

    /// Puts a flow where it belongs by its backlog.
    fn file(&mut self, flow: usize, backlog: Work) {
        self.emptying.remove(flow);
        let fluid = &mut self.fluids[flow];
        fluid.set_backlog(self.now, backlog);
        if backlog > 0 {
            self.emptying.insert(flow, fluid.finish);
        } else {
            self.busy_weight -= u64::from(fluid.weight);
            self.leave(flow);
        }
    }

    fn leave(&mut self, flow: usize) {
        let fluid = &mut self.fluids[flow];
        if fluid.leaves {
            self.known_weight -= u64::from(fluid.weight);
            *fluid = Fluid::default();
        }
    }

    /// The fluid server does this work. Flows that empty on the way leave in order, and V runs faster from there on.
    fn work(&mut self, work: Work) {
        self.rest += work;
        while let Some((at, flow)) = self.emptying.first() {
            let ahead = at.since(self.now) as u128 * u128::from(self.busy_weight);
            let Fluid { finish, remainder, .. } = self.fluids[flow];
            if ahead > u128::from(self.rest) {
                break;
            }
            if at != finish {
                self.emptying.remove(flow);
                self.emptying.insert(flow, finish);
                continue;
            }
            let needed = ahead as Work + remainder;
            if needed > self.rest {
                break;
            }
            self.rest -= needed;
            self.now = at;
            self.file(flow, 0);
        }
        self.now = self.now.plus(self.rest.checked_div(self.busy_weight).unwrap_or(0));
        self.rest = self.rest.checked_rem(self.busy_weight).unwrap_or(0);
    }

    /// Panics if the fluid server has not as much to do as the link, which has `waiting` bytes and what is left of its packet: work is
    /// conserved.
    pub(crate) fn check(&self, waiting: u64) {
        let unit = 1u128 << VirtualTime::FRACTION_BITS;
        let backlogged = || self.fluids.iter().enumerate().filter(|(flow, _)| self.emptying.contains(*flow)).map(|(_, fluid)| fluid);
        let fluid: u128 = backlogged().map(|fluid| u128::from(fluid.backlog_at(self.now))).sum();
        let on_link = work_of(self.link.len) - self.link.done;
        assert_eq!(fluid - u128::from(self.rest), u128::from(waiting) * unit + u128::from(on_link), "the fluid server has as much to do");
        assert_eq!(backlogged().map(|fluid| u64::from(fluid.weight)).sum::<u64>(), self.busy_weight, "backlogged weights add up");
        assert_eq!(self.fluids.iter().map(|fluid| u64::from(fluid.weight)).sum::<u64>(), self.known_weight, "known weights add up");
        assert!(self.rest < self.busy_weight.max(1), "V shows all work");
        self.emptying.check();
    }

    #[cfg(test)]
    pub(crate) fn start_at(now: VirtualTime) -> Self {
        Self { now, ..Self::default() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: VirtualTime = VirtualTime::from_bits(u64::MAX - 10);

    /// A clock close to its wrap, on a link of a byte a nanosecond.
    fn clock() -> GpsClock {
        let mut clock = GpsClock::start_at(START);
        clock.set_link_rate(Rate::from_bits_per_second(8_000_000_000).unwrap());
        clock
    }

    /// Virtual time in bytes per unit of weight.
    fn bytes(time: VirtualTime) -> f64 {
        time.since(START) as f64 / f64::from(1 << VirtualTime::FRACTION_BITS)
    }

    fn send(clock: &mut GpsClock, nanos: u64, len: u32) {
        clock.complete();
        clock.begin(Instant::from_nanos(nanos), len);
    }

    #[test]
    fn v_runs_faster_when_a_flow_empties() {
        let mut clock = clock();
        clock.set_weight(1, 3);
        let (one, two) = (clock.arrive(0, 100), clock.arrive(1, 150));
        assert_eq!((bytes(one.finish), bytes(two.finish)), (100.0, 50.0));
        send(&mut clock, 0, 150);
        clock.advance(Instant::from_nanos(100));
        assert_eq!(bytes(clock.now()), 25.0, "100 bytes for weights of 4");
        // Flow 1 is through after 200 bytes, and flow 0 has the link alone.
        send(&mut clock, 150, 100);
        clock.advance(Instant::from_nanos(225));
        assert_eq!(bytes(clock.now()), 75.0);
        assert_eq!(bytes(clock.arrive(0, 10).start), 100.0, "behind the flow's own");
        assert_eq!(bytes(clock.arrive(1, 30).start), 75.0, "at V");
        clock.check(40);
    }

    #[test]
    fn a_link_that_is_slow_or_rests_does_not_drive_v() {
        let mut clock = clock();
        clock.arrive(0, 100);
        clock.advance(Instant::from_nanos(1_000));
        assert_eq!(bytes(clock.now()), 0.0, "nobody sends");
        send(&mut clock, 1_000, 60);
        clock.advance(Instant::from_nanos(5_000));
        assert_eq!(bytes(clock.now()), 60.0, "no more than the packet");
        clock.check(40);
    }

    #[test]
    fn what_was_done_of_a_packet_that_is_given_up_is_made_up_for() {
        let mut clock = clock();
        clock.arrive(0, 100);
        clock.arrive(1, 100);
        clock.arrive(1, 50);
        send(&mut clock, 0, 100);
        clock.advance(Instant::from_nanos(100));
        clock.withdraw(1, 50);
        assert_eq!(bytes(clock.now()), 50.0, "nothing was done of the second packet");
        clock.withdraw(1, 100);
        assert_eq!(bytes(clock.now()), 100.0, "half of the first was");
        clock.check(0);
        assert_eq!(bytes(clock.arrive(1, 7).start), 100.0);
    }

    #[test]
    fn a_weight_counts_at_once_and_until_the_fluid_server_is_through() {
        let mut clock = clock();
        clock.arrive(0, 100);
        clock.arrive(1, 100);
        send(&mut clock, 0, 100);
        clock.set_weight(1, 4);
        clock.advance(Instant::from_nanos(100));
        assert_eq!(bytes(clock.now()), 20.0);
        assert_eq!(bytes(clock.arrive(1, 8).start), 25.0, "100 bytes at a weight of 4");
        clock.forget(1);
        assert_eq!(clock.known_weight(), 5);
        send(&mut clock, 100, 108);
        clock.complete();
        assert_eq!((clock.known_weight(), bytes(clock.now())), (1, 100.0));
        clock.check(0);
    }

    #[test]
    fn a_flow_has_four_gigabytes_at_most() {
        let mut clock = clock();
        for _ in 1..1 << 16 {
            clock.arrive(0, 1 << 16);
        }
        assert!(clock.has_room_for(0, 1 << 16));
        clock.arrive(0, 1 << 16);
        assert!(!clock.has_room_for(0, 1) && clock.has_room_for(1, 1 << 16) && !clock.has_room_for(1, (1 << 16) + 1));
        // Nor does it lose its place when its weight changes.
        for weight in [1024, 1, 7, 1] {
            clock.set_weight(0, weight);
            clock.check(1 << 32);
        }
    }
}
