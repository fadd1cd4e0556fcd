//! A command's error: an exit status, and the fault as data.

use std::error::Error;
use std::fmt;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use roundelay::Fault;

/// Exit status of an interrupted command: 128 plus SIGINT's number.
const INTERRUPTED: u8 = 130;

/// An exit status for scripts, and a fault for people and programs.
#[derive(Debug)]
pub struct Failure {
    status: u8,
    fault: Fault,
    argument: Option<Argument>,
}

/// The fault of an argument on a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// The value of this option, as in `--rate <RATE>`. The fault is the value's.
    Value {
        /// The option.
        option: String,
        /// The whole value.
        value: String,
    },
    /// This option has no value.
    Empty(String),
    /// There is no such option.
    Unknown(String),
    /// The other arguments need these.
    Missing(Vec<String>),
    /// This option does not go with others.
    Conflict {
        /// The option.
        option: String,
        /// The others. None: it stands twice.
        others: Vec<String>,
    },
    /// The words do not make a command line.
    Other,
}

impl Failure {
    /// Status 2: an argument is wrong, or an input file is missing or invalid.
    pub(crate) fn usage(fault: impl Into<Fault>) -> Self {
        Self {
            status: 2,
            fault: fault.into(),
            argument: None,
        }
    }

    /// Status 2 with a message alone, for an error without data.
    pub(crate) fn refused(message: impl fmt::Display) -> Self {
        Self::usage(message.to_string())
    }

    /// Status 1: the run failed (results cannot be written), or a check failed (a bound is
    /// violated, a log is inconsistent).
    pub(crate) fn run(message: impl fmt::Display) -> Self {
        Self {
            status: 1,
            fault: Fault::new(message.to_string()),
            argument: None,
        }
    }

    /// Status 130: the caller asked for a stop.
    pub(crate) fn stopped() -> Self {
        Self {
            status: INTERRUPTED,
            ..Self::run("interrupted")
        }
    }

    /// The fault of an option's value.
    pub(crate) fn of_value(option: &str, value: &str, fault: Fault) -> Self {
        Self {
            argument: Some(Argument::Value {
                option: option.to_owned(),
                value: value.to_owned(),
            }),
            ..Self::usage(fault)
        }
    }

    /// An option that the other arguments need.
    pub(crate) fn missing(option: &str) -> Self {
        Self {
            argument: Some(Argument::Missing(vec![option.to_owned()])),
            ..Self::refused("missing")
        }
    }

    /// An error in the arguments. A wrong value's fault comes from its parser, and clap hands it on
    /// as the source of its own error.
    pub(crate) fn arguments(error: &clap::Error) -> Self {
        let texts = |kind| error.get(kind).map(texts).unwrap_or_default();
        let options = texts(ContextKind::InvalidArg);
        let option = options.concat();
        let value = texts(ContextKind::InvalidValue).concat();
        let argument = match error.kind() {
            ErrorKind::UnknownArgument => Argument::Unknown(option),
            ErrorKind::MissingRequiredArgument => Argument::Missing(options),
            ErrorKind::ArgumentConflict => {
                let mut others = texts(ContextKind::PriorArg);
                others.retain(|other| *other != option);
                Argument::Conflict { option, others }
            }
            ErrorKind::InvalidValue if value.is_empty() => Argument::Empty(option),
            ErrorKind::InvalidValue | ErrorKind::ValueValidation => {
                Argument::Value { option, value }
            }
            _ => Argument::Other,
        };
        let made = error.source().and_then(|source| source.downcast_ref());
        let fault = match (made, error.source()) {
            (Some(fault), _) => Fault::clone(fault),
            (None, Some(source)) => Fault::new(source.to_string()),
            (None, None) => of_clap(error, &texts),
        };
        Self {
            status: 2,
            fault,
            argument: Some(argument),
        }
    }

    /// The fault alone.
    pub(crate) fn into_fault(self) -> Fault {
        self.fault
    }

    /// The command's exit status: 1, 2 or 130.
    pub const fn status(&self) -> u8 {
        self.status
    }

    /// Whether the caller asked for a stop.
    pub const fn is_stopped_by_caller(&self) -> bool {
        self.status == INTERRUPTED
    }

    /// What is wrong, as data.
    pub const fn fault(&self) -> &Fault {
        &self.fault
    }

    /// The wrong argument on the command line.
    pub const fn argument(&self) -> Option<&Argument> {
        self.argument.as_ref()
    }
}

/// Nearly as clap words an error, but without advice on help.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.argument {
            Some(Argument::Value { option, value }) => {
                write!(f, "invalid value '{value}' for '{option}': {}", self.fault)
            }
            Some(Argument::Empty(option)) => {
                write!(
                    f,
                    "a value is required for '{option}' but none was supplied"
                )
            }
            Some(Argument::Unknown(option)) => write!(f, "unexpected argument '{option}' found"),
            Some(Argument::Missing(options)) => {
                let all = options.join("\n  ");
                write!(
                    f,
                    "the following required arguments were not provided:\n  {all}"
                )
            }
            Some(Argument::Conflict { option, others }) if others.is_empty() => {
                write!(f, "the argument '{option}' cannot be used multiple times")
            }
            Some(Argument::Conflict { option, others }) => {
                let others = others.join("' and '");
                write!(f, "the argument '{option}' cannot be used with '{others}'")
            }
            Some(Argument::Other) | None => self.fault.fmt(f),
        }
    }
}

impl Error for Failure {}

/// The fault in an error that clap makes itself.
fn of_clap(error: &clap::Error, texts: &dyn Fn(ContextKind) -> Vec<String>) -> Fault {
    let legal = texts(ContextKind::ValidValue);
    let fault = match (legal.is_empty(), error.kind().as_str()) {
        (false, _) => Fault::wanted(legal.join(", ")),
        (true, Some(what)) => Fault::new(what),
        (true, None) => Fault::new(error.kind().to_string()),
    };
    let meant = [ContextKind::SuggestedValue, ContextKind::SuggestedArg].map(texts);
    fault.with_meant(meant.concat().first().map(String::as_str))
}

/// The texts that clap keeps for an error.
fn texts(value: &ContextValue) -> Vec<String> {
    match value {
        ContextValue::Strings(all) => all.clone(),
        other => vec![other.to_string()],
    }
}
