//! Why the best discipline is not the one with the lowest figure in the table.
//!
//! The verdict quotes one column of the table: the delay of the light flows' packets, or of all
//! packets if no flow is light. But the choice is made by harm to kinds of flows, where small
//! differences do not count, and by a discipline's standing (`standing.rs`). The reasons follow the
//! order of the criteria in `verdict.rs` and quote the figures that were compared.

use std::cmp::Ordering;

use roundelay_metrics::units::seconds as precise;
use roundelay_trace::{Kind, KindOutcome, Outcome};

use crate::answer::{least_share, outcome_of};
use crate::case::{CLOSE, Case};
use crate::harm::{NOTABLE, completion};
use crate::reasons::{But, Equality, Fate, Instead, Lower, Reason, Share, Unfairness, Wait};
use crate::standing::Obstacle;

/// Two figures look equal in the table if their ratio is below this factor.
const VISIBLE: f64 = 1.005;

/// Losses are no reason beside a delay if they differ by less than this fraction of the packets.
const VISIBLE_LOSS: f64 = 0.005;

/// The verdict's choice and its inputs.
pub(crate) struct Preference<'a> {
    case: &'a Case<'a>,
    best: usize,
    /// Some flows are light.
    has_light: bool,
    /// The choice was made by harm. Otherwise harm differs too little to matter, so the plainest
    /// discipline was chosen.
    by_harm: bool,
}

impl<'a> Preference<'a> {
    pub(crate) fn new(case: &'a Case<'a>, best: usize, by_harm: bool) -> Self {
        Self {
            case,
            best,
            has_light: case.comparison.flows.iter().any(|flow| flow.light),
            by_harm,
        }
    }

    /// A reason for each sort of discipline that beats the best one and was not chosen.
    pub(crate) fn reasons(&self) -> Vec<Reason> {
        if let Some(obstacle) = self.obstacle(self.best) {
            let spec = self.case.spec(self.best);
            return vec![Reason::NotForAPort { spec, obstacle }];
        }
        let mut reasons = Vec::new();
        let mut bar = None;
        if let Some((barred, obstacle)) = self.barred() {
            let spec = self.case.spec(barred);
            bar = Some(obstacle);
            reasons.push(Reason::Barred { spec, obstacle });
        }
        // The lowest of all does not suit a port. We say so unless the reason just given names the
        // same obstacle.
        let rival = self.rival_among(0..self.case.results().len());
        if let Some(rival) = rival
            && let Some(obstacle) = self.obstacle(rival)
            && bar != Some(obstacle)
        {
            reasons.extend(self.lower_but(rival, But::Obstacle(obstacle)));
        }
        // The lowest of those that may be recommended was passed over.
        if let Some(rival) = self.rival_among(self.case.fit.iter().copied()) {
            reasons.extend(self.lower_but(rival, self.why_not(rival)));
        }
        reasons
    }

    fn obstacle(&self, index: usize) -> Option<Obstacle> {
        self.case.standings[index].obstacle
    }

    /// The discipline with notably less harm that cannot be recommended.
    fn barred(&self) -> Option<(usize, Obstacle)> {
        let harms = &self.case.harms;
        let mut first = 0;
        for (index, harm) in harms.iter().enumerate() {
            if harm.regret_among_all < harms[first].regret_among_all {
                first = index;
            }
        }
        let least = harms.get(first)?.regret_among_all;
        let is_better = least * NOTABLE < harms[self.best].regret_among_all;
        let obstacle = self.obstacle(first)?;
        is_better.then_some((first, obstacle))
    }

    /// The discipline with the lowest figure, if visibly lower than the best discipline's.
    fn rival_among(&self, among: impl Iterator<Item = usize>) -> Option<usize> {
        let best = self.figure(self.best)?;
        let mut lowest: Option<(usize, f64)> = None;
        for index in among {
            let Some(figure) = self.figure(index) else {
                continue;
            };
            if lowest.is_none_or(|(_, least)| figure < least) {
                lowest = Some((index, figure));
            }
        }
        let (first, figure) = lowest?;
        let is_visible = figure * VISIBLE < best && precise(figure) != precise(best);
        is_visible.then_some(first)
    }

