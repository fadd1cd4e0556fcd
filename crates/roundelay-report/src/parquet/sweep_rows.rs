//! Rows of a sweep, read from a row group of a Parquet file.

use std::sync::Arc;

use parquet::column::reader::ColumnReader;
use parquet::errors::ParquetError;
use parquet::file::reader::RowGroupReader;

use crate::tables::{KEYS, SWEEP_FIGURES, SweepRow};

/// A group's rows, without its first `keys` columns.
pub(super) fn rows_of(
    group: &dyn RowGroupReader,
    keys: usize,
) -> Result<Vec<SweepRow>, ParquetError> {
    let number = usize::try_from(group.metadata().num_rows()).unwrap_or(0);
    let column = |index: usize| group.get_column_reader(keys + index);
    let identities = texts(column(0)?, number)?;
    let seeds = counts(column(1)?, number)?;
    let replicas = counts(column(2)?, number)?;
    let sources = texts(column(3)?, number)?;
    let mut rows = Vec::new();
    for row in 0..number {
        rows.push(SweepRow {
            identity: identities[row].clone(),
            seed: seeds[row],
            replica: replicas[row],
            source: sources[row].clone(),
            figures: Vec::with_capacity(SWEEP_FIGURES.len()),
        });
    }
    for figure in 0..SWEEP_FIGURES.len() {
        let values = numbers(column(KEYS.len() + figure)?, number)?;
        for (row, value) in rows.iter_mut().zip(values) {
            row.figures.push(value);
        }
    }
    Ok(rows)
}

fn of_another_type() -> ParquetError {
    ParquetError::General("a column of another type, or with fewer rows".to_owned())
}

/// Reads texts. Equal neighbours share their bytes.
fn texts(reader: ColumnReader, rows: usize) -> Result<Vec<Arc<str>>, ParquetError> {
    let ColumnReader::ByteArrayColumnReader(mut reader) = reader else {
        return Err(of_another_type());
    };
    let mut values = Vec::new();
    reader.read_records(rows, None, None, &mut values)?;
    let mut texts: Vec<Arc<str>> = Vec::new();
    for value in values {
        let text = value.as_utf8()?;
        let same = texts.last().filter(|before| ***before == *text).cloned();
        texts.push(same.unwrap_or_else(|| Arc::from(text)));
    }
    if texts.len() == rows {
        Ok(texts)
    } else {
        Err(of_another_type())
    }
}

fn counts(reader: ColumnReader, rows: usize) -> Result<Vec<u64>, ParquetError> {
    let ColumnReader::Int64ColumnReader(mut reader) = reader else {
        return Err(of_another_type());
    };
    let mut values = Vec::new();
    reader.read_records(rows, None, None, &mut values)?;
    if values.len() < rows {
        return Err(of_another_type());
    }
    Ok(values.into_iter().map(i64::cast_unsigned).collect())
}

fn numbers(reader: ColumnReader, rows: usize) -> Result<Vec<Option<f64>>, ParquetError> {
    let ColumnReader::DoubleColumnReader(mut reader) = reader else {
        return Err(of_another_type());
    };
    let mut values = Vec::new();
    let mut present = Vec::new();
    reader.read_records(rows, Some(&mut present), None, &mut values)?;
    let mut values = values.into_iter();
    let mut numbers = Vec::new();
    for level in present {
        numbers.push(if level > 0 { values.next() } else { None });
    }
    if numbers.len() == rows {
        Ok(numbers)
    } else {
        Err(of_another_type())
    }
}
