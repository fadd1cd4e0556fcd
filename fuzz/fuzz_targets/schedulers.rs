//! Any bytes, read as calls to a scheduler.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| roundelay_conformance::check_bytes(data));
