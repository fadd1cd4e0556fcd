//! Quantities with units in scenarios: a number and a unit, in quotes.
//!
//! A bare number is accepted only for quantities with one possible unit: bytes, packets, shares. A
//! time without a unit is rejected: `tc` reads microseconds, most people mean seconds.

use std::borrow::Cow;
use std::cell::RefCell;
use std::fmt;
use std::marker::PhantomData;

use roundelay::schedulers::{AnyDiscipline, Discipline as _};
use roundelay::{
    Billionths, Bytes, Duration, Fault, Framing, Limit, LinkLayer, LinkLayerError, QueueSpec, Rate,
    tree,
};
use roundelay_trace::arguments::{Mtu, parse_mtu};
use roundelay_trace::file::custom;
use roundelay_trace::{DirectionChoice, DirectionError, dscp_number};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serializer, ser};

use crate::decision::DecisionCost;
use crate::network::TREE;
use crate::sources::connections::{End, Message};
use crate::sources::{SlackRule as _, Urgency};

/// The longest time in an urgency. Slack is 63 bits of picoseconds: 106 days and 18 hours.
const LONGEST_SLACK: Duration = Duration::from_secs(106 * 86_400);

/// A quantity readable from text.
pub(crate) trait Written: Sized {
    /// Description in error messages: "a rate, as in \"10mbit\"".
    const EXPECTED: &'static str;
    /// Values that can be written, behind the description; a key may allow fewer.
    const RANGE: &'static str = "";

    /// # Errors
    /// A message on the fault.
    fn from_text(text: &str) -> Result<Self, Fault>;

    /// Reads a number without a unit, if the unit is clear.
    fn from_number(number: u64) -> Option<Self> {
        let _ = number;
        None
    }

    /// Reads a number that may be negative.
    fn from_signed(number: i64) -> Option<Self> {
        u64::try_from(number).ok().and_then(Self::from_number)
    }
}

fn has_unit(text: &str) -> bool {
    text.ends_with(|c: char| c.is_ascii_alphabetic())
}

fn no_unit<V: Written>(text: &str) -> Fault {
    Fault::wanted(format_args!("{}{}", V::EXPECTED, V::RANGE))
        .behind(format_args!("'{text}' has no unit: "))
        .with_given(text)
}

fn wrong<V: Written>(text: &str) -> Fault {
    Fault::quoted(text, format_args!("{}{}", V::EXPECTED, V::RANGE))
}

fn wrong_number<V: Written>(number: impl fmt::Display) -> Fault {
    Fault::expected(number, format_args!("{}{}", V::EXPECTED, V::RANGE))
}

fn with_unit<V: Written + std::str::FromStr<Err: Into<Fault>>>(text: &str) -> Result<V, Fault> {
    if !has_unit(text) {
        return Err(no_unit::<V>(text));
    }
    text.parse().map_err(|error: V::Err| {
        if text.starts_with('-') {
            wrong::<V>(text)
        } else {
            error.into()
        }
    })
}

impl Written for Rate {
    const EXPECTED: &'static str = "a rate, as in \"10mbit\"";
    const RANGE: &'static str = ", from 1bit to 18000000tbit";

    fn from_text(text: &str) -> Result<Self, Fault> {
        with_unit(text)
    }
}

impl Written for Duration {
    const EXPECTED: &'static str = "a time in s, ms, us or ns, as in \"5ms\"";
    const RANGE: &'static str = ", from 0 to 213 days";

    fn from_text(text: &str) -> Result<Self, Fault> {
        // `tc` accepts a time without a unit; here a unit is required.
        if !has_unit(text) {
            return Err(no_unit::<Self>(text));
        }
        text.parse().map_err(|_| wrong::<Self>(text))
    }

    fn from_number(number: u64) -> Option<Self> {
        (number == 0).then_some(Self::ZERO)
    }
}

impl Written for Bytes {
    const EXPECTED: &'static str = "bytes, as in 1000 or \"1000b\"";
    const RANGE: &'static str = ", legal range from 1";

