//! What links gave: each from its counters, and by class.

use roundelay::{DropReason, Limit};

use super::super::Scenario;
use super::super::meter::Meter;
use super::{ClassResult, LinkResult, Spread};
use crate::network::LinkClass;
use crate::scenario::link_state::LinkState;
use crate::scenario::ratio::ratio;
use crate::topologies::NO_LIMIT;

pub(super) fn links(
    scenario: &Scenario,
    seconds: f64,
    meter: &Meter,
    before: &[LinkState],
    after: &[LinkState],
) -> Vec<LinkResult> {
    let network = &scenario.topology.network;
    let mut results = Vec::with_capacity(network.links().len());
    let states = before.iter().zip(after);
    let counted = network.links().iter().zip(&meter.links);
    for ((before, after), (link, meter)) in states.zip(counted) {
        let utilisation = after.utilisation(before, seconds);
        let before = before.counts;
        let after = after.counts;
        results.push(LinkResult {
            from: network.name(link.from),
            to: network.name(link.to),
            class: link.class.name(),
            queue: link.ordering(),
            buffer: buffer(link.queue.limit_or_default()),
            rate: link.rate.bits_per_second(),
            trace: link.trace.as_ref().map(|trace| trace.name().to_owned()),
            utilisation,
            arrived: after.arrived - before.arrived,
            packets: after.packets - before.packets,
            dropped: std::array::from_fn(|reason| after.dropped[reason] - before.dropped[reason]),
            lost: after.lost - before.lost,
            wait: meter.wait(),
            backlogged: None,
        });
    }
    results
}

fn buffer(limit: Limit) -> String {
    if limit.packets >= NO_LIMIT && limit.bytes == u64::MAX {
        "no limit".to_owned()
    } else {
        limit.to_string()
    }
}

pub(super) fn classes(links: &[LinkResult], meter: &Meter) -> Vec<ClassResult> {
    let mut results = Vec::new();
    for class in LinkClass::ALL {
        let of_class = links.iter().filter(|link| link.class == class.name());
        let of_class: Vec<&LinkResult> = of_class.collect();
        let Some(mut busiest) = of_class.first() else {
            continue;
        };
        let mut utilisation = 0.0;
        let mut arrived = 0;
        let mut dropped = [0; DropReason::ALL.len()];
        let mut lost = 0;
        for link in &of_class {
            if link.utilisation > busiest.utilisation {
                busiest = link;
            }
            utilisation += link.utilisation;
            arrived += link.arrived;
            for (sum, dropped) in dropped.iter_mut().zip(link.dropped) {
                *sum += dropped;
            }
            lost += link.lost;
        }
        results.push(ClassResult {
            class: class.name(),
            links: of_class.len() as u64,
            utilisation: utilisation / of_class.len() as f64,
            busiest: busiest.utilisation,
            busiest_link: busiest.name(),
            arrived,
            dropped,
            lost,
            loss: loss(of_class),
            wait: Spread::of(&meter.waits[class as usize]),
        });
    }
    results
}

/// Which fraction of the packets was dropped or lost, among all that were sent or dropped. Lost
/// packets were sent. Acknowledgements that later ones repeat count as neither.
pub(super) fn loss<'a>(links: impl IntoIterator<Item = &'a LinkResult>) -> Option<f64> {
    let mut gone = 0;
    let mut known = 0;
    for link in links {
        let mut dropped = 0;
        for reason in DropReason::ALL {
            if reason.is_loss() {
                dropped += link.dropped[reason as usize];
            }
        }
        gone += dropped + link.lost;
        known += dropped + link.packets;
    }
    ratio(gone as f64, known as f64)
}
