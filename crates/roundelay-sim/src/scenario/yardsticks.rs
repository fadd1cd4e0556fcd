//! Measurements on request (`[meter]`): flows over their own lives, worst-case fair indices and
//! Jain's index while backlogged at links, series of rates.

use std::collections::BTreeMap;

use roundelay::{DropReason, Instant, Packet};
use roundelay_metrics::{correlation, jain_index, starved};
use serde::Serialize;

use super::Scenario;
use super::flow_meter::FlowMeter;
use super::lives::{FlowLife, Lives, Pace};
use super::measures::Measures;
use super::port_meter::{Backlogged, PortMeter};
use super::rates::{RateMeter, Rates};
use super::ratio::ratio;
use crate::flows::FlowCounts;
use crate::ids::{Direction, FlowNumber, LinkId};
use crate::network::{LinkClass, Network};
use crate::packet_state::{PacketState, Tag};
use crate::probe::{Opening, Probe, Report};

/// Worst-case fair indices of a flow: the worst of the measured links on the route, after the
/// warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowIndices {
    /// B-WFI: the maximum lag behind the flow's share while backlogged, in bytes.
    pub b_wfi: f64,
    /// T-WFI: the maximum lateness of a packet relative to the flow's share, in seconds; none if no
    /// packet has left.
    pub t_wfi: Option<f64>,
}

/// Results of a group's flows over their own lives. Means are over the flows with the figure.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupLives {
    /// Flows with received packets.
    pub flows: u64,
    /// Mean throughput, bits a second.
    pub throughput: Option<f64>,
    /// Jain's index of throughputs by weight, of open and ended flows.
    pub jain: Option<f64>,
    /// Jain's index of Bennett and Zhang's ratios: of throughputs relative to sources' demands.
    pub jain_of_ratios: Option<f64>,
    /// Packets received after a packet that was sent later.
    pub reordered: u64,
    /// Fraction of reordered packets among all received.
    pub reordering: Option<f64>,
    /// Mean of the flows' mean round trips, seconds.
    pub round_trip: Option<f64>,
    /// Mean of Bennett and Zhang's ratios.
    pub bennett_zhang: Option<f64>,
    /// The smallest ratio.
    pub bennett_zhang_min: Option<f64>,
    /// Mean startup latency of ended flows, seconds.
    pub startup_latency: Option<f64>,
    /// The longest startup latency, seconds.
    pub startup_latency_max: Option<f64>,
    /// Listed flows with a throughput by weight after the warm-up of less than `starved_below` of
    /// the mean.
    pub starved: u64,
    /// Pearson's correlation of listed flows' throughputs after the warm-up with their round trips.
    pub correlation: Option<f64>,
}

/// Observes a run and measures what the scenario asks for.
#[derive(Debug)]
pub(super) struct Yardsticks {
    warmup: Option<Instant>,
    lives: Option<Lives>,
    rates: Option<RateMeter>,
    ports: BTreeMap<u32, PortMeter>,
    weights: Vec<u32>,
    /// Each flow's group, by the flow's number. Kept only if ports are measured.
    groups: Vec<u32>,
}

impl Yardsticks {
    /// None if the scenario does not ask for any measurement.
    pub(super) fn new(network: &Network, scenario: &Scenario) -> Option<Self> {
        let &Measures {
            flows, wfi, rates, ..
        } = &scenario.measures;
        if !flows && !wfi && rates.is_none() {
            return None;
        }
        let mut paces = Vec::new();
        let mut weights = Vec::new();
        for group in &scenario.groups {
            let facts = group.source.source().facts();
            paces.push(Pace {
                rate: facts.rate,
                gap: facts.mean_gap,
            });
            weights.push(group.weight());
        }
        let class = measured_class(network);
        let mut ports = BTreeMap::new();
        for (number, link) in (0..).zip(network.links()) {
            // The indices compare with a link whose rate is constant.
            if wfi && Some(link.class) == class && link.trace.is_none() {
                ports.insert(number, PortMeter::new(link));
            }
        }
        Some(Self {
            warmup: Some(Instant::ZERO + scenario.warmup),
            lives: if flows { Some(Lives::new(paces)) } else { None },
            rates: rates.map(|interval| RateMeter::new(interval, scenario.duration)),
            ports,
            weights,
            groups: Vec::new(),
        })
    }

    /// Ends the warm-up at ports, if it is over by `now`.
    fn advance(&mut self, now: Instant) {
        if let Some(warmup) = self.warmup.take_if(|warmup| *warmup <= now) {
            for port in self.ports.values_mut() {
                port.forget(warmup);
            }
        }
    }

    /// The run ends.
    pub(super) fn end(&mut self, now: Instant) {
        self.advance(now);
        for port in self.ports.values_mut() {
            port.end(now);
        }
    }

    /// Takes the series of rates out, if the scenario asks for them.
    pub(super) fn take_rates(&mut self) -> Option<Rates> {
        Some(self.rates.take()?.finish(&self.weights))
    }

    pub(super) fn life(&self, number: u64) -> Option<FlowLife> {
        Some(self.lives.as_ref()?.of(number))
    }

