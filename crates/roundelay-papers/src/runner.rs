//! Runner: runs all parts of a plan with all seeds, except for cached runs, and in parallel unless
//! time is measured.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Instant;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};
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
    /// Versions of the code. Cached results with other versions are not used.
    pub versions: Versions,
    /// A replacement for the examined disciplines: a deliberate fault.
    pub instead: Option<String>,
    /// Seeds for each variation. None: from 1 to the number in the plan.
    pub seeds: Option<RangeInclusive<u64>>,
    /// No seed is begun after this time.
    pub until: Option<Instant>,
}

/// Versions of the code that runs depend on.
#[derive(Debug, Clone)]
pub struct Versions {
    /// The program's version as a whole.
    pub program: String,
    /// Version of what a simulation uses: its network, disciplines, sources and transport
    /// protocols, and the figures of plans. None stands for the program's version.
    pub of_simulation: fn(&Scenario) -> Option<String>,
    /// Version of an experiment beside the simulator, by its kind, and of the disciplines that it
    /// names. None if its kind has no version.
    pub of_experiment: fn(&str, &BTreeSet<String>) -> Option<String>,
}

impl Versions {
    /// One version for all runs.
    pub fn of_program(program: impl Into<String>) -> Self {
        Self {
            program: program.into(),
            of_simulation: |_| None,
            of_experiment: |_, _| None,
        }
    }

    pub(crate) fn of(&self, experiment: &dyn Experiment, part: &str) -> String {
        match experiment.simulated(part) {
            Some(scenario) => (self.of_simulation)(&scenario),
            None => None,
        }
        .unwrap_or_else(|| self.program.clone())
    }
}

