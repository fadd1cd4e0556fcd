//! A deterministic network simulator whose every output is a [`roundelay::Port`]: what is learned here holds for the code that ships.
//!
//! A [`Network`] is nodes and links; a [`Simulation`] puts it to work. [`Agent`]s send packets: each opens flows from node to node, and is
//! called when it asked to be and when a packet of its flows reaches the end of its route. A [`Probe`] hears of everything that happens.
//!
//! Time is in picoseconds. Events at one instant come in the order in which they became known; all arrivals at a queue come before its
//! link picks. Each agent and each link has random numbers of its own, so that a change in one leaves the others as they were.

mod agent;
mod cargo;
mod decision;
mod edge;
mod event_queue;
mod fields_read;
mod flows;
mod headers;
mod link;
pub mod log;
mod network;
pub mod pcapng;
mod probe;
mod random;
pub mod replay;
mod routing;
pub mod scenario;
mod simulation;
pub mod sources;
pub mod topologies;
pub mod verify;
mod written;

pub use agent::{Agent, AgentId, Arrival, Context, Direction, FlowSpec, Outgoing};
pub use cargo::{Cargo, Carried, Content};
pub use decision::DecisionCost;
pub use edge::EdgeControl;
pub use flows::{FlowCounts, FlowNumber};
pub use headers::Marks;
pub use link::LinkCounts;
pub use network::{LinkClass, LinkConfig, LinkId, LinkMut, Network, NetworkError, NodeId, link_name};
pub use probe::{Probe, Report};
pub use routing::{Metric, Route, Routing};
pub use simulation::{Simulation, SimulationError};
