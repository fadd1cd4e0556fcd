//! Scheduler decisions: how often a scheduler has sorted flows or packets to find the next one.

use roundelay::schedulers::AnyArena;
use roundelay::{Instant, Packet, Scheduler};

/// Returns the next packet and the number of decisions taken. This is 0 if the packet follows from
/// an earlier decision, as within a turn of `afq`, and otherwise 1.
pub(super) fn dequeue<T>(scheduler: &mut AnyArena<T>, now: Instant) -> Option<(Packet<T>, u64)> {
    let decisions = u64::from(!scheduler.has_decided());
    Some((scheduler.dequeue(now)?, decisions))
}
