//! The site: all pages, charts and the index, from plans and records.

use std::collections::BTreeMap;
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
    older: OlderPlans,
}

/// Items whose record belongs to an older plan, by paper and item: the command that records them
/// again.
pub type OlderPlans = BTreeMap<(String, String), String>;

/// What is on record for an item.
enum OnRecord<'a> {
    Nothing,
    /// The command that records it again.
    OfOlderPlan(String),
    Results(Box<Judged<'a>>),
}

impl<'a> Site<'a> {
    /// Reads the records in `folder`. An item without a record, or with one of an older plan, counts
    /// as not attempted; `versions` tell which records are older than the code.
    ///
    /// # Errors
    /// A record is unreadable.
    pub fn read(papers: &'a [Paper], folder: &Path, versions: &Versions) -> Result<Self, Failed> {
        let mut site = Self {
            papers: Vec::new(),
            older: BTreeMap::new(),
        };
        for paper in papers {
            let mut items = Vec::new();
            for item in &paper.items {
                items.push(match on_record(&paper.slug, item, folder, versions)? {
                    OnRecord::Nothing => None,
                    OnRecord::Results(judged) => Some(*judged),
                    OnRecord::OfOlderPlan(again) => {
                        let place = (paper.slug.clone(), item.name.clone());
                        site.older.insert(place, again);
                        None
                    }
                });
            }
            site.papers.push((paper, items));
        }
        Ok(site)
    }

    /// Items whose record belongs to an older plan.
    pub const fn older_plans(&self) -> &OlderPlans {
        &self.older
    }

    /// All judged items.
    pub fn judged(&self) -> impl Iterator<Item = (&Paper, &Judged<'a>)> {
        self.papers.iter().flat_map(|(paper, items)| {
            let judged = items.iter().flatten();
            judged.map(move |judged| (*paper, judged))
        })
    }

    /// All files, by path in the folder.
    ///
    /// # Errors
    /// An essay has a sentence that the records do not support.
    pub fn files(&self) -> Result<Vec<(PathBuf, String)>, Failed> {
        let mut files = vec![(
            PathBuf::from("index.md"),
            page::index(&self.papers, &self.older),
        )];
        for (paper, judged) in &self.papers {
            files.push((
                PathBuf::from(format!("{}.md", paper.slug)),
                page::page(paper, judged, &self.older).map_err(Failed)?,
            ));
            for judged in judged.iter().flatten() {
                let mut charts = Vec::new();
                for (number, chart) in judged.charts().into_iter().enumerate() {
                    if chart.has_points() {
                        charts.push((chart_file(judged.item, number), chart));
                    }
                }
                for (number, chart) in open::charts(judged) {
                    charts.push((open::chart_file(judged.item, number), chart));
                }
                for (file, chart) in charts {
                    files.push((Path::new(&paper.slug).join(file), chart.svg()));
                }
            }
        }
        Ok(files)
    }
}

