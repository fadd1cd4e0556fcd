//! Curves for drawings: link utilisation, drops and backlog over time, and distributions of delays.

use roundelay::Duration;
use roundelay_metrics::Delays;

use super::Scenario;
use super::meter::Meter;
use super::results::LinkState;
use super::run::STEPS;
use crate::network::LinkId;
use crate::probe::Probe;
use crate::simulation::Simulation;

/// Points of a distribution.
const POINTS: usize = 200;

/// A run over time, warm-up included: a value for each two-hundredth of the run.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Curves {
    /// Seconds between two values.
    pub step: f64,
    /// One for each link, in the order of link numbers.
    pub links: Vec<LinkCurves>,
    /// One for each group, in the order of the scenario.
    pub groups: Vec<GroupCurves>,
}

/// A link over time.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkCurves {
    /// The fraction of each step during which the link was sending.
    pub utilisation: Vec<f64>,
    /// Packets that its queue dropped in each step.
    pub dropped: Vec<u64>,
    /// Bytes waiting at the end of each step, without the packet on the link.
    pub backlog: Vec<u64>,
}

/// Distributions of a group's times after the warm-up: points of seconds and the fraction of values
/// no longer than that.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GroupCurves {
    /// Delays of packets.
    pub delay: Vec<(f64, f64)>,
    /// Completion times of transfers.
    pub completion: Vec<(f64, f64)>,
}

/// Samples the links at every step.
pub(super) struct Sampler {
    pub(super) curves: Curves,
    before: Vec<LinkState>,
}

impl Sampler {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let links = scenario.topology.network.links().len();
        let step = scenario.duration.as_secs_f64() / STEPS as f64;
        let curves = Curves {
            step,
            links: vec![LinkCurves::default(); links],
            groups: Vec::new(),
        };
        Self {
            curves,
            before: vec![LinkState::default(); links],
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

    pub(super) fn finish(&mut self, meter: &Meter) {
        for group in &meter.groups {
            self.curves.groups.push(GroupCurves {
                delay: points(&group.delays),
                completion: points(&group.transfers.times),
            });
        }
    }
}

/// Seconds, and the share of the delays up to them.
fn points(delays: &Delays) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (span, share) in delays.cdf(POINTS) {
        points.push((Duration::as_secs_f64(span), share));
    }
    points
}
