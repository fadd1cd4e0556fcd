//! Figures of a comparison, each declared once.

use roundelay_trace::{DisciplineResult, KindOutcome};

use super::Unit::{Bytes, Count, Index, Part, Rate, Seconds};
use super::{Figure, figure, label};

/// A discipline's service to all packets, and to light flows.
pub(crate) const SERVICE: &[Figure<DisciplineResult>] = &[
    figure(
        label("throughput", Rate, "sent")
            .about("Bits sent over the time from the first arrival to the last departure")
            .more()
            .spare(5),
        |result| Some(result.total.throughput),
    ),
    figure(
        label("loss", Part, "loss")
            .about("Dropped over offered packets, and how many were dropped for which reason")
            .harm(),
        |result| Some(result.total.loss),
    ),
    figure(
        label("filtered", Count, "filtered")
            .about("Acknowledgements dropped because later ones repeat them, which is no loss")
            .if_any()
            .spare(9),
        |result| Some(result.total.drops.filtered as f64),
    ),
    figure(
        label("part_marked", Part, "marked")
            .about("Packets sent with a mark of congestion in place of a drop")
            .if_any(),
        |result| (result.total.packets > 0).then(|| result.total.part_marked()),
    ),
    figure(
        label("p50", Seconds, "p50")
            .under("delay")
            .about("Half of all packets waited no longer")
            .spare(7),
        |result| Some(result.total.delay?.p50),
    ),
    figure(
        label("p99", Seconds, "p99")
            .under("delay")
            .about("99th percentile of the delay of all packets")
            .spare(2),
        |result| Some(result.total.delay?.p99),
    ),
    figure(
        label("p999", Seconds, "p99.9")
            .under("delay")
            .about("999 of 1,000 packets waited no longer")
            .spare(10),
        |result| Some(result.total.delay?.p999),
    ),
    figure(
        label("max", Seconds, "max")
            .under("delay")
            .about("Largest delay of all packets")
            .spare(8),
        |result| Some(result.total.delay?.max),
    ),
    figure(
        label("light_p99", Seconds, "p99")
            .under("light flows")
            .about("99th percentile of the delay of the packets of light flows")
            .bold()
            .spare(3),
        |result| Some(result.light.delay?.p99),
    ),
    figure(
        label("light_loss", Part, "loss")
            .under("light flows")
            .about("Dropped over offered packets of light flows")
            .harm()
            .spare(4),
        |result| {
            let offered = result.light.packets + result.light.drops.total();
            (offered > 0).then_some(result.light.loss)
        },
    ),
    figure(
        label("reordered", Count, "reordered")
            .about("Packets that left after a later one of their flow")
            .harm()
            .if_any()
            .spare(6),
        |result| Some(result.total.reordered as f64),
    ),
];

/// A discipline's service to one kind of flows.
pub(crate) const KIND: &[Figure<KindOutcome>] = &[
    figure(
        label("p99", Seconds, "p99").under("delay").about(
            "99th percentile of the delay of the packets of these flows, and how many of these \
             packets are lost",
        ),
        |kind| kind.p99,
    ),
    figure(
        label("loss", Part, "loss")
            .about("Dropped over offered packets")
            .harm(),
        |kind| Some(kind.loss),
    ),
    figure(
        label("least_share", Part, "least share")
            .about("The least part of its fair share that a flow gets")
            .more(),
        |kind| kind.least_share,
    ),
    figure(
        label("throughput", Rate, "rate")
            .about("Bits sent a second")
            .more(),
        |kind| Some(kind.served?.throughput),
    ),
    figure(
        label("done_mean", Seconds, "done").about("Mean time until a transfer is complete"),
        |kind| kind.served?.mean,
    ),
    figure(
        label("done_p50", Seconds, "done p50").about("Half of the transfers took no longer"),
        |kind| kind.served?.p50,
    ),
    figure(
        label("done_p99", Seconds, "done p99").about("99 of 100 transfers took no longer"),
        |kind| kind.served?.p99,
    ),
];

/// The p99 of a kind's flow that waited longest. Over replicas it is that of the mean run, so that it
/// has no interval.
pub(crate) const LONGEST: Figure<KindOutcome> = figure(
    label("longest_p99", Seconds, "worst")
        .under("delay")
        .about("The same of the flow that waited longest"),
    |kind| kind.longest_p99,
);

/// How fairly a discipline shares, and what a flow costs.
pub(crate) const FAIRNESS: &[Figure<DisciplineResult>] = &[
    figure(
        label("jain", Index, "Jain")
            .about("Jain’s fairness index, mean over windows: 1 is perfectly fair")
            .more(),
        |result| Some(result.jain?.mean),
    ),
    figure(
        label("jain_min", Index, "worst")
            .about("Jain’s fairness index in the worst window")
            .more()
            .spare(2),
        |result| Some(result.jain?.min),
    ),
    figure(
        label("jain_hosts", Index, "Jain")
            .under("hosts")
            .about(
                "Jain’s index of the parts of their fair shares that hosts with bulk flows get, \
                 and the smallest of these parts below",
            )
            .more(),
        |result| Some(result.hosts?.jain),
    ),
    figure(
        label("least_host", Part, "least share")
            .under("hosts")
            .about("The smallest part of its fair share that a host with bulk flows gets")
            .more(),
        |result| Some(result.hosts?.least_share),
    ),
    figure(
        label("lag", Bytes, "GPS lag")
            .about("Largest of the flows’ lags behind an ideal fluid server"),
        |result| Some(result.worst_lag),
    ),
    figure(
        label("bytes_per_flow", Count, "B/flow")
            .about("Bytes of state for each flow")
            .spare(1),
        |result| Some(result.bytes_per_flow as f64),
    ),
];
