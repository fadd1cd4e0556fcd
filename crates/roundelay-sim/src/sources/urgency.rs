//! Slack rules: which slack, priority and deadline the source writes into a packet's header, given
//! the packet and its flow.
//!
//! [`Urgency`] has the built-in rules. A program passes its own as a [`SlackRule`], a function
//! without state. The slacks come from R. Mittal et al., "Universal Packet Scheduling", NSDI 2016,
//! section 3: one LSTF in the network does the work of many schedulers, and only the headers that
//! the ends write differ.

use std::fmt;
use std::sync::Arc;

use roundelay::{Duration, Instant, Rate, Slack};

/// What a slack rule knows: a packet that is about to leave its source, and its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// When the packet is sent.
    pub now: Instant,
    /// Bytes in the packet, headers included.
    pub len: u32,
    /// Whether the packet carries no data: a SYN or an acknowledgement.
    pub is_bare: bool,
    /// The packet's level in RC3's tail, 1 to 4. 0 if it is not in a tail.
    pub tail_level: u8,
    /// Bytes in the whole flow, or in the current transfer. `u64::MAX` without end.
    pub size_bytes: u64,
    /// Bytes left, this packet included. Over TCP, bytes are left until they are acknowledged. 0
    /// for a bare packet.
    pub left_bytes: u64,
    /// Bytes in a full packet. Over TCP, only its data counts.
    pub packet_len: u32,
    /// The flow's weight: 1 to 1024.
    pub weight: u32,
    /// Packets that the flow sent before in this direction.
    pub number: u64,
    /// When the previous packet was sent, and its slack.
    pub before: Option<(Instant, Slack)>,
}

/// Header fields that schedulers read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderFields {
    /// How long the packet may spend in queues.
    pub slack: Slack,
    /// Whether the slack still includes the time that the packet needs on its path without any
    /// wait. If so, the network subtracts that time when the packet is sent.
    pub slack_has_path: bool,
    /// The packet's class, or its flow's bytes. The smaller, the more urgent.
    pub priority: u32,
    /// When the packet is due.
    pub deadline: Instant,
    /// Where the slack starts to count.
    pub stamped: Stamped,
}

/// Where a packet's slack starts to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stamped {
    /// When the packet is sent. So a wait in the host takes slack, as waits in routers do.
    #[default]
    AtSending,
    /// When the packet leaves the host. So a wait in the host takes no slack.
    AtDeparture,
    /// When the packet leaves the host. Its slack is then the previous packet's plus `gain`, less
    /// the time since that packet left, or `least` if that is more.
    Fairly {
        /// How long a packet takes at the flow's share.
        gain: Duration,
        /// The slack that the first packet has, and the least that any has.
        least: Slack,
    },
}

/// No slack, the most urgent class, no deadline.
impl Default for HeaderFields {
    fn default() -> Self {
        Self {
            slack: Slack::ZERO,
            slack_has_path: false,
            priority: 0,
            deadline: Instant::MAX,
            stamped: Stamped::AtSending,
        }
    }
}

impl HeaderFields {
    fn with_slack(slack: Slack) -> Self {
        Self {
            slack,
            ..Self::default()
        }
    }
}

/// To which header fields a rule gives a meaning. If queues read others, scenarios have notes on
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WrittenFields {
    /// Whether packets differ in slack.
    pub slack: bool,
    /// Whether packets differ in priority.
    pub priority: bool,
    /// Whether packets have deadlines.
    pub deadline: bool,
}

/// A rule for header fields, above all for the slack. It is a function of the packet and its flow,
/// without state.
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
    /// The packet's header fields.
    fn fields(&self, packet: &Facts) -> HeaderFields;

    /// Which fields have a meaning. By default all.
    fn written(&self) -> WrittenFields {
        WrittenFields {
            slack: true,
            priority: true,
            deadline: true,
        }
    }
}

/// A program's own rule. It is equal only to its clones.
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

