//! Meter: what a run shows beside its books: flows, delays, and figures over time.

use roundelay::Duration;
use roundelay_metrics::Delays;
use schemars::JsonSchema;
use serde::Serialize;

use crate::bottleneck::Bottleneck;
use crate::kinds::Kinds;
use crate::settings::Way;

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

/// A flow in the report of a run.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FlowFigures {
    /// The flow: addresses and ports, or what else defines it.
    pub flow: String,
    /// Packets that got the link.
    pub packets: u64,
    /// Their bytes, as frames.
    pub bytes: u64,
    /// Packets dropped by the queue.
    pub dropped: u64,
    /// Packets that got CE here.
    pub marked: u64,
    /// Mean time from arrival to the end of transmission, seconds. None without packets.
    pub mean_delay: Option<f64>,
}

/// Flows of a direction in a report.
const REPORTED: usize = 20;

/// The flows of a direction that have sent most.
pub(crate) fn largest_flows(bottleneck: &Bottleneck, way: Way) -> Vec<FlowFigures> {
    let books = bottleneck.flow_books(way);
    let mut all: Vec<_> = bottleneck.flows(way).iter().zip(books).collect();
    all.sort_by_key(|(_, books)| std::cmp::Reverse(books.bytes));
    let mut largest = Vec::new();
    for (flow, books) in all.into_iter().take(REPORTED) {
        largest.push(FlowFigures {
            flow: flow.to_string(),
            packets: books.packets,
            bytes: books.bytes,
            dropped: books.dropped,
            marked: books.marked,
            mean_delay: books.mean_delay(),
        });
    }
    largest
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

/// Both directions at some time.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct Sample {
    /// Seconds since the start.
    pub seconds: f64,
    /// Up and down.
    pub ways: [WaySample; 2],
}

/// Samples over a run of any length: at most [`Samples::MOST`], in equal distances.
#[derive(Debug)]
pub struct Samples {
    every: f64,
    next: f64,
    all: Vec<Sample>,
}

impl Default for Samples {
    fn default() -> Self {
        Self {
            every: Self::SHORTEST,
            next: Self::SHORTEST,
            all: Vec::new(),
        }
    }
}

impl Samples {
    /// The most samples that are kept.
    pub const MOST: usize = 1200;
    /// Seconds between the samples of a short run.
    const SHORTEST: f64 = 0.1;

    /// Takes a sample, if it is time for one.
    pub fn take(&mut self, bottleneck: &mut Bottleneck, seconds: f64) {
        if seconds < self.next {
            return;
        }
        self.next = seconds + self.every;
        let ways = Way::BOTH.map(|way| bottleneck.sample(way));
        self.all.push(Sample { seconds, ways });
        if self.all.len() == Self::MOST {
            self.thin_out();
        }
    }

    /// Makes one of each two samples: counts are since the start, so the second has them all.
    fn thin_out(&mut self) {
        let mut half = Vec::with_capacity(Self::MOST);
        for pair in self.all.chunks(2) {
            let [first, second] = pair else { continue };
            let mut both = *second;
            for (way, before) in both.ways.iter_mut().zip(first.ways) {
                way.delay = worse(way.delay, before.delay);
            }
            half.push(both);
        }
        self.all = half;
        self.every *= 2.0;
    }

    /// The samples.
    pub fn all(&self) -> &[Sample] {
        &self.all
    }
}

/// The larger of each quantile: the p99 of both halves is not above it.
fn worse(a: Option<[f64; 2]>, b: Option<[f64; 2]>) -> Option<[f64; 2]> {
    let (Some([a50, a99]), Some([b50, b99])) = (a, b) else {
        return a.or(b);
    };
    Some([a50.max(b50), a99.max(b99)])
}

/// Quantiles of delays, in seconds. None without any.
pub fn quantiles<const N: usize>(delays: &Delays, at: [f64; N]) -> Option<[f64; N]> {
    let of = |q| delays.quantile(q).map_or(0.0, Duration::as_secs_f64);
    (delays.count() > 0).then(|| at.map(of))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{QueueText, Settings};
    use crate::slots::Slots;

    #[test]
    fn a_long_run_has_as_many_samples_in_longer_distances() {
        let queue = QueueText::Discipline("fifo".to_owned());
        let settings = Settings::new("1mbit".parse().unwrap(), queue);
        let mut bottleneck = Bottleneck::new(&settings, Slots::new(1, 64)).unwrap();
        let mut samples = Samples::default();
        for tick in 0..100_000 {
            samples.take(&mut bottleneck, f64::from(tick) * 0.05);
        }
        let all = samples.all();
        assert!(
            (Samples::MOST / 2..Samples::MOST).contains(&all.len()),
            "{}",
            all.len()
        );
        assert!(all.is_sorted_by_key(|sample| sample.seconds));
        assert!(all.last().unwrap().seconds > 4_980.0);
        let gaps = all.windows(2).map(|pair| pair[1].seconds - pair[0].seconds);
        assert!(gaps.fold(0.0, f64::max) < 20.0);
    }

    #[test]
    fn thinning_keeps_the_worse_delay() {
        let some = |p50, p99| Some([p50, p99]);
        assert_eq!(worse(some(1.0, 5.0), some(2.0, 3.0)), some(2.0, 5.0));
        assert_eq!(worse(None, some(2.0, 3.0)), some(2.0, 3.0));
        assert_eq!(worse(None, None), None);
    }
}
