//! Disciplines' parameters in `tc` notation: names, units, ranges and errors.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;
use core::ops::RangeInclusive;

use crate::fault::Fault;
use crate::suggestion::alternatives;
use crate::time::Duration;
use crate::units::{Billionths, Bytes, Rate, expected_time};

/// What kind of value a parameter has. The internal value is always a `u64`: a count, bytes,
/// picoseconds, bits per second, billionths, an index into a list of words, or 0 and 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// A plain number.
    Count,
    /// A size: `1514b`, `32mb`.
    Size,
    /// A time: `5ms`. A bare number is microseconds.
    Time,
    /// A time. A bare number is seconds.
    Seconds,
    /// A time. A bare number is milliseconds.
    Milliseconds,
    /// A rate, `10mbit`, or `link` for the link's own.
    LinkRate,
    /// A rate, `10mbit`, or `unlimited`.
    Bandwidth,
    /// A number, decimals allowed: `0.02`.
    Number,
    /// One of these words.
    Choice(&'static [&'static str]),
    /// A word that switches something on, or off with the prefix `no`.
    Switch,
    /// Up to [`Numbers::MOST`] plain numbers, one word each: `priomap 0 1 1`.
    Counts,
    /// Up to [`Numbers::MOST`] sizes, one word each: `quanta 3000 1500`.
    Sizes,
}

/// The numbers of a parameter that takes several words.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Numbers {
    values: [u32; Self::MOST],
    count: u8,
}

impl Numbers {
    /// Most numbers that a parameter takes, because Linux has this many bands.
    pub const MOST: usize = 16;

    /// The numbers, in the order written.
    pub fn as_slice(&self) -> &[u32] {
        &self.values[..self.count.into()]
    }

    /// Appends a number. False if there are [`MOST`](Self::MOST) already.
    pub fn push(&mut self, value: u32) -> bool {
        let slot = self.values.get_mut(usize::from(self.count));
        let fits = slot.map(|slot| *slot = value).is_some();
        self.count += u8::from(fits);
        fits
    }
}

/// A value for a 32-bit field. A larger value becomes the maximum, which is out of every range.
pub(crate) const fn saturated(value: u64) -> u32 {
    if value < u32::MAX as u64 {
        value as u32
    } else {
        u32::MAX
    }
}

/// Bounds of times, in picoseconds.
pub(crate) const MICROSECOND: u64 = Duration::from_micros(1).as_picos();
pub(crate) const HOUR: u64 = Duration::from_secs(3600).as_picos();
pub(crate) const DAY: u64 = Duration::from_secs(86_400).as_picos();

/// For whoever writes `fq` and means another discipline.
pub(crate) const FORMER_FQ: &str =
    "fq is Linux's; the fair queueing by packets that had this name is packet_fq";

/// Disciplines that are only classes of a tree.
const CLASSES: [&str; 2] = ["htb", "hfsc"];

/// A time that never comes, written `never`.
const NEVER: u64 = u64::MAX;

/// The link's rate, written `link`, or for a [`Kind::Bandwidth`] `unlimited`.
const LINK: u64 = 0;

/// No numbers, shown as `none`.
const NONE: u64 = u64::MAX;

/// One parameter of a discipline with configuration type `C`: a name, a legal range and a field.
///
/// ```
/// # use roundelay::author::Parameter;
/// struct Config {
///     quantum: u32,
/// }
///
/// const QUANTUM: Parameter<Config> =
///     Parameter::size("quantum", 256..=1 << 20, "bytes for each flow in turn", |config| &mut config.quantum);
/// ```
#[derive(Debug)]
pub struct Parameter<C: 'static> {
    /// The name in user input: `tc`'s name if `tc` has the discipline.
    pub name: &'static str,
    /// The kind of value.
    pub kind: Kind,
    /// Smallest legal value.
    pub min: u64,
    /// Largest legal value.
    pub max: u64,
    /// One-line description.
    pub about: &'static str,
    /// Whether the word of a choice is written alone, as in `cake diffserv4`.
    pub(crate) is_bare: bool,
    /// Whether the name of a choice alone means its first word, as in `fq linux`.
    pub(crate) means_first: bool,
    field: Field<C>,
}

