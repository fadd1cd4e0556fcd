//! Event log: a [`Probe`] that writes what happens in a simulation in the format of
//! [`roundelay_verify::log`].

use std::io::{self, BufWriter, Write};

use roundelay::schedulers::AnyDiscipline;
use roundelay::{DropReason, Duration, Framing, Instant, Packet, QueueSpec};
use roundelay_trace::LinkTrace;
use roundelay_verify::log::{
    Event, FORMAT, Header, Limits, Line, LinkRecord, Order, ShaperRecord, TraceRecord,
};
use serde::Serialize;

use crate::flows::FlowCounts;
use crate::ids::{FlowNumber, LinkId, NodeId};
use crate::network::{LinkConfig, Network};
use crate::packet_state::{PacketState, Tag};
use crate::probe::{Opening, Probe};

/// A [`Probe`] that writes the log.
#[derive(Debug)]
pub struct Log<W: Write> {
    output: BufWriter<W>,
    preempts: Vec<bool>,
    /// Flows that are open.
    open: u64,
    failure: Option<io::Error>,
}

impl<W: Write> Log<W> {
    /// Starts a log of a network's events, and writes its header line.
    pub fn new(output: W, network: &Network) -> Self {
        let header = header(network);
        let preempts = header.links.iter().map(|link| link.preempts).collect();
        let mut log = Self {
            output: BufWriter::new(output),
            preempts,
            open: 0,
            failure: None,
        };
        log.write(&header);
        log
    }

    /// Writes the last line and flushes the output.
    ///
    /// # Errors
    /// A write failed, now or before.
    pub fn finish(&mut self, now: Instant) -> io::Result<()> {
        self.event(now, Event::End { open: self.open });
        self.output.flush()?;
        self.failure.take().map_or(Ok(()), Err)
    }

    fn write(&mut self, line: &impl Serialize) {
        if self.failure.is_none() {
            let written = serde_json::to_writer(&mut self.output, line).map_err(io::Error::from);
            self.failure = written.and_then(|()| self.output.write_all(b"\n")).err();
        }
    }

    fn event(&mut self, now: Instant, event: Event) {
        self.write(&Line {
            time: now.as_picos(),
            event,
        });
    }
}

impl<W: Write> Probe for Log<W> {
    fn opened(
        &mut self,
        now: Instant,
        flow: FlowNumber,
        Opening {
            from,
            to,
            config,
            has_edge_control,
            ..
        }: Opening,
    ) {
        self.open += 1;
        let longest = config.map(|config| config.max_packet_len);
        self.event(
            now,
            Event::Open {
                flow: flow.0,
                from: from.0,
                to: to.0,
                edge: has_edge_control,
                longest,
            },
        );
    }

    fn finished(&mut self, now: Instant, flow: FlowNumber) {
        self.event(now, Event::Finish { flow: flow.0 });
    }

    fn sent(&mut self, now: Instant, packet: &Packet<Tag>, state: &PacketState) {
        let back = state.direction == crate::Direction::Backward;
        self.event(
            now,
            Event::Send {
                packet: state.number,
                flow: state.flow.0,
                len: packet.len,
                back,
            },
        );
    }

    fn arrived(&mut self, now: Instant, link: LinkId, _packet: &Packet<Tag>, state: &PacketState) {
        self.event(
            now,
            Event::Arrive {
                packet: state.number,
                link: link.0,
            },
        );
    }

    fn transmitted(
        &mut self,
        link: LinkId,
        _packet: &Packet<Tag>,
        state: &PacketState,
        [start, end]: [Instant; 2],
    ) {
        let heard = if self.preempts[link.0 as usize] {
            end
        } else {
            start
        };
        self.event(
            heard,
            Event::Transmit {
                packet: state.number,
                link: link.0,
                end: end.as_picos(),
            },
        );
    }

