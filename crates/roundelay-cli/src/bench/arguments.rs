//! Command-line arguments of `roundelay bench`.

use std::path::PathBuf;

use clap::Args;
use roundelay::{Fault, QueueSpec};
use roundelay_bench::{FlowSet, HoldSubject, Lengths, MOST_HELD, Memory, Order, Pattern};
use roundelay_trace::arguments::{parse_spec, read, whole};

use super::outputs::Measuring;
use crate::outputs::{GROUP, Outputs};

#[derive(Debug, Args)]
pub(crate) struct Bench {
    /// Disciplines in tc syntax; default: all
    #[arg(value_parser = parse_spec)]
    pub(crate) disciplines: Vec<QueueSpec>,

    /// Measure a tree: a file, as for compare --tree, or one made of classes, such as htb:1000 (a
    /// thousand leaves below an htb), hfsc:10x100 or drr+htb:4x250. Flows go to its leaves in turn,
    /// so give at least as many --flows as leaves. You can repeat it
    #[arg(long, value_name = "TREE")]
    pub(crate) tree: Vec<String>,

    /// Number of flows: 512 (of weight 1), or by weight, as weight:flows (1:32k,2:4k) or
    /// flows-wWEIGHT (500-w1,250-w2). You can repeat it
    #[arg(long, value_name = "SET", allow_hyphen_values = true, default_value = "512",
          value_parser = read::<FlowSet>)]
    pub(crate) flows: Vec<FlowSet>,

    /// Range of packets waiting per flow: small (0 to 5), large (0 to 30) or full (3 to 30). You
    /// can repeat it
    #[arg(long, value_name = "PATTERN", default_value = "small", value_parser = read::<Pattern>)]
    pub(crate) pattern: Vec<Pattern>,

    /// Which flow gets the next packet: shortest (the flow with the shortest backlog, and packets
    /// have buffers, as in the QFQ paper) or turns (each flow in turn, and packets have no buffers)
    #[arg(long, default_value = "shortest", value_parser = read::<Order>)]
    pub(crate) order: Order,

    /// Also measure each discipline by handle: the caller keeps packets, the scheduler handles
    #[arg(long)]
    pub(crate) handles: bool,

    /// Memory layout of packets: packed or scattered [default: both]
    #[arg(long, value_name = "MEMORY", default_values = ["packed", "scattered"],
          hide_default_value = true, value_parser = read::<Memory>)]
    pub(crate) memory: Vec<Memory>,

    /// Packet length in bytes: 1000, 64-1500, imix or trimodal
    #[arg(long, allow_hyphen_values = true, default_value = "1000", value_parser = read::<Lengths>)]
    pub(crate) lengths: Lengths,

    /// How many packets each enqueue or dequeue call takes, 0 to 1024. With 0 you measure the calls
    /// for single packets. You can repeat it
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value = "0",
          value_parser = whole(0_u32..=1024))]
    pub(crate) burst: Vec<u32>,

    /// Minimum number of packets in a round, which fills and drains the scheduler at least once
    /// [default: a million]
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = parse_pairs)]
    pub(crate) pairs: Option<u64>,

    /// Number of rounds; each round measures every discipline
    #[arg(long, value_name = "N", allow_negative_numbers = true, default_value_t = 5,
          value_parser = whole(1_u16..=10_000))]
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
    #[arg(long, value_name = "FILE",
          conflicts_with_all = ["disciplines", "tree", "against", "flows", "pattern", "order", "handles",
                                "memory", "lengths", "burst", GROUP])]
    pub(crate) check: Option<PathBuf>,

    /// With --check: allowed change of a cost, in percent
    #[arg(long, value_name = "PERCENT", allow_negative_numbers = true, default_value_t = 2,
          requires = "check", conflicts_with = "disciplines", value_parser = whole(0_u32..=1000))]
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
    #[arg(long, hide = true, requires = "once", value_parser = read::<HoldSubject>)]
    pub(crate) holder: Option<HoldSubject>,
}

/// More would take years.
const MOST_PAIRS: u64 = 1 << 50;

fn parse_pairs(text: &str) -> Result<u64, Fault> {
    whole(1..=MOST_PAIRS)(text)
}
