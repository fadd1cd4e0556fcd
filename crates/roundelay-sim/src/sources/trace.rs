//! Source `trace`: a list of packets, recorded by a capture or another simulator.
//!
//! One agent sends the packets for all flows in the list, so packets at the same instant keep their
//! order.

use roundelay::{Duration, Fault, FlowId, Instant, Slack};
use roundelay_files::Maybe;
use roundelay_trace::DirectionChoice;
use roundelay_trace::arguments::Mtu;
use serde::Deserialize;

use crate::agent::{Agent, Context, Outgoing};
use crate::files::{is_capture, text};
use crate::flows::FlowSpec;
pub use crate::sources::captured::{Captured, Entry, FlowBy};
use crate::sources::line::{Line, seconds, whole};
use crate::sources::load::{Amount, Load};
use crate::sources::source::{Conditions, Ending, Facts, FileFault, Listed, Reading, Site, Source};
use crate::sources::stamp::Stamp;
use crate::sources::{Check, LONGEST_PACKET, SourceError, Terms, WrittenFields, draw};

#[cfg(feature = "schema")]
pub(super) const SENDS: &str = "A list of packets from a file.";
pub(super) const EXAMPLES: [&str; 2] = [
    "file = 'packets.txt'",
    "file = 'packets.txt'\nstart = '500ms'",
];

/// A list of packets, or a capture.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Path, relative to the scenario's folder. A list: a line for each packet, in the order of
    /// time, with seconds, bytes and, optionally, seconds of slack, a priority and the second of
    /// the deadline. Or a capture: pcap or pcapng.
    pub file: String,
    /// Header fields that define a flow of a capture.
    #[serde(default)]
    pub flow_by: FlowBy,
    /// Direction of a capture's packets. Left out: auto, the direction with the larger load.
    #[serde(default, deserialize_with = "Maybe::deserialize")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<roundelay_files::InWords<DirectionChoice>>")
    )]
    pub direction: Option<DirectionChoice>,
    /// Bytes of the longest IP packet of a capture. Longer ones, as offloading makes them, are split
    /// as on the wire. Left out: 1500.
    #[serde(default, deserialize_with = "Maybe::deserialize")]
    #[cfg_attr(
        feature = "schema",
        schemars(with = "Option<roundelay_files::InWords<Mtu>>")
    )]
    pub mtu: Option<Mtu>,
    /// The packets of the file.
    #[serde(skip)]
    pub packets: Vec<Entry>,
    /// Packets of a list after the end of the run, left out. Not counted for captures.
    #[serde(skip)]
    pub late: usize,
    /// Whether flows are dealt out to the pairs in turn, as for captures. A list is one flow, sent
    /// by each pair.
    #[serde(skip)]
    pub is_dealt: bool,
    /// Bytes of the longest packet.
    #[serde(skip)]
    longest: u32,
}

impl Config {
    /// The packets for each pair, or for all pairs if there is one list. Flows keep their order and
    /// get new numbers.
    fn deal(&self, pairs: usize) -> Vec<Vec<Entry>> {
        if !self.is_dealt {
            return vec![self.packets.clone()];
        }
        let mut dealt = vec![Vec::new(); pairs.max(1)];
        let of = dealt.len();
        for packet in &self.packets {
            let flow = packet.flow as usize;
            dealt[flow % of].push(Entry {
                flow: (flow / of) as u32,
                ..*packet
            });
        }
        dealt
    }
}

fn longest(list: &[Entry]) -> u32 {
    list.iter().map(|packet| packet.len).max().unwrap_or(0)
}

/// The number of flows in a list.
fn flows(list: &[Entry]) -> u32 {
    list.iter().map(|packet| packet.flow + 1).max().unwrap_or(0)
}

/// The agent that sends a list between the two hosts in `terms`.
fn sender(terms: Terms, list: Vec<Entry>) -> Result<Box<dyn Agent>, SourceError> {
    let between = vec![terms.flow; flows(&list) as usize];
    Ok(Box::new(Trace::new(terms, between, list)?))
}

