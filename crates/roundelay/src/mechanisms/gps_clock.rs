//! The fluid server (GPS) of fair queueing as a clock: virtual time V and the virtual start and
//! finish times of packets.
//!
//! The fluid server serves all its backlogged flows at once, each in proportion to its weight.
//! Virtual time V is the service per unit of weight. V runs at R / (sum of those flows' weights),
//! so it runs faster after each flow that empties. A packet is served from S = max(V, F of the
//! flow's previous packet) to F = S + len / weight.
//!
//! Source: A. Demers, S. Keshav, S. Shenker, "Analysis and Simulation of a Fair Queueing
//! Algorithm", SIGCOMM 1989. A. Parekh, R. Gallager, "A Generalized Processor Sharing Approach to
//! Flow Control in Integrated Services Networks: The Single-Node Case", IEEE/ACM ToN 1(3), 1993.
//!
//! Drive: two work-conserving servers with the same arrivals and the same link rate have always
//! sent the same number of bytes. So at each dequeue the fluid server has sent exactly as much as
//! the link. Only during a transmission does real time, at the link's rate, give the bytes sent. A
//! wrong rate only shifts the arrival times of packets that arrive during a transmission, and the
//! error is gone when the next one starts. Without a rate such packets arrive at the end of the
//! transmission, because a packet counts as sent once it is dequeued.
//!
//! A pushed-out packet leaves the fluid server too, but the service already done for the packet
//! does not. From then on the fluid server has more left to do than the link, and repeats work that
//! the link has already sent (`excess`). V never jumps for a push-out, so no later packet passes an
//! earlier one. `fluid.rs` shows that such a late V does no harm. When the link has sent
//! everything, the fluid server is also finished (`rest`). `catch_up` keeps the fluid server from
//! working only on packets already sent by the link.
//!
//! A new weight applies from the packet behind the first waiting one, not to packets already given
//! to the link, because their times are fixed and the link has acted on them. Until then the fluid
//! server serves those packets with their old weight, or with the largest of several.
//!
//! Number format: V is in 2^-30 bytes per unit of weight, wrapping at 2^64, and work in 2^-30
//! bytes. Each division keeps its remainder for later, so work is conserved to the last unit: the
//! fluid backlog is the queued bytes, the rest of the packet on the link, and the excess (`check`).
//!
//! Cost: O(log N) a packet, amortised. The heap is keyed by the time at which each flow's counted
//! backlog finishes. A flow's later arrivals are counted when V reaches this time.

use alloc::vec::Vec;

use crate::flow_config::FlowConfig;
use crate::guarantees::Share;
use crate::mechanisms::heap::FlowHeap;
use crate::time::Instant;
use crate::units::Rate;
use crate::virtual_time::VirtualTime;

/// 2^-30 bytes.
type Work = u64;

const fn work_of(len: u32) -> Work {
    (len as Work) << VirtualTime::FRACTION_BITS
}

/// Largest backlog of a flow in the fluid server: 4 GB. The flow then finishes less than 2^62 after
/// V, for every weight.
const MOST_BACKLOG: Work = 1 << 62;

/// The fluid server.
#[derive(Debug, Clone, Default)]
pub struct GpsClock {
    /// V.
    now: VirtualTime,
    /// Work done but not yet visible in V: less than a unit of V.
    rest: Work,
    fluids: Vec<Fluid>,
    /// Sum of the weights of flows backlogged here.
    busy_weight: u64,
    /// Sum of all known flows' weights. If a flow has two, the larger one.
    known_weight: u64,
    /// Flows backlogged here, by the time at which their counted backlog finishes.
    ending: FlowHeap,
    sending: Transmission,
    /// Work left here beyond the link's own.
    excess: i128,
}

/// A flow in the fluid server.
#[derive(Debug, Clone, Default)]
struct Fluid {
    /// Finish time of the counted part of the backlog.
    finish: VirtualTime,
    /// The part behind the counted one.
    later: Work,
    /// Remainder of the division: this work is done at `finish`.
    remainder: u32,
    /// Until `finish`.
    weight: u32,
    /// Weight from `finish` on. Equal to `weight` while the flow is idle. Zero: unknown flow.
    next_weight: u32,
    /// Forget the flow as soon as it is empty here.
    leaves: bool,
}

impl Fluid {
    fn counted_at(&self, now: VirtualTime) -> Work {
        self.finish.since(now) as u64 * u64::from(self.weight) + u64::from(self.remainder)
    }

    fn backlog_at(&self, now: VirtualTime) -> Work {
        self.counted_at(now) + self.later
    }

