//! Figures of a simulation, each declared once.

use roundelay::DropReason;
use roundelay_sim::scenario::{
    ClassResult, FlowResult, GroupLives, GroupResult, LinkResult, RankResult, Results, SizeResult,
};

use super::Unit::{Bytes, Count, Index, Part, Rate, Seconds, Tenths};
use super::{Difference, Figure, figure, label};

/// A source's packets.
pub(crate) const SOURCE: &[Figure<GroupResult>] = &[
    figure(
        label("flows", Count, "flows")
            .about("Flows that were opened")
            .spare(2),
        |group| Some(group.flows as f64),
    ),
    figure(
        label("throughput", Rate, "throughput")
            .about("What arrived after the warm-up")
            .more(),
        |group| Some(group.throughput),
    ),
    figure(
        label("loss", Part, "loss")
            .about("The part of the packets with a known fate that did not arrive")
            .harm(),
        |group| group.loss,
    ),
    figure(
        label("in_time", Part, "in time")
            .about("The part of the packets that arrived in time, with [meter] late only")
            .more(),
        |group| group.in_time,
    ),
    figure(
        label("edge_marked", Count, "edge marks")
            .about("Packets marked in place of drops, with Edge-CoDel only")
            .if_any()
            .spare(4),
        |group| Some(group.edge_marked? as f64),
    ),
    figure(
        label("delay_mean", Seconds, "mean")
            .under("delay")
            .about("Mean delay from agent to the end of the route"),
        |group| group.delay.mean,
    ),
    figure(
        label("delay_p50", Seconds, "p50")
            .under("delay")
            .about("Half of the packets took no longer")
            .spare(5),
        |group| group.delay.p50,
    ),
    figure(
        label("delay_p99", Seconds, "p99")
            .under("delay")
            .about("99 of 100 packets took no longer"),
        |group| group.delay.p99,
    ),
    figure(
        label("delay_p999", Seconds, "p99.9")
            .under("delay")
            .about("999 of 1,000 packets took no longer")
            .spare(6),
        |group| group.delay.p999,
    ),
    figure(
        label("delay_max", Seconds, "max")
            .under("delay")
            .about("The longest delay")
            .spare(3),
        |group| group.delay.max,
    ),
    figure(
        label("jain", Index, "Jain")
            .about("Jain’s fairness index of the flows’ throughputs by weight")
            .more(),
        |group| group.jain,
    ),
    figure(
        label("jain_hosts", Index, "Jain")
            .under("hosts")
            .about("Jain’s fairness index of the hosts’ throughputs")
            .more(),
        |group| group.jain_hosts,
    ),
    figure(
        label("least_host", Part, "least")
            .under("hosts")
            .about("The least host’s throughput as a part of the hosts’ mean")
            .more(),
        |group| group.least_host,
    ),
];

