//! Sums a sweep up, as text and JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use roundelay_report::{
    Printed, SweepRow, Swept, SweptKey, SweptPoint, aligned, clean, counted, figure_text, json,
};
use roundelay_sim::scenario::Interval;
use serde::Serialize;
use serde_json::{Map, Value};

use super::values::Values;
use crate::failure::Failure;

/// A failed run.
#[derive(Debug, Clone)]
pub(super) struct Failed {
    pub(super) point: String,
    pub(super) values: Values,
    pub(super) seed: u64,
    pub(super) message: String,
    /// The command that repeats the run.
    pub(super) command: String,
}

/// A figure at all points.
#[derive(Debug)]
pub(super) struct Figures {
    pub(super) source: String,
    pub(super) figure: &'static str,
    pub(super) points: Vec<FigureOfPoint>,
}

impl Figures {
    fn report(&self) -> FigureReport<'_> {
        let mut points = Vec::new();
        for point in &self.points {
            points.push(point.report());
        }
        FigureReport {
            source: &self.source,
            figure: self.figure,
            points,
        }
    }

    /// Whether points have several runs, but all runs of each point have the same value.
    fn are_without_spread(&self) -> bool {
        let mut widths = Vec::new();
        for point in &self.points {
            if let Some(interval) = point.interval {
                widths.extend(interval.half_width);
            }
        }
        !widths.is_empty() && widths.iter().all(|half| *half == 0.0)
    }
}

/// A figure at a point.
#[derive(Debug)]
pub(super) struct FigureOfPoint {
    pub(super) point: Vec<(String, String)>,
    /// Values by seed.
    pub(super) runs: BTreeMap<u64, f64>,
    pub(super) interval: Option<Interval>,
    pub(super) difference: Option<Difference>,
}

impl FigureOfPoint {
    /// The difference with its unit, or nothing if there is none.
    fn difference_in_words(&self, figure: &str) -> String {
        match &self.difference {
            Some(Difference { interval, from, .. }) => {
                format!("{} from {}", number(figure, interval, "+"), clean(from))
            }
            None => String::new(),
        }
    }

    fn report(&self) -> PointReport<'_> {
        let mut keys = Map::new();
        for (key, value) in &self.point {
            keys.insert(key.clone(), value.clone().into());
        }
        let mut difference = None;
        if let Some(found) = &self.difference {
            difference = Some(DifferenceReport {
                from: &found.from,
                pairs: found.pairs,
                mean: found.interval.mean,
                half_width: found.interval.half_width,
            });
        }
        PointReport {
            keys,
            runs: self.runs.len(),
            interval: self.interval,
            difference,
        }
    }
}

/// The mean of the differences from another point, seed by seed.
#[derive(Debug)]
pub(super) struct Difference {
    /// The first key's value at the other point.
    pub(super) from: String,
    pub(super) pairs: usize,
    pub(super) interval: Interval,
}

/// A sweep as JSON.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Report<'a> {
    /// Version of Roundelay.
    version: &'static str,
    /// Name of the scenario.
    scenario: &'a str,
    /// Folder of the dataset.
    dataset: &'a Path,
    /// Points of the plan.
    points: usize,
    runs: Runs,
    /// The failed runs.
    failed: Vec<FailedReport<'a>>,
    /// Points of the dataset outside the plan.
    other_files: usize,
    /// Runs of other plans in journals.
    runs_of_other_plans: usize,
    /// Sentences on anomalies of captures used as sources.
    notes: Vec<String>,
    /// The figure that the sweep prints, if it was asked for or the runs must reach a precision.
    figure: Option<FigureReport<'a>>,
}

impl Printed for Report<'_> {
    const SCHEMA: &'static str = "sweep/1";
}

/// Number of runs.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct Runs {
    /// Found in the dataset.
    cached: usize,
    /// Run now.
    done: usize,
    /// Run now, without a result.
    failed: usize,
}

/// A failed run.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FailedReport<'a> {
    /// Hash of the point.
    point: &'a str,
    /// Values of the swept keys.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, Value>"))]
    values: BTreeMap<String, toml::Value>,
    /// Seed of the run.
    seed: u64,
    /// Why it failed.
    message: &'a str,
    /// Command that repeats the run.
    command: &'a str,
}

/// A figure at all points.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct FigureReport<'a> {
    /// The source whose figure it is.
    source: &'a str,
    /// Name of the figure, as in `--figure`.
    figure: &'static str,
    points: Vec<PointReport<'a>>,
}

/// A figure at a point.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct PointReport<'a> {
    /// Values of the swept keys, as texts.
    #[cfg_attr(feature = "schema", schemars(with = "BTreeMap<String, String>"))]
    keys: Map<String, Value>,
    /// Runs with the figure.
    runs: usize,
    interval: Option<Interval>,
    difference: Option<DifferenceReport<'a>>,
}

/// Mean of the differences from another point, seed by seed.
#[derive(Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct DifferenceReport<'a> {
    /// Value of the first key at the other point.
    from: &'a str,
    /// Seeds that both points have.
    pairs: usize,
    /// Mean of the differences.
    mean: f64,
    /// Half of the 95% interval; null for a single pair.
    half_width: Option<f64>,
}

