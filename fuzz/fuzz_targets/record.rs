//! Any bytes, read as the record of a live run.
#![no_main]

#[path = "../checks/record.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
