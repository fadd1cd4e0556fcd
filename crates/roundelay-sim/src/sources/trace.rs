//! Source `trace`: a list of packets, recorded by a capture or another simulator.
//!
//! One agent sends the packets of all flows of the list: packets of the same instant keep their
//! order.

use roundelay::{Duration, FlowId, Instant, Slack};

use crate::agent::{Agent, Context, FlowSpec, Outgoing};
use crate::sources::stamp::Stamp;
use crate::sources::urgency::Urgency;
use crate::sources::{Check, SourceError, draw};

/// A packet of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Sending time, counted from the start.
    pub at: Instant,
    /// Index of the packet's flow in [`Config::flows`].
    pub flow: u32,
    /// Bytes of the packet, 1 to 65,535.
    pub len: u32,
    /// Slack added to that of [`Config::urgency`]: to replay a schedule, the packet's total wait
    /// (UPS, section 2.1).
    pub slack: Duration,
    /// Priority, in place of that of [`Config::urgency`].
    pub priority: Option<u32>,
    /// Deadline, counted from the start like [`at`](Self::at), in place of that of
    /// [`Config::urgency`].
    pub deadline: Option<Instant>,
}

impl Entry {
    /// A packet without fields of its own.
    pub const fn new(at: Instant, flow: u32, len: u32) -> Self {
        Self { at, flow, len, slack: Duration::ZERO, priority: None, deadline: None }
    }
}

/// Parameters of the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Config {
    /// The flows. All are opened at the start and closed after the last packet sent.
    pub flows: Vec<FlowSpec>,
    /// The packets, in the order of time.
    pub packets: Vec<Entry>,
    /// Start of the list.
    pub start: Instant,
    /// Extra delay of the start, drawn evenly from 0 to this.
    pub start_jitter: Duration,
    /// Cut-off: no packet is sent then or later.
    pub stop: Option<Instant>,
    /// Urgency of the packets; the size of a flow is the bytes of its packets in the list.
    pub urgency: Urgency,
}

/// The source.
#[derive(Debug)]
pub struct Trace {
    config: Config,
    next: usize,
    /// Delay of packets relative to the list, once known.
    later: Option<Duration>,
    /// For each flow: number in queues, stamp, and bytes left.
    open: Vec<(FlowId, Stamp, u64)>,
}

impl Trace {
    /// # Errors
    /// A packet has no flow or an illegal length, or is earlier than the packet before: the error
    /// has its index in the list.
    pub fn new(config: Config) -> Result<Self, SourceError> {
        for (place, packet) in config.packets.iter().enumerate() {
            let error =
                |parameter, value: String, range| Err(SourceError::new("trace", parameter, format!("{value} of packet {place}"), range));
            if Check("trace").packet_len(packet.len).is_err() {
                return error("len", packet.len.to_string(), "1 to 65535".to_string());
            }
            if packet.flow as usize >= config.flows.len() {
                return error("flow", packet.flow.to_string(), format!("below the number of flows, {}", config.flows.len()));
            }
            let earliest = place.checked_sub(1).map_or(Instant::ZERO, |before| config.packets[before].at);
            if packet.at < earliest {
                return error("at", packet.at.to_string(), format!("from the packet before, {earliest}"));
            }
        }
        Ok(Self { config, next: 0, later: None, open: Vec::new() })
    }

    fn open(&mut self, context: &mut Context<'_>) {
        let mut sizes = vec![(0, 1); self.config.flows.len()];
        for packet in &self.config.packets {
            let (bytes, longest) = &mut sizes[packet.flow as usize];
            (*bytes, *longest) = (*bytes + u64::from(packet.len), packet.len.max(*longest));
        }
        let flows = self.config.flows.iter().zip(sizes);
        let stamp = |flow: &FlowSpec, bytes, longest| Stamp::new(self.config.urgency.clone(), flow.weight(), bytes, longest);
        self.open = flows.map(|(flow, (bytes, longest))| (context.open(*flow), stamp(flow, bytes, longest), bytes)).collect();
    }
}

