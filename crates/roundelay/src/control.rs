//! The [`Control`] trait: a scheduler's settings, and questions about it. No call is about a
//! packet.

use alloc::vec::Vec;

use crate::acknowledgement::Acknowledgement;
use crate::config::ConfigError;
use crate::flow_config::FlowConfig;
use crate::limit::Limit;
use crate::packet::{FlowId, Hosts};
use crate::service::Service;
use crate::units::Rate;

/// Settings of flows, link and buffer, and questions about a scheduler's state.
///
/// Each [`Scheduler`](crate::Scheduler) implements this trait, at the least with `impl Control for
/// Mine {}`, because a discipline states only what it has.
pub trait Control {
    /// Sets the link's rate, before the first packet. WFQ and WF2Q need the rate to advance virtual
    /// time during a transmission. A [`Port`](crate::Port) calls this. Without a port, you can do
    /// the same. Without a rate a discipline still works, as its documentation describes.
    fn set_link_rate(&mut self, rate: Rate) {
        let _ = rate;
    }

    /// Sets the limit of the buffer around the scheduler, before the first packet and after each
    /// change. This is for disciplines that depend on the buffer's free part. A
    /// [`Buffer`](crate::Buffer) calls this and enforces the limit itself.
    fn set_buffer_limit(&mut self, limit: Limit) {
        let _ = limit;
    }

    /// Adds or changes a flow, backlogged or not. Disciplines that treat all flows alike ignore the
    /// call.
    ///
    /// # Errors
    /// A value out of its legal range, with the state as it was.
    fn set_flow(&mut self, flow: FlowId, config: FlowConfig) -> Result<(), ConfigError> {
        let _ = (flow, config);
        Ok(())
    }

    /// Removes a flow. A backlogged flow keeps its settings until its last packet has left.
    fn remove_flow(&mut self, flow: FlowId) {
        let _ = flow;
    }

    /// Names a flow's hosts, before its first packet. Without this call, a discipline that shares a
    /// link among hosts takes each flow for one between two hosts of its own.
    ///
    /// # Errors
    /// The discipline reads hosts, and the flow's number is beyond [`FlowId::LARGEST_TABLED`].
    fn set_hosts(&mut self, flow: FlowId, hosts: Hosts) -> Result<(), ConfigError> {
        let _ = (flow, hosts);
        Ok(())
    }

    /// Tells what the flow's next packet acknowledges, right before its arrival. Without this call,
    /// or with None, a discipline that filters acknowledgements takes the packet for none.
    /// Disciplines with [`reads_acknowledgements`](crate::schedulers::Discipline::reads_acknowledgements)
    /// use it, others ignore it.
    fn set_acknowledgement(&mut self, flow: FlowId, acknowledgement: Option<&Acknowledgement>) {
        let _ = (flow, acknowledgement);
    }

    /// Sends a flow to a leaf of a [`tree`](crate::tree), from its next packet on.
    ///
    /// # Errors
    /// The scheduler is no tree, the tree has no such leaf, or the flow's number is beyond
    /// [`FlowId::LARGEST_TABLED`].
    fn assign(&mut self, flow: FlowId, leaf: &str) -> Result<(), ConfigError> {
        let _ = flow;
        Err(ConfigError::no_tree(leaf))
    }

    /// Sends a flow's short acknowledgements to a leaf of their own, if the tree
    /// [sorts these](crate::tree::Config::sort_acknowledgements).
    ///
    /// # Errors
    /// As [`assign`](Self::assign).
    fn assign_acknowledgements(&mut self, flow: FlowId, leaf: &str) -> Result<(), ConfigError> {
        let _ = flow;
        Err(ConfigError::no_tree(leaf))
    }

    /// Sets a flow's class in a discipline with classes of several levels, such as
    /// [`htb`](crate::tree::htb): number and settings, first for the flow's own class, then for the
    /// classes above up to the topmost one. Classes with the same number are one.
    ///
    /// # Errors
    /// The discipline has no classes, or a value is out of its legal range. The state is as it was.
    fn set_class(&mut self, flow: FlowId, path: &[(u32, Service)]) -> Result<(), ConfigError> {
        let _ = (flow, path);
        Err(ConfigError::OtherDiscipline {
            discipline: "htb or hfsc",
        })
    }

    /// Whether [`Scheduler::turn`](crate::Scheduler::turn) names the flow whose turn it is. A tree's
    /// class with such a scheduler asks a child for its packet in the child's turn.
    fn names_turns(&self) -> bool {
        false
    }

    /// When this scheduler, in a tree's class, must know the length of a child's next packet.
    fn reads(&self, flow: FlowId) -> Reads {
        let _ = flow;
        Reads::Ahead
    }

    /// In a tree's class: whether a child without packets is asked, too, and before which others.
    /// Such children are asked before those of a larger number and those without one, as Linux's
    /// `prio` asks its bands in turn. None: it is not asked. `priority` is the child's.
    fn asks_idle(&self, priority: u32) -> Option<u32> {
        let _ = priority;
        None
    }

    /// The sum of all weights, if the discipline keeps one. A flow's share is its weight over this
    /// sum. Departed flows' weights may count for a while.
    fn total_weight(&self) -> Option<u64> {
        None
    }

