//! A plan with a planted fault: its experiment, and the claims that notice the fault.

use super::{Claim, Fault, Plan, Setting, Variation};
use crate::experiments::Experiment;
use crate::kind::Kind;
use crate::locations::Wrong;
use crate::table::set;

impl Plan {
    /// The claim with this `id` or sentence.
    pub fn claim(&self, name: &str) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.is_called(name))
    }

    /// The experiment of the plan as it stands, in the fault's setting, with the fault.
    ///
    /// # Errors
    /// A path does not exist, or the faulty experiment cannot run.
    pub fn with_fault(&self, fault: &Fault) -> Result<(Variation, Box<dyn Experiment>), Wrong> {
        let stands = self.variations(fault.setting)?.swap_remove(0);
        let mut run = stands.run;
        for (path, value) in &fault.set {
            set(&mut run, path, value.clone()).map_err(|message| Wrong::new("set", message))?;
        }
        let variation = Variation { run, ..stands };
        let mut experiment = variation.experiment()?;
        if let Some(discipline) = &fault.instead {
            experiment
                .replace_disciplines(discipline)
                .map_err(|failed| Wrong::new("instead", failed.to_string()))?;
            experiment.check()?;
        }
        Ok((variation, experiment))
    }

    /// True if one of the paper's claims notices a fault, or the plan says why none can.
    pub fn has_noticeable_fault(&self) -> bool {
        if self.cannot_tell.is_some() {
            return true;
        }
        for fault in &self.faults {
            for name in &fault.noticed {
                if let Some(claim) = self.claim(name)
                    && !claim.ours
                {
                    return true;
                }
            }
        }
        false
    }

    /// Checks that no claim's id is the name of a claim before it, because faults name claims.
    pub(super) fn check_claim_ids(&self) -> Result<(), Wrong> {
        for (number, claim) in self.claims.iter().enumerate() {
            let Some(id) = &claim.id else { continue };
            let mut earlier = self.claims[..number].iter();
            if earlier.any(|other| other.is_called(id)) {
                let message = format!("id '{id}' is the name of another claim");
                return Err(Wrong::new(format!("claim.{number}.id"), message));
            }
        }
        Ok(())
    }

    /// Checks that each fault can run, and that the claims which notice it exist and are judged.
    pub(super) fn check_faults(&self) -> Result<(), Wrong> {
        for (number, fault) in self.faults.iter().enumerate() {
            let wrong = |message: String| {
                let message = format!("fault '{}': {message}", fault.name);
                Wrong::new(format!("fault.{number}"), message)
            };
            if fault.instead.is_none() && fault.set.is_empty() {
                return Err(wrong("needs instead or set".to_owned()));
            }
            if fault.noticed.is_empty() {
                return Err(wrong("noticed: name a claim or more".to_owned()));
            }
            for name in &fault.noticed {
                self.check_noticed(name, fault.setting).map_err(wrong)?;
            }
            self.with_fault(fault)
                .map_err(|error| wrong(error.to_string()))?;
        }
        Ok(())
    }

    fn check_noticed(&self, name: &str, setting: Setting) -> Result<(), String> {
        let Some(claim) = self.claim(name) else {
            return Err(format!("noticed: no claim has the id or sentence '{name}'"));
        };
        if claim.only_full.is_some() && setting == Setting::Quick {
            return Err(format!(
                "noticed: '{name}' is not judged in the quick setting: write setting = \"medium\""
            ));
        }
        // In the medium setting a run with the fault is compared with one without it.
        let is_compared = setting == Setting::Medium && claim.expect == Kind::Undecided;
        if claim.expected_truth().is_none() && !is_compared {
            let expected = claim.expect.name();
            return Err(format!(
                "noticed: '{name}' is expected as '{expected}': name claims that hold or fail"
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::plan::{Plan, tests::PLAN};

    const FAULT: &str = "[[fault]]\nname = \"one queue\"\ninstead = \"fifo limit 50\"\nnoticed = [\"Round robin shares evenly.\"]\n";

    fn error(from: &str, to: &str) -> String {
        let text = format!("{PLAN}{FAULT}");
        assert!(text.contains(from));
        Plan::parse(&text.replace(from, to))
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn a_fault_names_what_is_wrong_and_which_claim_notices() {
        let plan = Plan::parse(&format!("{PLAN}{FAULT}")).unwrap();
        assert!(plan.has_noticeable_fault() && !Plan::parse(PLAN).unwrap().has_noticeable_fault());
        let nothing = "instead = \"fifo limit 50\"\nnoticed";
        assert!(error(nothing, "noticed").contains("fault 'one queue': needs instead or set"));
        assert!(error("[\"Round robin", "[\"No robin").contains("no claim has the id or sentence"));
        assert!(
            error(
                "[\"Round robin shares evenly.",
                "[\"The longer queue does not matter."
            )
            .contains("claims that hold or fail")
        );
        assert!(error("\"fifo limit 50\"\nnoticed", "\"fiffo\"\nnoticed").contains("fiffo"));
        let set = "set = { \"scenario.source.7.rate\" = \"1mbit\" }\nnoticed";
        assert!(error(nothing, set).contains("no '7' there"));
        let ours = "ours = true\nexpect = \"holds\"";
        let only_ours = format!("{PLAN}{FAULT}").replacen("expect = \"holds\"", ours, 1);
        assert!(!Plan::parse(&only_ours).unwrap().has_noticeable_fault());
    }
}
