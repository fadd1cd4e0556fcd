//! Columns of a `[run]` table: the paper's name of each, and its discipline as tc writes it.

use roundelay::schedulers::Spec;
use serde::Deserialize;
use toml::{Table, Value};

use super::Failed;
use crate::places::Wrong;

/// Disciplines by the names of their columns.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub(super) struct Columns(Table);

impl Columns {
    /// In their order.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// The text of a column's discipline.
    pub(super) fn text(&self, column: &str) -> Result<&str, Wrong> {
        let text = self.0.get(column).and_then(Value::as_str);
        text.ok_or_else(|| wrong(column, "expected a discipline as tc writes it, as in \"drr quantum 1514b\""))
    }

    /// The discipline of a column.
    pub(super) fn spec(&self, column: &str) -> Result<Spec, Wrong> {
        spec(column, self.text(column)?)
    }

    /// # Errors
    /// A column that is no discipline.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        self.0.keys().try_for_each(|column| self.spec(column).map(drop))
    }

    /// Puts a discipline in the place of all.
    pub(super) fn plant(&mut self, discipline: &str) {
        self.0.iter_mut().for_each(|(_, column)| *column = Value::String(discipline.to_owned()));
    }
}

/// What is wrong with a column.
pub(super) fn wrong(column: &str, problem: impl std::fmt::Display) -> Wrong {
    Wrong::new(format!("columns.{column}"), format!("columns.{column}: {problem}"))
}

/// What is wrong with a column, in words that name it.
pub(super) fn named(column: &str, Failed(message): Failed) -> Wrong {
    Wrong::new(format!("columns.{column}"), message)
}

/// A discipline that a column names.
pub(super) fn spec(column: &str, text: &str) -> Result<Spec, Wrong> {
    text.parse().map_err(|error| wrong(column, error))
}
