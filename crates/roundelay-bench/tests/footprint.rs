//! What disciplines say of their memory is what the allocator counts.

use std::alloc::System;

use roundelay::schedulers::{AnyDiscipline, Spec};
use roundelay_bench::{Footprints, footprints};
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn allocated() -> i64 {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
}

/// Disciplines that drop by themselves, with limits that nothing here reaches.
const WITHOUT_LIMITS: [&str; 5] =
    ["mqfq buffer 0", "red min 500mb max 1gb", "choke min 1000000 max 4000000", "afd target 1gb", "sfb target 1000000 max 2000000"];

/// With those parameters, or its defaults.
fn without_limit(discipline: AnyDiscipline) -> AnyDiscipline {
    let spec = WITHOUT_LIMITS.iter().find(|spec| spec.split(' ').next() == Some(discipline.name()));
    spec.map_or(discipline, |spec| spec.parse::<Spec>().unwrap().discipline)
}

/// Storage of the first packets, which is not the discipline's but cannot be told from what it takes at once.
const FIRST_PACKETS: usize = 512;

/// What is stated is enough, and not more than twice what is taken: memory that depends on who shares what is stated at its worst.
/// One test, so that no other allocates meanwhile.
#[test]
fn footprints_are_what_is_allocated() {
    let is_stated =
        |measured: usize, stated: usize, slack: usize| measured <= stated + stated / 20 + slack && stated <= 2 * measured + slack;
    let mut wrong = Vec::new();
    for discipline in AnyDiscipline::all().into_iter().map(without_limit) {
        let Footprints { stated, measured } = footprints(&discipline, &allocated).unwrap();
        let flow = is_stated(measured.bytes_per_flow, stated.bytes_per_flow, 0);
        if !flow || !is_stated(measured.fixed_bytes, stated.fixed_bytes, FIRST_PACKETS) {
            wrong.push(format!("{discipline}: stated {stated:?}, measured {measured:?}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}
