//! Slack rules: which slack, priority and deadline a packet's header gets at its source, from the packet and its flow.
//!
//! [`Urgency`] has the rules that are built in; a program hands in its own as a [`SlackRule`], which is a function without state. The slacks
//! are those of R. Mittal et al., "Universal Packet Scheduling", NSDI 2016, section 3, where one LSTF in the network does the work of many
//! schedulers: only what the ends write differs.

use std::fmt;
use std::sync::Arc;

use roundelay::{Duration, Instant, Rate, Slack};

/// What a slack rule may go by: a packet that is about to leave its source, and its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// When it leaves.
    pub now: Instant,
    /// Its bytes, headers included.
    pub len: u32,
    /// Whether it carries no data: a SYN, an acknowledgement.
    pub is_bare: bool,
    /// Its level in RC3's tail, 1 to 4; 0: it is of no tail.
    pub tail_level: u8,
    /// Bytes of the whole flow, or of the transfer under way; `u64::MAX` without end.
    pub size_bytes: u64,
    /// Bytes of it that are left, this packet's included; over TCP those that have not been acknowledged. 0 for a bare packet.
    pub left_bytes: u64,
    /// Bytes of a full packet; of data, over TCP.
    pub packet_len: u32,
    /// The flow's weight: 1 to 1024.
    pub weight: u32,
    /// Packets of the flow that were sent before, this way.
    pub number: u64,
    /// When the packet before was sent, and the slack that it got.
    pub before: Option<(Instant, Slack)>,
}

/// Header fields by which schedulers choose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderFields {
    /// Time that the packet can lose in queues.
    pub slack: Slack,
    /// Its class, or the bytes of its flow: the smaller, the more urgent.
    pub priority: u32,
    /// When it is needed.
    pub deadline: Instant,
}

/// No slack, the most urgent class, no deadline.
impl Default for HeaderFields {
    fn default() -> Self {
        Self { slack: Slack::ZERO, priority: 0, deadline: Instant::MAX }
    }
}

impl HeaderFields {
    fn with_slack(slack: Slack) -> Self {
        Self { slack, ..Self::default() }
    }
}

/// Which header fields a rule gives a meaning: scenarios tell of queues that go by others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WrittenFields {
    /// Whether packets differ in slack.
    pub slack: bool,
    /// Whether they differ in priority.
    pub priority: bool,
    /// Whether they have deadlines.
    pub deadline: bool,
}

/// A rule for header fields, the slack above all: from the packet and its flow, without a state of its own.
///
/// ```
/// use std::sync::Arc;
/// use roundelay::{Duration, Slack};
/// use roundelay_sim::sources::{Facts, HeaderFields, SlackRule, Urgency};
///
/// /// Long flows have 1 ms more with each packet.
/// #[derive(Debug)]
/// struct Growing;
///
/// impl SlackRule for Growing {
///     fn fields(&self, packet: &Facts) -> HeaderFields {
///         HeaderFields { slack: Slack::of(Duration::from_millis(packet.number)), ..HeaderFields::default() }
///     }
/// }
///
/// let urgency = Urgency::Custom(Arc::new(Growing).into());
/// # let _ = urgency;
/// ```
pub trait SlackRule: fmt::Debug + Send + Sync {
    /// What is written into the packet's header.
    fn fields(&self, packet: &Facts) -> HeaderFields;

    /// Which of the fields mean something. If it does not say, all of them.
    fn written(&self) -> WrittenFields {
        WrittenFields { slack: true, priority: true, deadline: true }
    }
}

/// A program's own rule. Two are equal if they are the same one.
#[derive(Debug, Clone)]
pub struct CustomRule(Arc<dyn SlackRule>);

impl PartialEq for CustomRule {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for CustomRule {}

impl<R: SlackRule + 'static> From<Arc<R>> for CustomRule {
    fn from(rule: Arc<R>) -> Self {
        Self(rule)
    }
}

/// By which rule packets are stamped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
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
    /// Fair queueing with this rate times its weight as the share of each flow (section 3.3): the slack of the first packet is 0, of packet i
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
    /// Another rule, with so much more slack for every packet, SYNs and acknowledgements included: a class below one without it (section 3.4).
    /// Strict priority needs more than the largest slack of the class above and the longest wait together.
    Plus(Arc<Self>, Duration),
    /// A program's own rule.
    Custom(CustomRule),
}