    /// Sets `finish` for this counted work from `now` on.
    fn count(&mut self, now: VirtualTime, work: Work) {
        self.finish = now.plus(work / u64::from(self.weight));
        self.remainder = (work % u64::from(self.weight)) as u32;
    }

    /// Ends the counted part and counts the part behind.
    fn turn(&mut self, now: VirtualTime) {
        self.weight = self.next_weight;
        let work = core::mem::take(&mut self.later);
        self.count(now, work);
    }

    /// Moves the end of the counted part, so that `later` lies behind. Work newly counted gets
    /// times by `next_weight`.
    fn split(&mut self, now: VirtualTime, later: Work) {
        let counted = self.counted_at(now);
        let backlog = self.backlog_at(now);
        self.later = later;
        if self.weight == self.next_weight || backlog - later <= counted {
            self.count(now, backlog - later);
        } else {
            let more = (backlog - later - counted + u64::from(self.remainder))
                .div_ceil(self.next_weight.into());
            self.finish = self.finish.plus(more);
            self.remainder = 0;
            self.weight = self.weight.max(self.next_weight);
        }
    }

    fn known_weight(&self) -> u64 {
        self.weight.max(self.next_weight).into()
    }
}

/// The packet on the link, or the last one sent.
#[derive(Debug, Clone, Default)]
struct Transmission {
    rate: Option<Rate>,
    since: Instant,
    /// End of the transmission.
    until: Instant,
    len: u32,
    /// Work of the fluid server during this transmission.
    done: Work,
}

impl Transmission {
    /// Part of the packet sent by `now`.
    fn sent_at(&self, now: Instant) -> Work {
        /// A bit per second is 2^15 / 5^12 units of work per picosecond.
        const PICOS: u64 = 5u64.pow(12);
        match self.rate {
            // During the transmission the product is less than 8 * 10^12 times the length, so less
            // than 2^59.
            Some(rate) if now < self.until => {
                let bits = now.since(self.since).as_picos() * rate.bits_per_second();
                ((bits / PICOS) << 15) + ((bits % PICOS) << 15) / PICOS
            }
            _ => work_of(self.len),
        }
    }
}

impl GpsClock {
    /// Memory for a flow.
    pub(crate) const BYTES_PER_FLOW: usize = size_of::<Fluid>() + FlowHeap::BYTES_PER_FLOW;

    /// What bounds lose by ties: the bytes that the link sends while V passes all timestamps that
    /// count as equal, with room for rounding.
    pub(crate) const fn tied_bytes(share: &Share) -> u64 {
        share.total_weight.div_ceil(1 << 16)
    }

    /// V.
    #[inline]
    pub(crate) const fn now(&self) -> VirtualTime {
        self.now
    }

    /// The sum of all weights that may share the link.
    pub(crate) const fn known_weight(&self) -> u64 {
        self.known_weight
    }

    /// The weight of a flow's next arrivals. Zero if the flow is unknown.
    #[inline]
    pub(crate) fn weight(&self, flow: usize) -> u32 {
        self.fluids
            .get(flow)
            .map_or(0, |fluid| if fluid.leaves { 0 } else { fluid.next_weight })
    }

    #[inline]
    pub(crate) fn is_backlogged(&self, flow: usize) -> bool {
        self.ending.contains(flow)
    }

    pub(crate) const fn set_link_rate(&mut self, rate: Rate) {
        self.sending.rate = Some(rate);
    }

    /// Advances real time: the link has sent more of its packet.
    #[inline]
    pub(crate) fn advance(&mut self, now: Instant) {
        let whole = work_of(self.sending.len);
        if self.sending.done < whole {
            let sent = self.sending.sent_at(now).clamp(self.sending.done, whole);
            let work = sent - self.sending.done;
            self.sending.done = sent;
            self.work(work);
        }
    }

    /// Ends the transmission: the link asks for the next packet.
    #[inline]
    pub(crate) fn complete(&mut self) {
        let work = work_of(self.sending.len) - self.sending.done;
        self.sending.done += work;
        self.work(work);
    }

    /// Starts the transmission of a packet.
    #[inline]
    pub(crate) fn begin(&mut self, now: Instant, len: u32) {
        let until = self
            .sending
            .rate
            .map_or(now, |rate| now + rate.time_of(len.into()));
        self.sending = Transmission {
            since: now,
            until,
            len,
            done: 0,
            ..self.sending
        };
    }

    /// The queue is empty. If the link is idle too, the fluid server is finished with everything.
    pub(crate) fn rest(&mut self) {
        if self.sending.done == work_of(self.sending.len) {
            while let Some((at, flow)) = self.ending.first() {
                self.now = at;
                self.turn(flow);
            }
            (self.rest, self.excess) = (0, 0);
        }
    }

