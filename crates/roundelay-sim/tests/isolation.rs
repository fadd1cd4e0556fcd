//! Buffers belong to ports, behind the classifier: under fair queueing a flow within its share
//! loses nothing, however full the buffer is with packets of others. A buffer in front of a fair
//! queue with tail drop would isolate no flow.

use roundelay::Seed;
use roundelay::{Duration, FlowConfig, Instant, QueueSpec};
use roundelay_sim::sources::Terms;
use roundelay_sim::sources::cbr::{self, Cbr};
use roundelay_sim::sources::poisson::{Lengths, Poisson};
use roundelay_sim::topologies::{Dumbbell, Queues, Topology};
use roundelay_sim::{Agent, FlowCounts, NodeId, Simulation};

/// Flows within their share of 5 Mbit/s.
const CONFORMING: usize = 9;

/// Nine flows of 450 kbit/s, a tenth less than their share of a bottleneck of 5 Mbit/s with room
/// for 100 packets, and one flood of 10 Mbit/s. Returns the counts of all flows after 20 s, the
/// flood last.
fn run(queue: &str) -> Vec<FlowCounts> {
    let spec: QueueSpec = queue.parse().expect("a queue");
    let queues = Queues {
        core: spec,
        ..Queues::default()
    };
    let network = Dumbbell {
        pairs: CONFORMING as u32 + 1,
        ..Dumbbell::default()
    };
    let Topology { network, hosts, .. } = network.build(&queues).expect("a legal network");
    let (senders, receivers) = hosts.split_at(CONFORMING + 1);
    let mut simulation = Simulation::new(network, Seed::new(1)).expect("legal queues");
    for (place, (from, to)) in senders.iter().zip(receivers).enumerate() {
        simulation.spawn(source(place, *from, *to), Instant::ZERO);
    }
    simulation
        .run(Instant::ZERO + Duration::from_secs(20))
        .expect("all are connected");
    simulation.flows().map(|(_, counts)| counts).collect()
}

fn source(place: usize, from: NodeId, to: NodeId) -> Box<dyn Agent> {
    let mut terms = Terms::new(from, to);
    // Flows start one after another, to be counted in this order.
    terms.start = Instant::from_nanos(3_700_000 * place as u64);
    terms.flow.config = Some(FlowConfig::default());
    if place == CONFORMING {
        Box::new(
            Poisson::new(
                terms,
                "10mbit".parse().expect("a rate"),
                Lengths::Fixed(1000),
                None,
            )
            .expect("legal"),
        )
    } else {
        Box::new(
            Cbr::new(
                terms,
                cbr::Config::new("450kbit".parse().expect("a rate"), 1000),
            )
            .expect("legal"),
        )
    }
}

/// Share of packets dropped, of the conforming flows and of the flood.
fn losses(queue: &str) -> [f64; 2] {
    let flows = run(queue);
    let part = |flows: &[FlowCounts]| {
        let dropped: u64 = flows.iter().flat_map(|flow| flow.dropped).sum();
        dropped as f64 / flows.iter().map(|flow| flow.sent).sum::<u64>() as f64
    };
    let (conforming, flood) = flows.split_at(CONFORMING);
    [part(conforming), part(flood)]
}

/// The flood gets the remaining 950 kbit/s and loses nine tenths.
#[test]
fn flows_that_keep_to_their_share_lose_nothing_under_fair_queueing() {
    for discipline in [
        "wfq",
        "wf2q",
        "wf2q_plus",
        "drr",
        "qfq",
        "qfq_plus",
        "scfq",
        "gfq",
        "mqfq",
        "s_kps",
        "packet_fq",
    ] {
        let [conforming, flood] = losses(&format!("{discipline} limit 100"));
        assert_eq!(conforming, 0.0, "{discipline}");
        assert!((0.89..0.92).contains(&flood), "{discipline}: {flood}");
    }
}

/// With one queue for all, all flows lose alike: 14.05 Mbit/s are offered and 5 Mbit/s go through,
/// a loss of 64 %.
#[test]
fn under_first_in_first_out_everybody_loses() {
    let [conforming, flood] = losses("fifo limit 100");
    assert!(
        (0.55..0.75).contains(&conforming) && (0.6..0.7).contains(&flood),
        "{conforming} {flood}"
    );
}
