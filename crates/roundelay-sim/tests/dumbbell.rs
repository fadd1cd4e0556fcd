//! Sources on the dumbbell of the MQFQ paper, compared with other simulators and with calculated
//! results.

use roundelay::Seed;
use roundelay::{DropReason, Duration, Instant};
use roundelay_sim::sources::Terms;
use roundelay_sim::sources::cbr::{self, Cbr};
use roundelay_sim::sources::tcp::Tcp;
use roundelay_sim::topologies::{Dumbbell, Queues, Topology};
use roundelay_sim::{
    Agent, FlowCounts, FlowNumber, LinkCounts, Network, NodeId, Probe, Report, Simulation,
};

use crate::Observed;

const FLOWS: u32 = 50;

/// The paper's network: pairs of senders and receivers; the bottleneck is the first link.
fn dumbbell(queue: &str, pairs: u32) -> (Network, Vec<[NodeId; 2]>) {
    let queues = Queues {
        core: queue.parse().expect("a queue"),
        ..Queues::default()
    };
    let Topology { network, hosts, .. } = Dumbbell {
        pairs,
        ..Dumbbell::default()
    }
    .build(&queues)
    .expect("the paper's network");
    let (senders, receivers) = hosts.split_at(pairs as usize);
    (
        network,
        senders
            .iter()
            .zip(receivers)
            .map(|(from, to)| [*from, *to])
            .collect(),
    )
}

const DROP_TAIL: &str = "fifo limit 100";

/// Counts of the flows and of the bottleneck after some seconds.
fn run(
    seconds: u64,
    mut source: impl FnMut(usize, Terms) -> Box<dyn Agent>,
) -> (Vec<FlowCounts>, LinkCounts) {
    let (network, hosts) = dumbbell(DROP_TAIL, FLOWS);
    let mut simulation = Simulation::new(network, Seed::new(1)).expect("the queues are legal");
    for (place, [from, to]) in hosts.into_iter().enumerate() {
        simulation.spawn(source(place, Terms::new(from, to)), Instant::ZERO);
    }
    simulation
        .run(Instant::ZERO + Duration::from_secs(seconds))
        .expect("all nodes are connected");
    let flows = simulation.flows().map(|(_, counts)| counts).collect();
    (flows, simulation.links().next().expect("the bottleneck"))
}

/// 50 flows of 150 kbit/s in packets of 1000 bytes, each with a separate start time.
fn cbr(seconds: u64, starts: impl Fn(usize) -> Instant) -> (u64, f64) {
    let flows = cbr_flows(seconds, starts);
    (flows.iter().map(|flow| flow.delivered).sum(), jain(&flows))
}

fn cbr_flows(seconds: u64, starts: impl Fn(usize) -> Instant) -> Vec<FlowCounts> {
    let rate = "150kbit".parse().expect("a rate");
    let (flows, _) = run(seconds, |place, terms| {
        let terms = Terms {
            start: starts(place),
            ..terms
        };
        Box::new(Cbr::new(terms, cbr::Config::new(rate, 1000)).expect("a legal source"))
    });
    flows
}

fn jain(flows: &[FlowCounts]) -> f64 {
    let (sum, squares) = flows
        .iter()
        .map(|flow| flow.delivered as f64)
        .fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    sum * sum / (flows.len() as f64 * squares)
}

/// Starts within the first second, in nanoseconds: the first fifty numbers of Python's
/// `random.seed(1); random.random()`, rounded down.
const STARTS: [u64; 50] = [
    134_364_244,
    847_433_736,
    763_774_618,
    255_069_025,
    495_435_087,
    449_491_064,
    651_592_972,
    788_723_351,
    93_859_586,
    28_347_476,
    835_765_103,
    432_767_067,
    762_280_082,
    2_106_053,
    445_387_194,
    721_540_032,
    228_762_221,
    945_270_695,
    901_427_457,
    30_589_983,
    25_445_860,
    541_412_472,
    939_149_162,
    381_204_237,
    216_599_397,
    422_116_575,
    29_040_787,
    221_691_666,
    437_887_593,
    495_812_241,
    233_084_450,
    230_866_541,
    218_781_037,
    459_603_465,
    289_781_614,
    21_489_705,
    837_577_975,
    556_454_322,
    642_294_362,
    185_906_265,
    992_543_412,
    859_946_528,
    120_889_959,
    332_695_185,
    721_484_407,
    711_191_769,
    936_440_586,
    422_106_999,
    830_035_693,
    670_305_566,
];

/// Eight simulators (ns-2, ns-3, ns.py, htsim and others) agree on 62,305 packets in 100 s and a
/// Jain index of 0.761 for exactly periodic flows. These start times give both.
#[test]
fn periodic_flows_as_other_simulators_have_them() {
    let (delivered, jain) = cbr(100, |place| Instant::from_nanos(STARTS[place]));
    assert_eq!(delivered, 62_305);
    assert!((jain - 0.761).abs() < 0.0005, "{jain}");
}

/// All flows start at once. The bottleneck is never idle after the first packet: packet n is
/// delivered 31.76 ms + (n - 1) 1.6 ms after the start. Of the fifty simultaneous packets 33 or 34
/// fit into the buffer, from the flows added first. The result: 33 flows have the full rate, one a
/// third, and sixteen little more than the packets buffered at the start.
#[test]
fn flows_that_start_together_stay_together() {
    let (delivered, jain) = cbr(100, |_| Instant::ZERO);
    assert_eq!(delivered, (100_000_000 - 31_760) / 1_600 + 1);
    let shares = 33.0 + 1.0 / 3.0;
    let expected = shares * shares / (50.0 * (33.0 + 1.0 / 9.0));
    assert!((jain - expected).abs() < 0.005, "{jain} for {expected}");
}

