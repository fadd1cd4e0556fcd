//! A wrong value as data, made where the value is known: the message for people, and beside it what
//! a program asks for, which is the value, its key and owner, the legal values and the name that was
//! probably meant.
//!
//! Errors that know more become a [`Fault`] by `From`. On the way up a message gets owners in front
//! ([`Fault::behind`]), and a file with its line ([`Fault::in_file`]), while the data stay.

use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString};
use core::fmt;

use crate::suggestion::nearest;

/// A wrong value, or another fault that has only a message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault(Box<Parts>);

/// In a box, so that results with a fault stay small.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Parts {
    message: String,
    owner: Option<String>,
    key: Option<String>,
    given: Option<String>,
    legal: Option<String>,
    meant: Option<String>,
    file: Option<String>,
    line: usize,
}

impl Fault {
    /// Only a message. `with_given` and the like add data that the message has in another form.
    pub fn new(message: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            message: message.into(),
            ..Parts::default()
        }))
    }

    /// `5x: expected a number`.
    pub fn expected(given: impl fmt::Display, legal: impl fmt::Display) -> Self {
        Self::new(format!("{given}: expected {legal}"))
            .with_given(given)
            .with_legal(legal)
    }

    /// `'5x': expected a number`.
    pub fn quoted(given: impl fmt::Display, legal: impl fmt::Display) -> Self {
        Self::new(format!("'{given}': expected {legal}"))
            .with_given(given)
            .with_legal(legal)
    }

    /// `0: legal range 1 to 5`.
    pub fn range(given: impl fmt::Display, legal: impl fmt::Display) -> Self {
        Self::new(format!("{given}: legal range {legal}"))
            .with_given(given)
            .with_legal(legal)
    }

    /// `expected a number`: for a value that the text before the message has, or that is missing.
    pub fn wanted(legal: impl fmt::Display) -> Self {
        Self::new(format!("expected {legal}")).with_legal(legal)
    }

    /// `legal range 1 to 5`: for a value that the text before the message has.
    pub fn of_range(legal: impl fmt::Display) -> Self {
        Self::new(format!("legal range {legal}")).with_legal(legal)
    }

    /// `no source is called 'cals' (did you mean 'calls'?): calls, web`. The list is left out if
    /// no name is known.
    pub fn no_such(noun: impl fmt::Display, name: &str, known: &[&str]) -> Self {
        let list = match known {
            [] => String::new(),
            known => format!(": {}", known.join(", ")),
        };
        Self::unknown(name, known, |meant| {
            format!("no {noun} is called '{name}'{meant}{list}")
        })
    }

    /// A name that is none of the known ones, in other words than those of
    /// [`no_such`](Self::no_such). `told` makes the message of the suggestion, ` (did
    /// you mean 'calls'?)`, which is empty if no known name is near.
    pub fn unknown(name: &str, known: &[&str], told: impl FnOnce(&str) -> String) -> Self {
        let meant = nearest(name, known.iter().copied());
        let suggestion =
            meant.map_or_else(String::new, |meant| format!(" (did you mean '{meant}'?)"));
        Self::new(told(&suggestion))
            .with_given(name)
            .with_legal(known.join(", "))
            .with_meant(meant)
    }

    /// The wrong value, as written.
    #[must_use]
    pub fn with_given(mut self, given: impl fmt::Display) -> Self {
        self.0.given = Some(given.to_string());
        self
    }

    /// The legal values, or the legal range.
    #[must_use]
    pub fn with_legal(mut self, legal: impl fmt::Display) -> Self {
        self.0.legal = Some(legal.to_string());
        self
    }

    /// The name that was probably meant, if there is one.
    #[must_use]
    pub fn with_meant(mut self, meant: Option<&str>) -> Self {
        self.0.meant = meant.map(str::to_owned);
        self
    }

    /// The key of the value: in a file its path, as in `source.0.rate`, else the parameter's name.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<String>) -> Self {
        self.0.key = Some(key.into());
        self
    }

    /// What has the key: a named table of a file, as in `source 'web'`, else the discipline.
    #[must_use]
    pub fn with_owner(mut self, owner: impl Into<String>) -> Self {
        self.0.owner = Some(owner.into());
        self
    }

    /// The key of the value in a file, and the named table that has it, if one does. Whatever owner
    /// the fault had before is not that of this key.
    #[must_use]
    pub fn at_path(mut self, path: &str, owner: Option<&str>) -> Self {
        self.0.key = Some(path.to_owned());
        self.0.owner = owner.map(str::to_owned);
        self
    }

    /// The fault with a text before its message: the value's key or owner. A file and line from
    /// before become part of the message.
    #[must_use]
    pub fn behind(mut self, text: impl fmt::Display) -> Self {
        self.0.message = format!("{text}{self}");
        self.0.file = None;
        self
    }

    /// The fault with another message.
    #[must_use]
    pub fn with_message(mut self, message: impl Into<String>) -> Self {
        self.0.message = message.into();
        self
    }

    /// The fault with a text after its message.
    #[must_use]
    pub fn with_hint(mut self, text: &str) -> Self {
        self.0.message += text;
        self
    }

    /// The fault in a line of a file, counted from 1. 0 for the file as a whole.
    #[must_use]
    pub fn in_file(mut self, file: impl Into<String>, line: usize) -> Self {
        if self.0.file.is_some() {
            self.0.message = self.to_string();
        }
        self.0.file = Some(file.into());
        self.0.line = line;
        self
    }

    /// The fault with this name for its file. Its line, if it has one, stays.
    #[must_use]
    pub fn with_file(mut self, file: impl Into<String>) -> Self {
        if self.0.file.replace(file.into()).is_none() {
            self.0.line = 0;
        }
        self
    }

    /// The fault without its file and line.
    #[must_use]
    pub fn without_file(mut self) -> Self {
        self.0.file = None;
        self
    }

    /// The fault with each of its texts changed: control characters taken out, for instance.
    #[must_use]
    pub fn map(mut self, change: impl Fn(&str) -> String) -> Self {
        self.0.message = change(&self.0.message);
        let Parts {
            owner,
            key,
            given,
            legal,
            meant,
            file,
            ..
        } = &mut *self.0;
        for text in [owner, key, given, legal, meant, file] {
            *text = text.as_deref().map(&change);
        }
        self
    }

    /// The message without file and line.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The key of the value, if it is known: see [`with_key`](Self::with_key).
    pub fn key(&self) -> Option<&str> {
        self.0.key.as_deref()
    }

    /// What has the key, if it is known: see [`with_owner`](Self::with_owner).
    pub fn owner(&self) -> Option<&str> {
        self.0.owner.as_deref()
    }

    /// The wrong value, if it is known.
    pub fn given(&self) -> Option<&str> {
        self.0.given.as_deref()
    }

    /// The legal values, or the legal range.
    pub fn legal(&self) -> Option<&str> {
        self.0.legal.as_deref()
    }

    /// The name that was probably meant.
    pub fn meant(&self) -> Option<&str> {
        self.0.meant.as_deref()
    }

    /// The file's name in messages.
    pub fn file(&self) -> Option<&str> {
        self.0.file.as_deref()
    }

    /// The line in the file, from 1.
    pub fn line(&self) -> Option<usize> {
        self.file().map(|_| self.0.line).filter(|line| *line > 0)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.file(), self.line()) {
            (Some(file), Some(line)) => write!(f, "{file}:{line}: {}", self.0.message),
            (Some(file), None) => write!(f, "{file}: {}", self.0.message),
            (None, _) => f.write_str(&self.0.message),
        }
    }
}

