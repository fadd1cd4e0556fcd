//! Service: what a tree's class gives a child, beyond weights and priorities.

pub(crate) mod hfsc;
pub(crate) mod htb;

use crate::config::ConfigError;

/// The disciplines whose classes have settings of their own.
pub(crate) const HTB: &str = "htb";
pub(crate) const HFSC: &str = "hfsc";

/// Legal rates: a byte a second, as tc counts, to 100 Tbit/s.
const RATES: core::ops::RangeInclusive<u64> = 8..=100_000_000_000_000;

/// What a node gets from its parent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Service {
    /// A share by weight, by priority, or a turn like its siblings'.
    #[default]
    Shared,
    /// The parent's discipline is [`htb`](crate::tree::htb).
    Htb(htb::Class),
    /// The parent is the topmost node of an [`htb`](crate::tree::htb): a leaf for packets of no class.
    /// It has no rate, and goes before all classes.
    Direct,
    /// The parent's discipline is [`hfsc`](crate::tree::hfsc).
    Hfsc(hfsc::Class),
}

impl Service {
    /// The discipline whose children get this. None: any other.
    pub const fn discipline(&self) -> Option<&'static str> {
        match self {
            Self::Shared => None,
            Self::Htb(_) | Self::Direct => Some(HTB),
            Self::Hfsc(_) => Some(HFSC),
        }
    }

    /// # Errors
    /// A value is out of its range.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        match self {
            Self::Shared | Self::Direct => Ok(()),
            Self::Htb(class) => class.check(),
            Self::Hfsc(class) => class.check(),
        }
    }

    /// The error if a service is not this discipline's.
    pub(crate) fn wanted(&self, discipline: &'static str) -> ConfigError {
        ConfigError::BadValue {
            discipline,
            parameter: "service".into(),
            value: None,
            expected: alloc::format!("that of a class of {discipline}"),
        }
    }
}
