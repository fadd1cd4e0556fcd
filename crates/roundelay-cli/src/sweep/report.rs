//! Summary of a sweep: text and JSON.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use roundelay_report::{SweepRow, aligned, clean, counted};
use roundelay_sim::scenario::Interval;
use serde_json::json;

use super::values::Values;
use crate::failure::Failure;

/// A failed run.
#[derive(Debug, Clone)]
pub(super) struct Failed {
    pub(super) point: String,
    pub(super) values: Values,
    pub(super) seed: u64,
    pub(super) message: String,
    /// Command that repeats the run.
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
    /// Whether points have several runs, and all runs of each point the same value.
    fn are_without_spread(&self) -> bool {
        let mut widths = self
            .points
            .iter()
            .filter_map(|point| point.interval?.half_width)
            .peekable();
        widths.peek().is_some() && widths.all(|half| half == 0.0)
    }
}

/// A figure at a point.
#[derive(Debug)]
pub(super) struct FigureOfPoint {
    pub(super) point: Vec<(String, String)>,
    pub(super) runs: usize,
    pub(super) interval: Option<Interval>,
    pub(super) difference: Option<Difference>,
}

/// Mean of the differences from another point, seed by seed.
#[derive(Debug)]
pub(super) struct Difference {
    /// Value of the first key at the other point.
    pub(super) from: String,
    pub(super) pairs: usize,
    pub(super) interval: Interval,
}

/// Swept keys with their values, and the rows of a point.
pub(crate) type RowsOfPoint = (Vec<(String, String)>, Vec<SweepRow>);

/// Result of a sweep.
#[derive(Debug)]
pub struct Summary {
    pub(super) name: String,
    pub(super) folder: PathBuf,
    pub(super) points: usize,
    pub(super) cached: usize,
    pub(super) done: usize,
    pub(super) failed: Vec<Failed>,
    /// Files of the dataset outside the plan.
    pub(super) others: usize,
    /// Runs of other plans in journals.
    pub(super) waiting: usize,
    pub(super) figures: Option<Figures>,
    /// For each run of the plan, before the work: new, changed (and what), or cached. Empty in the
    /// command, which has `--why`.
    pub why: String,
    /// Rows of the plan's runs, with the values of the swept keys.
    pub rows: Vec<RowsOfPoint>,
}

impl Summary {
    /// The output of `--json`.
    pub fn json(&self) -> String {
        let failed = |failed: &Failed| {
            let values: BTreeMap<_, _> = failed
                .values
                .iter()
                .map(|(key, value)| (key, value))
                .collect();
            json!({ "point": failed.point, "values": values, "seed": failed.seed, "message": failed.message, "command": failed.command })
        };
        let interval = |interval: &Interval| json!({ "mean": interval.mean, "half_width": interval.half_width });
        let point = |point: &FigureOfPoint| {
            let keys: serde_json::Map<String, serde_json::Value> = point
                .point
                .iter()
                .map(|(key, value)| (key.clone(), value.clone().into()))
                .collect();
            json!({
                "keys": keys,
                "runs": point.runs,
                "interval": point.interval.as_ref().map(interval),
                "difference": point.difference.as_ref().map(|difference| {
                    json!({ "from": difference.from, "pairs": difference.pairs, "mean": difference.interval.mean, "half_width": difference.interval.half_width })
                }),
            })
        };
        let figures = self.figures.as_ref().map(|figures| {
            json!({ "source": figures.source, "figure": figures.figure, "points": figures.points.iter().map(point).collect::<Vec<_>>() })
        });
        let all = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "scenario": self.name,
            "dataset": self.folder,
            "points": self.points,
            "runs": { "cached": self.cached, "done": self.done, "failed": self.failed.len() },
            "failed": self.failed.iter().map(failed).collect::<Vec<_>>(),
            "other_files": self.others,
            "runs_of_other_plans": self.waiting,
            "notes": self.notes(),
            "figure": figures,
        });
        format!("{all:#}\n")
    }

    /// The printed summary.
    pub fn text(&self) -> String {
        let Self {
            points,
            cached,
            done,
            failed,
            ..
        } = self;
        let runs = counted((cached + done + failed.len()) as u64, "run");
        let folder = clean(&self.folder.display().to_string());
        let mut text = format!(
            "{}: {}, {runs}: {cached} cached, {done} done, {} failed\n",
            clean(&self.name),
            counted(*points as u64, "point"),
            failed.len()
        );
        _ = writeln!(
            text,
            "Dataset: {folder} (DuckDB: FROM '{folder}/**/*.parquet')"
        );
        self.notes()
            .iter()
            .for_each(|note| _ = writeln!(text, "Note: {note}"));
        if let Some(figures) = &self.figures {
            text += "\n";
            text += &table(figures);
        }
        text
    }

    /// Remarks on the dataset and on intervals.
    fn notes(&self) -> Vec<String> {
        let others = || {
            format!(
                "{} in the dataset with other values or from earlier versions, not checked",
                counted(self.others as u64, "file")
            )
        };
        let waiting = || {
            format!(
                "{} of other plans in {}/.journal",
                counted(self.waiting as u64, "run"),
                clean(&self.folder.display().to_string())
            )
        };
        let equal = |figures: &Figures| {
            let figure = format!("{}.{}", clean(&figures.source), figures.figure);
            format!(
                "{figure} is the same for all seeds of a point: nothing random had an effect, and ±0 is no confidence interval"
            )
        };
        let figures = self
            .figures
            .as_ref()
            .filter(|figures| figures.are_without_spread());
        [
            (self.others > 0).then(others),
            (self.waiting > 0).then(waiting),
            figures.map(equal),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The failed runs, each with the command that repeats it. None: no run failed.
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

fn table(figures: &Figures) -> String {
    let keys = figures
        .points
        .first()
        .into_iter()
        .flat_map(|first| &first.point)
        .map(|(key, _)| clean(key));
    let figure = format!("{}.{}", figures.source, figures.figure);
    let mut rows = vec![
        keys.chain([
            "runs".to_owned(),
            figure,
            "difference, seed by seed".to_owned(),
        ])
        .collect(),
    ];
    for point in &figures.points {
        let mut row: Vec<String> = point.point.iter().map(|(_, value)| clean(value)).collect();
        row.push(point.runs.to_string());
        row.push(
            point
                .interval
                .map_or_else(|| "–".to_owned(), |interval| number(&interval, "")),
        );
        let of = |difference: &Difference| {
            format!(
                "{} from {}",
                number(&difference.interval, "+"),
                clean(&difference.from)
            )
        };
        row.push(point.difference.as_ref().map(of).unwrap_or_default());
        rows.push(row);
    }
    aligned(&[], &rows)
}

/// A mean with half the width of its interval, four digits.
fn number(interval: &Interval, sign: &str) -> String {
    let digits = |value: f64| {
        let places = if value == 0.0 {
            0
        } else {
            (3.0 - value.abs().log10().floor()).clamp(0.0, 12.0) as usize
        };
        format!("{value:.places$}")
    };
    let sign = if interval.mean >= 0.0 { sign } else { "" };
    let half = interval
        .half_width
        .map(|half| format!(" ±{}", digits(half)))
        .unwrap_or_default();
    format!("{sign}{}{half}", digits(interval.mean))
}
