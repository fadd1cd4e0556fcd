//! Kinds of verdicts.

use serde::Deserialize;

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
    /// All kinds, in the order in which tables have them.
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

    /// The verb in lists, for one claim and for several.
    pub(crate) const fn verbs(self) -> [&'static str; 2] {
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
                "'{name}' does not say whether the claim holds as the plan stands: '{one}', or \
                 '{other}'"
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

#[cfg(test)]
mod tests {
    use super::*;

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
}