/// Access to a parameter's field, by its type.
#[derive(Debug)]
enum Field<C: 'static> {
    U32(fn(&mut C) -> &mut u32),
    U64(fn(&mut C) -> &mut u64),
    Switch(fn(&mut C) -> &mut bool),
    Time(fn(&mut C) -> &mut Duration),
    /// None: never.
    TimeOrNever(fn(&mut C) -> &mut Option<Duration>),
    /// None: the link's rate.
    LinkRate(fn(&mut C) -> &mut Option<Rate>),
    Number(fn(&mut C) -> &mut Billionths),
    Numbers(fn(&mut C) -> &mut Numbers),
    Choice(fn(&C) -> u64, fn(&mut C, u64)),
}

impl<C> Parameter<C> {
    const fn new(
        name: &'static str,
        kind: Kind,
        range: RangeInclusive<u64>,
        about: &'static str,
        field: Field<C>,
    ) -> Self {
        Self {
            name,
            kind,
            min: *range.start(),
            max: *range.end(),
            about,
            is_bare: false,
            means_first: false,
            field,
        }
    }

    /// A plain number.
    pub const fn count(
        name: &'static str,
        range: RangeInclusive<u64>,
        about: &'static str,
        field: fn(&mut C) -> &mut u32,
    ) -> Self {
        Self::new(name, Kind::Count, range, about, Field::U32(field))
    }

    /// A size in bytes.
    pub const fn size(
        name: &'static str,
        range: RangeInclusive<u64>,
        about: &'static str,
        field: fn(&mut C) -> &mut u32,
    ) -> Self {
        Self::new(name, Kind::Size, range, about, Field::U32(field))
    }

    /// A size in bytes, in a field of 64 bits.
    pub const fn size64(
        name: &'static str,
        range: RangeInclusive<u64>,
        about: &'static str,
        field: fn(&mut C) -> &mut u64,
    ) -> Self {
        Self::new(name, Kind::Size, range, about, Field::U64(field))
    }

    /// A time. The range is in picoseconds, a bare number that the user writes is in microseconds.
    pub const fn time(
        name: &'static str,
        range: RangeInclusive<u64>,
        about: &'static str,
        field: fn(&mut C) -> &mut Duration,
    ) -> Self {
        Self::new(name, Kind::Time, range, about, Field::Time(field))
    }

    /// A time. The range is in picoseconds, a bare number that the user writes is in seconds.
    pub const fn seconds(
        name: &'static str,
        range: RangeInclusive<u64>,
        about: &'static str,
        field: fn(&mut C) -> &mut Duration,
    ) -> Self {
        Self::new(name, Kind::Seconds, range, about, Field::Time(field))
    }

    /// A time. The range is in picoseconds, a bare number that the user writes is in milliseconds.
    pub const fn milliseconds(
        name: &'static str,
        range: RangeInclusive<u64>,
        about: &'static str,
        field: fn(&mut C) -> &mut Duration,
    ) -> Self {
        Self::new(name, Kind::Milliseconds, range, about, Field::Time(field))
    }

    /// Any time, or `never` for None. A bare number that the user writes is in microseconds.
    pub const fn time_or_never(
        name: &'static str,
        about: &'static str,
        field: fn(&mut C) -> &mut Option<Duration>,
    ) -> Self {
        Self::new(
            name,
            Kind::Time,
            0..=NEVER,
            about,
            Field::TimeOrNever(field),
        )
    }

    /// A rate, or `link` for None. The range is in bits per second.
    pub const fn link_rate(
        name: &'static str,
        range: RangeInclusive<u64>,
        about: &'static str,
        field: fn(&mut C) -> &mut Option<Rate>,
    ) -> Self {
        Self::new(name, Kind::LinkRate, range, about, Field::LinkRate(field))
    }

    /// A rate, or `unlimited` for None. The range is in bits per second.
    pub const fn bandwidth(
        name: &'static str,
        range: RangeInclusive<u64>,
        about: &'static str,
        field: fn(&mut C) -> &mut Option<Rate>,
    ) -> Self {
        Self::new(name, Kind::Bandwidth, range, about, Field::LinkRate(field))
    }

