//! Any text, read as a paper's plan.
#![no_main]

#[path = "../checks/plan.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
