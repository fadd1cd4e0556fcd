//! Measurements on request (`[meter]`): flows over their own lives, worst-case fair indices and
//! Jain's index while backlogged at links, series of rates.

use std::collections::BTreeMap;

use roundelay::{DropReason, Instant, Packet};
use roundelay_metrics::{correlation, jain_index, starved};
use serde::Serialize;

use super::lives::{FlowLife, Lives, Pace};
use super::measures::Measures;
use super::meter::FlowMeter;
use super::port_meter::{Backlogged, PortMeter};
use super::rates::{RateMeter, Rates};
use super::{Group, Scenario};
use crate::agent::Direction;
use crate::flows::{FlowCounts, FlowNumber};
use crate::network::{LinkClass, LinkId, Network};
use crate::packet_state::{PacketState, Tag};
use crate::probe::{Opening, Probe, Report};

/// Worst-case fair indices of a flow: the worst of the measured links on the route, after the
/// warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FlowIndices {
    /// B-WFI: the maximum lag behind the flow's share while backlogged, in bytes.
    pub b_wfi: f64,
    /// T-WFI: the maximum lateness of a packet relative to the flow's share, in seconds; none if no
    /// packet has left.
    pub t_wfi: Option<f64>,
}

/// Results of a group's flows over their own lives. Means are over the flows with the figure.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
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

/// Observer for the measurements on request.
#[derive(Debug)]
pub(super) struct Yardsticks {
    warmup: Option<Instant>,
    lives: Option<Lives>,
    rates: Option<RateMeter>,
    ports: BTreeMap<u32, PortMeter>,
    weights: Vec<u32>,
    /// Group of each flow, by flow number; kept only if ports are measured.
    groups: Vec<u32>,
}

impl Yardsticks {
    /// None if the scenario asks for no measurement.
    pub(super) fn new(network: &Network, scenario: &Scenario) -> Option<Self> {
        let &Measures {
            flows, wfi, rates, ..
        } = &scenario.measures;
        let pace = |group: &Group| {
            let facts = group.source.source().facts();
            Pace {
                rate: facts.rate,
                gap: facts.mean_gap,
            }
        };
        let lives = flows.then(|| Lives::new(scenario.groups.iter().map(pace).collect()));
        let class = measured_class(network);
        let links = (0..)
            .zip(network.links())
            // The indices compare with a link of constant rate.
            .filter(|(_, link)| wfi && Some(link.class) == class && link.trace.is_none());
        (flows || wfi || rates.is_some()).then(|| Self {
            warmup: Some(Instant::ZERO + scenario.warmup),
            lives,
            rates: rates.map(|interval| RateMeter::new(interval, scenario.duration)),
            ports: links
                .map(|(number, link)| (number, PortMeter::new(link)))
                .collect(),
            weights: scenario.groups.iter().map(Group::weight).collect(),
            groups: Vec::new(),
        })
    }

    /// Ends the warm-up at ports if it is over by `now`.
    fn advance(&mut self, now: Instant) {
        if let Some(warmup) = self.warmup.take_if(|warmup| *warmup <= now) {
            self.ports.values_mut().for_each(|port| port.forget(warmup));
        }
    }

    /// End of the run.
    pub(super) fn end(&mut self, now: Instant) {
        self.advance(now);
        self.ports.values_mut().for_each(|port| port.end(now));
    }

    /// Takes the series of rates out, if the scenario asks for them.
    pub(super) fn take_rates(&mut self) -> Option<Rates> {
        Some(self.rates.take()?.finish(&self.weights))
    }

    pub(super) fn life(&self, number: u64) -> Option<FlowLife> {
        Some(self.lives.as_ref()?.of(number))
    }

    pub(super) fn indices(&self, number: u64) -> Option<FlowIndices> {
        let all = self
            .ports
            .values()
            .filter_map(|port| port.indices(FlowNumber(number)));
        let worst = all.reduce(|one, other| {
            (
                one.0.max(other.0),
                one.1.into_iter().chain(other.1).reduce(f64::max),
            )
        })?;
        Some(FlowIndices {
            b_wfi: worst.0,
            t_wfi: worst.1,
        })
    }

    pub(super) fn backlogged(&self, link: usize) -> Option<Backlogged> {
        self.ports.get(&(link as u32))?.backlogged()
    }

