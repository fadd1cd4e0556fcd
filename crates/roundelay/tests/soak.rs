//! Soak test: the conformance tests' random calls in large numbers (`make soak`).
//!
//! Each run of calls starts on a fresh scheduler with a new seed, named in a failure. Needs debug
//! assertions: every discipline then checks its own invariants.

use std::sync::Mutex;
use std::thread;
use std::time::Instant;

use roundelay::Arena;
use roundelay::schedulers::{AnyDiscipline, Discipline, Visitor};
use roundelay::{Control, Seed};
use roundelay_conformance::{Audited, Mix, Violation, operations, subjects};

/// Calls on one scheduler.
const RUN: usize = 20_000;

struct Run {
    mix: Mix,
    seed: u64,
}

impl Visitor for Run {
    type Output = Result<(), Violation>;

    fn visit<D: Discipline>(self, discipline: &D) -> Self::Output {
        let mut audited = Audited::new(
            discipline
                .build(Seed::new(self.seed))
                .expect("legal parameters"),
            D::REORDERS,
        );
        audited.run(&operations(self.mix, self.seed, RUN))?;
        audited.scheduler().check_invariants();
        Ok(())
    }
}

fn run_by_handle(discipline: &AnyDiscipline, mix: Mix, seed: u64) -> Result<(), Violation> {
    let mut audited = Audited::new(
        Arena::scattered(
            discipline
                .build_by_handle(Seed::new(seed))
                .expect("legal parameters"),
            12,
        ),
        discipline.info().reorders,
    );
    audited.run(&operations(mix, seed, RUN))?;
    audited.scheduler().check_invariants();
    Ok(())
}

fn soak(discipline: &AnyDiscipline, calls: u64) {
    let started = Instant::now();
    let runs = calls.div_ceil(RUN as u64);
    for seed in 0..runs {
        let mix = Mix::ALL[seed as usize % Mix::ALL.len()];
        let outcome = discipline
            .visit(Run { mix, seed })
            .and_then(|()| run_by_handle(discipline, mix, seed));
        outcome.unwrap_or_else(|violation| {
            panic!("{discipline}, {mix:?}, seed {seed}: {violation:?}")
        });
    }
    let (done, seconds) = (runs * RUN as u64, started.elapsed().as_secs());
    println!(
        "{discipline}: {done} calls, seeds 0 to {}, {seconds} s",
        runs - 1
    );
}

/// `ROUNDELAY_SOAK` calls (default: a million) on each discipline and setting, by value and by
/// handle; `ROUNDELAY_SOAK_ONLY` names one discipline.
#[test]
#[ignore = "takes as long as it is told to"]
fn every_discipline_keeps_its_invariants_for_long() {
    let checks_invariants = cfg!(debug_assertions);
    assert!(
        checks_invariants,
        "without debug assertions the invariants are not checked"
    );
    let calls = std::env::var("ROUNDELAY_SOAK")
        .map_or(1_000_000, |calls| calls.parse().expect("a number of calls"));
    let only = std::env::var("ROUNDELAY_SOAK_ONLY").ok();
    let mut waiting = subjects();
    waiting.retain(|discipline| only.as_deref().is_none_or(|name| discipline.name() == name));
    waiting.reverse();
    let waiting = Mutex::new(waiting);
    let work = || {
        while let Some(discipline) = { waiting.lock().expect("no panic holds it").pop() } {
            soak(&discipline, calls);
        }
    };
    thread::scope(|scope| {
        (0..thread::available_parallelism().map_or(1, usize::from))
            .for_each(|_| drop(scope.spawn(work)))
    });
}