    /// Moves V to at least `target`, which is at most S of every waiting packet. Up to there the
    /// fluid server works only on packets that the link has already sent, so it skips that work.
    #[inline]
    pub(crate) fn catch_up(&mut self, target: VirtualTime) {
        if target.is_after(self.now) {
            self.pass_over(target);
        }
    }

    #[cold]
    fn pass_over(&mut self, target: VirtualTime) {
        let mut passed = -i128::from(core::mem::take(&mut self.rest));
        while let Some((at, flow)) = self.ending.first().filter(|(at, _)| !at.is_after(target)) {
            passed += i128::from(at.since(self.now)) * i128::from(self.busy_weight)
                + i128::from(self.fluids[flow].remainder);
            self.now = at;
            self.turn(flow);
        }
        passed += i128::from(target.since(self.now)) * i128::from(self.busy_weight);
        self.now = target;
        self.excess -= passed;
    }

    /// Whether a packet still fits the fluid server's arithmetic.
    #[inline]
    pub(crate) fn has_room_for(&self, flow: usize, len: u32) -> bool {
        let backlog = if self.ending.contains(flow) {
            self.fluids[flow].backlog_at(self.now)
        } else {
            0
        };
        len <= FlowConfig::MAX_PACKET_LEN && backlog + work_of(len) <= MOST_BACKLOG
    }

    /// A packet of a known flow arrives.
    #[inline]
    pub(crate) fn arrive(&mut self, flow: usize, len: u32) {
        let fluid = &mut self.fluids[flow];
        if self.ending.contains(flow) {
            fluid.later += work_of(len);
        } else if len > 0 {
            fluid.count(self.now, work_of(len));
            self.ending.insert(flow, fluid.finish);
            self.busy_weight += u64::from(fluid.weight);
        }
    }

    /// Removes a flow's last packet. What the fluid server has already done for it was in vain.
    pub(crate) fn withdraw(&mut self, flow: usize, len: u32) {
        let mut work = work_of(len);
        if self.ending.contains(flow) {
            let of_later = work.min(self.fluids[flow].later);
            self.fluids[flow].later -= of_later;
            work -= of_later;
            if work > 0 {
                let counted = self.fluids[flow].counted_at(self.now);
                let left = counted.saturating_sub(work);
                work -= counted - left;
                self.change(flow, |fluid, now| fluid.count(now, left));
                self.work(0);
            }
        }
        self.excess += i128::from(work);
    }

    /// Sets a flow's weight for all packets behind the first waiting one. `waiting` is the number
    /// of bytes behind the first. Returns the virtual time at which the new weight starts: V, if
    /// the fluid server has finished the packets before.
    pub(crate) fn set_weight(&mut self, flow: usize, weight: u32, waiting: u64) -> VirtualTime {
        if flow >= self.fluids.len() {
            self.fluids.resize_with(flow + 1, Fluid::default);
        }
        let waiting = waiting << VirtualTime::FRACTION_BITS;
        let backlog = if self.ending.contains(flow) {
            self.fluids[flow].backlog_at(self.now)
        } else {
            0
        };
        let mut start = self.now;
        let mut after = waiting;
        self.change(flow, |fluid, now| {
            fluid.leaves = false;
            if backlog > waiting {
                fluid.split(now, waiting);
                (start, after) = (fluid.finish, fluid.backlog_at(now));
            } else {
                (fluid.weight, fluid.later) = (weight, 0);
                fluid.count(now, waiting);
            }
            fluid.next_weight = weight;
        });
        self.excess += i128::from(after) - i128::from(backlog);
        self.work(0);
        start
    }

    /// Removes a flow once the fluid server has finished the flow's backlog.
    pub(crate) fn forget(&mut self, flow: usize) {
        self.change(flow, |fluid, _| fluid.leaves = true);
    }

    /// Changes a flow and updates its heap entry and the weight sums.
    #[cold]
    fn change(&mut self, flow: usize, change: impl FnOnce(&mut Fluid, VirtualTime)) {
        let fluid = &mut self.fluids[flow];
        self.known_weight -= fluid.known_weight();
        if self.ending.contains(flow) {
            self.ending.remove(flow);
            self.busy_weight -= u64::from(fluid.weight);
        } else {
            (fluid.finish, fluid.remainder) = (self.now, 0);
        }
        change(fluid, self.now);
        if fluid.backlog_at(self.now) > 0 {
            self.ending.insert(flow, fluid.finish);
            self.busy_weight += u64::from(fluid.weight);
        } else if fluid.leaves {
            *fluid = Fluid::default();
        } else {
            fluid.weight = fluid.next_weight;
        }
        self.known_weight += fluid.known_weight();
    }

