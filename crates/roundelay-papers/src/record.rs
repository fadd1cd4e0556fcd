//! Records: what a plan's page needs from its run, in a JSON file beside the pages.
//!
//! A page is rendered from its plan and its record alone. The record has the hash of its plan's
//! runs, so that we see when it is older than its plan, and the versions of the code behind the
//! runs, so that we see when it is older than the code. Several commands may make a record in
//! parts, because runs of the same plan and version are kept, and missing seeds are added.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::cache::hash;
use crate::experiments::Row;
use crate::figures::{Figures, Reference, Samples};
use crate::plan::{Plan, Setting, Variation};
use crate::runner::{Ran, Versions, names_of_disciplines};

/// Results of a plan's run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Record {
    /// Hash of the run's plan, see [`identity`].
    pub plan: String,
    /// `quick`, `medium` or `full`.
    pub setting: String,
    /// Version of Roundelay.
    pub version: String,
    /// Versions of the code that the runs rest on.
    #[serde(flatten)]
    pub code: Code,
    /// Seeds of the runs.
    #[serde(default)]
    pub seeds: BTreeSet<u64>,
    /// Names of the figures kept for the plan as it stands.
    #[serde(default)]
    pub shown: BTreeSet<String>,
    /// Names of the figures kept for all variations.
    #[serde(default)]
    pub judged: BTreeSet<String>,
    /// CPU seconds of all runs.
    pub seconds: f64,
    /// Peak memory of the process, if the system reports it.
    pub peak_bytes: Option<u64>,
    /// Figures by variation, in the order of the plan.
    pub variations: Vec<Recorded>,
    /// Counterexamples, by part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traces: Vec<(String, Vec<String>)>,
}

/// Versions of the code that runs rest on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Code {
    /// Version of the simulated behaviours: disciplines, sources, the simulator and the figures of
    /// plans. None if nothing is simulated, or in records from before versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behaviour: Option<String>,
    /// Version of the experiment itself and of the disciplines that it names, for experiments that
    /// are no simulation alone: searches, worked examples, AFQ's decisions. None for simulations and
    /// measurements, or in records from before these versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub experiment: Option<String>,
}

impl Code {
    /// True if runs with this code may give other results than those with today's `code`. A record
    /// from before experiments had versions does not tell.
    pub fn is_older_than(&self, code: &Self) -> bool {
        let knows = self.experiment.is_some() && code.experiment.is_some();
        self.behaviour != code.behaviour || knows && self.experiment != code.experiment
    }

    /// True for a record without any version, if its experiment has one today.
    pub fn is_unknown(&self, code: &Self) -> bool {
        self == &Self::default() && code.experiment.is_some()
    }
}

/// Values in order of seeds, from 1; None for seeds without a value.
pub type Seeds = Vec<Option<f64>>;

/// The figures of one variation used by the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Recorded {
    /// Name of the variation; empty for the plan as it stands.
    pub name: String,
    /// Scalars by figure.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub scalars: BTreeMap<String, Seeds>,
    /// Curves by figure: x and values.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub curves: BTreeMap<String, Vec<(f64, Seeds)>>,
}

/// Hash of a plan's runs in a setting. Seeds count only for columns that have fewer, because a
/// record tells the seeds of all columns together.
///
/// # Errors
/// A path of the plan does not exist.
pub fn identity(plan: &Plan, setting: Setting) -> Result<String, String> {
    let variations = plan
        .variations(setting)
        .map_err(|wrong| wrong.to_string())?;
    let mut runs: Vec<String> = variations.iter().map(Variation::identity).collect();
    for (column, seeds) in &plan.fewer_seeds {
        runs.push(format!("{column}: {seeds} seeds"));
    }
    Ok(hash(runs.iter().map(String::as_str)))
}

/// Versions of the code behind a plan's runs in a setting.
///
/// # Errors
/// A fault in the plan.
pub fn code(plan: &Plan, setting: Setting, versions: &Versions) -> Result<Code, String> {
    let mut behaviours = BTreeSet::new();
    let mut experiments = BTreeSet::new();
    for variation in plan
        .variations(setting)
        .map_err(|wrong| wrong.to_string())?
    {
        let experiment = variation.read().map_err(|wrong| wrong.to_string())?;
        let mut is_simulation = true;
        for part in experiment.parts() {
            is_simulation &= experiment.simulated(&part).is_some();
            if let Some(scenario) = experiment.rests_on(&part) {
                behaviours.insert((versions.of_simulation)(&scenario).unwrap_or_default());
            }
        }
        // A simulation's behaviour includes its figures.
        if !is_simulation {
            let names = names_of_disciplines(experiment.as_ref());
            experiments.extend((versions.of_experiment)(variation.kind(), &names));
        }
    }
    Ok(Code {
        behaviour: hash_of(&behaviours),
        experiment: hash_of(&experiments),
    })
}