    /// A number with decimals. The range is in billionths.
    pub const fn number(
        name: &'static str,
        range: RangeInclusive<u64>,
        about: &'static str,
        field: fn(&mut C) -> &mut Billionths,
    ) -> Self {
        Self::new(name, Kind::Number, range, about, Field::Number(field))
    }

    /// Several plain numbers. The range is each one's.
    pub const fn counts(
        name: &'static str,
        range: RangeInclusive<u64>,
        about: &'static str,
        field: fn(&mut C) -> &mut Numbers,
    ) -> Self {
        Self::new(name, Kind::Counts, range, about, Field::Numbers(field))
    }

    /// Several sizes in bytes. The range is each one's.
    pub const fn sizes(
        name: &'static str,
        range: RangeInclusive<u64>,
        about: &'static str,
        field: fn(&mut C) -> &mut Numbers,
    ) -> Self {
        Self::new(name, Kind::Sizes, range, about, Field::Numbers(field))
    }

    /// A word that switches something on.
    pub const fn switch(
        name: &'static str,
        about: &'static str,
        field: fn(&mut C) -> &mut bool,
    ) -> Self {
        Self::new(name, Kind::Switch, 0..=1, about, Field::Switch(field))
    }

    /// One of several words, by position in the list.
    pub const fn choice(
        name: &'static str,
        words: &'static [&'static str],
        about: &'static str,
        read: fn(&C) -> u64,
        write: fn(&mut C, u64),
    ) -> Self {
        Self::new(
            name,
            Kind::Choice(words),
            0..=words.len() as u64 - 1,
            about,
            Field::Choice(read, write),
        )
    }

    /// A [`choice`](Self::choice) whose name alone means its first word: `fq linux` is `fq linux 7.3`.
    pub const fn version(
        name: &'static str,
        words: &'static [&'static str],
        about: &'static str,
        read: fn(&C) -> u64,
        write: fn(&mut C, u64),
    ) -> Self {
        Self {
            means_first: true,
            ..Self::choice(name, words, about, read, write)
        }
    }

    /// A [`choice`](Self::choice) whose word is written without the parameter's name, as `tc`
    /// writes it: `cake diffserv4`. With the name it is read as well.
    pub const fn keyword(
        name: &'static str,
        words: &'static [&'static str],
        about: &'static str,
        read: fn(&C) -> u64,
        write: fn(&mut C, u64),
    ) -> Self {
        Self {
            is_bare: true,
            ..Self::choice(name, words, about, read, write)
        }
    }
}

impl<C: Clone> Parameter<C> {
    /// The value. If there are several numbers, the first one.
    pub fn read(&self, config: &C) -> u64 {
        let config = &mut config.clone();
        match self.field {
            Field::U32(field) => (*field(config)).into(),
            Field::U64(field) => *field(config),
            Field::Switch(field) => (*field(config)).into(),
            Field::Time(field) => field(config).as_picos(),
            Field::TimeOrNever(field) => field(config).map_or(NEVER, Duration::as_picos),
            Field::LinkRate(field) => field(config).map_or(LINK, Rate::bits_per_second),
            Field::Number(field) => field(config).0,
            Field::Numbers(field) => {
                let numbers = field(config).as_slice();
                numbers.first().map_or(NONE, |first| (*first).into())
            }
            Field::Choice(read, _) => read(config),
        }
    }

    /// All values. There is one, unless the parameter takes several numbers.
    fn values(&self, config: &C) -> Vec<u64> {
        if let Field::Numbers(field) = self.field {
            let numbers = *field(&mut config.clone());
            return numbers.as_slice().iter().map(|n| (*n).into()).collect();
        }
        alloc::vec![self.read(config)]
    }

    /// Whether two configurations have the same value.
    pub(crate) fn is_same(&self, one: &C, other: &C) -> bool {
        self.values(one) == self.values(other)
    }

    /// The value as the user writes it.
    pub fn text(&self, config: &C) -> String {
        let mut text = String::new();
        for value in self.values(config) {
            if !text.is_empty() {
                text.push(' ');
            }
            text += &self.kind.show(value);
        }
        if text.is_empty() {
            text = self.kind.show(NONE);
        }
        text
    }

    /// Appends a number to a parameter that takes several. False if there are too many.
    pub(crate) fn append(&self, config: &mut C, value: u64) -> bool {
        match self.field {
            Field::Numbers(field) => field(config).push(saturated(value)),
            _ => false,
        }
    }

