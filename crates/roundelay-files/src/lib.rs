//! Reads TOML files that people write. Errors from a [`Reader`] give file, line, owner and key.
//! Quantities have units ([`Written`]). Trees and bounds also take bare numbers, because tc does
//! ([`WithUnit`]).

mod carried;
mod deserializer;
mod positions;
mod quantities;
mod reader;
#[cfg(feature = "schema")]
mod schema;
mod serde_message;
mod table;
mod text;
mod whole;
mod written;

pub use carried::custom;
pub use deserializer::{Misread, ValueDeserializer};
pub use quantities::Overhead;
pub use reader::{Located, Reader, Text};
#[cfg(feature = "schema")]
pub use schema::Described;
pub use table::{Entry, tables};
pub use text::{LONGEST_TEXT, read_text};
pub use whole::{PacketLen, Size, Whole, quoted, some_whole, whole};
pub use written::{InWords, Maybe, WithUnit, Written, list, some_two};
