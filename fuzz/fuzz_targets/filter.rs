//! Any text, read as a filter.
#![no_main]

#[path = "../checks/filter.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
