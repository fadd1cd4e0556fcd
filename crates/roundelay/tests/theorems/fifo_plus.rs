//! FIFO+: the claims of `fifo_plus.rs`, and disciplines that break them.

use proptest::prelude::*;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use roundelay::Seed;
use roundelay::schedulers::{Discipline, fifo, fifo_plus, lifo, lstf};
use roundelay::{DropReason, Duration, Instant, Packet, Scheduler, Slack};

use crate::theorems::network::{Header, Journey, Network, Schedule, Stay, Ticket, worst_wait};
use crate::theorems::ranked::{
    Step, dropped, fixed_steps, newest, obeys, smallest, steps, with_priority,
};

fn build() -> fifo_plus::FifoPlus<u64> {
    fifo_plus::Config
        .build(Seed::new(0))
        .expect("no parameters")
}

fn fifo() -> fifo::Fifo<u64> {
    fifo::Config.build(Seed::new(0)).expect("no parameters")
}

fn is_by_expected_arrival(scheduler: impl Scheduler<u64>, steps: &[Step]) -> bool {
    let expected = |packet: &Packet<u64>| {
        i128::from(packet.arrival.as_picos()) + i128::from(packet.slack.as_picos())
    };
    obeys(
        scheduler,
        steps,
        |waiting| smallest(waiting, expected),
        newest,
    )
}

fn is_fifo(scheduler: impl Scheduler<u64>, steps: &[Step]) -> bool {
    obeys(
        scheduler,
        steps,
        |waiting| (!waiting.is_empty()).then_some(0),
        newest,
    )
}

/// The same steps with packets of equal slack and equal length.
fn without_a_past(steps: Vec<Step>) -> Vec<Step> {
    let alike = |step: Step| match step {
        Step::Arrive {
            flow,
            priority,
            deadline,
            ..
        } => Step::Arrive {
            flow,
            len: 1000,
            priority,
            slack: 1_000_000_000_000,
            deadline,
        },
        other => other,
    };
    steps.into_iter().map(alike).collect()
}

proptest! {
    #[test]
    fn whoever_waited_upstream_passes(steps in steps()) {
        prop_assert!(is_by_expected_arrival(build(), &steps));
    }

    #[test]
    fn without_a_past_it_is_fifo(steps in steps()) {
        let steps = without_a_past(steps);
        prop_assert!(is_fifo(build(), &steps));
    }
}

#[test]
fn the_checks_find_other_orders() {
    assert!(
        is_by_expected_arrival(build(), &fixed_steps())
            && !is_by_expected_arrival(fifo(), &fixed_steps())
    );
    assert!(
        !is_fifo(build(), &fixed_steps()),
        "packets that have a past pass others"
    );
    assert!(!is_fifo(
        lifo::Lifo::default(),
        &without_a_past(fixed_steps())
    ));
}

/// Packets of one length over a row of nodes, each through some neighbouring nodes: long paths meet
/// short paths.
fn tandem(seed: u64, nodes: usize, packets: usize) -> Network {
    let mut random = Pcg64::seed_from_u64(seed);
    let journey = |number: usize| {
        let from = random.random_range(0..nodes);
        let path: Vec<_> = if number.is_multiple_of(3) {
            (0..nodes).collect()
        } else {
            vec![from]
        };
        // Each packet takes a microsecond: 2/3 of the packets spread over all nodes and 1/3 at each
        // make a load of 0.9.
        let span = (packets * 1_000_000 / 100 * (100 / 3 + 200 / 3 / nodes) / 90 * 100) as u64;
        Journey::new(random.random_range(0..span), 1000, &path)
    };
    Network {
        picos_per_byte: vec![1000; nodes],
        journeys: (0..packets).map(journey).collect(),
    }
}

/// The initial slack of all packets; each node subtracts the wait.
const INITIAL: i64 = 1_000_000_000_000;

fn run<S: Scheduler<Ticket>>(network: &Network, build: impl Fn(usize) -> S) -> Schedule {
    let header = |(journey, _): Ticket, _, stays: &[Stay]| Header {
        slack: INITIAL - network.waited(journey, stays) as i64,
        ..Header::default()
    };
    network.run(network.ports(build), header)
}

/// UPS, section 3.2, packet by packet. With different lengths LSTF takes the transmission time into
/// account and FIFO+ does not.
#[test]
fn it_is_lstf_with_equal_initial_slack() {
    let mut others = 0;
    for seed in 0..40 {
        let network = tandem(seed, 4, 120);
        let ours = run(&network, |_| fifo_plus::FifoPlus::default());
        assert_eq!(
            ours,
            run(&network, |_| Network::lstf(false, true)),
            "seed {seed}"
        );
        assert_eq!(
            ours,
            run(&network, |_| Network::lstf(false, false)),
            "seed {seed}"
        );
        others += u32::from(ours != run(&network, |_| fifo::Fifo::default()));
    }
    assert!(others > 30, "FIFO is another: {others}");
}

/// Clark, Shenker and Zhang: over one hop FIFO+ is FIFO, and over several hops the worst delay
/// grows less.
#[test]
fn the_tail_over_several_hops_is_shorter_than_with_fifo() {
    for (hops, is_shorter) in [(1, false), (4, true)] {
        let (mut plus, mut plain, mut better, mut worse) = (0, 0, 0, 0);
        for seed in 0..30 {
            let network = tandem(seed, hops, 400);
            let [ours, theirs] = [
                run(&network, |_| fifo_plus::FifoPlus::default()),
                run(&network, |_| fifo::Fifo::default()),
            ]
            .map(|schedule| worst_wait(&network, &schedule));
            plus += ours;
            plain += theirs;
            better += u32::from(ours < theirs);
            worse += u32::from(ours > theirs);
        }
        if is_shorter {
            assert!(
                plus * 100 < plain * 95 && better > 3 * worse,
                "{plus} and {plain} ps, {better} seeds better, {worse} worse"
            );
        } else {
            assert_eq!((plus, better, worse), (plain, 0, 0));
        }
    }
}

#[test]
fn a_full_buffer_drops_the_tail() {
    // The last two packets have waited long upstream, but arrive too late for the full buffer.
    let packets = [9, 9, 9, 9, -9, -9].map(|slack| Packet {
        slack: Slack::from_picos(slack * 1_000_000),
        ..with_priority(0, 0, 0)
    });
    assert_eq!(
        dropped(build(), &packets),
        [(4, DropReason::Full), (5, DropReason::Full)]
    );
    let lstf = lstf::Config::default().build(Seed::new(0)).expect("legal");
    assert_eq!(
        dropped(lstf, &packets),
        [(3, DropReason::PushedOut), (2, DropReason::PushedOut)]
    );
}

#[test]
fn extremes_do_not_wrap() {
    let mut scheduler = build();
    for (number, (now, slack)) in (0..).zip([
        (0, i64::MAX),
        (0, i64::MIN),
        (u64::MAX, i64::MAX),
        (u64::MAX, i64::MIN),
    ]) {
        let packet = Packet {
            slack: Slack::from_picos(slack),
            ..with_priority(0, 0, number)
        };
        assert!(
            scheduler
                .enqueue(Instant::ZERO + Duration::from_picos(now), packet)
                .is_ok()
        );
    }
    let order: Vec<_> = std::iter::from_fn(|| scheduler.dequeue(Instant::MAX))
        .map(|packet| packet.payload)
        .collect();
    assert_eq!(order, [1, 0, 3, 2]);
}