    fn rests(&mut self, now: Instant, link: LinkId, until: Instant) {
        self.event(
            now,
            Event::Rest {
                link: link.0,
                until: until.as_picos(),
            },
        );
    }

    fn dropped(
        &mut self,
        now: Instant,
        link: LinkId,
        _packet: &Packet<Tag>,
        state: &PacketState,
        reason: DropReason,
    ) {
        self.event(
            now,
            Event::Drop {
                packet: state.number,
                link: link.0,
                reason: reason.name().to_owned(),
            },
        );
    }

    fn lost(&mut self, now: Instant, link: LinkId, _packet: &Packet<Tag>, state: &PacketState) {
        self.event(
            now,
            Event::Lose {
                packet: state.number,
                link: link.0,
            },
        );
    }

    fn delivered(&mut self, now: Instant, _packet: &Packet<Tag>, state: &PacketState) {
        self.event(
            now,
            Event::Deliver {
                packet: state.number,
            },
        );
    }

    fn edge_dropped(&mut self, now: Instant, _packet: &Packet<Tag>, state: &PacketState) {
        self.event(
            now,
            Event::EdgeDrop {
                packet: state.number,
            },
        );
    }

    fn closed(&mut self, now: Instant, flow: FlowNumber, counts: &FlowCounts) {
        self.open -= 1;
        self.event(
            now,
            Event::Close {
                flow: flow.0,
                sent: counts.sent,
                delivered: counts.delivered,
            },
        );
    }
}

/// The header line for a network.
pub fn header(network: &Network) -> Header {
    let nodes = network.nodes() as u32;
    let names = (0..nodes).map(|node| network.name(NodeId(node))).collect();
    Header {
        format: FORMAT,
        nodes,
        names,
        links: network.links().iter().map(record).collect(),
    }
}

fn record(link: &LinkConfig) -> LinkRecord {
    LinkRecord {
        from: link.from.0,
        to: link.to.0,
        rate: link.rate.bits_per_second(),
        trace: link.trace.as_ref().map(|trace| TraceRecord {
            times: trace.times().to_vec(),
            bytes: LinkTrace::bytes(link.layer),
        }),
        delay: link.delay.as_picos(),
        jitter: link.jitter.as_picos(),
        overhead: link.layer.overhead,
        mpu: link.layer.mpu,
        framing: Some(link.layer.framing)
            .filter(|framing| *framing != Framing::None)
            .map_or_else(String::new, |framing| framing.to_string()),
        loss: link.loss.0,
        queue: link.ordering(),
        limit: limits(&link.queue),
        order: order(link),
        preempts: link.queue.discipline.preempts(),
        // No simulation accepts a link without a valid decision cost.
        decision: link.decision_cost().unwrap_or_default().as_picos(),
        shaper: shaper(link),
    }
}

/// What a link's discipline promises, if the link may rest while packets wait.
pub(crate) fn shaper(link: &LinkConfig) -> Option<ShaperRecord> {
    let shaper = ShaperRecord::of(&link.queue.discipline, link.rate)?;
    let is_asked_at_once = link.decision_cost() == Ok(Duration::ZERO);
    if link.queue.discipline.preempts() || !is_asked_at_once {
        return Some(shaper);
    }
    Some(shaper.telling_rests())
}

fn limits(queue: &QueueSpec) -> Limits {
    let limit = queue.limit_or_default();
    let [packets, bytes] =
        [limit.packets, limit.bytes].map(|limit| Some(limit).filter(|limit| *limit != u64::MAX));
    Limits { packets, bytes }
}

/// The order that a link's discipline promises. A tree promises order within each flow if all its
/// disciplines do, because a flow stays in one leaf.
fn order(link: &LinkConfig) -> Order {
    let AnyDiscipline::Tree(tree) = &link.queue.discipline else {
        return Order::of(&link.queue);
    };
    let reorders = tree.nodes().any(|node| Order::of(&node.spec) == Order::Any);
    if reorders { Order::Any } else { Order::PerFlow }
}
