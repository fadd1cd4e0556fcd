//! Any text, read as connection vectors.
#![no_main]

#[path = "../checks/vectors.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
