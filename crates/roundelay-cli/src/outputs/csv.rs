//! Tables as CSV, for spreadsheets, R and gnuplot.

use std::path::Path;

use roundelay_report::{Cells, Column, Table, clean};

use super::files::OpenFile;
use crate::failure::Failure;

/// Writes a table: a line of names, then a line for each row, each ended by a line feed. Texts with
/// commas or quotes are quoted as in RFC 4180, and those that look like formulas begin with an
/// apostrophe. An empty field is null.
pub(crate) fn write(path: &Path, table: &Table) -> Result<(), Failure> {
    let file = OpenFile::create(path)?;
    let mut writer = csv::Writer::from_writer(file.clone());
    let mut all = || -> csv::Result<()> {
        writer.write_record(table.header.iter().map(Column::name))?;
        for batch in &table.batches {
            let columns: Vec<Vec<String>> = batch.iter().map(texts).collect();
            for row in 0..columns.first().map_or(0, Vec::len) {
                writer.write_record(columns.iter().map(|column| &column[row]))?;
            }
        }
        Ok(writer.flush()?)
    };
    let written = all().map_err(std::io::Error::other);
    drop(writer);
    file.finish(written)
}

/// A column's values as text: numbers with all their digits, `true` or `false`.
fn texts(column: &Column) -> Vec<String> {
    fn all<T: ToString>(values: &[T]) -> Vec<String> {
        values.iter().map(T::to_string).collect()
    }
    fn known<T: ToString>(values: &[Option<T>]) -> Vec<String> {
        values
            .iter()
            .map(|value| value.as_ref().map_or_else(String::new, T::to_string))
            .collect()
    }
    match column.cells() {
        Cells::Signed(values) => all(values),
        Cells::OptionalSigned(values) => known(values),
        Cells::Small(values) => all(values),
        Cells::Unsigned(values) => all(values),
        Cells::OptionalUnsigned(values) => known(values),
        Cells::Numbers(values) => all(values),
        Cells::OptionalNumbers(values) => known(values),
        Cells::Flags(values) => all(values),
        Cells::Texts(values) => values.iter().map(|text| plain(text.to_string())).collect(),
    }
}

/// A text that no spreadsheet takes for a formula, and that no terminal obeys, because names come from
/// untrusted files. An apostrophe before the first character makes it text.
fn plain(text: String) -> String {
    let is_formula = text.starts_with(['=', '+', '-', '@', '\t', '\r']);
    let text = clean(&text);
    if is_formula { format!("'{text}") } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_no_formulas() {
        let given = [
            "=1+1",
            "+1",
            "-1",
            "@SUM(A1)",
            "\t=1",
            "a=1",
            "",
            "10.0.0.1:53",
            "\u{1b}[31mred\u{7}",
        ];
        let expected = [
            "'=1+1",
            "'+1",
            "'-1",
            "'@SUM(A1)",
            "'\u{fffd}=1",
            "a=1",
            "",
            "10.0.0.1:53",
            "\u{fffd}[31mred\u{fffd}",
        ];
        assert_eq!(given.map(|text| plain(text.to_owned())), expected);
    }
}