    /// Sets the value. [`check`](Self::check) tells whether the value is legal. A value beyond the
    /// field becomes the largest one, which is out of range.
    pub fn write(&self, config: &mut C, value: u64) {
        match self.field {
            Field::U32(field) => *field(config) = saturated(value),
            Field::U64(field) => *field(config) = value,
            Field::Switch(field) => *field(config) = value != 0,
            Field::Time(field) => *field(config) = Duration::from_picos(value),
            Field::TimeOrNever(field) => {
                *field(config) = (value != NEVER).then(|| Duration::from_picos(value))
            }
            Field::LinkRate(field) => *field(config) = Rate::from_bits_per_second(value),
            Field::Number(field) => *field(config) = Billionths(value),
            Field::Numbers(field) => {
                *field(config) = Numbers::default();
                if value != NONE {
                    field(config).push(saturated(value));
                }
            }
            Field::Choice(_, write) => write(config, value),
        }
    }

    /// # Errors
    /// The value is out of range.
    pub fn check(&self, discipline: &'static str, config: &C) -> Result<(), ConfigError> {
        let is_rate = matches!(self.kind, Kind::LinkRate | Kind::Bandwidth);
        for value in self.values(config) {
            let is_link = is_rate && value == LINK;
            if !is_link && !(self.min..=self.max).contains(&value) {
                return Err(self.out_of_range(discipline, value));
            }
        }
        Ok(())
    }

    fn out_of_range(&self, discipline: &'static str, value: u64) -> ConfigError {
        ConfigError::OutOfRange {
            discipline,
            parameter: self.name,
            value: self.kind.show(value),
            min: self.kind.show(self.min),
            max: self.kind.show(self.max),
        }
    }
}

impl Kind {
    /// Formats a value with its unit.
    pub fn show(self, value: u64) -> String {
        match self {
            Self::Counts | Self::Sizes if value == NONE => "none".to_owned(),
            Self::Count | Self::Counts => value.to_string(),
            Self::Size | Self::Sizes => Bytes(value).to_string(),
            Self::Time | Self::Seconds | Self::Milliseconds if value == NEVER => "never".to_owned(),
            Self::Time | Self::Seconds | Self::Milliseconds => {
                Duration::from_picos(value).to_string()
            }
            Self::LinkRate if value == LINK => "link".to_owned(),
            Self::Bandwidth if value == LINK => "unlimited".to_owned(),
            Self::LinkRate | Self::Bandwidth => Rate::from_bits_per_second(value)
                .map_or_else(|| "0bit".to_owned(), |rate| rate.to_string()),
            Self::Number => Billionths(value).to_string(),
            Self::Choice(words) => words
                .get(value as usize)
                .map_or_else(|| value.to_string(), |word| (*word).to_owned()),
            Self::Switch => (if value == 0 { "off" } else { "on" }).to_owned(),
        }
    }

    /// A bare number's unit. None for a plain count or a value without number.
    pub const fn bare_unit(self) -> Option<&'static str> {
        match self {
            Self::Count | Self::Counts | Self::Number | Self::Choice(_) | Self::Switch => None,
            Self::Size | Self::Sizes => Some("bytes"),
            Self::Time => Some("us"),
            Self::Seconds => Some("s"),
            Self::Milliseconds => Some("ms"),
            Self::LinkRate | Self::Bandwidth => Some("bit/s"),
        }
    }

    /// Whether the kind has a smallest and a largest value.
    pub const fn has_range(self) -> bool {
        !matches!(self, Self::Choice(_) | Self::Switch)
    }

    /// Whether the parameter takes several words.
    pub const fn is_list(self) -> bool {
        matches!(self, Self::Counts | Self::Sizes)
    }

    /// Parses a value, or one of several numbers. Switches have none.
    ///
    /// # Errors
    /// The expected notation.
    pub fn read(self, text: &str) -> Result<u64, String> {
        match self {
            Self::Count | Self::Counts => text.parse().map_err(|_| "a whole number".to_owned()),
            Self::Size | Self::Sizes => text
                .parse::<Bytes>()
                .map(|b| b.0)
                .map_err(|e| e.expected().to_owned()),
            Self::LinkRate if text == "link" => Ok(LINK),
            Self::Bandwidth if text == "unlimited" => Ok(LINK),
            Self::LinkRate | Self::Bandwidth => text
                .parse::<Rate>()
                .map(Rate::bits_per_second)
                .map_err(|e| e.expected().to_owned()),
            Self::Number => text
                .parse::<Billionths>()
                .map(|number| number.0)
                .map_err(|e| e.expected().to_owned()),
            Self::Time | Self::Seconds | Self::Milliseconds if text == "never" => Ok(NEVER),
            Self::Time => text
                .parse::<Duration>()
                .map(Duration::as_picos)
                .map_err(|e| e.expected().to_owned()),
            Self::Seconds => time_in(text, "s").ok_or_else(|| expected_time("seconds", "10s")),
            Self::Milliseconds => {
                time_in(text, "ms").ok_or_else(|| expected_time("milliseconds", "500ms"))
            }
            Self::Choice(words) => words
                .iter()
                .position(|word| *word == text)
                .map(|index| index as u64)
                .ok_or_else(|| alternatives(words)),
            Self::Switch => Err("no value".to_owned()),
        }
    }
}

