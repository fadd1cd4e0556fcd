//! Curves for drawings. Over time: links' utilisation, drops, backlog and wait, and groups'
//! throughput and delay. Also how delays are distributed.

use roundelay::Duration;
use roundelay_metrics::Delays;
use serde::Serialize;

use super::Scenario;
use super::link_state::LinkState;
use super::meter::Meter;
use super::paces::Paces;
use crate::ids::LinkId;
use crate::network::Network;
use crate::probe::Probe;
use crate::simulation::Simulation;

/// A run reports its progress, and samples the links, this many times.
pub(super) const STEPS: u64 = 200;

/// Points in a distribution.
const POINTS: usize = 200;

/// A run over time, warm-up included: a value for each two-hundredth of the run.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Curves {
    /// Seconds between two values.
    pub step: f64,
    /// One for each link, in the order of link numbers.
    pub links: Vec<LinkCurves>,
    /// One for each group, in the order of the scenario.
    pub groups: Vec<GroupCurves>,
}

/// A link over time.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkCurves {
    /// The fraction of each step during which the link was sending.
    pub utilisation: Vec<f64>,
    /// Packets that its queue dropped in each step.
    pub dropped: Vec<u64>,
    /// Bytes waiting at the end of each step, without the packet on the link.
    pub backlog: Vec<u64>,
    /// Mean time in seconds that the packets transmitted in each step waited in its queue; none
    /// without packets.
    pub wait_mean: Vec<Option<f64>>,
    /// The longest of these times.
    pub wait_max: Vec<Option<f64>>,
}

/// A group over time, and distributions of its times after the warm-up: points of seconds and the
/// fraction of values no longer than that.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupCurves {
    /// Bits per second that the group received in each step, with headers and retransmissions.
    pub throughput: Vec<f64>,
    /// Mean delay in seconds of the packets received in each step; none without packets.
    pub delay_mean: Vec<Option<f64>>,
    /// Their longest delay.
    pub delay_max: Vec<Option<f64>>,
    /// Delays of packets.
    pub delay: Vec<(f64, f64)>,
    /// Completion times of transfers.
    pub completion: Vec<(f64, f64)>,
}

/// Samples groups, and links if asked for, at every step.
pub(super) struct Sampler {
    pub(super) curves: Curves,
    /// The links that are sampled: all or none.
    before: Vec<LinkState>,
}

impl Sampler {
    pub(super) fn new(scenario: &Scenario, has_links: bool) -> Self {
        let links = if has_links {
            scenario.topology.network.links().len()
        } else {
            0
        };
        let step = scenario.duration.as_secs_f64() / STEPS as f64;
        let curves = Curves {
            step,
            links: vec![LinkCurves::default(); links],
            groups: vec![GroupCurves::default(); scenario.groups.len()],
        };
        Self {
            curves,
            before: vec![LinkState::default(); links],
        }
    }

    /// What the groups received is counted with this.
    pub(super) fn paces(&self, network: &Network) -> Paces {
        let paces = Paces::new(self.curves.groups.len());
        if self.before.is_empty() {
            paces
        } else {
            paces.with_links(network)
        }
    }

    pub(super) fn look<P: Probe>(&mut self, simulation: &Simulation<P>) {
        for (number, (counts, before)) in (0..).zip(simulation.links().zip(&mut self.before)) {
            let curves = &mut self.curves.links[number as usize];
            let state = LinkState::of(simulation, LinkId(number), counts);
            let utilisation = state.utilisation(before, self.curves.step);
            curves.utilisation.push(utilisation);
            curves.dropped.push(
                counts.dropped.iter().sum::<u64>() - before.counts.dropped.iter().sum::<u64>(),
            );
            curves
                .backlog
                .push(simulation.backlog(LinkId(number)).bytes);
            *before = state;
        }
    }

    /// What the groups received since the last step, and how long packets waited at links.
    pub(super) fn receive(&mut self, paces: &mut Paces) {
        for (curves, waits) in self.curves.links.iter_mut().zip(paces.take_waits()) {
            curves.wait_mean.push(waits.mean());
            curves.wait_max.push(waits.longest());
        }
        for (curves, lately) in self.curves.groups.iter_mut().zip(paces.take()) {
            let bits = 8.0 * lately.bytes as f64;
            curves.throughput.push(bits / self.curves.step);
            curves.delay_mean.push(lately.delays.mean());
            curves.delay_max.push(lately.delays.longest());
        }
    }

    pub(super) fn finish(&mut self, meter: &Meter) {
        for (curves, group) in self.curves.groups.iter_mut().zip(&meter.groups) {
            curves.delay = points(&group.delays);
            curves.completion = points(&group.transfers.times);
        }
    }
}

/// Seconds, and the share of delays that take no longer.
fn points(delays: &Delays) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (span, share) in delays.cdf(POINTS) {
        points.push((Duration::as_secs_f64(span), share));
    }
    points
}
