//! The nodes that sleep: leaves and shapers that hold packets and gave none when asked, in the
//! order in which they are asked again.
//!
//! A node's own record has the same time, so that it is found here when it changes. A leaf that
//! sleeps is asked for its time after each call that may change it.

use alloc::collections::BTreeSet;

use crate::time::Instant;

/// When a node that sleeps is asked again.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Wake {
    /// It does not say: whenever the tree is asked.
    Always,
    At(Instant),
}

impl Wake {
    /// After what a leaf's scheduler says.
    pub(super) fn told(ready_at: Option<Instant>) -> Self {
        ready_at.map_or(Self::Always, Self::At)
    }
}

/// Nodes by the time at which they are asked again. Among equal times the smaller number comes
/// first.
#[derive(Debug, Default)]
pub(super) struct Asleep {
    nodes: BTreeSet<(Wake, usize)>,
}

impl Asleep {
    pub(super) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    pub(super) fn has(&self, number: usize, wake: Wake) -> bool {
        self.nodes.contains(&(wake, number))
    }

    /// A node falls asleep, sleeps until another time, or is awake (`None`).
    pub(super) fn change(&mut self, number: usize, before: Option<Wake>, after: Option<Wake>) {
        if before == after {
            return;
        }
        if let Some(before) = before {
            self.nodes.remove(&(before, number));
        }
        if let Some(after) = after {
            self.nodes.insert((after, number));
        }
    }

    /// The nodes that are asked at this time.
    pub(super) fn due(&self, now: Instant) -> impl Iterator<Item = usize> {
        let nodes = self.nodes.iter();
        let due = nodes.take_while(move |(wake, _)| *wake <= Wake::At(now));
        due.map(|(_, number)| *number)
    }

    /// The earliest time that a node says. [`Instant::MAX`] if none says a time, and None if no
    /// node sleeps.
    pub(super) fn earliest(&self) -> Option<Instant> {
        let with_times = (Wake::At(Instant::ZERO), 0)..;
        match self.nodes.range(with_times).next() {
            Some((Wake::At(time), _)) => Some(*time),
            _ if self.nodes.is_empty() => None,
            _ => Some(Instant::MAX),
        }
    }
}
