//! Records of the papers' items, which are made in parts, written with the pages, and compared with
//! the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Instant;

use roundelay_papers::cache::Cache;
use roundelay_papers::catalogue::Paper;
use roundelay_papers::plan::{Plan, Setting};
use roundelay_papers::record::{self, Code, Record};
use roundelay_papers::runner::{Ran, Runner};
use roundelay_papers::site::{Site, read_record, record_path};
use roundelay_report::write_text;

use super::{memory, versions};
use crate::failure::Failure;

/// A plan's new runs, together with those on record.
pub(super) struct Together {
    pub(super) record: Record,
    pub(super) ran: Ran,
}

/// Runs those seeds of a plan that `kept`, its record, does not have. None if there is neither a
/// record nor time for a run.
///
/// # Errors
/// The plan is wrong, or a run failed.
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
    let code = record::code(plan, runner.setting, &runner.versions)?;
    let record = Record::new(plan, runner.setting, &ran, code, memory::peak_bytes())?;
    let Some(kept) = kept else {
        return Ok(Some(Together { record, ran }));
    };
    let record = kept.with(record);
    let ran = record.ran(plan)?;
    Ok(Some(Together { record, ran }))
}

/// The plan's seeds that a record does not have.
fn missing(runner: &Runner, plan: &Plan, record: &Record) -> Result<BTreeSet<u64>, String> {
    let seeds = runner.seeds(plan).map_err(|error| error.to_string())?;
    let last = plan
        .seeds(runner.setting)
        .map_err(|wrong| wrong.to_string())?;
    let is_missing = |seed: &u64| *seed <= last && !record.seeds.contains(seed);
    Ok(seeds.into_iter().filter(is_missing).collect())
}

/// An item's record, if this setting, this plan and today's code made it.
///
/// # Errors
/// A quick run would replace a full record, or the run that examines a record failed.
pub(super) fn kept(
    folder: &Path,
    (paper, item): (&str, &str),
    runner: &Runner,
    plan: &Plan,
    cache: &Cache,
) -> Result<Option<Record>, String> {
    let Ok(Some(record)) = read_record(folder, paper, item) else {
        // A record that cannot be read is made anew.
        return Ok(None);
    };
    if record.setting() == Setting::Full && runner.setting == Setting::Quick {
        return Err(
            "there is a full record, whose place a quick one would take: --full goes on with it, \
             --fresh replaces it"
                .to_owned(),
        );
    }
    let record = record.completed(plan)?;
    if record.setting() != runner.setting || !record.fits(plan)? {
        return Ok(None);
    }
    let code = record::code(plan, runner.setting, &runner.versions)?;
    if record.code.is_unknown(&code) {
        return examined(runner, plan, record, code, cache);
    }
    Ok((!record.code.is_older_than(&code)).then_some(record))
}

/// A record from before experiments had versions. If its first seed gives the same results today,
/// it gets today's version.
fn examined(
    runner: &Runner,
    plan: &Plan,
    mut record: Record,
    code: Code,
    cache: &Cache,
) -> Result<Option<Record>, String> {
    let seeds: BTreeSet<u64> = record.seeds.iter().copied().take(1).collect();
    let ran = runner.run_seeds(plan, &seeds, cache, &|| ());
    let ran = ran.map_err(|error| error.to_string())?;
    if ran.seeds.is_empty() {
        // There was no time for the run.
        return Ok(Some(record));
    }
    let again = Record::new(plan, runner.setting, &ran, code.clone(), None)?;
    if !record.agrees_with(&again) {
        return Ok(None);
    }
    record.code = code;
    Ok(Some(record))
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

/// Writes the papers' pages from plans and records. With `details`, also a page for each item.
pub(super) fn write_pages(papers: &[Paper], folder: &Path, details: bool) -> Result<(), Failure> {
    let site = Site::read(papers, folder, &versions()?).map_err(Failure::run)?;
    let mut files = site.files().map_err(Failure::run)?;
    if details {
        files.extend(site.details());
    }
    for (path, text) in files {
        write_in_folder(&folder.join(path), &text)?;
    }
    Ok(())
}

/// Compares the records' verdicts with those expected, and their versions with plans and code.
///
/// # Errors
/// Some records have another verdict, or were made for an older plan or with older code.
pub(super) fn check(papers: &[Paper], folder: &Path) -> Result<(), Failure> {
    let site = Site::read(papers, folder, &versions()?).map_err(Failure::run)?;
    let path = folder.display();
    let mut problems = Vec::new();
    let mut unversioned = Vec::new();
    for ((paper, item), again) in site.older_plans() {
        problems.push(format!(
            "{paper} {item}: recorded for an older plan; '{again} --pages {path}' records it again"
        ));
    }
    for (paper, judged) in site.judged() {
        let name = format!("{} {}", paper.slug, judged.item.name);
        let again = judged.record.again(&paper.slug, &judged.item.name);
        if judged.is_stale {
            problems.push(format!(
                "{name}: recorded with older code; '{again} --pages {path}' records it again"
            ));
        }
        if judged.is_unversioned {
            unversioned.push(again);
        }
        for change in judged.changed() {
            problems.push(format!("{name}: {change}"));
        }
    }
    if !unversioned.is_empty() {
        let subject = match unversioned.len() {
            1 => "1 record may be older than its experiment".to_owned(),
            count => format!("{count} records may be older than their experiments"),
        };
        eprintln!(
            "{subject}: without a version. With --pages {path}, each of these commands runs one \
             seed again, and keeps the record if the results are the same:\n  {}",
            unversioned.join("\n  ")
        );
    }
    if problems.is_empty() {
        return Ok(());
    }
    let count = match problems.len() {
        1 => "1 problem".to_owned(),
        count => format!("{count} problems"),
    };
    Err(Failure::run(format!(
        "{count} of the records in {path}\n  {}",
        problems.join("\n  ")
    )))
}

/// Writes a file, and first creates its folder.
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
            write_pages(&papers, &folder, false).unwrap();
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
