//! The command `roundelay`, as a library: [`main`] is the whole command, [`call`] has its
//! computations for programs that need results instead of text.
//!
//! Data goes to stdout, progress and messages to stderr. Exit status: 0 success; 1 the run failed
//! or a check failed; 2 invalid argument or input file; on a signal, the signal's status (130 in a
//! shell after Ctrl-C).

#![cfg_attr(
    not(all(feature = "objective", feature = "papers", feature = "parquet")),
    allow(
        dead_code,
        reason = "parts that only a command or an output left out uses"
    )
)]

mod advise;
mod anonymise;
mod applications;
#[cfg(feature = "bench")]
mod bench;
mod bounds;
pub mod call;
mod command;
mod compare;
mod disciplines;
mod evaluate;
mod failure;
mod host;
mod import;
mod interrupt;
mod live;
mod manual;
#[cfg(feature = "objective")]
mod objective;
mod outputs;
#[cfg(feature = "papers")]
mod papers;
mod parts;
mod pipe;
mod plot;
mod progress;
mod replay;
mod runs;
mod scenario;
#[cfg(all(
    test,
    target_os = "linux",
    feature = "bench",
    feature = "papers",
    feature = "schema"
))]
mod schemas;
mod simulate;
pub mod sweep;
mod terminal;
mod text_file;
mod threads;
mod verify;
mod words;

use std::ffi::OsString;
#[cfg(feature = "parquet")]
use std::{panic, sync::Once, thread};

use clap::CommandFactory;

use command::{Arguments, Command};
pub use failure::{Argument, Failure};
pub use terminal::MEMORY_ADVICE;
use terminal::{COLOR, print, show, tell};

/// Runs the command with its arguments, the program's name first, and returns the exit status.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    #[cfg(feature = "parquet")]
    hush_decoder();
    match Arguments::of(arguments) {
        Ok(arguments) => ended(run(arguments)),
        Err(error) => show(&error),
    }
}

/// As [`main`]; a failure is returned and not printed.
///
/// # Errors
/// The failure of the command.
pub fn attempt(arguments: impl IntoIterator<Item = OsString>) -> Result<u8, Failure> {
    let arguments = Arguments::of(arguments).map_err(|error| Failure::arguments(&error))?;
    run(arguments)
}

fn run(arguments: Arguments) -> Result<u8, Failure> {
    _ = COLOR.set(arguments.color);
    if let Command::Live(arguments) = &arguments.command {
        // Handles signals in its own way, and begins with one thread.
        return live::run(arguments);
    }
    if let Command::Import(arguments) = &arguments.command
        && arguments.run
    {
        // A sandbox begins with one thread.
        return import::run(arguments).map(|()| 0);
    }
    interrupt::listen();
    let outcome = match arguments.command {
        Command::Compare(arguments) => compare::run(&arguments),
        Command::Applications(arguments) => applications::run(&arguments),
        #[cfg(feature = "bench")]
        Command::Bench(arguments) => bench::run(&arguments),
        #[cfg(not(feature = "bench"))]
        Command::Bench(_) => Err(command::absent("bench")),
        Command::Simulate(arguments) => simulate::run(&arguments),
        Command::Sweep(arguments) => sweep::run(&arguments),
        Command::Replay(arguments) => replay::run(&arguments),
        #[cfg(feature = "objective")]
        Command::Objective(arguments) => objective::run(&arguments),
        #[cfg(not(feature = "objective"))]
        Command::Objective(_) => Err(command::absent("objective")),
        Command::Evaluate(arguments) => evaluate::run(&arguments),
        Command::Plot(arguments) => plot::run(&arguments),
        Command::Verify(arguments) => verify::run(&arguments),
        #[cfg(feature = "papers")]
        Command::Papers(arguments) => papers::run(&arguments),
        #[cfg(not(feature = "papers"))]
        Command::Papers(_) => Err(command::absent("papers")),
        Command::Bounds(arguments) => bounds::run(&arguments),
        Command::Advise(arguments) => advise::run(&arguments),
        Command::Import(arguments) => import::run(&arguments),
        Command::Live(_) => Ok(()),
        Command::List { json } => print(&disciplines::list(json)),
        Command::Help {
            discipline: Some(name),
        } => help(&name),
        Command::Help { discipline: None } => {
            print(&Arguments::command().render_help().to_string())
        }
        Command::Man { command, out } => manual::run(command.as_deref(), out.as_deref()),
        Command::Completions { shell } => {
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "roundelay", &mut script);
            print(&String::from_utf8_lossy(&script))
        }
    };
    outcome.map(|()| 0)
}

/// A panic of the decoder is an error of the file that it reads, and is told as one.
#[cfg(feature = "parquet")]
fn hush_decoder() {
    // Python calls the command many times in a process.
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let previous_hook = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            if thread::current().name() != Some(roundelay_report::DECODER) {
                previous_hook(panic);
            }
        }));
    });
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

/// Prints the help of a command or a discipline.
fn help(name: &str) -> Result<(), Failure> {
    let mut all = Arguments::command();
    // Without `build`, the usage line lacks the program's name.
    all.build();
    match all.find_subcommand_mut(name) {
        Some(command) => print(&command.render_long_help().to_string()),
        None => {
            let mut commands = Vec::new();
            for command in all.get_subcommands() {
                commands.push(command.get_name());
            }
            print(&disciplines::help(name, &commands)?)
        }
    }
}
