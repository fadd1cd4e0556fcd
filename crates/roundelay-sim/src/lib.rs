//! Deterministic network simulator. Every output is a [`roundelay::Port`], the shipped code:
//! results hold for real ports.
//!
//! A [`Network`] is nodes and links; a [`Simulation`] runs a network. [`Agent`]s open flows from
//! node to node and send packets. An agent is called when a timer expires and when a packet reaches
//! the end of the route. A [`Probe`] observes all events.
//!
//! Time is in picoseconds. Events at one instant come in the order of their scheduling; all
//! arrivals at a queue come before the link picks a packet. Each agent and each link draws from a
//! separate stream of random numbers: a change in one leaves the others as they were.

mod agent;
mod decision;
mod edge;
mod event_queue;
mod fields_read;
mod files;
mod flows;
mod headers;
mod link;
pub mod log;
mod network;
mod packet_state;
pub mod pcapng;
mod probe;
mod random;
pub mod replay;
mod routing;
pub mod scenario;
mod simulation;
pub mod sources;
pub mod topologies;
mod written;

pub use agent::{Agent, AgentId, Arrival, Context, Direction, FlowSpec, Outgoing};
pub use decision::DecisionCost;
pub use edge::EdgeControl;
pub use flows::{FlowCounts, FlowNumber};
pub use headers::Marks;
pub use link::LinkCounts;
pub use network::{LinkClass, LinkConfig, LinkId, Network, NetworkError, NodeId, link_name};
pub use packet_state::{Content, PacketState, Tag};
pub use probe::{Opening, Probe, Report};
pub use routing::{Metric, Route, Routing};
pub use simulation::{Simulation, SimulationError};
