//! The file that `roundelay bounds` reads: flows with their token buckets, and the links on their way.

use std::collections::HashSet;
use std::fmt;
use std::ops::{Range, RangeInclusive};
use std::str::FromStr;

use roundelay::schedulers::{AnyDiscipline, Spec};
use roundelay::{Bytes, ConfigError, Duration, FlowConfig, Rate};
use roundelay_report::clean;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;

/// Flows and links, checked.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    pub(crate) flows: Vec<Flow>,
    pub(crate) hops: Vec<Hop>,
    /// Of all flows.
    pub(crate) total_weight: u64,
    pub(crate) least_weight: u32,
    /// Of the slowest link.
    pub(crate) slowest: Rate,
}

/// A flow that sends through a token bucket.
#[derive(Debug, Clone)]
pub(crate) struct Flow {
    pub(crate) name: String,
    pub(crate) weight: u32,
    pub(crate) max_packet_len: u32,
    /// At which the bucket fills; none: the flow's smallest share of any link.
    pub(crate) rate: Option<Rate>,
    /// Bytes that the bucket holds.
    pub(crate) burst: u64,
}

/// A link with its queue.
#[derive(Debug, Clone)]
pub(crate) struct Hop {
    pub(crate) rate: Rate,
    /// Until what it sends has arrived at the next one.
    pub(crate) delay: Duration,
    pub(crate) discipline: Option<AnyDiscipline>,
    /// Longest packet of anybody on this link.
    pub(crate) max_packet_len: u32,
}

