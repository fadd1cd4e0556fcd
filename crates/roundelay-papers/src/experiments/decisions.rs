//! Decisions of a scheduler: how often it has sorted flows or packets to find the next one.

use roundelay::Scheduler;
use roundelay::schedulers::AnyScheduler;
use roundelay::{Instant, Packet};

/// The next packet, and the decisions that it took: one, but for `afq`, where a turn's packets share one.
pub(super) fn dequeue<T: Send>(scheduler: &mut AnyScheduler<T>, now: Instant) -> Option<(Packet<T>, u64)> {
    let before = turns(scheduler);
    let packet = scheduler.dequeue(now)?;
    let taken = before.zip(turns(scheduler)).map_or(1, |(before, after)| after - before);
    Some((packet, taken))
}

/// Turns given so far, of a discipline that decides once a turn.
fn turns<T: Send>(scheduler: &AnyScheduler<T>) -> Option<u64> {
    match scheduler {
        AnyScheduler::Afq(afq) => Some(afq.decisions()),
        _ => None,
    }
}
