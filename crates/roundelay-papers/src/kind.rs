//! Kinds of verdicts, and counts of claims by kind: the paper's claims, and apart from them ours.

use serde::Deserialize;

use crate::plan::Claim;

/// The kind of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Kind {
    /// True for the plan as it stands, and false with no choice of an open parameter.
    Holds,
    /// True for the plan as it stands, false with some choice.
    HoldsButNotIf,
    /// False for the plan as it stands, true with some choice.
    FailsButHoldsIf,
    /// True with no choice.
    DoesNotHold,
    /// True with no choice, because our program, machine or setting is another one than the
    /// paper's: refutes nothing.
    DiffersHere,
    /// The paper contradicts itself.
    CannotBe,
    /// The paper lacks information necessary for a verdict.
    LeftOut,
    /// The runs do not decide.
    Undecided,
}

impl Kind {
    /// All kinds, in the order of tables.
    pub const ALL: [Self; 8] = [
        Self::Holds,
        Self::HoldsButNotIf,
        Self::FailsButHoldsIf,
        Self::DoesNotHold,
        Self::DiffersHere,
        Self::CannotBe,
        Self::LeftOut,
        Self::Undecided,
    ];

    /// Name in plans.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::HoldsButNotIf => "holds, but not if",
            Self::FailsButHoldsIf => "fails, but holds if",
            Self::DoesNotHold => "does not hold",
            Self::DiffersHere => "differs here",
            Self::CannotBe => "cannot be",
            Self::LeftOut => "left out",
            Self::Undecided => "undecided",
        }
    }

    /// The verb in lists, of one claim and of several.
    const fn verbs(self) -> [&'static str; 2] {
        match self {
            Self::Holds => ["holds", "hold"],
            Self::HoldsButNotIf => ["holds but not if ..", "hold but not if .."],
            Self::FailsButHoldsIf => ["fails but holds if ..", "fail but hold if .."],
            Self::DoesNotHold => ["does not hold", "do not hold"],
            Self::DiffersHere => ["differs here", "differ here"],
            Self::CannotBe => ["cannot be", "cannot be"],
            Self::LeftOut => ["cannot be judged", "cannot be judged"],
            Self::Undecided => ["is undecided", "are undecided"],
        }
    }
}

impl TryFrom<String> for Kind {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        if name == "holds if" {
            let [one, other] = [Self::HoldsButNotIf, Self::FailsButHoldsIf].map(Self::name);
            return Err(format!(
                "'{name}' does not say whether the claim holds as the plan stands: '{one}', or '{other}'"
            ));
        }
        for kind in Self::ALL {
            if kind.name() == name {
                return Ok(kind);
            }
        }
        let names = Self::ALL.map(|kind| format!("'{}'", kind.name()));
        Err(format!(
            "no verdict is called '{name}': {}",
            names.join(", ")
        ))
    }
}

/// Numbers of claims by kind of verdict.
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

    /// Adds the counts of another item.
    pub fn add_all(&mut self, other: &Self) {
        for kind in Kind::ALL {
            self.of_paper[kind as usize] += other.of_paper[kind as usize];
            self.ours[kind as usize] += other.ours[kind as usize];
        }
    }

    /// Number of the paper's claims with this kind of verdict.
    pub const fn of_paper(&self, kind: Kind) -> usize {
        self.of_paper[kind as usize]
    }

    /// Our own claims in a line: `2 hold, 1 is undecided`; empty without any.
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
    fn every_kind_is_read_by_its_name() {
        for kind in Kind::ALL {
            assert_eq!(Kind::try_from(kind.name().to_owned()), Ok(kind));
        }
    }

    #[test]
    fn holds_if_is_refused_because_it_hides_the_direction() {
        let error = Kind::try_from("holds if".to_owned()).unwrap_err();
        assert!(
            error.contains("'holds, but not if'") && error.contains("'fails, but holds if'"),
            "{error}"
        );
    }

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
