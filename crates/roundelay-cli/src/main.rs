//! `roundelay`: which queue discipline for this link and this traffic?

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(roundelay_cli::main(std::env::args_os()))
}
