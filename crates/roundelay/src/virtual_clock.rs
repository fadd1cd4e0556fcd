//! The clock of virtual time: V and its speed, while the set of weights changes.

use alloc::vec::Vec;

use crate::flow_config::FlowConfig;
use crate::mechanisms::heap::FlowHeap;
use crate::packet::FlowId;
use crate::virtual_time::{MAX_AHEAD, VirtualTime};

/// The system's virtual time V and its speed, 1 / sum of weights.
///
/// An added weight counts at once. A removed weight counts until V has passed the service that its
/// flow received ahead of V. If it were dropped at once, V would run too fast for this service and
/// overtake waiting flows (the induction for Lemma 2 in the QFQ paper's appendix needs this delay).
#[derive(Debug, Clone, Default)]
pub struct VirtualClock {
    now: VirtualTime,
    total_weight: u64,
    /// 2^62 / `total_weight`, rounded down.
    inverse: u64,
    /// Remainder of [`advance`](Self::advance), in 2^-64 of `now`'s unit, because small packets at
    /// a large sum of weights take few units.
    fraction: u64,
    /// Remainder of [`advance_exactly`](Self::advance_exactly), in units of 1 / `total_weight`.
    remainder: u64,
    /// Flows with a removed weight that still counts, by V when it ends.
    leaving: FlowHeap,
    /// The removed weight by flow, so that a weight added again is not counted twice.
    leaving_weights: Vec<u64>,
}

/// How many removed weights go in one call. Each removal makes one such call, and each packet
/// another one, so twice as many can go as come.
const MOST_GONE: usize = 2;

impl VirtualClock {
    const INVERSE_BITS: u32 = VirtualTime::FRACTION_BITS + u32::BITS;

    /// V.
    #[inline]
    pub const fn now(&self) -> VirtualTime {
        self.now
    }

    /// The sum of all weights that share V.
    #[inline]
    pub const fn total_weight(&self) -> u64 {
        self.total_weight
    }

    /// Whether a removed weight of this flow still counts.
    pub fn is_leaving(&self, flow: FlowId) -> bool {
        self.leaving.contains(flow.index())
    }

    /// Adds a weight: a flow joins, or its weight grows.
    pub fn add_weight(&mut self, flow: FlowId, weight: u32) {
        let mut missing = u64::from(weight);
        if let Some(leaving) = self.leaving_weights.get_mut(flow.index()) {
            let taken_up = missing.min(*leaving);
            *leaving -= taken_up;
            missing -= taken_up;
            if *leaving == 0 {
                self.leaving.remove(flow.index());
            }
        }
        self.set_total_weight(self.total_weight + missing);
    }

    /// Removes a weight: a flow leaves, or its weight shrinks. `finish` is the flow's last finish
    /// time.
    pub fn remove_weight(&mut self, flow: FlowId, weight: u32, finish: VirtualTime) {
        // A finish time with a larger lead is from before the clock wrapped.
        let finish = if finish.since(self.now) <= MAX_AHEAD {
            finish
        } else {
            self.now
        };
        let mut until = finish.plus(self.span_of(FlowConfig::MAX_PACKET_LEN));
        if flow.index() >= self.leaving_weights.len() {
            self.leaving_weights.resize(flow.index() + 1, 0);
        }
        self.leaving_weights[flow.index()] += u64::from(weight);
        if let Some(before) = self.leaving.key(flow.index()) {
            until = until.later(before);
            self.leaving.remove(flow.index());
        }
        self.leaving.insert(flow.index(), until);
        self.let_go(false);
    }

    fn set_total_weight(&mut self, total: u64) {
        self.total_weight = total;
        self.remainder = 0;
        self.inverse = (1u64 << Self::INVERSE_BITS).checked_div(total).unwrap_or(0);
    }

    /// Whether removed weights still count. [`let_go`](Self::let_go) is then due after each packet.
    #[inline]
    pub const fn has_leaving(&self) -> bool {
        !self.leaving.is_empty()
    }

