//! Which kernel's rules hold, where Linux has changed them.

/// A kernel of Linux. What has changed stands at the parameter of each discipline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kernel {
    /// Linux 7.3.
    #[default]
    V7_3,
    /// Linux 6.1.
    V6_1,
}

impl Kernel {
    pub(crate) const WORDS: &'static [&'static str] = &["7.3", "6.1"];

    pub(crate) const fn of(word: u64) -> Self {
        match word {
            0 => Self::V7_3,
            _ => Self::V6_1,
        }
    }
}
