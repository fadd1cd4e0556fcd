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

/// The sections of the page, with the labels whose rows they have.
fn sections() -> [(&'static str, Vec<&'static Label>); 4] {
    [
        (
            "`summary.groups[]`",
            [labels(SOURCE), labels(TRANSFER)].concat(),
        ),
        ("`summary.groups[].lives`", labels(LIVES)),
        ("`summary.groups[].indices`", labels(INDICES)),
        ("`summary.classes[]`", labels(CLASS)),
    ]
}

/// A row of the page: `| `loss` | The part of the packets that did not arrive; 0 to 1 |`.
fn row(label: &Label) -> String {
    let unit = match label.unit {
        Unit::Rate => "; bits a second",
        Unit::Seconds => "; seconds",
        Unit::Bytes => "; bytes",
        Unit::Part => "; 0 to 1",
        Unit::Count | Unit::Index | Unit::Tenths => "",
    };
    format!("| `{}` | {}{unit} |", label.name, label.about)
}

/// The section's lines: the figures' rows stand together, where the first of them stood.
fn with_rows(section: &str, labels: &[&Label]) -> String {
    let is_of_a_figure = |line: &str| {
        let name = line
            .strip_prefix("| `")
            .and_then(|rest| rest.split('`').next());
        labels.iter().any(|label| Some(label.name) == name)
    };
    let mut lines = Vec::new();
    let mut is_written = false;
    for line in section.lines() {
        if !is_of_a_figure(line) {
            lines.push(line.to_owned());
        } else if !is_written {
            lines.extend(labels.iter().map(|label| row(label)));
            is_written = true;
        }
    }
    lines.join("\n") + "\n"
}

/// With `ROUNDELAY_WRITE=1` the rows are written.
#[test]
fn the_page_has_a_row_for_each_figure() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/simulator/outputs.md");
    let page = fs::read_to_string(&path).unwrap();
    let mut written = Vec::new();
    for section in page.split("\n### ") {
        let heading = section.lines().next().unwrap_or_default();
        let mut known = sections().into_iter();
        written.push(match known.find(|(name, _)| *name == heading) {
            Some((_, labels)) => with_rows(section, &labels),
            None => section.to_owned(),
        });
    }
    let written = written.join("\n### ");
    if std::env::var_os("ROUNDELAY_WRITE").is_some() {
        fs::write(&path, &written).unwrap();
        return;
    }
    assert!(
        page == written,
        "ROUNDELAY_WRITE=1 writes docs/simulator/outputs.md"
    );
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
    for (_, labels) in sections() {
        for label in labels {
            assert!(told.contains(&label.head), "{}", label.head);
            assert!(
                label.group.is_empty() || told.contains(&label.group),
                "{}",
                label.group
            );
            assert!(!label.about.is_empty(), "{}", label.name);
        }
    }
}