/// A time's picoseconds. A number without a unit, whole or decimal, is in `unit`.
fn time_in(text: &str, unit: &str) -> Option<u64> {
    let is_bare = text.ends_with(|last: char| last.is_ascii_digit() || last == '.');
    let unit = if is_bare { unit } else { "" };
    format!("{text}{unit}")
        .parse::<Duration>()
        .ok()
        .map(Duration::as_picos)
}

/// Whether a number has no unit.
pub(crate) fn is_bare(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// Errors in a written discipline.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigError {
    /// No discipline has this name.
    UnknownDiscipline {
        /// As written.
        name: String,
        /// The name is a parameter of some discipline, written as a word of its own.
        is_parameter: bool,
        /// A suggestion.
        meant: Option<&'static str>,
        /// All names, separated by commas.
        known: String,
    },
    /// A Linux qdisc that has no discipline here.
    NotHere {
        /// As written.
        name: String,
        /// The reason, or what to do instead.
        why: &'static str,
    },
    /// The discipline has no such parameter.
    UnknownParameter {
        /// The discipline.
        discipline: &'static str,
        /// As written.
        parameter: String,
        /// A suggestion.
        meant: Option<&'static str>,
        /// The discipline's parameter names, separated by commas.
        known: String,
    },
    /// A parameter is written more than once. `tc` would use the last one, or none.
    Repeated {
        /// The discipline.
        discipline: &'static str,
        /// The first word.
        first: String,
        /// The second word: for a switch, the same word or its opposite.
        second: String,
    },
    /// A flow cannot go to this node in a tree.
    NotALeaf {
        /// The node's name.
        node: String,
        /// The problem.
        problem: String,
    },
    /// A value is missing or cannot be read.
    BadValue {
        /// The discipline.
        discipline: &'static str,
        /// The parameter.
        parameter: String,
        /// The value as written. None: it is missing.
        value: Option<String>,
        /// What was expected.
        expected: String,
    },
    /// A value is out of its legal range.
    OutOfRange {
        /// The discipline.
        discipline: &'static str,
        /// The parameter.
        parameter: &'static str,
        /// As written.
        value: String,
        /// Smallest legal value.
        min: String,
        /// Largest legal value.
        max: String,
    },
    /// A parameter that cannot change while packets wait.
    Fixed {
        /// The discipline.
        discipline: &'static str,
        /// The parameter.
        parameter: &'static str,
    },
    /// The scheduler has another discipline.
    OtherDiscipline {
        /// The expected discipline.
        discipline: &'static str,
    },
}

impl ConfigError {
    /// A value that is legal by itself and wrong beside the other parameters.
    pub(crate) fn beside(
        discipline: &'static str,
        parameter: &str,
        value: impl fmt::Display,
        expected: impl Into<String>,
    ) -> Self {
        Self::BadValue {
            discipline,
            parameter: parameter.to_owned(),
            value: Some(value.to_string()),
            expected: expected.into(),
        }
    }