/// A source's transfers.
pub(crate) const TRANSFER: &[Figure<GroupResult>] = &[
    figure(
        label("transfers", Count, "complete")
            .about("Transfers that their receivers have")
            .more(),
        |group| Some(group.completion.count as f64),
    ),
    figure(
        label("incomplete", Count, "incomplete")
            .about("Transfers that were cut off or lost packets for good")
            .spare(3),
        |group| Some(group.incomplete as f64),
    ),
    figure(
        label("completion_mean", Seconds, "mean")
            .under("completion time")
            .about("Mean time until the receiver has all bytes")
            .counts(Difference::WAIT),
        |group| group.completion.mean,
    ),
    figure(
        label("completion_p50", Seconds, "p50")
            .under("completion time")
            .about("Half of the transfers took no longer")
            .counts(Difference::WAIT)
            .spare(8),
        |group| group.completion.p50,
    ),
    figure(
        label("completion_p90", Seconds, "p90")
            .under("completion time")
            .about("9 of 10 transfers took no longer")
            .counts(Difference::WAIT)
            .spare(9),
        |group| group.completion.p90,
    ),
    figure(
        label("completion_p99", Seconds, "p99")
            .under("completion time")
            .about("99 of 100 transfers took no longer")
            .counts(Difference::WAIT),
        |group| group.completion.p99,
    ),
    figure(
        label("completion_max", Seconds, "max")
            .under("completion time")
            .about("The longest completion time")
            .counts(Difference::WAIT)
            .spare(7),
        |group| group.completion.max,
    ),
    figure(
        label("completion_by_bytes", Seconds, "by bytes")
            .under("completion time")
            .about("Mean completion time, weighted by the transfers’ bytes")
            .counts(Difference::WAIT)
            .spare(5),
        |group| group.completion_by_bytes,
    ),
    figure(
        label("goodput", Rate, "goodput")
            .about("Mean over transfers of their bytes by their time")
            .more(),
        |group| group.goodput,
    ),
    figure(
        label("retransmissions", Count, "sent again")
            .about("Segments that were sent again")
            .spare(2),
        |group| Some(group.retransmissions? as f64),
    ),
    figure(
        label("timeouts", Count, "timeouts")
            .about("Timeouts of senders")
            .spare(4),
        |group| Some(group.timeouts? as f64),
    ),
    figure(
        label("round_trip_mean", Seconds, "mean")
            .under("round trip")
            .about("Mean round trip of complete transfers over TCP")
            .spare(6),
        |group| group.round_trip.mean,
    ),
    figure(
        label("round_trip_p99", Seconds, "p99")
            .under("round trip")
            .about("99 of 100 transfers had a shorter mean round trip")
            .spare(7),
        |group| group.round_trip.p99,
    ),
    figure(
        label("round_trip_by_bytes", Seconds, "by bytes")
            .under("round trip")
            .about("Mean of the transfers’ mean round trips, weighted by their bytes")
            .spare(6),
        |group| group.round_trip_by_bytes,
    ),
];

/// The transfers of one size.
pub(crate) const SIZE: &[Figure<SizeResult>] = &[
    figure(
        label("transfers", Count, "complete")
            .about("Complete transfers of that size")
            .more(),
        |size| Some(size.completion.count as f64),
    ),
    figure(
        label("completion_mean", Seconds, "mean")
            .under("completion time")
            .about("Mean time until the receiver has all bytes"),
        |size| size.completion.mean,
    ),
    figure(
        label("completion_p50", Seconds, "p50")
            .under("completion time")
            .about("Half of the transfers took no longer"),
        |size| size.completion.p50,
    ),
    figure(
        label("completion_p99", Seconds, "p99")
            .under("completion time")
            .about("99 of 100 transfers took no longer"),
        |size| size.completion.p99,
    ),
    figure(
        label("completion_max", Seconds, "max")
            .under("completion time")
            .about("The longest completion time"),
        |size| size.completion.max,
    ),
    figure(
        label("goodput", Rate, "goodput")
            .about("Mean over transfers of their bytes by their time")
            .more(),
        |size| Some(size.goodput),
    ),
    figure(
        label("round_trip_mean", Seconds, "round trip")
            .about("Mean round trip of transfers over TCP"),
        |size| size.round_trip.mean,
    ),
    figure(
        label("bytes", Bytes, "bytes").about("Of all of them"),
        |size| Some(size.bytes as f64),
    ),
];

/// A source's flows over their lifetimes: `[meter] flows`.
pub(crate) const LIVES: &[Figure<GroupLives>] = &[
    figure(
        label("throughput", Rate, "throughput")
            .about("Mean throughput of the flows, each from the first packet to the last")
            .more(),
        |lives| lives.throughput,
    ),
    figure(
        label("jain", Index, "Jain")
            .about("Jain’s index of these throughputs by weight")
            .more(),
        |lives| lives.jain,
    ),
    figure(
        label("jain_of_ratios", Index, "Jain of ratios")
            .about("Jain’s index of throughputs by what sources ask for")
            .more()
            .spare(4),
        |lives| lives.jain_of_ratios,
    ),
    figure(
        label("reordering", Part, "reordered")
            .about("The part of the packets received after one that was sent later (RFC 4737)"),
        |lives| lives.reordering,
    ),
    figure(
        label("round_trip", Seconds, "round trip").about("Mean of the flows’ mean round trips"),
        |lives| lives.round_trip,
    ),
    figure(
        label("bennett_zhang", Index, "mean")
            .under("ratio")
            .about("Bennett and Zhang’s ratio: throughput over the throughput on a separate link")
            .more()
            .spare(2),
        |lives| lives.bennett_zhang,
    ),
    figure(
        label("bennett_zhang_min", Index, "least")
            .under("ratio")
            .about("The smallest of these ratios")
            .more()
            .spare(5),
        |lives| lives.bennett_zhang_min,
    ),
    figure(
        label("startup_latency", Seconds, "mean")
            .under("startup")
            .about("Mean startup latency of flows that have ended")
            .spare(3),
        |lives| lives.startup_latency,
    ),
    figure(
        label("startup_latency_max", Seconds, "max")
            .under("startup")
            .about("The longest startup latency")
            .spare(5),
        |lives| lives.startup_latency_max,
    ),
    figure(
        label("starved", Tenths, "starved").about("Flows far below the mean throughput by weight"),
        |lives| Some(lives.starved as f64),
    ),
    figure(
        label("correlation", Index, "correlation")
            .about("Pearson’s, of throughputs with round trips: -1 to 1")
            .spare(6),
        |lives| lives.correlation,
    ),
];

