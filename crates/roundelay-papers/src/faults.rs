//! Planted faults: runs a plan with each of its faults and tells which claims notice.

use std::fmt::Write;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::cache::Cache;
use crate::experiments::{Experiment, Failed};
use crate::figures::Figures;
use crate::finding::{Finding, Truth, truth_of};
use crate::plan::{Claim, Fault, Plan, Setting, Variation};
use crate::predicate::World;
use crate::runner::{Versions, inputs, key};

/// What a claim says about a plan with a fault.
#[derive(Debug, Clone, PartialEq)]
pub struct Noticed {
    /// The claim.
    pub says: String,
    /// True if the claim is not the paper's.
    pub ours: bool,
    /// True if the fault has to change the claim's truth.
    pub must: bool,
    /// The claim's truth without the fault, and with the fault.
    pub truths: [Truth; 2],
    /// The deciding findings with the fault, in words.
    pub findings: Vec<String>,
}

impl Noticed {
    /// True if the claim turned from true to false or back.
    pub fn is_noticed(&self) -> bool {
        self.truths[0] != self.truths[1] && self.truths[1] != Truth::Undecided
    }
}

/// Runs the plan as it stands with a fault, in the fault's setting, and judges its claims. `tell` is
/// called after each run.
///
/// In the quick setting claims are judged whose truth without the fault the plan expects. In the
/// medium setting, which has one run, the claims that should notice are judged by its figures
/// alone, with and without the fault: both runs have the same seed, so all that differs is the
/// fault.
///
/// # Errors
/// The plan's fault, or why a run failed.
pub fn run(
    plan: &Plan,
    fault: &Fault,
    versions: &Versions,
    cache: &Cache,
    tell: &(dyn Fn() + Sync),
) -> Result<Vec<Noticed>, Failed> {
    let runs = Runs {
        plan,
        fault,
        versions,
        cache,
        tell,
    };
    let (variation, experiment) = plan.with_fault(fault)?;
    let instead = fault.instead.as_deref().unwrap_or("");
    let faulty = runs.figures(&variation, experiment.as_ref(), instead)?;
    if fault.setting == Setting::Quick {
        return Ok(judge(plan, fault, &faulty, None));
    }
    let stands = plan.variations(fault.setting)?.swap_remove(0);
    let sound = runs.figures(&stands, stands.experiment()?.as_ref(), "")?;
    Ok(judge(plan, fault, &faulty, Some(&sound)))
}

/// The runs of a plan for one of its faults.
struct Runs<'a> {
    plan: &'a Plan,
    fault: &'a Fault,
    versions: &'a Versions,
    cache: &'a Cache,
    tell: &'a (dyn Fn() + Sync),
}

impl Runs<'_> {
    /// The figures of the plan, with or without the fault.
    fn figures(
        &self,
        variation: &Variation,
        experiment: &dyn Experiment,
        instead: &str,
    ) -> Result<Figures, Failed> {
        let mut jobs = Vec::new();
        for part in experiment.parts() {
            if !self.needs(experiment, &part) {
                continue;
            }
            // The version that the part has in the plan, because a replaced discipline is a part of
            // the key.
            let version = self.versions.of(variation.kind(), experiment, &part);
            let inputs = inputs(variation, experiment, &part);
            for seed in 1..=variation.seeds {
                let key = key(&version, &inputs, seed, instead);
                jobs.push((part.clone(), seed, key));
            }
        }
        let one = |(part, seed, key): &(String, u64, String)| {
            let cache = self.cache;
            let done = cache.find_or_run(key, part, || experiment.run(part, *seed))?;
            (self.tell)();
            Ok((*seed, done.outcome.rows))
        };
        let done: Vec<_> = if experiment.runs_alone() {
            jobs.iter().map(one).collect::<Result<_, Failed>>()?
        } else {
            jobs.par_iter().map(one).collect::<Result<_, Failed>>()?
        };
        let mut figures = Figures::default();
        figures.is_exact = experiment.is_exact() || self.fault.setting == Setting::Medium;
        for (seed, rows) in done {
            figures.add(seed, &rows);
        }
        Ok(figures)
    }

    /// In the medium setting only what the claims that should notice read.
    fn needs(&self, experiment: &dyn Experiment, part: &str) -> bool {
        if self.fault.setting == Setting::Quick || experiment.inputs(part).is_none() {
            return true;
        }
        let mut claims = self.plan.claims.iter();
        claims.any(|claim| self.fault.is_noticed_by(claim) && claim.names_part(part))
    }
}