/// What is given on the command line for links that the file says nothing of.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Defaults {
    pub(crate) rate: Option<Rate>,
    pub(crate) hops: u16,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    #[serde(default)]
    flow: Vec<Spanned<FlowEntry>>,
    #[serde(default)]
    hop: Vec<Spanned<HopEntry>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowEntry {
    name: Option<Spanned<Quantity>>,
    weight: Option<Spanned<Quantity>>,
    maxpkt: Option<Spanned<Quantity>>,
    rate: Option<Spanned<Quantity>>,
    burst: Option<Spanned<Quantity>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct HopEntry {
    rate: Option<Spanned<Quantity>>,
    delay: Option<Spanned<Quantity>>,
    discipline: Option<Spanned<Quantity>>,
    maxpkt: Option<Spanned<Quantity>>,
}

/// A number with its unit, or without: bits per second, microseconds, bytes. Whatever else stands in its place is taken too, so that the
/// message can name it.
enum Quantity {
    Bare(u64),
    Written(String),
    Other,
}

impl<'de> Deserialize<'de> for Quantity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(AnyValue)
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Quantity;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a number")
    }

    fn visit_i64<E>(self, number: i64) -> Result<Quantity, E> {
        Ok(u64::try_from(number).map_or(Quantity::Other, Quantity::Bare))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Quantity, E> {
        Ok(Quantity::Bare(number))
    }

    fn visit_i128<E>(self, number: i128) -> Result<Quantity, E> {
        Ok(u64::try_from(number).map_or(Quantity::Other, Quantity::Bare))
    }

    fn visit_u128<E>(self, number: u128) -> Result<Quantity, E> {
        Ok(u64::try_from(number).map_or(Quantity::Other, Quantity::Bare))
    }

    fn visit_str<E>(self, text: &str) -> Result<Quantity, E> {
        Ok(Quantity::Written(text.to_owned()))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Quantity, E> {
        Ok(Quantity::Other)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Quantity, E> {
        Ok(Quantity::Other)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, sequence: A) -> Result<Quantity, A::Error> {
        IgnoredAny.visit_seq(sequence).map(|_| Quantity::Other)
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Quantity, A::Error> {
        IgnoredAny.visit_map(map).map(|_| Quantity::Other)
    }
}

/// A bucket holds a packet at least, and no more than a tebibyte.
const MOST_BURST: u64 = 1 << 40;
const WEIGHTS: RangeInclusive<u32> = 1..=FlowConfig::MAX_WEIGHT;

impl Plan {
    /// Reads a file; `name` stands in messages.
    ///
    /// # Errors
    /// A sentence with the file, the line, what is wrong and what is legal.
    pub(crate) fn from_toml(name: &str, text: &str, defaults: Defaults) -> Result<Self, String> {
        let reader = Reader { name, text };
        let file: File = toml::from_str(text).map_err(|error| reader.no_file(&error))?;
        let mut names = HashSet::new();
        for entry in &file.flow {
            let name = reader.name(entry)?;
            if !names.insert(name.get_ref().clone()) {
                return Err(reader.at(name.span(), format!("two flows are called '{}'", name.get_ref())));
            }
        }
        let flows = file.flow.iter().map(|entry| reader.flow(entry)).collect::<Result<Vec<_>, _>>()?;
        let longest = flows.iter().map(|flow| flow.max_packet_len).max().ok_or_else(|| format!("{name}: no [[flow]]"))?;
        let hops = reader.hops(&file, longest, defaults)?;
        let weights = flows.iter().map(|flow| flow.weight);
        let (total_weight, least_weight) = (weights.clone().map(u64::from).sum(), weights.min().unwrap_or(1));
        let slowest = hops.iter().map(|hop| hop.rate).min().ok_or_else(|| format!("{name}: no link"))?;
        let plan = Self { flows, hops, total_weight, least_weight, slowest };
        plan.check_rates(&reader, &file)?;
        Ok(plan)
    }

    /// A flow's share of the slowest link in bits per second, rounded down.
    pub(crate) fn share_of(&self, flow: &Flow) -> u64 {
        let bits = u128::from(self.slowest.bits_per_second()) * u128::from(flow.weight) / u128::from(self.total_weight);
        u64::try_from(bits).unwrap_or(u64::MAX)
    }

    /// No queue stays finite where more comes than goes: neither on a link nor in a flow's share of it.
    fn check_rates(&self, reader: &Reader<'_>, file: &File) -> Result<(), String> {
        let sum: u128 = self.flows.iter().filter_map(|flow| flow.rate).map(|rate| u128::from(rate.bits_per_second())).sum();
        let slowest = self.slowest;
        if sum > u128::from(slowest.bits_per_second()) {
            let message = format!("the flows' rates add up to {}, more than a link of {slowest} carries", written(sum));
            return Err(format!("{}: {message}", reader.name));
        }
        for (flow, entry) in self.flows.iter().zip(&file.flow) {
            let share = self.share_of(flow);
            if let (Some(rate), Some(entry)) = (flow.rate, &entry.get_ref().rate)
                && rate.bits_per_second() > share
            {
                let of = format!("its share of a link of {slowest}, {} of {} weights", flow.weight, self.total_weight);
                let legal = if share == 0 { "more than".to_owned() } else { format!("legal range 1bit to {},", written(share.into())) };
                let message = format!("rate {rate} of flow '{}': {legal} {of}", flow.name);
                return Err(reader.at(entry.span(), message));
            }
        }
        Ok(())
    }
}

/// Bits per second as people write them.
fn written(bits: u128) -> String {
    u64::try_from(bits).ok().and_then(Rate::from_bits_per_second).map_or_else(|| format!("{bits}bit"), |rate| rate.to_string())
}

fn proven(text: &str) -> Result<AnyDiscipline, String> {
    let spec: Spec = text.parse().map_err(|error: ConfigError| error.to_string())?;
    without_limit(&spec).cloned()
}

/// The discipline, where nothing limits its buffer.
///
/// # Errors
/// Something does, and no theorem holds for it.
pub(crate) fn without_limit(spec: &Spec) -> Result<&AnyDiscipline, String> {
    let name = spec.discipline.name();
    let refused = || format!("{name}: what is proven holds for a buffer that drops nothing: leave its limit out");
    if spec.limit.is_some() { Err(refused()) } else { Ok(&spec.discipline) }
}

/// Of a piece of the file, what fits into a message.
fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim().chars().take(60).collect()
}

struct Reader<'a> {
    name: &'a str,
    text: &'a str,
}

impl Reader<'_> {
    fn at(&self, span: Range<usize>, message: impl fmt::Display) -> String {
        let line = 1 + self.text.as_bytes().iter().take(span.start).filter(|byte| **byte == b'\n').count();
        format!("{}:{line}: {}", self.name, clean(&message.to_string()))
    }

    /// What the file's grammar or its keys lack, and where: the line itself says what the message may not.
    fn no_file(&self, error: &toml::de::Error) -> String {
        let span = error.span().unwrap_or(0..0);
        let start = self.text.get(..span.start).map_or(0, |before| before.rfind('\n').map_or(0, |end| end + 1));
        match first_line(self.text.get(start..).unwrap_or_default()) {
            line if line.is_empty() => self.at(span, error.message()),
            line => self.at(span, format!("{}: {line}", error.message())),
        }
    }

    /// A value as it stands in the file.
    fn written<V>(&self, value: &Spanned<V>) -> String {
        first_line(self.text.get(value.span()).unwrap_or_default())
    }

    /// A text with its place.
    fn text(&self, key: &str, value: &Spanned<Quantity>) -> Result<Spanned<String>, String> {
        match value.get_ref() {
            Quantity::Written(text) => Ok(Spanned::new(value.span(), text.clone())),
            Quantity::Bare(_) | Quantity::Other => {
                Err(self.at(value.span(), format!("{key} {}: expected a text in quotes", self.written(value))))
            }
        }
    }

    fn name(&self, entry: &Spanned<FlowEntry>) -> Result<Spanned<String>, String> {
        let nameless = || self.at(entry.span(), "no `name`: expected a name for the flow, as in name = \"calls\"");
        self.text("name", entry.get_ref().name.as_ref().ok_or_else(nameless)?)
    }

    fn flow(&self, spanned: &Spanned<FlowEntry>) -> Result<Flow, String> {
        let (name, entry) = (self.name(spanned)?.into_inner(), spanned.get_ref());
        let weight = entry.weight.as_ref().map_or(Ok(1), |weight| self.weight(weight))?;
        let max_packet_len = self.max_packet_len(entry.maxpkt.as_ref())?.unwrap_or(1514);
        let burst = self.bytes("burst", entry.burst.as_ref(), max_packet_len.into(), MOST_BURST)?;
        Ok(Flow {
            name,
            weight,
            max_packet_len,
            rate: self.read("rate", entry.rate.as_ref(), "\"20mbit\"")?,
            burst: burst.unwrap_or(max_packet_len.into()),
        })
    }

    fn hops(&self, file: &File, longest: u32, defaults: Defaults) -> Result<Vec<Hop>, String> {
        if file.hop.is_empty() {
            let rate = defaults.rate.ok_or_else(|| format!("{}: no [[hop]]: say the link's rate, as in --rate 20mbit", self.name))?;
            let hop = Hop { rate, delay: Duration::ZERO, discipline: None, max_packet_len: longest };
            return Ok(vec![hop; defaults.hops.into()]);
        }
        if defaults.hops > 1 {
            return Err(self.at(file.hop[0].span(), "the links are listed here: leave out --hops"));
        }
        file.hop.iter().map(|entry| self.hop(entry, longest, defaults.rate)).collect()
    }

    fn hop(&self, spanned: &Spanned<HopEntry>, longest: u32, rate: Option<Rate>) -> Result<Hop, String> {
        let entry = spanned.get_ref();
        let rate = self.read("rate", entry.rate.as_ref(), "\"20mbit\"")?.or(rate);
        let rate = rate.ok_or_else(|| self.at(spanned.span(), "a link without a rate: write one here, or --rate 20mbit for all"))?;
        let discipline = entry.discipline.as_ref().map(|value| self.text("discipline", value)).transpose()?;
        let discipline = discipline.map(|text| proven(text.get_ref()).map_err(|error| self.at(text.span(), error))).transpose()?;
        let max_packet_len = self.max_packet_len(entry.maxpkt.as_ref())?.unwrap_or(0).max(longest);
        let delay = self.read("delay", entry.delay.as_ref(), "\"5ms\"")?.unwrap_or(Duration::ZERO);
        Ok(Hop { rate, delay, discipline, max_packet_len })
    }

    fn max_packet_len(&self, quantity: Option<&Spanned<Quantity>>) -> Result<Option<u32>, String> {
        let (least, most) = (FlowConfig::MIN_MAX_PACKET_LEN, FlowConfig::MAX_PACKET_LEN);
        Ok(self.bytes("maxpkt", quantity, least.into(), most.into())?.and_then(|bytes| u32::try_from(bytes).ok()))
    }

    fn weight(&self, weight: &Spanned<Quantity>) -> Result<u32, String> {
        let legal = match *weight.get_ref() {
            Quantity::Bare(number) => u32::try_from(number).ok().filter(|number| WEIGHTS.contains(number)),
            Quantity::Written(_) | Quantity::Other => None,
        };
        let (least, most) = (WEIGHTS.start(), WEIGHTS.end());
        let wrong = || format!("weight {}: expected a whole number, legal range {least} to {most}", self.written(weight));
        legal.ok_or_else(|| self.at(weight.span(), wrong()))
    }

    fn bytes(&self, key: &str, quantity: Option<&Spanned<Quantity>>, least: u64, most: u64) -> Result<Option<u64>, String> {
        let Some(quantity) = quantity else { return Ok(None) };
        let range = format!("legal range {} to {}", Bytes(least), Bytes(most));
        let bytes: Bytes = self.value(key, quantity, &format!("\"1514b\", {range}"), &format!(", {range}"))?;
        let legal = (least..=most).contains(&bytes.0);
        let wrong = || format!("{key} {bytes}: {range}");
        if legal { Ok(Some(bytes.0)) } else { Err(self.at(quantity.span(), wrong())) }
    }

    /// `example`: how it is written with its unit.
    fn read<V: FromStr<Err: fmt::Display>>(
        &self,
        key: &str,
        quantity: Option<&Spanned<Quantity>>,
        example: &str,
    ) -> Result<Option<V>, String> {
        quantity.map(|quantity| self.value(key, quantity, example, "")).transpose()
    }

    /// `legal`: what is said beside what the unit's reader says.
    fn value<V: FromStr<Err: fmt::Display>>(
        &self,
        key: &str,
        quantity: &Spanned<Quantity>,
        example: &str,
        legal: &str,
    ) -> Result<V, String> {
        let text = match quantity.get_ref() {
            Quantity::Bare(number) => number.to_string(),
            Quantity::Written(text) => text.clone(),
            Quantity::Other => {
                let expected = format!("expected a whole number, or a number and its unit in quotes, as in {example}");
                return Err(self.at(quantity.span(), format!("{key} {}: {expected}", self.written(quantity))));
            }
        };
        text.parse().map_err(|error| self.at(quantity.span(), format!("{key}: {error}{legal}")))
    }
}
