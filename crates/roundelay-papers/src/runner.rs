//! Runner: runs all parts of a plan with all seeds, except for cached runs, and in parallel unless
//! time is measured.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use std::path::PathBuf;
use std::time::Instant;

use rayon::iter::{ParallelBridge, ParallelIterator};
use roundelay_sim::scenario::Scenario;

use crate::cache::{Cache, Done, hash};
use crate::experiments::{Experiment, Failed};
use crate::figures::Figures;
use crate::plan::{Plan, Setting, Variation};

/// Settings for running plans.
#[derive(Debug, Clone)]
pub struct Runner {
    /// Quick, medium or full.
    pub setting: Setting,
    /// Versions of the code. Cached results with other versions are not used.
    pub versions: Versions,
    /// A replacement for the examined disciplines: a deliberate fault.
    pub instead: Option<String>,
    /// Seeds for each variation. None: from 1 to the number in the plan.
    pub seeds: Option<RangeInclusive<u64>>,
    /// No run is begun after this time.
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

    /// Version of the code behind a part of an experiment of this kind.
    pub(crate) fn of(&self, kind: &str, experiment: &dyn Experiment, part: &str) -> String {
        let version = match experiment.simulated(part) {
            Some(scenario) => (self.of_simulation)(&scenario),
            None => self.beside_the_simulator(kind, experiment, part),
        };
        version.unwrap_or_else(|| self.program.clone())
    }

    /// Version of an experiment that is no simulation alone: that of its kind and its disciplines,
    /// with that of the simulation it begins with. None if it measures the program itself.
    fn beside_the_simulator(
        &self,
        kind: &str,
        experiment: &dyn Experiment,
        part: &str,
    ) -> Option<String> {
        let own = (self.of_experiment)(kind, &names_of_disciplines(experiment))?;
        let Some(scenario) = experiment.rests_on(part) else {
            return Some(own);
        };
        let simulation = (self.of_simulation)(&scenario)?;
        Some(hash([own.as_str(), &simulation]))
    }
}

/// Names of the disciplines that an experiment examines outside a simulation.
pub(crate) fn names_of_disciplines(experiment: &dyn Experiment) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for text in experiment.disciplines() {
        names.extend(text.split_whitespace().next().map(str::to_owned));
    }
    names
}

