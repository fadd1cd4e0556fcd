//! Any text, read as a scenario.
#![no_main]

#[path = "../checks/scenario.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
