//! Packets made of any bytes, at a live link.
#![no_main]

#[path = "../checks/link.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