    /// `qfq delays light flows less than drr (17.3 ms against 18.1 ms)`, but ..
    fn lower_but(&self, rival: usize, but: But) -> Option<Reason> {
        let lower = Lower {
            of_light: self.has_light,
            theirs: self.wait(rival, self.figure(rival)?),
            ours: self.wait(self.best, self.figure(self.best)?),
        };
        Some(Reason::Lower { lower, but })
    }

    fn wait(&self, index: usize, p99: f64) -> Wait {
        Wait {
            spec: self.case.spec(index),
            p99,
        }
    }

    fn share(&self, index: usize, part: f64) -> Share {
        Share {
            spec: self.case.spec(index),
            part,
        }
    }

    /// Why a rival with a lower figure was not chosen, though it may be recommended as well. The
    /// first criterion that differs decides.
    fn why_not(&self, rival: usize) -> But {
        // Harm was no criterion, because it differs too little to matter.
        if !self.by_harm {
            return But::Unimportant(self.why_ours_is_plainer(rival));
        }
        // The rival does more harm: we name the kind of flows that it hurts, if this shows in the
        // kind's figures.
        let harm = &self.case.harms[rival];
        if harm.regret > self.case.least_regret() * CLOSE {
            let harm_to_kind = harm.hurt.and_then(|kind| self.harm_to(kind, rival));
            return harm_to_kind.unwrap_or_else(|| But::MoreHarm {
                theirs: harm.regret,
                ours: self.share(self.best, self.case.harms[self.best].regret),
            });
        }
        // Both do about as much harm, so a later criterion decided.
        But::Equal(self.why_equal(rival), self.tie_breaker(rival))
    }

    /// What a kind of flow suffers, if this is more than under the best discipline.
    fn harm_to(&self, kind: Kind, rival: usize) -> Option<But> {
        let theirs = outcome_of(&self.case.results()[rival], kind)?;
        let ours = outcome_of(&self.case.results()[self.best], kind)?;
        if kind == Kind::Bulk {
            return Some(But::Unfair(self.unfairness(rival)));
        }
        // Completion times are in the sentence on what changes for users.
        if completion(self.case.comparison, theirs).is_some() {
            return None;
        }
        let Some(wait) = theirs.p99 else {
            return Some(But::LocksOut(kind));
        };
        if theirs.loss > ours.loss + VISIBLE_LOSS && kind != Kind::Acknowledgements {
            return Some(But::Loses(kind, theirs.loss));
        }
        match ours.p99 {
            Some(least) if wait > least * CLOSE => Some(self.delays(kind, None, [wait, least])),
            _ => self.delays_the_worst(theirs, ours),
        }
    }

    /// The worst flow waits longer, though a typical one does not.
    fn delays_the_worst(&self, theirs: &KindOutcome, ours: &KindOutcome) -> Option<But> {
        let wait = theirs.worst_p99?;
        let least = ours.worst_p99?;
        let flow = self.case.comparison.flows[theirs.worst].label.clone();
        (wait > least).then(|| self.delays(theirs.kind, Some(flow), [wait, least]))
    }

    fn delays(&self, kind: Kind, flow: Option<String>, [theirs, ours]: [f64; 2]) -> But {
        But::Delays {
            kind,
            flow,
            theirs,
            ours: self.wait(self.best, ours),
        }
    }

    fn unfairness(&self, rival: usize) -> Unfairness {
        let results = self.case.results();
        Unfairness {
            theirs: least_share(&results[rival]),
            ours: self.share(self.best, least_share(&results[self.best])),
        }
    }

    /// Why a rival counts as equally harmful: because the figures that the verdict quotes are close
    /// or negligible, else because the regrets are close, which the choice compared.
    fn why_equal(&self, rival: usize) -> Equality {
        let [ours, theirs] =
            [self.best, rival].map(|index| self.figure(index).unwrap_or(f64::INFINITY));
        // Theirs is the lower figure.
        if ours < theirs * CLOSE {
            let losses = self.outcome(rival).loss + self.outcome(self.best).loss;
            return Equality::Close {
                factor: CLOSE,
                with_losses: losses > 0.0,
            };
        }
        if ours.max(theirs) <= self.case.negligible {
            return Equality::Negligible(self.case.negligible);
        }
        let harms = &self.case.harms;
        Equality::CloseInHarm {
            factor: CLOSE,
            theirs: self.share(rival, harms[rival].regret),
            ours: self.share(self.best, harms[self.best].regret),
        }
    }

