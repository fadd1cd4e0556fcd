//! What a comparison found: plain data, serialised as it is, rendered by `roundelay-report`.
//!
//! Times are in seconds, rates in bits per second, sizes in bytes. Delay is the time from a packet's arrival at the port to the end of its
//! transmission.

use serde::Serialize;

/// The same capture through several disciplines.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// Version of Roundelay that made it.
    pub version: &'static str,
    /// What was replayed.
    pub capture: CaptureSummary,
    /// The link's rate, bits per second.
    pub link_rate: u64,
    /// The seed of whatever was random or hashed.
    pub seed: u64,
    /// Every flow, in order of first sight.
    pub flows: Vec<FlowSummary>,
    /// Indices into `flows`: those that have curves, largest first.
    pub charted: Vec<usize>,
    /// One entry a discipline, in the order asked for.
    pub disciplines: Vec<DisciplineResult>,
    /// Which one serves this traffic best.
    pub verdict: Verdict,
}

/// What was replayed.
#[derive(Debug, Clone, Serialize)]
pub struct CaptureSummary {
    /// The file's name.
    pub name: String,
    /// Packets replayed.
    pub packets: u64,
    /// Their bytes on the wire.
    pub bytes: u64,
    /// The longest of them, bytes on the wire.
    pub longest_packet: u32,
    /// From the first packet to the last.
    pub seconds: f64,
    /// Nanoseconds since the Unix epoch of the first packet.
    pub first_unix_nanos: i64,
    /// What a flow is: `5tuple`, `src`, `dst`, `dscp`.
    pub flow_by: String,
    /// Sentences on what was odd about it: packets that could not be parsed, clock steps, a truncated tail; the last one says what a replay
    /// leaves out.
    pub notes: Vec<String>,
}

/// A flow as it was offered.
#[derive(Debug, Clone, Serialize)]
pub struct FlowSummary {
    /// As people read it: `tcp 10.0.0.1:443 > 10.0.0.2:51000`.
    pub label: String,
    /// Its weight.
    pub weight: u32,
    /// Packets offered.
    pub packets: u64,
    /// Bytes offered.
    pub bytes: u64,
    /// Its first packet, from the start of the capture.
    pub first: f64,
    /// Its last packet, from the start of the capture.
    pub last: f64,
    /// Bytes offered over the length of the capture.
    pub offered_rate: f64,
    /// Bytes that an ideal GPS server with room for everything would have sent by the last arrival, over the length of the capture.
    pub fair_rate: f64,
    /// Whether it asks for less than its fair share whenever others want the link too: the ideal server holds at most ten full packets of it
    /// as 99% of its packets come. A fair queue should not delay it.
    pub light: bool,
}

/// What one discipline did.
#[derive(Debug, Clone, Serialize)]
pub struct DisciplineResult {
    /// As the user would write it: `fq_codel target 5ms`.
    pub spec: String,
    /// Its name.
    pub name: &'static str,
    /// What it does, in a line.
    pub about: &'static str,
    /// Its buffer: `1000p`, `150kb`.
    pub limit: String,
    /// Whether it knows weights.
    pub weighted: bool,
    /// Over all flows.
    pub total: Outcome,
    /// Over all flows that ask for less than their fair share.
    pub light: Outcome,
    /// 99th percentile of delay of a typical one of these flows, seconds: the geometric mean over them, each counting alike; none without such
    /// a flow that got a packet through.
    pub light_p99: Option<f64>,
    /// One entry a flow, as in [`Comparison::flows`].
    pub flows: Vec<FlowResult>,
    /// Jain's fairness index over the flows that were backlogged throughout a window.
    pub jain: Option<Jain>,
    /// Largest of the flows' lags behind an ideal GPS server.
    pub worst_lag: f64,
    /// Time it cost on this machine; none if it was not measured.
    pub cost: Option<Cost>,
    /// Bytes of state for each flow.
    pub bytes_per_flow: usize,
    /// Bytes of state beside that.
    pub fixed_bytes: usize,
    /// Whether every flow stayed within what is proven; none if nothing is proven.
    pub kept_bounds: Option<bool>,
    /// Bytes sent and bytes waiting over time.
    pub curves: Curves,
    /// The same over all flows that ask for less than their fair share; empty if there are none. Without the two over time if some of them are
    /// beyond the number of flows that have curves.
    pub light_curves: Curves,
}

