//! Memory grows with packets in flight and flows alive, not with packets sent; in steady state
//! nothing is allocated.

use allocation_counter::{AllocationInfo, measure};
use roundelay::Seed;
use roundelay::{Duration, Instant};
use roundelay_sim::sources::arrivals::{Arrivals, Carrier, Host};
use roundelay_sim::sources::cbr::{self, Cbr};
use roundelay_sim::sources::tcp::Tcp;
use roundelay_sim::sources::{Sizes, Terms};
use roundelay_sim::topologies::{Dumbbell, Queues, Topology};
use roundelay_sim::{NodeId, Simulation};
use roundelay_tcp::Config;

const PAIRS: usize = 10;

/// Ten pairs and a full bottleneck of 5 Mbit/s. FIFO, because debug builds of other disciplines
/// check invariants and allocate for this.
fn dumbbell() -> Topology {
    let queues = Queues {
        core: "fifo limit 100".parse().expect("a queue"),
        ..Queues::default()
    };
    Dumbbell {
        pairs: PAIRS as u32,
        ..Dumbbell::default()
    }
    .build(&queues)
    .expect("legal")
}

fn constant_rates() -> Simulation {
    let Topology { network, hosts, .. } = dumbbell();
    let mut simulation = Simulation::new(network, Seed::new(1)).expect("legal queues");
    for pair in 0..PAIRS {
        let terms = Terms {
            start_jitter: Duration::from_secs(1),
            ..Terms::new(hosts[pair], hosts[pair + PAIRS])
        };
        let config = cbr::Config::new("750kbit".parse().expect("a rate"), 1000);
        simulation.spawn(
            Box::new(Cbr::new(terms, config).expect("legal")),
            Instant::ZERO,
        );
    }
    simulation
}

fn bulk_transfers() -> Simulation {
    let Topology { network, hosts, .. } = dumbbell();
    let mut simulation = Simulation::new(network, Seed::new(1)).expect("legal queues");
    for pair in 0..PAIRS {
        let terms = Terms {
            start_jitter: Duration::from_secs(1),
            ..Terms::new(hosts[pair], hosts[pair + PAIRS])
        };
        let source = Tcp::new(terms, Config::ns2_newreno_sack1(), None);
        simulation.spawn(Box::new(source.expect("legal")), Instant::ZERO);
    }
    simulation
}

/// Short TCP flows: 75 a second, of two sizes.
fn short_transfers() -> Simulation {
    let Topology { network, hosts, .. } = dumbbell();
    let mut simulation = Simulation::new(network, Seed::new(1)).expect("legal queues");
    let hosts = hosts
        .iter()
        .enumerate()
        .map(|(place, node)| Host {
            node: *node,
            group: u32::from(place >= PAIRS),
        })
        .collect();
    let sizes = Sizes::discrete(vec![(1_460, 0.8), (20_000, 1.0)]).expect("legal");
    let terms = Terms::new(NodeId(0), NodeId(0));
    let carrier = Carrier::Tcp(Config::ns2_newreno_sack1());
    let source = Arrivals::new(
        terms,
        hosts,
        "300kbit".parse().expect("a rate"),
        0.5,
        sizes,
        carrier,
    );
    simulation.spawn(Box::new(source.expect("legal")), Instant::ZERO);
    simulation
}

fn run(simulation: &mut Simulation, until: u64) {
    simulation
        .run(Instant::ZERO + Duration::from_secs(until))
        .expect("all are connected");
}

/// Allocations of a run, from the start and from the tenth second on.
fn allocations(build: fn() -> Simulation, seconds: u64) -> [AllocationInfo; 2] {
    let mut later = AllocationInfo::default();
    let all = measure(|| {
        let mut simulation = build();
        run(&mut simulation, 10);
        later = measure(|| run(&mut simulation, seconds));
        let carried: u64 = simulation.links().map(|link| link.packets).sum();
        assert!(carried > 500 * seconds, "{carried} packets");
    });
    [all, later]
}

#[test]
fn nothing_is_allocated_in_steady_state() {
    let [_, later] = allocations(constant_rates, 200);
    assert_eq!(later.count_total, 0, "constant rates");
    let [_, later] = allocations(bulk_transfers, 200);
    // Each of ten windows may grow for the last time, and a queue too.
    assert!(later.count_total <= 40, "bulk transfers: {later:?}");
}

/// Ten times the packets, the same memory: at most a quarter more, because a longer run has more
/// simultaneous flows and longer queues at the peak.
#[test]
fn memory_does_not_grow_with_packets_sent() {
    for (name, build) in [
        ("constant rates", constant_rates as fn() -> Simulation),
        ("bulk", bulk_transfers),
        ("short", short_transfers),
    ] {
        let [short, long] = [20, 200].map(|seconds| allocations(build, seconds)[0].bytes_max);
        println!("{name}: {short} bytes at most in 20 s, {long} in 200 s");
        assert!(
            long as f64 <= 1.25 * short as f64,
            "{name}: {short} bytes, then {long}"
        );
    }
}

/// Ended flows leave only their slots, which are reused: 100 flows end for each flow alive.
#[test]
fn flows_that_have_ended_leave_nothing() {
    let mut simulation = short_transfers();
    run(&mut simulation, 200);
    assert!(
        simulation.flows().count() < 100,
        "{}",
        simulation.flows().count()
    );
    let opened = simulation
        .flows()
        .map(|(number, _)| number.0)
        .max()
        .expect("some are alive");
    assert!(opened > 5_000, "{opened}");
}
