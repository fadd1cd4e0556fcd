//! Priority, slack and deadline of packets, for disciplines that use more than flows and lengths.

use std::sync::Arc;

use roundelay::author::prefetch;
use roundelay::schedulers::Priority;
use roundelay::{Duration, Ecn, FlowId, Instant, Packet, QueueSpec, Slack};

/// What a rule sets on its flows' packets, besides the weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Urgency {
    /// The class, smaller first. If none, the one that the packet's code point gives.
    pub priority: Option<u32>,
    /// How long a packet may spend in queues.
    pub slack: Duration,
    /// How long after its arrival a packet is due at the receiver. None: no deadline.
    pub deadline: Option<Duration>,
}

/// An arriving packet.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Offer {
    pub(crate) len: u32,
    pub(crate) ecn: Ecn,
    /// The Differentiated Services code point, or 0 if there is none.
    pub(crate) dscp: u8,
    /// A TCP segment without data and SYN, whose loss delays nobody.
    pub(crate) is_bare: bool,
}

impl Offer {
    /// The class for a packet without a rule: from 0 for the class selector CS7 down to 7 for best
    /// effort. Older equipment reads the same three bits as precedence (RFC 2474, section 4.2.2).
    const fn class(self) -> u32 {
        7 - (self.dscp as u32 >> 3)
    }

    /// Whether the code point asks for more than best effort.
    pub(crate) const fn is_classified(self) -> bool {
        self.class() < 7
    }
}

/// Which fields a capture's packets carry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carried {
    /// Some packet has a class other than best effort, by code point or rule.
    pub classes: bool,
    /// A rule gives some packet slack.
    pub slack: bool,
    /// A rule gives some packet a deadline.
    pub deadlines: bool,
}

impl Carried {
    /// Adds the fields that a rule sets.
    pub(crate) fn add(&mut self, urgency: Urgency) {
        self.classes |= urgency.priority.is_some();
        self.slack |= urgency.slack > Duration::ZERO;
        self.deadlines |= urgency.deadline.is_some();
    }
}

/// What we know about rules and flows besides the events. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub(crate) struct Known {
    /// The index is the rule's.
    pub(crate) urgencies: Arc<[Urgency]>,
    /// How many bytes each flow has in the whole capture. Empty unless a discipline needs sizes.
    pub(crate) sizes: Arc<[u64]>,
}

impl Known {
    /// What a flow's rule sets.
    pub(crate) fn urgency(&self, rule: RuleIndex) -> Urgency {
        self.urgencies
            .get(rule.0 as usize)
            .copied()
            .unwrap_or_default()
    }
}

/// The index of the rule that decides for a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RuleIndex(u32);

impl RuleIndex {
    pub(crate) const NONE: Self = Self(u32::MAX);

    pub(crate) fn of(index: Option<usize>) -> Self {
        index
            .and_then(|index| u32::try_from(index).ok())
            .map_or(Self::NONE, Self)
    }
}

/// Sets the fields that a discipline reads.
pub(crate) struct Marker {
    meaning: Priority,
    known: Known,
    flows: Vec<FlowUrgency>,
}

#[derive(Clone, Copy, Default)]
struct FlowUrgency {
    urgency: Urgency,
    /// What priorities mean at this flow's leaf, if not the same as for the discipline.
    meaning: Option<Priority>,
    /// How many bytes have arrived.
    came: u64,
}

impl Marker {
    /// A marker for a discipline that gives priorities this meaning.
    pub(crate) const fn new(meaning: Priority, known: Known) -> Self {
        Self {
            meaning,
            known,
            flows: Vec::new(),
        }
    }

    fn flow(&mut self, flow: FlowId) -> &mut FlowUrgency {
        if flow.index() >= self.flows.len() {
            self.flows.resize(flow.index() + 1, FlowUrgency::default());
        }
        &mut self.flows[flow.index()]
    }

    /// Asks for the memory of a flow whose packet arrives soon.
    #[inline]
    pub(crate) fn prefetch(&self, flow: FlowId) {
        prefetch(&self.flows, flow.index());
    }

    pub(crate) fn join(&mut self, flow: FlowId, rule: RuleIndex) {
        self.flow(flow).urgency = self.known.urgency(rule);
    }

    /// Notes that the flow goes to a leaf that gives priorities this meaning.
    pub(crate) fn take_for(&mut self, flow: FlowId, meaning: Priority) {
        self.flow(flow).meaning = Some(meaning);
    }