/// What came of a set of packets.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Outcome {
    /// Packets sent.
    pub packets: u64,
    /// Bytes sent.
    pub bytes: u64,
    /// Bytes sent over the time from the first arrival to the last departure.
    pub throughput: f64,
    /// Packets dropped.
    pub drops: Drops,
    /// Dropped packets over offered ones.
    pub loss: f64,
    /// Packets marked with ECN's CE in place of a drop.
    pub marked: u64,
    /// None if nothing was sent.
    pub delay: Option<Delay>,
    /// Packets that left after a later one of their flow.
    pub reordered: u64,
}

/// Packets dropped, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Drops {
    /// The buffer was full and the arriving packet was given up.
    pub full: u64,
    /// The buffer was full and a packet that had waited was given up.
    pub pushed_out: u64,
    /// Active queue management.
    pub early: u64,
    /// The discipline would not take it.
    pub refused: u64,
}

impl Drops {
    /// All of them.
    pub const fn total(&self) -> u64 {
        self.full + self.pushed_out + self.early + self.refused
    }
}

/// Quantiles of delay in seconds.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Delay {
    /// Arithmetic mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 99th percentile.
    pub p99: f64,
    /// 99.9th percentile.
    pub p999: f64,
    /// Largest.
    pub max: f64,
}

/// What one discipline did to one flow.
#[derive(Debug, Clone, Serialize)]
pub struct FlowResult {
    /// Throughput, loss, delay, reordering.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Largest lag behind an ideal GPS server, bytes.
    pub lag: f64,
    /// Measured bit worst-case fair index, bytes (QFQ paper, Eq. 7).
    pub b_wfi: f64,
    /// What is proven of it, bytes.
    pub b_wfi_bound: Option<f64>,
    /// Measured time worst-case fair index, seconds (QFQ paper, Eq. 11).
    pub t_wfi: f64,
    /// What is proven of it, seconds.
    pub t_wfi_bound: Option<f64>,
    /// Measured lateness against the flow alone on a link of its share of the rate, seconds; negative if it was never late.
    pub latency: f64,
    /// What is proven of it or follows from the B-WFI, seconds.
    pub latency_bound: Option<f64>,
    /// Measured difference of the flow's service to that of any other while both were backlogged, each taken as the time that it is worth at
    /// the smallest share, seconds (Golestani's fairness).
    pub fairness: f64,
    /// What is proven of it, seconds.
    pub fairness_bound: Option<f64>,
    /// For the flows in [`Comparison::charted`].
    pub curves: Option<Curves>,
}

impl FlowResult {
    /// Each figure of which something may be proven, and what is.
    pub const fn audited(&self) -> [(f64, Option<f64>); 4] {
        [
            (self.b_wfi, self.b_wfi_bound),
            (self.t_wfi, self.t_wfi_bound),
            (self.latency, self.latency_bound),
            (self.fairness, self.fairness_bound),
        ]
    }
}

/// Curves to draw.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Curves {
    /// Width of the bins of the next two, seconds.
    pub bin: f64,
    /// Bits per second sent in each bin from the start of the capture on.
    pub throughput: Vec<f64>,
    /// Bytes waiting, their mean over each bin.
    pub backlog: Vec<f64>,
    /// Delay in seconds and the fraction of packets that took no longer, increasing in both.
    pub delay_cdf: Vec<(f64, f64)>,
}

/// Jain's fairness index of service by weight.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Jain {
    /// Mean over the windows.
    pub mean: f64,
    /// Worst window.
    pub min: f64,
    /// Number of windows with at least two backlogged flows.
    pub windows: u64,
    /// Length of a window, seconds.
    pub window: f64,
}

/// What a discipline cost on this machine, the driver's own cost subtracted.
#[derive(Debug, Clone, Copy, Serialize)]
pub struct Cost {
    /// Nanoseconds for a packet in and out: median of several runs.
    pub nanos_per_packet: f64,
    /// Fastest and slowest run.
    pub range: (f64, f64),
    /// Packets in each run.
    pub packets: u64,
}

/// The answer.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Verdict {
    /// Index into [`Comparison::disciplines`].
    pub best: usize,
    /// Two or three sentences: which one, and why.
    pub sentences: Vec<String>,
    /// Commands that set it up on Linux, one a line; empty where none are known.
    pub commands: Vec<String>,
}
