//! What groups gave: each from its meter, by transfers' size, and all groups together.

use std::collections::BTreeMap;

use roundelay_metrics::{Delays, jain_index};

use super::super::Scenario;
use super::super::flow_meter::FlowMeter;
use super::super::group::ALL;
use super::super::meter::Meter;
use super::super::transfers::{Completed, SizeClasses};
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
        let jain = jain(scenario, meter, flows, Some(number));
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
            jain,
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
        let jain = jain(scenario, meter, flows, None);
        groups.push(total(scenario, &groups, meter, jain));
    }
    groups
}

/// Jain's index of throughputs by weight, for the flows in one group or for all.
fn jain(
    scenario: &Scenario,
    meter: &Meter,
    flows: &[&FlowMeter],
    group: Option<usize>,
) -> Option<f64> {
    // We give no index, because flows that come and go had different times to send.
    for (number, meter) in meter.groups.iter().enumerate() {
        if meter.closed > 0 && group.is_none_or(|group| group == number) {
            return None;
        }
    }
    let mut shares = Vec::new();
    for flow in flows {
        let number = flow.group as usize;
        // If a group's agents report on flows, then flows without reports carry requests, which do
        // not count.
        let is_data = flow.repairs.is_some() || meter.groups[number].repairs.is_none();
        if flow.is_open && is_data && group.is_none_or(|group| group == number) {
            let weight = scenario.groups[number].weight();
            shares.push(flow.packets.bytes as f64 / f64::from(weight));
        }
    }
    if shares.len() < 2 {
        None
    } else {
        jain_index(&shares)
    }
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
    jain: Option<f64>,
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
        jain,
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
