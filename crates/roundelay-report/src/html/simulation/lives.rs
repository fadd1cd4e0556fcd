//! HTML section for `[meter]`: flows over their lifetimes (throughput, fairness, reordering,
//! startup), worst-case fair indices, and ranks with their modes.

use roundelay_sim::scenario::{GroupLives, RankResult};

use super::grid::{Column, Row, table};
use super::tables::{MOST_ROWS, groups};
use crate::figures::{INDICES, LIVES, Unit, Worst};
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

/// A column for a figure of flows over their lives.
fn life(name: &str, head: &'static str, about: &'static str) -> Column<GroupLives> {
    Column::of(LIVES, name, head, about)
}

fn lives(simulated: &Simulated) -> String {
    let rows = rows(simulated, |replica, group| {
        simulated.replicas[replica].groups[group].lives.as_ref()
    });
    if rows.is_empty() {
        return String::new();
    }
    let columns = [
        life(
            "throughput",
            "Throughput",
            "Mean throughput of the flows, each from the first packet to the last",
        ),
        life(
            "jain",
            "Jain",
            "Jain’s index of these throughputs by weight",
        ),
        life(
            "jain_of_ratios",
            "Jain of ratios",
            "Jain’s index of throughputs by what sources ask for",
        ),
        life(
            "bennett_zhang",
            "Ratio",
            "Mean of Bennett and Zhang’s ratio: throughput over the throughput on a separate link",
        ),
        Column::new(
            "Least ratio",
            "The smallest of these ratios",
            Unit::Index,
            |lives| lives.bennett_zhang_min,
        ),
        life(
            "reordering",
            "Reordered",
            "The part of the packets received after one that was sent later (RFC 4737)",
        ),
        life(
            "round_trip",
            "Round trip",
            "Mean of the flows’ mean round trips",
        ),
        life(
            "startup_latency",
            "Startup",
            "Mean startup latency of flows that have ended",
        ),
        Column::new(
            "Longest startup",
            "The longest startup latency",
            Unit::Seconds,
            |lives| lives.startup_latency_max,
        ),
        life(
            "starved",
            "Starved",
            "Flows far below the mean throughput by weight",
        ),
        life(
            "correlation",
            "Correlation",
            "Pearson’s, of throughputs with round trips: -1 to 1",
        ),
    ];
    titled(
        "lives",
        "Each over its own life",
        &table("lives", "Source", &rows, &columns),
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
    let columns = [
        Column::of(
            INDICES,
            "b_wfi",
            "B-WFI",
            "B-WFI: the largest number of bytes by which a backlogged flow was behind the flow’s \
             share",
        ),
        Column::of(
            INDICES,
            "t_wfi",
            "T-WFI",
            "T-WFI: the largest delay of a packet behind the flow’s share",
        ),
    ];
    titled(
        "indices",
        "Worst-case fair indices of the worst flow",
        &table("indices", "Worst flow of", &rows, &columns),
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
    let columns = [
        Column::new(
            "Throughput",
            "Mean over replicas of the throughput of this rank, the least first",
            Unit::Rate,
            |rank: &RankResult| Some(rank.mean),
        ),
        Column::new(
            "Deviation",
            "Standard deviation over replicas",
            Unit::Rate,
            |rank| rank.deviation,
        ),
        Column::new(
            "Lower mode",
            "Mean of the lower of two modes, where the rank has two",
            Unit::Rate,
            |rank: &RankResult| Some(rank.modes?[0].mean),
        )
        .with(|ranks| replicas_of(ranks, 0)),
        Column::new(
            "Higher mode",
            "Mean of the higher of two modes",
            Unit::Rate,
            |rank: &RankResult| Some(rank.modes?[1].mean),
        )
        .with(|ranks| replicas_of(ranks, 1)),
    ];
    table("ranks", "Rank", &rows, &columns)
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
            "Ratio",
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
