//! A claim of a paper: what it says, the conditions for it, and the verdict that is expected.

use serde::Deserialize;

use crate::figures::Reference;
use crate::finding::Truth;
use crate::kind::Kind;
use crate::predicate::Predicate;

/// A claim in the paper, and its conditions.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// Short name, for faults and essays.
    pub id: Option<String>,
    /// The claim, in a sentence of our own.
    pub says: String,
    /// Where it is in the paper, if not at the item.
    #[serde(rename = "where")]
    pub place: Option<String>,
    /// The claim holds if all these predicates hold.
    #[serde(default)]
    pub needs: Vec<Predicate>,
    /// Where the numbers in `needs` come from.
    #[serde(default)]
    pub tolerance: String,
    /// Reason for a failure, or the condition.
    #[serde(default)]
    pub because: String,
    /// How the paper contradicts itself. `needs` then reads published numbers.
    pub cannot: Option<String>,
    /// Why our program, machine or setting is another one than the paper's, so that a failure
    /// refutes nothing: the verdict is then *differs here*.
    pub differs: Option<String>,
    /// True for claims that are not the paper's: rules of kernels, controls. Counted apart.
    #[serde(default)]
    pub ours: bool,
    /// Information missing in the paper and necessary for a verdict.
    pub left_out: Option<String>,
    /// Reason why the quick setting leaves the claim undecided.
    pub only_full: Option<String>,
    /// The verdict expected in the full setting, compared by `--check`.
    pub expect: Kind,
    /// Tests that prove more, by name.
    #[serde(default)]
    pub tests: Vec<String>,
}

impl Claim {
    /// True if `name` is the claim's `id` or its sentence.
    pub fn is_called(&self, name: &str) -> bool {
        self.id.as_deref() == Some(name) || self.says == name
    }

    /// The figures of ours that predicates read.
    fn figures(&self) -> Vec<String> {
        let mut figures = Vec::new();
        for predicate in &self.needs {
            for text in predicate.figures() {
                if let Ok(reference) = Reference::parse(&text)
                    && !reference.is_published
                {
                    figures.push(reference.figure);
                }
            }
        }
        figures
    }

    /// True if a predicate reads this figure of ours.
    pub(crate) fn names(&self, figure: &str) -> bool {
        self.figures().iter().any(|own| own == figure)
    }

    /// True if a predicate reads a figure of this part.
    pub(crate) fn names_part(&self, part: &str) -> bool {
        for figure in self.figures() {
            // A part's name may have a colon itself.
            if let Some(rest) = figure.strip_prefix(part)
                && (rest.starts_with(": ") || rest.starts_with(" by "))
            {
                return true;
            }
        }
        false
    }

    /// The expected truth for the plan as it stands. None if it is not known.
    pub const fn expected_truth(&self) -> Option<Truth> {
        match self.expect {
            Kind::Holds | Kind::HoldsButNotIf => Some(Truth::Holds),
            Kind::FailsButHoldsIf | Kind::DoesNotHold | Kind::DiffersHere => Some(Truth::Fails),
            Kind::CannotBe | Kind::LeftOut | Kind::Undecided => None,
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        for predicate in &self.needs {
            predicate
                .check()
                .map_err(|message| format!("claim '{}': {message}", self.says))?;
        }
        if self.left_out.is_some() != self.needs.is_empty() {
            return Err(format!(
                "claim '{}': either needs, or left_out says why there are none",
                self.says
            ));
        }
        let has_reason = !self.because.is_empty()
            || self.cannot.is_some()
            || self.differs.is_some()
            || self.left_out.is_some();
        if self.expect != Kind::Holds && !has_reason {
            return Err(format!(
                "claim '{}': because is needed unless expect is 'holds'",
                self.says
            ));
        }
        self.check_expected()
            .map_err(|message| format!("claim '{}': {message}", self.says))
    }

    /// Checks that the expected verdict can occur.
    fn check_expected(&self) -> Result<(), String> {
        let needed = match self.expect {
            Kind::DiffersHere => Some(("differs", self.differs.is_some())),
            Kind::CannotBe => Some(("cannot", self.cannot.is_some())),
            Kind::LeftOut => Some(("left_out", self.left_out.is_some())),
            _ => None,
        };
        if let Some((key, false)) = needed {
            let expected = self.expect.name();
            return Err(format!("expect '{expected}' needs the key {key}"));
        }
        if self.expect == Kind::DoesNotHold && self.differs.is_some() {
            return Err("with differs a failure is expected as 'differs here'".to_owned());
        }
        Ok(())
    }
}
