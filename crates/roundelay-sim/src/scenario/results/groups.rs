//! What groups gave: each from its meter, by transfers' size, and all groups together.

use std::collections::BTreeMap;

use roundelay_metrics::{Delays, jain_index};

use super::super::Scenario;
use super::super::flow_meter::FlowMeter;
use super::super::group::ALL;
use super::super::meter::Meter;
use super::super::transfers::{Completed, SizeClasses};
use crate::ids::NodeId;

use super::{Fates, GroupResult, SizeResult, Spread};

pub(super) fn groups(
    scenario: &Scenario,
    seconds: f64,
    meter: &Meter,
    flows: &[&FlowMeter],
) -> Vec<GroupResult> {
    let mut groups = Vec::new();
    for (number, group) in scenario.groups.iter().enumerate() {
        let classes = &meter.transfers.sizes;
        let even = evenness(scenario, meter, flows, Some(number));
        let meter = &meter.groups[number];
        groups.push(GroupResult {
            name: group.name.clone(),
            kind: group.source.kind(),
            flows: meter.flows,
            packets: Fates::of(&meter.packets),
            loss: Fates::of(&meter.packets).loss(),
            in_time: in_time(scenario, Fates::of(&meter.packets)),
            edge_marked: group.edge_codel.map(|_| meter.packets.edge_marked),
            throughput: meter.packets.bytes as f64 * 8.0 / seconds,
            delay: Spread::of(&meter.delays),
            delay_deviation: meter.packets.deviation(meter.delays.count()),
            jain: even.jain,
            jain_hosts: even.jain_hosts,
            least_host: even.least_host,
            completion: Spread::of(&meter.transfers.times),
            completion_by_bytes: meter.transfers.times_by_bytes.mean(),
            goodput: meter.transfers.goodput(),
            incomplete: meter.incomplete,
            retransmissions: meter.repairs.map(|repairs| repairs.retransmissions),
            timeouts: meter.repairs.map(|repairs| repairs.timeouts),
            round_trip: Spread::of(&meter.transfers.round_trips),
            round_trip_by_bytes: meter.transfers.round_trips_by_bytes.mean(),
            sizes: sizes(classes, &meter.sizes),
            lives: None,
        });
    }
    if groups.len() > 1 {
        let even = evenness(scenario, meter, flows, None);
        groups.push(total(scenario, &groups, meter, even));
    }
    groups
}

/// How evenly flows and hosts share, in one group or in all.
#[derive(Debug, Clone, Copy, Default)]
struct Evenness {
    /// Jain's index of the flows' throughputs by weight.
    jain: Option<f64>,
    /// Jain's index of the hosts' throughputs.
    jain_hosts: Option<f64>,
    least_host: Option<f64>,
}

fn evenness(
    scenario: &Scenario,
    meter: &Meter,
    flows: &[&FlowMeter],
    group: Option<usize>,
) -> Evenness {
    // We give no index, because flows that come and go had different times to send.
    for (number, meter) in meter.groups.iter().enumerate() {
        if meter.closed > 0 && group.is_none_or(|group| group == number) {
            return Evenness::default();
        }
    }
    let mut shares = Vec::new();
    let mut senders = BTreeMap::<NodeId, f64>::new();
    let mut receivers = BTreeMap::<NodeId, f64>::new();
    for flow in flows {
        let number = flow.group as usize;
        // If a group's agents report on flows, then flows without reports carry requests, which do
        // not count.
        let is_data = flow.repairs.is_some() || meter.groups[number].repairs.is_none();
        if flow.is_open && is_data && group.is_none_or(|group| group == number) {
            let weight = scenario.groups[number].weight();
            let bytes = flow.packets.bytes as f64;
            shares.push(bytes / f64::from(weight));
            *senders.entry(flow.from).or_default() += bytes;
            *receivers.entry(flow.to).or_default() += bytes;
        }
    }
    let mut evenness = Evenness::default();
    if shares.len() < 2 {
        return evenness;
    }
    evenness.jain = jain_index(&shares);
    let hosts = if receivers.len() < 2 || senders.len() >= 2 && senders.len() < receivers.len() {
        senders
    } else {
        receivers
    };
    if hosts.len() >= 2 && hosts.len() < shares.len() {
        let bytes: Vec<f64> = hosts.into_values().collect();
        evenness.jain_hosts = jain_index(&bytes);
        let mean = bytes.iter().sum::<f64>() / bytes.len() as f64;
        let least = bytes.iter().copied().fold(f64::INFINITY, f64::min);
        evenness.least_host = (mean > 0.0).then(|| least / mean);
    }
    evenness
}

fn in_time(scenario: &Scenario, packets: Fates) -> Option<f64> {
    scenario.measures.late?;
    packets.in_time()
}

fn sizes(classes: &SizeClasses, meters: &BTreeMap<u32, Completed>) -> Vec<SizeResult> {
    let mut results = Vec::new();
    for (class, transfers) in meters {
        let (above, up_to) = classes.range(*class);
        results.push(SizeResult {
            above,
            up_to,
            bytes: transfers.bytes(),
            completion: Spread::of(&transfers.times),
            goodput: transfers.goodput().unwrap_or(0.0),
            round_trip: Spread::of(&transfers.round_trips),
        });
    }
    results
}

/// All groups together.
fn total(
    scenario: &Scenario,
    groups: &[GroupResult],
    meter: &Meter,
    even: Evenness,
) -> GroupResult {
    let mut delays = Delays::default();
    let mut packets = Fates::default();
    let mut transfers = Completed::default();
    let mut by_size = BTreeMap::<u32, Completed>::new();
    for group in &meter.groups {
        delays.merge(&group.delays);
        transfers.merge(&group.transfers);
        for (class, transfers) in &group.sizes {
            by_size.entry(*class).or_default().merge(transfers);
        }
    }
    let mut flows = 0;
    let mut incomplete = 0;
    let mut edge_marked = None;
    let mut retransmissions = None;
    let mut timeouts = None;
    for group in groups {
        packets.add(group.packets);
        flows += group.flows;
        incomplete += group.incomplete;
        edge_marked = plus(edge_marked, group.edge_marked);
        retransmissions = plus(retransmissions, group.retransmissions);
        timeouts = plus(timeouts, group.timeouts);
    }
    GroupResult {
        name: ALL.to_owned(),
        kind: "",
        flows,
        packets,
        loss: packets.loss(),
        in_time: in_time(scenario, packets),
        edge_marked,
        throughput: groups.iter().map(|group| group.throughput).sum(),
        delay: Spread::of(&delays),
        delay_deviation: None,
        jain: even.jain,
        jain_hosts: even.jain_hosts,
        least_host: even.least_host,
        completion: Spread::of(&transfers.times),
        completion_by_bytes: transfers.times_by_bytes.mean(),
        goodput: transfers.goodput(),
        incomplete,
        retransmissions,
        timeouts,
        round_trip: Spread::of(&transfers.round_trips),
        round_trip_by_bytes: transfers.round_trips_by_bytes.mean(),
        sizes: sizes(&meter.transfers.sizes, &by_size),
        lives: None,
    }
}

/// Adds up counts that only some groups have.
fn plus(sum: Option<u64>, count: Option<u64>) -> Option<u64> {
    match (sum, count) {
        (Some(sum), Some(count)) => Some(sum + count),
        (sum, None) => sum,
        (None, count) => count,
    }
}
