//! What came of a run. Times in seconds, rates in bits per second, sizes in bytes.

mod groups;
mod links;

use std::sync::Arc;

use roundelay::{DropReason, Duration};
use roundelay_metrics::Delays;
use serde::Serialize;

pub(super) use groups::ALL;

use super::Scenario;
use super::lives::FlowLife;
use super::meter::{FlowMeter, Meter, Packets, TOLD_FLOWS};
use super::port_meter::Backlogged;
use super::rates::Rates;
use super::transfers::Transfer;
use super::yardsticks::{FlowIndices, GroupLives, Yardsticks};
use crate::link::LinkCounts;
use crate::network::{NodeId, link_name};

/// Packets by what became of them. They add up to those sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Fates {
    /// Sent after the warm-up.
    pub sent: u64,
    /// Arrived.
    pub delivered: u64,
    /// The queue was full.
    pub full: u64,
    /// The queue was full, and this one was given up for another.
    pub pushed_out: u64,
    /// Dropped early, to signal congestion.
    pub early: u64,
    /// The discipline would not take it.
    pub refused: u64,
    /// Lost on a wire.
    pub lost: u64,
    /// Dropped by Edge-CoDel at the end of the route.
    pub edge_dropped: u64,
    /// On its way when the run ended.
    pub on_their_way: u64,
}

impl Fates {
    fn of(packets: &Packets) -> Self {
        let [full, pushed_out, early, refused] = packets.dropped;
        let Packets { sent, delivered, lost, edge_dropped, .. } = *packets;
        let gone = delivered + lost + edge_dropped + packets.dropped.iter().sum::<u64>();
        Self { sent, delivered, full, pushed_out, early, refused, lost, edge_dropped, on_their_way: sent.saturating_sub(gone) }
    }

    /// The part of those whose fate is known that did not arrive.
    pub fn loss(&self) -> Option<f64> {
        let gone = self.full + self.pushed_out + self.early + self.refused + self.lost + self.edge_dropped;
        let known = self.delivered + gone;
        (known > 0).then(|| gone as f64 / known as f64)
    }
}

/// A distribution of times.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Spread {
    /// How many.
    pub count: u64,
    /// Their mean.
    pub mean: Option<f64>,
    /// Half of them are no longer.
    pub p50: Option<f64>,
    /// 9 of 10 are no longer.
    pub p90: Option<f64>,
    /// 99 of 100 are no longer.
    pub p99: Option<f64>,
    /// 999 of 1000 are no longer.
    pub p999: Option<f64>,
    /// The longest.
    pub max: Option<f64>,
}

impl Spread {
    fn of(delays: &Delays) -> Self {
        let seconds = |span: Option<Duration>| span.map(Duration::as_secs_f64);
        let [p50, p90, p99, p999] = [0.5, 0.9, 0.99, 0.999].map(|q| seconds(delays.quantile(q)));
        Self { count: delays.count(), mean: seconds(delays.mean()), p50, p90, p99, p999, max: seconds(delays.maximum()) }
    }
}

/// What came of a group of sources.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GroupResult {
    /// Its name.
    pub name: String,
    /// What its sources are.
    pub kind: &'static str,
    /// Flows that it opened.
    pub flows: u64,
    /// Its packets.
    pub packets: Fates,
    /// The part of them that did not arrive.
    pub loss: Option<f64>,
    /// Packets that Edge-CoDel marked, part of those delivered; none if it is not at work.
    pub edge_marked: Option<u64>,
    /// What arrived after the warm-up, headers and what was sent twice included.
    pub throughput: f64,
    /// From an agent to the end of the route.
    pub delay: Spread,
    /// Of one packet's delay from the mean.
    pub delay_deviation: Option<f64>,
    /// Jain's index of the throughputs by weight of its flows; none if there are not two, or if any has ended. Of sources that ask and are answered
    /// the answers count, not the requests.
    pub jain: Option<f64>,
    /// Times until transfers were complete that count, which are those that began after the warm-up or in `[meter] started`: flow completion times.
    pub completion: Spread,
    /// Their mean weighted by the transfers' bytes.
    pub completion_by_bytes: Option<f64>,
    /// Mean over these transfers of their bytes by their time.
    pub goodput: Option<f64>,
    /// Transfers that count and were cut off, by their stop or the end of the run, or lost packets for good.
    pub incomplete: u64,
    /// Segments that were sent again after the warm-up, until the end of the run; none if none of its flows is over TCP.
    pub retransmissions: Option<u64>,
    /// Timeouts of senders, likewise.
    pub timeouts: Option<u64>,
    /// Mean round trips of complete transfers over TCP, the time that receivers took not counted.
    pub round_trip: Spread,
    /// Their mean weighted by the transfers' bytes.
    pub round_trip_by_bytes: Option<f64>,
    /// The transfers by size, the smallest first: those that there are.
    pub sizes: Vec<SizeResult>,
    /// Its flows over their own lives, where the scenario asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lives: Option<GroupLives>,
}

