//! Arguments of `roundelay live`.

use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use roundelay::{Billionths, Duration, Fault, Framing, LinkLayer, Rate};
use roundelay_trace::FlowBy;
use roundelay_trace::arguments::{parse_rate, parse_spec, read, whole};

use crate::anonymise::Strangers;
use crate::words::{parse_flow_by, parse_weight_text};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Live {
    #[command(subcommand)]
    pub(crate) command: Option<LiveCommand>,

    /// The queue in both directions, in tc syntax: "fq_codel target 5ms"; default: fifo. Or a
    /// scenario of `roundelay simulate`, a file .toml: the bottleneck's rate, delay, jitter, loss,
    /// queue and weights, where no option says otherwise
    #[arg(value_parser = parse_queue_or_scenario, value_name = "DISCIPLINE|SCENARIO")]
    pub(crate) discipline: Option<String>,

    /// The queue in both directions; the same as DISCIPLINE
    #[arg(long, value_parser = parse_queue, value_name = "DISCIPLINE")]
    pub(crate) queue: Option<String>,

    /// The queue on the way up, in place of that of both directions
    #[arg(long, value_parser = parse_queue, value_name = "DISCIPLINE")]
    pub(crate) queue_up: Option<String>,

    /// The queue on the way down, in place of that of both directions
    #[arg(long, value_parser = parse_queue, value_name = "DISCIPLINE")]
    pub(crate) queue_down: Option<String>,

    /// TOML file with a tree of disciplines, as the queue in both directions
    #[arg(long, value_name = "FILE", conflicts_with = "queue")]
    pub(crate) tree: Option<PathBuf>,

    /// Two interfaces to put the bottleneck between, as root: the way up goes from the first to the
    /// second. tap:NAME makes a TAP interface of that name, for traffic of this machine, a bridge or
    /// a container. Without this option, a command runs at the end of a link of its own
    #[arg(long, num_args = 2, value_names = ["NEAR", "FAR"], conflicts_with = "command_line")]
    pub(crate) between: Vec<String>,

    /// How frames come from interfaces and go there: by a packet socket, or by AF_XDP, which loses
    /// fewer at high rates and needs root
    #[arg(long, value_name = "KIND", default_value = "packet", value_parser = ["packet", "xdp"])]
    pub(crate) device: String,

    /// Link rate in both directions: 20mbit, 1gbit
    #[arg(long, allow_hyphen_values = true, value_parser = parse_rate)]
    pub(crate) rate: Option<Rate>,

    /// Link rate from near to far
    #[arg(long, allow_hyphen_values = true, value_parser = parse_rate, value_name = "RATE")]
    pub(crate) up: Option<Rate>,

    /// Link rate from far to near
    #[arg(long, allow_hyphen_values = true, value_parser = parse_rate, value_name = "RATE")]
    pub(crate) down: Option<Rate>,

    /// Link trace in place of a rate, in both directions: a file with a line for each time in
    /// milliseconds at which the link delivers a full packet, as mahimahi's mm-link reads it, or a
    /// model, as in 'wifi stations 5' or 'lte rate 10mbit'
    #[arg(long, value_name = "FILE", conflicts_with = "rate")]
    pub(crate) link_trace: Option<PathBuf>,

    /// Link trace from near to far
    #[arg(long, value_name = "FILE", conflicts_with = "up")]
    pub(crate) link_trace_up: Option<PathBuf>,

    /// Link trace from far to near
    #[arg(long, value_name = "FILE", conflicts_with = "down")]
    pub(crate) link_trace_down: Option<PathBuf>,

    /// Delay of the wire behind the link, in each direction: 20ms; default: 0
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) delay: Option<Duration>,

    /// Most of a random delay beside it, default 0. Packets keep their order
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) jitter: Option<Duration>,

    /// Share of packets lost on the wire: .01 or 1%; default: 0
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub(crate) loss: Option<Billionths>,

    /// A change of both directions on the way: '5s rate 1mbit', '10s queue fq_codel target 5ms'. You
    /// can repeat it
    #[arg(long = "at", value_name = "CHANGE", value_parser = parse_planned)]
    pub(crate) at: Vec<Planned>,

    /// Kind of link, by a keyword of tc-cake(8): see `roundelay help compare`
    #[arg(long, value_name = "NAME", value_parser = read::<LinkLayer>)]
    pub(crate) link: Option<LinkLayer>,

    /// Bytes that the link adds to each IP packet, -64 to 65535
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true,
          value_parser = whole(LinkLayer::OVERHEAD))]
    pub(crate) overhead: Option<i32>,

    /// Minimum length of a packet in bytes, overhead included, 0 to 65535
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true,
          value_parser = whole(LinkLayer::MPU))]
    pub(crate) mpu: Option<u32>,

    /// Framing of the link: none, atm or ptm
    #[arg(long, value_name = "NAME", value_parser = read::<Framing>)]
    pub(crate) framing: Option<Framing>,

    /// Header fields that define a flow: 5tuple (in GRE, IP in IP and 6in4 that of the packet inside,
    /// as in Linux), inner (also in VXLAN, Geneve and GTP-U), outer, src, dst or dscp
    #[arg(long, value_name = "WHAT", default_value = "5tuple", value_parser = parse_flow_by)]
    pub(crate) flow_by: FlowBy,

    /// Rule for weights of flows, as in 'dst port 443 = 10'. You can repeat it, and the first rule
    /// that matches a flow counts
    #[arg(long = "weight", value_name = "RULE", value_parser = parse_weight_text)]
    pub(crate) weight: Vec<String>,

    /// TOML file with weight rules, tried after those of --weight
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,

    /// Maximum number of separate flows; all further flows are one
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 65_536,
          value_parser = whole(1_u32..=1_000_000))]
    pub(crate) max_flows: u32,

    /// Seed of hashes, losses and jitter; default: that of the scenario, or else 1, and with
    /// --between one drawn for this run, which no sender knows
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = whole(0..=u64::MAX))]
    pub(crate) seed: Option<u64>,

    /// Congestion control of TCP at both ends, if the system allows it: cubic, reno
    #[arg(long, value_name = "NAME", conflicts_with = "between")]
    pub(crate) congestion: Option<String>,

    /// Record the run in a capture that `roundelay compare` and `roundelay verify` read. A record has
    /// the packets as they are, so --anonymise refuses it
    #[arg(long, value_name = "FILE", conflicts_with_all = ["anonymise", "anonymise_key"])]
    pub(crate) record: Option<PathBuf>,

    /// Name of the run, for `roundelay live set`
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// End the run after this time: 30s
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) duration: Option<Duration>,

    /// Print a line of JSON each second, and the verdict as JSON
    #[arg(long)]
    pub(crate) json: bool,

    /// Show the run on the terminal while it lasts: rate, backlog, delay, drops and marks of each
    /// flow, and keys for discipline and rate. Commands at the ends have no terminal then
    #[arg(long, conflicts_with_all = ["json", "demo"])]
    pub(crate) view: bool,

    /// Write a self-contained HTML page at the end: verdict, figures, flows, charts over time
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) strangers: Strangers,

    /// Serve metrics for Prometheus while the run lasts, by the names of `tc -s -j`: 127.0.0.1:9100;
    /// port 0 is any free one, which is printed
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address)]
    pub(crate) metrics: Option<SocketAddr>,

    /// Bulk transfers, a ping and a call share 1 Mbit/s: first under fifo, then under fq_codel
    #[arg(long, conflicts_with_all = [
        "between", "command_line", "discipline", "queue", "queue_up", "queue_down", "tree",
        "rate", "up", "down", "link_trace", "link_trace_up", "link_trace_down", "delay", "jitter",
        "loss", "duration", "at", "link", "overhead", "mpu", "framing", "flow_by", "max_flows",
        "weight", "weights", "seed", "congestion",
    ])]
    pub(crate) demo: bool,

    /// Undo what runs have left after a crash: settings of interfaces, control sockets
    #[arg(long, exclusive = true)]
    pub(crate) restore: bool,

    /// No text but the verdict
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// The command at the near end, and after another --, the command at the far end; {near} and
    /// {far} stand for the addresses
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command_line: Vec<OsString>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LiveCommand {
    /// Change a running session: rate, queue or weights, without losing a packet
    Set(Set),
}

