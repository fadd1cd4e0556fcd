//! Bounds as data, and as text.

use std::fmt::{self, Write};

use roundelay::schedulers::AnyDiscipline;
use roundelay::{Bound, Duration, Fault, FlowConfig, Guarantees, QueueSpec, Rate, Share};
use roundelay_report::{Printed, aligned, clean};
use roundelay_trace::TreeFile;
use serde::{Serialize, Serializer};

use super::bands;
use super::plan::{Flow, Hop, Plan, without_limit};
use super::trees;

/// Bounds by flow and discipline. Times in seconds, rates in bits per second, sizes in bytes.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Report {
    /// Version of Roundelay.
    version: &'static str,
    hops: Vec<HopReport>,
    flows: Vec<FlowReport>,
    disciplines: Vec<DisciplineReport>,
    /// The first flow whose rate or burst the file leaves out.
    #[serde(skip)]
    without_bucket: Option<String>,
    /// A tree gives the flows their service, so weights and shares do not matter.
    #[serde(skip)]
    has_tree: bool,
    /// What the tree lacks of the script that it was made from.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    reserves: Vec<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct HopReport {
    /// Bits per second.
    rate: u64,
    /// Propagation delay.
    delay: f64,
    /// Bytes of the longest packet on this link.
    max_packet_len: u32,
    /// None if the file sets no discipline for this link.
    discipline: Option<String>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FlowReport {
    /// The flow's name.
    name: String,
    /// Its weight in each discipline.
    weight: u32,
    /// Share of the slowest link, the rate r of the delay formulas.
    share: u64,
    /// Rate of the token bucket.
    rate: u64,
    /// Bytes of the token bucket.
    burst: u64,
    /// Bytes of the flow's longest packet.
    max_packet_len: u32,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct DisciplineReport {
    /// Discipline of the links without one in the file; null if the file sets all.
    spec: Option<String>,
    /// One entry per flow.
    flows: Vec<Promise>,
}

impl DisciplineReport {
    /// The column's heading.
    fn title(&self) -> &str {
        self.spec.as_deref().unwrap_or("delay")
    }

    fn is_silent(&self) -> bool {
        self.flows.iter().all(|promise| promise.delay.is_none())
    }
}

/// The bounds for one flow.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Promise {
    /// From a packet's arrival at the first link to its arrival after the last; null without a
    /// proof or if the value has saturated.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    delay: Option<Amount>,
    /// Source of a delay that is not the sum of the links' latencies.
    #[serde(skip_serializing_if = "Option::is_none")]
    delay_source: Option<&'static str>,
    /// One entry per link, if requested.
    hops: Vec<HopPromise>,
}

#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct HopPromise {
    b_wfi: Option<Proven>,
    t_wfi: Option<Proven>,
    /// Bound on lateness compared with the flow alone on a link of its share, as stated or derived
    /// from the B-WFI: the link's part of the delay bound.
    latency: Option<Proven>,
    fairness: Option<Proven>,
}

/// A bound and the source of its proof.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Proven {
    /// Bytes or seconds; null if the value has saturated.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    value: Amount,
    /// The publication and its equation.
    source: &'static str,
    /// The bound in the discipline's paper, if another one; null if the paper prints this bound, or
    /// none.
    printed: Option<AsPrinted>,
}

/// A bound and the publication that prints it.
#[derive(Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct AsPrinted {
    /// Bytes or seconds; null if the value has saturated.
    #[cfg_attr(feature = "schema", schemars(with = "Option<f64>"))]
    value: Amount,
    /// The publication and its equation.
    source: &'static str,
}

impl Proven {
    fn bytes(bound: Bound<u64>) -> Self {
        Self {
            value: Amount::Bytes(bound.value),
            source: bound.source,
            printed: None,
        }
    }

    fn time(bound: Bound<Duration>) -> Self {
        Self {
            value: Amount::Time(bound.value),
            source: bound.source,
            printed: None,
        }
    }
}