/// The swept keys with their values, and a point's rows.
pub(crate) type RowsOfPoint = (Vec<(String, String)>, Vec<SweepRow>);

/// The result of a sweep.
#[derive(Debug)]
pub struct Summary {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) points: usize,
    pub(super) cached: usize,
    pub(super) done: usize,
    pub(super) failed: Vec<Failed>,
    /// Points of the dataset that the plan does not have.
    pub(super) others: usize,
    /// Runs in journals that belong to other plans.
    pub(super) waiting: usize,
    pub(super) figures: Option<Figures>,
    pub(super) keys: Vec<SweptKey>,
    /// Tells for each run of the plan whether it was new, changed (and how), or cached, before the
    /// work. Empty in the command, which has `--why`.
    pub why: String,
    /// The rows of the plan's runs, with the swept keys' values.
    pub rows: Vec<RowsOfPoint>,
}

impl Summary {
    /// The output of `--json`.
    pub fn json(&self) -> String {
        let mut failed = Vec::new();
        for run in &self.failed {
            let mut values = BTreeMap::new();
            for (key, value) in &run.values {
                values.insert(key.clone(), value.clone());
            }
            failed.push(FailedReport {
                point: &run.point,
                values,
                seed: run.seed,
                message: &run.message,
                command: &run.command,
            });
        }
        json(&Report {
            version: env!("CARGO_PKG_VERSION"),
            scenario: &self.name,
            dataset: &self.folder,
            points: self.points,
            runs: Runs {
                cached: self.cached,
                done: self.done,
                failed: self.failed.len(),
            },
            failed,
            other_files: self.others,
            runs_of_other_plans: self.waiting,
            notes: self.notes(),
            figure: self.figures.as_ref().map(Figures::report),
        })
    }

    /// The output of `--html`: the figure over the swept keys.
    pub fn html(&self) -> String {
        self.swept().html()
    }

    /// The figure at all points.
    fn swept(&self) -> Swept {
        let mut points = Vec::new();
        let mut title = (String::new(), String::new());
        if let Some(figures) = &self.figures {
            title = (figures.source.clone(), figures.figure.to_owned());
            for point in &figures.points {
                let values = point.point.iter().map(|(_, value)| value.clone());
                points.push(SweptPoint {
                    values: values.collect(),
                    runs: point.runs.clone(),
                    difference: point.difference_in_words(figures.figure),
                });
            }
        }
        let mut facts = Vec::new();
        facts.push(format!(
            "{}, {}. Dataset: {}.",
            counted(self.points as u64, "point"),
            self.runs_in_words(),
            clean(&self.folder.display().to_string())
        ));
        let (source, figure) = title;
        Swept {
            version: env!("CARGO_PKG_VERSION"),
            scenario: self.name.clone(),
            source,
            figure,
            keys: self.keys.clone(),
            points,
            facts,
            notes: self.notes(),
        }
    }

    /// `12 runs: 4 cached, 8 done, 0 failed`.
    fn runs_in_words(&self) -> String {
        let failed = self.failed.len();
        let runs = counted((self.cached + self.done + failed) as u64, "run");
        let Self { cached, done, .. } = self;
        format!("{runs}: {cached} cached, {done} done, {failed} failed")
    }

    /// The summary as it is printed.
    pub fn text(&self) -> String {
        let folder = clean(&self.folder.display().to_string());
        let mut text = format!(
            "{}: {}, {}\n",
            clean(&self.name),
            counted(self.points as u64, "point"),
            self.runs_in_words()
        );
        _ = writeln!(
            text,
            "Dataset: {folder} (DuckDB: FROM '{folder}/**/*.parquet')"
        );
        for note in self.notes() {
            _ = writeln!(text, "Note: {note}");
        }
        if let Some(figures) = &self.figures {
            text += "\n";
            for sentence in self.swept().answer() {
                _ = writeln!(text, "{sentence}");
            }
            text += "\n";
            text += &table(figures, &self.keys);
        }
        text
    }

    /// The summary, and how to get another figure if nobody asked for one.
    pub(super) fn text_with_hint(&self, is_asked_for: bool) -> String {
        let mut text = self.text();
        if !is_asked_for && self.points > 0 {
            let other = if self.figures.is_some() {
                "Other figures"
            } else {
                "Means of a figure in a table"
            };
            _ = writeln!(
                text,
                "{other}: --figure throughput, delay_p99, loss, completion_mean or SOURCE.FIGURE \
                 (docs/sweeps.md); runs that are done are not repeated."
            );
        }
        text
    }

