//! Transfers: how long a group's flows take to complete, their goodput and round trips, and the
//! list of transfers (`[meter] transfers`).

use roundelay::{Bytes, Duration, Instant};
use roundelay_metrics::Delays;

use super::flow_meter::FlowMeter;
use super::measures::{Completion, Measures};
use super::ratio::ratio;
use crate::flows::FlowCounts;
use crate::ids::NodeId;
use crate::probe::Report;

/// A transfer that counts: a flow with an end, a response or a segment of video.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transfer {
    /// The flow's number. A flow may carry several transfers, as responses or segments.
    pub flow: u64,
    /// The index that the flow's group has in the scenario and in the results.
    pub group: u32,
    /// The node where the flow starts.
    pub from: NodeId,
    /// The node where the flow ends.
    pub to: NodeId,
    /// When the transfer started: the flow was opened, or the request or segment was made.
    pub start: Instant,
    /// Bytes received, over TCP without headers. If the transfer is complete, these are all. For a
    /// response or segment that is incomplete they are 0.
    pub bytes: u64,
    /// When the receiver had all bytes. None if the transfer is incomplete.
    pub delivered: Option<Instant>,
    /// When the sender knew of the delivery. None if there was no report, because only flows over
    /// TCP report.
    pub acknowledged: Option<Instant>,
    /// Whether the receiver has all bytes, and the agent knew before it was cut off.
    pub is_complete: bool,
    /// Segments retransmitted. None without TCP. Responses and segments of video count them since
    /// the previous one was complete.
    pub retransmissions: Option<u32>,
    /// How often the sender timed out in the same time.
    pub timeouts: Option<u32>,
    /// How long segments took to the receiver and answers took back on average, without the time
    /// spent at the receiver. None without TCP.
    pub round_trip: Option<Duration>,
}

// A run may have some 400,000 transfers.
const _: () = assert!(size_of::<Transfer>() <= 104);

impl Transfer {
    /// From start to completion. None if the transfer is incomplete.
    pub fn completion_time(&self, complete: Completion) -> Option<Duration> {
        if !self.is_complete {
            return None;
        }
        let delivered = self.delivered?;
        let end = match complete {
            Completion::Delivered => delivered,
            Completion::Acknowledged => self.acknowledged.unwrap_or(delivered),
        };
        Some(end.since(self.start))
    }

    /// A transfer that an agent reports.
    pub(super) fn of_report(flow: &FlowMeter, report: &Report) -> Self {
        let few = |number: u64| Some(u32::try_from(number).unwrap_or(u32::MAX));
        Self {
            start: report.start,
            bytes: report.bytes,
            delivered: Some(report.delivered).filter(|_| report.is_complete),
            acknowledged: report.acknowledged,
            is_complete: report.is_complete,
            retransmissions: few(report.retransmissions),
            timeouts: few(report.timeouts),
            round_trip: Some(report.round_trip).filter(|time| *time > Duration::ZERO),
            ..Self::cut_off(flow)
        }
    }

    /// A flow that ended at `now` and reported nothing.
    pub(super) fn of_counts(
        flow: &FlowMeter,
        counts: &FlowCounts,
        is_complete: bool,
        now: Instant,
    ) -> Self {
        Self {
            bytes: counts.bytes,
            delivered: Some(now).filter(|_| is_complete),
            is_complete,
            ..Self::cut_off(flow)
        }
    }

    /// A flow that reports nothing, cut off because the run ends.
    pub(super) const fn cut_off(flow: &FlowMeter) -> Self {
        Self {
            flow: flow.number,
            group: flow.group,
            from: flow.from,
            to: flow.to,
            start: flow.opened,
            bytes: flow.packets.bytes,
            delivered: None,
            acknowledged: None,
            is_complete: false,
            retransmissions: None,
            timeouts: None,
            round_trip: None,
        }
    }
}

/// The mean of times, weighted by transfers' bytes. Sums are exact, so the transfers' order does
/// not matter.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct ByBytes {
    /// Picoseconds times bytes.
    sum: u128,
    bytes: u64,
}

impl ByBytes {
    fn record(&mut self, time: Duration, bytes: u64) {
        self.sum += u128::from(time.as_picos()) * u128::from(bytes);
        self.bytes += bytes;
    }

    const fn merge(&mut self, other: Self) {
        self.sum += other.sum;
        self.bytes += other.bytes;
    }

    /// The mean in seconds.
    pub(super) fn mean(self) -> Option<f64> {
        ratio(self.sum as f64 / 1e12, self.bytes as f64)
    }
}

/// Complete transfers in a group or in a size class.
#[derive(Debug, Clone, Default)]
pub(super) struct Completed {
    pub(super) times: Delays,
    pub(super) times_by_bytes: ByBytes,
    /// Sum of the transfers' goodputs, in bits a second.
    goodputs: f64,
    /// The mean round trips that transfers reported.
    pub(super) round_trips: Delays,
    pub(super) round_trips_by_bytes: ByBytes,
}

impl Completed {
    pub(super) fn record(&mut self, transfer: &Transfer, took: Duration) {
        self.times.record(took);
        self.times_by_bytes.record(took, transfer.bytes);
        let seconds = took.as_secs_f64();
        self.goodputs += if seconds > 0.0 {
            transfer.bytes as f64 * 8.0 / seconds
        } else {
            0.0
        };
        if let Some(round_trip) = transfer.round_trip {
            self.round_trips.record(round_trip);
            self.round_trips_by_bytes.record(round_trip, transfer.bytes);
        }
    }