/// A plan's results.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Seeds with which all parts were run.
    pub seeds: BTreeSet<u64>,
    /// Each variation's figures with these seeds, the plan as it stands first.
    pub variations: Vec<(Variation, Figures)>,
    /// Counterexamples of the plan as it stands, by part.
    pub traces: Vec<(String, Vec<String>)>,
    /// CPU seconds that the runs with these seeds took, including cached ones.
    pub seconds: f64,
    /// Number of runs asked for, of those that were in the cache, and of those for which no time
    /// was left.
    pub runs: [usize; 3],
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

    /// Runs a plan with these seeds, as long as there is time: `until` begins no run that is not in
    /// the cache.
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
        let jobs = self.jobs(plan, &variations, &experiments, seeds);
        let mut ran = Ran::new(variations);
        for ((_, figures), experiment) in ran.variations.iter_mut().zip(&experiments) {
            figures.is_exact = experiment.is_exact();
        }
        let known = jobs.iter().filter(|job| cache.has(&job.key)).count();
        let done = self.done(&jobs, &experiments, cache, tell)?;
        let left = done.iter().filter(|done| done.is_none()).count();
        ran.runs = [jobs.len(), known, left];
        ran.add(seeds, &jobs, done);
        Ok(ran)
    }

    /// Keys in the cache of a plan's runs with these seeds.
    ///
    /// # Errors
    /// The plan's fault.
    pub fn keys(&self, plan: &Plan, seeds: &BTreeSet<u64>) -> Result<BTreeSet<String>, Failed> {
        let variations = plan.variations(self.setting)?;
        let mut experiments = Vec::new();
        for variation in &variations {
            experiments.push(self.experiment(variation)?);
        }
        let jobs = self.jobs(plan, &variations, &experiments, seeds);
        Ok(jobs.into_iter().map(|job| job.key).collect())
    }

    /// How many runs a plan has.
    ///
    /// # Errors
    /// The plan's fault.
    pub fn count(&self, plan: &Plan) -> Result<usize, Failed> {
        let seeds = self.seeds(plan)?;
        let mut count = 0;
        for variation in &plan.variations(self.setting)? {
            for part in self.parts(plan, self.experiment(variation)?.as_ref()) {
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

    /// The parts that a setting runs: in the medium one those that claims name.
    fn parts(&self, plan: &Plan, experiment: &dyn Experiment) -> Vec<String> {
        let mut parts = experiment.parts();
        if self.setting == Setting::Medium {
            // If a part has no inputs of its own, it may have figures under other names.
            parts.retain(|part| experiment.inputs(part).is_none() || plan.names_part(part));
        }
        parts
    }

    /// All runs, seed by seed, so that early seeds are complete first.
    fn jobs(
        &self,
        plan: &Plan,
        variations: &[Variation],
        experiments: &[Box<dyn Experiment>],
        seeds: &BTreeSet<u64>,
    ) -> Vec<Job> {
        let mut of_a_seed = Vec::new();
        for (number, variation) in variations.iter().enumerate() {
            let experiment = experiments[number].as_ref();
            for part in self.parts(plan, experiment) {
                let version = self.versions.of(variation.kind(), experiment, &part);
                let inputs = inputs(variation, experiment, &part);
                of_a_seed.push((number, part, version, inputs));
            }
        }
        let instead = self.instead.as_deref().unwrap_or("");
        let mut jobs = Vec::new();
        for &seed in seeds {
            for (variation, part, version, inputs) in &of_a_seed {
                if !plan.runs(part, seed) {
                    continue;
                }
                jobs.push(Job {
                    variation: *variation,
                    part: part.clone(),
                    seed,
                    key: key(version, inputs, seed, instead),
                });
            }
        }
        jobs
    }

    /// Runs the jobs, or finds them in the cache. None for those for which no time is left.
    fn done(
        &self,
        jobs: &[Job],
        experiments: &[Box<dyn Experiment>],
        cache: &Cache,
        tell: &(dyn Fn() + Sync),
    ) -> Result<Vec<Option<Done>>, Failed> {
        let one = |job: &Job| -> Result<Option<Done>, Failed> {
            let is_over = self.until.is_some_and(|until| Instant::now() >= until);
            if is_over && !cache.has(&job.key) {
                return Ok(None);
            }
            let done = cache.find_or_run(&job.key, &job.part, || {
                let outcome = experiments[job.variation].run(&job.part, job.seed);
                outcome.map_err(|Failed(why)| {
                    Failed(format!("{}, seed {}: {why}", job.part, job.seed))
                })
            })?;
            tell();
            Ok(Some(done))
        };
        if experiments.iter().any(|experiment| experiment.runs_alone()) {
            return jobs.iter().map(one).collect();
        }
        // A bridge, because a split list would begin with all seeds at the same time.
        let in_parallel = jobs.iter().enumerate().par_bridge();
        let numbered = in_parallel.map(|(number, job)| Ok((number, one(job)?)));
        let mut done = numbered.collect::<Result<Vec<_>, Failed>>()?;
        done.sort_by_key(|(number, _)| *number);
        Ok(done.into_iter().map(|(_, done)| done).collect())
    }
}

/// All that the outcome of a part depends on beside code and seed.
pub(crate) fn inputs(variation: &Variation, experiment: &dyn Experiment, part: &str) -> String {
    match experiment.inputs(part) {
        Some(inputs) => format!("{} {inputs}", variation.kind()),
        None => format!("{} {part}", variation.identity()),
    }
}

/// A run's key in the cache. `instead` is the discipline that replaces those of the plan.
pub(crate) fn key(version: &str, inputs: &str, seed: u64, instead: &str) -> String {
    let run = hash([inputs, &seed.to_string(), instead]);
    format!("{version}-{run}")
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
            runs: [0; 3],
        }
    }

    /// Adds the runs of those seeds that have all of theirs.
    fn add(&mut self, seeds: &BTreeSet<u64>, jobs: &[Job], done: Vec<Option<Done>>) {
        self.seeds.clone_from(seeds);
        for (job, done) in jobs.iter().zip(&done) {
            if done.is_none() {
                self.seeds.remove(&job.seed);
            }
        }
        for (job, done) in jobs.iter().zip(done) {
            let Some(Done {
                outcome, seconds, ..
            }) = done
            else {
                continue;
            };
            if !self.seeds.contains(&job.seed) {
                continue;
            }
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
            [[12, 0, 0], [12, 12, 0], [12, 6, 0]]
        );
    }

    fn uses_drr(scenario: &Scenario) -> bool {
        scenario.topology.network.links().iter().any(|link| {
            link.disciplines()
                .any(|discipline| discipline.name() == "drr")
        })
    }

    #[test]
    fn no_run_begins_after_the_time_is_over() {
        let plan = Plan::parse(PLAN).unwrap();
        let over = || Runner {
            until: Some(Instant::now()),
            ..runner(None)
        };
        let ran = over().run(&plan, &Cache::none(), &|| ()).unwrap();
        assert_eq!((ran.seeds.len(), ran.runs), (0, [12, 0, 12]));
        let hour = std::time::Duration::from_secs(3600);
        let enough = Runner {
            until: Some(Instant::now() + hour),
            ..runner(None)
        };
        let cache = Cache::none();
        let [within, at_once] =
            [enough, runner(None)].map(|runner| runner.run(&plan, &cache, &|| ()).unwrap());
        assert_eq!(within.seeds, BTreeSet::from([1, 2]));
        assert_eq!(within.variations, at_once.variations);
        let third = Runner {
            seeds: Some(1..=3),
            ..over()
        };
        let ran = third.run(&plan, &cache, &|| ()).unwrap();
        assert_eq!(
            (ran.runs, ran.seeds.len()),
            ([18, 12, 6], 2),
            "cached runs take no time"
        );
        assert_eq!(ran.variations, at_once.variations);
    }

    /// Runs have the same key under other names, in another order of keys, and in another plan.
    #[test]
    fn plans_share_the_runs_that_they_have_in_common() {
        let plan = Plan::parse(PLAN).unwrap();
        let columns = r#"columns = { DRR = "drr", FIFO = "fifo limit 50" }"#;
        let other = PLAN.replace(
            columns,
            r#"columns = { "fair" = {}, FIFO = "fifo limit 51" }"#,
        );
        let other = other.replace("DRR: least", "fair: least").replace(
            "duration = \"4s\"\n",
            "queue = { core = \"drr\" }\nduration = \"4s\"\n",
        );
        let other = Plan::parse(&other).unwrap();
        let cache = Cache::none();
        let run = |plan| runner(None).run(plan, &cache, &|| ()).unwrap();
        let first = run(&plan);
        let second = run(&other);
        assert_eq!(second.runs, [12, 6, 0]);
        let least = |ran: &Ran, name: &str| ran.variations[0].1.at(name, None).unwrap().clone();
        assert_eq!(
            least(&first, "DRR: least, kbit/s"),
            least(&second, "fair: least, kbit/s")
        );
    }

    /// Table 2 and Figure 6 of UPS have no long runs of their own but FIFO's and FQ's.
    #[test]
    fn items_of_ups_share_their_long_runs() {
        let papers = crate::catalogue::papers().unwrap();
        let ups = papers.iter().find(|paper| paper.slug == "ups").unwrap();
        let keys = |name: &str| {
            let item = ups.items.iter().find(|item| item.name == name).unwrap();
            let full = Runner {
                setting: Setting::Full,
                ..runner(None)
            };
            full.keys(item.plan().unwrap().0, &BTreeSet::from([1]))
                .unwrap()
        };
        let [table, estimates, figure_6, figure_7, refresh] =
            ["table-2", "r-est", "figure-6", "figure-7", "table-4"].map(keys);
        assert_eq!(table.intersection(&estimates).count(), 6, "LSTF");
        assert_eq!(figure_6.difference(&estimates).count(), 2, "FIFO and FQ");
        assert_eq!(
            table.intersection(&figure_7).count(),
            8,
            "FIFO and FQ in four rows"
        );
        assert_eq!(refresh.intersection(&figure_7).count(), 1);
        assert_eq!(keys("figure-1"), keys("table-1"));
    }

    #[test]
    fn the_medium_setting_has_one_seed_of_what_claims_name() {
        let medium = "[medium]\n\"scenario.duration\" = \"1s\"\n[quick]";
        let plan = Plan::parse(&PLAN.replace("[quick]", medium)).unwrap();
        let runner = Runner {
            setting: Setting::Medium,
            ..runner(None)
        };
        assert_eq!(runner.count(&plan).unwrap(), 3, "DRR in three variations");
        let ran = runner.run(&plan, &Cache::none(), &|| ()).unwrap();
        assert_eq!(ran.runs, [3, 0, 0]);
        assert!(ran.variations[0].0.identity().contains("1s"));
        let verdict = judge(&plan, &plan.claims[0], &ran.variations, Setting::Medium);
        assert!(
            verdict.words.starts_with("undecided (1 run)"),
            "{verdict:?}"
        );
        let wrong = PLAN.replace(
            "[quick]",
            "[medium]\n\"scenario.duration\" = \"1\"\n[quick]",
        );
        let message = Plan::parse(&wrong).unwrap_err().to_string();
        assert!(message.contains("[medium] scenario.duration"), "{message}");
    }

    /// Another build repeats only what measures the build itself.
    #[test]
    fn only_measurements_of_the_program_have_its_version() {
        let replay = r#"
item = "Table 1"
title = "a replay"
page = "section 1"
method = "A replay."
[run]
kind = "replay"
columns = { FIFO = "fifo" }
with = { LSTF = "lstf" }
[run.scenario]
duration = "10ms"
topology = { template = "dumbbell", pairs = 2 }
source = [{ kind = "cbr", from = "s*", to = "r*", rate = "1mbit" }]
[[claim]]
says = "Some packets are overdue."
needs = [{ is = "interval", of = "FIFO: overdue", from = 0.0 }]
expect = "holds"
"#;
        let keys = |of_experiment, program: &str| {
            let plan = Plan::parse(replay).unwrap();
            let versions = Versions {
                of_simulation: |_| Some("a simulation".to_owned()),
                of_experiment,
                ..Versions::of_program(program)
            };
            let runner = Runner {
                versions,
                ..runner(None)
            };
            runner.keys(&plan, &BTreeSet::from([1])).unwrap()
        };
        type Version = fn(&str, &BTreeSet<String>) -> Option<String>;
        let versioned: Version = |kind, disciplines| Some(format!("{kind} {disciplines:?}"));
        let other: Version = |_, _| Some("other".to_owned());
        let measurement: Version = |_, _| None;
        assert_eq!(keys(versioned, "one"), keys(versioned, "two"));
        assert_ne!(keys(versioned, "one"), keys(other, "one"));
        assert_ne!(keys(measurement, "one"), keys(measurement, "two"));
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
        assert_eq!([runs(&plan), runs(&like)], [[12, 0, 0], [12, 12, 0]]);
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
            [12, 0, 0],
            "three variations, two columns, two seeds"
        );
        assert_eq!(second.runs, [12, 12, 0]);
        assert_eq!(other.runs, [12, 0, 0]);
        assert_eq!(first.variations, second.variations);
    }
}
