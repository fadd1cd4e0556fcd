//! Tests of `main.rs` that the invariant checks of debug builds hide: a part of that program, built in
//! a fraction of its time. No tests in debug builds.
#![cfg(not(debug_assertions))]
#![allow(
    dead_code,
    unused_imports,
    reason = "trees left out here use the same helpers"
)]

mod footprints;

mod conformance {
    mod memory;
    mod misused;
}

mod tree {
    mod memory;
    mod plans;
}
