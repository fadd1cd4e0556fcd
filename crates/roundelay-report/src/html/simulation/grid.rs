//! HTML tables with figures, each a mean over replicas.

use crate::figures::{Figure, Unit, interval, interval_text, named};
use crate::html::escape;
use crate::html::summary::heading;

/// A column: heading, explanation, figure and unit.
pub(super) struct Column<R> {
    pub(super) head: &'static str,
    pub(super) about: &'static str,
    pub(super) of: fn(&R) -> Option<f64>,
    pub(super) unit: Unit,
    /// A second line, from all replicas.
    pub(super) below: Option<fn(&[&R]) -> String>,
}

impl<R> Column<R> {
    pub(super) const fn new(
        head: &'static str,
        about: &'static str,
        unit: Unit,
        of: fn(&R) -> Option<f64>,
    ) -> Self {
        Self {
            head,
            about,
            of,
            unit,
            below: None,
        }
    }

    /// Of the figure with this name.
    pub(super) fn of(
        figures: &'static [Figure<R>],
        name: &str,
        head: &'static str,
        about: &'static str,
    ) -> Self {
        let figure = named(figures, name);
        Self::new(head, about, figure.unit, figure.of)
    }

    pub(super) const fn with(mut self, below: fn(&[&R]) -> String) -> Self {
        self.below = Some(below);
        self
    }

    fn cell(&self, replicas: &[&R]) -> String {
        let interval = interval(replicas.iter().copied().map(self.of));
        let sort = match interval {
            Some(interval) => format!(" data-sort=\"{}\"", interval.mean),
            None => String::new(),
        };
        let text = interval_text(interval, |value| self.unit.text(value));
        // On a line of its own, half the interval does not widen the column.
        let (mean, half) = match text.split_once(" ±") {
            Some((mean, half)) => (mean, small(&format!("±{half}"))),
            None => (&text[..], String::new()),
        };
        let below = match self.below {
            Some(below) => small(&below(replicas)),
            None => String::new(),
        };
        format!("<td{sort}>{}{half}{below}</td>", escape(mean))
    }
}

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

/// A table sortable by each column. Columns without any figure are left out.
pub(super) fn table<R>(id: &str, what: &str, rows: &[Row<'_, R>], columns: &[Column<R>]) -> String {
    let columns: Vec<_> = columns
        .iter()
        .filter(|column| has_any(rows, column))
        .collect();
    let mut heads = String::new();
    for column in &columns {
        heads += &heading(column.head, column.about);
    }
    let lines: Vec<_> = rows.iter().map(|row| line(row, &columns)).collect();
    format!(
        "<table id=\"{id}\" class=\"sortable\">\n<thead>\n<tr>{}{heads}</tr>\n</thead>\n<tbody>\n\
         {}\n</tbody>\n</table>",
        heading(what, ""),
        lines.join("\n")
    )
}

/// Whether any replica has the column's figure.
fn has_any<R>(rows: &[Row<'_, R>], column: &Column<R>) -> bool {
    for row in rows {
        for replica in &row.replicas {
            if (column.of)(replica).is_some() {
                return true;
            }
        }
    }
    false
}

fn line<R>(row: &Row<'_, R>, columns: &[&Column<R>]) -> String {
    let class = if row.is_sum { " class=\"sum\"" } else { "" };
    let below = small(&row.below);
    let mut cells = String::new();
    for column in columns {
        cells += &column.cell(&row.replicas);
    }
    format!(
        "<tr{class}><th scope=\"row\">{}{below}</th>{cells}</tr>",
        escape(&row.name)
    )
}
