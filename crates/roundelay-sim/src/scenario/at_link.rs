//! A probe that tells a witness what happens at one link. When senders react, a comparison takes
//! its figures from this link.

use roundelay::{DropReason, FlowId, Instant, Packet};
use roundelay_trace::reaction::{Arrived, Witness};
use rustc_hash::FxHashMap;

use crate::flows::FlowCounts;
use crate::ids::{Direction, FlowNumber, LinkId};
use crate::packet_state::{Content, PacketState, Tag};
use crate::probe::{Opening, Probe, Report};

/// Watches one link.
#[derive(Debug)]
pub struct AtLink<'a> {
    link: LinkId,
    /// Which flow of the witness each entry in each source's list is.
    numbers: &'a [Vec<FlowId>],
    /// Which flow of the witness each open flow is.
    flows: FxHashMap<FlowNumber, FlowId>,
    /// Hears what happens.
    pub witness: Witness,
}

impl<'a> AtLink<'a> {
    /// A probe at this link. `numbers` says which flow of the witness each entry in each source's
    /// list is. Packets from other sources are not told.
    pub fn new(link: LinkId, numbers: &'a [Vec<FlowId>], witness: Witness) -> Self {
        Self {
            link,
            numbers,
            flows: FxHashMap::default(),
            witness,
        }
    }

    /// What the witness hears of a packet that arrives at a link. None if this is another link, or
    /// the packet is from another source.
    fn told(&self, link: LinkId, packet: &Packet<Tag>, state: &PacketState) -> Option<Arrived> {
        if link != self.link {
            return None;
        }
        let &flow = self.flows.get(&state.flow)?;
        Some(Arrived {
            number: state.number,
            flow,
            len: packet.len,
            ecn: packet.ecn,
            is_bare: is_bare(state),
            has_position: state.direction == Direction::Forward,
        })
    }
}

/// Whether a packet is a segment that has no data and is no SYN.
fn is_bare(state: &PacketState) -> bool {
    match &state.content {
        Content::Segment(segment) => segment.len == 0 && !segment.is_syn(),
        Content::Bytes | Content::Number(_) => false,
    }
}

