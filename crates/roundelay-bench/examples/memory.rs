//! Prints the memory of each discipline as counted by the allocator, as stated by the discipline,
//! and as stated in the QFQ paper for QFQ.
//!
//! A separate program, since a counting allocator would disturb measurements of time:
//! `cargo run --release -p roundelay-bench --example memory`.

use std::alloc::System;

use roundelay::schedulers::AnyDiscipline;
use roundelay_bench::footprints;
use stats_alloc::{INSTRUMENTED_SYSTEM, StatsAlloc};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

fn allocated() -> i64 {
    let stats = ALLOCATOR.stats();
    stats.bytes_allocated as i64 - stats.bytes_deallocated as i64
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("Memory of a discipline, packets excluded, in bytes\n");
    println!(
        "  {:12}{:>14}{:>14}{:>14}{:>14}",
        "", "a flow", "counted", "fixed", "counted"
    );
    for discipline in AnyDiscipline::all() {
        let both = footprints(&discipline, &allocated)?;
        let (stated, counted) = (both.stated, both.measured);
        let [a, b, c, d] = [
            stated.bytes_per_flow,
            counted.bytes_per_flow,
            stated.fixed_bytes,
            counted.fixed_bytes,
        ];
        println!("  {:12}{a:14}{b:14}{c:14}{d:14}", discipline.name());
    }
    println!(
        "\nThe QFQ paper (section 4.3) states 24 bytes a flow, its queue excluded, and 4 KB for everything else. Disciplines that drop by"
    );
    println!(
        "themselves (mqfq, red, choke, afd, sfb) hold packets up to their limits, which are counted as fixed here."
    );
    // A check that the example measures something.
    assert!(
        footprints(&AnyDiscipline::named("qfq")?, &allocated)?
            .measured
            .bytes_per_flow
            > 0
    );
    Ok(())
}
