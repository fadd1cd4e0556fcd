//! Memory: no allocation below the largest backlog so far, and memory use as given by `footprint`.

use allocation_counter::measure;
use roundelay::author::Pool;
use roundelay::schedulers::{AnyDiscipline, AnyScheduler, Discipline, Visitor};
use roundelay::{Control, Seed};
use roundelay::{FlowConfig, FlowId, Instant, Packet, Scheduler};
use roundelay_conformance::subjects;

/// Debug builds allocate in the invariant checks; at these numbers of flows and packets, checks run
/// only at packet counts of 60 modulo 61.
const FLOWS: u32 = 128;
const FEWEST_PACKETS: u64 = 310;
const MOST_PACKETS: u64 = 360;

fn packet(number: u32) -> Packet<u64> {
    Packet::new(FlowId(number % FLOWS), 64 + number % 1450, number.into())
}

fn take_dropped<S: Scheduler<u64>>(scheduler: &mut S) {
    while scheduler.take_dropped().is_some() {}
}

/// An [`AnyScheduler`]: functions over static types would be compiled for each discipline.
fn scheduler(discipline: &AnyDiscipline) -> AnyScheduler<u64> {
    discipline.build(Seed::new(1)).expect("legal parameters")
}

/// Enqueues a packet, then dequeues while more than `most` packets wait.
fn admit<S: Scheduler<u64>>(scheduler: &mut S, packet: Packet<u64>, most: u64) {
    let _ = scheduler.enqueue(Instant::ZERO, packet);
    take_dropped(scheduler);
    loop {
        let before = scheduler.backlog().packets;
        if before <= most {
            return;
        }
        scheduler.dequeue(Instant::ZERO);
        take_dropped(scheduler);
        assert!(
            scheduler.backlog().packets < before,
            "what has left waits no longer"
        );
    }
}

/// Enqueues and dequeues in turn; the backlog moves between the two marks.
fn churn<S: Scheduler<u64>>(scheduler: &mut S, pairs: u32) {
    for number in 0..pairs {
        // Prime strides vary the combinations of flows.
        admit(
            scheduler,
            packet(number.wrapping_mul(7919)),
            if number / 1000 % 2 == 0 {
                FEWEST_PACKETS
            } else {
                MOST_PACKETS
            },
        );
    }
}

/// Allocations for a hundred thousand packets after a warm-up. None if the checks' own allocations
/// hide them.
fn steady_state(discipline: &AnyDiscipline) -> Option<u64> {
    let mut scheduler = scheduler(discipline);
    churn(&mut scheduler, 5_000);
    let is_checked = cfg!(debug_assertions) && scheduler.backlog().packets < FEWEST_PACKETS;
    (!is_checked).then(|| measure(|| churn(&mut scheduler, 100_000)).count_total)
}

#[test]
fn nothing_is_allocated_in_steady_state() {
    for discipline in subjects() {
        assert_eq!(steady_state(&discipline).unwrap_or(0), 0, "{discipline}");
    }
}

/// Allocations of a full buffer during push-outs, most of them of a flow's only packet. None as
/// above.
fn push_outs(discipline: &AnyDiscipline) -> Option<u64> {
    let (mut scheduler, flows, most) = (scheduler(discipline), 1024, MOST_PACKETS - 20);
    // Returns the fewest queued packets once the buffer was full.
    let mut push = |packets: u32| {
        let (mut is_full, mut fewest) = (false, u64::MAX);
        for number in 0..packets {
            let flow = FlowId(number.wrapping_mul(7919) % flows);
            let _ = scheduler.enqueue(
                Instant::ZERO,
                Packet {
                    flow,
                    ..packet(number)
                },
            );
            take_dropped(&mut scheduler);
            while scheduler.backlog().packets > most {
                assert!(scheduler.evict().is_some(), "something waits");
                take_dropped(&mut scheduler);
                is_full = true;
            }
            if number % 5 == 0 {
                scheduler.dequeue(Instant::ZERO);
                take_dropped(&mut scheduler);
            }
            if is_full {
                fewest = fewest.min(scheduler.backlog().packets);
            }
        }
        if is_full { fewest } else { 0 }
    };
    let is_checked = push(40_000) < FEWEST_PACKETS && cfg!(debug_assertions);
    (!is_checked).then(|| measure(|| _ = push(20_000)).count_total)
}

#[test]
fn nothing_is_allocated_when_packets_are_pushed_out() {
    let (mut told, mut all) = (0, 0);
    for discipline in subjects() {
        let allocations = push_outs(&discipline);
        assert_eq!(allocations.unwrap_or(0), 0, "{discipline}");
        (told, all) = (told + usize::from(allocations.is_some()), all + 1);
    }
    assert!(told > all / 2, "only {told} of {all} keep a buffer full");
}

