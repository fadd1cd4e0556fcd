//! Stamps a flow's packets: writes header fields by a slack rule, and keeps the state that the rule
//! needs.

use roundelay::{Instant, Rate, Slack};

use crate::agent::Outgoing;
use crate::sources::urgency::{Facts, HeaderFields, SlackRule, Urgency};

/// Stamps one flow's packets, one way.
#[derive(Debug, Clone)]
pub struct Stamp {
    rule: Urgency,
    weight: u32,
    size_bytes: u64,
    packet_len: u32,
    /// Packets stamped so far.
    number: u64,
    /// When the last packet was stamped, and its slack.
    before: Option<(Instant, Slack)>,
}

/// What kind of packet it is.
#[derive(Debug, Clone, Copy, Default)]
struct Kind {
    is_bare: bool,
    tail_level: u8,
}

impl Stamp {
    /// For a flow with this weight and `size_bytes` in packets of `packet_len` bytes, 1 or more. If
    /// the flow has no end, `size_bytes` is `u64::MAX`.
    pub const fn new(rule: Urgency, weight: u32, size_bytes: u64, packet_len: u32) -> Self {
        Self {
            rule,
            weight,
            size_bytes,
            packet_len,
            number: 0,
            before: None,
        }
    }

    /// Sets the current transfer's size.
    pub(crate) const fn resize(&mut self, size_bytes: u64) {
        self.size_bytes = size_bytes;
    }

    /// Stamps a packet of data that is sent at `now`. `left_bytes` is how much of the flow is left,
    /// this packet included.
    #[inline]
    pub fn mark(&mut self, packet: &mut Outgoing, now: Instant, left_bytes: u64) {
        self.write(packet, now, left_bytes, Kind::default());
    }

    /// Stamps a packet in RC3's tail.
    pub(crate) fn mark_tail(
        &mut self,
        packet: &mut Outgoing,
        now: Instant,
        left_bytes: u64,
        tail_level: u8,
    ) {
        self.write(
            packet,
            now,
            left_bytes,
            Kind {
                tail_level,
                is_bare: false,
            },
        );
    }

    /// Stamps a packet without data: a SYN or an acknowledgement.
    #[inline]
    pub fn mark_bare(&mut self, packet: &mut Outgoing, now: Instant) {
        self.write(
            packet,
            now,
            0,
            Kind {
                is_bare: true,
                tail_level: 0,
            },
        );
    }

    /// The rate at which RC3's tail goes, if the rule has one.
    pub(crate) fn tail_rate(&self) -> Option<Rate> {
        self.rule.tail_rate()
    }

    #[inline]
    fn write(&mut self, packet: &mut Outgoing, now: Instant, left_bytes: u64, kind: Kind) {
        if matches!(self.rule, Urgency::None) {
            return;
        }
        let HeaderFields {
            slack,
            slack_has_path,
            priority,
            deadline,
            stamped,
        } = self
            .rule
            .fields(&self.facts(packet.len, now, left_bytes, kind));
        (
            packet.slack,
            packet.slack_has_path,
            packet.priority,
            packet.deadline,
            packet.stamped,
        ) = (slack, slack_has_path, priority, deadline, stamped);
        self.before = Some((now, slack));
        self.number += 1;
    }

