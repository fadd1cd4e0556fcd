//! Any text, read as a map of a network.
#![no_main]

#[path = "../checks/maps.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
