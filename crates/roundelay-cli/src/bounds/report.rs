//! Bounds as data, and as text.

use std::fmt::{self, Write};

use roundelay::schedulers::AnyDiscipline;
use roundelay::{Bound, Duration, QueueSpec, Rate, Share};
use roundelay_report::{aligned, clean};
use serde::{Serialize, Serializer};

use super::plan::{Flow, Hop, Plan, without_limit};

/// Bounds by flow and discipline. Times in seconds, rates in bits per second, sizes in bytes.
#[derive(Debug, Serialize)]
pub(crate) struct Report {
    version: &'static str,
    hops: Vec<HopReport>,
    flows: Vec<FlowReport>,
    disciplines: Vec<DisciplineReport>,
}

#[derive(Debug, Serialize)]
struct HopReport {
    rate: u64,
    /// Propagation delay.
    delay: f64,
    max_packet_len: u32,
    /// None if the file sets no discipline for this link.
    discipline: Option<String>,
}

#[derive(Debug, Serialize)]
struct FlowReport {
    name: String,
    weight: u32,
    /// Share of the slowest link, the rate r of the delay formulas.
    share: u64,
    /// Rate of the token bucket.
    rate: u64,
    burst: u64,
    max_packet_len: u32,
}

#[derive(Debug, Serialize)]
struct DisciplineReport {
    /// Discipline of the links without one in the file; null if the file sets all.
    spec: Option<String>,
    /// One entry per flow.
    flows: Vec<Promise>,
}

impl DisciplineReport {
    /// Heading of the column.
    fn title(&self) -> &str {
        self.spec.as_deref().unwrap_or("delay")
    }

    fn is_silent(&self) -> bool {
        self.flows.iter().all(|promise| promise.delay.is_none())
    }
}

/// The bounds for one flow.
#[derive(Debug, Serialize)]
struct Promise {
    /// From a packet's arrival at the first link to its arrival after the last; null without a
    /// proof or if the value has saturated.
    delay: Option<Amount>,
    /// One entry per link, if requested.
    hops: Vec<HopPromise>,
}

#[derive(Debug, Serialize)]
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
struct Proven {
    value: Amount,
    source: &'static str,
    /// The bound in the discipline's paper, if another one; null if the paper prints this bound, or
    /// none.
    printed: Option<AsPrinted>,
}

/// A bound and the publication that prints it.
#[derive(Debug, Serialize)]
struct AsPrinted {
    value: Amount,
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

    fn beside(self, printed: Option<Self>) -> Self {
        Self {
            printed: printed.map(|Self { value, source, .. }| AsPrinted { value, source }),
            ..self
        }
    }
}

/// A bound in bytes or as a time. The largest value of either kind has saturated: as a number it
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

fn share(plan: &Plan, flow: &Flow, hop: &Hop) -> Share {
    Share {
        weight: flow.weight,
        total_weight: plan.total_weight,
        least_weight: plan.least_weight,
        flows: plan.flows.len() as u64,
        max_packet_len: flow.max_packet_len,
        link_max_packet_len: hop.max_packet_len,
        rate: hop.rate,
    }
}

/// Delay bound: `burst / r`, plus latency and propagation of each link, plus `L_k / r` for each
/// link but the first. `detailed`: with the bounds of each link.
fn promise(plan: &Plan, flow: &Flow, discipline: &AnyDiscipline, detailed: bool) -> Promise {
    let at_share = |bytes: u64| {
        plan.slowest
            .time_of(share(plan, flow, &plan.hops[0]).per_share(bytes))
    };
    let stored = at_share(flow.max_packet_len.into());
    let mut delay = Some(at_share(flow.burst));
    let mut hops = Vec::new();
    for (number, hop) in plan.hops.iter().enumerate() {
        let share = share(plan, flow, hop);
        let guarantees = hop
            .discipline
            .as_ref()
            .unwrap_or(discipline)
            .guarantees(&share);
        let latency = guarantees.latency_for(&share);
        let forwarding = if number == 0 { Duration::ZERO } else { stored };
        delay = delay
            .zip(latency)
            .map(|(delay, latency)| delay + latency.value + hop.delay + forwarding);
        if detailed {
            hops.push(HopPromise {
                b_wfi: guarantees.b_wfi.map(|bound| {
                    Proven::bytes(bound).beside(guarantees.printed.b_wfi.map(Proven::bytes))
                }),
                t_wfi: guarantees.t_wfi.map(|bound| {
                    Proven::time(bound).beside(guarantees.printed.t_wfi.map(Proven::time))
                }),
                latency: latency.map(Proven::time),
                fairness: guarantees.fairness.map(Proven::time),
            });
        }
    }
    Promise {
        delay: delay.map(Amount::Time),
        hops,
    }
}

