//! Values of a swept key: lists, ranges, quantities with units, and how each is written
//! canonically.

use std::collections::BTreeMap;

use roundelay::{Bytes, Duration, Fault, Rate};
use roundelay_report::KeyValues;
use serde_json::{Map, Value as Json};
use toml::Value;

/// A point: a value for each swept key, in the order of the keys.
pub(crate) type Values = Vec<(String, Value)>;

/// The key of a point's scenario, if the plan has several.
pub(crate) const SCENARIO: &str = "scenario";

/// Most values that a range may have.
const MOST_VALUES: usize = 100_000;

/// Keys whose texts are names or paths. They are no quantities, whatever they look like.
const NAMES: [&str; 7] = ["name", "from", "to", "file", "second", "class", SCENARIO];

/// A quantity's unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    BitsPerSecond,
    Picoseconds,
    Bytes,
    Whole,
    Plain,
}

/// A quantity in its base unit.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Quantity {
    unit: Unit,
    /// Exact for all units but `Plain`.
    whole: u64,
    plain: f64,
}

impl Quantity {
    const fn whole(unit: Unit, whole: u64) -> Self {
        Self {
            unit,
            whole,
            plain: whole as f64,
        }
    }

    /// None for a text without a number, or with an unknown unit.
    fn parse(text: &str) -> Option<Self> {
        if !text.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        if let Ok(whole) = text.parse() {
            return Some(Self::whole(Unit::Whole, whole));
        }
        if !text.ends_with(|c: char| c.is_ascii_alphabetic()) {
            let plain = text.parse().ok().filter(|plain: &f64| plain.is_finite())?;
            return Some(Self {
                unit: Unit::Plain,
                whole: 0,
                plain,
            });
        }
        if let Ok(rate) = text.parse::<Rate>() {
            return Some(Self::whole(Unit::BitsPerSecond, rate.bits_per_second()));
        }
        if let Ok(time) = text.parse::<Duration>() {
            return Some(Self::whole(Unit::Picoseconds, time.as_picos()));
        }
        match text.parse() {
            Ok(Bytes(bytes)) => Some(Self::whole(Unit::Bytes, bytes)),
            Err(_) => None,
        }
    }

    /// Whether the quantity has no unit.
    const fn is_number(self) -> bool {
        matches!(self.unit, Unit::Whole | Unit::Plain)
    }

    /// The quantity as a scenario has it.
    fn value(self) -> Value {
        match self.unit {
            Unit::BitsPerSecond => Value::String(format!("{}bit", self.whole)),
            Unit::Picoseconds => Value::String(format!("{}s", decimal(self.whole, 12))),
            Unit::Bytes => Value::String(format!("{}b", self.whole)),
            Unit::Whole => match i64::try_from(self.whole) {
                Ok(whole) => Value::Integer(whole),
                Err(_) => Value::String(self.whole.to_string()),
            },
            Unit::Plain => Value::Float(self.plain),
        }
    }

    /// The quantity as a number in bits per second, seconds or bytes.
    fn number(self) -> String {
        match self.unit {
            Unit::Picoseconds => decimal(self.whole, 12),
            Unit::Plain => self.plain.to_string(),
            _ => self.whole.to_string(),
        }
    }

    const fn with(self, plain: f64) -> Self {
        match self.unit {
            Unit::Plain => Self { plain, ..self },
            unit => Self::whole(unit, plain.round() as u64),
        }
    }
}

/// `whole` divided by 10^`places`, exactly.
fn decimal(whole: u64, places: u32) -> String {
    let unit = 10_u64.pow(places);
    let fraction = format!("{:0places$}", whole % unit, places = places as usize);
    let fraction = fraction.trim_end_matches('0');
    let dot = if fraction.is_empty() { "" } else { "." };
    format!("{}{dot}{fraction}", whole / unit)
}

/// A list's values as on the command line: `fifo,qfq`, `64kbit..1mbit/2`, `[1, 2]`.
///
/// # Errors
/// A value is empty, or a range is wrong.
pub(super) fn list(text: &str) -> Result<Vec<Value>, Fault> {
    if text.starts_with(['[', '{', '"', '\'']) {
        return Ok(vec![written(text)?]);
    }
    let mut all = Vec::new();
    for part in text.split(',').map(str::trim) {
        if part.is_empty() {
            let legal = "values with commas between, as in fifo,qfq";
            return Err(wrong(text, "an empty value", legal));
        }
        match part.split_once("..") {
            Some((first, rest)) => all.extend(range(part, first.trim(), rest.trim())?),
            None => all.push(scalar(part)),
        }
    }
    Ok(all)
}