    /// A leaf was named to a scheduler without leaves.
    pub(crate) fn no_tree(leaf: &str) -> Self {
        Self::NotALeaf {
            node: leaf.to_owned(),
            problem: "the scheduler is no tree".to_owned(),
        }
    }

    /// # Errors
    /// `value` is not in `min..=max`.
    pub fn in_range(
        discipline: &'static str,
        parameter: &'static str,
        value: u64,
        min: u64,
        max: u64,
    ) -> Result<(), Self> {
        if (min..=max).contains(&value) {
            return Ok(());
        }
        Err(Self::OutOfRange {
            discipline,
            parameter,
            value: value.to_string(),
            min: min.to_string(),
            max: max.to_string(),
        })
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UnknownDiscipline {
                name,
                is_parameter: true,
                ..
            } => {
                write!(
                    f,
                    "no discipline is called '{name}', which is a parameter: write it after its discipline, as in \"sfq depth 64\""
                )
            }
            Self::UnknownDiscipline { name, .. } if CLASSES.contains(&name.as_str()) => {
                write!(
                    f,
                    "{name} is a class of a tree, with leaves below it that hold packets: write a \
                 tree's file, see docs/trees.md"
                )
            }
            Self::UnknownDiscipline {
                name,
                meant: Some(meant),
                ..
            } => {
                write!(
                    f,
                    "no discipline is called '{name}' (did you mean '{meant}'?)"
                )
            }
            Self::UnknownDiscipline { name, known, .. } => {
                write!(f, "no discipline is called '{name}': {known}")
            }
            Self::NotHere { name, why } => write!(f, "{name} is no discipline here: {why}"),
            Self::UnknownParameter {
                discipline,
                parameter,
                meant,
                known,
            } => {
                write!(f, "{discipline}: no parameter is called '{parameter}'")?;
                if let Some(meant) = meant {
                    write!(f, " (did you mean '{meant}'?)")?;
                }
                write!(f, ": {known}")?;
                match (*discipline, parameter.as_str()) {
                    (_, "weight") => write!(f, "; weights are settings of flows"),
                    ("fq", "flows") => write!(f, "; {FORMER_FQ}"),
                    _ => Ok(()),
                }
            }
            Self::Repeated {
                discipline,
                first,
                second,
            } if first == second => {
                write!(
                    f,
                    "{discipline}: {first} is written twice; expected it once"
                )
            }
            Self::Repeated {
                discipline,
                first,
                second,
            } => {
                write!(
                    f,
                    "{discipline}: {first} and {second} exclude each other; expected one of them"
                )
            }
            Self::NotALeaf { node, problem } => write!(f, "node '{node}': {problem}"),
            Self::BadValue {
                discipline,
                parameter,
                value,
                expected,
            } => {
                write!(f, "{discipline}: {parameter}")?;
                value
                    .as_ref()
                    .map_or(Ok(()), |value| write!(f, " {value}"))?;
                write!(f, ": expected {expected}")
            }
            Self::Fixed {
                discipline,
                parameter,
            } => write!(f, "{discipline}: {parameter} cannot change at run time"),
            Self::OtherDiscipline { discipline } => write!(f, "the scheduler is no {discipline}"),
            Self::OutOfRange {
                discipline,
                parameter,
                value,
                min,
                max,
            } => {
                write!(
                    f,
                    "{discipline}: {parameter} {value}: legal range {min} to {max}"
                )
            }
        }
    }
}

impl core::error::Error for ConfigError {}