/// A bound in bytes or as a time. Either kind's largest value has saturated, so as a number it
/// would be too low.
#[derive(Debug, Clone, Copy)]
enum Amount {
    Bytes(u64),
    Time(Duration),
}

impl Serialize for Amount {
    /// Bytes or seconds; null for a saturated value.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match *self {
            Self::Bytes(u64::MAX) => serializer.serialize_none(),
            Self::Time(span) if span.is_saturated() => serializer.serialize_none(),
            Self::Bytes(bytes) => serializer.serialize_f64(bytes as f64),
            Self::Time(span) => serializer.serialize_f64(span.as_secs_f64()),
        }
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Bytes(u64::MAX) => f.write_str("more than 2^63 bytes"),
            Self::Time(span) if span.is_saturated() => f.write_str("more than 213 days"),
            Self::Bytes(bytes) => write!(f, "{bytes} bytes"),
            Self::Time(span) => f.write_str(&time(span)),
        }
    }
}

/// A flow and a link as a discipline hears of them. For a discipline, a flow's longest packet is
/// never below [`FlowConfig::MIN_MAX_PACKET_LEN`].
fn share(plan: &Plan, flow: &Flow, hop: &Hop) -> Share {
    let least = FlowConfig::MIN_MAX_PACKET_LEN;
    Share {
        weight: flow.weight,
        total_weight: plan.total_weight,
        least_weight: plan.least_weight,
        flows: plan.flows.len() as u64,
        max_packet_len: flow.max_packet_len.max(least),
        link_max_packet_len: hop.max_packet_len.max(least),
        rate: hop.rate,
    }
}

const FIFO_SOURCE: &str =
    "all flows are one flow with a token bucket, alone on each link (docs/bounds.md, FIFO)";

/// The delay bound if each link is a FIFO and each flow has a token bucket: the sum of the bursts
/// at the slowest link's rate, plus propagation, plus the longest packet for each link but the
/// first.
fn fifo_delay(plan: &Plan, discipline: &AnyDiscipline) -> Option<Duration> {
    let bursts = plan.bursts?;
    let mut delay = plan.slowest.time_of(bursts);
    let mut longest = 0;
    for hop in &plan.hops {
        let discipline = hop.discipline.as_ref().unwrap_or(discipline);
        if discipline.name() != "fifo" {
            return None;
        }
        delay = delay + hop.delay;
        longest = longest.max(hop.max_packet_len);
    }
    let forwarding = plan.slowest.time_of(longest.into());
    for _ in 1..plan.hops.len() {
        delay = delay + forwarding;
    }
    Some(delay)
}

/// The delay bound: `burst / r`, plus each link's latency and propagation, plus `L_k / r` for each
/// link but the first. If `detailed`, each link's bounds are in it too.
fn promise(plan: &Plan, flow: &Flow, discipline: &AnyDiscipline, detailed: bool) -> Promise {
    let first = share(plan, flow, &plan.hops[0]);
    let burst = plan.slowest.time_of(first.per_share(flow.burst));
    let longest = plan
        .slowest
        .time_of(first.per_share(flow.max_packet_len.into()));
    let mut delay = Some(burst);
    let mut hops = Vec::new();
    for (number, hop) in plan.hops.iter().enumerate() {
        let share = share(plan, flow, hop);
        let discipline = hop.discipline.as_ref().unwrap_or(discipline);
        let guarantees = discipline.guarantees(&share);
        let latency = guarantees.latency_for(&share);
        // A link sends a packet on only when it has all of it.
        let forwarding = if number == 0 { Duration::ZERO } else { longest };
        delay = match (delay, latency) {
            (Some(delay), Some(latency)) => Some(delay + latency.value + hop.delay + forwarding),
            _ => None,
        };
        if detailed {
            hops.push(HopPromise::new(&guarantees, latency));
        }
    }
    let mut delay_source = None;
    if delay.is_none() {
        delay = fifo_delay(plan, discipline);
        delay_source = delay.map(|_| FIFO_SOURCE);
    }
    if let Some((of_band, source)) = bands::delay(plan, flow, discipline) {
        delay = Some(of_band);
        delay_source = Some(source);
    }
    Promise {
        delay: delay.map(Amount::Time),
        delay_source,
        hops,
    }
}

