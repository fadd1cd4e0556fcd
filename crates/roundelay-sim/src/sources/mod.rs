//! Traffic sources: agents for a [`Simulation`](crate::Simulation), one file each.
//!
//! A source's file has its parameters (`Config`, as in scenarios), what is known about it and how
//! much it sends for estimates (an implementation of the trait in `source.rs`), and its agent,
//! which `new` makes. [`Terms`] has the settings that all sources share. [`Urgency`], or a
//! program's own [`SlackRule`], sets how urgent packets are. Random numbers come from the agent's
//! own stream. In steady state agents allocate no memory, but new flows of [`arrivals`] and
//! [`workload`] do.

#[cfg(test)]
pub(crate) mod bench;
pub(crate) mod captured;
mod connection;
pub(crate) mod draw;
mod exchange;
mod flow_entry;
mod line;
pub(crate) mod load;
mod pace;
mod protocol;
mod source_flow;
#[macro_use]
mod registry;
mod sizes;
pub(crate) mod source;
mod stamp;
pub(crate) mod urgency;

pub use draw::Span;
pub use protocol::{Control, Flavour, Offload, Preset, Protocol, SlowStart};
pub use sizes::Sizes;
pub use source_flow::Terms;
pub use stamp::Stamp;
pub use urgency::{CustomRule, Facts, HeaderFields, SlackRule, Stamped, Urgency, WrittenFields};

use std::fmt;
use std::ops::RangeInclusive;

use roundelay::{Fault, Rate};

// A new kind is a file and a line here. The reader of scenarios, the JSON Schema, the documented
// table, estimates and the tests of all kinds follow. `make sources` writes the generated files.
sources! {
    Cbr = cbr,
    Poisson = poisson,
    OnOff = on_off,
    Voip = voip,
    Burst = burst,
    Tcp = tcp,
    RequestResponse = request_response,
    Connections = connections,
    Video = video,
    WebPage = web_page,
    Arrivals = arrivals,
    Trace = trace,
    Recorded = recorded,
    Workload = workload,
}

impl SourceSpec {
    /// The TCP parameters that both ends have, if the source uses TCP.
    pub fn protocol(&self) -> Option<&Protocol> {
        self.source().facts().tcp
    }
}

/// A source's parameter is out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{kind}: {parameter} {value}: legal range {range}")]
pub struct SourceError {
    /// The kind of source.
    pub kind: &'static str,
    /// The parameter.
    pub parameter: &'static str,
    /// The value.
    pub value: String,
    /// The legal range.
    pub range: String,
    /// If the parameter belongs to a list's entry: which list, and the entry's index.
    pub entry: Option<(&'static str, usize)>,
}

impl SourceError {
    pub(crate) fn new(
        kind: &'static str,
        parameter: &'static str,
        value: impl fmt::Display,
        range: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            parameter,
            value: value.to_string(),
            range: range.into(),
            entry: None,
        }
    }

    /// The same error, for a parameter of an entry in a list.
    pub(crate) fn of_entry(self, list: &'static str, index: usize) -> Self {
        let entry = Some((list, index));
        Self { entry, ..self }
    }

    /// Where the parameter stands in the source's table: keys and indices with dots between them.
    pub(crate) fn path(&self) -> String {
        match self.entry {
            Some((list, index)) => format!("{list}.{index}.{}", self.parameter),
            None => self.parameter.to_owned(),
        }
    }

    /// What is wrong, for a reader who knows which kind of source it is.
    pub(crate) fn without_kind(&self) -> Fault {
        Fault::range(&self.value, &self.range).behind(format_args!("{} ", self.parameter))
    }
}

impl From<SourceError> for Fault {
    fn from(error: SourceError) -> Self {
        let owner = format_args!("{}: ", error.kind);
        error.without_kind().behind(owner)
    }
}

impl From<roundelay_tcp::ConfigError> for SourceError {
    fn from(error: roundelay_tcp::ConfigError) -> Self {
        Self::new("tcp", error.parameter, error.value, error.range)
    }
}

