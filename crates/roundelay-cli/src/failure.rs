//! Error of a command: message and exit status.

use std::error::Error;
use std::fmt;

use clap::error::{ContextKind, ContextValue};
use roundelay::ConfigError;
use roundelay_report::clean;
use roundelay_sim::scenario::ControlError;

/// Exit status of an interrupted command: 128 plus the number of SIGINT.
const INTERRUPTED: u8 = 130;

/// A message for people and an exit status for scripts.
#[derive(Debug)]
pub struct Failure {
    status: u8,
    message: String,
    detail: Detail,
}

/// The value that caused a failure, where known.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detail {
    /// The value as written.
    pub given: Option<String>,
    /// The legal values or the legal range.
    pub legal: Option<String>,
    /// The name that was probably meant.
    pub meant: Option<String>,
}

impl Detail {
    /// The detail of an error in a discipline.
    fn of(error: &ConfigError) -> Self {
        let (given, legal, meant) = match error {
            ConfigError::UnknownDiscipline {
                name, known, meant, ..
            } => (Some(name), Some(known.clone()), *meant),
            ConfigError::UnknownParameter {
                parameter,
                known,
                meant,
                ..
            } => (Some(parameter), Some(known.clone()), *meant),
            ConfigError::Repeated { second, .. } => (Some(second), None, None),
            ConfigError::BadValue {
                parameter,
                expected,
                ..
            } => (Some(parameter), Some(expected.clone()), None),
            ConfigError::OutOfRange {
                value, min, max, ..
            } => (Some(value), Some(format!("{min} to {max}")), None),
            _ => (None, None, None),
        };
        Self {
            given: given.cloned(),
            legal,
            meant: meant.map(str::to_owned),
        }
    }
}

impl Failure {
    /// Status 2: an argument is wrong, or an input file is missing or invalid.
    pub(crate) fn usage(message: impl fmt::Display) -> Self {
        Self {
            status: 2,
            message: message.to_string(),
            detail: Detail::default(),
        }
    }

    /// Status 1: the run failed (results cannot be written), or a check failed (a bound is
    /// violated, a log is inconsistent).
    pub(crate) fn run(message: impl fmt::Display) -> Self {
        Self {
            status: 1,
            message: message.to_string(),
            detail: Detail::default(),
        }
    }

    /// Status 130: the caller asked for a stop.
    pub(crate) fn stopped() -> Self {
        Self {
            status: INTERRUPTED,
            message: "interrupted".to_owned(),
            detail: Detail::default(),
        }
    }

    /// An error in a discipline.
    pub(crate) fn config(error: &ConfigError) -> Self {
        Self {
            status: 2,
            message: error.to_string(),
            detail: Detail::of(error),
        }
    }

    /// A congestion control for a source that is not there.
    pub(crate) fn control(scenario: &str, error: &ControlError) -> Self {
        let message = clean(&format!("{scenario}: {error}"));
        let detail = Detail {
            given: Some(error.given.clone()),
            legal: Some(error.legal()),
            meant: error.meant().map(str::to_owned),
        };
        Self {
            status: 2,
            message,
            detail,
        }
    }

    /// An error in the arguments: the message of the command line without the hint on `--help`.
    pub(crate) fn arguments(error: &clap::Error) -> Self {
        let text = error.render().to_string();
        let message = text.strip_prefix("error: ").unwrap_or(&text);
        let message = message.split("\n\nUsage:").next().unwrap_or(message);
        let message = message
            .split("\n\nFor more information")
            .next()
            .unwrap_or(message)
            .trim_end();
        let value = |kind| error.get(kind).map(words);
        let given = value(ContextKind::InvalidValue).or_else(|| value(ContextKind::InvalidArg));
        // The message of a discipline says more: clap keeps it as text.
        let config = given
            .as_deref()
            .and_then(|given| given.parse::<roundelay::QueueSpec>().err());
        let detail = match config {
            Some(error) if message.contains(&error.to_string()) => Detail::of(&error),
            _ => {
                let legal = value(ContextKind::ValidValue).or_else(|| {
                    let (_, range) = message.rsplit_once("legal range ")?;
                    Some(range.trim().to_owned())
                });
                Detail {
                    given,
                    legal,
                    meant: value(ContextKind::SuggestedValue)
                        .or_else(|| value(ContextKind::SuggestedArg)),
                }
            }
        };
        Self {
            status: 2,
            message: message.to_owned(),
            detail,
        }
    }

    /// Exit status of the command: 1, 2 or 130.
    pub const fn status(&self) -> u8 {
        self.status
    }

    /// Whether the caller asked for a stop.
    pub const fn is_stopped(&self) -> bool {
        self.status == INTERRUPTED
    }

    /// The value that caused the failure, where known.
    pub const fn detail(&self) -> &Detail {
        &self.detail
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for Failure {}

/// A value of clap in words.
fn words(value: &ContextValue) -> String {
    match value {
        ContextValue::String(text) => text.clone(),
        ContextValue::Strings(all) => all.join(", "),
        other => other.to_string(),
    }
}
