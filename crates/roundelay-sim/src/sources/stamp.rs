//! What a packet says of its urgency as it leaves its source: the header fields by which schedulers choose.
//!
//! The slacks are those of R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 3, where one LSTF in the network does the
//! work of many schedulers: only what the ends write differs.

use roundelay::{Duration, Instant, Rate, Slack};

use crate::agent::Outgoing;

/// By which rule packets are stamped.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Urgency {
    /// No stamp: priority 0, no slack, no deadline.
    #[default]
    None,
    /// One priority for all: a class.
    Priority(u32),
    /// One slack for all: LSTF then serves as FIFO+ does (section 3.2, where it is one second).
    Constant(Duration),
    /// The shortest flow first. Slack: so much for each packet of the whole flow (section 3.1: one second, which is more than queues ever
    /// take); priority: the bytes of the flow.
    FlowSize(Duration),
    /// The shortest remainder first. Slack: so much for each packet that is left, this one included; priority: the bytes left. Over TCP
    /// what is left is what has not been acknowledged.
    Remaining(Duration),
    /// Fair queueing with this share of the rate for each flow (section 3.3): the slack of the first packet is 0, of packet i
    /// max(0, slack of packet i - 1, plus a packet's time at that rate, minus the time since packet i - 1).
    Fair(Rate),
    /// RC3 (R. Mittal et al., "Recursively Cautious Congestion Control", NSDI 2014; UPS, section 3.1). Over TCP with selective acknowledgements,
    /// what the window does not allow yet is sent at once from the flow's end, as fast as the first link takes it, at the low priorities 1 to
    /// 4; what the window sends has 0. Slack: so much for each step of priority. Other sources have no tail to send.
    Cautious {
        /// Slack for each step of priority: one second in UPS.
        step: Duration,
        /// The rate of the first link.
        rate: Rate,
    },
    /// Each packet is needed so long after it was sent: a deadline.
    Deadline(Duration),
}

/// Stamps the packets of one flow, one way.
#[derive(Debug, Clone, Copy)]
pub struct Stamp {
    urgency: Urgency,
    size_bytes: u64,
    packet_len: u32,
    /// Of the last packet: when it was sent, and its slack.
    last: Option<(Instant, Slack)>,
}

impl Stamp {
    /// For a flow of `size_bytes` in packets of `packet_len`, which is at least 1. A flow without an end has `u64::MAX` bytes.
    pub const fn new(urgency: Urgency, size_bytes: u64, packet_len: u32) -> Self {
        Self { urgency, size_bytes, packet_len, last: None }
    }

    /// The same for a transfer of this size.
    #[must_use]
    pub(crate) const fn resized(self, size_bytes: u64) -> Self {
        Self { size_bytes, ..self }
    }

    /// Stamps a packet of data sent at `now`, while `left_bytes` of the flow are left, the packet's own included.
    #[inline]
    pub fn mark(&mut self, packet: &mut Outgoing, now: Instant, left_bytes: u64) {
        match self.urgency {
            Urgency::None | Urgency::Cautious { .. } => {}
            Urgency::Priority(class) => packet.priority = class,
            Urgency::Constant(slack) => packet.slack = Slack::of(slack),
            Urgency::FlowSize(each) => self.mark_size(packet, self.size_bytes, each),
            Urgency::Remaining(each) => self.mark_size(packet, left_bytes, each),
            Urgency::Fair(rate) => packet.slack = self.fair_slack(rate, now),
            Urgency::Deadline(within) => packet.deadline = now + within,
        }
    }

    /// Stamps a packet of a tail.
    pub(crate) fn mark_tail(&self, packet: &mut Outgoing, level: u8) {
        if let Urgency::Cautious { step, .. } = self.urgency {
            packet.priority = level.into();
            packet.slack = Slack::of(Duration::from_picos(step.as_picos().saturating_mul(level.into())));
        }
    }