/// How packets are stamped.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Urgency {
    /// Not at all: priority 0, no slack, no deadline.
    #[default]
    None,
    /// One priority for all packets: a class.
    Priority(u32),
    /// One slack for all packets. LSTF then serves as FIFO+ does (section 3.2, with one second).
    Constant(Duration),
    /// The shortest flow first. The slack is this time for each packet in the whole flow (section
    /// 3.1: one second, which is longer than any time in queues). The priority is the flow's bytes.
    FlowSize(Duration),
    /// The shortest remainder first. The slack is this time for each packet left, this one
    /// included. The priority is the bytes left. Over TCP, bytes are left until they are
    /// acknowledged.
    Remaining(Duration),
    /// Fair queueing: each flow's share is this rate times its weight (section 3.3). The first
    /// packet's slack is 0, and packet i's is max(0, slack of packet i - 1, plus a packet's time at
    /// the share, minus the time since packet i - 1).
    Fair(Rate),
    /// RC3 (R. Mittal et al., "Recursively Cautious Congestion Control", NSDI 2014; UPS, section
    /// 3.1). Over TCP with selective acknowledgements, data beyond the window is sent at once from
    /// the flow's end, at the first link's rate and at the low priorities 1 to 4. The window's data
    /// has 0. The slack is this time for each step of priority. Other sources have no tail to send.
    Cautious {
        /// How much slack each step of priority adds: one second in UPS.
        step: Duration,
        /// The first link's rate.
        rate: Rate,
    },
    /// A deadline this long after the packet is sent. The slack is the same time, less what the
    /// packet needs on its path without any wait.
    Deadline(Duration),
    /// Another rule, plus this slack for every packet, SYNs and acknowledgements included. This
    /// makes a class below the one without it (section 3.4). For strict priority it must be more
    /// than the largest slack in the class above plus the longest wait.
    Plus(Arc<Self>, Duration),
    /// Another rule, whose slack is written when a packet leaves its host's interface, as in the
    /// UPS authors' scripts. So a wait there takes no slack, and the time since the flow's previous
    /// packet is counted from when that packet left. Not for deadlines.
    AtDeparture(Arc<Self>),
    /// A program's own rule.
    Custom(CustomRule),
}

impl SlackRule for Urgency {
    #[inline]
    fn fields(&self, packet: &Facts) -> HeaderFields {
        match self {
            Self::None => HeaderFields::default(),
            Self::Priority(class) => HeaderFields {
                priority: *class,
                ..HeaderFields::default()
            },
            Self::Constant(slack) => HeaderFields::with_slack(Slack::of(*slack)),
            // Packets without data are the most urgent.
            Self::FlowSize(_) | Self::Remaining(_) if packet.is_bare => HeaderFields::default(),
            Self::FlowSize(each) => by_size(packet, packet.size_bytes, *each),
            Self::Remaining(each) => by_size(packet, packet.left_bytes, *each),
            Self::Fair(rate) => HeaderFields::with_slack(fair_slack(packet, *rate)),
            Self::Cautious { step, .. } => HeaderFields {
                slack: times(*step, packet.tail_level.into()),
                priority: packet.tail_level.into(),
                ..HeaderFields::default()
            },
            Self::Deadline(within) => HeaderFields {
                slack: Slack::of(*within),
                slack_has_path: true,
                deadline: packet.now + *within,
                ..HeaderFields::default()
            },
            Self::Plus(rule, offset) => later(rule, *offset, packet),
            Self::AtDeparture(rule) => HeaderFields {
                stamped: rule.at_departure(packet, Duration::ZERO),
                ..rule.fields(packet)
            },
            Self::Custom(CustomRule(rule)) => rule.fields(packet),
        }
    }

    fn written(&self) -> WrittenFields {
        let [slack, priority, deadline] = match self {
            Self::None => [false; 3],
            Self::Priority(_) => [false, true, false],
            Self::Constant(_) | Self::Fair(_) => [true, false, false],
            Self::FlowSize(_) | Self::Remaining(_) | Self::Cautious { .. } => [true, true, false],
            Self::Deadline(_) => [true, false, true],
            Self::Plus(rule, _) => {
                return WrittenFields {
                    slack: true,
                    ..rule.written()
                };
            }
            Self::AtDeparture(rule) => return rule.written(),
            Self::Custom(CustomRule(rule)) => return rule.written(),
        };
        WrittenFields {
            slack,
            priority,
            deadline,
        }
    }
}

