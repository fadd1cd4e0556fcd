//! HTML table of disciplines.

use roundelay_trace::{Comparison, Delay, DisciplineResult};

use super::escape;
use crate::spread::{farthest_seed, half_width, notable_changes};
use crate::table::reasons;
use crate::units::{bytes, count, percent, rate, seconds, significant};

/// A text and its sort key; cells without a key go last.
struct Cell {
    text: String,
    sort: Option<f64>,
    title: String,
    /// A second line.
    below: String,
}

/// A column: heading, explanation, cells.
struct Column {
    head: &'static str,
    about: &'static str,
    cell: fn(&DisciplineResult) -> Cell,
}

const COLUMNS: [Column; 12] = [
    Column {
        head: "Sent",
        about: "Bits sent over the time from the first arrival to the last departure",
        cell: |result| Cell {
            below: half_width(result, |one| Some(one.total.throughput), rate),
            ..cell(rate(result.total.throughput), result.total.throughput)
        },
    },
    Column {
        head: "Loss",
        about: "Dropped over offered packets, and how many were dropped for which reason",
        cell: |result| Cell {
            below: lost(result),
            ..cell(percent(result.total.loss), result.total.loss)
        },
    },
    Column {
        head: "p50",
        about: "Median of the delay of all packets",
        cell: |result| delay_of(result, |delay| delay.p50),
    },
    Column {
        head: "p99",
        about: "99th percentile of the delay of all packets",
        cell: |result| delay_of(result, |delay| delay.p99),
    },
    Column {
        head: "p99.9",
        about: "99.9th percentile of the delay of all packets",
        cell: |result| delay_of(result, |delay| delay.p999),
    },
    Column {
        head: "max",
        about: "Largest delay of all packets",
        cell: |result| delay_of(result, |delay| delay.max),
    },
    Column {
        head: "Light p99",
        about: "99th percentile of the delay of the packets of all flows that ask for less than \
            their fair share, and how many of these packets are lost",
        cell: light,
    },
    Column {
        head: "Jain",
        about: "Jain’s fairness index, mean over windows: 1 is perfectly fair",
        cell: jain,
    },
    Column {
        head: "GPS lag",
        about: "Largest of the flows’ lags behind an ideal fluid server",
        cell: |result| cell(bytes(result.worst_lag), result.worst_lag),
    },
    Column {
        head: "Bounds",
        about: "Whether every flow stayed within what is proven",
        cell: bounds,
    },
    Column {
        head: "ns/packet",
        about: "Time for a packet in and out, on the machine that made this page",
        cell: cost,
    },
    Column {
        head: "B/flow",
        about: "Bytes of state for each flow",
        cell: |result| {
            cell(
                count(result.bytes_per_flow as u64),
                result.bytes_per_flow as f64,
            )
        },
    },
];

/// Inserted after the loss if any discipline reorders packets.
const REORDERED: Column = Column {
    head: "Reordered",
    about: "Packets that left after a later one of their flow",
    cell: |result| cell(count(result.total.reordered), result.total.reordered as f64),
};

/// The columns for these results, and the number of columns on sent packets.
fn columns(comparison: &Comparison) -> (Vec<Column>, usize) {
    let mut columns = Vec::from(COLUMNS);
    let mut heads = columns.iter();
    let sent = heads.position(|column| column.head == "p50").unwrap_or(0);
    let results = &comparison.disciplines;
    if results.iter().all(|result| result.total.reordered == 0) {
        return (columns, sent);
    }
    columns.insert(sent, REORDERED);
    (columns, sent + 1)
}

/// The table of disciplines, in the order of the options, with the best one marked.
pub(super) fn table(comparison: &Comparison, best: usize) -> String {
    let mut flows = comparison.flows.iter();
    let has_weights = flows.any(|flow| flow.weight != comparison.flows[0].weight);
    let (columns, sent) = columns(comparison);
    let mut rows = Vec::new();
    for (index, result) in comparison.disciplines.iter().enumerate() {
        let remark = if has_weights && !result.weighted {
            " Ignores weights."
        } else {
            ""
        };
        let is_best = index == best;
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
        head(&columns, sent),
        rows.join("\n")
    )
}

fn head(columns: &[Column], sent: usize) -> String {
    let groups = format!(
        "<tr class=\"groups\"><td></td><td colspan=\"{sent}\"></td><th colspan=\"4\" \
         scope=\"colgroup\">Delay, all flows</th>\
                  <td></td><th colspan=\"3\" scope=\"colgroup\">Fairness</th><th colspan=\"2\" \
                  scope=\"colgroup\">Cost</th></tr>\n"
    );
    let mut names = String::new();
    for column in columns {
        names += &heading(column.head, column.about);
    }
    format!(
        "{groups}<tr>{}{names}</tr>\n",
        heading("Discipline", "As the user would write it")
    )
}

/// A heading that sorts the table.
pub(super) fn heading(head: &str, about: &str) -> String {
    format!(
        "<th scope=\"col\" title=\"{}\"><button type=\"button\">{}</button></th>",
        escape(about),
        escape(head)
    )
}

fn row(columns: &[Column], result: &DisciplineResult, remark: &str, best: bool) -> String {
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
    for column in columns {
        cells += &data_cell(&(column.cell)(result));
    }
    format!("<tr{class}>{name}{cells}</tr>")
}

/// The row below a discipline: the figures with the seed that differs most, and the changes by kind
/// of flow, which no column shows. Such a row is sorted with the discipline's.
fn row_of_seed(
    columns: &[Column],
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
    for column in columns {
        let unsorted = Cell {
            sort: None,
            ..(column.cell)(other)
        };
        cells += &data_cell(&unsorted);
    }
    format!("<tr class=\"below\">{name}{cells}</tr>")
}

fn data_cell(cell: &Cell) -> String {
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
    format!("<td{sort}{title}{class}>{}{below}</td>", escape(&cell.text))
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

fn delay(delay: Option<Delay>, of: fn(&Delay) -> f64) -> Cell {
    match delay {
        Some(delay) => cell(seconds(of(&delay)), of(&delay)),
        None => dash(),
    }
}

/// A delay of all packets, over replicas if there are any.
fn delay_of(result: &DisciplineResult, of: fn(&Delay) -> f64) -> Cell {
    Cell {
        below: half_width(result, |one| one.total.delay.as_ref().map(of), seconds),
        ..delay(result.total.delay, of)
    }
}

/// Half the loss's interval over replicas, if there are any, and why packets were dropped.
fn lost(result: &DisciplineResult) -> String {
    let half = half_width(result, |one| Some(one.total.loss), percent);
    let reasons = reasons(result.total.drops);
    if half.is_empty() || reasons.is_empty() {
        return half + &reasons;
    }
    format!("{half}: {reasons}")
}

fn light(result: &DisciplineResult) -> Cell {
    let delay = delay(result.light.delay, |delay| delay.p99);
    let lost = if result.light.loss > 0.0 {
        format!("{} lost", percent(result.light.loss))
    } else {
        String::new()
    };
    Cell {
        below: lost,
        ..delay
    }
}

fn jain(result: &DisciplineResult) -> Cell {
    let Some(jain) = result.jain else {
        return dash();
    };
    let title = format!(
        "Worst of {} windows of {}: {:.3}",
        count(jain.windows),
        seconds(jain.window),
        jain.min
    );
    Cell {
        title,
        ..cell(format!("{:.3}", jain.mean), jain.mean)
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
        ..cell(significant(cost.nanos_per_packet), cost.nanos_per_packet)
    }
}
