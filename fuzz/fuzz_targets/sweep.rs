//! Any text, read as the plan of a sweep.
#![no_main]

#[path = "../checks/sweep.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
