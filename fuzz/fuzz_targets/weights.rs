//! Any text, read as a weight rule and as a file of them.
#![no_main]

#[path = "../checks/weights.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