/// A plan's results.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Seeds that were run.
    pub seeds: BTreeSet<u64>,
    /// Each variation's figures, the plan as it stands first.
    pub variations: Vec<(Variation, Figures)>,
    /// Counterexamples of the plan as it stands, by part.
    pub traces: Vec<(String, Vec<String>)>,
    /// CPU seconds that all runs took, including cached ones.
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
    /// The plan's fault, or why a run failed.
    pub fn run(&self, plan: &Plan, cache: &Cache, tell: &(dyn Fn() + Sync)) -> Result<Ran, Failed> {
        self.run_seeds(plan, &self.seeds(plan)?, cache, tell)
    }

    /// The setting's seeds, or those asked for.
    ///
    /// # Errors
    /// The plan's fault.
    pub fn seeds(&self, plan: &Plan) -> Result<BTreeSet<u64>, Failed> {
        Ok(match &self.seeds {
            Some(seeds) => seeds.clone().collect(),
            None => (1..=plan.seeds(self.setting)?).collect(),
        })
    }

    /// Runs a plan with these seeds. With `until`, seed by seed as long as there is time.
    ///
    /// # Errors
    /// The plan's fault, or why a run failed.
    pub fn run_seeds(
        &self,
        plan: &Plan,
        seeds: &BTreeSet<u64>,
        cache: &Cache,
        tell: &(dyn Fn() + Sync),
    ) -> Result<Ran, Failed> {
        let variations = plan.variations(self.setting)?;
        let mut experiments = Vec::new();
        for variation in &variations {
            experiments.push(self.experiment(variation)?);
        }
        let mut ran = Ran::new(variations);
        for ((_, figures), experiment) in ran.variations.iter_mut().zip(&experiments) {
            figures.is_exact = experiment.is_exact();
        }
        let batches: Vec<BTreeSet<u64>> = match self.until {
            Some(_) => seeds.iter().map(|seed| BTreeSet::from([*seed])).collect(),
            None => vec![seeds.clone()],
        };
        for batch in batches {
            if self.until.is_some_and(|until| Instant::now() >= until) {
                break;
            }
            let jobs = self.jobs(plan, &ran.variations, &experiments, &batch);
            let known = jobs.iter().filter(|job| cache.find(&job.key).is_some());
            let known = known.count();
            let done = all_done(&jobs, &experiments, cache, tell)?;
            ran.add(&jobs, done, known);
            ran.seeds.extend(batch);
        }
        Ok(ran)
    }

    /// How many runs a plan has.
    ///
    /// # Errors
    /// The plan's fault.
    pub fn count(&self, plan: &Plan) -> Result<usize, Failed> {
        let seeds = self.seeds(plan)?;
        let mut count = 0;
        for variation in &plan.variations(self.setting)? {
            for part in self.experiment(variation)?.parts() {
                let own = seeds.iter().filter(|seed| plan.runs(&part, **seed));
                count += own.count();
            }
        }
        Ok(count)
    }

    /// Files that a plan's scenarios read.
    ///
    /// # Errors
    /// The plan's fault.
    pub fn files(&self, plan: &Plan) -> Result<BTreeSet<PathBuf>, Failed> {
        let mut files = BTreeSet::new();
        for variation in &plan.variations(self.setting)? {
            let experiment = self.experiment(variation)?;
            for part in experiment.parts() {
                files.extend(experiment.files(&part));
            }
        }
        Ok(files)
    }

    fn experiment(&self, variation: &Variation) -> Result<Box<dyn Experiment>, Failed> {
        let mut experiment = variation.experiment()?;
        if let Some(discipline) = &self.instead {
            experiment.replace_disciplines(discipline)?;
        }
        Ok(experiment)
    }

    fn jobs(
        &self,
        plan: &Plan,
        variations: &[(Variation, Figures)],
        experiments: &[Box<dyn Experiment>],
        seeds: &BTreeSet<u64>,
    ) -> Vec<Job> {
        let mut jobs = Vec::new();
        for (number, (variation, _)) in variations.iter().enumerate() {
            let experiment = &experiments[number];
            let identity = variation.identity();
            for part in experiment.parts() {
                let version = self.versions.of(experiment.as_ref(), &part);
                for &seed in seeds {
                    if !plan.runs(&part, seed) {
                        continue;
                    }
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

/// Runs the jobs, or finds them in the cache, in their order.
fn all_done(
    jobs: &[Job],
    experiments: &[Box<dyn Experiment>],
    cache: &Cache,
    tell: &(dyn Fn() + Sync),
) -> Result<Vec<Done>, Failed> {
    let one = |job: &Job| -> Result<Done, Failed> {
        let done = cache.find_or_run(&job.key, || {
            let outcome = experiments[job.variation].run(&job.part, job.seed);
            outcome.map_err(|Failed(why)| Failed(format!("{}, seed {}: {why}", job.part, job.seed)))
        })?;
        tell();
        Ok(done)
    };
    if experiments.iter().any(|experiment| experiment.runs_alone()) {
        jobs.iter().map(one).collect()
    } else {
        jobs.par_iter().map(one).collect()
    }
}

impl Ran {
    fn new(variations: Vec<Variation>) -> Self {
        let mut empty = Vec::new();
        for variation in variations {
            empty.push((variation, Figures::default()));
        }
        Self {
            seeds: BTreeSet::new(),
            variations: empty,
            traces: Vec::new(),
            seconds: 0.0,
            runs: [0, 0],
        }
    }

    fn add(&mut self, jobs: &[Job], done: Vec<Done>, known: usize) {
        self.runs[0] += jobs.len();
        self.runs[1] += known;
        for (job, done) in jobs.iter().zip(done) {
            let Done {
                outcome, seconds, ..
            } = done;
            self.seconds += seconds;
            let (_, figures) = &mut self.variations[job.variation];
            figures.add(job.seed, &outcome.rows);
            let is_first = !self.traces.iter().any(|(part, _)| *part == job.part);
            if job.variation == 0 && !outcome.trace.is_empty() && is_first {
                self.traces.push((job.part.clone(), outcome.trace));
            }
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
            until: None,
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
                seeds: Some(1..=3),
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

    #[test]
    fn a_column_with_fewer_seeds_is_run_less_often() {
        let fewer = "[fewer_seeds]\nFIFO = 1\n[quick]";
        let plan = Plan {
            open: Vec::new(),
            ..Plan::parse(&PLAN.replace("[quick]", fewer)).unwrap()
        };
        assert_eq!(runner(None).count(&plan).unwrap(), 3);
        let ran = runner(None).run(&plan, &Cache::none(), &|| ()).unwrap();
        assert_eq!((ran.runs[0], ran.seeds.len()), (3, 2));
        let figures = &ran.variations[0].1;
        let values = |name: &str| figures.at(name, None).unwrap().values().len();
        assert_eq!(values("DRR: least, kbit/s"), 2);
        assert_eq!(values("FIFO: least, kbit/s"), 1);
    }

    /// A changed discipline repeats its column; another program repeats no simulation.
    #[test]
    fn runs_of_other_disciplines_stay_in_the_cache() {
        let folder =
            std::env::temp_dir().join(format!("roundelay-runner-versions-{}", std::process::id()));
        let plan = Plan::parse(PLAN).unwrap();
        let run = |program: &str, of_simulation| {
            let versions = Versions {
                of_simulation,
                ..Versions::of_program(program)
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
                .any(|discipline| discipline.name() == "drr")
        })
    }

    #[test]
    fn no_seed_begins_after_the_time_is_over() {
        let plan = Plan::parse(PLAN).unwrap();
        let over = Runner {
            until: Some(Instant::now()),
            ..runner(None)
        };
        let ran = over.run(&plan, &Cache::none(), &|| ()).unwrap();
        assert_eq!((ran.seeds.len(), ran.runs), (0, [0, 0]));
        let hour = std::time::Duration::from_secs(3600);
        let enough = Runner {
            until: Some(Instant::now() + hour),
            ..runner(None)
        };
        let [by_seed, at_once] =
            [enough, runner(None)].map(|runner| runner.run(&plan, &Cache::none(), &|| ()).unwrap());
        assert_eq!(by_seed.seeds, BTreeSet::from([1, 2]));
        assert_eq!(by_seed.variations, at_once.variations);
    }

    /// Items with the same runs run them once in a command, also without a cache in a folder.
    #[test]
    fn items_that_are_alike_share_their_runs() {
        let own = "item = 'Figure 2'\ntitle = 'a'\npage = 'b'\nmethod = 'c'\nlike = 'figure-1'
[[claim]]\nsays = 'd'\nneeds = [{ is = 'interval', of = 'DRR: most, kbit/s', from = 1 }]\nexpect = 'holds'\n";
        let plan = Plan::parse(PLAN).unwrap();
        let like = Plan::parse_beside(own, |_| Some(PLAN)).unwrap();
        let cache = Cache::none();
        let runs = |plan| runner(None).run(plan, &cache, &|| ()).unwrap().runs;
        assert_eq!([runs(&plan), runs(&like)], [[12, 0], [12, 12]]);
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
