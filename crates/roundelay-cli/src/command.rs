//! The command line: one of several commands, each with the arguments of its own folder.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Parser, Subcommand};
use clap_complete::Shell;

use crate::advise::arguments::Advise;
use crate::applications::arguments::Arguments as Applications;
#[cfg(feature = "bench")]
use crate::bench::arguments::Bench;
use crate::bounds::arguments::Bounds;
use crate::compare::arguments::Compare;
use crate::evaluate::arguments::Evaluate;
#[cfg(not(all(feature = "bench", feature = "objective", feature = "papers")))]
use crate::failure::Failure;
use crate::import::arguments::Import;
use crate::live::arguments::Live;
#[cfg(feature = "objective")]
use crate::objective::arguments::Objective;
#[cfg(feature = "papers")]
use crate::papers::arguments::Papers;
use crate::plot::arguments::Plot;
use crate::replay::arguments::Replay;
use crate::simulate::arguments::Simulate;
use crate::sweep::arguments::Sweep;
use crate::terminal::Color;
use crate::verify::arguments::Verify;

/// Statuses with which the program ends, and what they mean.
pub(crate) const EXIT_STATUS: [(&str, &str); 4] = [
    ("0", "success"),
    (
        "1",
        "the run failed, or a check failed (a bound is violated, a log is inconsistent)",
    ),
    (
        "2",
        "an argument is wrong, or an input file is missing or invalid",
    ),
    ("130", "interrupted"),
];

/// Printed after the help text of `roundelay`.
fn exit_status() -> String {
    let meanings = EXIT_STATUS.map(|(status, meaning)| format!("{status} {meaning}"));
    format!("Exit status: {}", meanings.join("; "))
}

/// Compare queue disciplines (packet schedulers and AQM) on captures and in simulated networks
#[derive(Debug, Parser)]
#[command(name = "roundelay", version, disable_help_subcommand = true,
          arg_required_else_help = true, after_help = exit_status())]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,

    /// When tables have colours: always, never, or auto (on a terminal or with FORCE_COLOR, but
    /// never with NO_COLOR)
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_possible_values = true
    )]
    pub(crate) color: Color,
}