impl From<ConfigError> for Fault {
    /// The discipline is the owner of its parameter, which is the key.
    fn from(error: ConfigError) -> Self {
        let fault = Self::new(error.to_string());
        match error {
            ConfigError::UnknownDiscipline {
                name, known, meant, ..
            } => fault.with_given(name).with_legal(known).with_meant(meant),
            ConfigError::UnknownParameter {
                discipline,
                parameter,
                known,
                meant,
            } => fault
                .with_owner(discipline)
                .with_given(parameter)
                .with_legal(known)
                .with_meant(meant),
            ConfigError::NotHere { name, .. } => fault.with_given(name),
            ConfigError::Repeated {
                discipline, second, ..
            } => fault.with_owner(discipline).with_given(second),
            ConfigError::BadValue {
                discipline,
                parameter,
                value,
                expected,
            } => fault
                .with_owner(discipline)
                .with_given(value.as_ref().unwrap_or(&parameter))
                .with_key(parameter)
                .with_legal(expected),
            ConfigError::OutOfRange {
                discipline,
                parameter,
                value,
                min,
                max,
            } => fault
                .with_owner(discipline)
                .with_key(parameter)
                .with_given(value)
                .with_legal(format_args!("{min} to {max}")),
            ConfigError::NotALeaf { node, .. } => fault.with_given(node),
            ConfigError::Fixed {
                discipline,
                parameter,
            } => fault
                .with_owner(discipline)
                .with_key(parameter)
                .with_given(parameter),
            ConfigError::OtherDiscipline { discipline } => fault.with_legal(discipline),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Regression test: a bare number with decimals was read as microseconds for every parameter.
    #[test]
    fn bare_numbers_with_decimals_have_the_same_unit() {
        for (kind, unit) in [
            (Kind::Time, "us"),
            (Kind::Seconds, "s"),
            (Kind::Milliseconds, "ms"),
        ] {
            for number in ["1.5", ".5", "2.", "0.25"] {
                assert_eq!(
                    kind.read(number),
                    kind.read(&format!("{number}{unit}")),
                    "{kind:?} {number}"
                );
                assert!(kind.read(number).is_ok(), "{kind:?} {number}");
            }
            assert!(
                ["", ".", "-1", "1e3", "s", "1s1"]
                    .iter()
                    .all(|bad| kind.read(bad).is_err()),
                "{kind:?}"
            );
        }
    }

    #[test]
    fn what_is_expected_of_a_time_names_the_unit_of_its_bare_numbers() {
        for (kind, bare) in [
            (Kind::Time, "microseconds"),
            (Kind::Seconds, "seconds"),
            (Kind::Milliseconds, "milliseconds"),
        ] {
            let expected = kind.read("abc").unwrap_err();
            assert!(
                expected.contains(&format!("(a bare number is {bare}, as in tc)")),
                "{expected}"
            );
            let example = expected.rsplit(' ').next().unwrap();
            assert!(kind.read(example).is_ok(), "{expected}");
        }
    }

    /// A bare number has the unit of `tc` for the parameter.
    #[test]
    fn bare_numbers_have_the_unit_of_their_parameter() {
        let second = Duration::from_secs(1).as_picos();
        let read = |kind: Kind| kind.read("7").ok();
        assert_eq!(read(Kind::Count), Some(7));
        assert_eq!(read(Kind::Seconds), Some(7 * second));
        assert_eq!(read(Kind::Milliseconds), Some(7 * second / 1_000));
        assert_eq!(read(Kind::Time), Some(7 * second / 1_000_000));
        assert!(
            [Kind::Time, Kind::Seconds, Kind::Milliseconds]
                .iter()
                .all(|kind| kind.read("3ms") == Ok(3 * second / 1_000))
        );
    }

    #[test]
    fn a_choice_is_one_of_its_words() {
        let kind = Kind::Choice(&["slack", "priority", "deadline"]);
        let indices = ["slack", "priority", "deadline"].map(|word| kind.read(word));
        assert_eq!(indices, [Ok(0), Ok(1), Ok(2)]);
        assert_eq!(
            [0, 1, 2, 3].map(|index| kind.show(index)),
            ["slack", "priority", "deadline", "3"]
        );
        assert!(
            ["", "Slack", "0", "slack priority"]
                .iter()
                .all(|bad| kind.read(bad) == Err("slack, priority or deadline".to_owned()))
        );
        assert_eq!(
            (alternatives(&["one"]), alternatives(&[])),
            ("one".to_owned(), String::new())
        );
    }

    #[test]
    fn never_is_a_time_and_nothing_else() {
        for kind in [Kind::Time, Kind::Seconds, Kind::Milliseconds] {
            assert_eq!(
                (kind.show(NEVER).as_str(), kind.read("never")),
                ("never", Ok(NEVER))
            );
        }
        assert!(
            [
                Kind::Count,
                Kind::Size,
                Kind::LinkRate,
                Kind::Number,
                Kind::Switch
            ]
            .iter()
            .all(|kind| kind.read("never").is_err())
        );
    }
}