/// The worst-case fair indices of a source's worst flow: `[meter] wfi`.
pub(crate) const INDICES: &[Figure<Worst>] = &[
    figure(
        label("b_wfi", Bytes, "B-WFI")
            .about("The largest number of bytes by which a backlogged flow was behind its share"),
        |worst| worst.b_wfi,
    ),
    figure(
        label("t_wfi", Seconds, "T-WFI")
            .about("The largest delay of a packet behind the flow’s share"),
        |worst| worst.t_wfi,
    ),
];

/// A class of links.
pub(crate) const CLASS: &[Figure<ClassResult>] = &[
    figure(
        label("links", Count, "number")
            .about("Links of this class, one way")
            .spare(2),
        |class| Some(class.links as f64),
    ),
    figure(
        label("utilisation", Part, "utilisation").about("Mean of the parts of the time at work"),
        |class| Some(class.utilisation),
    ),
    figure(
        label("busiest", Part, "busiest").about("Utilisation of the busiest of them"),
        |class| Some(class.busiest),
    ),
    figure(
        label("loss", Part, "loss")
            .about("Dropped and lost packets over sent and dropped packets")
            .harm(),
        |class| class.loss,
    ),
    figure(
        label("filtered", Count, "filtered")
            .about("Acknowledgements dropped because later ones repeat them, which is no loss")
            .if_any()
            .spare(4),
        |class| Some(class.dropped[DropReason::Filtered as usize] as f64),
    ),
    figure(
        label("wait_mean", Seconds, "mean")
            .under("wait")
            .about("Mean wait in their queues"),
        |class| class.wait.mean,
    ),
    figure(
        label("wait_p50", Seconds, "p50")
            .under("wait")
            .about("Half of the waits were no longer")
            .spare(5),
        |class| class.wait.p50,
    ),
    figure(
        label("wait_p99", Seconds, "p99")
            .under("wait")
            .about("99 of 100 waits were no longer"),
        |class| class.wait.p99,
    ),
    figure(
        label("wait_p999", Seconds, "p99.9")
            .under("wait")
            .about("999 of 1,000 waits were no longer")
            .spare(6),
        |class| class.wait.p999,
    ),
    figure(
        label("wait_max", Seconds, "max")
            .under("wait")
            .about("The longest wait")
            .spare(3),
        |class| class.wait.max,
    ),
];

/// A link.
pub(crate) const LINK: &[Figure<LinkResult>] = &[
    figure(label("rate", Rate, "rate").about("Of the link"), |link| {
        Some(link.rate as f64)
    }),
    figure(
        label("utilisation", Part, "utilisation").about("Part of the time at work"),
        |link| Some(link.utilisation),
    ),
    figure(
        label("packets", Count, "packets").about("That it carried"),
        |link| Some(link.packets as f64),
    ),
    figure(
        label("loss", Part, "loss")
            .about("Dropped and lost packets over sent and dropped packets")
            .harm(),
        LinkResult::loss,
    ),
    figure(
        label("filtered", Count, "filtered")
            .about("Acknowledgements dropped because later ones repeat them, which is no loss")
            .if_any(),
        |link| Some(link.dropped[DropReason::Filtered as usize] as f64),
    ),
    figure(
        label("wait_mean", Seconds, "wait").about("Mean, in its queue"),
        |link| link.wait,
    ),
];

