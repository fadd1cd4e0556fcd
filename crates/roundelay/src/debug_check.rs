//! Invariants of a scheduler, checked after each call in debug builds.

use crate::packet::FlowId;
use crate::pool::Leaving;
use crate::scheduler::{Footprint, Scheduler};

/// Calls [`Scheduler::check_invariants`] after calls of a scheduler, in debug builds. Release builds
/// never check.
///
/// A [`Buffer`](crate::Buffer) does this, and so do all ports. A driver without a buffer can do the same.
/// While flows, packets and queues are few, each call is followed by a check; while they are many,
/// some calls are.
#[derive(Debug, Clone, Copy, Default)]
pub struct DebugCheck {
    /// The largest number of a flow so far, plus one.
    flows: u32,
}

/// Most flows and packets, and the most memory without packets, of a scheduler that is checked after
/// each call.
const FEW_FLOWS: u32 = 64;
const FEW_PACKETS: u64 = 256;
const FEW_BYTES: usize = 1 << 16;
/// Of more flows, packets or bytes: calls after which this divides the backlog plus one.
const SOMETIMES: u64 = 61;

impl DebugCheck {
    /// No flow so far.
    pub const NEW: Self = Self { flows: 0 };

    /// The next call names this flow.
    #[inline]
    pub const fn names(&mut self, flow: FlowId) {
        if cfg!(debug_assertions) && self.flows <= flow.0 {
            self.flows = flow.0.saturating_add(1);
        }
    }

    /// # Panics
    /// The scheduler breaks an invariant.
    #[inline]
    pub fn after_call<T, L: Leaving>(self, scheduler: &(impl Scheduler<T, L> + ?Sized)) {
        if cfg!(debug_assertions) && self.is_due(scheduler) {
            scheduler.check_invariants();
        }
    }

    fn is_due<T, L: Leaving>(self, scheduler: &(impl Scheduler<T, L> + ?Sized)) -> bool {
        let packets = scheduler.backlog().packets;
        let is_small = || {
            let Footprint { fixed_bytes, bytes_per_flow } = scheduler.footprint();
            fixed_bytes + self.flows as usize * bytes_per_flow <= FEW_BYTES
        };
        (packets + 1).is_multiple_of(SOMETIMES) || (self.flows <= FEW_FLOWS && packets <= FEW_PACKETS && is_small())
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;
    use crate::packet::Packet;
    use crate::pool::Backlog;
    use crate::time::Instant;

    /// Counts its checks.
    struct Counting {
        packets: u64,
        bytes: usize,
        checks: Cell<u32>,
    }

    impl Scheduler<()> for Counting {
        fn enqueue(&mut self, _now: Instant, _packet: Packet<()>) -> Result<(), Packet<()>> {
            Ok(())
        }

        fn dequeue(&mut self, _now: Instant) -> Option<Packet<()>> {
            None
        }

        fn evict(&mut self) -> Option<Packet<()>> {
            None
        }

        fn backlog(&self) -> Backlog {
            Backlog { packets: self.packets, bytes: 0 }
        }

        fn footprint(&self) -> Footprint {
            Footprint { fixed_bytes: self.bytes, bytes_per_flow: 100 }
        }

        fn check_invariants(&self) {
            self.checks.set(self.checks.get() + 1);
        }
    }

    #[test]
    fn few_are_checked_always_and_many_sometimes() {
        let checks = |flow: u32, packets: u64, bytes: usize| {
            let scheduler = Counting { packets, bytes, checks: Cell::new(0) };
            let mut check = DebugCheck::NEW;
            check.names(FlowId(flow));
            check.after_call(&scheduler);
            scheduler.checks.get()
        };
        let always = u32::from(cfg!(debug_assertions));
        for (few, many) in [((63, 256, 0), (64, 256, 0)), ((63, 256, 0), (63, 257, 0)), ((9, 9, 64_536), (9, 9, 64_537))] {
            assert_eq!((checks(few.0, few.1, few.2), checks(many.0, many.1, many.2)), (always, 0));
        }
        assert_eq!(checks(u32::MAX, 61 * 1_000 - 1, usize::MAX), always);
    }
}