    /// The rate of a tail, if there is to be one.
    pub(crate) const fn tail_rate(&self) -> Option<Rate> {
        match self.urgency {
            Urgency::Cautious { rate, .. } => Some(rate),
            _ => None,
        }
    }

    /// Stamps a packet without data: a SYN, an acknowledgement. Where urgency goes by size it is the most urgent there is, with no slack
    /// and priority 0.
    #[inline]
    pub fn mark_bare(&mut self, packet: &mut Outgoing, now: Instant) {
        match self.urgency {
            Urgency::FlowSize(_) | Urgency::Remaining(_) => {}
            _ => self.mark(packet, now, 0),
        }
    }

    fn mark_size(&self, packet: &mut Outgoing, bytes: u64, each: Duration) {
        let packets = bytes.div_ceil(self.packet_len.into());
        packet.slack = Slack::of(Duration::from_picos(packets.saturating_mul(each.as_picos())));
        packet.priority = u32::try_from(bytes).unwrap_or(u32::MAX);
    }

    fn fair_slack(&mut self, rate: Rate, now: Instant) -> Slack {
        let slack = self.last.map_or(Slack::ZERO, |(then, slack)| {
            let gained = slack.as_picos().saturating_add_unsigned(rate.time_of(self.packet_len.into()).as_picos());
            Slack::from_picos(gained).after(now.since(then)).max(Slack::ZERO)
        });
        self.last = Some((now, slack));
        slack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roundelay::FlowId;

    fn stamped(stamp: &mut Stamp, micros: u64, left_bytes: u64) -> Outgoing {
        let mut packet = Outgoing::new(FlowId(0), 1460);
        stamp.mark(&mut packet, Instant::ZERO + Duration::from_micros(micros), left_bytes);
        packet
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_shortest_flow_has_the_least_slack() {
        let mut stamp = Stamp::new(Urgency::FlowSize(SECOND), 3 * 1460, 1460);
        let packet = stamped(&mut stamp, 0, 1460);
        assert_eq!((packet.slack, packet.priority), (Slack::of(Duration::from_secs(3)), 3 * 1460));
        let mut stamp = Stamp::new(Urgency::Remaining(SECOND), 3 * 1460, 1460);
        let packet = stamped(&mut stamp, 0, 2 * 1460 - 10);
        assert_eq!((packet.slack, packet.priority), (Slack::of(Duration::from_secs(2)), 2 * 1460 - 10));
    }

    #[test]
    fn a_flow_without_end_comes_last() {
        let packet = stamped(&mut Stamp::new(Urgency::FlowSize(SECOND), u64::MAX, 1460), 0, u64::MAX);
        assert_eq!((packet.slack.as_picos(), packet.priority), (i64::MAX, u32::MAX));
    }

    /// At 100 Mbit/s a packet of 1460 bytes takes 116.8 us (the constant of the authors' scripts): two at once, one in time, one late.
    #[test]
    fn the_fair_rule_step_by_step() {
        let mut stamp = Stamp::new(Urgency::Fair("100mbit".parse().unwrap()), u64::MAX, 1460);
        let slacks = [0, 0, 100, 1000].map(|micros| stamped(&mut stamp, micros, 0).slack.as_picos());
        assert_eq!(slacks, [0, 116_800_000, 133_600_000, 0]);
    }

    #[test]
    fn constants_are_written_down() {
        assert_eq!(stamped(&mut Stamp::new(Urgency::Constant(SECOND), 1, 1), 0, 1).slack, Slack::of(SECOND));
        assert_eq!(stamped(&mut Stamp::new(Urgency::Priority(5), 1, 1), 0, 1).priority, 5);
        let due = stamped(&mut Stamp::new(Urgency::Deadline(SECOND), 1, 1), 7, 1).deadline;
        assert_eq!(due, Instant::ZERO + Duration::from_micros(1_000_007));
        assert_eq!(stamped(&mut Stamp::new(Urgency::None, 1, 1), 0, 1), Outgoing::new(FlowId(0), 1460));
    }
}
