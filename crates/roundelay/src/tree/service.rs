//! Service: what a class of a tree gives a child, beyond weights and priorities.

use super::{hfsc, htb};
use crate::author::Discipline as _;
use crate::config::ConfigError;

/// What a node gets from its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Service {
    /// A share by weight, by priority, or a turn like its siblings'.
    #[default]
    Shared,
    /// The parent is of [`htb`].
    Htb(htb::Class),
    /// The parent is of [`hfsc`].
    Hfsc(hfsc::Class),
}

impl Service {
    /// The discipline whose children get this. None: any other.
    pub const fn discipline(&self) -> Option<&'static str> {
        match self {
            Self::Shared => None,
            Self::Htb(_) => Some(htb::Config::NAME),
            Self::Hfsc(_) => Some(hfsc::Config::NAME),
        }
    }

    /// # Errors
    /// A value is out of its range.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Shared => Ok(()),
            Self::Htb(class) => class.check(),
            Self::Hfsc(class) => class.check(),
        }
    }

    /// The error of a service that is not of this discipline.
    pub(super) fn wanted(&self, discipline: &'static str) -> ConfigError {
        ConfigError::BadValue {
            discipline,
            parameter: "service".into(),
            expected: alloc::format!("that of a class of {discipline}"),
        }
    }
}
