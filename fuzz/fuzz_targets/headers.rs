//! Any bytes, read as frames of any link.
#![no_main]

#[path = "../checks/headers.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