/// Throughputs of one rank over replicas. A bimodal rank has both modes.
pub(crate) const RANK: &[Figure<RankResult>] = &[
    figure(
        label("mean", Rate, "throughput")
            .about("Mean over replicas of the throughput of this rank, the least first")
            .more(),
        |rank| Some(rank.mean),
    ),
    figure(
        label("deviation", Rate, "deviation").about("Standard deviation over replicas"),
        |rank| rank.deviation,
    ),
    figure(
        label("lower_mode", Rate, "lower mode")
            .about("Mean of the lower of two modes, where the rank has two"),
        |rank| Some(rank.modes?[0].mean),
    ),
    figure(
        label("higher_mode", Rate, "higher mode").about("Mean of the higher of two modes"),
        |rank| Some(rank.modes?[1].mean),
    ),
];

/// A flow.
pub(crate) const FLOW: &[Figure<FlowResult>] = &[
    figure(
        label("opened", Seconds, "opened").about("When it began"),
        |flow| Some(flow.opened),
    ),
    figure(
        label("sent", Count, "sent").about("Packets after the warm-up"),
        |flow| Some(flow.packets.sent as f64),
    ),
    figure(
        label("throughput", Rate, "throughput")
            .about("What arrived after the warm-up")
            .more(),
        |flow| Some(flow.throughput),
    ),
    figure(
        label("loss", Part, "loss")
            .about("The part of the packets with a known fate that did not arrive")
            .harm(),
        |flow| flow.packets.loss(),
    ),
    figure(
        label("delay_mean", Seconds, "mean")
            .under("delay")
            .about("Mean delay from agent to the end of the route"),
        |flow| flow.delay,
    ),
    figure(
        label("delay_deviation", Seconds, "deviation")
            .under("delay")
            .about("Of one packet’s delay from the mean"),
        |flow| flow.delay_deviation,
    ),
    figure(
        label("delay_max", Seconds, "max")
            .under("delay")
            .about("The longest delay"),
        |flow| flow.longest_delay,
    ),
    figure(
        label("bennett_zhang", Index, "ratio")
            .about("Bennett and Zhang’s ratio: throughput over the throughput on a separate link")
            .more(),
        |flow| flow.life?.bennett_zhang,
    ),
    figure(
        label("reordered", Count, "reordered")
            .about("Packets received after one that was sent later"),
        |flow| Some(flow.life?.reordered as f64),
    ),
    figure(
        label("startup_latency", Seconds, "startup")
            .about("Startup latency, of a flow that has ended"),
        |flow| flow.life?.startup_latency,
    ),
    figure(
        label("b_wfi", Bytes, "B-WFI")
            .about("The largest number of bytes by which the backlogged flow was behind its share"),
        |flow| Some(flow.indices?.b_wfi),
    ),
    figure(
        label("t_wfi", Seconds, "T-WFI")
            .about("The largest delay of a packet behind the flow’s share"),
        |flow| flow.indices?.t_wfi,
    ),
];

/// The largest indices among a group's flows in one replica. None if no flow of the group crossed a
/// measured link.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Worst {
    b_wfi: Option<f64>,
    t_wfi: Option<f64>,
}

impl Worst {
    /// For group `number`. The last group is all groups together and has no kind.
    pub(crate) fn of(results: &Results, number: usize) -> Self {
        let group = &results.groups[number];
        let mut worst = Self {
            b_wfi: None,
            t_wfi: None,
        };
        for flow in &results.flows {
            if let Some(indices) = flow.indices
                && (group.kind.is_empty() || *flow.group == *group.name)
            {
                worst.b_wfi = larger(worst.b_wfi, Some(indices.b_wfi));
                worst.t_wfi = larger(worst.t_wfi, indices.t_wfi);
            }
        }
        worst
    }

    pub(crate) const fn is_some(&self) -> bool {
        self.b_wfi.is_some()
    }
}

fn larger(one: Option<f64>, other: Option<f64>) -> Option<f64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.max(other)),
        (one, None) => one,
        (None, other) => other,
    }
}