    fn from_text(text: &str) -> Result<Self, Fault> {
        with_unit(text)
    }

    fn from_number(number: u64) -> Option<Self> {
        Some(Self(number))
    }
}

/// Bytes of a packet.
impl Written for u32 {
    const EXPECTED: &'static str = "bytes of a packet, as in 1000 or \"1000b\"";
    const RANGE: &'static str = ", at most 65536";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let bytes = if has_unit(text) {
            text.parse().ok().map(|Bytes(bytes)| bytes)
        } else {
            None
        };
        bytes
            .and_then(|bytes| Self::try_from(bytes).ok())
            .ok_or_else(|| wrong::<Self>(text))
    }

    fn from_number(number: u64) -> Option<Self> {
        Self::try_from(number).ok()
    }
}

/// The packets of a capture that go one way.
impl Written for DirectionChoice {
    const EXPECTED: &'static str = "auto, both, in, out, \"from ADDRESS\" or \"to ADDRESS\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: DirectionError| error.into())
    }
}

/// The longest IP packet of a link.
impl Written for Mtu {
    const EXPECTED: &'static str = "bytes of an IP packet, as in 1500, or \"none\"";
    const RANGE: &'static str = ", legal range 576 to 65535";

    fn from_text(text: &str) -> Result<Self, Fault> {
        parse_mtu(text).map_err(|_| wrong::<Self>(text))
    }

    fn from_number(number: u64) -> Option<Self> {
        parse_mtu(&number.to_string()).ok()
    }
}

/// Bytes added to a packet, or taken away.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Overhead(pub(crate) i32);

impl Written for Overhead {
    const EXPECTED: &'static str =
        "bytes added to a packet, legal range -64 to 65535, as in 38 or \"38b\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let (sign, bytes) = text
            .strip_prefix('-')
            .map_or((1, text), |bytes| (-1, bytes));
        let Bytes(bytes) = with_unit(bytes).map_err(|_| wrong::<Self>(text))?;
        i64::try_from(bytes)
            .ok()
            .and_then(|bytes| Self::from_signed(sign * bytes))
            .ok_or_else(|| wrong::<Self>(text))
    }

    fn from_number(number: u64) -> Option<Self> {
        i64::try_from(number).ok().and_then(Self::from_signed)
    }

    fn from_signed(number: i64) -> Option<Self> {
        i32::try_from(number).ok().map(Self)
    }
}

impl Written for LinkLayer {
    const EXPECTED: &'static str = "a kind of link, as in \"docsis\" or \"ethernet ether-vlan\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: LinkLayerError| error.into())
    }
}

impl Written for Framing {
    const EXPECTED: &'static str = "a framing: \"none\", \"atm\" or \"ptm\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        text.parse().map_err(|error: LinkLayerError| error.into())
    }
}

impl Written for Billionths {
    const EXPECTED: &'static str = "a share, legal range 0 to 1, as in 0.01 or \"1%\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let (number, parts) = text
            .strip_suffix('%')
            .map_or((text, 1), |number| (number, 100));
        let share: Option<Self> = number
            .trim()
            .parse()
            .ok()
            .map(|Self(share)| Self(share / parts));
        share
            .filter(|share| *share <= Self::ONE)
            .ok_or_else(|| Fault::quoted(text, Self::EXPECTED))
    }

    fn from_number(number: u64) -> Option<Self> {
        (number <= 1).then_some(Self(number * Self::ONE.0))
    }
}

