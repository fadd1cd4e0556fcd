//! Any bytes, read as the log of a simulation.
#![no_main]

#[path = "../checks/log.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
