//! Records of the papers' items, which are made in parts, written with the pages, and compared with
//! the code.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use roundelay_papers::cache::Cache;
use roundelay_papers::catalogue::Paper;
use roundelay_papers::plan::{Plan, Setting};
use roundelay_papers::record::{self, Code, Record};
use roundelay_papers::runner::{Ran, Runner};
use roundelay_papers::site::{Site, read_record, record_path};
use roundelay_report::write_text;

use super::{memory, versions};
use crate::failure::Failure;

/// What is on record for an item before its run.
#[derive(Debug, Default)]
pub(super) struct OnRecord {
    /// The record, if this setting, this plan and today's code made it.
    kept: Option<Record>,
    /// True for a full record of older code or an older plan. It stays until another one has all
    /// seeds that are asked for.
    stays: bool,
}

/// What became of an item.
pub(super) enum Outcome {
    /// Its new runs, together with those on record.
    Recorded(Box<Together>),
    /// No seed is complete, or too few to replace the record there is: so many runs are done, of
    /// all.
    Left([usize; 2]),
}

impl Outcome {
    fn of(record: Record, ran: Ran) -> Self {
        Self::Recorded(Box::new(Together { record, ran }))
    }
}

/// A plan's new runs, together with those on record.
pub(super) struct Together {
    pub(super) record: Record,
    pub(super) ran: Ran,
}

/// Runs those seeds of a plan that its record does not have.
///
/// # Errors
/// The plan is wrong, or a run failed.
pub(super) fn run(
    runner: &Runner,
    plan: &Plan,
    on_record: OnRecord,
    cache: &Cache,
    tell: &(dyn Fn() + Sync),
) -> Result<Outcome, String> {
    let OnRecord { kept, stays } = on_record;
    let seeds = match &kept {
        Some(record) => missing(runner, plan, record)?,
        None => runner.seeds(plan).map_err(|error| error.to_string())?,
    };
    if seeds.is_empty()
        && let Some(record) = kept
    {
        let ran = record.ran(plan)?;
        return Ok(Outcome::of(record, ran));
    }
    memory::forget_peak();
    let ran = runner
        .run_seeds(plan, &seeds, cache, tell)
        .map_err(|error| error.to_string())?;
    let [all, _, left] = ran.runs;
    if left > 0 && (stays || ran.seeds.is_empty()) {
        let Some(record) = kept else {
            return Ok(Outcome::Left([all - left, all]));
        };
        let ran = record.ran(plan)?;
        return Ok(Outcome::of(record, ran));
    }
    let code = record::code(plan, runner.setting, &runner.versions)?;
    let record = Record::new(plan, runner.setting, &ran, code, memory::peak_bytes())?;
    let Some(kept) = kept else {
        return Ok(Outcome::of(record, ran));
    };
    let record = kept.with(record);
    let ran = record.ran(plan)?;
    Ok(Outcome::of(record, ran))
}

