//! What the user types.

mod objective;
mod replay;
mod runs;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use clap_complete::Shell;
use roundelay::schedulers::{Spec, parse_limit};
use roundelay::{Limit, Rate};
use roundelay_bench::{FlowSet, HoldSubject, Lengths, MOST_HELD, Memory, Pattern};
use roundelay_trace::{FlowBy, WeightRule, WeightRules};

pub(crate) use objective::Objective;
pub(crate) use replay::Replay;
pub(crate) use runs::Runs;

/// The same for all commands.
const EXIT_STATUS: &str = "Exit status: 0 fine; 1 the run failed, or found what must not be (a broken bound, a log of what cannot be); 2 what was asked for \
    cannot be: an argument is wrong, or a file that is to be read is missing or not what it should be; 130 interrupted";

/// Which queue discipline for this link and this traffic?
#[derive(Debug, Parser)]
#[command(name = "roundelay", version, disable_help_subcommand = true, arg_required_else_help = true, after_help = EXIT_STATUS)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Replay a capture through several disciplines and say which one serves it best
    ///
    /// Every packet of the capture is offered to every discipline at its capture time, in front of a link of the given rate. The replay is
    /// open-loop: TCP does not react to what happens in it.
    Compare(Box<Compare>),
    /// Simulate a network: a scenario in TOML in, throughput, delay, loss, fairness and completion times out
    ///
    /// Same scenario, seed and version: same bytes out, with any number of threads. See docs/simulator/scenarios.md.
    Simulate(Box<Simulate>),
    /// Record a schedule, replay it under another discipline, and say how many packets come out too late
    ///
    /// The scenario runs under its own queues. The same packets are then sent again at the same times, with headers that tell when they got out, and the queues of
    /// all routers follow them: least slack time first (lstf) is as near to a universal packet scheduler as there can be (Mittal et al., NSDI 2016). Packets that
    /// get out later than recorded are overdue. Sources fall silent when the scenario's duration is over; both runs go on until the network is empty.
    Replay(Box<Replay>),
    /// Say whether least slack time first (lstf) serves an objective in a scenario as well as the discipline made for it, and what it costs
    ///
    /// The scenario runs with the same seeds under fifo, under the specialist and under lstf with the slack of the objective (Mittal et al., NSDI 2016, section 3).
    /// Figures are compared seed by seed. See docs/simulator/objective.md.
    Objective(Box<Objective>),
    /// Check the log of a simulation: that what it tells is what a network can do
    ///
    /// The log is what `roundelay simulate --log` writes. What checks it knows nothing of the simulator. Exit status 1 if it finds a fault.
    Verify(Verify),
    /// Measure what a packet costs, enqueued and dequeued, under the loads of the QFQ paper
    ///
    /// Rows none (the generator of the packets alone) and fifo stand beside every discipline; net is without none. Packed: packets lie where
    /// the last ones lay; scattered: anywhere, as in a busy router. docs/performance.md explains the figures.
    Bench(Box<Bench>),
    /// Run a table, a figure or a theorem of the papers, and print published and ours side by side with a verdict for each claim
    ///
    /// Without arguments, the list of papers and items. Runs are cached: a second run takes seconds, an interrupted one goes on where it was.
    /// Verdicts and what decided them: docs/papers/index.md.
    Papers(Papers),
    /// Print the worst delay that disciplines promise to flows with token buckets, over one link or several
    ///
    /// Nothing is replayed or simulated: these are proven bounds, see docs/bounds.md.
    Bounds(Bounds),
    /// Name all disciplines
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Explain a discipline: its parameters, their ranges and defaults, its source
    Help {
        /// Its name, as in `roundelay list`
        discipline: Option<String>,
    },
    /// Print a completion script for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// The capture, pcap or pcapng; - reads standard input
    pub(crate) capture: PathBuf,

    /// Disciplines as tc writes them: fifo, "fq_codel limit 1000 target 5ms"; all of them if neither one nor a tree is named
    #[arg(value_parser = parse_spec)]
    pub(crate) disciplines: Vec<Spec>,

    /// A TOML file that describes a tree of disciplines, to be compared as one more; may be repeated
    #[arg(long = "tree", value_name = "FILE")]
    pub(crate) trees: Vec<PathBuf>,

    /// Rate of the link: 20mbit, 1gbit
    #[arg(long, value_parser = parse_rate)]
    pub(crate) rate: Rate,

    /// One buffer for every discipline without a limit of its own: 1000p (packets) or 150kb; else each has tc's default
    #[arg(long, value_parser = parse_buffer, value_name = "LIMIT")]
    pub(crate) buffer: Option<Limit>,

    /// What makes a flow: 5tuple, src, dst or dscp
    #[arg(long, value_name = "WHAT", default_value = "5tuple", value_parser = parse_flow_by)]
    pub(crate) flow_by: FlowBy,

    /// A rule for flows' weights, 1 to 1024, as in 'dst port 443 = 10'; the first that matches counts; may be repeated
    #[arg(long = "weight", value_name = "RULE", value_parser = parse_weight)]
    pub(crate) weight: Vec<WeightRule>,

    /// A TOML file of such rules, tried after those of --weight
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,

    /// Flows to tell apart; packets of further ones share a flow
    #[arg(long, value_name = "N", default_value_t = 65_536, value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub(crate) max_flows: u32,

    /// Seed of hashes and random choices: same seed, same result
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_seed)]
    pub(crate) seed: u64,

    /// Print JSON in place of the table
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write Parquet files into this folder: flows.parquet and the packets of each discipline
    #[arg(long, value_name = "DIR")]
    pub(crate) parquet: Option<PathBuf>,

    /// Do not measure what the disciplines cost on this machine: all other results are the same on every run
    #[arg(long)]
    pub(crate) no_cost: bool,

    /// Threads to use [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// No progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Disciplines as tc writes them; all of them if none is named
    #[arg(value_parser = parse_spec)]
    pub(crate) disciplines: Vec<Spec>,

    /// Flows: 512, weight:flows (1:32k,2:4k) or flows-wWEIGHT (500-w1,250-w2); may be repeated
    #[arg(long, value_name = "SET", default_value = "512", value_parser = |text: &str| text.parse::<FlowSet>())]
    pub(crate) flows: Vec<FlowSet>,

    /// How the backlog swells and shrinks: small, large or full; may be repeated
    #[arg(long, value_name = "PATTERN", default_value = "small", value_parser = |text: &str| text.parse::<Pattern>())]
    pub(crate) pattern: Vec<Pattern>,

    /// Where packets lie: packed or scattered [default: both]
    #[arg(long, value_name = "MEMORY", default_values = ["packed", "scattered"], hide_default_value = true,
          value_parser = |text: &str| text.parse::<Memory>())]
    pub(crate) memory: Vec<Memory>,

    /// Bytes of a packet: 1000, 64-1500, imix or trimodal
    #[arg(long, default_value = "1000", value_parser = |text: &str| text.parse::<Lengths>())]
    pub(crate) lengths: Lengths,

    /// Packets that a scheduler is given and asked for at once, 0 to 1024; 0: it is called for each; may be repeated
    #[arg(long, value_name = "N", default_value = "0", value_parser = clap::value_parser!(u32).range(0..=1024))]
    pub(crate) burst: Vec<u32>,

    /// Packets in a round, at least, and never less than fill and empty the scheduler once [default: a million]
    #[arg(long, value_name = "N", value_parser = parse_pairs)]
    pub(crate) pairs: Option<u64>,

    /// Rounds, in which the subjects take turns
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) rounds: u16,

    /// Count instructions and cache misses under valgrind, where noise is zero
    #[arg(long)]
    pub(crate) instructions: bool,

    /// Let packets and flows lie in huge pages, as far as the system and its C library have them (Linux, glibc 2.35)
    #[arg(long, conflicts_with_all = ["instructions", "check"])]
    pub(crate) huge_pages: bool,

    /// Write what was measured into a file, for --against and --check
    #[arg(long, value_name = "FILE")]
    pub(crate) save: Option<PathBuf>,

    /// Compare with what --save has written: the net cost then and the ratio of now to then
    #[arg(long, value_name = "FILE")]
    pub(crate) against: Option<PathBuf>,

    /// Count anew the instructions that are in a file written by --save, and fail if any cost has changed by more than the tolerance
    #[arg(long, value_name = "FILE", conflicts_with_all = ["disciplines", "against", "flows", "pattern", "memory", "lengths", "burst", "save", "svg", "json"])]
    pub(crate) check: Option<PathBuf>,

    /// With --check: percent by which a cost may have changed
    #[arg(long, value_name = "PERCENT", default_value_t = 2, requires = "check", conflicts_with = "disciplines", value_parser = clap::value_parser!(u32).range(0..=1000))]
    pub(crate) tolerance: u32,

    /// Draw the costs against the number of flows, as SVG
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Print JSON in place of the tables
    #[arg(long)]
    pub(crate) json: bool,

    /// Run so many packets and print nothing: what runs under valgrind
    #[arg(long, hide = true)]
    pub(crate) once: Option<u64>,

    /// With --once: packets that the queue always holds, in place of a load
    #[arg(long, hide = true, requires = "holder", value_parser = clap::value_parser!(u32).range(1..=i64::from(MOST_HELD)))]
    pub(crate) hold: Option<u32>,

    /// With --hold: none, heap, or a discipline
    #[arg(long, hide = true, requires = "once", value_parser = |text: &str| text.parse::<HoldSubject>())]
    pub(crate) holder: Option<HoldSubject>,
}

