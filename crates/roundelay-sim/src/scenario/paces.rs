//! What groups of sources receive over time, and how long packets wait at links. Curves need this
//! for each step of a run.

use roundelay::{Duration, Instant, Packet, Rate};

use crate::ids::{Direction, FlowNumber, LinkId};
use crate::link::waited;
use crate::network::Network;
use crate::packet_state::{PacketState, Tag};
use crate::probe::{Opening, Probe};

/// Counts for each group, warm-up included, until they are taken.
#[derive(Debug)]
pub(super) struct Paces {
    /// Each flow's group, by the flow's number.
    group_of: Vec<u32>,
    groups: Vec<Lately>,
    /// By a link's number: its rate if it interrupts packets, and the waits. Empty if nobody wants
    /// these.
    links: Vec<(Option<Rate>, Times)>,
}

/// What a group received since the last look.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Lately {
    /// With headers and retransmissions, because throughput counts these too.
    pub(super) bytes: u64,
    pub(super) delays: Times,
}

/// How long packets were delayed, or how long they waited.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Times {
    packets: u64,
    /// Sum of the times, in picoseconds.
    sum: u128,
    longest: Duration,
}

impl Times {
    #[inline]
    fn count(&mut self, time: Duration) {
        self.packets += 1;
        self.sum += u128::from(time.as_picos());
        self.longest = self.longest.max(time);
    }

    /// The mean in seconds. None if there were no packets.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.sum as f64 / 1e12 / self.packets as f64)
    }

    /// The longest in seconds. None if there were no packets.
    pub(super) fn longest(&self) -> Option<f64> {
        (self.packets > 0).then(|| self.longest.as_secs_f64())
    }
}

impl Paces {
    /// For groups alone.
    pub(super) fn new(groups: usize) -> Self {
        Self {
            group_of: Vec::new(),
            groups: vec![Lately::default(); groups],
            links: Vec::new(),
        }
    }

    /// Counts at links, too.
    pub(super) fn with_links(mut self, network: &Network) -> Self {
        for link in network.links() {
            self.links.push((link.preempted_at(), Times::default()));
        }
        self
    }

    /// What each group received since the last call.
    pub(super) fn take(&mut self) -> Vec<Lately> {
        let groups = self.groups.len();
        std::mem::replace(&mut self.groups, vec![Lately::default(); groups])
    }

    /// How long packets waited at each link, if they were transmitted since the last call.
    pub(super) fn take_waits(&mut self) -> impl Iterator<Item = Times> {
        let links = self.links.iter_mut();
        links.map(|(_, waits)| std::mem::take(waits))
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

    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        _: &PacketState,
        span: [Instant; 2],
    ) {
        if let Some((preempted_at, waits)) = self.links.get_mut(link.index()) {
            waits.count(waited(*preempted_at, packet, span));
        }
    }

    fn delivered(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {
        if state.direction != Direction::Forward {
            return;
        }
        let group = self.group_of[state.flow.0 as usize];
        let lately = &mut self.groups[group as usize];
        lately.bytes += u64::from(packet.len);
        lately.delays.count(now.since(state.sent));
    }
}