/// One version for all. None if there are no versions.
fn hash_of(versions: &BTreeSet<String>) -> Option<String> {
    if versions.is_empty() {
        return None;
    }
    Some(hash(versions.iter().map(String::as_str)))
}

/// Names of figures in claims.
fn judged_figures(plan: &Plan) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for claim in &plan.claims {
        for predicate in &claim.needs {
            for figure in predicate.figures() {
                add_figure(&mut names, &figure);
            }
        }
    }
    names
}

/// Names of figures in charts, published values and claims.
fn shown(plan: &Plan) -> BTreeSet<String> {
    let mut names = judged_figures(plan);
    for chart in &plan.charts {
        for curve in &chart.curves {
            add_figure(&mut names, curve);
        }
    }
    for published in &plan.published {
        add_figure(&mut names, &published.figure);
    }
    names
}

fn add_figure(names: &mut BTreeSet<String>, text: &str) {
    if let Ok(reference) = Reference::parse(text) {
        names.insert(reference.figure);
    }
}

impl Record {
    /// Takes from a run what is recorded.
    ///
    /// # Errors
    /// A path of the plan does not exist.
    pub fn new(
        plan: &Plan,
        setting: Setting,
        ran: &Ran,
        code: Code,
        peak_bytes: Option<u64>,
    ) -> Result<Self, String> {
        let shown = shown(plan);
        let judged = judged_figures(plan);
        let last = ran.seeds.last().copied().unwrap_or(0);
        let mut variations = Vec::new();
        for (variation, figures) in &ran.variations {
            let wanted = if variation.open.is_none() {
                &shown
            } else {
                &judged
            };
            variations.push(Recorded::new(&variation.name, figures, last, wanted));
        }
        Ok(Self {
            plan: identity(plan, setting)?,
            setting: setting.name().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            code,
            seeds: ran.seeds.clone(),
            seconds: short(ran.seconds),
            peak_bytes,
            variations,
            shown,
            judged,
            traces: ran.traces.clone(),
        })
    }

    /// A record from before records were made in parts, with its seeds and figures, which were then
    /// a part of its plan's hash.
    ///
    /// # Errors
    /// A path of the plan does not exist.
    pub fn completed(mut self, plan: &Plan) -> Result<Self, String> {
        if !self.seeds.is_empty() {
            return Ok(self);
        }
        let variations = plan
            .variations(self.setting())
            .map_err(|wrong| wrong.to_string())?;
        let mut texts = Vec::new();
        for variation in &variations {
            texts.push(format!("{} {}", variation.identity(), variation.seeds));
        }
        texts.extend(shown(plan));
        texts.extend(judged_figures(plan));
        if self.plan == hash(texts.iter().map(String::as_str)) {
            self.plan = identity(plan, self.setting())?;
            self.seeds = (1..=variations[0].seeds).collect();
            self.shown = shown(plan);
            self.judged = judged_figures(plan);
        }
        Ok(self)
    }

    /// True if the record has the runs and figures of the plan.
    ///
    /// # Errors
    /// A path of the plan does not exist.
    pub fn fits(&self, plan: &Plan) -> Result<bool, String> {
        let has_figures =
            shown(plan).is_subset(&self.shown) && judged_figures(plan).is_subset(&self.judged);
        Ok(has_figures && self.plan == identity(plan, self.setting())?)
    }

    /// True if the two records, which have the same plan, have the same results where both have
    /// runs.
    pub fn agrees_with(&self, other: &Self) -> bool {
        if self.variations.len() != other.variations.len() {
            return false;
        }
        let seeds: Vec<u64> = self.seeds.intersection(&other.seeds).copied().collect();
        let mut pairs = self.variations.iter().zip(&other.variations);
        pairs.all(|(own, other)| own.agrees_with(other, &seeds))
    }

    /// This record together with the runs of another one, which has the same plan and behaviours.
    pub fn with(mut self, other: Self) -> Self {
        for (own, added) in self.variations.iter_mut().zip(other.variations) {
            own.add(added);
        }
        for (part, trace) in other.traces {
            if !self.traces.iter().any(|(known, _)| *known == part) {
                self.traces.push((part, trace));
            }
        }
        self.seeds.extend(other.seeds);
        self.seconds = short(self.seconds + other.seconds);
        self.peak_bytes = self.peak_bytes.max(other.peak_bytes);
        self
    }

