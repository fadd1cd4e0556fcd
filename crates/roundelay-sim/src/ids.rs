//! Numbers of nodes, links, agents and flows, and the direction of a packet.

/// A host or a router.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u32);

impl NodeId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// A link, one way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LinkId(pub u32);

impl LinkId {
    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

/// An agent's number, counted from 0 as agents are created. When an agent is removed, its number is
/// used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(pub u32);

/// A flow's number, counted from 0 as flows are opened, and never used again. Queues know a flow by
/// its `FlowId`, which is used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct FlowNumber(pub u64);

/// Whether a packet travels with its flow or against it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Direction {
    /// From the flow's source to its destination.
    Forward,
    /// From the destination to the source: acknowledgements.
    Backward,
}

impl Direction {
    pub(crate) const fn index(self) -> usize {
        match self {
            Self::Forward => 0,
            Self::Backward => 1,
        }
    }
}
