//! Catalogue of papers: tables, figures and theorems in order, with their plans.

use serde::Deserialize;

use crate::locations::PlanError;
use crate::plan::Plan;

/// All files of `papers/`, by path below this folder.
static FILES: &[(&str, &str)] = &include!(concat!(env!("OUT_DIR"), "/plans.rs"));

/// A paper.
#[derive(Debug, Clone)]
pub struct Paper {
    /// Name of the folder, and name on the command line.
    pub slug: String,
    /// Bibliographic data.
    pub about: About,
    /// Experience from repeating the paper, in Markdown.
    pub essay: String,
    /// Tables, figures, theorems and other claims, in order.
    pub items: Vec<Item>,
}

/// Contents of `paper.toml`.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct About {
    /// Title.
    pub title: String,
    /// Authors.
    pub authors: Vec<String>,
    /// Journal or conference.
    pub venue: String,
    /// Year of publication.
    pub year: u16,
    /// Short name.
    pub short: String,
    /// What the paper has or names and this project has not.
    #[serde(default)]
    pub absent: Vec<Absent>,
    #[serde(rename = "item")]
    items: Vec<Entry>,
}

/// A part of a paper, or what it names, that is not here.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absent {
    /// What it is, and where in the paper.
    pub what: String,
    /// Why it is not here.
    pub why: String,
}

impl About {
    /// The short name and the title, or the title alone if it begins with the short name.
    pub fn heading(&self) -> String {
        let rest = self.title.strip_prefix(&self.short);
        if rest.is_some_and(|rest| rest.starts_with(':')) {
            return self.title.clone();
        }
        format!("{}: {}", self.short, self.title)
    }
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    name: String,
    label: String,
    about: String,
    nothing: Option<String>,
    not_attempted: Option<String>,
}

/// A table, figure or theorem.
#[derive(Debug, Clone)]
pub struct Item {
    /// Name on the command line: `figure-4`.
    pub name: String,
    /// Name in the paper: `Figure 4`.
    pub label: String,
    /// Description in a line.
    pub about: String,
    /// The plan, or the reason for none.
    pub work: Work,
}

/// What there is for an item: a plan, or the reason for none.
#[derive(Debug, Clone)]
pub enum Work {
    /// A plan and its text.
    Plan(Box<Plan>, String),
    /// Nothing to measure; the reason.
    Nothing(String),
    /// Without a plan so far; the missing parts.
    NotAttempted(String),
}

impl Item {
    /// The plan and its text, if any.
    pub fn plan(&self) -> Option<(&Plan, &str)> {
        match &self.work {
            Work::Plan(plan, text) => Some((plan, text)),
            Work::Nothing(_) | Work::NotAttempted(_) => None,
        }
    }
}

impl Paper {
    /// Makes a paper with one item, whose plan is `text`. If the plan has `like`, `beside` returns
    /// the text of the other item's plan.
    ///
    /// # Errors
    /// The fault of the plan.
    pub fn of_plan<'a>(
        name: &str,
        text: &str,
        beside: impl Fn(&str) -> Option<&'a str>,
    ) -> Result<Self, PlanError> {
        let plan = Plan::parse_beside(text, beside)?;
        let label = plan.item.clone();
        let about = plan.title.clone();
        let item = Item {
            name: name.to_owned(),
            label,
            about,
            work: Work::Plan(Box::new(plan), text.to_owned()),
        };
        let about = About {
            title: name.to_owned(),
            authors: Vec::new(),
            venue: String::new(),
            year: 0,
            short: name.to_owned(),
            absent: Vec::new(),
            items: Vec::new(),
        };
        Ok(Self {
            slug: "plans".to_owned(),
            about,
            essay: String::new(),
            items: vec![item],
        })
    }
}

/// All papers, in the order of their years.
///
/// # Errors
/// The faulty file and its fault.
pub fn papers() -> Result<Vec<Paper>, String> {
    let mut papers = Vec::new();
    for (path, _) in FILES {
        if let Some(slug) = path.strip_suffix("/paper.toml") {
            papers.push(paper(slug, FILES)?);
        }
    }
    papers.sort_by_key(|paper| paper.about.year);
    Ok(papers)
}