impl Urgency {
    /// The rate at which RC3's tail goes, if the rule has one.
    pub(crate) fn tail_rate(&self) -> Option<Rate> {
        match self {
            Self::Cautious { rate, .. } => Some(*rate),
            Self::Plus(rule, _) | Self::AtDeparture(rule) => rule.tail_rate(),
            _ => None,
        }
    }

    /// Whether sources over TCP use RC3, with more slack or without.
    pub(crate) fn is_cautious(&self) -> bool {
        self.tail_rate().is_some()
    }

    /// Whether the flow's weight may change the header fields.
    pub(crate) fn goes_by_weight(&self) -> bool {
        match self {
            Self::Fair(_) | Self::Custom(_) => true,
            Self::Plus(rule, _) | Self::AtDeparture(rule) => rule.goes_by_weight(),
            _ => false,
        }
    }

    /// Whether the flow's size, or how many bytes are left, changes the header fields.
    pub(crate) fn goes_by_size(&self) -> bool {
        match self {
            Self::FlowSize(_) | Self::Remaining(_) => true,
            Self::Plus(rule, _) | Self::AtDeparture(rule) => rule.goes_by_size(),
            _ => false,
        }
    }

    /// This rule plus a constant slack.
    #[must_use]
    pub fn plus(self, offset: Duration) -> Self {
        Self::Plus(Arc::new(self), offset)
    }

    /// This rule, but slack is written when a packet leaves its host.
    #[must_use]
    pub fn at_departure_from_host(self) -> Self {
        Self::AtDeparture(Arc::new(self))
    }

    fn at_departure(&self, packet: &Facts, least: Duration) -> Stamped {
        match self {
            Self::Fair(rate) => Stamped::Fairly {
                gain: share(packet, *rate).time_of(packet.packet_len.into()),
                least: Slack::of(least),
            },
            Self::Plus(rule, offset) => rule.at_departure(packet, least + *offset),
            Self::AtDeparture(rule) => rule.at_departure(packet, least),
            _ => Stamped::AtDeparture,
        }
    }
}

fn times(each: Duration, count: u64) -> Slack {
    Slack::of(Duration::from_picos(each.as_picos().saturating_mul(count)))
}

fn by_size(packet: &Facts, bytes: u64, each: Duration) -> HeaderFields {
    let priority = u32::try_from(bytes).unwrap_or(u32::MAX);
    HeaderFields {
        slack: times(each, bytes.div_ceil(packet.packet_len.into())),
        priority,
        ..HeaderFields::default()
    }
}

/// The flow's share: rate times weight, which is at most 1024. The product saturates, because at
/// 2^64 bits a second a packet takes practically no time.
fn share(packet: &Facts, rate: Rate) -> Rate {
    Rate::from_bits_per_second(rate.bits_per_second().saturating_mul(packet.weight.into()))
        .unwrap_or(rate)
}

fn fair_slack(packet: &Facts, rate: Rate) -> Slack {
    let Some((then, slack)) = packet.before else {
        return Slack::ZERO;
    };
    let gain = share(packet, rate).time_of(packet.packet_len.into());
    grown(slack, gain, packet.now.since(then)).max(Slack::ZERO)
}

/// A slack plus `gain`, after `since`.
pub(crate) fn grown(slack: Slack, gain: Duration, since: Duration) -> Slack {
    let gained = slack.as_picos().saturating_add_unsigned(gain.as_picos());
    Slack::from_picos(gained).after(since)
}

/// Adds a class's offset. The inner rule sees its own slacks, without it.
fn later(rule: &Urgency, offset: Duration, packet: &Facts) -> HeaderFields {
    let before = packet.before.map(|(at, slack)| (at, slack.after(offset)));
    let fields = rule.fields(&Facts { before, ..*packet });
    let more = |slack: Slack| grown(slack, offset, Duration::ZERO);
    let stamped = match fields.stamped {
        Stamped::Fairly { gain, least } => Stamped::Fairly {
            gain,
            least: more(least),
        },
        other => other,
    };
    HeaderFields {
        slack: more(fields.slack),
        stamped,
        ..fields
    }
}
