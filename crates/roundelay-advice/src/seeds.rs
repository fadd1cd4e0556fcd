//! What another seed would change. If flows share queues, or drops are drawn, a verdict may rest on
//! a single draw.

use roundelay_trace::Comparison;

use crate::reasons::{OtherWinner, Reason};
use crate::standing::Standing;
use crate::verdict::{self, Choice};

/// Which discipline is best with each of the other seeds.
pub(crate) fn choices(comparison: &Comparison, standings: &[Standing]) -> Vec<usize> {
    let mut choices = Vec::new();
    for other in &comparison.other_seeds {
        choices.push(verdict::best(comparison, &other.disciplines, standings));
    }
    choices
}

/// Tells which disciplines win with other seeds, if any do.
pub(crate) fn reason(
    comparison: &Comparison,
    choice: &Choice,
    winners_with_other_seeds: &[usize],
) -> Option<Reason> {
    let mut winners: Vec<OtherWinner> = Vec::new();
    for (other, &best) in comparison.other_seeds.iter().zip(winners_with_other_seeds) {
        if best == choice.best {
            continue;
        }
        let spec = &comparison.disciplines[best].spec;
        match winners.iter_mut().find(|winner| winner.spec == *spec) {
            Some(winner) => winner.seeds.push(other.seed),
            None => winners.push(OtherWinner {
                spec: spec.clone(),
                seeds: vec![other.seed],
            }),
        }
    }
    (!winners.is_empty()).then(|| Reason::OtherSeeds {
        spec: comparison.disciplines[choice.best].spec.clone(),
        seed: comparison.seed,
        winners,
        seeds: winners_with_other_seeds.len() + 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sample::{STANDING, comparison};

    /// One choice for each other seed: none, where no discipline draws.
    #[test]
    fn without_other_seeds_there_are_no_other_choices() {
        let comparison = comparison(&["drr"]);
        assert_eq!(choices(&comparison, &[STANDING]), [0; 0]);
    }
}
