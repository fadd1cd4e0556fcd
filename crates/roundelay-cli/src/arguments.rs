//! Command-line arguments: all commands and their options.

mod objective;
mod replay;
mod runs;
mod sweep;

use std::convert::Infallible;
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use roundelay::suggestion::alternatives;
use roundelay::{Framing, Limit, LinkLayer, QueueSpec, Rate};
use roundelay_bench::{FlowSet, HoldSubject, Lengths, MOST_HELD, Memory, Order, Pattern};
use roundelay_trace::arguments::{
    Choice, parse_buffer, parse_choice, parse_rate, parse_spec, whole,
};
use roundelay_trace::{Direction, Filter, FlowBy, InterfaceName, WeightRule, WeightRules};

use crate::live::arguments::Live;
use crate::outputs::{
    Bounding, Comparing, GROUP, Measuring, Outputs, Publishing, Simulating, Verifying,
};
pub(crate) use objective::Objective;
pub(crate) use replay::Replay;
pub(crate) use runs::Runs;
pub(crate) use sweep::Sweep;

/// Printed after the help text of `roundelay`.
const EXIT_STATUS: &str = "Exit status: 0 success; 1 the run failed, or a check failed (a bound is violated, a log is inconsistent); 2 an argument is \
    wrong, or an input file is missing or invalid; 130 interrupted";

/// Compare queue disciplines (packet schedulers and AQM) on captures and in simulated networks
#[derive(Debug, Parser)]
#[command(name = "roundelay", version, disable_help_subcommand = true, arg_required_else_help = true, after_help = EXIT_STATUS)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

