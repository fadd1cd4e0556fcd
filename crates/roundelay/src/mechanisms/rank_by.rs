//! Packet ranks for programmable schedulers: one number a packet, smaller is more urgent, from
//! slack, priority or deadline.
//!
//! `sp_pifo` and `aifo` approximate a queue sorted by any of these ranks. `lstf` and `lstf_levels`
//! use slack only.

use crate::packet::{Packet, Priority, Times};
use crate::time::Instant;
use crate::units::Rate;

/// The source of a packet's rank.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RankBy {
    /// The time at which the last bit is due, in picoseconds: LSTF's key.
    Slack,
    /// [`Packet::priority`].
    Priority,
    /// [`Packet::deadline`], in picoseconds.
    Deadline,
}

impl RankBy {
    /// The words in user input, in the order of [`index`](Self::index).
    pub(crate) const WORDS: &'static [&'static str] = &["slack", "priority", "deadline"];
    const ALL: [Self; 3] = [Self::Slack, Self::Priority, Self::Deadline];

    /// Index in [`WORDS`](Self::WORDS).
    pub(crate) fn index(self) -> u64 {
        Self::ALL
            .iter()
            .position(|other| *other == self)
            .unwrap_or(0) as u64
    }

    /// The value at an index, if any.
    pub(crate) fn at(index: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(index).ok()?).copied()
    }

    /// The rank of a packet that arrives at `now`, on a link of this rate if known.
    #[inline]
    pub(crate) fn rank<T>(self, packet: &Packet<T>, now: Instant, link_rate: Option<Rate>) -> i128 {
        match self {
            Self::Slack => last_bit_due(packet, now, link_rate),
            Self::Priority => packet.priority.into(),
            Self::Deadline => packet.deadline.as_picos().into(),
        }
    }

    /// The meaning of a packet's priority for this rank.
    pub(crate) const fn priority(self) -> Priority {
        if matches!(self, Self::Priority) {
            Priority::Class
        } else {
            Priority::Unread
        }
    }

    /// The packet's time field read by this rank.
    pub(crate) const fn times(self) -> Times {
        match self {
            Self::Slack => Times::Slack,
            Self::Priority => Times::Unread,
            Self::Deadline => Times::Deadline,
        }
    }
}

/// LSTF's key (section 5 of the UPS paper), in picoseconds: the time at which the last bit is due
/// if the packet has its slack at `since`. T(p, a), the transmission time, is zero without a known
/// rate.
#[inline]
pub(crate) fn last_bit_due<T>(packet: &Packet<T>, since: Instant, link_rate: Option<Rate>) -> i128 {
    let transmission_time = link_rate.map_or(0, |rate| rate.time_of(packet.len.into()).as_picos());
    i128::from(since.as_picos())
        + i128::from(packet.slack.as_picos())
        + i128::from(transmission_time)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::FlowId;
    use crate::time::{Duration, Slack};

    #[test]
    fn a_rank_is_what_its_word_says() {
        let rate = Rate::from_bits_per_second(8_000_000_000);
        let deadline = Instant::from_nanos(7);
        let packet = Packet {
            priority: 5,
            slack: Slack::of(Duration::from_nanos(3)),
            deadline,
            ..Packet::new(FlowId(0), 1000, ())
        };
        let rank = |word: &str, rate| {
            let index = RankBy::WORDS
                .iter()
                .position(|other| *other == word)
                .expect("a word");
            let by = RankBy::at(index as u64).expect("a rank for each word");
            assert_eq!(by.index(), index as u64);
            by.rank(&packet, Instant::from_nanos(100), rate)
        };
        assert_eq!(
            [rank("slack", None), rank("slack", rate)],
            [103_000, 1_103_000],
            "a byte takes a nanosecond"
        );
        assert_eq!([rank("priority", rate), rank("deadline", rate)], [5, 7_000]);
        assert_eq!(
            (RankBy::WORDS.len(), RankBy::at(3), RankBy::at(u64::MAX)),
            (RankBy::ALL.len(), None, None)
        );
    }
}