#[derive(Debug, Args)]
pub(crate) struct Set {
    /// Name of the session
    #[arg(long)]
    pub(crate) name: String,

    /// Change one direction only: up or down
    #[arg(long, value_name = "WAY", value_parser = ["up", "down"])]
    pub(crate) way: Option<String>,

    /// Pairs of a setting and its value: rate 50mbit queue "fq_codel target 10ms" weight 'dst port
    /// 443 = 10'
    #[arg(required = true, num_args = 2.., value_names = ["SETTING", "VALUE"])]
    pub(crate) settings: Vec<String>,
}

/// A change at a time.
#[derive(Debug, Clone)]
pub(crate) struct Planned {
    pub(crate) at: Duration,
    pub(crate) setting: String,
    pub(crate) value: String,
}

fn parse_queue(text: &str) -> Result<String, Fault> {
    parse_spec(text).map(|_| text.to_owned())
}

fn parse_queue_or_scenario(text: &str) -> Result<String, Fault> {
    if Path::new(text).extension().is_some_and(|end| end == "toml") {
        return Ok(text.to_owned());
    }
    parse_queue(text).map_err(|fault| match is_interface(text) {
        true => fault.with_hint("; interfaces stand behind --between: --between NEAR FAR"),
        false => fault,
    })
}

