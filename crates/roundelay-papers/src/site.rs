//! The pages of papers and items, the charts and the index, from plans and records.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::catalogue::{Item, Paper};
use crate::experiments::Failed;
use crate::judged::Judged;
use crate::open;
use crate::page::{self, OlderPlans, chart_file, picture_path};
use crate::record::Record;
use crate::runner::Versions;
use crate::summary::Summaries;

/// Path of an item's record, relative to the pages' folder.
pub fn record_path(paper: &str, item: &str) -> PathBuf {
    Path::new("records")
        .join(paper)
        .join(format!("{item}.json"))
}

/// Path of the runs of a paper's items that have no complete record yet, relative to the pages'
/// folder.
pub fn parts_path(paper: &str) -> PathBuf {
    Path::new("records").join(paper).join("parts.jsonl")
}

/// The available records for the papers' items.
#[derive(Debug)]
pub struct Site<'a> {
    papers: Vec<(&'a Paper, Vec<Option<Judged<'a>>>)>,
    older: OlderPlans,
}

/// What is on record for an item.
enum OnRecord<'a> {
    Nothing,
    /// The command that records it again.
    OfOlderPlan(String),
    Results(Box<Judged<'a>>),
}

impl<'a> Site<'a> {
    /// Reads the records in `folder`. An item counts as not attempted if it has no record, or one
    /// with an older plan. `versions` tell which records are older than the code.
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
                        let key = (paper.slug.clone(), item.name.clone());
                        site.older.insert(key, again);
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

    /// The index, the papers' pages, a small picture for each item with a chart, and the verdicts of
    /// all records, by path in the folder.
    ///
    /// # Errors
    /// An essay has a sentence that the records do not support.
    pub fn files(&self) -> Result<Vec<(PathBuf, String)>, Failed> {
        let mut files = vec![(PathBuf::from("index.md"), page::index(&self.papers))];
        for (paper, judged) in &self.papers {
            let page = page::page(paper, judged, &self.older).map_err(Failed)?;
            files.push((PathBuf::from(format!("{}.md", paper.slug)), page));
        }
        let mut summaries = Summaries::default();
        for (paper, judged) in self.judged() {
            summaries.add(&paper.slug, judged);
            if let Some(picture) = judged.picture() {
                files.push((picture_path(&paper.slug, &judged.item.name), picture));
            }
        }
        files.push((PathBuf::from("records/verdicts.json"), summaries.json()));
        Ok(files)
    }

    /// A page for each item on record, and its charts, by path in the folder.
    pub fn details(&self) -> Vec<(PathBuf, String)> {
        let mut files = Vec::new();
        for (paper, judged) in self.judged() {
            let folder = Path::new(&paper.slug);
            let name = format!("{}.md", judged.item.name);
            files.push((folder.join(name), page::details(paper, judged)));
            for (number, chart) in judged.charts().iter().enumerate() {
                if chart.has_points() {
                    files.push((folder.join(chart_file(judged.item, number)), chart.svg()));
                }
            }
            for (number, chart) in open::charts(judged) {
                let name = open::chart_file(judged.item, number);
                files.push((folder.join(name), chart.svg()));
            }
        }
        files
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
        return Ok(OnRecord::OfOlderPlan(record.again(paper, &item.name)));
    }
    let mut judged = Judged::new(item, plan, text, record).map_err(wrong)?;
    judged.compare_with_code(versions).map_err(wrong)?;
    Ok(OnRecord::Results(Box::new(judged)))
}

/// An item's record in the pages' folder, if there is one.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cache::Cache;
    use crate::plan::{Setting, tests::PLAN};
    use crate::record;
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

    /// The paper's page.
    fn page(site: &Site<'_>) -> String {
        let files = site.files().unwrap();
        let mut page = files
            .iter()
            .filter(|(path, _)| path == Path::new("plans.md"));
        page.next().unwrap().1.clone()
    }

    fn row(page: &str) -> &str {
        let mut rows = page.lines().filter(|line| line.contains("id=\"figure-1\""));
        rows.next().expect("a row of the item")
    }

    #[test]
    fn a_record_with_older_code_is_marked_on_its_papers_page_and_on_its_own() {
        let papers = [paper(PLAN)];
        let one = versions(|_| Some("one".to_owned()));
        let other = versions(|_| Some("other".to_owned()));
        let folder = Folder::new("code", &papers[0], &one);
        let page_today = page(&Site::read(&papers, &folder.0, &one).unwrap());
        assert!(!page_today.contains("older code"));
        let site = Site::read(&papers, &folder.0, &other).unwrap();
        let page = page(&site);
        assert!(row(&page).contains("(older code) |"), "{page}");
        assert!(row(&page).contains("plans figure-1 --full`"), "{page}");
        assert!(!row(&page).contains("(quick setting)"), "{page}");
        let (path, details) = &site.details()[0];
        assert_eq!(path, Path::new("plans/figure-1.md"));
        assert!(
            details.contains("**Recorded with older code**")
                && details.contains("`roundelay papers plans figure-1 --full --pages docs/papers`"),
            "{details}"
        );
    }

    #[test]
    fn details_have_every_claim_and_link_charts_that_are_there() {
        let papers = [paper(PLAN)];
        let today = versions(|_| None);
        let folder = Folder::new("details", &papers[0], &today);
        let files = Site::read(&papers, &folder.0, &today).unwrap().details();
        let (_, page) = &files[0];
        let (plan, _) = papers[0].items[0].plan().unwrap();
        for claim in &plan.claims {
            assert!(page.contains(&claim.says), "{page}");
        }
        let mut charts = 0;
        for (path, text) in &files[1..] {
            assert!(text.contains("<svg"), "{}", path.display());
            let name = path.file_name().unwrap().to_str().unwrap();
            assert!(page.contains(&format!("]({name})")), "{name}: {page}");
            charts += 1;
        }
        assert_eq!(page.matches("![").count(), charts);
    }

    /// Formerly one such record was an error, and no page could be written.
    #[test]
    fn a_record_of_an_older_plan_is_marked_on_its_papers_page() {
        let before = paper(PLAN);
        let today = versions(|_| None);
        let folder = Folder::new("plan", &before, &today);
        let papers = [paper(&PLAN.replace("pairs = 10", "pairs = 11"))];
        let site = Site::read(&papers, &folder.0, &today).unwrap();
        let told = "recorded for an older plan: `roundelay papers plans figure-1 --full --pages docs/papers` records it again";
        assert!(page(&site).contains(told));
        assert_eq!(site.older_plans().len(), 1);
        assert_eq!(site.judged().count(), 0, "its figures are of another run");
        let papers = [before];
        let site = Site::read(&papers, &folder.0, &today).unwrap();
        assert!(site.older_plans().is_empty() && site.judged().count() == 1);
    }
}
