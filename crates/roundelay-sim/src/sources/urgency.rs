//! Slack rules: slack, priority and deadline in a packet's header, set at the source from the
//! packet and its flow.
//!
//! [`Urgency`] has the built-in rules; a program passes its own as a [`SlackRule`], a function
//! without state. The slacks are from R. Mittal et al., "Universal Packet Scheduling", NSDI 2016,
//! section 3: one LSTF in the network does the work of many schedulers, only the headers written by
//! the ends differ.

use std::fmt;
use std::sync::Arc;

use roundelay::{Duration, Instant, Rate, Slack};

/// Input of a slack rule: a packet about to leave its source, and its flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Facts {
    /// Sending time.
    pub now: Instant,
    /// Bytes of the packet, headers included.
    pub len: u32,
    /// Whether the packet carries no data: a SYN, an acknowledgement.
    pub is_bare: bool,
    /// Level in RC3's tail, 1 to 4; 0 outside of a tail.
    pub tail_level: u8,
    /// Bytes of the whole flow, or of the current transfer; `u64::MAX` without end.
    pub size_bytes: u64,
    /// Bytes left, including this packet; over TCP the bytes not yet acknowledged. 0 for a bare
    /// packet.
    pub left_bytes: u64,
    /// Bytes of a full packet; over TCP, of its data.
    pub packet_len: u32,
    /// The flow's weight: 1 to 1024.
    pub weight: u32,
    /// Packets of the flow sent before in this direction.
    pub number: u64,
    /// Time and slack of the previous packet.
    pub before: Option<(Instant, Slack)>,
}

/// Header fields for schedulers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeaderFields {
    /// Time that the packet may spend in queues.
    pub slack: Slack,
    /// Whether the slack still holds the packet's time on the path without any wait; the network
    /// subtracts that time when the packet is sent.
    pub slack_has_path: bool,
    /// The packet's class, or the bytes of its flow: the smaller, the more urgent.
    pub priority: u32,
    /// Time at which the packet is due.
    pub deadline: Instant,
    /// Where the slack begins to count.
    pub stamped: Stamped,
}

/// Where a packet's slack begins to count.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Stamped {
    /// At its sending: a wait in the host takes slack, as waits in routers do.
    #[default]
    AtSending,
    /// At its departure from the host: a wait in the host takes none.
    AtDeparture,
    /// At its departure from the host, with the slack of the flow's previous packet plus `gain` less
    /// the time since that packet's departure, or with `least` if that is more.
    Fairly {
        /// A packet's time at the flow's share.
        gain: Duration,
        /// The slack of the first packet, and the least.
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

/// Header fields to which a rule gives a meaning: scenarios have notes on queues that read others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WrittenFields {
    /// Whether packets differ in slack.
    pub slack: bool,
    /// Whether packets differ in priority.
    pub priority: bool,
    /// Whether packets have deadlines.
    pub deadline: bool,
}

/// A rule for header fields, above all the slack: a function of the packet and its flow, without
/// state.
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

    /// The fields with a meaning. By default all.
    fn written(&self) -> WrittenFields {
        WrittenFields {
            slack: true,
            priority: true,
            deadline: true,
        }
    }
}

/// A program's own rule. Equal only to its clones.
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

/// The rule for stamping packets.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Urgency {
    /// No stamp: priority 0, no slack, no deadline.
    #[default]
    None,
    /// One priority for all packets: a class.
    Priority(u32),
    /// One slack for all packets: LSTF then serves as FIFO+ does (section 3.2, with one second).
    Constant(Duration),
    /// The shortest flow first. Slack: this time for each packet of the whole flow (section 3.1:
    /// one second, longer than any time in queues). Priority: the bytes of the flow.
    FlowSize(Duration),
    /// The shortest remainder first. Slack: this time for each packet left, including this one.
    /// Priority: the bytes left. Over TCP, bytes are left until acknowledged.
    Remaining(Duration),
    /// Fair queueing: each flow has a share of this rate times its weight (section 3.3). The slack
    /// of the first packet is 0, of packet i max(0, slack of packet i - 1, plus a packet's time at
    /// the share, minus the time since packet i - 1).
    Fair(Rate),
    /// RC3 (R. Mittal et al., "Recursively Cautious Congestion Control", NSDI 2014; UPS, section
    /// 3.1). Over TCP with selective acknowledgements, data beyond the window is sent at once from
    /// the flow's end, at the first link's rate, at the low priorities 1 to 4; the window's data
    /// has 0. Slack: this time for each step of priority. Other sources have no tail to send.
    Cautious {
        /// Slack for each step of priority: one second in UPS.
        step: Duration,
        /// The rate of the first link.
        rate: Rate,
    },
    /// A deadline this long after sending. Slack: the same time, less the packet's time on its path
    /// without any wait.
    Deadline(Duration),
    /// Another rule plus this slack for every packet, SYNs and acknowledgements included: a class
    /// below the one without (section 3.4). Strict priority needs more than the largest slack of
    /// the class above plus the longest wait.
    Plus(Arc<Self>, Duration),
    /// Another rule, whose slack is written when a packet leaves its host's interface, as in the
    /// scripts of the authors of UPS: a wait there takes no slack, and the time since the flow's
    /// previous packet is that between departures. Not for deadlines.
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
    /// The rate of RC3's tail, if the rule has one.
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

    /// Whether the flow's size, or its bytes left, change the header fields.
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

    /// This rule, with slack written at a packet's departure from its host.
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

/// Rate times weight (at most 1024) saturates: at 2^64 bits a second a packet takes practically no
/// time.
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

/// The inner rule sees its own slacks, without the offset.
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
