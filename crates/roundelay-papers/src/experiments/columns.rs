//! Columns in a `[run]` table: the paper's name for each column, and a discipline in tc syntax.

use roundelay::QueueSpec;
use serde::Deserialize;
use toml::{Table, Value};

use super::Failed;
use crate::locations::Wrong;

/// Disciplines by column name.
#[derive(Debug, Clone, Deserialize)]
#[serde(transparent)]
pub(super) struct Columns(Table);

impl Columns {
    /// Column names, in order.
    pub(super) fn names(&self) -> Vec<String> {
        self.0.keys().cloned().collect()
    }

    /// The text for a column's discipline.
    pub(super) fn text(&self, column: &str) -> Result<&str, Wrong> {
        let text = self.0.get(column).and_then(Value::as_str);
        text.ok_or_else(|| {
            wrong(
                column,
                "expected a discipline as tc writes it, as in \"drr quantum 1514b\"",
            )
        })
    }

    /// A column's discipline.
    pub(super) fn spec(&self, column: &str) -> Result<QueueSpec, Wrong> {
        spec(column, self.text(column)?)
    }

    /// All columns' texts.
    pub(super) fn texts(&self) -> Vec<&str> {
        texts(&self.0)
    }

    /// # Errors
    /// A column is not a discipline.
    pub(super) fn check(&self) -> Result<(), Wrong> {
        for column in self.0.keys() {
            self.spec(column)?;
        }
        Ok(())
    }

    /// Replaces all disciplines by one.
    pub(super) fn replace_disciplines(&mut self, discipline: &str) {
        for (_, column) in &mut self.0 {
            *column = Value::String(discipline.to_owned());
        }
    }
}

/// The disciplines in a table of columns: a text, or a table with `discipline` and `bounds_of`.
pub(super) fn texts(columns: &Table) -> Vec<&str> {
    let mut texts = Vec::new();
    for column in columns.values() {
        texts.extend(column.as_str());
        for key in ["discipline", "bounds_of"] {
            texts.extend(column.get(key).and_then(Value::as_str));
        }
    }
    texts
}

/// Indices of the column subtracted from the others, and of `basis`, the column for comparison.
pub(super) fn model_and_basis(
    model: Option<usize>,
    basis: Option<usize>,
    name: &str,
) -> Result<[usize; 2], Wrong> {
    let Some(model) = model else {
        return Err(Wrong::new(
            "columns",
            "columns: no column is 'none', which is taken off the others",
        ));
    };
    let Some(basis) = basis else {
        return Err(Wrong::new(
            "basis",
            format!("basis '{name}': expected the name of a column"),
        ));
    };
    Ok([model, basis])
}

/// An error about a column.
pub(super) fn wrong(column: &str, problem: impl std::fmt::Display) -> Wrong {
    Wrong::new(
        format!("columns.{column}"),
        format!("columns.{column}: {problem}"),
    )
}

/// An error about a column, with a message that names the column.
pub(super) fn named(column: &str, Failed(message): Failed) -> Wrong {
    Wrong::new(format!("columns.{column}"), message)
}

/// Parses a column's discipline.
pub(super) fn spec(column: &str, text: &str) -> Result<QueueSpec, Wrong> {
    text.parse().map_err(|error| wrong(column, error))
}