impl Arguments {
    /// Parses the words of a call, the program's name first, and keeps them for commands that
    /// messages suggest.
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
    Objective(Box<Objective>),
    /// Check the log of a simulation for events that are impossible in a real network
    ///
    /// Reads the log written by `roundelay simulate --log`, or the record of `roundelay live
    /// --record`, and nothing else. Exit status 1 if the log has a fault.
    Verify(Verify),
    /// Measure the cost of a packet, enqueue plus dequeue, under the loads of the QFQ paper
    ///
    /// Every table also has the rows none (the packet generator alone) and fifo. Column net: cost
    /// minus the cost of none. Packed: packets reuse the same memory; scattered: packets anywhere
    /// in memory, as in a busy router. docs/performance.md explains the figures.
    Bench(Box<Bench>),
    /// Repeat a table, figure or theorem of five papers: published results and ours side by side,
    /// with a verdict for each claim
    ///
    /// Without arguments: lists papers and items. Runs are cached: a second run takes seconds, and
    /// an interrupted run continues from the cache. After a change of the program, a simulation
    /// runs again only if its disciplines, sources or network changed; all other experiments run
    /// again. Verdicts and evidence: docs/papers/index.md.
    Papers(Papers),
    /// Print the worst-case delay bounds that disciplines guarantee to flows with token buckets,
    /// over one link or several
    ///
    /// The bounds are proven: nothing is replayed or simulated. See docs/bounds.md.
    Bounds(Bounds),
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
    /// Print a completion script for a shell
    Completions {
        /// Name of the shell
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Capture file, pcap or pcapng, plain or compressed with gzip, zstd or xz; - reads standard
    /// input
    pub(crate) capture: PathBuf,

    /// Disciplines in tc syntax: fifo, "fq_codel limit 1000 target 5ms"; the word all selects every
    /// discipline; default: those of Linux with the kernel's rules, unless --tree is given
    #[arg(value_parser = parse_choice)]
    pub(crate) disciplines: Vec<Choice>,

    /// TOML file with a tree of disciplines, compared as one more discipline; may be repeated
    #[arg(long = "tree", value_name = "FILE")]
    pub(crate) trees: Vec<PathBuf>,

    /// Link rate: 20mbit, 1gbit; needed for every capture but the record of a live run, which is
    /// replayed as it was without this option
    #[arg(long, allow_hyphen_values = true, value_parser = parse_rate)]
    pub(crate) rate: Option<Rate>,

    /// Kind of link, by a keyword of tc-cake(8): docsis, ethernet, "ethernet ether-vlan",
    /// pppoe-ptm, conservative, ...; sets overhead, minimum length and framing
    #[arg(long, value_name = "NAME", value_parser = |text: &str| text.parse::<LinkLayer>())]
    pub(crate) link: Option<LinkLayer>,

    /// Bytes that the link adds to each IP packet, -64 to 65535; replaces the overhead of --link
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true,
          value_parser = whole(LinkLayer::OVERHEAD))]
    pub(crate) overhead: Option<i32>,

    /// Minimum length of a packet in bytes, overhead included, 0 to 65535; replaces the minimum of
    /// --link
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true, value_parser = whole(LinkLayer::MPU))]
    pub(crate) mpu: Option<u32>,

    /// Framing of the link: none, atm (53 bytes for each 48) or ptm (65 bytes for each 64);
    /// replaces the framing of --link
    #[arg(long, value_name = "NAME", value_parser = |text: &str| text.parse::<Framing>())]
    pub(crate) framing: Option<Framing>,

    /// Buffer for every discipline that sets no limit: 1000p (packets) or 150kb; without this
    /// option, the default of tc for each
    #[arg(long, allow_hyphen_values = true, value_parser = parse_buffer, value_name = "LIMIT")]
    pub(crate) buffer: Option<Limit>,

    /// Only packets that match: 'udp and not port 53', 'src net 10.0.0.0/8 or dscp ef'; conditions
    /// as in --weight, joined with and, or, not and parentheses
    #[arg(long, value_name = "EXPR", value_parser = |text: &str| text.parse::<Filter>())]
    pub(crate) filter: Option<Filter>,

    /// Only packets of this interface: a name or number of pcapng, or the interface index of a
    /// Linux cooked capture v2
    #[arg(long, value_name = "NAME", value_parser = parse_interface)]
    pub(crate) interface: Option<InterfaceName>,

    /// Only packets of one direction: 'from ADDRESS', 'to ADDRESS' (an address or a network such as
    /// 192.168.1.0/24), in or out (Linux cooked captures, pcapng with directions)
    #[arg(long, value_name = "DIRECTION", value_parser = |text: &str| text.parse::<Direction>())]
    pub(crate) direction: Option<Direction>,

    /// Replay duplicates too; without this option, copies of an IP packet captured at a second
    /// interface, or on the way in and out, are left out
    #[arg(long)]
    pub(crate) keep_duplicates: bool,

    /// For a capture of a mirror port that copied every packet: leave out the second of two equal
    /// packets at one interface within a millisecond
    #[arg(long)]
    pub(crate) mirrored: bool,

    /// Header fields that define a flow: 5tuple, src, dst or dscp
    #[arg(long, value_name = "WHAT", default_value = "5tuple", value_parser = parse_flow_by)]
    pub(crate) flow_by: FlowBy,

    /// Rule for weights of flows, 1 to 1024 (drr: to 65535), as in 'dst port 443 = 10'; the first
    /// matching rule counts; may be repeated
    #[arg(long = "weight", value_name = "RULE", value_parser = parse_weight)]
    pub(crate) weight: Vec<WeightRule>,

    /// TOML file with weight rules, tried after those of --weight
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,

    /// Maximum number of separate flows; all further flows are counted as one [default: as many as
    /// take 2 GB, at least 65536]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1_u32..=1_000_000))]
    pub(crate) max_flows: Option<u32>,

    /// Seed of hashes and random choices; the same seed gives the same result
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1, value_parser = whole(0..=u64::MAX))]
    pub(crate) seed: u64,

    /// All sections, columns and names in full; without this option, those that fit into 40 lines
    /// and the width of the terminal
    #[arg(long)]
    pub(crate) wide: bool,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Comparing>,

    /// Skip the cost measurement, the only result that differs from run to run
    #[arg(long)]
    pub(crate) no_cost: bool,

    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1_u16..=1024))]
    pub(crate) threads: Option<u16>,

    /// No progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// The words of the call, for the command that a verdict suggests.
    #[arg(skip)]
    pub(crate) words: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Disciplines in tc syntax; default: all
    #[arg(value_parser = parse_spec)]
    pub(crate) disciplines: Vec<QueueSpec>,

    /// Number of flows: 512 (of weight 1), or by weight, as weight:flows (1:32k,2:4k) or
    /// flows-wWEIGHT (500-w1,250-w2); may be repeated
    #[arg(long, value_name = "SET", allow_hyphen_values = true, default_value = "512", value_parser = |text: &str| text.parse::<FlowSet>())]
    pub(crate) flows: Vec<FlowSet>,

    /// Range of packets waiting per flow: small (0 to 5), large (0 to 30) or full (3 to 30); may be
    /// repeated
    #[arg(long, value_name = "PATTERN", default_value = "small", value_parser = |text: &str| text.parse::<Pattern>())]
    pub(crate) pattern: Vec<Pattern>,

    /// The flow of the next packet: shortest (the flow with the shortest backlog; packets have
    /// buffers: the QFQ paper's generator) or turns (flows in turn; packets have no buffers)
    #[arg(long, default_value = "shortest", value_parser = |text: &str| text.parse::<Order>())]
    pub(crate) order: Order,

    /// Also measure each discipline by handle: the caller keeps the packet, the scheduler a number
    #[arg(long)]
    pub(crate) handles: bool,

    /// Memory layout of packets: packed or scattered [default: both]
    #[arg(long, value_name = "MEMORY", default_values = ["packed", "scattered"], hide_default_value = true,
          value_parser = |text: &str| text.parse::<Memory>())]
    pub(crate) memory: Vec<Memory>,

    /// Packet length in bytes: 1000, 64-1500, imix or trimodal
    #[arg(long, allow_hyphen_values = true, default_value = "1000", value_parser = |text: &str| text.parse::<Lengths>())]
    pub(crate) lengths: Lengths,

    /// Number of packets in a call of enqueue or dequeue, 0 to 1024; 0: one, by the calls for
    /// single packets; may be repeated
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "0", value_parser = whole(0_u32..=1024))]
    pub(crate) burst: Vec<u32>,

    /// Minimum number of packets in a round; at least one fill and drain of the scheduler [default:
    /// a million]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_pairs)]
    pub(crate) pairs: Option<u64>,

    /// Number of rounds; each round measures every discipline
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 5, value_parser = whole(1_u16..=10_000))]
    pub(crate) rounds: u16,

    /// Count instructions and cache misses under valgrind, instead of time
    #[arg(long)]
    pub(crate) instructions: bool,

    /// Put packets and flows into huge pages, if the system and the C library support them (Linux,
    /// glibc 2.35)
    #[arg(long, conflicts_with_all = ["instructions", "check"])]
    pub(crate) huge_pages: bool,

    /// Compare with a file written by --save: adds the old net cost and the ratio of new to old
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,

    /// Count the instructions of a --save file again; fail if any cost has changed by more than the
    /// tolerance
    #[arg(long, value_name = "FILE", conflicts_with_all = ["disciplines", "against", "flows", "pattern", "order", "handles", "memory", "lengths", "burst", GROUP])]
    pub(crate) check: Option<PathBuf>,

    /// With --check: allowed change of a cost, in percent
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, default_value_t = 2, requires = "check", conflicts_with = "disciplines", value_parser = whole(0_u32..=1000))]
    pub(crate) tolerance: u32,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Measuring>,

    /// Send this number of packets and print nothing: the run under valgrind
    #[arg(long, hide = true)]
    pub(crate) once: Option<u64>,

    /// With --once: constant number of packets in the queue, instead of a load
    #[arg(long, hide = true, requires = "holder", value_parser = whole(1_u32..=MOST_HELD))]
    pub(crate) hold: Option<u32>,

    /// With --hold: none, heap, or a discipline
    #[arg(long, hide = true, requires = "once", value_parser = |text: &str| text.parse::<HoldSubject>())]
    pub(crate) holder: Option<HoldSubject>,
}

