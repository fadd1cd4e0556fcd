//! Schedulers with one contract violation each, to be found by the checks.

use roundelay::author::{Pool, Queue};
use roundelay::schedulers::fifo::Fifo;
use roundelay::{Backlog, Control, Footprint, Instant, Packet, Refusal, Refused, Scheduler};
use roundelay_conformance::{Mix, Violation, operations};

use super::{LENGTH, audit};

/// A violation of the contract, on some calls.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Lie {
    None,
    /// Accepts a packet and loses the packet.
    Loses,
    /// Loses a packet but keeps counting the packet.
    LosesAndCounts,
    /// Sends the newest packet first.
    Reorders,
    /// Dequeues nothing although packets wait.
    Idles,
    /// Sends a packet twice.
    Duplicates,
    /// Shortens a packet on the way.
    Trims,
    /// Returns a changed packet when refusing one.
    RefusesAnother,
    /// Refuses a packet but stores the packet.
    RefusesAndTakes,
    /// Evicts nothing.
    Hoards,
}

/// FIFO with one kind of lie, told if the count of checks in `lies` is a multiple of ten.
struct Liar {
    lie: Lie,
    calls: u64,
    pool: Pool<u64>,
    queue: Queue,
    uncounted: Backlog,
    twin: Option<Packet<u64>>,
}

impl Liar {
    fn new(lie: Lie) -> Self {
        Self {
            lie,
            calls: 0,
            pool: Pool::default(),
            queue: Queue::EMPTY,
            uncounted: Backlog::default(),
            twin: None,
        }
    }

    fn lies(&mut self, lie: Lie) -> bool {
        self.calls += 1;
        self.lie == lie && self.calls.is_multiple_of(10)
    }
}

impl Scheduler<u64> for Liar {
    fn enqueue(&mut self, _now: Instant, packet: Packet<u64>) -> Result<(), Refused<u64>> {
        if self.lies(Lie::Loses) {
            return Ok(());
        }
        if self.lies(Lie::LosesAndCounts) {
            self.uncounted.packets += 1;
            self.uncounted.bytes += u64::from(packet.len);
            return Ok(());
        }
        if self.lies(Lie::RefusesAnother) {
            let len = packet.len / 2 + 7;
            return Err(Packet { len, ..packet }.refused(Refusal::Other));
        }
        let refuses = self.lies(Lie::RefusesAndTakes);
        self.pool.push(&mut self.queue, packet);
        if refuses {
            Err(packet.refused(Refusal::Other))
        } else {
            Ok(())
        }
    }

    fn dequeue(&mut self, _now: Instant) -> Option<Packet<u64>> {
        if self.lies(Lie::Idles) {
            return None;
        }
        if let Some(twin) = self.twin.take() {
            return Some(twin);
        }
        let packet = if self.lies(Lie::Reorders) {
            self.pool.pop_tail(&mut self.queue)
        } else {
            self.pool.pop(&mut self.queue)
        };
        if self.lies(Lie::Duplicates) {
            self.twin = packet;
        }
        let trimmed = u32::from(self.lies(Lie::Trims));
        packet.map(|packet| Packet {
            len: packet.len.wrapping_sub(trimmed),
            ..packet
        })
    }

    fn evict(&mut self) -> Option<Packet<u64>> {
        if self.lies(Lie::Hoards) {
            None
        } else {
            self.pool.pop_tail(&mut self.queue)
        }
    }

    fn backlog(&self) -> Backlog {
        let Backlog { packets, bytes } = self.pool.backlog();
        Backlog {
            packets: packets + self.uncounted.packets,
            bytes: bytes + self.uncounted.bytes,
        }
    }
}

impl Control for Liar {
    fn footprint(&self) -> Footprint {
        Footprint::default()
    }
}

/// The first violation found by the audit in any mix of calls.
fn found(lie: Lie) -> Option<Violation> {
    Mix::ALL
        .into_iter()
        .find_map(|mix| audit(Liar::new(lie), false, &operations(mix, 1, LENGTH)).err())
}

#[test]
fn the_truth_is_believed() {
    assert_eq!(found(Lie::None), None);
    assert!(
        audit(
            Fifo::default(),
            false,
            &operations(Mix::FewFlows, 1, LENGTH)
        )
        .is_ok()
    );
}

#[test]
fn a_scheduler_that_loses_packets_is_caught() {
    assert!(matches!(
        found(Lie::Loses),
        Some(Violation::WrongBacklog { .. })
    ));
    // The calls decide whether the gap shows as a reordered packet or as an idle scheduler.
    assert!(matches!(
        found(Lie::LosesAndCounts),
        Some(Violation::Idle | Violation::Reordered { .. })
    ));
}

#[test]
fn a_scheduler_that_reorders_a_flow_is_caught() {
    assert!(matches!(
        found(Lie::Reorders),
        Some(Violation::Reordered { .. })
    ));
    assert!(
        audit(
            Liar::new(Lie::Reorders),
            true,
            &operations(Mix::FewFlows, 1, LENGTH)
        )
        .is_ok(),
        "unless it says that it does"
    );
}

#[test]
fn a_scheduler_that_idles_is_caught() {
    assert_eq!(found(Lie::Idles), Some(Violation::Idle));
    assert_eq!(found(Lie::Hoards), Some(Violation::GaveNothingUp));
}

#[test]
fn a_scheduler_that_duplicates_or_alters_packets_is_caught() {
    assert!(matches!(
        found(Lie::Duplicates),
        Some(Violation::NotHeld(_))
    ));
    assert!(matches!(found(Lie::Trims), Some(Violation::Altered(_))));
    assert!(matches!(
        found(Lie::RefusesAnother),
        Some(Violation::AlteredRefused(_))
    ));
    assert!(matches!(
        found(Lie::RefusesAndTakes),
        Some(Violation::WrongBacklog { .. })
    ));
}
