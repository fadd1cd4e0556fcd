//! What a run gives. Times in seconds, rates in bits per second, sizes in bytes.

mod groups;
mod links;

use std::sync::Arc;

use roundelay::{DropReason, Duration};
use roundelay_metrics::Delays;
use serde::Serialize;

use super::Scenario;
use super::curves::Curves;
use super::flow_meter::{FlowMeter, Packets};
use super::link_state::LinkState;
use super::lives::FlowLife;
use super::meter::{Meter, TOLD_FLOWS};
use super::port_meter::Backlogged;
use super::rates::Rates;
use super::transfers::Transfer;
use super::yardsticks::{FlowIndices, GroupLives, Yardsticks};
use crate::ids::NodeId;
use crate::network::link_name;

/// Packets by fate. The fates, all but `late`, add up to the packets sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Fates {
    /// Sent after the warm-up.
    pub sent: u64,
    /// Received.
    pub delivered: u64,
    /// Dropped: the queue was full.
    pub full: u64,
    /// Dropped from a full queue to make room for another packet.
    pub pushed_out: u64,
    /// Dropped early, to signal congestion.
    pub early: u64,
    /// Refused by the discipline.
    pub refused: u64,
    /// Acknowledgements that later ones repeat, dropped by `cake ack-filter`: nothing is lost.
    pub filtered: u64,
    /// Lost on a wire.
    pub lost: u64,
    /// Dropped by Edge-CoDel at the end of the route.
    pub edge_dropped: u64,
    /// Received packets with a longer delay than `[meter] late`.
    pub late: u64,
    /// Still in the network at the end of the run.
    pub on_their_way: u64,
}

impl Fates {
    /// Adds another group's packets.
    const fn add(&mut self, other: Self) {
        let Fates {
            sent,
            delivered,
            full,
            pushed_out,
            early,
            refused,
            filtered,
            lost,
            edge_dropped,
            late,
            on_their_way,
        } = other;
        self.sent += sent;
        self.delivered += delivered;
        self.full += full;
        self.pushed_out += pushed_out;
        self.early += early;
        self.refused += refused;
        self.filtered += filtered;
        self.lost += lost;
        self.edge_dropped += edge_dropped;
        self.late += late;
        self.on_their_way += on_their_way;
    }

    fn of(packets: &Packets) -> Self {
        let [full, pushed_out, early, refused, filtered] = packets.dropped;
        let Packets {
            sent,
            delivered,
            lost,
            edge_dropped,
            late,
            ..
        } = *packets;
        let gone = delivered + lost + edge_dropped + packets.dropped.iter().sum::<u64>();
        Self {
            sent,
            delivered,
            full,
            pushed_out,
            early,
            refused,
            filtered,
            lost,
            edge_dropped,
            late,
            on_their_way: sent.saturating_sub(gone),
        }
    }

    /// Which fraction of the packets was not received. Only packets whose fate is known count.
    pub fn loss(&self) -> Option<f64> {
        self.part(self.gone())
    }

    /// Which part of the packets arrived, and not late. Only packets whose fate is known count.
    pub fn in_time(&self) -> Option<f64> {
        self.part(self.delivered - self.late)
    }

    /// Packets that a receiver misses.
    const fn gone(&self) -> u64 {
        self.full + self.pushed_out + self.early + self.refused + self.lost + self.edge_dropped
    }

    fn part(&self, packets: u64) -> Option<f64> {
        let known = self.delivered + self.gone();
        (known > 0).then(|| packets as f64 / known as f64)
    }
}

/// A distribution of times.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Spread {
    /// Number of values.
    pub count: u64,
    /// Mean.
    pub mean: Option<f64>,
    /// Median.
    pub p50: Option<f64>,
    /// 90th percentile.
    pub p90: Option<f64>,
    /// 99th percentile.
    pub p99: Option<f64>,
    /// 99.9th percentile.
    pub p999: Option<f64>,
    /// Maximum.
    pub max: Option<f64>,
}

