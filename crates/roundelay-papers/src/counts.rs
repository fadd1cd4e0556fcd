//! Counts of claims by kind of verdict: the paper's claims, and apart from them ours.

use crate::kind::Kind;
use crate::plan::Claim;

/// How many claims got each kind of verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    of_paper: [usize; Kind::ALL.len()],
    ours: [usize; Kind::ALL.len()],
}

impl Counts {
    /// Counts a claim with its verdict.
    pub fn add(&mut self, claim: &Claim, kind: Kind) {
        let counts = if claim.ours {
            &mut self.ours
        } else {
            &mut self.of_paper
        };
        counts[kind as usize] += 1;
    }

    /// Adds another item's counts.
    pub fn add_all(&mut self, other: &Self) {
        for kind in Kind::ALL {
            self.of_paper[kind as usize] += other.of_paper[kind as usize];
            self.ours[kind as usize] += other.ours[kind as usize];
        }
    }

    /// How many of the paper's claims have this kind of verdict.
    pub const fn of_paper(&self, kind: Kind) -> usize {
        self.of_paper[kind as usize]
    }

    /// Counts our own claims in a line: `2 hold, 1 is undecided`. Empty if there are none.
    pub fn ours(&self) -> String {
        words(&self.ours)
    }

    /// All verdicts in a line: `3 hold, 1 does not hold; ours: 2 hold`.
    pub fn words(&self) -> String {
        let of_paper = words(&self.of_paper);
        let ours = words(&self.ours);
        match (of_paper.is_empty(), ours.is_empty()) {
            (_, true) => of_paper,
            (true, false) => format!("ours: {ours}"),
            (false, false) => format!("{of_paper}; ours: {ours}"),
        }
    }
}

/// A single claim needs no number.
fn words(counts: &[usize; Kind::ALL.len()]) -> String {
    let is_single = counts.iter().sum::<usize>() == 1;
    let mut words = Vec::new();
    for kind in Kind::ALL {
        let [one, several] = kind.verbs();
        match counts[kind as usize] {
            0 => {}
            1 if is_single => words.push(one.to_owned()),
            1 => words.push(format!("1 {one}")),
            count => words.push(format!("{count} {several}")),
        }
    }
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Plan, tests::PLAN};

    #[test]
    fn our_own_claims_are_counted_apart() {
        let text = PLAN.replacen("expect =", "ours = true\nexpect =", 1);
        let claims = Plan::parse(&text).unwrap().claims;
        let ours = &claims[0];
        let paper = &claims[1];
        let mut counts = Counts::default();
        counts.add(ours, Kind::Holds);
        assert_eq!(counts.words(), "ours: holds");
        for kind in [Kind::Holds, Kind::Holds, Kind::DiffersHere] {
            counts.add(paper, kind);
        }
        let mut twice = counts;
        twice.add_all(&counts);
        assert_eq!(counts.words(), "2 hold, 1 differs here; ours: holds");
        assert_eq!(twice.words(), "4 hold, 2 differ here; ours: 2 hold");
        assert_eq!(twice.of_paper(Kind::Holds), 4);
    }
}
