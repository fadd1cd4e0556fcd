//! Source `workload`: a list of flows with start, hosts and size, as the UPS authors' scripts or a
//! log of flows have it.

use std::collections::BTreeMap;

use roundelay::{Duration, Fault, Instant};
use roundelay_files::InWords;
use serde::Deserialize;

use crate::agent::{Agent, Context};
use crate::flows::FlowSpec;
use crate::ids::NodeId;
use crate::sources::arrivals::{Carrier, Mould, Transport, full_len};
pub use crate::sources::flow_entry::Entry;
use crate::sources::line::Line;
use crate::sources::load::{Amount, Load};
use crate::sources::protocol::Protocol;
use crate::sources::source::{
    Between, Conditions, Facts, FileFault, Listed, Reading, Site, Source,
};
use crate::sources::source_flow::Terms;
use crate::sources::{Check, LARGEST_FLOW, SourceError, draw};

#[cfg(feature = "schema")]
pub(super) const SENDS: &str = "A list of flows from a file; `to` is left out.";
pub(super) const EXAMPLES: [&str; 2] = [
    "file = 'flows.txt'\ntransport = 'burst'",
    "file = 'flows.txt'\ntransport = 'tcp'",
];

/// A list of flows.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Path, relative to the scenario's folder. A line for each flow, in the UPS authors' format:
    /// start in seconds, bytes, source host, destination host.
    pub file: String,
    /// Transport of the flows.
    #[serde(default)]
    pub transport: Transport,
    /// Bytes of a packet of a burst: 1 to 65,535.
    #[serde(default = "full_len", with = "InWords::<u32>")]
    pub packet_len: u32,
    /// TCP parameters of both ends, for flows over TCP.
    #[serde(default)]
    pub tcp: Protocol,
    /// The flows of the file.
    #[serde(skip)]
    pub flows: Vec<Entry>,
    /// Flows of the list after the end of the run, left out.
    #[serde(skip)]
    pub late: usize,
}

impl Config {
    fn before(&self, end: Instant) -> &[Entry] {
        &self.flows[..self.flows.partition_point(|flow| flow.at < end)]
    }
}

impl Source for Config {
    fn facts(&self) -> Facts<'_> {
        self.transport
            .facts(self.packet_len, &self.tcp, Between::Flows(&self.flows))
    }

    fn load(&self, conditions: &Conditions) -> Load {
        let facts = self.facts();
        let flows = self.before(Instant::ZERO + conditions.span);
        let beginning = if facts.tcp.is_some() { 1.0 } else { 0.0 };
        let packets: f64 = flows
            .iter()
            .map(|flow| facts.segments(flow.size_bytes) + beginning)
            .sum();
        let flows = Amount::exact(flows.len() as f64);
        Load {
            flows,
            transfers: flows,
            ..Load::of_flow(Amount::exact(packets))
        }
    }

    fn agent(&self, terms: Terms, _: &Site<'_>) -> Result<Box<dyn Agent>, SourceError> {
        Ok(Box::new(Workload::new(
            terms,
            self.flows.clone(),
            self.transport.carrier(self.packet_len, &self.tcp),
        )?))
    }

    fn unused(&self) -> Vec<(&'static str, &'static str)> {
        self.transport.unused().to_vec()
    }

    /// Reads the flows, but leaves out those after the end of the run.
    fn read_files(&mut self, reading: &Reading<'_>) -> Result<(), FileFault> {
        let text = reading
            .files
            .text(&self.file, "a list of flows")
            .map_err(|message| FileFault::Key("file", message))?;
        let mut flows = flows(&self.file, &text, &reading.hosts)?;
        let all = flows.len();
        let end = Instant::ZERO + reading.duration;
        flows.retain(|flow| flow.at < end);
        flows.sort_by_key(|flow| flow.at);
        self.late = all - flows.len();
        self.flows = flows;
        Ok(())
    }

    fn listed(&self, before: Instant) -> Option<Listed<'_>> {
        let before = self.before(before).len();
        let all = self.flows.len() + self.late;
        Some(Listed {
            file: &self.file,
            noun: "flow",
            before,
            all,
            memory: size_of_val(&self.flows[..]),
        })
    }
}