/// What came of complete transfers of about one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SizeResult {
    /// They have more bytes than this,
    pub above: u64,
    /// and up to so many: a power of ten, or as `[meter] sizes` has it; none if they may have more.
    pub up_to: Option<u64>,
    /// Their bytes in all.
    pub bytes: u64,
    /// Times until they were complete.
    pub completion: Spread,
    /// Mean of their bytes by their time.
    pub goodput: f64,
    /// Mean round trips of those over TCP.
    pub round_trip: Spread,
}

/// What came of a link.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LinkResult {
    /// Where it begins.
    pub from: String,
    /// Where it ends.
    pub to: String,
    /// What kind it is.
    pub class: &'static str,
    /// What orders its queue.
    pub queue: String,
    /// What its buffer holds: packets as in 1000p, or bytes; "no limit" from 100,000,000 packets on.
    pub buffer: String,
    /// Its rate.
    pub rate: u64,
    /// The part of the time that it was at work: what it has begun counts as far as it has come.
    pub utilisation: f64,
    /// Packets that came to it.
    pub arrived: u64,
    /// Packets that got it.
    pub packets: u64,
    /// Packets that its queue dropped, in the order of the reasons: full, pushed out, early, refused.
    pub dropped: [u64; DropReason::ALL.len()],
    /// Packets that were lost on its wire.
    pub lost: u64,
    /// Mean time that packets waited that came to it after the warm-up and got it; of one that was interrupted, all the time that it was not sent.
    pub wait: Option<f64>,
    /// How evenly it served flows that stayed backlogged, where the scenario asks and two did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub backlogged: Option<Backlogged>,
}

impl LinkResult {
    /// The part of the packets whose fate it settled after the warm-up, sent or dropped, that it dropped or lost.
    pub fn loss(&self) -> Option<f64> {
        links::loss([self])
    }

    /// What it is called: FROM > TO.
    pub fn name(&self) -> String {
        link_name(&self.from, &self.to)
    }
}

/// What came of the links of a class.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClassResult {
    /// Its name.
    pub class: &'static str,
    /// Its links, one way each.
    pub links: u64,
    /// Their mean utilisation.
    pub utilisation: f64,
    /// The utilisation of the busiest.
    pub busiest: f64,
    /// Which that is.
    pub busiest_link: String,
    /// Packets that came to them.
    pub arrived: u64,
    /// Packets that their queues dropped, in the order of the reasons: full, pushed out, early, refused.
    pub dropped: [u64; DropReason::ALL.len()],
    /// Packets that were lost on their wires.
    pub lost: u64,
    /// The part of those whose fate they settled after the warm-up, sent or dropped, that they dropped or lost.
    pub loss: Option<f64>,
    /// Times that packets waited in their queues, of the same packets as those of links.
    pub wait: Spread,
}

