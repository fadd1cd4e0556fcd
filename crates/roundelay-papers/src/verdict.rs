//! Verdicts: how a claim is judged over all variations of the open parameters.

use crate::figures::Figures;
use crate::finding::{Finding, Runs, Truth, truth_of};
use crate::kind::Kind;
use crate::noise::STEADY;
use crate::plan::{Claim, Plan, Setting, Variation};
use crate::predicate::World;

/// A verdict with its reasons.
#[derive(Debug, Clone, PartialEq)]
pub struct Verdict {
    /// The kind.
    pub kind: Kind,
    /// The whole verdict in a line: `holds if scenario.source.4.weight is 10 or 22`.
    pub words: String,
    /// Each variation's deciding findings, the plan as it stands first. Empty if the claim is not
    /// judged.
    pub by_variation: Vec<Vec<Finding>>,
    /// True if measured times vary too much for a verdict.
    pub is_noisy: bool,
}

impl Verdict {
    /// The deciding findings for the plan as it stands.
    pub fn findings(&self) -> &[Finding] {
        self.by_variation.first().map_or(&[], Vec::as_slice)
    }

    /// How many runs the plan as it stands has, if they are too few for a verdict.
    pub fn too_few(&self) -> Option<usize> {
        if self.kind != Kind::Undecided {
            return None;
        }
        let findings = self.findings().iter();
        findings.filter_map(|finding| finding.runs.too_few()).min()
    }

    /// Leaves a verdict on times undecided if these vary too much on this machine.
    pub fn unless_noisy(&mut self, noise: f64) {
        let is_judged = !matches!(self.kind, Kind::CannotBe | Kind::LeftOut);
        if is_judged && noise > STEADY {
            self.kind = Kind::Undecided;
            self.is_noisy = true;
            self.words = format!("undecided: times vary by {:.0}% here", 100.0 * noise);
        }
    }

    /// The truth with a variation.
    pub fn truth(&self, variation: usize) -> Truth {
        match self.by_variation.get(variation) {
            Some(findings) => truth_of(findings),
            None => Truth::Undecided,
        }
    }
}

/// Judges a claim by the figures from all variations.
pub fn judge(
    plan: &Plan,
    claim: &Claim,
    variations: &[(Variation, Figures)],
    setting: Setting,
) -> Verdict {
    if let (Some(why), Setting::Quick) = (&claim.only_full, setting) {
        return Verdict {
            kind: Kind::Undecided,
            words: format!("not judged in the quick setting: {why}"),
            by_variation: Vec::new(),
            is_noisy: false,
        };
    }
    let mut by_variation = Vec::new();
    let mut truths = Vec::new();
    for (_, figures) in variations {
        let mut findings = Vec::new();
        for predicate in &claim.needs {
            findings.extend(predicate.judge(World {
                published: &plan.published,
                figures,
            }));
        }
        truths.push(truth_of(&findings));
        by_variation.push(findings);
    }
    let (kind, words) = decide(claim, variations, &truths, runs_of(&by_variation[0]));
    Verdict {
        kind,
        words,
        by_variation,
        is_noisy: false,
    }
}

/// The fewest runs behind a finding that is undecided.
fn runs_of(findings: &[Finding]) -> Option<usize> {
    let mut least: Option<usize> = None;
    for finding in findings {
        if let (Truth::Undecided, Runs::Drawn(runs)) = (finding.truth, finding.runs) {
            least = Some(least.unwrap_or(runs).min(runs));
        }
    }
    least
}

