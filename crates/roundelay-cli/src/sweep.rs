//! `roundelay sweep`: runs a scenario for all combinations of values of its keys, into one dataset.
//!
//! A [`Session`] is a plan with its dataset. The command runs the pending tasks on threads; a
//! program may run them elsewhere ([`run_task`]: text in, bytes out) and commit the results.

mod behaviour;
mod dataset;
mod identity;
mod parts;
mod plan;
mod report;
mod runner;
mod session;
mod until;
mod values;

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use roundelay_sim::scenario::Scenario;

use crate::arguments::Sweep;
use crate::call::Host;
use crate::failure::Failure;
use crate::print;
pub use parts::{OwnParts, Parts};
pub use report::Summary;
pub use session::{Session, Task, run_task};

pub(crate) fn run(arguments: &Sweep) -> Result<(), Failure> {
    let host = Host::default();
    if arguments.why {
        return print(&Session::open(arguments, &host)?.why()?);
    }
    let summary = compute(arguments, &host, false)?;
    print(
        &arguments
            .outputs
            .printed(&summary)?
            .unwrap_or_else(|| summary.text()),
    )?;
    summary.failure().map_or(Ok(()), Err)
}

/// The sweep, without printed text.
///
/// # Errors
/// An argument or a file is wrong, the dataset cannot be written, or a stop was requested. Failed
/// runs are in the summary.
pub(crate) fn compute(arguments: &Sweep, host: &Host, with_rows: bool) -> Result<Summary, Failure> {
    let mut session = Session::open(arguments, host)?;
    if with_rows {
        session.keep_reasons();
    }
    let ended = match arguments.until {
        Some(precision) => until::run(&mut session, precision),
        None => runner::run(&mut session),
    };
    let summary = session.finish(with_rows)?;
    ended.map(|()| summary)
}

/// Version of a simulation in a plan of a paper: a hash of the network, the files, the behaviours
/// used, and the figures of plans. None if a behaviour has no version, or if slack is written at
/// departure: records of such runs are from before this behaviour had a version.
pub(crate) fn version_of(scenario: &Scenario) -> Option<String> {
    if behaviour::writes_at_departure(scenario) {
        return None;
    }
    let behaviours = behaviour::Behaviours::of_program();
    let origin = identity::Origin::new(
        &toml::Table::new(),
        scenario,
        &behaviours,
        &identity::FileHashes::default(),
    )
    .ok()?;
    Some(identity::hash(&[
        &origin.identity(),
        behaviours.figures_of_plans(),
    ]))
}

/// Version of an experiment of a paper beside the simulator, by kind: a hash of the behaviours of
/// the kind and of the disciplines that a plan names. None if the kind has no version, since it
/// measures this machine.
pub(crate) fn version_of_experiment(kind: &str, disciplines: &BTreeSet<String>) -> Option<String> {
    let behaviours = behaviour::Behaviours::of_program();
    let mut all = vec![behaviours.of_experiment(kind)?];
    for discipline in disciplines {
        all.extend(behaviours.of_discipline(discipline));
    }
    Some(identity::hash(&all))
}

/// A part of the runs: the first number of the second, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Shard {
    part: u64,
    parts: u64,
}

impl Shard {
    /// Whether the run with this identity is in the part.
    fn has(self, identity: &str) -> bool {
        // 60 of the hash's bits, evenly distributed.
        let bits = u64::from_str_radix(identity.get(..15).unwrap_or_default(), 16).unwrap_or(0);
        bits % self.parts == self.part - 1
    }
}

impl FromStr for Shard {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected I/N, as in 3/16: I from 1 to N, N from 1 to 100000".to_owned();
        let (part, parts) = text.split_once('/').ok_or_else(expected)?;
        let shard = Self {
            part: part.parse().map_err(|_| expected())?,
            parts: parts.parse().map_err(|_| expected())?,
        };
        if (1..=100_000).contains(&shard.parts) && (1..=shard.parts).contains(&shard.part) {
            Ok(shard)
        } else {
            Err(expected())
        }
    }
}

/// Half the width of a confidence interval as part of the mean.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Precision(f64);

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let expected = || "expected ci=PART, as in ci=2%, legal range above 0% to 100%".to_owned();
        let part = text.strip_prefix("ci=").ok_or_else(expected)?;
        let (number, unit) = part
            .strip_suffix('%')
            .map_or((part, 1.0), |number| (number, 100.0));
        let part = number.parse::<f64>().map_err(|_| expected())? / unit;
        if part > 0.0 && part <= 1.0 {
            Ok(Self(part))
        } else {
            Err(expected())
        }
    }
}

impl fmt::Display for Precision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}%", self.0 * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_divide_all_runs() {
        let shards: Vec<Shard> = (1..=16)
            .map(|part| format!("{part}/16").parse().unwrap())
            .collect();
        let mut counts = [0; 16];
        for seed in 0..1600 {
            let identity = identity::run_identity("point", seed);
            let mine: Vec<_> = (0..16)
                .filter(|part| shards[*part].has(&identity))
                .collect();
            assert_eq!(mine.len(), 1);
            counts[mine[0]] += 1;
        }
        assert!(
            counts.iter().all(|count| (60..=140).contains(count)),
            "{counts:?}"
        );
        assert!(
            ["0/3", "4/3", "3", "1/x", "1/100001"]
                .iter()
                .all(|text| text.parse::<Shard>().is_err())
        );
    }

    #[test]
    fn precisions_are_parts() {
        assert_eq!("ci=2%".parse(), Ok(Precision(0.02)));
        assert_eq!("ci=0.5".parse(), Ok(Precision(0.5)));
        assert!(
            ["2%", "ci=0", "ci=200%", "ci=x"]
                .iter()
                .all(|text| text.parse::<Precision>().is_err())
        );
    }
}