/// Packets of one instant are forwarded in the order of arrival, hop by hop.
#[test]
fn of_flows_that_start_together_those_added_first_find_room() {
    let delivered: Vec<_> = cbr_flows(20, |_| Instant::ZERO)
        .iter()
        .map(|flow| flow.delivered)
        .collect();
    let (rich, poor) = delivered.split_at(33);
    assert!(rich.iter().all(|packets| *packets > 350), "{rich:?}");
    assert!(poor[1..].iter().all(|packets| *packets < 20), "{poor:?}");
}

/// Fifty starts spread evenly over one interval: the third of every three packets is dropped, and
/// 50 is not divisible by 3.
#[test]
fn flows_that_are_spread_share_alike() {
    let rate = "150kbit".parse().expect("a rate");
    let spread = cbr::Config::new(rate, 1000).spread(Terms::new(NodeId(0), NodeId(1)), FLOWS);
    let starts: Vec<_> = spread.map(|terms| terms.start).collect();
    let (_, jain) = cbr(100, |place| starts[place]);
    assert!(jain > 0.999, "{jain}");
}

/// A megabyte for each flow, through an overflowing queue: all data arrives, and each dropped data
/// packet was retransmitted.
#[test]
fn finite_flows_arrive_whole() {
    const SIZE: u64 = 1_000_000;
    let (network, hosts) = dumbbell(DROP_TAIL, 10);
    let mut reports = Reports::default();
    let mut simulation =
        Observed::with_probe(network, Seed::new(1), &mut reports).expect("the queues are legal");
    for [from, to] in hosts {
        let source = Tcp::new(
            Terms::new(from, to),
            roundelay_tcp::Config::rfc(),
            Some(SIZE),
        );
        simulation.spawn(Box::new(source.expect("a legal source")), Instant::ZERO);
    }
    simulation
        .run(Instant::ZERO + Duration::from_secs(60))
        .expect("all nodes are connected");
    let dropped: u64 = simulation
        .links()
        .map(|link| link.dropped[DropReason::Full as usize])
        .sum();
    assert_eq!(simulation.on_their_way(), 0);
    let Reports(reports) = reports;
    assert_eq!(reports.len(), 10);
    assert!(
        reports
            .iter()
            .all(|report| report.is_complete && report.bytes == SIZE)
    );
    let retransmissions: u64 = reports.iter().map(|report| report.retransmissions).sum();
    assert!(
        dropped > 0 && retransmissions >= dropped,
        "{retransmissions} for {dropped}"
    );
}

#[derive(Default)]
struct Reports(Vec<Report>);

impl Probe for Reports {
    fn reported(&mut self, _: Instant, _: FlowNumber, report: &Report) {
        self.0.push(*report);
    }
}

/// Marks take the place of drops.
#[test]
fn flows_that_take_marks_lose_nothing() {
    let run = |ecn: bool| {
        let (network, hosts) = dumbbell("fq_codel limit 1000 ecn", 4);
        let mut simulation = Simulation::new(network, Seed::new(1)).expect("the queues are legal");
        for [from, to] in hosts {
            let protocol = roundelay_tcp::Config {
                ecn,
                ..roundelay_tcp::Config::rfc()
            };
            let source = Tcp::new(Terms::new(from, to), protocol, None);
            simulation.spawn(Box::new(source.expect("a legal source")), Instant::ZERO);
        }
        simulation
            .run(Instant::ZERO + Duration::from_secs(30))
            .expect("all nodes are connected");
        let bottleneck = simulation.links().next().expect("the bottleneck");
        (
            bottleneck.dropped.iter().sum::<u64>(),
            bottleneck.bytes as f64 * 8.0 / 5e6 / 30.0,
        )
    };
    let (with, without) = (run(true), run(false));
    assert!(with.0 == 0 && without.0 > 0, "{with:?} {without:?}");
    assert!(with.1 > 0.9 && without.1 > 0.9, "{with:?} {without:?}");
}

/// NewReno over packets of 1000 bytes, as in ns-2.
#[test]
fn bulk_flows_fill_the_link() {
    let protocol = roundelay_tcp::Config {
        segment_len: 960,
        header_len: 40,
        ..roundelay_tcp::Config::ns2_newreno_sack1()
    };
    let (flows, bottleneck) = run(60, |_, terms| {
        let terms = Terms {
            start_jitter: Duration::from_secs(1),
            ..terms
        };
        Box::new(Tcp::new(terms, protocol, None).expect("a legal source"))
    });
    let utilisation = bottleneck.bytes as f64 * 8.0 / 5e6 / 60.0;
    assert!(utilisation > 0.95 && utilisation <= 1.0, "{utilisation}");
    let dropped: u64 = flows
        .iter()
        .map(|flow| flow.dropped.iter().sum::<u64>())
        .sum();
    assert_eq!(
        dropped,
        bottleneck.dropped.iter().sum::<u64>(),
        "nowhere else"
    );
    assert!(dropped > 0 && dropped == bottleneck.dropped[DropReason::Full as usize]);
    assert!(jain(&flows) > 0.9, "{}", jain(&flows));
}
