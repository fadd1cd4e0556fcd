//! Command-line arguments of `roundelay applications`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use roundelay::{Duration, Ecn, Fault, Rate};
use roundelay_trace::arguments::{parse_rate, parse_spec, read};
use roundelay_trace::connections::{Connection, Seen, Sign};
use roundelay_trace::{
    DirectionChoice, Filter, Headers, InterfaceName, Ports, parse_length, parse_time,
};

use crate::anonymise::Strangers;
use crate::words::parse_interface;

#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Capture file, pcap or pcapng, plain or compressed with gzip, zstd or xz; - reads standard
    /// input. Headers suffice: 100 bytes of each packet
    pub(crate) capture: PathBuf,

    /// Rate of the link in the scenario: 20mbit, 1gbit [default: that of --captured-rate]
    #[arg(long, allow_hyphen_values = true, value_parser = parse_rate)]
    pub(crate) rate: Option<Rate>,

    /// Rate of the link that was captured, by which we judge whether senders wanted more [default:
    /// the highest at which bytes left it in a second]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = parse_rate)]
    pub(crate) captured_rate: Option<Rate>,

    #[command(flatten)]
    pub(crate) up: Up,

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

    /// Congestion control of senders: reno, cubic, bbr or bbr3 for all, or for those that match, as
    /// in 'src port 8443 = bbr'. You can repeat it, and the first rule that matches counts
    /// [default: bbr where a transfer, or others of its host, show it, else cubic]
    #[arg(long, value_name = "NAME", value_parser = parse_control)]
    pub(crate) control: Vec<ControlRule>,

    #[command(flatten)]
    pub(crate) strangers: Strangers,
}

/// The other direction of the link.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Up {
    /// Rate of the link's other direction, in which uploads and acknowledgements go: 10mbit
    /// [default: as captured if it held uploads back, else no limit]
    #[arg(long, value_name = "RATE", allow_hyphen_values = true, value_parser = parse_rate)]
    pub(crate) up_rate: Option<Rate>,

    /// Discipline of the link's other direction: 'fq_codel', 'fifo limit 100' [default: a fifo of
    /// the longest wait that the capture shows, if uploads lost something there]
    #[arg(long, value_name = "DISCIPLINE", value_parser = parse_queue)]
    pub(crate) up_queue: Option<String>,
}

/// The words of a discipline, if they are right.
fn parse_queue(text: &str) -> Result<String, Fault> {
    parse_spec(text).map(|_| text.to_owned())
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

/// IANA's number of TCP.
const TCP: u8 = 6;

/// The congestion control of all senders, or of those whose data matches a filter.
#[derive(Debug, Clone)]
pub(crate) struct ControlRule {
    filter: Option<Filter>,
    control: Control,
}

pub(crate) fn parse_control(text: &str) -> Result<ControlRule, Fault> {
    let (filter, name) = match text.rsplit_once('=') {
        Some((filter, name)) => (Some(read::<Filter>(filter.trim())?), name.trim()),
        None => (None, text.trim()),
    };
    let control = Control::from_str(name, true).map_err(|_| {
        let legal = "reno, cubic, bbr or bbr3, alone or behind a rule, as in 'src port 8443 = bbr'";
        Fault::wanted(legal).with_given(name)
    })?;
    Ok(ControlRule { filter, control })
}

/// Who has which congestion control.
#[derive(Debug, Clone, Default)]
pub(crate) struct Controls {
    /// Of all that no rule names.
    pub(crate) usual: Control,
    rules: Vec<ControlRule>,
    /// Whether the control of all is stated, so that what the capture shows does not count.
    pub(crate) is_stated: bool,
}

impl Controls {
    /// The same, but senders of which neither a rule nor a transfer tells it have this one. Of all,
    /// if that of all was stated.
    pub(crate) fn otherwise(&self, control: Control) -> Self {
        Self {
            usual: control,
            ..self.clone()
        }
    }

    /// Whether nothing tells a connection's control: neither the caller nor a transfer.
    pub(crate) fn assumes(&self, connection: &Connection) -> bool {
        let has_rule = self.rule_of(connection).is_some();
        !self.is_stated && !has_rule && connection.control.is_none()
    }

    pub(crate) fn of(rules: &[ControlRule]) -> Self {
        let usual = rules.iter().rfind(|rule| rule.filter.is_none());
        Self {
            usual: usual.map_or(Control::default(), |rule| rule.control),
            is_stated: usual.is_some(),
            rules: rules.to_vec(),
        }
    }

    /// The control of these connections in a word.
    pub(crate) fn name(&self, connections: &[Connection]) -> &'static str {
        let mut name = None;
        for connection in connections {
            let own = self.of_connection(connection).name();
            if name.is_some_and(|known| known != own) {
                return "mixed";
            }
            name = Some(own);
        }
        name.unwrap_or(self.usual.name())
    }

    /// The rule for the packets of a connection's sender.
    fn rule_of(&self, connection: &Connection) -> Option<&ControlRule> {
        let from = connection.sender();
        let to = if from == connection.client {
            connection.server
        } else {
            connection.client
        };
        let headers = Headers {
            source: from.ip(),
            destination: to.ip(),
            protocol: TCP,
            source_port: from.port(),
            destination_port: to.port(),
            ports: Ports::Present,
            dscp: 0,
            ecn: Ecn::NotCapable,
        };
        self.rules.iter().find(|rule| {
            let filter = rule.filter.as_ref();
            filter.is_some_and(|filter| filter.matches(Some(&headers)))
        })
    }

    /// The control of a connection's sender.
    pub(crate) fn of_connection(&self, connection: &Connection) -> Control {
        match (self.rule_of(connection), connection.control) {
            (Some(rule), _) => rule.control,
            (None, Some(Sign { seen, .. })) if !self.is_stated => match seen {
                Seen::Bbr => Control::Bbr,
                Seen::HeedsLosses => Control::Cubic,
            },
            (None, _) => self.usual,
        }
    }
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