    pub(super) fn merge(&mut self, other: &Self) {
        self.times.merge(&other.times);
        self.times_by_bytes.merge(other.times_by_bytes);
        self.goodputs += other.goodputs;
        self.round_trips.merge(&other.round_trips);
        self.round_trips_by_bytes.merge(other.round_trips_by_bytes);
    }

    /// Bytes in all transfers.
    pub(super) const fn bytes(&self) -> u64 {
        self.times_by_bytes.bytes
    }

    /// The mean goodput in bits a second.
    pub(super) fn goodput(&self) -> Option<f64> {
        ratio(self.goodputs, self.times.count() as f64)
    }
}

/// Size classes for transfers, counted from 0. The smallest comes first.
#[derive(Debug, Clone)]
pub(super) enum SizeClasses {
    /// Up to 1 byte, 10, 100, and so on.
    PowersOfTen,
    /// Up to each of these sizes, in rising order, and above the last.
    UpTo(Vec<u64>),
}

impl SizeClasses {
    /// The scenario's size classes, or powers of ten if it has none.
    pub(super) fn new(sizes: &[Bytes]) -> Self {
        if sizes.is_empty() {
            Self::PowersOfTen
        } else {
            Self::UpTo(sizes.iter().map(|Bytes(size)| *size).collect())
        }
    }

    fn of(&self, bytes: u64) -> u32 {
        match self {
            Self::PowersOfTen => match bytes.saturating_sub(1).checked_ilog10() {
                Some(digits) => digits + 1,
                None => 0,
            },
            Self::UpTo(sizes) => sizes.partition_point(|size| *size < bytes) as u32,
        }
    }

    /// The largest size in a class, in bytes. None for the last class.
    fn up_to(&self, class: u32) -> Option<u64> {
        match self {
            Self::PowersOfTen => Some(10_u64.saturating_pow(class)),
            Self::UpTo(sizes) => sizes.get(class as usize).copied(),
        }
    }

    /// Which sizes a class has: above the first number, up to the second.
    pub(super) fn range(&self, class: u32) -> (u64, Option<u64>) {
        let below = match class {
            0 => None,
            _ => self.up_to(class - 1),
        };
        (below.unwrap_or(0), self.up_to(class))
    }
}

/// Selects which transfers count, and lists them.
#[derive(Debug)]
pub(super) struct Counted {
    /// Transfers count if they start at the first instant or later, but before the second.
    window: [Instant; 2],
    complete: Completion,
    pub(super) sizes: SizeClasses,
    /// In the order in which they end. None if nobody asked for the list.
    list: Option<Vec<Transfer>>,
}

impl Counted {
    pub(super) fn new(measures: &Measures, warmup: Duration, duration: Duration) -> Self {
        let window = measures.window(warmup, duration);
        let list = if measures.transfers {
            Some(Vec::new())
        } else {
            None
        };
        Self {
            window,
            complete: measures.complete,
            sizes: SizeClasses::new(&measures.sizes),
            list,
        }
    }

    pub(super) fn counts(&self, start: Instant) -> bool {
        (self.window[0]..self.window[1]).contains(&start)
    }

    /// Records that a counted transfer ended. If it is complete, returns how long it took, and its
    /// size class.
    pub(super) fn settle(&mut self, transfer: &Transfer) -> Option<(Duration, u32)> {
        if let Some(list) = &mut self.list {
            list.push(*transfer);
        }
        let took = transfer.completion_time(self.complete)?;
        Some((took, self.sizes.of(transfer.bytes)))
    }

    /// Takes the list out, sorted by flow and start.
    pub(super) fn take(&mut self) -> Vec<Transfer> {
        let mut list = self.list.take().unwrap_or_default();
        list.sort_by_key(|transfer| (transfer.flow, transfer.start));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_have_classes() {
        let tens = SizeClasses::new(&[]);
        assert_eq!(
            [0, 1, 2, 10, 11, 100, 1460].map(|bytes| tens.of(bytes)),
            [0, 0, 1, 1, 2, 2, 4]
        );
        assert_eq!(
            [0, 1, 4].map(|class| tens.range(class)),
            [(0, Some(1)), (1, Some(10)), (1000, Some(10_000))]
        );
        let own = SizeClasses::new(&[Bytes(1460), Bytes(10_220)]);
        assert_eq!(
            [1, 1460, 1461, 10_220, 10_221, u64::MAX].map(|bytes| own.of(bytes)),
            [0, 0, 1, 1, 2, 2]
        );
        assert_eq!(
            [0, 1, 2].map(|class| own.range(class)),
            [(0, Some(1460)), (1460, Some(10_220)), (10_220, None)]
        );
    }

    #[test]
    fn means_by_bytes_are_exact() {
        let mut mean = ByBytes::default();
        assert_eq!(mean.mean(), None);
        mean.record(Duration::from_secs(86_400), 1 << 40);
        mean.record(Duration::ZERO, 1 << 40);
        let mut other = ByBytes::default();
        other.record(Duration::from_secs(3), 1 << 41);
        mean.merge(other);
        assert_eq!(mean.mean(), Some((86_400.0 + 6.0) / 4.0));
    }
}
