//! Verdict: the best discipline for this traffic, and why.
//!
//! Each kind of flow is judged on its own, so that fifty web pages that do not wait cannot make up
//! for a call that does. For each discipline and kind we divide the harm by the least harm that any
//! discipline does to this kind. The best discipline is the one whose largest quotient is smallest,
//! among those suitable for a real port (`standing.rs`).
//!
//! If several are about equal, we prefer one that Linux has. Then, if all flows are bulk, the
//! fairest division decides, then least harm to all packets together (unless one of them marks
//! packets), then keeping the order of packets, then least memory.

use roundelay_trace::{Comparison, DisciplineResult};

use crate::case::Case;
use crate::preference::Preference;
use crate::reasons::Reason;
use crate::standing::Standing;
use crate::{answer, blame};

/// The choice of a discipline.
pub(crate) struct Choice {
    /// An index into the disciplines.
    pub(crate) best: usize,
    /// The discipline that does the most harm.
    pub(crate) worst: usize,
    /// The answer, then the reasons.
    pub(crate) reasons: Vec<Reason>,
    /// Packets wait for the link under some discipline.
    pub(crate) is_contended: bool,
    /// Nothing contends, or several disciplines serve the traffic about equally.
    pub(crate) is_indifferent: bool,
}

/// Chooses the best discipline.
pub(crate) fn choose(comparison: &Comparison, standings: &[Standing]) -> Choice {
    let case = Case::new(comparison, &comparison.disciplines, standings);
    let is_contended = case.is_contended();
    let differ = case.differ();
    let by_harm = is_contended && differ;
    let best = case.best();
    let mut reasons = vec![answer::of(&case, best, is_contended, differ)];
    if by_harm {
        reasons.extend(blame::of_the_worst(&case, best));
        reasons.extend(case.peers(best));
    }
    if is_contended {
        reasons.extend(answer::fairness_by_host(&case, best));
    }
    if is_contended && !differ {
        reasons.extend(answer::standout(&case));
    }
    reasons.extend(Preference::new(&case, best, by_harm).reasons());
    reasons.extend(answer::caveats(&case, best));
    Choice {
        best,
        worst: case.most_harmful(),
        reasons,
        is_contended,
        is_indifferent: !is_contended || !differ && comparison.disciplines.len() > 1,
    }
}

/// The index of the discipline that would be best if these were the comparison's results.
pub(crate) fn best(
    comparison: &Comparison,
    results: &[DisciplineResult],
    standings: &[Standing],
) -> usize {
    Case::new(comparison, results, standings).best()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{STANDING, comparison};

    /// One discipline alone is no choice between several that serve alike.
    #[test]
    fn several_that_serve_alike_are_indifferent_and_one_is_not() {
        let of = |names: &[&str], dropped| {
            let mut comparison = comparison(names);
            for result in &mut comparison.disciplines {
                result.total.drops.full = dropped;
            }
            let choice = choose(&comparison, &vec![STANDING; names.len()]);
            (choice.is_contended, choice.is_indifferent)
        };
        assert_eq!(of(&["drr"], 1), (true, false));
        assert_eq!(of(&["drr", "qfq"], 1), (true, true));
        assert_eq!(of(&["drr"], 0), (false, true));
        assert_eq!(of(&["drr", "qfq"], 0), (false, true));
    }
}
