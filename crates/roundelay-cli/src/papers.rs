//! `roundelay papers`: runs the papers' tables, figures and theorems, and prints verdicts.

pub(crate) mod arguments;
mod chosen;
mod faults;
mod memory;
pub(crate) mod outputs;
mod recorded;
mod result;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::env;
use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use indicatif::{HumanDuration, ProgressBar, ProgressState, ProgressStyle};
use roundelay_papers::cache::{Cache, hash};
use roundelay_papers::catalogue::{Item, Paper, Work, papers};
use roundelay_papers::experiments::Failed;
use roundelay_papers::judged::Judged;
use roundelay_papers::plan::{Plan, Setting};
use roundelay_papers::runner::{Runner, Versions};
use roundelay_papers::site::parts_path;
use roundelay_papers::summary::Summaries;
use roundelay_papers::text;
use roundelay_report::json;
use roundelay_sim::scenario::Measures;

use crate::failure::Failure;
use crate::outputs::finish_all;
use crate::terminal::print;
use crate::threads::in_pool;
use crate::{host, sweep, text_file};
use arguments::Papers;
use recorded::{OnRecord, Outcome, Together};
use result::ItemResult;

/// The name that stands for all papers together.
const ALL: &str = "all";

pub(crate) fn run(arguments: &Papers) -> Result<(), Failure> {
    let papers = papers().map_err(Failure::run)?;
    let Some(name) = &arguments.paper else {
        return match arguments.outputs.path("pages") {
            Some(folder) => {
                arguments.outputs.check([], &Measures::default(), 1)?;
                recorded::write_pages(&papers, folder, arguments.details)?;
                if arguments.check {
                    recorded::check(&papers, folder)?;
                }
                Ok(())
            }
            None if arguments.runs_something() => Err(Failure::usage("name a paper, or all")),
            None => print(&text::list(&papers, None, &Summaries::of_program())),
        };
    };
    if arguments.names_a_file() {
        let paper = of_file(Path::new(name))?;
        let items = [(&paper, &paper.items[0])];
        if arguments.faults {
            return faults::run(arguments, &items);
        }
        return run_all(arguments, &items, &papers);
    }
    let chosen = chosen::papers(&papers, name)?;
    if arguments.items.is_empty() && name != ALL && !arguments.runs_something() {
        let recorded = Summaries::of_program();
        return print(&text::list(&papers, Some(name), &recorded));
    }
    let items = chosen::items(&chosen, name, &arguments.items)?;
    if let [(_, Item { label, work, .. })] = items[..] {
        match work {
            Work::Nothing(why) => {
                return print(&format!("{label}: nothing to measure. {why}\n"));
            }
            Work::NotAttempted(why) => {
                return print(&format!("{label}: not attempted yet. {why}\n"));
            }
            Work::Plan(..) => {}
        }
    }
    if arguments.faults {
        return faults::run(arguments, &items);
    }
    run_all(arguments, &items, &papers)
}

/// Versions of the code that runs depend on.
fn versions() -> Result<Versions, Failure> {
    Ok(Versions {
        program: program()?,
        of_simulation: sweep::version_of,
        of_experiment: sweep::version_of_experiment,
    })
}

/// A paper with a single plan, from a file.
fn of_file(path: &Path) -> Result<Paper, Failure> {
    let text = text_file::read(
        path,
        "a plan in TOML like those in papers/",
        &roundelay_trace::Stop::default(),
    )?;
    let name = match path.file_stem() {
        Some(stem) => stem.to_string_lossy().into_owned(),
        None => "plan".to_owned(),
    };
    let neighbour = match like(path, &text) {
        Some(path) => fs::read_to_string(path).ok(),
        None => None,
    };
    Paper::of_plan(&name, &text, |_| neighbour.as_deref())
        .map_err(|fault| Failure::usage(fault.with_file(path.display().to_string())))
}