impl Printed for Report {
    const SCHEMA: &'static str = "bounds/1";
}

impl Report {
    pub(super) fn new(plan: &Plan, asked: &[QueueSpec], detailed: bool) -> Result<Self, Fault> {
        let fixed = plan.hops.iter().all(|hop| hop.discipline.is_some());
        let mut disciplines = Vec::new();
        for spec in asked {
            disciplines.push(without_limit(spec)?.clone());
        }
        if fixed && !asked.is_empty() {
            return Err("each link of the file has its discipline: name none".into());
        }
        if asked.is_empty() {
            disciplines = AnyDiscipline::all();
        }
        if fixed {
            // All links have a discipline of their own, so this one stands for none.
            disciplines.truncate(1);
        }
        let mut reports = Vec::new();
        for discipline in &disciplines {
            let mut promises = Vec::new();
            for flow in &plan.flows {
                promises.push(promise(plan, flow, discipline, detailed));
            }
            reports.push(DisciplineReport {
                spec: (!fixed).then(|| discipline.to_string()),
                flows: promises,
            });
        }
        if asked.is_empty() && !fixed {
            reports.retain(|discipline| !discipline.is_silent());
        }
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            hops: hops(plan),
            flows: flows(plan),
            disciplines: reports,
            without_bucket: plan.flow_without_bucket.clone(),
            has_tree: false,
            reserves: Vec::new(),
        })
    }

    /// The bounds for flows in a tree's leaves.
    ///
    /// # Errors
    /// A flow has no leaf, or the file lists several links or their disciplines.
    pub(super) fn of_tree(plan: &Plan, tree: &TreeFile) -> Result<Self, Fault> {
        if plan.hops.iter().any(|hop| hop.discipline.is_some()) {
            return Err("the link of the file has a discipline: leave it or --tree out".into());
        }
        let mut promises = Vec::new();
        for flow in &plan.flows {
            let delay = trees::delay(plan, tree, flow)?;
            promises.push(Promise {
                delay: delay.map(|(delay, _)| Amount::Time(delay)),
                delay_source: delay.map(|(_, source)| source),
                hops: Vec::new(),
            });
        }
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            hops: hops(plan),
            flows: flows(plan),
            disciplines: vec![DisciplineReport {
                spec: Some(tree.name().to_owned()),
                flows: promises,
            }],
            without_bucket: plan.flow_without_bucket.clone(),
            has_tree: true,
            reserves: tree.reserves().to_vec(),
        })
    }

    pub(super) fn to_text(&self, sources: bool) -> String {
        let mut head: Vec<String> = Vec::new();
        for name in ["flow", "weight", "share", "rate", "burst"] {
            if !self.has_tree || !matches!(name, "weight" | "share") {
                head.push(name.to_owned());
            }
        }
        for discipline in &self.disciplines {
            head.push(discipline.title().to_owned());
        }
        let mut rows = vec![head];
        for (number, flow) in self.flows.iter().enumerate() {
            let mut row = vec![clean(&flow.name)];
            if !self.has_tree {
                row.push(flow.weight.to_string());
                row.push(bits(flow.share));
            }
            row.push(bits(flow.rate));
            row.push(flow.burst.to_string() + "b");
            for discipline in &self.disciplines {
                row.push(shown(discipline.flows[number].delay.as_ref()));
            }
            rows.push(row);
        }
        let links = if self.hops.len() == 1 {
            "one link".to_owned()
        } else {
            format!("{} links", self.hops.len())
        };
        let mut text = format!("Worst delay of a packet over {links}, as proven:\n\n");
        text += &aligned(&[], &rows);
        for discipline in &self.disciplines {
            if discipline.is_silent() {
                let _ = match &discipline.spec {
                    Some(spec) => writeln!(text, "\n{spec}: no delay is proven."),
                    None => writeln!(text, "\nNo delay is proven."),
                };
                self.write_bucket_hint(&mut text, discipline);
            }
        }
        if !self.reserves.is_empty() {
            let reserves = clean(&self.reserves.join("; "));
            let _ = writeln!(text, "\nThe tree is not all of its script: {reserves}.");
        }
        if sources {
            for discipline in &self.disciplines {
                if !discipline.is_silent() {
                    self.write_sources(&mut text, discipline);
                }
            }
        }
        text
    }

    /// Tells what a discipline that needs token buckets lacks for a bound.
    fn write_bucket_hint(&self, text: &mut String, discipline: &DisciplineReport) {
        let mut names = Vec::new();
        for hop in &self.hops {
            let text = hop.discipline.as_deref().or(discipline.spec.as_deref());
            names.push(
                text.unwrap_or_default()
                    .split(' ')
                    .next()
                    .unwrap_or_default(),
            );
        }
        if self.has_tree {
            let _ = writeln!(
                text,
                "A leaf has a bound if it is a fifo below a root of hfsc or htb, each of its flows \
                 states its rate and its burst, these rates are within the leaf's own (rate or \
                 rt), and the classes are promised no more than the link has. Below htb, the \
                 leaf's burst and cburst must hold what builds up while each other leaf sends a \
                 burst and a packet; try larger ones."
            );
            return;
        }
        let is_fifo = names.iter().all(|name| *name == "fifo");
        let has_bands = ["priority", "ets", "tbf"].contains(&names[0]);
        if !is_fifo && !has_bands {
            return;
        }
        if let Some(flow) = self.without_bucket.as_deref() {
            let _ = writeln!(
                text,
                "A {} has a bound if each flow states its rate and its burst; flow '{}' does not.",
                names[0],
                clean(flow)
            );
        } else if names.len() > 1 {
            let _ = writeln!(text, "The bounds of {} are for one link.", names[0]);
        } else if names[0] == "tbf" {
            let _ = writeln!(
                text,
                "tbf has a bound with a burst of two of the longest packets or more, without \
                 peakrate, and with a rate that the flows' rates do not exceed."
            );
        }
    }

    /// Writes each flow's bounds at each link, and a line for each proof.
    fn write_sources(&self, text: &mut String, discipline: &DisciplineReport) {
        let mut has_printed = false;
        for promise in &discipline.flows {
            for hop in &promise.hops {
                has_printed |= hop.printed().iter().any(Option::is_some);
            }
        }
        let mut head: Vec<String> = Vec::new();
        for name in ["flow", "link", "B-WFI", "T-WFI", "latency", "fairness"] {
            head.push(name.to_owned());
        }
        if has_printed {
            head.push("printed B-WFI".to_owned());
            head.push("printed T-WFI".to_owned());
        }
        let mut rows = vec![head];
        let mut sources = Vec::new();
        for (flow, promise) in self.flows.iter().zip(&discipline.flows) {
            for (number, hop) in (1..).zip(&promise.hops) {
                let mut row = vec![clean(&flow.name), format!("{number}")];
                for bound in hop.proven() {
                    row.push(shown(bound.map(|bound| &bound.value)));
                }
                if has_printed {
                    for bound in hop.printed() {
                        row.push(shown(bound.map(|bound| &bound.value)));
                    }
                }
                rows.push(row);
                for line in hop.sources() {
                    if !sources.contains(&line) {
                        sources.push(line);
                    }
                }
            }
            if let Some(source) = promise.delay_source {
                let line = format!("delay: {source}");
                if !sources.contains(&line) {
                    sources.push(line);
                }
            }
        }
        let _ = writeln!(text, "\n{}", discipline.title());
        *text += &aligned(&[], &rows);
        for source in sources {
            let _ = writeln!(text, "  {source}");
        }
    }
}

