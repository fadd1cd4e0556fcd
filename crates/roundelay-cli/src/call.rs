//! Calls the commands from a program: arguments as on the command line, results as data.
//!
//! ```no_run
//! use roundelay_cli::call::{self, Host};
//!
//! let words = ["capture.pcap", "fifo", "fq_codel", "--rate", "20mbit"].map(Into::into);
//! let compared = call::compare(words, &Host::default(), &[])?;
//! println!("{}", compared.json());
//! # Ok::<(), roundelay_cli::Failure>(())
//! ```
//!
//! Every check, message and default is the command's. Nothing is printed, and with `--quiet`
//! nothing goes to standard error either.

use std::any::TypeId;
use std::ffi::OsString;
use std::path::PathBuf;

use clap::CommandFactory;
use roundelay::schedulers::AnyDiscipline;
use roundelay::{ConfigError, Fault, QueueSpec, Rate};
pub use roundelay_report::sentences::reordering_note;
use roundelay_report::{PlotFigure, Replayed, SideBySide};
use roundelay_sim::scenario;
pub use roundelay_tcp::CustomControl;
use roundelay_trace::arguments::{Choice, parse_rate};
pub use roundelay_trace::{Comparison, Stop};

use crate::command::{Arguments, Command};
pub use crate::compare::result::Compared;
use crate::failure::Failure;
pub use crate::host::{Host, Notes, Text, set_program_file};
pub use crate::parts::{OwnParts, Parts};
use crate::plot::arguments::figures_named;
pub use crate::plot::outputs::Drawn;
use crate::plot::{Named, read_all};
pub use crate::progress::Gauge;
use crate::simulate::queue::Queue;
pub use crate::simulate::result::Ran;
use crate::sweep::{Session, Summary};
pub use crate::threads::{AroundThread, set_around_threads};
use crate::{
    bounds, compare as comparing, replay as replaying, simulate as simulating, sweep as sweeping,
};

/// The program's own disciplines, each instead of an argument: the argument's index among the
/// disciplines, and the discipline.
pub type Own = [(usize, AnyDiscipline)];

fn parse(command: &str, words: impl IntoIterator<Item = OsString>) -> Result<Command, Failure> {
    let words = ["roundelay".into(), command.into()]
        .into_iter()
        .chain(words);
    Arguments::of(words)
        .map(|arguments| arguments.command)
        .map_err(|error| Failure::arguments(&error))
}

fn put<'a>(own: &Own, specs: impl Iterator<Item = Option<&'a mut QueueSpec>>) {
    for (index, spec) in specs
        .enumerate()
        .filter_map(|(index, spec)| Some((index, spec?)))
    {
        if let Some((_, discipline)) = own.iter().find(|(at, _)| *at == index) {
            spec.discipline = discipline.clone();
        }
    }
}

/// `roundelay compare`.
///
/// # Errors
/// As the command, with the same message.
pub fn compare(
    words: impl IntoIterator<Item = OsString>,
    host: &Host,
    own: &Own,
) -> Result<Compared, Failure> {
    let Command::Compare(mut arguments) = parse("compare", words)? else {
        return Err(Failure::usage("compare: expected a capture"));
    };
    put(own, arguments.disciplines.iter_mut().map(Choice::one));
    comparing::compute(&arguments, host)
}

/// `roundelay simulate`, without `--schema`, `--template` and `--dry-run`. A discipline of your
/// program replaces `--queue`.
///
/// # Errors
/// As the command, with the same message.
pub fn simulate(
    words: impl IntoIterator<Item = OsString>,
    host: &Host,
    own: &Own,
) -> Result<Ran, Failure> {
    let Command::Simulate(mut arguments) = parse("simulate", words)? else {
        return Err(Failure::usage("simulate: expected a scenario"));
    };
    put(own, arguments.queue.iter_mut().map(Queue::discipline_mut));
    let Some(path) = arguments.scenario.clone() else {
        return Err(Failure::usage("simulate: expected a scenario"));
    };
    let (ran, written) = simulating::compute(&path, &arguments, host)?;
    written.map(|()| ran)
}

/// `roundelay simulate` with several `--queue`, or with one beside the scenario's own
/// ([`Host::is_paired`]).
///
/// # Errors
/// As the command, with the same message.
pub fn simulate_queues(
    words: impl IntoIterator<Item = OsString>,
    host: &Host,
    own: &Own,
) -> Result<SideBySide, Failure> {
    let Command::Simulate(mut arguments) = parse("simulate", words)? else {
        return Err(Failure::usage("simulate: expected a scenario"));
    };
    put(own, arguments.queue.iter_mut().map(Queue::discipline_mut));
    let Some(path) = arguments.scenario.clone() else {
        return Err(Failure::usage("simulate: expected a scenario"));
    };
    simulating::compute_queues(&path, &arguments, host)
}