    /// A flow's queues (or bins) in a discipline that hashes flows, by number: one for each hash,
    /// in the order of the hashes. Two equal hashes name a queue twice. Flows collide if these
    /// lists share a queue. Empty for disciplines without hashed flows, and for trees.
    ///
    /// Bins on several levels are numbered level after level. With hashes that change over time
    /// (`sfq perturb`, `sfb rehash`), the present hashes count.
    fn queues_of(&self, flow: FlowId) -> Vec<usize> {
        let _ = flow;
        Vec::new()
    }

    /// The discipline's memory, packets excluded. Default: the scheduler itself, without a table of
    /// flows.
    fn footprint(&self) -> Footprint {
        Footprint::fixed(size_of_val(self))
    }

    /// The footprint in parts: each part's name and bytes. The sum is
    /// [`footprint`](Self::footprint). Empty if the discipline does not list parts.
    fn footprint_parts(&self) -> Vec<(&'static str, Footprint)> {
        Vec::new()
    }

    /// Panics if the state breaks an invariant. In debug builds each [`Buffer`](crate::Buffer), and
    /// so each port, calls this: see [`DebugCheck`](crate::author::DebugCheck). In release builds the
    /// disciplines of this crate leave their checks out, and this does nothing.
    fn check_invariants(&self) {}
}

/// When a class of a [`tree`](crate::tree) must know the length of a child's next packet. The child
/// is asked for the packet at that moment, so the later, the less a class changes what is below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reads {
    /// As soon as the child has a packet, because the order among children depends on lengths.
    Ahead,
    /// In the child's turn. The packet may then have to wait, because the turn does not cover it.
    InTurn,
    /// When the packet is sent. The packet always leaves in the turn in which the child is asked.
    WhenSent,
}

/// A discipline's memory, packets excluded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Footprint {
    /// Fixed bytes, for any number of flows.
    pub fixed_bytes: usize,
    /// Bytes for each flow seen.
    pub bytes_per_flow: usize,
}

impl Footprint {
    /// A cost for each flow only.
    pub const fn of_a_flow(bytes: usize) -> Self {
        Self {
            fixed_bytes: 0,
            bytes_per_flow: bytes,
        }
    }

    /// A fixed cost only.
    pub const fn fixed(bytes: usize) -> Self {
        Self {
            fixed_bytes: bytes,
            bytes_per_flow: 0,
        }
    }
}

/// The body of an `impl Control` that leaves everything to another scheduler: a shared and a
/// mutable reference to it, of which each call uses one.
macro_rules! forward_control {
    ($self:ident, $shared:expr, $mutable:expr) => {
        fn set_link_rate(&mut $self, rate: $crate::Rate) {
            $mutable.set_link_rate(rate);
        }

        fn set_buffer_limit(&mut $self, limit: $crate::Limit) {
            $mutable.set_buffer_limit(limit);
        }

        fn set_flow(
            &mut $self,
            flow: $crate::FlowId,
            config: $crate::FlowConfig,
        ) -> Result<(), $crate::ConfigError> {
            $mutable.set_flow(flow, config)
        }

        fn remove_flow(&mut $self, flow: $crate::FlowId) {
            $mutable.remove_flow(flow);
        }

        fn set_hosts(
            &mut $self,
            flow: $crate::FlowId,
            hosts: $crate::Hosts,
        ) -> Result<(), $crate::ConfigError> {
            $mutable.set_hosts(flow, hosts)
        }

        fn set_acknowledgement(
            &mut $self,
            flow: $crate::FlowId,
            acknowledgement: Option<&$crate::Acknowledgement>,
        ) {
            $mutable.set_acknowledgement(flow, acknowledgement);
        }

        fn assign(&mut $self, flow: $crate::FlowId, leaf: &str) -> Result<(), $crate::ConfigError> {
            $mutable.assign(flow, leaf)
        }

        fn assign_acknowledgements(
            &mut $self,
            flow: $crate::FlowId,
            leaf: &str,
        ) -> Result<(), $crate::ConfigError> {
            $mutable.assign_acknowledgements(flow, leaf)
        }

        fn set_class(
            &mut $self,
            flow: $crate::FlowId,
            path: &[(u32, $crate::tree::Service)],
        ) -> Result<(), $crate::ConfigError> {
            $mutable.set_class(flow, path)
        }

        fn names_turns(&$self) -> bool {
            $shared.names_turns()
        }

        fn reads(&$self, flow: $crate::FlowId) -> $crate::Reads {
            $shared.reads(flow)
        }

        fn asks_idle(&$self, priority: u32) -> Option<u32> {
            $shared.asks_idle(priority)
        }

        fn total_weight(&$self) -> Option<u64> {
            $shared.total_weight()
        }

        fn queues_of(&$self, flow: $crate::FlowId) -> alloc::vec::Vec<usize> {
            $shared.queues_of(flow)
        }

        fn footprint(&$self) -> $crate::Footprint {
            $shared.footprint()
        }

        fn footprint_parts(&$self) -> alloc::vec::Vec<(&'static str, $crate::Footprint)> {
            $shared.footprint_parts()
        }

        fn check_invariants(&$self) {
            $shared.check_invariants();
        }
    };
}
pub(crate) use forward_control;
