//! HTML section for `[meter]`: flows over their lifetimes (throughput, fairness, reordering,
//! startup), worst-case fair indices, and ranks with their modes.

use roundelay_sim::scenario::RankResult;

use super::grid::{Row, nothing, table};
use super::tables::{MOST_ROWS, groups};
use crate::figures::{INDICES, LIVES, RANK, Worst};
use crate::simulation::Simulated;
use crate::units::count;

/// The section, if the scenario asks for any of these measurements.
pub(super) fn section(simulated: &Simulated) -> String {
    let mut tables = vec![lives(simulated), indices(simulated), ranks(simulated)];
    tables.retain(|text| !text.is_empty());
    if tables.is_empty() {
        return String::new();
    }
    format!(
        "\n<section aria-labelledby=\"lives-title\">\n  <h2 id=\"lives-title\">Flows’ lives</h2>\n\
         {}\n</section>\n",
        tables.join("\n")
    )
}

fn titled(id: &str, title: &str, table: &str) -> String {
    format!(
        "  <h3 id=\"{id}-title\">{title}</h3>\n  <div class=\"scroll tall\" tabindex=\"0\" \
         role=\"region\" aria-labelledby=\"{id}-title\">\n{table}\n  </div>"
    )
}

/// A row per group, with the replicas that have a result.
fn rows<'a, R>(
    simulated: &'a Simulated,
    of: impl Fn(usize, usize) -> Option<&'a R>,
) -> Vec<Row<'a, R>> {
    let mut rows = Vec::new();
    for (number, group) in groups(simulated).into_iter().enumerate() {
        let mut replicas = Vec::new();
        for replica in 0..simulated.replicas.len() {
            replicas.extend(of(replica, number));
        }
        if !replicas.is_empty() {
            rows.push(Row {
                name: group.name,
                below: group.below,
                is_sum: group.is_sum,
                replicas,
            });
        }
    }
    rows
}

fn lives(simulated: &Simulated) -> String {
    let rows = rows(simulated, |replica, group| {
        simulated.replicas[replica].groups[group].lives.as_ref()
    });
    if rows.is_empty() {
        return String::new();
    }
    titled(
        "lives",
        "Each over its own life",
        &table("lives", "Source", &rows, LIVES, nothing),
    )
}

/// Indices of each group's worst flow.
fn indices(simulated: &Simulated) -> String {
    let mut worst = Vec::new();
    for results in &simulated.replicas {
        let groups = 0..results.groups.len();
        let of_replica: Vec<Worst> = groups.map(|group| Worst::of(results, group)).collect();
        worst.push(of_replica);
    }
    let mut rows = rows(simulated, |replica, group| {
        Some(&worst[replica][group]).filter(|worst| worst.is_some())
    });
    for row in &mut rows {
        row.below.clear();
    }
    if rows.is_empty() {
        return String::new();
    }
    titled(
        "indices",
        "Worst-case fair indices of the worst flow",
        &table("indices", "Worst flow of", &rows, INDICES, nothing),
    )
}

/// Throughputs by rank over replicas. A bimodal rank has both modes.
fn ranks(simulated: &Simulated) -> String {
    let mut found = Vec::new();
    for group in &simulated.summary.groups {
        if let Some(lives) = &group.lives {
            for (number, rank) in (1..).zip(&lives.ranks) {
                found.push((format!("{}, rank {}", group.name, count(number)), *rank));
            }
        }
    }
    found.truncate(MOST_ROWS);
    if found.is_empty() {
        String::new()
    } else {
        titled("ranks", "Throughputs by rank", &rank_table(&found))
    }
}

fn rank_table(ranks: &[(String, RankResult)]) -> String {
    let mut rows = Vec::new();
    for (name, rank) in ranks {
        rows.push(Row {
            name: name.clone(),
            below: String::new(),
            is_sum: false,
            replicas: vec![rank],
        });
    }
    table("ranks", "Rank", &rows, RANK, |figure, ranks| {
        match figure.label.name {
            "lower_mode" => replicas_of(ranks, 0),
            "higher_mode" => replicas_of(ranks, 1),
            _ => String::new(),
        }
    })
}

/// How many replicas are in a mode.
fn replicas_of(ranks: &[&RankResult], mode: usize) -> String {
    match ranks.first().and_then(|rank| rank.modes) {
        Some(modes) => format!("{} replicas", modes[mode].count),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use roundelay_sim::scenario::{ModeResult, Scenario};

    use super::*;

    const SCENARIO: &str =
        "duration = '2s'\ntopology = { template = 'dumbbell', pairs = 3, rate = '1mbit' }\nqueue = { core = 'drr limit 20' }
source = [{ name = 'steady', kind = 'poisson', from = 's*', to = 'r*', rate = '600kbit' }]\n";

    fn page(meter: &str) -> String {
        let scenario =
            Scenario::from_toml("mine.toml", &format!("{SCENARIO}{meter}"), Path::new("."))
                .unwrap();
        let replicas = (1..=3)
            .map(|seed| scenario.run(seed, |_| ()).unwrap())
            .collect();
        section(&Simulated::new("0.1.0", &scenario, replicas))
    }

    /// Regression: tables and JSON had these figures, but the page did not.
    #[test]
    fn what_the_meter_is_asked_for_is_on_the_page() {
        let page = page("meter = { flows = true, wfi = true }");
        for head in [
            "Jain",
            "Reordered",
            "Starved",
            "B-WFI",
            "T-WFI",
            "Rank",
            "Deviation",
        ] {
            assert!(
                page.contains(&format!(">{head}</button>")),
                "{head}: {page}"
            );
        }
        assert!(page.contains("colspan=\"2\" scope=\"colgroup\">Ratio<"));
        assert_eq!(page.matches("steady, rank ").count(), 3);
        let number = |id: &str| -> f64 {
            let table = page.split(&format!("<table id=\"{id}\"")).nth(1).unwrap();
            table
                .split("data-sort=\"")
                .nth(1)
                .unwrap()
                .split('"')
                .next()
                .unwrap()
                .parse()
                .unwrap()
        };
        assert!(
            (100_000.0..600_000.0).contains(&number("lives")),
            "bits a second of a flow"
        );
        assert!(number("indices") > 0.0 && number("ranks") > 100_000.0);
    }

    #[test]
    fn nothing_is_there_that_nobody_asked_for() {
        assert_eq!(page(""), "");
        let indices = page("meter = { wfi = true }");
        assert!(
            indices.contains("B-WFI") && !indices.contains("Starved"),
            "{indices}"
        );
    }

    #[test]
    fn a_rank_with_two_modes_has_both() {
        let modes = [
            ModeResult {
                mean: 1e5,
                count: 3,
            },
            ModeResult {
                mean: 3e5,
                count: 2,
            },
        ];
        let rank = RankResult {
            mean: 1.8e5,
            deviation: Some(1.1e5),
            modes: Some(modes),
        };
        let table = rank_table(&[("web, rank 1".to_owned(), rank)]);
        assert!(
            table.contains("100 kbit/s<small>3 replicas")
                && table.contains("300 kbit/s<small>2 replicas"),
            "{table}"
        );
        assert!(
            !rank_table(&[(
                "web, rank 1".to_owned(),
                RankResult {
                    modes: None,
                    ..rank
                }
            )])
            .contains("mode")
        );
    }
}
