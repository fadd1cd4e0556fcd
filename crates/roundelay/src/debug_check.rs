//! Checks a scheduler's invariants after each call, in debug builds.

use crate::control::Footprint;
use crate::handle::Leaving;
use crate::packet::FlowId;
use crate::scheduler::Scheduler;

/// Calls [`check_invariants`](crate::Control::check_invariants) after calls of a scheduler, in debug builds. Release
/// builds never check.
///
/// A [`Buffer`](crate::Buffer) does this, and so do all ports. A driver without a buffer can do the
/// same. A check looks at all packets, flows and tables. While these are few and small, each call
/// is followed by a check. Beyond, checks are as rare as they are expensive, but at least every
/// 61st call is checked.
#[derive(Debug, Clone, Copy, Default)]
pub struct DebugCheck {
    /// The largest flow number so far, plus one.
    flows: u32,
    /// Calls since the last check.
    unchecked: u32,
}

/// How many packets, flows and blocks of tables a check may look at for each call.
const A_CALL: u64 = 32;
/// Bytes of tables that cost as much as a packet.
const BLOCK_BYTES: usize = 4096;
/// Most calls from one check to the next.
const SOMETIMES: u32 = 61;

impl DebugCheck {
    /// No flow so far.
    pub const NEW: Self = Self {
        flows: 0,
        unchecked: 0,
    };

    /// The scheduler has taken a packet or settings of this flow.
    #[inline]
    pub const fn names(&mut self, flow: FlowId) {
        if cfg!(debug_assertions) && self.flows <= flow.0 {
            self.flows = flow.0.saturating_add(1);
        }
    }

    /// # Panics
    /// The scheduler breaks an invariant.
    #[inline]
    pub fn after_call<T, L: Leaving>(&mut self, scheduler: &(impl Scheduler<T, L> + ?Sized)) {
        if !cfg!(debug_assertions) {
            return;
        }
        self.unchecked += 1;
        if self.unchecked >= SOMETIMES || u64::from(self.unchecked) * A_CALL >= self.cost(scheduler)
        {
            self.unchecked = 0;
            scheduler.check_invariants();
        }
    }

    fn cost<T, L: Leaving>(self, scheduler: &(impl Scheduler<T, L> + ?Sized)) -> u64 {
        let Footprint {
            fixed_bytes,
            bytes_per_flow,
        } = scheduler.footprint();
        let flows = if bytes_per_flow == 0 { 0 } else { self.flows };
        scheduler.backlog().packets + u64::from(flows) + (fixed_bytes / BLOCK_BYTES) as u64
    }
}

#[cfg(test)]
mod tests {
    use crate::seed::Seed;
    use core::cell::Cell;

    use super::*;
    use crate::control::Control;
    use crate::limit::Backlog;
    use crate::packet::Packet;
    use crate::schedulers::AnyDiscipline;
    use crate::time::Instant;

    /// Counts its checks.
    struct Counting {
        packets: u64,
        bytes: usize,
        bytes_per_flow: usize,
        checks: Cell<u32>,
    }

    impl Scheduler<()> for Counting {
        fn enqueue(
            &mut self,
            _now: Instant,
            _packet: Packet<()>,
        ) -> Result<(), crate::drops::Refused<()>> {
            Ok(())
        }

        fn dequeue(&mut self, _now: Instant) -> Option<Packet<()>> {
            None
        }

        fn evict(&mut self) -> Option<Packet<()>> {
            None
        }

        fn backlog(&self) -> Backlog {
            Backlog {
                packets: self.packets,
                bytes: 0,
            }
        }
    }

    impl Control for Counting {
        fn footprint(&self) -> Footprint {
            Footprint {
                fixed_bytes: self.bytes,
                bytes_per_flow: self.bytes_per_flow,
            }
        }

        fn check_invariants(&self) {
            self.checks.set(self.checks.get() + 1);
        }
    }

    #[test]
    fn few_are_checked_always_and_many_sometimes() {
        let checks = |flow: u32, packets: u64, bytes: usize, bytes_per_flow: usize| {
            let scheduler = Counting {
                packets,
                bytes,
                bytes_per_flow,
                checks: Cell::new(0),
            };
            let mut check = DebugCheck::NEW;
            check.names(FlowId(flow));
            (0..610).for_each(|_| check.after_call(&scheduler));
            scheduler.checks.get()
        };
        let block = BLOCK_BYTES;
        for (flow, packets, bytes, bytes_per_flow, expected) in [
            (9, 20, 2 * block, 100, 610),
            (9, 21, 2 * block, 100, 305),
            (9, 20, 3 * block, 100, 305),
            (10, 20, 2 * block, 100, 305),
            (u32::MAX, 20, 12 * block, 0, 610),
            (0, 320, 0, 0, 61),
            (u32::MAX, 0, 0, 1, 10),
            (0, u64::MAX >> 1, 0, 0, 10),
        ] {
            let expected = if cfg!(debug_assertions) { expected } else { 0 };
            assert_eq!(
                checks(flow, packets, bytes, bytes_per_flow),
                expected,
                "{flow} {packets} {bytes} {bytes_per_flow}"
            );
        }
    }

    /// At default parameters, every discipline's tables are small enough to check after each call.
    /// Only cake's are not, with three tins of 1024 queues each.
    #[test]
    fn tables_of_all_disciplines_are_small() {
        for discipline in AnyDiscipline::all() {
            if discipline.name() == "cake" {
                continue;
            }
            let scheduler = discipline
                .build::<()>(Seed::new(1))
                .expect("legal parameters");
            assert!(DebugCheck::NEW.cost(&scheduler) <= A_CALL, "{discipline}");
        }
    }
}
