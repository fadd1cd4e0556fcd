//! Results of a comparison: plain data, serialised directly, rendered by `roundelay-report`.
//!
//! Times are in seconds, rates in bits per second, sizes in bytes. Delay is the time from a
//! packet's arrival at the port to the end of its transmission.

use serde::Serialize;

use crate::host_summary::{HostFairness, HostsSummary};
use crate::kind::{Kind, KindOutcome};
use crate::observed::Observed;
use crate::outcome::Outcome;
use crate::reaction::basis::{Basis, OpenEnd};
use crate::selection::SelectionSummary;

/// Results of one capture replayed through several disciplines.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Comparison {
    /// Version of Roundelay.
    pub version: &'static str,
    /// The replayed capture.
    pub capture: CaptureSummary,
    /// The link's rate, bits per second.
    pub link_rate: u64,
    /// The smallest rate that shapes all packets, bits per second: the link's, or that of a shaper in
    /// a discipline or tree. Light and bulk refer to it, or to a smaller one that shapes the flow.
    pub reference_rate: u64,
    /// The seed of all random numbers and hashes.
    pub seed: u64,
    /// Every flow, in order of first appearance.
    pub flows: Vec<FlowSummary>,
    /// The flows' hosts, where a discipline shares the link by host, and bulk flows of several hosts
    /// want it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostsSummary>,
    /// Flows with curves, as indices into `flows`, largest first.
    pub charted: Vec<usize>,
    /// One entry per discipline, in the order of the options.
    pub disciplines: Vec<DisciplineResult>,
    /// The results with further seeds, if some discipline draws or hashes.
    #[serde(skip)]
    pub other_seeds: Vec<OtherSeed>,
    /// What was met beside these figures. Advice needs it, tables and files do not.
    #[serde(skip)]
    pub observed: Observed,
    /// What these figures rest on if they are those of senders that react; none for a replay.
    #[serde(skip)]
    pub reaction: Option<Box<Reaction>>,
}

impl Comparison {
    /// A message with the disciplines that broke a proven bound, if any did.
    pub fn broken_bounds(&self) -> Option<String> {
        let broken = self
            .disciplines
            .iter()
            .filter(|discipline| discipline.kept_bounds == Some(false));
        let names: Vec<_> = broken.map(|discipline| discipline.spec.as_str()).collect();
        (!names.is_empty()).then(|| format!("a proven bound was broken by {}", names.join(", ")))
    }

    /// The flows of a kind, as indices into `flows`.
    pub fn flows_of(&self, kind: Kind) -> Vec<usize> {
        let mut found = Vec::new();
        for (index, flow) in self.flows.iter().enumerate() {
            if flow.kind == kind {
                found.push(index);
            }
        }
        found
    }
}

/// What the figures rest on when senders react.
#[derive(Debug, Clone)]
pub struct Reaction {
    /// How often each discipline ran.
    pub replicas: usize,
    /// The senders' congestion control.
    pub control: &'static str,
    /// Parts of the capture's bytes, and what else it tells about its applications.
    pub basis: Basis,
    /// A replay of the same packets as recorded, in which nobody reacts.
    pub replay: Comparison,
    /// Verdicts at the ends of what no capture shows, if you asked for them.
    pub open: Vec<OpenEnd>,
}

/// The results of all disciplines with another seed, without curves.
#[derive(Debug, Clone)]
pub struct OtherSeed {
    /// The seed.
    pub seed: u64,
    /// One entry per discipline. Those that read no seed are as with the first one.
    pub disciplines: Vec<DisciplineResult>,
    /// Which disciplines draw or hash, and so have run again.
    pub reads_seed: Vec<bool>,
}

