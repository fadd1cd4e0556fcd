//! A comparison's arguments as texts, with the messages of `roundelay compare`. They serve the
//! command, and the page that does the same in a browser.

use std::fmt::Display;
use std::ops::RangeInclusive;
use std::str::FromStr;

use roundelay::schedulers::{AnyDiscipline, cake};
use roundelay::{ConfigError, Fault, Limit, QueueSpec, Rate, UnitError, parse_limit};
use roundelay_files::Written;

/// Writes a word so that a shell reads it back.
pub fn shell_word(word: &str) -> String {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "_./:=@%+,-".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// The disciplines that we compare by default: what Linux routers run, with the kernel's rules
/// where these differ.
pub const DEPLOYED: [&str; 5] = [
    "fq_codel linux",
    "cake besteffort",
    "fq_pie",
    "sfq linux",
    "fifo",
];

/// What to compare: one discipline, or every one.
#[derive(Debug, Clone)]
pub enum Choice {
    /// Every discipline.
    All,
    /// One discipline.
    One(QueueSpec),
}

impl Choice {
    /// The single discipline, if it is one.
    pub const fn one(&mut self) -> Option<&mut QueueSpec> {
        match self {
            Self::All => None,
            Self::One(spec) => Some(spec),
        }
    }

    fn specs(&self) -> Vec<QueueSpec> {
        match self {
            Self::All => AnyDiscipline::all()
                .into_iter()
                .map(|discipline| QueueSpec {
                    discipline,
                    limit: None,
                })
                .collect(),
            Self::One(spec) => vec![spec.clone()],
        }
    }
}

/// The chosen disciplines. Without any choice and any tree, [`DEPLOYED`].
pub fn chosen(choices: &[Choice], has_trees: bool) -> Vec<QueueSpec> {
    if choices.is_empty() && !has_trees {
        return DEPLOYED
            .into_iter()
            .map(|text| text.parse().expect("a discipline of Linux"))
            .collect();
    }
    choices.iter().flat_map(Choice::specs).collect()
}

/// Reads a discipline whose buffer has room, or `all`.
///
/// # Errors
/// See [`parse_spec`], or the limit is zero.
pub fn parse_choice(text: &str) -> Result<Choice, Fault> {
    if text == "all" {
        return Ok(Choice::All);
    }
    let spec = parse_spec(text)?;
    if spec
        .limit
        .is_some_and(|limit| limit.packets == 0 || limit.bytes == 0)
    {
        return Err(
            Fault::new(format!("{text}: a buffer without room: expected {ROOM}"))
                .with_given(text)
                .with_legal(ROOM),
        );
    }
    Ok(Choice::One(spec))
}

/// Reads a discipline in `tc` syntax.
///
/// # Errors
/// The name or a parameter is unknown, or a value is out of range.
pub fn parse_spec(text: &str) -> Result<QueueSpec, Fault> {
    text.parse().map_err(with_hint)
}

/// Turns a discipline's error on the command line into one that says what helps there.
fn with_hint(error: ConfigError) -> Fault {
    let message = error.to_string();
    let told = match &error {
        ConfigError::UnknownDiscipline {
            is_parameter: true, ..
        } => format!("{message}; both go into one pair of quotes"),
        ConfigError::UnknownDiscipline { name, .. }
            if name == "tree" || name.ends_with(".toml") =>
        {
            format!("'{name}' is no discipline; a tree of disciplines in a file: --tree FILE")
        }
        ConfigError::UnknownDiscipline { name, .. } if name == "dualpi2" => {
            "dualpi2 (L4S) is not among the disciplines: fq_codel and cake are nearest, and mark as \
             classic ECN does"
                .to_owned()
        }
        ConfigError::UnknownDiscipline { .. } => {
            format!(
                "{message} ('roundelay list' names all; parameters go into quotes with the name: \"sfq depth 64\")"
            )
        }
        ConfigError::UnknownParameter { parameter, .. } if parameter == "weight" => {
            format!("{message}: --weight 'RULE = N'")
        }
        ConfigError::UnknownParameter {
            discipline: "cake",
            parameter,
            ..
        } if let Some(meant) = near_word_of_cake(parameter) => {
            let told = format!("cake: no word is called '{parameter}' (did you mean '{meant}'?)");
            return Fault::from(error).with_message(told).with_meant(Some(meant));
        }
        _ => return error.into(),
    };
    Fault::from(error).with_message(told)
}

/// The word of cake that has the same letters, whatever separates them.
fn near_word_of_cake(parameter: &str) -> Option<&'static str> {
    let wanted = parameter.replace(['-', '_'], "");
    for words in [cake::Isolation::WORDS, cake::AckFilter::WORDS] {
        for word in words {
            if word.replace('-', "") == wanted {
                return Some(word);
            }
        }
    }
    None
}

