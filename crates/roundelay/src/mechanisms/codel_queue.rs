//! FIFO queue with its own CoDel: the queue in `codel`, and each flow's in `fq_codel`.

use alloc::collections::VecDeque;

use crate::config::{HOUR, MICROSECOND, Parameter};
use crate::drops::DropReason;
use crate::handle::Leaving;
use crate::mechanisms::codel::{Codel, Rules, Target, Waited};
use crate::packet::Ecn;
use crate::pool::{Pool, Queue, Storage};
use crate::time::{Duration, Instant};

/// The parameter `target`.
pub(crate) const fn target<C>(of: fn(&mut C) -> &mut Duration) -> Parameter<C> {
    let range = MICROSECOND..=HOUR;
    Parameter::time("target", range, "acceptable time in the queue", of)
}

/// The parameter `interval`.
pub(crate) const fn interval<C>(of: fn(&mut C) -> &mut Duration) -> Parameter<C> {
    let about = "time above the target before the first drop: about a round trip";
    Parameter::time("interval", MICROSECOND..=HOUR, about, of)
}

/// The parameter `ecn`.
pub(crate) const fn marks<C>(of: fn(&mut C) -> &mut bool) -> Parameter<C> {
    Parameter::switch("ecn", "mark ECN-capable packets in place of drops", of)
}

/// The parameter `ce_threshold`.
pub(crate) const fn threshold<C>(of: fn(&mut C) -> &mut Option<Duration>) -> Parameter<C> {
    let about = "mark every ECN-capable packet that waited longer";
    Parameter::time_or_never("ce_threshold", about, of)
}

/// When CoDel signals, and how.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Signals {
    pub(crate) target: Target,
    /// Whether ECN-capable packets are marked where others are dropped.
    pub(crate) ecn: bool,
    /// Time in the queue above which each ECN-capable packet is marked. None: never.
    pub(crate) ce_threshold: Option<Duration>,
}

/// The queue. Its packets are in a pool.
#[derive(Debug, Clone, Default)]
pub(crate) struct CodelQueue {
    pub(crate) queue: Queue,
    codel: Codel,
}

impl CodelQueue {
    /// The next packet, past CoDel's drops, and the packet's length. None if the queue is empty or
    /// emptied by drops.
    #[inline]
    pub(crate) fn pull<T, P: Storage<T>>(
        &mut self,
        pool: &mut Pool<T, P>,
        signals: Signals,
        now: Instant,
        dropped: &mut VecDeque<(P::Leaving, DropReason)>,
    ) -> Option<(P::Leaving, u32)> {
        let rules = signals.target.rules;
        let now = rules.clock(now);
        let mut bad_before = 0;
        loop {
            let Some(age) = pool.head_age(&self.queue) else {
                self.codel.reset();
                return None;
            };
            let len = self.queue.head_len();
            let mut packet = pool.pop(&mut self.queue)?;
            let sojourn = now.since(rules.clock(age.arrival));
            let waited = Waited {
                len,
                sojourn,
                backlog_bytes: pool.backlog().bytes,
                bad_before,
            };
            let is_bad = self.codel.judges_bad(signals.target, now, waited);
            let follows_linux = rules == Rules::Linux;
            // Linux resets the state above, when the next call finds the queue empty.
            if !follows_linux {
                self.reset_if_empty();
            }
            if is_bad {
                if !(signals.ecn && mark(&mut packet, age.ecn)) {
                    dropped.push_back((packet, DropReason::Early));
                    bad_before += 1;
                    continue;
                }
                if follows_linux {
                    self.codel.schedule_after_mark(signals.target);
                }
            }
            if signals
                .ce_threshold
                .is_some_and(|threshold| sojourn > rules.length(threshold))
            {
                mark(&mut packet, age.ecn);
            }
            return Some((packet, len));
        }
    }

    /// Resets CoDel if no packet waits. For packets that leave other than by [`pull`](Self::pull).
    #[inline]
    pub(crate) fn reset_if_empty(&mut self) {
        if self.queue.is_empty() {
            self.codel.reset();
        }
    }

    /// The scheduler has passed the queue and would have found the queue empty.
    pub(crate) fn found_empty(&mut self) {
        self.codel.reset();
    }

    /// Linux: packets dropped at a full buffer count as signals.
    pub(crate) fn overflowed(&mut self, packets: u32) {
        self.codel.count_drops(packets);
    }

    /// Panics if the queue is broken, or CoDel has something pending for an empty queue. In Linux a
    /// queue that is emptied without drops keeps CoDel's state until the scheduler comes to it.
    pub(crate) fn check<T, P: Storage<T>>(&self, pool: &Pool<T, P>, linux: bool) {
        assert!(
            linux || !self.queue.is_empty() || self.codel.is_at_rest(),
            "CoDel rests while the queue is empty"
        );
        pool.check_queue(&self.queue);
    }
}

/// Marks an ECN-capable packet. Returns whether the packet is marked.
fn mark(packet: &mut impl Leaving, ecn: Ecn) -> bool {
    if ecn == Ecn::Capable {
        packet.mark();
    }
    ecn != Ecn::NotCapable
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;
    use crate::packet::{FlowId, Packet};

    /// A queue that stands for a second, with a target of a nanosecond: CoDel judges the second
    /// packet bad.
    #[test]
    fn it_marks_what_may_be_marked_and_drops_the_rest() {
        for (ecn, marks, leaves) in [
            (Ecn::NotCapable, true, None),
            (Ecn::Capable, true, Some(Ecn::Marked)),
            (Ecn::Capable, false, None),
            (Ecn::Marked, true, Some(Ecn::Marked)),
            (Ecn::Marked, false, None),
        ] {
            let mut pool = Pool::default();
            let mut queue = CodelQueue::default();
            let mut dropped = VecDeque::new();
            for number in 0..6 {
                pool.push(
                    &mut queue.queue,
                    Packet {
                        ecn,
                        ..Packet::new(FlowId(0), 1500, number)
                    },
                );
            }
            let target = Target {
                target: Duration::from_nanos(1),
                interval: Duration::from_nanos(1),
                ..Target::DEFAULT
            };
            let signals = Signals {
                target,
                ecn: marks,
                ce_threshold: None,
            };
            let mut pull = |now| {
                queue
                    .pull(&mut pool, signals, Instant::from_nanos(now), &mut dropped)
                    .map(|(packet, _)| packet)
            };
            assert_eq!(
                pull(1_000).map(|packet| packet.ecn),
                Some(ecn),
                "the first packet begins the interval"
            );
            let second = pull(2_000).map(|packet| (packet.payload, packet.ecn));
            let dropped: Vec<_> = dropped
                .into_iter()
                .map(|(packet, reason)| (packet.payload, reason))
                .collect();
            match leaves {
                Some(marked) => assert_eq!((second, dropped), (Some((1, marked)), Vec::new())),
                None => assert_eq!(
                    (second, dropped),
                    (Some((2, ecn)), alloc::vec![(1, DropReason::Early)])
                ),
            }
        }
    }
}
