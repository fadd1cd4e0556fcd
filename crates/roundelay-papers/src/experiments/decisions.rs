//! Decisions of a scheduler: how often it has sorted flows or packets to find the next one.

use roundelay::schedulers::AnyScheduler;
use roundelay::{Instant, Packet, Scheduler};

/// The next packet, and the decisions that it took: none where it follows from one already taken, as within a turn of `afq`, otherwise one.
pub(super) fn dequeue<T: Send>(scheduler: &mut AnyScheduler<T>, now: Instant) -> Option<(Packet<T>, u64)> {
    let decisions = u64::from(!scheduler.has_decided());
    Some((scheduler.dequeue(now)?, decisions))
}
