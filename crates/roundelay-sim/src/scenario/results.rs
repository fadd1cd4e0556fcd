//! What came of a run. Times in seconds, rates in bits per second, sizes in bytes.

use std::collections::BTreeMap;
use std::sync::Arc;

use roundelay::{DropReason, Duration, Limit};
use roundelay_metrics::{Delays, jain_index};
use serde::Serialize;

use super::Scenario;
use super::lives::FlowLife;
use super::meter::{FlowMeter, LinkMeter, Meter, Packets, TOLD_FLOWS};
use super::port_meter::Backlogged;
use super::yardsticks::{FlowIndices, GroupLives, Yardsticks};
use crate::link::LinkCounts;
use crate::network::{LinkClass, NodeId, link_name};
use crate::topologies::NO_LIMIT;

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
    /// On its way when the run ended.
    pub on_their_way: u64,
}

impl Fates {
    fn of(packets: &Packets) -> Self {
        let [full, pushed_out, early, refused] = packets.dropped;
        let Packets { sent, delivered, lost, .. } = *packets;
        let gone = delivered + lost + packets.dropped.iter().sum::<u64>();
        Self { sent, delivered, full, pushed_out, early, refused, lost, on_their_way: sent.saturating_sub(gone) }
    }

    /// The part of those whose fate is known that did not arrive.
    pub fn loss(&self) -> Option<f64> {
        let gone = self.full + self.pushed_out + self.early + self.refused + self.lost;
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
    /// What arrived after the warm-up, headers and what was sent twice included.
    pub throughput: f64,
    /// From an agent to the end of the route.
    pub delay: Spread,
    /// Of one packet's delay from the mean.
    pub delay_deviation: Option<f64>,
    /// Jain's index of the throughputs by weight of its flows; none if there are not two, or if any has ended. Of sources that ask and are answered
    /// the answers count, not the requests.
    pub jain: Option<f64>,
    /// Times until transfers were complete that began after the warm-up: flow completion times.
    pub completion: Spread,
    /// Mean over these transfers of their bytes by their time.
    pub goodput: Option<f64>,
    /// Transfers that began after the warm-up and were cut off, by their stop or the end of the run, or lost packets for good.
    pub incomplete: u64,
    /// Segments that were sent again after the warm-up, until the end of the run; none if none of its flows is over TCP.
    pub retransmissions: Option<u64>,
    /// Timeouts of senders, likewise.
    pub timeouts: Option<u64>,
    /// Mean round trips of complete transfers over TCP, the time that receivers took not counted.
    pub round_trip: Spread,
    /// The transfers by size, the smallest first: those that there are.
    pub sizes: Vec<SizeResult>,
    /// Its flows over their own lives, where the scenario asks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lives: Option<GroupLives>,
}

/// What came of transfers of about one size.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SizeResult {
    /// Most bytes: a power of ten. The least are one more than a tenth of that.
    pub up_to: u64,
    /// Times until they were complete.
    pub completion: Spread,
    /// Mean of their bytes by their time.
    pub goodput: f64,
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
        loss([self])
    }

    /// What it is called: FROM > TO.
    pub fn name(&self) -> String {
        link_name(&self.from, &self.to)
    }
}

/// The part of the packets whose fate links settled that they dropped or lost. Those that were lost got the link.
fn loss<'a>(links: impl IntoIterator<Item = &'a LinkResult>) -> Option<f64> {
    let (mut gone, mut known) = (0, 0);
    for link in links {
        let dropped: u64 = link.dropped.iter().sum();
        gone += dropped + link.lost;
        known += dropped + link.packets;
    }
    (known > 0).then(|| gone as f64 / known as f64)
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
}

/// What a link had done at some instant.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LinkState {
    pub(super) counts: LinkCounts,
    pub(super) at_work: Duration,
}

