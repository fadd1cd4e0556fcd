//! TOML tables with dotted paths, for the keys that plans vary.

use std::collections::BTreeMap;

use serde_json::Value as Json;
use toml::{Table, Value};

/// A value as JSON with the keys of all tables in alphabetical order.
pub(crate) fn canonical(value: &Value) -> Json {
    match value {
        Value::Table(table) => {
            let mut sorted = BTreeMap::new();
            for (key, value) in table {
                sorted.insert(key.as_str(), canonical(value));
            }
            serde_json::json!(sorted)
        }
        Value::Array(values) => values.iter().map(canonical).collect(),
        Value::String(text) => Json::from(text.as_str()),
        other => Json::from(other.to_string()),
    }
}

/// The value at a dotted path, if there is one.
pub(crate) fn find<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    let mut parts = path.split('.');
    let mut found = table.get(parts.next()?)?;
    for part in parts {
        found = match found {
            Value::Table(table) => table.get(part)?,
            Value::Array(values) => values.get(part.parse::<usize>().ok()?)?,
            _ => return None,
        };
    }
    Some(found)
}

/// Sets the value at a dotted path, and creates missing tables. A number in the path is an index in
/// a list: `scenario.source.4.weight`.
///
/// # Errors
/// An index is out of range, or a part of the path is not a table.
pub(crate) fn set(table: &mut Table, path: &str, value: Value) -> Result<(), String> {
    set_in_table(table, path, value).map_err(|key| format!("{path}: no '{key}' there"))
}

/// # Errors
/// The part of the path that is missing.
fn set_in_table(table: &mut Table, path: &str, value: Value) -> Result<(), String> {
    let Some((first, rest)) = path.split_once('.') else {
        table.insert(path.to_owned(), value);
        return Ok(());
    };
    set_below(
        table
            .entry(first)
            .or_insert_with(|| Value::Table(Table::new())),
        rest,
        value,
    )
}

/// # Errors
/// The part of the path that is missing.
fn set_below(parent: &mut Value, path: &str, value: Value) -> Result<(), String> {
    match parent {
        Value::Table(table) => set_in_table(table, path, value),
        Value::Array(values) => {
            let (first, rest) = match path.split_once('.') {
                Some((first, rest)) => (first, Some(rest)),
                None => (path, None),
            };
            let index = first.parse::<usize>().map_err(|_| first.to_owned())?;
            let Some(item) = values.get_mut(index) else {
                return Err(first.to_owned());
            };
            if let Some(rest) = rest {
                return set_below(item, rest, value);
            }
            *item = value;
            Ok(())
        }
        _ => Err(path.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_through_tables_and_lists() {
        let mut table: Table = "a = 1\nb = [{ c = 2 }, { c = 3 }]\n[d.e]\nf = 4"
            .parse()
            .unwrap();
        for path in ["a", "b.1.c", "d.e.f", "d.e.new"] {
            set(&mut table, path, Value::Integer(9)).unwrap();
            assert_eq!(find(&table, path), Some(&Value::Integer(9)));
        }
        for path in ["x", "b.2.c", "b.c", "a.y"] {
            assert_eq!(find(&table, path), None, "{path}");
        }
        assert_eq!(
            table,
            "a = 9\nb = [{ c = 2 }, { c = 9 }]\n[d.e]\nf = 9\nnew = 9"
                .parse()
                .unwrap()
        );
        assert_eq!(
            set(&mut table, "b.2.c", Value::Integer(0)).unwrap_err(),
            "b.2.c: no '2' there"
        );
        assert_eq!(
            set(&mut table, "a.y", Value::Integer(0)).unwrap_err(),
            "a.y: no 'y' there"
        );
        set(&mut table, "x.y", Value::Integer(5)).unwrap();
        assert_eq!(table["x"]["y"], Value::Integer(5));
    }
}