/// The replayed capture.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CaptureSummary {
    /// The file's name.
    pub name: String,
    /// Packets replayed.
    pub packets: u64,
    /// Total bytes on the wire, with the link's overhead and framing if given.
    pub bytes: u64,
    /// The longest packet, bytes on the wire.
    pub longest_packet: u32,
    /// Time from the first packet to the last.
    pub seconds: f64,
    /// Time of the first packet, in nanoseconds since the Unix epoch.
    pub first_unix_nanos: i64,
    /// The selection of packets; none if all packets of the capture were replayed without an
    /// option.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selection: Option<SelectionSummary>,
    /// Overhead, minimum and framing of the link, in the words of tc-cake(8); none if lengths are
    /// as captured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub link: Option<String>,
    /// Definition of a flow: `5tuple`, `src`, `dst`, `dscp`.
    pub flow_by: String,
}

/// A flow as offered to the port.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowSummary {
    /// Readable name: `tcp 10.0.0.1:443 > 10.0.0.2:51000`.
    pub label: String,
    /// The flow's weight.
    pub weight: u32,
    /// Packets offered.
    pub packets: u64,
    /// Bytes offered.
    pub bytes: u64,
    /// Time of the first packet, from the start of the capture.
    pub first: f64,
    /// Time of the last packet, from the start of the capture.
    pub last: f64,
    /// Offered bits divided by the length of the capture.
    pub offered_rate: f64,
    /// Bits sent by an ideal GPS server with an unlimited buffer until the last arrival, divided by
    /// the length of the capture.
    pub fair_rate: f64,
    /// Light flow: asks for less than its fair share whenever other flows want the link too. The
    /// ideal server holds at most ten full packets of a light flow at 99% of its arrivals. A fair
    /// queue should not delay a light flow.
    pub light: bool,
    /// What the flow most likely is.
    pub kind: Kind,
    /// Its host, an index into the comparison's hosts.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub host: Option<usize>,
    /// What the flow is due of its host's fair rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fair_rate_by_host: Option<f64>,
}

/// Results of one discipline.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct DisciplineResult {
    /// Specification in the user's syntax: `fq_codel target 5ms`.
    pub spec: String,
    /// The discipline's name.
    pub name: &'static str,
    /// One-line description.
    pub about: &'static str,
    /// Buffer limit: `1000p`, `150kb`.
    pub limit: String,
    /// Whether the discipline supports weights.
    pub weighted: bool,
    /// Over all flows.
    pub total: Outcome,
    /// Over all light flows.
    pub light: Outcome,
    /// 99th percentile of delay of a typical light flow, seconds: the geometric mean over the light
    /// flows, each with equal weight; none without a light flow that got a packet through.
    pub light_p99: Option<f64>,
    /// One entry per flow, as in [`Comparison::flows`].
    pub flows: Vec<FlowResult>,
    /// One entry per kind of flows in the capture, in the order of [`Kind::ALL`].
    pub kinds: Vec<KindOutcome>,
    /// Jain's fairness index over the flows that were backlogged throughout a window.
    pub jain: Option<Jain>,
    /// Whether the discipline, or a leaf of the tree, shares the link by host.
    pub shares_by_host: bool,
    /// How the link is divided among hosts, where the comparison has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hosts: Option<HostFairness>,
    /// Largest of the flows' lags behind an ideal GPS server.
    pub worst_lag: f64,
    /// Processing time on this machine; none if not measured.
    pub cost: Option<Cost>,
    /// Bytes of state for each flow.
    pub bytes_per_flow: usize,
    /// Bytes of state independent of the flows.
    pub fixed_bytes: usize,
    /// Whether every flow stayed within its proven bounds; none if the discipline has no proven
    /// bounds.
    pub kept_bounds: Option<bool>,
    /// Sent bytes and backlog over time.
    pub curves: Curves,
    /// Curves over all light flows; empty if there are none. Without the curves over time if a
    /// light flow is beyond the number of flows with curves.
    pub light_curves: Curves,
    /// The same over the flows of each kind in the capture, in the order of [`Kind::ALL`]: for
    /// pages, and not in the JSON.
    #[serde(skip)]
    pub kind_curves: Vec<KindCurves>,
    /// Where senders react: the figures of each run, of which these are the means. Without flows
    /// and curves.
    #[serde(skip)]
    pub replicas: Vec<Self>,
}

