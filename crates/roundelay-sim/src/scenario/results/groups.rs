//! Groups' results: from the meters of each group, by size of transfer, and all groups together.

use std::collections::BTreeMap;

use roundelay_metrics::{Delays, jain_index};

use super::super::Scenario;
use super::super::meter::{FlowMeter, Meter};
use super::{Fates, GroupResult, SizeResult, Spread};

pub(super) fn groups(scenario: &Scenario, seconds: f64, meter: &Meter, flows: &[&FlowMeter]) -> Vec<GroupResult> {
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
        edge_marked: group.edge_codel.map(|_| meter.packets.edge_marked),
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
pub(in crate::scenario) const ALL: &str = "all";

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
    for Fates { sent, delivered, full, pushed_out, early, refused, lost, edge_dropped, on_their_way } in
        groups.iter().map(|group| group.packets)
    {
        packets.sent += sent;
        packets.delivered += delivered;
        packets.full += full;
        packets.pushed_out += pushed_out;
        packets.early += early;
        packets.refused += refused;
        packets.lost += lost;
        packets.edge_dropped += edge_dropped;
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
        edge_marked: some(|group| group.edge_marked),
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