    /// Results of one group or of all; `told`: the listed flows.
    pub(super) fn group(
        &self,
        group: Option<u32>,
        told: &[&FlowMeter],
        starved_below: f64,
    ) -> Option<GroupLives> {
        let lives = self.lives.as_ref()?;
        let mine = |of: u32| group.is_none_or(|group| group == of);
        let all: Vec<_> = lives
            .all()
            .filter(|(of, life)| mine(*of) && life.received > 0)
            .collect();
        let shares: Vec<_> = all
            .iter()
            .filter_map(|(of, life)| Some(life.throughput? / f64::from(self.weights[*of as usize])))
            .collect();
        let figures = |of: fn(&FlowLife) -> Option<f64>| {
            all.iter()
                .filter_map(|(_, life)| of(life))
                .collect::<Vec<_>>()
        };
        let ratios = figures(|life| life.bennett_zhang);
        let startups = figures(|life| life.startup_latency);
        let count = |of: fn(&FlowLife) -> u64| all.iter().map(|(_, life)| of(life)).sum::<u64>();
        let reordered = count(|life| life.reordered);
        let received = count(|life| life.received);
        let told: Vec<_> = told.iter().filter(|flow| mine(flow.group)).collect();
        let by_weight = |flow: &FlowMeter| {
            flow.packets.bytes as f64 / f64::from(self.weights[flow.group as usize])
        };
        let throughputs: Vec<_> = told.iter().map(|flow| by_weight(flow)).collect();
        let pairs = told.iter().filter_map(|flow| {
            Some((flow.packets.bytes as f64, lives.of(flow.number).round_trip?))
        });
        Some(GroupLives {
            flows: all.len() as u64,
            throughput: mean(&figures(|life| life.throughput)),
            jain: index(&shares),
            jain_of_ratios: index(&ratios),
            reordered,
            reordering: (received > 0).then(|| reordered as f64 / received as f64),
            round_trip: mean(&figures(|life| life.round_trip)),
            bennett_zhang: mean(&ratios),
            bennett_zhang_min: ratios.iter().copied().reduce(f64::min),
            startup_latency: mean(&startups),
            startup_latency_max: startups.iter().copied().reduce(f64::max),
            starved: starved(&throughputs, starved_below) as u64,
            correlation: correlation(pairs),
        })
    }

    fn port(&mut self, link: LinkId) -> Option<&mut PortMeter> {
        self.ports.get_mut(&link.0)
    }
}

/// The class of measured links: core, or edge without core.
pub(super) fn measured_class(network: &Network) -> Option<LinkClass> {
    [LinkClass::Core, LinkClass::Edge]
        .into_iter()
        .find(|class| network.links().iter().any(|link| link.class == *class))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Jain's index of two values or more.
fn index(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        None
    } else {
        jain_index(values)
    }
}

impl Probe for Yardsticks {
    fn opened(&mut self, _: Instant, _: FlowNumber, Opening { group, .. }: Opening) {
        self.lives.iter_mut().for_each(|lives| lives.open(group));
        self.rates.iter_mut().for_each(|rates| rates.open(group));
        if !self.ports.is_empty() {
            self.groups.push(group);
        }
    }

    fn sent(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {
        self.lives
            .iter_mut()
            .for_each(|lives| lives.send(now, packet, state));
    }

    fn arrived(&mut self, now: Instant, link: LinkId, packet: &Packet<Tag>, state: &PacketState) {
        self.advance(now);
        if self.ports.contains_key(&link.0) {
            let weight = self
                .groups
                .get(state.flow.0 as usize)
                .map_or(1, |group| self.weights[*group as usize]);
            self.port(link)
                .into_iter()
                .for_each(|port| port.arrive(now, packet, state, weight));
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
        self.port(link)
            .into_iter()
            .for_each(|port| port.transmit(packet, state, span));
    }

    fn dropped(
        &mut self,
        now: Instant,
        link: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        reason: DropReason,
    ) {
        self.port(link)
            .into_iter()
            .for_each(|port| port.drop(now, packet, state, reason));
    }

    fn delivered(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {
        self.lives
            .iter_mut()
            .for_each(|lives| lives.receive(now, packet, state));
        if state.direction == Direction::Forward {
            self.rates
                .iter_mut()
                .for_each(|rates| rates.receive(now, state.flow.0, packet.len));
        }
    }

    fn reported(&mut self, _: Instant, flow: FlowNumber, _: &Report) {
        self.rates.iter_mut().for_each(|rates| rates.tell(flow.0));
    }

    fn closed(&mut self, now: Instant, flow: FlowNumber, _: &FlowCounts) {
        self.lives.iter_mut().for_each(|lives| lives.close(flow));
        self.ports
            .values_mut()
            .for_each(|port| port.close(now, flow));
    }
}
