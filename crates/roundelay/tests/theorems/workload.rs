//! The workloads of `roundelay-metrics`, driven through disciplines that must be legal and lose no
//! packet.

use roundelay::Scheduler;
use roundelay::schedulers::Discipline;
use roundelay_metrics::Stamp;
pub(crate) use roundelay_metrics::workload::{
    Lengths, Outcome, RATE, Ratios, Refill, SaturatedBursts, Source, Workload, adversaries,
};

pub(crate) trait Driven {
    fn scheduler<D: Discipline>(&self, discipline: &D) -> D::Scheduler<Stamp>;
    fn driven<'a>(&self, scheduler: impl Scheduler<Stamp> + 'a) -> Outcome;
    fn outcome<D: Discipline>(&self, discipline: &D) -> Outcome;
}

impl Driven for Workload {
    fn scheduler<D: Discipline>(&self, discipline: &D) -> D::Scheduler<Stamp> {
        self.build(discipline)
            .expect("a legal configuration and legal flows")
    }

    fn driven<'a>(&self, scheduler: impl Scheduler<Stamp> + 'a) -> Outcome {
        let outcome = self.drive(scheduler);
        assert_eq!(outcome.lost, 0, "each packet that arrived has left");
        outcome
    }

    fn outcome<D: Discipline>(&self, discipline: &D) -> Outcome {
        self.driven(self.scheduler(discipline))
    }
}

/// Without packets on the link when a flow becomes backlogged both measures of B-WFI are the same;
/// otherwise they differ by phi L at most.
#[test]
fn both_measures_of_b_wfi_agree() {
    for seed in 0..300 {
        let workload = Workload::random(seed);
        let outcome = workload.outcome(&roundelay::schedulers::qfq::Config);
        for flow in 0..workload.sources.len() {
            let share = workload.share(flow);
            let difference = outcome.b_wfi_by_bit[flow] - outcome.b_wfi[flow];
            let most = if workload.name == "saturated" {
                0
            } else {
                share.of(share.link_max_packet_len.into())
            };
            assert!(
                (-1e-6..=most as f64 + 1e-6).contains(&difference),
                "seed {seed}, flow {flow}: they differ by {difference}"
            );
        }
    }
}

/// The record of a run has each packet twice, and its largest lag is the B-WFI.
#[test]
fn a_record_has_the_largest_lag_in_it() {
    let workload = adversaries::for_start_slots();
    let (outcome, events) = workload
        .record(&roundelay::schedulers::qfq::Config.into(), 0)
        .expect("legal");
    assert_eq!(events.len(), 2 * outcome.order.len());
    let largest = events.iter().map(|event| event.lag).fold(0.0, f64::max);
    assert_eq!(largest, outcome.b_wfi_by_bit[0]);
}