/// What is on record for an item.
///
/// # Errors
/// There is no record, or it is unreadable or of an older plan.
pub(super) fn shown(
    folder: &Path,
    (paper, item): (&str, &str),
    plan: &Plan,
) -> Result<Outcome, String> {
    let path = folder.join(record_path(paper, item));
    let record = read_record(folder, paper, item).map_err(|error| error.to_string())?;
    let Some(record) = record else {
        return Err(format!(
            "no record {}: records are in docs/papers of the project's repository, or in \
             --recorded=DIR",
            path.display()
        ));
    };
    let record = record.completed(plan)?;
    if !record.fits(plan)? {
        let again = record.again(paper, item);
        return Err(format!(
            "recorded for an older plan; '{again} --pages {}' records it again",
            folder.display()
        ));
    }
    let ran = record.ran(plan)?;
    Ok(Outcome::of(record, ran))
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

/// What is on record for an item. With `fresh` none of it is used.
///
/// # Errors
/// A shorter run would replace a longer one's record, or the run that examines a record failed.
pub(super) fn on_record(
    folder: &Path,
    (paper, item): (&str, &str),
    runner: &Runner,
    plan: &Plan,
    cache: &Cache,
    fresh: bool,
) -> Result<OnRecord, String> {
    let Ok(Some(record)) = read_record(folder, paper, item) else {
        // A record that cannot be read is made anew.
        return Ok(OnRecord::default());
    };
    if runner.setting < record.setting() {
        return Err(format!(
            "there is a {0} record, whose place a {1} one would take: --{0} goes on with it",
            record.setting().name(),
            runner.setting.name()
        ));
    }
    let is_full = record.setting() == Setting::Full;
    let kept = if fresh {
        None
    } else {
        kept(runner, plan, record, cache)?
    };
    Ok(OnRecord {
        stays: is_full && kept.is_none(),
        kept,
    })
}

/// A record, if this setting, this plan and today's code made it.
fn kept(
    runner: &Runner,
    plan: &Plan,
    record: Record,
    cache: &Cache,
) -> Result<Option<Record>, String> {
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

/// The seeds of a plan that still have to be run in full.
fn to_be_run(
    folder: &Path,
    (paper, item): (&str, &str),
    runner: &Runner,
    plan: &Plan,
) -> Result<BTreeSet<u64>, String> {
    let all = runner.seeds(plan).map_err(|error| error.to_string())?;
    let Ok(Some(record)) = read_record(folder, paper, item) else {
        return Ok(all);
    };
    let record = record.completed(plan)?;
    if record.setting() != runner.setting || !record.fits(plan)? {
        return Ok(all);
    }
    let code = record::code(plan, runner.setting, &runner.versions)?;
    if record.code.is_older_than(&code) {
        return Ok(all);
    }
    missing(runner, plan, &record)
}

/// Removes from the file beside a paper's records the runs of all items whose record is complete.
///
/// # Errors
/// A plan is wrong, or the file cannot be written.
pub(super) fn keep_parts(
    folder: &Path,
    paper: &Paper,
    runner: &Runner,
    cache: &Cache,
) -> Result<(), String> {
    let runner = Runner {
        seeds: None,
        ..runner.clone()
    };
    let mut keys = BTreeSet::new();
    for item in &paper.items {
        let Some((plan, _)) = item.plan() else {
            continue;
        };
        let name = (paper.slug.as_str(), item.name.as_str());
        let seeds = to_be_run(folder, name, &runner, plan)?;
        let needed = runner.keys(plan, &seeds);
        keys.extend(needed.map_err(|error| error.to_string())?);
    }
    cache.keep_parts(&keys).map_err(|error| error.to_string())
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
        // There was no time for all of its runs.
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
    use std::time::Instant;

    use super::*;
    use roundelay_papers::catalogue::papers;
    use roundelay_papers::essay::NOT_ON_RECORD;
    use roundelay_papers::site::parts_path;

    const PLAN: &str = r#"
item = "Figure 1"
title = "Ten constant rates"
page = "section 1"
method = "Ten flows of 1 Mbit/s into a link of 5 Mbit/s."
[run]
kind = "simulate"
seeds = 3
columns = { DRR = "drr limit 50", FIFO = "fifo limit 50" }
[run.scenario]
duration = "100ms"
topology = { template = "dumbbell", pairs = 10 }
source = [{ kind = "cbr", from = "s*", to = "r*", rate = "1mbit", start_jitter = "20ms" }]
[[claim]]
says = "Round robin shares evenly."
needs = [{ is = "ratio", of = "DRR: least, kbit/s", over = "FIFO: most, kbit/s", to = 0.9 }]
expect = "holds"
"#;

    /// The machine that began a record need not be the one that completes it.
    #[test]
    fn runs_beside_the_records_are_gone_on_with_and_removed() {
        let folder = std::env::temp_dir().join(format!("roundelay-parts-{}", std::process::id()));
        let whole = Paper::of_plan("figure-1", PLAN, |_| None).unwrap();
        let (plan, _) = whole.items[0].plan().unwrap();
        let path = folder.join(parts_path(&whole.slug));
        let cache = |machine: &str| {
            let own = Cache::open(&folder.join(machine), "plans").unwrap();
            own.with_parts(&path).unwrap()
        };
        let runner = |until| Runner {
            setting: Setting::Full,
            versions: versions().unwrap(),
            instead: None,
            seeds: None,
            until,
        };
        let over = Some(Instant::now());
        // Half of the runs.
        let only = PLAN.replace(", FIFO = \"fifo limit 50\"", "");
        let half = Plan::parse(&only.replace("FIFO: most", "DRR: most")).unwrap();
        runner(None).run(&half, &cache("one"), &|| ()).unwrap();
        let run = |machine: &str, until| {
            let on_record = OnRecord::default();
            run(&runner(until), plan, on_record, &cache(machine), &|| ()).unwrap()
        };
        assert!(matches!(run("two", over), Outcome::Left([3, 6])));
        let Outcome::Recorded(together) = run("three", None) else {
            panic!("there was time");
        };
        assert_eq!(together.ran.runs, [6, 3, 0]);
        let Outcome::Recorded(again) = run("four", over) else {
            panic!("no run was left");
        };
        assert_eq!(again.record.variations, together.record.variations);
        let keep = || keep_parts(&folder, &whole, &runner(None), &cache("four")).unwrap();
        keep();
        assert!(path.exists(), "the record is not there yet");
        write(&folder, &whole.slug, "figure-1", &again.record).unwrap();
        keep();
        let is_left = path.exists();
        fs::remove_dir_all(&folder).unwrap();
        assert!(!is_left);
    }

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
