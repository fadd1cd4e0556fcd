//! Writes down a schedule: for each packet its path, when it came in, when each link let it go, and when it got out.
//!
//! Source: R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 2.1: a schedule is {(path(p), i(p), o(p))}, and replaying it
//! with LSTF needs the slack o(p) - i(p) - tmin(p).

use roundelay::{Duration, Instant, Packet, Slack};

use crate::agent::Direction;
use crate::cargo::{Cargo, Carried};
use crate::flows::FlowNumber;
use crate::network::{LinkId, Network};
use crate::probe::Probe;

/// A packet's schedule.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// Its flow.
    pub flow: FlowNumber,
    /// Which way it went.
    pub direction: Direction,
    /// Bytes, as its agent sent it.
    pub len: u32,
    /// i(p): when it came into the network.
    pub input: Instant,
    /// o(p): when its last bit reached the end of its path. None if it was dropped, lost, or on its way when the recording ended.
    pub output: Option<Instant>,
    /// path(p), with what happened at each link of it.
    pub path: Vec<Transmission>,
}

/// A packet and a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmission {
    /// The link.
    pub link: LinkId,
    /// When the packet came to its queue.
    pub arrival: Instant,
    /// When its first and its last bit left.
    pub span: [Instant; 2],
}

impl Schedule {
    /// The slack with which LSTF replays it: the time that it lost in queues. None if it did not get out.
    pub fn slack(&self, network: &Network) -> Option<Slack> {
        let spent = self.output?.since(self.input);
        Some(Slack::of(spent).after(self.fastest(network)))
    }

    /// tmin(p): the time that it needs if it waits nowhere.
    pub fn fastest(&self, network: &Network) -> Duration {
        network.fastest(self.path.iter().map(|hop| hop.link), self.len)
    }
}

/// A [`Probe`] that writes down all schedules, by the packets' numbers. Memory grows with what is sent.
#[derive(Debug, Clone, Default)]
pub struct Recorder {
    /// The schedules.
    pub schedules: Vec<Schedule>,
}

impl Probe for Recorder {
    fn sent(&mut self, now: Instant, packet: &Packet<Carried>, cargo: &Cargo) {
        let Cargo { flow, direction, .. } = *cargo;
        self.schedules.push(Schedule { flow, direction, len: packet.len, input: now, output: None, path: Vec::new() });
    }

    fn transmitted(&mut self, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo, span: [Instant; 2]) {
        self.schedules[cargo.number as usize].path.push(Transmission { link, arrival: packet.arrival, span });
    }

    fn delivered(&mut self, now: Instant, _packet: &Packet<Carried>, cargo: &Cargo) {
        self.schedules[cargo.number as usize].output = Some(now);
    }
}