impl Written for Urgency {
    const EXPECTED: &'static str = "urgency: \"priority 3\", \"slack 1s\", \"size 1s\", \"remaining 1s\", \"fair 100mbit\", \"deadline 5ms\" or \"cautious 1s 1gbit\", with a class's slack \"size 1s plus 100s\", and with slack written at departure from the host \"fair 100mbit at departure\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        if let Some(rule) = text.trim_end().strip_suffix(" at departure") {
            return Self::stamped_at_departure(rule.trim_end(), text);
        }
        if let Some((rule, offset)) = text.rsplit_once(" plus ") {
            return Self::with_offset(rule.trim_end(), offset.trim(), text);
        }
        let (rule, value) = text.split_once(' ').unwrap_or((text, ""));
        let time = || Self::slack(value.trim(), text);
        match rule {
            "none" if value.is_empty() => Ok(Self::None),
            "priority" => Ok(Self::Priority(value.trim().parse().map_err(|_| {
                Fault::of_range(format_args!("0 to {}", u32::MAX))
                    .behind(format_args!("'{text}': "))
                    .with_given(text)
            })?)),
            "slack" => time().map(Self::Constant),
            "size" => time().map(Self::FlowSize),
            "remaining" => time().map(Self::Remaining),
            "fair" => Rate::from_text(value.trim()).map(Self::Fair),
            "deadline" => time().map(Self::Deadline),
            "cautious" => {
                let (step, rate) = value
                    .trim()
                    .split_once(' ')
                    .ok_or_else(|| Fault::quoted(text, Self::EXPECTED))?;
                Ok(Self::Cautious {
                    step: Self::slack(step, text)?,
                    rate: Rate::from_text(rate.trim())?,
                })
            }
            _ => Err(Fault::quoted(text, Self::EXPECTED)),
        }
    }
}

impl Written for Message {
    const EXPECTED: &'static str =
        "a message: \"> 300b\" by the client, \"< 14kb after 2ms\" by the server, \"< endless\"";
    const RANGE: &'static str = ", legal range 1b to 1tb";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let wrong = || wrong::<Self>(text);
        let words: Vec<_> = text.split_whitespace().collect();
        let (end, bytes, after) = match words[..] {
            [end, bytes] => (end, bytes, Duration::ZERO),
            [end, bytes, "after", after] => {
                (end, bytes, Duration::from_text(after).map_err(|_| wrong())?)
            }
            _ => return Err(wrong()),
        };
        let by = match end {
            ">" => End::Client,
            "<" => End::Server,
            _ => return Err(wrong()),
        };
        if bytes == "endless" {
            return Ok(Self {
                by,
                bytes: None,
                after,
            });
        }
        let Bytes(bytes) = Bytes::from_text(bytes).map_err(|_| wrong())?;
        if bytes == 0 {
            return Err(wrong());
        }
        Ok(Self {
            by,
            bytes: Some(bytes),
            after,
        })
    }
}

impl Urgency {
    /// # Errors
    /// The rule sets no slack, or the offset is not a time.
    fn with_offset(rule: &str, offset: &str, text: &str) -> Result<Self, Fault> {
        let rule = Self::from_text(rule)?;
        if !rule.written().slack {
            return Err(refused(
                text,
                "'plus' is for rules with slack: slack, size, remaining, fair, deadline, cautious",
            ));
        }
        Self::slack(offset, text).map(|offset| rule.plus(offset))
    }

    /// # Errors
    /// The rule sets no slack, or one that counts from sending.
    fn stamped_at_departure(rule: &str, text: &str) -> Result<Self, Fault> {
        let rule = Self::from_text(rule)?;
        let written = rule.written();
        if !written.slack || written.deadline {
            return Err(refused(
                text,
                "'at departure' is for rules with slack and without a deadline: slack, size, remaining, fair, cautious",
            ));
        }
        Ok(rule.at_departure_from_host())
    }

    /// # Errors
    /// Not a time, or more than a header's slack can hold.
    fn slack(time: &str, text: &str) -> Result<Duration, Fault> {
        let time = Duration::from_text(time)?;
        if time > LONGEST_SLACK {
            let fault = Fault::range(time, "0 to 106 days, 9158400s");
            Err(fault.behind(format_args!("'{text}': ")))
        } else {
            Ok(time)
        }
    }
}

/// The fault of an urgency for a reason.
fn refused(text: &str, reason: &str) -> Fault {
    Fault::new(format!("'{text}': {reason}")).with_given(text)
}

/// A DSCP: code point of Differentiated Services.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CodePoint(pub(crate) u8);

