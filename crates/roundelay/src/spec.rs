//! Queue specification in `tc` notation: a discipline, its parameters and the buffer's limit.

use alloc::borrow::ToOwned;
use alloc::vec::Vec;
use core::str::FromStr;

use crate::config::{ConfigError, Kind, is_bare};
use crate::limit::Limit;
use crate::schedulers::{AnyDiscipline, Discipline, Visitor, ets};

/// A discipline with its buffer's limit, as in `fq_codel limit 1000 target 5ms`.
#[derive(Debug, Clone)]
pub struct QueueSpec {
    /// The discipline.
    pub discipline: AnyDiscipline,
    /// The limit, if one is written.
    pub limit: Option<Limit>,
}

impl QueueSpec {
    /// Reads a queue's text, in which the disciplines in `own` have their names too. These are your
    /// program's custom ones, without parameters.
    ///
    /// # Errors
    /// As for [`AnyDiscipline::named`] and for the discipline's parameters.
    pub fn read(text: &str, own: &[AnyDiscipline]) -> Result<Self, ConfigError> {
        let mut words = text.split_whitespace();
        let name = words.next().unwrap_or_default();
        let ours = TC_NAMES
            .iter()
            .find(|(of_tc, _)| *of_tc == name)
            .map_or(name, |(_, ours)| ours);
        let is_banded = name == PRIO && words.clone().any(ets::Config::is_of_prio);
        let own = own.iter().find(|own| own.name() == name);
        let mut discipline = match own {
            Some(own) => own.clone(),
            None if is_banded => ets::Config::of_prio().into(),
            None => AnyDiscipline::named(ours)?,
        };
        let default = if name == BFIFO {
            Limit::UNBOUNDED
        } else {
            discipline.default_limit()
        };
        let in_bytes = name == BFIFO || default.is_in_bytes();
        let mut limit = LimitReader {
            discipline: discipline.name(),
            default,
            in_bytes,
            limit: None,
            memory_bytes: None,
        };
        let mut written: Vec<(&str, &str)> = Vec::new();
        while let Some(word) = words.next() {
            let parameter = match limit.read(word, &mut words)? {
                Some(parameter) => parameter,
                None => discipline.set(word, &mut words)?,
            };
            if let Some((_, first)) = written.iter().find(|(other, _)| *other == parameter) {
                let first = (*first).to_owned();
                let second = word.to_owned();
                return Err(ConfigError::Repeated {
                    discipline: discipline.name(),
                    first,
                    second,
                });
            }
            written.push((parameter, word));
        }
        if is_banded && let AnyDiscipline::Ets(config) = &mut discipline {
            config.strict = config.bands;
        }
        discipline.visit(Check)?;
        let mut limit = limit.over_default();
        if let AnyDiscipline::Tbf(config) = &discipline {
            if let Some(limit) = limit {
                config.check_limit(limit)?;
            }
            limit = limit.or(config.latency_limit());
        }
        if name == BFIFO && limit.is_none() {
            let parameter = "limit".to_owned();
            let expected = "bytes, as in bfifo limit 150000".to_owned();
            return Err(ConfigError::BadValue {
                discipline: BFIFO,
                parameter,
                value: None,
                expected,
            });
        }
        Ok(Self { limit, discipline })
    }

    /// The limit: as written, else the discipline's default.
    pub fn limit_or_default(&self) -> Limit {
        self.limit
            .unwrap_or_else(|| self.discipline.default_limit())
    }
}

/// `tc`'s names for disciplines that have another name here.
const TC_NAMES: [(&str, &str); 3] = [("pfifo", "fifo"), (BFIFO, "fifo"), (PRIO, "priority")];

/// `tc`'s name for strict priority. With `bands` or `priomap` it is [`ets`] with strict bands only,
/// because `priority` has as many classes as there are numbers.
const PRIO: &str = "prio";

/// `tc`'s name for a FIFO queue with a limit in bytes. `tc`'s default limit depends on the device,
/// so here the limit must be written.
const BFIFO: &str = "bfifo";

impl From<AnyDiscipline> for QueueSpec {
    /// The discipline with its default limit.
    fn from(discipline: AnyDiscipline) -> Self {
        Self {
            discipline,
            limit: None,
        }
    }
}

impl FromStr for QueueSpec {
    type Err = ConfigError;

    fn from_str(text: &str) -> Result<Self, ConfigError> {
        Self::read(text, &[])
    }
}

/// Reads `limit` and `memory_limit`, the buffer's parameters, which all disciplines have.
struct LimitReader {
    discipline: &'static str,
    default: Limit,
    /// A bare number is in bytes.
    in_bytes: bool,
    limit: Option<Limit>,
    memory_bytes: Option<u64>,
}

impl LimitReader {
    /// The parameter that `word` names, if it is one of the two. The value is then read from
    /// `words`.
    fn read<'a>(
        &mut self,
        word: &str,
        words: &mut impl Iterator<Item = &'a str>,
    ) -> Result<Option<&'static str>, ConfigError> {
        let discipline = self.discipline;
        let error = |value: Option<&str>, expected: &str| ConfigError::BadValue {
            discipline,
            parameter: word.to_owned(),
            value: value.map(str::to_owned),
            expected: expected.to_owned(),
        };
        match word {
            "limit" => {
                let (expected, bare) = if self.in_bytes {
                    ("bytes (limit 150kb) or packets (limit 1000p)", "b")
                } else {
                    ("packets (limit 1000) or bytes (limit 150kb)", "p")
                };
                let read = |text: &str| {
                    if is_bare(text) {
                        parse_limit(&(text.to_owned() + bare))
                    } else {
                        parse_limit(text)
                    }
                };
                let text = words.next();
                self.limit = Some(text.and_then(read).ok_or_else(|| error(text, expected))?);
                Ok(Some("limit"))
            }
            "memory_limit" | "memlimit" => {
                let text = words
                    .next()
                    .ok_or_else(|| error(None, "a size, as in 32mb"))?;
                self.memory_bytes = Some(
                    Kind::Size
                        .read(text)
                        .map_err(|expected| error(Some(text), &expected))?,
                );
                Ok(Some("memory_limit"))
            }
            _ => Ok(None),
        }
    }

    /// The parameters read, in any order, over the default: `limit` in packets keeps the default's
    /// bytes, in bytes it replaces both. `memory_limit` replaces the default's bytes. None if
    /// neither was written.
    fn over_default(&self) -> Option<Limit> {
        let default = self.default;
        if self.limit.is_none() && self.memory_bytes.is_none() {
            return None;
        }
        let written = self.limit.unwrap_or(Limit::of_packets(default.packets));
        let unwritten = if written.bytes == u64::MAX {
            default.bytes
        } else {
            u64::MAX
        };
        Some(Limit {
            packets: written.packets,
            bytes: written.bytes.min(self.memory_bytes.unwrap_or(unwritten)),
        })
    }
}

struct Check;

impl Visitor for Check {
    type Output = Result<(), ConfigError>;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        discipline.check()
    }
}

/// A buffer's limit: `1000` or `1000p` packets, `150kb` bytes. Bytes need a unit, because otherwise
/// `1.5` would be a byte.
pub fn parse_limit(text: &str) -> Option<Limit> {
    let number = text.strip_suffix('p').unwrap_or(text);
    if number.ends_with(|c: char| c.is_ascii_digit()) {
        return number.parse().ok().map(Limit::of_packets);
    }
    Kind::Size.read(text).ok().map(Limit::of_bytes)
}
