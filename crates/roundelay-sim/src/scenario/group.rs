//! A group of sources: which hosts send to which, when they start and stop, and how their flows are
//! configured.

use std::collections::BTreeSet;

use roundelay::Seed;
use roundelay::{Duration, Instant};

use super::Group;
use super::pairs::Pairing;
use crate::headers::Marks;
use crate::ids::NodeId;
use crate::network::Network;
use crate::routing::Inner;
use crate::sources::source::{Between, Facts, Site};
use crate::sources::{SlackRule as _, Terms, WrittenFields};

/// TCP's protocol number (RFC 9293).
const TCP: u8 = 6;

/// The name that stands for all groups together.
pub(super) const ALL: &str = "all";

impl Group {
    /// Where the group's agents send.
    pub(super) fn site<'a>(&'a self, network: &'a Network) -> Site<'a> {
        Site {
            network,
            hosts: &self.from,
            count: self.count,
        }
    }

    fn facts(&self) -> Facts<'_> {
        self.source.source().facts()
    }

    /// All pairs that may occur. Each must have a route.
    pub(super) fn possible_pairs(&self) -> Box<dyn Iterator<Item = (NodeId, NodeId)> + '_> {
        match self.facts().between {
            Between::Flows(flows) => {
                let pairs: BTreeSet<_> = flows.iter().map(|flow| (flow.from, flow.to)).collect();
                Box::new(pairs.into_iter())
            }
            _ if self.has_all_pairs() => {
                Box::new((0..self.most_pairs()).filter_map(|number| self.pair(number)))
            }
            _ => Box::new(
                Pairing::Each
                    .pairs(&self.from, &self.to, Seed::new(0))
                    .into_iter(),
            ),
        }
    }

    /// Some of the possible pairs, evenly spaced: at most about `most`. If they are all pairs, the
    /// step has no divisor in common with the number of receivers, because otherwise the sample
    /// would contain few of these.
    pub(super) fn some_pairs(&self, most: usize) -> Vec<(NodeId, NodeId)> {
        let step = self.most_pairs().div_ceil(most as u64).max(1);
        if self.has_all_pairs() {
            let receivers = self.to.len() as u64;
            let step = (step..)
                .find(|step| greatest_common_divisor(*step, receivers) == 1)
                .unwrap_or(step);
            return (0..self.most_pairs())
                .step_by(step as usize)
                .filter_map(|number| self.pair(number))
                .collect();
        }
        self.possible_pairs().step_by(step as usize).collect()
    }

    /// Whether any host in `from` may send to any other in `to`.
    pub(super) fn has_all_pairs(&self) -> bool {
        match self.facts().between {
            Between::Flows(_) => false,
            Between::Any => true,
            Between::Pair => self.pairs != Pairing::Each,
        }
    }

    /// The pair with this number among all pairs. None if it is a host with itself.
    fn pair(&self, number: u64) -> Option<(NodeId, NodeId)> {
        let [from, to] = [number / self.to.len() as u64, number % self.to.len() as u64];
        let pair = (self.from[from as usize], self.to[to as usize]);
        (pair.0 != pair.1).then_some(pair)
    }

    /// The pairs between which the group's sources send. Only random pairing depends on the seed.
    pub(super) fn source_pairs(&self, seed: Seed) -> Vec<(NodeId, NodeId)> {
        if self.facts().is_of_many() {
            return vec![(self.from[0], self.to[0])];
        }
        self.pairs.pairs(&self.from, &self.to, seed)
    }

    /// The number of sources.
    pub(super) fn sources(&self) -> u64 {
        let pairs = match self.pairs {
            _ if self.facts().is_of_many() => 1,
            Pairing::All => {
                let to: BTreeSet<_> = self.to.iter().collect();
                self.most_pairs() - self.from.iter().filter(|node| to.contains(node)).count() as u64
            }
            Pairing::Each => self.from.len().max(self.to.len()) as u64,
            Pairing::Random => self.from.len() as u64,
        };
        pairs.saturating_mul(self.count.into())
    }

    /// The most pairs that there may be.
    pub(super) fn most_pairs(&self) -> u64 {
        let [senders, receivers] = [&self.from, &self.to].map(|hosts| hosts.len() as u64);
        match self.facts().between {
            Between::Flows(flows) => flows.len() as u64,
            _ if self.has_all_pairs() => senders * receivers,
            _ => senders.max(receivers),
        }
    }

    /// Bytes that the route tables for the group's packets take.
    pub(super) fn route_bytes(&self, network: &Network, inner: &Inner) -> u64 {
        inner.route_bytes(network, self.from.iter().chain(&self.to))
    }

    /// Senders that each send their kind's full load. Pairs that share a capture count as one.
    pub(super) fn senders(&self) -> f64 {
        if self.facts().is_dealt {
            f64::from(self.count)
        } else {
            self.sources() as f64
        }
    }

    /// When the sources stop: at the end of the run, unless they stop earlier.
    pub(super) fn end(&self, duration: Duration) -> Duration {
        self.stop.map_or(duration, |stop| stop.min(duration))
    }

    /// The time from the first source's start until all stop.
    pub(super) fn span(&self, duration: Duration) -> Duration {
        let end = self.end(duration);
        end - self.start.min(end)
    }

    /// When the last source starts, without jitter.
    pub(super) fn last_start(&self) -> Duration {
        self.start
            + Duration::from_picos(
                self.start_step
                    .as_picos()
                    .saturating_mul(self.sources().saturating_sub(1)),
            )
    }

    /// The weight that the group's flows have: 1 by default.
    pub(super) fn weight(&self) -> u32 {
        self.flow.map_or(1, |flow| flow.weight)
    }

    /// Header fields that the group's packets have.
    pub fn marks(&self) -> Marks {
        let plain = Marks::default();
        Marks {
            protocol: if self.facts().tcp.is_some() {
                TCP
            } else {
                plain.protocol
            },
            dscp: self.dscp,
        }
    }

    /// In which header fields the group's packets differ, because of the slack rule or the list.
    pub(super) fn written(&self) -> WrittenFields {
        let rule = self.urgency.written();
        let list = self.source.source().written();
        WrittenFields {
            slack: rule.slack || list.slack,
            priority: rule.priority || list.priority,
            deadline: rule.deadline || list.deadline,
        }
    }

    /// When the source with this number starts, without jitter.
    pub(super) fn start_of(&self, number: u64) -> Instant {
        Instant::ZERO
            + self.start
            + Duration::from_picos(self.start_step.as_picos().saturating_mul(number))
    }

    /// The terms of a source between two hosts.
    pub(super) fn terms(&self, from: NodeId, to: NodeId, number: u64) -> Terms {
        let mut terms = Terms::new(from, to);
        terms.flow.config = self.flow;
        terms.start = self.start_of(number);
        terms.start_jitter = self.start_jitter;
        terms.stop = self.stop.map(|stop| Instant::ZERO + stop);
        terms.urgency = self.urgency.clone();
        terms.control = self.control.clone();
        terms
    }
}

const fn greatest_common_divisor(mut one: u64, mut other: u64) -> u64 {
    while other != 0 {
        (one, other) = (other, one % other);
    }
    one
}