fn on_record<'a>(
    paper: &str,
    item: &'a Item,
    folder: &Path,
    versions: &Versions,
) -> Result<OnRecord<'a>, Failed> {
    let Some((plan, text)) = item.plan() else {
        return Ok(OnRecord::Nothing);
    };
    let Some(record) = read_record(folder, paper, &item.name)? else {
        return Ok(OnRecord::Nothing);
    };
    let wrong = |error: String| {
        let path = folder.join(record_path(paper, &item.name));
        Failed(format!("{}: {error}", path.display()))
    };
    let record = record.completed(plan).map_err(wrong)?;
    if !record.fits(plan).map_err(wrong)? {
        return Ok(OnRecord::OfOlderPlan(again(paper, &item.name, &record)));
    }
    let code = record::code(plan, record.setting(), versions).map_err(wrong)?;
    let mut judged = Judged::new(item, plan, text, record).map_err(wrong)?;
    judged.is_stale = judged.record.code.is_older_than(&code);
    judged.is_unversioned = judged.record.code.is_unknown(&code);
    Ok(OnRecord::Results(Box::new(judged)))
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
pub fn again(paper: &str, item: &str, record: &Record) -> String {
    let full = if record.setting() == Setting::Full {
        " --full"
    } else {
        ""
    };
    format!("roundelay papers {paper} {item}{full}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;
    use crate::plan::tests::PLAN;
    use crate::runner::Runner;

    /// A folder with the record of a plan, deleted on drop.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str, paper: &Paper, versions: &Versions) -> Self {
            let folder =
                std::env::temp_dir().join(format!("roundelay-site-{name}-{}", std::process::id()));
            let (plan, _) = paper.items[0].plan().unwrap();
            let runner = Runner {
                setting: Setting::Full,
                versions: versions.clone(),
                instead: None,
                seeds: None,
                until: None,
            };
            let ran = runner.run(plan, &Cache::none(), &|| ()).unwrap();
            let code = record::code(plan, Setting::Full, versions).unwrap();
            let record = Record::new(plan, Setting::Full, &ran, code, None).unwrap();
            let path = folder.join(record_path(&paper.slug, &paper.items[0].name));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, serde_json::to_string(&record).unwrap()).unwrap();
            Self(folder)
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            drop(fs::remove_dir_all(&self.0));
        }
    }

    fn paper(text: &str) -> Paper {
        Paper::of_plan("figure-1", text, |_| None).unwrap()
    }

    fn versions(
        of_simulation: fn(&roundelay_sim::scenario::Scenario) -> Option<String>,
    ) -> Versions {
        Versions {
            of_simulation,
            ..Versions::of_program("")
        }
    }

    /// The index and the paper's page.
    fn pages(site: &Site<'_>) -> [String; 2] {
        let files = site.files().unwrap();
        ["index.md", "plans.md"].map(|name| {
            let file = files.iter().find(|(path, _)| path == Path::new(name));
            file.unwrap().1.clone()
        })
    }

    #[test]
    fn a_record_with_older_code_is_marked_on_its_page_and_in_the_index() {
        let papers = [paper(PLAN)];
        let one = versions(|_| Some("one".to_owned()));
        let other = versions(|_| Some("other".to_owned()));
        let folder = Folder::new("code", &papers[0], &one);
        let [index, page] = pages(&Site::read(&papers, &folder.0, &one).unwrap());
        assert!(!index.contains("older code") && !page.contains("older code"));
        let [index, page] = pages(&Site::read(&papers, &folder.0, &other).unwrap());
        let row = index.lines().find(|line| line.contains("#figure-1"));
        assert!(row.unwrap().contains("(older code)"), "{index}");
        assert!(row.unwrap().contains("plans figure-1 --full`"), "{index}");
        assert!(!row.unwrap().contains("(quick setting)"), "{index}");
        assert!(page.contains("(older code) |"), "{page}");
        assert!(
            page.contains("**Recorded with older code**")
                && page.contains("`roundelay papers plans figure-1 --full --pages docs/papers`"),
            "{page}"
        );
    }

    /// Formerly one such record was an error, and no page could be written.
    #[test]
    fn a_record_of_an_older_plan_is_marked_on_its_page_and_in_the_index() {
        let before = paper(PLAN);
        let today = versions(|_| None);
        let folder = Folder::new("plan", &before, &today);
        let papers = [paper(&PLAN.replace("pairs = 10", "pairs = 11"))];
        let site = Site::read(&papers, &folder.0, &today).unwrap();
        let told = "recorded for an older plan: `roundelay papers plans figure-1 --full --pages docs/papers` records it again";
        for text in pages(&site) {
            assert!(text.contains(told), "{text}");
        }
        assert_eq!(site.older_plans().len(), 1);
        assert_eq!(site.judged().count(), 0, "its figures are of another run");
        let papers = [before];
        let site = Site::read(&papers, &folder.0, &today).unwrap();
        assert!(site.older_plans().is_empty() && site.judged().count() == 1);
    }
}
