//! A figure at all points of a sweep, and the keys that were swept.

use std::collections::BTreeMap;

use roundelay_sim::scenario::{Interval, student_95};

use crate::figures::{Unit, label_of};
use crate::text::clean;
use crate::units::{bytes, rate, seconds};

/// A figure at all points in a sweep.
#[derive(Debug, Clone)]
pub struct Swept {
    /// Version of this program.
    pub version: &'static str,
    /// The scenario's name.
    pub scenario: String,
    /// The source that the figure describes, or `all`.
    pub source: String,
    /// Name of the figure, one of [`SWEEP_FIGURES`](crate::SWEEP_FIGURES). Empty if no run has a
    /// result.
    pub figure: String,
    /// The swept keys.
    pub keys: Vec<SweptKey>,
    /// The points, in the plan's order.
    pub points: Vec<SweptPoint>,
    /// Facts on the sweep, a sentence each.
    pub facts: Vec<String>,
    /// Notes on the dataset and on intervals.
    pub notes: Vec<String>,
}

/// A key of the scenario that was swept.
#[derive(Debug, Clone)]
pub struct SweptKey {
    /// The key, as in `source.calls.rate`.
    pub name: String,
    /// What its values are.
    pub values: KeyValues,
}

/// What a swept key's values are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyValues {
    /// Bits per second.
    Rates,
    /// Seconds.
    Times,
    /// Bytes.
    Lengths,
    /// Numbers without a unit.
    Numbers,
    /// Texts.
    Words,
}

/// A figure at a point.
#[derive(Debug, Clone)]
pub struct SweptPoint {
    /// A value for each key: texts, or numbers in the base unit.
    pub values: Vec<String>,
    /// The figure by seed. Runs without the figure are left out.
    pub runs: BTreeMap<u64, f64>,
    /// The difference from a reference point, in words. Empty if there is none.
    pub difference: String,
}

impl SweptKey {
    /// Whether the values are queues.
    fn is_queue(&self) -> bool {
        let last = self.name.rsplit('.').next();
        self.values == KeyValues::Words
            && (self.name.starts_with("queue.") || last == Some("queue"))
    }

    /// The key in words, as far as its parts are known: `rate of calls` for `source.calls.rate`.
    pub(super) fn words(&self) -> String {
        let parts: Vec<&str> = self.name.split('.').collect();
        let words = match &parts[..] {
            ["source", source, key] => format!("{} of {source}", key.replace('_', " ")),
            ["topology", key] => format!("{} of the network", key.replace('_', " ")),
            ["queue", place] => format!("queue in {place}"),
            _ => self.name.clone(),
        };
        clean(&words)
    }
}

impl KeyValues {
    pub(super) const fn is_number(self) -> bool {
        !matches!(self, Self::Words)
    }

    /// A value with its unit.
    pub fn text(self, value: &str) -> String {
        match (self, value.parse()) {
            (Self::Rates, Ok(number)) => rate(number),
            (Self::Times, Ok(number)) => seconds(number),
            (Self::Lengths, Ok(number)) => bytes(number),
            _ => clean(value),
        }
    }

    /// The unit for an axis with values up to `most`, and the base unit's size in it.
    pub(super) fn axis_unit(self, most: f64) -> (&'static str, f64) {
        match self {
            Self::Rates => axis_unit(Unit::Rate, most),
            Self::Times => axis_unit(Unit::Seconds, most),
            Self::Lengths => axis_unit(Unit::Bytes, most),
            Self::Numbers | Self::Words => ("", 1.0),
        }
    }
}

/// The unit for an axis with values up to `most`, and how large the figure's own unit is in it.
pub(super) fn axis_unit(unit: Unit, most: f64) -> (&'static str, f64) {
    match unit {
        Unit::Rate if most >= 1e9 => ("Gbit/s", 1e-9),
        Unit::Rate if most >= 1e6 => ("Mbit/s", 1e-6),
        Unit::Rate if most >= 1e3 => ("kbit/s", 1e-3),
        Unit::Rate => ("bit/s", 1.0),
        Unit::Seconds if most >= 1.0 => ("s", 1.0),
        Unit::Seconds if most >= 1e-3 => ("ms", 1e3),
        Unit::Seconds => ("us", 1e6),
        Unit::Bytes if most >= 1e6 => ("MB", 1e-6),
        Unit::Bytes if most >= 1e4 => ("KB", 1e-3),
        Unit::Bytes => ("bytes", 1.0),
        Unit::Part => ("%", 100.0),
        Unit::Count | Unit::Index | Unit::Tenths => ("", 1.0),
    }
}

/// A quantity with its unit, if any.
pub(super) fn labelled(quantity: &str, unit: &str) -> String {
    if unit.is_empty() {
        quantity.to_owned()
    } else {
        format!("{quantity}, {unit}")
    }
}

impl SweptPoint {
    /// Mean over the runs, with its confidence interval.
    pub(super) fn mean(&self) -> Option<Interval> {
        let mut values = Vec::new();
        values.extend(self.runs.values());
        student_95(&values)
    }
}

impl Swept {
    /// The figure in words: `p99 delay of calls`.
    pub(super) fn title(&self) -> String {
        let figure = match label_of(&self.figure) {
            Some(label) => label.words(),
            None => self.figure.clone(),
        };
        if self.source == "all" {
            format!("{figure} of all sources")
        } else {
            format!("{figure} of {}", clean(&self.source))
        }
    }

    /// Whether a key's values are queues, and no other key's are, so that they need no name.
    fn is_only_queue(&self, key: usize) -> bool {
        let mut queues = Vec::new();
        for (number, about) in self.keys.iter().enumerate() {
            if about.is_queue() {
                queues.push(number);
            }
        }
        queues == [key]
    }

    /// A key with a value: `qfq`, or `rate of calls 64.0 kbit/s`.
    pub(super) fn setting(&self, key: usize, value: &str) -> String {
        let about = &self.keys[key];
        let value = about.values.text(value);
        if self.is_only_queue(key) {
            value
        } else {
            format!("{} {value}", about.words())
        }
    }

    /// The same in a sentence: `under qfq`, or `with rate of calls 64.0 kbit/s`.
    pub(super) fn with_setting(&self, key: usize, value: &str) -> String {
        let setting = self.setting(key, value);
        if self.is_only_queue(key) {
            format!("under {setting}")
        } else {
            format!("with {setting}")
        }
    }

    /// Some keys' values at a point.
    pub(super) fn settings(&self, keys: &[usize], point: &SweptPoint) -> String {
        let mut settings = Vec::new();
        for &key in keys {
            settings.push(self.setting(key, &point.values[key]));
        }
        settings.join(", ")
    }

    pub(super) fn unit(&self) -> Unit {
        label_of(&self.figure).map_or(Unit::Index, |label| label.unit)
    }
}
