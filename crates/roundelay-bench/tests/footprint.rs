//! The memory stated by disciplines matches the allocator's count.

use std::alloc::System;

use roundelay::QueueSpec;
use roundelay::schedulers::AnyDiscipline;
use roundelay_bench::{Footprints, footprints};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn allocated() -> i64 {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
}

/// Disciplines with drops of their own, with limits out of reach for this test.
const WITHOUT_LIMITS: [&str; 5] = [
    "mqfq buffer 0",
    "red min 500mb max 1gb",
    "choke min 1000000 max 4000000",
    "afd target 1gb",
    "sfb target 1000000 max 2000000",
];

/// The discipline with the parameters above, or with default parameters.
fn without_limit(discipline: AnyDiscipline) -> AnyDiscipline {
    let spec = WITHOUT_LIMITS
        .iter()
        .find(|spec| spec.split(' ').next() == Some(discipline.name()));
    spec.map_or(discipline, |spec| {
        spec.parse::<QueueSpec>().unwrap().discipline
    })
}

/// Memory of the first packets: not part of the discipline, but indistinguishable from the fixed
/// part.
const FIRST_PACKETS: usize = 512;

/// Stated memory is sufficient (within 5 %) and at most twice the measured memory: a size that
/// depends on sharing is stated for the worst case. A single test, to keep other allocations out of
/// the count.
#[test]
fn footprints_are_what_is_allocated() {
    let is_stated = |measured: usize, stated: usize, slack: usize| {
        measured <= stated + stated / 20 + slack && stated <= 2 * measured + slack
    };
    let mut wrong = Vec::new();
    for discipline in AnyDiscipline::all().into_iter().map(without_limit) {
        let Footprints { stated, measured } = footprints(&discipline, &allocated).unwrap();
        let flow = is_stated(measured.bytes_per_flow, stated.bytes_per_flow, 0);
        if !flow || !is_stated(measured.fixed_bytes, stated.fixed_bytes, FIRST_PACKETS) {
            wrong.push(format!(
                "{discipline}: stated {stated:?}, measured {measured:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