#[derive(Debug, Args)]
pub(crate) struct Papers {
    /// A paper (qfq, qfq-plus, mqfq, afq, ups), all, or a plan file like those in papers/
    pub(crate) paper: Option<String>,

    /// An item of the paper, as in table-2, figure-4 or theorem-1; with all, the items of this name
    /// in every paper
    #[arg(num_args = 0..)]
    pub(crate) item: Vec<String>,

    /// Run as long and as often as published, not the quick setting
    #[arg(long)]
    pub(crate) full: bool,

    /// Runs of each column and variation: a number of seeds from 1, or seeds as in 5..8 [default:
    /// the plan's]; with --pages, seeds that are on record stay there
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_seeds)]
    pub(crate) seeds: Option<RangeInclusive<u64>>,

    /// Time for the runs: 90s, 30min, 2h; begins no seed after it. With --pages, the next command
    /// goes on from the record
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_budget)]
    pub(crate) budget: Option<Duration>,

    /// Exit with status 1 if a verdict differs from the expected verdict in the plan
    #[arg(long)]
    pub(crate) check: bool,

    /// Replace the examined disciplines by this one, to test that verdicts change
    #[arg(long, value_name = "DISCIPLINE", value_parser = parse_text_of_spec, conflicts_with = "pages")]
    pub(crate) instead: Option<String>,

    /// Run the planted faults of the items' plans, in the quick setting, and exit with status 1 if a
    /// claim that should notice a fault keeps its verdict
    #[arg(long, conflicts_with_all = ["full", "seeds", "budget", "check", "instead"])]
    pub(crate) faults: bool,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Publishing>,

    /// Folder of cached runs [default: roundelay/papers in the user's cache]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,

    /// Do not read or write the cache
    #[arg(long)]
    pub(crate) fresh: bool,

    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = whole(1_u16..=1024))]
    pub(crate) threads: Option<u16>,

    /// No progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl Papers {
    /// True if the paper is a plan file.
    pub(crate) fn names_a_file(&self) -> bool {
        self.paper
            .as_deref()
            .is_some_and(|name| name.ends_with(".toml"))
    }

    /// The name of the item, if any. Item names have no spaces: several words are a slip.
    pub(crate) fn item(&self) -> Option<String> {
        (!self.item.is_empty()).then(|| self.item.join(" "))
    }

    /// True if an option asks for results.
    pub(crate) const fn runs_something(&self) -> bool {
        self.full
            || self.check
            || self.faults
            || self.instead.is_some()
            || self.seeds.is_some()
            || self.budget.is_some()
            || self.outputs.is_any()
    }
}