impl SlackRule for Urgency {
    #[inline]
    fn fields(&self, packet: &Facts) -> HeaderFields {
        match self {
            Self::None => HeaderFields::default(),
            Self::Priority(class) => HeaderFields { priority: *class, ..HeaderFields::default() },
            Self::Constant(slack) => HeaderFields::with_slack(Slack::of(*slack)),
            // What carries no data is the most urgent there is.
            Self::FlowSize(_) | Self::Remaining(_) if packet.is_bare => HeaderFields::default(),
            Self::FlowSize(each) => by_size(packet, packet.size_bytes, *each),
            Self::Remaining(each) => by_size(packet, packet.left_bytes, *each),
            Self::Fair(rate) => HeaderFields::with_slack(fair_slack(packet, *rate)),
            Self::Cautious { step, .. } => HeaderFields {
                slack: times(*step, packet.tail_level.into()),
                priority: packet.tail_level.into(),
                ..HeaderFields::default()
            },
            Self::Deadline(within) => HeaderFields { deadline: packet.now + *within, ..HeaderFields::default() },
            Self::Plus(rule, offset) => later(rule, *offset, packet),
            Self::Custom(CustomRule(rule)) => rule.fields(packet),
        }
    }

    fn written(&self) -> WrittenFields {
        let [slack, priority, deadline] = match self {
            Self::None => [false; 3],
            Self::Priority(_) => [false, true, false],
            Self::Constant(_) | Self::Fair(_) => [true, false, false],
            Self::FlowSize(_) | Self::Remaining(_) | Self::Cautious { .. } => [true, true, false],
            Self::Deadline(_) => [false, false, true],
            Self::Plus(rule, _) => return WrittenFields { slack: true, ..rule.written() },
            Self::Custom(CustomRule(rule)) => return rule.written(),
        };
        WrittenFields { slack, priority, deadline }
    }
}

impl Urgency {
    /// The rate of RC3's tail, if there is to be one.
    pub(crate) fn tail_rate(&self) -> Option<Rate> {
        match self {
            Self::Cautious { rate, .. } => Some(*rate),
            Self::Plus(rule, _) => rule.tail_rate(),
            _ => None,
        }
    }

    /// Whether sources over TCP send by RC3, with more slack or without.
    pub(crate) fn is_cautious(&self) -> bool {
        self.tail_rate().is_some()
    }

    /// Whether the flow's weight may change what it writes.
    pub(crate) fn goes_by_weight(&self) -> bool {
        match self {
            Self::Fair(_) | Self::Custom(_) => true,
            Self::Plus(rule, _) => rule.goes_by_weight(),
            _ => false,
        }
    }

    /// This rule with so much more slack.
    #[must_use]
    pub fn plus(self, offset: Duration) -> Self {
        Self::Plus(Arc::new(self), offset)
    }
}

fn times(each: Duration, count: u64) -> Slack {
    Slack::of(Duration::from_picos(each.as_picos().saturating_mul(count)))
}

fn by_size(packet: &Facts, bytes: u64, each: Duration) -> HeaderFields {
    let priority = u32::try_from(bytes).unwrap_or(u32::MAX);
    HeaderFields { slack: times(each, bytes.div_ceil(packet.packet_len.into())), priority, ..HeaderFields::default() }
}

/// Weights are at most 1024: faster than 2^64 bits a second is as good as no time at all.
fn fair_slack(packet: &Facts, rate: Rate) -> Slack {
    let Some((then, slack)) = packet.before else { return Slack::ZERO };
    let rate = Rate::from_bits_per_second(rate.bits_per_second().saturating_mul(packet.weight.into())).unwrap_or(rate);
    let gained = slack.as_picos().saturating_add_unsigned(rate.time_of(packet.packet_len.into()).as_picos());
    Slack::from_picos(gained).after(packet.now.since(then)).max(Slack::ZERO)
}

/// The rule within sees the slacks that it gave itself.
fn later(rule: &Urgency, offset: Duration, packet: &Facts) -> HeaderFields {
    let before = packet.before.map(|(at, slack)| (at, slack.after(offset)));
    let fields = rule.fields(&Facts { before, ..*packet });
    HeaderFields { slack: Slack::from_picos(fields.slack.as_picos().saturating_add_unsigned(offset.as_picos())), ..fields }
}
