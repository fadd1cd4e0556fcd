//! GFQ: the bounds proved in `gfq.rs`; DRR breaks each bound in the same workload.

use roundelay::schedulers::gfq::{Config, Gfq};
use roundelay::schedulers::qfq;

use crate::theorems::audited::{random_operations, saturated_bursts};
use crate::theorems::strata;
use crate::theorems::workload::{Driven, adversaries};

#[test]
fn bounds_hold_in_random_and_adversarial_workloads() {
    strata::bounds_hold(&Config, &adversaries::for_rounded_finishes(), 1_000);
}

#[test]
fn invariants_hold_after_each_operation() {
    for seed in 0..120 {
        random_operations(
            Gfq::default(),
            seed,
            400,
            [0.0, 0.02, 0.2][seed as usize % 3],
            1_000,
            false,
        );
    }
    (0..400).for_each(|seed| saturated_bursts(Gfq::default(), seed));
}

#[test]
fn weights_stay_while_what_their_flows_had_ahead_counts() {
    strata::flows_served_ahead_leave(Gfq::default(), 2, 1 << 15);
}

#[test]
fn known_bug_13_weights_and_lengths_may_change_at_any_time() {
    (0..100).for_each(|seed| {
        random_operations(Gfq::default(), 1_000_000 + seed, 400, 0.4, 1_000, false)
    });
}

#[test]
fn known_bug_13_a_flow_far_ahead_gets_short_slots() {
    strata::a_flow_far_ahead_gets_short_slots(Gfq::default());
}

#[test]
fn known_bug_16_a_flow_keeps_its_share_after_virtual_time_wrapped() {
    strata::keeps_shares_when_virtual_time_wraps(Gfq::default, 44, 4);
}

#[test]
fn known_bugs_02_and_07_what_is_refused_changes_nothing() {
    strata::refusals_change_nothing(Gfq::default);
}

#[test]
fn known_bug_53_an_emptied_scheduler_is_as_good_as_new() {
    strata::an_emptied_scheduler_is_as_good_as_new(Gfq::default);
}

#[test]
fn thousands_of_flows_keep_their_bounds() {
    strata::thousands_of_flows_keep_their_bounds(&Config, strata::ROUNDING);
}

/// The QFQ paper has the bounds of GFQ a slot below the bounds of QFQ. This is true in time, and
/// not in bytes: rounding F up to a whole slot can cost as much as rounding up to the end of the
/// next slot, if the packet fills a slot.
#[test]
fn the_b_wfi_is_not_a_whole_slot_below_that_of_qfq() {
    let workload = adversaries::for_rounded_finishes();
    let outcome = workload.outcome(&Config);
    let qfq = workload.guarantees(&qfq::Config, 0);
    // The light flow: L_k = phi sigma = 2048.
    let slot = 2048.0;
    let a_slot_less = qfq.b_wfi.expect("promised").value as f64 - slot;
    println!(
        "B-WFI: measured {:.0} bytes, that of QFQ less a slot {a_slot_less}",
        outcome.b_wfi_by_bit[0]
    );
    assert!(outcome.b_wfi_by_bit[0] > 1.2 * a_slot_less);
    let share = workload.share(0);
    let a_slot_sooner =
        qfq.t_wfi.expect("promised").value - share.rate.time_of(share.per_share(2048));
    assert_eq!(
        workload
            .guarantees(&Config, 0)
            .t_wfi
            .expect("promised")
            .value,
        a_slot_sooner,
        "in time it is"
    );
}