/// Reads `8` as the seeds 1 to 8, and `5..8` as 5 to 8.
fn parse_seeds(text: &str) -> Result<RangeInclusive<u64>, String> {
    let seed = |text: &str| {
        let number = text.trim().parse().ok();
        number.filter(|number| (1..=10_000).contains(number))
    };
    let (first, last) = match text.split_once("..") {
        Some((first, last)) => (seed(first), seed(last)),
        None => (Some(1), seed(text)),
    };
    match (first, last) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        _ => Err(
            "expected a number of seeds, 1 to 10000, or the first and the last of them as in 5..8"
                .to_owned(),
        ),
    }
}

/// Reads `90s`, `30min` or `2h`.
fn parse_budget(text: &str) -> Result<Duration, String> {
    let units = [("min", 60.0), ("h", 3600.0), ("s", 1.0)];
    for (unit, seconds) in units {
        let Some(number) = text.strip_suffix(unit) else {
            continue;
        };
        if let Ok(number) = number.trim().parse::<f64>()
            && (0.0..=10_000.0).contains(&number)
        {
            return Ok(Duration::from_secs_f64(number * seconds));
        }
    }
    Err("expected a time of up to 10000 s, min or h, as in 90s, 30min or 2h".to_owned())
}

#[derive(Debug, Args)]
pub(crate) struct Bounds {
    /// TOML file with flows and the links on their path: see docs/bounds.md
    pub(crate) flows: PathBuf,