fn decide(
    claim: &Claim,
    variations: &[(Variation, Figures)],
    truths: &[Truth],
    runs: Option<usize>,
) -> (Kind, String) {
    // The plan's reason belongs to the expected verdict only.
    let because = |kind: Kind, words: String| match claim.because.as_str() {
        "" => (kind, words),
        reason if kind == claim.expect => (kind, format!("{words}: {reason}")),
        _ => (
            kind,
            format!("{words} (expected: '{}')", claim.expect.name()),
        ),
    };
    if let Some(what) = &claim.left_out {
        return (Kind::LeftOut, format!("the paper leaves out {what}"));
    }
    let base = truths.first().copied().unwrap_or(Truth::Undecided);
    if let Some(why) = &claim.cannot {
        return match base {
            Truth::Fails => (
                Kind::CannotBe,
                format!("cannot be (the paper contradicts itself: {why})"),
            ),
            _ => (Kind::Holds, "holds, by its own numbers".to_owned()),
        };
    }
    let [held, failed] = [Truth::Holds, Truth::Fails].map(|truth| with(variations, truths, truth));
    match base {
        Truth::Holds if failed.is_empty() => (Kind::Holds, "holds".to_owned()),
        Truth::Holds => {
            let without = failed.join(", nor with ");
            because(
                Kind::HoldsButNotIf,
                format!("holds as the plan stands, but not with {without}"),
            )
        }
        Truth::Fails if !held.is_empty() => {
            let with = held.join(", or ");
            because(
                Kind::FailsButHoldsIf,
                format!("fails as the plan stands, holds with {with}"),
            )
        }
        Truth::Fails => match &claim.differs {
            Some(why) => differs(claim, why),
            None => because(Kind::DoesNotHold, "does not hold".to_owned()),
        },
        Truth::Undecided => {
            let mut words = match runs {
                None => "undecided".to_owned(),
                Some(1) => "undecided (1 run)".to_owned(),
                Some(runs) => format!("undecided ({runs} runs)"),
            };
            for (verb, names) in [("holds", held), ("fails", failed)] {
                if !names.is_empty() {
                    words += &format!("; {verb} with {}", names.join(", or "));
                }
            }
            because(Kind::Undecided, words)
        }
    }
}

/// The reason in `differs` is about our program or machine, so it belongs to each failure.
fn differs(claim: &Claim, why: &str) -> (Kind, String) {
    let words = format!("differs here: {why}");
    if claim.expect == Kind::DiffersHere {
        return (Kind::DiffersHere, words);
    }
    let expected = claim.expect.name();
    (
        Kind::DiffersHere,
        format!("{words} (expected: '{expected}')"),
    )
}