fn run_all(arguments: &Papers, items: &[(&Paper, &Item)], papers: &[Paper]) -> Result<(), Failure> {
    let mut plans = Vec::new();
    for (paper, item) in items {
        if let Some((plan, text)) = item.plan() {
            plans.push((*paper, *item, plan, text));
        }
    }
    let runner = Runner {
        setting: arguments.setting(),
        versions: versions()?,
        instead: arguments.instead.clone(),
        seeds: arguments.seeds.clone(),
        until: arguments.budget.map(|budget| Instant::now() + budget),
    };
    let pages = arguments.outputs.path("pages");
    let bar = bar(arguments, &runner, &plans)?;
    let files = read_files(arguments, &runner, &plans)?;
    arguments.outputs.check(
        files.iter().map(|(name, path)| (*name, path.as_path())),
        &Measures::default(),
        plans.len(),
    )?;
    if let ([(paper, item, plan, _)], true) = (&plans[..], arguments.outputs.has("svg")) {
        check_chart(paper, item, plan)?;
    }
    let mut outputs = arguments.outputs.begin(&Measures::default(), &())?;
    let mut changed = Vec::new();
    let mut timed = Vec::new();
    let mut failed = Vec::new();
    let mut all = text::Report::default();
    let mut caches = BTreeMap::new();
    let mut undecided = 0;
    let mut left = Vec::new();
    let mut holding = Vec::new();
    for (paper, item, plan, text) in &plans {
        bar.set_message(format!("{} {}", paper.slug, item.name));
        if !caches.contains_key(&paper.slug) {
            let opened = cache_with_parts(arguments, paper, pages)?;
            caches.insert(paper.slug.clone(), opened);
        }
        let cache = &caches[&paper.slug];
        let outcome = in_pool(arguments.threads, || {
            if let Some(folder) = &arguments.recorded {
                let name = (paper.slug.as_str(), item.name.as_str());
                return recorded::shown(folder, name, plan);
            }
            let on_record = match pages {
                Some(folder) => {
                    let name = (paper.slug.as_str(), item.name.as_str());
                    recorded::on_record(folder, name, &runner, plan, cache, arguments.fresh)?
                }
                None => OnRecord::default(),
            };
            recorded::run(&runner, plan, on_record, cache, &|| bar.inc(1))
        })?;
        let Together { record, ran } = match outcome {
            Ok(Outcome::Recorded(together)) => *together,
            Ok(Outcome::Left([done, all])) => {
                left.push(format!(
                    "{} {}: {done} of {all} runs are done",
                    paper.slug, item.name
                ));
                continue;
            }
            Err(error) => {
                failed.push(format!("{} {}: {error}", paper.slug, item.name));
                continue;
            }
        };
        let plan = &*if arguments.instead.is_some() {
            Cow::Owned(plan.without_reasons())
        } else {
            Cow::Borrowed(*plan)
        };
        let mut judged = match Judged::new(item, plan, text, record) {
            Ok(judged) => judged,
            Err(error) => {
                failed.push(format!("{} {}: {error}", paper.slug, item.name));
                continue;
            }
        };
        if arguments.recorded.is_some() {
            judged
                .compare_with_code(&runner.versions)
                .map_err(Failure::run)?;
        }
        undecided += judged.undecided();
        for claim in judged.holding() {
            holding.push(format!("\n  {} {}: {claim}", paper.slug, item.name));
        }
        // Measured times depend on the machine, so a changed verdict on them is reported but fails
        // nothing.
        let list = if judged.is_timed {
            &mut timed
        } else {
            &mut changed
        };
        for change in judged.changed() {
            list.push(format!("{} {}: {change}", paper.slug, item.name));
        }
        let result = ItemResult {
            paper,
            judged: &judged,
            ran: &ran,
        };
        finish_all(std::mem::take(&mut outputs), &result)?;
        if let Some(folder) = pages {
            recorded::write(folder, &paper.slug, &item.name, &judged.record)?;
            if runner.setting == Setting::Full {
                recorded::keep_parts(folder, paper, &runner, cache).map_err(Failure::run)?;
            }
        }
        judged.ran = ran;
        if arguments.outputs.has("json") {
            all.items.push(text::ItemReport::of(&paper.slug, &judged));
        } else {
            bar.suspend(|| print(&text::report(&paper.slug, &judged)))?;
        }
    }
    bar.finish_and_clear();
    if arguments.outputs.has("json") {
        print(&json(&all))?;
    }
    if let Some(folder) = pages {
        recorded::write_pages(papers, folder, false)?;
    }
    if arguments.check {
        for item in left {
            failed.push(format!("{item}, and no time was left"));
        }
    } else if !left.is_empty() {
        eprintln!(
            "No time was left for:\n  {}\nThe same command goes on from there.",
            left.join("\n  ")
        );
    }
    if let Some(discipline) = &arguments.instead {
        eprintln!(
            "Claims of the papers that hold under {discipline} as well: {}{}",
            holding.len(),
            holding.concat()
        );
    }
    if arguments.check && !timed.is_empty() {
        eprintln!(
            "{} timing verdicts differ on this machine\n  {}",
            timed.len(),
            timed.join("\n  ")
        );
    }
    finish(arguments, &changed, &failed, [plans.len(), undecided])
}