impl Spread {
    fn of(delays: &Delays) -> Self {
        let seconds = |span: Option<Duration>| span.map(Duration::as_secs_f64);
        let [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map(|q| seconds(delays.quantile(q)));
        Self {
            count: delays.count(),
            mean: seconds(delays.mean()),
            p50,
            p90,
            p99,
            p999,
            max: seconds(delays.maximum()),
        }
    }
}

/// Results of a group of sources.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GroupResult {
    /// Name of the group.
    pub name: String,
    /// Kind of the sources.
    pub kind: &'static str,
    /// Flows opened.
    pub flows: u64,
    /// Packets by fate.
    pub packets: Fates,
    /// The fraction of packets not received.
    pub loss: Option<f64>,
    /// Part of the packets that arrived in time; none without `[meter] late`.
    pub in_time: Option<f64>,
    /// Received packets marked by Edge-CoDel; none without Edge-CoDel.
    pub edge_marked: Option<u64>,
    /// Data received after the warm-up, with headers and retransmissions.
    pub throughput: f64,
    /// Packet delay from the agent to the end of the route.
    pub delay: Spread,
    /// Standard deviation of the packet delay.
    pub delay_deviation: Option<f64>,
    /// Jain's index of the flows' throughputs by weight; none for fewer than two flows, or if any
    /// has ended. Of request-response sources only the responses count.
    pub jain: Option<f64>,
    /// The same of hosts' throughputs, where some host has several flows. Hosts are the flows'
    /// receivers, or their senders if these are fewer. There is none for a single host.
    pub jain_hosts: Option<f64>,
    /// The least host's throughput as a part of the hosts' mean.
    pub least_host: Option<f64>,
    /// Completion times of complete transfers begun after the warm-up, or in the window
    /// `[meter] started`.
    pub completion: Spread,
    /// Mean completion time weighted by the transfers' bytes.
    pub completion_by_bytes: Option<f64>,
    /// Mean goodput of these transfers: data divided by completion time.
    pub goodput: Option<f64>,
    /// Counted transfers that were cut off, by their stop or the end of the run, or lost packets
    /// for good.
    pub incomplete: u64,
    /// Segments retransmitted after the warm-up, until the end of the run; none without flows over
    /// TCP.
    pub retransmissions: Option<u64>,
    /// Senders' timeouts in the same time.
    pub timeouts: Option<u64>,
    /// Mean round trips of complete transfers over TCP, without the time spent at receivers.
    pub round_trip: Spread,
    /// Mean round trip weighted by the transfers' bytes.
    pub round_trip_by_bytes: Option<f64>,
    /// The transfers by size class, the smallest first, without empty classes.
    pub sizes: Vec<SizeResult>,
    /// The flows over their own lives, if the scenario asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lives: Option<GroupLives>,
}

/// Results of complete transfers of one size class.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SizeResult {
    /// Lower limit of the size, exclusive.
    pub above: u64,
    /// Upper limit, inclusive: a power of ten, or from `[meter] sizes`; none without a limit.
    pub up_to: Option<u64>,
    /// Bytes of all transfers.
    pub bytes: u64,
    /// Completion times.
    pub completion: Spread,
    /// Mean goodput: data divided by completion time.
    pub goodput: f64,
    /// Mean round trips of transfers over TCP.
    pub round_trip: Spread,
}

/// Results of a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct LinkResult {
    /// Node at the start.
    pub from: String,
    /// Node at the end.
    pub to: String,
    /// Class of the link.
    pub class: &'static str,
    /// Discipline of the queue.
    pub queue: String,
    /// Buffer size: packets as in 1000p, or bytes; "no limit" from 100,000,000 packets on.
    pub buffer: String,
    /// Rate of the link; with a trace, the mean.
    pub rate: u64,
    /// The file of the link's trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<String>,
    /// The fraction of the time spent sending, with the sent part of an unfinished packet; with a
    /// trace, the fraction of its bytes.
    pub utilisation: f64,
    /// Packets that arrived at the link.
    pub arrived: u64,
    /// Packets transmitted.
    pub packets: u64,
    /// Packets dropped by the queue, by reason: full, pushed out, early, refused,
    /// filtered (acknowledgements that later ones repeat).
    pub dropped: [u64; DropReason::ALL.len()],
    /// Packets lost on the wire.
    pub lost: u64,
    /// Mean wait of packets that arrived after the warm-up and were transmitted; of an interrupted
    /// packet, all the time without transmission.
    pub wait: Option<f64>,
    /// Fairness to flows that stayed backlogged, if the scenario asks and there were two.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlogged: Option<Backlogged>,
}

