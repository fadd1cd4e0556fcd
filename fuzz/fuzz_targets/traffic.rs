//! Packets made of any bytes, read as connections and compared.
#![no_main]

#[path = "../checks/traffic.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