/// Paths of plans that `paper.toml` does not list.
///
/// # Errors
/// As [`papers`].
pub fn unlisted() -> Result<Vec<&'static str>, String> {
    let mut listed = Vec::new();
    let mut unlisted = Vec::new();
    for paper in papers()? {
        listed.push(format!("{}/paper.toml", paper.slug));
        for item in &paper.items {
            listed.push(format!("{}/{}.toml", paper.slug, item.name));
        }
    }
    for (path, _) in FILES {
        if path.ends_with(".toml") && !listed.iter().any(|known| known == path) {
            unlisted.push(*path);
        }
    }
    Ok(unlisted)
}

fn paper(slug: &str, files: &[(&str, &str)]) -> Result<Paper, String> {
    let own = |name: &str| {
        let path = format!("{slug}/{name}");
        files.iter().find(|(known, _)| *known == path)
    };
    let text = own("paper.toml").map_or("", |(_, text)| text);
    let about: About =
        toml::from_str(text).map_err(|error| format!("{slug}/paper.toml: {error}"))?;
    let beside = |name: &str| Some(own(&format!("{name}.toml"))?.1);
    let mut items = Vec::new();
    for Entry {
        name,
        label,
        about,
        nothing,
        not_attempted,
    } in about.items.clone()
    {
        let reason = match (nothing, not_attempted) {
            (Some(why), _) => Some(Work::Nothing(why)),
            (None, why) => why.map(Work::NotAttempted),
        };
        let work = match (own(&format!("{name}.toml")), reason) {
            (Some((path, text)), None) => {
                // Read without `check`, because the run checks the plan, and so does a test.
                let plan =
                    Plan::read(text, beside).map_err(|error| error.with_file(*path).to_string())?;
                Work::Plan(Box::new(plan), (*text).to_owned())
            }
            (None, Some(reason)) => reason,
            (Some(_), Some(_)) => {
                return Err(format!(
                    "{slug}/paper.toml: {name} has a plan: leave the reason out"
                ));
            }
            (None, None) => {
                return Err(format!(
                    "{slug}/paper.toml: {name} has neither a plan, {slug}/{name}.toml, nor says \
                     why not: nothing, or not_attempted"
                ));
            }
        };
        items.push(Item {
            name,
            label,
            about,
            work,
        });
    }
    let essay = own("essay.md").map_or("", |(_, text)| text).to_owned();
    Ok(Paper {
        slug: slug.to_owned(),
        about,
        essay,
        items,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::tests::PLAN;

    const ABOUT: &str = "title = 'T'\nauthors = ['A']\nvenue = 'V'\nyear = 2000\nshort = 'S'
[[item]]\nname = 'figure-1'\nlabel = 'Figure 1'\nabout = 'a figure'
[[item]]\nname = 'table-1'\nlabel = 'Table 1'\nabout = 'symbols'\nnothing = 'Definitions.'
[[item]]\nname = 'table-2'\nlabel = 'Table 2'\nabout = 'delays'\nnot_attempted = 'A simulation.'";

    #[test]
    fn all_that_the_program_comes_with_can_be_run() {
        let papers = papers().unwrap();
        for (paper, item) in papers
            .iter()
            .flat_map(|paper| paper.items.iter().map(move |item| (paper, item)))
        {
            let checked = item.plan().map_or(Ok(()), |(plan, _)| plan.check());
            assert_eq!(checked, Ok(()), "{} {}", paper.slug, item.name);
        }
    }

    #[test]
    fn an_item_has_a_plan_or_says_why_not() {
        let files = [
            ("p/paper.toml", ABOUT),
            ("p/figure-1.toml", PLAN),
            ("q/figure-9.toml", ""),
        ];
        let found = paper("p", &files).unwrap();
        assert!(found.items[0].plan().is_some() && found.items[1].plan().is_none());
        assert!(matches!(&found.items[2].work, Work::NotAttempted(why) if why == "A simulation."));
        assert!(
            paper("p", &files[..1])
                .unwrap_err()
                .contains("figure-1 has neither a plan")
        );
    }
}