    /// Drops removed weights that V has passed, or any if nothing is backlogged, since no flow can
    /// then be overtaken. Drops at most two of them, so that no packet waits for thousands of flows
    /// that leave together. The others count for some packets longer, which slows V down and lets
    /// no flow overtake another one.
    #[cold]
    pub fn let_go(&mut self, is_idle: bool) {
        let mut gone = 0;
        for _ in 0..MOST_GONE {
            let Some((until, flow)) = self.leaving.first() else {
                break;
            };
            if !is_idle && until.is_after(self.now) {
                break;
            }
            self.leaving.remove(flow);
            gone += core::mem::take(&mut self.leaving_weights[flow]);
        }
        if gone > 0 {
            self.set_total_weight(self.total_weight - gone);
        }
    }

    /// How far V advances at most for `len` bytes: Eq. 3's W(t1, t2) over the sum of weights, plus
    /// the largest remainder.
    #[inline]
    pub const fn span_of(&self, len: u32) -> u64 {
        self.span_after(len, u64::MAX).0
    }

    /// How far V advances for `len` bytes after this remainder, and the new remainder.
    #[inline]
    const fn span_after(&self, len: u32, fraction: u64) -> (u64, u64) {
        let scaled = (len as u64) << (u64::BITS + VirtualTime::FRACTION_BITS - Self::INVERSE_BITS);
        let span = scaled as u128 * self.inverse as u128 + fraction as u128;
        ((span >> u64::BITS) as u64, span as u64)
    }

    /// Advances V by a service of `len` bytes, for the cost of a multiplication. Rounded down by
    /// less than one part in 2^30 for any packet lengths while the sum of weights is below 2^32,
    /// because the remainder is kept for the next call.
    #[inline]
    pub fn advance(&mut self, len: u32) {
        let (span, fraction) = self.span_after(len, self.fraction);
        (self.now, self.fraction) = (self.now.plus(span), fraction);
    }

    /// Advances V by a service of `len` bytes, for the cost of a division. Rounding errors never
    /// add up.
    #[inline]
    pub fn advance_exactly(&mut self, len: u32) {
        let scaled = (u64::from(len) << VirtualTime::FRACTION_BITS) + self.remainder;
        self.now = self.now.plus(scaled / self.total_weight.max(1));
        self.remainder = scaled % self.total_weight.max(1);
    }