/// The files that the plans read: the plan's own file, the plan that it is like, and scenarios'
/// files.
fn read_files(
    arguments: &Papers,
    runner: &Runner,
    plans: &[(&Paper, &Item, &Plan, &str)],
) -> Result<Vec<(&'static str, PathBuf)>, Failure> {
    let mut own = None;
    if let Some(paper) = &arguments.paper
        && arguments.names_a_file()
    {
        own = Some(Path::new(paper));
    }
    let mut files = Vec::new();
    if let Some(path) = own {
        files.push(("the plan", path.to_owned()));
    }
    for (_, _, plan, text) in plans {
        if let Some(path) = own
            && let Some(neighbour) = like(path, text)
        {
            files.push(("the plan that it is like", neighbour));
        }
        for path in runner.files(plan).map_err(Failure::refused)? {
            files.push(("a file of the plan's scenario", path));
        }
    }
    Ok(files)
}

/// The file of the plan that `like` names, which lies beside this plan's file.
fn like(path: &Path, text: &str) -> Option<PathBuf> {
    let plan = toml::from_str::<toml::Table>(text).ok()?;
    Some(path.with_file_name(format!("{}.toml", plan.get("like")?.as_str()?)))
}

/// # Errors
/// The plan has no chart, which is an error before the run.
fn check_chart(paper: &Paper, item: &Item, plan: &Plan) -> Result<(), Failure> {
    if !plan.charts.is_empty() {
        return Ok(());
    }
    let mut others = Vec::new();
    for other in &paper.items {
        if let Some((plan, _)) = other.plan()
            && !plan.charts.is_empty()
        {
            others.push(other.name.as_str());
        }
    }
    let others = if others.is_empty() {
        "write a [[chart]]".to_owned()
    } else {
        format!("these of {} have one: {}", paper.slug, others.join(", "))
    };
    Err(Failure::usage(format!(
        "--svg: {} has no chart; {others}",
        item.label
    )))
}

fn finish(
    arguments: &Papers,
    changed: &[String],
    failed: &[String],
    [items, undecided]: [usize; 2],
) -> Result<(), Failure> {
    let mut problems = Vec::new();
    if !failed.is_empty() {
        problems.push(format!(
            "{} of {items} items could not be run\n  {}",
            failed.len(),
            failed.join("\n  ")
        ));
    }
    if arguments.check && !changed.is_empty() {
        problems.push(format!(
            "{} verdicts differ from those expected\n  {}",
            changed.len(),
            changed.join("\n  ")
        ));
    }
    if !problems.is_empty() {
        return Err(Failure::run(problems.join("\n")));
    }
    if arguments.check && !arguments.outputs.has("json") {
        let open = if undecided == 0 {
            String::new()
        } else {
            format!(", but for {undecided} that these runs leave undecided")
        };
        let items = if items == 1 {
            "1 item".to_owned()
        } else {
            format!("{items} items")
        };
        return print(&format!(
            "All verdicts of {items} are as their plans expect{open}.\n"
        ));
    }
    Ok(())
}

