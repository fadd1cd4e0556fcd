//! `roundelay`: which queue discipline for this link and this traffic?
//!
//! Data goes to stdout, progress and messages to stderr. Exit status: 0 success; 1 the run failed
//! or a check failed; 2 invalid argument or input file; on a signal, the signal's status (130 in a
//! shell after Ctrl-C).

mod arguments;
mod bench;
mod bounds;
mod compare;
mod disciplines;
mod failure;
mod interrupt;
mod objective;
mod outputs;
mod papers;
mod parquet;
mod progress;
mod replay;
mod scenario;
mod simulate;
mod style;
mod text_file;
mod verify;

use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use arguments::{Arguments, Command};
use failure::Failure;
use roundelay_report::clean;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    interrupt::listen();
    let outcome = match arguments.command {
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Objective(arguments) => objective::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Papers(arguments) => papers::run(&arguments),
        Command::Bounds(arguments) => bounds::run(&arguments),
        Command::List { json } => print(&disciplines::list(json)),
        Command::Help { discipline: Some(name) } => help(&name),
        Command::Help { discipline: None } => print(&Arguments::command().render_help().to_string()),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "roundelay", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            // Messages contain names and lines of untrusted files.
            let message: Vec<_> = failure.to_string().lines().map(clean).collect();
            eprintln!("roundelay: {}", message.join("\n"));
            ExitCode::from(failure.status())
        }
    }
}

/// Prints the help of a command or a discipline.
fn help(name: &str) -> Result<(), Failure> {
    let mut all = Arguments::command();
    // Without `build`, the usage line lacks the program's name.
    all.build();
    match all.find_subcommand_mut(name) {
        Some(command) => print(&command.render_long_help().to_string()),
        None => disciplines::help(name).and_then(|text| print(&text)),
    }
}

/// Writes a result to stdout. A closed pipe is not an error.
fn print(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| Failure::run(format!("cannot write to standard output: {error}"))),
    }
}