    /// Jumps to `target` if later: Eq. 3's minimum over the backlogged start times.
    #[inline]
    pub const fn jump_to(&mut self, target: VirtualTime) {
        if target.is_after(self.now) {
            (self.now, self.fraction) = (target, 0);
        }
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
    use crate::virtual_time::byte_time;

    /// Two flows with weights 1 and 3, of which the second leaves after it got 64 KB ahead.
    fn one_leaving() -> VirtualClock {
        let mut clock = VirtualClock::default();
        clock.add_weight(FlowId(0), 1);
        clock.add_weight(FlowId(1), 3);
        clock.remove_weight(FlowId(1), 3, clock.now().plus(clock.span_of(1 << 16)));
        clock
    }

    #[test]
    fn a_weight_counts_until_what_its_flow_was_served_ahead_has_passed() {
        let mut clock = one_leaving();
        clock.advance(1 << 16);
        clock.let_go(false);
        assert_eq!(
            clock.total_weight(),
            4,
            "V has reached its finish, not passed it by a packet"
        );
        clock.advance(1 << 16);
        clock.let_go(false);
        assert_eq!(clock.total_weight(), 1);
    }

    /// Each packet's third of a unit is kept for the next packet, also with a check for leaving
    /// weights after each packet.
    #[test]
    fn where_no_weight_goes_nothing_of_v_is_lost() {
        let mut clock = VirtualClock::default();
        clock.add_weight(FlowId(0), 3);
        clock.add_weight(FlowId(1), 3);
        clock.remove_weight(FlowId(1), 3, clock.now().plus(clock.span_of(1 << 16)));
        let start = clock.now();
        for _ in 0..600 {
            clock.advance_exactly(100);
            clock.let_go(false);
        }
        assert_eq!(
            clock.total_weight(),
            6,
            "the weight is still there, so that V ought to be exact"
        );
        assert_eq!(
            clock.now().since(start),
            10_000 << VirtualTime::FRACTION_BITS
        );
    }

    #[test]
    fn a_weight_that_comes_back_is_not_counted_twice() {
        let mut clock = one_leaving();
        clock.add_weight(FlowId(1), 2);
        assert_eq!(clock.total_weight(), 4);
        clock.add_weight(FlowId(1), 5);
        assert_eq!((clock.total_weight(), clock.has_leaving()), (8, false));
    }

    #[test]
    fn what_is_not_taken_up_again_goes() {
        let mut clock = one_leaving();
        clock.add_weight(FlowId(1), 2);
        clock.let_go(true);
        assert_eq!(
            (clock.total_weight(), clock.has_leaving()),
            (3, false),
            "the flow's two of three, and the other's"
        );
    }

    /// Many flows join and leave while V rests, two of them repeatedly: regression test for several
    /// entries of one flow.
    #[test]
    fn weights_of_many_flows_that_come_and_go_are_counted_once() {
        let mut clock = VirtualClock::default();
        for flow in (0..70).map(FlowId) {
            clock.add_weight(flow, 1000);
            clock.remove_weight(flow, 1000, clock.now().plus(1 << 40));
        }
        for turn in 0..1000 {
            let flow = FlowId(turn % 2);
            clock.add_weight(flow, 1000);
            clock.remove_weight(flow, 1000, clock.now().plus(1 << 40));
        }
        assert_eq!(clock.total_weight(), 70 * 1000);
        clock.jump_to(clock.now().plus(1 << 41));
        // Two flows in each call, so that no packet waits for all of them.
        for call in 1..=35 {
            clock.let_go(false);
            assert_eq!(clock.total_weight(), (70 - 2 * call) * 1000);
        }
        assert!(!clock.has_leaving());
    }

    #[test]
    fn no_weight_is_kept_for_an_idle_link() {
        let mut clock = VirtualClock::default();
        for flow in (0..10).map(FlowId) {
            clock.add_weight(flow, 1);
        }
        let start = clock.now();
        for flow in (1..10).map(FlowId) {
            clock.remove_weight(flow, 1, start.plus(1 << 40));
        }
        for total in [8, 6, 4, 2, 1] {
            clock.let_go(true);
            assert_eq!(clock.total_weight(), total);
        }
        assert_eq!(clock.now(), start);
    }

    /// Rounded down by at most the rounding of the inverse, for short packets and large sums of
    /// weights too.
    #[test]
    fn rounding_does_not_add_up() {
        for total in [
            1u64,
            3,
            64,
            65_521,
            734_003_200,
            (1 << 30) - 1,
            (1 << 31) - 1,
        ] {
            for len in [1u32, 64, 1500, 1 << 16] {
                let mut clock = VirtualClock::default();
                clock.set_total_weight(total);
                let packets = 100_000u32;
                (0..packets).for_each(|_| clock.advance(len));
                let exact = (u128::from(len) * u128::from(packets)) << VirtualTime::FRACTION_BITS;
                let lost = exact - u128::from(clock.now().bits()) * u128::from(total);
                assert!(
                    lost < (exact >> 30) + u128::from(total),
                    "{total}, {len} bytes: {lost} of {exact}"
                );
            }
        }
    }

    #[test]
    fn shares_never_exceed_the_link() {
        for total in [1u64, 3, 7, 1000, 999_983, 1 << 20] {
            let mut clock = VirtualClock::default();
            clock.set_total_weight(total);
            // A flow of weight w with w / total of the link must not fall behind V.
            for weight in [1u32, 2, 3, 5, 7, 1000, 1024] {
                if u64::from(weight) <= total {
                    let flow = u128::from(byte_time(weight)) * 1500 * u128::from(weight);
                    let link = u128::from(clock.span_after(1500, 0).0) * u128::from(total);
                    assert!(flow >= link, "weight {weight} of {total}");
                }
            }
        }
    }
}
