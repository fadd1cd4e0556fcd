//! Random order: the claims of `random.rs`, and disciplines that break them.

use roundelay::Seed;
use roundelay::schedulers::{Discipline, drr, lifo, random};
use roundelay::{FlowId, Instant, Packet, Scheduler};

use crate::theorems::ranked::{dropped, order, with_priority};

fn build(seed: u64) -> random::Random<u64> {
    random::Config
        .build(Seed::new(seed))
        .expect("no parameters")
}

/// Whether each count matches chance with `trials` trials and probability 1 / n, to within five
/// standard deviations.
fn is_even(counts: &[u32], trials: u32) -> bool {
    let (trials, p) = (f64::from(trials), 1.0 / counts.len() as f64);
    counts.iter().all(|count| {
        (f64::from(*count) - trials * p).abs() <= 5.0 * (trials * p * (1.0 - p)).sqrt()
    })
}

const TRIALS: u32 = 20_000;

/// How often each of n waiting packets leaves as the `turn`th, over many seeds.
fn counts<S: Scheduler<u64>>(n: u64, turn: usize, build: impl Fn(u64) -> S) -> Vec<u32> {
    let packets: Vec<_> = (0..n).map(|number| with_priority(0, 0, number)).collect();
    let mut counts = vec![0; n as usize];
    (0..TRIALS)
        .for_each(|seed| counts[order(build(seed.into()), &packets)[turn].payload as usize] += 1);
    counts
}

#[test]
fn each_packet_is_as_likely_as_any_other() {
    for (n, turn) in [(2, 0), (3, 0), (3, 1), (5, 4), (7, 2)] {
        let counts = counts(n, turn, build);
        assert!(is_even(&counts, TRIALS), "{counts:?}");
    }
    assert!(
        !is_even(&counts(3, 0, |_| lifo::Lifo::default()), TRIALS),
        "the check finds a rule"
    );
}

/// The same within one run: independent of earlier departures, and with arrivals in between.
#[test]
fn what_came_before_does_not_matter() {
    let mut scheduler = build(7);
    let mut ages = [0; 4];
    let mut waiting: Vec<u64> = Vec::new();
    for number in 0..u64::from(TRIALS) + 3 {
        assert!(
            scheduler
                .enqueue(Instant::ZERO, with_priority(0, 0, number))
                .is_ok()
        );
        waiting.push(number);
        if waiting.len() == 4 {
            let sent = scheduler.dequeue(Instant::ZERO).expect("four wait").payload;
            let age = waiting
                .iter()
                .position(|other| *other == sent)
                .expect("it waited");
            waiting.remove(age);
            ages[age] += 1;
        }
    }
    assert!(is_even(&ages, TRIALS), "{ages:?}");
}

#[test]
fn a_seed_is_an_order() {
    let packets: Vec<_> = (0..100).map(|number| with_priority(0, 0, number)).collect();
    assert_eq!(order(build(3), &packets), order(build(3), &packets));
    assert_ne!(order(build(3), &packets), order(build(4), &packets));
}

/// Packets of flow 0 among 10 000 sent, with nine packets of flow 0 and one of flow 1 always
/// waiting.
fn greedy_share(mut scheduler: impl Scheduler<u64>) -> u32 {
    let packet = |flow: u32| Packet::new(FlowId(flow), 1000, 0);
    (0..10).for_each(|number| {
        assert!(
            scheduler
                .enqueue(Instant::ZERO, packet(u32::from(number == 0)))
                .is_ok()
        )
    });
    let slot = |_| {
        let sent = scheduler.dequeue(Instant::ZERO).expect("ten wait").flow;
        assert!(scheduler.enqueue(Instant::ZERO, packet(sent.0)).is_ok());
        u32::from(sent == FlowId(0))
    };
    (0..10_000).map(slot).sum()
}

#[test]
fn a_greedy_flow_gets_what_it_brings() {
    let share = greedy_share(build(1));
    assert!(
        (8_850..9_150).contains(&share),
        "{share}: 9000, to within five standard deviations"
    );
    let fair = greedy_share(
        drr::Config { quantum: 1000 }
            .build(Seed::new(1))
            .expect("legal"),
    );
    assert!(
        (4_990..5_010).contains(&fair),
        "round robin does not care: {fair}"
    );
}

#[test]
fn a_full_buffer_gives_up_any_packet() {
    let packets = [(); 5].map(|()| with_priority(0, 0, 0));
    let mut counts = [0; 5];
    (0..TRIALS).for_each(|seed| counts[dropped(build(seed.into()), &packets)[0].0 as usize] += 1);
    assert!(is_even(&counts, TRIALS), "{counts:?}");
}
