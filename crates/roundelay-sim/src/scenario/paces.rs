//! What groups of sources receive over time: bytes and delays in each step of a run, for curves.

use roundelay::{Duration, Instant, Packet};

use crate::agent::Direction;
use crate::flows::FlowNumber;
use crate::packet_state::{PacketState, Tag};
use crate::probe::{Opening, Probe};

/// Counts by group, warm-up included, until they are taken.
#[derive(Debug)]
pub(super) struct Paces {
    /// The group of each flow, by the flow's number.
    group_of: Vec<u32>,
    groups: Vec<Lately>,
}

/// What a group received since the last look.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lately {
    /// With headers and retransmissions, as throughput counts.
    pub(super) bytes: u64,
    packets: u64,
    /// Sum of the packets' delays, in picoseconds.
    delays: u128,
    longest: Duration,
}

impl Lately {
    /// Mean delay in seconds; none without packets.
    pub(super) fn mean_delay(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.delays as f64 / 1e12 / self.packets as f64)
    }

    /// Longest delay in seconds; none without packets.
    pub(super) fn longest_delay(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.longest.as_secs_f64())
    }
}

impl Paces {
    pub(super) fn new(groups: usize) -> Self {
        Self {
            group_of: Vec::new(),
            groups: vec![Lately::default(); groups],
        }
    }

    /// What each group received since the last call.
    pub(super) fn take(&mut self) -> Vec<Lately> {
        let groups = self.groups.len();
        std::mem::replace(&mut self.groups, vec![Lately::default(); groups])
    }
}

impl Probe for Paces {
    fn opened(&mut self, _: Instant, flow: FlowNumber, opening: Opening) {
        debug_assert_eq!(
            flow.0,
            self.group_of.len() as u64,
            "flows have numbers in a row"
        );
        self.group_of.push(opening.group);
    }

    fn delivered(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {
        if state.direction != Direction::Forward {
            return;
        }
        let group = self.group_of[state.flow.0 as usize];
        let lately = &mut self.groups[group as usize];
        let delay = now.since(state.sent);
        lately.bytes += u64::from(packet.len);
        lately.packets += 1;
        lately.delays += u128::from(delay.as_picos());
        lately.longest = lately.longest.max(delay);
    }
}
