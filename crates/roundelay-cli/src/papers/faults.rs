//! `roundelay papers .. --faults`: plants the faults that plans describe, and tells which claims
//! notice.

use roundelay_papers::catalogue::{Item, Paper};
use roundelay_papers::faults::{self, report};
use roundelay_papers::plan::Setting;

use super::arguments::Papers;
use super::{cache, versions};
use crate::failure::Failure;
use crate::terminal::print;
use crate::threads::in_pool;

/// Runs the items' faults and prints which claims notice.
///
/// # Errors
/// A run fails, or a claim that has to notice a fault keeps its truth.
pub(super) fn run(arguments: &Papers, items: &[(&Paper, &Item)]) -> Result<(), Failure> {
    if arguments.outputs.is_any() {
        return Err(Failure::usage(
            "--faults prints its results and writes no file: leave the outputs out",
        ));
    }
    let versions = versions()?;
    let setting = arguments.setting();
    let mut planted = 0;
    let mut missed = Vec::new();
    let mut without_noticeable_fault = Vec::new();
    let no_progress = || ();
    for (paper, item) in items {
        let Some((plan, _)) = item.plan() else {
            continue;
        };
        let name = format!("{} {}", paper.slug, item.name);
        if !plan.has_noticeable_fault() && setting == Setting::Quick {
            without_noticeable_fault.push(name.clone());
        }
        let cache = cache(arguments, paper);
        let of_setting = plan.faults.iter().filter(|fault| fault.setting == setting);
        for fault in of_setting {
            let claims = in_pool(arguments.threads, || {
                faults::run(plan, fault, &versions, &cache, &no_progress)
            })?;
            let claims = claims.map_err(|error| Failure::run(format!("{name}: {error}")))?;
            planted += 1;
            print(&report(&name, fault, &claims))?;
            for claim in claims
                .iter()
                .filter(|claim| claim.must && !claim.is_noticed())
            {
                missed.push(format!("{name}: '{}' by '{}'", fault.name, claim.says));
            }
        }
    }
    conclude(planted, &missed, &without_noticeable_fault)
}

/// Fails if claims missed faults. Otherwise prints the items without a fault that a claim of the
/// paper would notice, and how many faults are noticed.
fn conclude(
    planted: usize,
    missed: &[String],
    without_noticeable_fault: &[String],
) -> Result<(), Failure> {
    if !missed.is_empty() {
        return Err(Failure::run(format!(
            "{} planted faults are not noticed\n  {}",
            missed.len(),
            missed.join("\n  ")
        )));
    }
    if !without_noticeable_fault.is_empty() {
        print(&format!(
            "Without a fault that a claim of the paper notices: {}.\n",
            without_noticeable_fault.join(", ")
        ))?;
    }
    let faults = if planted == 1 {
        "The planted fault is".to_owned()
    } else {
        format!("All {planted} planted faults are")
    };
    print(&format!("{faults} noticed.\n"))
}
