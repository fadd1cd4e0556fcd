//! The tests of `main.rs` that have more cases in release builds, or which need these: a part of that program, built in a fraction of
//! its time. Without tests in debug builds.
#![cfg(not(debug_assertions))]
#![allow(dead_code, unused_imports, reason = "theorems and trees left out here use the same helpers")]

mod footprints;
mod small_worlds;

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