/// A value as TOML itself spells it.
fn written(text: &str) -> Result<Value, Fault> {
    if let Ok(mut table) = toml::from_str::<toml::Table>(&format!("value = {text}"))
        && let Some(value) = table.remove("value")
    {
        return Ok(value);
    }
    Err(wrong(
        text,
        "no value in TOML",
        "one, as in [\"s0\", \"s1\"]",
    ))
}

fn wrong(given: &str, problem: &str, legal: &str) -> Fault {
    Fault::wanted(legal)
        .behind(format_args!("'{given}': {problem}; "))
        .with_given(given)
}

/// The value of a word: a whole number, a number, true, false, or a text.
fn scalar(text: &str) -> Value {
    match text {
        "true" => Value::Boolean(true),
        "false" => Value::Boolean(false),
        _ => match text.parse() {
            Ok(number) => Value::Integer(number),
            Err(_) => match text.parse() {
                Ok(number) if text.starts_with(|c: char| c == '-' || c.is_ascii_digit()) => {
                    Value::Float(number)
                }
                _ => Value::String(text.to_owned()),
            },
        },
    }
}

/// `64kbit..1mbit/2`: each is twice the one before. `10ms..50ms+10ms`: steps. Names like `s0..48`
/// are texts.
fn range(part: &str, first: &str, rest: &str) -> Result<Vec<Value>, Fault> {
    let Some(from) = Quantity::parse(first) else {
        return Ok(vec![scalar(part)]);
    };
    let legal = "FROM..TO/FACTOR, as in 64kbit..1mbit/2, or FROM..TO+STEP, as in 10ms..50ms+10ms";
    let wrong = |problem: &str| wrong(part, problem, legal);
    let Some((last, step)) = rest.split_once(['/', '+']) else {
        return Err(wrong("a range without a step"));
    };
    let last = Quantity::parse(last.trim()).ok_or_else(|| wrong("no end"))?;
    let step = Quantity::parse(step.trim()).ok_or_else(|| wrong("no step"))?;
    let is_factor = rest.contains('/');
    // A bare number may stand beside one with decimals.
    let has_decimals = last.unit == Unit::Plain || !is_factor && step.unit == Unit::Plain;
    let unit = if from.unit == Unit::Whole && has_decimals {
        Unit::Plain
    } else {
        from.unit
    };
    let from = Quantity { unit, ..from };
    if last.unit != unit && !(from.is_number() && last.is_number()) {
        return Err(wrong("both ends need the same unit"));
    }
    if last.plain < from.plain {
        return Err(wrong("the end is below the start"));
    }
    if is_factor {
        if !step.is_number() || step.plain <= 1.0 {
            return Err(wrong("a factor has no unit and is above 1"));
        }
        if from.plain <= 0.0 {
            return Err(wrong("a factor needs a start above 0"));
        }
    } else {
        let has_unit_of_ends = step.unit == unit || from.is_number() && step.is_number();
        if step.plain <= 0.0 || !has_unit_of_ends {
            return Err(wrong("a step is above 0, in the unit of the ends"));
        }
    }
    // The end itself counts, in spite of rounding.
    let limit = last.plain * (1.0 + 1e-9);
    let mut values = Vec::new();
    for number in 0..=MOST_VALUES {
        let number = number as f64;
        let plain = if is_factor {
            from.plain * step.plain.powf(number)
        } else {
            step.plain.mul_add(number, from.plain)
        };
        if plain > limit {
            return Ok(values);
        }
        values.push(from.with(plain).value());
    }
    Err(wrong(&format!("more than {MOST_VALUES} values")))
}

/// A value as canonical JSON: keys sorted, quantities in base units, single spaces in texts.
pub(super) fn canonical(key: &str, value: &Value) -> Json {
    match value {
        Value::String(text) if NAMES.contains(&key) => Json::String(text.clone()),
        Value::String(text) => {
            if let Some(quantity) = Quantity::parse(text)
                && let Value::String(text) = quantity.value()
            {
                return Json::String(text);
            }
            let words: Vec<_> = text.split_whitespace().collect();
            Json::String(words.join(" "))
        }
        Value::Integer(number) => (*number).into(),
        Value::Float(number) => (*number).into(),
        Value::Boolean(flag) => (*flag).into(),
        Value::Datetime(time) => time.to_string().into(),
        Value::Array(values) => values.iter().map(|value| canonical(key, value)).collect(),
        Value::Table(table) => {
            let sorted: BTreeMap<_, _> = table.iter().collect();
            let mut object = Map::new();
            for (key, value) in sorted {
                object.insert(key.clone(), canonical(key, value));
            }
            Json::Object(object)
        }
    }
}