/// Reads a rate with a unit. We ask for the unit because `tc` reads a bare number as bits per
/// second, which few people mean.
///
/// # Errors
/// The text is not a rate, has no unit, or is out of range.
pub fn parse_rate(text: &str) -> Result<Rate, Fault> {
    const LEGAL: &str = "1bit to 18000000tbit";
    if text.contains(',') {
        let message = "one rate a call; `roundelay sweep` varies it in a scenario";
        return Err(Fault::new(message).with_given(text).with_legal(LEGAL));
    }
    let range = format!("legal range {LEGAL}");
    let rate = text.parse().map_err(|error: UnitError| {
        let hint = format!("; {range}");
        Fault::from(error).with_hint(&hint).with_legal(LEGAL)
    })?;
    if !text.contains(|letter: char| letter.is_ascii_alphabetic()) {
        let expected =
            format!("expected a unit: {text}mbit, or {text}bit for {text} bits a second; {range}");
        return Err(Fault::new(expected).with_given(text).with_legal(LEGAL));
    }
    Ok(rate)
}

/// What a buffer with room looks like.
const ROOM: &str = "packets, 1p or more (1000p), or bytes, 1b or more (150kb, 4mb, 1gb)";

/// Reads a buffer that has room.
///
/// # Errors
/// The text is not a limit, or the limit is zero.
pub fn parse_buffer(text: &str) -> Result<Limit, Fault> {
    let limit = parse_limit(text).filter(|limit| limit.packets > 0 && limit.bytes > 0);
    limit.ok_or_else(|| Fault::wanted(ROOM).with_given(text))
}

/// A link's longest IP packet. If none, packets are replayed as long as they were captured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mtu(pub Option<u32>);

impl Default for Mtu {
    /// Ethernet's.
    fn default() -> Self {
        Self(Some(1500))
    }
}

impl Written for Mtu {
    const EXPECTED: &'static str = "bytes of an IP packet, as in 1500, or \"none\"";
    const RANGE: &'static str = ", legal range 576 to 65535";

    fn from_text(text: &str) -> Result<Self, Fault> {
        parse_mtu(text).map_err(|_| Self::wrong(text))
    }

    fn from_number(number: u64) -> Option<Self> {
        parse_mtu(&number.to_string()).ok()
    }
}

/// Reads a number of bytes, or `none`.
///
/// # Errors
/// The text is neither, or the number is out of range.
pub fn parse_mtu(text: &str) -> Result<Mtu, Fault> {
    if text == "none" {
        return Ok(Mtu(None));
    }
    let bytes = whole(576_u32..=65_535)(text);
    match bytes {
        Ok(bytes) => Ok(Mtu(Some(bytes))),
        Err(fault) => {
            let legal = format!("{}, or none", fault.legal().unwrap_or_default());
            Err(fault.with_hint(", or none").with_legal(legal))
        }
    }
}

/// Makes a parser for whole numbers within a range. Its errors name the range.
pub fn whole<T: FromStr + PartialOrd + Display>(
    range: RangeInclusive<T>,
) -> impl Fn(&str) -> Result<T, Fault> + Clone
where
    RangeInclusive<T>: Clone,
{
    move |text| {
        let number = text.parse().ok().filter(|number| range.contains(number));
        number.ok_or_else(|| {
            let legal = format!("{} to {}", range.start(), range.end());
            Fault::new(format!("expected a whole number, legal range {legal}"))
                .with_given(text)
                .with_legal(legal)
        })
    }
}

/// Reads a value of a type that reads texts.
///
/// # Errors
/// The type's error, as data.
pub fn read<T: FromStr<Err: Into<Fault>>>(text: &str) -> Result<T, Fault> {
    text.parse().map_err(Into::into)
}