    pub(super) fn indices(&self, number: u64) -> Option<FlowIndices> {
        let mut worst: Option<FlowIndices> = None;
        for port in self.ports.values() {
            let Some((b_wfi, t_wfi)) = port.indices(FlowNumber(number)) else {
                continue;
            };
            worst = Some(match worst {
                None => FlowIndices { b_wfi, t_wfi },
                Some(worst) => FlowIndices {
                    b_wfi: worst.b_wfi.max(b_wfi),
                    t_wfi: larger(worst.t_wfi, t_wfi),
                },
            });
        }
        worst
    }

    pub(super) fn backlogged(&self, link: usize) -> Option<Backlogged> {
        self.ports.get(&(link as u32))?.backlogged()
    }

    /// Results for one group or for all. `listed` are the flows that results list.
    pub(super) fn group(
        &self,
        group: Option<u32>,
        listed: &[&FlowMeter],
        starved_below: f64,
    ) -> Option<GroupLives> {
        let lives = self.lives.as_ref()?;
        let mut all = Vec::new();
        let mut shares = Vec::new();
        let mut reordered = 0;
        let mut received = 0;
        for (of, life) in lives.all() {
            if group.is_some_and(|group| group != of) || life.received == 0 {
                continue;
            }
            if let Some(throughput) = life.throughput {
                shares.push(throughput / f64::from(self.weights[of as usize]));
            }
            reordered += life.reordered;
            received += life.received;
            all.push(life);
        }
        let ratios = figures(&all, |life| life.bennett_zhang);
        let startups = figures(&all, |life| life.startup_latency);
        let mut throughputs = Vec::new();
        let mut pairs = Vec::new();
        for flow in listed {
            if group.is_some_and(|group| group != flow.group) {
                continue;
            }
            let bytes = flow.packets.bytes as f64;
            throughputs.push(bytes / f64::from(self.weights[flow.group as usize]));
            if let Some(round_trip) = lives.of(flow.number).round_trip {
                pairs.push((bytes, round_trip));
            }
        }
        Some(GroupLives {
            flows: all.len() as u64,
            throughput: mean(&figures(&all, |life| life.throughput)),
            jain: index(&shares),
            jain_of_ratios: index(&ratios),
            reordered,
            reordering: ratio(reordered as f64, received as f64),
            round_trip: mean(&figures(&all, |life| life.round_trip)),
            bennett_zhang: mean(&ratios),
            bennett_zhang_min: ratios.iter().copied().reduce(f64::min),
            startup_latency: mean(&startups),
            startup_latency_max: startups.iter().copied().reduce(f64::max),
            starved: starved(&throughputs, starved_below) as u64,
            correlation: correlation(pairs.into_iter()),
        })
    }

    fn port(&mut self, link: LinkId) -> Option<&mut PortMeter> {
        self.ports.get_mut(&link.0)
    }
}

/// Which class of links is measured: core, or edge if there is no core.
pub(super) fn measured_class(network: &Network) -> Option<LinkClass> {
    let has = |class| network.links().iter().any(|link| link.class == class);
    [LinkClass::Core, LinkClass::Edge]
        .into_iter()
        .find(|class| has(*class))
}

/// The figure's values, from all flows that have it.
fn figures(flows: &[FlowLife], of: fn(&FlowLife) -> Option<f64>) -> Vec<f64> {
    flows.iter().filter_map(of).collect()
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, None) => one,
        (None, other) => other,
    }
}

fn mean(values: &[f64]) -> Option<f64> {
    ratio(values.iter().sum(), values.len() as f64)
}

/// Jain's index, if there are at least two values.
fn index(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        None
    } else {
        jain_index(values)
    }
}

impl Probe for Yardsticks {
    fn opened(&mut self, _: Instant, _: FlowNumber, Opening { group, .. }: Opening) {
        if let Some(lives) = &mut self.lives {
            lives.open(group);
        }
        if let Some(rates) = &mut self.rates {
            rates.open(group);
        }
        if !self.ports.is_empty() {
            self.groups.push(group);
        }
    }

    fn sent(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {
        if let Some(lives) = &mut self.lives {
            lives.send(now, packet, state);
        }
    }

    fn arrived(&mut self, now: Instant, link: LinkId, packet: &Packet<Tag>, state: &PacketState) {
        self.advance(now);
        if let Some(port) = self.ports.get_mut(&link.0) {
            let group = self.groups.get(state.flow.0 as usize);
            let weight = group.map_or(1, |group| self.weights[*group as usize]);
            port.arrive(now, packet, state, weight);
        }
    }

    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        span: [Instant; 2],
    ) {
        self.advance(span[0]);
        if let Some(port) = self.port(link) {
            port.transmit(packet, state, span);
        }
    }

    fn dropped(
        &mut self,
        now: Instant,
        link: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        reason: DropReason,
    ) {
        if let Some(port) = self.port(link) {
            port.drop(now, packet, state, reason);
        }
    }

    fn delivered(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {
        if let Some(lives) = &mut self.lives {
            lives.receive(now, packet, state);
        }
        if let Some(rates) = &mut self.rates
            && state.direction == Direction::Forward
        {
            rates.receive(now, state.flow.0, packet.len);
        }
    }

    fn reported(&mut self, _: Instant, flow: FlowNumber, _: &Report) {
        if let Some(rates) = &mut self.rates {
            rates.tell(flow.0);
        }
    }

    fn closed(&mut self, now: Instant, flow: FlowNumber, _: &FlowCounts) {
        if let Some(lives) = &mut self.lives {
            lives.close(flow);
        }
        for port in self.ports.values_mut() {
            port.close(now, flow);
        }
    }
}
