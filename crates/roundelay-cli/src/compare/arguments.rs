//! Command-line arguments of `roundelay compare`.

use std::path::PathBuf;

use clap::Args;
use roundelay::{Duration, Framing, Limit, LinkLayer, Rate};
use roundelay_trace::arguments::{
    Choice, Mtu, parse_buffer, parse_choice, parse_mtu, parse_rate, read, whole,
};
use roundelay_trace::{
    DirectionChoice, Filter, FlowBy, InterfaceName, Options, WeightRule, parse_length, parse_time,
};

use super::outputs::Comparing;
use crate::anonymise::Strangers;
use crate::applications::arguments::{ControlRule, Up, parse_control};
use crate::outputs::Outputs;
use crate::words::{parse_flow_by, parse_interface, parse_weight};

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Capture file, pcap or pcapng, plain or compressed with gzip, zstd or xz; - reads standard
    /// input
    pub(crate) capture: PathBuf,

    /// Disciplines in tc syntax, as in fifo or "fq_codel limit 1000 target 5ms", or all for every
    /// discipline. If you name neither a discipline nor a tree: what Linux routers run, which is
    /// fq_codel, cake, fq_pie, sfq and fifo with the kernel's rules
    #[arg(value_parser = parse_choice)]
    pub(crate) disciplines: Vec<Choice>,

    /// TOML file with a tree of disciplines, compared as one more discipline. You can repeat it
    #[arg(long = "tree", value_name = "FILE")]
    pub(crate) trees: Vec<PathBuf>,

    /// Link rate, as in 20mbit or 1gbit. You may leave it out only for the record of a live run,
    /// which is then replayed as it was
    #[arg(long, allow_hyphen_values = true, value_parser = parse_rate)]
    pub(crate) rate: Option<Rate>,

    /// Kind of link, by a keyword of tc-cake(8): docsis, ethernet, "ethernet ether-vlan",
    /// pppoe-ptm, conservative, ...; sets overhead, minimum length and framing
    #[arg(long, value_name = "NAME", value_parser = read::<LinkLayer>)]
    pub(crate) link: Option<LinkLayer>,

    /// Bytes that the link adds to each IP packet, -64 to 65535; replaces the overhead of --link
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true,
          value_parser = whole(LinkLayer::OVERHEAD))]
    pub(crate) overhead: Option<i32>,

    /// Minimum length of a packet in bytes, overhead included, 0 to 65535; replaces the minimum of
    /// --link
    #[arg(long, value_name = "BYTES", allow_negative_numbers = true,
          value_parser = whole(LinkLayer::MPU))]
    pub(crate) mpu: Option<u32>,

    /// Framing of the link: none, atm (53 bytes for each 48) or ptm (65 bytes for each 64);
    /// replaces the framing of --link
    #[arg(long, value_name = "NAME", value_parser = read::<Framing>)]
    pub(crate) framing: Option<Framing>,

    /// Buffer for every discipline that sets no limit: 1000p (packets) or 150kb; without this
    /// option, the default of tc for each
    #[arg(long, allow_hyphen_values = true, value_parser = parse_buffer, value_name = "LIMIT")]
    pub(crate) buffer: Option<Limit>,

    /// Only packets that match: 'udp and not port 53', 'src net 10.0.0.0/8 or dscp ef'; conditions
    /// as in --weight, joined with and, or, not and parentheses
    #[arg(long, value_name = "EXPR", value_parser = read::<Filter>)]
    pub(crate) filter: Option<Filter>,

    /// Only packets of this interface: a name or number of pcapng, or the interface index of a
    /// Linux cooked capture v2
    #[arg(long, value_name = "NAME", value_parser = parse_interface)]
    pub(crate) interface: Option<InterfaceName>,

    /// Which packets you compare: auto (the direction with the larger load if the capture holds
    /// several links or both directions), both (all packets), 'from ADDRESS' or 'to ADDRESS' (an
    /// address, a network such as 192.168.1.0/24, a link-layer address such as 52:54:00:12:34:56,
    /// or private), or in or out (Linux cooked captures, pcapng with directions)
    #[arg(long, value_name = "DIRECTION", default_value = "auto",
          value_parser = read::<DirectionChoice>)]
    pub(crate) direction: DirectionChoice,

    /// Only packets from this time after the first packet on: 90s, 5min, 2h
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_time)]
    pub(crate) from: Option<Duration>,

    /// Only packets before this time after the first packet
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_time)]
    pub(crate) to: Option<Duration>,

    /// Only the part of this length with the most bytes: 60s
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_length)]
    pub(crate) busiest: Option<Duration>,

    /// Longest IP packet of the link in bytes, 576 to 65535: longer packets, as offloading makes
    /// them, are split as the wire would have them; none splits none
    #[arg(long, value_name = "BYTES", default_value = "1500", allow_hyphen_values = true,
          value_parser = parse_mtu)]
    pub(crate) mtu: Mtu,

    /// Replay duplicates too; without this option, copies of an IP packet captured at a second
    /// interface, or on the way in and out, are left out
    #[arg(long)]
    pub(crate) keep_duplicates: bool,

    /// For a capture of a mirror port that copied every packet: leave out the second of two equal
    /// packets at one interface within a millisecond
    #[arg(long)]
    pub(crate) mirrored: bool,

    /// Header fields that define a flow: 5tuple (in GRE, IP in IP and 6in4 that of the packet inside,
    /// as in Linux), inner (also in VXLAN, Geneve and GTP-U), outer, src, dst or dscp
    #[arg(long, value_name = "WHAT", default_value = "5tuple", value_parser = parse_flow_by)]
    pub(crate) flow_by: FlowBy,

    /// Rule for weights of flows, 1 to 1024 (drr: to 65535), as in 'dst port 443 = 10'. You can
    /// repeat it, and the first rule that matches a flow counts
    #[arg(long = "weight", value_name = "RULE", value_parser = parse_weight)]
    pub(crate) weight: Vec<WeightRule>,

    /// TOML file with weight rules, tried after those of --weight
    #[arg(long, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,

    /// Maximum number of separate flows; all further flows are counted as one [default: as many as
    /// take 2 GB, at least 65536]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = whole(1_u32..=1_000_000))]
    pub(crate) max_flows: Option<u32>,

    /// Seed of hashes and random choices; the same seed gives the same result
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 1,
          value_parser = whole(0..=u64::MAX))]
    pub(crate) seed: u64,

    /// Runs of each discipline that draws or hashes, with consecutive seeds that begin with that of
    /// --seed. You get the figures of the first, and the verdict says whether another seed changes
    /// it
    #[arg(long, value_name = "N", allow_negative_numbers = true, conflicts_with = "react",
          default_value_t = Options::SEEDS, value_parser = whole(1_u16..=1000))]
    pub(crate) seeds: u16,

    /// Let senders react: find what the applications behind the capture wanted, and simulate them
    /// under each discipline. You get the times and losses that TCP would have at this rate, with
    /// intervals. The capture must hold both directions
    #[arg(long, conflicts_with_all = ["weight", "weights"])]
    pub(crate) react: bool,

    /// With --react: number of runs, whose starts differ by up to 10 ms; figures are means with 95%
    /// confidence intervals
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 5,
          requires = "react", value_parser = whole(1_u16..=10_000))]
    pub(crate) replicas: u16,

    /// With --react: round trip of connections whose own the capture does not show
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, requires = "react",
          value_parser = parse_time)]
    pub(crate) round_trip: Option<Duration>,

    /// With --react: rate of the link that was captured, by which we judge whether senders wanted
    /// more [default: the highest at which bytes left it in a second]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, requires = "react",
          value_parser = parse_rate)]
    pub(crate) captured_rate: Option<Rate>,

    #[command(flatten)]
    pub(crate) up: Up,

    /// With --react: congestion control of senders: reno, cubic, bbr or bbr3 for all, or for those
    /// that match, as in 'src port 8443 = bbr'. You can repeat it, and the first rule that matches
    /// counts [default: bbr where a transfer shows it, else cubic]
    #[arg(long, value_name = "NAME", requires = "react", value_parser = parse_control)]
    pub(crate) control: Vec<ControlRule>,

    /// With --react: also try both ends of what no capture shows (congestion control cubic and bbr,
    /// round trips as measured and half as long, unknown ones 5ms and 200ms, doubtful transfers as
    /// written and without end), and say whether the
    /// verdict depends on it. Takes several times as long
    #[arg(long, requires = "react")]
    pub(crate) open: bool,

    /// All sections, columns and names in full; without this option, those that fit into 40 lines
    /// and the width of the terminal
    #[arg(long)]
    pub(crate) wide: bool,

    #[command(flatten)]
    pub(crate) outputs: Outputs<Comparing>,

    #[command(flatten)]
    pub(crate) strangers: Strangers,

    /// Skip the cost measurement, the only result that differs from run to run
    #[arg(long)]
    pub(crate) no_cost: bool,

    /// Number of threads [default: one per core]
    #[arg(long, value_name = "N", allow_negative_numbers = true,
          value_parser = whole(1_u16..=1024))]
    pub(crate) threads: Option<u16>,

    /// No progress bar
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// The words of the call, for the command that a verdict suggests.
    #[arg(skip)]
    pub(crate) words: Vec<String>,
}
