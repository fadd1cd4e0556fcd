//! S-KPS: the bounds proved in `s_kps.rs`; DRR breaks each bound in the same workload.

use roundelay::schedulers::s_kps::{Config, SKps};

use crate::theorems::audited::{random_operations, saturated_bursts};
use crate::theorems::strata;
use crate::theorems::workload::{Driven, adversaries};

#[test]
fn bounds_hold_in_random_and_adversarial_workloads() {
    strata::bounds_hold(&Config, &adversaries::for_wide_slots(), 1_000);
}

#[test]
fn invariants_hold_after_each_operation() {
    for seed in 0..120 {
        random_operations(
            SKps::default(),
            seed,
            400,
            [0.0, 0.02, 0.2][seed as usize % 3],
            1_000,
            false,
        );
    }
    (0..400).for_each(|seed| saturated_bursts(SKps::default(), seed));
}

#[test]
fn weights_stay_while_what_their_flows_had_ahead_counts() {
    strata::flows_served_ahead_leave(SKps::default(), 3, 1 << 14);
}

#[test]
fn known_bug_13_weights_and_lengths_may_change_at_any_time() {
    (0..100).for_each(|seed| {
        random_operations(SKps::default(), 1_000_000 + seed, 400, 0.4, 1_000, false)
    });
}

#[test]
fn known_bug_13_a_flow_far_ahead_gets_short_slots() {
    strata::a_flow_far_ahead_gets_short_slots(SKps::default());
}

#[test]
fn known_bug_16_a_flow_keeps_its_share_after_virtual_time_wrapped() {
    strata::keeps_shares_when_virtual_time_wraps(SKps::default, 44, 4);
}

#[test]
fn known_bugs_02_and_07_what_is_refused_changes_nothing() {
    strata::refusals_change_nothing(SKps::default);
}

#[test]
fn known_bug_53_an_emptied_scheduler_is_as_good_as_new() {
    strata::an_emptied_scheduler_is_as_good_as_new(SKps::default);
}

#[test]
fn thousands_of_flows_keep_their_bounds() {
    strata::thousands_of_flows_keep_their_bounds(&Config, strata::ROUNDING);
}

/// The QFQ paper's B-WFI of S-KPS, three slots above its bound for QFQ, lacks L_k as the bound for
/// QFQ does; the T-WFI does not.
#[test]
fn the_b_wfi_as_printed_is_exceeded() {
    let workload = adversaries::for_wide_slots();
    let (outcome, promised) = (workload.outcome(&Config), workload.guarantees(&Config, 0));
    let printed = promised.b_wfi.expect("promised").value as f64 - 2048.0;
    println!(
        "B-WFI: measured {:.0} bytes, printed bound {printed}",
        outcome.b_wfi_by_bit[0]
    );
    assert!(outcome.b_wfi_by_bit[0] > 1.1 * printed);
    let share = workload.share(0);
    let six_slots = share
        .rate
        .time_of(share.per_share(6 * 2048) + 2 * u64::from(share.link_max_packet_len));
    assert_eq!(
        promised.t_wfi.expect("promised").value,
        six_slots,
        "as printed: three slots more than QFQ's"
    );
    assert!(outcome.t_wfi[0] <= six_slots.as_secs_f64() * 1.001);
}