impl LinkResult {
    /// Which fraction of the packets was dropped or lost, among all that were sent or dropped after
    /// the warm-up.
    pub fn loss(&self) -> Option<f64> {
        links::loss([self])
    }

    /// The link's name: FROM > TO.
    pub fn name(&self) -> String {
        link_name(&self.from, &self.to)
    }
}

/// Results of the links of a class.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClassResult {
    /// Name of the class.
    pub class: &'static str,
    /// Number of links, one way each.
    pub links: u64,
    /// Mean utilisation.
    pub utilisation: f64,
    /// Utilisation of the busiest link.
    pub busiest: f64,
    /// Name of the busiest link.
    pub busiest_link: String,
    /// Packets that arrived at the links.
    pub arrived: u64,
    /// Packets dropped by the queues, by reason: full, pushed out, early, refused,
    /// filtered (acknowledgements that later ones repeat).
    pub dropped: [u64; DropReason::ALL.len()],
    /// Packets lost on the wires.
    pub lost: u64,
    /// The fraction of packets dropped or lost, of all sent or dropped after the warm-up.
    pub loss: Option<f64>,
    /// Waits in the queues, of the same packets as [`LinkResult::wait`].
    pub wait: Spread,
}

/// Results of a flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FlowResult {
    /// Flow number, in the order of opening.
    pub number: u64,
    /// Name of the flow's group.
    pub group: Arc<str>,
    /// Node at the start.
    pub from: Arc<str>,
    /// Node at the end.
    pub to: Arc<str>,
    /// Time of opening.
    pub opened: f64,
    /// Whether the flow was open at the end.
    pub open: bool,
    /// Packets by fate.
    pub packets: Fates,
    /// Data received after the warm-up.
    pub throughput: f64,
    /// Mean delay.
    pub delay: Option<f64>,
    /// Standard deviation of the packet delay.
    pub delay_deviation: Option<f64>,
    /// Longest delay.
    pub longest_delay: Option<f64>,
    /// Segments retransmitted after the warm-up; none without TCP.
    pub retransmissions: Option<u64>,
    /// The sender's timeouts in the same time.
    pub timeouts: Option<u64>,
    /// The flow over its own life, if the scenario asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub life: Option<FlowLife>,
    /// Worst-case fair indices, if the scenario asks and the flow crossed a measured link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indices: Option<FlowIndices>,
}

/// Results of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Results {
    /// The seed.
    pub seed: u64,
    /// Events: arrivals at the ends of links, departures, calls by time.
    pub events: u64,
    /// Packets sent by links, once for each link.
    pub packet_hops: u64,
    /// By group, in the order of the scenario; the last is the sum if there are several.
    pub groups: Vec<GroupResult>,
    /// By class of links, without empty classes.
    pub classes: Vec<ClassResult>,
    /// By link.
    pub links: Vec<LinkResult>,
    /// By flow: the first 4,096 ended flows and all open flows.
    pub flows: Vec<FlowResult>,
    /// Number of other ended flows.
    pub flows_left_out: u64,
    /// The other ended flows, if the [scenario](Scenario) keeps all; not in JSON.
    #[serde(skip)]
    pub more_flows: Vec<FlowResult>,
    /// Counted transfers, by flow and start, complete or not, if the scenario
    /// [asks](super::Measures::transfers); not in JSON.
    #[serde(skip)]
    pub transfers: Vec<Transfer>,
    /// Bytes received by flows over time, if the scenario [asks](super::Measures::rates); not in
    /// JSON.
    #[serde(skip)]
    pub rates: Option<Rates>,
    /// Links and sources over time, if the scenario [asks](super::Measures::over_time).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub over_time: Option<Curves>,
}

