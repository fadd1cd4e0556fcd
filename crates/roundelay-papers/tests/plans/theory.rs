//! Fast plans of the theory, run and judged again: the figures as drawn, and the search for a pair
//! of schedules without any scheduler that replays both.

use roundelay_papers::cache::Cache;
use roundelay_papers::catalogue::papers;
use roundelay_papers::plan::Setting;
use roundelay_papers::runner::{Runner, Versions};
use roundelay_papers::verdict::judge;

/// Judges an item's plan after an edit of its text; returns the claims with another verdict than on
/// record.
fn changed(item: &str, edit: impl Fn(&str) -> String) -> Vec<String> {
    let papers = papers().unwrap();
    let paper = papers.iter().find(|paper| paper.slug == "ups").unwrap();
    let (_, text) = paper
        .items
        .iter()
        .find(|other| other.name == item)
        .and_then(|item| item.plan())
        .unwrap();
    let plan = roundelay_papers::plan::Plan::parse(&edit(text)).unwrap();
    let runner = Runner {
        setting: Setting::Quick,
        versions: Versions::of_program(""),
        instead: None,
        seeds: None,
        until: None,
    };
    let ran = runner.run(&plan, &Cache::none(), &|| ()).unwrap();
    let claims = plan.claims.iter().map(|claim| {
        (
            claim,
            judge(&plan, claim, &ran.variations, Setting::Quick).kind,
        )
    });
    claims
        .filter(|(claim, kind)| claim.expect != *kind)
        .map(|(claim, _)| claim.says.clone())
        .collect()
}

#[test]
fn figures_8_to_10_fail_as_drawn() {
    for item in [
        "figure-8",
        "figure-9",
        "figure-10",
        "two-packets",
        "key-result-3",
    ] {
        assert_eq!(changed(item, str::to_owned), Vec::<String>::new(), "{item}");
    }
}

#[test]
fn exact_figures_are_the_same_with_every_seed() {
    let mut seen = 0;
    for paper in papers().unwrap() {
        for (plan, _) in paper.items.iter().filter_map(|item| item.plan()) {
            let variation = plan.variations(Setting::Quick).unwrap().swap_remove(0);
            let kind = variation.run["kind"].as_str().unwrap();
            // The other exact kinds search, count instructions, or take long.
            if ![
                "turns",
                "worked_schedule",
                "hierarchy",
                "leftover",
                "footprint",
            ]
            .contains(&kind)
            {
                continue;
            }
            let experiment = variation.experiment().unwrap();
            assert!(experiment.is_exact(), "{kind}");
            for part in experiment.parts() {
                let [one, other] = [1, 2].map(|seed| experiment.run(&part, seed).unwrap());
                assert_eq!(one, other, "{} {}: {part}", paper.slug, plan.item);
                seen += 1;
            }
        }
    }
    assert!(seen > 20, "{seen}");
}

/// Formerly all claims of Table 2 were decided by one run, and all but three by two.
#[test]
fn one_or_two_runs_of_table_2_decide_nothing() {
    let papers = papers().unwrap();
    let items = papers.iter().flat_map(|paper| &paper.items);
    let mut plans = items.filter_map(|item| Some((&item.name, item.plan()?.0)));
    let (_, plan) = plans.find(|(name, _)| *name == "table-2").unwrap();
    let mut plan = plan.clone();
    plan.open.clear();
    // Claims over published numbers alone need no runs.
    plan.claims.retain(|claim| claim.cannot.is_none());
    assert!(plan.claims.len() > 3);
    for (seeds, words) in [(1, "undecided (1 run)"), (2, "undecided (2 runs)")] {
        let runner = Runner {
            setting: Setting::Quick,
            versions: Versions::of_program(""),
            instead: None,
            seeds: Some(1..=seeds),
            until: None,
        };
        let ran = runner.run(&plan, &Cache::none(), &|| ()).unwrap();
        for claim in &plan.claims {
            let verdict = judge(&plan, claim, &ran.variations, Setting::Quick);
            assert_eq!(verdict.too_few(), Some(seeds as usize), "{verdict:?}");
            assert!(verdict.words.starts_with(words), "{}", verdict.words);
        }
    }
}

/// A single changed time in a table changes the verdicts.
#[test]
fn a_slip_in_a_figure_changes_its_verdict() {
    let slip = |from: &'static str, to: &'static str| move |text: &str| text.replace(from, to);
    assert!(
        changed(
            "figure-10",
            slip("c1(2, 2), c2(3, 3)\"", "c1(2, 2), c2(3, 4)\"")
        )
        .len()
            > 1,
        "c2 has a unit to lose"
    );
    let overlap = changed("figure-8", slip("c2(3, 3), a(3, 4)", "c2(3, 3), a(3, 3)"));
    assert!(
        overlap.contains(&"Both cases are viable schedules.".to_owned()),
        "{overlap:?}"
    );
    assert!(
        !changed("figure-9", slip("+20 α3", "+19 α3")).is_empty(),
        "a comes to α3 before the table says so"
    );
}