/// Names of the variations with this truth.
fn with<'a>(
    variations: &'a [(Variation, Figures)],
    truths: &[Truth],
    wanted: Truth,
) -> Vec<&'a str> {
    let mut names = Vec::new();
    for ((variation, _), truth) in variations.iter().zip(truths).skip(1) {
        if *truth == wanted {
            names.push(variation.name.as_str());
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::Row;
    use crate::plan::tests::PLAN;

    /// Verdicts on the plan's claims, if DRR's least flow gets the value `least` of each variation.
    fn verdicts(least: [f64; 3]) -> Vec<Verdict> {
        verdicts_of(PLAN, least)
    }

    fn verdicts_of(plan: &str, least: [f64; 3]) -> Vec<Verdict> {
        verdicts_in(Setting::Full, plan, least)
    }

    fn verdicts_in(setting: Setting, plan: &str, least: [f64; 3]) -> Vec<Verdict> {
        verdicts_with(3, setting, plan, least)
    }

    fn verdicts_with(runs: u64, setting: Setting, plan: &str, least: [f64; 3]) -> Vec<Verdict> {
        let plan = Plan::parse(plan).unwrap();
        let figures = |value: f64| {
            let mut figures = Figures::default();
            (1..=runs)
                .for_each(|seed| figures.add(seed, &[Row::scalar("DRR", "least, kbit/s", value)]));
            figures
        };
        let variations = plan
            .variations(Setting::Full)
            .unwrap()
            .into_iter()
            .zip(least.map(figures))
            .collect::<Vec<_>>();
        plan.claims
            .iter()
            .map(|claim| judge(&plan, claim, &variations, setting))
            .collect()
    }

    #[test]
    fn a_verdict_is_over_all_that_is_open() {
        let verdict = |least| verdicts(least).swap_remove(0);
        assert_eq!(verdict([500.0, 510.0, 490.0]).kind, Kind::Holds);
        assert_eq!(verdict([400.0, 410.0, 390.0]).kind, Kind::DoesNotHold);
        let some = verdict([500.0, 400.0, 490.0]);
        assert_eq!(
            (some.kind, some.words.as_str()),
            (
                Kind::HoldsButNotIf,
                "holds as the plan stands, but not with rate = 600kbit"
            )
        );
        let other = verdict([400.0, 400.0, 490.0]);
        assert_eq!(
            (other.kind, other.words.as_str()),
            (
                Kind::FailsButHoldsIf,
                "fails as the plan stands, holds with rate = 2mbit"
            )
        );
        assert_eq!(
            verdicts([1.0; 3])[1].words,
            "the paper leaves out what longer means"
        );
    }

    #[test]
    fn fewer_than_three_runs_are_undecided_with_their_number() {
        let verdict = |runs| verdicts_with(runs, Setting::Full, PLAN, [500.0; 3]).swap_remove(0);
        let [one, two, three] = [1, 2, 3].map(verdict);
        assert_eq!(
            (one.words.as_str(), one.too_few()),
            ("undecided (1 run)", Some(1))
        );
        assert_eq!(
            (two.words.as_str(), two.too_few()),
            ("undecided (2 runs)", Some(2))
        );
        assert_eq!((three.kind, three.too_few()), (Kind::Holds, None));
    }

    /// Formerly a verdict on times changed because the machine was busy.
    #[test]
    fn noisy_times_are_undecided_with_their_noise() {
        let mut verdict = verdicts([500.0, 510.0, 490.0]).swap_remove(0);
        verdict.unless_noisy(0.09);
        assert_eq!(verdict.kind, Kind::Holds);
        verdict.unless_noisy(0.31);
        assert_eq!(
            (verdict.kind, verdict.words.as_str()),
            (Kind::Undecided, "undecided: times vary by 31% here")
        );
    }

    #[test]
    fn a_reason_is_of_the_verdict_on_record() {
        let plan = PLAN.replacen(
            "expect = \"holds\"",
            "because = \"queues are short\"\nexpect = \"does not hold\"",
            1,
        );
        let words = |least| verdicts_of(&plan, least).swap_remove(0).words;
        assert_eq!(
            words([400.0, 410.0, 390.0]),
            "does not hold: queues are short"
        );
        let another = words([500.0, 400.0, 490.0]);
        assert!(
            another.ends_with("(expected: 'does not hold')"),
            "{another}"
        );
        assert!(!another.contains("queues are short"));
    }

    /// A failure that comes from our program or machine refutes nothing.
    #[test]
    fn a_failure_of_our_own_making_differs_here() {
        let plan = PLAN.replacen(
            "expect = \"holds\"",
            "differs = \"our program keeps other tables\"\nexpect = \"differs here\"",
            1,
        );
        let verdict = |least| verdicts_of(&plan, least).swap_remove(0);
        let failed = verdict([400.0, 410.0, 390.0]);
        assert_eq!(
            (failed.kind, failed.words.as_str()),
            (
                Kind::DiffersHere,
                "differs here: our program keeps other tables"
            )
        );
        assert_eq!(verdict([500.0, 510.0, 490.0]).kind, Kind::Holds);
        assert_eq!(verdict([400.0, 410.0, 490.0]).kind, Kind::FailsButHoldsIf);
    }

    #[test]
    fn what_the_quick_setting_cannot_tell_is_undecided_there() {
        let plan = PLAN.replacen(
            "expect = \"holds\"",
            "only_full = \"runs are too short\"\nexpect = \"holds\"",
            1,
        );
        let verdict = |setting| verdicts_in(setting, &plan, [500.0, 510.0, 490.0]).swap_remove(0);
        assert_eq!(verdict(Setting::Full).kind, Kind::Holds);
        let quick = verdict(Setting::Quick);
        assert_eq!(
            (quick.kind, quick.words.as_str()),
            (
                Kind::Undecided,
                "not judged in the quick setting: runs are too short"
            )
        );
    }
}
