//! The site: all pages, charts and the index, from plans and records.

use std::fs;
use std::path::{Path, PathBuf};

use crate::catalogue::{Item, Paper};
use crate::experiments::Failed;
use crate::open;
use crate::page::{self, Judged, chart_file};
use crate::plan::Setting;
use crate::record::{self, Record};
use crate::runner::Versions;

/// Path of an item's record, relative to the folder of the pages.
pub fn record_path(paper: &str, item: &str) -> PathBuf {
    Path::new("records")
        .join(paper)
        .join(format!("{item}.json"))
}

/// The available records of the papers' items.
#[derive(Debug)]
pub struct Site<'a> {
    papers: Vec<(&'a Paper, Vec<Option<Judged<'a>>>)>,
}

impl<'a> Site<'a> {
    /// Reads the records in `folder`. An item without a record counts as not attempted; `versions`
    /// tell which records are older than the code.
    ///
    /// # Errors
    /// A record is unreadable, or belongs to another version of the plan.
    pub fn read(papers: &'a [Paper], folder: &Path, versions: &Versions) -> Result<Self, Failed> {
        let judged = |paper: &'a Paper| {
            let items = paper
                .items
                .iter()
                .map(|item| judged(&paper.slug, item, folder, versions));
            Ok((paper, items.collect::<Result<Vec<_>, Failed>>()?))
        };
        Ok(Self {
            papers: papers.iter().map(judged).collect::<Result<_, Failed>>()?,
        })
    }

    /// All judged items.
    pub fn judged(&self) -> impl Iterator<Item = (&Paper, &Judged<'a>)> {
        self.papers
            .iter()
            .flat_map(|(paper, items)| items.iter().flatten().map(move |judged| (*paper, judged)))
    }

    /// All files, by path in the folder.
    ///
    /// # Errors
    /// An essay has a sentence that the records do not support.
    pub fn files(&self) -> Result<Vec<(PathBuf, String)>, Failed> {
        let mut files = vec![(PathBuf::from("index.md"), page::index(&self.papers))];
        for (paper, judged) in &self.papers {
            files.push((
                PathBuf::from(format!("{}.md", paper.slug)),
                page::page(paper, judged).map_err(Failed)?,
            ));
            for judged in judged.iter().flatten() {
                let drawn = judged
                    .charts()
                    .into_iter()
                    .enumerate()
                    .filter(|(_, chart)| chart.has_points());
                let open = open::charts(judged)
                    .into_iter()
                    .map(|(number, chart)| (open::chart_file(judged.item, number), chart));
                let drawn = drawn
                    .map(|(number, chart)| (chart_file(judged.item, number), chart))
                    .chain(open);
                files.extend(
                    drawn.map(|(file, chart)| (Path::new(&paper.slug).join(file), chart.svg())),
                );
            }
        }
        Ok(files)
    }
}

fn judged<'a>(
    paper: &str,
    item: &'a Item,
    folder: &Path,
    versions: &Versions,
) -> Result<Option<Judged<'a>>, Failed> {
    let Some((plan, text)) = item.plan() else {
        return Ok(None);
    };
    let Some(record) = read_record(folder, paper, &item.name)? else {
        return Ok(None);
    };
    let wrong = |error: String| {
        let path = folder.join(record_path(paper, &item.name));
        Failed(format!("{}: {error}", path.display()))
    };
    let record = record.completed(plan).map_err(wrong)?;
    if !record.fits(plan).map_err(wrong)? {
        let again = again(paper, &item.name, &record);
        return Err(wrong(format!(
            "older than its plan: {again} --pages {}",
            folder.display()
        )));
    }
    let behaviour = record::behaviour(plan, record.setting(), versions).map_err(wrong)?;
    let is_stale = record.behaviour != behaviour;
    let mut judged = Judged::new(item, plan, text, record).map_err(wrong)?;
    judged.is_stale = is_stale;
    Ok(Some(judged))
}

/// The record of an item in the folder of the pages, if there is one.
///
/// # Errors
/// The record is unreadable.
pub fn read_record(folder: &Path, paper: &str, item: &str) -> Result<Option<Record>, Failed> {
    let path = folder.join(record_path(paper, item));
    let json = match fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|error| Failed(format!("{}: {error}", path.display())))?,
    };
    let record = serde_json::from_str(&json);
    record
        .map(Some)
        .map_err(|error| Failed(format!("{}: {error}", path.display())))
}

/// The command that records an item again.
pub(crate) fn again(paper: &str, item: &str, record: &Record) -> String {
    let full = if record.setting() == Setting::Full {
        " --full"
    } else {
        ""
    };
    format!("roundelay papers {paper} {item}{full}")
}
