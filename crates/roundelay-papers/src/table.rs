//! TOML tables with dotted paths: how plans vary what they run.

use toml::{Table, Value};

/// Sets the value at a dotted path; a number in the path is a place in a list: `scenario.source.4.weight`.
///
/// # Errors
/// The part of the path that is not there. The last part may be new.
pub(crate) fn set(table: &mut Table, path: &str, value: Value) -> Result<(), String> {
    let (parents, last) = path.rsplit_once('.').map_or((None, path), |(parents, last)| (Some(parents), last));
    let Some(parents) = parents else {
        table.insert(last.to_owned(), value);
        return Ok(());
    };
    let (first, rest) = parents.split_once('.').map_or((parents, None), |(first, rest)| (first, Some(rest)));
    let mut place = table.get_mut(first).ok_or_else(|| format!("{path}: no '{first}' there"))?;
    for key in rest.into_iter().flat_map(|rest| rest.split('.')) {
        place = child(place, key).ok_or_else(|| format!("{path}: no '{key}' there"))?;
    }
    match place {
        Value::Table(table) => drop(table.insert(last.to_owned(), value)),
        other => *child(other, last).ok_or_else(|| format!("{path}: no '{last}' there"))? = value,
    }
    Ok(())
}

fn child<'a>(value: &'a mut Value, key: &str) -> Option<&'a mut Value> {
    match value {
        Value::Table(table) => table.get_mut(key),
        Value::Array(values) => values.get_mut(key.parse::<usize>().ok()?),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_leads_through_tables_and_lists() {
        let mut table: Table = "a = 1\nb = [{ c = 2 }, { c = 3 }]\n[d.e]\nf = 4".parse().unwrap();
        for path in ["a", "b.1.c", "d.e.f", "d.e.new"] {
            set(&mut table, path, Value::Integer(9)).unwrap();
        }
        assert_eq!(table, "a = 9\nb = [{ c = 2 }, { c = 9 }]\n[d.e]\nf = 9\nnew = 9".parse().unwrap());
        assert_eq!(set(&mut table, "b.2.c", Value::Integer(0)).unwrap_err(), "b.2.c: no '2' there");
        assert_eq!(set(&mut table, "x.y", Value::Integer(0)).unwrap_err(), "x.y: no 'x' there");
    }
}