    pub(crate) fn packet<T>(
        &mut self,
        at: Instant,
        flow: FlowId,
        offer: Offer,
        payload: T,
    ) -> Packet<T> {
        let size = self.known.sizes.get(flow.index()).copied().unwrap_or(0);
        let usual = self.meaning;
        let FlowUrgency {
            urgency,
            meaning,
            came,
        } = self.flow(flow);
        let priority = match meaning.unwrap_or(usual) {
            Priority::Unread => 0,
            Priority::Class => urgency.priority.unwrap_or(offer.class()),
            Priority::CodePoint => offer.dscp.into(),
            Priority::FlowSize => saturated(size),
            Priority::Remaining => saturated(size.saturating_sub(*came)),
        };
        *came += u64::from(offer.len);
        let deadline = urgency.deadline.map_or(Instant::MAX, |span| at + span);
        Packet {
            ecn: offer.ecn,
            priority,
            slack: Slack::of(urgency.slack),
            deadline,
            ..Packet::new(flow, offer.len, payload)
        }
    }
}

/// The byte count as a priority, at most the largest `u32`.
fn saturated(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Whether a discipline needs a flow's size at its first packet, which we know only after reading
/// the whole capture.
pub(crate) fn reads_sizes(spec: &QueueSpec) -> bool {
    matches!(meaning(spec), Priority::FlowSize | Priority::Remaining)
}

/// What priorities mean to a discipline.
pub(crate) fn meaning(spec: &QueueSpec) -> Priority {
    spec.discipline.info().priority
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: FlowId = FlowId(0);
    const B: FlowId = FlowId(1);

    fn offer(len: u32, dscp: u8) -> Offer {
        Offer {
            len,
            ecn: Ecn::Capable,
            dscp,
            is_bare: false,
        }
    }

    fn priorities(meaning: Priority, offers: &[(FlowId, u32, u8)]) -> Vec<u32> {
        let urgencies = [Urgency {
            priority: Some(42),
            ..Urgency::default()
        }]
        .into();
        let mut marker = Marker::new(
            meaning,
            Known {
                urgencies,
                sizes: [5_000_000_000, 300].into(),
            },
        );
        marker.join(A, RuleIndex::of(Some(0)));
        marker.join(B, RuleIndex::NONE);
        offers
            .iter()
            .map(|&(flow, len, dscp)| {
                marker
                    .packet(Instant::ZERO, flow, offer(len, dscp), ())
                    .priority
            })
            .collect()
    }

    #[test]
    fn a_priority_is_what_the_discipline_takes_it_for() {
        let offers = [(A, 100, 0), (B, 100, 46), (B, 200, 0), (FlowId(2), 1, 56)];
        assert_eq!(priorities(Priority::Unread, &offers), [0, 0, 0, 0]);
        assert_eq!(priorities(Priority::Class, &offers), [42, 2, 7, 0]);
        assert_eq!(
            priorities(Priority::FlowSize, &offers),
            [u32::MAX, 300, 300, 0]
        );
        assert_eq!(
            priorities(Priority::Remaining, &offers),
            [u32::MAX, 300, 200, 0]
        );
    }

    #[test]
    fn slack_and_deadline_are_those_of_the_flows_rule() {
        let rule = Urgency {
            slack: Duration::from_millis(3),
            deadline: Some(Duration::from_millis(5)),
            priority: None,
        };
        let mut marker = Marker::new(
            Priority::Unread,
            Known {
                urgencies: [Urgency::default(), rule].into(),
                ..Known::default()
            },
        );
        marker.join(B, RuleIndex::of(Some(1)));
        let at = Instant::ZERO + Duration::from_millis(10);
        let [none, some] = [A, B].map(|flow| marker.packet(at, flow, offer(9, 0), 'x'));
        assert_eq!((none.slack, none.deadline), (Slack::ZERO, Instant::MAX));
        assert_eq!(
            (some.slack, some.deadline),
            (
                Slack::of(Duration::from_millis(3)),
                Instant::ZERO + Duration::from_millis(15)
            )
        );
        assert_eq!(
            (some.flow, some.len, some.ecn, some.payload),
            (B, 9, Ecn::Capable, 'x')
        );
    }

    #[test]
    fn disciplines_registered_here_look_at_no_sizes_unless_they_say_so() {
        for text in ["fifo", "drr", "afq"] {
            assert!(!reads_sizes(&text.parse().expect("a discipline")), "{text}");
        }
    }
}
