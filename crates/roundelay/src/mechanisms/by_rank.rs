//! Scheduler by rank: serves the packet with the smallest rank, for disciplines whose rank depends
//! on the packet alone.

use core::fmt::Debug;

use crate::config::ConfigError;
use crate::control::{Control, Reads};
use crate::drops::Refused;
use crate::limit::Backlog;
use crate::mechanisms::ranked::{Ordinal, Ranked};
use crate::packet::{FlowId, Packet};
use crate::scheduler::Scheduler;
use crate::schedulers::Configured;
use crate::seed::Seed;
use crate::time::Instant;

/// A discipline's rank, which its configuration implements.
pub trait Rank: Debug + Clone {
    /// The type of the rank.
    type Key: Ordinal + Debug + Send;
    /// A full buffer gives up the packet that arrived last, not the last one by rank.
    const GIVES_UP_NEWEST: bool = false;
    /// In a tree's class the rank is a setting of the child, whatever its next packet.
    const OF_CHILD: bool = false;

    /// The packet's rank: the smallest goes first, and among equal ranks the first arrival.
    fn key<T>(packet: &Packet<T>) -> Self::Key;
}

/// Serves the packet with the smallest rank.
#[derive(Debug, Clone)]
pub struct ByRank<R: Rank, T> {
    waiting: Ranked<R::Key, T>,
}

impl<R: Rank, T> Configured<R> for ByRank<R, T> {
    fn configured(_: R, _: Seed) -> Result<Self, ConfigError> {
        Ok(Self {
            waiting: Ranked::default(),
        })
    }
}

impl<R: Rank, T> Scheduler<T> for ByRank<R, T> {
    /// Sets the packet's arrival time, on which the rank may depend.
    fn enqueue(&mut self, now: Instant, packet: Packet<T>) -> Result<(), Refused<T>> {
        let packet = Packet {
            arrival: now,
            ..packet
        };
        self.waiting.push(R::key(&packet), packet);
        Ok(())
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<T>> {
        self.waiting.pop_first()
    }

    /// The newest packet with the largest rank, or the newest of all with `GIVES_UP_NEWEST`.
    fn evict(&mut self) -> Option<Packet<T>> {
        if R::GIVES_UP_NEWEST {
            self.waiting.pop_newest()
        } else {
            self.waiting.pop_last()
        }
    }

    fn evict_flow(&mut self, flow: FlowId) -> Option<Packet<T>> {
        self.waiting.pop_newest_of(flow)
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        self.waiting.backlog()
    }

    fn turn(&mut self, _now: Instant) -> Option<FlowId> {
        let (_, first) = self.waiting.first()?;
        Some(first.flow)
    }

    fn set_len(&mut self, flow: FlowId, len: u32) {
        debug_assert_eq!(self.turn(Instant::ZERO), Some(flow), "it has the turn");
        self.waiting.set_first_len(len);
    }
}

impl<R: Rank, T> Control for ByRank<R, T> {
    fn names_turns(&self) -> bool {
        R::OF_CHILD
    }

    fn reads(&self, _flow: FlowId) -> Reads {
        if R::OF_CHILD {
            Reads::WhenSent
        } else {
            Reads::Ahead
        }
    }

    fn asks_idle(&self, priority: u32) -> Option<u32> {
        R::OF_CHILD.then_some(priority)
    }

    /// 1. Packets are ordered by rank, then by arrival. The first one's recorded rank is correct.
    #[cfg(any(test, debug_assertions))]
    fn check_invariants(&self) {
        self.waiting.check();
        let first = self.waiting.first().map(|(_, first)| R::key(first));
        assert_eq!(first, self.waiting.first_key(), "invariant 1: by rank");
    }
}
