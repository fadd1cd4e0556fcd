//! HTML table for disciplines.

use roundelay_trace::{Comparison, Delay, DisciplineResult, Kind};

use super::frame::escape;
use crate::spread::{farthest_seed, half_width, notable_changes};
use crate::table::{nanos, reasons, short_name};
use crate::units::{bytes, count, percent, rate, seconds, significant};

/// A text and its sort key. Cells without a key go last.
struct Cell {
    text: String,
    sort: Option<f64>,
    title: String,
    /// A second line.
    below: String,
}

/// A column: heading, explanation, cells.
#[derive(Clone, Copy)]
struct Column {
    head: &'static str,
    about: &'static str,
    cell: Of,
}

/// What a column's cells tell about a discipline.
#[derive(Clone, Copy)]
enum Of {
    Result(fn(&DisciplineResult) -> Cell),
    /// The delay of one kind of flows.
    Kind(Kind),
}

impl Column {
    fn cell(&self, result: &DisciplineResult) -> Cell {
        match self.cell {
            Of::Result(cell) => cell(result),
            Of::Kind(kind) => of_kind(result, kind),
        }
    }
}

const SERVICE: [Column; 2] = [
    Column {
        head: "Sent",
        about: "Bits sent over the time from the first arrival to the last departure",
        cell: Of::Result(|result| Cell {
            below: half_width(result, |one| Some(one.total.throughput), rate),
            ..cell(rate(result.total.throughput), result.total.throughput)
        }),
    },
    Column {
        head: "Loss",
        about: "Dropped over offered packets, and how many were dropped for which reason",
        cell: Of::Result(|result| Cell {
            below: lost(result),
            ..cell(percent(result.total.loss), result.total.loss)
        }),
    },
];

/// The table below the charts has more of these.
const DELAYS: [Column; 2] = [
    Column {
        head: "p99",
        about: "99th percentile of the delay of all packets",
        cell: Of::Result(|result| delay_of(result, |delay| delay.p99)),
    },
    Column {
        head: "max",
        about: "Largest delay of all packets",
        cell: Of::Result(|result| delay_of(result, |delay| delay.max)),
    },
];

const FAIRNESS_AND_COST: [Column; 5] = [
    Column {
        head: "Jain",
        about: "Jain’s fairness index, mean over windows: 1 is perfectly fair",
        cell: Of::Result(jain),
    },
    Column {
        head: "GPS lag",
        about: "Largest of the flows’ lags behind an ideal fluid server",
        cell: Of::Result(|result| cell(bytes(result.worst_lag), result.worst_lag)),
    },
    Column {
        head: "Bounds",
        about: "Whether every flow stayed within what is proven",
        cell: Of::Result(bounds),
    },
    Column {
        head: "ns/packet",
        about: "Time for a packet in and out, on the machine that made this page",
        cell: Of::Result(cost),
    },
    Column {
        head: "B/flow",
        about: "Bytes of state for each flow",
        cell: Of::Result(|result| {
            cell(
                count(result.bytes_per_flow as u64),
                result.bytes_per_flow as f64,
            )
        }),
    },
];

/// After the loss, if any discipline marks packets.
const MARKED: Column = Column {
    head: "Marked",
    about: "Packets sent with a mark of congestion in place of a drop",
    cell: Of::Result(|result| {
        let part = result.total.part_marked();
        cell(percent(part), part)
    }),
};

/// After the loss, if any discipline reorders packets.
const REORDERED: Column = Column {
    head: "Reordered",
    about: "Packets that left after a later one of their flow",
    cell: Of::Result(|result| cell(count(result.total.reordered), result.total.reordered as f64)),
};

/// In place of the lag, which is about flows, if the comparison has hosts.
const FAIRNESS_BY_HOST: Column = Column {
    head: "Hosts",
    about: "Jain’s index of the parts of their fair shares that hosts with bulk flows get, and the \
            smallest of these parts below",
    cell: Of::Result(of_hosts),
};

/// Columns with a heading of their own above.
struct Group {
    head: &'static str,
    columns: Vec<Column>,
}

/// The columns for these results. Those that the verdict quotes come first.
fn groups(comparison: &Comparison) -> Vec<Group> {
    let results = &comparison.disciplines;
    let mut service = Vec::from(SERVICE);
    if results.iter().any(|result| result.total.marked > 0) {
        service.push(MARKED);
    }
    if results.iter().any(|result| result.total.reordered > 0) {
        service.push(REORDERED);
    }
    let mut kinds = Vec::new();
    for outcome in results.first().map_or(&[][..], |result| &result.kinds) {
        if outcome.kind != Kind::Bulk {
            kinds.push(Column {
                head: short_name(outcome.kind),
                about: "99th percentile of the delay of the packets of these flows, and how many \
                    of these packets are lost",
                cell: Of::Kind(outcome.kind),
            });
        }
    }
    let mut groups = vec![Group {
        head: "",
        columns: service,
    }];
    if !kinds.is_empty() {
        groups.push(Group {
            head: "p99 delay",
            columns: kinds,
        });
    }
    groups.push(Group {
        head: "Delay, all flows",
        columns: DELAYS.to_vec(),
    });
    let (fairness, cost) = FAIRNESS_AND_COST.split_at(3);
    groups.push(Group {
        head: "Fairness",
        columns: match comparison.hosts {
            Some(_) => vec![fairness[0], FAIRNESS_BY_HOST, fairness[2]],
            None => fairness.to_vec(),
        },
    });
    groups.push(Group {
        head: "Cost",
        columns: cost.to_vec(),
    });
    groups
}

/// The table with disciplines, in the order of the options, with the best one marked.
pub(super) fn table(comparison: &Comparison, best: Option<usize>) -> String {
    let mut flows = comparison.flows.iter();
    let has_weights = flows.any(|flow| flow.weight != comparison.flows[0].weight);
    let groups = groups(comparison);
    let mut columns = Vec::new();
    for group in &groups {
        columns.extend_from_slice(&group.columns);
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

fn head(groups: &[Group]) -> String {
    let mut above = String::new();
    let mut names = String::new();
    for Group { head, columns } in groups {
        let span = columns.len();
        above += &if head.is_empty() {
            format!("<td colspan=\"{span}\"></td>")
        } else {
            format!("<th colspan=\"{span}\" scope=\"colgroup\">{head}</th>")
        };
        for column in columns {
            names += &heading(column.head, column.about);
        }
    }
    format!(
        "<tr class=\"groups\"><td></td>{above}</tr>\n<tr>{}{names}</tr>\n",
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
        cells += &data_cell(&column.cell(result));
    }
    format!("<tr{class}>{name}{cells}</tr>")
}

/// The row below a discipline: the figures with the seed that differs most, and the notable changes
/// by kind of flow. The row is sorted with its discipline.
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
            ..column.cell(other)
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

/// A delay over all packets, over replicas if there are any.
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

fn of_hosts(result: &DisciplineResult) -> Cell {
    match &result.hosts {
        Some(hosts) => Cell {
            below: percent(hosts.least_share),
            ..cell(format!("{:.3}", hosts.jain), hosts.jain)
        },
        None => dash(),
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
        ..cell(nanos(&cost), cost.nanos_per_packet)
    }
}
