//! Flows: what became of the frames of each, and the largest flows for a report.

use roundelay_trace::Flow;
use serde::Serialize;

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
    /// Times from arrival to the end of transmission, added up, in picoseconds.
    pub delays: u128,
}

impl FlowBooks {
    /// What has come to pass since these earlier books. Frames in the queue are those of now.
    #[must_use]
    pub const fn since(self, before: Self) -> Self {
        Self {
            packets: self.packets - before.packets,
            bytes: self.bytes - before.bytes,
            dropped: self.dropped - before.dropped,
            marked: self.marked - before.marked,
            waiting: self.waiting,
            delays: self.delays - before.delays,
        }
    }

    /// Mean time from arrival to the end of transmission, seconds.
    pub fn mean_delay(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.delays as f64 / self.packets as f64 / 1e12)
    }
}

/// A flow in the report of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
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

/// How many flows of a direction a report shows.
const REPORTED: usize = 20;

/// The flows that have sent most. Those without packets or drops are left out.
pub(crate) fn largest_flows(flows: &[Flow], books: &[FlowBooks]) -> Vec<FlowFigures> {
    let mut some = Vec::new();
    for (flow, books) in flows.iter().zip(books) {
        if books.packets + books.dropped > 0 {
            some.push((flow, books));
        }
    }
    some.sort_by_key(|(_, books)| std::cmp::Reverse(books.bytes));
    let mut largest = Vec::new();
    for (flow, books) in some.into_iter().take(REPORTED) {
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
