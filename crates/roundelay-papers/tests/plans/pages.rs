//! Records in `docs/papers` match their plans, and everything referenced exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use roundelay_papers::catalogue::{Paper, papers, unlisted};
use roundelay_papers::essay;
use roundelay_papers::kind::Kind;
use roundelay_papers::runner::Versions;
use roundelay_papers::site::Site;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The records, without a look at the versions of the code: the command's tests compare these.
fn site(papers: &[Paper]) -> Site<'_> {
    let versions = Versions::of_program("");
    Site::read(papers, &root().join("docs/papers"), &versions).unwrap()
}

#[test]
fn verdicts_of_the_records_are_those_of_the_plans() {
    let papers = papers().unwrap();
    let site = site(&papers);
    let changed: Vec<_> = site
        .judged()
        .flat_map(|(paper, judged)| {
            judged
                .changed()
                .into_iter()
                .map(|change| format!("{}: {change}", paper.slug))
        })
        .collect();
    assert_eq!(changed, Vec::<String>::new());
    assert!(site.older_plans().is_empty(), "{:?}", site.older_plans());
    assert!(site.judged().count() > 40, "there are records");
}

/// Formerly only a row an item told what holds, and "on a condition" hid which way.
#[test]
fn the_index_begins_with_the_number_of_each_papers_claims_by_verdict() {
    let papers = papers().unwrap();
    let site = site(&papers);
    let files = site.files().unwrap();
    let (_, index) = files
        .iter()
        .find(|(path, _)| path == Path::new("index.md"))
        .unwrap();
    let mut rows = index.lines().filter(|line| line.starts_with('|')).skip(2);
    for paper in &papers {
        let row = rows.next().unwrap();
        let cells: Vec<_> = row.split(" | ").collect();
        assert!(cells[0].ends_with(&format!("({}.md)", paper.slug)), "{row}");
        let mut counts = [0; Kind::ALL.len()];
        for (of, judged) in site.judged() {
            let claims = judged.plan.claims.iter().zip(&judged.verdicts);
            for (_, verdict) in claims.filter(|(claim, _)| of.slug == paper.slug && !claim.ours) {
                counts[verdict.kind as usize] += 1;
            }
        }
        let numbers = counts.map(|count| count.to_string());
        assert_eq!(cells[1..=numbers.len()], numbers, "{row}");
        let recorded = site.judged().filter(|(of, _)| of.slug == paper.slug);
        let planned = paper.items.iter().filter(|item| item.plan().is_some());
        let missing = format!("{} |", planned.count() - recorded.count());
        assert_eq!(cells.last(), Some(&&*missing), "{row}");
    }
}

/// Formerly essays contradicted their records. Each has numbers, and sentences that a record
/// supports.
#[test]
fn numbers_of_essays_come_from_records_or_are_marked_as_the_papers() {
    for paper in papers().unwrap() {
        let bare = essay::bare_numbers(&paper.essay);
        assert!(
            bare.is_empty(),
            "papers/{}/essay.md: {{{{ITEM | RUN: FIGURE}}}}, or [paper: ..], in place of {bare:?}",
            paper.slug
        );
    }
}

#[test]
fn each_plan_belongs_to_an_item() {
    assert_eq!(unlisted().unwrap(), Vec::<&str>::new());
}

/// Every table and figure in the papers, and every numbered theorem and lemma, is an item.
#[test]
fn no_item_of_the_papers_is_missing() {
    let papers = papers().unwrap();
    let numbered = |kind: &str, last: u32| {
        (1..=last)
            .map(|number| format!("{kind}-{number}"))
            .collect::<Vec<_>>()
    };
    for (slug, wanted) in [
        (
            "qfq",
            [
                numbered("table", 4),
                numbered("figure", 10),
                numbered("theorem", 10),
                numbered("lemma", 4),
            ]
            .concat(),
        ),
        ("qfq-plus", numbered("table", 1)),
        ("mqfq", numbered("figure", 12)),
        ("afq", numbered("figure", 16)),
        (
            "ups",
            [
                numbered("table", 4),
                numbered("figure", 11),
                numbered("theorem", 2),
                numbered("key-result", 3),
            ]
            .concat(),
        ),
    ] {
        let paper = papers.iter().find(|paper| paper.slug == slug).unwrap();
        let missing: Vec<_> = wanted
            .iter()
            .filter(|name| !paper.items.iter().any(|item| item.name == **name))
            .collect();
        assert!(missing.is_empty(), "{slug}: {missing:?}");
    }
}

/// Test names in plans are names of functions.
#[test]
fn tests_that_plans_name_are_there() {
    let mut functions = BTreeSet::new();
    functions_in(&root().join("crates"), &mut functions);
    for paper in papers().unwrap() {
        for (plan, _) in paper.items.iter().filter_map(|item| item.plan()) {
            for test in plan.claims.iter().flat_map(|claim| &claim.tests) {
                assert!(
                    functions.contains(test),
                    "{} {}: there is no test {test}",
                    paper.slug,
                    plan.item
                );
            }
        }
    }
}

fn functions_in(folder: &Path, functions: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
    {
        if entry.is_dir() && !entry.ends_with("target") && !entry.ends_with("node_modules") {
            functions_in(&entry, functions);
        } else if entry.extension().is_some_and(|extension| extension == "rs") {
            let text = fs::read_to_string(&entry).unwrap();
            let names = text
                .lines()
                .filter_map(|line| line.trim().strip_prefix("fn ")?.split_once('('));
            functions.extend(names.map(|(name, _)| name.to_owned()));
        }
    }
}
