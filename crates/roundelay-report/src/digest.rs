//! Digests of what is read again later, so that a bad disk, a cut copy or an edited value is
//! noticed.
//!
//! 64-bit FNV-1a: every change of a single byte gives another digest, any other change all but one
//! in 2^64. It guards against accidents, not against somebody who computes the digest anew.
//!
//! Source: G. Fowler, L. C. Noll, K.-P. Vo, D. Eastlake, "The FNV Non-Cryptographic Hash
//! Algorithm", draft-eastlake-fnv.

#[cfg(feature = "parquet")]
use std::io::{self, Write};

/// A digest over the bytes so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Digest(u64);

impl Default for Digest {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Digest {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The digest in 16 hexadecimal digits.
    pub fn hex(self) -> String {
        format!("{:016x}", self.0)
    }

    /// The digest of these bytes.
    pub fn of(bytes: &[u8]) -> Self {
        let mut digest = Self::default();
        digest.add(bytes);
        digest
    }
}

/// What stands before and after the digest in a line of JSON.
const BEFORE: &str = "{\"digest\":\"";
const AFTER: &str = "\",";

/// A line with a JSON object, whose first key is the digest of the rest.
pub fn sealed(object: &str) -> String {
    let rest = object.strip_prefix('{').unwrap_or(object);
    let digest = Digest::of(rest.as_bytes()).hex();
    format!("{BEFORE}{digest}{AFTER}{rest}")
}

/// The object in a [`sealed`] line. None if the line is not whole, or not as it was written.
pub fn unsealed(line: &str) -> Option<String> {
    let (digest, rest) = line.strip_prefix(BEFORE)?.split_once(AFTER)?;
    (digest == Digest::of(rest.as_bytes()).hex()).then(|| format!("{{{rest}"))
}

/// A writer that digests all bytes on their way.
#[cfg(feature = "parquet")]
#[derive(Debug)]
pub(crate) struct Digesting<W> {
    to: W,
    pub(crate) digest: Digest,
    pub(crate) bytes: u64,
}

#[cfg(feature = "parquet")]
impl<W> Digesting<W> {
    pub(crate) fn new(to: W) -> Self {
        Self {
            to,
            digest: Digest::default(),
            bytes: 0,
        }
    }
}

#[cfg(feature = "parquet")]
impl<W: Write> Write for Digesting<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.digest.add(&bytes[..written]);
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_fnv_1a() {
        // From the draft's test vectors.
        let vectors = [
            ("", "cbf29ce484222325"),
            ("a", "af63dc4c8601ec8c"),
            ("foobar", "85944171f73967e8"),
        ];
        for (text, digest) in vectors {
            assert_eq!(Digest::of(text.as_bytes()).hex(), digest);
        }
    }

    #[test]
    fn a_sealed_line_is_json_and_no_byte_of_it_can_change() {
        let line = sealed(r#"{"seconds":1.5,"key":"ab"}"#);
        assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok());
        assert_eq!(unsealed(&line).unwrap(), r#"{"seconds":1.5,"key":"ab"}"#);
        assert_eq!(unsealed(r#"{"seconds":1.5,"key":"ab"}"#), None);
        for index in 0..line.len() {
            assert_eq!(unsealed(&line[..index]), None);
            let mut bytes = line.clone().into_bytes();
            bytes[index] ^= 1;
            let changed = String::from_utf8(bytes).unwrap();
            assert_eq!(unsealed(&changed), None, "{changed}");
        }
    }
}
