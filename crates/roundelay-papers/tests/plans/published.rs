//! Checksums of published costs: a wrong digit would change a sum.

use roundelay_papers::catalogue::papers;
use roundelay_papers::plan::Plan;

fn plan(paper: &str, item: &str) -> Plan {
    let papers = papers().unwrap();
    let paper = papers.iter().find(|other| other.slug == paper).unwrap();
    paper
        .items
        .iter()
        .find(|other| other.name == item)
        .and_then(|item| item.plan())
        .unwrap()
        .0
        .clone()
}

/// Sum of the published values with names that begin with `run`.
fn sum(plan: &Plan, run: &str) -> f64 {
    let published = plan
        .published
        .iter()
        .filter(|published| published.figure.starts_with(run));
    published
        .map(|published| {
            published.value.unwrap_or(0.0)
                + published.points.iter().map(|(_, value)| value).sum::<f64>()
        })
        .sum()
}

#[test]
fn the_tables_of_costs_hold_what_was_published() {
    let table = plan("qfq", "table-4");
    assert_eq!(sum(&table, ""), 41_158.0, "Table 4: 21 rows of 6 columns");
    let figure = plan("qfq", "figure-10");
    for published in &figure.published {
        assert!(
            table.published.contains(published),
            "{}: the figure's points are the table's",
            published.figure
        );
    }
    let plus = plan("qfq-plus", "table-1");
    assert_eq!(sum(&plus, "QFQ+ M=1: "), 89.0 + 102.0 + 267.0 + 253.0);
    assert_eq!(sum(&plus, "QFQ+ M=8: "), 63.0 + 71.0 + 225.0 + 187.0);
    assert_eq!(
        sum(&plus, "DRR: ") + sum(&plus, "QFQ: "),
        56.0 + 87.0 + 173.0 + 252.0 + 81.0 + 103.0 + 257.0 + 257.0
    );
}
