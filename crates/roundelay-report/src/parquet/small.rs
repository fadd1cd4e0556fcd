//! Small Parquet files in memory: one row group of few rows, plain values, no dictionaries,
//! statistics or compression.
//!
//! The general encoder spends 5 us a column on set-up, more than the run of a small simulation with
//! fifty columns. Format: Apache Parquet's `parquet.thrift` in Thrift's compact protocol.

use crate::tables::{Column, Values};

/// Types of the compact protocol.
const I32: u8 = 5;
const I64: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCT: u8 = 12;

/// First and last bytes of a file.
const MAGIC: &[u8] = b"PAR1";

/// A Thrift struct under construction: fields in ascending order.
struct Struct {
    bytes: Vec<u8>,
    last: u8,
}

impl Struct {
    fn new() -> Self {
        Self { bytes: Vec::with_capacity(96), last: 0 }
    }

    fn field(&mut self, number: u8, kind: u8) -> &mut Vec<u8> {
        self.bytes.push((number - self.last) << 4 | kind);
        self.last = number;
        &mut self.bytes
    }

    fn int(mut self, number: u8, value: i32) -> Self {
        zigzag(self.field(number, I32), value.into());
        self
    }

    fn long(mut self, number: u8, value: usize) -> Self {
        zigzag(self.field(number, I64), value as i64);
        self
    }

    fn text(mut self, number: u8, text: &str) -> Self {
        binary(self.field(number, BINARY), text);
        self
    }

    fn child(mut self, number: u8, child: Self) -> Self {
        let child = child.end();
        self.field(number, STRUCT).extend(child);
        self
    }

    fn list(mut self, number: u8, kind: u8, items: impl ExactSizeIterator<Item = Vec<u8>>) -> Self {
        let bytes = self.field(number, LIST);
        match items.len() {
            few @ 0..15 => bytes.push((few as u8) << 4 | kind),
            many => {
                bytes.push(0xF0 | kind);
                varint(bytes, many as u64);
            }
        }
        items.for_each(|item| bytes.extend(item));
        self
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn varint(to: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        to.push(value as u8 | 0x80);
        value >>= 7;
    }
    to.push(value as u8);
}

fn zigzag(to: &mut Vec<u8>, value: i64) {
    varint(to, (value << 1 ^ value >> 63).cast_unsigned());
}

fn binary(to: &mut Vec<u8>, text: &str) {
    varint(to, text.len() as u64);
    to.extend(text.as_bytes());
}

/// A page of a column: physical type, converted type, whether values may be missing, content.
struct Page(i32, Option<i32>, bool, Vec<u8>);

impl Page {
    /// # Errors
    /// The type of the values is not supported.
    fn of(column: &Column) -> Result<Self, String> {
        match &column.values {
            Values::Counts(values) => Ok(Self(2, Some(14), false, joined(Vec::new(), values.iter().map(|value| value.to_le_bytes())))),
            Values::OptionalNumbers(values) => {
                Ok(Self(5, None, true, joined(presence(values), values.iter().flatten().map(|value| value.to_le_bytes()))))
            }
            Values::Texts(texts) => {
                let parts = texts.iter().map(|text| [&(text.len() as u32).to_le_bytes()[..], text].concat());
                Ok(Self(6, Some(0), false, joined(Vec::new(), parts)))
            }
            _ => Err(format!("{}: a type that small files lack", column.name)),
        }
    }

    fn schema(&self, name: &str) -> Vec<u8> {
        let Self(kind, converted, is_optional, _) = *self;
        let element = Struct::new().int(1, kind).int(3, is_optional.into()).text(4, name);
        match converted {
            Some(converted) => element.int(6, converted).end(),
            None => element.end(),
        }
    }

    fn header(&self, rows: usize) -> Vec<u8> {
        let length = self.3.len() as i32;
        // Encoding of the values: plain; of levels: runs.
        let data = Struct::new().int(1, rows as i32).int(2, 0).int(3, 3).int(4, 3);
        Struct::new().int(1, 0).int(2, length).int(3, length).child(5, data).end()
    }
}

/// The bytes of all parts, after the first ones.
fn joined(mut first: Vec<u8>, parts: impl Iterator<Item: AsRef<[u8]>>) -> Vec<u8> {
    parts.for_each(|part| first.extend_from_slice(part.as_ref()));
    first
}

/// Definition levels: a bit a row, in one run of whole bytes.
fn presence(values: &[Option<f64>]) -> Vec<u8> {
    let bits = values.chunks(8).map(|chunk| chunk.iter().rev().fold(0, |bits, value| bits << 1 | u8::from(value.is_some())));
    let mut run = vec![0; 4];
    varint(&mut run, (values.len().div_ceil(8) as u64) << 1 | 1);
    run.extend(bits);
    let length = run.len() as u32 - 4;
    run[..4].copy_from_slice(&length.to_le_bytes());
    run
}

/// The file with these columns, all of the same number of rows, and key-value metadata.
///
/// # Errors
/// A column has a type that is not supported.
pub(super) fn file_bytes(columns: &[Column], rows: usize, metadata: &[(String, String)]) -> Result<Vec<u8>, String> {
    let root = Struct::new().text(4, "roundelay").int(5, columns.len() as i32).end();
    let (mut file, mut schema, mut chunks) = (Vec::with_capacity(16 << 10), vec![root], Vec::new());
    file.extend(MAGIC);
    for column in columns {
        let (page, offset) = (Page::of(column)?, file.len());
        file.extend(page.header(rows));
        file.extend(&page.3);
        schema.push(page.schema(column.name));
        chunks.push(chunk(&page, column.name, rows, [offset, file.len() - offset]));
    }
    let group = Struct::new();
    let group = group.list(1, STRUCT, chunks.into_iter()).long(2, file.len() - MAGIC.len()).long(3, rows).end();
    let entries = metadata.iter().map(|(key, value)| Struct::new().text(1, key).text(2, value).end());
    let footer = Struct::new().int(1, 1).list(2, STRUCT, schema.into_iter()).long(3, rows);
    let footer = footer.list(4, STRUCT, [group].into_iter()).list(5, STRUCT, entries).text(6, "roundelay").end();
    file.extend(&footer);
    file.extend((footer.len() as u32).to_le_bytes());
    file.extend(MAGIC);
    Ok(file)
}

/// Metadata of a column: place and length of its one page.
fn chunk(page: &Page, name: &str, rows: usize, [offset, length]: [usize; 2]) -> Vec<u8> {
    let mut path = Vec::new();
    binary(&mut path, name);
    // Encodings: plain, runs.
    let about = Struct::new().int(1, page.0).list(2, I32, [vec![0], vec![6]].into_iter()).list(3, BINARY, [path].into_iter());
    let about = about.int(4, 0).long(5, rows).long(6, length).long(7, length).long(9, offset);
    Struct::new().long(2, offset).child(3, about).end()
}
