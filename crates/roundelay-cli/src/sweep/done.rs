//! A finished run: a line in a journal, and rows in the dataset.

use std::sync::Arc;

use roundelay_report::{SWEEP_FIGURES, SweepRow, sealed, unsealed};
use serde::{Deserialize, Serialize};

use super::identity::run_identity;

/// A run's results: figures for each source.
pub(super) type Rows = Vec<(Arc<str>, Vec<Option<f64>>)>;

/// A finished run, which is a line in the journal.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Done {
    pub(super) point: String,
    pub(super) seed: u64,
    pub(super) replica: u64,
    pub(super) rows: Rows,
}

/// A finished run as JSON. Numbers are texts, which come back to the last bit.
#[derive(Serialize, Deserialize)]
struct Line {
    point: String,
    seed: u64,
    replica: u64,
    sources: Vec<(String, String)>,
}

impl Done {
    /// A line with its digest, without the newline.
    pub(super) fn line(&self) -> String {
        let mut sources = Vec::new();
        for (source, figures) in &self.rows {
            let mut numbers = Vec::new();
            for figure in figures {
                numbers.push(match figure {
                    Some(figure) => figure.to_string(),
                    None => String::new(),
                });
            }
            sources.push((source.to_string(), numbers.join(" ")));
        }
        let line = Line {
            point: self.point.clone(),
            seed: self.seed,
            replica: self.replica,
            sources,
        };
        sealed(&serde_json::to_string(&line).expect("texts and numbers are JSON"))
    }

    /// None for an incomplete line, and for one whose digest is not the one written.
    pub(super) fn parse(line: &str) -> Option<Self> {
        let line: Line = serde_json::from_str(&unsealed(line)?).ok()?;
        let mut rows = Vec::new();
        for (source, text) in line.sources {
            let mut figures = Vec::new();
            for number in text.split(' ') {
                figures.push(match number {
                    "" => None,
                    number => Some(number.parse().ok()?),
                });
            }
            if figures.len() != SWEEP_FIGURES.len() {
                return None;
            }
            rows.push((Arc::from(source), figures));
        }
        Some(Self {
            point: line.point,
            seed: line.seed,
            replica: line.replica,
            rows,
        })
    }

    /// A source's figure, by its number among all figures.
    pub(super) fn figure(&self, source: &str, figure: usize) -> Option<f64> {
        for (name, figures) in &self.rows {
            if **name == *source {
                return figures[figure];
            }
        }
        None
    }

    /// The run's rows in the dataset.
    pub(super) fn rows(&self) -> Vec<SweepRow> {
        let identity: Arc<str> = run_identity(&self.point, self.seed).into();
        let mut rows = Vec::new();
        for (source, figures) in &self.rows {
            rows.push(SweepRow {
                identity: identity.clone(),
                seed: self.seed,
                replica: self.replica,
                source: source.clone(),
                figures: figures.clone(),
            });
        }
        rows
    }
}
