//! Records of the papers' items: made in parts, written with the pages, and compared with the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use roundelay_papers::cache::Cache;
use roundelay_papers::catalogue::Paper;
use roundelay_papers::plan::Plan;
use roundelay_papers::record::{self, Record};
use roundelay_papers::runner::{Ran, Runner};
use roundelay_papers::site::{Site, read_record, record_path};
use roundelay_report::write_text;

use super::{memory, versions};
use crate::failure::Failure;

/// Runs of a plan, together with those on record.
pub(super) struct Together {
    pub(super) record: Record,
    pub(super) ran: Ran,
}

/// Runs the seeds of a plan that `kept`, its record, does not have; None if there is neither a
/// record nor time for a run.
///
/// # Errors
/// The fault of the plan, or the failure of a run.
pub(super) fn run(
    runner: &Runner,
    plan: &Plan,
    kept: Option<Record>,
    cache: &Cache,
    tell: &(dyn Fn() + Sync),
) -> Result<Option<Together>, String> {
    let seeds = match &kept {
        Some(record) => missing(runner, plan, record)?,
        None => runner.seeds(plan).map_err(|error| error.to_string())?,
    };
    let is_over = runner.until.is_some_and(|until| Instant::now() >= until);
    if seeds.is_empty() || is_over {
        let Some(record) = kept else { return Ok(None) };
        let ran = record.ran(plan)?;
        return Ok(Some(Together { record, ran }));
    }
    memory::forget_peak();
    let ran = runner
        .run_seeds(plan, &seeds, cache, tell)
        .map_err(|error| error.to_string())?;
    if ran.seeds.is_empty() && kept.is_none() {
        return Ok(None);
    }
    let behaviour = record::behaviour(plan, runner.setting, &runner.versions)?;
    let record = Record::new(plan, runner.setting, &ran, behaviour, memory::peak_bytes())?;
    let Some(kept) = kept else {
        return Ok(Some(Together { record, ran }));
    };
    let record = kept.with(record);
    let ran = record.ran(plan)?;
    Ok(Some(Together { record, ran }))
}

/// The seeds of the plan that a record does not have.
fn missing(runner: &Runner, plan: &Plan, record: &Record) -> Result<BTreeSet<u64>, String> {
    let seeds = runner.seeds(plan).map_err(|error| error.to_string())?;
    let last = plan
        .seeds(runner.setting)
        .map_err(|wrong| wrong.to_string())?;
    let is_missing = |seed: &u64| *seed <= last && !record.seeds.contains(seed);
    Ok(seeds.into_iter().filter(is_missing).collect())
}

/// The record of an item, if it is of this setting and plan, and of today's code.
///
/// # Errors
/// The record is unreadable.
pub(super) fn kept(
    folder: &Path,
    paper: &str,
    item: &str,
    runner: &Runner,
    plan: &Plan,
) -> Result<Option<Record>, Failure> {
    let Ok(Some(record)) = read_record(folder, paper, item) else {
        // A record that cannot be read is made anew.
        return Ok(None);
    };
    let record = record.completed(plan).map_err(Failure::run)?;
    if record.setting() != runner.setting || !record.fits(plan).map_err(Failure::run)? {
        return Ok(None);
    }
    let behaviour =
        record::behaviour(plan, runner.setting, &runner.versions).map_err(Failure::run)?;
    Ok((record.behaviour == behaviour).then_some(record))
}

/// Writes a record into the folder of the pages.
pub(super) fn write(
    folder: &Path,
    paper: &str,
    item: &str,
    record: &Record,
) -> Result<(), Failure> {
    let json = serde_json::to_string(record).map_err(Failure::run)?;
    write_in_folder(&folder.join(record_path(paper, item)), &(json + "\n"))
}

/// Writes all pages from plans and records.
pub(super) fn write_pages(papers: &[Paper], folder: &Path) -> Result<(), Failure> {
    let site = Site::read(papers, folder, &versions()?).map_err(Failure::run)?;
    for (path, text) in site.files().map_err(Failure::run)? {
        write_in_folder(&folder.join(path), &text)?;
    }
    Ok(())
}

/// Compares the records' verdicts with those expected, and their versions with the code.
///
/// # Errors
/// The records with another verdict, or made with older code.
pub(super) fn check(papers: &[Paper], folder: &Path) -> Result<(), Failure> {
    let site = Site::read(papers, folder, &versions()?).map_err(Failure::run)?;
    let mut problems = Vec::new();
    for (paper, judged) in site.judged() {
        let name = format!("{} {}", paper.slug, judged.item.name);
        if judged.is_stale {
            problems.push(format!("{name}: recorded with older code"));
        }
        for change in judged.changed() {
            problems.push(format!("{name}: {change}"));
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    Err(Failure::run(format!(
        "{} problems of the records in {}\n  {}",
        problems.len(),
        folder.display(),
        problems.join("\n  ")
    )))
}

/// Writes a file, and creates its folder.
fn write_in_folder(path: &Path, text: &str) -> Result<(), Failure> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)
            .map_err(|error| Failure::run(format!("{}: {error}", folder.display())))?;
    }
    write_text(path, text).map_err(Failure::run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use roundelay_papers::catalogue::papers;
    use roundelay_papers::essay::NOT_ON_RECORD;

    /// `ROUNDELAY_WRITE=1` writes the pages anew, as `make papers-pages` does with the command.
    #[test]
    fn pages_are_as_young_as_their_plans_and_records() {
        let papers = papers().unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/papers");
        if std::env::var_os("ROUNDELAY_WRITE").is_some() {
            write_pages(&papers, &folder).unwrap();
        }
        let site = Site::read(&papers, &folder, &versions().unwrap()).unwrap();
        for (path, expected) in site.files().unwrap() {
            let found = fs::read_to_string(folder.join(&path)).unwrap_or_default();
            assert!(!expected.contains(NOT_ON_RECORD), "{}", path.display());
            assert!(
                found == expected,
                "docs/papers/{} is older than its plan, its record or the code: make papers-pages",
                path.display()
            );
        }
    }
}
