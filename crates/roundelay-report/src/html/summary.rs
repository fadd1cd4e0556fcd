//! HTML table for disciplines.

use roundelay_trace::{Comparison, DisciplineResult, Jain, Kind};

use super::frame::escape;
use crate::figures::{FAIRNESS, Figure, KIND, SERVICE, named};
use crate::spread::{farthest_seed, half_width, notable_changes};
use crate::table::{nanos, reasons, short_name};
use crate::units::{count, percent, seconds, significant};

/// A text and its sort key. Cells without a key go last.
struct Cell {
    text: String,
    sort: Option<f64>,
    title: String,
    /// A second line.
    below: String,
}

/// A column.
#[derive(Clone, Copy)]
enum Column {
    Figure(&'static Figure<DisciplineResult>),
    /// The delay of one kind of flows, with what they lose.
    Kind(Kind),
    Bounds,
    Cost,
}

impl Column {
    fn named(figures: &'static [Figure<DisciplineResult>], name: &str) -> Self {
        Self::Figure(named(figures, name))
    }

    fn head(self) -> String {
        match self {
            Self::Figure(figure) => figure.label.heading(),
            Self::Kind(kind) => short_name(kind).to_owned(),
            Self::Bounds => "Bounds".to_owned(),
            Self::Cost => "ns/packet".to_owned(),
        }
    }

    fn about(self) -> &'static str {
        match self {
            Self::Figure(figure) => figure.label.about,
            Self::Kind(_) => named(KIND, "p99").label.about,
            Self::Bounds => "Whether every flow stayed within what is proven",
            Self::Cost => "Time for a packet in and out, on the machine that made this page",
        }
    }

    fn cell(self, result: &DisciplineResult) -> Cell {
        match self {
            Self::Figure(figure) => of_figure(result, figure),
            Self::Kind(kind) => of_kind(result, kind),
            Self::Bounds => bounds(result),
            Self::Cost => cost(result),
        }
    }
}

/// Columns with a heading of their own above.
struct Group {
    head: &'static str,
    columns: Vec<Column>,
}

/// The columns for these results. Those that the verdict quotes come first. Of delays, the table
/// below the charts has more.
fn groups(comparison: &Comparison) -> Vec<Group> {
    let results = &comparison.disciplines;
    let mut kinds = Vec::new();
    for outcome in results.first().map_or(&[][..], |result| &result.kinds) {
        if outcome.kind != Kind::Bulk {
            kinds.push(Column::Kind(outcome.kind));
        }
    }
    let mut fairness = vec![Column::named(FAIRNESS, "jain")];
    let mut hosts = Vec::new();
    match comparison.hosts {
        Some(_) => hosts.push(Column::named(FAIRNESS, "jain_hosts")),
        // Lags are about flows.
        None => fairness.push(Column::named(FAIRNESS, "lag")),
    }
    fairness.push(Column::Bounds);
    let service = ["throughput", "loss", "filtered", "part_marked", "reordered"];
    let delays = ["p99", "max"];
    let mut groups = vec![
        Group {
            head: "",
            columns: service.map(|name| Column::named(SERVICE, name)).to_vec(),
        },
        Group {
            head: "p99 delay",
            columns: kinds,
        },
        Group {
            head: "Delay, all flows",
            columns: delays.map(|name| Column::named(SERVICE, name)).to_vec(),
        },
        Group {
            head: "Fairness",
            columns: fairness,
        },
        Group {
            head: "Hosts",
            columns: hosts,
        },
        Group {
            head: "Cost",
            columns: vec![Column::Cost, Column::named(FAIRNESS, "bytes_per_flow")],
        },
    ];
    for group in &mut groups {
        group.columns.retain(|column| match column {
            Column::Figure(Figure { label, of }) => label.is_shown(results.iter().map(of)),
            Column::Kind(_) | Column::Bounds | Column::Cost => true,
        });
    }
    groups.retain(|group| !group.columns.is_empty());
    groups
}

/// The table with disciplines, in the order of the options, with the best one marked.
pub(super) fn table(comparison: &Comparison, best: Option<usize>) -> String {
    let mut flows = comparison.flows.iter();
    let has_weights = flows.any(|flow| flow.weight != comparison.flows[0].weight);
    let groups = groups(comparison);
    let mut columns = Vec::new();
    for group in &groups {
        for column in &group.columns {
            columns.push((*column, label(group.head, &column.head())));
        }
    }
    let mut rows = Vec::new();
    for (index, result) in comparison.disciplines.iter().enumerate() {
        let remark = if has_weights && !result.weighted {
            " Ignores weights."
        } else {
            ""
        };
        let is_best = Some(index) == best;
        rows.push(row(&columns, result, remark, is_best));
        if let Some((seed, other)) = farthest_seed(comparison, index) {
            rows.push(row_of_seed(
                &columns,
                seed,
                &notable_changes(result, other),
                other,
            ));
        }
    }
    format!(
        "<table id=\"disciplines\">\n<thead>\n{}</thead>\n<tbody>\n{}\n</tbody>\n</table>",
        head(&groups),
        rows.join("\n")
    )
}

/// What a cell says beside its value on a narrow screen, where rows are cards.
fn label(group: &str, head: &str) -> String {
    if group.is_empty() {
        head.to_owned()
    } else {
        format!("{group}, {head}")
    }
}

fn head(groups: &[Group]) -> String {
    let mut above = String::new();
    let mut names = String::new();
    for Group { head, columns } in groups {
        above += &heading_above(head, columns.len());
        for column in columns {
            names += &heading(&column.head(), column.about());
        }
    }
    format!(
        "<tr class=\"groups\"><td></td>{above}</tr>\n<tr>{}{names}</tr>\n",
        heading("Discipline", "As the user would write it")
    )
}

