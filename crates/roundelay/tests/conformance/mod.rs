//! Scheduler contract, tested on every discipline in the registry; this file names no discipline.

mod bursts;
mod edges;
mod handles;
mod leaving;
mod liars;
mod memory;
mod port;
mod reconfiguration;
pub(crate) mod workload;

use self::workload::{Mix, operations};
use crate::operations::{Arena, Audited, Event, Operation, Violation, subjects};
use roundelay::Scheduler;
use roundelay::schedulers::{Discipline, Visitor};

const SEEDS: u64 = 6;
const LENGTH: usize = 3_000;

/// Runs the operations twice, with a drain after each run: the drained scheduler should be as good
/// as new.
fn audit<S: Scheduler<u64>>(scheduler: S, reorders: bool, operations: &[Operation]) -> Result<Vec<Event>, Violation> {
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
        audit(discipline.build(self.seed).expect("legal parameters"), D::REORDERS, self.operations)
    }
}

/// Packets and bytes are conserved, flows keep their order, no backlogged scheduler idles, and both
/// ways to build a discipline give the same events, as does the scheduler by handle.
#[test]
fn every_discipline_keeps_the_contract_and_repeats_itself() {
    for discipline in subjects() {
        for (mix, seed) in Mix::ALL.into_iter().flat_map(|mix| (0..SEEDS).map(move |seed| (mix, seed))) {
            let operations = operations(mix, seed, LENGTH);
            let once = discipline.visit(Audit { operations: &operations, seed });
            let events = once.unwrap_or_else(|violation| panic!("{discipline}, {mix:?}, seed {seed}: {violation:?}"));
            assert!(events.iter().any(|event| matches!(event, Event::Sent(_))), "{discipline}, {mix:?}: nothing was sent");
            let again = audit(discipline.build(seed).expect("legal parameters"), discipline.info().reorders, &operations);
            assert_eq!(again.as_ref(), Ok(&events), "{discipline}, {mix:?}, seed {seed}");
            let by_handle = audit(Arena::new(&discipline, seed), discipline.info().reorders, &operations);
            assert_eq!(by_handle.as_ref(), Ok(&events), "{discipline} by handle, {mix:?}, seed {seed}");
        }
    }
}

/// A refusal changes nothing: the same calls without the refused ones give the same packets.
#[test]
fn a_refusal_leaves_no_trace() {
    let mut refusals = 0;
    for discipline in subjects() {
        // A perturbation happens in the first call at or after its time: a missing call would shift
        // the next perturbation.
        if discipline.to_string().contains("perturb") {
            continue;
        }
        for mix in Mix::ALL {
            let operations = operations(mix, 7, LENGTH);
            let mut with = Audited::new(discipline.build(1).expect("legal parameters"), discipline.info().reorders);
            let mut without = Audited::new(discipline.build(1).expect("legal parameters"), discipline.info().reorders);
            for operation in operations {
                let before = with.events().len();
                with.apply(operation).unwrap();
                if matches!(with.events()[before..], [Event::Refused(_)]) {
                    refusals += 1;
                    without.skip_serial();
                } else {
                    without.apply(operation).unwrap();
                }
            }
            let accepted: Vec<_> = with.events().iter().copied().filter(|event| !matches!(event, Event::Refused(_))).collect();
            assert_eq!(accepted, without.events(), "{discipline}, {mix:?}");
        }
    }
    assert!(refusals > 1_000, "only {refusals} refusals were tested");
}

/// Another seed may change the order, but the contract holds.
#[test]
fn seeds_that_differ_are_as_good() {
    let operations = operations(Mix::ManyFlows, 3, LENGTH);
    for discipline in subjects() {
        for seed in [0, 1, u64::MAX] {
            assert!(discipline.visit(Audit { operations: &operations, seed }).is_ok(), "{discipline}, seed {seed}");
        }
    }
}
