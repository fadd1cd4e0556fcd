//! Runner: all parts of a plan with all seeds, in parallel unless time is measured, except for
//! cached runs.

use std::collections::BTreeSet;
use std::path::PathBuf;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use roundelay_bench::cpu_seconds;
use roundelay_sim::scenario::Scenario;

use crate::cache::{Cache, Done, hash};
use crate::experiments::{Experiment, Failed};
use crate::figures::Figures;
use crate::plan::{Plan, Setting, Variation};

/// Settings for running plans.
#[derive(Debug, Clone)]
pub struct Runner {
    /// Quick or full.
    pub setting: Setting,
    /// Versions of the code: cached results of other versions are not used.
    pub versions: Versions,
    /// A replacement for the examined disciplines: a deliberate fault.
    pub instead: Option<String>,
    /// Number of seeds of each variation; None: as in the plan.
    pub seeds: Option<u64>,
}

/// Versions of the code that runs depend on.
#[derive(Debug, Clone)]
pub struct Versions {
    /// Version of the program as a whole.
    pub program: String,
    /// Version of what a simulation uses: its network, disciplines, sources and transport
    /// protocols, and the figures of plans. None stands for the program's version.
    pub of_simulation: fn(&Scenario) -> Option<String>,
}

impl Versions {
    /// One version for all runs.
    pub fn of_program(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            of_simulation: |_| None,
        }
    }

    fn of(&self, experiment: &dyn Experiment, part: &str) -> String {
        experiment
            .simulated(part)
            .and_then(|scenario| (self.of_simulation)(&scenario))
            .unwrap_or_else(|| self.program.clone())
    }
}

/// Results of a plan.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Figures of each variation, the plan as it stands first.
    pub variations: Vec<(Variation, Figures)>,
    /// Counterexamples of the plan as it stands, by part.
    pub traces: Vec<(String, Vec<String>)>,
    /// CPU seconds of all runs, including cached ones.
    pub seconds: f64,
    /// Number of all runs, and of cached runs.
    pub runs: [usize; 2],
}

/// One run: a part of a variation with a seed.
struct Job {
    variation: usize,
    part: String,
    seed: u64,
    key: String,
}

impl Runner {
    /// Runs a plan. `tell` is called after each run.
    ///
    /// # Errors
    /// The fault of the plan, or the failure.
    pub fn run(&self, plan: &Plan, cache: &Cache, tell: &(dyn Fn() + Sync)) -> Result<Ran, Failed> {
        let mut variations = plan.variations(self.setting)?;
        if let Some(seeds) = self.seeds {
            variations
                .iter_mut()
                .for_each(|variation| variation.seeds = seeds);
        }
        let experiments = variations
            .iter()
            .map(|variation| self.experiment(variation))
            .collect::<Result<Vec<_>, _>>()?;
        let jobs = self.jobs(&variations, &experiments);
        let known = jobs
            .iter()
            .filter(|job| cache.find(&job.key).is_some())
            .count();
        let one = |job: &Job| -> Result<Done, Failed> {
            let done = match cache.find(&job.key) {
                Some(done) => done,
                None => {
                    let began = cpu_seconds();
                    let outcome = experiments[job.variation].run(&job.part, job.seed);
                    let mut outcome = outcome.map_err(|Failed(why)| {
                        Failed(format!("{}, seed {}: {why}", job.part, job.seed))
                    })?;
                    // A division by zero is not a number: the figure has no value with this seed.
                    outcome.rows.retain(|row| row.value.is_finite());
                    cache.add(job.key.clone(), cpu_seconds() - began, outcome)?
                }
            };
            tell();
            Ok(done)
        };
        let done: Vec<Done> = if experiments.iter().any(|experiment| experiment.runs_alone()) {
            jobs.iter().map(one).collect::<Result<_, _>>()?
        } else {
            jobs.par_iter().map(one).collect::<Result<_, _>>()?
        };
        let mut ran = Ran::gather(variations, &jobs, done, known);
        for ((_, figures), experiment) in ran.variations.iter_mut().zip(&experiments) {
            figures.is_exact = experiment.is_exact();
        }
        Ok(ran)
    }

    /// Number of runs of a plan.
    ///
    /// # Errors
    /// The fault of the plan.
    pub fn count(&self, plan: &Plan) -> Result<usize, Failed> {
        let variations = plan.variations(self.setting)?;
        let counts = variations.iter().map(|variation| {
            let parts = self.experiment(variation)?.parts().len();
            Ok(parts * self.seeds.unwrap_or(variation.seeds) as usize)
        });
        counts.sum()
    }

    /// Files that the scenarios of a plan read.
    ///
    /// # Errors
    /// The fault of the plan.
    pub fn files(&self, plan: &Plan) -> Result<BTreeSet<PathBuf>, Failed> {
        let mut files = BTreeSet::new();
        for variation in &plan.variations(self.setting)? {
            let experiment = self.experiment(variation)?;
            files.extend(
                experiment
                    .parts()
                    .iter()
                    .flat_map(|part| experiment.files(part)),
            );
        }
        Ok(files)
    }