impl Source for Config {
    fn facts(&self) -> Facts<'_> {
        Facts {
            is_dealt: self.is_dealt,
            ..Facts::datagrams(self.longest, Ending::Never)
        }
    }

    fn load(&self, conditions: &Conditions) -> Load {
        let sent = self
            .packets
            .partition_point(|packet| packet.at < Instant::ZERO + conditions.span);
        let flows = Amount::exact(if self.is_dealt {
            f64::from(flows(&self.packets))
        } else {
            1.0
        });
        Load {
            flows,
            transfers: flows,
            ..Load::of_flow(Amount::exact(sent as f64))
        }
    }

    fn agent(&self, terms: Terms, _: &Site<'_>) -> Result<Box<dyn Agent>, SourceError> {
        sender(terms, self.packets.clone())
    }

    fn agents(
        &self,
        terms: &mut dyn Iterator<Item = Terms>,
        pairs: usize,
        site: &Site<'_>,
    ) -> Result<Vec<Box<dyn Agent>>, SourceError> {
        let lists = self.deal(pairs);
        let mut agents = Vec::new();
        // Each of a pair's `count` sources sends the pair's list.
        for (number, terms) in terms.enumerate() {
            let list = &lists[number / site.count as usize % lists.len()];
            agents.push(sender(terms, list.clone())?);
        }
        Ok(agents)
    }

    /// Reads the packets, but leaves out those after the end of the run.
    fn read_files(&mut self, reading: &Reading<'_>) -> Result<(), FileFault> {
        let of_file = |message| FileFault::Key("file", message);
        let path = reading.files.path(&self.file);
        self.is_dealt = is_capture(&path);
        if self.is_dealt {
            let captured = Captured {
                flow_by: self.flow_by,
                direction: self.direction.clone().unwrap_or_default(),
                mtu: self.mtu.unwrap_or_default(),
            };
            let read = (reading.files.capture)(&path, &captured, reading.duration);
            self.packets = read.map_err(of_file)?;
            self.longest = longest(&self.packets);
            return Ok(());
        }
        let text = text(&path, &self.file, "a list of packets or a capture").map_err(of_file)?;
        for key in ["flow_by", "direction", "mtu"] {
            if (reading.has)(key) {
                let message = format!(
                    "'{}' is a list, which is one flow: {key} is for captures, leave it out",
                    self.file
                );
                return Err(FileFault::Key(key, message.into()));
            }
        }
        self.packets = packets(&self.file, &text)?;
        let all = self.packets.len();
        let end = Instant::ZERO + reading.duration;
        self.packets.retain(|packet| packet.at < end);
        self.late = all - self.packets.len();
        self.longest = longest(&self.packets);
        Ok(())
    }

    fn listed(&self, before: Instant) -> Option<Listed<'_>> {
        let before = self.packets.partition_point(|packet| packet.at < before);
        let all = self.packets.len() + self.late;
        Some(Listed {
            file: &self.file,
            noun: "packet",
            before,
            all,
            memory: size_of_val(&self.packets[..]),
        })
    }

    fn written(&self) -> WrittenFields {
        let mut written = WrittenFields {
            slack: false,
            priority: false,
            deadline: false,
        };
        for packet in &self.packets {
            written.slack |= packet.slack > Duration::ZERO;
            written.priority |= packet.priority.is_some();
            written.deadline |= packet.deadline.is_some();
        }
        written
    }
}

/// The columns of a list of packets.
const PACKET: &str = "seconds and bytes, as in 0.0125 1500, then if there are any seconds of \
    slack, a priority, and the second of its deadline; - for none";

