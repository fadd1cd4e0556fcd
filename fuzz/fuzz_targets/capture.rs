//! Any bytes, read as a capture.
#![no_main]

#[path = "../checks/capture.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
