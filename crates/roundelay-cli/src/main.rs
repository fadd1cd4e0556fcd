//! The program `roundelay`: compares queue disciplines on captures and in simulated networks.

mod allocator;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::OrExit = allocator::OrExit;

fn main() -> ExitCode {
    ExitCode::from(roundelay_cli::main(std::env::args_os()))
}