impl HopPromise {
    fn new(guarantees: &Guarantees, latency: Option<Bound<Duration>>) -> Self {
        let printed = &guarantees.printed;
        Self {
            b_wfi: beside(
                guarantees.b_wfi.map(Proven::bytes),
                printed.b_wfi.map(Proven::bytes),
            ),
            t_wfi: beside(
                guarantees.t_wfi.map(Proven::time),
                printed.t_wfi.map(Proven::time),
            ),
            latency: latency.map(Proven::time),
            fairness: guarantees.fairness.map(Proven::time),
        }
    }

    fn proven(&self) -> [Option<&Proven>; 4] {
        [
            self.b_wfi.as_ref(),
            self.t_wfi.as_ref(),
            self.latency.as_ref(),
            self.fairness.as_ref(),
        ]
    }

    /// B-WFI and T-WFI as the paper prints them, if they differ.
    fn printed(&self) -> [Option<&AsPrinted>; 2] {
        let mut printed = [None, None];
        for (into, bound) in printed.iter_mut().zip([&self.b_wfi, &self.t_wfi]) {
            if let Some(bound) = bound {
                *into = bound.printed.as_ref();
            }
        }
        printed
    }

    /// The sources of the proofs, and of printed bounds that differ, a line each.
    fn sources(&self) -> Vec<String> {
        let mut lines = Vec::new();
        let names = ["B-WFI", "T-WFI", "latency", "fairness"];
        for (name, bound) in names.iter().zip(self.proven()) {
            if let Some(bound) = bound {
                lines.push(format!("{name}: {}", bound.source));
            }
        }
        let names = ["printed B-WFI", "printed T-WFI"];
        for (name, bound) in names.iter().zip(self.printed()) {
            if let Some(bound) = bound {
                lines.push(format!("{name}: {}", bound.source));
            }
        }
        lines
    }
}

