//! Allocations of trees in steady state.

use allocation_counter::measure;
use roundelay::Seed;
use roundelay::{FlowId, Instant, Packet, Scheduler};

use super::plans::plans;

/// Debug builds check the invariants of each node's scheduler, which allocates.
#[test]
#[cfg_attr(debug_assertions, ignore = "in release builds")]
fn nothing_is_allocated_in_steady_state() {
    for (name, plan) in plans() {
        let mut tree = plan.build_tree(Seed::new(1)).unwrap();
        let mut churn = |pairs: u32| {
            for number in 0..pairs {
                let packet = Packet::new(
                    FlowId(number.wrapping_mul(7919) % 128),
                    64 + number % 1450,
                    u64::from(number),
                );
                let _ = tree.enqueue(Instant::ZERO, packet);
                while tree.take_dropped().is_some() {}
                while tree.backlog().packets > if number / 1000 % 2 == 0 { 310 } else { 360 } {
                    tree.dequeue(Instant::ZERO);
                    while tree.take_dropped().is_some() {}
                }
            }
        };
        // Queues of levels find their longest late: bounds adapt.
        (0..4).for_each(|_| churn(50_000));
        assert_eq!(measure(|| churn(50_000)).count_total, 0, "{name}");
    }
}
