//! Parquet file of columns: plain values, and only those parts of the format that we need.

use std::io::{self, Read as _, Seek as _, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::{Compression, Encoding};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::metadata::{FileMetaData, KeyValue};
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use parquet::schema::types::{ColumnPath, Type};

use crate::ReportError;
use crate::digest::Digesting;
use crate::file::PartialFile;
use crate::tables::column::{Column, Values};

impl Column {
    /// The column in Parquet's schema language.
    fn declaration(&self) -> String {
        let (kind, annotation) = match self.values {
            Values::Times(_) => ("required int64", ""),
            Values::OptionalTimes(_) => ("optional int64", ""),
            Values::Wholes(_) => ("required int64", ""),
            Values::Small(_) => ("required int32", " (INTEGER(32,false))"),
            Values::Counts(_) => ("required int64", " (INTEGER(64,false))"),
            Values::OptionalCounts(_) => ("optional int64", " (INTEGER(64,false))"),
            Values::Numbers(_) => ("required double", ""),
            Values::OptionalNumbers(_) => ("optional double", ""),
            Values::Flags(_) => ("required boolean", ""),
            Values::Texts(_) => ("required binary", " (STRING)"),
        };
        format!("{kind} {}{annotation};", self.name)
    }

    fn is_time(&self) -> bool {
        matches!(self.values, Values::Times(_) | Values::OptionalTimes(_))
    }

    fn write<W: Write + Send>(&self, group: &mut Group<'_, W>) -> Result<(), ParquetError> {
        match &self.values {
            Values::Times(values) | Values::Wholes(values) => {
                write::<Int64Type, W>(group, values, None)
            }
            Values::OptionalTimes(values) => write_optional::<Int64Type, W>(group, values),
            Values::Small(values) => write::<Int32Type, W>(
                group,
                &values
                    .iter()
                    .map(|value| value.cast_signed())
                    .collect::<Vec<_>>(),
                None,
            ),
            Values::Counts(values) => write::<Int64Type, W>(
                group,
                &values
                    .iter()
                    .map(|value| value.cast_signed())
                    .collect::<Vec<_>>(),
                None,
            ),
            Values::OptionalCounts(values) => write_optional::<Int64Type, W>(
                group,
                &values
                    .iter()
                    .map(|value| value.map(u64::cast_signed))
                    .collect::<Vec<_>>(),
            ),
            Values::Numbers(values) => write::<DoubleType, W>(group, values, None),
            Values::OptionalNumbers(values) => write_optional::<DoubleType, W>(group, values),
            Values::Flags(values) => write::<BoolType, W>(group, values, None),
            Values::Texts(values) => write::<ByteArrayType, W>(
                group,
                &values
                    .iter()
                    .map(|text| ByteArray::from(text.clone()))
                    .collect::<Vec<_>>(),
                None,
            ),
        }
    }
}

type Group<'a, W> = SerializedRowGroupWriter<'a, W>;

fn write<T: DataType, W: Write + Send>(
    group: &mut Group<'_, W>,
    values: &[T::T],
    present: Option<&[i16]>,
) -> Result<(), ParquetError> {
    let mut column = group
        .next_column()?
        .expect("the schema was made from these columns");
    column.typed::<T>().write_batch(values, present, None)?;
    column.close()
}

fn write_optional<T: DataType, W: Write + Send>(
    group: &mut Group<'_, W>,
    values: &[Option<T::T>],
) -> Result<(), ParquetError> {
    let present: Vec<i16> = values
        .iter()
        .map(|value| i16::from(value.is_some()))
        .collect();
    let values: Vec<T::T> = values.iter().flatten().cloned().collect();
    write::<T, W>(group, &values, Some(&present))
}

/// A Parquet file that gets its name when complete.
pub(crate) struct ColumnFile {
    writer: SerializedFileWriter<Digesting<std::fs::File>>,
    file: PartialFile,
    path: PathBuf,
}

impl ColumnFile {
    /// Starts a file with the schema of `columns`, whose values are ignored.
    pub(crate) fn create(
        path: &Path,
        columns: &[Column],
        metadata: &[(String, String)],
    ) -> Result<Self, ReportError> {
        let file = PartialFile::create(path)?;
        let handle = file.handle().map_err(ReportError::file("create", path))?;
        let writer = started(Digesting::new(handle), columns, metadata).map_err(failure(path))?;
        Ok(Self {
            writer,
            file,
            path: path.to_owned(),
        })
    }

    /// Appends a row group.
    pub(crate) fn write(&mut self, columns: &[Column]) -> Result<(), ReportError> {
        self.append(columns).map_err(failure(&self.path))
    }

    fn append(&mut self, columns: &[Column]) -> Result<(), ParquetError> {
        append(&mut self.writer, columns)
    }

    /// Writes the footer and renames the file to its final name.
    pub(crate) fn finish(self) -> Result<(), ReportError> {
        let Self {
            mut writer,
            file,
            path,
        } = self;
        seal(&mut writer, &path)?;
        writer.finish().map_err(failure(&path))?;
        drop(writer);
        file.finish()
    }
}

/// Key of the digest over all bytes before the footer: how many they are, and the digest. We need
/// it because the encoder writes no checksums of pages.
const PAGES: &str = "roundelay.pages";

/// Adds the digest over all pages to the footer.
fn seal(
    writer: &mut SerializedFileWriter<Digesting<std::fs::File>>,
    path: &Path,
) -> Result<(), ReportError> {
    writer.flush().map_err(ReportError::file("write", path))?;
    let Digesting { digest, bytes, .. } = writer.inner();
    let value = format!("{bytes} {}", digest.hex());
    writer.append_key_value_metadata(KeyValue::new(PAGES.to_owned(), value));
    Ok(())
}

/// Checks a file's pages if it has a digest of them. Another program's file has none.
///
/// # Errors
/// The pages are not those that were written.
pub(super) fn check_pages(file: &mut std::fs::File, metadata: &FileMetaData) -> Result<(), String> {
    let entries = metadata.key_value_metadata().into_iter().flatten();
    let Some(sealed) = entries.into_iter().find(|entry| entry.key == PAGES) else {
        return Ok(());
    };
    let value = sealed.value.as_deref().unwrap_or_default();
    let expected = value.split_once(' ');
    let (bytes, expected) = expected
        .and_then(|(bytes, digest)| Some((bytes.parse::<u64>().ok()?, digest)))
        .ok_or_else(|| format!("damaged: {PAGES} is no digest"))?;
    let mut digesting = Digesting::new(io::sink());
    file.rewind()
        .and_then(|()| io::copy(&mut file.take(bytes), &mut digesting))
        .map_err(|error| format!("cannot read: {error}"))?;
    let Digesting {
        digest,
        bytes: read,
        ..
    } = digesting;
    if (read, digest.hex().as_str()) == (bytes, expected) {
        Ok(())
    } else {
        Err("damaged: other bytes than were written".to_owned())
    }
}

impl std::fmt::Debug for ColumnFile {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter
            .debug_struct("ColumnFile")
            .field("path", &self.path)
            .finish_non_exhaustive()
    }
}