/// What came of a flow.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FlowResult {
    /// Its number: flows are counted as they are opened.
    pub number: u64,
    /// Its group.
    pub group: Arc<str>,
    /// Where it begins.
    pub from: Arc<str>,
    /// Where it ends.
    pub to: Arc<str>,
    /// When it was opened.
    pub opened: f64,
    /// Whether it was open at the end.
    pub open: bool,
    /// Its packets.
    pub packets: Fates,
    /// What arrived of it after the warm-up.
    pub throughput: f64,
    /// Mean delay.
    pub delay: Option<f64>,
    /// Of one packet's delay from that.
    pub delay_deviation: Option<f64>,
    /// Longest delay.
    pub longest_delay: Option<f64>,
    /// Its segments that were sent again after the warm-up; none if it is not over TCP.
    pub retransmissions: Option<u64>,
    /// Timeouts of its sender, likewise.
    pub timeouts: Option<u64>,
    /// Over its own life, where the scenario asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub life: Option<FlowLife>,
    /// How far it was behind its share, where the scenario asks and it crossed a link that is measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub indices: Option<FlowIndices>,
}

impl FlowResult {
    fn measure(&mut self, yardsticks: &Yardsticks) {
        (self.life, self.indices) = (yardsticks.life(self.number), yardsticks.indices(self.number));
    }
}

/// What came of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Results {
    /// The seed.
    pub seed: u64,
    /// Events: arrivals at the ends of links, departures, calls by time.
    pub events: u64,
    /// Packets that links have sent, counted once a link.
    pub packet_hops: u64,
    /// By group, in the order of the scenario; where there are several, their sum comes last.
    pub groups: Vec<GroupResult>,
    /// By class of links: those that there are.
    pub classes: Vec<ClassResult>,
    /// By link.
    pub links: Vec<LinkResult>,
    /// By flow: the first 4,096 that ended and all that are open.
    pub flows: Vec<FlowResult>,
    /// Flows that have ended beyond these.
    pub flows_left_out: u64,
    /// What came of them, if the [scenario](Scenario) keeps all; not in JSON.
    #[serde(skip)]
    pub more_flows: Vec<FlowResult>,
    /// Transfers that count, by flow and start, complete or not, if the scenario [asks](super::Measures::transfers); not in JSON.
    #[serde(skip)]
    pub transfers: Vec<Transfer>,
    /// Bytes that flows received over time, if the scenario [asks](super::Measures::rates); not in JSON.
    #[serde(skip)]
    pub rates: Option<Rates>,
}

/// What a link had done at some instant.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinkState {
    pub(super) counts: LinkCounts,
    pub(super) at_work: Duration,
}

impl Results {
    /// `before`: what links had counted at the end of the warm-up. Without lists of transfers and rates.
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
        let mut flows: Vec<_> = meter.flows.iter().filter(|flow| flow.number != u64::MAX).collect();
        flows.sort_by_key(|flow| flow.number);
        let result = |is_late| flows.iter().filter(move |flow| flow.is_late == is_late).map(|flow| flow_result(&names, seconds, flow));
        let (mut told, mut more_flows): (Vec<_>, Vec<_>) = (result(false).collect(), result(true).collect());
        let mut groups = groups::groups(scenario, seconds, meter, &flows);
        if let Some(yardsticks) = yardsticks {
            told.iter_mut().chain(&mut more_flows).for_each(|flow| flow.measure(yardsticks));
            links.iter_mut().enumerate().for_each(|(number, link)| link.backlogged = yardsticks.backlogged(number));
            for (number, group) in (0..).zip(&mut groups) {
                let of = Some(number).filter(|number| (*number as usize) < scenario.groups.len());
                group.lives = yardsticks.group(of, &flows, scenario.measures.starved_below);
            }
        }
        let flows_left_out = meter.closed.saturating_sub(TOLD_FLOWS as u64);
        let (classes, transfers, rates) = (links::classes(&links, meter), Vec::new(), None);
        Self { seed, events, packet_hops, groups, classes, links, flows: told, flows_left_out, more_flows, transfers, rates }
    }
}

/// What groups and nodes are called: written once, however many flows there are.
struct Names {
    groups: Vec<Arc<str>>,
    nodes: Vec<Arc<str>>,
}

impl Names {
    fn of(scenario: &Scenario) -> Self {
        let network = &scenario.topology.network;
        let groups = scenario.groups.iter().map(|group| group.name.as_str().into()).collect();
        Self { groups, nodes: (0..network.nodes() as u32).map(|node| network.name(NodeId(node)).into()).collect() }
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