    /// Which criterion decided between two disciplines that do about equal harm.
    fn tie_breaker(&self, rival: usize) -> Instead {
        let best = self.best;
        let harms = &self.case.harms;
        if self.is_only_ours_on_linux(rival) {
            return Instead::NoCommands;
        }
        if harms[rival].division() > harms[best].division() {
            return Instead::Unfair(self.unfairness(rival));
        }
        if self.case.by_total(best, rival) == Ordering::Less {
            let results = self.case.results();
            return Instead::LessHarm {
                spec: self.case.spec(best),
                ours: Fate::of(&results[best].total),
                theirs: Fate::of(&results[rival].total),
            };
        }
        self.why_ours_is_plainer(rival)
    }

    /// By which criterion the best discipline is the plainer of two.
    fn why_ours_is_plainer(&self, rival: usize) -> Instead {
        let [best, other] = [self.best, rival].map(|index| self.case.standings[index]);
        if best.keeps_order && !other.keeps_order {
            Instead::Reorders
        } else if self.is_only_ours_on_linux(rival) {
            Instead::NoCommands
        } else if self.case.memory(self.best) < self.case.memory(rival) {
            Instead::MoreMemory
        } else {
            Instead::NamedFirst(self.case.spec(self.best))
        }
    }

    fn is_only_ours_on_linux(&self, rival: usize) -> bool {
        self.case.standings[self.best].on_linux && !self.case.standings[rival].on_linux
    }

    /// The figure quoted by the verdict.
    fn figure(&self, index: usize) -> Option<f64> {
        self.outcome(index).delay.map(|delay| delay.p99)
    }

