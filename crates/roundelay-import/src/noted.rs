//! A remark about a line of the script.

/// A remark about a line of the script.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Noted {
    pub(crate) line: usize,
    /// The node that it concerns.
    pub(crate) node: Option<String>,
    pub(crate) text: String,
}
