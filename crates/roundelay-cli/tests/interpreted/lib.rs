//! The command's allocator for `make miri`, without the command. Everything here, the test harness
//! included, takes its memory from it.

extern crate self as roundelay_cli;
extern crate self as roundelay_report;

#[path = "../../src/allocator.rs"]
mod allocator;

use std::sync::OnceLock;

/// Stands for the command's.
pub static MEMORY_ADVICE: OnceLock<&str> = OnceLock::new();

/// Stands for the report's, which removes files.
pub fn try_abandon_files() {}

#[global_allocator]
static ALLOCATOR: allocator::OrExit = allocator::OrExit;
