//! Invariants of a scheduler, checked after each call in debug builds.

use crate::packet::FlowId;
use crate::pool::Leaving;
use crate::scheduler::{Footprint, Scheduler};

/// Calls [`Scheduler::check_invariants`] after calls of a scheduler, in debug builds. Release builds
/// never check.
///
/// A [`Buffer`](crate::Buffer) does this, and so do all ports. A driver without a buffer can do the
/// same. While flows and packets are few and tables are small, each call is followed by a check;
/// otherwise every 61st call.
#[derive(Debug, Clone, Copy, Default)]
pub struct DebugCheck {
    /// The largest number of a flow so far, plus one.
    flows: u32,
    /// Calls since the last check.
    unchecked: u32,
}

/// Most flows and packets, and largest tables, for which each call is checked.
const FEW_FLOWS: u32 = 64;
const FEW_PACKETS: u64 = 256;
const FEW_BYTES: usize = 1 << 17;
/// Calls for each check of more flows, packets or bytes.
const SOMETIMES: u32 = 61;

impl DebugCheck {
    /// No flow so far.
    pub const NEW: Self = Self { flows: 0, unchecked: 0 };

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
        if self.unchecked >= SOMETIMES || self.is_cheap(scheduler) {
            self.unchecked = 0;
            scheduler.check_invariants();
        }
    }

    fn is_cheap<T, L: Leaving>(self, scheduler: &(impl Scheduler<T, L> + ?Sized)) -> bool {
        let Footprint { fixed_bytes, bytes_per_flow } = scheduler.footprint();
        let has_few_flows = bytes_per_flow == 0 || self.flows <= FEW_FLOWS;
        has_few_flows && fixed_bytes <= FEW_BYTES && scheduler.backlog().packets <= FEW_PACKETS
    }
}

#[cfg(test)]
mod tests {
    use core::cell::Cell;

    use super::*;
    use crate::packet::Packet;
    use crate::pool::Backlog;
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
            Footprint { fixed_bytes: self.bytes, bytes_per_flow: self.bytes_per_flow }
        }

        fn check_invariants(&self) {
            self.checks.set(self.checks.get() + 1);
        }
    }

    #[test]
    fn few_are_checked_always_and_many_sometimes() {
        let checks = |flow: u32, packets: u64, bytes: usize, bytes_per_flow: usize| {
            let scheduler = Counting { packets, bytes, bytes_per_flow, checks: Cell::new(0) };
            let mut check = DebugCheck::NEW;
            check.names(FlowId(flow));
            (0..610).for_each(|_| check.after_call(&scheduler));
            scheduler.checks.get()
        };
        let [always, sometimes] = if cfg!(debug_assertions) { [610, 10] } else { [0, 0] };
        for (flow, packets, bytes, bytes_per_flow, expected) in [
            (63, 256, FEW_BYTES, 100, always),
            (64, 256, FEW_BYTES, 100, sometimes),
            (u32::MAX, 256, FEW_BYTES, 0, always),
            (63, 257, FEW_BYTES, 100, sometimes),
            (63, 256, FEW_BYTES + 1, 0, sometimes),
        ] {
            assert_eq!(checks(flow, packets, bytes, bytes_per_flow), expected, "{flow} {packets} {bytes} {bytes_per_flow}");
        }
    }

    /// The tables of every discipline with its own parameters are small.
    #[test]
    fn tables_of_all_disciplines_are_small() {
        for discipline in AnyDiscipline::all() {
            let scheduler = discipline.build::<()>(1).expect("legal parameters");
            assert!(DebugCheck::NEW.is_cheap(&scheduler), "{discipline}");
        }
    }
}