/// Reads a list of packets, one a line.
pub(super) fn packets(file: &str, text: &str) -> Result<Vec<Entry>, Fault> {
    let mut packets = Vec::new();
    let mut before = Instant::ZERO;
    for line in Line::all(file, text) {
        let words: Vec<_> = line.text.split_whitespace().collect();
        let (at, len) = line.head(PACKET, &words)?;
        let len = match u32::try_from(len) {
            Ok(len) if (1..=LONGEST_PACKET).contains(&len) => len,
            _ => {
                let legal = format_args!("1 to {LONGEST_PACKET}");
                return Err(line.error(Fault::range(len, legal).behind("length ")));
            }
        };
        if at < before {
            let legal = format_args!("from the packet before, {before}");
            return Err(line.error(Fault::range(at, legal).behind("time ")));
        }
        before = at;
        packets.push(with_fields(line, Entry::new(at, 0, len), &words[2..])?);
    }
    Ok(packets)
}

/// A packet's slack, priority and deadline, each optional.
fn with_fields(line: Line<'_>, mut packet: Entry, words: &[&str]) -> Result<Entry, Fault> {
    if words.len() > 3 {
        return Err(line.wrong(PACKET));
    }
    let column = |index: usize| words.get(index).copied().filter(|word| *word != "-");
    let time = |word| seconds(word).ok_or_else(|| line.wrong(PACKET));
    let slack = column(0).map(time).transpose()?;
    let deadline = column(2).map(time).transpose()?;
    let priority = column(1).map(|word| whole(word).ok_or_else(|| line.wrong(PACKET)));
    let priority = priority.transpose()?;
    if let Some(deadline) = deadline
        && deadline < packet.at
    {
        let legal = format_args!("from when the packet is sent, {}", packet.at);
        return Err(line.error(Fault::range(deadline, legal).behind("deadline ")));
    }
    if let Some(priority) = priority {
        let Ok(priority) = u32::try_from(priority) else {
            let legal = format_args!("0 to {}", u32::MAX);
            return Err(line.error(Fault::range(priority, legal).behind("priority ")));
        };
        packet.priority = Some(priority);
    }
    if let Some(slack) = slack {
        packet.slack = slack.since(Instant::ZERO);
    }
    packet.deadline = deadline;
    Ok(packet)
}

/// The source.
#[derive(Debug)]
pub struct Trace {
    terms: Terms,
    flows: Vec<FlowSpec>,
    packets: Vec<Entry>,
    next: usize,
    /// How much later than listed packets go, once known.
    later: Option<Duration>,
    /// For each flow: its number in queues, its stamp, and how many bytes are left.
    open: Vec<(FlowId, Stamp, u64)>,
}

impl Trace {
    /// `packets` are in the order of time. All of `flows` are opened at the start and closed after
    /// the last packet is sent. The flow in `terms` is not used. Urgency by size goes by how many
    /// bytes a flow has in the list.
    ///
    /// # Errors
    /// A packet has no flow or an illegal length, or is earlier than the packet before it. The
    /// error has its index in the list.
    pub fn new(
        terms: Terms,
        flows: Vec<FlowSpec>,
        packets: Vec<Entry>,
    ) -> Result<Self, SourceError> {
        let mut earliest = Instant::ZERO;
        for (number, packet) in packets.iter().enumerate() {
            let error = |parameter, value: String, range| {
                let value = format!("{value} of packet {number}");
                Err(SourceError::new("trace", parameter, value, range))
            };
            if Check("trace").packet_len(packet.len).is_err() {
                return error("len", packet.len.to_string(), "1 to 65535".to_string());
            }
            if packet.flow as usize >= flows.len() {
                return error(
                    "flow",
                    packet.flow.to_string(),
                    format!("below the number of flows, {}", flows.len()),
                );
            }
            if packet.at < earliest {
                return error(
                    "at",
                    packet.at.to_string(),
                    format!("from the packet before, {earliest}"),
                );
            }
            earliest = packet.at;
        }
        Ok(Self {
            terms,
            flows,
            packets,
            next: 0,
            later: None,
            open: Vec::new(),
        })
    }

    fn open(&mut self, context: &mut Context<'_>) {
        let mut sizes = vec![(0, 1); self.flows.len()];
        for packet in &self.packets {
            let (bytes, longest) = &mut sizes[packet.flow as usize];
            *bytes += u64::from(packet.len);
            *longest = packet.len.max(*longest);
        }
        for (number, (bytes, longest)) in (0..).zip(sizes) {
            let flow = self.flows[number as usize];
            let urgency = self.terms.urgency.clone();
            let stamp = Stamp::new(urgency, flow.weight(), bytes, longest);
            let id = context.open_listed(flow, number);
            self.open.push((id, stamp, bytes));
        }
    }
}

