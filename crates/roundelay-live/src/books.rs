//! Books: what became of each frame. They balance at any time, to the frame.

use roundelay::DropReason;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

/// The books of one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Books {
    /// Frames that arrived at the queue.
    pub arrived: u64,
    /// Their bytes, as frames.
    pub arrived_bytes: u64,
    /// Frames whose arrival is later than the stamp says, because the queue had gone on already.
    pub moved: u64,
    /// The longest such delay, nanoseconds.
    pub moved_most: u64,
    /// Frames that have left the link, lost ones included.
    pub sent: u64,
    /// Their bytes, as frames.
    #[serde(default)]
    pub sent_bytes: u64,
    /// Frames that got CE here.
    pub marked: u64,
    /// Frames dropped by the queue, by reason, in the order of [`DropReason::ALL`].
    #[serde(deserialize_with = "by_reason")]
    pub dropped: [u64; DropReason::ALL.len()],
    /// Frames lost on the wire, as the settings ask.
    pub lost: u64,
    /// Frames handed to the device at the other end.
    pub delivered: u64,
    /// Their bytes.
    pub delivered_bytes: u64,
    /// Frames that the interface at the other end refused, because it is down or for another reason.
    pub refused: u64,
    /// Frames in the queue.
    pub waiting: u64,
    /// Frames on the link or on the wire.
    pub on_the_way: u64,
    /// Changes of rate, queue or weights.
    pub changes: u64,
}

/// Frames lost where no queue saw them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(rename = "Outside"))]
pub struct LostOutside {
    /// Dropped by the kernel, because its ring was full.
    pub ring: u64,
    /// Longer than a slot.
    pub too_long: u64,
    /// Taken by the interface at the other end, and thrown away there: it had no link.
    #[serde(default)]
    pub unsent: u64,
}

impl LostOutside {
    /// All of them.
    pub const fn total(&self) -> u64 {
        self.ring + self.too_long + self.unsent
    }
}

/// Counts by reason. Records from before a reason was added have fewer.
fn by_reason<'de, D: Deserializer<'de>>(from: D) -> Result<[u64; DropReason::ALL.len()], D::Error> {
    let written = Vec::<u64>::deserialize(from)?;
    let mut counts = [0; DropReason::ALL.len()];
    if !(4..=counts.len()).contains(&written.len()) {
        let found = written.len();
        return Err(D::Error::invalid_length(found, &"a count for each reason"));
    }
    counts[..written.len()].copy_from_slice(&written);
    Ok(counts)
}

impl Books {
    /// Frames dropped by the queue.
    pub fn all_dropped(&self) -> u64 {
        self.dropped.iter().sum()
    }

    pub(crate) fn count_drop(&mut self, reason: DropReason) {
        let index = DropReason::ALL.iter().position(|known| *known == reason);
        self.dropped[index.unwrap_or_default()] += 1;
    }

    /// Whether the books balance: each frame that arrived is delivered, dropped, lost, in the
    /// queue, or on the way.
    pub fn balance(&self) -> bool {
        self.arrived == self.waiting + self.all_dropped() + self.sent
            && self.sent == self.on_the_way + self.lost + self.delivered + self.refused
    }
}