impl Results {
    /// `before`: what links had counted at the end of the warm-up.
    pub(super) fn new(
        scenario: &Scenario,
        [seed, events]: [u64; 2],
        meter: &Meter,
        yardsticks: Option<&Yardsticks>,
        [before, after]: [&[LinkState]; 2],
    ) -> Self {
        let seconds = (scenario.duration - scenario.warmup).as_secs_f64();
        let mut links = links(scenario, seconds, meter, before, after);
        let packet_hops = after.iter().map(|link| link.counts.packets).sum();
        let names = Names::of(scenario);
        let mut flows: Vec<_> = meter.flows.iter().filter(|flow| flow.number != u64::MAX).collect();
        flows.sort_by_key(|flow| flow.number);
        let result = |is_late| flows.iter().filter(move |flow| flow.is_late == is_late).map(|flow| flow_result(&names, seconds, flow));
        let (mut told, mut more_flows): (Vec<_>, Vec<_>) = (result(false).collect(), result(true).collect());
        let mut groups = groups(scenario, seconds, meter, &flows);
        if let Some(yardsticks) = yardsticks {
            told.iter_mut().chain(&mut more_flows).for_each(|flow| flow.measure(yardsticks));
            links.iter_mut().enumerate().for_each(|(number, link)| link.backlogged = yardsticks.backlogged(number));
            for (number, group) in (0..).zip(&mut groups) {
                let of = Some(number).filter(|number| (*number as usize) < scenario.groups.len());
                group.lives = yardsticks.group(of, &flows, scenario.measures.starved_below);
            }
        }
        let flows_left_out = meter.closed.saturating_sub(TOLD_FLOWS as u64);
        Self { seed, events, packet_hops, groups, classes: classes(&links, meter), links, flows: told, flows_left_out, more_flows }
    }
}

fn groups(scenario: &Scenario, seconds: f64, meter: &Meter, flows: &[&FlowMeter]) -> Vec<GroupResult> {
    let jain = |group: Option<usize>| {
        // Flows that come and go have had different times to send.
        let mut meters = meter.groups.iter().enumerate().filter(|(number, _)| group.is_none_or(|group| group == *number));
        if meters.any(|(_, meter)| meter.closed > 0) {
            return None;
        }
        // Where agents tell of flows, those that they tell nothing of carry no data that counts: requests.
        let is_data = |flow: &FlowMeter| flow.repairs.is_some() || meter.groups[flow.group as usize].repairs.is_none();
        let of = flows.iter().filter(|flow| flow.is_open && is_data(flow) && group.is_none_or(|group| flow.group as usize == group));
        let weight = |flow: &FlowMeter| scenario.groups[flow.group as usize].weight();
        let shares: Vec<_> = of.map(|flow| flow.packets.bytes as f64 / f64::from(weight(flow))).collect();
        if shares.len() < 2 { None } else { jain_index(&shares) }
    };
    let each = meter.groups.iter().zip(&scenario.groups).enumerate().map(|(number, (meter, group))| GroupResult {
        name: group.name.clone(),
        kind: group.source.kind(),
        flows: meter.flows,
        packets: Fates::of(&meter.packets),
        loss: Fates::of(&meter.packets).loss(),
        throughput: meter.packets.bytes as f64 * 8.0 / seconds,
        delay: Spread::of(&meter.delays),
        delay_deviation: meter.packets.deviation(),
        jain: jain(Some(number)),
        completion: Spread::of(&meter.completions),
        goodput: (meter.completions.count() > 0).then(|| meter.goodputs / meter.completions.count() as f64),
        incomplete: meter.incomplete,
        retransmissions: meter.repairs.map(|repairs| repairs.retransmissions),
        timeouts: meter.repairs.map(|repairs| repairs.timeouts),
        round_trip: Spread::of(&meter.round_trips),
        sizes: sizes(&meter.sizes),
        lives: None,
    });
    let mut groups: Vec<_> = each.collect();
    if groups.len() > 1 {
        groups.push(total(&groups, meter, jain(None)));
    }
    groups
}

fn sizes(meters: &BTreeMap<u32, (Delays, f64)>) -> Vec<SizeResult> {
    let result = |(digits, (completions, goodputs)): (&u32, &(Delays, f64))| SizeResult {
        up_to: 10_u64.saturating_pow(*digits),
        completion: Spread::of(completions),
        goodput: goodputs / completions.count() as f64,
    };
    meters.iter().map(result).collect()
}

/// What all groups together are called.
pub(super) const ALL: &str = "all";

