//! Small Parquet files in memory: one row group of few rows, a page of plain values for each
//! column, without dictionaries, statistics or compression.
//!
//! The library writes page headers and the footer. Only the content of pages is made here: the
//! library's column writers spend 17,000 instructions a column on set-up, for three values, and a
//! sweep has a file of 52 columns for each point.

use std::io::Write as _;

use parquet::basic::{Compression, Encoding};
use parquet::column::page::{CompressedPage, Page, PageWriter as _};
use parquet::data_type::ByteArray;
use parquet::errors::ParquetError;
use parquet::file::metadata::{ColumnChunkMetaData, FileMetaData, KeyValue, ParquetMetaData, ParquetMetaDataWriter, RowGroupMetaData};
use parquet::file::writer::{SerializedPageWriter, TrackedWrite};
use parquet::schema::types::SchemaDescPtr;

use super::column::{Column, Values};

/// The file with these columns, all of the same number of rows, and key-value metadata.
///
/// # Errors
/// A column has a type that is not supported.
pub(super) fn file_bytes(
    schema: &SchemaDescPtr,
    columns: &[Column],
    rows: usize,
    metadata: &[(String, String)],
) -> Result<Vec<u8>, ParquetError> {
    let mut bytes = Vec::with_capacity(16 << 10);
    let mut file = TrackedWrite::new(&mut bytes);
    file.write_all(b"PAR1")?;
    let (mut chunks, mut length) = (Vec::with_capacity(columns.len()), 0);
    for (column, described) in columns.iter().zip(schema.columns()) {
        let written = SerializedPageWriter::new(&mut file).write_page(page(column, rows)?)?;
        let chunk = ColumnChunkMetaData::builder(described.clone())
            .set_encodings(vec![Encoding::PLAIN, Encoding::RLE])
            .set_compression(Compression::UNCOMPRESSED)
            .set_num_values(rows as i64)
            .set_data_page_offset(written.offset as i64)
            .set_total_compressed_size(written.bytes_written as i64)
            .set_total_uncompressed_size(written.bytes_written as i64);
        chunks.push(chunk.build()?);
        length += written.bytes_written;
    }
    let group = RowGroupMetaData::builder(schema.clone()).set_num_rows(rows as i64).set_total_byte_size(length as i64);
    let group = group.set_column_metadata(chunks).build()?;
    let entries = metadata.iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())).collect();
    let header = FileMetaData::new(1, rows as i64, Some("roundelay".to_owned()), Some(entries), schema.clone(), None);
    ParquetMetaDataWriter::new_with_tracked(file, &ParquetMetaData::new(header, vec![group])).finish()?;
    Ok(bytes)
}

/// The page of a column: levels of presence where values may be missing, then the values.
fn page(column: &Column, rows: usize) -> Result<CompressedPage, ParquetError> {
    let mut content = Vec::with_capacity(16 * rows);
    match &column.values {
        Values::Counts(values) => values.iter().for_each(|value| content.extend(value.to_le_bytes())),
        Values::OptionalNumbers(values) => {
            presence(&mut content, values);
            values.iter().flatten().for_each(|value| content.extend(value.to_le_bytes()));
        }
        Values::Texts(texts) => texts.iter().map(ByteArray::data).for_each(|text| {
            content.extend((text.len() as u32).to_le_bytes());
            content.extend(text);
        }),
        _ => return Err(ParquetError::NYI(format!("{}: a type that small files lack", column.name))),
    }
    let length = content.len();
    let page = Page::DataPage {
        buf: content.into(),
        num_values: rows as u32,
        encoding: Encoding::PLAIN,
        def_level_encoding: Encoding::RLE,
        rep_level_encoding: Encoding::RLE,
        statistics: None,
    };
    Ok(CompressedPage::new(page, length))
}

/// Definition levels, after their length in bytes: one run of packed bits, a bit a row.
fn presence(to: &mut Vec<u8>, values: &[Option<f64>]) {
    let start = to.len();
    to.extend([0; 4]);
    // Header of the run, seven bits a byte: number of its bytes, and 1 for packed bits.
    let mut header = values.len().div_ceil(8) << 1 | 1;
    while header >= 0x80 {
        to.push(header as u8 | 0x80);
        header >>= 7;
    }
    to.push(header as u8);
    to.extend(values.chunks(8).map(|chunk| chunk.iter().rev().fold(0, |bits, value| bits << 1 | u8::from(value.is_some()))));
    let length = (to.len() - start - 4) as u32;
    to[start..start + 4].copy_from_slice(&length.to_le_bytes());
}