/// Whether this machine has an interface of this name, or a TAP interface is meant.
fn is_interface(text: &str) -> bool {
    let is_name = !text.contains('/') && ![".", ".."].contains(&text);
    text.starts_with("tap:") || is_name && Path::new("/sys/class/net").join(text).exists()
}

fn parse_time(text: &str) -> Result<Duration, Fault> {
    if text.parse::<f64>().is_ok_and(|number| number != 0.0) {
        let legal = "a unit, as in 5s or 300ms: tc would read microseconds";
        return Err(Fault::wanted(legal).with_given(text));
    }
    read(text)
}

fn parse_address(text: &str) -> Result<SocketAddr, Fault> {
    let legal = "an address of this machine and a port, as in 127.0.0.1:9100";
    text.parse()
        .map_err(|_| Fault::wanted(legal).with_given(text))
}

fn parse_share(text: &str) -> Result<Billionths, Fault> {
    let expected = || Fault::wanted("a share from 0 to 1, as in .01 or 1%").with_given(text);
    let share = match text.strip_suffix('%') {
        Some(percent) => Billionths(percent.parse::<Billionths>().map_err(|_| expected())?.0 / 100),
        None => text.parse().map_err(|_| expected())?,
    };
    if share > Billionths::ONE {
        return Err(expected());
    }
    if share.0 == 0 && text.contains(|letter| matches!(letter, '1'..='9')) {
        let legal = "0, or a share from .000000001 to 1";
        return Err(Fault::wanted(legal).with_given(text));
    }
    Ok(share)
}

fn parse_planned(text: &str) -> Result<Planned, Fault> {
    let legal = "a time and a change, as in '5s rate 1mbit'";
    let mut parts = text.trim().splitn(3, ' ');
    let (Some(at), Some(setting), Some(value)) = (parts.next(), parts.next(), parts.next()) else {
        return Err(Fault::wanted(legal).with_given(text));
    };
    Ok(Planned {
        at: parse_time(at)?,
        setting: setting.to_owned(),
        value: value.to_owned(),
    })
}
