//! Scheduler contract, tested on every discipline in the registry; this file names no discipline.

mod any_port;
mod bursts;
mod custom;
mod edges;
mod facts;
mod handles;
mod leaving;
mod liars;
mod memory;
mod port;
mod reconfiguration;

use std::thread;

use roundelay::Scheduler;
use roundelay::Seed;
use roundelay::schedulers::{AnyDiscipline, Discipline, Visitor};
use roundelay_conformance::{
    Audited, Event, Mix, Operation, Violation, check, idling, operations, subjects,
};

const LENGTH: usize = 3_000;

/// Runs the operations twice, with a drain after each run.
fn audit<S: Scheduler<u64>>(
    scheduler: S,
    reorders: bool,
    operations: &[Operation],
) -> Result<Vec<Event>, Violation> {
    let mut audited = Audited::new(scheduler, reorders);
    audited.run(operations)?;
    audited.scheduler().check_invariants();
    audited.run(operations)?;
    Ok(audited.events().to_vec())
}

struct Audit<'a> {
    operations: &'a [Operation],
    seed: u64,
}

impl Visitor for Audit<'_> {
    type Output = Result<Vec<Event>, Violation>;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        audit(
            discipline
                .build(Seed::new(self.seed))
                .expect("legal parameters"),
            discipline.info().reorders,
            self.operations,
        )
    }
}

/// Packets and bytes are conserved, flows keep their order, no backlogged scheduler idles, refusals
/// change nothing, and the scheduler by handle gives the same packets.
#[test]
fn every_discipline_keeps_the_contract_and_repeats_itself() {
    let mut subjects = subjects();
    subjects.extend(idling());
    let refused = |disciplines: &[AnyDiscipline]| -> usize {
        let checked = disciplines.iter().map(|discipline| {
            let checked =
                check(discipline).unwrap_or_else(|broken| panic!("{discipline}: {broken}"));
            assert!(checked.sent > 1_000, "{discipline}: {checked:?}");
            checked.refused
        });
        checked.sum()
    };
    let refused: usize = thread::scope(|scope| {
        let threads: Vec<_> = subjects
            .chunks(8)
            .map(|disciplines| scope.spawn(|| refused(disciplines)))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().expect("the contract holds"))
            .sum()
    });
    assert!(refused > 1_000, "only {refused} refusals were tested");
}

/// The scheduler of a static type and the one in an `AnyScheduler` give the same packets.
#[test]
fn both_ways_to_build_a_discipline_give_the_same_events() {
    for discipline in subjects().into_iter().chain(idling()) {
        for mix in Mix::ALL {
            let operations = operations(mix, 2, LENGTH);
            let events = discipline.visit(Audit {
                operations: &operations,
                seed: 2,
            });
            let any = audit(
                discipline.build(Seed::new(2)).expect("legal parameters"),
                discipline.info().reorders,
                &operations,
            );
            assert!(events.is_ok() && any == events, "{discipline}, {mix:?}");
        }
    }
}

/// Another seed may change the order, but the contract holds.
#[test]
fn seeds_that_differ_are_as_good() {
    let operations = operations(Mix::ManyFlows, 3, LENGTH);
    for discipline in subjects() {
        for seed in [0, 1, u64::MAX] {
            assert!(
                discipline
                    .visit(Audit {
                        operations: &operations,
                        seed
                    })
                    .is_ok(),
                "{discipline}, seed {seed}"
            );
        }
    }
}
