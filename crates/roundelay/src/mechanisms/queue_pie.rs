//! PIE's controller of one queue, after RFC 8033 or as Linux has it.

use crate::limit::Backlog;
use crate::mechanisms::pie::{ONE, RfcPie, Settings};
use crate::mechanisms::pie_linux::LinuxPie;
use crate::mechanisms::random::Random;
use crate::time::{Duration, Instant};

/// The controller of one queue: the RFC's or Linux's.
#[derive(Debug, Clone)]
pub(crate) enum QueuePie {
    Rfc(RfcPie),
    Linux(LinuxPie),
}

impl QueuePie {
    /// Of an empty queue, with the whole burst allowance. Updates are due from the first call on.
    pub(crate) fn new(settings: &Settings) -> Self {
        if settings.linux {
            Self::Linux(LinuxPie::new())
        } else {
            Self::Rfc(RfcPie::new(settings.burst))
        }
    }

    /// Before the first call: updates are due from this time on, at the same times as those of
    /// other queues.
    pub(crate) fn begin(&mut self, began: Instant) {
        match self {
            Self::Rfc(pie) => pie.begin(began),
            Self::Linux(pie) => pie.begin(began),
        }
    }

    /// Drop probability, in units of 1 / [`ONE`].
    pub(crate) fn probability(&self) -> u64 {
        match self {
            Self::Rfc(pie) => pie.probability(),
            Self::Linux(pie) => pie.probability(),
        }
    }

    /// Whether the probability is low enough for marks in place of drops: below so many percent, in
    /// Linux at most so many.
    pub(crate) fn may_mark(&self, percent: u32) -> bool {
        match self {
            Self::Rfc(pie) => pie.probability() < ONE / 100 * u64::from(percent),
            Self::Linux(pie) => pie.is_at_most(percent),
        }
    }

    /// Does the updates that have become due at `now`. The queue has had this backlog since the
    /// last call.
    #[inline]
    pub(crate) fn advance(&mut self, settings: &Settings, now: Instant, backlog: Backlog) {
        match self {
            Self::Rfc(pie) => pie.advance(settings, now, backlog),
            Self::Linux(pie) => pie.advance(settings, now, backlog),
        }
    }

    /// Whether to signal at the arrival of a packet of `len` bytes. If it is dropped then,
    /// [`dropped`](Self::dropped) is due.
    pub(crate) fn judges_bad(
        &mut self,
        settings: &Settings,
        random: &mut Random,
        len: u32,
        backlog: Backlog,
    ) -> bool {
        match self {
            Self::Rfc(pie) => pie.judges_bad(settings, random, len, backlog),
            Self::Linux(pie) => pie.judges_bad(settings, random, len, backlog),
        }
    }

    /// A packet of `len` bytes that came at `arrival` leaves the queue, which had `before` bytes.
    pub(crate) fn left(
        &mut self,
        settings: &Settings,
        now: Instant,
        (arrival, len): (Instant, u32),
        before: u64,
    ) {
        match self {
            Self::Rfc(pie) => pie.left(now, now.since(arrival), len, before),
            Self::Linux(pie) => {
                pie.left(settings, now, arrival, len, before - u64::from(len));
            }
        }
    }

    /// A packet was dropped. This starts a new sum of probabilities.
    pub(crate) fn dropped(&mut self) {
        match self {
            Self::Rfc(pie) => pie.dropped(),
            Self::Linux(pie) => pie.dropped(),
        }
    }

    /// The largest burst allowance has become smaller. Linux's stays.
    pub(crate) fn limit_allowance(&mut self, burst: Duration) {
        if let Self::Rfc(pie) = self {
            pie.limit_allowance(burst);
        }
    }

    /// Those of both.
    pub(crate) fn check(&self, settings: &Settings) {
        match self {
            Self::Rfc(pie) => pie.check(settings),
            Self::Linux(pie) => pie.check(),
        }
    }
}