/// Judges the claims by the figures from a run with a fault, and by those without it if there are
/// some: otherwise by the truth that the plan expects.
fn judge(plan: &Plan, fault: &Fault, faulty: &Figures, sound: Option<&Figures>) -> Vec<Noticed> {
    let mut all = Vec::new();
    for claim in &plan.claims {
        let must = fault.is_noticed_by(claim);
        let before = match sound {
            Some(sound) if must => truth_of(&findings(plan, claim, sound)),
            Some(_) => continue,
            None => match claim.expected_truth() {
                Some(expected) => expected,
                None => continue,
            },
        };
        let findings = findings(plan, claim, faulty);
        let words = findings.iter().map(|finding| finding.words.clone());
        all.push(Noticed {
            says: claim.says.clone(),
            ours: claim.ours,
            must,
            truths: [before, truth_of(&findings)],
            findings: words.collect(),
        });
    }
    all
}

fn findings(plan: &Plan, claim: &Claim, figures: &Figures) -> Vec<Finding> {
    let mut findings = Vec::new();
    for predicate in &claim.needs {
        findings.extend(predicate.judge(World {
            published: &plan.published,
            figures,
        }));
    }
    findings
}

/// The result for a terminal: which claims notice, and which should and do not.
pub fn report(item: &str, fault: &Fault, claims: &[Noticed]) -> String {
    let mut text = format!("{item}, fault '{}': {}\n", fault.name, fault.description());
    for claim in claims {
        let verb = match (claim.is_noticed(), claim.must) {
            (true, _) => "notices",
            (false, true) => "MISSES IT",
            (false, false) => continue,
        };
        let ours = if claim.ours { " (ours)" } else { "" };
        _ = writeln!(text, "  {verb}: {}{ours}", claim.says);
        for finding in &claim.findings {
            _ = writeln!(text, "    {finding}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::PLAN;

    fn noticed(fault: &str) -> Vec<Noticed> {
        let text = PLAN.replace("seeds = 2", "seeds = 3");
        let claim = "noticed = [\"Round robin shares evenly.\"]\n";
        let plan = Plan::parse(&format!("{text}[[fault]]\nname = \"a\"\n{fault}\n{claim}"));
        let plan = plan.unwrap();
        let versions = Versions::of_program("");
        run(&plan, &plan.faults[0], &versions, &Cache::none(), &|| ()).unwrap()
    }

    #[test]
    fn a_wrong_discipline_or_rule_is_noticed_and_a_right_one_is_not() {
        let wrong = noticed("instead = \"fifo limit 50\"");
        assert!(wrong[0].must && wrong[0].is_noticed(), "{wrong:?}");
        let right = noticed("instead = \"drr\"");
        assert!(right[0].must && !right[0].is_noticed(), "{right:?}");
        let lower = noticed("set = { \"scenario.source.0.rate\" = \"100kbit\" }");
        assert!(lower[0].is_noticed(), "{lower:?}");
        assert_eq!(wrong.len(), 1, "a claim that is left out cannot notice");
    }

    /// One run decides nothing, but of two with the same seed the fault is all that differs.
    #[test]
    fn in_the_medium_setting_a_run_is_compared_with_one_without_the_fault() {
        let medium = "setting = \"medium\"\n";
        let wrong = noticed(&format!("{medium}instead = \"fifo limit 50\""));
        assert!(wrong[0].must && wrong[0].is_noticed(), "{wrong:?}");
        assert_eq!(wrong[0].truths, [Truth::Holds, Truth::Fails]);
        let right = noticed(&format!("{medium}instead = \"drr\""));
        assert!(!right[0].is_noticed(), "{right:?}");
    }

    #[test]
    fn a_report_names_the_claims_that_miss_a_fault() {
        let plan = Plan::parse(PLAN).unwrap();
        let fault = Fault {
            name: "one queue".to_owned(),
            instead: Some("fifo".to_owned()),
            set: toml::Table::new(),
            noticed: vec![plan.claims[0].says.clone()],
            setting: Setting::Quick,
            cheap: false,
        };
        let claims = judge(&plan, &fault, &Figures::default(), None);
        assert!(
            claims[0].is_noticed(),
            "what was not measured does not hold"
        );
        let kept = Noticed {
            truths: [Truth::Holds; 2],
            ..claims[0].clone()
        };
        let text = report("qfq table-2", &fault, &[kept]);
        assert!(
            text.starts_with("qfq table-2, fault 'one queue': `fifo` in place of")
                && text.contains("MISSES IT: Round robin shares evenly."),
            "{text}"
        );
    }
}
