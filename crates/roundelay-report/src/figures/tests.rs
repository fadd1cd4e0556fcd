//! Figures beside the page that tells of them.

use std::fs;
use std::path::Path;

use super::*;

/// Formerly a figure of a class of links was printed without its unit.
#[test]
fn figures_of_sweeps_have_units_and_a_better_end() {
    assert_eq!(figure_text("core_wait_p99", 0.0123), "12.3 ms");
    assert_eq!(figure_text("lives_throughput", 1e6), "1.00 Mbit/s");
    assert_eq!(figure_text("unknown_figure", 0.5), "0.5000");
    assert!(is_better_if_more("lives_jain_of_ratios") && is_better_if_more("goodput"));
    assert!(!is_better_if_more("delay_p99") && !is_better_if_more("core_loss"));
}

fn labels<R>(figures: &'static [Figure<R>]) -> Vec<&'static Label> {
    figures.iter().map(|figure| &figure.label).collect()
}

/// Of all figures that a simulation's summary has.
fn of_a_summary() -> Vec<&'static Label> {
    [
        labels(SOURCE),
        labels(TRANSFER),
        labels(LIVES),
        labels(INDICES),
        labels(CLASS),
    ]
    .concat()
}

#[test]
fn the_terms_of_the_terminal_have_their_rows() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/simulator/outputs.md");
    let page = fs::read_to_string(&path).unwrap();
    let terms = page.split("### Terms of the table").nth(1).unwrap();
    let terms = terms.split("\n## ").next().unwrap();
    let mut told = Vec::new();
    for line in terms.lines() {
        let term = line.split('|').nth(1).unwrap_or_default();
        told.extend(term.split([',', ':']).map(str::trim));
    }
    for label in of_a_summary() {
        assert!(told.contains(&label.head), "{}", label.head);
        assert!(
            label.group.is_empty() || told.contains(&label.group),
            "{}",
            label.group
        );
        assert!(!label.about.is_empty(), "{}", label.name);
    }
}