    /// Remarks on the dataset and on intervals.
    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.others > 0 {
            notes.push(format!(
                "{} in the dataset with other values or from earlier versions, not checked",
                counted(self.others as u64, "point")
            ));
        }
        if self.waiting > 0 {
            notes.push(format!(
                "{} of other plans in {}/.journal",
                counted(self.waiting as u64, "run"),
                clean(&self.folder.display().to_string())
            ));
        }
        if let Some(figures) = &self.figures
            && figures.are_without_spread()
        {
            notes.push(format!(
                "{}.{} is the same for all seeds of a point: nothing random had an effect, so no \
                 difference is chance and there is no interval",
                clean(&figures.source),
                figures.figure
            ));
        }
        notes
    }

    /// The failed runs, each with the command that repeats it. None if no run failed.
    pub fn failure(&self) -> Option<Failure> {
        let first = self.failed.first()?;
        let all = self.cached + self.done + self.failed.len();
        let mut text = format!(
            "{} of {all} runs failed, the first with: {}",
            self.failed.len(),
            first.message
        );
        for failed in &self.failed {
            _ = write!(
                text,
                "\n  {} seed={}: {}\n    {}",
                failed.point, failed.seed, failed.message, failed.command
            );
        }
        Some(Failure::run(text))
    }
}

/// Most points in the table. If there are more, the table shows some that are spread evenly over
/// all.
const MOST_ROWS: usize = 20;

fn table(figures: &Figures, keys: &[SweptKey]) -> String {
    let mut head = Vec::new();
    if let Some(first) = figures.points.first() {
        for (key, _) in &first.point {
            head.push(clean(key));
        }
    }
    head.push("runs".to_owned());
    head.push(format!("{}.{}", figures.source, figures.figure));
    head.push("difference, seed by seed".to_owned());
    let mut rows = vec![head];
    let count = figures.points.len();
    let shown = count.min(MOST_ROWS);
    for nth in 0..shown {
        // The first one and the last one are among them.
        let point = &figures.points[nth * (count - 1) / (shown - 1).max(1)];
        let mut row = Vec::new();
        for ((_, value), key) in point.point.iter().zip(keys) {
            row.push(key.values.text(value));
        }
        row.push(point.runs.len().to_string());
        row.push(match &point.interval {
            Some(interval) => number(figures.figure, interval, ""),
            None => "–".to_owned(),
        });
        row.push(point.difference_in_words(figures.figure));
        rows.push(row);
    }
    let mut text = aligned(&[], &rows);
    if count > shown {
        let more = counted((count - shown) as u64, "more point");
        text += &format!("Between these: {more} (--json, or the dataset)\n");
    }
    text
}

/// A mean with half the width of its interval, in the figure's unit.
fn number(figure: &str, interval: &Interval, sign: &str) -> String {
    let sign = if interval.mean < 0.0 { "-" } else { sign };
    // Without spread there is no interval.
    let half = match interval.half_width {
        Some(half) if half > 0.0 => format!(" ±{}", figure_text(figure, half)),
        _ => String::new(),
    };
    format!("{sign}{}{half}", figure_text(figure, interval.mean.abs()))
}

#[cfg(test)]
mod tests {
    use roundelay_report::KeyValues;

    use super::*;

    #[test]
    fn a_sign_stands_before_a_mean() {
        let text = |mean, half_width, sign| {
            let interval = Interval { mean, half_width };
            number("delay_p99", &interval, sign)
        };
        assert_eq!(text(0.0, None, "+"), "+0");
        assert_eq!(text(0.0123, None, "+"), "+12.3 ms");
        assert_eq!(text(-0.0123, Some(0.001), "+"), "-12.3 ms ±1.00 ms");
        assert_eq!(text(0.0123, Some(0.001), ""), "12.3 ms ±1.00 ms");
        assert_eq!(text(-0.0123, Some(0.0), "+"), "-12.3 ms");
    }

    #[test]
    fn a_table_has_twenty_points_with_units() {
        let mut points = Vec::new();
        for number in 0..25 {
            let interval = |mean| Interval {
                mean,
                half_width: Some(0.001),
            };
            points.push(FigureOfPoint {
                point: vec![("queue.core".to_owned(), format!("q{number}"))],
                runs: [(1, 0.0123), (2, 0.0123), (3, 0.0123)].into(),
                interval: Some(interval(0.0123)),
                difference: (number > 0).then(|| Difference {
                    from: "q0".to_owned(),
                    pairs: 3,
                    interval: interval(-0.002),
                }),
            });
        }
        let figures = Figures {
            source: "calls".to_owned(),
            figure: "delay_p99",
            points,
        };
        let key = |values| SweptKey {
            name: "queue.core".to_owned(),
            values,
        };
        let text = table(&figures, &[key(KeyValues::Words)]);
        assert_eq!(text.lines().count(), 1 + 20 + 1, "{text}");
        assert!(text.contains("12.3 ms ±1.00 ms"), "{text}");
        assert!(text.contains("-2.00 ms ±1.00 ms from q0"), "{text}");
        assert!(
            text.ends_with("Between these: 5 more points (--json, or the dataset)\n"),
            "{text}"
        );
        assert!(
            text.contains("q0 ") && text.contains("q24 ") && !text.contains("q4 "),
            "{text}"
        );
        // Keys have units, too.
        let mut rates = figures;
        rates.points.truncate(1);
        rates.points[0].point[0].1 = "5000000".to_owned();
        let text = table(&rates, &[key(KeyValues::Rates)]);
        assert!(text.contains("5.00 Mbit/s"), "{text}");
    }
}