    #[inline]
    fn facts(&self, len: u32, now: Instant, left_bytes: u64, kind: Kind) -> Facts {
        let Self {
            weight,
            size_bytes,
            packet_len,
            number,
            before,
            ..
        } = *self;
        let Kind {
            is_bare,
            tail_level,
        } = kind;
        Facts {
            now,
            len,
            is_bare,
            tail_level,
            size_bytes,
            left_bytes,
            packet_len,
            weight,
            number,
            before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use roundelay::{Duration, FlowId};

    fn stamped(stamp: &mut Stamp, micros: u64, left_bytes: u64) -> Outgoing {
        let mut packet = Outgoing::new(FlowId(0), 1460);
        stamp.mark(
            &mut packet,
            Instant::ZERO + Duration::from_micros(micros),
            left_bytes,
        );
        packet
    }

    fn stamp(rule: Urgency, size_bytes: u64) -> Stamp {
        Stamp::new(rule, 1, size_bytes, 1460)
    }

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn the_shortest_flow_has_the_least_slack() {
        let packet = stamped(&mut stamp(Urgency::FlowSize(SECOND), 3 * 1460), 0, 1460);
        assert_eq!(
            (packet.slack, packet.priority),
            (Slack::of(Duration::from_secs(3)), 3 * 1460)
        );
        let packet = stamped(
            &mut stamp(Urgency::Remaining(SECOND), 3 * 1460),
            0,
            2 * 1460 - 10,
        );
        assert_eq!(
            (packet.slack, packet.priority),
            (Slack::of(Duration::from_secs(2)), 2 * 1460 - 10)
        );
    }

    #[test]
    fn a_flow_without_end_comes_last() {
        let packet = stamped(&mut stamp(Urgency::FlowSize(SECOND), u64::MAX), 0, u64::MAX);
        assert_eq!(
            (packet.slack.as_picos(), packet.priority),
            (i64::MAX, u32::MAX)
        );
    }

    /// At 100 Mbit/s a packet of 1460 bytes takes 116.8 us (the constant in the authors' scripts).
    /// Two packets come at once, one in time, one late.
    #[test]
    fn the_fair_rule_step_by_step() {
        let mut fair = stamp(Urgency::Fair("100mbit".parse().unwrap()), u64::MAX);
        let slacks = [0, 0, 100, 1000].map(|micros| stamped(&mut fair, micros, 0).slack.as_picos());
        assert_eq!(slacks, [0, 116_800_000, 133_600_000, 0]);
    }

    /// Weight 4 at 25 Mbit/s is 100 Mbit/s.
    #[test]
    fn weights_multiply_the_rate() {
        let mut fair = Stamp::new(Urgency::Fair("25mbit".parse().unwrap()), 4, u64::MAX, 1460);
        let slacks = [0, 0, 100, 1000].map(|micros| stamped(&mut fair, micros, 0).slack.as_picos());
        assert_eq!(slacks, [0, 116_800_000, 133_600_000, 0]);
    }

    #[test]
    fn constants_are_written_down() {
        let of = |rule| stamped(&mut stamp(rule, 1), 7, 1);
        assert_eq!(of(Urgency::Constant(SECOND)).slack, Slack::of(SECOND));
        assert_eq!(of(Urgency::Priority(5)).priority, 5);
        assert_eq!(
            of(Urgency::Deadline(SECOND)).deadline,
            Instant::ZERO + Duration::from_micros(1_000_007)
        );
        assert_eq!(of(Urgency::None), Outgoing::new(FlowId(0), 1460));
    }

    /// Each packet has 100 s more than without the class, whatever packets came before, and packets
    /// without data have them too.
    #[test]
    fn a_class_has_more_slack_for_every_packet() {
        let offset = Duration::from_secs(100);
        for rule in [
            Urgency::Constant(SECOND),
            Urgency::FlowSize(SECOND),
            Urgency::Fair("100mbit".parse().unwrap()),
        ] {
            let mut plain = stamp(rule.clone(), 14_600);
            let mut lower = stamp(rule.plus(offset), 14_600);
            for micros in [0, 0, 100, 1000] {
                let [one, other] =
                    [&mut plain, &mut lower].map(|stamp| stamped(stamp, micros, 1460));
                assert_eq!(
                    other.slack,
                    Slack::from_picos(one.slack.as_picos() + 100_000_000_000_000),
                    "{plain:?}"
                );
                assert_eq!(other.priority, one.priority);
            }
            let mut bare = Outgoing::new(FlowId(0), 40);
            Stamp::new(Urgency::FlowSize(SECOND).plus(offset), 1, 14_600, 1460)
                .mark_bare(&mut bare, Instant::ZERO);
            assert_eq!((bare.slack, bare.priority), (Slack::of(offset), 0));
        }
    }

    /// A flow's n-th packet has n milliseconds, but a bare packet has none.
    #[derive(Debug)]
    struct Counting;

    impl SlackRule for Counting {
        fn fields(&self, packet: &Facts) -> HeaderFields {
            let slack = if packet.is_bare {
                Slack::ZERO
            } else {
                Slack::of(Duration::from_millis(packet.number))
            };
            HeaderFields {
                slack,
                priority: packet.weight,
                ..HeaderFields::default()
            }
        }
    }

    #[test]
    fn a_program_may_have_its_own_rule() {
        let rule = Urgency::Custom(std::sync::Arc::new(Counting).into());
        let mut stamp = Stamp::new(rule.clone(), 9, 1460, 1460);
        let slacks =
            [0, 0, 5].map(|micros| stamped(&mut stamp, micros, 0).slack.as_picos() / 1_000_000_000);
        assert_eq!(slacks, [0, 1, 2]);
        let mut bare = Outgoing::new(FlowId(0), 40);
        stamp.mark_bare(&mut bare, Instant::ZERO);
        assert_eq!((bare.slack, bare.priority), (Slack::ZERO, 9));
        assert_eq!(rule, rule.clone());
        assert_ne!(
            rule,
            Urgency::Custom(std::sync::Arc::new(Counting).into()),
            "another one"
        );
    }
}
