//! Results of links: from the counters of each link, and by class of links.

use roundelay::{DropReason, Limit};

use super::super::Scenario;
use super::super::meter::{LinkMeter, Meter};
use super::{ClassResult, LinkResult, LinkState, Spread};
use crate::network::LinkClass;
use crate::topologies::NO_LIMIT;

pub(super) fn links(
    scenario: &Scenario,
    seconds: f64,
    meter: &Meter,
    before: &[LinkState],
    after: &[LinkState],
) -> Vec<LinkResult> {
    let network = &scenario.topology.network;
    let states = before
        .iter()
        .zip(after)
        .zip(network.links())
        .zip(&meter.links);
    let result = |(((before, after), link), meter): (
        ((&LinkState, &LinkState), &crate::LinkConfig),
        &LinkMeter,
    )| {
        let utilisation = after.utilisation(before, seconds);
        let before = before.counts;
        let after = after.counts;
        LinkResult {
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
        }
    };
    states.map(result).collect()
}

fn buffer(limit: Limit) -> String {
    if limit.packets >= NO_LIMIT && limit.bytes == u64::MAX {
        "no limit".to_owned()
    } else {
        limit.to_string()
    }
}

pub(super) fn classes(links: &[LinkResult], meter: &Meter) -> Vec<ClassResult> {
    let class = |class: LinkClass| {
        let of: Vec<_> = links
            .iter()
            .filter(|link| link.class == class.name())
            .collect();
        let busiest = of.iter().copied().reduce(|one, other| {
            if other.utilisation > one.utilisation {
                other
            } else {
                one
            }
        })?;
        let count =
            |of_link: fn(&LinkResult) -> u64| of.iter().map(|link| of_link(link)).sum::<u64>();
        let dropped: [u64; DropReason::ALL.len()] =
            std::array::from_fn(|reason| of.iter().map(|link| link.dropped[reason]).sum());
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

/// The fraction of packets dropped or lost, of all sent or dropped. Lost packets were sent.
pub(super) fn loss<'a>(links: impl IntoIterator<Item = &'a LinkResult>) -> Option<f64> {
    let mut gone = 0;
    let mut known = 0;
    for link in links {
        let dropped: u64 = link.dropped.iter().sum();
        gone += dropped + link.lost;
        known += dropped + link.packets;
    }
    (known > 0).then(|| gone as f64 / known as f64)
}