impl core::error::Error for Fault {}

impl From<String> for Fault {
    fn from(message: String) -> Self {
        Self::new(message)
    }
}

impl From<&str> for Fault {
    fn from(message: &str) -> Self {
        Self::new(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConfigError;
    use crate::tree::{Problem, TreeError};
    use crate::{Billionths, Bytes, Duration, Framing, LinkLayer, QueueSpec, Rate};

    #[test]
    fn a_fault_keeps_its_data_behind_owners_and_in_files() {
        let fault = Fault::range(0, "1 to 5").behind("weight ");
        assert_eq!(fault.to_string(), "weight 0: legal range 1 to 5");
        let located = fault.in_file("home.toml", 7);
        assert_eq!(
            located.to_string(),
            "home.toml:7: weight 0: legal range 1 to 5"
        );
        assert_eq!(
            (located.file(), located.line()),
            (Some("home.toml"), Some(7))
        );
        let told = located.behind("the sweep: ");
        assert_eq!(
            told.to_string(),
            "the sweep: home.toml:7: weight 0: legal range 1 to 5"
        );
        assert_eq!((told.file(), told.line()), (None, None));
        assert_eq!((told.given(), told.legal()), (Some("0"), Some("1 to 5")));
        let whole = Fault::quoted("x", "a rate").in_file("list", 0);
        assert_eq!(whole.to_string(), "list: 'x': expected a rate");
        assert_eq!((whole.file(), whole.line()), (Some("list"), None));
        let clean = Fault::quoted("x\u{7}", "a\u{7}").map(|text| text.replace('\u{7}', ""));
        assert_eq!(clean, Fault::quoted("x", "a"));
    }

    /// Each kind of error of the core with its message and data.
    #[test]
    fn errors_of_the_core_have_their_data() {
        let queue = |text: &str| Fault::from(text.parse::<QueueSpec>().unwrap_err());
        let layer = |text: &str| Fault::from(text.parse::<LinkLayer>().unwrap_err());
        let node = |problem| TreeError {
            node: "web".to_owned(),
            problem,
        };
        let range = ConfigError::in_range("htb", "prio", 9, 0, 7).unwrap_err();
        let rate = "a number and bit, kbit, mbit, gbit or tbit (bits per second), as in 20mbit";
        let rows = [
            (queue("fq_codle"), "fq_codle", "fifo, ", "fq_codel"),
            (queue("sfq dept 4"), "dept", "quantum", "depth"),
            (queue("sfq depth 0"), "0", "1 to 65535", ""),
            (queue("sfq depth x"), "x", "a whole number, legal", ""),
            (queue("sfq depth"), "depth", "a value after it, legal", ""),
            (queue("sfq depth 4 depth 5"), "depth", "", ""),
            (queue("fifo limit x"), "x", "packets (limit 1000) or", ""),
            (queue("bfifo"), "limit", "bytes, as in bfifo", ""),
            (
                queue("tbf rate 5mbit peakrate 5mbit"),
                "5mbit",
                "more than rate 5mbit",
                "",
            ),
            (
                queue("ets bands 2 strict 3"),
                "3 with 0 quanta",
                "2 bands at most",
                "",
            ),
            ("5x".parse::<Rate>().unwrap_err().into(), "5x", rate, ""),
            (
                "x".parse::<Duration>().unwrap_err().into(),
                "x",
                "a number and s, ms",
                "",
            ),
            (
                "x".parse::<Bytes>().unwrap_err().into(),
                "x",
                "a whole number of bytes",
                "",
            ),
            (
                "x".parse::<Billionths>().unwrap_err().into(),
                "x",
                "a number, as in 0.02",
                "",
            ),
            (layer("docsi"), "docsi", "raw, conservative", "docsis"),
            (layer("dsl"), "dsl", "raw, conservative", ""),
            (layer(&"raw ".repeat(33)), "33", "1 to 32", ""),
            (
                "x".parse::<Framing>().unwrap_err().into(),
                "x",
                "none, atm, ptm",
                "",
            ),
            (node(Problem::NameTaken).into(), "web", "", ""),
            (
                node(Problem::Setting(Box::new(range))).into(),
                "9",
                "0 to 7",
                "",
            ),
        ];
        for (fault, given, legal, meant) in rows {
            assert_eq!(fault.given(), Some(given), "{fault}");
            let known = fault.legal().unwrap_or_default();
            assert!(known.starts_with(legal), "{fault:?}");
            assert_eq!(known.is_empty(), legal.is_empty(), "{fault:?}");
            assert_eq!(fault.meant().unwrap_or_default(), meant, "{fault}");
        }
    }

    #[test]
    fn an_unknown_name_has_the_near_one_and_all() {
        let fault = Fault::no_such("source", "cals", &["web", "calls"]);
        assert_eq!(
            fault.to_string(),
            "no source is called 'cals' (did you mean 'calls'?): web, calls"
        );
        let data = (fault.given(), fault.legal(), fault.meant());
        assert_eq!(data, (Some("cals"), Some("web, calls"), Some("calls")));
        let alone = Fault::no_such("source", "cals", &[]);
        assert_eq!(alone.message(), "no source is called 'cals'");
        let far = Fault::unknown("xyzzy", &["web"], |meant| format!("no{meant}"));
        assert_eq!((far.message(), far.meant()), ("no", None));
    }
}
