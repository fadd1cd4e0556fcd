//! Entity: what QFQ's groups schedule (start time, weight, list slot), and how its longest packet
//! and weight choose a group.
//!
//! The order of entities depends only on the head packet's start time. The finish time is computed
//! when the head packet is sent, because its length is at hand then and would cost a lookup before.
//! Exception: after a change of weight or longest packet, the head packet is still charged at the
//! old values.

use crate::flow_config::FlowConfig;
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
pub(crate) const GROUPS: usize =
    (slot_shift(FlowConfig::MAX_PACKET_LEN, 1) - MIN_SLOT_SHIFT + 1) as usize;

const _: () = assert!(
    GROUPS.is_power_of_two(),
    "a group's number is kept in range by a mask"
);
const _: () = assert!(
    2 + MAX_SERVICE.div_ceil(MIN_GROUPED_LEN) <= SLOTS,
    "Theorem 5"
);

/// The smallest power of two that holds a packet's virtual time: Eq. 4.
const fn slot_shift(len: u32, weight: u32) -> u32 {
    let len = if len < MIN_GROUPED_LEN {
        MIN_GROUPED_LEN
    } else {
        len
    };
    (len as u64 * byte_time(weight))
        .next_power_of_two()
        .trailing_zeros()
}

/// log2 of a group's slot size.
#[inline]
pub(crate) const fn shift_of(group: usize) -> u32 {
    MIN_SLOT_SHIFT + group as u32
}

/// phi sigma_i times the sum of weights, in bytes: what an entity with this weight sends in one of
/// its group's slots.
pub(crate) fn slot_bytes(max_packet_len: u32, weight: u32) -> u64 {
    let shift = slot_shift(
        max_packet_len.min(FlowConfig::MAX_PACKET_LEN),
        weight.max(1),
    );
    u64::from(weight) << (shift - VirtualTime::FRACTION_BITS)
}

/// A schedulable unit: its virtual times and its position in the calendar.
#[derive(Debug, Clone)]
pub(crate) struct Entity {
    /// S of the head packet if backlogged, F of the last packet sent if idle.
    pub(crate) time: VirtualTime,
    /// F of the head packet, while the entity is unsettled.
    finish: VirtualTime,
    /// Virtual time of a byte, at most 2^30.
    byte_time: u32,
    /// Position in the slot's list, if backlogged.
    pub(crate) position: u32,
    /// The group of the list, if backlogged.
    group: u8,
    /// The group by configured weight and longest packet.
    home: u8,
    /// The head packet or a later one may belong in another group.
    is_unsettled: bool,
}

impl Entity {
    pub(crate) const UNKNOWN: Self = Self {
        time: VirtualTime::ZERO,
        finish: VirtualTime::ZERO,
        byte_time: 0,
        position: 0,
        group: 0,
        home: 0,
        is_unsettled: false,
    };

    /// Sets weight and longest packet. A change of group takes effect at the next insertion. The
    /// head packet, whose span (virtual time) is `next`, is still charged at the old rate.
    pub(crate) fn set(&mut self, weight: u32, max_packet_len: u32, next: u64) {
        self.unsettle(next);
        self.byte_time = byte_time(weight) as u32;
        self.home = (slot_shift(max_packet_len, weight) - MIN_SLOT_SHIFT) as u8;
    }

    /// The entity may move to another group after the head packet, whose span is `next`.
    pub(crate) fn unsettle(&mut self, next: u64) {
        self.finish = self.finish(next);
        self.is_unsettled = true;
    }

    /// Whether the head packet is charged by the current values, in the entity's own group.
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

    /// F - S of the head packet, given its `span` at the configured weight.
    #[inline]
    pub(crate) const fn charge(&self, span: u64) -> u64 {
        if self.is_unsettled {
            self.finish.since(self.time) as u64
        } else {
            span
        }
    }

    /// F of the head packet, given its `span` at the configured weight. If idle, F of the last
    /// packet sent, with `span` zero.
    pub(crate) const fn finish(&self, span: u64) -> VirtualTime {
        self.time.plus(self.charge(span))
    }

    /// Whether the entity can stay in its group with a head packet of this `span`.
    pub(crate) const fn fits(&self, span: u64) -> bool {
        !self.is_unsettled && span <= 1 << shift_of(self.group())
    }

    /// Distance from V to F of the last packet sent. None beyond the group's largest distance,
    /// because the timestamp is then from before the clock wrapped.
    #[inline]
    pub(crate) fn lead(&self, now: VirtualTime) -> Option<i64> {
        let lead = self.time.since(now);
        (lead < 2 << shift_of(self.group())).then_some(lead)
    }

    #[inline]
    pub(crate) const fn group(&self) -> usize {
        self.group as usize % GROUPS
    }

    /// The configured group, or a higher one while the head packet is longer than the configured
    /// longest packet, or while the entity's lead over V is too large for the configured group
    /// after service at a smaller weight or with longer packets (Theorem 3).
    #[cold]
    pub(crate) fn choose_group(&mut self, now: VirtualTime, span: u64) {
        let by_span = span
            .next_power_of_two()
            .trailing_zeros()
            .saturating_sub(MIN_SLOT_SHIFT) as u8;
        let lead = self.lead(now).unwrap_or(0).max(0);
        let by_lead = (i64::BITS - lead.leading_zeros()).saturating_sub(MIN_SLOT_SHIFT) as u8;
        self.group = by_lead.min(self.group).max(self.home.max(by_span));
        self.is_unsettled = self.group > self.home;
    }

    /// Makes the entity backlogged with a head packet of this `span`.
    #[inline]
    pub(crate) fn start(&mut self, start: VirtualTime, span: u64) {
        (self.time, self.finish) = (start, start.plus(span));
    }
}
