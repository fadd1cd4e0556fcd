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

/// The items of these papers: all, or those with these names.
pub(super) fn items<'a>(
    papers: &[&'a Paper],
    name: &str,
    wanted_items: &[String],
) -> Result<Vec<(&'a Paper, &'a Item)>, Failure> {
    let mut all = Vec::new();
    for paper in papers {
        all.extend(paper.items.iter().map(|item| (*paper, item)));
    }
    if wanted_items.is_empty() {
        return Ok(all);
    }
    let names: Vec<_> = all.iter().map(|(_, item)| item.name.as_str()).collect();
    for wanted in wanted_items {
        if !names.contains(&wanted.as_str()) {
            // Two words may be a slip for one: `table 1` for `table-1`.
            let given = if names.contains(&wanted_items.join("-").as_str()) {
                wanted_items.join(" ")
            } else {
                wanted.clone()
            };
            let noun = if name == ALL {
                "item".to_owned()
            } else {
                format!("item of {name}")
            };
            return Err(Failure::usage(Fault::no_such(noun, &given, &names)));
        }
    }
    all.retain(|(_, item)| wanted_items.contains(&item.name));
    Ok(all)
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
        for (paper, item) in items(&all, ALL, &["figure-4".to_owned()]).unwrap() {
            assert_eq!(item.name, "figure-4");
            found.push(paper.slug.as_str());
        }
        found.sort_unstable();
        assert_eq!(found, ["afq", "mqfq", "qfq", "ups"]);
        let one = papers(&catalogue, "ups").unwrap();
        let of_ups = |wanted: &[&str]| {
            let wanted: Vec<_> = wanted.iter().map(|name| (*name).to_owned()).collect();
            items(&one, "ups", &wanted).unwrap().len()
        };
        assert_eq!(of_ups(&["figure-4"]), 1);
        assert_eq!(of_ups(&["figure-4", "table-1", "figure-4"]), 2);
        assert_eq!(of_ups(&[]), one[0].items.len());
    }
}