impl Results {
    /// `before` has the links' counters from the end of the warm-up. The lists of transfers and
    /// rates stay empty.
    pub(super) fn new(
        scenario: &Scenario,
        [seed, events]: [u64; 2],
        meter: &Meter,
        yardsticks: Option<&Yardsticks>,
        [before, after]: [&[LinkState]; 2],
    ) -> Self {
        let seconds = (scenario.duration - scenario.warmup).as_secs_f64();
        let mut links = links::links(scenario, seconds, meter, before, after);
        let packet_hops = after.iter().map(|link| link.counts.packets).sum();
        let names = Names::of(scenario);
        let known = meter.flows.iter().filter(|flow| flow.number != u64::MAX);
        let mut flows: Vec<&FlowMeter> = known.collect();
        flows.sort_by_key(|flow| flow.number);
        let mut listed = Vec::new();
        let mut more_flows = Vec::new();
        for flow in &flows {
            let mut result = flow_result(&names, seconds, flow);
            if let Some(yardsticks) = yardsticks {
                result.life = yardsticks.life(flow.number);
                result.indices = yardsticks.indices(flow.number);
            }
            if flow.is_late {
                more_flows.push(result);
            } else {
                listed.push(result);
            }
        }
        let mut groups = groups::groups(scenario, seconds, meter, &flows);
        if let Some(yardsticks) = yardsticks {
            for (number, link) in links.iter_mut().enumerate() {
                link.backlogged = yardsticks.backlogged(number);
            }
            for (number, group) in groups.iter_mut().enumerate() {
                // The last group is the sum of all.
                let of = if number < scenario.groups.len() {
                    Some(number as u32)
                } else {
                    None
                };
                group.lives = yardsticks.group(of, &flows, scenario.measures.starved_below);
            }
        }
        let flows_left_out = meter.closed.saturating_sub(TOLD_FLOWS as u64);
        let classes = links::classes(&links, meter);
        let transfers = Vec::new();
        let rates = None;
        Self {
            seed,
            events,
            packet_hops,
            groups,
            classes,
            links,
            flows: listed,
            flows_left_out,
            more_flows,
            transfers,
            rates,
            over_time: None,
        }
    }
}

/// Names of groups and nodes, stored once for all flows.
struct Names {
    groups: Vec<Arc<str>>,
    nodes: Vec<Arc<str>>,
}

impl Names {
    fn of(scenario: &Scenario) -> Self {
        let network = &scenario.topology.network;
        let groups = scenario.groups.iter();
        let nodes = (0..network.nodes() as u32).map(NodeId);
        Self {
            groups: groups.map(|group| group.name.as_str().into()).collect(),
            nodes: nodes.map(|node| network.name(node).into()).collect(),
        }
    }
}

fn flow_result(names: &Names, seconds: f64, flow: &FlowMeter) -> FlowResult {
    let packets = &flow.packets;
    FlowResult {
        number: flow.number,
        group: names.groups[flow.group as usize].clone(),
        from: names.nodes[flow.from.index()].clone(),
        to: names.nodes[flow.to.index()].clone(),
        opened: flow.opened.as_secs_f64(),
        open: flow.is_open,
        packets: Fates::of(packets),
        throughput: packets.bytes as f64 * 8.0 / seconds,
        delay: packets.mean(),
        delay_deviation: packets.deviation(packets.delivered),
        longest_delay: (packets.delivered > 0).then(|| packets.longest.as_secs_f64()),
        retransmissions: flow.repairs.map(|repairs| repairs.retransmissions),
        timeouts: flow.repairs.map(|repairs| repairs.timeouts),
        life: None,
        indices: None,
    }
}
