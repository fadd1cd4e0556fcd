//! Records: the results of a plan's run that its page needs, in a JSON file beside the pages.
//!
//! A page is rendered from its plan and its record alone. The record has the hash of the run; a
//! page older than its plan is thus detected.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::cache::hash;
use crate::experiments::Row;
use crate::figures::{Figures, Reference, Samples};
use crate::plan::{Plan, Setting, Variation};
use crate::predicate::Predicate;
use crate::runner::Ran;

/// Results of a plan's run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// Hash of the run's plan, see [`identity`].
    pub plan: String,
    /// `quick` or `full`.
    pub setting: String,
    /// Version of Roundelay.
    pub version: String,
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

/// Values in order of seeds, from 1; None for seeds without a value.
pub type Seeds = Vec<Option<f64>>;

/// The figures of one variation used by the plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
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

/// Hash of all runs of a plan with a setting, and of the recorded figures' names.
///
/// # Errors
/// A path of the plan does not exist.
pub fn identity(plan: &Plan, setting: Setting) -> Result<String, String> {
    let variations = plan.variations(setting).map_err(|wrong| wrong.message)?;
    let runs = variations
        .iter()
        .map(|variation| format!("{} {}", variation.identity(), variation.seeds));
    let texts: Vec<String> = runs.chain(shown(plan)).chain(judged(plan)).collect();
    Ok(hash(texts.iter().map(String::as_str)))
}

/// Names of the figures in claims.
fn judged(plan: &Plan) -> BTreeSet<String> {
    let names = plan
        .claims
        .iter()
        .flat_map(|claim| &claim.needs)
        .flat_map(Predicate::figures);
    names
        .filter_map(|text| Reference::parse(&text).ok())
        .map(|reference| reference.figure)
        .collect()
}

/// Names of the figures in charts, published values and claims.
fn shown(plan: &Plan) -> BTreeSet<String> {
    let charts = plan
        .charts
        .iter()
        .flat_map(|chart| chart.curves.iter().cloned());
    let published = plan
        .published
        .iter()
        .map(|published| published.figure.clone());
    let all = charts
        .chain(published)
        .filter_map(|text| Reference::parse(&text).ok())
        .map(|reference| reference.figure);
    all.chain(judged(plan)).collect()
}

impl Record {
    /// The recorded part of a run.
    ///
    /// # Errors
    /// A path of the plan does not exist.
    pub fn new(
        plan: &Plan,
        setting: Setting,
        ran: &Ran,
        peak_bytes: Option<u64>,
    ) -> Result<Self, String> {
        let (shown, judged) = (shown(plan), judged(plan));
        let record = |(variation, figures): &(Variation, Figures)| {
            let wanted = if variation.open.is_none() {
                &shown
            } else {
                &judged
            };
            Recorded::new(&variation.name, figures, variation.seeds, |name| {
                wanted.contains(name)
            })
        };
        Ok(Self {
            plan: identity(plan, setting)?,
            setting: setting.name().to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            seconds: short(ran.seconds),
            peak_bytes,
            variations: ran.variations.iter().map(record).collect(),
            traces: ran.traces.clone(),
        })
    }

    /// The setting of the run.
    pub fn setting(&self) -> Setting {
        if self.setting == Setting::Quick.name() {
            Setting::Quick
        } else {
            Setting::Full
        }
    }

    /// Restores the recorded part of the run.
    ///
    /// # Errors
    /// The variations of the plan differ from those of the record.
    pub fn ran(&self, plan: &Plan) -> Result<Ran, String> {
        let variations = plan
            .variations(self.setting())
            .map_err(|wrong| wrong.message)?;
        if variations.len() != self.variations.len() {
            return Err("the record has other variations than the plan: run it again".to_owned());
        }
        let mut recorded = Vec::new();
        for (variation, of_variation) in variations.into_iter().zip(&self.variations) {
            let mut figures = of_variation.figures();
            figures.is_exact = variation.read().map_err(|wrong| wrong.message)?.is_exact();
            recorded.push((variation, figures));
        }
        Ok(Ran {
            variations: recorded,
            traces: self.traces.clone(),
            seconds: self.seconds,
            runs: [0, 0],
        })
    }
}

impl Recorded {
    fn new(name: &str, figures: &Figures, seeds: u64, is_wanted: impl Fn(&str) -> bool) -> Self {
        let list = |samples: &Samples| {
            (1..=seeds)
                .map(|seed| samples.0.get(&seed).map(|value| short(*value)))
                .collect()
        };
        let (mut scalars, mut curves) = (BTreeMap::new(), BTreeMap::new());
        for name in figures.names().iter().filter(|name| is_wanted(name)) {
            if let Some(samples) = figures.at(name, None) {
                scalars.insert(name.clone(), list(samples));
            }
            if let Some(points) = figures.curve(name) {
                curves.insert(
                    name.clone(),
                    points
                        .into_iter()
                        .map(|(x, samples)| (short(x), list(samples)))
                        .collect(),
                );
            }
        }
        Self {
            name: name.to_owned(),
            scalars,
            curves,
        }
    }

    fn figures(&self) -> Figures {
        let mut figures = Figures::default();
        let mut add = |name: &str, x: Option<f64>, samples: &[Option<f64>]| {
            let Some((run, figure)) = name.split_once(": ") else {
                return;
            };
            for (seed, value) in (1..)
                .zip(samples)
                .filter_map(|(seed, value)| Some((seed, (*value)?)))
            {
                figures.add(
                    seed,
                    &[Row {
                        run: run.to_owned(),
                        figure: figure.to_owned(),
                        x,
                        value,
                    }],
                );
            }
        };
        self.scalars
            .iter()
            .for_each(|(name, samples)| add(name, None, samples));
        self.curves.iter().for_each(|(name, points)| {
            points
                .iter()
                .for_each(|(x, samples)| add(name, Some(*x), samples))
        });
        figures
    }
}

/// Six significant digits: more would only make files longer.
fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;
    use crate::plan::tests::PLAN;
    use crate::runner::{Runner, Versions};
    use crate::verdict::judge;

    #[test]
    fn verdicts_on_a_record_are_those_on_the_run() {
        let plan = Plan::parse(PLAN).unwrap();
        let runner = Runner {
            setting: Setting::Quick,
            versions: Versions::of_program(""),
            instead: None,
            seeds: None,
        };
        let ran = runner.run(&plan, &Cache::none(), &|| ()).unwrap();
        let record = Record::new(&plan, Setting::Quick, &ran, None).unwrap();
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
        assert_ne!(
            identity(PLAN),
            identity(&PLAN.replace("seeds = 3", "seeds = 4"))
        );
    }
}
