//! Input file of `roundelay bounds`: flows with token buckets, and the links on their path.

use std::collections::HashSet;

use roundelay::schedulers::AnyDiscipline;
use roundelay::{Bytes, ConfigError, Duration, FlowConfig, QueueSpec, Rate};
use roundelay_report::clean;
use roundelay_trace::file::{Fault, Table, Text, line};
use toml::Spanned;

/// Flows and links after validation.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) flows: Vec<Flow>,
    pub(crate) hops: Vec<Hop>,
    /// Sum over all flows.
    pub(crate) total_weight: u64,
    pub(crate) least_weight: u32,
    /// Rate of the slowest link.
    pub(crate) slowest: Rate,
}

/// A flow behind a token bucket.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    pub(crate) name: String,
    pub(crate) weight: u32,
    pub(crate) max_packet_len: u32,
    /// Fill rate of the token bucket; None: the flow's smallest share of any link.
    pub(crate) rate: Option<Rate>,
    /// Size of the token bucket in bytes.
    pub(crate) burst: u64,
}

/// A link and its queue.
#[derive(Debug, Clone)]
pub(crate) struct Hop {
    pub(crate) rate: Rate,
    /// Propagation delay to the next link.
    pub(crate) delay: Duration,
    pub(crate) discipline: Option<AnyDiscipline>,
    /// Longest packet of any flow on this link.
    pub(crate) max_packet_len: u32,
}

/// Values from the command line for links without settings in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Defaults {
    pub(crate) rate: Option<Rate>,
    pub(crate) hops: u16,
}

/// Maximum size of a token bucket, a tebibyte; the minimum is one packet.
const MOST_BURST: u64 = 1 << 40;

impl Plan {
    /// Reads a file; `name` appears in error messages.
    ///
    /// # Errors
    /// A sentence with the file, the line, the fault and the legal range.
    pub(crate) fn from_toml(name: &str, text: &str, defaults: Defaults) -> Result<Self, String> {
        let told = |(place, message): Fault| format!("{name}:{}: {}", line(text, place.start), clean(&message));
        Self::of_file(text, defaults).map_err(told)
    }

    fn of_file(text: &str, defaults: Defaults) -> Result<Self, Fault> {
        let file = Table::of_file(text)?.check_keys(&["flow", "hop"])?;
        let tables = file.tables("flow", &["name", "weight", "maxpkt", "rate", "burst"])?;
        let (mut names, mut flows, mut rates) = (HashSet::new(), Vec::new(), Vec::new());
        for table in &tables {
            let (name, flow, rate) = flow(table)?;
            if !names.insert(flow.name.clone()) {
                return Err((name.span(), format!("two flows are called '{}'", flow.name)));
            }
            flows.push(flow);
            rates.push(rate);
        }
        let longest = flows.iter().map(|flow| flow.max_packet_len).max().ok_or_else(|| of_all("no [[flow]]"))?;
        let hops = hops(&file, longest, defaults)?;
        let weights = flows.iter().map(|flow| flow.weight);
        let (total_weight, least_weight) = (weights.clone().map(u64::from).sum(), weights.min().unwrap_or(1));
        let slowest = hops.iter().map(|hop| hop.rate).min().ok_or_else(|| of_all("no link"))?;
        let plan = Self { flows, hops, total_weight, least_weight, slowest };
        plan.check_rates(&rates)?;
        Ok(plan)
    }

    /// A flow's share of the slowest link in bits per second, rounded down.
    pub(crate) fn share_of(&self, flow: &Flow) -> u64 {
        let bits = u128::from(self.slowest.bits_per_second()) * u128::from(flow.weight) / u128::from(self.total_weight);
        u64::try_from(bits).unwrap_or(u64::MAX)
    }

    /// Rejects rates above the capacity of the slowest link or of a flow's share: no queue stays
    /// finite then.
    fn check_rates(&self, rates: &[Option<Spanned<Rate>>]) -> Result<(), Fault> {
        let sum: u128 = self.flows.iter().filter_map(|flow| flow.rate).map(|rate| u128::from(rate.bits_per_second())).sum();
        let slowest = self.slowest;
        if sum > u128::from(slowest.bits_per_second()) {
            return Err(of_all(format!("the flows' rates add up to {}, more than a link of {slowest} carries", written(sum))));
        }
        for (flow, rate) in self.flows.iter().zip(rates) {
            let share = self.share_of(flow);
            if let Some(rate) = rate.as_ref().filter(|rate| rate.get_ref().bits_per_second() > share) {
                let of = format!("its share of a link of {slowest}, {} of {} weights", flow.weight, self.total_weight);
                let legal = if share == 0 { "more than".to_owned() } else { format!("legal range 1bit to {},", written(share.into())) };
                return Err((rate.span(), format!("rate {} of flow '{}': {legal} {of}", rate.get_ref(), flow.name)));
            }
        }
        Ok(())
    }
}