    /// V has reached the end of a flow's counted part.
    #[inline]
    fn turn(&mut self, flow: usize) {
        let fluid = &mut self.fluids[flow];
        if fluid.weight != fluid.next_weight || fluid.leaves {
            return self.change(flow, Fluid::turn);
        }
        if fluid.later > 0 {
            fluid.turn(self.now);
            self.ending.change(flow, fluid.finish);
        } else {
            self.ending.remove(flow);
            self.busy_weight -= u64::from(fluid.weight);
        }
    }

    /// Does this much work. Emptied flows leave in order, and V runs faster after each.
    fn work(&mut self, work: Work) {
        self.rest += work;
        while let Some(at) = self.ending.first_key() {
            let ahead = at.since(self.now) as u128 * u128::from(self.busy_weight);
            // Before V is there, only the key matters, not the flow itself.
            let due = if ahead > u128::from(self.rest) {
                None
            } else {
                self.ending.first()
            };
            let Some((_, flow)) = due else { break };
            let needed = ahead + u128::from(self.fluids[flow].remainder);
            if needed > u128::from(self.rest) {
                break;
            }
            self.rest -= needed as Work;
            self.now = at;
            self.turn(flow);
        }
        self.now = self
            .now
            .plus(self.rest.checked_div(self.busy_weight).unwrap_or(0));
        self.rest = self.rest.checked_rem(self.busy_weight).unwrap_or(0);
    }

    /// Panics unless work is conserved: the fluid backlog must be the `waiting` bytes, the rest of
    /// the packet on the link, and the excess.
    pub(crate) fn check(&self, waiting: u64) {
        let unit = 1i128 << VirtualTime::FRACTION_BITS;
        let backlogged = || {
            self.fluids
                .iter()
                .enumerate()
                .filter(|(flow, _)| self.ending.contains(*flow))
                .map(|(_, fluid)| fluid)
        };
        let fluid: i128 = backlogged()
            .map(|fluid| i128::from(fluid.backlog_at(self.now)))
            .sum();
        let on_link = i128::from(work_of(self.sending.len) - self.sending.done);
        let left = i128::from(waiting) * unit + on_link + self.excess;
        assert_eq!(
            fluid - i128::from(self.rest),
            left,
            "the fluid server has as much to do"
        );
        assert!(self.excess >= 0, "it never has less to do than the link");
        assert_eq!(
            backlogged()
                .map(|fluid| u64::from(fluid.weight))
                .sum::<u64>(),
            self.busy_weight,
            "backlogged weights add up"
        );
        assert_eq!(
            self.fluids.iter().map(Fluid::known_weight).sum::<u64>(),
            self.known_weight,
            "known weights add up"
        );
        let mut idle = self
            .fluids
            .iter()
            .enumerate()
            .filter(|(flow, _)| !self.ending.contains(*flow))
            .map(|(_, fluid)| fluid);
        assert!(
            idle.all(|fluid| fluid.later == 0
                && fluid.weight == fluid.next_weight
                && !fluid.leaves),
            "an idle flow has one weight"
        );
        assert!(self.rest < self.busy_weight.max(1), "V shows all work");
        self.ending.check();
    }

