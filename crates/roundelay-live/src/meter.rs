//! Meter: what a run shows beside its books: flows, delays, and a direction's figures at some time.

use roundelay::Duration;
use roundelay_metrics::Delays;
use schemars::JsonSchema;
use serde::Serialize;

use crate::kinds::Kinds;

/// What became of a flow's frames.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FlowBooks {
    /// Frames that got the link.
    pub packets: u64,
    /// Their bytes, as frames.
    pub bytes: u64,
    /// Frames dropped by the queue.
    pub dropped: u64,
    /// Frames that got CE here.
    pub marked: u64,
    /// Frames in the queue.
    pub waiting: u64,
    /// Sum of the times from arrival to the end of transmission, in picoseconds.
    pub delays: u128,
}

impl FlowBooks {
    /// Mean time from arrival to the end of transmission, seconds.
    pub fn mean_delay(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.delays as f64 / self.packets as f64 / 1e12)
    }
}

/// Bytes of a full packet of Ethernet.
pub(crate) const FULL_PACKET: u64 = 1514;

/// A frame that is due for this long at the end of a run is stuck: its device does not take it.
const STUCK: Duration = Duration::from_millis(100);

/// A device whose frames have no stamps is read at least twice in this time. Arrivals that are late
/// by less are not seen there.
pub(crate) const BLUNT: Duration = Duration::from_millis(1);

/// Whether frames came in and left when they should.
#[derive(Debug, Clone, Default)]
pub(crate) struct Punctuality {
    /// How late frames left, beyond the time due.
    pub(crate) lateness: Delays,
    /// Frames that left late by the time of a full packet or more, each at the link's rate when
    /// the frame was sent.
    pub(crate) late: u64,
    /// Frames that are due for long, and that the device has not taken.
    pub(crate) stuck: u64,
    /// Arrivals moved by the time of a full packet or more, each at the link's rate of that time.
    pub(crate) moved: u64,
    /// Frames without a stamp, which may have come at any time since the device was read before.
    pub(crate) unstamped: u64,
    /// Those for which that is too long: the time of a full packet, and [`BLUNT`].
    pub(crate) unseen: u64,
    /// The longest such time.
    pub(crate) unseen_most: Duration,
}

impl Punctuality {
    /// A frame has left late by `late`, and a full packet takes `full_packet`.
    pub(crate) fn left(&mut self, late: Duration, full_packet: Duration) {
        self.lateness.record(late);
        self.late += u64::from(late >= full_packet);
    }

    /// A frame is late by `late` at the end of the run, and still here.
    pub(crate) fn stayed(&mut self, late: Duration, full_packet: Duration) {
        if late >= full_packet.max(STUCK) {
            self.lateness.record(late);
            self.stuck += 1;
        } else {
            self.left(late, full_packet);
        }
    }

    /// A frame without a stamp came, and its device was read before `gap` ago.
    pub(crate) fn came_unstamped(&mut self, gap: Duration, full_packet: Duration) {
        self.unstamped += 1;
        if gap >= full_packet.max(BLUNT) {
            self.unseen += 1;
            self.unseen_most = self.unseen_most.max(gap);
        }
    }
}

/// Meters of a direction.
#[derive(Debug, Default)]
pub(crate) struct Meter {
    pub(crate) punctuality: Punctuality,
    pub(crate) flows: Vec<FlowBooks>,
    pub(crate) kinds: Kinds,
    /// From arrival to the end of transmission, of the whole run.
    pub(crate) delays: Delays,
    /// The same, since the last sample.
    pub(crate) recent: Delays,
}

impl Meter {
    pub(crate) fn flow(&mut self, flow: u32) -> &mut FlowBooks {
        let place = flow as usize;
        if self.flows.len() <= place {
            self.flows.resize(place + 1, FlowBooks::default());
        }
        &mut self.flows[place]
    }

    pub(crate) fn record(&mut self, delay: Duration) {
        self.delays.record(delay);
        self.recent.record(delay);
    }
}

/// A direction at some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, JsonSchema)]
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
}