impl Probe for AtLink<'_> {
    fn opened(&mut self, _: Instant, flow: FlowNumber, opening: Opening) {
        let list = self.numbers.get(opening.group as usize);
        let known = match (opening.reply_to, opening.listed, list) {
            (Some(other), _, _) => self.flows.get(&other),
            (None, Some(entry), Some(list)) => list.get(entry as usize),
            (None, _, _) => None,
        };
        if let Some(&number) = known {
            self.flows.insert(flow, number);
        }
    }

    fn arrived(&mut self, now: Instant, link: LinkId, packet: &Packet<Tag>, state: &PacketState) {
        if let Some(arrived) = self.told(link, packet, state) {
            self.witness.arrive(now, arrived);
        }
    }

    fn transmitted(
        &mut self,
        link: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        span: [Instant; 2],
    ) {
        if link == self.link {
            self.witness.send(state.number, packet, span);
        }
    }

    fn dropped(
        &mut self,
        now: Instant,
        link: LinkId,
        packet: &Packet<Tag>,
        state: &PacketState,
        reason: DropReason,
    ) {
        if link == self.link {
            self.witness.drop(state.number, packet, now, reason);
        }
    }

    fn reported(&mut self, _: Instant, flow: FlowNumber, report: &Report) {
        if !report.is_transfer {
            return;
        }
        if let Some(flow) = self.flows.get(&flow) {
            if report.is_complete {
                self.witness.transfer(*flow, Some(report.completion_time()));
            } else {
                self.witness.transfer(*flow, None);
            }
        }
    }

    fn closed(&mut self, _: Instant, flow: FlowNumber, _: &FlowCounts) {
        self.flows.remove(&flow);
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::path::Path;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use roundelay::Rate;
    use roundelay_trace::{PacketFate, PacketRecord, PacketSink};

    use super::*;
    use crate::scenario::Scenario;

    const SCENARIO: &str = r#"
duration = "20s"
[queue]
core = "fifo limit 1000"
[[node]]
name = "left"
host = true
[[node]]
name = "entry"
[[node]]
name = "right"
host = true
[[link]]
from = "left"
to = "entry"
rate = "1gbit"
[[link]]
from = "entry"
to = "right"
rate = "1gbit"
[[port]]
from = "entry"
to = "right"
rate = "10mbit"
[[source]]
kind = "connections"
from = "right"
to = "left"
start_jitter = "10ms"
connections = [
  { start = "5s", round_trip = "20ms", messages = ["> 300b", "< 70000b"] },
  { start = "1s", round_trip = "20ms", messages = ["> 300b", "< 20000b"] },
]
[[source]]
kind = "recorded"
from = "left"
to = "right"
flows = ["1 500\n2 500", "3 100"]
"#;

    /// The scenario with its slow link and this link's rate.
    fn behind_the_port() -> (Scenario, LinkId, Rate) {
        let scenario = Scenario::from_toml("t.toml", SCENARIO, Path::new("")).unwrap();
        let links = (0..).map(LinkId).zip(scenario.topology.network.links());
        let mut slow = links.filter(|(_, link)| link.rate.bits_per_second() == 10_000_000);
        let (link, config) = slow.next().expect("the port");
        let rate = config.rate;
        (scenario, link, rate)
    }

    /// Each entry in a list is told under its own number, whichever opens first. A connection's
    /// data and the acknowledgements of its requests are one flow.
    #[test]
    fn entries_are_told_apart() {
        let (scenario, link, rate) = behind_the_port();
        let numbers = [vec![FlowId(0), FlowId(1)], vec![FlowId(2), FlowId(3)]];
        let witness = Witness::new(rate, 4);
        let mut probe = AtLink::new(link, &numbers, witness);
        scenario.run_with(1, &mut probe, |_| {}).unwrap();
        let sent = [0, 1, 2, 3].map(|flow| probe.witness.sent_bytes(FlowId(flow)));
        let data =
            |bytes: u64, payload: u64| (payload..payload + payload / 10 + 400).contains(&bytes);
        assert!(data(sent[0], 70_000) && data(sent[1], 20_000), "{sent:?}");
        assert_eq!(sent[2..], [1000, 100]);
    }

    /// Keeps what a witness would hear of arrivals.
    struct Arrivals<'a> {
        at_link: AtLink<'a>,
        told: Vec<Arrived>,
    }

    impl Probe for Arrivals<'_> {
        fn opened(&mut self, now: Instant, flow: FlowNumber, opening: Opening) {
            self.at_link.opened(now, flow, opening);
        }

        fn arrived(&mut self, _: Instant, link: LinkId, packet: &Packet<Tag>, state: &PacketState) {
            self.told.extend(self.at_link.told(link, packet, state));
        }
    }

    /// Data has a position in its flow's order. Acknowledgements of what the other end sent are
    /// told under the same number, are bare and have no position, because they overtake the data.
    #[test]
    fn acknowledgements_are_bare_and_have_no_position() {
        let (scenario, link, rate) = behind_the_port();
        let numbers = [vec![FlowId(0), FlowId(1)], vec![FlowId(2), FlowId(3)]];
        let mut probe = Arrivals {
            at_link: AtLink::new(link, &numbers, Witness::new(rate, 4)),
            told: Vec::new(),
        };
        scenario.run_with(1, &mut probe, |_| {}).unwrap();
        // The answer to a SYN, and the acknowledgement of a request.
        let (of_connection, of_datagrams) = (vec![false, true], Vec::new());
        for (flow, payload, expected) in [
            (FlowId(0), 70_000, &of_connection),
            (FlowId(1), 20_000, &of_connection),
            (FlowId(2), 1000, &of_datagrams),
            (FlowId(3), 100, &of_datagrams),
        ] {
            let (mut bytes, mut others) = (0, Vec::new());
            for told in probe.told.iter().filter(|told| told.flow == flow) {
                if told.has_position {
                    assert!(!told.is_bare, "{told:?}");
                    bytes += told.len;
                } else {
                    others.push(told.is_bare);
                }
            }
            assert!(
                (payload..payload + payload / 10).contains(&bytes),
                "{bytes}"
            );
            assert_eq!(others, *expected, "{flow:?}: without a position");
        }
    }

    /// Counts dropped packets.
    struct Drops(Arc<AtomicU64>);

    impl PacketSink for Drops {
        fn record(&mut self, packet: &PacketRecord) -> Result<(), Box<dyn Error + Send + Sync>> {
            if let PacketFate::Dropped(_) = packet.fate {
                self.0.fetch_add(1, Ordering::Relaxed);
            }
            Ok(())
        }

        fn finish(self: Box<Self>) -> Result<(), Box<dyn Error + Send + Sync>> {
            Ok(())
        }
    }

    /// The witness hears of each packet that the link's queue drops, and of no other link's.
    #[test]
    fn drops_are_those_of_the_link() {
        let text = SCENARIO.replace("fifo limit 1000", "fifo limit 5");
        let scenario = Scenario::from_toml("t.toml", &text, Path::new("")).unwrap();
        let numbers = [vec![FlowId(0), FlowId(1)], vec![FlowId(2), FlowId(3)]];
        let results = scenario.run(1, |_| {}).unwrap();
        let mut all = 0;
        for (number, config) in scenario.topology.network.links().iter().enumerate() {
            let drops = Arc::new(AtomicU64::new(0));
            let sink = Box::new(Drops(Arc::clone(&drops)));
            let witness = Witness::new(config.rate, 4).with_sink(Some(sink));
            let mut probe = AtLink::new(LinkId(number as u32), &numbers, witness);
            scenario.run_with(1, &mut probe, |_| {}).unwrap();
            let expected: u64 = results.links[number].dropped.iter().sum();
            assert_eq!(drops.load(Ordering::Relaxed), expected, "link {number}");
            all += expected;
        }
        assert!(all > 0, "no link drops a packet");
    }
}
