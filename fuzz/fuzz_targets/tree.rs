//! Any text, read as a tree of disciplines.
#![no_main]

#[path = "../checks/tree.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