/// Bits per second with a unit.
fn written(bits: u128) -> String {
    u64::try_from(bits).ok().and_then(Rate::from_bits_per_second).map_or_else(|| format!("{bits}bit"), |rate| rate.to_string())
}

fn proven(text: &str) -> Result<AnyDiscipline, String> {
    let spec: QueueSpec = text.parse().map_err(|error: ConfigError| error.to_string())?;
    without_limit(&spec).cloned()
}

/// The discipline, if the spec sets no limit on the buffer.
///
/// # Errors
/// The spec sets a limit, and the theorems need a buffer without drops.
pub(crate) fn without_limit(spec: &QueueSpec) -> Result<&AnyDiscipline, String> {
    let name = spec.discipline.name();
    let refused = || format!("{name}: the proven bounds hold for a buffer without drops: leave the limit out");
    if spec.limit.is_some() { Err(refused()) } else { Ok(&spec.discipline) }
}

/// The flow of a table, and its rate as written.
fn flow(table: &Table<'_>) -> Result<(Text, Flow, Option<Spanned<Rate>>), Fault> {
    let name = table.required("name", "a name for the flow, as in name = \"calls\"")?;
    let weight = table.number("weight", 1..=FlowConfig::MAX_WEIGHT)?.map_or(1, Spanned::into_inner);
    let max_packet_len = max_packet_len(table)?.unwrap_or(1514);
    let burst = bytes(table, "burst", max_packet_len.into(), MOST_BURST)?.unwrap_or(max_packet_len.into());
    let written = table.with_unit("rate", RATE, "")?;
    let rate = written.as_ref().map(|rate| *rate.get_ref());
    let flow = Flow { name: name.get_ref().clone(), weight, max_packet_len, rate, burst };
    Ok((name, flow, written))
}

fn hops(file: &Table<'_>, longest: u32, defaults: Defaults) -> Result<Vec<Hop>, Fault> {
    let tables = file.tables("hop", &["rate", "delay", "discipline", "maxpkt"])?;
    let Some(first) = tables.first() else {
        let rate = defaults.rate.ok_or_else(|| of_all("no [[hop]]: say the link's rate, as in --rate 20mbit"))?;
        let hop = Hop { rate, delay: Duration::ZERO, discipline: None, max_packet_len: longest };
        return Ok(vec![hop; defaults.hops.into()]);
    };
    if defaults.hops > 1 {
        return Err(first.fault(first.place.clone(), "the links are listed here: leave out --hops"));
    }
    tables.iter().map(|table| hop(table, longest, defaults.rate)).collect()
}

fn hop(table: &Table<'_>, longest: u32, rate: Option<Rate>) -> Result<Hop, Fault> {
    let rate = table.with_unit("rate", RATE, "")?.map(Spanned::into_inner).or(rate);
    let missing = || table.fault(table.place.clone(), "a link without a rate: write one here, or --rate 20mbit for all");
    let rate = rate.ok_or_else(missing)?;
    let discipline = table.text("discipline")?;
    let discipline = discipline.map(|text| proven(text.get_ref()).map_err(|error| table.fault(text.span(), error))).transpose()?;
    let max_packet_len = max_packet_len(table)?.unwrap_or(0).max(longest);
    let delay = table.with_unit("delay", "\"5ms\"", "")?.map_or(Duration::ZERO, Spanned::into_inner);
    Ok(Hop { rate, delay, discipline, max_packet_len })
}

/// Example of a rate, for error messages.
const RATE: &str = "\"20mbit\"";

fn max_packet_len(table: &Table<'_>) -> Result<Option<u32>, Fault> {
    let (least, most) = (FlowConfig::MIN_MAX_PACKET_LEN, FlowConfig::MAX_PACKET_LEN);
    Ok(bytes(table, "maxpkt", least.into(), most.into())?.and_then(|bytes| u32::try_from(bytes).ok()))
}

fn bytes(table: &Table<'_>, key: &str, least: u64, most: u64) -> Result<Option<u64>, Fault> {
    let legal = format!("legal range {} to {}", Bytes(least), Bytes(most));
    let Some(written) = table.with_unit::<Bytes>(key, "\"1514b\"", &format!(", {legal}"))? else { return Ok(None) };
    let bytes = *written.get_ref();
    let is_legal = (least..=most).contains(&bytes.0);
    if is_legal { Ok(Some(bytes.0)) } else { Err(table.fault(written.span(), format!("{key} {bytes}: {legal}"))) }
}

/// A fault of the whole file, reported at its first line.
fn of_all(message: impl Into<String>) -> Fault {
    (0..0, message.into())
}