impl Agent for Trace {
    fn wake(&mut self, context: &mut Context<'_>) {
        let Terms {
            start,
            start_jitter,
            stop,
            ..
        } = self.terms;
        let later = *self.later.get_or_insert_with(|| {
            start.since(Instant::ZERO) + draw::up_to(context.random(), start_jitter)
        });
        if context.now() < Instant::ZERO + later {
            return context.wake_at(Instant::ZERO + later);
        }
        if self.open.is_empty() {
            self.open(context);
        }
        while let Some(&Entry {
            at,
            flow,
            len,
            slack: more,
            priority,
            deadline,
        }) = self.packets.get(self.next)
        {
            let at = at + later;
            if stop.is_some_and(|stop| at >= stop) {
                break;
            }
            if at > context.now() {
                return context.wake_at(at);
            }
            let (flow, stamp, left_bytes) = &mut self.open[flow as usize];
            let mut packet = Outgoing::new(*flow, len);
            stamp.mark(&mut packet, context.now(), *left_bytes);
            let slack = packet.slack.as_picos();
            let slack = slack.saturating_add(Slack::of(more).as_picos());
            packet.slack = Slack::from_picos(slack);
            packet.priority = priority.unwrap_or(packet.priority);
            if let Some(deadline) = deadline {
                packet.deadline = deadline + later;
            }
            context.send(packet);
            *left_bytes -= u64::from(len);
            self.next += 1;
        }
        for (flow, ..) in &self.open {
            context.close(*flow);
        }
        context.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::NodeId;
    use crate::sources::Urgency;
    use crate::sources::bench::{Bench, seconds};

    const HERE: FlowSpec = FlowSpec {
        from: NodeId(0),
        to: NodeId(1),
        config: None,
    };
    const BACK: FlowSpec = FlowSpec {
        from: NodeId(1),
        to: NodeId(0),
        config: None,
    };

    fn terms() -> Terms {
        Terms {
            urgency: Urgency::Remaining(Duration::from_secs(1)),
            ..Bench::default().terms()
        }
    }

    fn list(packets: &[(u64, u32, u32)]) -> Vec<Entry> {
        packets
            .iter()
            .map(|&(at, flow, len)| Entry::new(seconds(at), flow, len))
            .collect()
    }

    fn trace(terms: Terms, packets: Vec<Entry>) -> Result<Trace, SourceError> {
        Trace::new(terms, vec![HERE, BACK], packets)
    }

    #[test]
    fn the_list_is_sent_as_it_is() {
        let log = Bench::default().run(
            1,
            10,
            [trace(
                terms(),
                list(&[(1, 0, 100), (3, 1, 50), (3, 0, 70), (3, 1, 50)]),
            )
            .unwrap()],
        );
        let sent: Vec<_> = log
            .sent
            .iter()
            .map(|packet| (packet.now, packet.flow.0, packet.len, packet.priority))
            .collect();
        assert_eq!(
            sent,
            [
                (seconds(1), 0, 100, 170),
                (seconds(3), 1, 50, 100),
                (seconds(3), 0, 70, 70),
                (seconds(3), 1, 50, 50)
            ]
        );
        assert_eq!(log.closed.len(), 2);
    }

    #[test]
    fn the_list_starts_late_and_is_cut_off() {
        let list = || list(&[(1, 0, 100), (3, 1, 50), (4, 0, 70)]);
        let times = |terms| {
            Bench::default()
                .sent(1, 20, [trace(terms, list()).unwrap()])
                .iter()
                .map(|packet| packet.now)
                .collect::<Vec<_>>()
        };
        let late = Terms {
            start: seconds(5),
            ..terms()
        };
        assert_eq!(times(late.clone()), [6, 8, 9].map(seconds));
        assert_eq!(
            times(Terms {
                stop: Some(seconds(9)),
                ..late.clone()
            }),
            [6, 8].map(seconds),
            "none at the stop"
        );
        let jittered = times(Terms {
            start_jitter: Duration::from_secs(1),
            ..late
        });
        let shift = jittered[0].since(seconds(6));
        assert!(shift > Duration::ZERO && shift < Duration::from_secs(1));
        assert_eq!(jittered, [6, 8, 9].map(|at| seconds(at) + shift));
    }

    /// Deadlines move with the list. A packet's own priority replaces the rule's.
    #[test]
    fn packets_have_fields_of_their_own() {
        let mut list = list(&[(1, 0, 100), (3, 1, 50)]);
        list[1] = Entry {
            slack: Duration::from_secs(2),
            priority: Some(7),
            deadline: Some(seconds(4)),
            ..list[1]
        };
        let sent = Bench::default().sent(
            1,
            20,
            [trace(
                Terms {
                    start: seconds(5),
                    ..terms()
                },
                list,
            )
            .unwrap()],
        );
        let fields: Vec<_> = sent
            .iter()
            .map(|packet| (packet.slack, packet.priority, packet.deadline))
            .collect();
        let slack = |secs| Slack::of(Duration::from_secs(secs));
        assert_eq!(
            fields,
            [(slack(1), 100, Instant::MAX), (slack(1 + 2), 7, seconds(9))]
        );
    }

    #[test]
    fn errors_name_the_packet() {
        let message = |packets| trace(terms(), list(packets)).unwrap_err().to_string();
        assert_eq!(
            message(&[(1, 0, 1), (0, 0, 1)]),
            "trace: at 0s of packet 1: legal range from the packet before, 1s"
        );
        assert_eq!(
            message(&[(1, 2, 1)]),
            "trace: flow 2 of packet 0: legal range below the number of flows, 2"
        );
        assert_eq!(
            message(&[(1, 0, 0)]),
            "trace: len 0 of packet 0: legal range 1 to 65535"
        );
    }

    #[test]
    fn a_hyphen_leaves_a_column_out() {
        let fields = |line: &str| {
            packets("list", line)
                .map(|list| (list[0].slack.as_nanos(), list[0].priority, list[0].deadline))
                .unwrap()
        };
        let none = (0, None, None);
        assert_eq!(
            [fields("1 100"), fields("1 100 -"), fields("1 100 - - -")],
            [none; 3]
        );
        assert_eq!(
            fields("1 100 0.5 3 1.25"),
            (
                500_000_000,
                Some(3),
                Some(Instant::from_nanos(1_250_000_000))
            )
        );
        assert_eq!(fields("1 100 - 4294967295"), (0, Some(u32::MAX), None));
        assert_eq!(
            fields("1 100 0.5 - 1"),
            (500_000_000, None, Some(Instant::from_nanos(1_000_000_000)))
        );
    }

    #[test]
    fn errors_name_the_line_of_the_list() {
        let packets = |text| packets("list", text).unwrap_err().to_string();
        assert_eq!(
            packets("0 100\n\n0 0"),
            "list:3: length 0: legal range 1 to 65535"
        );
        assert_eq!(
            packets("0 100\n0 65536"),
            "list:2: length 65536: legal range 1 to 65535"
        );
        assert_eq!(
            packets("1 100\n0.5 100"),
            "list:2: time 500ms: legal range from the packet before, 1s"
        );
        for line in [
            "1 100 1 1 2 1",
            "1 100 -1",
            "1 100 1ms",
            "1 100 - -1",
            "1 100 - 1.5",
            "1 100 - - 1ms",
        ] {
            assert_eq!(
                packets(line),
                format!("list:1: '{line}': expected {PACKET}")
            );
        }
        assert_eq!(
            packets("0 100\n1 100 - 4294967296"),
            "list:2: priority 4294967296: legal range 0 to 4294967295"
        );
        assert_eq!(
            packets("0 100\n1 100 - - 0.5"),
            "list:2: deadline 500ms: legal range from when the packet is sent, 1s"
        );
    }
}
