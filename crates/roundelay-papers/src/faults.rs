//! Planted faults: runs a plan with each of its faults and tells which claims notice.

use std::fmt::Write;

use rayon::iter::{IntoParallelRefIterator, ParallelIterator};

use crate::cache::{Cache, hash};
use crate::experiments::Failed;
use crate::figures::Figures;
use crate::finding::{Truth, truth_of};
use crate::plan::{Fault, Plan};
use crate::predicate::World;
use crate::runner::Versions;

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

/// Runs the plan as it stands in the quick setting, with a fault, and judges the claims whose truth
/// without the fault is known. `tell` is called after each run.
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
    let (variation, experiment) = plan.with_fault(fault)?;
    let identity = variation.identity();
    let instead = fault.instead.as_deref().unwrap_or("");
    let mut jobs = Vec::new();
    for part in experiment.parts() {
        // The version that the part has in the plan, because a replaced discipline is a part of the
        // key.
        let version = versions.of(experiment.as_ref(), &part);
        for seed in 1..=variation.seeds {
            let run = hash([identity.as_str(), &part, &seed.to_string(), instead]);
            jobs.push((part.clone(), seed, format!("{version}-{run}")));
        }
    }
    let one = |(part, seed, key): &(String, u64, String)| {
        let done = cache.find_or_run(key, || experiment.run(part, *seed))?;
        tell();
        Ok((*seed, done.outcome.rows))
    };
    let done: Vec<_> = if experiment.runs_alone() {
        jobs.iter().map(one).collect::<Result<_, Failed>>()?
    } else {
        jobs.par_iter().map(one).collect::<Result<_, Failed>>()?
    };
    let mut figures = Figures::default();
    figures.is_exact = experiment.is_exact();
    for (seed, rows) in done {
        figures.add(seed, &rows);
    }
    Ok(judge(plan, fault, &figures))
}

/// Judges the claims by the figures from a run with a fault.
fn judge(plan: &Plan, fault: &Fault, figures: &Figures) -> Vec<Noticed> {
    let mut all = Vec::new();
    for claim in &plan.claims {
        let Some(expected) = claim.expected_truth() else {
            continue;
        };
        let mut findings = Vec::new();
        for predicate in &claim.needs {
            findings.extend(predicate.judge(World {
                published: &plan.published,
                figures,
            }));
        }
        let words = findings.iter().map(|finding| finding.words.clone());
        all.push(Noticed {
            says: claim.says.clone(),
            ours: claim.ours,
            must: fault.noticed.iter().any(|name| claim.is_called(name)),
            truths: [expected, truth_of(&findings)],
            findings: words.collect(),
        });
    }
    all
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

    #[test]
    fn a_report_names_the_claims_that_miss_a_fault() {
        let plan = Plan::parse(PLAN).unwrap();
        let fault = Fault {
            name: "one queue".to_owned(),
            instead: Some("fifo".to_owned()),
            set: toml::Table::new(),
            noticed: vec![plan.claims[0].says.clone()],
            cheap: false,
        };
        let claims = judge(&plan, &fault, &Figures::default());
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