/// Reads a list of flows, one a line: start, bytes, source, destination.
fn flows(file: &str, text: &str, hosts: &BTreeMap<String, NodeId>) -> Result<Vec<Entry>, Fault> {
    const EXPECTED: &str = "seconds, bytes and two hosts, as in 0.0125 14600 host1 host2";
    let mut flows = Vec::new();
    for line in Line::all(file, text) {
        let words: Vec<_> = line.text.split_whitespace().collect();
        let (at, size_bytes) = line.head(EXPECTED, &words)?;
        let [_, _, from, to] = words[..] else {
            return Err(line.wrong(EXPECTED));
        };
        if !(1..=LARGEST_FLOW).contains(&size_bytes) {
            let legal = format_args!("1 to {LARGEST_FLOW}");
            return Err(line.error(Fault::range(size_bytes, legal).behind("size ")));
        }
        let host = |name: &str| {
            let host = hosts.get(name).copied();
            host.ok_or_else(|| {
                let fault = Fault::new(format!("'{name}' is no host of 'from'"));
                line.error(fault.with_given(name))
            })
        };
        let from = host(from)?;
        let to = host(to)?;
        if from == to {
            return Err(line.error(format!("'{}' sends to itself", words[2])));
        }
        flows.push(Entry {
            at,
            from,
            to,
            size_bytes,
        });
    }
    Ok(flows)
}

/// The source.
#[derive(Debug)]
pub struct Workload {
    terms: Terms,
    flows: Vec<Entry>,
    mould: Mould,
    next: usize,
    /// How much later than listed flows start, once known.
    later: Option<Duration>,
}

impl Workload {
    /// `flows` are in the order of time. All have these `terms`, but other ends. Open flows go on
    /// after the stop.
    ///
    /// # Errors
    /// A flow has an illegal size, or is earlier than the flow before it. The error has its index
    /// in the list.
    pub fn new(terms: Terms, flows: Vec<Entry>, carrier: Carrier) -> Result<Self, SourceError> {
        let check = Check("workload");
        let mut earliest = Instant::ZERO;
        for (number, flow) in flows.iter().enumerate() {
            let error = |parameter, value: String, range| {
                let value = format!("{value} of flow {number}");
                Err(SourceError::new("workload", parameter, value, range))
            };
            if !(1..=LARGEST_FLOW).contains(&flow.size_bytes) {
                return error(
                    "size_bytes",
                    flow.size_bytes.to_string(),
                    format!("1 to {LARGEST_FLOW}"),
                );
            }
            if flow.at < earliest {
                return error(
                    "at",
                    flow.at.to_string(),
                    format!("from the flow before, {earliest}"),
                );
            }
            earliest = flow.at;
        }
        terms.check(check)?;
        let mould = Mould::new(carrier, terms.clone(), check)?;
        Ok(Self {
            terms,
            flows,
            mould,
            next: 0,
            later: None,
        })
    }
}

