//! Parquet file of a point of a sweep, written and read.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::{Field, Row};
use parquet::schema::types::Type;

use super::file::{schema, small_file};
use crate::digest::Digest;
use crate::tables::{KEYS, SWEEP_FIGURES, SweepFile, SweepRow, sweep_columns};

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
        let mut metadata = self.metadata.clone();
        metadata.push((DIGEST.to_owned(), self.digest().hex()));
        small_file(&SCHEMA, &sweep_columns(&self.rows), &metadata)
            .map_err(|error| error.to_string())
    }

    /// The digest of all that is read back.
    fn digest(&self) -> Digest {
        let mut digest = Digest::default();
        for (key, value) in &self.metadata {
            digest.add_whole(key.as_bytes());
            digest.add_whole(value.as_bytes());
        }
        for row in &self.rows {
            digest.add_whole(row.identity.as_bytes());
            digest.add_whole(row.source.as_bytes());
            digest.add(&row.seed.to_le_bytes());
            digest.add(&row.replica.to_le_bytes());
            for figure in &row.figures {
                digest.add(&[u8::from(figure.is_some())]);
                digest.add(&figure.unwrap_or(0.0).to_bits().to_le_bytes());
            }
        }
        digest
    }

    /// Reads a file.
    ///
    /// # Errors
    ///
    /// The file is unreadable, no file of a sweep, or not as it was written.
    pub fn read(path: &Path) -> Result<Self, String> {
        let wrong = |problem: String| format!("{}: {problem}", path.display());
        let file =
            std::fs::File::open(path).map_err(|error| wrong(format!("cannot read: {error}")))?;
        let reader = SerializedFileReader::new(file)
            .map_err(|error| wrong(format!("no Parquet file: {error}")))?;
        let header = reader.metadata().file_metadata();
        let names: Vec<_> = header
            .schema()
            .get_fields()
            .iter()
            .map(|field| field.name().to_owned())
            .collect();
        if !names
            .iter()
            .map(String::as_str)
            .eq(KEYS.iter().chain(&*SWEEP_FIGURES).copied())
        {
            return Err(wrong(
                "no file of a sweep, or one of another version".to_owned(),
            ));
        }
        let entries = header.key_value_metadata().into_iter().flatten();
        let metadata = entries.filter_map(|entry| Some((entry.key.clone(), entry.value.clone()?)));
        let (digests, metadata): (Vec<_>, Vec<_>) = metadata
            .filter(|(key, _)| key.starts_with("roundelay."))
            .partition(|(key, _)| key == DIGEST);
        let rows = reader
            .get_row_iter(None)
            .map_err(|error| wrong(error.to_string()))?;
        let rows = rows.map(|row| {
            row.and_then(|row| read_row(&row))
                .map_err(|error| wrong(error.to_string()))
        });
        let file = Self {
            metadata,
            rows: rows.collect::<Result<_, _>>()?,
        };
        match digests.as_slice() {
            [(_, digest)] if *digest == file.digest().hex() => Ok(file),
            [] => Err(wrong(format!(
                "no {DIGEST}: of an older version, or damaged"
            ))),
            _ => Err(wrong(format!(
                "damaged: another {DIGEST} than when written"
            ))),
        }
    }
}

/// Key of the digest in the file's metadata.
const DIGEST: &str = "roundelay.digest";

fn read_row(row: &Row) -> Result<SweepRow, ParquetError> {
    let (mut texts, mut numbers, mut figures) = (Vec::new(), Vec::new(), Vec::new());
    for (_, field) in row.get_column_iter() {
        match field {
            Field::Str(text) => texts.push(Arc::from(text.as_str())),
            Field::ULong(number) => numbers.push(*number),
            Field::Double(value) => figures.push(Some(*value)),
            Field::Null => figures.push(None),
            other => {
                return Err(ParquetError::General(format!(
                    "a value of another type: {other}"
                )));
            }
        }
    }
    let (Ok([identity, source]), Ok([seed, replica])) =
        (<[_; 2]>::try_from(texts), <[_; 2]>::try_from(numbers))
    else {
        return Err(ParquetError::General("a row without its keys".to_owned()));
    };
    Ok(SweepRow {
        identity,
        seed,
        replica,
        source,
        figures,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        std::fs::write(&path, "PAR1").unwrap();
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
        for place in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[place] ^= 1 << (place % 8);
            std::fs::write(&path, changed).unwrap();
            match SweepFile::read(&path) {
                // A byte without meaning: the program's name, the version of the format.
                Ok(read) => assert_eq!(read, file, "byte {place}"),
                Err(_) => noticed += 1,
            }
        }
        std::fs::remove_file(&path).unwrap();
        assert!(noticed > bytes.len() / 2, "{noticed} of {}", bytes.len());
    }
}
