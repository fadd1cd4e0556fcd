//! Tests of the simulator: one program, so that the crates under test are linked once.

use roundelay_sim::{Probe, Simulation};

mod bbr3;
mod cake;
mod conservation;
mod controls;
mod corpora;
mod cubic_window;
mod dumbbell;
mod edge_codel;
mod faults;
mod flows;
mod formulas;
mod header;
mod inputs;
mod internet2;
mod isolation;
mod keys;
mod link_traces;
mod live;
mod load;
mod maps;
mod memory;
mod offload;
mod one_way;
mod order;
mod pcapng;
mod ports;
mod rates;
mod replay;
mod replicas;
mod results;
mod signals;
mod slack_rules;
mod small_queue;
mod sources;
mod streams;
mod transfers;
mod trees;
mod verify;
mod wires;
mod worlds;
mod wrong_values;
mod yardsticks;

/// A simulation with any probe: the event loop is compiled once, not for each probe.
type Observed<'a> = Simulation<&'a mut dyn Probe>;
