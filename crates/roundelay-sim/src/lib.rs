//! Deterministic network simulator. Every output is a [`roundelay::Port`], the code that we ship,
//! so results hold for real ports.
//!
//! A [`Network`] has nodes and links, and a [`Simulation`] runs it. [`Agent`]s open flows from node
//! to node and send packets. An agent is called when its timer expires and when a packet reaches
//! the end of its route. A [`Probe`] observes all events.
//!
//! Time is in picoseconds. Events at one instant happen in the order in which they were scheduled,
//! but a link picks a packet only after all arrivals at its queue. Each agent and each link draws
//! from its own stream of random numbers, so a change in one leaves the others as they were.

mod agent;
mod decision;
mod edge;
mod event_queue;
mod fields_read;
mod files;
mod flows;
mod headers;
mod ids;
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
mod world;
mod written;

pub use agent::{Agent, Arrival, Context, Departure, Outgoing};
pub use decision::DecisionCost;
pub use edge::EdgeControl;
pub use flows::{FlowCounts, FlowSpec};
pub use headers::Marks;
pub use ids::{AgentId, Direction, FlowNumber, LinkId, NodeId};
pub use link::LinkCounts;
pub use network::{
    LinkClass, LinkConfig, LinkSettings, Metric, Network, NetworkError, Routing, link_name,
};
pub use packet_state::{Content, PacketState, Tag};
pub use probe::{Opening, Probe, Report};
pub use routing::Route;
pub use simulation::{Simulation, SimulationError};
