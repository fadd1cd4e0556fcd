//! A discipline's parameters in `tc` notation, read and written.

use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use crate::config::{ConfigError, Kind, Numbers, Parameter};
use crate::schedulers::Discipline;
use crate::suggestion;

/// Reads the parameter that `word` names, with the value from `words`, and returns its name.
pub(crate) fn set_parameter<'a, D: Discipline>(
    config: &mut D,
    word: &str,
    words: &mut (impl Iterator<Item = &'a str> + Clone),
) -> Result<&'static str, ConfigError> {
    for parameter in D::PARAMETERS {
        if parameter.kind.is_list() && word == parameter.name {
            return set_numbers(parameter, config, words);
        }
        let mut written = word;
        let value = match parameter.kind {
            Kind::Switch if word == parameter.name => 1,
            Kind::Switch if word.strip_prefix("no") == Some(parameter.name) => 0,
            Kind::Choice(_)
                if word == parameter.name
                    && parameter.means_first
                    && !is_number(words.clone().next()) =>
            {
                0
            }
            kind if word == parameter.name && kind != Kind::Switch => {
                written = words
                    .next()
                    .ok_or_else(|| bad_value(parameter, "", "a value after it".to_owned()))?;
                kind.read(written)
                    .map_err(|expected| bad_value(parameter, written, expected))?
            }
            Kind::Choice(_) if parameter.is_bare => match parameter.kind.read(word) {
                Ok(index) => index,
                Err(_) => continue,
            },
            _ => continue,
        };
        parameter.write(config, value);
        return parameter
            .check(D::NAME, config)
            .map(|()| parameter.name)
            .map_err(|error| as_written(error, written));
    }
    match config.set_word(word)? {
        Some(set) => Ok(set),
        None => Err(unknown_parameter(config, word)),
    }
}

/// Whether a number may follow, and not the next parameter.
fn is_number(next: Option<&str>) -> bool {
    next.is_some_and(|word| word.starts_with(|first: char| first.is_ascii_digit()))
}

/// Reads the numbers behind the name of a parameter that takes several, up to the first word that
/// begins neither with a digit nor with a minus sign.
fn set_numbers<'a, D: Discipline>(
    parameter: &Parameter<D>,
    config: &mut D,
    words: &mut (impl Iterator<Item = &'a str> + Clone),
) -> Result<&'static str, ConfigError> {
    let mut written = String::new();
    let mut count = 0;
    while let Some(word) = words.clone().next()
        && word.starts_with(|first: char| first.is_ascii_digit() || first == '-')
    {
        words.next();
        if count > 0 {
            written += " ";
        }
        written += word;
        let value = match parameter.kind.read(word) {
            Ok(value) => value,
            Err(expected) => return Err(bad_value(parameter, &written, expected)),
        };
        if count == 0 {
            parameter.write(config, value);
        } else if !parameter.append(config, value) {
            let expected = format!("{} numbers at most", Numbers::MOST);
            return Err(bad_value(parameter, &written, expected));
        }
        count += 1;
        let checked = parameter.check(D::NAME, config);
        checked.map_err(|error| as_written(error, word))?;
    }
    if count == 0 {
        let expected = "numbers after it".to_owned();
        return Err(bad_value(parameter, "", expected));
    }
    Ok(parameter.name)
}

/// Error for a missing or unreadable value, with the legal values.
fn bad_value<D: Discipline>(
    parameter: &Parameter<D>,
    written: &str,
    expected: String,
) -> ConfigError {
    let expected = match parameter.kind {
        Kind::Choice(words) => suggestion::alternatives(words),
        kind => {
            let link = match kind {
                Kind::LinkRate => ", or link",
                Kind::Bandwidth => ", or unlimited",
                _ => "",
            };
            format!(
                "{expected}, legal range {} to {}{link}",
                kind.show(parameter.min),
                kind.show(parameter.max)
            )
        }
    };
    ConfigError::BadValue {
        discipline: D::NAME,
        parameter: parameter.name.to_owned(),
        value: (!written.is_empty()).then(|| written.to_owned()),
        expected,
    }
}

fn unknown_parameter<D: Discipline>(config: &D, word: &str) -> ConfigError {
    let known: Vec<_> = D::PARAMETERS
        .iter()
        .map(|p| p.name)
        .chain(["limit", "memory_limit"])
        .collect();
    let meant = suggestion::nearest(word, known.iter().copied());
    ConfigError::UnknownParameter {
        discipline: config.name(),
        parameter: word.to_owned(),
        meant,
        known: known.join(", "),
    }
}

/// The error with the user's text in place of the configuration's value, which may be saturated.
fn as_written(mut error: ConfigError, written: &str) -> ConfigError {
    if let ConfigError::OutOfRange { value, .. } = &mut error {
        *value = written.to_owned();
    }
    error
}

/// Writes the configuration in the user's syntax: the name, then each parameter whose value is not
/// the default.
pub(crate) fn write_config<D: Discipline>(config: &D, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str(config.name())?;
    let default = D::default();
    for parameter in D::PARAMETERS {
        if parameter.is_same(config, &default) {
            continue;
        }
        match (parameter.kind, parameter.read(config)) {
            (Kind::Switch, 0) => write!(f, " no{}", parameter.name)?,
            (Kind::Switch, _) => write!(f, " {}", parameter.name)?,
            (_, _) if parameter.is_bare => write!(f, " {}", parameter.text(config))?,
            _ => write!(f, " {} {}", parameter.name, parameter.text(config))?,
        }
    }
    Ok(())
}
