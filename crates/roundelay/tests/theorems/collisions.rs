//! Collisions of hashed flows: [`Control::queues_of`] agrees with the service of packets.

use roundelay::schedulers::{AnyDiscipline, AnyScheduler};
use roundelay::{Control, Seed};
use roundelay::{FlowId, Instant, Packet, QueueSpec, Scheduler};

const NOW: Instant = Instant::ZERO;
const HASHED: [&str; 7] = [
    "packet_fq",
    "sfq",
    "mqfq",
    "sfb",
    "fq_codel",
    "fq_pie",
    "cake",
];

fn build(text: &str, seed: u64) -> AnyScheduler<u32> {
    text.parse::<QueueSpec>()
        .expect("legal")
        .discipline
        .build(Seed::new(seed))
        .expect("legal")
}

fn put(scheduler: &mut AnyScheduler<u32>, flow: u32, packets: u32) {
    (0..packets).for_each(|number| {
        assert!(
            scheduler
                .enqueue(NOW, Packet::new(FlowId(flow), 1000, number))
                .is_ok()
        )
    });
}

/// The number of flow 1's ten packets that leave before flow 2's packet.
fn ahead(mut scheduler: AnyScheduler<u32>) -> usize {
    put(&mut scheduler, 1, 10);
    put(&mut scheduler, 2, 1);
    std::iter::from_fn(|| scheduler.dequeue(NOW))
        .position(|packet| packet.flow == FlowId(2))
        .expect("it leaves")
}

/// In one queue, a packet waits for all earlier arrivals; in another, for a turn.
#[test]
fn flows_wait_for_each_other_just_where_their_queues_are_the_same() {
    for text in [
        "packet_fq flows 4",
        "sfq divisor 4 quantum 1000b",
        "mqfq queues 4 hashes 1 quantum 1000b",
        "fq_codel flows 4 quantum 1000b",
    ] {
        let mut met = 0;
        for seed in 0..100 {
            let scheduler = build(text, seed);
            let [one, two] = [1, 2].map(|flow| scheduler.queues_of(FlowId(flow)));
            assert_eq!((one.len(), one[0] < 4), (1, true), "{text}");
            met += usize::from(one == two);
            assert_eq!(ahead(scheduler) == 10, one == two, "{text}, seed {seed}");
        }
        assert!(
            (10..45).contains(&met),
            "{text}: {met} of 100 meet, 25 expected"
        );
    }
}

/// With several hashes, a packet finds an empty queue unless the other flow uses all of its queues.
#[test]
fn a_flow_with_two_queues_waits_only_where_both_are_the_others() {
    let mut met = 0;
    for seed in 0..200 {
        let scheduler = build("mqfq queues 4 quantum 1000b", seed);
        let [one, two] = [1, 2].map(|flow| scheduler.queues_of(FlowId(flow)));
        assert_eq!(two.len(), 2);
        let is_met = two.iter().all(|queue| one.contains(queue));
        met += usize::from(is_met);
        assert_eq!(
            ahead(scheduler) == 10,
            is_met,
            "seed {seed}: {one:?}, {two:?}"
        );
    }
    assert!((20..70).contains(&met), "{met} of 200 meet, 41 expected");
}

/// One packet a bin: the second flow is refused where it shares all bins with the first.
#[test]
fn a_flow_is_refused_only_where_all_its_bins_are_full() {
    let mut met = 0;
    for seed in 0..200 {
        let mut scheduler = build("sfb levels 2 bins 3 target 1 max 1", seed);
        let [one, two] = [1, 2].map(|flow| scheduler.queues_of(FlowId(flow)));
        assert!(
            one[0] < 3 && (3..6).contains(&one[1]),
            "levels are numbered one after the other: {one:?}"
        );
        met += usize::from(one == two);
        put(&mut scheduler, 1, 1);
        put(&mut scheduler, 2, 1);
        assert_eq!(
            scheduler.take_dropped().is_some(),
            one == two,
            "seed {seed}: {one:?}, {two:?}"
        );
    }
    assert!((8..45).contains(&met), "{met} of 200 meet, 22 expected");
}

/// With `any_bin`, one shared bin is enough.
#[test]
fn a_flow_is_refused_where_any_of_its_bins_is_full_if_so_set() {
    let mut met = 0;
    for seed in 0..200 {
        let mut scheduler = build("sfb levels 2 bins 3 target 1 max 1 any_bin", seed);
        let [one, two] = [1, 2].map(|flow| scheduler.queues_of(FlowId(flow)));
        let meets = one.iter().any(|bin| two.contains(bin));
        met += usize::from(meets);
        put(&mut scheduler, 1, 1);
        put(&mut scheduler, 2, 1);
        assert_eq!(
            scheduler.take_dropped().is_some(),
            meets,
            "seed {seed}: {one:?}, {two:?}"
        );
    }
    assert!((80..140).contains(&met), "{met} of 200 meet, 111 expected");
}

#[test]
fn others_hash_no_flows() {
    for name in AnyDiscipline::all().iter().map(AnyDiscipline::name) {
        assert_eq!(
            !build(name, 1).queues_of(FlowId(3)).is_empty(),
            HASHED.contains(&name),
            "{name}"
        );
    }
}

/// `sfq perturb` draws other buckets, and `queues_of` changes with the buckets.
#[test]
fn a_new_key_gives_other_queues() {
    let mut scheduler = build("sfq perturb 1ms", 1);
    let before = scheduler.queues_of(FlowId(1));
    for later in [1, 2] {
        let now = NOW + roundelay::Duration::from_millis(later);
        assert!(
            scheduler
                .enqueue(now, Packet::new(FlowId(2), 1000, 0))
                .is_ok()
        );
    }
    assert_ne!(scheduler.queues_of(FlowId(1)), before);
}