impl Written for CodePoint {
    const EXPECTED: &'static str =
        "a code point, legal range 0 to 63, or a name, as in \"ef\" or \"af41\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        dscp_number(text)
            .map(Self)
            .ok_or_else(|| wrong::<Self>(text))
    }

    fn from_number(number: u64) -> Option<Self> {
        u8::try_from(number)
            .ok()
            .filter(|number| *number < 64)
            .map(Self)
    }
}

thread_local! {
    /// Disciplines of the program, while a scenario is read: serde hands no argument down to
    /// values.
    static OWN: RefCell<Vec<AnyDiscipline>> = const { RefCell::new(Vec::new()) };
}

/// Calls a reader, for which disciplines of the program have a name in values, too.
pub(crate) fn with_own<R>(disciplines: &[AnyDiscipline], read: impl FnOnce() -> R) -> R {
    /// Restores the names of before, after a panic of the reader too.
    struct Outer(Vec<AnyDiscipline>);

    impl Drop for Outer {
        fn drop(&mut self) {
            OWN.set(std::mem::take(&mut self.0));
        }
    }

    let _outer = Outer(OWN.replace(disciplines.to_vec()));
    read()
}

/// A queue's discipline, or a tree in the scenario or in a file.
#[derive(Debug, Clone)]
pub(crate) enum Ordering {
    Discipline(QueueSpec),
    Tree { file: String, limit: Limit },
}

impl Written for Ordering {
    const EXPECTED: &'static str = "a discipline as tc writes it, as in \"fq_codel limit 1000\", or a tree, as in \"tree home.toml\"";

    fn from_text(text: &str) -> Result<Self, Fault> {
        let spec = |text: &str| {
            OWN.with_borrow(|own| QueueSpec::read(text, own))
                .map_err(Fault::from)
        };
        let Some(tree) = text
            .trim()
            .strip_prefix(TREE)
            .filter(|rest| rest.is_empty() || rest.starts_with(' '))
        else {
            return spec(text).map(Self::Discipline);
        };
        let (file, limit) = tree
            .rsplit_once(" limit ")
            .map_or((tree, None), |(file, limit)| (file, Some(limit)));
        let file = file.trim().to_owned();
        if file.is_empty() {
            return Err(Fault::quoted(
                text,
                "a tree's name or file, as in \"tree home.toml\"",
            ));
        }
        let limit = limit
            .map(|limit| spec(&format!("fifo limit {}", limit.trim())))
            .transpose()?;
        Ok(Self::Tree {
            file,
            limit: limit.map_or(tree::Config::DEFAULT_LIMIT, |spec| spec.limit_or_default()),
        })
    }
}

/// For `deserialize_with` of an optional pair, as in `["500ms", "2s"]`.
///
/// # Errors
/// There are not two values, or one is not a `V`.
pub(crate) fn some_two<'de, D: Deserializer<'de>, V: Written>(
    deserializer: D,
) -> Result<Option<[V; 2]>, D::Error> {
    let values: Vec<V> = list(deserializer)?;
    let count = values.len();
    let Ok(two) = values.try_into() else {
        let legal = "two, as in [\"500ms\", \"2s\"]";
        let fault = Fault::expected(format_args!("{count} values"), legal);
        return Err(custom(fault.with_given(count)));
    };
    Ok(Some(two))
}

/// For `deserialize_with` of a list.
///
/// # Errors
/// Not a list, or a value is not a `V`.
pub(crate) fn list<'de, D: Deserializer<'de>, V: Written>(
    deserializer: D,
) -> Result<Vec<V>, D::Error> {
    Vec::<InWords<V>>::deserialize(deserializer)
        .map(|items| items.into_iter().map(|InWords(value)| value).collect())
}

struct Any<V>(PhantomData<V>);

