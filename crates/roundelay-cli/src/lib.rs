//! The command `roundelay`, as a library: [`main`] is the whole command, [`call`] has its
//! computations for programs that need results instead of text.
//!
//! Data goes to stdout, progress and messages to stderr. Exit status: 0 success; 1 the run failed
//! or a check failed; 2 invalid argument or input file; on a signal, the signal's status (130 in a
//! shell after Ctrl-C).

#![cfg_attr(
    not(feature = "parquet"),
    allow(
        dead_code,
        reason = "parts of results that only the outputs in Parquet read"
    )
)]

mod arguments;
mod bench;
mod bounds;
pub mod call;
mod compare;
mod disciplines;
mod failure;
mod interrupt;
mod live;
mod objective;
mod outputs;
mod papers;
mod pipe;
mod progress;
mod replay;
mod scenario;
mod simulate;
mod style;
pub mod sweep;
mod text_file;
mod threads;
mod verify;

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::sync::OnceLock;

use clap::CommandFactory;

use arguments::{Arguments, Command};
pub use failure::{Detail, Failure};
use roundelay_report::clean;

/// Advice after the message about a failed allocation, set by the running command.
pub static MEMORY_ADVICE: OnceLock<&'static str> = OnceLock::new();

/// Runs the command with its arguments, the program's name first, and returns the exit status.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let arguments = match Arguments::of(arguments) {
        Ok(arguments) => arguments,
        Err(error) => {
            show(&error);
            return u8::try_from(error.exit_code()).unwrap_or(2);
        }
    };
    if let Command::Live(arguments) = &arguments.command {
        // Handles signals in its own way, and begins with one thread.
        return ended(live::run(arguments));
    }
    interrupt::listen();
    let outcome = match arguments.command {
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        Command::Objective(arguments) => objective::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        Command::Papers(arguments) => papers::run(&arguments),
        Command::Bounds(arguments) => bounds::run(&arguments),
        Command::Live(_) => Ok(()),
        Command::List { json } => print(&disciplines::list(json)),
        Command::Help {
            discipline: Some(name),
        } => help(&name),
        Command::Help { discipline: None } => {
            print(&Arguments::command().render_help().to_string())
        }
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "roundelay", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
    };
    ended(outcome.map(|()| 0))
}

/// The exit status of a command; a failure is printed.
fn ended(outcome: Result<u8, Failure>) -> u8 {
    match outcome {
        Ok(status) => status,
        Err(failure) => {
            tell(&failure.to_string());
            failure.status()
        }
    }
}

/// Prints a message on stderr. It may contain names and lines of untrusted files, or words of the
/// command line from elsewhere. Where nobody can read the message, the exit status still tells.
pub(crate) fn tell(message: &str) {
    let lines: Vec<_> = message.lines().map(clean).collect();
    drop(writeln!(io::stderr(), "roundelay: {}", lines.join("\n")));
}

/// Prints help on stdout, or an error in the arguments on stderr. A closed pipe is not an error.
fn show(error: &clap::Error) {
    let text = error.render().to_string();
    if !error.use_stderr() {
        drop(io::stdout().write_all(text.as_bytes()));
        return;
    }
    let lines: String = text.lines().map(|line| clean(line) + "\n").collect();
    drop(io::stderr().write_all(lines.as_bytes()));
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
    match stdout
        .write_all(text.as_bytes())
        .and_then(|()| stdout.flush())
    {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => {
            other.map_err(|error| Failure::run(format!("cannot write to standard output: {error}")))
        }
    }
}
