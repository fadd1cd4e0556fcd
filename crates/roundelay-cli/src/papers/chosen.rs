//! Finds the papers and items named on the command line, and says what to do about a wrong name.

use roundelay::Fault;
use roundelay_papers::catalogue::{Item, Paper};

use super::ALL;
use crate::failure::Failure;

/// The papers called `name`: one, or all.
pub(super) fn papers<'a>(papers: &'a [Paper], name: &str) -> Result<Vec<&'a Paper>, Failure> {
    let chosen: Vec<_> = papers
        .iter()
        .filter(|paper| name == ALL || name == paper.slug)
        .collect();
    if !chosen.is_empty() {
        return Ok(chosen);
    }
    let mut names: Vec<_> = papers.iter().map(|paper| paper.slug.as_str()).collect();
    names.push(ALL);
    let fault = Fault::no_such("paper", name, &names);
    Err(Failure::usage(
        fault.with_hint(", or a file like those in papers/"),
    ))
}

/// The items of these papers: all, or those called `item`.
pub(super) fn items<'a>(
    papers: &[&'a Paper],
    name: &str,
    item: Option<&str>,
) -> Result<Vec<(&'a Paper, &'a Item)>, Failure> {
    let mut all = Vec::new();
    for paper in papers {
        all.extend(paper.items.iter().map(|item| (*paper, item)));
    }
    let Some(wanted) = item else { return Ok(all) };
    let names: Vec<_> = all.iter().map(|(_, item)| item.name.as_str()).collect();
    if names.contains(&wanted) {
        all.retain(|(_, item)| item.name == wanted);
        return Ok(all);
    }
    let noun = if name == ALL {
        "item".to_owned()
    } else {
        format!("item of {name}")
    };
    Err(Failure::usage(Fault::no_such(noun, wanted, &names)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use roundelay_papers::catalogue;

    /// `papers all figure-4` runs this figure for all papers, as the help says.
    #[test]
    fn with_all_an_item_is_that_of_every_paper() {
        let catalogue = catalogue::papers().unwrap();
        let all = papers(&catalogue, ALL).unwrap();
        let mut found = Vec::new();
        for (paper, item) in items(&all, ALL, Some("figure-4")).unwrap() {
            assert_eq!(item.name, "figure-4");
            found.push(paper.slug.as_str());
        }
        found.sort_unstable();
        assert_eq!(found, ["afq", "mqfq", "qfq", "ups"]);
        let one = papers(&catalogue, "ups").unwrap();
        assert_eq!(items(&one, "ups", Some("figure-4")).unwrap().len(), 1);
        assert_eq!(items(&one, "ups", None).unwrap().len(), one[0].items.len());
    }
}
