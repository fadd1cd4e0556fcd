//! Candidates for a universal scheduler: a discipline, and how packet headers are initialized.

use std::fmt;
use std::str::FromStr;

use roundelay::schedulers::{Priority, Times};
use roundelay::{ConfigError, Duration, Fault, QueueSpec, Slack};

use super::schedule::{Packet, Schedule};
use crate::fields_read::FieldsRead;
use crate::topologies::NO_LIMIT;

/// What a packet's header tells about the recorded schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Headers {
    /// Black-box initialization (section 2.1): headers are made from o(p) and path(p) alone.
    /// `slack` follows [`SlackRule`]. `priority` is o(p) in steps that fit into 32 bits. `deadline`
    /// is o(p) - tmin(p, a, dest(p)) + T(p, a) at each node a, which routers compute from o(p)
    /// (appendix A.5).
    #[default]
    BlackBox,
    /// Omniscient initialization (section 2.2): each node a ranks packets by o(p, a), which is when
    /// it began to send them in the recorded run. Each node writes the slack anew as o(p, a) minus
    /// the arrival time, so LSTF's rank is o(p, a) plus the transmission time.
    Omniscient,
}

/// How a packet's slack is initialized.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlackRule {
    /// How long the packet waited in the recorded run, o(p) - i(p) - tmin(p), as in the paper.
    #[default]
    Wait,
    /// How long the packet was in the network in the recorded run, o(p) - i(p), for routers and
    /// headers that do not know tmin.
    PathEnd,
    /// Zero for all, so only a packet's earlier waits and its arrival time at the node set it
    /// apart.
    None,
}

impl SlackRule {
    /// All rules.
    pub const ALL: [Self; 3] = [Self::Wait, Self::PathEnd, Self::None];

    /// The name in commands and files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Wait => "wait",
            Self::PathEnd => "path-end",
            Self::None => "none",
        }
    }

    pub(super) fn of(self, schedule: &Schedule, packet: &Packet) -> Slack {
        match self {
            Self::Wait => schedule.waited(packet),
            Self::PathEnd => Slack::of(packet.output.since(packet.input)),
            Self::None => Slack::ZERO,
        }
    }
}

impl FromStr for SlackRule {
    type Err = Fault;

    fn from_str(text: &str) -> Result<Self, Fault> {
        let rule = Self::ALL.into_iter().find(|rule| rule.name() == text);
        rule.ok_or_else(|| {
            let legal = "wait, path-end or none";
            Fault::new(format!("'{text}' is no slack: {legal}"))
                .with_given(text)
                .with_legal(legal)
        })
    }
}

/// A discipline for routers' queues in a replay, and what packets' headers say.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The name, as the user wrote it.
    pub name: String,
    /// The discipline in all router queues. If it has no limit of its own, the queues are
    /// unlimited.
    pub queue: QueueSpec,
    /// How headers are initialized.
    pub headers: Headers,
    /// How the slack is initialized.
    pub slack: SlackRule,
    /// Slack is rounded down to a multiple of this step, as in a header field. If 0, it is not
    /// rounded.
    pub resolution: Duration,
}

impl Candidate {
    /// The field that each node writes into headers, if any.
    pub(super) fn label(&self) -> Option<Label> {
        match self.headers {
            Headers::Omniscient => Some(Label::Slack),
            Headers::BlackBox => {
                (self.fields_read().times == Times::Deadline).then_some(Label::Deadline)
            }
        }
    }

    /// Whether a replay needs to know when each transmission started.
    pub const fn needs_starts(&self) -> bool {
        matches!(self.headers, Headers::Omniscient)
    }

    /// Whether routers read the initial slack. Only if so, [`slack`](Self::slack) and
    /// [`resolution`](Self::resolution) matter.
    pub fn goes_by_slack(&self) -> bool {
        self.headers == Headers::BlackBox && self.fields_read().times == Times::Slack
    }

    /// Whether routers read the priority, o(p) in steps of
    /// [`Replay::priority_step`](super::Replay::priority_step).
    pub fn goes_by_priority(&self) -> bool {
        self.fields_read().priority != Priority::Unread
    }

    fn fields_read(&self) -> FieldsRead {
        FieldsRead::of(&self.queue.discipline)
    }

    pub(super) fn slack_of(&self, schedule: &Schedule, packet: &Packet) -> Slack {
        let slack = self.slack.of(schedule, packet);
        let step = self.resolution.as_picos().min(i64::MAX as u64) as i64;
        if step > 1 {
            Slack::from_picos(slack.as_picos().div_euclid(step) * step)
        } else {
            slack
        }
    }
}

/// A header field that each node writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    /// The deadline at the node, computed from o(p).
    Deadline,
    /// The slack until o(p, a).
    Slack,
}

/// The name for LSTF with omniscient headers.
const OMNISCIENT: &str = "omniscient";

impl FromStr for Candidate {
    type Err = Fault;

    /// Parses a discipline as `tc` writes it (`lstf preempt`, `edf`, `priority`, `fifo`), or
    /// `omniscient`, or `omniscient preempt`.
    fn from_str(text: &str) -> Result<Self, Fault> {
        let mut words = text.split_whitespace();
        let is_omniscient = words.next() == Some(OMNISCIENT);
        let written = if is_omniscient {
            format!("lstf {}", words.collect::<Vec<_>>().join(" "))
        } else {
            text.to_owned()
        };
        let mut queue: QueueSpec = written.parse().map_err(|error| match error {
            ConfigError::UnknownDiscipline { .. } => {
                let hint = format!("; replays know '{OMNISCIENT}' as well");
                Fault::from(error).with_hint(&hint)
            }
            _ => error.into(),
        })?;
        queue.limit = queue.limit.or(Some(roundelay::Limit::of_packets(NO_LIMIT)));
        let headers = if is_omniscient {
            Headers::Omniscient
        } else {
            Headers::BlackBox
        };
        Ok(Self {
            name: text.trim().to_owned(),
            queue,
            headers,
            slack: SlackRule::Wait,
            resolution: Duration::ZERO,
        })
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
