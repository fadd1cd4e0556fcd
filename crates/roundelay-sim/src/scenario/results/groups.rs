//! Results of groups: from the meters of each group, by size of transfer, and all groups together.

use std::collections::BTreeMap;

use roundelay_metrics::{Delays, jain_index};

use super::super::Scenario;
use super::super::meter::{FlowMeter, Meter};
use super::super::transfers::{Completed, SizeClasses};
use super::{Fates, GroupResult, SizeResult, Spread};

pub(super) fn groups(
    scenario: &Scenario,
    seconds: f64,
    meter: &Meter,
    flows: &[&FlowMeter],
) -> Vec<GroupResult> {
    let jain = |group: Option<usize>| {
        // Flows that come and go had different times to send.
        let mut meters = meter
            .groups
            .iter()
            .enumerate()
            .filter(|(number, _)| group.is_none_or(|group| group == *number));
        if meters.any(|(_, meter)| meter.closed > 0) {
            return None;
        }
        // If a group's agents report on flows, flows without reports carry requests, which do not
        // count.
        let is_data = |flow: &FlowMeter| {
            flow.repairs.is_some() || meter.groups[flow.group as usize].repairs.is_none()
        };
        let of = flows.iter().filter(|flow| {
            flow.is_open && is_data(flow) && group.is_none_or(|group| flow.group as usize == group)
        });
        let weight = |flow: &FlowMeter| scenario.groups[flow.group as usize].weight();
        let shares: Vec<_> = of
            .map(|flow| flow.packets.bytes as f64 / f64::from(weight(flow)))
            .collect();
        if shares.len() < 2 {
            None
        } else {
            jain_index(&shares)
        }
    };
    let classes = &meter.transfers.sizes;
    let each =
        meter
            .groups
            .iter()
            .zip(&scenario.groups)
            .enumerate()
            .map(|(number, (meter, group))| GroupResult {
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
                jain: jain(Some(number)),
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
    let mut groups: Vec<_> = each.collect();
    if groups.len() > 1 {
        groups.push(total(scenario, &groups, meter, jain(None)));
    }
    groups
}

fn in_time(scenario: &Scenario, packets: Fates) -> Option<f64> {
    scenario.measures.late.and_then(|_| packets.in_time())
}

fn sizes(classes: &SizeClasses, meters: &BTreeMap<u32, Completed>) -> Vec<SizeResult> {
    let result = |(class, transfers): (&u32, &Completed)| {
        let (above, up_to) = classes.range(*class);
        SizeResult {
            above,
            up_to,
            bytes: transfers.bytes(),
            completion: Spread::of(&transfers.times),
            goodput: transfers.goodput().unwrap_or(0.0),
            round_trip: Spread::of(&transfers.round_trips),
        }
    };
    meters.iter().map(result).collect()
}

/// The name for all groups together.
pub(in crate::scenario) const ALL: &str = "all";

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
        group
            .sizes
            .iter()
            .for_each(|(class, transfers)| by_size.entry(*class).or_default().merge(transfers));
    }
    for Fates {
        sent,
        delivered,
        full,
        pushed_out,
        early,
        refused,
        lost,
        edge_dropped,
        late,
        on_their_way,
    } in groups.iter().map(|group| group.packets)
    {
        packets.sent += sent;
        packets.delivered += delivered;
        packets.full += full;
        packets.pushed_out += pushed_out;
        packets.early += early;
        packets.refused += refused;
        packets.lost += lost;
        packets.edge_dropped += edge_dropped;
        packets.late += late;
        packets.on_their_way += on_their_way;
    }
    let sum = |of: fn(&GroupResult) -> u64| groups.iter().map(of).sum();
    let some = |of: fn(&GroupResult) -> Option<u64>| {
        groups
            .iter()
            .filter_map(of)
            .reduce(|one, other| one + other)
    };
    GroupResult {
        name: ALL.to_owned(),
        kind: "",
        flows: sum(|group| group.flows),
        packets,
        loss: packets.loss(),
        in_time: in_time(scenario, packets),
        edge_marked: some(|group| group.edge_marked),
        throughput: groups.iter().map(|group| group.throughput).sum(),
        delay: Spread::of(&delays),
        delay_deviation: None,
        jain,
        completion: Spread::of(&transfers.times),
        completion_by_bytes: transfers.times_by_bytes.mean(),
        goodput: transfers.goodput(),
        incomplete: sum(|group| group.incomplete),
        retransmissions: some(|group| group.retransmissions),
        timeouts: some(|group| group.timeouts),
        round_trip: Spread::of(&transfers.round_trips),
        round_trip_by_bytes: transfers.round_trips_by_bytes.mean(),
        sizes: sizes(&meter.transfers.sizes, &by_size),
        lives: None,
    }
}
