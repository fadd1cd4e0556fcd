//! The input file of `roundelay bounds`: flows with token buckets, and the links on their path.

use std::collections::HashSet;
use std::fmt;
use std::ops::Range;

use roundelay::schedulers::AnyDiscipline;
use roundelay::{Bytes, Duration, Fault, FlowConfig, QueueSpec, Rate};
use roundelay_files::{Entry, Located, Reader, Size, Text, Whole, WithUnit, custom, tables};
use roundelay_report::clean;
use roundelay_trace::arguments::parse_rate;
use serde::de::{Error, Unexpected, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

/// Flows and links, once they have been validated.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) flows: Vec<Flow>,
    pub(crate) hops: Vec<Hop>,
    /// Summed over all flows.
    pub(crate) total_weight: u64,
    pub(crate) least_weight: u32,
    /// The slowest link's rate.
    pub(crate) slowest: Rate,
    /// All token buckets together in bytes, if the file states each flow's rate and burst.
    pub(crate) bursts: Option<u64>,
    /// The first flow whose rate or burst the file leaves out.
    pub(crate) flow_without_bucket: Option<String>,
}

/// A flow behind a token bucket.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    pub(crate) name: String,
    pub(crate) weight: u32,
    pub(crate) max_packet_len: u32,
    /// Chooses the band under `priority` and `ets`. A smaller number goes first.
    pub(crate) priority: u32,
    /// The rate at which the token bucket fills. None: the flow's smallest share of any link.
    pub(crate) rate: Option<Rate>,
    /// The token bucket's size in bytes.
    pub(crate) burst: u64,
    /// Whether the file states both the rate and the burst.
    pub(crate) has_bucket: bool,
    /// The flow's leaf in a tree. None: the leaf that has the flow's name.
    leaf: Option<String>,
}

impl Flow {
    /// The leaf of a tree that takes the flow.
    pub(crate) fn leaf(&self) -> &str {
        self.leaf.as_deref().unwrap_or(&self.name)
    }
}

/// A link and its queue.
#[derive(Debug, Clone)]
pub(crate) struct Hop {
    pub(crate) rate: Rate,
    /// Propagation delay to the next link.
    pub(crate) delay: Duration,
    pub(crate) discipline: Option<AnyDiscipline>,
    /// The longest packet that any flow sends over this link.
    pub(crate) max_packet_len: u32,
}

/// Values from the command line for links that the file says nothing about.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Defaults {
    pub(crate) rate: Option<Rate>,
    pub(crate) hops: u16,
    /// Whether a tree serves the flows, so that weights do not matter.
    pub(crate) has_tree: bool,
}

/// Largest token bucket, a tebibyte. The smallest holds one packet.
const MOST_BURST: u64 = 1 << 40;

/// The longest packet of a flow or link. Disciplines expect at least
/// [`FlowConfig::MIN_MAX_PACKET_LEN`] of a flow, but a voice call sends shorter packets, and its
/// burst is shorter too.
type Longest = Size<1, { FlowConfig::MAX_PACKET_LEN as u64 }>;

fn bytes(length: Longest) -> Option<u32> {
    u32::try_from(length.0).ok()
}

/// A rate with a unit. A bare number is refused, because few people mean bits per second.
#[derive(Debug, Clone, Copy)]
struct UnitRate(Rate);

impl<'de> Deserialize<'de> for UnitRate {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfUnit;

        impl Visitor<'_> for OfUnit {
            type Value = UnitRate;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number and its unit in quotes, as in \"20mbit\"")
            }

            fn visit_i64<E: Error>(self, number: i64) -> Result<UnitRate, E> {
                if number < 0 {
                    return Err(E::invalid_value(Unexpected::Signed(number), &self));
                }
                self.visit_str(&number.to_string())
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<UnitRate, E> {
                parse_rate(text).map(UnitRate).map_err(custom)
            }
        }

        deserializer.deserialize_any(OfUnit)
    }
}