    /// The run's setting.
    pub fn setting(&self) -> Setting {
        let mut settings = Setting::ALL.into_iter();
        let known = settings.find(|setting| setting.name() == self.setting);
        known.unwrap_or(Setting::Full)
    }

    /// The command that records the item again.
    pub fn again(&self, paper: &str, item: &str) -> String {
        let option = match self.setting() {
            Setting::Quick => "",
            Setting::Medium => " --medium",
            Setting::Full => " --full",
        };
        format!("roundelay papers {paper} {item}{option}")
    }

    /// Restores what was recorded of the run.
    ///
    /// # Errors
    /// The plan's variations differ from the record's.
    pub fn ran(&self, plan: &Plan) -> Result<Ran, String> {
        let variations = plan
            .variations(self.setting())
            .map_err(|wrong| wrong.to_string())?;
        if variations.len() != self.variations.len() {
            return Err("the record has other variations than the plan: run it again".to_owned());
        }
        let mut recorded = Vec::new();
        for (variation, of_variation) in variations.into_iter().zip(&self.variations) {
            let mut figures = of_variation.figures();
            figures.is_exact = variation
                .read()
                .map_err(|wrong| wrong.to_string())?
                .is_exact();
            recorded.push((variation, figures));
        }
        Ok(Ran {
            seeds: self.seeds.clone(),
            variations: recorded,
            traces: self.traces.clone(),
            seconds: self.seconds,
            runs: [0; 3],
        })
    }
}

impl Recorded {
    fn new(name: &str, figures: &Figures, seeds: u64, wanted: &BTreeSet<String>) -> Self {
        let mut scalars = BTreeMap::new();
        let mut curves = BTreeMap::new();
        for name in figures.names() {
            if !wanted.contains(name) {
                continue;
            }
            if let Some(samples) = figures.at(name, None) {
                scalars.insert(name.clone(), in_order(samples, seeds));
            }
            if let Some(curve) = figures.curve(name) {
                let mut points = Vec::new();
                for (x, samples) in curve {
                    points.push((short(x), in_order(samples, seeds)));
                }
                curves.insert(name.clone(), points);
            }
        }
        Self {
            name: name.to_owned(),
            scalars,
            curves,
        }
    }

    /// True if all figures with these seeds are the same.
    fn agrees_with(&self, other: &Self, seeds: &[u64]) -> bool {
        let own = self.figures();
        let other = other.figures();
        for name in other.names() {
            let points = match other.curve(name) {
                Some(points) => points.iter().map(|(x, _)| Some(*x)).collect(),
                None => vec![None],
            };
            for x in points {
                for seed in seeds {
                    if digits(&own, name, x, *seed) != digits(&other, name, x, *seed) {
                        return false;
                    }
                }
            }
        }
        true
    }

    /// Adds the values that other seeds gave.
    fn add(&mut self, other: Self) {
        for (name, values) in other.scalars {
            fill(self.scalars.entry(name).or_default(), values);
        }
        for (name, points) in other.curves {
            let own = self.curves.entry(name).or_default();
            for (x, values) in points {
                match own.iter_mut().find(|(at, _)| *at == x) {
                    Some((_, known)) => fill(known, values),
                    None => own.push((x, values)),
                }
            }
            own.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        }
    }

    /// The figures as the experiment gave them, a row for each seed.
    fn figures(&self) -> Figures {
        let mut figures = Figures::default();
        for (name, samples) in &self.scalars {
            add_samples(&mut figures, name, None, samples);
        }
        for (name, points) in &self.curves {
            for (x, samples) in points {
                add_samples(&mut figures, name, Some(*x), samples);
            }
        }
        figures
    }
}

/// The seeds' values from 1 on.
fn in_order(samples: &Samples, seeds: u64) -> Seeds {
    let mut values = Vec::new();
    for seed in 1..=seeds {
        values.push(samples.0.get(&seed).map(|value| short(*value)));
    }
    values
}

/// A seed's value with six digits, because older records have only so many, even of counts.
fn digits(figures: &Figures, name: &str, x: Option<f64>, seed: u64) -> Option<String> {
    let value = *figures.at(name, x)?.0.get(&seed)?;
    Some(format!("{value:.5e}"))
}

