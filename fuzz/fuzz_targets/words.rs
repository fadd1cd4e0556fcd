//! Any short text, read as a word of a command line.
#![no_main]

#[path = "../checks/words.rs"]
mod checks;

libfuzzer_sys::fuzz_target!(|data: &[u8]| checks::check(data));
