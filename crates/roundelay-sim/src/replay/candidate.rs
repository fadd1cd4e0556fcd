//! Candidates for a universal scheduler: a discipline, and what headers tell it.

use std::fmt;
use std::str::FromStr;

use roundelay::schedulers::{Priority, Spec, Times};
use roundelay::{ConfigError, Duration, Slack};

use super::schedule::{Packet, Schedule};
use crate::fields_read::FieldsRead;
use crate::topologies::NO_LIMIT;

/// What a packet's header can tell of the recorded schedule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Headers {
    /// Black-box initialization (section 2.1): o(p) and path(p), no more. `slack` is as [`SlackRule`] says; `priority` is o(p) in steps that fit 32 bits;
    /// `deadline` is, at each node a, o(p) - tmin(p, a, dest(p)) + T(p, a), which routers work out of o(p) (appendix A.5).
    #[default]
    BlackBox,
    /// Omniscient initialization (section 2.2): at each node a the packet is ranked by o(p, a), when that node began to send it. The slack is written anew at
    /// each node, o(p, a) less the time of arrival, so that LSTF's rank is o(p, a) and the packet's time on the link.
    Omniscient,
}

/// The slack that a packet starts with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SlackRule {
    /// The time that the packet waited in the recorded run, o(p) - i(p) - tmin(p): the paper's.
    #[default]
    Wait,
    /// The time until it got out, o(p) - i(p): no router and no header knows how long the path takes.
    PathEnd,
    /// None at all: packets are told apart by their arrival at the node only.
    None,
}

impl SlackRule {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Wait, Self::PathEnd, Self::None];

    /// Its name in commands and files.
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
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = Self::ALL.into_iter().find(|rule| rule.name() == text);
        rule.ok_or_else(|| format!("'{text}' is no slack: wait, path-end or none"))
    }
}

/// What orders the queues of routers in a replay, and what headers tell it.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// As it was written.
    pub name: String,
    /// The discipline of all queues of routers. Without a limit of its own they hold everything.
    pub queue: Spec,
    /// What headers tell.
    pub headers: Headers,
    /// The slack that packets start with.
    pub slack: SlackRule,
    /// Slack is rounded down to a multiple of this, as a header field would; 0: to the picosecond.
    pub resolution: Duration,
}

impl Candidate {
    /// What has to be written into headers at each node.
    pub(super) fn label(&self) -> Option<Label> {
        match self.headers {
            Headers::Omniscient => Some(Label::Slack),
            Headers::BlackBox => (self.fields_read().times == Times::Deadline).then_some(Label::Deadline),
        }
    }

    /// Whether the schedule has to tell when each link began to send each packet.
    pub const fn needs_starts(&self) -> bool {
        matches!(self.headers, Headers::Omniscient)
    }

    /// Whether routers go by the slack that packets start with, and so by [`slack`](Self::slack) and [`resolution`](Self::resolution).
    pub fn goes_by_slack(&self) -> bool {
        self.headers == Headers::BlackBox && self.fields_read().times == Times::Slack
    }

    /// Whether routers go by the priority, o(p) in steps of [`Replay::priority_step`](super::Replay::priority_step).
    pub fn goes_by_priority(&self) -> bool {
        self.fields_read().priority != Priority::Unread
    }

    fn fields_read(&self) -> FieldsRead {
        FieldsRead::of(&self.queue.discipline)
    }

    pub(super) fn slack_of(&self, schedule: &Schedule, packet: &Packet) -> Slack {
        let slack = self.slack.of(schedule, packet);
        let step = self.resolution.as_picos().min(i64::MAX as u64) as i64;
        if step > 1 { Slack::from_picos(slack.as_picos().div_euclid(step) * step) } else { slack }
    }
}

/// What is written into headers at each node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Label {
    /// The deadline of the node, out of o(p).
    Deadline,
    /// The slack until o(p, a).
    Slack,
}

/// The word for LSTF with omniscient headers.
const OMNISCIENT: &str = "omniscient";

impl FromStr for Candidate {
    type Err = String;

    /// A discipline as `tc` writes it, `lstf preempt`, `edf`, `priority`, `fifo`, or `omniscient`, `omniscient preempt`.
    fn from_str(text: &str) -> Result<Self, String> {
        let mut words = text.split_whitespace();
        let is_omniscient = words.next() == Some(OMNISCIENT);
        let written = if is_omniscient { format!("lstf {}", words.collect::<Vec<_>>().join(" ")) } else { text.to_owned() };
        let mut queue: Spec = written.parse().map_err(|error| match error {
            ConfigError::UnknownDiscipline { .. } => format!("{error}; replays know '{OMNISCIENT}' as well"),
            _ => error.to_string(),
        })?;
        queue.limit = queue.limit.or(Some(roundelay::Limit::of_packets(NO_LIMIT)));
        let headers = if is_omniscient { Headers::Omniscient } else { Headers::BlackBox };
        Ok(Self { name: text.trim().to_owned(), queue, headers, slack: SlackRule::Wait, resolution: Duration::ZERO })
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