    #[cfg(test)]
    pub(crate) fn start_at(now: VirtualTime) -> Self {
        Self {
            now,
            ..Self::default()
        }
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

    /// A packet arrives. Returns the finish time of its flow's counted part.
    fn arrive(clock: &mut GpsClock, flow: usize, len: u32) -> f64 {
        if clock.weight(flow) == 0 {
            clock.set_weight(flow, 1, 0);
        }
        clock.arrive(flow, len);
        bytes(clock.fluids[flow].finish)
    }

    #[test]
    fn v_runs_faster_when_a_flow_empties() {
        let mut clock = clock();
        clock.set_weight(1, 3, 0);
        assert_eq!(
            [arrive(&mut clock, 0, 100), arrive(&mut clock, 1, 150)],
            [100.0, 50.0]
        );
        send(&mut clock, 0, 150);
        clock.advance(Instant::from_nanos(100));
        assert_eq!(bytes(clock.now()), 25.0, "100 bytes for weights of 4");
        // Flow 1 finishes after 200 bytes. Then flow 0 has the link alone.
        send(&mut clock, 150, 100);
        clock.advance(Instant::from_nanos(225));
        assert_eq!(bytes(clock.now()), 75.0);
        assert_eq!(
            arrive(&mut clock, 0, 10),
            100.0,
            "what is behind that is counted then"
        );
        assert_eq!(arrive(&mut clock, 1, 30), 85.0, "from V on");
        clock.check(40);
        send(&mut clock, 250, 40);
        clock.complete();
        assert_eq!(bytes(clock.now()), 110.0);
        clock.check(0);
    }

    #[test]
    fn a_link_that_is_slow_or_rests_does_not_drive_v() {
        let mut clock = clock();
        arrive(&mut clock, 0, 100);
        clock.advance(Instant::from_nanos(1_000));
        assert_eq!(bytes(clock.now()), 0.0, "nobody sends");
        send(&mut clock, 1_000, 60);
        clock.advance(Instant::from_nanos(5_000));
        assert_eq!(bytes(clock.now()), 60.0, "no more than the packet");
        clock.check(40);
    }

    #[test]
    fn what_was_done_of_a_packet_that_is_given_up_was_in_vain() {
        let mut clock = clock();
        arrive(&mut clock, 0, 100);
        arrive(&mut clock, 1, 100);
        arrive(&mut clock, 1, 50);
        send(&mut clock, 0, 100);
        clock.advance(Instant::from_nanos(100));
        clock.withdraw(1, 50);
        assert_eq!(clock.excess, 0, "nothing was done of the second packet");
        clock.withdraw(1, 100);
        assert_eq!(
            (bytes(clock.now()), clock.excess),
            (50.0, 50 << VirtualTime::FRACTION_BITS),
            "half of the first was"
        );
        clock.check(0);
        assert_eq!(arrive(&mut clock, 1, 7), 57.0, "V has not moved");
        // The fluid server still has 50 bytes of a packet already sent by the link: a part is
        // skipped, and the rest ends when the link idles.
        clock.catch_up(clock.now().plus(20 << VirtualTime::FRACTION_BITS));
        clock.check(7);
        send(&mut clock, 100, 0);
        clock.rest();
        assert_eq!(
            (bytes(clock.now()), clock.busy_weight, clock.excess),
            (100.0, 0, 0)
        );
    }

    #[test]
    fn a_weight_counts_for_what_waits_behind_the_first() {
        let mut clock = clock();
        arrive(&mut clock, 0, 100);
        for _ in 0..3 {
            arrive(&mut clock, 1, 60);
        }
        // The first packet keeps its weight of 1. The second and third are served at a weight of 4.
        assert_eq!(bytes(clock.set_weight(1, 4, 120)), 60.0);
        assert_eq!((clock.known_weight(), clock.busy_weight), (5, 2));
        send(&mut clock, 0, 100);
        send(&mut clock, 100, 60);
        clock.advance(Instant::from_nanos(140));
        assert_eq!(
            bytes(clock.now()),
            64.0,
            "120 bytes for weights of 2, 20 for weights of 5"
        );
        // The second packet and half of the third were sent ahead at the lower weight: both weights
        // count until V is there.
        clock.check(120);
        assert_eq!(
            (bytes(clock.set_weight(1, 1, 60)), clock.known_weight()),
            (75.0, 5)
        );
        send(&mut clock, 160, 60);
        assert_eq!((bytes(clock.now()), clock.known_weight()), (68.0, 5));
        assert_eq!(
            bytes(clock.set_weight(1, 8, 0)),
            75.0 + 60.0,
            "what was timed stays so"
        );
        assert_eq!(
            clock.busy_weight, 5,
            "with the larger weight of two, which was done in vain"
        );
        assert_eq!(
            clock.excess,
            (67 * 4 - (7 * 4 + 60)) << VirtualTime::FRACTION_BITS
        );
        clock.forget(1);
        assert_eq!(clock.known_weight(), 1 + 8);
        send(&mut clock, 220, 400);
        clock.complete();
        assert_eq!((clock.known_weight(), clock.busy_weight), (1, 0));
    }

    #[test]
    fn a_flow_has_four_gigabytes_at_most() {
        let mut clock = clock();
        for _ in 1..1 << 16 {
            arrive(&mut clock, 0, 1 << 16);
        }
        assert!(clock.has_room_for(0, 1 << 16));
        arrive(&mut clock, 0, 1 << 16);
        assert!(
            !clock.has_room_for(0, 1)
                && clock.has_room_for(1, 1 << 16)
                && !clock.has_room_for(1, (1 << 16) + 1)
        );
        // A change of weight does not lose the flow's position either.
        for weight in [1024, 1, 7, 1] {
            clock.set_weight(0, weight, (1 << 32) - (1 << 16));
            clock.check(1 << 32);
        }
    }
}