impl<V: Written> Visitor<'_> for Any<V> {
    type Value = V;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(V::EXPECTED)
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<V, E> {
        V::from_text(text).map_err(custom)
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<V, E> {
        V::from_signed(number).ok_or_else(|| custom(wrong_number::<V>(number)))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<V, E> {
        V::from_number(number).ok_or_else(|| custom(wrong_number::<V>(number)))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<V, E> {
        // A share is the only quantity without a unit and with a decimal point.
        V::from_text(&number.to_string()).map_err(|_| custom(wrong_number::<V>(number)))
    }
}

/// For `deserialize_with` of whole numbers with a legal range. Callers check the range again: their
/// error names the key.
///
/// # Errors
/// Not a whole number, or not in the range of `V`.
pub(crate) fn whole<
    'de,
    D: Deserializer<'de>,
    V: TryFrom<u64>,
    const LEAST: u64,
    const MOST: u64,
>(
    deserializer: D,
) -> Result<V, D::Error> {
    deserializer.deserialize_any(Whole::<V, LEAST, MOST>(PhantomData))
}

/// Like [`whole`], for an optional value.
///
/// # Errors
/// Not a whole number, or not in the range of `V`.
pub(crate) fn some_whole<
    'de,
    D: Deserializer<'de>,
    V: TryFrom<u64>,
    const LEAST: u64,
    const MOST: u64,
>(
    deserializer: D,
) -> Result<Option<V>, D::Error> {
    whole::<D, V, LEAST, MOST>(deserializer).map(Some)
}

struct Whole<V, const LEAST: u64, const MOST: u64>(PhantomData<V>);

impl<V: TryFrom<u64>, const LEAST: u64, const MOST: u64> Visitor<'_> for Whole<V, LEAST, MOST> {
    type Value = V;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a whole number, legal range {LEAST} to {MOST}")
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<V, E> {
        let value = u64::try_from(number)
            .ok()
            .and_then(|number| V::try_from(number).ok());
        value.ok_or_else(|| custom(Fault::range(number, format_args!("{LEAST} to {MOST}"))))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<V, E> {
        V::try_from(number)
            .map_err(|_| custom(Fault::range(number, format_args!("{LEAST} to {MOST}"))))
    }
}

/// A quantity's reader, JSON Schema and written defaults, for `#[serde(with = "InWords::<Rate>")]`.
pub(crate) struct InWords<V>(pub(crate) V);

impl<V: Written> InWords<V> {
    /// # Errors
    /// The value is not a `V`.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<V, D::Error> {
        deserializer.deserialize_any(Any(PhantomData))
    }

    /// A number where the text is one.
    pub(crate) fn serialize<S: Serializer>(value: &V, serializer: S) -> Result<S::Ok, S::Error>
    where
        V: fmt::Display,
    {
        let text = value.to_string();
        match (text.parse(), text.parse()) {
            (Ok(whole), _) => serializer.serialize_u64(whole),
            (_, Ok(number)) => serializer.serialize_f64(number),
            _ => serializer.serialize_str(&text),
        }
    }
}

impl<'de, V: Written> Deserialize<'de> for InWords<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Self::deserialize(deserializer).map(Self)
    }
}

/// [`InWords`] for an optional quantity, which is missing by default.
pub(crate) struct Maybe<V>(PhantomData<V>);

impl<V: Written> Maybe<V> {
    /// # Errors
    /// The value is not a `V`.
    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<V>, D::Error> {
        InWords::<V>::deserialize(deserializer).map(Some)
    }

    pub(crate) fn serialize<S: Serializer>(
        value: &Option<V>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            None => serializer.serialize_none(),
            Some(_) => Err(ser::Error::custom("only a missing quantity is a default")),
        }
    }
}

impl<V> JsonSchema for Maybe<V>
where
    InWords<V>: JsonSchema,
{
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> Cow<'static, str> {
        Option::<InWords<V>>::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        Option::<InWords<V>>::json_schema(generator)
    }
}

macro_rules! schema {
    ($($name:literal for $value:ty: $schema:tt,)*) => {
        $(impl JsonSchema for InWords<$value> {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        })*
    };
}