/// All groups together.
fn total(groups: &[GroupResult], meter: &Meter, jain: Option<f64>) -> GroupResult {
    let (mut delays, mut completions, mut packets) = (Delays::default(), Delays::default(), Fates::default());
    let (mut round_trips, mut by_size) = (Delays::default(), BTreeMap::<u32, (Delays, f64)>::new());
    for group in &meter.groups {
        delays.merge(&group.delays);
        completions.merge(&group.completions);
        round_trips.merge(&group.round_trips);
        for (digits, (completions, goodputs)) in &group.sizes {
            let (all, sum) = by_size.entry(*digits).or_default();
            all.merge(completions);
            *sum += goodputs;
        }
    }
    for Fates { sent, delivered, full, pushed_out, early, refused, lost, on_their_way } in groups.iter().map(|group| group.packets) {
        packets.sent += sent;
        packets.delivered += delivered;
        packets.full += full;
        packets.pushed_out += pushed_out;
        packets.early += early;
        packets.refused += refused;
        packets.lost += lost;
        packets.on_their_way += on_their_way;
    }
    let sum = |of: fn(&GroupResult) -> u64| groups.iter().map(of).sum();
    let some = |of: fn(&GroupResult) -> Option<u64>| groups.iter().filter_map(of).reduce(|one, other| one + other);
    let goodputs: f64 = meter.groups.iter().map(|group| group.goodputs).sum();
    GroupResult {
        name: ALL.to_owned(),
        kind: "",
        flows: sum(|group| group.flows),
        packets,
        loss: packets.loss(),
        throughput: groups.iter().map(|group| group.throughput).sum(),
        delay: Spread::of(&delays),
        delay_deviation: None,
        jain,
        completion: Spread::of(&completions),
        goodput: (completions.count() > 0).then(|| goodputs / completions.count() as f64),
        incomplete: sum(|group| group.incomplete),
        retransmissions: some(|group| group.retransmissions),
        timeouts: some(|group| group.timeouts),
        round_trip: Spread::of(&round_trips),
        sizes: sizes(&by_size),
        lives: None,
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
        delay_deviation: packets.deviation(),
        longest_delay: (packets.delivered > 0).then(|| packets.longest.as_secs_f64()),
        retransmissions: flow.repairs.map(|repairs| repairs.retransmissions),
        timeouts: flow.repairs.map(|repairs| repairs.timeouts),
        life: None,
        indices: None,
    }
}

fn links(scenario: &Scenario, seconds: f64, meter: &Meter, before: &[LinkState], after: &[LinkState]) -> Vec<LinkResult> {
    let network = &scenario.topology.network;
    let states = before.iter().zip(after).zip(network.links()).zip(&meter.links);
    let result = |(((before, after), link), meter): (((&LinkState, &LinkState), &crate::LinkConfig), &LinkMeter)| {
        let at_work = (after.at_work - before.at_work).as_secs_f64();
        let (before, after) = (before.counts, after.counts);
        LinkResult {
            from: network.name(link.from),
            to: network.name(link.to),
            class: link.class.name(),
            queue: link.ordering(),
            buffer: buffer(link.queue.limit_or_default()),
            rate: link.rate.bits_per_second(),
            utilisation: at_work / seconds,
            arrived: after.arrived - before.arrived,
            packets: after.packets - before.packets,
            dropped: std::array::from_fn(|reason| after.dropped[reason] - before.dropped[reason]),
            lost: after.lost - before.lost,
            wait: meter.wait(),
            backlogged: None,
        }
    };
    states.map(result).collect()
}

fn buffer(limit: Limit) -> String {
    if limit.packets >= NO_LIMIT && limit.bytes == u64::MAX { "no limit".to_owned() } else { limit.to_string() }
}

fn classes(links: &[LinkResult], meter: &Meter) -> Vec<ClassResult> {
    let class = |class: LinkClass| {
        let of: Vec<_> = links.iter().filter(|link| link.class == class.name()).collect();
        let busiest = of.iter().copied().reduce(|one, other| if other.utilisation > one.utilisation { other } else { one })?;
        let count = |of_link: fn(&LinkResult) -> u64| of.iter().map(|link| of_link(link)).sum::<u64>();
        let dropped: [u64; DropReason::ALL.len()] = std::array::from_fn(|reason| of.iter().map(|link| link.dropped[reason]).sum());
        Some(ClassResult {
            class: class.name(),
            links: of.len() as u64,
            utilisation: of.iter().map(|link| link.utilisation).sum::<f64>() / of.len() as f64,
            busiest: busiest.utilisation,
            busiest_link: busiest.name(),
            arrived: count(|link| link.arrived),
            dropped,
            lost: count(|link| link.lost),
            loss: loss(of),
            wait: Spread::of(&meter.waits[class as usize]),
        })
    };
    LinkClass::ALL.into_iter().filter_map(class).collect()
}