/// What so many headings have in common. Nothing stands above others.
pub(super) fn heading_above(head: &str, span: usize) -> String {
    if head.is_empty() {
        return format!("<td colspan=\"{span}\"></td>");
    }
    let head = escape(head);
    format!("<th colspan=\"{span}\" scope=\"colgroup\">{head}</th>")
}

/// A heading that sorts the table.
pub(super) fn heading(head: &str, about: &str) -> String {
    format!(
        "<th scope=\"col\" title=\"{}\"><button type=\"button\">{}</button></th>",
        escape(about),
        escape(head)
    )
}

fn row(
    columns: &[(Column, String)],
    result: &DisciplineResult,
    remark: &str,
    best: bool,
) -> String {
    let class = if best { " class=\"best\"" } else { "" };
    let mark = if best {
        " <span class=\"mark\">best</span>"
    } else {
        ""
    };
    let spec = escape(&result.spec);
    let about = escape(result.about);
    let name = format!(
        "<th scope=\"row\"><b>{spec}</b>{mark}<small>{}. Buffer {}.{remark}</small></th>",
        about.trim_end_matches('.'),
        escape(&result.limit)
    );
    let mut cells = String::new();
    for (column, label) in columns {
        cells += &data_cell(&column.cell(result), label);
    }
    format!("<tr{class}>{name}{cells}</tr>")
}

/// The row below a discipline: the figures with the seed that differs most, and the notable changes
/// by kind of flow. The row is sorted with its discipline.
fn row_of_seed(
    columns: &[(Column, String)],
    seed: u64,
    changes: &[String],
    other: &DisciplineResult,
) -> String {
    let mut about = "The seed that differs most".to_owned();
    if !changes.is_empty() {
        about = format!("{about}: {}", changes.join("; "));
    }
    let name = format!(
        "<th scope=\"row\">seed {seed}<small>{}.</small></th>",
        escape(&about)
    );
    let mut cells = String::new();
    for (column, label) in columns {
        let unsorted = Cell {
            sort: None,
            ..column.cell(other)
        };
        cells += &data_cell(&unsorted, label);
    }
    format!("<tr class=\"below\">{name}{cells}</tr>")
}

fn data_cell(cell: &Cell, label: &str) -> String {
    let sort = match cell.sort {
        Some(number) => format!(" data-sort=\"{number}\""),
        None => String::new(),
    };
    let title = if cell.title.is_empty() {
        String::new()
    } else {
        format!(" title=\"{}\"", escape(&cell.title))
    };
    let class = if cell.text.starts_with('✗') {
        " class=\"bad\""
    } else {
        ""
    };
    let below = if cell.below.is_empty() {
        String::new()
    } else {
        format!("<small>{}</small>", escape(&cell.below))
    };
    let label = escape(label);
    let text = escape(&cell.text);
    format!("<td{sort}{title}{class} data-label=\"{label}\">{text}{below}</td>")
}

fn cell(text: String, sort: f64) -> Cell {
    Cell {
        text,
        sort: Some(sort),
        title: String::new(),
        below: String::new(),
    }
}

fn dash() -> Cell {
    Cell {
        text: "–".to_owned(),
        sort: None,
        title: String::new(),
        below: String::new(),
    }
}

/// A figure, and below it half the interval over replicas, if there are any.
fn of_figure(result: &DisciplineResult, figure: &Figure<DisciplineResult>) -> Cell {
    let Figure { label, of } = figure;
    let Some(value) = of(result) else {
        return dash();
    };
    let mut below = half_width(result, of, label.unit);
    let mut title = String::new();
    match label.name {
        "loss" => {
            let reasons = reasons(result.total.drops);
            let are_both = !below.is_empty() && !reasons.is_empty();
            below += if are_both { ": " } else { "" };
            below += &reasons;
        }
        "jain" => title = result.jain.map_or(String::new(), windows),
        "jain_hosts" => below = least_share(result),
        _ => {}
    }
    Cell {
        below,
        title,
        ..cell(label.unit.text(value), value)
    }
}

/// The least host's share.
fn least_share(result: &DisciplineResult) -> String {
    let Figure { label, of } = named(FAIRNESS, "least_host");
    label.text(of(result))
}

/// The worst of the windows of Jain's index.
fn windows(jain: Jain) -> String {
    format!(
        "Worst of {} windows of {}: {:.3}",
        count(jain.windows),
        seconds(jain.window),
        jain.min
    )
}

/// One kind's delay, and its loss.
fn of_kind(result: &DisciplineResult, kind: Kind) -> Cell {
    let mut outcomes = result.kinds.iter();
    let Some(outcome) = outcomes.find(|outcome| outcome.kind == kind) else {
        return dash();
    };
    let known = match outcome.p99 {
        Some(p99) => cell(seconds(p99), p99),
        None => dash(),
    };
    let lost = if outcome.loss > 0.0 {
        format!("{} lost", percent(outcome.loss))
    } else {
        String::new()
    };
    Cell {
        below: lost,
        ..known
    }
}

fn bounds(result: &DisciplineResult) -> Cell {
    match result.kept_bounds {
        Some(true) => cell("✓ kept".to_owned(), 0.0),
        Some(false) => cell("✗ broken".to_owned(), 1.0),
        None => dash(),
    }
}

fn cost(result: &DisciplineResult) -> Cell {
    let Some(cost) = result.cost else {
        return dash();
    };
    let title = format!(
        "{} to {} in runs of {} packets",
        significant(cost.range.0),
        significant(cost.range.1),
        count(cost.packets)
    );
    Cell {
        title,
        ..cell(nanos(&cost), cost.nanos_per_packet)
    }
}