schema! {
    "Rate" for Rate: {
        "type": "string", "pattern": "^[0-9.]+([kmgtKMGT]i?)?[bB][iI][tT]$",
        "description": "Bits per second, as tc writes them.", "examples": ["10mbit", "1gbit"]
    },
    "Time" for Duration: {
        "anyOf": [{"type": "string", "pattern": "^[0-9.]+ *[a-zA-Z]+$"}, {"const": 0}],
        "description": "A time with its unit: s, ms, us or ns.", "examples": ["5ms", "10s"]
    },
    "Bytes" for Bytes: {
        "anyOf": [{"type": "string", "pattern": "^[0-9.]+[a-zA-Z]+$"}, {"type": "integer", "minimum": 0}],
        "description": "Bytes: a number, or a number with b, kb (1024), mb or gb.", "examples": [1000, "150kb"]
    },
    "PacketBytes" for u32: {
        "anyOf": [{"type": "string", "pattern": "^[0-9.]+[a-zA-Z]+$"}, {"type": "integer", "minimum": 0, "maximum": 65535}],
        "description": "Bytes of a packet.", "examples": [1000, "1500b"]
    },
    "Direction" for DirectionChoice: {
        "type": "string", "pattern": "^(auto|both|in|out|(from|to) +[0-9a-fA-F.:/]+)$",
        "description": "Packets of a capture: those of the direction with the larger load (auto), all (both), received (in) or sent ones (out), or those from or to an address or network.",
        "examples": ["both", "to 192.168.1.0/24"]
    },
    "Mtu" for Mtu: {
        "anyOf": [{"type": "integer", "minimum": 576, "maximum": 65535}, {"const": "none"}],
        "description": "Bytes of the longest IP packet, or none.", "examples": [1400, "none"]
    },
    "Message" for Message: {
        "type": "string", "pattern": "^[<>] ([0-9.]+[a-zA-Z]+|endless)( after [0-9.]+[a-zA-Z]+)?$",
        "description": "What one end of a connection writes: the client (>) or the server (<), how many bytes, and how long after the message before.",
        "examples": ["> 300b", "< 14kb after 2ms", "< endless"]
    },
    "Overhead" for Overhead: {
        "anyOf": [{"type": "string", "pattern": "^-?[0-9.]+[a-zA-Z]+$"}, {"type": "integer", "minimum": -64, "maximum": 65535}],
        "description": "Bytes added to each packet, or taken away.", "examples": [38, "38b", -14]
    },
    "LinkLayer" for LinkLayer: {
        "type": "string",
        "pattern": "^ *((raw|conservative|ethernet|docsis|pppoe-ptm|bridged-ptm|(pppoa-(vcmux|llc)|pppoe-(vcmux|llcsnap)|(bridged|ipoa)-(vcmux|llcsnap))|ether-vlan) *)+$",
        "description": "Keywords of tc-cake(8) for a kind of link.", "examples": ["docsis", "pppoe-ptm", "ethernet ether-vlan"]
    },
    "Framing" for Framing: {
        "enum": ["none", "atm", "ptm"],
        "description": "How a link cuts packets: none, cells of ATM, or the code of PTM."
    },
    "Share" for Billionths: {
        "anyOf": [{"type": "string", "pattern": "^[0-9.]+ *%?$"}, {"type": "number", "minimum": 0, "maximum": 1}],
        "description": "A part of one.", "examples": [0.01, "1%"]
    },
    "Queue" for Ordering: {
        "type": "string", "description": "A discipline as tc writes it: `roundelay list` names them. Or tree, its name in [trees] or a file that describes one, and its limit.",
        "examples": ["fifo limit 100", "fq_codel limit 1000 target 5ms", "qfq", "tree home.toml limit 1000"]
    },
    "Decision" for DecisionCost: {
        "anyOf": [
            {"type": "string", "pattern": "^[0-9.]+ *[a-zA-Z]+$"},
            {"const": 0},
            {"type": "object", "additionalProperties": {"anyOf": [{"type": "string", "pattern": "^[0-9.]+ *[a-zA-Z]+$"}, {"const": 0}]}}
        ],
        "description": "What each decision costs, 0 to 3600s: a time with its unit, or times by discipline.", "examples": ["1ms", {"afq": "1ms", "wf2q": "1ms"}]
    },
    "CodePoint" for CodePoint: {
        "anyOf": [{"type": "string"}, {"type": "integer", "minimum": 0, "maximum": 63}],
        "description": "A code point of Differentiated Services.", "examples": [46, "ef"]
    },
    "Urgency" for Urgency: {
        "type": "string", "pattern": "^(none|priority [0-9]+|deadline [0-9.]+[a-z]+|((slack|size|remaining) [0-9.]+[a-z]+|fair [0-9.]+[a-zA-Z]+|cautious [0-9.]+[a-z]+ [0-9.]+[a-zA-Z]+)( plus [0-9.]+[a-z]+)*( at departure)?)$",
        "description": "What packets say of their urgency.",
        "examples": ["priority 3", "slack 1s", "size 1s", "remaining 1s", "fair 100mbit", "deadline 5ms", "cautious 1s 1gbit", "size 1s plus 100s", "fair 100mbit at departure"]
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_need_their_unit() {
        assert_eq!(Duration::from_text("5ms"), Ok(Duration::from_millis(5)));
        assert_eq!(
            Duration::from_text("10").unwrap_err().to_string(),
            "'10' has no unit: expected a time in s, ms, us or ns, as in \"5ms\", from 0 to 213 days"
        );
        for wrong in [
            "5m",
            "5x",
            "5 sec",
            "1e400s",
            "s",
            "2s 3ms",
            "300h",
            "-5s",
            "18500000s",
        ] {
            let message = Duration::from_text(wrong).unwrap_err().to_string();
            assert_eq!(
                message,
                format!(
                    "'{wrong}': expected a time in s, ms, us or ns, as in \"5ms\", from 0 to 213 days"
                )
            );
        }
        assert!(Duration::from_text("18400000s").is_ok());
        assert_eq!(Duration::from_number(0), Some(Duration::ZERO));
        assert_eq!(Duration::from_number(10), None);
    }

    #[test]
    fn shares_are_written_in_two_ways() {
        assert_eq!(Billionths::from_text("1%"), Ok(Billionths(10_000_000)));
        assert_eq!(Billionths::from_text("0.01"), Ok(Billionths(10_000_000)));
        for wrong in ["1.5", "NaN", "-0.1", "200%", "inf"] {
            assert!(Billionths::from_text(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn urgency_is_a_rule_and_its_value() {
        assert_eq!(
            Urgency::from_text("fair 100mbit"),
            Ok(Urgency::Fair("100mbit".parse().unwrap()))
        );
        assert_eq!(
            Urgency::from_text("size 1s"),
            Ok(Urgency::FlowSize(Duration::from_secs(1)))
        );
        let cautious = Urgency::Cautious {
            step: Duration::from_secs(1),
            rate: "1gbit".parse().unwrap(),
        };
        assert_eq!(Urgency::from_text("cautious 1s 1gbit"), Ok(cautious));
        assert!(Urgency::from_text("cautious 1s").is_err());
        assert!(Urgency::from_text("size").is_err() && Urgency::from_text("haste 1s").is_err());
    }

    /// Formerly, a longer slack became one of 106 days without a word.
    #[test]
    fn slack_that_does_not_fit_into_a_header_is_refused() {
        for rule in ["slack", "size", "remaining", "deadline", "slack 1s plus"] {
            assert!(
                Urgency::from_text(&format!("{rule} 9158400s")).is_ok(),
                "{rule}"
            );
            let text = format!("{rule} 9158401s");
            assert_eq!(
                Urgency::from_text(&text).unwrap_err().to_string(),
                format!("'{text}': 9158401s: legal range 0 to 106 days, 9158400s")
            );
        }
        assert!(Urgency::from_text("cautious 9158401s 1gbit").is_err());
    }
}
