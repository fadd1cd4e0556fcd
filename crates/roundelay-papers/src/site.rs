//! The site: all pages, charts and the index, from plans and records.

use std::fs;
use std::path::{Path, PathBuf};

use crate::catalogue::{Item, Paper};
use crate::experiments::Failed;
use crate::open;
use crate::page::{self, Judged, chart_file};
use crate::plan::Setting;
use crate::record::{self, Record};

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
    /// Reads the records in `folder`. An item without a record counts as not attempted.
    ///
    /// # Errors
    /// A record is unreadable, or belongs to another version of the plan.
    pub fn read(papers: &'a [Paper], folder: &Path) -> Result<Self, Failed> {
        let judged = |paper: &'a Paper| {
            let items = paper
                .items
                .iter()
                .map(|item| judged(&paper.slug, item, folder));
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
    pub fn files(&self) -> Vec<(PathBuf, String)> {
        let mut files = vec![(PathBuf::from("index.md"), page::index(&self.papers))];
        for (paper, judged) in &self.papers {
            files.push((
                PathBuf::from(format!("{}.md", paper.slug)),
                page::page(paper, judged),
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
        files
    }
}

fn judged<'a>(paper: &str, item: &'a Item, folder: &Path) -> Result<Option<Judged<'a>>, Failed> {
    let Some((plan, text)) = item.plan() else {
        return Ok(None);
    };
    let path = folder.join(record_path(paper, &item.name));
    let json = match fs::read_to_string(&path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(|error| Failed(format!("{}: {error}", path.display())))?,
    };
    let wrong = |error: String| Failed(format!("{}: {error}", path.display()));
    let record: Record = serde_json::from_str(&json).map_err(|error| wrong(error.to_string()))?;
    if record.plan != record::identity(plan, record.setting()).map_err(Failed)? {
        let full = if record.setting() == Setting::Full {
            " --full"
        } else {
            ""
        };
        return Err(wrong(format!(
            "older than its plan: roundelay papers {paper} {}{full} --pages {}",
            item.name,
            folder.display()
        )));
    }
    Judged::new(item, plan, text, record)
        .map(Some)
        .map_err(wrong)
}