/// A swept key's value in the dataset: a number in bits per second, seconds or bytes, or the text.
pub(super) fn label(key: &str, value: &Value) -> String {
    let name = key.rsplit('.').next().unwrap_or(key);
    if let (Value::String(text), false) = (value, NAMES.contains(&name))
        && let Some(quantity) = Quantity::parse(text)
    {
        return quantity.number();
    }
    if let Value::Float(number) = value {
        return number.to_string();
    }
    match canonical(name, value) {
        Json::String(text) => text,
        other => other.to_string(),
    }
}

/// The kind of a key's values, for a chart's axis.
pub(super) fn kind_of<'a>(key: &str, values: impl Iterator<Item = &'a Value>) -> KeyValues {
    let name = key.rsplit('.').next().unwrap_or(key);
    let mut all = None;
    for value in values {
        let kind = match value {
            Value::Integer(_) | Value::Float(_) => KeyValues::Numbers,
            Value::String(text) if !NAMES.contains(&name) => match Quantity::parse(text) {
                Some(quantity) => match quantity.unit {
                    Unit::BitsPerSecond => KeyValues::Rates,
                    Unit::Picoseconds => KeyValues::Times,
                    Unit::Bytes => KeyValues::Lengths,
                    Unit::Whole | Unit::Plain => KeyValues::Numbers,
                },
                None => return KeyValues::Words,
            },
            _ => return KeyValues::Words,
        };
        // Values with several units have no common axis.
        if *all.get_or_insert(kind) != kind {
            return KeyValues::Words;
        }
    }
    all.unwrap_or(KeyValues::Words)
}

/// A value as the command line takes it, in a shell's quotes where needed.
pub(super) fn word(key: &str, value: &Value) -> String {
    let plain = match value {
        Value::String(text) if list(text) == Ok(vec![value.clone()]) => text.clone(),
        Value::String(text) => Json::String(text.clone()).to_string(),
        Value::Integer(_) | Value::Float(_) | Value::Boolean(_) => value.to_string(),
        other => other.to_string().trim().to_owned(),
    };
    quoted(&format!("{key}={plain}"))
}

