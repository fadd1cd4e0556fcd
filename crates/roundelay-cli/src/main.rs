//! `roundelay`: which queue discipline for this link and this traffic?

mod allocator;

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: allocator::OrExit = allocator::OrExit;

fn main() -> ExitCode {
    ExitCode::from(roundelay_cli::main(std::env::args_os()))
}