    fn experiment(&self, variation: &Variation) -> Result<Box<dyn Experiment>, Failed> {
        let mut experiment = variation.experiment()?;
        if let Some(discipline) = &self.instead {
            experiment.instead(discipline)?;
        }
        Ok(experiment)
    }

    fn jobs(&self, variations: &[Variation], experiments: &[Box<dyn Experiment>]) -> Vec<Job> {
        let mut jobs = Vec::new();
        for (number, (variation, experiment)) in variations.iter().zip(experiments).enumerate() {
            let identity = variation.identity();
            for part in experiment.parts() {
                let version = self.versions.of(experiment.as_ref(), &part);
                for seed in 1..=variation.seeds {
                    let instead = self.instead.as_deref().unwrap_or("");
                    let run = hash([identity.as_str(), &part, &seed.to_string(), instead]);
                    let key = format!("{version}-{run}");
                    jobs.push(Job {
                        variation: number,
                        part: part.clone(),
                        seed,
                        key,
                    });
                }
            }
        }
        jobs
    }
}

impl Ran {
    fn gather(variations: Vec<Variation>, jobs: &[Job], done: Vec<Done>, known: usize) -> Self {
        let mut figures = vec![Figures::default(); variations.len()];
        let mut traces = Vec::new();
        let seconds = done.iter().map(|done| done.seconds).sum();
        for (job, Done { outcome, .. }) in jobs.iter().zip(done) {
            figures[job.variation].add(job.seed, &outcome.rows);
            if job.variation == 0
                && !outcome.trace.is_empty()
                && !traces.iter().any(|(part, _)| *part == job.part)
            {
                traces.push((job.part.clone(), outcome.trace));
            }
        }
        Self {
            variations: variations.into_iter().zip(figures).collect(),
            traces,
            seconds,
            runs: [jobs.len(), known],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kind;
    use crate::plan::tests::PLAN;
    use crate::verdict::judge;

    fn runner(instead: Option<&str>) -> Runner {
        Runner {
            setting: Setting::Quick,
            versions: Versions::of_program("test"),
            instead: instead.map(str::to_owned),
            seeds: None,
        }
    }

    /// Ten flows of 1 Mbit/s into 5: with round robin each gets a half; with FIFO a flow gets the
    /// room left at its arrivals.
    #[test]
    fn a_planted_fault_changes_the_verdict() {
        let plan = Plan {
            open: Vec::new(),
            ..Plan::parse(PLAN).unwrap()
        };
        let verdict = |instead| {
            let runner = Runner {
                seeds: Some(3),
                ..runner(instead)
            };
            let ran = runner.run(&plan, &Cache::none(), &|| ()).unwrap();
            judge(&plan, &plan.claims[0], &ran.variations, Setting::Full)
        };
        assert_eq!(
            verdict(None).kind,
            Kind::Holds,
            "{:?}",
            verdict(None).findings()
        );
        assert_eq!(
            verdict(Some("fifo limit 50")).kind,
            Kind::DoesNotHold,
            "{:?}",
            verdict(Some("fifo limit 50")).findings()
        );
    }

    /// A changed discipline repeats its column; another program repeats no simulation.
    #[test]
    fn runs_of_other_disciplines_stay_in_the_cache() {
        let folder =
            std::env::temp_dir().join(format!("roundelay-runner-versions-{}", std::process::id()));
        let plan = Plan::parse(PLAN).unwrap();
        let run = |program: &str, of_simulation| {
            let versions = Versions {
                program: program.to_owned(),
                of_simulation,
            };
            Runner {
                versions,
                ..runner(None)
            }
            .run(&plan, &Cache::open(&folder, "p").unwrap(), &|| ())
            .unwrap()
            .runs
        };
        let first = run("one", |_| Some("first".to_owned()));
        let other_program = run("other", |_| Some("first".to_owned()));
        let changed = run("one", |scenario| {
            Some(
                if uses_drr(scenario) {
                    "changed"
                } else {
                    "first"
                }
                .to_owned(),
            )
        });
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(
            [first, other_program, changed],
            [[12, 0], [12, 12], [12, 6]]
        );
    }

    fn uses_drr(scenario: &Scenario) -> bool {
        scenario.topology.network.links().iter().any(|link| {
            link.disciplines()
                .iter()
                .any(|discipline| discipline.name() == "drr")
        })
    }

    #[test]
    fn a_second_run_takes_all_from_the_cache() {
        let folder = std::env::temp_dir().join(format!("roundelay-runner-{}", std::process::id()));
        let plan = Plan::parse(PLAN).unwrap();
        let run = |runner: Runner| {
            let cache = Cache::open(&folder, "p").unwrap();
            runner.run(&plan, &cache, &|| ()).unwrap()
        };
        let first = run(runner(None));
        let second = run(runner(None));
        let other = run(Runner {
            versions: Versions::of_program("another"),
            ..runner(None)
        });
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(
            first.runs,
            [12, 0],
            "three variations, two columns, two seeds"
        );
        assert_eq!(second.runs, [12, 12]);
        assert_eq!(other.runs, [12, 0]);
        assert_eq!(first.variations, second.variations);
    }
}
