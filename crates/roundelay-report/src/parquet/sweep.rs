//! Parquet file for a point of a sweep, written and read.

use std::ops::Range;
use std::path::Path;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::schema::types::Type;

use super::file::{schema, small_file};
use super::sweep_rows::rows_of;
use crate::digest::Digest;
use crate::tables::{KEYS, SWEEP_FIGURES, SweepFile, sweep_columns};

impl SweepFile {
    /// The file's content: equal rows and metadata give equal bytes.
    ///
    /// # Errors
    ///
    /// The encoder's error.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        // Reading the schema's text costs as much as the file.
        static SCHEMA: LazyLock<Arc<Type>> = LazyLock::new(|| {
            Arc::new(schema(&sweep_columns(&[])).expect("names of columns are legal"))
        });
        let bytes = small_file(
            &SCHEMA,
            &sweep_columns(&self.rows),
            &without_digest(self.metadata.clone()),
        );
        with_digest(bytes.map_err(|error| error.to_string())?)
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The file is unreadable, belongs to no sweep, or is not as it was written.
    pub fn read(path: &Path) -> Result<Self, String> {
        let wrong = |problem: String| format!("{}: {problem}", path.display());
        let bytes = std::fs::read(path).map_err(|error| wrong(format!("cannot read: {error}")))?;
        // First, because the decoder panics at some damaged files.
        check_digest(&bytes).map_err(|problem| wrong(problem.to_owned()))?;
        let reader = SerializedFileReader::new(Bytes::from(bytes))
            .map_err(|error| wrong(format!("no Parquet file: {error}")))?;
        let header = reader.metadata().file_metadata();
        let fields = header.schema().get_fields().iter();
        let names = fields.map(|field| field.name());
        if !names.eq(KEYS.iter().chain(&*SWEEP_FIGURES).copied()) {
            return Err(wrong(
                "no file of a sweep, or one of another version".to_owned(),
            ));
        }
        let mut metadata = Vec::new();
        for entry in header.key_value_metadata().into_iter().flatten() {
            if entry.key.starts_with("roundelay.") && entry.key != DIGEST {
                let value = entry.value.clone();
                metadata.extend(value.map(|value| (entry.key.clone(), value)));
            }
        }
        let mut rows = Vec::new();
        for group in 0..reader.num_row_groups() {
            let group = reader.get_row_group(group);
            let of_group = group.and_then(|group| rows_of(&*group, 0));
            rows.extend(of_group.map_err(|error| wrong(error.to_string()))?);
        }
        Ok(Self { metadata, rows })
    }
}

/// Key of the digest in the file's metadata. The digest covers the whole file, with zeros in its
/// own position.
const DIGEST: &str = "roundelay.digest";
const NO_DIGEST: &str = "0000000000000000";
/// Bytes between key and value in Thrift's compact protocol: the field's type, and the length.
const BETWEEN: usize = 2;

/// Metadata with room for the digest, as the last entry.
pub(super) fn without_digest(mut metadata: Vec<(String, String)>) -> Vec<(String, String)> {
    metadata.push((DIGEST.to_owned(), NO_DIGEST.to_owned()));
    metadata
}

/// A file's bytes with their digest in its room.
///
/// # Errors
/// There is no room.
pub(super) fn with_digest(mut bytes: Vec<u8>) -> Result<Vec<u8>, String> {
    let room = range_of_digest(&bytes)
        .filter(|range| bytes[range.clone()] == *NO_DIGEST.as_bytes())
        .ok_or("the encoder left no room for a digest")?;
    let digest = Digest::of(&bytes).hex();
    bytes[room].copy_from_slice(digest.as_bytes());
    Ok(bytes)
}

/// Where in a file's bytes the digest is.
fn range_of_digest(bytes: &[u8]) -> Option<Range<usize>> {
    let key = DIGEST.as_bytes();
    let found = bytes.windows(key.len()).rposition(|part| part == key)?;
    let start = found + key.len() + BETWEEN;
    let range = start..start + NO_DIGEST.len();
    bytes.get(range.clone())?;
    Some(range)
}

/// # Errors
/// The bytes are not those that were written.
pub(super) fn check_digest(bytes: &[u8]) -> Result<(), &'static str> {
    if !bytes.starts_with(b"PAR1") || !bytes.ends_with(b"PAR1") {
        return Err("no Parquet file");
    }
    let range = range_of_digest(bytes).ok_or("no digest: of an older version, or damaged")?;
    let mut blank = bytes.to_vec();
    blank[range.clone()].copy_from_slice(NO_DIGEST.as_bytes());
    if Digest::of(&blank).hex().as_bytes() == &bytes[range] {
        Ok(())
    } else {
        Err("damaged: not as it was written")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tables::SweepRow;

    #[test]
    fn a_file_of_a_sweep_comes_back_to_the_last_bit() {
        let row = |seed: u64, source: &str| SweepRow {
            identity: "ab".into(),
            seed,
            replica: seed - 7,
            source: source.into(),
            figures: (0..SWEEP_FIGURES.len())
                .map(|number| (number % 3 > 0).then_some(0.1 * number as f64 + 0.2))
                .collect(),
        };
        let metadata = vec![("roundelay.point".to_owned(), "cd".to_owned())];
        let file = SweepFile {
            metadata,
            rows: vec![row(7, "calls"), row(7, "all"), row(u64::MAX, "all")],
        };
        let path = std::env::temp_dir().join(format!(
            "roundelay-report-sweep-{}.parquet",
            std::process::id()
        ));
        std::fs::write(&path, file.bytes().unwrap()).unwrap();
        let read = SweepFile::read(&path);
        std::fs::write(&path, "PAR2").unwrap();
        let broken = SweepFile::read(&path);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read, Ok(file.clone()));
        assert_eq!(file.bytes(), read.unwrap().bytes());
        assert!(broken.unwrap_err().contains("no Parquet file"));
    }

    /// Regression: of 190 files with a changed byte one counted as cached, with a wrong mean.
    #[test]
    fn no_changed_byte_gives_other_values() {
        let figures = (0..SWEEP_FIGURES.len()).map(|number| Some((number as f64).sqrt()));
        let file = SweepFile {
            metadata: vec![("roundelay.point".to_owned(), "cd".to_owned())],
            rows: vec![SweepRow {
                identity: "ab".into(),
                seed: 7,
                replica: 0,
                source: "calls".into(),
                figures: figures.collect(),
            }],
        };
        let path = std::env::temp_dir().join(format!(
            "roundelay-report-mutated-{}.parquet",
            std::process::id()
        ));
        let bytes = file.bytes().unwrap();
        let mut noticed = 0;
        for index in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[index] ^= 1 << (index % 8);
            std::fs::write(&path, changed).unwrap();
            noticed += usize::from(SweepFile::read(&path).is_err());
        }
        std::fs::remove_file(&path).unwrap();
        assert_eq!(noticed, bytes.len(), "every byte counts");
    }
}
