//! The runner: all parts of a plan with all seeds, in parallel where that does no harm, what was done before left out.

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
use roundelay_bench::cpu_seconds;

use crate::cache::{Cache, Done, hash};
use crate::experiments::{Experiment, Failed};
use crate::figures::Figures;
use crate::plan::{Plan, Setting, Variation};

/// How to run plans.
#[derive(Debug, Clone)]
pub struct Runner {
    /// How much.
    pub setting: Setting,
    /// What identifies the program: results of another one are not taken from the cache.
    pub program: String,
    /// A discipline in the place of those that are examined: a planted fault.
    pub instead: Option<String>,
    /// Seeds of each variation, if not the plan's.
    pub seeds: Option<u64>,
}

/// What a plan gave.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Each variation with its figures, the plan as it stands first.
    pub variations: Vec<(Variation, Figures)>,
    /// Counterexamples, by part, of the plan as it stands.
    pub traces: Vec<(String, Vec<String>)>,
    /// Processor seconds that all runs took, those from the cache included.
    pub seconds: f64,
    /// Runs in all, and those that the cache had.
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
    /// Runs all that a plan asks for. `tell` hears of each run that is done.
    ///
    /// # Errors
    /// What is wrong with the plan, or what failed.
    pub fn run(&self, plan: &Plan, cache: &Cache, tell: &(dyn Fn() + Sync)) -> Result<Ran, Failed> {
        let mut variations = plan.variations(self.setting)?;
        if let Some(seeds) = self.seeds {
            variations.iter_mut().for_each(|variation| variation.seeds = seeds);
        }
        let experiments = variations.iter().map(|variation| self.experiment(variation)).collect::<Result<Vec<_>, _>>()?;
        let jobs = self.jobs(&variations, &experiments);
        let known = jobs.iter().filter(|job| cache.find(&job.key).is_some()).count();
        let one = |job: &Job| -> Result<Done, Failed> {
            let done = match cache.find(&job.key) {
                Some(done) => done,
                None => {
                    let began = cpu_seconds();
                    let outcome = experiments[job.variation].run(&job.part, job.seed);
                    let mut outcome = outcome.map_err(|Failed(why)| Failed(format!("{}, seed {}: {why}", job.part, job.seed)))?;
                    // A ratio to nothing is no number: with this seed the figure was not measured.
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
        Ok(Ran::gather(variations, &jobs, done, known))
    }

    /// How many runs a plan asks for.
    ///
    /// # Errors
    /// What is wrong with the plan.
    pub fn count(&self, plan: &Plan) -> Result<usize, Failed> {
        let variations = plan.variations(self.setting)?;
        let counts = variations.iter().map(|variation| {
            let parts = self.experiment(variation)?.parts().len();
            Ok(parts * self.seeds.unwrap_or(variation.seeds) as usize)
        });
        counts.sum()
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
                for seed in 1..=variation.seeds {
                    let instead = self.instead.as_deref().unwrap_or("");
                    let run = hash([identity.as_str(), &part, &seed.to_string(), instead]);
                    let key = format!("{}-{run}", self.program);
                    jobs.push(Job { variation: number, part: part.clone(), seed, key });
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
            if job.variation == 0 && !outcome.trace.is_empty() && !traces.iter().any(|(part, _)| *part == job.part) {
                traces.push((job.part.clone(), outcome.trace));
            }
        }
        Self { variations: variations.into_iter().zip(figures).collect(), traces, seconds, runs: [jobs.len(), known] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::PLAN;
    use crate::verdict::{Kind, judge};

    fn runner(instead: Option<&str>) -> Runner {
        Runner { setting: Setting::Quick, program: "test".to_owned(), instead: instead.map(str::to_owned), seeds: None }
    }

    /// Ten flows of 1 Mbit/s into 5: round robin gives each a half, and a flow that comes first in first out what it finds.
    #[test]
    fn a_planted_fault_changes_the_verdict() {
        let plan = Plan { open: Vec::new(), ..Plan::parse(PLAN).unwrap() };
        let verdict = |instead| {
            let ran = runner(instead).run(&plan, &Cache::none(), &|| ()).unwrap();
            judge(&plan, &plan.claims[0], &ran.variations, Setting::Full)
        };
        assert_eq!(verdict(None).kind, Kind::Holds, "{:?}", verdict(None).findings());
        assert_eq!(verdict(Some("fifo limit 50")).kind, Kind::DoesNotHold, "{:?}", verdict(Some("fifo limit 50")).findings());
    }

    #[test]
    fn a_second_run_takes_all_from_the_cache() {
        let folder = std::env::temp_dir().join(format!("roundelay-runner-{}", std::process::id()));
        let plan = Plan::parse(PLAN).unwrap();
        let run = |runner: Runner| {
            let cache = Cache::open(&folder, "p", &runner.program).unwrap();
            runner.run(&plan, &cache, &|| ()).unwrap()
        };
        let first = run(runner(None));
        let second = run(runner(None));
        let other = run(Runner { program: "another".to_owned(), ..runner(None) });
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(first.runs, [12, 0], "three variations, two columns, two seeds");
        assert_eq!(second.runs, [12, 12]);
        assert_eq!(other.runs, [12, 0]);
        assert_eq!(first.variations, second.variations);
    }
}