/// A bound, beside the one that the discipline's paper prints.
fn beside(proven: Option<Proven>, printed: Option<Proven>) -> Option<Proven> {
    let mut proven = proven?;
    if let Some(Proven { value, source, .. }) = printed {
        proven.printed = Some(AsPrinted { value, source });
    }
    Some(proven)
}

fn hops(plan: &Plan) -> Vec<HopReport> {
    let mut reports = Vec::new();
    for hop in &plan.hops {
        reports.push(HopReport {
            rate: hop.rate.bits_per_second(),
            delay: hop.delay.as_secs_f64(),
            max_packet_len: hop.max_packet_len,
            discipline: hop.discipline.as_ref().map(AnyDiscipline::to_string),
        });
    }
    reports
}

fn flows(plan: &Plan) -> Vec<FlowReport> {
    let mut reports = Vec::new();
    for flow in &plan.flows {
        let share = plan.share_of(flow);
        reports.push(FlowReport {
            name: flow.name.clone(),
            weight: flow.weight,
            share,
            rate: flow.rate.map_or(share, Rate::bits_per_second),
            burst: flow.burst,
            max_packet_len: flow.max_packet_len,
        });
    }
    reports
}

/// A time to a thousandth of its unit, rounded up because it is an upper bound.
fn time(span: Duration) -> String {
    let picos = span.as_picos();
    let units = [
        ("s", 1_000_000_000_000),
        ("ms", 1_000_000_000),
        ("us", 1_000_000),
        ("ns", 1_000),
    ];
    let (unit, size) = units
        .into_iter()
        .find(|(_, size)| picos >= *size)
        .unwrap_or(units[3]);
    let thousandths = picos.div_ceil(size / 1_000);
    format!("{}.{:03}{unit}", thousandths / 1_000, thousandths % 1_000)
}

/// A rate to a thousandth of its unit, rounded down.
fn bits(rate: u64) -> String {
    let units = [
        ("tbit", 1_000_000_000_000),
        ("gbit", 1_000_000_000),
        ("mbit", 1_000_000),
        ("kbit", 1_000),
    ];
    let Some((unit, size)) = units.into_iter().find(|(_, size)| rate >= *size) else {
        return format!("{rate}bit");
    };
    let number = format!("{}.{:03}", rate / size, rate % size / (size / 1_000));
    format!(
        "{}{unit}",
        number.trim_end_matches('0').trim_end_matches('.')
    )
}

/// A bound, or a dash.
fn shown(bound: Option<&Amount>) -> String {
    match bound {
        Some(bound) => bound.to_string(),
        None => "–".to_owned(),
    }
}