/// A file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenPlan {
    #[serde(default, deserialize_with = "tables")]
    flow: Vec<WrittenFlow>,
    #[serde(default)]
    hop: Vec<Spanned<Entry<WrittenHop>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenFlow {
    name: Text,
    weight: Option<Whole<1, { FlowConfig::MAX_WEIGHT }>>,
    /// Or `maxpkt`, as in tc.
    #[serde(alias = "maxpkt")]
    max_packet_len: Option<Longest>,
    priority: Option<Whole<0, { u32::MAX }>>,
    leaf: Option<Text>,
    rate: Option<Spanned<UnitRate>>,
    burst: Option<Spanned<Size<1, MOST_BURST>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenHop {
    rate: Option<UnitRate>,
    delay: Option<WithUnit<Duration>>,
    discipline: Option<Text>,
    #[serde(alias = "maxpkt")]
    max_packet_len: Option<Longest>,
}

impl Plan {
    /// Reads a file; `name` appears in error messages.
    ///
    /// # Errors
    /// A sentence with the file, the line, the fault and the legal range.
    pub(crate) fn from_toml(name: &str, text: &str, defaults: Defaults) -> Result<Self, Fault> {
        let (reader, file) = Reader::read(name, text).map_err(|fault: Fault| fault.map(clean))?;
        Self::of_file(file, defaults).map_err(|fault| reader.fault(fault).map(clean))
    }

    fn of_file(file: WrittenPlan, defaults: Defaults) -> Result<Self, Located> {
        let mut names = HashSet::new();
        let mut flows = Vec::new();
        for written in &file.flow {
            let flow = written.flow()?;
            if !names.insert(flow.name.clone()) {
                let message = format!("two flows are called '{}'", flow.name);
                return Err((written.name.span(), message.into()));
            }
            flows.push(flow);
        }
        let mut longest = None;
        let mut total_weight = 0;
        let mut least_weight = u32::MAX;
        for flow in &flows {
            longest = longest.max(Some(flow.max_packet_len));
            total_weight += u64::from(flow.weight);
            least_weight = least_weight.min(flow.weight);
        }
        let longest = longest.ok_or_else(|| fault_of_file("no [[flow]]"))?;
        let hops = hops(&file.hop, longest, defaults)?;
        let slowest = hops.iter().map(|hop| hop.rate).min();
        let slowest = slowest.ok_or_else(|| fault_of_file("no link"))?;
        let without_bucket = flows.iter().find(|flow| !flow.has_bucket);
        let flow_without_bucket = without_bucket.map(|flow| flow.name.clone());
        // The sum is known only if the file states each flow's bucket.
        let bursts = match flow_without_bucket {
            Some(_) => None,
            None => Some(sum_of_bursts(&flows)),
        };
        let plan = Self {
            flows,
            hops,
            total_weight,
            least_weight,
            slowest,
            bursts,
            flow_without_bucket,
        };
        plan.check_sum_of_rates()?;
        if !defaults.has_tree {
            plan.check_rates(&file.flow)?;
        }
        Ok(plan)
    }

    /// A flow's share of the slowest link in bits per second, rounded down.
    pub(crate) fn share_of(&self, flow: &Flow) -> u64 {
        let bits = u128::from(self.slowest.bits_per_second()) * u128::from(flow.weight)
            / u128::from(self.total_weight);
        u64::try_from(bits).unwrap_or(u64::MAX)
    }

    /// Rejects rates that sum up to more than the slowest link carries, because no queue stays
    /// finite then.
    fn check_sum_of_rates(&self) -> Result<(), Located> {
        let mut sum: u128 = 0;
        for flow in &self.flows {
            if let Some(rate) = flow.rate {
                sum += u128::from(rate.bits_per_second());
            }
        }
        let slowest = self.slowest;
        if sum > u128::from(slowest.bits_per_second()) {
            return Err(fault_of_file(format!(
                "the flows' rates add up to {}, more than a link of {slowest} carries",
                rate_text(sum)
            )));
        }
        Ok(())
    }

    /// Rejects a rate above the flow's share of the slowest link.
    fn check_rates(&self, written: &[WrittenFlow]) -> Result<(), Located> {
        let slowest = self.slowest;
        for (flow, WrittenFlow { rate, .. }) in self.flows.iter().zip(written) {
            let share = self.share_of(flow);
            let Some(rate) = rate else { continue };
            if rate.get_ref().0.bits_per_second() <= share {
                continue;
            }
            let legal = format!("1bit to {}", rate_text(share.into()));
            let legal_words = if share == 0 {
                "more than".to_owned()
            } else {
                format!("legal range {legal},")
            };
            let written = rate.get_ref().0;
            let fault = Fault::new(format!(
                "rate {written} of flow '{}': {legal_words} its share of a link of {slowest}, {} of {} \
                 weights",
                flow.name, flow.weight, self.total_weight
            ));
            let fault = fault.with_given(written);
            return Err((
                rate.span(),
                if share == 0 {
                    fault
                } else {
                    fault.with_legal(legal)
                },
            ));
        }
        Ok(())
    }
}

/// All token buckets together in bytes.
fn sum_of_bursts(flows: &[Flow]) -> u64 {
    let mut sum: u64 = 0;
    for flow in flows {
        sum = sum.saturating_add(flow.burst);
    }
    sum
}

/// Bits per second with a unit.
fn rate_text(bits: u128) -> String {
    if let Ok(whole) = u64::try_from(bits)
        && let Some(rate) = Rate::from_bits_per_second(whole)
    {
        return rate.to_string();
    }
    format!("{bits}bit")
}

fn proven(text: &str) -> Result<AnyDiscipline, Fault> {
    let spec: QueueSpec = text.parse()?;
    without_limit(&spec).cloned()
}

/// The discipline, if the spec does not limit the buffer.
///
/// # Errors
/// The spec sets a limit, but the theorems need a buffer without drops.
pub(crate) fn without_limit(spec: &QueueSpec) -> Result<&AnyDiscipline, Fault> {
    if spec.limit.is_none() {
        return Ok(&spec.discipline);
    }
    let name = spec.discipline.name();
    Err(
        format!("{name}: the proven bounds hold for a buffer without drops: leave the limit out")
            .into(),
    )
}

impl WrittenFlow {
    fn flow(&self) -> Result<Flow, Located> {
        let name = self.name.get_ref().clone();
        let max_packet_len = self.max_packet_len.and_then(bytes).unwrap_or(1514);
        let least = u64::from(max_packet_len);
        if let Some(burst) = &self.burst
            && burst.get_ref().0 < least
        {
            let written = Bytes(burst.get_ref().0);
            let least = Bytes(least);
            let most = Bytes(MOST_BURST);
            let fault = Fault::range(written, format_args!("{least} to {most}"))
                .behind(format_args!("flow '{name}': burst "));
            return Err((burst.span(), fault));
        }
        let weight = self.weight.map_or(1, |Whole(weight)| weight);
        let rate = self.rate.as_ref().map(|rate| rate.get_ref().0);
        let burst = self.burst.as_ref().map_or(least, |burst| burst.get_ref().0);
        Ok(Flow {
            name,
            weight,
            max_packet_len,
            priority: self.priority.map_or(0, |Whole(priority)| priority),
            rate,
            burst,
            has_bucket: self.rate.is_some() && self.burst.is_some(),
            leaf: self.leaf.as_ref().map(|leaf| leaf.get_ref().clone()),
        })
    }
}

fn hops(
    written: &[Spanned<Entry<WrittenHop>>],
    longest: u32,
    defaults: Defaults,
) -> Result<Vec<Hop>, Located> {
    let Some(first) = written.first() else {
        let rate = defaults
            .rate
            .ok_or_else(|| fault_of_file("no [[hop]]: say the link's rate, as in --rate 20mbit"))?;
        let hop = Hop {
            rate,
            delay: Duration::ZERO,
            discipline: None,
            max_packet_len: longest,
        };
        return Ok(vec![hop; defaults.hops.into()]);
    };
    if defaults.hops > 1 {
        return Err((
            first.span(),
            "the links are listed here: leave out --hops".into(),
        ));
    }
    let mut hops = Vec::new();
    for hop in written {
        let Entry(link) = hop.get_ref();
        hops.push(link.hop(hop.span(), longest, defaults.rate)?);
    }
    Ok(hops)
}

impl WrittenHop {
    fn hop(&self, span: Range<usize>, longest: u32, rate: Option<Rate>) -> Result<Hop, Located> {
        let own = self.rate.map(|UnitRate(rate)| rate);
        let Some(rate) = own.or(rate) else {
            return Err((
                span,
                "a link without a rate: write one here, or --rate 20mbit for all".into(),
            ));
        };
        let mut discipline = None;
        if let Some(text) = &self.discipline {
            discipline = Some(proven(text.get_ref()).map_err(|error| (text.span(), error))?);
        }
        let max_packet_len = self
            .max_packet_len
            .and_then(bytes)
            .unwrap_or(0)
            .max(longest);
        let delay = self.delay.map_or(Duration::ZERO, |WithUnit(delay)| delay);
        Ok(Hop {
            rate,
            delay,
            discipline,
            max_packet_len,
        })
    }
}

/// A fault of the whole file, which is reported at its first line.
fn fault_of_file(message: impl Into<Fault>) -> Located {
    (0..0, message.into())
}
