//! What QFQ's groups schedule: its time, its share and where it is listed. And which group it belongs in, by its longest packet and weight.
//!
//! Its place in order follows from the start time of what it sends next alone, so the finish time is not worked out before that is sent: then
//! its length is at hand, while until then it would have to be looked up where nothing else is of interest. The exception is what was set
//! anew while it waits (weight, longest packet): its next packet is still charged by what was set before.

use crate::scheduler::FlowConfig;
use crate::virtual_time::{VirtualTime, byte_time};

/// Slots of a group, one bit each.
pub(crate) const SLOTS: u32 = u64::BITS;
/// Entities are grouped as if their longest packet had at least this many bytes.
const MIN_GROUPED_LEN: u32 = 1088;
/// Most bytes that can be served at a time.
pub(crate) const MAX_SERVICE: u32 = FlowConfig::MAX_PACKET_LEN;
/// Group 0 has slots of 2 to this: the shortest packets at the largest weight.
pub(crate) const MIN_SLOT_SHIFT: u32 = slot_shift(MIN_GROUPED_LEN, FlowConfig::MAX_WEIGHT);
/// The last group has the longest packets at the smallest weight.
pub(crate) const GROUPS: usize = (slot_shift(FlowConfig::MAX_PACKET_LEN, 1) - MIN_SLOT_SHIFT + 1) as usize;

const _: () = assert!(GROUPS.is_power_of_two(), "a group's number is kept in range by a mask");
const _: () = assert!(2 + MAX_SERVICE.div_ceil(MIN_GROUPED_LEN) <= SLOTS, "Theorem 5");

/// The smallest power of two that holds a packet's virtual time: Eq. 4.
const fn slot_shift(len: u32, weight: u32) -> u32 {
    let len = if len < MIN_GROUPED_LEN { MIN_GROUPED_LEN } else { len };
    (len as u64 * byte_time(weight)).next_power_of_two().trailing_zeros()
}

/// log2 of a group's slot size.
#[inline]
pub(crate) const fn shift_of(group: usize) -> u32 {
    MIN_SLOT_SHIFT + group as u32
}

/// phi sigma_i times the sum of weights, in bytes: what an entity of this weight sends in a slot of its group.
pub(crate) fn slot_bytes(max_packet_len: u32, weight: u32) -> u64 {
    let shift = slot_shift(max_packet_len.min(FlowConfig::MAX_PACKET_LEN), weight.max(1));
    u64::from(weight) << (shift - VirtualTime::FRACTION_BITS)
}

/// What is scheduled: its times and its place.
#[derive(Debug, Clone)]
pub(crate) struct Entity {
    /// S of what it sends next if it is backlogged, F of what it sent last if it is idle.
    pub(crate) time: VirtualTime,
    /// F of what it sends next, while it is unsettled.
    finish: VirtualTime,
    /// Virtual time of a byte, at most 2^30.
    byte_time: u32,
    /// Its place in the list of its slot, if it is backlogged.
    pub(crate) place: u32,
    /// The group that it is listed in, if it is backlogged.
    group: u8,
    /// The group that it belongs in by what was set.
    home: u8,
    /// What it sends next or after that may belong in another group.
    is_unsettled: bool,
}

impl Entity {
    pub(crate) const UNKNOWN: Self =
        Self { time: VirtualTime::ZERO, finish: VirtualTime::ZERO, byte_time: 0, place: 0, group: 0, home: 0, is_unsettled: false };

    /// Sets its share and its longest packet. If that is another group, it goes there when it is next listed; `next`, the span of what it sends
    /// next, stays what it is.
    pub(crate) fn set(&mut self, weight: u32, max_packet_len: u32, next: u64) {
        self.unsettle(next);
        self.byte_time = byte_time(weight) as u32;
        self.home = (slot_shift(max_packet_len, weight) - MIN_SLOT_SHIFT) as u8;
    }

    /// It may have to go to another group after what it sends next, which takes `next`.
    pub(crate) fn unsettle(&mut self, next: u64) {
        self.finish = self.finish(next);
        self.is_unsettled = true;
    }

    /// Whether what it sends has the length and the weight that its group is for.
    #[inline]
    pub(crate) const fn is_settled(&self) -> bool {
        !self.is_unsettled
    }

    /// Virtual time of a byte.
    pub(crate) const fn byte_time(&self) -> u32 {
        self.byte_time
    }

    /// Virtual time of `len` bytes.
    #[inline]
    pub(crate) const fn span_of(&self, len: u32) -> u64 {
        len as u64 * self.byte_time as u64
    }

    /// F - S of what it sends next if that takes `span` by what is set.
    #[inline]
    pub(crate) const fn charge(&self, span: u64) -> u64 {
        if self.is_unsettled { self.finish.since(self.time) as u64 } else { span }
    }

    /// F of what it sends next if that takes `span` by what is set; F of what it sent last if it is idle, and `span` zero.
    pub(crate) const fn finish(&self, span: u64) -> VirtualTime {
        self.time.plus(self.charge(span))
    }

    /// Whether it can stay in its group with what takes `span`.
    pub(crate) const fn fits(&self, span: u64) -> bool {
        !self.is_unsettled && span <= 1 << shift_of(self.group())
    }

    /// How far F of what it sent last is ahead of V. None if it is further than it can be in its group: then it is from before the clock wrapped.
    #[inline]
    pub(crate) fn lead(&self, now: VirtualTime) -> Option<i64> {
        let lead = self.time.since(now);
        (lead < 2 << shift_of(self.group())).then_some(lead)
    }

    #[inline]
    pub(crate) const fn group(&self) -> usize {
        self.group as usize % GROUPS
    }

    /// The group by what is set, or a higher one: while what is to be sent is longer than what is now the longest, or while it is further
    /// ahead of V than may be in that group, since it was served with a smaller weight or longer packets (Theorem 3).
    #[cold]
    pub(crate) fn choose_group(&mut self, now: VirtualTime, span: u64) {
        let by_span = span.next_power_of_two().trailing_zeros().saturating_sub(MIN_SLOT_SHIFT) as u8;
        let lead = self.lead(now).unwrap_or(0).max(0);
        let by_lead = (i64::BITS - lead.leading_zeros()).saturating_sub(MIN_SLOT_SHIFT) as u8;
        self.group = by_lead.min(self.group).max(self.home.max(by_span));
        self.is_unsettled = self.group > self.home;
    }

    /// It becomes backlogged with what takes `span`.
    #[inline]
    pub(crate) fn start(&mut self, start: VirtualTime, span: u64) {
        (self.time, self.finish) = (start, start.plus(span));
    }
}
