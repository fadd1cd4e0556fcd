//! Yardsticks on request (`[meter]`): flows over their own lives, worst-case fair indices and Jain's index while backlogged at links, series of rates.

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
use crate::cargo::{Cargo, Carried};
use crate::flows::{FlowCounts, FlowNumber};
use crate::network::{LinkClass, LinkId, Network, NodeId};
use crate::probe::{Probe, Report};

/// Worst-case fair indices of a flow: the worst over the links on its way that were measured, after the warm-up.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FlowIndices {
    /// B-WFI: bytes that it was behind its share at worst while backlogged.
    pub b_wfi: f64,
    /// T-WFI: seconds that a packet was later than its flow's share would have sent it; none if no packet has left.
    pub t_wfi: Option<f64>,
}

/// What came of a group's flows over their own lives. Means are over the flows that have the figure.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct GroupLives {
    /// Flows of which a packet was received.
    pub flows: u64,
    /// Mean of their throughputs, bits a second.
    pub throughput: Option<f64>,
    /// Jain's index of their throughputs by weight, whether they have ended or not.
    pub jain: Option<f64>,
    /// Jain's index of Bennett and Zhang's ratios: of throughputs by what sources ask for.
    pub jain_of_ratios: Option<f64>,
    /// Packets received after one that was sent later.
    pub reordered: u64,
    /// The part of the packets received that these are.
    pub reordering: Option<f64>,
    /// Mean of the flows' mean round trips, seconds.
    pub round_trip: Option<f64>,
    /// Mean of Bennett and Zhang's ratios.
    pub bennett_zhang: Option<f64>,
    /// The smallest of them.
    pub bennett_zhang_min: Option<f64>,
    /// Mean startup latency of flows that have ended, seconds.
    pub startup_latency: Option<f64>,
    /// The longest.
    pub startup_latency_max: Option<f64>,
    /// Flows whose throughput by weight after the warm-up is less than `starved_below` of the mean one; of the flows that are told one by one.
    pub starved: u64,
    /// Pearson's correlation of these throughputs with round trips.
    pub correlation: Option<f64>,
}

/// Whoever measures.
#[derive(Debug)]
pub(super) struct Yardsticks {
    warmup: Option<Instant>,
    lives: Option<Lives>,
    rates: Option<RateMeter>,
    ports: BTreeMap<u32, PortMeter>,
    weights: Vec<u32>,
    /// Of each flow, by its number; kept where ports are measured.
    groups: Vec<u32>,
}

impl Yardsticks {
    /// None if nothing is asked for.
    pub(super) fn new(network: &Network, scenario: &Scenario) -> Option<Self> {
        let &Measures { flows, wfi, rates, .. } = &scenario.measures;
        let pace = |group: &Group| Pace { rate: group.source.rate(), gap: group.source.mean_gap() };
        let lives = flows.then(|| Lives::new(scenario.groups.iter().map(pace).collect()));
        let class = measured_class(network);
        let links = (0..).zip(network.links()).filter(|(_, link)| wfi && Some(link.class) == class);
        (flows || wfi || rates.is_some()).then(|| Self {
            warmup: Some(Instant::ZERO + scenario.warmup),
            lives,
            rates: rates.map(|interval| RateMeter::new(interval, scenario.duration)),
            ports: links.map(|(number, link)| (number, PortMeter::new(link))).collect(),
            weights: scenario.groups.iter().map(Group::weight).collect(),
            groups: Vec::new(),
        })
    }

    /// Time has come this far.
    fn advance(&mut self, now: Instant) {
        if let Some(warmup) = self.warmup.take_if(|warmup| *warmup <= now) {
            self.ports.values_mut().for_each(|port| port.forget(warmup));
        }
    }

    /// The run ends.
    pub(super) fn end(&mut self, now: Instant) {
        self.advance(now);
        self.ports.values_mut().for_each(|port| port.end(now));
    }

    /// Series of rates, if they are asked for. They are gone then.
    pub(super) fn take_rates(&mut self) -> Option<Rates> {
        Some(self.rates.take()?.finish(&self.weights))
    }

    pub(super) fn life(&self, number: u64) -> Option<FlowLife> {
        Some(self.lives.as_ref()?.of(number))
    }

    pub(super) fn indices(&self, number: u64) -> Option<FlowIndices> {
        let all = self.ports.values().filter_map(|port| port.indices(FlowNumber(number)));
        let worst = all.reduce(|one, other| (one.0.max(other.0), one.1.into_iter().chain(other.1).reduce(f64::max)))?;
        Some(FlowIndices { b_wfi: worst.0, t_wfi: worst.1 })
    }