impl Agent for Trace {
    fn wake(&mut self, context: &mut Context<'_>) {
        let Config { start, start_jitter, stop, .. } = self.config;
        let later = *self.later.get_or_insert_with(|| start.since(Instant::ZERO) + draw::up_to(context.random(), start_jitter));
        if context.now() < Instant::ZERO + later {
            return context.wake_at(Instant::ZERO + later);
        }
        if self.open.is_empty() {
            self.open(context);
        }
        while let Some(&Entry { at, flow, len, slack: more, priority, deadline }) = self.config.packets.get(self.next) {
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
            packet.slack = Slack::from_picos(packet.slack.as_picos().saturating_add(Slack::of(more).as_picos()));
            packet.priority = priority.unwrap_or(packet.priority);
            packet.deadline = deadline.map_or(packet.deadline, |deadline| deadline + later);
            context.send(packet);
            *left_bytes -= u64::from(len);
            self.next += 1;
        }
        self.open.iter().for_each(|(flow, ..)| context.close(*flow));
        context.leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::NodeId;
    use crate::sources::bench::{Bench, seconds};

    const HERE: FlowSpec = FlowSpec { from: NodeId(0), to: NodeId(1), config: None };
    const BACK: FlowSpec = FlowSpec { from: NodeId(1), to: NodeId(0), config: None };

    fn config(packets: &[(u64, u32, u32)]) -> Config {
        let packets = packets.iter().map(|&(at, flow, len)| Entry::new(seconds(at), flow, len)).collect();
        let urgency = Urgency::Remaining(Duration::from_secs(1));
        Config { flows: vec![HERE, BACK], packets, start: Instant::ZERO, start_jitter: Duration::ZERO, stop: None, urgency }
    }

    #[test]
    fn the_list_is_sent_as_it_is() {
        let log = Bench::default().run(1, 10, [Trace::new(config(&[(1, 0, 100), (3, 1, 50), (3, 0, 70), (3, 1, 50)])).unwrap()]);
        let sent: Vec<_> = log.sent.iter().map(|packet| (packet.now, packet.flow.0, packet.len, packet.priority)).collect();
        assert_eq!(sent, [(seconds(1), 0, 100, 170), (seconds(3), 1, 50, 100), (seconds(3), 0, 70, 70), (seconds(3), 1, 50, 50)]);
        assert_eq!(log.closed.len(), 2);
    }

    #[test]
    fn the_list_starts_late_and_is_cut_off() {
        let times =
            |config| Bench::default().sent(1, 20, [Trace::new(config).unwrap()]).iter().map(|packet| packet.now).collect::<Vec<_>>();
        let list = || Config { start: seconds(5), ..config(&[(1, 0, 100), (3, 1, 50), (4, 0, 70)]) };
        assert_eq!(times(list()), [6, 8, 9].map(seconds));
        assert_eq!(times(Config { stop: Some(seconds(9)), ..list() }), [6, 8].map(seconds), "none at the stop");
        let jittered = times(Config { start_jitter: Duration::from_secs(1), ..list() });
        let shift = jittered[0].since(seconds(6));
        assert!(shift > Duration::ZERO && shift < Duration::from_secs(1));
        assert_eq!(jittered, [6, 8, 9].map(|at| seconds(at) + shift));
    }

    /// Deadlines move with the list; a packet's own priority replaces the rule's.
    #[test]
    fn packets_have_fields_of_their_own() {
        let mut list = Config { start: seconds(5), ..config(&[(1, 0, 100), (3, 1, 50)]) };
        let own = Entry { slack: Duration::from_secs(2), priority: Some(7), deadline: Some(seconds(4)), ..list.packets[1] };
        list.packets[1] = own;
        let sent = Bench::default().sent(1, 20, [Trace::new(list).unwrap()]);
        let fields: Vec<_> = sent.iter().map(|packet| (packet.slack, packet.priority, packet.deadline)).collect();
        let slack = |secs| Slack::of(Duration::from_secs(secs));
        assert_eq!(fields, [(slack(1), 100, Instant::MAX), (slack(1 + 2), 7, seconds(9))]);
    }

    #[test]
    fn errors_name_the_packet() {
        let message = |packets| Trace::new(config(packets)).unwrap_err().to_string();
        assert_eq!(message(&[(1, 0, 1), (0, 0, 1)]), "trace: at 0s of packet 1: legal range from the packet before, 1s");
        assert_eq!(message(&[(1, 2, 1)]), "trace: flow 2 of packet 0: legal range below the number of flows, 2");
        assert_eq!(message(&[(1, 0, 0)]), "trace: len 0 of packet 0: legal range 1 to 65535");
    }
}
