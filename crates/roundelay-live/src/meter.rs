//! Meter: what a run shows besides its books: flows, delays, and a direction's figures at some
//! time.

use roundelay::Duration;
use roundelay_metrics::Delays;
use serde::Serialize;

use crate::flows::FlowBooks;
use crate::kinds::{KindSamples, PacketKind, Recent};
use crate::phases::{Conditions, Phases};

/// Bytes of a full Ethernet packet.
pub(crate) const FULL_PACKET: u64 = 1514;

/// If a frame has been due for this long when a run ends it is stuck, because its device does not
/// take it.
const STUCK: Duration = Duration::from_millis(100);

/// We read a device whose frames have no stamps at least twice in this time. Arrivals that are late
/// by less go unnoticed there.
pub(crate) const BLUNT: Duration = Duration::from_millis(1);

/// Whether frames came in and left on time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Punctuality {
    /// How long after their due time frames left.
    pub(crate) lateness: Delays,
    /// Frames that left late by at least the time of a full packet, at the link's rate when the
    /// frame was sent.
    pub(crate) late: u64,
    /// Frames that have been due for long but that the device has not taken.
    pub(crate) stuck: u64,
    /// Arrivals moved by at least the time of a full packet, at the link's rate at that time.
    pub(crate) moved: u64,
    /// Frames without a stamp. They may have come at any time since the device was last read.
    pub(crate) unstamped: u64,
    /// Those of them for which this time was too long: at least that of a full packet, and at least
    /// [`BLUNT`].
    pub(crate) unseen: u64,
    /// The longest of these times.
    pub(crate) unseen_most: Duration,
}

impl Punctuality {
    /// Counts a frame that left `late` after it was due. A full packet takes `full_packet`.
    pub(crate) fn left(&mut self, late: Duration, full_packet: Duration) {
        self.lateness.record(late);
        self.late += u64::from(late >= full_packet);
    }

    /// Counts a frame that is `late` when the run ends, and still here.
    pub(crate) fn stayed(&mut self, late: Duration, full_packet: Duration) {
        if late >= full_packet.max(STUCK) {
            self.lateness.record(late);
            self.stuck += 1;
        } else {
            self.left(late, full_packet);
        }
    }

    /// Counts a frame that came without a stamp. Its device was read `gap` before.
    pub(crate) fn came_unstamped(&mut self, gap: Duration, full_packet: Duration) {
        self.unstamped += 1;
        if gap >= full_packet.max(BLUNT) {
            self.unseen += 1;
            self.unseen_most = self.unseen_most.max(gap);
        }
    }
}

/// What we measure in one direction.
#[derive(Debug)]
pub(crate) struct Meter {
    pub(crate) punctuality: Punctuality,
    pub(crate) flows: Vec<FlowBooks>,
    pub(crate) phases: Phases,
    /// Times from arrival to the end of transmission since the last sample.
    pub(crate) recent: Recent,
}

impl Meter {
    pub(crate) fn new(conditions: Conditions) -> Self {
        Self {
            punctuality: Punctuality::default(),
            flows: Vec::new(),
            phases: Phases::new(conditions),
            recent: Recent::default(),
        }
    }

    pub(crate) fn flow(&mut self, flow: u32) -> &mut FlowBooks {
        let index = flow as usize;
        if self.flows.len() <= index {
            self.flows.resize(index + 1, FlowBooks::default());
        }
        &mut self.flows[index]
    }

    /// Counts a frame of `bytes` bytes that got the link.
    pub(crate) fn sent(&mut self, kind: PacketKind, bytes: u64, delay: Duration, marked: bool) {
        self.phases.kinds().sent(kind, bytes, delay, marked);
        self.recent.record(kind, delay);
    }
}

/// A direction at some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WaySample {
    /// Bytes handed to the device at the other end, since the start.
    pub delivered_bytes: u64,
    /// Frames dropped by the queue, since the start.
    pub dropped: u64,
    /// Frames that got CE here, since the start.
    pub marked: u64,
    /// Frames in the queue.
    pub waiting: u64,
    /// From arrival to the end of transmission since the last sample, seconds: p50 and p99. None
    /// without frames.
    pub delay: Option<[f64; 2]>,
    /// Delays of each kind since the last sample.
    pub kinds: KindSamples,
}