impl Agent for Workload {
    fn wake(&mut self, context: &mut Context<'_>) {
        let Terms {
            start,
            start_jitter,
            stop,
            flow: FlowSpec { config, .. },
            ..
        } = self.terms;
        let later = *self.later.get_or_insert_with(|| {
            start.since(Instant::ZERO) + draw::up_to(context.random(), start_jitter)
        });
        while let Some(&Entry {
            at,
            from,
            to,
            size_bytes,
        }) = self.flows.get(self.next)
        {
            let at = at + later;
            if stop.is_some_and(|stop| at >= stop) {
                break;
            }
            if at > context.now() {
                return context.wake_at(at);
            }
            self.mould.begin(
                FlowSpec { from, to, config },
                size_bytes,
                &self.terms.urgency,
                context,
            );
            self.next += 1;
        }
        context.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::bench::{Bench, seconds};

    const HERE: [NodeId; 2] = [NodeId(0), NodeId(1)];

    const BURST: Carrier = Carrier::Burst { packet_len: 1000 };

    fn workload(
        terms: Terms,
        flows: &[(u64, [NodeId; 2], u64)],
        carrier: Carrier,
    ) -> Result<Workload, SourceError> {
        let flows = flows
            .iter()
            .map(|&(at, [from, to], size_bytes)| Entry {
                at: seconds(at),
                from,
                to,
                size_bytes,
            })
            .collect();
        Workload::new(terms, flows, carrier)
    }

    fn terms() -> Terms {
        Bench::default().terms()
    }

    #[test]
    fn flows_begin_when_the_list_says() {
        let back = [NodeId(1), NodeId(0)];
        let list = [(1, HERE, 2500), (3, back, 700), (3, HERE, 10), (8, HERE, 1)];
        let terms = Terms {
            start: seconds(2),
            stop: Some(seconds(10)),
            ..terms()
        };
        let log = Bench::default().run(1, 20, [workload(terms, &list, BURST).unwrap()]);
        let sent: Vec<_> = log
            .sent
            .iter()
            .map(|packet| (packet.now, packet.flow.0, packet.len))
            .collect();
        let [three, five] = [3, 5].map(seconds);
        assert_eq!(
            sent,
            [
                (three, 0, 1000),
                (three, 0, 1000),
                (three, 0, 500),
                (five, 1, 700),
                (five, 2, 10)
            ],
            "the last one comes too late"
        );
        assert_eq!(log.closed.len(), 3);
    }

    #[test]
    fn flows_go_over_tcp() {
        let carrier = Carrier::Tcp(roundelay_tcp::Config::ns2_newreno_sack1());
        let bench = Bench::over(2, "10mbit", Duration::from_millis(1));
        let log = bench.run(
            1,
            100,
            [workload(terms(), &[(1, HERE, 50_000), (2, HERE, 1)], carrier).unwrap()],
        );
        let bytes: Vec<_> = log
            .reports
            .iter()
            .map(|(_, _, report)| (report.bytes, report.start))
            .collect();
        assert_eq!(bytes, [(50_000, seconds(1)), (1, seconds(2))]);
    }

    #[test]
    fn errors_name_the_flow() {
        let message = |flows| workload(terms(), flows, BURST).unwrap_err().to_string();
        assert_eq!(
            message(&[(1, HERE, 1), (0, HERE, 1)]),
            "workload: at 0s of flow 1: legal range from the flow before, 1s"
        );
        assert_eq!(
            message(&[(1, HERE, 0)]),
            "workload: size_bytes 0 of flow 0: legal range 1 to 1099511627776"
        );
    }

    #[test]
    fn errors_name_the_line_of_the_list() {
        let hosts = [("a".to_owned(), NodeId(0)), ("b".to_owned(), NodeId(1))].into();
        let refused = |text: &str| flows("list", text, &hosts).unwrap_err().to_string();
        assert_eq!(
            refused("2 100 a b\n1 0 a b"),
            "list:2: size 0: legal range 1 to 1099511627776"
        );
        assert_eq!(
            refused("2 100 a b\n1 1099511627777 a b"),
            "list:2: size 1099511627777: legal range 1 to 1099511627776"
        );
        assert_eq!(
            refused("2 100 a b c"),
            "list:1: '2 100 a b c': expected seconds, bytes and two hosts, as in 0.0125 14600 host1 host2"
        );
        assert_eq!(refused("2 100 a a"), "list:1: 'a' sends to itself");
        assert_eq!(refused("2 100 a c"), "list:1: 'c' is no host of 'from'");
        assert_eq!(
            flows("list", "\u{feff}0 100 a b\n", &hosts).unwrap().len(),
            1
        );
    }
}