#[derive(Debug, Args)]
pub(crate) struct Papers {
    /// A paper (qfq, qfq-plus, mqfq, afq, ups), all, or a file like those in papers/
    pub(crate) paper: Option<String>,

    /// One of its items, as in table-2, figure-4 or theorem-1
    pub(crate) item: Option<String>,

    /// Run as long and as often as published, not in the quick setting
    #[arg(long)]
    pub(crate) full: bool,

    /// Runs of each column and variation, with seeds from 1 [default: the plan's]
    #[arg(long, value_name = "N", conflicts_with = "pages", value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub(crate) seeds: Option<u16>,

    /// Exit with status 1 if a verdict differs from the one that its plan expects
    #[arg(long)]
    pub(crate) check: bool,

    /// Put this discipline in the place of those that are examined: a planted fault, which verdicts have to notice
    #[arg(long, value_name = "DISCIPLINE", value_parser = parse_text_of_spec, conflicts_with = "pages")]
    pub(crate) instead: Option<String>,

    /// Write the raw rows of one item: variation, figure, x, seed, value
    #[arg(long, value_name = "FILE")]
    pub(crate) parquet: Option<PathBuf>,

    /// Write one item as a self-contained HTML page with its charts
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Draw the first chart of one item
    #[arg(long, value_name = "FILE")]
    pub(crate) svg: Option<PathBuf>,