/// Shows on a terminal how far all runs have come.
fn bar(
    arguments: &Papers,
    runner: &Runner,
    plans: &[(&Paper, &Item, &Plan, &str)],
) -> Result<ProgressBar, Failure> {
    use std::io::IsTerminal;
    let mut runs = 0;
    for (_, _, plan, _) in plans {
        runs += runner.count(plan).map_err(Failure::refused)?;
    }
    if arguments.quiet || !std::io::stderr().is_terminal() {
        return Ok(ProgressBar::hidden());
    }
    // Before the first run nothing is known of the time left, and after runs from the cache too
    // little, because indicatif then says 0s.
    let left = |state: &ProgressState, text: &mut dyn fmt::Write| {
        if state.pos() > 0 && state.eta().as_secs() > 0 {
            _ = write!(text, ", {} left", HumanDuration(state.eta()));
        }
    };
    let style = ProgressStyle::with_template("{bar:40} {pos} of {len} runs, {msg}{left}")
        .map_err(Failure::run)?
        .with_key("left", left);
    Ok(ProgressBar::new(runs as u64).with_style(style))
}

fn cache(arguments: &Papers, paper: &Paper) -> Cache {
    if arguments.fresh {
        return Cache::none();
    }
    let folder = match &arguments.cache {
        Some(folder) => Ok(folder.clone()),
        None => default_cache().map_err(Failed::from),
    };
    let opened = folder.and_then(|folder| Cache::open(&folder, &paper.slug));
    opened.unwrap_or_else(|error| {
        eprintln!("roundelay: {error}; going on without a cache (--cache DIR for another folder)");
        Cache::none()
    })
}

/// A paper's cache. Where full records are written, the runs of those that are not complete yet
/// stand beside them as well.
///
/// # Errors
/// That file cannot be read or written.
fn cache_with_parts(
    arguments: &Papers,
    paper: &Paper,
    pages: Option<&Path>,
) -> Result<Cache, Failure> {
    if arguments.recorded.is_some() {
        return Ok(Cache::none());
    }
    let cache = cache(arguments, paper);
    match pages {
        Some(folder) if arguments.full && !arguments.fresh => cache
            .with_parts(&folder.join(parts_path(&paper.slug)))
            .map_err(Failure::run),
        _ => Ok(cache),
    }
}

/// The default folder of the cache: in the user's cache folder, or else in a temporary one.
///
/// # Errors
/// Another user may have put the temporary one there, with other results.
fn default_cache() -> io::Result<PathBuf> {
    let folder = match (env::var_os("XDG_CACHE_HOME"), env::var_os("HOME")) {
        (Some(cache), _) => Path::new(&cache).join("roundelay"),
        (None, Some(home)) => Path::new(&home).join(".cache/roundelay"),
        (None, None) => temporary_folder()?,
    };
    Ok(folder.join("papers"))
}

#[cfg(target_os = "linux")]
fn temporary_folder() -> io::Result<PathBuf> {
    roundelay_live::control::private_temporary_folder("roundelay", "HOME")
}

/// Where temporary files of each user have a folder of their own.
#[cfg(not(target_os = "linux"))]
fn temporary_folder() -> io::Result<PathBuf> {
    Ok(env::temp_dir().join("roundelay"))
}

/// Hashes the file with this program's code, because another build may give other results.
fn program() -> Result<String, Failure> {
    let unreadable = |error| Failure::run(format!("cannot read this program: {error}"));
    let file = match host::program_file() {
        Some(file) => file.to_owned(),
        None => env::current_exe().map_err(unreadable)?,
    };
    let bytes = fs::read(file).map_err(unreadable)?;
    let mut words: u64 = 0;
    for word in bytes.chunks(8) {
        let mut number: u64 = 0;
        for byte in word {
            number = number << 8 | u64::from(*byte);
        }
        words = (words ^ number)
            .wrapping_mul(0x0100_0000_01b3)
            .rotate_left(29);
    }
    Ok(hash([env!("CARGO_PKG_VERSION"), &words.to_string()]))
}
