//! A finished run as a line of JSON: rows of the same figure stand together, without their names.

use serde::{Deserialize, Serialize};

use super::Done;
use crate::experiments::{Failed, Outcome, Row};
use crate::record::short;

#[derive(Serialize, Deserialize)]
struct Line {
    key: String,
    part: String,
    seconds: f64,
    figures: Vec<Figure>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    trace: Vec<String>,
}

/// A run's name, a figure, and its rows with `x` and value.
#[derive(Serialize, Deserialize)]
struct Figure(String, String, Vec<(Option<f64>, f64)>);

/// The line of a run. If it `is_short`, its numbers have six digits.
pub(super) fn written(done: &Done, is_short: bool) -> Result<String, Failed> {
    let mut figures: Vec<Figure> = Vec::new();
    for row in &done.outcome.rows {
        let mut point = (row.x, row.value);
        if is_short {
            point = (row.x.map(short), short(row.value));
        }
        match figures.last_mut() {
            Some(Figure(run, figure, points)) if *run == row.run && *figure == row.figure => {
                points.push(point);
            }
            _ => figures.push(Figure(row.run.clone(), row.figure.clone(), vec![point])),
        }
    }
    let line = Line {
        key: done.key.clone(),
        part: done.part.clone(),
        seconds: if is_short {
            short(done.seconds)
        } else {
            done.seconds
        },
        figures,
        trace: done.outcome.trace.clone(),
    };
    serde_json::to_string(&line).map_err(Failed::from)
}

/// The run in a line. None if the line has another form.
pub(super) fn read(line: &str) -> Option<Done> {
    let line: Line = serde_json::from_str(line).ok()?;
    let mut rows = Vec::new();
    for Figure(run, figure, points) in line.figures {
        for (x, value) in points {
            rows.push(Row {
                run: run.clone(),
                figure: figure.clone(),
                x,
                value,
            });
        }
    }
    Some(Done {
        key: line.key,
        part: line.part,
        seconds: line.seconds,
        outcome: Outcome {
            rows,
            trace: line.trace,
        },
    })
}