    /// Write records, pages and drawings into this folder; without a paper, pages and drawings from the records that are there
    #[arg(long, value_name = "DIR")]
    pub(crate) pages: Option<PathBuf>,

    /// Folder of cached runs [default: roundelay/papers in the user's cache]
    #[arg(long, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,

    /// Neither read nor write the cache
    #[arg(long)]
    pub(crate) fresh: bool,

    /// Print JSON in place of text
    #[arg(long)]
    pub(crate) json: bool,

    /// Threads to use [default: one a core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(crate) threads: Option<u16>,

    /// No progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

impl Papers {
    /// Whether the paper is a file with a plan.
    pub(crate) fn names_a_file(&self) -> bool {
        self.paper.as_deref().is_some_and(|name| name.ends_with(".toml"))
    }

    /// Whether an option asks for results.
    pub(crate) const fn runs_something(&self) -> bool {
        self.full
            || self.check
            || self.json
            || self.instead.is_some()
            || self.pages.is_some()
            || self.seeds.is_some()
            || self.html.is_some()
            || self.svg.is_some()
            || self.parquet.is_some()
    }
}

#[derive(Debug, Args)]
pub(crate) struct Bounds {
    /// Flows, and the links on their way, in TOML: see docs/bounds.md
    pub(crate) flows: PathBuf,

    /// Disciplines as tc writes them; all that promise a delay if none is named
    #[arg(value_parser = parse_spec)]
    pub(crate) disciplines: Vec<Spec>,

    /// Rate of each link that has none in the file: 20mbit, 1gbit
    #[arg(long, value_parser = parse_rate)]
    pub(crate) rate: Option<Rate>,