impl Report {
    pub(super) fn new(plan: &Plan, asked: &[QueueSpec], detailed: bool) -> Result<Self, String> {
        let fixed = plan.hops.iter().all(|hop| hop.discipline.is_some());
        let mut disciplines = asked
            .iter()
            .map(|spec| without_limit(spec).cloned())
            .collect::<Result<Vec<_>, _>>()?;
        match (fixed, disciplines.is_empty()) {
            (true, false) => {
                return Err("each link of the file has its discipline: name none".to_owned());
            }
            (_, true) => disciplines = AnyDiscipline::all(),
            (false, false) => {}
        }
        let report = |discipline: &AnyDiscipline| DisciplineReport {
            spec: (!fixed).then(|| discipline.to_string()),
            flows: plan
                .flows
                .iter()
                .map(|flow| promise(plan, flow, discipline, detailed))
                .collect(),
        };
        let mut disciplines: Vec<_> = disciplines
            .iter()
            .take(if fixed { 1 } else { usize::MAX })
            .map(report)
            .collect();
        if asked.is_empty() && !fixed {
            disciplines.retain(|discipline| !discipline.is_silent());
        }
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            hops: hops(plan),
            flows: flows(plan),
            disciplines,
        })
    }

    pub(super) fn to_text(&self, sources: bool) -> String {
        let mut head: Vec<String> = ["flow", "weight", "share", "rate", "burst"]
            .map(str::to_owned)
            .to_vec();
        head.extend(
            self.disciplines
                .iter()
                .map(|discipline| discipline.title().to_owned()),
        );
        let mut rows = vec![head];
        for (number, flow) in self.flows.iter().enumerate() {
            let [share, rate] = [flow.share, flow.rate].map(bits);
            let mut row = vec![
                clean(&flow.name),
                flow.weight.to_string(),
                share,
                rate,
                flow.burst.to_string() + "b",
            ];
            let delay = |discipline: &DisciplineReport| {
                discipline.flows[number]
                    .delay
                    .map_or_else(none, |delay| delay.to_string())
            };
            row.extend(self.disciplines.iter().map(delay));
            rows.push(row);
        }
        let links = if self.hops.len() == 1 {
            "one link".to_owned()
        } else {
            format!("{} links", self.hops.len())
        };
        let mut text = format!("Worst delay of a packet over {links}, as proven:\n\n");
        text += &aligned(&[], &rows);
        for discipline in self
            .disciplines
            .iter()
            .filter(|discipline| discipline.is_silent())
        {
            let _ = match &discipline.spec {
                Some(spec) => writeln!(text, "\n{spec}: no delay is proven."),
                None => writeln!(text, "\nNo delay is proven."),
            };
        }
        if sources {
            let telling = self
                .disciplines
                .iter()
                .filter(|discipline| !discipline.is_silent());
            telling.for_each(|discipline| self.write_sources(&mut text, discipline));
        }
        text
    }

    fn write_sources(&self, text: &mut String, discipline: &DisciplineReport) {
        let has_printed = discipline
            .flows
            .iter()
            .flat_map(|promise| &promise.hops)
            .any(|hop| hop.printed().iter().any(Option::is_some));
        let mut head = ["flow", "link", "B-WFI", "T-WFI", "latency", "fairness"]
            .map(str::to_owned)
            .to_vec();
        head.extend(
            has_printed
                .then_some(["printed B-WFI", "printed T-WFI"].map(str::to_owned))
                .into_iter()
                .flatten(),
        );
        let mut rows = vec![head];
        let mut sources = Vec::new();
        for (flow, promise) in self.flows.iter().zip(&discipline.flows) {
            for (hop, link) in promise.hops.iter().zip(1..) {
                let mut row = vec![clean(&flow.name), format!("{link}")];
                row.extend(
                    hop.proven()
                        .map(|bound| bound.map_or_else(none, |bound| bound.value.to_string())),
                );
                let printed = hop
                    .printed()
                    .map(|bound| bound.map_or_else(none, |bound| bound.value.to_string()));
                row.extend(printed.into_iter().filter(|_| has_printed));
                rows.push(row);
                sources.extend(
                    hop.sources()
                        .filter(|line| !sources.contains(line))
                        .collect::<Vec<_>>(),
                );
            }
        }
        let _ = writeln!(text, "\n{}", discipline.title());
        *text += &aligned(&[], &rows);
        text.extend(sources.iter().map(|source| format!("  {source}\n")));
    }
}

impl HopPromise {
    fn proven(&self) -> [Option<&Proven>; 4] {
        [&self.b_wfi, &self.t_wfi, &self.latency, &self.fairness].map(Option::as_ref)
    }

    /// B-WFI and T-WFI as printed in the paper, if different.
    fn printed(&self) -> [Option<&AsPrinted>; 2] {
        [&self.b_wfi, &self.t_wfi]
            .map(|bound| bound.as_ref().and_then(|bound| bound.printed.as_ref()))
    }

    /// Sources of the proofs, and of differing printed bounds, a line each.
    fn sources(&self) -> impl Iterator<Item = String> {
        let proven = ["B-WFI", "T-WFI", "latency", "fairness"]
            .into_iter()
            .zip(self.proven());
        let printed = ["printed B-WFI", "printed T-WFI"]
            .into_iter()
            .zip(self.printed());
        let proven = proven.filter_map(|(name, bound)| Some(format!("{name}: {}", bound?.source)));
        proven.chain(printed.filter_map(|(name, bound)| Some(format!("{name}: {}", bound?.source))))
    }
}

fn hops(plan: &Plan) -> Vec<HopReport> {
    let report = |hop: &Hop| HopReport {
        rate: hop.rate.bits_per_second(),
        delay: hop.delay.as_secs_f64(),
        max_packet_len: hop.max_packet_len,
        discipline: hop.discipline.as_ref().map(AnyDiscipline::to_string),
    };
    plan.hops.iter().map(report).collect()
}

fn flows(plan: &Plan) -> Vec<FlowReport> {
    let report = |flow: &Flow| {
        let share = plan.share_of(flow);
        let rate = flow.rate.map_or(share, Rate::bits_per_second);
        let name = flow.name.clone();
        let max_packet_len = flow.max_packet_len;
        FlowReport {
            name,
            weight: flow.weight,
            share,
            rate,
            burst: flow.burst,
            max_packet_len,
        }
    };
    plan.flows.iter().map(report).collect()
}

/// A time to a thousandth of its unit, rounded up since it is an upper bound.
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

fn none() -> String {
    "–".to_owned()
}
