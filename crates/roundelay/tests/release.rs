//! Tests of `main.rs` with more cases in release builds, or hidden by the invariant checks of debug
//! builds: a part of that program, built in a fraction of its time. No tests in debug builds.
#![cfg(not(debug_assertions))]
#![allow(
    dead_code,
    unused_imports,
    reason = "theorems and trees left out here use the same helpers"
)]

mod footprints;
mod small_worlds;

mod conformance {
    mod memory;
    mod misused;
}

mod theorems {
    mod audited;
    mod qfq;
    mod qfq_plus;
    mod strata;
    mod timed;
    mod workload;
}

mod tree {
    mod memory;
    mod plans;
}