    pub(super) fn backlogged(&self, link: usize) -> Option<Backlogged> {
        self.ports.get(&(link as u32))?.backlogged()
    }

    /// Of one group or of all; `told` are the flows that are told one by one.
    pub(super) fn group(&self, group: Option<u32>, told: &[&FlowMeter], starved_below: f64) -> Option<GroupLives> {
        let lives = self.lives.as_ref()?;
        let mine = |of: u32| group.is_none_or(|group| group == of);
        let all: Vec<_> = lives.all().filter(|(of, life)| mine(*of) && life.received > 0).collect();
        let shares: Vec<_> = all.iter().filter_map(|(of, life)| Some(life.throughput? / f64::from(self.weights[*of as usize]))).collect();
        let figures = |of: fn(&FlowLife) -> Option<f64>| all.iter().filter_map(|(_, life)| of(life)).collect::<Vec<_>>();
        let (ratios, startups) = (figures(|life| life.bennett_zhang), figures(|life| life.startup_latency));
        let count = |of: fn(&FlowLife) -> u64| all.iter().map(|(_, life)| of(life)).sum::<u64>();
        let (reordered, received) = (count(|life| life.reordered), count(|life| life.received));
        let told: Vec<_> = told.iter().filter(|flow| mine(flow.group)).collect();
        let by_weight = |flow: &FlowMeter| flow.packets.bytes as f64 / f64::from(self.weights[flow.group as usize]);
        let throughputs: Vec<_> = told.iter().map(|flow| by_weight(flow)).collect();
        let pairs = told.iter().filter_map(|flow| Some((flow.packets.bytes as f64, lives.of(flow.number).round_trip?)));
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

/// The class of links that are measured: the core, or the edge if there is no core.
pub(super) fn measured_class(network: &Network) -> Option<LinkClass> {
    [LinkClass::Core, LinkClass::Edge].into_iter().find(|class| network.links().iter().any(|link| link.class == *class))
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Of two flows or more.
fn index(values: &[f64]) -> Option<f64> {
    if values.len() < 2 { None } else { jain_index(values) }
}

impl Probe for Yardsticks {
    fn opened(&mut self, _: Instant, _: FlowNumber, group: u32, _: NodeId, _: NodeId) {
        self.lives.iter_mut().for_each(|lives| lives.open(group));
        self.rates.iter_mut().for_each(|rates| rates.open(group));
        if !self.ports.is_empty() {
            self.groups.push(group);
        }
    }

    fn sent(&mut self, now: Instant, packet: &Packet<Carried>, cargo: &Cargo) {
        self.lives.iter_mut().for_each(|lives| lives.send(now, packet, cargo));
    }

    fn arrived(&mut self, now: Instant, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo) {
        self.advance(now);
        if self.ports.contains_key(&link.0) {
            let weight = self.groups.get(cargo.flow.0 as usize).map_or(1, |group| self.weights[*group as usize]);
            self.port(link).into_iter().for_each(|port| port.arrive(now, packet, cargo, weight));
        }
    }

    fn transmitted(&mut self, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo, span: [Instant; 2]) {
        self.advance(span[0]);
        self.port(link).into_iter().for_each(|port| port.transmit(packet, cargo, span));
    }

    fn dropped(&mut self, now: Instant, link: LinkId, packet: &Packet<Carried>, cargo: &Cargo, reason: DropReason) {
        self.port(link).into_iter().for_each(|port| port.drop(now, packet, cargo, reason));
    }

    fn delivered(&mut self, now: Instant, packet: &Packet<Carried>, cargo: &Cargo) {
        self.lives.iter_mut().for_each(|lives| lives.receive(now, packet, cargo));
        if cargo.direction == Direction::Forward {
            self.rates.iter_mut().for_each(|rates| rates.receive(now, cargo.flow.0, packet.len));
        }
    }

    fn reported(&mut self, _: Instant, flow: FlowNumber, _: &Report) {
        self.rates.iter_mut().for_each(|rates| rates.tell(flow.0));
    }

    fn closed(&mut self, now: Instant, flow: FlowNumber, _: &FlowCounts) {
        self.lives.iter_mut().for_each(|lives| lives.close(flow));
        self.ports.values_mut().for_each(|port| port.close(now, flow));
    }
}
