//! What is mended of a capture, and which of its packets arrive.

use crate::selection::Selection;
use crate::span::Span;

/// Which packets of a capture arrive, and what is mended.
#[derive(Debug, Clone, Default)]
pub struct Mending {
    /// The packets.
    pub selection: Selection,
    /// The part of the time.
    pub span: Span,
    /// Put packets in the order of their times, and take the IP header's length for that of frames
    /// that a tool cut.
    pub adapts: bool,
    /// The longest IP packet of the link: longer ones are split. None splits none.
    pub mtu: Option<u32>,
}

impl Mending {
    /// Whether all packets arrive in the order of the file: one reading is enough.
    pub(crate) fn is_none(&self) -> bool {
        !self.selection.chooses && !self.adapts && self.span.is_whole()
    }

    /// Times that the capture is read: to find the order of times and the load of each direction, to
    /// find that load between two times, to find the busiest part, and for the packets.
    pub fn readings(&self) -> u32 {
        if self.is_none() {
            return 1;
        }
        let chooses_between = self.selection.chooses && self.span.has_bounds();
        2 + u32::from(chooses_between) + u32::from(self.span.busiest.is_some())
    }
}