/// The most packets that a source with an end may have.
pub const MOST_PACKETS: u64 = 1_000_000_000_000;

/// Checks the parameters of one kind of source.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Check(pub(crate) &'static str);

impl Check {
    /// # Errors
    /// `value` is not in `range`. NaN never is.
    pub(crate) fn range<V: PartialOrd + fmt::Display>(
        self,
        parameter: &'static str,
        value: V,
        range: RangeInclusive<V>,
    ) -> Result<(), SourceError> {
        if range.contains(&value) {
            return Ok(());
        }
        Err(SourceError::new(
            self.0,
            parameter,
            value,
            format!("{} to {}", range.start(), range.end()),
        ))
    }

    /// Checks a packet's length.
    pub(crate) fn packet_len(self, len: u32) -> Result<(), SourceError> {
        self.range("packet_len", len, 1..=LONGEST_PACKET)
    }

    /// Checks the number of packets.
    pub(crate) fn packets(self, packets: Option<u64>) -> Result<(), SourceError> {
        packets.map_or(Ok(()), |packets| {
            self.range("packets", packets, 1..=MOST_PACKETS)
        })
    }

    pub(crate) fn rate(self, rate: Rate) -> Result<(), SourceError> {
        self.range(
            "rate",
            rate,
            Rate::from_bits_per_second(1).unwrap_or(rate)
                ..=Rate::from_bits_per_second(FASTEST).unwrap_or(rate),
        )
    }
}

/// The longest packet that sources accept as a parameter, in bytes: IPv4's.
pub const LONGEST_PACKET: u32 = 65_535;
/// The largest flow, in bytes.
pub(crate) const LARGEST_FLOW: u64 = 1 << 40;

/// Bytes in a packet, if the scenario does not say.
const fn packet_len() -> u32 {
    1000
}

/// The highest rate that a source may have, in bits per second.
const FASTEST: u64 = 1_000_000_000_000_000;

#[cfg(test)]
mod tests {
    use super::bench::{Bench, Sent};
    use super::{cbr, on_off, poisson};
    use crate::agent::Agent;
    use crate::simulation::Simulation;
    use roundelay::Seed;
    use roundelay::{Duration, Instant};

    /// The packets of 100 bytes from one source, beside `others` sources with other lengths.
    fn sent(others: usize) -> Vec<(Instant, u32)> {
        let bench = Bench::default();
        let terms = bench.terms();
        let rate = "1mbit".parse().unwrap();
        let on_off = on_off::Config::new(rate, 100, [Duration::from_millis(10); 2]);
        let mut agents: Vec<Box<dyn Agent>> =
            vec![Box::new(on_off::OnOff::new(terms.clone(), on_off).unwrap())];
        for _ in 0..others {
            let jitter = super::Terms {
                start_jitter: Duration::from_secs(1),
                ..terms.clone()
            };
            agents.push(Box::new(
                cbr::Cbr::new(jitter, cbr::Config::new(rate, 200)).unwrap(),
            ));
            let lengths = poisson::Lengths::Fixed(300);
            agents.push(Box::new(
                poisson::Poisson::new(terms.clone(), rate, lengths, None).unwrap(),
            ));
        }
        let mut simulation =
            Simulation::with_probe(bench.0, Seed::new(9), super::bench::Log::default()).unwrap();
        for agent in agents {
            simulation.spawn(agent, Instant::ZERO);
        }
        simulation.run(super::bench::seconds(20)).unwrap();
        let log = std::mem::take(simulation.probe_mut());
        log.sent
            .iter()
            .filter(|packet| packet.len == 100)
            .map(|&Sent { now, len, .. }| (now, len))
            .collect()
    }

    #[test]
    fn a_source_does_not_change_what_others_send() {
        let alone = sent(0);
        assert!(alone.len() > 1000);
        assert_eq!(alone, sent(5));
    }
}
