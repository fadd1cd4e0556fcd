//! Changes that a column or a scheme makes to the scenario in a `[run]` table.

use std::path::Path;

use roundelay_files::Reader;
use roundelay_sim::scenario::Scenario;
use toml::{Table, Value};

use crate::locations::{Wrong, is_at_or_below};
use crate::table::set;

/// A key of the scenario that is changed.
pub(super) struct Change<'a> {
    /// The key in `[run]` that has the change.
    pub(super) written: String,
    /// Dotted path in the scenario.
    pub(super) path: &'a str,
    pub(super) value: &'a Value,
}

/// Changes made by an entry of a table (`columns`, `schemes`). A discipline replaces the keys
/// `queues`, while a table lists its own keys.
pub(super) fn changes<'a>(
    (name, table): (&str, &'a Table),
    queues: &'a [String],
    entry: &str,
) -> Result<Vec<Change<'a>>, Wrong> {
    let written = format!("{name}.{entry}");
    let mut all = Vec::new();
    match table.get(entry) {
        Some(value @ Value::String(_)) => {
            for path in queues {
                let written = written.clone();
                all.push(Change {
                    written,
                    path,
                    value,
                });
            }
        }
        Some(Value::Table(changes)) => {
            for (path, value) in changes {
                let written = format!("{written}.{path}");
                all.push(Change {
                    written,
                    path,
                    value,
                });
            }
        }
        _ => {
            return Err(Wrong::new(
                &written,
                format!("{written}: expected a discipline, or a table of keys of the scenario"),
            ));
        }
    }
    Ok(all)
}

/// The scenario's table with a column's changes.
pub(super) fn changed_table(mut table: Table, changes: &[Change<'_>]) -> Result<Table, Wrong> {
    for Change {
        written,
        path,
        value,
    } in changes
    {
        set(&mut table, path, (*value).clone()).map_err(|problem| Wrong::new(written, problem))?;
    }
    Ok(table)
}

/// The scenario with a column's changes.
pub(super) fn changed(
    table: Table,
    column: &str,
    changes: &[Change<'_>],
) -> Result<Scenario, Wrong> {
    let table = changed_table(table, changes)?;
    let text =
        toml::to_string(&table).map_err(|error| Wrong::new("scenario", error.to_string()))?;
    Scenario::from_toml(column, &text, Path::new(".")).map_err(|error| {
        let line = error.line().filter(|_| error.file() == Some(column));
        let error = error.without_file();
        let Some(line) = line else {
            return Wrong::new("scenario", error.behind(format_args!("columns.{column}: ")));
        };
        // A scenario's message has no key, so the line gives it.
        let Ok((reader, _)) = Reader::parse(column, &text) else {
            return Wrong::new("scenario", error);
        };
        let at = reader.path(line);
        // The path stands in front, so the message need not name the key again.
        let key = at.rsplit('.').next().unwrap_or_default();
        let message = match error.message().strip_prefix(&format!("{key}: ")) {
            Some(rest) => rest.to_owned(),
            None => error.message().to_owned(),
        };
        let mut changes = changes.iter();
        let written = match changes.find(|change| is_at_or_below(at, change.path)) {
            Some(Change { written, .. }) => (*written).to_owned(),
            None => format!("scenario.{at}"),
        };
        let fault = error.with_message(message);
        Wrong::new(&written, fault.behind(format_args!("{written}: ")))
    })
}
