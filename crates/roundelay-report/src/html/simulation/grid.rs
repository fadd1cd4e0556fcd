//! HTML tables with figures, each a mean over replicas.

use crate::figures::{Figure, Label, interval, interval_text};
use crate::html::escape;
use crate::html::summary::{heading, heading_above};

/// A line below in small letters, if there is any.
pub(super) fn small(line: &str) -> String {
    if line.is_empty() {
        String::new()
    } else {
        format!("<small>{}</small>", escape(line))
    }
}

/// A row: name, second line, and the same item in each replica.
pub(super) struct Row<'a, R> {
    pub(super) name: String,
    pub(super) below: String,
    pub(super) is_sum: bool,
    pub(super) replicas: Vec<&'a R>,
}

/// Nothing stands below a figure.
pub(super) fn nothing<R>(_: &Figure<R>, _: &[&R]) -> String {
    String::new()
}

/// A table sortable by each column. Figures that no row has are left out. `below` writes a second
/// line for a figure from all replicas.
pub(super) fn table<R>(
    id: &str,
    what: &str,
    rows: &[Row<'_, R>],
    figures: impl IntoIterator<Item = &'static Figure<R>>,
    below: fn(&Figure<R>, &[&R]) -> String,
) -> String {
    let mut labels: Vec<&Label> = Vec::new();
    let mut lines = Vec::new();
    for row in rows {
        lines.push(start(row));
    }
    for figure in figures {
        let replicas = rows.iter().flat_map(|row| &row.replicas);
        if !figure
            .label
            .is_shown(replicas.map(|replica| (figure.of)(replica)))
        {
            continue;
        }
        labels.push(&figure.label);
        for (row, line) in rows.iter().zip(&mut lines) {
            *line += &cell(figure, &row.replicas, &below(figure, &row.replicas));
        }
    }
    format!(
        "<table id=\"{id}\" class=\"sortable\">\n<thead>\n{}</thead>\n<tbody>\n{}</tr>\n\
         </tbody>\n</table>",
        heads(what, &labels),
        lines.join("</tr>\n")
    )
}

/// Headings, below those of their groups if there are any.
fn heads(what: &str, labels: &[&Label]) -> String {
    let mut above = String::new();
    let mut has_groups = false;
    let mut names = String::new();
    for alike in labels.chunk_by(|one, next| one.group_heading() == next.group_heading()) {
        let group = alike[0].group_heading();
        above += &heading_above(&group, alike.len());
        has_groups |= !group.is_empty();
        for label in alike {
            names += &heading(&label.heading(), label.about);
        }
    }
    let names = format!("<tr>{}{names}</tr>\n", heading(what, ""));
    if has_groups {
        format!("<tr class=\"groups\"><td></td>{above}</tr>\n{names}")
    } else {
        names
    }
}

/// A row's beginning, with its name.
fn start<R>(row: &Row<'_, R>) -> String {
    let class = if row.is_sum { " class=\"sum\"" } else { "" };
    let name = escape(&row.name);
    format!(
        "<tr{class}><th scope=\"row\">{name}{}</th>",
        small(&row.below)
    )
}

fn cell<R>(figure: &Figure<R>, replicas: &[&R], below: &str) -> String {
    let interval = interval(replicas.iter().copied().map(figure.of));
    let sort = match interval {
        Some(interval) => format!(" data-sort=\"{}\"", interval.mean),
        None => String::new(),
    };
    let text = interval_text(interval, |value| figure.label.unit.text(value));
    // On a line of its own, half the interval does not widen the column.
    let (mean, half) = match text.split_once(" ±") {
        Some((mean, half)) => (mean, small(&format!("±{half}"))),
        None => (&text[..], String::new()),
    };
    format!("<td{sort}>{}{half}{}</td>", escape(mean), small(below))
}