/// A word that a shell reads as it is.
pub(super) fn quoted(word: &str) -> String {
    let needs_quotes = |c: char| !c.is_ascii_alphanumeric() && !"-_./=:,+%".contains(c);
    if !word.is_empty() && !word.contains(needs_quotes) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// A point's keys and values as in the dataset.
pub(super) fn labels(point: &Values) -> Vec<(String, String)> {
    let mut labels = Vec::new();
    for (key, value) in point {
        labels.push((key.clone(), label(key, value)));
    }
    labels
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(text: &str) -> Vec<String> {
        list(text)
            .unwrap()
            .iter()
            .map(|value| label("rate", value))
            .collect()
    }

    #[test]
    fn lists_and_ranges_are_expanded() {
        assert_eq!(
            labels("64kbit..1mbit/2"),
            ["64000", "128000", "256000", "512000"]
        );
        assert_eq!(labels("10ms..30ms+10ms"), ["0.01", "0.02", "0.03"]);
        assert_eq!(labels("1..10/2,16"), ["1", "2", "4", "8", "16"]);
        assert_eq!(labels("0.5..1+0.25"), ["0.5", "0.75", "1"]);
        assert_eq!(labels("fifo limit 100, qfq"), ["fifo limit 100", "qfq"]);
        assert_eq!(labels("true"), ["true"]);
        assert_eq!(labels("s0..48"), ["s0..48"], "names of hosts are no range");
        assert_eq!(labels("[1, 2]"), ["[1,2]"]);
        assert_eq!(labels("1kb..4kb/2"), ["1024", "2048", "4096"]);
        assert_eq!(labels("5..5+1"), ["5"], "from a value to itself");
    }

    /// A whole number stays one; beside one with decimals all have decimals.
    #[test]
    fn numbers_keep_their_kind() {
        let whole = |number| Value::Integer(number);
        let plain = |number| Value::Float(number);
        for (text, expected) in [
            ("1..3+1", vec![whole(1), whole(2), whole(3)]),
            ("1..4/2", vec![whole(1), whole(2), whole(4)]),
            ("1..2.5/1.5", vec![plain(1.0), plain(1.5), plain(2.25)]),
            ("1..2+0.5", vec![plain(1.0), plain(1.5), plain(2.0)]),
            ("0.5,-1.5,1e3", vec![plain(0.5), plain(-1.5), plain(1e3)]),
            ("-2,0", vec![whole(-2), whole(0)]),
        ] {
            assert_eq!(list(text), Ok(expected), "{text}");
        }
        for word in ["nan", "inf", "-", "1.5.2"] {
            assert_eq!(list(word), Ok(vec![Value::String(word.to_owned())]));
        }
    }

    #[test]
    fn a_label_is_a_number_in_the_base_unit() {
        for (text, expected) in [
            ("0.25", "0.25"),
            ("7", "7"),
            ("64kbit", "64000"),
            ("5ms", "0.005"),
        ] {
            let value = Value::String(text.to_owned());
            assert_eq!(label("rate", &value), expected);
            assert_eq!(label("source.0.name", &value), text, "a name");
        }
        assert_eq!(label("loss", &Value::Float(0.5)), "0.5");
    }

    #[test]
    fn a_word_has_quotes_where_a_shell_needs_them() {
        for (word, expected) in [
            ("", "''"),
            ("a", "a"),
            ("rate=5mbit,1.5%", "rate=5mbit,1.5%"),
            ("fifo limit 5", "'fifo limit 5'"),
            ("it's", "'it'\\''s'"),
            ("$x", "'$x'"),
        ] {
            assert_eq!(quoted(word), expected);
        }
    }

    #[test]
    fn values_of_one_unit_have_an_axis() {
        let kind = |key: &str, text: &str| kind_of(key, list(text).unwrap().iter());
        assert_eq!(
            kind("source.calls.rate", "64kbit..1mbit/2"),
            KeyValues::Rates
        );
        assert_eq!(kind("topology.delay", "10ms,20ms"), KeyValues::Times);
        assert_eq!(
            kind("source.calls.packet_len", "1kb..4kb/2"),
            KeyValues::Lengths
        );
        assert_eq!(kind("port.0.loss", "0.5,0.25"), KeyValues::Numbers);
        assert_eq!(kind("topology.pairs", "1..10/2"), KeyValues::Numbers);
        assert_eq!(kind("queue.core", "fifo,qfq"), KeyValues::Words);
        assert_eq!(
            kind("queue.core", "5ms,10kb"),
            KeyValues::Words,
            "two units"
        );
        assert_eq!(kind("source.0.name", "5ms"), KeyValues::Words, "a name");
        assert_eq!(kind("meter.wfi", "true,false"), KeyValues::Words);
    }

    #[test]
    fn wrong_ranges_are_refused_with_the_right_form() {
        for (text, problem) in [
            ("1mbit..2mbit", "without a step"),
            ("1mbit..2ms/2", "same unit"),
            ("2mbit..1mbit/2", "below the start"),
            ("1mbit..2mbit/1", "above 1"),
            ("1mbit..2mbit+1ms", "unit of the ends"),
            ("1mbit..2mbit/2mbit", "no unit"),
            ("0..8/2", "above 0"),
            ("fifo,,qfq", "empty value"),
            ("[1", "no value in TOML"),
        ] {
            let error = list(text).unwrap_err();
            assert!(error.message().contains(problem), "{text}: {error}");
        }
    }

    #[test]
    fn canonical_forms_do_not_depend_on_spelling() {
        let json =
            |text: &str| canonical("", &Value::Table(toml::from_str(text).unwrap())).to_string();
        let other = "b = 2 # a comment\na = { rate = \"64000bit\", name = \"5ms\" }\nqueue = \
            \"fifo  limit 5\"";
        assert_eq!(
            json("queue = 'fifo limit 5'\na.name = '5ms'\na.rate = '64kbit'\nb = 2"),
            json(other)
        );
        assert!(json(other).contains("5ms"), "names stay");
        assert_ne!(json("a = '1ms'"), json("a = '2ms'"));
    }

    #[test]
    fn words_come_back_from_the_command_line() {
        for value in ["fifo limit 5", "1mbit", "a,b", "it's", "1..2", "[x"] {
            let value = Value::String(value.to_owned());
            let word = word("k", &value);
            let inner = word
                .strip_prefix('\'')
                .and_then(|word| word.strip_suffix('\''))
                .unwrap_or(&word)
                .replace("'\\''", "'");
            assert_eq!(list(inner.strip_prefix("k=").unwrap()).unwrap(), [value]);
        }
    }
}