    /// Links one after the other, where the file lists none
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) hops: u16,

    /// Print also what the delays are made of, and where it is proven
    #[arg(long)]
    pub(crate) sources: bool,

    /// Print JSON in place of the table
    #[arg(long, conflicts_with = "sources")]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Simulate {
    /// The scenario; - reads standard input
    #[arg(required_unless_present_any = ["template", "schema"])]
    pub(crate) scenario: Option<PathBuf>,

    /// Print a scenario to begin with: dumbbell, parking_lot, qfq_figure8, internet2, isp, fat_tree, leaf_spine or nodes
    #[arg(long, value_name = "NAME", conflicts_with_all = ["scenario", "schema", "queue", "seed", "replicas", "dry_run", "json", "html", "parquet", "log", "pcapng"])]
    pub(crate) template: Option<String>,

    /// Print the JSON Schema of scenarios
    #[arg(long, conflicts_with_all = ["scenario", "queue", "seed", "replicas", "dry_run", "json", "html", "parquet", "log", "pcapng"])]
    pub(crate) schema: bool,

    /// Say how many events and how much memory it will take, roughly, and do not run it
    #[arg(long)]
    pub(crate) dry_run: bool,

    /// A discipline for every queue of a router, whatever the scenario says, as in "fq_codel target 5ms"; hosts' interfaces stay, and so do
    /// buffers, unless it has a limit of its own
    #[arg(long, value_name = "DISCIPLINE", value_parser = parse_spec)]
    pub(crate) queue: Option<Spec>,

    #[command(flatten)]
    pub(crate) runs: Runs,

    /// Print JSON in place of the table
    #[arg(long)]
    pub(crate) json: bool,

    /// Write a self-contained HTML page
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    /// Write Parquet files into this folder: flows.parquet and links.parquet, a row for each of them and replica; all flows are then kept in memory
    #[arg(long, value_name = "DIR")]
    pub(crate) parquet: Option<PathBuf>,

    /// With --parquet: packets.parquet, a row a packet, and hops.parquet, a row a packet and link; one run only
    #[arg(long, requires = "parquet")]
    pub(crate) packets: bool,

    /// Write down all that happens, for `roundelay verify`; one run only
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,

    /// Write down what the links carry, for Wireshark, each link an interface; one run only
    #[arg(long, value_name = "FILE")]
    pub(crate) pcapng: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The log; - reads standard input
    pub(crate) log: PathBuf,

    /// Faults after which to stop
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub(crate) faults: u16,

    /// Print JSON in place of the table
    #[arg(long)]
    pub(crate) json: bool,
}

fn parse_seed(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("expected a whole number, legal range 0 to {}", u64::MAX))
}

/// More would take years.
const MOST_PAIRS: u64 = 1 << 50;

fn parse_pairs(text: &str) -> Result<u64, String> {
    let pairs = text.parse().ok().filter(|pairs| (1..=MOST_PAIRS).contains(pairs));
    pairs.ok_or_else(|| format!("expected a whole number, legal range 1 to {MOST_PAIRS}"))
}

fn parse_spec(text: &str) -> Result<Spec, String> {
    text.parse().map_err(|error: roundelay::ConfigError| error.to_string())
}

/// The text, if it is a discipline.
fn parse_text_of_spec(text: &str) -> Result<String, String> {
    parse_spec(text).map(|_| text.to_owned())
}

fn parse_rate(text: &str) -> Result<Rate, String> {
    text.parse().map_err(|error: roundelay::UnitError| error.to_string())
}

fn parse_buffer(text: &str) -> Result<Limit, String> {
    let limit = parse_limit(text).filter(|limit| limit.packets > 0 && limit.bytes > 0);
    limit.ok_or_else(|| {
        "expected packets, 1p or more (1000p), or bytes, 1b or more (150kb): what holds nothing lets nothing through".to_owned()
    })
}

fn parse_flow_by(text: &str) -> Result<FlowBy, String> {
    text.parse().map_err(|error: roundelay_trace::FlowByError| error.to_string())
}

fn parse_weight(text: &str) -> Result<WeightRule, String> {
    WeightRules::parse_rule(text).map_err(|error| error.to_string())
}
