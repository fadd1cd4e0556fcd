//! Stands in for a session's view if the program was built without the feature `view`.

use std::io;

use roundelay_live::Bottleneck;

/// No view.
pub(super) struct View {}

impl View {
    /// # Errors
    /// Always.
    pub(super) fn start() -> io::Result<Self> {
        Err(io::Error::other(
            "--view: this program was built without its feature `view`",
        ))
    }

    /// The run always goes on.
    pub(super) const fn goes_on(&mut self, _: &mut Bottleneck, _: f64) -> bool {
        true
    }
}
