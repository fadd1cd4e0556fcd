//! Any bytes, read as calls to a scheduler.
#![no_main]

#[path = "../../crates/roundelay/tests/operations/mod.rs"]
#[allow(dead_code, reason = "the tests use more of it")]
mod operations;

libfuzzer_sys::fuzz_target!(|data: &[u8]| operations::check(data));