/// `roundelay plot`: results as JSON, each with its label, side by side. `figure` is the one to draw,
/// all if there is none, and `kinds` are parts of the names of packets to draw, all if empty.
///
/// # Errors
/// As the command, with the same message.
pub fn plot(
    results: Vec<(String, String)>,
    figure: Option<&str>,
    kinds: &[String],
) -> Result<Drawn, Failure> {
    let figures = figures_named(figure);
    if figures.is_empty() {
        let known = PlotFigure::ALL.map(PlotFigure::name);
        let fault = Fault::no_such("figure", figure.unwrap_or_default(), &known);
        return Err(Failure::usage(fault));
    }
    let mut named = Vec::new();
    for (label, text) in results {
        named.push(Named {
            file: label.clone(),
            label,
            text,
        });
    }
    Ok(Drawn {
        plotted: read_all(&named, kinds)?,
        figures,
    })
}

/// `roundelay sweep`, without `--why`. The summary has the rows of the runs, and those that failed.
///
/// # Errors
/// As the command, with the same message. Failed runs are no error: the summary has them.
pub fn sweep(words: impl IntoIterator<Item = OsString>, host: &Host) -> Result<Summary, Failure> {
    let Command::Sweep(arguments) = parse("sweep", words)? else {
        return Err(Failure::usage("sweep: expected a scenario"));
    };
    sweeping::compute(&arguments, host, true)
}

/// A sweep whose runs your program does elsewhere: see [`Session`].
///
/// # Errors
/// As the command, with the same message.
pub fn open_sweep(
    words: impl IntoIterator<Item = OsString>,
    host: &Host,
) -> Result<Session, Failure> {
    let Command::Sweep(arguments) = parse("sweep", words)? else {
        return Err(Failure::usage("sweep: expected a scenario"));
    };
    if arguments.until.is_some() {
        let fault = Fault::wanted("no executor, or a number of seeds")
            .behind("until: adds runs on the threads of this process only; ");
        return Err(Failure::usage(fault));
    }
    Session::open(&arguments, host)
}

/// `roundelay replay`.
///
/// # Errors
/// As the command, with the same message.
pub fn replay(words: impl IntoIterator<Item = OsString>, host: &Host) -> Result<Replayed, Failure> {
    let Command::Replay(arguments) = parse("replay", words)? else {
        return Err(Failure::usage("replay: expected a scenario"));
    };
    let computed = replaying::compute(&arguments, host)?;
    computed.written.map(|()| computed.replayed)
}

/// The output of `roundelay bounds`.
///
/// # Errors
/// As the command, with the same message.
pub fn bounds(words: impl IntoIterator<Item = OsString>, host: &Host) -> Result<String, Failure> {
    let Command::Bounds(arguments) = parse("bounds", words)? else {
        return Err(Failure::usage("bounds: expected a file with flows"));
    };
    bounds::text(&arguments, host)
}

/// A discipline with its limit as `tc` writes it.
///
/// # Errors
/// As the command, with the same message.
pub fn queue(text: &str) -> Result<QueueSpec, Failure> {
    text.parse::<QueueSpec>().map_err(Failure::usage)
}

/// Turns an error in a discipline into a command's failure.
pub fn failure(error: ConfigError) -> Failure {
    Failure::usage(error)
}

/// The JSON Schema that scenarios follow.
pub fn schema() -> &'static str {
    scenario::SCHEMA
}

/// A scenario to start from, by the name that `--template` takes.
pub fn template(name: &str) -> Option<&'static str> {
    scenario::template(name)
}

/// An item of a paper, for lists.
#[cfg(feature = "papers")]
#[derive(Debug, Clone)]
pub struct PaperItem {
    /// The paper's name on the command line.
    pub paper: String,
    /// The item's name on the command line.
    pub item: String,
    /// The paper's title.
    pub title: String,
    /// The item's name in the paper.
    pub label: String,
    /// The item's description in a line.
    pub about: String,
    /// Whether the item has a plan that you can run.
    pub runs: bool,
}

/// All items of all papers.
///
/// # Errors
/// A plan that is part of this program is wrong.
#[cfg(feature = "papers")]
pub fn papers() -> Result<Vec<PaperItem>, Failure> {
    let papers = roundelay_papers::catalogue::papers().map_err(Failure::run)?;
    let mut items = Vec::new();
    for paper in &papers {
        for item in &paper.items {
            items.push(PaperItem {
                paper: paper.slug.clone(),
                item: item.name.clone(),
                title: paper.about.title.clone(),
                label: item.label.clone(),
                about: item.about.clone(),
                runs: item.plan().is_some(),
            });
        }
    }
    Ok(items)
}

/// What an option takes: `"path"`, `"value"`, or nothing (`"switch"`).
pub type Takes = &'static str;

/// A command's options, without hyphens in front, with what each takes.
pub fn options(command: &str) -> Vec<(String, Takes)> {
    let all = Arguments::command();
    let Some(command) = all.find_subcommand(command) else {
        return Vec::new();
    };
    let mut options = Vec::new();
    for option in command.get_arguments() {
        let Some(name) = option.get_long() else {
            continue;
        };
        let is_path = option.get_value_parser().type_id() == TypeId::of::<PathBuf>();
        let takes = match option.get_action().takes_values() {
            false => "switch",
            true if is_path => "path",
            true => "value",
        };
        options.push((name.to_owned(), takes));
    }
    options
}

/// A rate as the command reads it.
///
/// # Errors
/// As the command, with the same message.
pub fn rate(text: &str) -> Result<Rate, Failure> {
    parse_rate(text).map_err(|fault| Failure::of_value("--rate <RATE>", text, fault))
}