    /// Disciplines in tc syntax; default: all with a proven delay bound
    #[arg(value_parser = parse_spec)]
    pub(crate) disciplines: Vec<QueueSpec>,

    /// Rate of links without a rate in the file: 20mbit, 1gbit
    #[arg(long, allow_hyphen_values = true, value_parser = parse_rate)]
    pub(crate) rate: Option<Rate>,

    /// Number of links in series, if the file lists none
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1, value_parser = whole(1_u16..=1000))]
    pub(crate) hops: u16,

    /// Also print the parts of each delay bound, and where each is proven
    #[arg(long, conflicts_with = "json")]
    pub(crate) sources: bool,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Bounding>,
}

#[derive(Debug, Args)]
pub(crate) struct Simulate {
    /// Scenario file; - reads standard input
    #[arg(required_unless_present_any = ["template", "schema"])]
    pub(crate) scenario: Option<PathBuf>,

    #[arg(long, value_name = "NAME", help = templates(), conflicts_with_all = ["scenario", "schema", "queue", "seed", "replicas", "dry_run", GROUP])]
    pub(crate) template: Option<String>,

    /// Print the JSON Schema of scenarios
    #[arg(long, conflicts_with_all = ["scenario", "queue", "seed", "replicas", "dry_run", GROUP])]
    pub(crate) schema: bool,

    /// Print an approximate upper bound on events and memory, and do not run
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// Use this discipline on all router ports, as in "fq_codel target 5ms"; host ports keep their
    /// disciplines, and buffers their sizes, unless DISCIPLINE sets a limit
    #[arg(long, value_name = "DISCIPLINE", value_parser = parse_spec)]
    pub(crate) queue: Option<QueueSpec>,

    #[command(flatten)]
    pub(crate) runs: Runs,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Simulating>,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// Log file, or the record of a live run; - reads a log from standard input
    pub(crate) log: PathBuf,

    /// Stop after this number of faults
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 10, value_parser = whole(1_u16..=1000))]
    pub(crate) faults: u16,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Verifying>,
}

/// Help of `simulate --template`.
fn templates() -> String {
    let names: Vec<_> = roundelay_sim::scenario::templates()
        .map(|(name, _)| name)
        .collect();
    format!("Print a scenario to start from: {}", alternatives(&names))
}

/// A larger number would take years.
const MOST_PAIRS: u64 = 1 << 50;

fn parse_pairs(text: &str) -> Result<u64, String> {
    let pairs = text
        .parse()
        .ok()
        .filter(|pairs| (1..=MOST_PAIRS).contains(pairs));
    pairs.ok_or_else(|| format!("expected a whole number, legal range 1 to {MOST_PAIRS}"))
}

/// Returns the text unchanged if it parses as a discipline.
fn parse_text_of_spec(text: &str) -> Result<String, String> {
    parse_spec(text).map(|_| text.to_owned())
}

fn parse_interface(text: &str) -> Result<InterfaceName, Infallible> {
    Ok(InterfaceName::from(text))
}

pub(crate) fn parse_flow_by(text: &str) -> Result<FlowBy, String> {
    text.parse()
        .map_err(|error: roundelay_trace::FlowByError| error.to_string())
}

/// Returns the text unchanged if it is a rule.
pub(crate) fn parse_weight_text(text: &str) -> Result<String, String> {
    parse_weight(text).map(|_| text.to_owned())
}

fn parse_weight(text: &str) -> Result<WeightRule, String> {
    WeightRules::parse_rule(text).map_err(|error| error.to_string())
}