    fn outcome(&self, index: usize) -> &Outcome {
        let result = &self.case.results()[index];
        if self.has_light {
            &result.light
        } else {
            &result.total
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::harm::Harm;
    use crate::sample::{HARM, STANDING, comparison};
    use crate::standing::Standing;

    /// The reason against qfq where drr was chosen: with these p99 of light flows, quotients of
    /// harm, and negligible delay.
    fn reason(waits: [f64; 2], regrets: [f64; 2], negligible: f64) -> But {
        reason_of(Kind::Call, waits, regrets, negligible)
    }

    /// The same where this kind of flows decided; for bulk the waits are shares.
    fn reason_of(hurt: Kind, waits: [f64; 2], regrets: [f64; 2], negligible: f64) -> But {
        let mut comparison = comparison(&["drr", "qfq"]);
        for (result, wait) in comparison.disciplines.iter_mut().zip(waits) {
            result.light.delay.as_mut().expect("a delay").p99 = wait;
            let kind = &mut result.kinds[0];
            (kind.kind, kind.p99, kind.worst_p99, kind.loss) = (hurt, Some(wait), Some(wait), 0.0);
            kind.least_share = (hurt == Kind::Bulk).then_some(wait);
        }
        let harms = regrets.map(|regret| Harm {
            regret,
            hurt: Some(hurt),
            ..HARM
        });
        let case = Case {
            comparison: &comparison,
            results: &comparison.disciplines,
            standings: &[STANDING; 2],
            harms: harms.into(),
            fit: vec![0, 1],
            negligible,
        };
        let mut reasons = Preference::new(&case, 0, true).reasons();
        let Some(Reason::Lower { lower, but }) = reasons.pop() else {
            panic!("no reason: {reasons:?}");
        };
        assert!(reasons.is_empty() && lower.of_light);
        assert_eq!([lower.ours.p99, lower.theirs.p99], waits);
        but
    }

    fn share(spec: &str, part: f64) -> Share {
        Share {
            spec: spec.to_owned(),
            part,
        }
    }

    /// Regression: "414 us against 1.39 ms, but less than a factor of 1.5 between the two counts as
    /// none".
    #[test]
    fn a_reason_holds_for_the_figures_that_it_quotes() {
        let equality = |waits, regrets, negligible| match reason(waits, regrets, negligible) {
            But::Equal(equality, _) => equality,
            other => panic!("{other:?}"),
        };
        let near = Equality::Close {
            factor: CLOSE,
            with_losses: false,
        };
        assert_eq!(equality([1.2e-3, 1.0e-3], [1.2, 1.0], 1e-4), near);
        let small = Equality::Negligible(6e-3);
        assert_eq!(equality([1.39e-3, 414e-6], [1.0, 1.0], 6e-3), small);
        let far = Equality::CloseInHarm {
            factor: CLOSE,
            theirs: share("qfq", 1.0),
            ours: share("drr", 1.4),
        };
        assert_eq!(equality([1.39e-3, 414e-6], [1.4, 1.0], 1e-4), far);
    }

    /// The criteria between disciplines of about equal harm begin at a factor of 1.5, that included,
    /// and a division that is as fair is no reason.
    #[test]
    fn equal_harm_goes_up_to_the_factor_and_equal_division_is_no_reason() {
        let found = reason([1.2e-3, 1.0e-3], [1.0, CLOSE], 1e-4);
        let But::Equal(_, instead) = &found else {
            panic!("{found:?}");
        };
        assert!(
            matches!(instead, Instead::MoreMemory | Instead::NamedFirst(_)),
            "{instead:?}"
        );
        let found = reason([1.2e-3, 1.0e-3], [1.0, CLOSE * 1.001], 1e-4);
        assert!(!matches!(found, But::Equal(..)), "{found:?}");
    }

    /// A discipline that may not be recommended is named if it does notably less harm than the best.
    #[test]
    fn a_barred_one_does_notably_less_harm() {
        let comparison = comparison(&["drr", "qfq"]);
        let barred = |regrets: [f64; 2], obstacle| {
            let harms = regrets.map(|regret_among_all| Harm {
                regret_among_all,
                ..HARM
            });
            let standings = [None, obstacle].map(|obstacle| Standing {
                obstacle,
                ..STANDING
            });
            let case = Case {
                comparison: &comparison,
                results: &comparison.disciplines,
                standings: &standings,
                harms: harms.into(),
                fit: vec![0],
                negligible: 1e-4,
            };
            Preference::new(&case, 0, true).barred()
        };
        let slack = Some(Obstacle::Slack);
        assert_eq!(barred([11.0, 8.5], slack), Some((1, Obstacle::Slack)));
        assert_eq!(barred([10.0, 8.5], slack), None, "not notably");
        assert_eq!(barred([8.5, 11.0], slack), None, "more harm");
        assert_eq!(barred([11.0, 8.5], None), None, "nothing bars it");
    }

    /// Of two with equal harm the one that Linux has is preferred, and the other has no commands.
    #[test]
    fn one_that_linux_lacks_is_less_wanted() {
        let comparison = comparison(&["drr", "qfq"]);
        let tie_breaker = |on_linux: [bool; 2]| {
            let standings = on_linux.map(|on_linux| Standing {
                on_linux,
                ..STANDING
            });
            let case = Case {
                comparison: &comparison,
                results: &comparison.disciplines,
                standings: &standings,
                harms: vec![HARM, HARM],
                fit: vec![0, 1],
                negligible: 1e-4,
            };
            Preference::new(&case, 0, true).tie_breaker(1)
        };
        assert_eq!(tie_breaker([true, false]), Instead::NoCommands);
        for both in [[true, true], [false, false], [false, true]] {
            assert_ne!(tie_breaker(both), Instead::NoCommands, "{both:?}");
        }
    }

    #[test]
    fn a_lower_figure_bought_with_unfairness_is_explained() {
        let unfair = But::Unfair(Unfairness {
            theirs: 0.2,
            ours: share("drr", 0.9),
        });
        let found = reason_of(Kind::Bulk, [0.9, 0.2], [1.0, 9.0], 1e-4);
        assert_eq!(found, unfair);
    }

    /// Regression: a loss of 0% was the reason against a discipline that hurts by delay.
    #[test]
    fn a_reason_names_the_kind_that_decided() {
        let hurt = But::MoreHarm {
            theirs: 9.0,
            ours: share("drr", 1.0),
        };
        assert_eq!(reason([2.0e-3, 1.0e-3], [1.0, 9.0], 1e-4), hurt);
    }
}