impl DisciplineResult {
    /// Leaves out what pages draw.
    pub(crate) fn leave_curves_out(&mut self) {
        self.kind_curves = Vec::new();
        self.curves = Curves::default();
        self.light_curves = Curves::default();
        for flow in &mut self.flows {
            flow.curves = None;
        }
    }
}

/// The flows of a kind together.
#[derive(Debug, Clone)]
pub struct KindCurves {
    /// The kind.
    pub kind: Kind,
    /// Totals.
    pub outcome: Outcome,
    /// As [`DisciplineResult::light_curves`].
    pub curves: Curves,
}

/// Results of one discipline for one flow.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowResult {
    /// Throughput, loss, delay, reordering.
    #[serde(flatten)]
    pub outcome: Outcome,
    /// Bytes whose transmission began by the last arrival of the capture.
    pub bytes_in_time: u64,
    /// Loss among the flow's packets other than TCP segments without data and SYN, 0 to 1.
    pub data_loss: f64,
    /// Largest lag behind an ideal GPS server, bytes.
    pub lag: f64,
    /// Measured bit worst-case fair index, bytes (QFQ paper, Eq. 7).
    pub b_wfi: f64,
    /// Proven bound on `b_wfi`, bytes.
    pub b_wfi_bound: Option<f64>,
    /// Measured time worst-case fair index, seconds (QFQ paper, Eq. 11).
    pub t_wfi: f64,
    /// Proven bound on `t_wfi`, seconds.
    pub t_wfi_bound: Option<f64>,
    /// Measured lateness against the same flow alone on a link with its share of the rate, seconds;
    /// negative if always early.
    pub latency: f64,
    /// Bound on `latency`, proven or derived from the B-WFI, seconds.
    pub latency_bound: Option<f64>,
    /// Measured difference in service between the flow and any other while both were backlogged,
    /// converted to time at the smallest share, seconds (Golestani's fairness).
    pub fairness: f64,
    /// Proven bound on `fairness`, seconds.
    pub fairness_bound: Option<f64>,
    /// Curves of the flows in [`Comparison::charted`].
    pub curves: Option<Curves>,
}

impl FlowResult {
    /// Each audited figure with its proven bound, if any.
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
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Curves {
    /// Bin width of the curves over time, seconds.
    pub bin: f64,
    /// Bits per second sent in each bin, from the start of the capture.
    pub throughput: Vec<f64>,
    /// Mean backlog in each bin, bytes.
    pub backlog: Vec<f64>,
    /// Mean delay in seconds of the packets that left in each bin; none without packets. For
    /// drawings alone: to write the delays of all flows costs more than to measure them.
    #[serde(skip)]
    pub delay_mean: Vec<Option<f64>>,
    /// Their longest delay.
    #[serde(skip)]
    pub delay_max: Vec<Option<f64>>,
    /// Pairs of delay in seconds and the fraction of packets with at most this delay, both
    /// increasing.
    pub delay_cdf: Vec<(f64, f64)>,
}

/// Jain's fairness index of service divided by weight.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Jain {
    /// Mean over the windows.
    pub mean: f64,
    /// Worst window.
    pub min: f64,
    /// Number of windows with at least two flows backlogged throughout or with drops for lack of
    /// space.
    pub windows: u64,
    /// Length of a window, seconds.
    pub window: f64,
}

/// Time of this machine's processor that a discipline takes, without the driver's own. Time that
/// other programs take does not count.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cost {
    /// Nanoseconds for one packet in and out: median of several runs.
    pub nanos_per_packet: f64,
    /// Fastest and slowest run.
    pub range: (f64, f64),
    /// Packets in each run.
    pub packets: u64,
}

impl Cost {
    /// Whether the runs agree: their range is at most half of the median. If not, the median is not
    /// worth telling, or arguing with.
    pub fn is_certain(&self) -> bool {
        let (fastest, slowest) = self.range;
        slowest - fastest <= self.nanos_per_packet / 2.0
    }
}
