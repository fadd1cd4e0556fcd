//! Command-line arguments of `roundelay applications`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use roundelay::{Duration, Rate};
use roundelay_trace::arguments::{parse_rate, read};
use roundelay_trace::{DirectionChoice, Filter, InterfaceName, parse_length, parse_time};

use crate::anonymise::Strangers;
use crate::words::parse_interface;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Capture file, pcap or pcapng, plain or compressed with gzip, zstd or xz; - reads standard
    /// input. Headers suffice: 100 bytes of each packet. Or a file of Tmix's connection vectors
    pub(crate) capture: PathBuf,

    /// Rate of the link in the scenario: 20mbit, 1gbit [default: the highest rate in a tenth of a
    /// second of the capture]
    #[arg(long, allow_hyphen_values = true, value_parser = parse_rate)]
    pub(crate) rate: Option<Rate>,

    /// The link's direction, as for `roundelay compare`: auto, both, in, out, 'from ADDRESS' or 'to
    /// ADDRESS'. Packets of the other direction are read too
    #[arg(long, value_name = "DIRECTION", default_value = "auto",
          value_parser = read::<DirectionChoice>)]
    pub(crate) direction: DirectionChoice,

    /// The link's interface: a name or number of pcapng, or the interface index of a Linux cooked
    /// capture v2
    #[arg(long, value_name = "NAME", value_parser = parse_interface)]
    pub(crate) interface: Option<InterfaceName>,

    /// Only packets that match, as for `roundelay compare`
    #[arg(long, value_name = "EXPR", value_parser = read::<Filter>)]
    pub(crate) filter: Option<Filter>,

    /// Read duplicates too, as for `roundelay compare`
    #[arg(long)]
    pub(crate) keep_duplicates: bool,

    /// For a capture of a mirror port that copied every packet, as for `roundelay compare`
    #[arg(long)]
    pub(crate) mirrored: bool,

    /// Only packets from this time after the first packet on: 90s, 5min, 2h
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_time)]
    pub(crate) from: Option<Duration>,

    /// Only packets before this time after the first packet
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_time)]
    pub(crate) to: Option<Duration>,

    /// Only the part of this length with the most bytes: 60s
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_length)]
    pub(crate) busiest: Option<Duration>,

    /// Round trip of connections whose own the capture does not show: 40ms
    #[arg(long, value_name = "TIME", allow_hyphen_values = true, value_parser = parse_time)]
    pub(crate) round_trip: Option<Duration>,

    /// Congestion control of all senders, which no capture shows
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    pub(crate) control: Control,

    #[command(flatten)]
    pub(crate) strangers: Strangers,

    /// Print Tmix's connection vectors in place of a scenario, for ns-2: older (SEQ and CONC) or
    /// newer (S and C)
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, default_missing_value = "older")]
    pub(crate) tmix: Option<Tmix>,
}

/// A format of connection vectors.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Tmix {
    /// Lines of SEQ and CONC
    Older,
    /// Lines of S and C
    Newer,
}

/// Congestion control of the senders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum Control {
    /// Reno
    Reno,
    /// CUBIC, the default of Linux, Windows and Apple's systems
    #[default]
    Cubic,
    /// BBR, version 1
    Bbr,
    /// BBR, version 3, by its draft
    Bbr3,
}

impl Control {
    /// As in a scenario.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Reno => "reno",
            Self::Cubic => "cubic",
            Self::Bbr => "bbr",
            Self::Bbr3 => "bbr3",
        }
    }
}
