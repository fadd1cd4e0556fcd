//! Any text, read as a script of `tc`.
#![no_main]

#[path = "../checks/import.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
