//! Any bytes, read as a schedule in Parquet, and as a file of a sweep.
#![no_main]

#[path = "../checks/schedule.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