fn add_samples(figures: &mut Figures, name: &str, x: Option<f64>, samples: &[Option<f64>]) {
    let Some((run, figure)) = name.split_once(": ") else {
        return;
    };
    for (seed, value) in (1..).zip(samples) {
        if let Some(value) = *value {
            let row = Row {
                run: run.to_owned(),
                figure: figure.to_owned(),
                x,
                value,
            };
            figures.add(seed, &[row]);
        }
    }
}

/// Adds values for seeds that have none.
fn fill(known: &mut Seeds, values: Seeds) {
    if known.len() < values.len() {
        known.resize(values.len(), None);
    }
    for (own, added) in known.iter_mut().zip(values) {
        *own = own.or(added);
    }
}

/// Six significant digits, because more would only make files longer. Counts stay in full.
pub(crate) fn short(value: f64) -> f64 {
    if value.fract() == 0.0 {
        return value;
    }
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;
    use crate::plan::tests::PLAN;
    use crate::runner::Runner;
    use crate::verdict::judge;

    #[test]
    fn a_record_has_counts_in_full_and_other_numbers_with_six_digits() {
        assert_eq!(short(13_172_273.0), 13_172_273.0);
        assert_eq!(short(0.123_456_789), 0.123_457);
        assert_eq!(short(f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn verdicts_on_a_record_are_those_on_the_run() {
        let plan = Plan::parse(PLAN).unwrap();
        let runner = Runner {
            setting: Setting::Quick,
            versions: Versions::of_program(""),
            instead: None,
            seeds: None,
            until: None,
        };
        let ran = runner.run(&plan, &Cache::none(), &|| ()).unwrap();
        let record = Record::new(&plan, Setting::Quick, &ran, Code::default(), None).unwrap();
        let read: Record = serde_json::from_str(&serde_json::to_string(&record).unwrap()).unwrap();
        assert_eq!(read, record);
        let again = read.ran(&plan).unwrap();
        let verdict = |ran: &Ran| judge(&plan, &plan.claims[0], &ran.variations, Setting::Full);
        assert_eq!(verdict(&again), verdict(&ran));
        assert!(
            again.variations[0].1.names().len() < ran.variations[0].1.names().len(),
            "what nothing refers to is not kept"
        );
    }

    /// A record of several commands is that of one, whichever seeds come first.
    #[test]
    fn a_record_is_made_in_parts() {
        let plan = Plan::parse(PLAN).unwrap();
        let record = |seeds| {
            let runner = Runner {
                setting: Setting::Full,
                versions: Versions::of_program(""),
                instead: None,
                seeds: Some(seeds),
                until: None,
            };
            let ran = runner.run(&plan, &Cache::none(), &|| ()).unwrap();
            Record::new(&plan, Setting::Full, &ran, Code::default(), None).unwrap()
        };
        let whole = record(1..=3);
        let first = record(1..=1);
        let last = record(2..=3);
        let few = judge(
            &plan,
            &plan.claims[0],
            &first.ran(&plan).unwrap().variations,
            Setting::Full,
        );
        assert_eq!(few.words, "undecided (1 run)");
        for parts in [first.clone().with(last.clone()), last.with(first)] {
            assert_eq!(parts.seeds, BTreeSet::from([1, 2, 3]));
            assert_eq!(parts.variations, whole.variations);
            assert!(parts.fits(&plan).unwrap());
        }
    }

    /// A claim less needs no other record, a figure more does.
    #[test]
    fn a_record_fits_a_plan_with_its_runs_and_figures() {
        let fits = |text: &str| {
            let plan = Plan::parse(PLAN).unwrap();
            let ran = Ran {
                seeds: BTreeSet::new(),
                variations: Vec::new(),
                traces: Vec::new(),
                seconds: 0.0,
                runs: [0; 3],
            };
            let record = Record::new(&plan, Setting::Full, &ran, Code::default(), None).unwrap();
            record.fits(&Plan::parse(text).unwrap()).unwrap()
        };
        assert!(fits(PLAN));
        let left_out = "left_out = \"a\"\nexpect = \"left out\"";
        let needs = "needs = [{ is = \"published\", of = \"DRR: least, kbit/s\", within = 0.1 }]\nexpect = \"holds\"";
        assert!(fits(&PLAN.replace(needs, left_out)));
        assert!(!fits(
            &PLAN.replace("of = \"DRR: least", "of = \"DRR: most")
        ));
        assert!(!fits(&PLAN.replace("pairs = 10", "pairs = 11")));
        assert!(
            fits(&PLAN.replace("seeds = 3", "seeds = 4")),
            "a seed can be added"
        );
    }

    #[test]
    fn a_version_is_of_what_is_simulated() {
        let plan = Plan::parse(PLAN).unwrap();
        let version = |of_simulation| {
            let versions = Versions {
                of_simulation,
                of_experiment: |_, _| Some("an experiment".to_owned()),
                ..Versions::of_program("")
            };
            code(&plan, Setting::Full, &versions).unwrap()
        };
        let one = version(|_| Some("one".to_owned()));
        assert!(one.behaviour.is_some() && one == version(|_| Some("one".to_owned())));
        assert_ne!(one, version(|_| Some("other".to_owned())));
        assert_eq!(one.experiment, None, "nothing but a simulation");
    }

    /// Formerly experiments beside the simulator had no version.
    #[test]
    fn a_version_is_of_the_experiment_and_its_disciplines() {
        let text = PLAN.replace("DRR: least, kbit/s", "MQFQ: complete, order");
        let run = text.find("[run]").unwrap();
        let published = text.find("[[published]]").unwrap();
        let open = text.find("[[open]]").unwrap();
        let own = "[run]\nkind = 'collisions'\nqueues = [2, 4]\nkeys = 2\npairs = 2\ncolumns = { MQFQ = 'mqfq hashes 2', SFQ = 'sfq' }\n";
        let text = [&text[..run], own, &text[published..open]].concat();
        let plan = Plan::parse(&text).unwrap();
        let versions = Versions {
            of_experiment: |kind, disciplines| Some(format!("{kind} {disciplines:?}")),
            ..Versions::of_program("")
        };
        let found = code(&plan, Setting::Full, &versions).unwrap();
        assert_eq!(found.behaviour, None, "nothing is simulated");
        let expected = hash(["collisions {\"mqfq\", \"sfq\"}"]);
        assert_eq!(found.experiment, Some(expected));
    }

    #[test]
    fn a_record_is_older_than_the_code_if_a_version_differs() {
        let code = |behaviour: &str, experiment: &str| {
            let some = |text: &str| (!text.is_empty()).then(|| text.to_owned());
            Code {
                behaviour: some(behaviour),
                experiment: some(experiment),
            }
        };
        assert!(!code("a", "b").is_older_than(&code("a", "b")));
        for other in [code("c", "b"), code("a", "c"), code("", "b")] {
            assert!(code("a", "b").is_older_than(&other), "{other:?}");
        }
        let before = code("", "");
        let today = code("", "b");
        assert!(!before.is_older_than(&today) && before.is_unknown(&today));
        assert!(!before.is_unknown(&before) && !today.is_unknown(&today));
    }

    #[test]
    fn records_agree_if_the_runs_of_both_have_the_same_results() {
        let plan = Plan::parse(PLAN).unwrap();
        let record = |seeds| {
            let runner = Runner {
                setting: Setting::Quick,
                versions: Versions::of_program(""),
                instead: None,
                seeds: Some(seeds),
                until: None,
            };
            let ran = runner.run(&plan, &Cache::none(), &|| ()).unwrap();
            Record::new(&plan, Setting::Quick, &ran, Code::default(), None).unwrap()
        };
        let whole = record(1..=2);
        let part = record(2..=2);
        assert!(whole.agrees_with(&part));
        let mut other = part;
        let figures = &mut other.variations[1].scalars;
        for values in figures.values_mut() {
            values[1] = values[1].map(|value| value + 1.0);
        }
        assert!(!whole.agrees_with(&other));
    }

    #[test]
    fn what_is_run_has_a_hash_and_prose_has_none() {
        let identity = |text: &str| identity(&Plan::parse(text).unwrap(), Setting::Full).unwrap();
        assert_eq!(
            identity(PLAN),
            identity(&PLAN.replace("A dumbbell.", "Another sentence."))
        );
        assert_ne!(
            identity(PLAN),
            identity(&PLAN.replace("pairs = 10", "pairs = 11"))
        );
        assert_eq!(
            identity(PLAN),
            identity(&PLAN.replace("seeds = 3", "seeds = 4")),
            "a record may have a part of the seeds"
        );
        let fewer = |seeds: &str| {
            PLAN.replace(
                "[quick]",
                &format!("[fewer_seeds]\nFIFO = {seeds}\n[quick]"),
            )
        };
        assert_ne!(identity(PLAN), identity(&fewer("1")));
        assert_ne!(identity(&fewer("1")), identity(&fewer("2")));
    }
}
