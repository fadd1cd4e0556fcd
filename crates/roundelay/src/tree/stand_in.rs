//! What a class's scheduler orders in place of its children's packets.

/// An item in a class's scheduler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StandIn {
    /// Has the length of the child's next packet.
    Head,
    /// A place holder without length. It keeps the place of a child whose chosen packet has not
    /// left.
    Place,
}