fn started<W: Write + Send>(
    to: W,
    columns: &[Column],
    metadata: &[(String, String)],
) -> Result<SerializedFileWriter<W>, ParquetError> {
    SerializedFileWriter::new(
        to,
        Arc::new(schema(columns)?),
        Arc::new(properties(columns, metadata)),
    )
}

/// A file in memory with one small row group: plain values, without dictionaries, statistics,
/// indices and compression, which would cost more than the values.
pub(super) fn small_file(
    schema: &Arc<Type>,
    columns: &[Column],
    metadata: &[(String, String)],
) -> Result<Vec<u8>, ParquetError> {
    let plain = properties(columns, metadata)
        .into_builder()
        .set_dictionary_enabled(false)
        .set_compression(Compression::UNCOMPRESSED);
    let plain = plain
        .set_statistics_enabled(EnabledStatistics::None)
        .set_offset_index_disabled(true);
    let mut writer =
        SerializedFileWriter::new(Vec::new(), schema.clone(), Arc::new(plain.build()))?;
    append(&mut writer, columns)?;
    writer.into_inner()
}

/// The schema of `columns`, whose values are ignored.
pub(super) fn schema(columns: &[Column]) -> Result<Type, ParquetError> {
    let declarations: Vec<String> = columns.iter().map(Column::declaration).collect();
    parse_message_type(&format!(
        "message roundelay {{ {} }}",
        declarations.join(" ")
    ))
}

pub(super) fn append<W: Write + Send>(
    writer: &mut SerializedFileWriter<W>,
    columns: &[Column],
) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    for column in columns {
        column.write(&mut group)?;
    }
    group.close()?;
    Ok(())
}

pub(super) fn properties(columns: &[Column], metadata: &[(String, String)]) -> WriterProperties {
    let entries = metadata
        .iter()
        .map(|(key, value)| KeyValue::new(key.clone(), value.clone()))
        .collect();
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_key_value_metadata(Some(entries));
    for column in columns.iter().filter(|column| column.is_time()) {
        let path = ColumnPath::from(column.name);
        properties = properties
            .set_column_dictionary_enabled(path.clone(), false)
            .set_column_encoding(path, Encoding::DELTA_BINARY_PACKED);
    }
    properties.build()
}

/// An error with the file's name: the operating system's error if there is one, otherwise the
/// encoder's.
fn failure(path: &Path) -> impl FnOnce(ParquetError) -> ReportError {
    move |error| match error {
        ParquetError::External(cause) => match cause.downcast::<io::Error>() {
            Ok(source) => ReportError::file("write", path)(*source),
            Err(cause) => ReportError::Encoding {
                path: path.to_owned(),
                reason: cause.to_string(),
            },
        },
        other => ReportError::Encoding {
            path: path.to_owned(),
            reason: other.to_string(),
        },
    }
}