impl Arguments {
    /// Parses the words of a call, which begin with the program's name. Keeps them for messages
    /// that suggest a command.
    pub(crate) fn of(words: impl IntoIterator<Item = OsString>) -> Result<Self, clap::Error> {
        let words: Vec<_> = words.into_iter().collect();
        let mut arguments = Self::try_parse_from(&words)?;
        if let Command::Compare(compare) = &mut arguments.command {
            compare.words = words
                .iter()
                .skip(1)
                .map(|word| word.to_string_lossy().into_owned())
                .collect();
        }
        Ok(arguments)
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Replay a capture through several disciplines, compare them flow by flow, and name the best
    /// one
    ///
    /// Each discipline gets every packet at its capture time, in front of a link of the given rate.
    /// The replay is open-loop: TCP does not react to its delays and losses. See docs/compare.md.
    Compare(Box<Compare>),
    /// Print what the applications behind a capture wanted, as a scenario whose TCP senders react
    ///
    /// For each TCP connection you get its start, what its ends wrote, how long they paused, and
    /// its round trip. All else is sent as recorded. Comments say what the capture could not tell.
    /// See docs/simulator/closed-loop.md.
    Applications(Box<Applications>),
    /// Simulate a network: reads a scenario in TOML; reports throughput, delay, loss, fairness and
    /// completion times
    ///
    /// The same scenario, seed and version give the same bytes of output, with any number of
    /// threads. See docs/simulator/scenarios.md.
    Simulate(Box<Simulate>),
    /// Run a scenario for all combinations of values of its keys, with replicas, into one Parquet
    /// dataset
    ///
    /// A run that is already in the dataset is not repeated: runs are identified by a hash of the
    /// scenario, the seed, and the behaviour of the disciplines and sources used. After an
    /// interruption, the same command does the missing runs. DuckDB and polars read the folder
    /// directly. See docs/sweeps.md.
    #[cfg_attr(not(feature = "parquet"), command(hide = true))]
    Sweep(Box<Sweep>),
    /// Record a schedule, replay it under another discipline, and count the packets that come out
    /// too late
    ///
    /// The scenario first runs with its own queues. The same packets are then sent again at the
    /// same times, with their recorded output times in the headers, and all router queues schedule
    /// by these headers. A packet that leaves the network later than recorded is overdue. Least
    /// slack time first (lstf) comes nearest to a universal packet scheduler (Mittal et al., NSDI
    /// 2016). Sources stop at the end of the scenario's duration; both runs go on until the network
    /// is empty. See docs/simulator/replay.md.
    Replay(Box<Replay>),
    /// Test whether least slack time first (lstf) serves an objective as well as the discipline
    /// made for it, and at what cost
    ///
    /// The scenario runs with the same seeds under fifo, under the specialist discipline, and under
    /// lstf with the slack of the objective (Mittal et al., NSDI 2016, section 3). Figures are
    /// compared seed by seed. See docs/simulator/objective.md.
    #[cfg_attr(not(feature = "objective"), command(hide = true))]
    Objective(Box<Objective>),
    /// Evaluate queues by RFC 7928: delay, link use, fairness and completion times in its scenarios,
    /// beside fifo
    ///
    /// Each scenario runs under fifo and each queue with the same seeds and the same buffer. Marks
    /// follow from stated thresholds. Runs that are in the dataset are not repeated. See
    /// docs/evaluate.md.
    #[cfg_attr(not(feature = "parquet"), command(hide = true))]
    Evaluate(Box<Evaluate>),
    /// Draw results of other commands side by side: the delays of each kind of packets in one chart
    ///
    /// Reads what compare, simulate and live print with --json: two queues, two rates, two versions,
    /// a simulation and a live run. See docs/simulator/outputs.md.
    Plot(Plot),
    /// Check the log of a simulation for events that are impossible in a real network
    ///
    /// Reads the log written by `roundelay simulate --log`, or the record of `roundelay live
    /// --record`, and nothing else. Exit status 1 if the log has a fault.
    Verify(Verify),
    /// Measure the cost of a packet, enqueue plus dequeue, under the loads of the QFQ paper
    ///
    /// Every table also has the rows none (the packet generator alone) and fifo. Column net is what
    /// a discipline costs beyond none. Packed packets reuse the same memory, while scattered
    /// packets lie anywhere in memory, as in a busy router. docs/performance.md explains the
    /// figures.
    #[cfg_attr(not(feature = "bench"), command(hide = true))]
    Bench(Box<Bench>),
    /// Repeat a table, figure or theorem of five papers: published results and ours side by side,
    /// with a verdict for each claim
    ///
    /// Without arguments: lists papers and items. Runs are cached: a second run takes seconds, and
    /// an interrupted run continues from the cache. After a change of the program, a simulation
    /// runs again only if its disciplines, sources or network changed; all other experiments run
    /// again. Verdicts and evidence: docs/papers/index.md.
    #[cfg_attr(not(feature = "papers"), command(hide = true))]
    Papers(Papers),
    /// Print the worst-case delay bounds that disciplines guarantee to flows with token buckets,
    /// over one link or several
    ///
    /// The bounds are proven: nothing is replayed or simulated. See docs/bounds.md.
    Bounds(Bounds),
    /// Find the rates to set at a router for a line: simulates a household that fills it, at falling
    /// rates of the router's shaper
    ///
    /// Prints pings, what gets through, and how long a page takes at each rate, the highest rate from
    /// which on a ping gains little, and the commands that set it up. Prints nothing that it does not
    /// simulate: the line is a model (docs/simulator/topologies.md). See docs/guides/which-rate.md.
    Advise(Box<Advise>),
    /// Read a script of tc commands into a tree for compare --tree, and explain words that mean
    /// something else than they look like
    ///
    /// The script is read and not run. Only with --run is the command behind -- run, in a sandbox
    /// that has no network and can write nothing outside of itself; commands of tc, ip, nft and the
    /// like are recorded there and not carried out (Linux, where ordinary users may make user
    /// namespaces). The qdiscs, classes and filters of one interface become a tree file on standard
    /// output. Remarks about what a tree cannot have, with the script's lines, are comments in the
    /// file and messages. See docs/import.md.
    Import(Import),
    /// Put a discipline between two interfaces, or at the bottleneck of a link around a command, and
    /// say whether the run may be used
    ///
    /// Linux only. Around a command no privileges are needed where ordinary users may make user
    /// namespaces. A run recorded with --record replays to the packet: see `roundelay compare` and
    /// docs/live.md.
    Live(Box<Live>),
    /// List all disciplines, with a line of description each
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Explain a discipline: parameters with ranges and defaults, and the source
    Help {
        /// Name of a discipline, as in `roundelay list`
        discipline: Option<String>,
    },
    /// Print a man page, of roundelay or of one of its commands: roundelay man compare | man -l -
    Man {
        /// Name of the command
        command: Option<String>,
        /// Write the pages of all commands into this folder instead
        #[arg(long, value_name = "DIR", conflicts_with = "command")]
        out: Option<PathBuf>,
    },
    /// Print a completion script for a shell
    Completions {
        /// Name of the shell
        shell: Shell,
    },
}

/// The arguments of a command that this program was built without.
#[cfg(not(all(feature = "bench", feature = "objective", feature = "papers")))]
#[derive(Debug, clap::Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Absent {
    /// All words, because each is refused alike.
    #[arg(hide = true, num_args = 0.., trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

#[cfg(not(feature = "bench"))]
type Bench = Absent;
#[cfg(not(feature = "objective"))]
type Objective = Absent;
#[cfg(not(feature = "papers"))]
type Papers = Absent;

/// The failure of a command that this program was built without. The feature that has it is named
/// after the command.
#[cfg(not(all(feature = "bench", feature = "objective", feature = "papers")))]
pub(crate) fn absent(command: &str) -> Failure {
    Failure::usage(format!(
        "{command}: this program was built without it; expected the feature '{command}', which \
         cargo install has by default"
    ))
}