/// Bytes allocated for additional flows, and the bytes given by `footprint`.
fn growth(discipline: &AnyDiscipline) -> (usize, usize) {
    let mut scheduler = scheduler(discipline);
    let flows = 20_000;
    let taken = measure(|| {
        for flow in 0..flows {
            let _ = scheduler.set_flow(FlowId(flow), FlowConfig::DEFAULT);
            admit(
                &mut scheduler,
                Packet {
                    flow: FlowId(flow),
                    ..packet(flow)
                },
                MOST_PACKETS,
            );
        }
        // Wakes the index of the longest queue.
        scheduler.evict();
        take_dropped(&mut scheduler);
    });
    (
        usize::try_from(taken.bytes_current).unwrap_or(0),
        scheduler.footprint().bytes_per_flow * flows as usize,
    )
}

/// Full tables double, so up to twice the flows' memory can be allocated; the packet pool and
/// rounding are added.
#[test]
fn what_is_taken_for_flows_is_what_the_footprint_says() {
    let fixed = 4 * MOST_PACKETS as usize * Pool::<u64>::bytes_per_packet() + (64 << 10);
    for discipline in subjects() {
        let (taken, told) = growth(&discipline);
        assert!(
            taken <= 2 * told + fixed,
            "{discipline}: takes {taken} bytes, says {told}"
        );
        assert!(
            told <= 2 * taken,
            "{discipline}: takes {taken} bytes, says {told}"
        );
    }
}

/// An empty scheduler allocates at most its footprint; a discipline with hashed flows allocates no
/// more for any number of flows.
#[test]
fn an_empty_scheduler_takes_no_more_than_it_says() {
    for discipline in AnyDiscipline::all() {
        let mut built = None;
        let taken = measure(|| {
            built = Some(
                discipline
                    .build::<u64>(Seed::new(1))
                    .expect("legal parameters"),
            )
        })
        .bytes_current;
        let told = built.expect("was built").footprint().fixed_bytes;
        assert!(
            taken <= told as i64,
            "{discipline}: takes {taken} bytes, says {told}"
        );
    }
}

/// Size of a discipline itself, bytes allocated with one flow, and fixed bytes given by
/// `footprint`.
struct Fixed;

impl Visitor for Fixed {
    type Output = (usize, usize, usize);

    fn visit<D: Discipline>(self, discipline: &D) -> (usize, usize, usize) {
        let mut built = None;
        let taken = measure(|| {
            let mut scheduler = discipline
                .build::<u64>(Seed::new(1))
                .expect("legal parameters");
            let _ = scheduler.enqueue(Instant::ZERO, packet(0));
            // Wakes the index of the longest queue.
            scheduler.evict();
            take_dropped(&mut scheduler);
            built = Some(scheduler);
        });
        let told = built.expect("was built").footprint().fixed_bytes;
        (
            size_of::<D::Scheduler<u64>>(),
            usize::try_from(taken.bytes_current).unwrap_or(0),
            told,
        )
    }
}

/// The memory of one flow and one packet is added.
#[test]
fn what_is_fixed_is_what_the_footprint_says() {
    for discipline in subjects() {
        let (itself, taken, told) = discipline.visit(Fixed);
        assert!(
            (itself..=itself + taken).contains(&told),
            "{discipline}: has {itself} and takes {taken} bytes, says {told}"
        );
        assert!(
            itself + taken <= told + 2048,
            "{discipline}: has {itself} and takes {taken} bytes, says {told}"
        );
    }
}

/// Weights changed back and forth without traffic must not accumulate, in memory or in time.
#[test]
fn settings_that_change_back_and_forth_take_no_memory() {
    for discipline in subjects() {
        let mut scheduler = scheduler(&discipline);
        let mut flap = |times: u32| {
            for turn in 0..times {
                let config = FlowConfig {
                    weight: 1 + turn % 2,
                    ..FlowConfig::DEFAULT
                };
                scheduler.set_flow(FlowId(0), config).expect("legal");
                if turn % 7 == 0 {
                    scheduler.remove_flow(FlowId(0));
                }
            }
        };
        flap(100);
        let taken = measure(|| flap(10_000)).bytes_max;
        assert!(
            taken < 4096,
            "{discipline}: {taken} bytes for settings that came and went"
        );
    }
}

/// A stray flow number costs no table: its packets are refused or hashed, and a discipline with a
/// table refuses its settings.
#[test]
fn a_stray_flow_number_takes_no_memory() {
    fn taken(discipline: &AnyDiscipline, stray: FlowId) -> u64 {
        let mut scheduler = scheduler(discipline);
        let taken = measure(|| {
            let refused = scheduler
                .enqueue(Instant::ZERO, Packet::new(stray, 64, 0))
                .is_err();
            assert_eq!(
                refused,
                scheduler.set_flow(stray, FlowConfig::DEFAULT).is_err(),
                "{discipline}"
            );
            scheduler.remove_flow(stray);
        });
        taken.bytes_total
    }
    for discipline in subjects() {
        let bytes = taken(&discipline, FlowId(u32::MAX));
        assert!(
            bytes < 1 << 17,
            "{discipline}: {bytes} bytes for a flow beyond all tables"
        );
        let bytes = taken(&discipline, FlowId::LARGEST_TABLED);
        assert!(
            bytes < 1 << 28,
            "{discipline}: {bytes} bytes for the largest table"
        );
    }
}
